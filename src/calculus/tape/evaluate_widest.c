/* For processors with AVX-512: eight lanes in one instruction instead of two. */
#define TC_SIMD_LANES 8
#define EVALUATE tc_tape_eval_widest
#include "calculus/tape/evaluate_double.inc.h"
