#include "reference/reference.h"
#include "solver/problem.h"
#include "support/cmocka.h"

static const double TOLERANCE = 1e-8;

/* Solves, and compares with the least-norm solution worked out by hand. */
static void expect(const char *text, double accuracy, const double *x, const double *mu) {
    problem p = problem_of(text);
    const tc_reference *found = tc_reference_solve(p.arena, p.model, p.derivatives, TOLERANCE, 1, NULL);
    assert_int_equal(found->outcome, TC_SOLVED);
    assert_true(found->residual <= TOLERANCE);
    for (size_t i = 0; x != NULL && i < p.model->state_count; i++)
        if (!(fabs(found->x[i] - x[i]) <= accuracy))
            fail_msg("%s\nx[%zu] is %.12g, not %.12g", text, i, found->x[i], x[i]);
    for (size_t j = 0; mu != NULL && j < p.model->constraint_count; j++)
        if (!(fabs(found->mu[j] - mu[j]) <= accuracy))
            fail_msg("%s\nmu[%zu] is %.12g, not %.12g", text, j, found->mu[j], mu[j]);
    problem_free(&p);
}

static void a_face_of_optima_of_a_linear_program_gives_its_least_norm_point(void **state) {
    (void)state;
    expect("agents a[i in 1..3] { state x in [0, 10]; private minimize -x }\n"
           "constraint c: sum(a: x) <= 6\n",
           1e-7, (double[]){2, 2, 2}, (double[]){1});
    expect("agents a[i in 1..3] { state x in [0, 10]; private minimize -x }\n"
           "constraint c: a[1].x + 2 * a[2].x + 2 * a[3].x <= 6\n",
           1e-7, (double[]){6, 0, 0}, (double[]){1});
    expect("agent a { state x[4] in [0, 1]; private minimize -x[1] }\n", 1e-7, (double[]){1, 0, 0, 0}, NULL);
}

static void repeated_constraints_share_the_multiplier_by_least_norm(void **state) {
    (void)state;
    expect("agents a[i in 1..3] { state x in [0, 10]; private minimize -x }\n"
           "constraint c: sum(a: x) <= 6\n"
           "constraint d: 2 * sum(a: x) <= 12\n",
           1e-7, (double[]){2, 2, 2}, (double[]){0.2, 0.4});
    expect("agents a[i in 1..3] { state x in [0, 10]; private minimize (x - 3)^2 }\n"
           "constraint c[k in 1..4]: sum(a: x) <= 6\n",
           1e-7, (double[]){2, 2, 2}, (double[]){0.5, 0.5, 0.5, 0.5});
}

static void rows_of_very_different_size_share_it_too(void **state) {
    (void)state;
    double square = 1e6 + 1e-2;
    expect("agents a[i in 1..3] { state x in [0, 10]; private minimize -x }\n"
           "constraint c: 1000 * sum(a: x) <= 6000\n"
           "constraint d: 0.1 * sum(a: x) <= 0.6\n",
           1e-6, (double[]){2, 2, 2}, (double[]){1000 / square, 0.1 / square});
}

static void three_constraints_in_one_corner_give_the_least_norm_multipliers(void **state) {
    (void)state;
    expect("agent a { state x[2] in [-1, 1]; private minimize x[1] + x[2] }\n"
           "constraint c: a.x[1] >= 0\n"
           "constraint d: a.x[2] >= 0\n"
           "constraint e: a.x[1] + a.x[2] >= 0\n",
           1e-7, (double[]){0, 0}, (double[]){1.0 / 3, 1.0 / 3, 2.0 / 3});
}

static void a_curved_and_a_straight_constraint_that_touch_share_the_multiplier(void **state) {
    (void)state;
    expect("agents a[i in 1..2] { state x in [0, 10]; private minimize -x }\n"
           "constraint c: sum(a: x)^2 <= 4\n"
           "constraint d: sum(a: x) <= 2\n",
           1e-7, (double[]){1, 1}, (double[]){4.0 / 17, 1.0 / 17});
}

