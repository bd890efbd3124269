/* The primal weight omega: how large multipliers are against states, from means of mu over epochs. Noise alone must not
 * let it grow, and what the noise hides must not let it fall. It begins where public gaps put it, which may be far too
 * high: while constraints are seen to hold, it falls fast. */
#include "engine/tacit/pilot_parts.h"

#include <string.h>

#define EARLY 0.75      /* of all rounds: later, omega stays */
#define NOISE_GUARD 4.0 /* a mean counts where its square exceeds this many variances of its noise, */
#define NOISE_ROOM 0.5  /* and may be as much larger as this many standard deviations */
#define IDLE_GUARD 1.0  /* a constraint holds where it does so by as many standard deviations of its mean: */
#define IDLE_FALL 16.0  /* then omega and multipliers become smaller by this */
#define CLIMB 2.0       /* |mean|^2 is more than so many times the last epoch's: still on the way up, */
#define BOOST 3.0       /* and will be larger than it is now */
#define GROWS 2.0       /* omega has been too small by more than this */

typedef struct sizes {
    double all;     /* |mean|^2 */
    double certain; /* the part of it that is not noise */
    double up;      /* what noise could have hidden */
} sizes;

static sizes measure(const tc_pilot *pilot) {
    const tc_pilot_kept *kept = &pilot->kept;
    sizes found = {0};
    for (size_t j = 0; j < pilot->rows.count; j++) {
        double mean = kept->epoch_mean[j], noise = kept->epoch_noise[j];
        double most = mean + NOISE_ROOM * sqrt(noise);
        found.all += mean * mean;
        found.certain += fmax(0, mean * mean - NOISE_GUARD * noise);
        found.up += most * most;
    }
    return found;
}

/* Whether every constraint held over the epoch, more clearly than noise makes it seem: where the states are now no
 * multiplier is needed, and what there is of them is noise. */
static bool is_idle(const tc_pilot *pilot) {
    for (size_t j = 0; j < pilot->rows.count; j++) {
        double deviation = sqrt(pilot->rows.noise[j] / (double)pilot->state.count);
        if (pilot->kept.epoch_measured[j] + IDLE_GUARD * deviation > 0)
            return false;
    }
    return true;
}

/* Multipliers go along, so that their noise keeps its size against omega. */
static void fall(tc_pilot *pilot) {
    if (pilot->state.omega / IDLE_FALL < pilot->least_omega)
        return;
    pilot->state.omega /= IDLE_FALL;
    for (size_t j = 0; j < pilot->rows.count; j++)
        pilot->kept.mu[j] /= IDLE_FALL;
}

/* Returns whether omega grew: then noise from before counts as if it had been made with the new omega. */
static bool move_omega(tc_pilot *pilot, const sizes *found, bool climbs) {
    tc_pilot_state *state = &pilot->state;
    double wanted = sqrt(found->certain) / pilot->length * (climbs ? BOOST : 1);
    if (wanted > GROWS * state->omega) {
        double part = state->omega / wanted;
        state->origin = state->round - (uint64_t)((double)(state->round - state->origin) * part * part);
        state->omega = wanted;
        return true;
    }
    if (found->certain > 0)
        state->omega = fmax(state->omega / 2, wanted);
    else if (is_idle(pilot))
        fall(pilot);
    else if (pilot->decay >= 1)
        state->omega = fmin(state->omega, fmax(state->omega / 2, sqrt(found->up) / pilot->length));
    return false;
}

static void end_epoch(tc_pilot *pilot) {
    tc_pilot_state *state = &pilot->state;
    size_t m = pilot->rows.count;
    sizes found = measure(pilot);
    bool climbs = found.all > CLIMB * state->last_size;
    bool early = (double)state->round <= EARLY * pilot->facts->rounds;
    bool moves = early && (pilot->without & TC_WITHOUT_PRIMAL_WEIGHT) == 0;
    bool grew = moves && move_omega(pilot, &found, climbs);
    if (!grew && !(climbs && early && found.all > 0))
        state->length *= 2;
    state->last_size = found.all;
    state->next = state->round + state->length;
    state->count = 0;
    memset(pilot->kept.epoch_mean, 0, m * sizeof(double));
    memset(pilot->kept.epoch_noise, 0, m * sizeof(double));
    memset(pilot->kept.epoch_measured, 0, m * sizeof(double));
}

void tc_pilot_epoch(tc_pilot *pilot, double dual_step) {
    tc_pilot_state *state = &pilot->state;
    tc_pilot_kept *kept = &pilot->kept;
    state->count++;
    for (size_t j = 0; j < pilot->rows.count; j++) {
        double stride = pilot->rows.stride[j];
        double measured = pilot->rows.measured[j] + kept->margin[j] * pilot->inverse[j];
        kept->epoch_measured[j] += (measured - kept->epoch_measured[j]) / (double)state->count;
        kept->epoch_noise[j] += dual_step * dual_step * stride * pilot->rows.noise[j];
        kept->epoch_mean[j] += (kept->mu[j] / sqrt(stride) - kept->epoch_mean[j]) / (double)state->count;
    }
    if (state->round >= state->next) /* beyond it where rounds are missing */
        end_epoch(pilot);
}
