#include "calculus/interval/elementary.h"
#include "calculus/tape/tape_code.h"

/* Each rule: error <= (what the operands' errors become) + (what the operation itself loses at the computed operands).
 * Sections in comments are those of docs/proofs/rounding.md. All bounds are computed upward. */

#define LARGEST 0x1p1000 /* computed values beyond it are given up, so that no step of an operation overflows */
#define TINIEST 0x1p-1074

static double up_sum(double a, double b) { return tc_add_up(a, b); }
static double up_product(double a, double b) { return tc_mul_up(a, b); }
static bool is_known(tc_rounded x) { return x.error <= LARGEST; }

/* The largest error of one rounding of a result of size at most |size|: half a unit in its last place (section 1). */
static double half_unit(double size) {
    uint64_t bits;
    if (size == 0)
        return 0;
    if (!(fabs(size) >= 0x1p-1020))
        return isnan(size) ? HUGE_VAL : TINIEST;
    size = fabs(size);
    memcpy(&bits, &size, sizeof bits);
    bits &= UINT64_C(0x7ff0000000000000);
    memcpy(&size, &bits, sizeof size);
    return size * TC_UNIT;
}

/* The same for a product or a quotient, which underflows to zero where it is not zero. */
static double half_unit_of_product(double size) { return size == 0 ? TINIEST : half_unit(size); }

static tc_rounded unknown(tc_interval exact) { return (tc_rounded){exact, tc_whole_line(), HUGE_VAL}; }

/* Exact and computed values also differ by no more than their ranges allow, and the ranges by no more than the error.
 */
static tc_rounded settle(tc_interval exact, tc_interval computed, double error) {
    double spread = fmax(tc_add_up(computed.hi, -exact.lo), tc_add_up(exact.hi, -computed.lo));
    error = fmin(error, fmax(spread, 0));
    if (!(error <= LARGEST && tc_magnitude(computed) <= LARGEST && tc_magnitude(exact) <= LARGEST))
        return unknown(exact);
    tc_interval near = {tc_add_down(exact.lo, -error), tc_add_up(exact.hi, error)};
    return (tc_rounded){exact, tc_meet(computed, near), error};
}

/* A function whose enclosure at the computed operands is known, and whose evaluation loses at most local there;
 * floor: a bound below which rounding cannot take it. */
static tc_rounded settle_loosely(tc_interval exact, tc_interval at_computed, double carried, double local,
                                 double floor) {
    tc_interval computed = {fmax(tc_add_down(at_computed.lo, -local), floor), tc_add_up(at_computed.hi, local)};
    return settle(exact, computed, up_sum(carried, local));
}

tc_rounded tc_rounded_within(tc_interval exact, double error) {
    return settle(exact, (tc_interval){tc_add_down(exact.lo, -error), tc_add_up(exact.hi, error)}, error);
}

/* ---- arithmetic: rounding is monotone, so plain operations on the ends bound the computed values (section 1) ------
 */

static tc_rounded add(tc_rounded a, tc_rounded b) {
    tc_interval exact = tc_iadd(a.exact, b.exact);
    if (!is_known(a) || !is_known(b))
        return unknown(exact);
    tc_interval computed = {a.computed.lo + b.computed.lo, a.computed.hi + b.computed.hi};
    return settle(exact, computed, up_sum(up_sum(a.error, b.error), half_unit(tc_magnitude(computed))));
}

static tc_rounded negate(tc_rounded a) { return (tc_rounded){tc_ineg(a.exact), tc_ineg(a.computed), a.error}; }

static tc_interval hull_of_four(double p, double q, double r, double s) {
    return (tc_interval){fmin(fmin(p, q), fmin(r, s)), fmax(fmax(p, q), fmax(r, s))};
}

/* Products with a power of two, known exactly, are rounded only where they underflow. */
static bool is_power_of_two(tc_rounded a) {
    int exponent;
    return a.error == 0 && tc_is_point(a.computed) && fabs(frexp(a.computed.lo, &exponent)) == 0.5;
}

static tc_rounded multiply(tc_rounded a, tc_rounded b) {
    tc_interval exact = tc_imul(a.exact, b.exact), x = a.computed, y = b.computed;
    if (!is_known(a) || !is_known(b))
        return unknown(exact);
    tc_interval computed = hull_of_four(x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi);
    double local = is_power_of_two(a) || is_power_of_two(b) ? TINIEST : half_unit_of_product(tc_magnitude(computed));
    double carried = up_sum(up_product(tc_magnitude(x), b.error), up_product(tc_magnitude(b.exact), a.error));
    return settle(exact, computed, up_sum(carried, local));
}

