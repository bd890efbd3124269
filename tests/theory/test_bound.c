/* What Theorem 3 promises: conditions by their definitions, constants by hand, how the bound moves with what it depends
 * on, and the promise kept by the engine where it is not vacuous. */
/* labels: not-asan not-clang */
#include "theory/bound.h"
#include "engine/runs.h"

typedef struct bounded {
    planned problem;
    tc_plan *plan;
    tc_bound *bound;
} bounded;

static void measure(bounded *b, double radius) {
    tc_bound_wishes wishes = {.within = NAN};
    tc_escape escape;
    if (TC_TRY(b->problem.arena, &escape) != TC_OK)
        fail_msg("raised");
    b->bound = tc_bound_make(b->problem.arena, b->problem.model, b->problem.derivatives, b->problem.analysis, b->plan,
                             radius, &wishes, NULL);
    tc_escape_end(b->problem.arena, &escape);
}

static bounded bound_of(const char *text, const tc_plan_options *options, double radius) {
    bounded b = {.problem = planned_problem("bound.tacit", text)};
    b.plan = planned_plan(&b.problem, options);
    if (b.plan->problem != NULL)
        fail_msg("no plan: %s", b.plan->problem);
    measure(&b, radius);
    return b;
}

static tc_plan_options laplace(tc_placement placement, double epsilon, double rounds) {
    tc_plan_options options = planned_options();
    options.mechanism = TC_MECHANISM_LAPLACE;
    options.placement = placement;
    options.adjacency = TC_ADJACENCY_ONE;
    options.adjacency_bound = 1;
    options.epsilon = epsilon;
    options.rounds = rounds;
    options.seeded = true;
    return options;
}

static tc_plan_options silent(double rounds) {
    tc_plan_options options = laplace(TC_PLACEMENT_OUTPUTS, 1, rounds);
    options.mechanism = TC_MECHANISM_NONE;
    return options;
}

/* ---- conditions ---- */

static double alpha_at(const tc_schedule *s, double k) { return s->regularization * pow(k, -s->regularization_decay); }
static double gamma_at(const tc_schedule *s, double k) { return s->step * pow(k, -s->step_decay); }

/* A sum of falling terms diverges if and only if its sums over k .. 2k - 1 do not shrink geometrically. */
static bool seems_to_diverge(const tc_schedule *s, bool noise) {
    double sums[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        size_t from = i == 0 ? 4096 : 8192;
        for (size_t k = from; k < 2 * from; k++)
            sums[i] += gamma_at(s, (double)k) * (noise ? gamma_at(s, (double)k) : alpha_at(s, (double)k));
    }
    return sums[1] > 0.99 * sums[0];
}

static bool seems_to_vanish(double early, double late) { return late == 0 || late < 0.99 * early; }

static double drift_ratio(const tc_schedule *s, double k) {
    double difference = -alpha_at(s, k) * expm1(-s->regularization_decay * log1p(-1 / k));
    return fabs(difference) / (gamma_at(s, k) * alpha_at(s, k) * alpha_at(s, k));
}

static void test_conditions_hold_where_their_definitions_do(void **state) {
    (void)state;
    for (int i = 0; i <= 24; i++)
        for (int j = 0; j <= 24; j++) {
            tc_schedule s = {
                .step = 0.3, .regularization = 0.7, .regularization_decay = i / 20.0, .step_decay = j / 20.0};
            tc_bound_condition c[TC_BOUND_CONDITIONS];
            bool all = tc_bound_conditions(&s, c);
            bool ratio = seems_to_vanish(gamma_at(&s, 1e3) / alpha_at(&s, 1e3), gamma_at(&s, 1e9) / alpha_at(&s, 1e9));
            bool drift = seems_to_vanish(drift_ratio(&s, 1e3), drift_ratio(&s, 1e9));
            assert_int_equal(c[0].holds, seems_to_diverge(&s, false));
            assert_int_equal(c[1].holds, ratio);
            assert_int_equal(c[2].holds, seems_to_vanish(alpha_at(&s, 1e3), alpha_at(&s, 1e9)));
            assert_int_equal(c[3].holds, drift);
            assert_int_equal(all, i > 0 && i < j && i + j < 20);
            assert_int_equal(tc_bound_summable(&s), !seems_to_diverge(&s, true) && drift);
        }
}

/* ---- constants ---- */

