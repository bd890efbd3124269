/* The doubt that a plan predicts, beside what runs show.
 *
 * The statistic: the standard deviation, over 40 seeds, of what the cloud's averaged measurement of g_j differs from
 * the true g_j at the averaged result. A run's bound on an affine inequality is that measurement plus a width that is
 * the same in every run (docs/proofs/method.md, section 3); so the deviation of bound less truth is that of the noise,
 * and nothing of the prediction enters it. With 40 seeds it is off by a ninth, one standard deviation: a factor of 1.3
 * for a single row holds with probability 0.98, and for all rows of a problem together it is far away. */
#include "support/cmocka.h"

#include <tacit/tacit.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 40 };
#define WITHIN 1.3
#define WITHIN_ROW 1.7 /* beyond it with probability 1e-6 */

/* examples/ev.tacit with forty homes, and hours of one evening. */
static const char HOMES[] = "param T = 6\n"
                            "agents home[i in 1..40] {\n"
                            "  state p[T] in [0, 7.4]\n"
                            "  private set sum(p) >= 8 + i / 10\n"
                            "  private minimize (1 + i / 40) * sumsq(p - [5, 4, 3, 2, 1, 0])\n"
                            "  gap 330\n"
                            "  slater p = 2.2\n"
                            "}\n"
                            "constraint feeder[t in 1..T]: sum(home: p[t]) <= 100 + t\n"
                            "privacy { mechanism gaussian; epsilon 1; delta 1e-6; adjacency agent }\n"
                            "schedule { rounds 300 }\n";

static tacit_problem *load(const char *path, const char *text) {
    tacit_problem *problem = NULL;
    char *message = NULL;
    char whole[512];
    (void)snprintf(whole, sizeof whole, "%s/examples/%s", TACIT_SOURCE_DIR, path);
    tacit_source source = {.size = sizeof source, .path = whole, .text = text};
    source.length = text == NULL ? 0 : strlen(text);
    tacit_status status = tacit_problem_make(&source, &problem, &message);
    if (status != TACIT_OK)
        fail_msg("%s", message == NULL ? tacit_status_text(status) : message);
    return problem;
}

typedef struct choice {
    const char *mechanism, *adjacency;
    double epsilon, rounds;
} choice;

static tacit_promise promise_of(const choice *of) {
    tacit_promise promise;
    tacit_promise_default(&promise, sizeof promise);
    promise.mechanism = of->mechanism;
    promise.adjacency = of->adjacency;
    promise.epsilon = of->epsilon;
    promise.rounds = of->rounds;
    if (strcmp(of->mechanism, "gaussian") == 0)
        promise.delta = 1e-6;
    promise.simulate = 1;
    promise.seed = 1;
    return promise;
}

static void need(tacit_status status, char *const *message) {
    if (status != TACIT_OK)
        fail_msg("%s", *message == NULL ? tacit_status_text(status) : *message);
}

static tacit_result *plan_of(tacit_problem *problem, const choice *of) {
    tacit_result *result = NULL;
    char *message = NULL;
    tacit_promise promise = promise_of(of);
    need(tacit_plan(problem, &promise, NULL, &result, &message), &message);
    return result;
}

static tacit_result *runs_of(tacit_problem *problem, const choice *of) {
    tacit_result *result = NULL;
    char *message = NULL;
    tacit_promise promise = promise_of(of);
    tacit_run_options options;
    tacit_run_options_default(&options, sizeof options);
    options.seeds = SEEDS;
    options.no_reference = 1;
    options.rows_per_decade = 1;
    need(tacit_run(problem, &promise, &options, NULL, &result, &message), &message);
    return result;
}

static tacit_doubt doubt_of(const tacit_result *plan, size_t j) {
    tacit_doubt doubt = {.size = sizeof doubt};
    assert_int_equal(tacit_result_doubt(plan, j, &doubt), TACIT_OK);
    return doubt;
}

/* The noise in row j of one run, but for a constant. */
static double noise_of(const tacit_result *runs, size_t run, size_t j) {
    tacit_run_facts facts = {.size = sizeof facts};
    tacit_row row = {.size = sizeof row};
    assert_int_equal(tacit_result_run(runs, run, &facts), TACIT_OK);
    assert_string_equal(facts.outcome, "done");
    assert_int_equal(tacit_result_row(runs, run, facts.rows - 1, &row), TACIT_OK);
    assert_true(row.k == facts.rounds);
    return facts.feasible_bounds[j] - row.g[j];
}

static double deviation(const tacit_result *runs, size_t j) {
    double sum = 0, squares = 0, noise[SEEDS];
    for (size_t i = 0; i < SEEDS; i++)
        sum += noise[i] = noise_of(runs, i, j);
    for (size_t i = 0; i < SEEDS; i++)
        squares += (noise[i] - sum / SEEDS) * (noise[i] - sum / SEEDS);
    return sqrt(squares / (SEEDS - 1));
}

