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

/* Grows with |a| and, for fixed a, with the threshold: its slope by the threshold is |a| - threshold where |a| is
 * larger, else 0. */
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

tc_interval tc_iabs(tc_interval a) { return (tc_interval){tc_mignitude(a), tc_magnitude(a)}; }

tc_interval tc_imax(tc_interval a, tc_interval b) {
    return (tc_interval){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

/* ---- powers ------------------------------------------------------------------------------------------------------ */

/* Powers of a non-negative base, one bound at a time. Squarings from the highest bit of the exponent: every partial
 * result is a power of x with a smaller exponent, so that nothing is rounded where the final power is a double. */
static double whole_power_down(double x, uint64_t n) {
    double power = x;
    int bit = 63;
    while (bit > 0 && !(n >> bit & 1))
        bit--;
    while (bit-- > 0) {
        power = tc_mul_down(power, power);
        if (n >> bit & 1)
            power = tc_mul_down(power, x);
    }
    return power;
}

static double whole_power_up(double x, uint64_t n) {
    double power = x;
    int bit = 63;
    while (bit > 0 && !(n >> bit & 1))
        bit--;
    while (bit-- > 0) {
        power = tc_mul_up(power, power);
        if (n >> bit & 1)
            power = tc_mul_up(power, x);
    }
    return power;
}

static tc_interval positive_power(tc_interval a, uint64_t n) {
    if (n % 2 == 0)
        return (tc_interval){whole_power_down(tc_mignitude(a), n), whole_power_up(tc_magnitude(a), n)};
    /* odd: increasing, and odd as a function */
    return (tc_interval){a.lo >= 0 ? whole_power_down(a.lo, n) : -whole_power_up(-a.lo, n),
                         a.hi >= 0 ? whole_power_up(a.hi, n) : -whole_power_down(-a.hi, n)};
}

tc_interval tc_ipowi(tc_interval a, int64_t exponent) {
    if (exponent == 0)
        return tc_point(1);
    if (exponent > 0)
        return positive_power(a, (uint64_t)exponent);
    if (a.lo < 0 && a.hi > 0)
        return tc_whole_line(); /* a pole inside; for an even power the quotient would not show it */
    return tc_idiv(tc_point(1), positive_power(a, (uint64_t)-exponent));
}

/* x^p for x > 0 and finite: exactly through the square root where p is a small half, else exp(p log x). */
static tc_interval real_power_at(double x, double p) {
    if (x == 1)
        return tc_point(1);
    if (fabs(p) < 0x1p31 && p == floor(p))
        return tc_ipowi(tc_point(x), (int64_t)p);
    if (fabs(p) <= 32 && p + p == floor(p + p)) {
        tc_interval base = tc_point(x), root = tc_isqrt(base);
        double below = floor(fabs(p));
        tc_interval power = below > 0 ? tc_imul(tc_ipowi(base, (int64_t)below), root) : root;
        return p > 0 ? power : tc_idiv(tc_point(1), power);
    }
    return tc_iexp(tc_imul(tc_point(p), tc_log_at(x)));
}

tc_interval tc_ipowr(tc_interval a, double exponent) {
    if (a.lo < 0 || isnan(exponent))
        return tc_whole_line();
    if (exponent == 0)
        return tc_point(1);
    bool rises = exponent > 0;
    double at_zero = rises ? 0 : HUGE_VAL, at_infinity = rises ? HUGE_VAL : 0;
    double low = rises ? a.lo : a.hi, high = rises ? a.hi : a.lo;
    return (tc_interval){low == 0     ? at_zero
                         : isinf(low) ? at_infinity
                                      : real_power_at(low, exponent).lo,
                         high == 0     ? at_zero
                         : isinf(high) ? at_infinity
                                       : real_power_at(high, exponent).hi};
}

/* For one x the power is monotone in its exponent: between those of the ends. */
static tc_interval power_between(tc_interval a, tc_interval p) {
    if (tc_is_point(p) && p.lo == floor(p.lo) && fabs(p.lo) < 0x1p31)
        return tc_ipowi(a, (int64_t)p.lo);
    return tc_hull(tc_ipowr(a, p.lo), tc_ipowr(a, p.hi));
}

tc_interval tc_ipowd(tc_interval a, tc_interval p, size_t order) {
    tc_interval factor = tc_point(1);
    for (size_t i = 0; i < order; i++)
        factor = tc_imul(factor, tc_isub(p, tc_point((double)i)));
    if (factor.lo == 0 && factor.hi == 0)
        return tc_point(0);
    return tc_imul(factor, power_between(a, tc_isub(p, tc_point((double)order))));
}
