/* Who sits before the program: Ctrl-C, and a line of progress where standard error is a terminal. */
#ifndef TC_CLI_TERMINAL_H
#define TC_CLI_TERMINAL_H

#include "base/monitor.h"

/* From now on the first Ctrl-C sets what the monitor reports; the second ends the program as usual. */
void tc_terminal_begin(tc_monitor *monitor);
/* Clears the line of progress and gives the signal back. */
void tc_terminal_end(void);

#endif
