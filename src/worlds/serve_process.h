/* `serve` as a process of its own: this program, with its noise coupled. */
#ifndef TC_WORLDS_SERVE_PROCESS_H
#define TC_WORLDS_SERVE_PROCESS_H

#include "worlds/coupled_noise.h"
#include "worlds/worlds.h"

#include <sys/types.h>

#define TC_COUPLED_VARIABLE "TACIT_END_TO_END" /* "record:FILE" or "replay:FILE"; for this program alone */

typedef struct tc_serve_process {
    pid_t process;
    const char *folder; /* its own: journal, trace, log, summary */
    unsigned port, http_port;
    int code; /* of its exit; -1 for a signal */
} tc_serve_process;

/* Starts a program and waits for it, its output in files of the folder. */
int tc_worlds_run(const tc_worlds *worlds, const char *const *words, const char *folder, const char *name);

/* options: words for `serve`, NULL at the end. False where its doors do not open; the log says why. */
bool tc_serve_process_start(const tc_worlds *worlds, const char *file, const char *const *options,
                            tc_coupled_noise_mode mode, const char *tape, tc_serve_process *cloud) TC_MUST_USE;
/* Waits for it; ends it first where told to. */
void tc_serve_process_end(tc_serve_process *cloud, bool by_force);

/* What the journal says, column by column: "memory" and the like, and the bytes. False where it cannot be read. */
typedef struct tc_journal_column {
    const char *name;
    const void *bytes;
    size_t size;
} tc_journal_column;
enum { TC_JOURNAL_COLUMNS = 32 };
bool tc_serve_process_journal(tc_arena *arena, const tc_serve_process *cloud, tc_journal_column *columns,
                              size_t *count) TC_MUST_USE;

#endif
