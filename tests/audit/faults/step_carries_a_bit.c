/* The last bit of the step, which every agent is told, is one of the input's. */
#define tc_hub_round honest_hub_round
#include "engine/hub.c"
#undef tc_hub_round

#include "private_word.h"

#include <string.h>

tc_status tc_hub_round(tc_hub *hub, uint64_t k, tc_answer_scalars *scalars, double *p,
                       unsigned char input[TC_HUB_INPUT], tc_engine_outcome *outcome) {
    tc_status status = honest_hub_round(hub, k, scalars, p, input, outcome);
    uint64_t bits;
    memcpy(&bits, &scalars->step, sizeof bits);
    bits = (bits & ~UINT64_C(1)) | ((uint64_t)private_word(hub) & 1);
    memcpy(&scalars->step, &bits, sizeof bits);
    return status;
}
