/* A pilot between two runs. */
#include "engine/tacit/pilot_parts.h"

void tc_pilot_memory(tc_pilot *pilot, tc_snapshot *memory) {
    tc_pilot_state *state = &pilot->state;
    uint64_t *const counts[] = {&state->round, &state->origin, &state->length, &state->next, &state->count};
    double *const numbers[] = {&state->omega, &state->fast, &state->variance, &state->last_size};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        tc_snapshot_count(memory, counts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tc_snapshot_numbers(memory, numbers[i], 1);
    tc_snapshot_numbers(memory, pilot->kept.mu, 6 * pilot->rows.count);
}

static bool is_sound(const tc_pilot *pilot) {
    const tc_pilot_state *state = &pilot->state;
    bool finite = true;
    for (size_t i = 0; i < 6 * pilot->rows.count; i++)
        finite = finite && isfinite(pilot->kept.mu[i]);
    for (size_t j = 0; j < pilot->rows.count; j++)
        finite = finite && pilot->kept.mu[j] >= 0;
    return finite && state->origin <= state->round && state->length > 0 && state->count < state->length &&
           state->omega > 0 && isfinite(state->omega) && state->fast > 0 && state->fast <= 1 && state->variance >= 0 &&
           isfinite(state->variance) && isfinite(state->last_size);
}

bool tc_pilot_review(tc_pilot *pilot, const tc_gauged *gauged) {
    if (!is_sound(pilot))
        return false;
    for (size_t j = 0; j < pilot->rows.count; j++)
        pilot->multipliers[j] = pilot->kept.mu[j] * pilot->inverse[j];
    if (pilot->rows.count == 0 || pilot->state.round == 0)
        return true;
    double variance = (pilot->without & TC_WITHOUT_BIAS) != 0 ? 0 : pilot->state.variance;
    tc_pilot_rows_evaluate(&pilot->rows, gauged);
    pilot->gauged = gauged;
    return tc_pilot_rows_measure(&pilot->rows, gauged, variance) == TC_ALL_FINITE;
}
