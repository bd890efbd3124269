/* Enclosures of functions of many arguments: Euclidean norms, log-sum-exp, and their derivatives. */
#include "calculus/interval/interval.h"

/* ---- norms -------------------------------------------------------------------------------------------------------
 *
 * Euclidean norms and their first and second derivatives: at each argument, and in the sum of the squares of the
 * others, they are monotone, or rise to one peak and fall; so the ends are found, not estimated. The reasons are in
 * docs/proofs/intervals.md, section 8. */

#define TWO_OVER_ROOT_27 0x1.8a2345cc04426p-2 /* rounded up: 0.3849001794... */
#define ONE_OVER_ROOT_27 0x1.8a2345cc04426p-3

/* The sum of the squares of all arguments but two. */
static tc_interval squares_without(tc_interval_arguments v, size_t count, size_t i, size_t k) {
    tc_interval sum = tc_point(0);
    for (size_t j = 0; j < count; j++) {
        if (j != i && j != k)
            sum = tc_iadd(sum, tc_isquare(tc_argument(v, j)));
    }
    return sum;
}

tc_interval tc_inorm(tc_interval_arguments v, size_t count) {
    return tc_isqrt(squares_without(v, count, SIZE_MAX, SIZE_MAX));
}

/* ---- a / sqrt(a^2 + q), q >= 0: rises with a, towards 0 with q ----------------------------------------------------
 */

static double unit_up(double a, double q) { /* a >= 0 */
    if (a == 0)
        return 0;
    double length = tc_sqrt_down(tc_add_down(tc_mul_down(a, a), q));
    return length > 0 ? fmin(1, tc_div_up(a, length)) : 1;
}

static double unit_down(double a, double q) { /* a >= 0 */
    if (a == 0)
        return 0;
    if (a > 0x1p500) /* 1 / sqrt(1 + q / a^2), without squaring a */
        return tc_div_down(1, tc_sqrt_up(tc_add_up(1, tc_div_up(tc_div_up(q, a), a))));
    return fmin(1, fmax(0, tc_div_down(a, tc_sqrt_up(tc_add_up(tc_mul_up(a, a), q)))));
}

tc_interval tc_idirection(tc_interval_arguments v, size_t count, size_t index) {
    tc_interval a = tc_argument(v, index), q = squares_without(v, count, index, index);
    return (tc_interval){a.lo >= 0 ? unit_down(a.lo, q.hi) : -unit_up(-a.lo, q.lo),
                         a.hi >= 0 ? unit_up(a.hi, q.lo) : -unit_down(-a.hi, q.hi)};
}

/* ---- quotients by the cube of the norm ----------------------------------------------------------------------------
 */

static double over_cube_up(double numerator, double squares) { /* both >= 0, squares a lower bound */
    return tc_div_up(numerator, tc_mul_down(squares, tc_sqrt_down(squares)));
}

static double over_cube_down(double numerator, double squares) { /* squares an upper bound */
    return fmax(0, tc_div_down(numerator, tc_mul_up(squares, tc_sqrt_up(squares))));
}

/* ---- on the diagonal: q / (p^2 + q)^(3/2) falls with p = |a|, rises with q up to 2 p^2, then falls -----------------
 */

static double diagonal_up(double p, tc_interval q) {
    double least = tc_mul_down(p, p);
    if (p == 0) /* 1 / sqrt q */
        return tc_div_up(1, tc_sqrt_down(q.lo));
    if (q.hi <= 2 * least)
        return over_cube_up(q.hi, tc_add_down(least, q.hi));
    if (q.lo >= 2 * tc_mul_up(p, p))
        return over_cube_up(q.lo, tc_add_down(least, q.lo));
    return tc_div_up(TWO_OVER_ROOT_27, p);
}

static double diagonal_down_at(double p, double q) {
    if (p == 0)
        return q > 0 ? tc_div_down(1, tc_sqrt_up(q)) : HUGE_VAL; /* not defined where all is 0 */
    return isinf(q) ? 0 : over_cube_down(q, tc_add_up(tc_mul_up(p, p), q));
}

static tc_interval diagonal(tc_interval a, tc_interval q) {
    double most = tc_magnitude(a), least = fmin(diagonal_down_at(most, q.lo), diagonal_down_at(most, q.hi));
    return (tc_interval){isinf(least) ? 0 : least, diagonal_up(tc_mignitude(a), q)};
}

