/* proximal_narrow.c once more, compiled for processors with AVX-512: eight lanes in one instruction instead of two,
 * with the same bits. */
#include "engine/proximal/proximal_wide.h"

#include "base/compiler.h"

#include <float.h>
#include <math.h>
#include <string.h>

#ifdef TC_HAS_WIDE

#include <immintrin.h>

TC_WIDEST_BEGIN

#define PACKS_ARE_WIDEST
#include "engine/proximal/proximal_pack.inc.h"

#define LINKAGE
#define LINE_ADVANCE tc_line_advance_widest
#define NEWTON_ADVANCE tc_newton_advance_widest
#include "engine/proximal/proximal_lines.inc.h"
#include "engine/proximal/proximal_newton.inc.h"

TC_WIDE_END

#endif
