/* Random expressions over random boxes: values, all first and second derivatives at random points and along random
 * directions must lie in the enclosures. Long double finds suspects among a million points; MPFR judges them. */
#include "calculus/derivatives.h"
#include "calculus/tape/tape.h"
#include "random_expression.h"
#include "support/cmocka.h"

#include <mpfr.h>

#include "exact_evaluate.h"

enum {
    PAIRS = STATES * (STATES + 1) / 2,
    ROOTS = 1 + STATES + PAIRS, /* f; df/dx_i at 1 + i; d2f/dx_i dx_j, j <= i, at 1 + STATES + i (i + 1) / 2 + j */
};

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
    tc_interval enclosures[ROOTS];
} problem;

static size_t pair(size_t i, size_t j) { return 1 + STATES + i * (i + 1) / 2 + j; }

static void differentiate(problem *p) {
    for (size_t i = 0; i < ROOTS; i++)
        p->roots[i] = i == 0 ? p->roots[0] : tc_const(p->dag, 0);
    tc_expr *leaves, *partials, *others, *seconds;
    size_t count =
        tc_gradient(p->arena, tc_differentiator_new(p->arena, p->dag), p->roots[0], TC_STATE, &leaves, &partials);
    for (size_t k = 0; k < count; k++) {
        size_t i = (size_t)p->dag->nodes[leaves[k]].u.index;
        p->roots[1 + i] = partials[k];
        size_t second =
            tc_gradient(p->arena, tc_differentiator_new(p->arena, p->dag), partials[k], TC_STATE, &others, &seconds);
        for (size_t m = 0; m < second; m++) {
            size_t j = (size_t)p->dag->nodes[others[m]].u.index;
            if (j <= i)
                p->roots[pair(i, j)] = seconds[m];
        }
    }
}

