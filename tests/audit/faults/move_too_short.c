/* The last round moves results a little less than is needed. */
#define tc_margin_certify honest_certify
#include "engine/tacit/margin.c"
#undef tc_margin_certify

const tc_feasibility *tc_margin_certify(tc_margin *margin, const double *upper, const double *allowance) {
    (void)honest_certify(margin, upper, allowance);
    margin->found.move *= 1 - 0x1p-50;
    return &margin->found;
}
