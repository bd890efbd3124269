/* evaluate_double.c once more, compiled for processors with AVX2: four lanes in one instruction instead of two. The
 * same operations with the same roundings; nothing is fused, so the bits are the same, which tests/calculus checks. */
#include "calculus/tape/tape_code.h"

#include "calculus/interval/elementary.h"

#ifdef TC_HAS_WIDE

TC_WIDE_BEGIN

#include "calculus/tape/evaluate_double.inc.h"

#define INPUTS tc_inputs
#define EVALUATE tc_tape_eval_wide
#define DATA_ROWS_ARE_NUMBERS

#include "calculus/tape/evaluate.inc.h"

TC_WIDE_END

#endif
