/* A core file would hold keys and private states. */
#ifndef TC_CLI_NO_CORE_H
#define TC_CLI_NO_CORE_H

/* From now on this process leaves none, as far as the system goes by its limit. */
void tc_no_core(void);

#endif