/* ---- off the diagonal: p q / (p^2 + q^2 + r)^(3/2), which falls with r; first for p, q >= 0 ------------------ */

static double product_up_at(double p, double q, double r) {
    double squares = tc_add_down(tc_add_down(tc_mul_down(p, p), tc_mul_down(q, q)), r);
    return over_cube_up(tc_mul_up(p, q), squares);
}

static double product_down_at(double p, double q, double r) {
    double squares = tc_add_up(tc_add_up(tc_mul_up(p, p), tc_mul_up(q, q)), r);
    return over_cube_down(tc_mul_down(p, q), squares);
}

/* With q fixed it rises with p up to 2 p^2 = q^2 + r, then falls. */
static double edge_up(tc_interval p, double q, double r) {
    if (q == 0 || isinf(q))
        return 0;
    double least = tc_add_down(tc_mul_down(q, q), r);
    if (2 * tc_mul_up(p.hi, p.hi) <= least)
        return product_up_at(p.hi, q, r);
    if (2 * tc_mul_down(p.lo, p.lo) >= tc_add_up(tc_mul_up(q, q), r))
        return product_up_at(p.lo, q, r);
    return tc_div_up(tc_mul_up(TWO_OVER_ROOT_27, q), least);
}

static bool excludes_root(tc_interval p, double r) { return tc_mul_up(p.hi, p.hi) < r || tc_mul_down(p.lo, p.lo) > r; }

/* The peak is at p = q = sqrt r; if that is certainly not in the rectangle, the largest value is on an edge. */
static double product_up(tc_interval p, tc_interval q, double r) {
    if (!excludes_root(p, r) && !excludes_root(q, r))
        return tc_div_up(ONE_OVER_ROOT_27, tc_sqrt_down(r));
    return fmax(fmax(edge_up(p, q.lo, r), edge_up(p, q.hi, r)), fmax(edge_up(q, p.lo, r), edge_up(q, p.hi, r)));
}

/* In the logarithms of p and q its logarithm is concave: the smallest value is at a corner. */
static double product_down(tc_interval p, tc_interval q, double r) {
    if (p.lo == 0 || q.lo == 0)
        return 0;
    return fmin(fmin(product_down_at(p.lo, q.lo, r), product_down_at(p.lo, q.hi, r)),
                fmin(product_down_at(p.hi, q.lo, r), product_down_at(p.hi, q.hi, r)));
}

static tc_interval positive_part(tc_interval a) { return (tc_interval){fmax(a.lo, 0), a.hi}; }
static tc_interval magnitudes(tc_interval a) { return (tc_interval){tc_mignitude(a), tc_magnitude(a)}; }

/* The largest value for p and q of any signs. */
static double signed_product_up(tc_interval p, tc_interval q, tc_interval r) {
    bool both_positive = p.hi > 0 && q.hi > 0, both_negative = p.lo < 0 && q.lo < 0;
    if (!both_positive && !both_negative)
        return -product_down(magnitudes(p), magnitudes(q), r.hi);
    double most = 0;
    if (both_positive)
        most = product_up(positive_part(p), positive_part(q), r.lo);
    if (both_negative)
        most = fmax(most, product_up(positive_part(tc_ineg(p)), positive_part(tc_ineg(q)), r.lo));
    return most;
}

tc_interval tc_ibend(tc_interval_arguments v, size_t count, size_t i, size_t k) {
    tc_interval p = tc_argument(v, i), q = tc_argument(v, k), r = squares_without(v, count, i, k);
    if (i == k)
        return diagonal(p, r);
    return (tc_interval){-signed_product_up(p, q, r), signed_product_up(tc_ineg(p), q, r)};
}

/* ---- log-sum-exp and its derivatives -----------------------------------------------------------------------------
 *
 * log-sum-exp rises with every argument, so its ends are its values at the lower and at the upper ends. It is
 * m + log(sum of exp(u_j - m)) with m the largest argument: nothing overflows, and the term of m is 1 exactly. */

