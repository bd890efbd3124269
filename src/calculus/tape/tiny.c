#include "calculus/interval/elementary.h"
#include "calculus/tape/tape_code.h"

/* Sections in comments are those of docs/proofs/time.md. */

enum {
    BITS = 52,          /* after the leading one of a double */
    LEAST_SPLIT = -448, /* arguments of exp whose squares and remainders are normal (section 3) */
    LOG_LEAST = -54,    /* a logarithm is zero or at least 2^this in size */
    NO_SIZE = -(1 << 20)
};

#define WIDER 0x1p-40 /* far more than exp, log and powers err relatively */

static int larger(int a, int b) { return a > b ? a : b; }
static int smaller(int a, int b) { return a < b ? a : b; }
static int limited(int x) { return x < NO_SIZE ? NO_SIZE : x > TC_ALWAYS_ZERO ? TC_ALWAYS_ZERO : x; }

/* The exponent of a size above 0. */
static int exponent_of(double size) {
    int exponent = 0;
    (void)frexp(size, &exponent);
    return exponent - 1;
}

static const char *either(const char *a, const char *b) { return a != NULL ? a : b; }

/* One result; what names it where it can be too small, or nothing is known. */
static tc_sized settle(tc_interval range, int least, int grain, const char *tiny, const char *what) {
    tc_sized r = {range, limited(least), limited(grain), tiny};
    double low = tc_mignitude(range);
    if (!tc_is_finite(range)) {
        r.tiny = either(r.tiny, what);
        return r;
    }
    if (tc_magnitude(range) == 0) {
        r.least = r.grain = TC_ALWAYS_ZERO;
        return r;
    }
    if (low > 0)
        r.least = larger(r.least, exponent_of(low));
    r.least = larger(r.least, r.grain);
    r.grain = larger(r.grain, r.least - BITS);
    if (r.least < TC_LEAST_NORMAL)
        r.tiny = either(r.tiny, what);
    return r;
}

static tc_interval widened(tc_interval a) {
    double slack = tc_mul_up(tc_magnitude(a), WIDER);
    return (tc_interval){a.lo < 0 ? tc_add_down(a.lo, -slack) : tc_mul_down(a.lo, 1 - WIDER),
                         a.hi > 0 ? tc_add_up(a.hi, slack) : tc_mul_up(a.hi, 1 - WIDER)};
}

/* ---- leaves (section 1) ----------------------------------------------------------------------------------------- */

/* The place of the last bit that is set. */
static int grain_of(double value) {
    int exponent = 0;
    int64_t digits = (int64_t)ldexp(frexp(value, &exponent), BITS + 1);
    return exponent - (BITS + 1) + __builtin_ctzll((uint64_t)digits);
}

tc_sized tc_sized_constant(double value) {
    if (value == 0)
        return settle(tc_point(0), 0, 0, NULL, NULL);
    if (!isfinite(value))
        return settle(tc_whole_line(), NO_SIZE, NO_SIZE, NULL, "a number");
    return settle(tc_point(value), NO_SIZE, grain_of(value), NULL, "a number");
}

tc_sized tc_sized_multiple(tc_interval range, int grain) { return settle(range, grain, grain, NULL, "a number"); }

tc_sized tc_sized_hull(tc_sized a, tc_sized b) {
    return (tc_sized){tc_hull(a.range, b.range), smaller(a.least, b.least), smaller(a.grain, b.grain),
                      either(a.tiny, b.tiny)};
}

/* ---- arithmetic (section 2) ------------------------------------------------------------------------------------- */

static tc_sized negate(tc_sized a) {
    a.range = tc_ineg(a.range);
    return a;
}

tc_sized tc_sized_add(tc_sized a, tc_sized b) {
    int grain = smaller(a.grain, b.grain);
    return settle(tc_iadd(a.range, b.range), grain, grain, either(a.tiny, b.tiny), "a sum");
}

static tc_sized product_in(tc_interval range, tc_sized a, tc_sized b) {
    return settle(range, a.least + b.least, a.grain + b.grain, either(a.tiny, b.tiny), "a product");
}

tc_sized tc_sized_multiply(tc_sized a, tc_sized b) { return product_in(tc_imul(a.range, b.range), a, b); }

static tc_sized square(tc_sized a) { return product_in(tc_isquare(a.range), a, a); }

static tc_sized quotient_in(tc_interval range, tc_sized a, tc_sized b) {
    double most = tc_magnitude(b.range);
    int least = most > 0 && isfinite(most) ? a.least - exponent_of(most) - 1 : NO_SIZE;
    if (a.least == TC_ALWAYS_ZERO)
        least = TC_ALWAYS_ZERO;
    return settle(range, least, least - BITS, either(a.tiny, b.tiny), "a quotient");
}

static tc_sized divide(tc_sized a, tc_sized b) { return quotient_in(tc_idiv(a.range, b.range), a, b); }

