/* EVALUATE in double, compiled for the lanes that the includer chose (base/simd.h). The same operations with the same
 * roundings; nothing is fused, so the bits are the same, which tests/calculus checks. */
#include "calculus/tape/tape_code.h"

#include "calculus/interval/elementary.h"

#if TC_SIMD_LANES == 2 || defined(TC_HAS_WIDE)

TC_SIMD_BEGIN

#define INPUTS tc_inputs
#define DATA_ROWS_ARE_NUMBERS
#include "calculus/tape/evaluate_float.inc.h"
#include "calculus/tape/evaluate.inc.h"

TC_SIMD_END

#endif
