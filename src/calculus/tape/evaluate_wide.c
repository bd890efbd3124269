/* For processors with AVX2: four lanes in one instruction instead of two. */
#define TC_SIMD_LANES 4
#define EVALUATE tc_tape_eval_wide
#include "calculus/tape/evaluate_double.inc.h"
