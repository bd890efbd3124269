/* proximal_narrow.c once more, compiled for processors with AVX2: four lanes in one instruction instead of two, with
 * the same bits. */
#include "engine/proximal_wide.h"

#include "base/compiler.h"

#include <float.h>
#include <math.h>
#include <string.h>

#ifdef TC_HAS_WIDE

#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#define PACKS_ARE_WIDE
#include "engine/proximal_pack.inc.h"

#define LINKAGE
#define LINE_ADVANCE tc_line_advance_wide
#define NEWTON_ADVANCE tc_newton_advance_wide
#include "engine/proximal_lines.inc.h"
#include "engine/proximal_newton.inc.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