static void about(double value, double expected) {
    if (!(value >= expected * (1 - 1e-12) && value <= expected * (1 + 1e-9)))
        fail_msg("%.17g is not %.17g", value, expected);
}

#define SCHEDULE "schedule { alpha 0.5 k^-0.1; gamma 0.5 k^-0.6; rounds 100 }\n"

static void test_constants_of_quadratics_are_exact(void **state) {
    (void)state;
    tc_plan_options none = silent(100);
    /* f'' = 6, g = 2 x - 1 */
    bounded b = bound_of("agent a { state x in [-1, 3]; private minimize 3*x^2 }\nconstraint c: 2*a.x <= 1\n" SCHEDULE,
                         &none, 5);
    about(b.bound->constants.lipschitz, 3 + sqrt(9 + 4));
    about(b.bound->constants.curvature, 6);
    about(b.bound->constants.slope, 2);
    about(b.bound->constants.reach, sqrt(9 + 25));
    about(b.bound->constants.diameter, sqrt(16 + 25));
    assert_true(b.bound->constants.noise == 0);
    planned_end(&b.problem);
    /* the Hessian of L is 2 + 2 mu, the slope of g is 2 x, both largest at (3, 5): exact */
    b = bound_of("agent a { state x in [-1, 3]; private minimize x^2 }\nconstraint c: a.x^2 <= 1\n" SCHEDULE, &none, 5);
    about(b.bound->constants.curvature, 12);
    about(b.bound->constants.slope, 6);
    about(b.bound->constants.lipschitz, 6 + sqrt(36 + 36));
    planned_end(&b.problem);
    /* a private set is smaller than the public box */
    b = bound_of("agent a { state x in [-9, 9]; private set x >= -1; private set x <= 3; private minimize x^2 }\n"
                 "constraint c: a.x <= 1\nconstraint d: -a.x <= 1\n" SCHEDULE,
                 &none, 5);
    about(b.bound->constants.diameter, sqrt(16 + 50));
    about(b.bound->constants.reach, sqrt(9 + 25));
    planned_end(&b.problem);
    /* a multiplier of either sign: from -5 to 5 */
    b = bound_of("agents a[i in 1..2] { state x in [-1, 1]; private minimize x^2 }\n"
                 "constraint c: a[1].x - a[2].x == 1\nconstraint d: a[1].x <= 0.75\n" SCHEDULE,
                 &none, 5);
    about(b.bound->constants.diameter, sqrt(8 + 100));
    about(b.bound->constants.reach, sqrt(2 + 25));
    about(b.bound->constants.curvature, 2);
    planned_end(&b.problem);
}

static void test_hessians_of_sums_are_exact_or_near(void **state) {
    (void)state;
    tc_plan_options none = silent(100);
    /* bodies: each member's block of sum x^2 + 3 y^2 has the norm 6 */
    bounded b = bound_of("agents a[i in 1..10] { state x[2] in [-1, 1]; private minimize x[1] + x[2] }\n"
                         "constraint c: sum(a: x[1]^2 + 3*x[2]^2) <= 4\n" SCHEDULE,
                         &none, 2);
    about(b.bound->constants.constraint_curvature, 6);
    planned_end(&b.problem);
    /* an outer square: the Hessian of (sum x)^2 is 2 times the matrix of ones, of norm 2 N */
    b = bound_of("agents a[i in 1..10] { state x in [-1, 1]; private minimize x }\n"
                 "constraint c: sum(a: x)^2 <= 4\n" SCHEDULE,
                 &none, 2);
    about(b.bound->constants.constraint_curvature, 20);
    planned_end(&b.problem);
}

static void test_what_the_theorem_does_not_cover_is_said(void **state) {
    (void)state;
    tc_plan_options options = laplace(TC_PLACEMENT_OUTPUTS, 1, 100);
    bounded b = bound_of("agent a { state x in [-1, 1]; private minimize x^2 }\nconstraint c: exp(a.x) <= 2\n" SCHEDULE,
                         &options, 5);
    assert_null(b.bound->constants.problem);
    planned_end(&b.problem);
    b = bound_of("agent a { state x in [-1, 1]; private minimize -x^2 }\nconstraint c: a.x <= 2\n" SCHEDULE, &options,
                 5);
    assert_non_null(strstr(b.bound->constants.problem, "objectives"));
    planned_end(&b.problem);
}

/* ---- how the bound moves ---- */

