/* The agent's file and its data as they were at the first round of a run. A run is of one problem: after a restart the
 * agent goes on with these bytes, whatever the file has become. They lie beside the agent's state file:
 *
 *     0    8 bytes  "tacitkp1"
 *     8    16       the run
 *     24   32       SHA-256 of the run and of all that follows
 *     56            the problem, in a form that its maker knows (compiled.c)
 *
 * A new run puts the one before aside (".old") until its own first state is saved. So after a crash the run of the
 * state file still has its problem. */
#ifndef TC_NET_AGENT_KEPT_H
#define TC_NET_AGENT_KEPT_H

#include "base/arena.h"
#include "net/message.h"

enum { TC_KEPT_HEADER = 56 };

/* Finds the problem of this run: *bytes is the whole file, NULL where there is none. path: of the newer one.
 * TC_CANNOT_READ with a message, also for one that is damaged. */
tc_status tc_kept_read(tc_arena *arena, const char *path, const unsigned char run[TC_RUN_ID], tc_buffer *messages,
                       unsigned char **bytes, size_t *size) TC_MUST_USE;

/* Fills the header of these bytes, and writes them: whole, durably, mode 0600. aside: what is there is of another run,
 * and is put aside. False: errno says why. */
bool tc_kept_write(const char *path, const unsigned char run[TC_RUN_ID], bool aside, unsigned char *bytes,
                   size_t size) TC_MUST_USE;

/* The state file is of this run now: nothing before it is needed. */
void tc_kept_forget(const char *path);

#endif
