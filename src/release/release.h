/* The one door: private states go in, released numbers come out, once for each round.
 *
 * A release obeys a plan to the letter. It refuses a plan that leaves a varying entry without noise. It releases the
 * rounds 1, 2, ..., T in order, each once. The released numbers are points of public lattices, as doubles: F(x) rounded
 * plus exact integer noise. docs/proofs/release.md says why that has exactly the price that the plan states. */
#ifndef TC_RELEASE_RELEASE_H
#define TC_RELEASE_RELEASE_H

#include "model/model.h"
#include "noise/noise.h"
#include "noise/random.h"
#include "plan/plan.h"
#include "plan/entries.h"

/* ---- private states ---------------------------------------------------------------------------------------------- */

/* Numbers that must not leave the cloud. Both types are incomplete outside src/release: no other code can read a
 * member, copy one by value, take its size, or pass it to a function that wants numbers. No printer, encoder, log or
 * JSON function takes them. They become numbers only through a release, which adds the noise of a plan.
 * (tc_states_mac gives a MAC of the states, under a key that never leaves the process.) The files in
 * tests/release/private_types try all this and must not compile. */

typedef struct tc_private_states tc_private_states; /* the states of all agents, integers times h */
typedef struct tc_private_values tc_private_values; /* entries of F(x) before noise, integers times zeta */

/* Told to that agent alone. Nothing else may depend on it: prices do not cover it. */
typedef enum tc_taken {
    TC_STATE_TAKEN,
    TC_STATE_CLAMPED, /* lay outside the public box or set; a lattice point inside was taken, of a box the nearest */
    TC_STATE_REFUSED, /* not finite: the sender's fault; the state before is kept */
} tc_taken;

/* One state for each agent of the model on the lattice of step 2^exponent: at first the lattice points of the box that
 * are nearest to zero. NULL where the box of some agent holds no lattice point, or one beyond 2^53 steps. */
tc_private_states *tc_states_new(tc_arena *arena, const tc_model *model, int exponent) TC_MUST_USE;

/* The same for a plan: on its lattice, and moved into the public sets that its prices rely on. A release by a plan that
 * relies on some refuses states that were not made so. */
tc_private_states *tc_states_of_plan(tc_arena *arena, const tc_model *model, const tc_plan *plan) TC_MUST_USE;

/* Takes an agent's state x (family->dim numbers): the nearest lattice point, clamped to the public box. */
tc_taken tc_states_from_doubles(tc_private_states *states, size_t family, size_t member, const double *x) TC_MUST_USE;
/* All agents at once, x by coordinate. REFUSED: nothing is taken. */
tc_taken tc_states_take(tc_private_states *states, const double *x) TC_MUST_USE;
/* The same from a message, which carries multiples of h; never refused. */
tc_taken tc_states_from_integers(tc_private_states *states, size_t family, size_t member,
                                 const int64_t *units) TC_MUST_USE;

/* ---- a release --------------------------------------------------------------------------------------------------- */

typedef struct tc_release tc_release;

/* What everybody may see. paper: Problem 1 */
typedef struct tc_released {
    uint64_t round;
    bool is_private;          /* false: a simulation, or a plan without a guarantee */
    const tc_entries *layout; /* of the Jacobian */
    double *constraints;      /* m: g-hat */
    double *jacobian;         /* layout->position_count: J-hat; constants as they are */
    double *states;           /* placement STATES: x-hat, NAN where a coordinate is not released; NULL otherwise */
} tc_released;

typedef struct tc_release_settings {
    uint64_t first_round; /* 0 means 1. After a restart: the round after the last one that anybody may have seen */
    size_t block; /* members of a block, 0 for TC_RELEASE_BLOCK; for tests: affects only sums in floating point, which
                     belong to mechanism none and tc_released_evaluate */
} tc_release_settings;

/* TC_BAD_USAGE, with a sentence in *why, if the release cannot obey the plan or the random source has served another
 * release. TC_BAD_ARITHMETIC: see base/machine.h. The release opens the rounds of the random source. settings may be
 * NULL. Raises on its arena. */
tc_status tc_release_new(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                         tc_random *random, const tc_release_settings *settings, tc_release **release,
                         const char **why) TC_MUST_USE;

/* Room for the numbers of a round, with the constants in place. */
tc_released *tc_released_new(tc_arena *arena, tc_release *release);

bool tc_release_is_private(const tc_release *release);
uint64_t tc_release_next_round(const tc_release *release);

/* Draws the noise of the next round, before its states arrive. TC_BAD_USAGE for any other round. */
tc_status tc_release_prepare(tc_release *release, uint64_t round) TC_MUST_USE;

/* From now on a thread of its own draws noise, rounds ahead, and the caller's thread draws none. Some draws, such as
 * those of large noise, take a hundred times longer than others, so their time would tell about the noise.
 * tc_release_prepare then does nothing, and tc_release_open waits until the noise of its round is drawn. Draws as many
 * rounds ahead as fit most_bytes (0: TC_AHEAD_BYTES), at least two, at most TC_MOST_AHEAD. Noise drawn ahead is secret
 * (secret.h) and wiped when its round is closed or the arena freed; the thread ends with the arena. Call it between
 * rounds, after the last tc_release_hire. The random source must live at least as long as the arena. TC_NO_MEMORY if
 * the system gives no thread. Does nothing without a mechanism. */