static const tc_bound_setting usual = {
    .constants = {.dual_radius = 1,
                  .curvature = 2,
                  .slope = 1,
                  .lipschitz = 2.4142135623730954,
                  .reach = 1.5,
                  .diameter = 2.3,
                  .noise = 0.01},
    .schedule = {.step = 0.5, .step_decay = 0.6, .regularization = 0.5, .regularization_decay = 0.1}};

static const tc_bound_effort some_effort = {2048, 1 + 0x1p-7};

static double error_of(tc_bound_setting s, double rounds) { return tc_bound_error(&s, rounds, some_effort); }

static void test_the_bound_grows_with_every_constant(void **state) {
    (void)state;
    for (int form = 0; form < 2; form++)
        for (double rounds = 10; rounds <= 1e12; rounds *= 31) {
            tc_bound_setting s = usual;
            s.form = form == 0 ? TC_BOUND_TIGHT : TC_BOUND_PUBLISHED;
            double before = error_of(s, rounds);
            double *const constants[] = {&s.constants.noise, &s.constants.reach, &s.constants.lipschitz,
                                         &s.constants.slope, &s.constants.curvature};
            for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
                double was = *constants[i];
                *constants[i] = 1.5 * was;
                assert_true(error_of(s, rounds) >= before);
                *constants[i] = was;
            }
        }
}

static void test_the_bound_goes_to_zero_and_is_never_above_the_trivial_one(void **state) {
    (void)state;
    for (int form = 0; form < 2; form++) {
        tc_bound_setting s = usual;
        s.form = form == 0 ? TC_BOUND_TIGHT : TC_BOUND_PUBLISHED;
        double trivial = s.constants.diameter * s.constants.diameter;
        for (double rounds = 1; rounds < 1e4; rounds = ceil(rounds * 1.5))
            assert_true(error_of(s, rounds) <= trivial * (1 + 1e-12));
        double last = trivial;
        for (double rounds = 1e4; rounds < 1e14; rounds *= 10) {
            double now = error_of(s, rounds);
            assert_true(now < last);
            last = now;
        }
        assert_true(last < 1e-4);
        double from = tc_bound_informative_from(&s, TC_BOUND_WORTH, some_effort);
        assert_true(error_of(s, from) <= TC_BOUND_WORTH * trivial);
        assert_true(error_of(s, from - 1) > TC_BOUND_WORTH * trivial);
        assert_true(from >= tc_bound_valid_from(&s));
    }
}

static void test_coarser_blocks_give_larger_bounds(void **state) {
    (void)state;
    static const tc_bound_effort efforts[] = {{1 << 17, 1.001}, {1 << 12, 1 + 0x1p-8}, {64, 1 + 0x1p-5}, {4, 1.5}};
    for (int form = 0; form < 2; form++) {
        tc_bound_setting s = usual;
        s.form = form == 0 ? TC_BOUND_TIGHT : TC_BOUND_PUBLISHED;
        double last = 0;
        for (size_t i = 0; i < sizeof efforts / sizeof *efforts; i++) {
            double now = tc_bound_error(&s, 100000, efforts[i]);
            assert_true(now >= last);
            last = now;
        }
    }
}

static void test_schedules_that_never_contract_are_seen(void **state) {
    (void)state;
    tc_bound_setting s = usual;
    s.schedule.step_decay = 0.05; /* slower than the regularization */
    assert_true(isinf(tc_bound_valid_from(&s)));
    assert_true(isinf(tc_bound_tail(&s, 100)));
    s.schedule.step_decay = s.schedule.regularization_decay; /* as fast, and too long a step for ever */
    s.schedule.step = 100;
    assert_true(isinf(tc_bound_valid_from(&s)));
    assert_true(error_of(s, 1e9) >= 2.3 * 2.3);
}

#define TINY_SCHEDULE "schedule { alpha 1 k^-0.1; gamma 0.4 k^-0.6; rounds 300 }\n"
#define TINY "agent a { state x in [-1, 1]; private minimize (x - 0.6)^2 }\nconstraint c: a.x <= 0.5\n" TINY_SCHEDULE
#define TINY_SQUARE                                                                                                    \
    "agent a { state x in [-1, 1]; private minimize (x - 0.6)^2 }\nconstraint c: a.x^2 <= 0.25\n" TINY_SCHEDULE

