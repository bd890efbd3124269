/* Random expressions and their derivatives at a million random points of random boxes: the evaluator in double must be
 * within its proved bound of the truth. Long double finds suspects; MPFR judges them, and a sample of the others. */
#include "calculus/derivatives.h"
#include "calculus/tape/tape.h"
#include "random_expression.h"
#include "support/cmocka.h"

#include <mpfr.h>
#include <stdlib.h>

#include "exact_evaluate.h"

enum { ROOTS = 1 + STATES, BITS = 400 };

typedef struct problem {
    tc_arena *arena;
    tc_dag *dag;
    tc_expr roots[ROOTS];
    tc_tape *tape;
    tc_expr *order;
    size_t order_count;
    exact truth;
    mpfr_t point[STATES];
    double data[COLUMNS];
    tc_interval box[STATES];
    tc_rounded bounds[ROOTS];
    double observed[ROOTS]; /* the largest error seen */
} problem;

static problem *problem_of(tc_arena *arena, tc_dag *dag, tc_expr f) {
    problem *p = TC_NEW(arena, problem, 1);
    p->arena = arena;
    p->dag = dag;
    for (size_t i = 0; i < ROOTS; i++)
        p->roots[i] = i == 0 ? f : tc_const(dag, 0);
    tc_expr *leaves, *partials;
    size_t count = tc_gradient(arena, tc_differentiator_new(arena, dag), f, TC_STATE, &leaves, &partials);
    for (size_t k = 0; k < count; k++)
        p->roots[1 + dag->nodes[leaves[k]].u.index] = partials[k];
    p->order = tc_reachable(arena, dag, p->roots, ROOTS, &p->order_count);
    p->tape = tc_tape_new(arena, dag, p->roots, ROOTS);
    exact_init(&p->truth, arena, dag);
    for (size_t i = 0; i < STATES; i++)
        mpfr_init2(p->point[i], 64);
    return p;
}

static problem *new_problem(uint64_t *seed) {
    for (;;) {
        tc_arena *arena = tc_arena_new(0);
        assert_non_null(arena);
        tc_dag *dag = tc_dag_new(arena, 1000000);
        tc_expr f = random_expression(dag, seed, 2 + (unsigned)random_below(seed, 4), random_below(seed, 4) == 0);
        if (dag->nodes[f].has_state && dag->count < 200) {
            problem *p = problem_of(arena, dag, f);
            for (size_t i = 0; i < COLUMNS; i++)
                p->data[i] = uniform(seed, -2, 2);
            return p;
        }
        tc_arena_free(arena);
    }
}

static void end_problem(problem *p) {
    exact_clear(&p->truth);
    for (size_t i = 0; i < STATES; i++)
        mpfr_clear(p->point[i]);
    tc_arena_free(p->arena);
}

static void bound_errors(problem *p) {
    tc_rounded states[STATES], columns[COLUMNS], *out[ROOTS];
    const tc_rounded *state[STATES], *data[COLUMNS];
    for (size_t i = 0; i < STATES; i++) {
        states[i] = tc_rounded_exactly(p->box[i]);
        state[i] = &states[i];
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        columns[i] = tc_rounded_exactly(tc_point(p->data[i]));
        data[i] = &columns[i];
    }
    for (size_t i = 0; i < ROOTS; i++)
        out[i] = &p->bounds[i];
    tc_mark mark = tc_arena_mark(p->arena);
    tc_rounded *work = TC_NEW(p->arena, tc_rounded, tc_tape_work(p->tape));
    tc_tape_rounding(p->tape, &(tc_rounding_inputs){.state = state, .data = data}, 1, work, out);
    tc_arena_rewind(p->arena, mark);
    for (size_t i = 0; i < ROOTS; i++) {
        assert_true(p->bounds[i].error >= 0 && p->bounds[i].exact.lo <= p->bounds[i].exact.hi);
        p->observed[i] = 0;
    }
}

