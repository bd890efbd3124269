/* The method `tacit` as a whole: where it ends, what it starts from, and what it says when something ceases to be
 * finite. Rounds bit by bit are in test_method_threads.c; the controller's formulas in test_controller.c. */
#include "engine/method_runs.h"
#include "engine/tacit/controller.h"

#include "support/cmocka.h"

#define SCHEDULE "schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.52; rounds 2000 }\n"

static planned example(const char *name) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/examples/%s.tacit", TACIT_SOURCE_DIR, name);
    return planned_problem(path, NULL);
}

/* ---- where it ends -------------------------------------------------------------------------------------------------
 */

static int increasing(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Medians over seeds. */
static method_errors medians(planned *p, const method_options *asked, size_t seeds) {
    double x[64], mu[64];
    const tc_reference *solution = tc_reference_solve(p->arena, p->model, p->derivatives, 1e-8, 1, NULL);
    const tc_plan *plan = method_plan(p, asked);
    const tc_tacit_facts *facts = method_facts(p, plan, asked);
    for (size_t s = 0; s < seeds; s++) {
        tc_arena *arena = tc_arena_new(0);
        tc_engine *engine = method_engine(arena, p, plan, facts, 100 + s, NULL, TC_DRIVER_AUTO, 0);
        run_to(engine, (uint64_t)plan->rounds);
        method_errors found = method_errors_of(engine, p, solution);
        x[s] = found.x;
        mu[s] = found.mu;
        tc_arena_free(arena);
    }
    qsort(x, seeds, sizeof *x, increasing);
    qsort(mu, seeds, sizeof *mu, increasing);
    return (method_errors){x[seeds / 2], mu[seeds / 2]};
}

static void expect_within(const char *what, method_errors found, method_errors limit) {
    if (!(found.x <= limit.x && found.mu <= limit.mu))
        fail_msg("%s: errors %g and %g, more than %g and %g", what, found.x, found.mu, limit.x, limit.mu);
}

/* Medians of nine seeds, 1.5 times those of a study with another program: 0.278 / 0.041 and 0.285 / 0.052. */
static void the_papers_example_is_as_good_after_2000_rounds_as_the_study_says(void **state) {
    (void)state;
    planned p = example("paper");
    method_options asked = {.mechanism = TC_MECHANISM_LAPLACE, .rounds = 2000, .radius = NAN, .keeps_privacy = true};
    expect_within("laplace", medians(&p, &asked, 9), (method_errors){1.5 * 0.278, 1.5 * 0.041});
    asked.mechanism = TC_MECHANISM_GAUSSIAN;
    expect_within("gaussian", medians(&p, &asked, 9), (method_errors){1.5 * 0.285, 1.5 * 0.052});
    planned_end(&p);
}

typedef struct quiet { /* without noise, after 2,000 rounds */
    const char *name, *text;
    method_errors limit;
} quiet;

static const quiet quiets[] = {
    {"quadratic objectives, an affine constraint",
     "agents a[i in 1..5] {\n state x in [0, 4]\n private minimize (x - i)^2\n gap 16;  slater x = 0\n}\n"
     "constraint c: sum(a: x) <= 6\n" SCHEDULE,
     {1e-3, 2e-3}},
    {"logarithms",
     "agents a[i in 1..6] {\n state x in [0.1, 10]\n private minimize -(1 + i) * log(x)\n gap 40;  slater x = 0.2\n}\n"
     "constraint c: sum(a: x) <= 12\nconstraint d: a[1].x + a[2].x <= 2\n" SCHEDULE,
     {1e-3, 2e-3}},
    {"an exponential constraint on named agents",
     "agent a {\n state x[2] in [-2, 2]\n private minimize sumsq(x - 2)\n gap 32;  slater x = -1\n}\n"
     "agent b {\n state y in [-2, 2]\n private minimize (y - 1)^4\n gap 81;  slater y = -1\n}\n"
     "constraint c: exp(a.x[1]) + exp(b.y) <= 3\nconstraint d: sumsq(a.x) + b.y <= 4\n" SCHEDULE,
     {1e-3, 2e-3}},
    {"quartic constraints",
     "agent a {\n state x[2] in [-2, 2]\n private minimize sumsq(x - [1.5, -2])\n gap 7;  slater x = 0\n}\n"
     "agent b {\n state y in [-2, 2]\n private minimize exp(-y)\n gap 1;  slater y = 0\n}\n"
     "constraint c: a.x[1]^4 + a.x[2]^4 + b.y^4 <= 2\n" SCHEDULE,
     {1e-3, 2e-3}},
    {"a square of an affine sum and a coordinate",
     "agents a[i in 1..8] {\n state x in [-1, 2]\n private minimize (x - i / 4)^2\n gap 4;  slater x = 0\n}\n"
     "constraint c: sumsq(sum(a: x) + a[3].x) <= 9\nconstraint d: sum(a: i * x) <= 20\n" SCHEDULE,
     {1e-3, 2e-3}},
    {"rows of very different scale",
     "agents a[i in 1..4] {\n state x in [0, 4]\n private minimize (x - 3)^2\n gap 9;  slater x = 0.1\n}\n"
     "constraint c: 100 * (a[1].x + a[2].x) <= 300\nconstraint d: 0.01 * (a[3].x + a[4].x) <= 0.02\n" SCHEDULE,
     {1e-3, 0.1}},
    {"no constraint is active",
     "agents a[i in 1..4] {\n state x in [0, 4]\n private minimize (x - i / 2)^2\n gap 16;  slater x = 0.1\n}\n"
     "constraint c: sum(a: x) <= 15\n" SCHEDULE,
     {1e-3, 1e-6}},
};

static void without_noise_the_answer_is_the_reference_solution(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof quiets / sizeof *quiets; i++) {
        planned p = planned_problem("quiet.tacit", quiets[i].text);
        method_options asked = {.mechanism = TC_MECHANISM_NONE, .rounds = 2000, .radius = NAN};
        expect_within(quiets[i].name, medians(&p, &asked, 1), quiets[i].limit);
        planned_end(&p);
    }
}

