/* Two worlds that differ in what agents say, and release the same numbers: whatever else leaves the cloud must be the
 * same, byte for byte. docs/proofs/audit.md, "End to end". */
#ifndef TC_WORLDS_WORLDS_H
#define TC_WORLDS_WORLDS_H

#include "cli/shared/setup.h"
#include "worlds/states.h"

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

/* What is left out of the comparison, one sentence each; NULL at the end. */
extern const char *const tc_worlds_exceptions[];

/* ---- texts without what differs in any two runs ---- */

/* folder: the world's own, taken out where it stands. */
const char *tc_mask_text(tc_arena *arena, const char *text, const char *folder);

/* The log without lines whose number depends on the clock (progress); with many agents also without those that the log
 * drops when too many come at once. */
const char *tc_mask_log(tc_arena *arena, const char *text, bool has_many);

/* A whole file, NULL where it cannot be read; size may be NULL. */
const char *tc_read_whole(tc_arena *arena, const char *path, size_t *size);

#endif
