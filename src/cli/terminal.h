/* Who sits before the program: Ctrl-C, and a line of progress where standard error is a terminal. */
#ifndef TC_CLI_TERMINAL_H
#define TC_CLI_TERMINAL_H

#include "base/monitor.h"

/* From now on the first Ctrl-C sets what the monitor reports (to any thread); the second ends the program as usual. A
 * pipe that nobody reads any more, or a file that is as long as a limit allows, is an error of writing, and does not
 * end the program. */
void tc_terminal_begin(tc_monitor *monitor);
/* The same for SIGTERM, which is left alone until then. */
void tc_terminal_catch_terminate(void);
/* Clears the line of progress, so that something else can be printed there. */
void tc_terminal_clear(void);
/* Clears the line of progress and gives the signals back. */
void tc_terminal_end(void);

enum { TC_TERMINAL_LINE = 80 };
/* What stands on the line: "12,345 rounds/s, 3 s left [########------------]  40 %"; no bar where nothing is done. */
void tc_terminal_line(char line[TC_TERMINAL_LINE], const char *what, double fraction);

#endif