static void equalities_have_multipliers_of_either_sign(void **state) {
    (void)state;
    expect("agents a[i in 1..3] { state x in [0, 10]; private minimize x^2 }\n"
           "constraint c: sum(a: x) == 6\n",
           1e-8, (double[]){2, 2, 2}, (double[]){-4});
    expect("agents a[i in 1..3] { state x in [0, 10]; private minimize (x - 4)^2 }\n"
           "constraint c: sum(a: x) == 6\n",
           1e-8, (double[]){2, 2, 2}, (double[]){4});
    expect("agents a[i in 1..3] { state x in [0, 10]; private minimize (x - 4)^2 }\n"
           "constraint c: 6 == sum(a: x)\n", /* F - E has the other sign */
           1e-8, (double[]){2, 2, 2}, (double[]){-4});
    expect("agents a[i in 1..2] { state x in [0, 10]; private minimize (i - 3) * x }\n"
           "constraint d: a[1].x - a[2].x == 1\n"
           "constraint c: sum(a: x)^2 <= 16\n",
           1e-7, (double[]){2.5, 1.5}, (double[]){0.5, 3.0 / 16});
}

static void equalities_that_follow_from_others_share_the_multiplier_by_least_norm(void **state) {
    (void)state;
    expect("agents a[i in 1..3] { state x in [0, 10]; private minimize x^2 }\n"
           "constraint c: sum(a: x) == 6\n"
           "constraint d: -2 * sum(a: x) == -12\n",
           1e-8, (double[]){2, 2, 2}, (double[]){-0.8, 1.6});
    expect("agents a[i in 1..4] { state x in [0, 10]; private minimize (x - i)^2 }\n"
           "constraint one: a[1].x + a[2].x == 5\n"
           "constraint two: a[3].x + a[4].x == 5\n"
           "constraint all: sum(a: x) == 10\n", /* prices -2 and 2 of the halves, by one + all and two + all */
           1e-8, (double[]){2, 3, 2, 3}, (double[]){-2, 2, 0});
    expect("agents a[i in 1..3] { state x in [0, 10]; private minimize x }\n" /* many optima, and equal rows */
           "constraint c[k in 1..2]: sum(a: x) == 6\n",
           1e-7, (double[]){2, 2, 2}, (double[]){-0.5, -0.5});
}

static void flat_objectives_give_the_least_norm_point(void **state) {
    (void)state;
    expect("agent a { state x[3] in [-5, 10]; private minimize (x[1] + x[2] + x[3] - 3)^2 }\n", 1e-7,
           (double[]){1, 1, 1}, NULL);
    expect("agent a { state x[2] in [-5, 10]; private set x[1] <= 0.5; private minimize (x[1] + x[2] - 3)^2 }\n", 1e-7,
           (double[]){0.5, 2.5}, NULL);
    expect("agent a { state x[2] in [-5, 10]; private minimize 0 * x[1] }\n"
           "constraint c: a.x[1] + 2 * a.x[2] >= 5\n",
           1e-7, (double[]){1, 2}, (double[]){0});
    expect("agent a { state x[2] in [0.5, 10]; private minimize -log(x[1] + x[2]) }\n"
           "constraint c: a.x[1] + a.x[2] <= 4\n",
           1e-7, (double[]){2, 2}, (double[]){0.25});
    expect("agents a[i in 1..2] { state x in [-5, 10]; private minimize huber(x - 4, 1) }\n"
           "constraint c: sum(a: x) <= 5\n",
           1e-7, (double[]){2.5, 2.5}, (double[]){1});
}

static void sets_with_many_optima_give_the_least_norm_point(void **state) {
    (void)state;
    expect("agent a { state x[2] in [-5, 5]; private set norm1(x) <= 2; private minimize -x[1] - x[2] }\n", 1e-7,
           (double[]){1, 1}, NULL);
    expect("agent a { state x[3] in [-5, 5]; private set x in simplex(1); private minimize x[1] }\n", 1e-7,
           (double[]){0, 0.5, 0.5}, NULL);
    expect("agent a { state x[2] in [-9, 9]; private set norm(x - [3, 4]) <= 1; private minimize 0 * x[1] }\n", 1e-7,
           (double[]){2.4, 3.2}, NULL);
    expect("agent a { state x[2] in [-9, 9]; private set quadform(x - [4, 0], [[1, 0], [0, 4]]) <= 1\n"
           " private minimize 0 * x[1] }\n",
           1e-7, (double[]){3, 0}, NULL);
    expect("agent a { state x[2] in [-9, 9]; private set x[1] + x[2] == 3; private minimize 0 * x[1] }\n", 1e-7,
           (double[]){1.5, 1.5}, NULL);
}

