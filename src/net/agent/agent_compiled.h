/* An agent that is a file made for one agent, as `tacit split` makes it. */
#ifndef TC_NET_AGENT_COMPILED_H
#define TC_NET_AGENT_COMPILED_H

#include "base/monitor.h"
#include "net/agent/agent_steps.h"

#include "base/buffer.h"

/* Loads the file. *steps lives as long as the arena. TC_BAD_USAGE, TC_BAD_PROBLEM, TC_CANNOT_READ with messages. */
tc_status tc_agent_compile(tc_arena *arena, const char *path, const tc_monitor *monitor, tc_buffer *messages,
                           tc_agent_steps *steps) TC_MUST_USE;

#endif