static tc_rounded square(tc_rounded a) {
    tc_interval exact = tc_isquare(a.exact);
    if (!is_known(a))
        return unknown(exact);
    double low = tc_mignitude(a.computed), high = tc_magnitude(a.computed);
    double carried = up_product(a.error, up_sum(tc_magnitude(a.exact), high));
    return settle(exact, (tc_interval){low * low, high * high}, up_sum(carried, half_unit_of_product(high * high)));
}

static tc_rounded divide(tc_rounded a, tc_rounded b) {
    tc_interval exact = tc_idiv(a.exact, b.exact), x = a.computed, y = b.computed;
    double least = tc_mignitude(y);
    if (!is_known(a) || !is_known(b) || least == 0 || !tc_is_finite(exact))
        return unknown(exact);
    tc_interval computed = hull_of_four(x.lo / y.lo, x.lo / y.hi, x.hi / y.lo, x.hi / y.hi);
    double carried = tc_div_up(up_sum(a.error, up_product(tc_magnitude(exact), b.error)), least);
    return settle(exact, computed, up_sum(carried, half_unit_of_product(tc_magnitude(computed))));
}

static tc_rounded root(tc_rounded a) {
    tc_interval exact = tc_isqrt(a.exact);
    if (!is_known(a) || a.exact.lo < 0 || a.computed.lo < 0)
        return unknown(exact);
    tc_interval computed = {sqrt(a.computed.lo), sqrt(a.computed.hi)};
    double carried = fmin(tc_sqrt_up(a.error), tc_div_up(a.error, tc_add_down(exact.lo, tc_sqrt_down(a.computed.lo))));
    if (a.error == 0)
        carried = 0;
    return settle(exact, computed, up_sum(carried, half_unit(computed.hi)));
}

/* ---- powers (section 3) ----------------------------------------------------------------------------------------- */

/* The largest |d t^p / dt| = |p| t^p / t for t between low and high; low >= 0. */
static double steepest(double low, double high, double p) {
    double at = p > 1 ? high : low;
    if (at == 0)
        return p > 1 ? 0 : HUGE_VAL;
    return up_product(fabs(p), tc_div_up(tc_ipowr(tc_point(at), p).hi, at));
}

static tc_rounded whole_power_of(tc_rounded a, int64_t n) {
    enum { LARGEST_CHAIN = 16 };
    tc_interval exact = tc_ipowi(a.exact, n), at_computed = tc_ipowi(a.computed, n);
    tc_interval both = tc_hull(a.exact, a.computed);
    if (!is_known(a) || (n < 0 && tc_mignitude(both) == 0))
        return unknown(exact);
    double size = tc_magnitude(at_computed), unit, tiny = TINIEST, floor = n % 2 == 0 ? 0 : -HUGE_VAL;
    if (n > LARGEST_CHAIN || n < -LARGEST_CHAIN) {
        unit = tc_pow_unit((double)n);
    } else {
        unit = (double)(n < 0 ? -n : n) * TC_UNIT * 1.000001;
        tiny = 0x1p-1066; /* underflow along the chain */
        /* the power below the fraction bar must neither overflow nor lose digits */
        if (n < 0 && !(tc_ipowi(tc_point(tc_mignitude(a.computed)), -n).lo >= 0x1p-960 &&
                       tc_ipowi(tc_point(tc_magnitude(a.computed)), -n).hi <= 0x1p960))
            return unknown(exact);
    }
    double slope = steepest(tc_mignitude(both), tc_magnitude(both), (double)n);
    double carried = a.error == 0 ? 0 : up_product(slope, a.error);
    return settle_loosely(exact, at_computed, carried, up_sum(up_product(unit, size), tiny), floor);
}

static tc_rounded real_power_of(tc_rounded a, double p) {
    tc_interval exact = tc_ipowr(a.exact, p), both = tc_hull(a.exact, a.computed);
    if (!is_known(a) || both.lo < 0 || (p < 0 && both.lo == 0) || !(fabs(p) <= 0x1p40))
        return unknown(exact);
    tc_interval at_computed = tc_ipowr(a.computed, p);
    double carried = 0;
    if (a.error > 0) {
        carried = up_product(steepest(both.lo, both.hi, p), a.error);
        if (p > 0 && p < 1) /* |s^p - t^p| <= |s - t|^p */
            carried = fmin(carried, tc_ipowr(tc_point(a.error), p).hi);
    }
    double local = up_sum(up_product(tc_pow_unit(p), tc_magnitude(at_computed)), TINIEST);
    return settle_loosely(exact, at_computed, carried, local, 0);
}

