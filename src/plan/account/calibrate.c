#include "plan/account/calibrate.h"

#include "plan/account/normal.h"

static bool is_positive(double x) { return x > 0 && x <= DBL_MAX; }
static bool is_amount(double x) { return x >= 0 && x <= DBL_MAX; }

/* a B / c upward; infinite where an argument makes no sense. */
static double ratio_up(double a, double b, double c) {
    if (!is_amount(a) || !is_amount(b) || !(c > 0))
        return HUGE_VAL;
    return tc_div_up(tc_mul_up(a, b), c);
}

/* ---- Laplace ---------------------------------------------------------------------------------------------------- */

double tc_laplace_scale(double sensitivity, double distance, double epsilon) {
    return ratio_up(sensitivity, distance, epsilon);
}

double tc_laplace_variance(double scale) { return tc_mul_up(2, tc_mul_up(scale, scale)); }

double tc_laplace_epsilon(double sensitivity, double distance, double scale) {
    if (sensitivity == 0 || distance == 0)
        return is_amount(sensitivity) && is_amount(distance) ? 0 : HUGE_VAL; /* nothing to hide, even without noise */
    return ratio_up(sensitivity, distance, scale);
}

/* ---- Gaussian --------------------------------------------------------------------------------------------------- */

/* (K + sqrt(K^2 + 2 epsilon)) / (2 epsilon) = 1 / (sqrt(K^2 + 2 epsilon) - K) grows with K. */
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

/* With a = epsilon/mu - mu/2 and b = a + mu: e^epsilon phi(b) = phi(a), so the difference is phi(a) (M(a) - M(b)), and
 * M(a) - M(b) is the integral of -M' over [a, b], a convex function: between the midpoint's and the trapezoid's value.
 * Section 3 of docs/proofs/gaussian.md. */
typedef struct curve {
    tc_interval a, b, mu, ratio;
} curve;

static tc_interval plain_difference(const curve *c) {
    tc_interval left = tc_normal_tail(c->a), right = tc_imul(tc_normal_density(c->a), tc_mills(c->b));
    return tc_isub(left, right);
}

enum { PANELS = 8 };

static tc_interval integral_form(const curve *c, double mu) {
    tc_interval middles = tc_point(0), ends = tc_point(0);
    for (int i = 0; i <= PANELS; i++) {
        double share = (double)i / PANELS; /* exact */
        tc_interval at = tc_iadd(c->ratio, tc_imul(c->mu, tc_point(share - 0.5)));
        tc_interval slope = tc_mills_slope(at);
        ends = tc_iadd(ends, i == 0 || i == PANELS ? tc_imul(tc_point(0.5), slope) : slope);
        if (i < PANELS) {
            at = tc_iadd(c->ratio, tc_imul(c->mu, tc_point(share - 0.5 + 0.5 / PANELS)));
            middles = tc_iadd(middles, tc_mills_slope(at));
        }
    }
    tc_interval width = tc_idiv(tc_point(mu), tc_point(PANELS));
    return tc_imul(tc_normal_density(c->a),
                   (tc_interval){tc_mul_down(width.lo, middles.lo), tc_mul_up(width.hi, ends.hi)});
}

tc_interval tc_gaussian_delta(double epsilon, double mu) {
    if (!(epsilon >= 0) || !(mu >= 0))
        return (tc_interval){0, 1};
    if (mu == 0)
        return tc_point(0);
    if (isinf(mu) || isinf(epsilon))
        return isinf(epsilon) && !isinf(mu) ? tc_point(0) : (tc_interval){isinf(epsilon) ? 0 : 1, 1};
    curve c = {.mu = tc_point(mu), .ratio = tc_idiv(tc_point(epsilon), tc_point(mu))};
    tc_interval half = tc_imul(tc_point(0.5), c.mu);
    c.a = tc_isub(c.ratio, half);
    c.b = tc_iadd(c.ratio, half);
    tc_interval delta = plain_difference(&c);
    if (c.a.lo > -10)
        delta = tc_meet(delta, integral_form(&c, mu));
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

/* Bisection over non-negative doubles, which are ordered as their bits are: every double is within reach in 64 steps,
 * and what is returned has itself been found safe. */
double tc_gaussian_mu(double epsilon, double delta) {
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
    double mu = tc_gaussian_mu(epsilon, delta);
    return isinf(mu) ? 0 : tc_div_up(1, mu);
}

double tc_gaussian_epsilon(double mu, double delta) {
    if (!(mu >= 0) || !(delta > 0) || isinf(mu))
        return delta >= 1 ? 0 : HUGE_VAL;
    if (tc_gaussian_delta(0, mu).hi <= delta)
        return 0;
    uint64_t low = 0, high = bits_of(HUGE_VAL);
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (tc_gaussian_delta(from_bits(middle), mu).hi <= delta)
            high = middle;
        else
            low = middle;
    }
    return from_bits(high);
}

double tc_gaussian_price(double sensitivity, double distance, double sigma) {
    return tc_laplace_epsilon(sensitivity, distance, sigma);
}

/* ---- composition ------------------------------------------------------------------------------------------------ */

double tc_add_epsilons(const double *epsilons, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = epsilons[i] >= 0 ? tc_add_up(sum, epsilons[i]) : HUGE_VAL;
    return sum;
}

double tc_add_mus(const double *mus, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = mus[i] >= 0 ? tc_add_up(sum, tc_mul_up(mus[i], mus[i])) : HUGE_VAL;
    return tc_sqrt_up(sum);
}

double tc_repeat_epsilon(double epsilon, double times) {
    return epsilon >= 0 && times >= 0 ? tc_mul_up(epsilon, times) : HUGE_VAL;
}

double tc_repeat_mu(double mu, double times) {
    return mu >= 0 && times >= 0 ? tc_mul_up(mu, tc_sqrt_up(times)) : HUGE_VAL;
}

double tc_hold_l1(double hold) { return hold >= 0 ? tc_add_up(1, hold) : HUGE_VAL; }
double tc_hold_l2(double hold) { return hold >= 0 ? tc_sqrt_up(tc_add_up(1, hold)) : HUGE_VAL; }

double tc_group_factor(double distance, double planned) { return ratio_up(distance, 1, planned); }
