/* estimator_rows.c once more, for processors with AVX2. Nothing is fused: the bits are the same. */
#define TC_SIMD_LANES 4
#include "engine/tacit/estimator_inside.h"

#include <math.h>

#ifdef TC_HAS_WIDE

TC_SIMD_BEGIN

#define KERNELS tc_estimator_kernels_wide

#include "engine/tacit/estimator_rows.inc.h"

TC_SIMD_END

#endif