/* Of an exponent that is known exactly, as is the power's own, p - order; else nothing is known. The factor is a
 * product of differences, each rounded once; order + 1 products in all. */
static tc_rounded power_of_data(const tc_rounded *arguments, size_t order) {
    tc_rounded a = arguments[0], p = arguments[1];
    tc_interval exact = tc_ipowd(a.exact, p.exact, order), both = tc_hull(a.exact, a.computed);
    tc_interval power = tc_isub(p.exact, tc_point((double)order));
    if (!is_known(a) || p.error != 0 || !tc_is_point(p.exact) || !tc_is_point(power) ||
        (both.lo < 0 && power.lo != floor(power.lo)) || !(fabs(p.exact.lo) <= 0x1p40) || order > 4)
        return unknown(exact);
    tc_interval at_computed = tc_ipowd(a.computed, p.exact, order);
    double slope = tc_magnitude(tc_ipowd(both, p.exact, order + 1));
    double unit = up_sum(tc_pow_unit(power.lo), up_product(2.001 * TC_UNIT, (double)order + 1));
    /* what underflows is lost before it is multiplied, by at most (2^40 + 4)^4 */
    double local = up_sum(up_product(unit, tc_magnitude(at_computed)), 0x1p-900);
    return settle_loosely(exact, at_computed, a.error == 0 ? 0 : up_product(slope, a.error), local, -HUGE_VAL);
}

/* ---- exp, log and their kin (sections 2 and 4) ------------------------------------------------------------------ */

/* exp(e) - 1 for e >= 0. */
static double grown(double e) { return e <= 1 ? up_product(e, up_sum(1, e)) : tc_exp_at(e).hi; }

static tc_rounded exponential(tc_rounded a) {
    tc_interval exact = tc_iexp(a.exact);
    if (!is_known(a))
        return unknown(exact);
    tc_interval at_computed = tc_iexp(a.computed);
    double carried = up_product(exact.hi, grown(a.error));
    double local = up_sum(up_product(TC_EXP_UNIT, at_computed.hi), TINIEST);
    return settle_loosely(exact, at_computed, carried, local, 0);
}

static tc_rounded logarithm(tc_rounded a) {
    tc_interval exact = tc_ilog(a.exact);
    double least = fmin(a.exact.lo, a.computed.lo);
    if (!is_known(a) || !(least > 0))
        return unknown(exact);
    tc_interval at_computed = tc_ilog(a.computed);
    double carried = tc_div_up(a.error, least);
    return settle_loosely(exact, at_computed, carried, up_product(TC_LOG_UNIT, tc_magnitude(at_computed)), -HUGE_VAL);
}

static tc_rounded huber_of(tc_rounded a, tc_rounded threshold) {
    tc_interval exact = tc_ihuber(a.exact, threshold.exact);
    if (!is_known(a) || !is_known(threshold) || threshold.exact.lo < 0 || threshold.computed.lo < 0)
        return unknown(exact);
    tc_interval at_computed = tc_ihuber(a.computed, threshold.computed);
    double size = tc_magnitude(tc_hull(a.exact, a.computed)), most = tc_hull(threshold.exact, threshold.computed).hi;
    double beyond = fmax(0, tc_add_up(size, -fmin(threshold.exact.lo, threshold.computed.lo)));
    double carried = up_sum(up_product(a.error, fmin(size, most)), up_product(threshold.error, beyond));
    double local = up_sum(up_product(3 * TC_UNIT, at_computed.hi), up_product(TINIEST, up_sum(2, most)));
    return settle_loosely(exact, at_computed, carried, local, 0);
}

static tc_rounded clamp_of(tc_rounded a, tc_rounded threshold) {
    tc_interval exact = tc_iclamp(a.exact, threshold.exact);
    if (!is_known(a) || !is_known(threshold) || threshold.exact.lo < 0 || threshold.computed.lo < 0)
        return unknown(exact);
    return settle(exact, tc_iclamp(a.computed, threshold.computed), fmax(a.error, threshold.error));
}

/* Neither loses anything, and neither makes a difference larger. */
static tc_rounded size_of(tc_rounded a) {
    return is_known(a) ? settle(tc_iabs(a.exact), tc_iabs(a.computed), a.error) : unknown(tc_iabs(a.exact));
}

static tc_rounded larger_of(tc_rounded a, tc_rounded b) {
    tc_interval exact = tc_imax(a.exact, b.exact);
    if (!is_known(a) || !is_known(b))
        return unknown(exact);
    return settle(exact, tc_imax(a.computed, b.computed), fmax(a.error, b.error));
}

