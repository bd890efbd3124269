#include "calculus/interval.h"

/* log-sum-exp rises with every argument, so its ends are its values at the lower and at the upper ends. It is
 * m + log(sum of exp(u_j - m)) with m the largest argument: nothing overflows, and the term of m is 1 exactly. */

typedef struct view { /* the i-th argument: number chosen[i], or i, of intervals that are stride bytes apart */
    const tc_interval *first;
    size_t stride;
    const uint32_t *chosen;
} view;

static tc_interval argument(view v, size_t i) {
    tc_interval value;
    memcpy(&value, (const char *)v.first + v.stride * (v.chosen != NULL ? v.chosen[i] : i), sizeof value);
    return value;
}

static double lse_down(view v, size_t count) {
    double largest = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, argument(v, i).lo);
    if (isinf(largest))
        return largest;
    for (size_t i = 0; i < count; i++)
        sum = tc_add_down(sum, tc_exp_at(tc_add_down(argument(v, i).lo, -largest)).lo);
    return tc_add_down(largest, tc_log_at(sum).lo);
}

static double lse_up(view v, size_t count) {
    double largest = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, argument(v, i).hi);
    if (isinf(largest))
        return largest;
    for (size_t i = 0; i < count; i++)
        sum = tc_add_up(sum, tc_exp_at(tc_add_up(argument(v, i).hi, -largest)).hi);
    return tc_add_up(largest, tc_log_at(sum).hi);
}

static tc_interval lse(view v, size_t count) { return (tc_interval){lse_down(v, count), lse_up(v, count)}; }

/* 1 / (1 + sum over j != i of exp(u_j - u_i)) rises with u_i and falls with every other argument. */
static tc_interval softmax(view v, size_t count, size_t index) {
    tc_interval own = argument(v, index);
    double most = 1, least = 1; /* of the sum */
    for (size_t i = 0; i < count; i++) {
        if (i == index)
            continue;
        tc_interval other = argument(v, i);
        most = tc_add_up(most, tc_exp_at(tc_add_up(other.hi, -own.lo)).hi);
        least = tc_add_down(least, tc_exp_at(tc_add_down(other.lo, -own.hi)).lo);
    }
    return (tc_interval){fmax(0, tc_div_down(1, most)), fmin(1, tc_div_up(1, least))};
}

tc_interval tc_ilse(const tc_interval *arguments, size_t count) {
    return lse((view){arguments, sizeof *arguments, NULL}, count);
}

tc_interval tc_isoftmax(const tc_interval *arguments, size_t count, size_t index) {
    return softmax((view){arguments, sizeof *arguments, NULL}, count, index);
}

tc_interval tc_ilse_among(const tc_interval *values, const uint32_t *chosen, size_t count) {
    return lse((view){values, sizeof *values, chosen}, count);
}

tc_interval tc_isoftmax_among(const tc_interval *values, const uint32_t *chosen, size_t count, size_t index) {
    return softmax((view){values, sizeof *values, chosen}, count, index);
}

tc_interval tc_ilse_spaced(const tc_interval *first, size_t stride, size_t count) {
    return lse((view){first, stride, NULL}, count);
}

tc_interval tc_isoftmax_spaced(const tc_interval *first, size_t stride, size_t count, size_t index) {
    return softmax((view){first, stride, NULL}, count, index);
}
