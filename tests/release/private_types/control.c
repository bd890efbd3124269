/* must compile: what is released may be printed, and private things may be passed on */
#include "attempt.h"

static tc_status pass_on(tc_release *release, const tc_private_states *states, tc_released *released) {
    return tc_release_round(release, 1, states, released);
}

void attempt(tc_json *json, tc_buffer *out, const tc_private_states *states, const tc_private_values *values,
             const tc_released *released) {
    (void)json, (void)out, (void)states, (void)values, (void)released;
    tc_json_numbers(json, "g", released->constraints, 1);
    tc_buffer_printf(out, "%g", released->constraints[0]);
    encode(out, released);
    (void)pass_on;
}