/* x^p / p - w x is least at w^(1 / (p - 1)); under a common limit with multiplier mu, at (w - mu)^(1 / (p - 1)). */
static void members_with_exponents_of_their_own_have_the_solution_worked_out_by_hand(void **state) {
    (void)state;
    expect("agents a[i in 1..4] { state x in [0, 9]; private minimize x^(i + 1) / (i + 1) - 2 * x }\n", 1e-7,
           (double[]){2, pow(2, 1.0 / 2), pow(2, 1.0 / 3), pow(2, 1.0 / 4)}, NULL);
    expect("agents a[i in 1..4] { state x in [0.01, 9]; private maximize 2 * x - x^(1 + i / 2) / (1 + i / 2) }\n"
           "constraint c: sum(a: x) <= 4\n",
           1e-7, (double[]){1, 1, 1, 1}, (double[]){1});
}

static void idle_constraints_have_no_multiplier(void **state) {
    (void)state;
    expect("agents a[i in 1..3] { state x in [-10, 10]; private minimize (x - i)^2 }\n"
           "constraint c: sum(a: x) <= 100\n"
           "constraint d: sum(a: x^2) <= 14\n",
           1e-7, (double[]){1, 2, 3}, (double[]){0, 0});
}

/* The gradient is zero at the bound where the minimum lies: neither active nor idle. */
static void degenerate_bounds_keep_the_residual_small(void **state) {
    (void)state;
    expect("agents a[i in 1..50] { state x[2] in [0, 1]; private minimize sumsq(x) }\n"
           "constraint c: sum(a: x[1]) <= 0\n",
           1e-7, (double[100]){0}, (double[]){0});
}

static void objectives_without_curvature_at_the_optimum_reach_the_tolerance(void **state) {
    (void)state;
    expect("agent a { state x[2] in [-5, 10]; private minimize (x[1] - 1)^4 + x[2]^4 }\n"
           "constraint c: exp(a.x[1]) <= exp(2)\n",
           1e-3, (double[]){1, 0}, (double[]){0});
    expect("agents a[i in 1..4] { state x in [-5, 5]; private minimize (x - 3)^6 }\n"
           "constraint c: sum(a: exp(x)) <= 4 * exp(1)\n",
           1e-6, (double[]){1, 1, 1, 1}, (double[]){192 / exp(1)});
}

static void scaling_the_objective_scales_the_multipliers(void **state) {
    (void)state;
    for (double factor = 1e-4; factor < 1e5; factor *= 100) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "agents a[i in 1..3] { state x in [0, 10]; private minimize %g * (x - 3)^2 }\n"
                       "constraint c: sum(a: x) <= 6\n",
                       factor);
        expect(text, 1e-7 * fmax(1, factor), (double[]){2, 2, 2}, (double[]){2 * factor});
    }
}

static void a_problem_without_constraints_is_solved_agent_by_agent(void **state) {
    (void)state;
    expect("agents a[i in 1..4] { state x in [0, 2.5]; private minimize (x - i)^2 }\n", 1e-8,
           (double[]){1, 2, 2.5, 2.5}, NULL);
}

static void fixed_components_stay_fixed(void **state) {
    (void)state;
    expect("agents a[i in 1..2] { state x[2] in [[1, 0], [1, 5]]; private minimize (x[1] + x[2] - 4)^2 }\n"
           "constraint c: sum(a: x[1] + x[2]) <= 6\n",
           1e-7, (double[]){1, 1, 2, 2}, (double[]){2});
}

