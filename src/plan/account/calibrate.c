#include "plan/account/account.h"

static bool is_positive(double x) { return x > 0 && x <= DBL_MAX; }
static bool is_amount(double x) { return x >= 0 && x <= DBL_MAX; }

/* a B / c upward; infinite where an argument makes no sense. */
static double ratio_up(double a, double b, double c) {
    if (!is_amount(a) || !is_amount(b) || !(c > 0))
        return HUGE_VAL;
    return tc_div_up(tc_mul_up(a, b), c);
}

/* ---- Laplace ---------------------------------------------------------------------------------------------------- */

/* paper: Theorem 1: b >= Delta_1 / epsilon, where the sensitivity Delta_1 of a trajectory is at most K_1 B. */
double tc_laplace_scale(double sensitivity, double distance, double epsilon) {
    return ratio_up(sensitivity, distance, epsilon);
}

double tc_laplace_variance(double scale) { return tc_mul_up(2, tc_mul_up(scale, scale)); }

/* ---- Gaussian --------------------------------------------------------------------------------------------------- */

/* paper: Theorem 2: sigma >= Delta_2 (K + sqrt(K^2 + 2 epsilon)) / (2 epsilon) = kappa Delta_2, K = Q^-1(delta).
 * kappa = 1 / (sqrt(K^2 + 2 epsilon) - K) grows with K. */
double tc_kappa(double delta, double epsilon) {
    if (!is_positive(epsilon) || !(delta > 0))
        return HUGE_VAL;
    double k = tc_normal_tail_inverse_up(fmin(delta, 1 - 0x1p-53));
    tc_interval at = tc_point(k), twice = tc_imul(tc_point(2), tc_point(epsilon));
    tc_interval root = tc_isqrt(tc_iadd(tc_isquare(at), twice));
    if (k < 0)
        return tc_idiv(tc_point(1), tc_isub(root, at)).hi;
    return tc_idiv(tc_iadd(at, root), twice).hi;
}

/* With a = epsilon/gdp - gdp/2 and b = a + gdp: e^epsilon phi(b) = phi(a), so the difference is phi(a) (M(a) - M(b)),
 * and M(a) - M(b) is the integral of -M' over [a, b], a convex function: between the midpoint's and the trapezoid's
 * value. Section 3 of docs/proofs/gaussian.md. */
typedef struct curve {
    tc_interval a, b, gdp, ratio;
} curve;

static tc_interval plain_difference(const curve *c) {
    tc_interval left = tc_normal_tail(c->a), right = tc_imul(tc_normal_density(c->a), tc_mills(c->b));
    return tc_isub(left, right);
}

enum { PANELS = 8 };

static tc_interval integral_form(const curve *c, double gdp) {
    tc_interval middles = tc_point(0), ends = tc_point(0);
    for (int i = 0; i <= PANELS; i++) {
        double share = (double)i / PANELS; /* exact */
        tc_interval at = tc_iadd(c->ratio, tc_imul(c->gdp, tc_point(share - 0.5)));
        tc_interval slope = tc_mills_slope(at);
        ends = tc_iadd(ends, i == 0 || i == PANELS ? tc_imul(tc_point(0.5), slope) : slope);
        if (i < PANELS) {
            at = tc_iadd(c->ratio, tc_imul(c->gdp, tc_point(share - 0.5 + 0.5 / PANELS)));
            middles = tc_iadd(middles, tc_mills_slope(at));
        }
    }
    tc_interval width = tc_idiv(tc_point(gdp), tc_point(PANELS));
    return tc_imul(tc_normal_density(c->a),
                   (tc_interval){tc_mul_down(width.lo, middles.lo), tc_mul_up(width.hi, ends.hi)});
}

tc_interval tc_gaussian_delta(double epsilon, double gdp) {
    if (!(epsilon >= 0) || !(gdp >= 0))
        return (tc_interval){0, 1};
    if (gdp == 0)
        return tc_point(0);
    if (isinf(gdp) || isinf(epsilon))
        return isinf(epsilon) && !isinf(gdp) ? tc_point(0) : (tc_interval){isinf(epsilon) ? 0 : 1, 1};
    curve c = {.gdp = tc_point(gdp), .ratio = tc_idiv(tc_point(epsilon), tc_point(gdp))};
    tc_interval half = tc_imul(tc_point(0.5), c.gdp);
    c.a = tc_isub(c.ratio, half);
    c.b = tc_iadd(c.ratio, half);
    tc_interval delta = plain_difference(&c);
    if (c.a.lo > -10)
        delta = tc_meet(delta, integral_form(&c, gdp));
    return (tc_interval){fmax(0, delta.lo), fmin(1, delta.hi)};
}

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Bisection over the bits of non-negative doubles, whose order is that of the numbers: 64 steps at most. The number
 * that is returned was itself tested. */