static void with_noise_every_placement_comes_near(void **state) {
    (void)state;
    static const tc_placement placements[] = {TC_PLACEMENT_STATES, TC_PLACEMENT_FORMS, TC_PLACEMENT_OUTPUTS};
    for (size_t i = 0; i < 3; i++) {
        planned p = planned_problem("quiet.tacit", quiets[0].text);
        method_options asked = {
            .mechanism = TC_MECHANISM_LAPLACE, .placement = placements[i], .rounds = 2000, .radius = NAN};
        expect_within("a placement", medians(&p, &asked, 5), (method_errors){0.6, 0.6});
        planned_end(&p);
    }
}

/* ---- edges ---------------------------------------------------------------------------------------------------------
 */

static tc_engine *run_edge(planned *p, const char *text, tc_mechanism mechanism, tc_driver driver, double rounds) {
    *p = planned_problem("edge.tacit", text);
    method_options asked = {.mechanism = mechanism, .rounds = rounds, .radius = NAN};
    const tc_plan *plan = method_plan(p, &asked);
    return method_engine(p->arena, p, plan, method_facts(p, plan, &asked), 3, NULL, driver, 0);
}

static void without_constraints_agents_find_their_own_minima(void **state) {
    (void)state;
    for (int driver = TC_DRIVER_SMALL; driver <= TC_DRIVER_LARGE; driver++) {
        planned p;
        tc_engine *engine = run_edge(&p,
                                     "agents a[i in 1..3] {\n state x in [0, 4]\n private minimize (x - i)^4\n}\n"
                                     "agent b {\n state y in [0, 1]\n private minimize y^2 - y\n}\n" SCHEDULE,
                                     TC_MECHANISM_LAPLACE, (tc_driver)driver, 2000);
        run_to(engine, 2000);
        const double *x = tc_engine_result_states(engine);
        assert_true(fabs(x[3] - 0.5) < 1e-2);
        for (size_t i = 0; i < 3; i++)
            assert_true(fabs(x[i] - (double)(i + 1)) < 0.1);
        planned_end(&p);
    }
}