static void choose_box(problem *p, uint64_t *seed, size_t kind) {
    for (size_t i = 0; i < STATES; i++) {
        double c = uniform(seed, -2, 2), tiny = ldexp(1, -(int)random_below(seed, 1074));
        tc_interval sides[] = {{c - uniform(seed, 0, 4), c + uniform(seed, 0, 4)},
                               {0, 1},
                               {-uniform(seed, 0, 0.1), uniform(seed, 0, 0.1)},
                               {uniform(seed, 0.1, 1), uniform(seed, 1, 3)},
                               {-uniform(seed, 0, 1e5), uniform(seed, 0, 1e5)},
                               {c, c + 1e-9},
                               {-tiny, 3 * tiny}};
        p->box[i] = sides[kind];
    }
    bound_errors(p);
}

typedef struct block {
    double points[STATES][TC_LANES], data[COLUMNS][TC_LANES], values[ROOTS][TC_LANES];
    long double longs[STATES][TC_LANES], long_values[ROOTS][TC_LANES];
} block;

static double point_in(tc_interval a, uint64_t *seed) {
    uint64_t kind = random_below(seed, 8);
    double x = a.lo + (a.hi - a.lo) * uniform(seed, 0, 1);
    return kind == 0 ? a.lo : kind == 1 ? a.hi : fmin(fmax(x, a.lo), a.hi);
}

static void evaluate(problem *p, block *b, uint64_t *seed) {
    const double *state[STATES], *data[COLUMNS];
    const long double *long_state[STATES];
    double *out[ROOTS];
    long double *long_out[ROOTS];
    for (size_t i = 0; i < STATES; i++) {
        for (size_t lane = 0; lane < TC_LANES; lane++)
            b->longs[i][lane] = (long double)(b->points[i][lane] = point_in(p->box[i], seed));
        state[i] = b->points[i];
        long_state[i] = b->longs[i];
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        for (size_t lane = 0; lane < TC_LANES; lane++)
            b->data[i][lane] = p->data[i];
        data[i] = b->data[i];
    }
    for (size_t i = 0; i < ROOTS; i++) {
        out[i] = b->values[i];
        long_out[i] = b->long_values[i];
    }
    tc_mark mark = tc_arena_mark(p->arena);
    double *work = TC_NEW(p->arena, double, tc_tape_work(p->tape));
    long double *long_work = TC_NEW(p->arena, long double, tc_tape_work(p->tape));
    tc_tape_eval(p->tape, &(tc_inputs){.state = state, .data = data}, TC_LANES, work, out);
    tc_tape_eval_long(p->tape, &(tc_long_inputs){.state = long_state, .data = data}, TC_LANES, long_work, long_out);
    tc_arena_rewind(p->arena, mark);
}

static void judge_root(problem *p, const block *b, size_t lane, size_t root) {
    mpfr_srcptr truth = p->truth.values[p->roots[root]];
    double error = p->bounds[root].error;
    if (!isfinite(error))
        return;
    mpfr_t difference;
    mpfr_init2(difference, BITS);
    (void)mpfr_sub_d(difference, truth, b->values[root][lane], MPFR_RNDA);
    (void)mpfr_abs(difference, difference, MPFR_RNDU);
    bool right = mpfr_number_p(truth) && mpfr_cmp_d(difference, error) <= 0;
    double seen = mpfr_get_d(difference, MPFR_RNDU);
    mpfr_clear(difference);
    p->observed[root] = fmax(p->observed[root], seen);
    if (right)
        return;
    print_error("root %zu at %a %a %a: %a errs by %g, bound %g\n", root, b->points[0][lane], b->points[1][lane],
                b->points[2][lane], b->values[root][lane], seen, error);
    show_expression(p->dag, p->roots[root]);
    fail();
}

