/* proximal_narrow.c once more, compiled for processors with AVX-512: eight lanes in one instruction, with the same
 * bits. */
#define TC_SIMD_LANES 8
#include "engine/proximal/proximal_wide.h"

#include <float.h>
#include <math.h>
#include <string.h>

#ifdef TC_HAS_WIDE

TC_SIMD_BEGIN

#define LINE_ADVANCE tc_line_advance_widest
#define NEWTON_ADVANCE tc_newton_advance_widest
#include "engine/proximal/proximal_lines.inc.h"
#include "engine/proximal/proximal_newton.inc.h"

TC_SIMD_END

#endif