/* A problem of moderate size; its arena holds it. */
static problem *new_problem(uint64_t *seed, bool wild) {
    for (;;) {
        tc_arena *arena = tc_arena_new(0);
        assert_non_null(arena);
        problem *p = TC_NEW(arena, problem, 1);
        p->arena = arena;
        p->dag = tc_dag_new(arena, 1000000);
        p->roots[0] = random_expression(p->dag, seed, 2 + (unsigned)random_below(seed, 4), wild);
        if (p->dag->nodes[p->roots[0]].has_state) {
            differentiate(p);
            p->order = tc_reachable(arena, p->dag, p->roots, ROOTS, &p->order_count);
            if (p->order_count < 600) {
                p->tape = tc_tape_new(arena, p->dag, p->roots, ROOTS);
                exact_init(&p->truth, arena, p->dag);
                for (size_t i = 0; i < STATES; i++)
                    mpfr_init2(p->point[i], 64);
                for (size_t i = 0; i < COLUMNS; i++)
                    p->data[i] = uniform(seed, -2, 2);
                return p;
            }
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

static void enclose(problem *p, const tc_interval *box, tc_interval *enclosures) {
    const tc_interval *state[STATES], *data[COLUMNS];
    tc_interval columns[COLUMNS], *out[ROOTS];
    for (size_t i = 0; i < STATES; i++)
        state[i] = &box[i];
    for (size_t i = 0; i < COLUMNS; i++) {
        columns[i] = tc_point(p->data[i]);
        data[i] = &columns[i];
    }
    for (size_t i = 0; i < ROOTS; i++)
        out[i] = &enclosures[i];
    tc_mark mark = tc_arena_mark(p->arena);
    tc_interval *work = TC_NEW(p->arena, tc_interval, tc_tape_work(p->tape));
    tc_tape_enclose(p->tape, &(tc_interval_inputs){.state = state, .data = data}, 1, work, out);
    tc_arena_rewind(p->arena, mark);
    for (size_t i = 0; i < ROOTS; i++)
        assert_true(enclosures[i].lo <= enclosures[i].hi);
}

enum { WIDE, UNIT, AROUND_ZERO, POSITIVE, TINY, POINT, HUGE_BOX, MIXED, BOX_KINDS };

static tc_interval random_side(uint64_t *seed, int kind) {
    double c = uniform(seed, -2, 2);
    switch (kind) {
    case WIDE:
        return (tc_interval){c - uniform(seed, 0, 4), c + uniform(seed, 0, 4)};
    case UNIT:
        return (tc_interval){0, 1};
    case AROUND_ZERO:
        return (tc_interval){-uniform(seed, 0, 0.1), uniform(seed, 0, 0.1)};
    case POSITIVE:
        return (tc_interval){uniform(seed, 0.1, 1), uniform(seed, 1, 3)};
    case TINY:
        return (tc_interval){c, c + fabs(c) * 0x1p-50 * uniform(seed, 0, 4)};
    case POINT:
        return tc_point(random_below(seed, 2) ? c : floor(c));
    case HUGE_BOX:
        return (tc_interval){-uniform(seed, 0, 1e5), uniform(seed, 0, 1e5)};
    default:
        return random_side(seed, (int)random_below(seed, MIXED));
    }
}

static void choose_box(problem *p, uint64_t *seed, int kind) {
    for (size_t i = 0; i < STATES; i++)
        p->box[i] = random_side(seed, kind);
    enclose(p, p->box, p->enclosures);
}

static double point_in(tc_interval a, uint64_t *seed) {
    uint64_t kind = random_below(seed, 8);
    double x = a.lo + (a.hi - a.lo) * uniform(seed, 0, 1);
    return kind == 0 ? a.lo : kind == 1 ? a.hi : fmin(fmax(x, a.lo), a.hi);
}

/* ---- the judge -------------------------------------------------------------------------------------------------- */

static void evaluate_exactly(problem *p, const double *x, mpfr_prec_t bits) {
    for (size_t i = 0; i < STATES; i++) {
        mpfr_set_prec(p->point[i], 64);
        (void)mpfr_set_d(p->point[i], x[i], MPFR_RNDN);
    }
    exact_run(&p->truth, p->dag, p->order, p->order_count, p->point, p->data, bits);
}

/* Where some intermediate value is so large that even these bits may have cancelled, MPFR cannot judge. */
static bool cannot_tell(const problem *p, mpfr_prec_t bits) {
    for (size_t i = 0; i < p->order_count; i++) {
        mpfr_srcptr value = p->truth.values[p->order[i]];
        if (mpfr_regular_p(value) && mpfr_get_exp(value) > bits / 4)
            return true;
    }
    return false;
}

/* Whether the value, whose own rounding errors are far below slack relative to 1 + |value|, lies in the interval. */
static bool lies_in(mpfr_srcptr value, tc_interval interval, long slack_bits) {
    if (!mpfr_number_p(value))
        return true; /* not defined there */
    mpfr_t slack, end;
    mpfr_init2(slack, 128);
    mpfr_init2(end, mpfr_get_prec(value) + 64);
    (void)mpfr_abs(slack, value, MPFR_RNDU);
    (void)mpfr_add_ui(slack, slack, 1, MPFR_RNDU);
    (void)mpfr_mul_2si(slack, slack, -slack_bits, MPFR_RNDU);
    (void)mpfr_add(end, value, slack, MPFR_RNDU);
    bool inside = mpfr_cmp_d(end, interval.lo) >= 0;
    (void)mpfr_sub(end, value, slack, MPFR_RNDD);
    inside = inside && mpfr_cmp_d(end, interval.hi) <= 0;
    mpfr_clears(slack, end, (mpfr_ptr)0);
    return inside;
}

/* Judges all roots at a point: 300 bits first, and where that finds a fault, bits enough for any cancellation. */
static void judge_point(problem *p, const double *x) {
    static const mpfr_prec_t precisions[] = {300, 6000};
    size_t wrong = ROOTS;
    for (size_t attempt = 0; attempt < 2; attempt++) {
        evaluate_exactly(p, x, precisions[attempt]);
        wrong = ROOTS;
        for (size_t i = 0; i < ROOTS; i++) {
            if (!lies_in(p->truth.values[p->roots[i]], p->enclosures[i], (long)precisions[attempt] * 2 / 3))
                wrong = i;
        }
        if (wrong == ROOTS)
            return;
    }
    if (cannot_tell(p, precisions[1]))
        return;
    print_error("root %zu at %a %a %a: %a is not in [%a, %a]\n", wrong, x[0], x[1], x[2],
                mpfr_get_d(p->truth.values[p->roots[wrong]], MPFR_RNDN), p->enclosures[wrong].lo,
                p->enclosures[wrong].hi);
    show_expression(p->dag, p->roots[0]);
    fail();
}

static void exact_value(problem *p, const double *x, mpfr_t out) {
    evaluate_exactly(p, x, mpfr_get_prec(out));
    (void)mpfr_set(out, p->truth.values[p->roots[0]], MPFR_RNDN);
}

/* f(y) - f(x), less f'(x)(y - x) where curved, against its bound; true where MPFR cannot tell. */
static bool direction_is_right(problem *p, const double *x, const double *y, bool curved, tc_interval bound,
                               mpfr_prec_t bits) {
    mpfr_t total, term, step;
    mpfr_inits2(bits, total, term, step, (mpfr_ptr)0);
    exact_value(p, y, total);
    bool hopeless = cannot_tell(p, 6000);
    evaluate_exactly(p, x, bits);
    hopeless = hopeless || cannot_tell(p, 6000);
    (void)mpfr_sub(total, total, p->truth.values[p->roots[0]], MPFR_RNDN);
    for (size_t i = 0; i < STATES && curved; i++) {
        (void)mpfr_set_d(step, y[i], MPFR_RNDN);
        (void)mpfr_sub_d(step, step, x[i], MPFR_RNDN);
        (void)mpfr_mul(term, p->truth.values[p->roots[1 + i]], step, MPFR_RNDN);
        (void)mpfr_sub(total, total, term, MPFR_RNDN);
    }
    bool right = hopeless || lies_in(total, bound, (long)bits / 2);
    mpfr_clears(total, term, step, (mpfr_ptr)0);
    return right;
}

/* By Taylor's theorem f(y) - f(x) lies in the sum of G_i (y_i - x_i), which uses no derivative at a point, and
 * f(y) - f(x) - f'(x)(y - x) in (y - x)' H (y - x) / 2. */
static void judge_direction(problem *p, const double *x, const double *y, bool curved, tc_interval bound) {
    if (direction_is_right(p, x, y, curved, bound, 500) || direction_is_right(p, x, y, curved, bound, 6000))
        return;
    print_error("%s from %a %a %a to %a %a %a is not in [%a, %a]\n", curved ? "curvature" : "slope", x[0], x[1], x[2],
                y[0], y[1], y[2], bound.lo, bound.hi);
    show_expression(p->dag, p->roots[0]);
    fail();
}

/* ---- a million points ------------------------------------------------------------------------------------------- */

typedef struct block { /* TC_LANES points and the long double values of all roots there */
    double points[STATES][TC_LANES];
    long double state[STATES][TC_LANES];
    double data[COLUMNS][TC_LANES];
    long double values[ROOTS][TC_LANES];
} block;

static void fill_block(problem *p, block *b, long double *work, uint64_t *seed) {
    const long double *state[STATES];
    const double *data[COLUMNS];
    long double *out[ROOTS];
    for (size_t lane = 0; lane < TC_LANES; lane++) {
        for (size_t i = 0; i < STATES; i++) {
            b->points[i][lane] = point_in(p->box[i], seed);
            b->state[i][lane] = (long double)b->points[i][lane];
        }
        for (size_t i = 0; i < COLUMNS; i++)
            b->data[i][lane] = p->data[i];
    }
    for (size_t i = 0; i < STATES; i++)
        state[i] = b->state[i];
    for (size_t i = 0; i < COLUMNS; i++)
        data[i] = b->data[i];
    for (size_t i = 0; i < ROOTS; i++)
        out[i] = b->values[i];
    tc_tape_eval_long(p->tape, &(tc_long_inputs){.state = state, .data = data}, TC_LANES, work, out);
}

static bool suspect(long double value, tc_interval interval) {
    return !(value >= (long double)interval.lo && value <= (long double)interval.hi) && isfinite(value);
}

static void check_directions(problem *p, const block *b, size_t lane, size_t *judged) {
    double x[STATES], y[STATES];
    tc_interval steps[STATES], slope = tc_point(0), curvature = tc_point(0);
    long double rise = b->values[0][(lane + 1) % TC_LANES] - b->values[0][lane], bend = rise;
    for (size_t i = 0; i < STATES; i++) {
        x[i] = b->points[i][lane];
        y[i] = b->points[i][(lane + 1) % TC_LANES];
        steps[i] = tc_isub(tc_point(y[i]), tc_point(x[i]));
        slope = tc_iadd(slope, tc_imul(p->enclosures[1 + i], steps[i]));
        bend -= b->values[1 + i][lane] * ((long double)y[i] - (long double)x[i]);
        for (size_t j = 0; j <= i; j++) {
            tc_interval square = i == j ? tc_imul(tc_point(0.5), tc_isquare(steps[i])) : tc_imul(steps[i], steps[j]);
            curvature = tc_iadd(curvature, tc_imul(p->enclosures[pair(i, j)], square));
        }
    }
    /* the theorems need a function that is differentiable all along: finite bounds say so */
    if (tc_is_finite(slope) && suspect(rise, slope) && ++*judged)
        judge_direction(p, x, y, false, slope);
    if (tc_is_finite(slope) && tc_is_finite(curvature) && suspect(bend, curvature) && ++*judged)
        judge_direction(p, x, y, true, curvature);
}

static void check_block(problem *p, const block *b, size_t *judged) {
    for (size_t lane = 0; lane < TC_LANES; lane++) {
        bool doubtful = false;
        for (size_t i = 0; i < ROOTS; i++)
            doubtful = doubtful || suspect(b->values[i][lane], p->enclosures[i]);
        double x[STATES] = {b->points[0][lane], b->points[1][lane], b->points[2][lane]};
        if (doubtful && ++*judged)
            judge_point(p, x);
        check_directions(p, b, lane, judged);
    }
}

static void a_million_points_and_directions_agree_with_the_enclosures(void **state) {
    (void)state;
    enum { EXPRESSIONS = CASES(1200), BLOCKS = 3 };
    static const int kinds[] = {WIDE, UNIT, AROUND_ZERO, POSITIVE, HUGE_BOX};
    uint64_t seed = 20;
    size_t points = 0, judged = 0, finite = 0;
    for (size_t e = 0; e < EXPRESSIONS; e++) {
        AT_CASE(e);
        problem *p = new_problem(&seed, e % 4 == 3);
        long double *work = TC_NEW(p->arena, long double, tc_tape_work(p->tape));
        block *b = TC_NEW(p->arena, block, 1);
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            choose_box(p, &seed, kinds[k]);
            for (size_t i = 0; i < ROOTS; i++)
                finite += tc_is_finite(p->enclosures[i]);
            for (size_t n = 0; n < BLOCKS; n++, points += TC_LANES) {
                fill_block(p, b, work, &seed);
                check_block(p, b, &judged);
            }
        }
        end_problem(p);
    }
    print_message("%zu points, %zu judged in MPFR, %.0f %% of the enclosures finite\n", points, judged,
                  100.0 * (double)finite / (EXPRESSIONS * ROOTS * 5.0));
}

static void thin_boxes_hold_the_truth_to_the_last_bit(void **state) {
    (void)state;
    uint64_t seed = 21;
    for (size_t e = 0; e < CASES(1500); e++) {
        problem *p = new_problem(&seed, e % 4 == 3);
        for (int kind = 0; kind < BOX_KINDS; kind++) {
            choose_box(p, &seed, kind);
            double x[STATES];
            for (size_t i = 0; i < STATES; i++)
                x[i] = point_in(p->box[i], &seed);
            judge_point(p, x);
        }
        end_problem(p);
    }
}

/* ---- derivatives ------------------------------------------------------------------------------------------------ */

/* (f(x + h e_j) - f(x - h e_j)) / 2h of any root, with h = 2^-150. */
static void central_difference(problem *p, const double *x, size_t root, size_t j, mpfr_t out) {
    enum { STEP = 150 };
    mpfr_prec_t bits = mpfr_get_prec(out);
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < STATES; i++) {
            mpfr_set_prec(p->point[i], bits);
            (void)mpfr_set_d(p->point[i], i == j ? 1 - 2 * side : 0, MPFR_RNDN);
            (void)mpfr_mul_2si(p->point[i], p->point[i], -STEP, MPFR_RNDN);
            (void)mpfr_add_d(p->point[i], p->point[i], x[i], MPFR_RNDN);
        }
        exact_run(&p->truth, p->dag, p->order, p->order_count, p->point, p->data, bits);
        mpfr_srcptr value = p->truth.values[p->roots[root]];
        if (side == 0)
            (void)mpfr_set(out, value, MPFR_RNDN);
        else
            (void)mpfr_sub(out, out, value, MPFR_RNDN);
    }
    (void)mpfr_mul_2si(out, out, STEP - 1, MPFR_RNDN);
}

