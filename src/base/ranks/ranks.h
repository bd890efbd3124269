/* Ranks: processes that work on one problem together, on one machine or on many.
 *
 * The program tacit has one rank, itself (none.c). The program tacit-mpi has as many as mpirun starts (mpi.c). The
 * linker chooses; all other code is the same. Every rank runs the same program on the same input and makes the same
 * calls of this file in the same order: each call is a meeting of all ranks. What is exact (sums of integers, gathered
 * numbers, folds in order) has the same bits for any number of ranks.
 *
 * Members of families are *held*, each by one rank (tc_ranks_share). Arrays by member have their whole length on every
 * rank, but a rank touches only the members that it holds: pages that are never touched cost nothing.
 *
 * A call cannot fail: where the network or another rank fails, the job ends with a message. One thread of a rank calls.
 */
#ifndef TC_BASE_RANKS_RANKS_H
#define TC_BASE_RANKS_RANKS_H

#include "base/status.h"

#include <stdint.h>

/* At the start and at the end of a program. */
void tc_ranks_begin(int *argc, char ***argv);
void tc_ranks_end(void);

/* How many work together, and which one this is: 0 .. count - 1. */
size_t tc_ranks_count(void);
size_t tc_ranks_mine(void);
static inline bool tc_ranks_several(void) { return tc_ranks_count() > 1; }
/* How many were started, also while each works alone. */
size_t tc_ranks_started(void);

/* Whether this is the rank that prints and writes files: rank 0, also while each works alone. */
bool tc_ranks_prints(void);

/* From now on each rank works alone: it is the only one, until tc_ranks_join, which waits for all. False: a rank has
 * left, by tc_ranks_meet, and so must this one. */
void tc_ranks_part(void);
bool tc_ranks_join(void) TC_MUST_USE;

/* Every rank gets the sums over all ranks, modulo 2^64. Where one rank holds a number and the others have zero, all get
 * that number; so do they of the bits of a double. */
void tc_ranks_sum(uint64_t *numbers, size_t count);
/* The largest over all ranks. NAN on any rank makes it NAN. */
void tc_ranks_largest(double *numbers, size_t count);

/* Every rank gets all pieces of an array. The piece of rank r is its items ends[r - 1] .. ends[r] - 1 (from 0 for rank
 * 0), of this size each; other ranks' pieces are overwritten. */
void tc_ranks_gather(void *items, const size_t *ends, size_t size);

/* Every rank gets the bytes of one. */
void tc_ranks_broadcast(void *bytes, size_t count, size_t from);
/* What a rank has is taken from it to rank 0. Other ranks do nothing. Bytes of rank 0 stay as they are. */
void tc_ranks_bring(void *bytes, size_t count, size_t from);

/* A fold over all members in their order, whose rounding depends on it. In order of ranks, each rank takes over what
 * the rank before it has (rank 0: what it gave), folds its own members on top, and passes it on. After the second call
 * every rank has what the last one made. */
void tc_ranks_chain_take(void *bytes, size_t count);
void tc_ranks_chain_pass(void *bytes, size_t count);
/* The two halves of a pass, for what goes as several messages: all are given on before any ends. */
void tc_ranks_chain_give(const void *bytes, size_t count);
void tc_ranks_chain_end(void *bytes, size_t count);

void tc_ranks_barrier(void);

/* Whether some rank was told to stop; told: says so of this one. Ranks hear of each other's where they meet for few
 * numbers, so between two meetings all have the same answer: they leave a loop alike, and none waits for another. While
 * each works alone, a rank that was told sends word, and the others hear of it some time later. Any thread asks; words
 * go by the thread that began, when it asks or waits. */
void tc_ranks_watch(bool (*told)(void));
bool tc_ranks_told(void);
/* Whether this rank was. Others may not be: whoever leaves a loop for it says so at the next meeting. */
bool tc_ranks_told_here(void);

/* The first failure in order of ranks; TC_OK where there is none. */
tc_status tc_ranks_agree(tc_status status);

/* The end of a command, where all ranks meet. Where some failed, the largest exit code of theirs holds, and the first
 * rank that has it prints. Otherwise rank 0 prints, and its exit code holds. A rank that failed waits some seconds for
 * the others, one that came to a "no" or was interrupted a minute; if they do not come, it failed alone: it prints, and
 * calls tc_ranks_abort. */
typedef enum tc_rank_voice { TC_RANK_PRINTS, TC_RANK_IS_SILENT, TC_RANK_FAILED_ALONE } tc_rank_voice;
tc_rank_voice tc_ranks_meet(int *exit_code, bool has_failed);
void tc_ranks_abort(int exit_code) TC_NORETURN;

/* ---- who holds what (share.c) ---- */

/* Of the blocks 0 .. blocks - 1 of list number `list`, this rank holds *first .. *end - 1. Every block has one holder.
 * A list of one block goes to one rank after another; the blocks of a longer one are shared in order of ranks. */
void tc_ranks_share(size_t list, size_t blocks, size_t *first, size_t *end);
/* The same for any number of ranks. */
void tc_ranks_share_of(size_t list, size_t blocks, size_t rank, size_t ranks, size_t *first, size_t *end);

#endif
