/* must not compile: incomplete|undefined type */
#include "attempt.h"

void attempt(tc_json *json, tc_buffer *out, const tc_private_states *states, const tc_private_values *values,
             const tc_released *released) {
    (void)json, (void)out, (void)states, (void)values, (void)released;
    tc_buffer_printf(out, "%g", *states);
}
