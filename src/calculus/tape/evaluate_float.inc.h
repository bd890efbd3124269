/* The operations of evaluate.inc.h for a binary floating-point type NUMBER: double, with the same bits everywhere,
 * unless the includer defines NUMBER and what follows. MATH(sqrt) and MATH(fabs) are its square root and absolute
 * value, EXP, LOG and REAL_POWER its other functions; CHOOSE(condition, yes, no) has no branch in double. rounding.c
 * bounds the error of these very sequences of operations in double, and tiny.c their sizes: change all. Outside a
 * function's domain the result is what IEEE arithmetic gives: NaN or an infinity. */

#ifndef NUMBER
#include "calculus/interval/elementary.h"

#define NUMBER double
#define MATH(function) function
#define CHOOSE(condition, yes, no) tc_choose((condition), (yes), (no))
#define EXP(x) tc_exp_proved(x)
#define LOG(x) tc_log_proved(x)
#define REAL_POWER(x, p) tc_pow_proved((x), (p))
#endif

enum { LARGEST_CHAIN = 16 };

/* Repeated squaring errs by less than |n| units in the last place; beyond LARGEST_CHAIN logarithms are better.
 * Exponents that run_power has loops for are written out: compilers vectorise what has no loop inside. */
static inline NUMBER whole_power(NUMBER x, int64_t n) {
    if (n == 3)
        return x * x * x;
    if (n == 4)
        return x * x * (x * x);
    if (n == -1)
        return 1 / x;
    if (n == -2)
        return 1 / (x * x);
    if (n > LARGEST_CHAIN || n < -LARGEST_CHAIN)
        return CHOOSE((n % 2 != 0) & (x < 0), -1, 1) * REAL_POWER(MATH(fabs)(x), (NUMBER)n);
    NUMBER power = 1, base = x;
    for (uint64_t rest = (uint64_t)(n < 0 ? -n : n); rest > 0; rest >>= 1) {
        if (rest & 1)
            power *= base;
        if (rest > 1)
            base *= base;
    }
    return n < 0 ? 1 / power : power;
}

static NUMBER huber(NUMBER x, NUMBER threshold) {
    NUMBER size = MATH(fabs)(x);
    return CHOOSE(size <= threshold, x * x / 2, threshold * (size - threshold / 2));
}

static NUMBER clamp(NUMBER x, NUMBER threshold) {
    return CHOOSE(x > threshold, threshold, CHOOSE(x < -threshold, -threshold, x));
}

/* NaN where one of them is. */
static NUMBER larger_of(NUMBER x, NUMBER y) { return CHOOSE((x > y) | (x != x), x, y); }

static NUMBER inside(NUMBER x, NUMBER threshold) { return CHOOSE(MATH(fabs)(x) < threshold, 1, 0); }

/* Shifted by the largest argument: no exponential overflows. */
static NUMBER log_sum_exp(const NUMBER *arguments, size_t count) {
    NUMBER largest = arguments[0], sum = 0;
    for (size_t i = 1; i < count; i++)
        largest = CHOOSE(arguments[i] > largest, arguments[i], largest);
    if (isinf(largest))
        return largest;
    for (size_t i = 0; i < count; i++)
        sum += EXP(arguments[i] - largest);
    return largest + LOG(sum);
}

static NUMBER softmax(const NUMBER *arguments, size_t count, size_t index) {
    NUMBER sum = 1;
    for (size_t i = 0; i < count; i++)
        sum += i == index ? 0 : EXP(arguments[i] - arguments[index]);
    return 1 / sum;
}

/* The sum of the squares of all arguments but those two. */
static NUMBER squares_without(const NUMBER *arguments, size_t count, size_t i, size_t k) {
    NUMBER sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += j == i || j == k ? 0 : arguments[j] * arguments[j];
    return sum;
}

/* Not scaled: beyond the root of the largest number it is infinite, and rounding.c says so. */
static NUMBER norm(const NUMBER *arguments, size_t count) {
    return MATH(sqrt)(squares_without(arguments, count, SIZE_MAX, SIZE_MAX));
}

/* 0 at 0; never beyond 1, not even where squares underflow. One choice after another can be vectorised. */
static inline NUMBER unit_of(NUMBER x, NUMBER length) {
    NUMBER ratio = x / length;
    ratio = ratio > 1 ? 1 : ratio;
    ratio = ratio < -1 ? -1 : ratio;
    return length == 0 ? 0 : ratio;
}

/* One root and one division for all of a norm's second derivatives. inverse: of the norm. Ratios first: the cube of the
 * norm would overflow, or vanish, long before the result does. */
static inline NUMBER bend_of_one(NUMBER rest, NUMBER inverse) { return rest * inverse * inverse * inverse; }
static inline NUMBER bend_of_two(NUMBER x, NUMBER y, NUMBER inverse) {
    return -(x * inverse * (y * inverse) * inverse);
}

static NUMBER direction(const NUMBER *arguments, size_t count, size_t index) {
    return unit_of(arguments[index], norm(arguments, count));
}

static NUMBER bend(const NUMBER *arguments, size_t count, size_t i, size_t k) {
    NUMBER inverse = 1 / norm(arguments, count);
    if (i == k)
        return bend_of_one(squares_without(arguments, count, i, i), inverse);
    return bend_of_two(arguments[i], arguments[k], inverse);
}

/* p (p-1) .. (p-order+1) x^(p-order). Whole powers have a sign below 0; others are not a number there. */
static NUMBER power_of_data(const NUMBER *arguments, size_t order) {
    NUMBER x = arguments[0], p = arguments[1] - (NUMBER)order, factor = 1;
    for (size_t i = 0; i < order; i++)
        factor *= arguments[1] - (NUMBER)i;
    NUMBER size = CHOOSE(p == 0, 1, REAL_POWER(MATH(fabs)(x), p));
    NUMBER sign = CHOOSE(MATH(floor)(p / 2) * 2 == p, 1, CHOOSE(MATH(floor)(p) == p, -1, (NUMBER)NAN));
    return CHOOSE(factor == 0, 0, factor * (CHOOSE(x < 0, sign, 1) * size));
}

#define NORMS_BY_ROWS
#define FROM_DATA(x) ((NUMBER)(x))
#define FROM_DOUBLE(x) ((NUMBER)(x))
#define ADD(x, y) ((x) + (y))
#define SUB(x, y) ((x) - (y))
#define MUL(x, y) ((x) * (y))
#define DIV(x, y) ((x) / (y))
#define NEGATE(x) (-(x))
#define SQUARE(x) ((x) * (x))
#define POWER_WHOLE(x, n) whole_power((x), (n))
#define POWER_REAL(x, p) REAL_POWER((x), (NUMBER)(p))
#define SQRT(x) MATH(sqrt)(x)
#define HUBER(x, y) huber((x), (y))
#define CLAMP(x, y) clamp((x), (y))
#define INSIDE(x, y) inside((x), (y))
#define HUMP(x) ((x) * (1 - (x)))
#define PAIR(x, y) ((x) * (y))
#define ABS(x) MATH(fabs)(x)
#define MAX(x, y) larger_of((x), (y))
#define LSE(arguments, count) log_sum_exp((arguments), (count))
#define SOFTMAX(arguments, count, index) softmax((arguments), (count), (index))
#define NORM(arguments, count) norm((arguments), (count))
#define DIRECTION(arguments, count, index) direction((arguments), (count), (index))
#define BEND(arguments, count, i, k) bend((arguments), (count), (i), (k))
#define POWER_OF_DATA(arguments, order) power_of_data((arguments), (order))