static void compare(tacit_problem *problem, const choice *of, const char *name) {
    tacit_result *plan = plan_of(problem, of), *runs = runs_of(problem, of);
    size_t rows = tacit_problem_constraints(problem);
    double squares = 0;
    for (size_t j = 0; j < rows; j++) {
        tacit_doubt doubt = doubt_of(plan, j);
        double ratio = deviation(runs, j) / doubt.doubt;
        assert_true(doubt.is_exact);
        if (!(ratio < WITHIN_ROW && ratio > 1 / WITHIN_ROW))
            fail_msg("%s, %s, %s: %s is off by %.3g times what was predicted, %.3g", name, of->mechanism, of->adjacency,
                     doubt.name, ratio, doubt.doubt);
        squares += ratio * ratio;
    }
    double ratio = sqrt(squares / (double)rows);
    if (!(ratio < WITHIN && ratio > 1 / WITHIN))
        fail_msg("%s, %s, %s: %.3g times what was predicted", name, of->mechanism, of->adjacency, ratio);
    tacit_result_free(runs);
    tacit_result_free(plan);
}

static const choice choices[] = {
    {"laplace", "one:0.5", 1, 300}, {"gaussian", "one:0.5", 1, 300},    {"laplace", "agent", 20, 300},
    {"gaussian", "agent", 5, 300},  {"gaussian", "ensemble:1", 1, 250},
};

static void compare_all(const char *path, const char *text) {
    tacit_problem *problem = load(path, text);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        compare(problem, &choices[i], path);
    tacit_problem_free(problem);
}

static void runs_of_homes_have_the_predicted_doubt(void **state) {
    (void)state;
    compare_all("ev.tacit", HOMES);
}

static void runs_of_flows_have_the_predicted_doubt(void **state) {
    (void)state;
    compare_all("num.tacit", NULL);
}

/* The bound of an equality is of |g|, which tells no sign: here the balance is an inequality, as tight as it was, and
 * the Slater point is moved to satisfy it strictly. */
static void runs_of_generators_have_the_predicted_doubt(void **state) {
    (void)state;
    char text[8192];
    FILE *file = fopen(TACIT_SOURCE_DIR "/examples/dispatch.tacit", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    char *equality = strstr(text, "== demand"), *slater = strstr(text, "1 within 0.5");
    assert_true(equality != NULL && slater != NULL);
    memcpy(equality, ">=", 2);
    memcpy(slater, "1.1         ", 12);
    compare_all("dispatch.tacit", text);
}

/* Laplace noise in the unit agent grows with the rounds, Gaussian noise does not, and a bound on messages helps. */
/* A curved limit on a family. */
static tacit_problem *curved(size_t members, const char *limit) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "agents pro[i in 1..%zu] {\n"
                   "  state x in [-3, 3]\n"
                   "  private minimize (0.5 + 1.5 * i / %zu) * (x - 5 * (i / %zu) + 2)^2\n"
                   "  gap 70\n"
                   "  slater x = 0\n"
                   "}\n"
                   "constraint loss: sum(pro: x^2) <= %s\n"
                   "schedule { rounds 500 }\n",
                   members, members, members, limit);
    return load("curved.tacit", text);
}

/* The root mean square of a row, which is at its limit at the solution, at the results. */
static double size_of(const tacit_result *runs, size_t j) {
    double squares = 0;
    for (size_t i = 0; i < SEEDS; i++) {
        tacit_run_facts facts = {.size = sizeof facts};
        tacit_row row = {.size = sizeof row};
        assert_int_equal(tacit_result_run(runs, i, &facts), TACIT_OK);
        assert_int_equal(tacit_result_row(runs, i, facts.rows - 1, &row), TACIT_OK);
        squares += row.g[j] * row.g[j] / SEEDS;
    }
    return sqrt(squares);
}

/* With 40 seeds a root mean square is off by a ninth, one standard deviation; where the run settles it is within 2 of
 * the doubt, 4 of these away where the two are alike. */
static void a_curved_family_that_settles_is_as_far_off_as_said(void **state) {
    (void)state;
    const choice of = {"laplace", "one:1", 3, 500};
    tacit_problem *problem = curved(50, "40");
    tacit_result *plan = plan_of(problem, &of), *runs = runs_of(problem, &of);
    tacit_doubt doubt = doubt_of(plan, 0);
    double ratio = size_of(runs, 0) / doubt.doubt, noise = deviation(runs, 0) / doubt.doubt;
    assert_true(!doubt.is_unreached && !doubt.is_exact && doubt.rounds_needed == 500);
    if (!(ratio > 0.5 && ratio < 2 && noise > 1 / WITHIN_ROW && noise < WITHIN_ROW))
        fail_msg("off by %.3g, noise %.3g times the doubt", ratio, noise);
    tacit_result_free(runs);
    tacit_result_free(plan);
    tacit_problem_free(problem);
}

