#include "calculus/interval/interval.h"

/* ---- one bound at a time ---------------------------------------------------------------------------------------- */

static bool is_negative(double x) { return signbit(x) != 0; }

/* docs/proofs/intervals.md, section 2. */
double tc_mul_down_rare(double a, double b) {
    if (a == 0 || b == 0)
        return 0;
    double product = a * b;
    if (isinf(product) || isnan(product))
        return tc_below(product);
    if (product == 0)
        return is_negative(a) != is_negative(b) ? -0x1p-1074 : 0;
    /* Tiny but not zero: the smaller factor is below 2^-480 and can be scaled up, and the product with it. */
    double small = fabs(a) < fabs(b) ? a : b, large = fabs(a) < fabs(b) ? b : a;
    return fma(small * 0x1p1000, large, -product * 0x1p1000) >= 0 ? product : tc_below(product);
}

/* Section 3: the sign of a - quotient b is that of the exact remainder once |a| is large enough. */
double tc_div_down(double a, double b) {
    if (b == 0)
        return -HUGE_VAL;
    if (a == 0)
        return isnan(b) ? -HUGE_VAL : 0;
    double quotient = a / b;
    if (isinf(b) && !isinf(a))
        return 0;
    if (!isfinite(quotient))
        return tc_below(quotient);
    double scaled = quotient;
    if (fabs(a) < TC_SAFE_PRODUCT) {
        a *= 0x1p512;
        scaled *= 0x1p512;
    }
    double remainder = fma(-scaled, b, a);
    return (b > 0 ? remainder : -remainder) >= 0 ? quotient : tc_below(quotient);
}

double tc_div_up(double a, double b) { return b == 0 ? HUGE_VAL : -tc_div_down(-a, b); }

/* root^2 - a, scaled where it could underflow; section 4. */
static double sqrt_excess(double a, double root) {
    if (a < TC_SAFE_PRODUCT) {
        a *= 0x1p600;
        root *= 0x1p300;
    }
    return fma(root, root, -a);
}

double tc_sqrt_down(double a) {
    if (!(a >= 0))
        return -HUGE_VAL;
    if (a == 0 || isinf(a))
        return a;
    double root = sqrt(a);
    return sqrt_excess(a, root) <= 0 ? root : tc_below(root);
}

double tc_sqrt_up(double a) {
    if (!(a >= 0))
        return HUGE_VAL;
    if (a == 0 || isinf(a))
        return a;
    double root = sqrt(a);
    return sqrt_excess(a, root) >= 0 ? root : tc_above(root);
}

/* ---- intervals -------------------------------------------------------------------------------------------------- */

static tc_interval mul_mixed(tc_interval a, tc_interval b) { /* both have points of both signs */
    return (tc_interval){fmin(tc_mul_down(a.lo, b.hi), tc_mul_down(a.hi, b.lo)),
                         fmax(tc_mul_up(a.lo, b.lo), tc_mul_up(a.hi, b.hi))};
}

tc_interval tc_imul(tc_interval a, tc_interval b) {
    if (b.lo >= 0) { /* each end of the product takes the far end of b where it grows the result outward */
        return (tc_interval){tc_mul_down(a.lo, a.lo >= 0 ? b.lo : b.hi), tc_mul_up(a.hi, a.hi >= 0 ? b.hi : b.lo)};
    }
    if (b.hi <= 0)
        return (tc_interval){tc_mul_down(a.hi, a.hi >= 0 ? b.lo : b.hi), tc_mul_up(a.lo, a.lo >= 0 ? b.hi : b.lo)};
    if (a.lo >= 0)
        return (tc_interval){tc_mul_down(a.hi, b.lo), tc_mul_up(a.hi, b.hi)};
    if (a.hi <= 0)
        return (tc_interval){tc_mul_down(a.lo, b.hi), tc_mul_up(a.lo, b.lo)};
    return mul_mixed(a, b);
}

tc_interval tc_idiv(tc_interval a, tc_interval b) {
    if ((b.lo < 0 && b.hi > 0) || (b.lo == 0 && b.hi == 0))
        return tc_whole_line();
    if (b.hi <= 0)
        return tc_idiv(tc_ineg(a), tc_ineg(b));
    if (b.lo == 0) /* values close to 0+ : a half line where a has one sign */
        return (tc_interval){a.lo >= 0 ? tc_div_down(a.lo, b.hi) : -HUGE_VAL,
                             a.hi <= 0 ? tc_div_up(a.hi, b.hi) : HUGE_VAL};
    return (tc_interval){tc_div_down(a.lo, a.lo >= 0 ? b.hi : b.lo), tc_div_up(a.hi, a.hi >= 0 ? b.lo : b.hi)};
}

tc_interval tc_isquare(tc_interval a) {
    double low = tc_mignitude(a), high = tc_magnitude(a);
    return (tc_interval){tc_mul_down(low, low), tc_mul_up(high, high)};
}

tc_interval tc_isqrt(tc_interval a) {
    if (a.lo < 0)
        return tc_whole_line();
    return (tc_interval){tc_sqrt_down(a.lo), tc_sqrt_up(a.hi)};
}

/* Grows with |a| and, for fixed a, with the threshold: its slope there is |a| - threshold beyond it, 0 inside. */
static double huber_down(double size, double threshold) {
    if (size <= threshold)
        return tc_mul_down(tc_mul_down(0.5, size), size);
    return tc_mul_down(threshold, tc_add_down(size, -tc_mul_up(0.5, threshold)));
}

static double huber_up(double size, double threshold) {
    if (size <= threshold)
        return tc_mul_up(tc_mul_up(0.5, size), size);
    return tc_mul_up(threshold, tc_add_up(size, -tc_mul_down(0.5, threshold)));
}

tc_interval tc_ihuber(tc_interval a, tc_interval threshold) {
    if (threshold.lo < 0)
        return tc_whole_line();
    return (tc_interval){huber_down(tc_mignitude(a), threshold.lo), huber_up(tc_magnitude(a), threshold.hi)};
}

tc_interval tc_iclamp(tc_interval a, tc_interval threshold) {
    if (threshold.lo < 0)
        return tc_whole_line();
    return (tc_interval){a.lo >= 0 ? fmin(a.lo, threshold.lo) : fmax(a.lo, -threshold.hi),
                         a.hi >= 0 ? fmin(a.hi, threshold.hi) : fmax(a.hi, -threshold.lo)};
}

tc_interval tc_iinside(tc_interval a, tc_interval threshold) {
    if (tc_magnitude(a) < threshold.lo)
        return tc_point(1);
    if (tc_mignitude(a) > threshold.hi)
        return tc_point(0);
    return (tc_interval){0, 1};
}

tc_interval tc_hull(tc_interval a, tc_interval b) {
    return (tc_interval){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

tc_interval tc_meet(tc_interval a, tc_interval b) {
    tc_interval common = {a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    return common.lo <= common.hi ? common : a;
}

double tc_magnitude(tc_interval a) { return -a.lo > a.hi ? fabs(a.lo) : fabs(a.hi); }

double tc_mignitude(tc_interval a) { return a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0; }
