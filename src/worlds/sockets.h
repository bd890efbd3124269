/* Between sockets.c and client.c. */
#ifndef TC_WORLDS_SOCKETS_H
#define TC_WORLDS_SOCKETS_H

#include "net/message.h"
#include "worlds/coupled_noise.h"
#include "worlds/worlds.h"

#include <sys/types.h>

/* ---- agents on one connection, by hand: they keep every byte that they hear ---- */

typedef struct tc_client {
    int descriptor;
    size_t first, count; /* agents; agent first + i has slot i */
    bool is_other;       /* it speaks for the agent that differs */
    tc_buffer heard;     /* all bytes */
    size_t cut;          /* of them, in whole frames that were looked at */
    int exponent;
    bool has_ended; /* the cloud has closed, or nothing came in time */
    const char *trouble;
} tc_client;

/* Connects to this port of loopback; -1: no. */
int tc_client_connect(unsigned port);

/* Greets and enrols all its agents. False, with trouble set, if the cloud misbehaves. */
bool tc_client_join(const tc_worlds *worlds, tc_client *client, unsigned port) TC_MUST_USE;
bool tc_client_say(const tc_worlds *worlds, tc_client *client, unsigned world, size_t other,
                   uint64_t round) TC_MUST_USE;
/* Reads until every agent has its answer. */
bool tc_client_hear(tc_client *client, uint64_t round) TC_MUST_USE;
/* Reads until the end is told, says good-bye, and reads the rest. */
bool tc_client_leave(tc_client *client) TC_MUST_USE;

/* Replaces what is not compared (tc_worlds_exceptions) by zeros, in all that it heard. */
void tc_client_mask(tc_client *client);

/* A page of the operator's port, with its HTTP head. NULL: none came. */
const char *tc_client_page(tc_arena *arena, unsigned port, const char *path);

/* ---- the cloud as a process ---- */

#define TC_COUPLED_VARIABLE "TACIT_END_TO_END" /* "record:FILE" or "replay:FILE"; for this program alone */

typedef struct tc_serve_process {
    pid_t process;
    const char *folder; /* its own: journal, trace, log, summary */
    unsigned port, http_port;
    int code; /* of its exit; -1 for a signal */
} tc_serve_process;

/* Starts a program and waits for it, its output in files of the folder. */
int tc_worlds_run(const tc_worlds *worlds, const char *const *words, const char *folder, const char *name);

/* options: words for `serve`, NULL at the end. False if its ports do not open; the log says why. */
bool tc_serve_process_start(const tc_worlds *worlds, const char *file, const char *const *options,
                            tc_coupled_noise_mode mode, const char *tape, tc_serve_process *cloud) TC_MUST_USE;
/* Waits for it; by_force: kills it first. */
void tc_serve_process_end(tc_serve_process *cloud, bool by_force);

/* The columns of the journal, by name. False if it cannot be read. */
typedef struct tc_journal_column {
    const char *name;
    const void *bytes;
    size_t size;
} tc_journal_column;
enum { TC_JOURNAL_COLUMNS = 32 };
bool tc_serve_process_journal(tc_arena *arena, const tc_serve_process *cloud, tc_journal_column *columns,
                              size_t *count) TC_MUST_USE;

#endif