/* Noise shortens the steps so much that 500 rounds are too few: all runs are far over the limit. */
static void a_doubt_that_is_not_reached_is_marked_and_not_advised(void **state) {
    (void)state;
    const choice of = {"gaussian", "one:1", 1, 500};
    tacit_problem *problem = curved(1000, "800");
    tacit_result *plan = plan_of(problem, &of), *runs = runs_of(problem, &of), *advised = NULL;
    tacit_doubt doubt = doubt_of(plan, 0);
    char *message = NULL;
    assert_true(doubt.is_unreached && doubt.missing > 2 * doubt.doubt && doubt.missing < size_of(runs, 0));
    assert_true(doubt.rounds_needed > 1000 && doubt.rounds_needed < 1e5);
    assert_true(size_of(runs, 0) > 3 * doubt.doubt && size_of(runs, 0) < 4 * doubt.missing);
    tacit_promise promise;
    tacit_promise_default(&promise, sizeof promise);
    promise.adjacency = "one:1";
    tacit_advise_options options;
    tacit_advise_options_default(&options, sizeof options);
    options.doubt = "5%";
    need(tacit_advise(problem, &promise, &options, NULL, &advised, &message), &message);
    tacit_advice facts = {.size = sizeof facts};
    assert_int_equal(tacit_result_advice(advised, &facts), TACIT_OK);
    assert_true(isnan(facts.agents_needed));           /* more of them would not settle either */
    assert_true(facts.reaches && facts.epsilon > 0.4); /* 0.24 leaves that doubt, and was missed by 75 % */
    assert_true(hypot(facts.doubt, facts.missing) <= 40);
    assert_true(facts.is_unreached && strstr(facts.recommendation, "not reached") != NULL && facts.rounds_needed > 500);
    tacit_result_free(advised);
    tacit_result_free(runs);
    tacit_result_free(plan);
    tacit_problem_free(problem);
}

static void rounds_change_the_doubt_as_documented(void **state) {
    (void)state;
    static const struct {
        const char *mechanism, *adjacency;
        double power;
    } expected[] = {{"laplace", "one:0.5", -0.5},
                    {"gaussian", "one:0.5", -0.5},
                    {"gaussian", "ensemble:0.5", -0.5},
                    {"laplace", "agent", 0.5},
                    {"gaussian", "agent", 0}};
    tacit_problem *problem = load("ev.tacit", HOMES);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        choice few = {expected[i].mechanism, expected[i].adjacency, 1, 1000}, many = few;
        many.rounds = 64000;
        tacit_result *of_few = plan_of(problem, &few), *of_many = plan_of(problem, &many);
        double ratio = doubt_of(of_many, 2).doubt / doubt_of(of_few, 2).doubt;
        double wanted = pow(64, expected[i].power);
        if (fabs(ratio / wanted - 1) > 2e-3) /* sums of weights, and rounding to lattices */
            fail_msg("%s, %s: %.6g is not %.6g", expected[i].mechanism, expected[i].adjacency, ratio, wanted);
        tacit_result_free(of_few);
        tacit_result_free(of_many);
    }
    tacit_problem_free(problem);
}

static void a_doubt_is_of_plans_alone_and_names_its_constraint(void **state) {
    (void)state;
    tacit_problem *problem = load("ev.tacit", HOMES);
    choice of = {"gaussian", "agent", 1, 300};
    tacit_result *plan = plan_of(problem, &of), *checked = NULL;
    tacit_doubt doubt = doubt_of(plan, 2);
    assert_string_equal(doubt.name, "feeder[3]");
    assert_true(doubt.limit == 103);
    assert_true(fabs(doubt.range - 40 * 7.4) < 1e-9 && fabs(doubt.room - 103) < 1e-9);
    assert_true(doubt.local_doubt > 2 * doubt.doubt);
    assert_int_equal(tacit_result_doubt(plan, 6, &doubt), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_doubt(plan, 0, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_check(problem, NULL, &checked, NULL), TACIT_OK);
    assert_int_equal(tacit_result_doubt(checked, 0, &doubt), TACIT_BAD_USAGE);
    tacit_result_free(checked);
    tacit_result_free(plan);
    tacit_problem_free(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_homes_have_the_predicted_doubt),
        cmocka_unit_test(runs_of_flows_have_the_predicted_doubt),
        cmocka_unit_test(runs_of_generators_have_the_predicted_doubt),
        cmocka_unit_test(a_curved_family_that_settles_is_as_far_off_as_said),
        cmocka_unit_test(a_doubt_that_is_not_reached_is_marked_and_not_advised),
        cmocka_unit_test(rounds_change_the_doubt_as_documented),
        cmocka_unit_test(a_doubt_is_of_plans_alone_and_names_its_constraint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
