#include "calculus/interval/interval.h"

/* log-sum-exp rises with every argument, so its ends are its values at the lower and at the upper ends. It is
 * m + log(sum of exp(u_j - m)) with m the largest argument: nothing overflows, and the term of m is 1 exactly. */

static double lse_down(tc_arguments v, size_t count) {
    double largest = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, tc_argument(v, i).lo);
    if (isinf(largest))
        return largest;
    for (size_t i = 0; i < count; i++)
        sum = tc_add_down(sum, tc_exp_at(tc_add_down(tc_argument(v, i).lo, -largest)).lo);
    return tc_add_down(largest, tc_log_at(sum).lo);
}

static double lse_up(tc_arguments v, size_t count) {
    double largest = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, tc_argument(v, i).hi);
    if (isinf(largest))
        return largest;
    for (size_t i = 0; i < count; i++)
        sum = tc_add_up(sum, tc_exp_at(tc_add_up(tc_argument(v, i).hi, -largest)).hi);
    return tc_add_up(largest, tc_log_at(sum).hi);
}

static tc_interval lse(tc_arguments v, size_t count) { return (tc_interval){lse_down(v, count), lse_up(v, count)}; }

/* 1 / (1 + sum over j != i of exp(u_j - u_i)) rises with u_i and falls with every other argument. */
static tc_interval softmax(tc_arguments v, size_t count, size_t index) {
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
    return lse((tc_arguments){arguments, sizeof *arguments, NULL}, count);
}

tc_interval tc_isoftmax(const tc_interval *arguments, size_t count, size_t index) {
    return softmax((tc_arguments){arguments, sizeof *arguments, NULL}, count, index);
}

tc_interval tc_ilse_among(const tc_interval *values, const uint32_t *chosen, size_t count) {
    return lse((tc_arguments){values, sizeof *values, chosen}, count);
}

tc_interval tc_isoftmax_among(const tc_interval *values, const uint32_t *chosen, size_t count, size_t index) {
    return softmax((tc_arguments){values, sizeof *values, chosen}, count, index);
}

tc_interval tc_ilse_spaced(const tc_interval *first, size_t stride, size_t count) {
    return lse((tc_arguments){first, stride, NULL}, count);
}

tc_interval tc_isoftmax_spaced(const tc_interval *first, size_t stride, size_t count, size_t index) {
    return softmax((tc_arguments){first, stride, NULL}, count, index);
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
