/* gauge_rows.c once more, for processors with AVX2. Nothing is fused: the bits are the same. */
#include "engine/tacit/gauge_rows.h"

#include <math.h>

#ifdef TC_HAS_WIDE

TC_WIDE_BEGIN

#define PACK_BYTES 32
#define KERNELS tc_gauge_kernels_wide

#include "engine/tacit/gauge_rows.inc.h"

TC_WIDE_END

#endif
