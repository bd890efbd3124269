/* What each attempt has at hand: everything but src/release/inside.h. */
#include "base/json.h"
#include "release/release.h"

void encode(tc_buffer *out, const tc_released *released);
void attempt(tc_json *json, tc_buffer *out, const tc_private_states *states, const tc_private_values *values,
             const tc_released *released);
