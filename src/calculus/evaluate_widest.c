/* evaluate_double.c once more, compiled for processors with AVX-512: eight lanes in one instruction instead of two. The
 * same operations with the same roundings; nothing is fused, so the bits are the same, which tests/calculus checks. */
#include "calculus/tape_code.h"

#include "calculus/proved.h"

#ifdef TC_HAS_WIDE

TC_WIDEST_BEGIN

#include "calculus/evaluate_double.inc.h"

#define INPUTS tc_inputs
#define EVALUATE tc_tape_eval_widest
#define DATA_ROWS_ARE_NUMBERS

#include "calculus/evaluate.inc.h"

TC_WIDE_END

#endif