#define TC_AHEAD_BYTES ((size_t)32 << 20)
enum { TC_MOST_AHEAD = 64 };
tc_status tc_release_draw_ahead(tc_arena *arena, tc_release *release, size_t most_bytes) TC_MUST_USE;
size_t tc_release_rounds_ahead(const tc_release *release); /* at most; 0: this thread draws */

/* Releases the next round. TC_BAD_USAGE, with nothing written, for another round or beyond the plan's horizon. For
 * placement STATES only x-hat is written: see tc_released_evaluate. */
tc_status tc_release_round(tc_release *release, uint64_t round, const tc_private_states *states,
                           tc_released *released) TC_MUST_USE;

/* ---- A round in parts ----
 *
 * For ensembles too large for one thread or for the cache. tc_release_round is made of these parts, so its bits are the
 * same, however workers share the parts. A worker serves one thread at a time. Block b of a family is its members from
 * b TC_RELEASE_BLOCK on, TC_RELEASE_BLOCK of them or what is left. Private numbers stay inside the worker; only
 * released numbers leave it. Summing or releasing a block a second time in a round is TC_BAD_USAGE, since other data
 * under the same noise would unmask both. A block that fails half-way is spent, and so is its round.
 *
 *   open                                        the round's key; never twice
 *   OUTPUTS: for every block: take, sum         terms on their lattices into the worker's own integer sums
 *            close_sums                         adds up all workers' sums, Phi, g-hat into released->constraints;
 *                                               TC_BAD_USAGE while a block is missing
 *            for every block: take, entries     the block's J-hat
 *   STATES:  for every block: take, states      the block's x-hat
 *   close                                       wipes what is left */
enum { TC_RELEASE_BLOCK = TC_MEMBER_BLOCK };

typedef struct tc_release_worker tc_release_worker;

/* Makes room for this many workers, between rounds; tc_release_new makes one. Invalidates earlier pointers to workers.
 * */
tc_status tc_release_hire(tc_arena *arena, tc_release *release, size_t workers) TC_MUST_USE;
tc_release_worker *tc_release_worker_at(tc_release *release, size_t worker);

/* Memory to prefetch while the worker draws noise, because its thread needs it next (base/machine.h); NULL for none. */
void tc_release_worker_fetches(tc_release_worker *worker, tc_fetch *fetch);

/* TC_BAD_USAGE as tc_release_round. Noise that tc_release_prepare drew is used; otherwise every block draws its own. */
tc_status tc_release_open(tc_release *release, uint64_t round) TC_MUST_USE;

/* Takes the block's states: the agents' own numbers x[component][k], moved to the nearest lattice points of the public
 * box (and into public sets, as tc_states_of_plan), or those of a cloud that keeps all states. A number that is not
 * finite is TC_BAD_USAGE, and nothing is taken. */
tc_status tc_release_take(tc_release_worker *worker, size_t family, size_t block, const double *const *x) TC_MUST_USE;
tc_status tc_release_take_stored(tc_release_worker *worker, size_t family, size_t block,
                                 const tc_private_states *states) TC_MUST_USE;

tc_status tc_release_sum(tc_release_worker *worker) TC_MUST_USE;
tc_status tc_release_close_sums(tc_release *release, tc_released *released) TC_MUST_USE;

/* The block's entries: shared entry e of the block's k-th member at jacobian[e][k], for every shared entry that gets
 * noise, with single parts folded in where they have no entry of their own. Rows of constants are left alone (see
 * tc_released_new) and may be NULL. Single entries of their own are written by tc_release_close_sums. The states must
 * be those that were summed: TC_BAD_USAGE otherwise. */
tc_status tc_release_entries(tc_release_worker *worker, double *const *jacobian) TC_MUST_USE;

/* The block's x-hat: states[component][k]; NAN where a coordinate is not released. */
tc_status tc_release_states(tc_release_worker *worker, double *const *states) TC_MUST_USE;

void tc_release_close(tc_release *release);

/* Writes g and its Jacobian at a public point x (n numbers) to released. For placement STATES, x is made from x-hat,
 * which is post-processing and free. The caller chooses whether to move x-hat into the box; outside it functions may be
 * undefined. For placement OUTPUTS the result is a release without noise and without the last rounding, for an auditor
 * at a point of the auditor's own. */
void tc_released_evaluate(tc_release *release, const double *x, tc_released *released);

/* ---- what identifies the states of a round ----------------------------------------------------------------------- */

/* For a journal: shows whether two inputs were the same, but only with the key of the random source, which never leaves
 * the process. HMAC-SHA256 over ("tacit states 1", round, all states on the lattice in the order of the model), numbers
 * of 64 bits with the least significant byte first. TC_NO_RANDOM in a forked child; the MAC is then zeros. */
tc_status tc_states_mac(const tc_private_states *states, const tc_random *random, uint64_t round,
                        unsigned char mac[TC_MAC_BYTES]) TC_MUST_USE;

#endif