static bool derivative_agrees(problem *p, const double *x, size_t root, size_t j, size_t derivative, mpfr_prec_t bits) {
    mpfr_t found, scale;
    mpfr_inits2(bits, found, scale, (mpfr_ptr)0);
    central_difference(p, x, root, j, found);
    evaluate_exactly(p, x, bits);
    mpfr_srcptr claimed = p->truth.values[p->roots[derivative]];
    (void)mpfr_abs(scale, claimed, MPFR_RNDN);
    (void)mpfr_add_ui(scale, scale, 1, MPFR_RNDN);
    (void)mpfr_mul_2si(scale, scale, -120, MPFR_RNDN);
    bool defined = mpfr_number_p(found) && mpfr_number_p(claimed);
    (void)mpfr_sub(found, found, claimed, MPFR_RNDN);
    bool agrees = !defined || mpfr_cmpabs(found, scale) <= 0;
    mpfr_clears(found, scale, (mpfr_ptr)0);
    return agrees;
}

static void compare_derivative(problem *p, const double *x, size_t root, size_t j, size_t derivative) {
    /* constants such as exp(2500) hide everything else from 900 bits */
    if (derivative_agrees(p, x, root, j, derivative, 900) || derivative_agrees(p, x, root, j, derivative, 20000) ||
        cannot_tell(p, 20000))
        return;
    print_error("root %zu by x%zu at %a %a %a\n", root, j, x[0], x[1], x[2]);
    show_expression(p->dag, p->roots[0]);
    fail();
}

