/* `audit --end-to-end`: starts the program that compares two worlds, and reads what it found. It is another program
 * since noise can be coupled there, and must not be here. */
#ifndef TC_CLI_END_TO_END_H
#define TC_CLI_END_TO_END_H

#include "audit/audit.h"
#include "cli/cli.h"

/* With the words that this command was given. Where it cannot be started or does not end as it should, the result says
 * that nothing was tested, and why. */
tc_end_to_end *tc_end_to_end_run(tc_cli *cli);

#endif
