/* Every bound against MPFR, which rounds exactly in the asked direction, within the range of double. */
#include "calculus/interval/interval.h"
#include "calculus/nasty.h"
#include "support/cmocka.h"

#include <mpfr.h>
#include <stdio.h>

static mpfr_t first, second, result;

static int set_up(void **state) {
    (void)state;
    (void)mpfr_set_emin(-1073);
    (void)mpfr_set_emax(1024);
    mpfr_inits2(53, first, second, result, (mpfr_ptr)0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    mpfr_clears(first, second, result, (mpfr_ptr)0);
    mpfr_free_cache();
    return 0;
}

typedef int binary_function(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
typedef int unary_function(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

static double exact_binary(binary_function *function, double a, double b, mpfr_rnd_t direction) {
    (void)mpfr_set_d(first, a, MPFR_RNDN);
    (void)mpfr_set_d(second, b, MPFR_RNDN);
    int inexact = function(result, first, second, direction);
    (void)mpfr_subnormalize(result, inexact, direction);
    return mpfr_get_d(result, direction);
}

static double exact_unary(unary_function *function, double a, mpfr_rnd_t direction) {
    (void)mpfr_set_d(first, a, MPFR_RNDN);
    int inexact = function(result, first, direction);
    (void)mpfr_subnormalize(result, inexact, direction);
    return mpfr_get_d(result, direction);
}

/* How many doubles lie between, in steps. */
static uint64_t steps_between(double low, double high) {
    int64_t a, b;
    memcpy(&a, &low, sizeof a);
    memcpy(&b, &high, sizeof b);
    a = a < 0 ? INT64_MIN - a : a;
    b = b < 0 ? INT64_MIN - b : b;
    return (uint64_t)b - (uint64_t)a;
}

#define REQUIRE(condition, ...)                                                                                        \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            print_error(__VA_ARGS__);                                                                                  \
            fail();                                                                                                    \
        }                                                                                                              \
    } while (0)

static void sums_products_and_quotients_are_rounded_as_exact_arithmetic_would(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (size_t i = 0; i < CASES(400000); i++) {
        double a = nasty(&seed), b = nasty(&seed);
        if (i % 3 == 0) /* sums that nearly cancel, products near the edge of underflow */
            b = i % 2 ? -a * (1 + (double)random_below(&seed, 3) * 0x1p-52) : ldexp(b, (int)(-1040 - ilogb(a)) / 2);
        if (!isfinite(b))
            continue;
        REQUIRE(tc_add_down(a, b) == exact_binary(mpfr_add, a, b, MPFR_RNDD), "%a + %a down\n", a, b);
        REQUIRE(tc_add_up(a, b) == exact_binary(mpfr_add, a, b, MPFR_RNDU), "%a + %a up\n", a, b);
        REQUIRE(tc_mul_down(a, b) == exact_binary(mpfr_mul, a, b, MPFR_RNDD), "%a * %a down\n", a, b);
        REQUIRE(tc_mul_up(a, b) == exact_binary(mpfr_mul, a, b, MPFR_RNDU), "%a * %a up\n", a, b);
        if (b == 0)
            continue;
        REQUIRE(tc_div_down(a, b) == exact_binary(mpfr_div, a, b, MPFR_RNDD), "%a / %a down\n", a, b);
        REQUIRE(tc_div_up(a, b) == exact_binary(mpfr_div, a, b, MPFR_RNDU), "%a / %a up\n", a, b);
    }
}

static void sums_near_overflow_are_at_most_one_step_wider_than_exact_arithmetic(void **state) {
    (void)state;
    uint64_t seed = 12;
    for (size_t i = 0; i < CASES(300000); i++) {
        double steps = (double)random_below(&seed, 4), sign = i % 2 ? 1 : -1;
        double a = sign * (DBL_MAX - steps * 0x1p971);
        double b = ldexp((double)(1 + random_below(&seed, i % 3 ? 8 : 1 << 20)), 950 + (int)random_below(&seed, 76));
        b = random_below(&seed, 2) ? b : -b;
        if (!isfinite(b))
            continue;
        for (int swapped = 0; swapped < 2; swapped++) {
            double x = swapped ? b : a, y = swapped ? a : b;
            double low = exact_binary(mpfr_add, x, y, MPFR_RNDD), high = exact_binary(mpfr_add, x, y, MPFR_RNDU);
            double down = tc_add_down(x, y), up = tc_add_up(x, y);
            REQUIRE(down == low || down == tc_below(low), "%a + %a down\n", x, y);
            REQUIRE(up == high || up == tc_above(high), "%a + %a up\n", x, y);
        }
    }
}

static void roots_are_rounded_as_exact_arithmetic_would(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (size_t i = 0; i < CASES(300000); i++) {
        double a = fabs(nasty(&seed));
        if (i % 4 == 0) { /* squares and their neighbours */
            double root = (double)random_below(&seed, 1 << 26);
            a = root * root + (double)random_below(&seed, 3) - 1;
        }
        if (!(a >= 0) || isinf(a))
            continue;
        REQUIRE(tc_sqrt_down(a) == exact_unary(mpfr_sqrt, a, MPFR_RNDD), "sqrt %a down\n", a);
        REQUIRE(tc_sqrt_up(a) == exact_unary(mpfr_sqrt, a, MPFR_RNDU), "sqrt %a up\n", a);
    }
}

static void check_at(unary_function *truth, tc_interval (*at)(double), double x, uint64_t most, uint64_t *total) {
    tc_interval enclosure = at(x);
    double low = exact_unary(truth, x, MPFR_RNDD), high = exact_unary(truth, x, MPFR_RNDU);
    REQUIRE(enclosure.lo <= low && high <= enclosure.hi, "at %a: [%a, %a] misses [%a, %a]\n", x, enclosure.lo,
            enclosure.hi, low, high);
    uint64_t width = steps_between(enclosure.lo, enclosure.hi);
    REQUIRE(width <= most, "at %a: %llu steps wide\n", x, (unsigned long long)width);
    *total += width;
}

static double hard_exponent(uint64_t *seed, size_t i) {
    double steps = (double)random_below(seed, 7) - 3;
    switch (i % 8) {
    case 0:
        return nasty(seed);
    case 1: /* near whole and half multiples of log 2, where the reduction cancels most or is largest */
        return ((double)random_below(seed, 4400) - 2200) / 2 * 0x1.62e42fefa39efp-1 * (1 + steps * 0x1p-52);
    case 2:
        return uniform(seed, -746, -707); /* into and through the subnormal range */
    case 3:
        return uniform(seed, 709, 710);
    case 4:
        return ldexp(uniform(seed, -1, 1), -(int)random_below(seed, 80));
    case 5:
        return uniform(seed, -0.35, 0.35);
    default:
        return uniform(seed, -745, 710);
    }
}

static void exp_at_a_point_is_enclosed_within_three_steps(void **state) {
    (void)state;
    uint64_t seed = 3, total = 0;
    for (size_t i = 0; i < CASES(400000); i++)
        check_at(mpfr_exp, tc_exp_at, hard_exponent(&seed, i), 3, &total);
    double mean = (double)total / CASES(400000);
    print_message("exp: %.3f steps wide on average\n", mean);
    assert_true(mean < 1.3);
}

static double hard_argument(uint64_t *seed, size_t i) {
    switch (i % 5) {
    case 0:
        return fabs(nasty(seed));
    case 1:
        return fabs(1 + ldexp(uniform(seed, -1, 1), -(int)random_below(seed, 54)));
    case 2:
        return tc_exp_at(uniform(seed, -740, 709)).lo;
    case 3:
        return uniform(seed, 0.99, 1.01);
    default:
        return uniform(seed, 0, 100);
    }
}

static void log_at_a_point_is_enclosed_within_four_steps(void **state) {
    (void)state;
    uint64_t seed = 4, total = 0;
    for (size_t i = 0; i < CASES(400000); i++) {
        AT_CASE(i);
        double x = hard_argument(&seed, i);
        if (x > 0)
            check_at(mpfr_log, tc_log_at, x, 4, &total);
    }
    double mean = (double)total / CASES(400000);
    print_message("log: %.3f steps wide on average\n", mean);
    assert_true(mean < 1.5);
}

static void check_power(double x, double p, tc_interval enclosure, double allowed) {
    double low = exact_binary(mpfr_pow, x, p, MPFR_RNDD), high = exact_binary(mpfr_pow, x, p, MPFR_RNDU);
    REQUIRE(enclosure.lo <= low && high <= enclosure.hi, "%a ^ %a: [%a, %a] misses [%a, %a]\n", x, p, enclosure.lo,
            enclosure.hi, low, high);
    if (low > 0x1p-1000 && high < 0x1p1000) {
        double width = (enclosure.hi - enclosure.lo) / low * 0x1p53;
        REQUIRE(width <= allowed, "%a ^ %a is %g units wide\n", x, p, width);
    }
}

static void powers_contain_the_truth_and_are_narrow(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (size_t i = 0; i < CASES(150000); i++) {
        AT_CASE(i);
        double x = i % 2 ? nasty(&seed) : uniform(&seed, -4, 4);
        int64_t n = (int64_t)random_below(&seed, 41) - 20;
        if (x == 0 && n < 0)
            continue;
        if (n != 0)
            check_power(x, (double)n, tc_ipowi(tc_point(x), n), 4.0 * fabs((double)n) + 8);
        x = fabs(x);
        double p = i % 3 == 0 ? ((double)random_below(&seed, 41) - 20) / 2 : uniform(&seed, -5, 5);
        if (x == 0 || p == 0)
            continue;
        tc_interval power = tc_ipowr(tc_point(x), p);
        check_power(x, p, power, 60 + 8 * fabs(p * log(x)));
    }
}

static void whole_numbers_stay_whole(void **state) {
    (void)state;
    assert_true(tc_is_point(tc_exp_at(0)) && tc_exp_at(0).lo == 1);
    assert_true(tc_exp_at(-0.0).lo == 1 && tc_exp_at(-0.0).hi == 1);
    assert_true(tc_log_at(1).lo == 0 && tc_log_at(1).hi == 0);
    for (int64_t base = -9; base <= 9; base++) {
        double power = 1;
        for (int64_t n = 1; fabs(power * (double)base) <= 0x1p53 && n < 60; n++) {
            power *= (double)base;
            tc_interval enclosure = tc_ipowi(tc_point((double)base), n);
            assert_true(enclosure.lo == power && enclosure.hi == power);
        }
    }
    assert_true(tc_ipowi(tc_point(2), 1023).hi == 0x1p1023 && tc_ipowi(tc_point(2), 1023).lo == 0x1p1023);
    assert_true(tc_ipowi(tc_point(0.5), 1074).lo == 0x1p-1074 && tc_ipowi(tc_point(0.5), 1074).hi == 0x1p-1074);
    assert_true(tc_ipowi(tc_point(2), -10).lo == 0x1p-10 && tc_ipowi(tc_point(2), -10).hi == 0x1p-10);
    assert_true(tc_ipowr(tc_point(4), 1.5).lo == 8 && tc_ipowr(tc_point(4), 1.5).hi == 8);
    assert_true(tc_ipowr(tc_point(4), -0.5).lo == 0.5 && tc_ipowr(tc_point(4), -0.5).hi == 0.5);
    assert_true(tc_ipowr(tc_point(3), 2).lo == 9 && tc_ipowr(tc_point(3), 2).hi == 9);
    assert_true(tc_isqrt(tc_point(0x1p-1074)).lo == 0x1p-537 && tc_isqrt(tc_point(0x1p-1074)).hi == 0x1p-537);
    tc_interval same[] = {{3, 3}, {3, 3}, {3, 3}, {3, 3}};
    assert_true(tc_isoftmax(same, 4, 1).lo == 0.25 && tc_isoftmax(same, 4, 1).hi == 0.25);
    assert_true(tc_ihuber(tc_point(2), tc_point(3)).lo == 2 && tc_ihuber(tc_point(-5), tc_point(3)).hi == 10.5);
}

static void is(tc_interval got, double low, double high) {
    REQUIRE(got.lo == low && got.hi == high, "[%g, %g] instead of [%g, %g]\n", got.lo, got.hi, low, high);
}

static void the_edges_of_the_domains_are_kept(void **state) {
    (void)state;
    const double inf = HUGE_VAL, tiny = 0x1p-1074;
    tc_interval line = tc_whole_line();
#define I(low, high) ((tc_interval){(low), (high)})
    is(tc_idiv(I(1, 2), I(0, 1)), 1, inf);
    is(tc_idiv(I(1, 2), I(-1, 0)), -inf, -1);
    is(tc_idiv(I(1, 2), I(-1, -0.0)), -inf, -1);
    is(tc_idiv(I(-2, -1), I(0, 1)), -inf, -1);
    is(tc_idiv(I(-2, 1), I(0, 1)), -inf, inf);
    is(tc_idiv(I(1, 2), I(-1, 1)), -inf, inf);
    is(tc_idiv(I(1, 2), I(0, 0)), -inf, inf);
    is(tc_idiv(I(1, 2), I(4, inf)), 0, 0.5);
    is(tc_idiv(line, I(1, inf)), -inf, inf);
    is(tc_imul(I(0, 0), line), 0, 0);
    is(tc_imul(I(0, 1), I(2, inf)), 0, inf);
    is(tc_imul(I(-1, 1), line), -inf, inf);
    is(tc_imul(I(0x1p1000, 0x1p1000), I(0x1p1000, 0x1p1000)), DBL_MAX, inf);
    is(tc_imul(I(tiny, tiny), I(tiny, tiny)), 0, tiny);
    is(tc_imul(I(tiny, tiny), I(-tiny, tiny)), -tiny, tiny);
    is(tc_iadd(I(DBL_MAX, DBL_MAX), I(DBL_MAX, DBL_MAX)), DBL_MAX, inf);
    is(tc_iadd(I(-inf, 1), I(2, inf)), -inf, inf);
    is(tc_isub(I(1, inf), I(1, inf)), -inf, inf);
    is(tc_isqrt(I(-1, 4)), -inf, inf);
    is(tc_isqrt(I(0, 4)), 0, 2);
    is(tc_ilog(I(-1, 2)), -inf, inf);
    is(tc_ilog(I(0, 1)), -inf, 0);
    is(tc_ilog(I(1, inf)), 0, inf);
    is(tc_iexp(I(-inf, 0)), 0, 1);
    is(tc_iexp(I(0, inf)), 1, inf);
    is(tc_iexp(I(1000, 2000)), DBL_MAX, inf);
    is(tc_iexp(I(-2000, -1000)), 0, tiny);
    is(tc_ipowi(I(-2, 3), 2), 0, 9);
    is(tc_ipowi(I(-2, 3), 3), -8, 27);
    is(tc_ipowi(I(-3, -2), 3), -27, -8);
    is(tc_ipowi(I(-2, 4), -2), -inf, inf);
    is(tc_ipowi(I(0, 4), -2), 0x1p-4, inf);
    is(tc_ipowi(I(-2, 4), -1), -inf, inf);
    is(tc_ipowi(I(0, 4), -1), 0.25, inf);
    is(tc_ipowi(I(-4, 0), -3), -inf, -0x1p-6);
    is(tc_ipowi(line, 2), 0, inf);
    is(tc_ipowr(I(0, 4), 0.5), 0, 2);
    is(tc_ipowr(I(0, 4), -0.5), 0.5, inf);
    is(tc_ipowr(I(0, inf), 2.5), 0, inf);
    is(tc_ipowr(I(-1, 4), 0.5), -inf, inf);
    is(tc_iclamp(I(-9, 9), I(1, 2)), -2, 2);
    is(tc_iclamp(I(3, 9), I(1, 2)), 1, 2);
    is(tc_iclamp(I(-9, -3), I(1, 2)), -2, -1);
    is(tc_iclamp(I(0.5, 0.75), I(1, 2)), 0.5, 0.75);
    is(tc_iinside(I(-1, 1), I(2, 3)), 1, 1);
    is(tc_iinside(I(4, 5), I(2, 3)), 0, 0);
    is(tc_iinside(I(1, 2), I(2, 2)), 0, 1);
    is(tc_ihuber(I(-1, 2), I(1, 3)), 0, 2);
    is(tc_ihuber(I(3, 4), I(1, 2)), 2.5, 6);
    is(tc_ilse((tc_interval[]){line, I(0, 1)}, 2), 0, inf);
    is(tc_isoftmax((tc_interval[]){line, line}, 2, 0), 0, 1);
    is(tc_hull(I(0, 1), I(3, 4)), 0, 4);
    is(tc_meet(I(0, 3), I(2, 4)), 2, 3);
#undef I
}

/* An interval of any kind: a point, thin, wide, around zero, half infinite. */
static tc_interval random_interval(uint64_t *seed) {
    double a = nasty(seed), b = random_below(seed, 3) ? nasty(seed) : a;
    if (random_below(seed, 4) == 0)
        b = a * (1 + (double)random_below(seed, 5) * 0x1p-52);
    if (random_below(seed, 30) == 0)
        b = random_below(seed, 2) ? HUGE_VAL : -HUGE_VAL;
    return (tc_interval){fmin(a, b), fmax(a, b)};
}

static double point_in(tc_interval a, uint64_t *seed) {
    double low = fmax(a.lo, -DBL_MAX), high = fmin(a.hi, DBL_MAX);
    switch (random_below(seed, 4)) {
    case 0:
        return low;
    case 1:
        return high;
    case 2:
        return low <= 0 && high >= 0 ? 0 : low;
    default:
        return fmin(fmax(low / 2 + (high - low / 2 - low / 2) * uniform(seed, 0, 1) + low / 2, low), high);
    }
}

/* The exact result lies in the enclosure if its two roundings do. */
static void holds(tc_interval enclosure, double down, double up, const char *what, double x, double y) {
    REQUIRE(enclosure.lo <= enclosure.hi, "%s: empty\n", what);
    REQUIRE(enclosure.lo <= down && up <= enclosure.hi, "%s at %a, %a: [%a, %a] misses [%a, %a]\n", what, x, y,
            enclosure.lo, enclosure.hi, down, up);
}

/* Whether part lies in whole widened by some steps. */
static bool within(tc_interval part, tc_interval whole, unsigned steps) {
    for (unsigned i = 0; i < steps; i++)
        whole = (tc_interval){tc_below(whole.lo), tc_above(whole.hi)};
    return whole.lo <= part.lo && part.hi <= whole.hi;
}

static void operations_on_intervals_hold_the_results_at_their_points(void **state) {
    (void)state;
    uint64_t seed = 6;
    for (size_t i = 0; i < CASES(300000); i++) {
        tc_interval a = random_interval(&seed), b = random_interval(&seed);
        double x = point_in(a, &seed), y = point_in(b, &seed);
        holds(tc_iadd(a, b), tc_add_down(x, y), tc_add_up(x, y), "add", x, y);
        holds(tc_isub(a, b), tc_add_down(x, -y), tc_add_up(x, -y), "sub", x, y);
        holds(tc_imul(a, b), tc_mul_down(x, y), tc_mul_up(x, y), "mul", x, y);
        holds(tc_isquare(a), tc_mul_down(x, x), tc_mul_up(x, x), "square", x, x);
        if (y != 0)
            holds(tc_idiv(a, b), tc_div_down(x, y), tc_div_up(x, y), "div", x, y);
        holds(tc_iexp(a), exact_unary(mpfr_exp, x, MPFR_RNDD), exact_unary(mpfr_exp, x, MPFR_RNDU), "exp", x, x);
        if (x > 0) {
            holds(tc_ilog(a), exact_unary(mpfr_log, x, MPFR_RNDD), exact_unary(mpfr_log, x, MPFR_RNDU), "log", x, x);
            holds(tc_isqrt(a), tc_sqrt_down(x), tc_sqrt_up(x), "sqrt", x, x);
        }
        int64_t n = (int64_t)random_below(&seed, 13) - 6;
        if (n != 0 && (x != 0 || n > 0))
            holds(tc_ipowi(a, n), exact_binary(mpfr_pow, x, (double)n, MPFR_RNDD),
                  exact_binary(mpfr_pow, x, (double)n, MPFR_RNDU), "powi", x, (double)n);
        double threshold = fabs(y);
        tc_interval thresholds = {tc_mignitude(b), tc_magnitude(b)};
        double size = fabs(x), clamped = fmin(fmax(x, -threshold), threshold);
        holds(tc_iclamp(a, thresholds), clamped, clamped, "clamp", x, threshold);
        double inside = size < threshold ? 1 : 0;
        if (size != threshold)
            holds(tc_iinside(a, thresholds), inside, inside, "inside", x, threshold);
        tc_interval huber = tc_ihuber(tc_point(x), tc_point(threshold));
        tc_interval whole = tc_ihuber(a, thresholds);
        REQUIRE(within(huber, whole, 2), "huber at %a, %a\n", x, threshold);
    }
}

/* Derivative number order of x^p by x, to a few hundred bits; p - i is exact there. */
static void true_derivative(mpfr_t out, double x, double p, size_t order) {
    mpfr_t factor, part;
    mpfr_inits2(300, factor, part, (mpfr_ptr)0);
    (void)mpfr_set_ui(factor, 1, MPFR_RNDN);
    (void)mpfr_set_d(part, p, MPFR_RNDN);
    for (size_t i = 0; i < order; i++) {
        (void)mpfr_mul(factor, factor, part, MPFR_RNDN);
        (void)mpfr_sub_ui(part, part, 1, MPFR_RNDN);
    }
    (void)mpfr_set_d(out, x, MPFR_RNDN);
    (void)mpfr_pow(out, out, part, MPFR_RNDN);
    if (mpfr_zero_p(factor))
        (void)mpfr_set_zero(out, 1);
    else
        (void)mpfr_mul(out, out, factor, MPFR_RNDN);
    mpfr_clears(factor, part, (mpfr_ptr)0);
}

static void powers_over_a_range_of_exponents_hold_every_power_and_its_derivatives(void **state) {
    (void)state;
    uint64_t seed = 31;
    mpfr_t truth;
    mpfr_init2(truth, 300);
    for (size_t i = 0; i < CASES(30000); i++) {
        bool whole = random_below(&seed, 3) == 0; /* then the base may be negative */
        size_t order = random_below(&seed, 4);
        double x = uniform(&seed, whole ? -3 : 0, 3), y = uniform(&seed, whole ? -3 : 0, 3);
        double p = whole ? (double)random_below(&seed, 12) - 4 : uniform(&seed, -3, 5);
        double q = whole || random_below(&seed, 4) == 0 ? p : uniform(&seed, -3, 5);
        tc_interval a = {fmin(x, y), fmax(x, y)}, e = {fmin(p, q), fmax(p, q)};
        if (random_below(&seed, 5) == 0)
            a.lo = fmin(0, a.lo);
        tc_interval enclosure = tc_ipowd(a, e, order);
        for (size_t k = 0; k < 5; k++) {
            double at = k == 0 ? a.lo : k == 1 ? a.hi : uniform(&seed, a.lo, a.hi);
            double power = tc_is_point(e) || k == 2 ? e.lo : k == 3 ? e.hi : uniform(&seed, e.lo, e.hi);
            true_derivative(truth, at, power, order);
            REQUIRE(mpfr_nan_p(truth) || (mpfr_cmp_d(truth, enclosure.lo) >= 0 && mpfr_cmp_d(truth, enclosure.hi) <= 0),
                    "%a ^ %a\n", at, power);
        }
    }
    mpfr_clear(truth);
    is(tc_ipowd((tc_interval){-2, 3}, tc_point(2), 0), 0, 9);
    is(tc_ipowd((tc_interval){-2, 3}, tc_point(2), 1), -4, 6);
    is(tc_ipowd((tc_interval){-2, 3}, tc_point(2), 2), 2, 2);
    is(tc_ipowd((tc_interval){-2, 3}, tc_point(2), 3), 0, 0);
    is(tc_ipowd((tc_interval){0, 4}, tc_point(1), 2), 0, 0);
    is(tc_ipowd((tc_interval){-1, 4}, tc_point(1.5), 0), -HUGE_VAL, HUGE_VAL);
    is(tc_ipowd((tc_interval){0, 4}, (tc_interval){1, 2}, 0), 0, 16);
}

static void huber_at_a_point_is_that_of_its_definition(void **state) {
    (void)state;
    uint64_t seed = 7;
    mpfr_t x, d, h;
    mpfr_inits2(2400, x, d, h, (mpfr_ptr)0);
    for (size_t i = 0; i < CASES(50000); i++) {
        AT_CASE(i);
        double a = nasty(&seed), threshold = i % 5 == 0 ? fabs(a) : fabs(nasty(&seed));
        if (fabs(a) > 0x1p500 || threshold > 0x1p500)
            continue;
        tc_interval enclosure = tc_ihuber(tc_point(a), tc_point(threshold));
        (void)mpfr_set_d(x, fabs(a), MPFR_RNDN);
        (void)mpfr_set_d(d, threshold, MPFR_RNDN);
        if (fabs(a) <= threshold) {
            (void)mpfr_sqr(h, x, MPFR_RNDN);
        } else { /* 2 d x - d^2 */
            (void)mpfr_mul_2ui(x, x, 1, MPFR_RNDN);
            (void)mpfr_sub(x, x, d, MPFR_RNDN);
            (void)mpfr_mul(h, d, x, MPFR_RNDN);
        }
        /* compare doubled, so that nothing underflows here that does not there */
        REQUIRE(mpfr_cmp_d(h, 2 * enclosure.lo) >= 0 && mpfr_cmp_d(h, 2 * enclosure.hi) <= 0, "huber %a, %a\n", a,
                threshold);
    }
    mpfr_clears(x, d, h, (mpfr_ptr)0);
}

static tc_interval grown(tc_interval a, double by) { return tc_iadd(a, (tc_interval){-by, by}); }

static void an_enclosure_over_a_part_lies_in_that_over_the_whole(void **state) {
    (void)state;
    enum { DIVISION = 3, WHOLE_POWER = 5 };
    uint64_t seed = 8;
    for (size_t i = 0; i < CASES(150000); i++) {
        tc_interval wide[2], part[2];
        for (size_t k = 0; k < 2; k++) {
            wide[k] = random_interval(&seed);
            double p = point_in(wide[k], &seed), q = point_in(wide[k], &seed);
            part[k] = (tc_interval){fmin(p, q), fmax(p, q)};
        }
        int64_t n = (int64_t)random_below(&seed, 13) - 6;
        double p = uniform(&seed, -3, 3);
        tc_interval powr = tc_ipowr(wide[0], p);
        tc_interval results[][2] = {
            {tc_iadd(part[0], part[1]), tc_iadd(wide[0], wide[1])},
            {tc_isub(part[0], part[1]), tc_isub(wide[0], wide[1])},
            {tc_imul(part[0], part[1]), tc_imul(wide[0], wide[1])},
            {tc_idiv(part[0], part[1]), tc_idiv(wide[0], wide[1])},
            {tc_isquare(part[0]), tc_isquare(wide[0])},
            {tc_ipowi(part[0], n), tc_ipowi(wide[0], n)},
            {tc_ipowr(part[0], p), grown(powr, 0x1p-44 * fmin(tc_magnitude(powr), DBL_MAX))},
            {tc_isqrt(part[0]), tc_isqrt(wide[0])},
            {tc_iexp(part[0]), tc_iexp(wide[0])},
            {tc_ilog(part[0]), tc_ilog(wide[0])},
            {tc_ihuber(part[0], part[1]), tc_ihuber(wide[0], wide[1])},
            {tc_iclamp(part[0], part[1]), tc_iclamp(wide[0], wide[1])},
            {tc_iinside(part[0], part[1]), tc_iinside(wide[0], wide[1])},
            {tc_ilse(part, 2), grown(tc_ilse(wide, 2), 0x1p-50)}, /* its logarithm errs absolutely */
            {tc_isoftmax(part, 2, 1), tc_isoftmax(wide, 2, 1)},
        };
        /* bounds that are not correctly rounded need not be monotone in the last places */
        const unsigned slack[] = {0, 0, 0, 0, 0, 0, 4, 0, 3, 4, 2, 0, 0, 8, 8};
        for (size_t k = 0; k < sizeof results / sizeof *results; k++) {
            bool empty_or_nan = !(results[k][0].lo <= results[k][0].hi) || !(results[k][1].lo <= results[k][1].hi);
            if (k == DIVISION && tc_magnitude(part[1]) == 0)
                continue; /* by zero alone: the whole line, although the enclosure around may be a half line */
            if (k == WHOLE_POWER && n < 0 && tc_magnitude(part[0]) == 0)
                continue;
            REQUIRE(!empty_or_nan && within(results[k][0], results[k][1], slack[k]),
                    "operation %zu on [%a, %a], [%a, %a], n %lld, p %a\n", k, wide[0].lo, wide[0].hi, wide[1].lo,
                    wide[1].hi, (long long)n, p);
        }
    }
}

/* The truth in 300 bits: far closer than any double. */
static void true_lse(mpfr_t out, const double *u, size_t count) {
    mpfr_t term;
    mpfr_init2(term, 300);
    (void)mpfr_set_ui(out, 0, MPFR_RNDN);
    for (size_t i = 0; i < count; i++) {
        (void)mpfr_set_d(term, u[i], MPFR_RNDN);
        (void)mpfr_exp(term, term, MPFR_RNDN);
        (void)mpfr_add(out, out, term, MPFR_RNDN);
    }
    (void)mpfr_log(out, out, MPFR_RNDN);
    mpfr_clear(term);
}

/* Whether x, known to almost 300 bits, may lie in the interval. */
static bool nearly_in(mpfr_t x, tc_interval interval) {
    mpfr_t slack;
    mpfr_init2(slack, 300);
    (void)mpfr_abs(slack, x, MPFR_RNDN);
    (void)mpfr_add_ui(slack, slack, 1, MPFR_RNDN);
    (void)mpfr_mul_2si(slack, slack, -250, MPFR_RNDN);
    (void)mpfr_add(slack, slack, x, MPFR_RNDN);
    bool above = mpfr_cmp_d(slack, interval.lo) >= 0;
    (void)mpfr_sub(slack, x, slack, MPFR_RNDN);
    (void)mpfr_add(slack, x, slack, MPFR_RNDN);
    bool below = mpfr_cmp_d(slack, interval.hi) <= 0;
    mpfr_clear(slack);
    return above && below;
}

static void logsumexp_and_softmax_hold_the_truth_and_do_not_overflow(void **state) {
    (void)state;
    enum { MOST = 12 };
    uint64_t seed = 9;
    mpfr_t truth, share;
    (void)mpfr_set_emin(mpfr_get_emin_min());
    (void)mpfr_set_emax(mpfr_get_emax_max());
    mpfr_inits2(300, truth, share, (mpfr_ptr)0);
    for (size_t i = 0; i < CASES(20000); i++) {
        double scales[] = {1e-9, 1, 30, 1000, 1e6}, scale = scales[i % 5], u[MOST];
        size_t count = 1 + random_below(&seed, MOST), index = random_below(&seed, count);
        tc_interval box[MOST], points[MOST];
        for (size_t k = 0; k < count; k++) {
            double a = uniform(&seed, -scale, scale), b = i % 3 == 0 ? a : a + uniform(&seed, 0, scale);
            box[k] = (tc_interval){a, b};
            u[k] = point_in(box[k], &seed);
            points[k] = tc_point(u[k]);
        }
        true_lse(truth, u, count);
        tc_interval thin = tc_ilse(points, count);
        REQUIRE(thin.hi - thin.lo <= 0x1p-46 * (1 + fabs(thin.lo)), "lse is wide: [%a, %a]\n", thin.lo, thin.hi);
        REQUIRE(nearly_in(truth, thin) && nearly_in(truth, tc_ilse(box, count)), "lse\n");
        (void)mpfr_d_sub(share, u[index], truth, MPFR_RNDN);
        (void)mpfr_exp(share, share, MPFR_RNDN);
        REQUIRE(nearly_in(share, tc_isoftmax(points, count, index)), "softmax at a point\n");
        REQUIRE(nearly_in(share, tc_isoftmax(box, count, index)), "softmax over a box\n");
    }
    mpfr_clears(truth, share, (mpfr_ptr)0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(sums_products_and_quotients_are_rounded_as_exact_arithmetic_would),
        TEST(sums_near_overflow_are_at_most_one_step_wider_than_exact_arithmetic),
        TEST(roots_are_rounded_as_exact_arithmetic_would),
        TEST(exp_at_a_point_is_enclosed_within_three_steps),
        TEST(log_at_a_point_is_enclosed_within_four_steps),
        TEST(powers_contain_the_truth_and_are_narrow),
        TEST(whole_numbers_stay_whole),
        TEST(the_edges_of_the_domains_are_kept),
        TEST(operations_on_intervals_hold_the_results_at_their_points),
        TEST(powers_over_a_range_of_exponents_hold_every_power_and_its_derivatives),
        TEST(huber_at_a_point_is_that_of_its_definition),
        TEST(an_enclosure_over_a_part_lies_in_that_over_the_whole),
        TEST(logsumexp_and_softmax_hold_the_truth_and_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
