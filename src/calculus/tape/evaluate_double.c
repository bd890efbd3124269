/* For every processor; those with AVX2 or AVX-512 are sent on to evaluate_wide.c and evaluate_widest.c. */
#define EVALUATE tc_tape_eval_plain
#include "calculus/tape/evaluate_double.inc.h"

void tc_tape_eval(const tc_tape *tape, const tc_inputs *inputs, size_t lanes, double *work, double *const *out) {
    TC_SIMD_CHOOSE(tc_tape_eval_plain, tc_tape_eval_wide, tc_tape_eval_widest)(tape, inputs, lanes, work, out);
}
