/* estimator_rows.c once more, for processors with AVX-512. Nothing is fused: the bits are the same. */
#define TC_SIMD_LANES 8
#include "engine/tacit/estimator_inside.h"

#include <math.h>

#ifdef TC_HAS_WIDE

TC_SIMD_BEGIN

#define KERNELS tc_estimator_kernels_widest

#include "engine/tacit/estimator_rows.inc.h"

TC_SIMD_END

#endif
