/* The program tacit: all commands. */
#ifndef TC_CLI_TACIT_H
#define TC_CLI_TACIT_H

/* Returns the exit code. */
int tc_cli_main(int argc, char *const *argv);

#endif
