/* The last bit of the step, which every agent is told, is one of the input's. */
#define tc_cloud_half_round honest_round
#include "engine/cloud_half.c"
#undef tc_cloud_half_round

#include "private_word.h"

#include <string.h>

tc_status tc_cloud_half_round(tc_cloud_half *half, uint64_t k, tc_answer_scalars *scalars, double *p,
                              unsigned char input[TC_STATES_MAC], tc_engine_outcome *outcome) {
    tc_status status = honest_round(half, k, scalars, p, input, outcome);
    uint64_t bits;
    memcpy(&bits, &scalars->step, sizeof bits);
    bits = (bits & ~UINT64_C(1)) | ((uint64_t)private_word(half) & 1);
    memcpy(&scalars->step, &bits, sizeof bits);
    return status;
}
