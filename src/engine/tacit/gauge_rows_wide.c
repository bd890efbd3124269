/* gauge_rows.c once more, for processors with AVX2. Nothing is fused: the bits are the same. */
#define TC_SIMD_LANES 4
#include "engine/tacit/gauge_rows.h"

#include <math.h>

#ifdef TC_HAS_WIDE

TC_SIMD_BEGIN

#define KERNELS tc_gauge_kernels_wide

#include "engine/tacit/gauge_rows.inc.h"

TC_SIMD_END

#endif
