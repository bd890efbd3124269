/* Steps of many lanes at once, for every processor; those with AVX2 or AVX-512 are sent on to proximal_wide.c and
 * proximal_widest.c. */
#include "engine/proximal/proximal_wide.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define LINE_ADVANCE tc_line_advance_narrow
#define NEWTON_ADVANCE tc_newton_advance_narrow
#include "engine/proximal/proximal_lines.inc.h"
#include "engine/proximal/proximal_newton.inc.h"

bool tc_line_advance(const tc_line_rows *r, size_t count, const tc_line_numbers *n) {
    return TC_SIMD_CHOOSE(tc_line_advance_narrow, tc_line_advance_wide, tc_line_advance_widest)(r, count, n);
}

void tc_newton_advance(const tc_newton_rows *r, size_t count, double most_along) {
    TC_SIMD_CHOOSE(tc_newton_advance_narrow, tc_newton_advance_wide, tc_newton_advance_widest)(r, count, most_along);
}
