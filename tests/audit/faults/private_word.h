/* Faults that look where nobody may: a number that depends on the states. Include it after engine/cloud_half.c. */
#include "release/inside.h"

static inline int64_t private_word(const tc_cloud_half *half) {
    const tc_private_states *states = half->engine->states;
    int64_t word = 0;
    for (size_t i = 0; i < states->model->state_count; i++)
        word ^= states->units[i] * (int64_t)(2 * i + 1);
    return word;
}
