/* narrow.c once more, compiled for processors with AVX-512: eight lanes in one instruction, with the same bits. */
#define TC_SIMD_LANES 8
#define LINE_ADVANCE tc_line_advance_widest
#define NEWTON_ADVANCE tc_newton_advance_widest
#include "engine/proximal/lanes.inc.h"