static tc_reference_outcome outcome_of(const char *text, double *violation) {
    problem p = problem_of(text);
    const tc_reference *found = tc_reference_solve(p.arena, p.model, p.derivatives, TOLERANCE, 1, NULL);
    tc_reference_outcome outcome = found->outcome;
    *violation = found->max_violation;
    problem_free(&p);
    return outcome;
}

static void contradictions_are_suspected(void **state) {
    (void)state;
    double violation;
    assert_int_equal(outcome_of("agent a { state x[2] in [-5, 10]; private minimize sumsq(x) }\n"
                                "constraint c: a.x[1] + a.x[2] <= -20\n",
                                &violation),
                     TC_INFEASIBLE_SUSPECTED);
    assert_true(fabs(violation - 10) < 1e-3);
    assert_int_equal(outcome_of("agents a[i in 1..9] { state x in [-5, 10]; private minimize x^2 }\n"
                                "constraint c: sum(a: x) <= -1\n"
                                "constraint d: sum(a: x) >= 1\n",
                                &violation),
                     TC_INFEASIBLE_SUSPECTED);
    assert_int_equal(
        outcome_of("agent a { state x[2] in [0, 10]; private set sum(x) <= -1; private minimize x[1] }\n", &violation),
        TC_INFEASIBLE_SUSPECTED);
    assert_int_equal(outcome_of("agent a { state x[2] in [-9, 9]; private set norm(x) <= 1\n"
                                " private set norm(x - [3, 0]) <= 1; private minimize x[1] }\n",
                                &violation),
                     TC_INFEASIBLE_SUSPECTED);
}

static void equalities_that_exclude_each_other_are_marked(void **state) {
    (void)state;
    problem p = problem_of("agents a[i in 1..4] { state x in [0, 1]; private minimize x^2 }\n"
                           "constraint idle: a[1].x <= 0.75\n"
                           "constraint one: a[1].x + a[2].x == 1\n"
                           "constraint two: a[3].x + a[4].x == 1\n"
                           "constraint all: sum(a: x) == 2.25\n");
    const tc_reference *found = tc_reference_solve(p.arena, p.model, p.derivatives, TOLERANCE, 1, NULL);
    assert_int_equal(found->outcome, TC_INFEASIBLE_SUSPECTED);
    assert_non_null(found->conflict);
    for (size_t j = 0; j < 4; j++)
        assert_int_equal(found->conflict[j], j > 0);
    problem_free(&p);
    p = problem_of("agents a[i in 1..4] { state x in [0, 1]; private minimize x^2 }\n"
                   "constraint fine: a[1].x == a[2].x\n"
                   "constraint much: sum(a: x) == 5\n");
    found = tc_reference_solve(p.arena, p.model, p.derivatives, TOLERANCE, 1, NULL);
    assert_int_equal(found->outcome, TC_INFEASIBLE_SUSPECTED);
    assert_true(!found->conflict[0] && found->conflict[1] && fabs(found->max_violation - 1) < 1e-3);
    problem_free(&p);
}

static int asked;
static bool stop_later(void *context) { return ++asked > *(int *)context; }

static void interruption_gives_the_best_point_so_far(void **state) {
    (void)state;
    for (int patience = 0; patience < 12; patience += 3) {
        problem p = problem_of("agents a[i in 1..30] { state x in [0, 10]; private minimize (x - i)^4 - log(x + 1) }\n"
                               "constraint c: sum(a: x) <= 100\n");
        tc_monitor monitor = {.interrupted = stop_later, .context = &patience};
        asked = 0;
        const tc_reference *found = tc_reference_solve(p.arena, p.model, p.derivatives, TOLERANCE, 1, &monitor);
        assert_int_equal(found->outcome, TC_SOLVE_INTERRUPTED);
        assert_true(isfinite(found->residual) && isfinite(found->objective));
        for (size_t i = 0; i < p.model->state_count; i++)
            assert_true(found->x[i] >= 0 && found->x[i] <= 10);
        problem_free(&p);
    }
}

