/* The random source: AES-256 in counter mode, addressed by (round, entry).
 *
 * A word is a function of key, round and address alone, so any thread may draw any part of a round, in any order, with
 * the same result. Each round has its own key; opening a round destroys the means to open an earlier one. There is no
 * way to print a key, and a forked child is refused. docs/proofs/random.md has the reasons. */
#ifndef TC_NOISE_RANDOM_H
#define TC_NOISE_RANDOM_H

#include "base/arena.h"
#include "base/machine.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tc_random tc_random;               /* the keys of one run */
typedef struct tc_random_worker tc_random_worker; /* what one thread needs to draw from them */

typedef struct tc_run_identity {
    const void *run_id; /* at most 256 bytes; another one for each run */
    size_t run_id_length;
    unsigned char plan_hash[32];
} tc_run_identity;

/* Limits of the address: round (48 bits) | attempt (16 bits) | index (64 bits). */
#define TC_MOST_ROUND ((UINT64_C(1) << 48) - 1)
#define TC_MOST_ENTRY ((UINT64_C(1) << 62) - 1)

/* A key from the system's random source. TC_NO_RANDOM when there is none. */
tc_status tc_random_new(tc_arena *arena, const tc_run_identity *run, tc_random **random) TC_MUST_USE;

/* For simulation only: the seed determines the noise. tc_random_is_private is false, and everything made with it must
 * say "not private". */
tc_status tc_random_new_simulation(tc_arena *arena, const tc_run_identity *run, uint64_t seed,
                                   tc_random **random) TC_MUST_USE;

bool tc_random_is_private(const tc_random *random);
bool tc_random_is_locked(const tc_random *random); /* keys at rest cannot reach the swap */

/* False in a forked child, and if a key could not be destroyed. May be called while another thread draws. */
bool tc_random_is_usable(const tc_random *random);

/* True the first time only: a source serves one release, since two would draw the same noise for different data. */
bool tc_random_claim(tc_random *random) TC_MUST_USE;

/* Later draws are of this round. Rounds only go forward: TC_NO_RANDOM for an earlier one. No other thread may draw,
 * make or free a worker meanwhile, since this overwrites the earlier key of every worker, also of one that never draws
 * again. Skipping rounds takes the time of opening them. */
tc_status tc_random_open_round(tc_random *random, uint64_t round) TC_MUST_USE;

/* One for each thread, made by the thread that owns the arena. Make one at a time, since the source keeps a list of
 * them. */
tc_status tc_random_worker_new(tc_arena *arena, tc_random *random, tc_random_worker **worker) TC_MUST_USE;

/* Memory to prefetch while this worker's thread draws noise; NULL for none. */
void tc_random_worker_fetches(tc_random_worker *worker, tc_fetch *fetch);
tc_fetch *tc_random_worker_fetch(const tc_random_worker *worker);

/* HMAC-SHA256 of the label, the number and the words (64 bits each, least significant byte first) under a key that has
 * no other use, lives as long as the source, and comes from the same fresh randomness or seed. Without the key it only
 * shows whether two inputs were the same. */
enum { TC_MAC_BYTES = 32 };
tc_status tc_random_mac(const tc_random *random, const char *label, uint64_t number, const int64_t *words, size_t count,
                        unsigned char mac[TC_MAC_BYTES]) TC_MUST_USE;

/* The words of entries first .. first + count - 1 in the open round: attempt 0, two entries to a block. */
tc_status tc_random_bulk(tc_random_worker *worker, uint64_t first, size_t count, uint64_t *words) TC_MUST_USE;

/* More bits for one entry of the open round; attempt >= 1. */
tc_status tc_random_refine(tc_random_worker *worker, uint64_t entry, unsigned attempt, uint64_t *word) TC_MUST_USE;

#endif