static void judge_point(problem *p, const block *b, size_t lane) {
    for (size_t i = 0; i < STATES; i++)
        (void)mpfr_set_d(p->point[i], b->points[i][lane], MPFR_RNDN);
    exact_run(&p->truth, p->dag, p->order, p->order_count, p->point, p->data, BITS);
    for (size_t i = 0; i < p->order_count; i++) {
        if (mpfr_inf_p(p->truth.values[p->order[i]])) /* beyond even MPFR's exponents: exp(exp(exp(x))) */
            return;
    }
    for (size_t i = 0; i < ROOTS; i++)
        judge_root(p, b, lane, i);
}

static void check_block(problem *p, const block *b, size_t *judged) {
    for (size_t lane = 0; lane < TC_LANES; lane++) {
        bool doubtful = lane == 0;
        for (size_t i = 0; i < ROOTS; i++) {
            double error = p->bounds[i].error;
            double seen = fabs((double)(b->long_values[i][lane] - (long double)b->values[i][lane]));
            if (!isfinite(error))
                continue;
            doubtful = doubtful || !(seen <= 0.9 * error);
            assert_true(tc_contains(p->bounds[i].computed, b->values[i][lane]));
            p->observed[i] = seen <= 0.9 * error ? fmax(p->observed[i], seen) : p->observed[i];
        }
        if (doubtful && ++*judged)
            judge_point(p, b, lane);
    }
}

typedef struct tally { /* bound over observed, where both are positive */
    double ratios[400000];
    size_t count, known, all, exact;
} tally;