static void derivatives_are_the_limits_of_difference_quotients(void **state) {
    (void)state;
    uint64_t seed = 22;
    for (size_t e = 0; e < CASES(1200); e++) {
        AT_CASE(e);
        problem *p = new_problem(&seed, e % 8 == 7);
        double x[STATES];
        for (size_t i = 0; i < STATES; i++)
            x[i] = uniform(&seed, 0.2, 1.5); /* inside most domains */
        for (size_t i = 0; i < STATES; i++) {
            compare_derivative(p, x, 0, i, 1 + i);
            for (size_t j = 0; j <= i; j++)
                compare_derivative(p, x, 1 + i, j, pair(i, j));
        }
        end_problem(p);
    }
}

/* ---- consistency ------------------------------------------------------------------------------------------------ */

/* Second derivatives of norms and of log-sum-exp are bounded case by case; a smaller box may fall under a coarser case
 * and get a wider enclosure. It holds the truth (the tests above), but is not nested. */
static bool is_bounded_case_by_case(const problem *p) {
    for (size_t i = 0; i < p->order_count; i++) {
        tc_op op = (tc_op)p->dag->nodes[p->order[i]].op;
        if (op == TC_BEND || op == TC_PAIR || op == TC_HUMP)
            return true;
    }
    return false;
}

