/* Norms, their derivatives and the products of shares: every sampled value lies in the enclosure, and some come close
 * to its ends, so that the enclosure is the range. */
#include "calculus/derivatives.h"
#include "calculus/tape/tape.h"
#include "calculus/nasty.h"
#include "support/cmocka.h"

#include <stdio.h>

#include <mpfr.h>

enum { MOST = 4, BITS = 200, MANY_BITS = 6000 };

typedef enum kind { NORM, DIRECTION, BEND } kind;

typedef struct target {
    kind what;
    size_t count, i, k;
    tc_interval box[MOST];
} target;

static long double value_at(const target *t, const long double *a) {
    long double rest = 0, all = 0;
    for (size_t j = 0; j < t->count; j++) {
        all += a[j] * a[j];
        rest += j == t->i || j == t->k ? 0 : a[j] * a[j];
    }
    if (t->what == NORM)
        return sqrtl(all);
    if (t->what == DIRECTION)
        return all == 0 ? 0 : a[t->i] / sqrtl(all);
    return t->i == t->k ? rest / (all * sqrtl(all)) : -a[t->i] * a[t->k] / (all * sqrtl(all));
}

static tc_interval enclosure_of(const target *t) {
    tc_interval_arguments arguments = {t->box, sizeof *t->box, NULL};
    if (t->what == NORM)
        return tc_inorm(arguments, t->count);
    return t->what == DIRECTION ? tc_idirection(arguments, t->count, t->i) : tc_ibend(arguments, t->count, t->i, t->k);
}

static target random_target(uint64_t *seed, bool off_centre) {
    target t = {.what = (kind)random_below(seed, 3), .count = 1 + random_below(seed, MOST)};
    t.i = random_below(seed, t.count);
    t.k = t.what == BEND ? random_below(seed, t.count) : t.i;
    for (size_t j = 0; j < t.count; j++) {
        double c = uniform(seed, -2, 2), w = uniform(seed, 0, 2);
        tc_interval sides[] = {{c - w, c + w}, {0, w}, {c, c}, {fabs(c), fabs(c) + w}, {-w, 0}, {-w, w}};
        t.box[j] = sides[random_below(seed, 6)];
    }
    if (off_centre) /* away from the point where nothing is bounded */
        t.box[random_below(seed, t.count)] = (tc_interval){0.3, 0.3 + uniform(seed, 0, 2)};
    return t;
}

/* Ends, zero or the middle, and a point in between: all combinations are looked at. */
enum { CHOICES = 4, COMBINATIONS = 256 }; /* CHOICES to the power MOST */
static long double chosen(tc_interval a, size_t choice, uint64_t *seed) {
    long double lo = (long double)a.lo, hi = (long double)a.hi;
    if (choice < 2)
        return choice == 0 ? lo : hi;
    if (choice == 2)
        return tc_contains(a, 0) ? 0 : (lo + hi) / 2;
    return lo + (hi - lo) * (long double)uniform(seed, 0, 1);
}

/* Steps that shrink, along one or two arguments at a time: enough for functions with one peak. */
static long double climb(const target *t, long double *a, int sign, uint64_t *seed) {
    long double best = value_at(t, a) * sign, step = 1;
    for (int n = 0; n < 1500; n++) {
        step *= 0.99L;
        long double trial[MOST];
        for (size_t j = 0; j < t->count; j++) {
            long double lo = (long double)t->box[j].lo, hi = (long double)t->box[j].hi;
            long double moved = a[j] + (random_below(seed, 2) ? step * (long double)uniform(seed, -1, 1) : 0);
            trial[j] = moved < lo ? lo : moved > hi ? hi : moved;
        }
        long double found = value_at(t, trial) * sign;
        if (found > best) {
            best = found;
            memcpy(a, trial, sizeof trial);
        }
    }
    return best * sign;
}