static double lse_down(tc_interval_arguments v, size_t count) {
    double largest = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, tc_argument(v, i).lo);
    if (isinf(largest))
        return largest;
    for (size_t i = 0; i < count; i++)
        sum = tc_add_down(sum, tc_exp_at(tc_add_down(tc_argument(v, i).lo, -largest)).lo);
    return tc_add_down(largest, tc_log_at(sum).lo);
}

static double lse_up(tc_interval_arguments v, size_t count) {
    double largest = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, tc_argument(v, i).hi);
    if (isinf(largest))
        return largest;
    for (size_t i = 0; i < count; i++)
        sum = tc_add_up(sum, tc_exp_at(tc_add_up(tc_argument(v, i).hi, -largest)).hi);
    return tc_add_up(largest, tc_log_at(sum).hi);
}

static tc_interval lse(tc_interval_arguments v, size_t count) {
    return (tc_interval){lse_down(v, count), lse_up(v, count)};
}

/* 1 / (1 + sum over j != i of exp(u_j - u_i)) rises with u_i and falls with every other argument. */
static tc_interval softmax(tc_interval_arguments v, size_t count, size_t index) {
    tc_interval own = tc_argument(v, index);
    double most = 1, least = 1; /* of the sum */
    for (size_t i = 0; i < count; i++) {
        if (i == index)
            continue;
        tc_interval other = tc_argument(v, i);
        most = tc_add_up(most, tc_exp_at(tc_add_up(other.hi, -own.lo)).hi);
        least = tc_add_down(least, tc_exp_at(tc_add_down(other.lo, -own.hi)).lo);
    }
    return (tc_interval){fmax(0, tc_div_down(1, most)), fmin(1, tc_div_up(1, least))};
}

tc_interval tc_ilse(const tc_interval *arguments, size_t count) {
    return lse((tc_interval_arguments){arguments, sizeof *arguments, NULL}, count);
}

tc_interval tc_isoftmax(const tc_interval *arguments, size_t count, size_t index) {
    return softmax((tc_interval_arguments){arguments, sizeof *arguments, NULL}, count, index);
}

tc_interval tc_ilse_among(const tc_interval *values, const uint32_t *chosen, size_t count) {
    return lse((tc_interval_arguments){values, sizeof *values, chosen}, count);
}

tc_interval tc_isoftmax_among(const tc_interval *values, const uint32_t *chosen, size_t count, size_t index) {
    return softmax((tc_interval_arguments){values, sizeof *values, chosen}, count, index);
}

tc_interval tc_ilse_spaced(const tc_interval *first, size_t stride, size_t count) {
    return lse((tc_interval_arguments){first, stride, NULL}, count);
}

tc_interval tc_isoftmax_spaced(const tc_interval *first, size_t stride, size_t count, size_t index) {
    return softmax((tc_interval_arguments){first, stride, NULL}, count, index);
}

/* ---- products of shares ----------------------------------------------------------------------------------------- */

static tc_interval share(tc_interval a) { return (tc_interval){fmax(0, a.lo), fmin(1, a.hi)}; }

static double hump_down(double a) { return tc_mul_down(a, tc_add_down(1, -a)); }
static double hump_up(double a) { return tc_mul_up(a, tc_add_up(1, -a)); }

/* a (1 - a) rises up to 1/2 and falls beyond. */
tc_interval tc_ihump(tc_interval a) {
    a = share(a);
    double most = a.hi < 0.5 ? hump_up(a.hi) : a.lo > 0.5 ? hump_up(a.lo) : 0.25;
    return (tc_interval){fmin(hump_down(a.lo), hump_down(a.hi)), fmin(most, 0.25)};
}

/* Where both upper ends cannot be reached at once, a b is largest on a + b = 1. */
tc_interval tc_ipair(tc_interval a, tc_interval b) {
    a = share(a);
    b = share(b);
    tc_interval result = {tc_mul_down(a.lo, b.lo), tc_mul_up(a.hi, b.hi)};
    if (tc_add_up(a.hi, b.hi) > 1) {
        tc_interval edge = {fmax(a.lo, tc_add_down(1, -b.hi)), fmin(a.hi, tc_add_up(1, -b.lo))};
        result.hi = fmin(result.hi, edge.lo <= edge.hi ? tc_ihump(edge).hi : 0.25);
    }
    return result;
}
