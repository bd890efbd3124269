/* The file in which an agent keeps its memory: FOLDER/NAME.state, 0600, one process at a time.
 *
 * Two places of equal size, written in turn, each a memory with its digest; they lie on pages of their own, so that a
 * write that was cut short harms one of them at most. The newer good one counts. */
#ifndef TC_NET_AGENT_STATE_H
#define TC_NET_AGENT_STATE_H

#include "base/buffer.h"
#include "net/agent/agent_memory.h"

typedef struct tc_agent_state tc_agent_state;

typedef struct tc_agent_state_settings {
    const char *folder; /* made, 0700, where it is not there */
    const char *name;   /* both stay the caller's */
    size_t states;
    bool survives_power; /* each save waits for the disk; else what was saved survives the end of the process alone */
    bool may_replace;    /* where no memory in it is good, the file is moved aside, and a new one begun */
} tc_agent_state_settings;

/* Opens the file, or makes one that holds *memory as it is. *memory's arrays have room for `states` numbers and belong
 * to the caller; it becomes what the file holds. With a message: TC_BAD_USAGE where it is another agent's, or of
 * another number of states; TC_CANNOT_READ where it is damaged, another process has it, or it cannot be read;
 * TC_CANNOT_WRITE. The file is closed with the arena. */
tc_status tc_agent_state_open(tc_arena *arena, const tc_agent_state_settings *settings, tc_buffer *messages,
                              tc_agent_memory *memory, tc_agent_state **state) TC_MUST_USE;

/* Counts memory->saves up and writes. False: errno says why, and the memory of before is still there. Allocates
 * nothing. */
bool tc_agent_state_save(tc_agent_state *state, tc_agent_memory *memory) TC_MUST_USE;

const char *tc_agent_state_path(const tc_agent_state *state);

#endif