/* It jumps: near the edge the computed and the exact value may be on different sides. */
static tc_rounded inside_of(tc_rounded a, tc_rounded threshold) {
    tc_interval exact = tc_iinside(a.exact, threshold.exact);
    if (!is_known(a) || !is_known(threshold))
        return unknown(exact);
    return settle(exact, tc_iinside(a.computed, threshold.computed), 1);
}

static double largest_error(const tc_rounded *arguments, size_t count) {
    double error = 0;
    for (size_t i = 0; i < count; i++)
        error = fmax(error, is_known(arguments[i]) ? arguments[i].error : HUGE_VAL);
    return error;
}

/* A sum of count exponentials of differences, at least one of which is exp 0 = 1, errs relatively by this much where no
 * positive difference exceeds reach. */
static double sum_unit(size_t count, double reach) {
    return up_product(1.001 * TC_UNIT, up_sum(reach, up_sum(3 * (double)count, 3)));
}

static tc_rounded log_sum_exp_of(const tc_rounded *arguments, size_t count) {
    tc_interval exact = tc_ilse_spaced(&arguments[0].exact, sizeof *arguments, count);
    double carried = largest_error(arguments, count), unit = sum_unit(count, 0);
    if (!(carried <= LARGEST && count <= 1u << 20))
        return unknown(exact);
    tc_interval at_computed = tc_ilse_spaced(&arguments[0].computed, sizeof *arguments, count);
    double logarithm_of_sum = up_product(TC_LOG_UNIT, up_sum(tc_log_at((double)count).hi, unit));
    double size = up_sum(tc_magnitude(at_computed), 1); /* 1: the errors so far are far below it */
    double local = up_sum(up_sum(unit, logarithm_of_sum), half_unit(size));
    return settle_loosely(exact, at_computed, carried, local, -HUGE_VAL);
}

static tc_rounded softmax_of(const tc_rounded *arguments, size_t count, size_t index) {
    tc_interval exact = tc_isoftmax_spaced(&arguments[0].exact, sizeof *arguments, count, index);
    double error = largest_error(arguments, count), reach = 0;
    if (!(error <= LARGEST && count <= 1u << 20))
        return unknown(exact);
    tc_interval at_computed = tc_isoftmax_spaced(&arguments[0].computed, sizeof *arguments, count, index);
    for (size_t i = 0; i < count; i++)
        reach = fmax(reach, tc_add_up(arguments[i].computed.hi, -arguments[index].computed.lo));
    double unit = sum_unit(count, fmin(reach, 711));
    double local = up_sum(up_product(unit, at_computed.hi), 0x1p-1020);
    tc_rounded result = settle_loosely(exact, at_computed, up_product(0.5, error), local, 0);
    result.computed.hi = fmin(result.computed.hi, 1);
    return result;
}

/* The same products as a (1 - a) and a b; only the exact values are known better. */
static tc_rounded hump_of(tc_rounded a) {
    tc_rounded product = multiply(a, add(tc_rounded_exactly(tc_point(1)), negate(a)));
    tc_interval exact = tc_ihump(a.exact);
    return is_known(product) ? settle(exact, product.computed, product.error) : unknown(exact);
}

static tc_rounded pair_of(tc_rounded a, tc_rounded b) {
    tc_rounded product = multiply(a, b);
    tc_interval exact = tc_ipair(a.exact, b.exact);
    return is_known(product) ? settle(exact, product.computed, product.error) : unknown(exact);
}

/* ---- norms (section 5) ------------------------------------------------------------------------------------------ */

#define SMALLEST_NORM 0x1p-300 /* where squares lose nothing that matters */
#define LARGEST_NORM 0x1p500   /* where they do not overflow */

typedef struct lengths { /* of the vector of all arguments */
    tc_interval exact, computed;
    double error; /* of the vector as a whole: the root of the sum of the arguments' squared errors */
} lengths;

static tc_interval_arguments exact_ranges(const tc_rounded *arguments) {
    return (tc_interval_arguments){&arguments[0].exact, sizeof *arguments, NULL};
}
static tc_interval_arguments computed_ranges(const tc_rounded *arguments) {
    return (tc_interval_arguments){&arguments[0].computed, sizeof *arguments, NULL};
}

static lengths lengths_of(const tc_rounded *arguments, size_t count) {
    double squares = 0;
    bool known = largest_error(arguments, count) <= LARGEST && count <= 1u << 20;
    for (size_t i = 0; i < count; i++)
        squares = up_sum(squares, up_product(arguments[i].error, arguments[i].error));
    return (lengths){tc_inorm(exact_ranges(arguments), count), tc_inorm(computed_ranges(arguments), count),
                     known ? tc_sqrt_up(squares) : HUGE_VAL};
}