static void constraints_that_depend_on_nothing_release_nothing(void **state) {
    (void)state;
    for (int driver = TC_DRIVER_SMALL; driver <= TC_DRIVER_LARGE; driver++) {
        planned p;
        tc_engine *engine = run_edge(&p,
                                     "param c = 1\nagents a[i in 1..3] {\n state x in [0, 4]\n private minimize "
                                     "(x - i)^2\n gap 9;  slater x = 0\n}\nconstraint d: c <= 2\n" SCHEDULE,
                                     TC_MECHANISM_LAPLACE, (tc_driver)driver, 500);
        run_to(engine, 500);
        assert_true(tc_engine_result_multipliers(engine)[0] == 0);
        for (size_t i = 0; i < 3; i++)
            assert_true(fabs(tc_engine_result_states(engine)[i] - (double)(i + 1)) < 2e-2);
        planned_end(&p);
    }
}

static void an_agent_that_no_constraint_speaks_of_is_left_alone(void **state) {
    (void)state;
    for (int driver = TC_DRIVER_SMALL; driver <= TC_DRIVER_LARGE; driver++) {
        planned p;
        tc_engine *engine = run_edge(&p,
                                     "agent a {\n state x[2] in [0, 4]\n private minimize sumsq(x - 3)\n gap 18;  "
                                     "slater x = 0\n}\nagents b[i in 1..3] {\n state y in [0, 4]\n private minimize "
                                     "(y - i)^2\n gap 9;  slater y = 0\n}\nconstraint c: a.x[2]^2 <= 4\n" SCHEDULE,
                                     TC_MECHANISM_LAPLACE, (tc_driver)driver, 2000);
        run_to(engine, 2000);
        const double *x = tc_engine_result_states(engine);
        assert_true(fabs(x[0] - 3) < 1e-2 && fabs(x[1] - 2) < 0.5);
        for (size_t i = 0; i < 3; i++)
            assert_true(fabs(x[2 + i] - (double)(i + 1)) < 1e-2);
        planned_end(&p);
    }
}

static void a_run_that_diverges_says_where_and_keeps_the_state_before(void **state) {
    (void)state;
    static const char text[] =
        "agent a {\n state x in [0, 4]\n private minimize (x - 3)^2\n gap 9;  slater x = 1\n}\n"
        "agent b {\n state y in [1, 4]\n private minimize (y - 3)^2\n gap 9;  slater y = 1\n}\n"
        "constraint c: b.y <= 3\nconstraint d: -sqrt(a.x) + b.y <= 3\n" SCHEDULE; /* infinitely steep at 0 */
    for (int driver = TC_DRIVER_SMALL; driver <= TC_DRIVER_LARGE; driver++) {
        planned p;
        tc_engine_outcome outcome;
        tc_engine *engine = run_edge(&p, text, TC_MECHANISM_NONE, (tc_driver)driver, 500);
        assert_true(tc_engine_advance(engine, 500, NULL, &outcome) == TC_OK);
        assert_int_equal(outcome, TC_ENGINE_DIVERGED);
        assert_int_equal(tc_engine_rounds(engine), 0);
        assert_string_equal(tc_engine_reason(engine), "the released value of constraint d in round 1");
        assert_true(tc_engine_result_states(engine)[0] == 0 && tc_engine_result_states(engine)[1] == 1);
        assert_true(tc_engine_result_multipliers(engine)[0] == 0);
        planned_end(&p);
    }
}

static const char *refusal(planned *p, const tc_plan *plan, const tc_tacit_facts *facts) {
    tc_engine_settings settings = {.dual_radius = 5, .facts = facts};
    tc_engine *engine = NULL;
    const char *why = NULL;
    assert_int_equal(
        tc_engine_new(p->arena, plan, p->model, p->derivatives, run_random(p->arena, 1), &settings, &engine, &why),
        TC_BAD_USAGE);
    assert_null(engine);
    return why;
}