static void the_enclosure_over_a_part_of_a_box_lies_in_that_over_the_box(void **state) {
    (void)state;
    uint64_t seed = 23;
    size_t judged = 0;
    for (size_t e = 0; e < CASES(3000); e++) {
        AT_CASE(e);
        problem *p = new_problem(&seed, e % 4 == 3);
        if (is_bounded_case_by_case(p)) {
            end_problem(p);
            continue;
        }
        judged++;
        choose_box(p, &seed, (int)(e % BOX_KINDS));
        for (size_t n = 0; n < 4; n++) {
            tc_interval part[STATES], enclosures[ROOTS];
            for (size_t i = 0; i < STATES; i++) {
                double a = point_in(p->box[i], &seed), b = point_in(p->box[i], &seed);
                part[i] = (tc_interval){fmin(a, b), fmax(a, b)};
            }
            enclose(p, part, enclosures);
            for (size_t i = 0; i < ROOTS; i++) {
                /* elementary functions are not monotone in the last place, and cancellations magnify that */
                double slack = 1e-6 * (1 + fmin(tc_magnitude(p->enclosures[i]), 1e300));
                if (!tc_is_finite(p->enclosures[i]))
                    continue;
                assert_true(enclosures[i].lo >= p->enclosures[i].lo - slack);
                assert_true(enclosures[i].hi <= p->enclosures[i].hi + slack);
            }
        }
        end_problem(p);
    }
    assert_true(judged > CASES(1000));
}