/* The best of all combinations, for each pair of signs of the two arguments that matter, and what lies above it. */
static long double search_end(const target *t, int sign, uint64_t *seed) {
    long double best[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, at[4][MOST] = {{0}}, end = -INFINITY;
    for (size_t s = 0; s < COMBINATIONS; s++) {
        long double a[MOST] = {0};
        size_t code = s;
        for (size_t j = 0; j < t->count; j++, code /= CHOICES)
            a[j] = chosen(t->box[j], code % CHOICES, seed);
        size_t quadrant = (a[t->i] < 0 ? 1u : 0u) + (a[t->k] < 0 ? 2u : 0u);
        if (value_at(t, a) * sign > best[quadrant]) {
            best[quadrant] = value_at(t, a) * sign;
            memcpy(at[quadrant], a, sizeof a);
        }
    }
    for (size_t q = 0; q < 4; q++)
        end = isfinite(best[q]) ? fmaxl(end, climb(t, at[q], sign, seed) * sign) : end;
    return end * sign;
}

static void sampled_values_lie_in_the_enclosure_and_reach_its_ends(void **state) {
    (void)state;
    uint64_t seed = 90;
    for (size_t n = 0; n < CASES(3000); n++) {
        AT_CASE(n);
        target t = random_target(&seed, true);
        tc_interval range = enclosure_of(&t);
        assert_true(tc_is_finite(range));
        long double least = search_end(&t, -1, &seed), most = search_end(&t, 1, &seed);
        long double slack = 1e-17L * (fabsl(least) + fabsl(most));
        assert_true(least >= (long double)range.lo - slack && most <= (long double)range.hi + slack);
        if (least > (long double)range.lo + 1e-4L || most < (long double)range.hi - 1e-4L)
            fail_msg("kind %d of %zu at %zu %zu: [%.9Lg, %.9Lg] is not [%.9g, %.9g]", (int)t.what, t.count, t.i, t.k,
                     least, most, range.lo, range.hi);
    }
}

/* The same formulas in multiple precision, for arguments of any size. */
static void exact_value(mpfr_t r, const target *t, const double *a) {
    mpfr_t square, all, rest;
    mpfr_inits2(MANY_BITS, square, all, rest, (mpfr_ptr)0);
    mpfr_set_zero(all, 1);
    mpfr_set_zero(rest, 1);
    for (size_t j = 0; j < t->count; j++) {
        (void)mpfr_set_d(square, a[j], MPFR_RNDN);
        (void)mpfr_sqr(square, square, MPFR_RNDN);
        (void)mpfr_add(all, all, square, MPFR_RNDN);
        if (j != t->i && j != t->k)
            (void)mpfr_add(rest, rest, square, MPFR_RNDN);
    }
    (void)mpfr_sqrt(square, all, MPFR_RNDN);
    if (t->what == NORM)
        (void)mpfr_set(r, square, MPFR_RNDN);
    if (t->what == DIRECTION) {
        (void)mpfr_d_div(r, a[t->i], square, MPFR_RNDN);
        if (mpfr_zero_p(all))
            mpfr_set_zero(r, 1);
    }
    if (t->what == BEND) {
        (void)mpfr_mul(all, all, square, MPFR_RNDN);
        (void)mpfr_set_d(r, -a[t->i], MPFR_RNDN);
        (void)mpfr_mul_d(r, r, a[t->k], MPFR_RNDN);
        (void)mpfr_div(r, t->i == t->k ? rest : r, all, MPFR_RNDN);
    }
    mpfr_clears(square, all, rest, (mpfr_ptr)0);
}

static void numbers_of_any_size_are_enclosed(void **state) {
    (void)state;
    uint64_t seed = 91;
    mpfr_t value;
    mpfr_init2(value, BITS);
    for (size_t n = 0; n < CASES(100000); n++) {
        AT_CASE(n);
        target t = random_target(&seed, false);
        double a[MOST] = {0};
        double size = ldexp(1, (int)random_below(&seed, 2000) - 1000);
        for (size_t j = 0; j < t.count; j++) {
            double x = n % 2 ? nasty(&seed) : uniform(&seed, -1, 1) * size, y = n % 4 < 2 ? x : nasty(&seed);
            t.box[j] = (tc_interval){fmin(x, y), fmax(x, y)};
            a[j] = random_below(&seed, 2) ? x : y;
        }
        tc_interval range = enclosure_of(&t);
        assert_true(range.lo <= range.hi);
        exact_value(value, &t, a);
        if (mpfr_number_p(value) && (mpfr_cmp_d(value, range.lo) < 0 || mpfr_cmp_d(value, range.hi) > 0)) {
            (void)mpfr_fprintf(stderr, "%.20Rg\n", value);
            fail_msg("kind %d of %zu at %zu %zu, %a %a %a %a: not in [%a, %a]", (int)t.what, t.count, t.i, t.k, a[0],
                     a[1], a[2], a[3], range.lo, range.hi);
        }
    }
    mpfr_clear(value);
    mpfr_free_cache();
}

static void at_a_point_enclosures_are_a_few_units_wide(void **state) {
    (void)state;
    uint64_t seed = 92;
    for (size_t n = 0; n < CASES(50000); n++) {
        AT_CASE(n);
        target t = random_target(&seed, true);
        for (size_t j = 0; j < t.count; j++)
            t.box[j] = tc_point(uniform(&seed, 0.1, 3) * (random_below(&seed, 2) ? 1 : -1));
        tc_interval range = enclosure_of(&t);
        assert_true(range.hi - range.lo <= 20 * 0x1p-52 * tc_magnitude(range));
    }
}

static void kinks_and_infinite_ends_are_bounded_as_far_as_they_can(void **state) {
    (void)state;
    tc_interval both[2] = {{-1, 1}, {-2, 3}}, one[1] = {{-1, 1}}, tail[2] = {{1, HUGE_VAL}, {1, 2}};
    tc_interval_arguments v = {both, sizeof *both, NULL}, w = {one, sizeof *one, NULL}, u = {tail, sizeof *tail, NULL};
    assert_true(tc_inorm(v, 2).lo == 0 && tc_idirection(v, 2, 1).lo == -1 && tc_idirection(v, 2, 1).hi == 1);
    assert_true(tc_ibend(v, 2, 0, 0).lo == 0 && isinf(tc_ibend(v, 2, 0, 0).hi)); /* a kink inside shows */
    assert_true(isinf(tc_ibend(v, 2, 1, 0).lo) && isinf(tc_ibend(v, 2, 1, 0).hi));
    assert_true(isinf(tc_ibend(w, 1, 0, 0).hi) && tc_idirection(w, 1, 0).hi == 1);
    one[0] = (tc_interval){1, 2};
    assert_true(tc_ibend(w, 1, 0, 0).lo == 0 && tc_ibend(w, 1, 0, 0).hi == 0 && tc_idirection(w, 1, 0).hi == 1);
    assert_true(isinf(tc_inorm(u, 2).hi) && tc_idirection(u, 2, 0).hi == 1 && tc_idirection(u, 2, 1).lo == 0);
    assert_true(tc_ibend(u, 2, 0, 0).lo == 0 && tc_ibend(u, 2, 0, 1).hi <= 0 && tc_ibend(u, 2, 0, 1).lo >= -0.4);
}

/* ---- shares ------------------------------------------------------------------------------------------------------ */

static void products_of_shares_have_their_exact_range(void **state) {
    (void)state;
    uint64_t seed = 93;
    for (size_t n = 0; n < CASES(20000); n++) {
        AT_CASE(n);
        double p = uniform(&seed, 0, 1), q = uniform(&seed, 0, 1), w = uniform(&seed, 0, 1);
        tc_interval a = {fmin(p, q), fmax(p, q)}, b = {uniform(&seed, 0, 1 - a.lo) * w, 0};
        b.hi = b.lo + uniform(&seed, 0, 1 - b.lo);
        tc_interval hump = tc_ihump(a), pair = tc_ipair(a, b);
        double most = 0, least = 1, largest = 0;
        for (int i = 0; i <= 400; i++) {
            double s = fmin(a.lo + (a.hi - a.lo) * i / 400, a.hi), t = fmin(b.hi, 1 - s);
            assert_true(tc_contains((tc_interval){hump.lo - 1e-15, hump.hi + 1e-15}, s * (1 - s)));
            most = fmax(most, s * (1 - s));
            least = fmin(least, s * (1 - s));
            if (t >= b.lo) {
                largest = fmax(largest, s * t);
                assert_true(s * t <= pair.hi + 1e-15 && s * b.lo >= pair.lo - 1e-15);
            }
        }
        assert_true(hump.hi - most <= 2e-6 && least - hump.lo <= 1e-15);
        assert_true(pair.hi - largest <= 3e-3 && pair.lo <= a.lo * b.lo && pair.lo >= a.lo * b.lo - 1e-16);
    }
    assert_true(tc_ihump((tc_interval){0.25, 0.75}).hi == 0.25 && tc_ihump((tc_interval){0, 1}).lo == 0);
}

/* ---- derivatives ------------------------------------------------------------------------------------------------- */

enum { WIDE = 72 };

static double evaluate(tc_arena *arena, const tc_dag *dag, tc_expr e, const double *x) {
    const tc_tape *tape = tc_tape_new(arena, dag, &e, 1);
    const double *rows[WIDE];
    for (size_t i = 0; i < WIDE; i++)
        rows[i] = &x[i];
    double *work = TC_NEW(arena, double, tc_tape_work(tape)), result;
    tc_tape_eval(tape, &(tc_inputs){.state = rows}, 1, work, (double *const[]){&result});
    return result;
}

static void wide_norms_have_the_same_second_derivatives_as_narrow_ones(void **state) {
    (void)state;
    for (size_t n = 3; n <= 66; n += 21) { /* off the diagonal a wide norm uses products */
        tc_arena *arena = tc_arena_new(0);
        assert_non_null(arena);
        tc_dag *dag = tc_dag_new(arena, 1000000);
        tc_expr arguments[WIDE], *leaves, *first, *others, *second;
        double x[WIDE], squares = 0;
        for (size_t i = 0; i < n; i++) {
            arguments[i] = tc_state(dag, 0, i);
            x[i] = (double)(i % 5) - 1.5;
            squares += x[i] * x[i];
        }
        double length = sqrt(squares);
        assert_int_equal(tc_gradient(arena, tc_differentiator_new(arena, dag), tc_norm(dag, arguments, n), TC_STATE,
                                     &leaves, &first),
                         n);
        for (size_t i = 0; i < n; i++) {
            assert_true(fabs(evaluate(arena, dag, first[i], x) - x[i] / length) <= 1e-15);
            assert_int_equal(
                tc_gradient(arena, tc_differentiator_new(arena, dag), first[i], TC_STATE, &others, &second), n);
            for (size_t k = 0; k < n; k++) {
                double truth = ((i == k ? 1 : 0) - x[i] * x[k] / squares) / length;
                assert_true(fabs(evaluate(arena, dag, second[k], x) - truth) <= 1e-15);
            }
        }
        tc_arena_free(arena);
    }
}

static void powers_of_a_norm_are_differentiated_through_zero(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    tc_dag *dag = tc_dag_new(arena, 100000);
    tc_expr arguments[2] = {tc_state(dag, 0, 0), tc_state(dag, 0, 1)}, *leaves, *first, *others, *second;
    tc_expr cube = tc_pow(dag, tc_norm(dag, arguments, 2), 3);
    const double zero[WIDE] = {0}, point[WIDE] = {3, 4};
    assert_int_equal(tc_gradient(arena, tc_differentiator_new(arena, dag), cube, TC_STATE, &leaves, &first), 2);
    assert_int_equal(tc_gradient(arena, tc_differentiator_new(arena, dag), first[1], TC_STATE, &others, &second), 2);
    assert_true(evaluate(arena, dag, first[1], zero) == 0 && evaluate(arena, dag, second[1], zero) == 0);
    assert_true(evaluate(arena, dag, second[0], zero) == 0);
    assert_true(evaluate(arena, dag, first[1], point) == 60);                  /* 3 N y */
    assert_true(fabs(evaluate(arena, dag, second[1], point) - 24.6) <= 1e-14); /* 3 (N + y^2 / N) */
    assert_true(fabs(evaluate(arena, dag, second[0], point) - 7.2) <= 1e-14);
    tc_arena_free(arena);
}

static void directions_of_huge_vectors_are_not_lost(void **state) {
    (void)state;
    tc_interval v[] = {{0x1p600, 0x1p700}, {0x1p400, 0x1p450}};
    tc_interval_arguments arguments = {.first = v, .stride = sizeof v[0]};
    tc_interval u = tc_idirection(arguments, 2, 0);
    assert_true(u.lo > 1 - 1e-12 && u.lo <= 1 && u.hi == 1);
}

int main(void) {
    (void)mpfr_set_emin(mpfr_get_emin_min());
    (void)mpfr_set_emax(mpfr_get_emax_max());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampled_values_lie_in_the_enclosure_and_reach_its_ends),
        cmocka_unit_test(numbers_of_any_size_are_enclosed),
        cmocka_unit_test(directions_of_huge_vectors_are_not_lost),
        cmocka_unit_test(at_a_point_enclosures_are_a_few_units_wide),
        cmocka_unit_test(kinks_and_infinite_ends_are_bounded_as_far_as_they_can),
        cmocka_unit_test(products_of_shares_have_their_exact_range),
        cmocka_unit_test(wide_norms_have_the_same_second_derivatives_as_narrow_ones),
        cmocka_unit_test(powers_of_a_norm_are_differentiated_through_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
