/* The noise of a round: exact draws at addresses. */
#ifndef TC_NOISE_NOISE_H
#define TC_NOISE_NOISE_H

#include "noise/random.h"
#include "noise/sampler.h"

/* Noise of the entries first .. first + count - 1 of the open round, in units of the lattice step; one scale for all.
 * Noise depends on no state, so another thread can draw it before the states of its round arrive. It should: the time
 * of a draw tells about the noise (tc_release_draw_ahead). Threads with a worker each may fill parts of one round; the
 * values do not depend on how the round is divided. */
tc_status tc_noise_fill(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scale, uint64_t first,
                        size_t count, int64_t *noise) TC_MUST_USE;

/* The same, entry first + i with scales[i]. */
tc_status tc_noise_fill_each(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales, uint64_t first,
                             size_t count, int64_t *noise) TC_MUST_USE;

/* The same conditioned on |noise| <= bounds[i] (docs/proofs/ending.md): an entry that falls outside is drawn again, at
 * an address of its own, until it is inside. How often says nothing of the value that is kept. TC_NO_RANDOM where it is
 * never inside, which has a probability below 2^-1000 for bounds of at least one scale. first + count <=
 * TC_REDRAW_STRIDE. */
#define TC_REDRAW_STRIDE (UINT64_C(1) << 48)
tc_status tc_noise_fill_within(tc_random_worker *worker, tc_noise_law law, const tc_noise_scale *scales,
                               const int64_t *bounds, uint64_t first, size_t count, int64_t *noise) TC_MUST_USE;

#endif