static void nodes_and_tapes_are_enclosed_alike(void **state) {
    (void)state;
    uint64_t seed = 24;
    for (size_t e = 0; e < CASES(2000); e++) {
        AT_CASE(e);
        problem *p = new_problem(&seed, e % 4 == 3);
        choose_box(p, &seed, (int)(e % BOX_KINDS));
        tc_interval columns[COLUMNS] = {tc_point(p->data[0]), tc_point(p->data[1])};
        const tc_interval *rows[STATES] = {&p->box[0], &p->box[1], &p->box[2]};
        const tc_interval *data[COLUMNS] = {&columns[0], &columns[1]};
        tc_interval *nodes = TC_NEW(p->arena, tc_interval, p->dag->count);
        tc_enclose_nodes(p->dag, p->order, p->order_count, &(tc_interval_inputs){.state = rows, .data = data}, nodes);
        for (size_t i = 0; i < ROOTS; i++) {
            assert_true(nodes[p->roots[i]].lo == p->enclosures[i].lo);
            assert_true(nodes[p->roots[i]].hi == p->enclosures[i].hi);
        }
        end_problem(p);
    }
}

int main(void) {
    (void)mpfr_set_emin(mpfr_get_emin_min());
    (void)mpfr_set_emax(mpfr_get_emax_max());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_points_and_directions_agree_with_the_enclosures),
        cmocka_unit_test(thin_boxes_hold_the_truth_to_the_last_bit),
        cmocka_unit_test(derivatives_are_the_limits_of_difference_quotients),
        cmocka_unit_test(the_enclosure_over_a_part_of_a_box_lies_in_that_over_the_box),
        cmocka_unit_test(nodes_and_tapes_are_enclosed_alike),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mpfr_free_cache();
    return failed;
}