double tc_gaussian_gdp(double epsilon, double delta) {
    if (!(epsilon >= 0) || !(delta > 0))
        return 0;
    if (delta >= 1)
        return HUGE_VAL;
    uint64_t low = 0, high = bits_of(0x1p600);
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (tc_gaussian_delta(epsilon, from_bits(middle)).hi <= delta)
            low = middle;
        else
            high = middle;
    }
    return from_bits(low);
}

double tc_gaussian_sigma(double epsilon, double delta) {
    double gdp = tc_gaussian_gdp(epsilon, delta);
    return isinf(gdp) ? 0 : tc_div_up(1, gdp);
}

double tc_gaussian_epsilon(double gdp, double delta) {
    if (!(gdp >= 0) || !(delta > 0) || isinf(gdp))
        return delta >= 1 ? 0 : HUGE_VAL;
    if (tc_gaussian_delta(0, gdp).hi <= delta)
        return 0;
    uint64_t low = 0, high = bits_of(HUGE_VAL);
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (tc_gaussian_delta(from_bits(middle), gdp).hi <= delta)
            high = middle;
        else
            low = middle;
    }
    return from_bits(high);
}

/* ---- composition ------------------------------------------------------------------------------------------------ */

double tc_hold_l1(double hold) { return hold >= 0 ? tc_add_up(1, hold) : HUGE_VAL; }
double tc_hold_l2(double hold) { return hold >= 0 ? tc_sqrt_up(tc_add_up(1, hold)) : HUGE_VAL; }

double tc_group_factor(double distance, double planned) { return ratio_up(distance, 1, planned); }

/* ---- the standard normal law ------------------------------------------------------------------------------------- */

/* docs/proofs/gaussian.md, section 1. */

#define SERIES_END 1.25 /* below it the series, beyond it the continued fraction */

static tc_interval root_of_two_pi(void) { /* 2.5066282746310005024... */
    return (tc_interval){0x1.40d931ff62705p+1, 0x1.40d931ff62706p+1};
}

/* exp(-x^2 / 2); x^2 = square + rest exactly, so that the error does not grow with x^2. */
static tc_interval bell_at(double x) {
    double square = x * x;
    if (!(square <= 2000)) /* exp(-1000) */
        return (tc_interval){0, 0x1p-1074};
    if (square < TC_SAFE_PRODUCT)
        return (tc_interval){1 - 0x1p-53, 1};
    double rest = fma(x, x, -square);
    return tc_imul(tc_exp_at(-0.5 * square), tc_exp_at(-0.5 * rest));
}

static tc_interval density_at(double x) { return tc_idiv(bell_at(x), root_of_two_pi()); }

/* For 0 <= x <= SERIES_END: (1/2 - Q) / phi = x + x^3/3 + x^5/(3 5) + ..., all terms positive. */
static tc_interval centre_ratio(double x) {
    tc_interval square = tc_isquare(tc_point(x)), term = tc_point(x), sum = term;
    int n = 1;
    do {
        n += 2;
        term = tc_idiv(tc_imul(term, square), tc_point(n));
        sum = tc_iadd(sum, term);
    } while (term.hi > 0x1p-70 * sum.lo && n < 200);
    /* the next ratio of terms is below 1/2, and so are all later ones: the rest is below the last term */
    sum.hi = tc_add_up(sum.hi, term.hi);
    return sum;
}

/* t_0 and t_1 of M = 1 / t_0, t_k = x + (k + 1) / t_(k+1), for x >= SERIES_END. */
typedef struct fraction {
    tc_interval t0, t1;
} fraction;

static fraction continued_fraction(double x) {
    tc_interval at = tc_point(x);
    int depth = 20 + (int)(340 / (x * x));
    /* every t_k is above x, and so below x + (k + 1) / x */
    fraction f = {.t0 = {x, tc_add_up(x, tc_div_up(depth + 1, x))}};
    for (int k = depth - 1; k >= 0; k--) {
        f.t1 = f.t0;
        f.t0 = tc_iadd(at, tc_idiv(tc_point(k + 1), f.t1));
    }
    return f;
}