static const char *const ROOMY = "agents a[i in 1..40] { state x[2] in [0, 10]; private set norm(x - [1, 2]) <= 3\n"
                                 " private set sum(x) >= 1; private minimize sumsq(x - [i, 1]) }\n"
                                 "constraint c: sum(a: x[1]) <= 50\n"
                                 "constraint d: sum(a: sumsq(x))^2 <= 1e6\n";

static void solve_roomy(tc_arena *arena, const char *text, bool *solved) {
    tc_model *model;
    tc_buffer messages = tc_buffer_new(arena, 1 << 12);
    tc_status status = tc_model_parse(arena, "test.tacit", text, strlen(text), NULL, &messages, &model);
    if (status != TC_OK)
        tc_raise(arena, status);
    *solved = tc_reference_solve(arena, model, tc_derive(arena, model), TOLERANCE, 2, NULL)->outcome == TC_SOLVED;
}

static tc_status solve_within(const char *text, size_t limit, bool *solved) {
    tc_arena *arena = tc_arena_new(limit);
    assert_non_null(arena);
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        solve_roomy(arena, text, solved);
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return status;
}

/* Every limit of memory below what is needed ends in the escape, whatever was being built. */
static void running_out_of_memory_escapes(void **state) {
    (void)state;
    bool solved = false;
    size_t escaped = 0;
    for (size_t limit = 40000; !solved; limit += 20011) {
        tc_status status = solve_within(ROOMY, limit, &solved);
        escaped += status == TC_TOO_LARGE;
        assert_true(solved || status == TC_TOO_LARGE);
    }
    assert_true(escaped > 5);
}

/* The threads end before the escape goes on. */
static void running_out_of_memory_escapes_from_threads(void **state) {
    (void)state;
    static const char *const text = "agents a[i in 1..1100] { state x in [0, 10]; private minimize (x - i / 1100)^2 }\n"
                                    "constraint c: sum(a: x) <= 300\n";
    bool solved = false;
    size_t escaped = 0;
    for (size_t limit = 100000; !solved; limit += 100003) {
        tc_status status = solve_within(text, limit, &solved);
        escaped += status == TC_TOO_LARGE;
        assert_true(solved || status == TC_TOO_LARGE);
    }
    assert_true(escaped > 2);
}

/* More agents than one part has, several parts in a family and families in a part. */
static const char *const LARGE[] = {
    "agents a[i in 1..2500] { state x[2] in [-10, 10]; private set norm(x - [i / 2500, 0.5]) <= 0.4\n"
    " private minimize sumsq(x - [4 * i / 2500, 1]) }\n"
    "constraint c: sum(a: sumsq(x)) <= 3000\n",
    "agents a[i in 1..1500] { state x in [0, 1]; private minimize (x - i / 1500)^2 }\n"
    "agents b[i in 1..700] { state y[2] in [0, 2]; private set sum(y) <= 3; private minimize -y[1] - i * y[2] / 700 }\n"
    "agents c[i in 1..1200] { state z in [-1, 1]; private minimize abs(z - i / 1200) + z^2 }\n"
    "constraint one: sum(a: x^2) + sum(b: y[1] + y[2]) <= 1200\n"
    "constraint two: sum(c: z)^2 + a[3].x + a[1100].x <= 500\n"
    "constraint same: sum(b: y[1]) == sum(a: x)\n",
    "agents a[i in 1..1300] { state x in [0, 10]; private minimize -x }\n"
    "constraint c: sum(a: x) <= 600\n"
    "constraint d: 2 * sum(a: x) <= 1200\n",
};

static void no_bit_depends_on_the_number_of_threads(void **state) {
    (void)state;
    static const size_t threads[] = {2, 3, 7, 0};
    for (size_t i = 0; i < sizeof LARGE / sizeof *LARGE; i++) {
        problem p = problem_of(LARGE[i]);
        const tc_reference *alone = tc_reference_solve(p.arena, p.model, p.derivatives, TOLERANCE, 1, NULL);
        assert_int_equal(alone->outcome, TC_SOLVED);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            const tc_reference *found =
                tc_reference_solve(p.arena, p.model, p.derivatives, TOLERANCE, threads[t], NULL);
            assert_int_equal(found->outcome, TC_SOLVED);
            assert_int_equal(found->iterations, alone->iterations);
            assert_memory_equal(found->x, alone->x, p.model->state_count * sizeof *found->x);
            assert_memory_equal(found->mu, alone->mu, p.model->constraint_count * sizeof *found->mu);
            assert_memory_equal(&found->residual, &alone->residual, sizeof found->residual);
            assert_memory_equal(&found->objective, &alone->objective, sizeof found->objective);
        }
        problem_free(&p);
    }
}

