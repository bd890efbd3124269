/* Drives the agents of `tacit agent` until they are over or a signal comes, and says meanwhile how they fare. */
#ifndef TC_CLI_AGENT_LOOP_H
#define TC_CLI_AGENT_LOOP_H

#include "cli/cli.h"
#include "net/agent/agent.h"

#include <signal.h>

/* From now on the first SIGTERM or SIGINT ends the loop, the second the program. False: no pipe, errno says why. */
bool tc_agent_signals_begin(struct sigaction before[2]) TC_MUST_USE;
void tc_agent_signals_end(const struct sigaction before[2]);
/* In its place where the program ends soon: a first signal does not cut short what it still has to say. */
void tc_agent_signals_stay(void);

/* Until all are over, or a signal came: then true. */
bool tc_agent_drive(tc_cli *cli, tc_agent *agent, size_t count, bool quiet) TC_MUST_USE;

#endif