static tc_interval half(void) { return tc_point(0.5); }

static tc_interval tail_at(double x) {
    if (x < 0)
        return tc_isub(tc_point(1), tail_at(-x));
    if (x <= SERIES_END)
        return tc_isub(half(), tc_imul(density_at(x), centre_ratio(x)));
    if (!(x <= 50))
        return (tc_interval){0, 0x1p-1074};
    return tc_idiv(density_at(x), continued_fraction(x).t0);
}

static tc_interval mills_at(double x) {
    if (x > 0x1p100)
        return (tc_interval){0, 0x1p-100};
    if (x > SERIES_END)
        return tc_idiv(tc_point(1), continued_fraction(x).t0);
    return tc_idiv(tail_at(x), density_at(x));
}

/* 1 - x M; beyond SERIES_END that is (t_0 - x) / t_0 = 1 / (t_0 t_1), without the cancellation. */
static tc_interval mills_slope_at(double x) {
    if (x > 0x1p100)
        return (tc_interval){0, 0x1p-200};
    if (x > SERIES_END) {
        fraction f = continued_fraction(x);
        return tc_idiv(tc_point(1), tc_imul(f.t0, f.t1));
    }
    return tc_isub(tc_point(1), tc_imul(tc_point(x), mills_at(x)));
}

static tc_interval log_tail_at(double x) {
    if (x < 0) { /* log(1 - q), by its series where q is small */
        tc_interval q = tail_at(-x), one = tc_point(1), square = tc_imul(tc_point(0.5), tc_isquare(q));
        tc_interval start = tc_ineg(tc_iadd(q, square));
        double rest = tc_div_up(tc_mul_up(q.hi, tc_mul_up(q.hi, q.hi)), tc_add_down(1, -q.hi)); /* 3 times the rest */
        return tc_meet(tc_ilog(tc_isub(one, q)), (tc_interval){tc_add_down(start.lo, -rest), start.hi});
    }
    if (x <= SERIES_END)
        return tc_ilog(tail_at(x));
    if (x > 0x1p500)
        return (tc_interval){-HUGE_VAL, -0x1p900};
    double square = x * x, rest = fma(x, x, -square);
    tc_interval exponent = tc_iadd(tc_point(0.5 * square), tc_point(0.5 * rest));
    return tc_ineg(tc_iadd(exponent, tc_ilog(tc_imul(root_of_two_pi(), continued_fraction(x).t0))));
}

tc_interval tc_normal_density(tc_interval x) {
    return (tc_interval){fmax(0, density_at(tc_magnitude(x)).lo), density_at(tc_mignitude(x)).hi};
}

/* A falling function over an interval. */
static tc_interval falling(tc_interval (*at)(double), tc_interval x, double least, double most) {
    return (tc_interval){fmax(at(x.hi).lo, least), fmin(at(x.lo).hi, most)};
}

tc_interval tc_normal_tail(tc_interval x) { return falling(tail_at, x, 0, 1); }
tc_interval tc_normal_log_tail(tc_interval x) { return falling(log_tail_at, x, -HUGE_VAL, 0); }
tc_interval tc_mills(tc_interval x) { return falling(mills_at, x, 0, HUGE_VAL); }
tc_interval tc_mills_slope(tc_interval x) { return falling(mills_slope_at, x, 0, HUGE_VAL); }

/* Whether Q(x) <= probability for certain. */
static bool is_beyond(double x, double probability, double log_probability_low) {
    if (probability >= 0x1p-1000)
        return tail_at(x).hi <= probability;
    return log_tail_at(x).hi <= log_probability_low;
}

double tc_normal_tail_inverse_up(double probability) {
    if (!(probability > 0))
        return HUGE_VAL;
    if (probability >= 1)
        return -HUGE_VAL;
    double low = -40, high = 40, log_low = tc_log_at(probability).lo; /* Q(40) < 2^-1074 */
    for (int i = 0; i < 200; i++) {
        double middle = low + (high - low) / 2;
        if (!(middle > low && middle < high))
            break;
        if (is_beyond(middle, probability, log_low))
            high = middle;
        else
            low = middle;
    }
    return high;
}
