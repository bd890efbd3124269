/* narrow.c once more, compiled for processors with AVX2: four lanes in one instruction, with the same bits. */
#define TC_SIMD_LANES 4
#define LINE_ADVANCE tc_line_advance_wide
#define NEWTON_ADVANCE tc_newton_advance_wide
#include "engine/proximal/lanes.inc.h"
