/* Messages of other folders as a command says them. */
#ifndef TC_CLI_PREFIX_H
#define TC_CLI_PREFIX_H

#include "cli/cli.h"

/* Every line of a text by the command's name: "tacit agent: ...". */
void tc_cli_say(tc_cli *cli, const char *command, const char *text);

#endif
