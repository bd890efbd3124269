/* The price of noise of bounded support: what a release costs whose noise was drawn until |noise| <= cut scales
 * (docs/proofs/ending.md). */
#include "plan/account/account.h"

/* Some value that one world can release and the other cannot. Laplace, in all rows together, by convexity:
 * (e^epsilon - 1) / (2 (e^cut - 1)). */
static double laplace_delta(double epsilon, double cut) {
    tc_interval moved = tc_isub(tc_iexp(tc_point(epsilon)), tc_point(1));
    tc_interval kept = tc_imul(tc_point(2), tc_isub(tc_iexp(tc_point(cut)), tc_point(1)));
    return kept.lo > 0 && isfinite(moved.hi) ? tc_div_up(moved.hi, kept.lo) : (double)INFINITY;
}

/* What is kept of the noise of all rows: (1 - 2 Q(cut))^rows >= 1 - 2 rows Q(cut). */
double tc_bounded_kept(double rows, double cut) {
    return tc_add_down(1, -tc_mul_up(tc_mul_up(2, rows), tc_normal_tail(tc_point(cut)).hi));
}

/* sqrt(rows) mu phi(cut - mu) / (1 - 2 Q(cut)), for mu <= cut. */
static double gaussian_delta(double mu, double rows, double cut) {
    double kept = tc_bounded_kept(1, cut), from = tc_add_down(cut, -mu);
    if (!(from >= 0 && kept > 0) || !(tc_bounded_kept(rows, cut) >= TC_LEAST_KEPT))
        return INFINITY;
    double each = tc_mul_up(mu, tc_normal_density(tc_point(from)).hi);
    return tc_div_up(tc_mul_up(tc_sqrt_up(rows), each), kept);
}

double tc_bounded_delta(tc_mechanism mechanism, double amount, double rows, double cut) {
    if (!(amount >= 0 && rows >= 1 && cut >= TC_LEAST_CUT))
        return INFINITY;
    return mechanism == TC_MECHANISM_GAUSSIAN ? gaussian_delta(amount, rows, cut) : laplace_delta(amount, cut);
}

double tc_bounded_cut(tc_mechanism mechanism, double amount, double rows, double delta) {
    enum { PARTS = 64, MOST_CUT = 700 };
    for (int step = 0; step <= PARTS * MOST_CUT; step++) {
        double cut = TC_LEAST_CUT + (double)step / PARTS;
        if (tc_bounded_delta(mechanism, amount, rows, cut) <= delta)
            return cut;
    }
    return INFINITY;
}