static tc_sized root(tc_sized a) {
    int least = a.least == TC_ALWAYS_ZERO ? TC_ALWAYS_ZERO : (a.least - 1) / 2 - 1;
    return settle(tc_isqrt(a.range), least, least - BITS, a.tiny, "a square root");
}

/* ---- exp, log and powers (section 3) ---------------------------------------------------------------------------- */

static tc_sized exponential(tc_sized a) {
    const char *tiny = a.tiny;
    if (a.least < LEAST_SPLIT)
        tiny = either(tiny, "the argument of an exponential");
    tc_interval range = widened(tc_iexp(a.range));
    if (!(range.lo >= 0x1p-1021)) /* it may underflow, by way of subnormal numbers */
        tiny = either(tiny, "an exponential");
    return settle(range, TC_LEAST_NORMAL, NO_SIZE, tiny, "an exponential");
}

static tc_sized logarithm(tc_sized a) {
    const char *tiny = a.range.lo > 0 ? a.tiny : either(a.tiny, "the argument of a logarithm");
    return settle(widened(tc_ilog(a.range)), LOG_LEAST, LOG_LEAST - BITS, tiny, "a logarithm");
}

/* Of a size: x >= 0. */
static tc_sized real_power(tc_sized a, double p) {
    const char *tiny = a.tiny;
    int least = NO_SIZE;
    if (!(fabs(p) >= 0x1p-100 && fabs(p) <= 0x1p40) || a.range.lo < 0)
        tiny = either(tiny, "a power");
    if (p > 0 && a.least == TC_ALWAYS_ZERO)
        least = TC_ALWAYS_ZERO;
    else if (p > 0)
        least = (int)fmax(fmin(floor(p * (double)a.least) - 1, 2000), NO_SIZE);
    return settle(widened(tc_ipowr(a.range, p)), least, least - BITS, tiny, "a power");
}

static tc_sized whole_power(tc_sized x, int64_t n) {
    enum { LARGEST_CHAIN = 16 };
    if (n > LARGEST_CHAIN || n < -LARGEST_CHAIN) {
        tc_interval size = {tc_mignitude(x.range), tc_magnitude(x.range)};
        tc_sized power = real_power((tc_sized){size, x.least, x.grain, x.tiny}, (double)n);
        if (n % 2 != 0)
            power.range = tc_hull(power.range, tc_ineg(power.range));
        return power;
    }
    tc_sized power = tc_sized_constant(1), base = x;
    for (uint64_t rest = (uint64_t)(n < 0 ? -n : n); rest > 0; rest >>= 1) {
        if (rest & 1)
            power = tc_sized_multiply(power, base);
        if (rest > 1)
            base = square(base);
    }
    power.range = tc_meet(power.range, widened(tc_ipowi(x.range, n < 0 ? -n : n)));
    return n < 0 ? divide(tc_sized_constant(1), power) : power;
}

/* Products as computed; of the power its range alone is known. */
static tc_sized power_of_data(const tc_sized *arguments, size_t order) {
    tc_sized a = arguments[0], factor = tc_sized_constant(1);
    tc_sized p = tc_sized_add(arguments[1], tc_sized_constant(-(double)order));
    const char *tiny = either(a.tiny, p.tiny);
    for (size_t i = 0; i < order; i++)
        factor = tc_sized_multiply(factor, tc_sized_add(arguments[1], tc_sized_constant(-(double)i)));
    if (!(tc_mignitude(p.range) >= 0x1p-100 && tc_magnitude(p.range) <= 0x1p40) || a.range.lo < 0)
        tiny = either(tiny, "a power");
    tc_interval range = widened(tc_ipowd(a.range, p.range, 0));
    return tc_sized_multiply(factor, settle(range, NO_SIZE, NO_SIZE, tiny, "a power"));
}

/* ---- their kin (section 4) -------------------------------------------------------------------------------------- */

/* Both sides: a compiler may compute the one that is not taken. */
static tc_sized huber_of(tc_sized x, tc_sized threshold) {
    tc_sized half = tc_sized_constant(0.5), size = x;
    size.range = (tc_interval){tc_mignitude(x.range), tc_magnitude(x.range)};
    tc_sized inside = tc_sized_multiply(square(x), half), half_threshold = tc_sized_multiply(threshold, half);
    tc_sized outside = tc_sized_multiply(threshold, tc_sized_add(size, negate(half_threshold)));
    tc_sized both = tc_sized_hull(inside, outside);
    both.range = widened(tc_ihuber(x.range, threshold.range));
    return both;
}

static tc_sized clamp_of(tc_sized x, tc_sized threshold) {
    tc_sized both = tc_sized_hull(x, threshold);
    both.range = tc_iclamp(x.range, threshold.range);
    return both;
}

static tc_sized size_of(tc_sized x) {
    x.range = tc_iabs(x.range);
    return x;
}

static tc_sized larger_of(tc_sized x, tc_sized y) {
    tc_sized both = tc_sized_hull(x, y);
    both.range = tc_imax(x.range, y.range);
    return both;
}

