/* Two worlds that differ in what agents say, and release the same numbers: whatever else leaves the cloud must be the
 * same, byte for byte. docs/proofs/audit.md, "End to end". */
#ifndef TC_WORLDS_WORLDS_H
#define TC_WORLDS_WORLDS_H

#include "base/arena.h"
#include "cli/shared/plan_options.h"
#include "model/model.h"
#include "net/message.h"
#include "setup/setup.h"

enum {
    TC_WORLDS_ROUNDS = 10, /* of a run, at most */
    TC_WORLDS_TEXTS = 64   /* differences that are listed, at most */
};

typedef struct tc_worlds {
    tc_arena *arena;
    tc_cli *cli;
    const char *program; /* the path of this one */
    const char *folder;  /* a temporary one */
    tc_setup setup;
    const tc_plan *plan;
    const tc_tacit_facts *method;
    uint64_t rounds;
    uint64_t compared; /* bytes that are equal in both */
    const char *differs[TC_WORLDS_TEXTS], *untested;
    size_t differ_count;
} tc_worlds;

/* Adds a difference: "the log, line 7". */
void tc_worlds_differ(tc_worlds *worlds, const char *format, ...) TC_PRINTF(2, 3);
/* Bytes of both worlds; false, and a difference, where they are not the same. */
bool tc_worlds_compare(tc_worlds *worlds, const char *what, const void *first, size_t first_size, const void *second,
                       size_t second_size);
/* Texts of both worlds, line by line. */
void tc_worlds_compare_lines(tc_worlds *worlds, const char *what, const char *first, const char *second);

/* The cloud's half of a run in this process, for some choices of who differs. */
tc_status tc_worlds_cloud_halves(tc_worlds *worlds) TC_MUST_USE;

/* `serve` as a process with agents on sockets. options: words for it, NULL at the end. */
tc_status tc_worlds_sockets(tc_worlds *worlds, const char *const *options) TC_MUST_USE;

/* ---- what agents say in either world (client.c) ------------------------------------------------------------------ */

#define TC_WORLDS_ALL SIZE_MAX /* instead of an agent: all of them differ */

/* What an agent says in a round: for each of its states a whole number of lattice steps. The worlds differ in what
 * `other` says: in some rounds it is at opposite bounds of the box, in some inside and outside of it. None of it comes
 * from the agents' own data. */
void tc_worlds_state(const tc_model *model, int exponent, unsigned world, size_t other, size_t agent, uint64_t round,
                     int64_t *units);

/* ---- coupled noise ----------------------------------------------------------------------------------------------- */

/* The second world gets the noise with which it releases the same bits as the first. For an audit with data of its own.
 *
 * This is linked into `tacit-end-to-end` alone, in the place of the door's own noise (the linker's --wrap). `tacit` and
 * the library have none of it, and no option for it: tests/worlds/test_symbols.py checks that. */
#define TC_COUPLED_VARIABLE "TACIT_END_TO_END" /* "record:FILE" or "replay:FILE"; for this program alone */

typedef enum tc_coupled_noise_mode {
    TC_COUPLED_OFF,    /* noise as it is drawn */
    TC_COUPLED_RECORD, /* the same, and what is released is written down */
    TC_COUPLED_REPLAY, /* noise that leads to what was written down */
} tc_coupled_noise_mode;

/* The file of what is released; closes the one before. False where it cannot be opened. */
bool tc_coupled_noise_begin(tc_coupled_noise_mode mode, const char *path) TC_MUST_USE;

/* NULL, or why the two worlds were not coupled: they released different counts of numbers, or a file failed. */
const char *tc_coupled_noise_end(void);

/* ---- agents on one connection, by hand: they keep every byte that they hear (client.c) --------------------------- */

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

/* Greets and enrols all its agents. False, with trouble set, if the cloud misbehaves. */
bool tc_client_join(const tc_worlds *worlds, tc_client *client, unsigned port) TC_MUST_USE;
bool tc_client_say(const tc_worlds *worlds, tc_client *client, unsigned world, size_t other,
                   uint64_t round) TC_MUST_USE;
/* Reads until every agent has its answer. */
bool tc_client_hear(tc_client *client, uint64_t round) TC_MUST_USE;
/* Reads until the end is told, says good-bye, and reads the rest. */
bool tc_client_leave(tc_client *client) TC_MUST_USE;

/* Replaces what is not compared (the exceptions of main.c) by zeros, in all that it heard. */
void tc_client_mask(tc_client *client);

/* A page of the operator's port, with its HTTP head. NULL: none came. */
const char *tc_client_page(tc_arena *arena, unsigned port, const char *path);

/* ---- texts without what differs in any two runs (masks.c) -------------------------------------------------------- */

/* Masks times and ids. folder: the world's own; its name is taken out. */
const char *tc_mask_text(tc_arena *arena, const char *text, const char *folder);

/* Leaves out lines whose count depends on the clock (progress). With many agents it also leaves out those that the log
 * drops when too many come at once. */
const char *tc_mask_log(tc_arena *arena, const char *text, bool has_many);

#endif
