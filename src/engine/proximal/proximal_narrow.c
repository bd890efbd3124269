/* Steps of many lanes at once, for every processor; those with AVX2 or AVX-512 are sent on to
 * proximal_wide.c and proximal_widest.c. */
#include "engine/proximal/proximal_parts.h"

#include "base/compiler.h"
#include "engine/proximal/proximal_wide.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/proximal/proximal_pack.inc.h"

#define LINKAGE
#define LINE_ADVANCE tc_line_advance_narrow
#define NEWTON_ADVANCE tc_newton_advance_narrow
#include "engine/proximal/proximal_lines.inc.h"
#include "engine/proximal/proximal_newton.inc.h"

bool tc_line_advance(const tc_line_rows *r, size_t count, const tc_line_numbers *n) {
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDEST())
        return tc_line_advance_widest(r, count, n);
    if (TC_IS_WIDE())
        return tc_line_advance_wide(r, count, n);
#endif
    return tc_line_advance_narrow(r, count, n);
}

void tc_newton_advance(const tc_newton_rows *r, size_t count, double most_along) {
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDEST()) {
        tc_newton_advance_widest(r, count, most_along);
        return;
    }
    if (TC_IS_WIDE()) {
        tc_newton_advance_wide(r, count, most_along);
        return;
    }
#endif
    tc_newton_advance_narrow(r, count, most_along);
}