enum { BALLS = 2500 };

/* The first of LARGE: with a price m each agent goes to the point of its ball nearest to its wish over 1 + m. Returns
 * the sum of the squares. */
static long double balls_at(long double price, long double *x) {
    long double sum = 0;
    for (int i = 1; i <= BALLS; i++) {
        long double center[] = {(long double)((double)i / BALLS), 0.5L};
        long double move[] = {(long double)(4.0 * i / BALLS) / (1 + price) - center[0], 1 / (1 + price) - center[1]};
        long double length = sqrtl(move[0] * move[0] + move[1] * move[1]), most = (long double)0.4;
        long double part = length > most ? most / length : 1;
        for (int c = 0; c < 2; c++) {
            x[2 * (i - 1) + c] = center[c] + part * move[c];
            sum += x[2 * (i - 1) + c] * x[2 * (i - 1) + c];
        }
    }
    return sum;
}

static void many_balls_are_solved_to_the_last_digits(void **state) {
    (void)state;
    static long double x[2 * BALLS];
    long double low = 0, high = 10;
    for (int step = 0; step < 80; step++) {
        long double middle = (low + high) / 2;
        *(balls_at(middle, x) > 3000 ? &low : &high) = middle;
    }
    assert_true(low > 0.01L);
    (void)balls_at(low, x);
    problem p = problem_of(LARGE[0]);
    const tc_reference *found = tc_reference_solve(p.arena, p.model, p.derivatives, TOLERANCE, 2, NULL);
    assert_int_equal(found->outcome, TC_SOLVED);
    assert_true(fabs(found->mu[0] - (double)low) <= 1e-13);
    for (size_t k = 0; k < BALLS; k++)
        for (size_t c = 0; c < 2; c++)
            assert_true(fabs(found->x[tc_coord_of(p.model->families, k, c)] - (double)x[2 * k + c]) <= 1e-13);
    problem_free(&p);
}

/* Chance makes the residual of the first two much smaller than the rounding of their sums, and the next step cannot
 * repeat it. In the last one agents are alike, so that errors of rounding do not cancel. */
static void rounding_of_sums_over_many_agents_does_not_hold_up_the_solver(void **state) {
    (void)state;
    static const char *const texts[] = {
        "agents a[i in 1..1290] { state x[2] in [0, 1]; private minimize sumsq(x - [i / 1290, (i / 1290)^2]) }\n"
        "constraint c[j in 1..10]: sum(a: x[1]^2 + j * x[2]) <= (0.1 + 0.2 * j) * 1290\n",
        "agents a[i in 1..1230] { state x[2] in [-10, 10]; private set norm(x - [i / 1230, 0.5]) <= 1 + i / 1230\n"
        " private minimize sumsq(x - [4 * i / 1230, 1]) }\n"
        "constraint c: sum(a: sumsq(x)) <= 1.5 * 1230\n",
        "agents a[i in 1..3000] { state x[2] in [0, 1]; private minimize -x[1] - i / 3000 * x[2] }\n"
        "constraint c[j in 1..3]: sum(a: x[1] + j * x[2]) <= (0.1 + 0.3 * j) * 3000\n"
        "constraint e: sum(a: x[1]) == 700\n",
    };
    static const size_t most_iterations[] = {22, 18, 28};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        problem p = problem_of(texts[i]);
        const tc_reference *found = tc_reference_solve(p.arena, p.model, p.derivatives, TOLERANCE, 1, NULL);
        assert_int_equal(found->outcome, TC_SOLVED);
        assert_true(found->residual <= 1e-13);
        assert_true(found->iterations <= most_iterations[i]);
        problem_free(&p);
    }
}