static void note(tally *t, const problem *p) {
    for (size_t i = 0; i < ROOTS; i++) {
        double error = p->bounds[i].error;
        t->all++;
        t->known += isfinite(error) ? 1 : 0;
        t->exact += error == 0;
        if (isfinite(error) && error > 0 && p->observed[i] > 0 && t->count < 400000)
            t->ratios[t->count++] = error / p->observed[i];
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void a_million_points_are_within_the_proved_errors(void **state) {
    (void)state;
    enum { EXPRESSIONS = CASES(1300), KINDS = 7, BLOCKS = 2 };
    uint64_t seed = 77;
    size_t points = 0, judged = 0;
    tally *t = calloc(1, sizeof *t);
    assert_non_null(t);
    for (size_t e = 0; e < EXPRESSIONS; e++) {
        AT_CASE(e);
        problem *p = new_problem(&seed);
        block *b = TC_NEW(p->arena, block, 1);
        for (size_t kind = 0; kind < KINDS; kind++) {
            choose_box(p, &seed, kind);
            for (size_t n = 0; n < BLOCKS; n++, points += TC_LANES) {
                evaluate(p, b, &seed);
                check_block(p, b, &judged);
            }
            note(t, p);
        }
        end_problem(p);
    }
    qsort(t->ratios, t->count, sizeof *t->ratios, compare);
    print_message("%zu points, %zu judged in MPFR; %.0f %% of the bounds finite, %.0f %% zero; bound / observed: least "
                  "%.2f, quartiles %.1f %.1f %.1f, 95 %% %.3g\n",
                  points, judged, 100.0 * (double)t->known / (double)t->all, 100.0 * (double)t->exact / (double)t->all,
                  t->ratios[0], t->ratios[t->count / 4], t->ratios[t->count / 2], t->ratios[t->count * 3 / 4],
                  t->ratios[t->count * 19 / 20]);
    assert_true(t->ratios[t->count / 2] < 100); /* a bound that is true, but absurd, is of no use */
    free(t);
}

/* ---- single operations, where bounds should be close to what happens ----------------------------------------------
 */

static tc_rounded bound_of(tc_arena *arena, tc_dag *dag, tc_expr f, tc_interval x, tc_interval y) {
    tc_tape *tape = tc_tape_new(arena, dag, &f, 1);
    tc_rounded states[2] = {tc_rounded_exactly(x), tc_rounded_exactly(y)}, result, *out = &result;
    const tc_rounded *state[2] = {&states[0], &states[1]};
    tc_rounded *work = TC_NEW(arena, tc_rounded, tc_tape_work(tape));
    tc_tape_rounding(tape, &(tc_rounding_inputs){.state = state}, 1, work, &out);
    return result;
}

static void simple_expressions_have_the_bounds_one_would_write_down(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    tc_dag *dag = tc_dag_new(arena, 1000);
    tc_expr x = tc_state(dag, 0, 0), y = tc_state(dag, 0, 1);
    tc_interval box = {-10, 10};
    assert_true(bound_of(arena, dag, x, box, box).error == 0);
    assert_true(bound_of(arena, dag, tc_neg(dag, x), box, box).error == 0);
    assert_true(bound_of(arena, dag, tc_add(dag, x, y), box, box).error == 16 * 0x1p-53);
    assert_true(bound_of(arena, dag, tc_mul(dag, tc_const(dag, 2), x), box, box).error <= 0x1p-1074);
    assert_true(bound_of(arena, dag, tc_mul(dag, x, y), box, box).error == 64 * 0x1p-53);
    /* |(x, y)| where it may be zero: the sum of squares is never computed negative */
    tc_expr norm = tc_sqrt(dag, tc_add(dag, tc_pow(dag, x, 2), tc_pow(dag, y, 2)));
    assert_true(isfinite(bound_of(arena, dag, norm, box, box).error));
    tc_interval away = {1, 10};
    assert_true(bound_of(arena, dag, norm, away, away).error <= 3 * 16 * 0x1p-53);
    /* near 0 no more than its own last places, and its direction at most 2 */
    tc_interval near = {-0x1p-20, 0x1p-20};
    assert_true(bound_of(arena, dag, norm, near, near).error <= 3 * 0x1p-72);
    tc_expr direction = tc_norm_direction(dag, (tc_expr[]){x, y}, 2, 0);
    assert_true(bound_of(arena, dag, direction, near, near).error <= 2);
    assert_true(bound_of(arena, dag, direction, away, near).error <= 6 * 0x1p-53);
    assert_true(isinf(bound_of(arena, dag, tc_norm_bend(dag, (tc_expr[]){x, y}, 2, 0, 1), near, near).error));
    assert_true(bound_of(arena, dag, tc_norm_bend(dag, (tc_expr[]){x, y}, 2, 0, 1), away, near).error <= 1e-20);
    assert_true(isinf(bound_of(arena, dag, norm, (tc_interval){0, 1e200}, box).error)); /* the square overflows */
    /* outside the domain, or beyond the largest double, nothing is promised */
    assert_true(isinf(bound_of(arena, dag, tc_log(dag, x), box, box).error));
    assert_true(isinf(bound_of(arena, dag, tc_div(dag, y, x), box, box).error));
    assert_true(isinf(bound_of(arena, dag, tc_exp(dag, x), (tc_interval){0, 1000}, box).error));
    assert_true(isinf(bound_of(arena, dag, tc_sqrt(dag, x), box, box).error));
    tc_arena_free(arena);
}

static void errors_of_inputs_are_carried_along(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    tc_dag *dag = tc_dag_new(arena, 1000);
    tc_expr f = tc_pow(dag, tc_sum(dag, 0), 2);
    tc_tape *tape = tc_tape_new(arena, dag, &f, 1);
    tc_rounded sum = tc_rounded_within((tc_interval){1, 3}, 0.125), result, *out = &result;
    tc_rounded *work = TC_NEW(arena, tc_rounded, tc_tape_work(tape));
    tc_tape_rounding(tape, &(tc_rounding_inputs){.sums = &sum}, 1, work, &out);
    assert_true(result.error >= 3.125 * 3.125 - 9 && result.error <= 0.125 * 6.125 + 1e-14);
    assert_true(result.computed.hi >= 3.125 * 3.125 && result.exact.hi == 9);
    tc_arena_free(arena);
}

int main(void) {
    (void)mpfr_set_emax(mpfr_get_emax_max());
    (void)mpfr_set_emin(mpfr_get_emin_min());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_points_are_within_the_proved_errors),
        cmocka_unit_test(simple_expressions_have_the_bounds_one_would_write_down),
        cmocka_unit_test(errors_of_inputs_are_carried_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