static void plans_that_the_method_cannot_run_by_are_refused(void **state) {
    (void)state;
    planned p = example("paper");
    method_options asked = {.mechanism = TC_MECHANISM_LAPLACE, .rounds = 100, .radius = NAN, .keeps_privacy = true};
    tc_plan plan = *method_plan(&p, &asked);
    const tc_tacit_facts *facts = method_facts(&p, &plan, &asked);
    assert_string_equal(refusal(&p, &plan, NULL), "the method tacit needs its facts");
    plan.placement = TC_PLACEMENT_OUTPUTS;
    assert_string_equal(refusal(&p, &plan, facts),
                        "the method tacit can measure outputs only where all constraints are affine");
    plan.placement = TC_PLACEMENT_FORMS;
    plan.method = TC_METHOD_PUBLISHED;
    assert_string_equal(
        refusal(&p, &plan, facts),
        "the method published releases constraints and their Jacobian: noise on states or forms is for the "
        "method tacit");
    planned_end(&p);
}

static void gradient_steps_can_take_the_place_of_proximal_ones(void **state) {
    (void)state;
    planned p = planned_problem("quiet.tacit", quiets[0].text);
    method_options asked = {.mechanism = TC_MECHANISM_LAPLACE, .rounds = 100, .radius = NAN};
    const tc_plan *plan = method_plan(&p, &asked);
    const tc_tacit_facts *facts = method_facts(&p, plan, &asked);
    tc_engine *small = method_engine(p.arena, &p, plan, facts, 3, NULL, TC_DRIVER_SMALL, TC_WITHOUT_PROXIMAL);
    tc_engine *large = method_engine(p.arena, &p, plan, facts, 3, NULL, TC_DRIVER_LARGE, TC_WITHOUT_PROXIMAL);
    tc_engine *whole = method_engine(p.arena, &p, plan, facts, 3, NULL, TC_DRIVER_SMALL, 0);
    run_to(small, 100);
    run_to(large, 100);
    run_to(whole, 100);
    assert_memory_equal(tc_engine_states(small), tc_engine_states(large), 5 * sizeof(double));
    assert_memory_not_equal(tc_engine_states(small), tc_engine_states(whole), 5 * sizeof(double));
    planned_end(&p);
}

static void the_average_weighs_round_k_by_k_times_k_plus_1(void **state) {
    (void)state;
    planned p = example("num");
    method_options asked = {.mechanism = TC_MECHANISM_LAPLACE, .rounds = 300, .radius = NAN, .keeps_privacy = true};
    const tc_plan *plan = method_plan(&p, &asked);
    tc_engine *engine = method_engine(p.arena, &p, plan, method_facts(&p, plan, &asked), 3, NULL, TC_DRIVER_AUTO, 0);
    size_t n = p.model->state_count, m = p.model->constraint_count;
    double *x = TC_NEW(p.arena, double, n), *mu = TC_NEW(p.arena, double, m), total = 0;
    for (uint64_t k = 1; k <= 60; k++) {
        double weight = (double)(k * (k + 1));
        total += weight;
        for (size_t i = 0; i < n; i++)
            x[i] += weight * tc_engine_states(engine)[i]; /* x(k), the one that is released in round k */
        run_to(engine, k);
        for (size_t j = 0; j < m; j++)
            mu[j] += weight * tc_engine_multipliers(engine)[j]; /* mu(k+1) */
        for (size_t i = 0; i < n; i++)
            assert_true(fabs(tc_engine_result_states(engine)[i] - x[i] / total) < 1e-12);
        for (size_t j = 0; j < m; j++)
            assert_true(fabs(tc_engine_result_multipliers(engine)[j] - mu[j] / total) < 1e-12);
    }
    planned_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_papers_example_is_as_good_after_2000_rounds_as_the_study_says),
        cmocka_unit_test(without_noise_the_answer_is_the_reference_solution),
        cmocka_unit_test(with_noise_every_placement_comes_near),
        cmocka_unit_test(without_constraints_agents_find_their_own_minima),
        cmocka_unit_test(constraints_that_depend_on_nothing_release_nothing),
        cmocka_unit_test(an_agent_that_no_constraint_speaks_of_is_left_alone),
        cmocka_unit_test(a_run_that_diverges_says_where_and_keeps_the_state_before),
        cmocka_unit_test(plans_that_the_method_cannot_run_by_are_refused),
        cmocka_unit_test(gradient_steps_can_take_the_place_of_proximal_ones),
        cmocka_unit_test(the_average_weighs_round_k_by_k_times_k_plus_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
