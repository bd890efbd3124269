/* Who draws: every function that a draw or a key goes through, with the thread that calls it. Linked with --wrap. */
#ifndef TC_TESTS_PRIVACY_DRAWING_H
#define TC_TESTS_PRIVACY_DRAWING_H

#include "noise/random_keys.h"
#include "noise/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct drawing {
    pthread_t loop;               /* must not draw */
    atomic_ulong by_loop, others; /* calls */
    atomic_ulong pause;           /* nanoseconds added to draws by others */
    atomic_ulong fails_after;     /* calls by others, 0 for never */
    bool ratchet_fails;           /* tc_ratchet fails then too */
} drawing;

static drawing drawn;

static inline bool note_draw(void) {
    struct timespec pause = {.tv_nsec = (long)atomic_load(&drawn.pause)};
    if (pthread_equal(pthread_self(), drawn.loop)) {
        (void)atomic_fetch_add(&drawn.by_loop, 1);
        return true;
    }
    unsigned long before = atomic_fetch_add(&drawn.others, 1), limit = atomic_load(&drawn.fails_after);
    if (pause.tv_nsec > 0)
        (void)nanosleep(&pause, NULL);
    return limit == 0 || before < limit;
}

static inline void begin_drawing(void) {
    drawn.loop = pthread_self();
    drawn.ratchet_fails = false;
    atomic_store(&drawn.by_loop, 0);
    atomic_store(&drawn.others, 0);
    atomic_store(&drawn.pause, 0);
    atomic_store(&drawn.fails_after, 0);
}

tc_status __real_tc_random_bulk(tc_random_worker *worker, uint64_t first, size_t count, uint64_t *words);
tc_status __wrap_tc_random_bulk(tc_random_worker *worker, uint64_t first, size_t count, uint64_t *words);
tc_status __wrap_tc_random_bulk(tc_random_worker *worker, uint64_t first, size_t count, uint64_t *words) {
    return note_draw() ? __real_tc_random_bulk(worker, first, count, words) : TC_NO_RANDOM;
}

tc_status __real_tc_random_refine(tc_random_worker *worker, uint64_t entry, unsigned attempt, uint64_t *word);
tc_status __wrap_tc_random_refine(tc_random_worker *worker, uint64_t entry, unsigned attempt, uint64_t *word);
tc_status __wrap_tc_random_refine(tc_random_worker *worker, uint64_t entry, unsigned attempt, uint64_t *word) {
    return note_draw() ? __real_tc_random_refine(worker, entry, attempt, word) : TC_NO_RANDOM;
}

bool __real_tc_ratchet(EVP_CIPHER_CTX *cipher, unsigned char chain_and_round_key[2 * TC_KEY_BYTES]);
bool __wrap_tc_ratchet(EVP_CIPHER_CTX *cipher, unsigned char chain_and_round_key[2 * TC_KEY_BYTES]);
bool __wrap_tc_ratchet(EVP_CIPHER_CTX *cipher, unsigned char chain_and_round_key[2 * TC_KEY_BYTES]) {
    return (note_draw() || !drawn.ratchet_fails) && __real_tc_ratchet(cipher, chain_and_round_key);
}

#endif
