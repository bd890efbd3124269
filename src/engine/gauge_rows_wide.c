/* gauge_rows.c once more, for processors with AVX2. Nothing is fused: the bits are the same. */
#include "engine/gauge_rows.h"

#include <math.h>

#ifdef TC_HAS_WIDE

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#define PACK_BYTES 32
#define KERNELS tc_gauge_kernels_wide

#include "engine/gauge_rows.inc.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
