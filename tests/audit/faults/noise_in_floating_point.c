/* b log(u) in double, added to a double: the textbook, and its well-known leak. */
#define tc_release_round honest_release_round
#include "privacy/release.c"
#undef tc_release_round

static double uniform(void) {
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static double floating_noise(double scale) {
    double u = uniform() - 0.5;
    return u < 0 ? scale * log(1 + 2 * u) : -scale * log(1 - 2 * u);
}

tc_status tc_release_round(tc_release *release, uint64_t round, const tc_private_states *states, tc_released *released);
tc_status tc_release_round(tc_release *release, uint64_t round, const tc_private_states *states,
                           tc_released *released) {
    tc_status status = honest_release_round(release, round, states, released);
    tc_release_values(release, states);
    for (size_t i = 0; i < release->segment_count; i++) {
        const tc_segment *segment = &release->segments[i];
        double step = ldexp(1, segment->channel->step_exponent);
        double *out = segment->target == TC_TARGET_CONSTRAINTS ? released->constraints
                      : segment->target == TC_TARGET_JACOBIAN  ? released->jacobian
                                                               : released->states;
        for (size_t k = 0; k < segment->count; k++)
            out[segment->position + k] =
                step * (double)release->values->units[segment->address + k] + floating_noise(segment->channel->scale);
    }
    return status;
}