static void the_certificate_sees_points_that_are_not_solutions(void **state) {
    (void)state;
    problem p = problem_of("agents a[i in 1..2] { state x in [0, 10]; private minimize (x - 3)^2 }\n"
                           "constraint c: sum(a: x) <= 4\n");
    tc_judge *judge = tc_judge_new(p.arena, p.model, p.derivatives);
    tc_certificate at = tc_judge_point(judge, (double[]){2, 2}, (double[]){2});
    assert_true(at.residual == 0 && at.objective == 2 && at.max_violation == 0);
    at = tc_judge_point(judge, (double[]){3, 3}, (double[]){0});
    assert_true(fabs(at.residual - 2) < 1e-15 && at.max_violation == 2 && at.residual_x == 0);
    at = tc_judge_point(judge, (double[]){2, 2}, (double[]){3});
    assert_true(fabs(at.residual - sqrt(2)) < 1e-15);
    problem_free(&p);
}

static void the_certificate_knows_equalities(void **state) {
    (void)state;
    problem p = problem_of("agents a[i in 1..2] { state x in [0, 10]; private minimize x^2 }\n"
                           "constraint c: sum(a: x) == 4\n");
    tc_judge *judge = tc_judge_new(p.arena, p.model, p.derivatives);
    tc_certificate at = tc_judge_point(judge, (double[]){2, 2}, (double[]){-4});
    assert_true(at.residual == 0 && at.max_violation == 0);
    at = tc_judge_point(judge, (double[]){2, 2}, (double[]){0});
    assert_true(at.residual > 1 && at.residual_mu == 0);
    at = tc_judge_point(judge, (double[]){1, 1}, (double[]){-2}); /* below counts as much as above */
    assert_true(at.residual_x == 0 && at.residual_mu == 2 && at.max_violation == 2);
    double mu[] = {-4};
    tc_judge_repair(judge, (double[]){2, 2}, mu);
    assert_true(mu[0] == -4);
    problem_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_face_of_optima_of_a_linear_program_gives_its_least_norm_point),
        cmocka_unit_test(repeated_constraints_share_the_multiplier_by_least_norm),
        cmocka_unit_test(rows_of_very_different_size_share_it_too),
        cmocka_unit_test(three_constraints_in_one_corner_give_the_least_norm_multipliers),
        cmocka_unit_test(a_curved_and_a_straight_constraint_that_touch_share_the_multiplier),
        cmocka_unit_test(equalities_have_multipliers_of_either_sign),
        cmocka_unit_test(equalities_that_follow_from_others_share_the_multiplier_by_least_norm),
        cmocka_unit_test(equalities_that_exclude_each_other_are_marked),
        cmocka_unit_test(flat_objectives_give_the_least_norm_point),
        cmocka_unit_test(sets_with_many_optima_give_the_least_norm_point),
        cmocka_unit_test(members_with_exponents_of_their_own_have_the_solution_worked_out_by_hand),
        cmocka_unit_test(idle_constraints_have_no_multiplier),
        cmocka_unit_test(degenerate_bounds_keep_the_residual_small),
        cmocka_unit_test(objectives_without_curvature_at_the_optimum_reach_the_tolerance),
        cmocka_unit_test(scaling_the_objective_scales_the_multipliers),
        cmocka_unit_test(a_problem_without_constraints_is_solved_agent_by_agent),
        cmocka_unit_test(fixed_components_stay_fixed),
        cmocka_unit_test(contradictions_are_suspected),
        cmocka_unit_test(interruption_gives_the_best_point_so_far),
        cmocka_unit_test(running_out_of_memory_escapes),
        cmocka_unit_test(running_out_of_memory_escapes_from_threads),
        cmocka_unit_test(no_bit_depends_on_the_number_of_threads),
        cmocka_unit_test(many_balls_are_solved_to_the_last_digits),
        cmocka_unit_test(rounding_of_sums_over_many_agents_does_not_hold_up_the_solver),
        cmocka_unit_test(the_certificate_sees_points_that_are_not_solutions),
        cmocka_unit_test(the_certificate_knows_equalities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