static tc_sized inside_of(tc_sized x, tc_sized threshold) {
    return settle(tc_iinside(x.range, threshold.range), 0, 0, either(x.tiny, threshold.tiny), "a number");
}

static tc_sized hump_of(tc_sized a) { return tc_sized_multiply(a, tc_sized_add(tc_sized_constant(1), negate(a))); }

static tc_sized log_sum_exp_of(const tc_sized *arguments, size_t count) {
    tc_sized largest = arguments[0], sum = tc_sized_constant(0);
    for (size_t i = 1; i < count; i++) {
        tc_interval before = largest.range, now = arguments[i].range;
        largest = tc_sized_hull(largest, arguments[i]);
        largest.range = (tc_interval){fmax(before.lo, now.lo), fmax(before.hi, now.hi)};
    }
    for (size_t i = 0; i < count; i++) {
        tc_sized difference = tc_sized_add(arguments[i], negate(largest));
        difference.range.hi = fmin(difference.range.hi, 0);
        difference.range.lo = fmin(difference.range.lo, difference.range.hi);
        sum = tc_sized_add(sum, exponential(difference));
    }
    sum.range.lo = fmax(sum.range.lo, 0.5); /* the largest argument adds 1 */
    return tc_sized_add(largest, logarithm(sum));
}

static tc_sized softmax_of(const tc_sized *arguments, size_t count, size_t index) {
    tc_sized sum = tc_sized_constant(1);
    for (size_t i = 0; i < count; i++)
        if (i != index)
            sum = tc_sized_add(sum, exponential(tc_sized_add(arguments[i], negate(arguments[index]))));
    return divide(tc_sized_constant(1), sum);
}

/* ---- norms (section 5) ------------------------------------------------------------------------------------------ */

static tc_sized squares_without(const tc_sized *arguments, size_t count, size_t without) {
    tc_sized sum = tc_sized_constant(0);
    for (size_t i = 0; i < count; i++)
        if (i != without)
            sum = tc_sized_add(sum, square(arguments[i]));
    return sum;
}

static tc_sized norm_of(const tc_sized *arguments, size_t count) {
    return root(squares_without(arguments, count, SIZE_MAX));
}

/* The norm may be zero: the quotient is then NaN, which takes no extra time, and is not used. */
static tc_sized direction_of(const tc_sized *arguments, size_t count, size_t index) {
    tc_sized ratio = quotient_in((tc_interval){-1, 1}, arguments[index], norm_of(arguments, count));
    ratio.least = smaller(ratio.least, 0); /* it is cut to 1 */
    ratio.grain = smaller(ratio.grain, 0);
    return ratio;
}

static tc_sized bend_of(const tc_sized *arguments, size_t count, size_t i, size_t k) {
    tc_sized inverse = divide(tc_sized_constant(1), norm_of(arguments, count));
    if (i == k) {
        tc_sized rest = tc_sized_multiply(squares_without(arguments, count, i), inverse);
        return tc_sized_multiply(tc_sized_multiply(rest, inverse), inverse);
    }
    tc_sized first = tc_sized_multiply(arguments[i], inverse), second = tc_sized_multiply(arguments[k], inverse);
    return negate(tc_sized_multiply(tc_sized_multiply(first, second), inverse));
}

#define NUMBER tc_sized
#define INPUTS tc_sized_inputs
#define EVALUATE tc_tape_sizes
#define DATA_ROWS_ARE_NUMBERS
#define FROM_DATA(x) (x)
#define FROM_DOUBLE(x) tc_sized_constant(x)
#define ADD(x, y) tc_sized_add((x), (y))
#define SUB(x, y) tc_sized_add((x), negate(y))
#define MUL(x, y) tc_sized_multiply((x), (y))
#define DIV(x, y) divide((x), (y))
#define NEGATE(x) negate(x)
#define SQUARE(x) square(x)
#define POWER_WHOLE(x, n) whole_power((x), (n))
#define POWER_REAL(x, p) real_power((x), (p))
#define EXP(x) exponential(x)
#define LOG(x) logarithm(x)
#define SQRT(x) root(x)
#define HUBER(x, y) huber_of((x), (y))
#define CLAMP(x, y) clamp_of((x), (y))
#define INSIDE(x, y) inside_of((x), (y))
#define HUMP(x) hump_of(x)
#define PAIR(x, y) tc_sized_multiply((x), (y))
#define ABS(x) size_of(x)
#define MAX(x, y) larger_of((x), (y))
#define LSE(arguments, count) log_sum_exp_of((arguments), (count))
#define SOFTMAX(arguments, count, index) softmax_of((arguments), (count), (index))
#define NORM(arguments, count) norm_of((arguments), (count))
#define DIRECTION(arguments, count, index) direction_of((arguments), (count), (index))
#define BEND(arguments, count, i, k) bend_of((arguments), (count), (i), (k))
#define POWER_OF_DATA(arguments, order) power_of_data((arguments), (order))

#include "calculus/tape/evaluate.inc.h"