static void test_less_privacy_gives_a_smaller_bound(void **state) {
    (void)state;
    double last = INFINITY;
    for (double epsilon = 1; epsilon < 1000; epsilon *= 2) {
        tc_plan_options options = laplace(TC_PLACEMENT_OUTPUTS, epsilon, 300);
        bounded b = bound_of(TINY, &options, 1);
        assert_true(b.bound->tight.error <= last);
        assert_true(b.bound->tight.error <= b.bound->published.error);
        last = b.bound->tight.error;
        planned_end(&b.problem);
    }
    assert_true(last < 0.1);
}

/* ---- the promise, kept ---- */

/* xi for f = (x - 0.6)^2 on [-1, 1] and g = x - 0.5 or x^2 - 0.25: the root of a falling function. */
static void regularised_solution(bool square, double alpha, double radius, double xi[2]) {
    double low = 0, high = radius;
    for (int i = 0; i < 200; i++) {
        xi[1] = i == 0 ? 0 : (low + high) / 2;
        xi[0] = square ? 1.2 / (2 + 2 * xi[1] + alpha) : (1.2 - xi[1]) / (2 + alpha);
        double rising = (square ? xi[0] * xi[0] - 0.25 : xi[0] - 0.5) - alpha * xi[1];
        if (i == 0 && rising <= 0)
            return; /* the constraint does not bind */
        if (rising > 0)
            low = xi[1];
        else
            high = xi[1];
    }
}

/* |z(T+1) - xi|^2 of the run from one seed. */
static double one_run(const bounded *b, uint64_t seed, const double xi[2]) {
    tc_arena *arena = tc_arena_new(0);
    tc_escape escape;
    tc_engine *engine = NULL;
    const char *why = NULL;
    if (TC_TRY(arena, &escape) != TC_OK)
        fail_msg("raised");
    tc_engine_settings settings = {.dual_radius = 1};
    if (tc_engine_new(arena, b->plan, b->problem.model, b->problem.derivatives, run_random(arena, seed), &settings,
                      &engine, &why) != TC_OK)
        fail_msg("no engine: %s", why);
    run_to(engine, (uint64_t)b->bound->rounds);
    double dx = tc_engine_states(engine)[0] - xi[0], dm = tc_engine_multipliers(engine)[0] - xi[1];
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return dx * dx + dm * dm;
}

/* The mean over seeds, and its standard error. */
static void simulate(const bounded *b, bool square, double *mean, double *error) {
    enum { RUNS = 400 };
    double sum = 0, squares = 0, xi[2] = {0, 0};
    regularised_solution(square, alpha_at(&b->bound->schedule, b->bound->rounds), 1, xi);
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        double v = one_run(b, seed, xi);
        sum += v;
        squares += v * v;
    }
    *mean = sum / RUNS;
    *error = sqrt((squares / RUNS - *mean * *mean) / RUNS);
}

/* Fails wrongly with a probability below 3e-7 for each of the cases (five standard errors, one side). */
static void test_four_hundred_runs_keep_the_promise(void **state) {
    (void)state;
    static const struct {
        bool square;
        double epsilon;
    } cases[] = {{false, 5}, {true, 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tc_plan_options options = laplace(TC_PLACEMENT_OUTPUTS, cases[i].epsilon, 300);
        bounded b = bound_of(cases[i].square ? TINY_SQUARE : TINY, &options, 1);
        assert_false(b.bound->tight.vacuous);
        assert_true(tc_bound_says_something(b.bound));
        double mean, error;
        simulate(&b, cases[i].square, &mean, &error);
        if (!(mean + 5 * error <= b.bound->tight.error))
            fail_msg("case %zu: mean %g +- %g, bound %g", i, mean, error, b.bound->tight.error);
        assert_true(b.bound->tight.error <= b.bound->published.error);
        planned_end(&b.problem);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions_hold_where_their_definitions_do),
        cmocka_unit_test(test_constants_of_quadratics_are_exact),
        cmocka_unit_test(test_hessians_of_sums_are_exact_or_near),
        cmocka_unit_test(test_what_the_theorem_does_not_cover_is_said),
        cmocka_unit_test(test_the_bound_grows_with_every_constant),
        cmocka_unit_test(test_the_bound_goes_to_zero_and_is_never_above_the_trivial_one),
        cmocka_unit_test(test_coarser_blocks_give_larger_bounds),
        cmocka_unit_test(test_schedules_that_never_contract_are_seen),
        cmocka_unit_test(test_less_privacy_gives_a_smaller_bound),
        cmocka_unit_test(test_four_hundred_runs_keep_the_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