static tc_rounded norm_of(const tc_rounded *arguments, size_t count) {
    lengths l = lengths_of(arguments, count);
    if (!(l.error <= LARGEST && l.computed.hi <= LARGEST_NORM))
        return unknown(l.exact);
    double unit = up_product(TC_UNIT, up_sum(0.51 * (double)count, 2));
    double local = up_sum(up_product(unit, l.computed.hi), up_product(0x1p-536, tc_sqrt_up((double)count)));
    return settle_loosely(l.exact, l.computed, l.error, local, 0);
}

static tc_rounded direction_of(const tc_rounded *arguments, size_t count, size_t index) {
    tc_interval exact = tc_idirection(exact_ranges(arguments), count, index), all = {-1, 1};
    lengths l = lengths_of(arguments, count);
    if (!(largest_error(arguments, count) <= LARGEST))
        return unknown(exact);
    if (!(l.error <= LARGEST && l.computed.lo >= SMALLEST_NORM && l.computed.hi <= LARGEST_NORM))
        return settle(exact, all, 2);
    double carried = l.error == 0 ? 0 : tc_div_up(2 * l.error, tc_add_down(l.exact.lo, l.computed.lo));
    double local = up_sum(up_product(TC_UNIT, up_sum(0.51 * (double)count, 4)), TINIEST);
    tc_interval at_computed = tc_idirection(computed_ranges(arguments), count, index);
    tc_interval near = {tc_add_down(at_computed.lo, -local), tc_add_up(at_computed.hi, local)};
    return settle(exact, tc_meet(all, near), up_sum(carried, local));
}

static tc_rounded bend_of(const tc_rounded *arguments, size_t count, size_t i, size_t k) {
    tc_interval exact = tc_ibend(exact_ranges(arguments), count, i, k);
    lengths l = lengths_of(arguments, count);
    double least = tc_add_down(l.exact.lo, -l.error); /* along the way from the exact to the computed arguments */
    if (!(l.error <= LARGEST && l.computed.lo >= SMALLEST_NORM && least >= SMALLEST_NORM &&
          l.computed.hi <= LARGEST_NORM))
        return unknown(exact);
    tc_interval at_computed = tc_ibend(computed_ranges(arguments), count, i, k);
    double carried = tc_div_up(3 * l.error, tc_mul_down(least, least));
    double unit = up_product(TC_UNIT, up_sum(3 * (double)count, 14));
    double local = up_sum(up_product(unit, tc_magnitude(at_computed)), up_product(0x1p-160, (double)count));
    return settle_loosely(exact, at_computed, carried, local, i == k ? 0 : -HUGE_VAL);
}

#define NUMBER tc_rounded
#define INPUTS tc_rounding_inputs
#define EVALUATE tc_tape_rounding
#define DATA_ROWS_ARE_NUMBERS
#define FROM_DATA(x) (x)
#define FROM_DOUBLE(x) tc_rounded_exactly(tc_point(x))
#define ADD(x, y) add((x), (y))
#define SUB(x, y) add((x), negate(y))
#define MUL(x, y) multiply((x), (y))
#define DIV(x, y) divide((x), (y))
#define NEGATE(x) negate(x)
#define SQUARE(x) square(x)
#define POWER_WHOLE(x, n) whole_power_of((x), (n))
#define POWER_REAL(x, p) real_power_of((x), (p))
#define EXP(x) exponential(x)
#define LOG(x) logarithm(x)
#define SQRT(x) root(x)
#define HUBER(x, y) huber_of((x), (y))
#define CLAMP(x, y) clamp_of((x), (y))
#define INSIDE(x, y) inside_of((x), (y))
#define HUMP(x) hump_of(x)
#define PAIR(x, y) pair_of((x), (y))
#define ABS(x) size_of(x)
#define MAX(x, y) larger_of((x), (y))
#define LSE(arguments, count) log_sum_exp_of((arguments), (count))
#define SOFTMAX(arguments, count, index) softmax_of((arguments), (count), (index))
#define NORM(arguments, count) norm_of((arguments), (count))
#define DIRECTION(arguments, count, index) direction_of((arguments), (count), (index))
#define BEND(arguments, count, i, k) bend_of((arguments), (count), (i), (k))
#define POWER_OF_DATA(arguments, order) power_of_data((arguments), (order))

#include "calculus/tape/evaluate.inc.h"
