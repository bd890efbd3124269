/* tacit_run, tacit_sweep and tacit_report: numbers, callbacks, files and wrong use. */
/* labels: threads */
#include "support/cmocka.h"

#include <tacit/tacit.h>

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Two families: three homes with two states, and a car with one. */
static const char TEXT[] = "agents home[i in 1..3] {\n  state p[2] in [0, 4]\n  private minimize sumsq(p - [1, i])\n}\n"
                           "agent car {\n  state q in [0, 2]\n  private minimize (q - 1.5)^2\n}\n"
                           "constraint feeder[t in 1..2]: sum(home: p[t]) + car.q <= 5\ndual radius 10\n"
                           "privacy { mechanism laplace; epsilon 1; adjacency one 0.5 }\n"
                           "schedule { rounds 200 }\n";
enum { HOME_STATES = 6, STATES = 7, CONSTRAINTS = 2, SMALL = 1 << 15 };

static tacit_problem *load(void) {
    tacit_problem *problem = NULL;
    char *message = NULL;
    tacit_source source = {.size = sizeof source, .path = "test.tacit", .text = TEXT, .length = sizeof TEXT - 1};
    tacit_status status = tacit_problem_make(&source, &problem, &message);
    if (status != TACIT_OK)
        fail_msg("%s", message == NULL ? tacit_status_text(status) : message);
    return problem;
}

static tacit_promise from_seed(uint64_t seed) {
    tacit_promise promise;
    tacit_promise_default(&promise, sizeof promise);
    promise.simulate = 1;
    promise.seed = seed;
    return promise;
}

static tacit_run_options run_options(void) {
    tacit_run_options options;
    tacit_run_options_default(&options, sizeof options);
    return options;
}

static tacit_result *run(tacit_problem *problem, const tacit_promise *promise, const tacit_run_options *wishes) {
    tacit_result *result = NULL;
    char *message = NULL;
    tacit_status status = tacit_run(problem, promise, wishes, NULL, &result, &message);
    if (status != TACIT_OK)
        fail_msg("%s", message == NULL ? tacit_status_text(status) : message);
    assert_null(message);
    return result;
}

/* result: NULL where there is none to be made. */
static void refused(tacit_status status, tacit_status wanted, tacit_result *const *result, char **message,
                    const char *says) {
    assert_int_equal(status, wanted);
    assert_true(result == NULL || *result == NULL);
    assert_non_null(*message);
    if (strstr(*message, says) == NULL)
        fail_msg("'%s' is not in: %s", says, *message);
    tacit_text_free(*message);
    *message = NULL;
}

static tacit_run_facts facts_of(const tacit_result *result, size_t i) {
    tacit_run_facts facts = {.size = sizeof facts};
    assert_int_equal(tacit_result_run(result, i, &facts), TACIT_OK);
    return facts;
}

static tacit_row row_of(const tacit_result *result, size_t i, size_t row) {
    tacit_row facts = {.size = sizeof facts};
    assert_int_equal(tacit_result_row(result, i, row, &facts), TACIT_OK);
    return facts;
}

/* The text behind a key, from a place on. */
static const char *behind(const char *json, const char *key) {
    const char *at = strstr(json, key);
    if (at == NULL)
        fail_msg("%s is not in the JSON", key);
    return at + strlen(key);
}

static void same_numbers(const char *list, const double *values, size_t count) {
    const char *at = strchr(list, '[') + 1;
    for (size_t i = 0; i < count; i++) {
        char *end;
        double value = strtod(at + strspn(at, " \n,"), &end);
        assert_memory_equal(&value, &values[i], sizeof value);
        at = end;
    }
}

static void same_row(const tacit_row *a, const tacit_row *b) {
    assert_true(a->k == b->k && a->constraints == CONSTRAINTS && b->constraints == CONSTRAINTS);
    assert_memory_equal(&a->x_error, &b->x_error, sizeof a->x_error);
    assert_memory_equal(&a->mu_error, &b->mu_error, sizeof a->mu_error);
    assert_memory_equal(&a->objective, &b->objective, sizeof a->objective);
    assert_memory_equal(&a->max_violation, &b->max_violation, sizeof a->max_violation);
    assert_memory_equal(a->g, b->g, CONSTRAINTS * sizeof *a->g);
    assert_memory_equal(a->mu, b->mu, CONSTRAINTS * sizeof *a->mu);
}

static void states_of(const tacit_result *result, size_t i, double x[STATES]) {
    assert_int_equal(tacit_result_x(result, i, 0, x, HOME_STATES - 1), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_x(result, i, 0, x, HOME_STATES), TACIT_OK);
    assert_int_equal(tacit_result_x(result, i, 1, x + HOME_STATES, STATES - HOME_STATES), TACIT_OK);
}

/* Run number i of one and number j of the other, bit for bit. */
static void same_run(const tacit_result *one, size_t i, const tacit_result *other, size_t j) {
    tacit_run_facts a = facts_of(one, i), b = facts_of(other, j);
    double x[STATES], y[STATES];
    assert_true(a.seed == b.seed && a.rounds == b.rounds && a.rows == b.rows && a.rows > 3);
    assert_memory_equal(a.mu, b.mu, CONSTRAINTS * sizeof *a.mu);
    states_of(one, i, x);
    states_of(other, j, y);
    assert_memory_equal(x, y, sizeof x);
    for (size_t r = 0; r < a.rows; r++) {
        tacit_row c = row_of(one, i, r), d = row_of(other, j, r);
        same_row(&c, &d);
    }
}

/* ---- numbers ---- */

static void numbers_of_a_run_are_those_of_its_json(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(7);
    tacit_result *result = run(problem, &promise, NULL);
    const char *json = tacit_result_json(result), *x = behind(json, "\"x\": ");
    double states[STATES];
    tacit_run_facts facts = facts_of(result, 0);
    tacit_row last = row_of(result, 0, facts.rows - 1);
    assert_int_equal(tacit_result_runs(result), 1);
    assert_true(tacit_result_holds(result) && !tacit_result_interrupted(result));
    assert_string_equal(facts.outcome, "done");
    assert_null(facts.reason);
    assert_true(facts.is_seeded && facts.seed == 7 && facts.rounds == 200 && facts.epsilon == 1 && facts.has_states);
    assert_true(last.k == 200 && last.x == NULL && last.states == 0);
    assert_true(strtod(behind(behind(json, "\"final\": "), "\"x_error\": "), NULL) == last.x_error);
    assert_true(strtod(behind(behind(json, "\"final\": "), "\"objective\": "), NULL) == last.objective);
    same_numbers(behind(x, "\"mu\": "), facts.mu, CONSTRAINTS);
    same_numbers(behind(x, "\"g\": "), last.g, CONSTRAINTS);
    same_numbers(behind(json, "\"bounds\": "), facts.feasible_bounds, CONSTRAINTS);
    assert_true(facts.feasible_probability > 0.5);
    states_of(result, 0, states);
    for (size_t k = 0; k < 3; k++) { /* members x states, row by row */
        char key[32];
        (void)snprintf(key, sizeof key, "\"home[%zu]\": ", k + 1);
        same_numbers(behind(x, key), states + 2 * k, 2);
    }
    same_numbers(behind(x, "\"car\": "), states + HOME_STATES, 1);
    tacit_plan_facts plan = {.size = sizeof plan};
    assert_int_equal(tacit_result_plan(result, &plan), TACIT_OK);
    assert_true(!plan.is_private && plan.epsilon == 1 && plan.observers > 0 && plan.channels > 0);
    assert_non_null(strstr(json, plan.hash));
    assert_non_null(strstr(tacit_result_text(result), "checkpoints (simulation: not released)\n"));
    tacit_result_free(result);
    tacit_problem_free(problem);
}

static void remarks_are_the_warnings_of_text_and_json(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(1);
    tacit_result *result = run(problem, &promise, NULL);
    assert_string_equal(tacit_result_remarks(result), "");
    tacit_result_free(result);
    promise.rounds = 20;
    result = run(problem, &promise, NULL);
    static const char few[] = "20 rounds are too few for the method to settle; 200 or more are usual";
    assert_non_null(strstr(tacit_result_remarks(result), few));
    assert_non_null(strstr(tacit_result_json(result), few));
    assert_null(strstr(tacit_result_warnings(result), few));
    tacit_result_free(result);
    assert_int_equal(tacit_plan(problem, &promise, NULL, &result, NULL), TACIT_OK);
    assert_non_null(strstr(tacit_result_remarks(result), few));
    tacit_result_free(result);
    tacit_problem_free(problem);
}

/* With zero prices home i wants (1, i) and the car 1.5: 5 of 5 in the first hour with the car's, 7.5 in the second. */
static void what_a_run_is_compared_with_can_be_read(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(1);
    tacit_run_options wishes = run_options();
    tacit_result *result = run(problem, &promise, NULL);
    tacit_comparison facts = {.size = sizeof facts};
    tacit_run_facts older = {.size = offsetof(tacit_run_facts, feasibility)};
    assert_int_equal(tacit_result_comparison(result, &facts), TACIT_OK);
    assert_true(facts.is_judged && !facts.no_better_than_nothing && facts.baseline.is_known);
    assert_true(fabs(facts.baseline.max_violation - 2.5) < 1e-6 && fabs(facts.baseline.objective) < 1e-6);
    assert_string_equal(facts.baseline.worst, "feeder[2]");
    assert_true(isnan(facts.baseline.mu_error) && !facts.slater_baseline.is_known);
    assert_true(isnan(facts.slater_baseline.objective) && facts.slater_baseline.worst == NULL);
    assert_true(facts.noise_free.is_known && facts.noise_free.mu_error >= 0 && facts.noise_free_missing == NULL);
    assert_int_equal(strncmp(facts.verdict, "Better than doing nothing", 25), 0);
    tacit_run_facts run_facts = facts_of(result, 0);
    assert_int_equal(tacit_result_run(result, 0, &older), TACIT_OK); /* a program that does not know the words */
    assert_true(older.rounds == run_facts.rounds && older.feasibility == NULL && older.true_feasibility == NULL);
    assert_non_null(strstr(run_facts.feasibility, ", with probability 0.95"));
    assert_non_null(run_facts.true_feasibility);
    assert_true(!run_facts.feasible_certain && isnan(run_facts.feasible_move));
    assert_int_equal(tacit_result_comparison(result, NULL), TACIT_BAD_USAGE);
    tacit_result_free(result);
    wishes.no_reference = 1;
    result = run(problem, &promise, &wishes);
    assert_int_equal(tacit_result_comparison(result, &facts), TACIT_OK);
    assert_true(!facts.is_judged && !facts.baseline.is_known && !facts.noise_free.is_known && facts.verdict == NULL);
    tacit_result_free(result);
    tacit_problem_free(problem);
}

static int note_the_end(void *context, const tacit_row *row) {
    if (row->k == 200)
        *(int *)context = 1;
    return 0;
}

static int is_noted(void *context) { return *(int *)context; }

/* The run is whole; what it would be compared with is left out. */
static void an_interrupt_after_the_last_round_costs_the_comparison_alone(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(1);
    tacit_run_options wishes = run_options();
    tacit_options options;
    tacit_comparison facts = {.size = sizeof facts};
    tacit_result *stopped = NULL, *whole = run(problem, &promise, NULL);
    int noted = 0;
    tacit_options_default(&options, sizeof options);
    options.context = &noted;
    options.interrupted = is_noted;
    wishes.row = note_the_end;
    assert_int_equal(tacit_run(problem, &promise, &wishes, &options, &stopped, NULL), TACIT_OK);
    assert_true(tacit_result_interrupted(stopped) && !tacit_result_interrupted(whole));
    assert_string_equal(facts_of(stopped, 0).outcome, "done");
    same_run(stopped, 0, whole, 0);
    assert_int_equal(tacit_result_comparison(stopped, &facts), TACIT_OK);
    assert_true(!facts.baseline.is_known && !facts.noise_free.is_known && facts.verdict == NULL);
    assert_string_equal(facts.noise_free_missing, "stopped on request");
    assert_non_null(tacit_result_text(stopped));
    tacit_result_free(stopped);
    tacit_result_free(whole);
    tacit_problem_free(problem);
}

static void a_run_without_a_seed_is_private_and_never_the_same(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_result *one = run(problem, NULL, NULL), *other = run(problem, NULL, NULL);
    tacit_run_facts a = facts_of(one, 0), b = facts_of(other, 0);
    tacit_plan_facts plan = {.size = sizeof plan};
    assert_int_equal(tacit_result_plan(one, &plan), TACIT_OK);
    assert_true(plan.is_private && !a.is_seeded && !b.is_seeded && tacit_result_holds(one));
    double x[STATES], y[STATES];
    states_of(one, 0, x);
    states_of(other, 0, y);
    assert_memory_not_equal(x, y, sizeof x);
    tacit_result_free(one);
    tacit_result_free(other);
    tacit_problem_free(problem);
}

static void each_of_many_runs_is_the_run_of_its_seed(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(4);
    tacit_run_options wishes = run_options();
    wishes.seeds = 3;
    wishes.keep_states = 1;
    tacit_result *many = run(problem, &promise, &wishes);
    assert_int_equal(tacit_result_runs(many), 3);
    for (size_t i = 0; i < 3; i++) {
        tacit_promise alone = from_seed(4 + i);
        tacit_result *single = run(problem, &alone, NULL);
        same_run(many, i, single, 0);
        tacit_result_free(single);
    }
    double x[STATES];
    const char *second = behind(tacit_result_json(many), "\"seed\": 5");
    states_of(many, 1, x);
    same_numbers(behind(behind(second, "\"x\": "), "\"car\": "), x + HOME_STATES, 1);
    tacit_result_free(many);
    wishes.keep_states = 0; /* only the first is shown */
    many = run(problem, NULL, &wishes);
    assert_true(facts_of(many, 0).seed == 1 && facts_of(many, 0).has_states && !facts_of(many, 2).has_states);
    assert_int_equal(tacit_result_x(many, 2, 0, x, sizeof x / sizeof x[0]), TACIT_BAD_USAGE);
    assert_null(strstr(behind(tacit_result_json(many), "\"x\": {"), "\"x\": {"));
    tacit_result_free(many);
    tacit_problem_free(problem);
}

static void rows_have_states_if_asked(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(1);
    tacit_run_options wishes = run_options();
    wishes.keep_row_states = 1;
    wishes.rows_per_decade = -1;
    promise.rounds = 30;
    tacit_result *result = run(problem, &promise, &wishes);
    double x[STATES];
    assert_int_equal(facts_of(result, 0).rows, 31);
    tacit_row last = row_of(result, 0, 30);
    assert_int_equal(last.states, STATES);
    states_of(result, 0, x);
    assert_memory_equal(last.x, x, sizeof x);
    tacit_result_free(result);
    tacit_problem_free(problem);
}

/* ---- callbacks ---- */

typedef struct listener {
    tacit_problem *problem;
    size_t calls, fail_at, after_failure;
    bool stops, has_failed, asks_back;
    tacit_status same, other;
    tacit_row rows[64];
    double numbers[64][2 * CONSTRAINTS];
} listener;

static int on_interrupted(void *context) {
    listener *l = context;
    l->after_failure += l->has_failed;
    return l->stops;
}

static int on_progress(void *context, const char *what, double fraction) {
    listener *l = context;
    (void)what;
    (void)fraction;
    l->after_failure += l->has_failed;
    return 0;
}

static int on_warning(void *context, const char *line) {
    listener *l = context;
    (void)line;
    l->after_failure += l->has_failed;
    return 0;
}

static int on_row(void *context, const tacit_row *row) {
    listener *l = context;
    l->after_failure += l->has_failed;
    if (l->calls < 64) {
        l->rows[l->calls] = *row;
        memcpy(l->numbers[l->calls], row->g, CONSTRAINTS * sizeof *row->g);
        memcpy(l->numbers[l->calls] + CONSTRAINTS, row->mu, CONSTRAINTS * sizeof *row->mu);
        l->rows[l->calls].g = l->numbers[l->calls];
        l->rows[l->calls].mu = l->numbers[l->calls] + CONSTRAINTS;
    }
    if (l->asks_back && l->calls == 0) {
        tacit_result *result = NULL;
        l->same = tacit_run(l->problem, NULL, NULL, NULL, &result, NULL);
        tacit_problem *other = load();
        l->other = tacit_check(other, NULL, &result, NULL);
        tacit_result_free(result);
        tacit_problem_free(other);
    }
    l->has_failed = ++l->calls == l->fail_at;
    return l->has_failed;
}

static int on_row_that_stops(void *context, const tacit_row *row) {
    listener *l = context;
    l->stops = l->stops || row->k >= 10;
    return 0;
}

static tacit_options options_of(listener *l) {
    tacit_options options;
    tacit_options_default(&options, sizeof options);
    options.context = l;
    options.interrupted = on_interrupted;
    options.progress = on_progress;
    options.warning = on_warning;
    return options;
}

static void rows_that_are_told_are_those_that_are_kept(void **state) {
    (void)state;
    listener l = {.asks_back = true};
    tacit_problem *problem = l.problem = load();
    tacit_promise promise = from_seed(3);
    tacit_options options = options_of(&l);
    tacit_run_options wishes = run_options();
    tacit_result *result = NULL;
    wishes.row = on_row;
    assert_int_equal(tacit_run(problem, &promise, &wishes, &options, &result, NULL), TACIT_OK);
    assert_int_equal(l.same, TACIT_BUSY);
    assert_int_equal(l.other, TACIT_OK);
    assert_int_equal(l.calls, facts_of(result, 0).rows);
    for (size_t i = 0; i < l.calls; i++) {
        tacit_row kept = row_of(result, 0, i);
        same_row(&l.rows[i], &kept);
    }
    tacit_result *again = run(problem, &promise, NULL); /* it is free again */
    same_run(result, 0, again, 0);
    tacit_result_free(again);
    tacit_result_free(result);
    tacit_problem_free(problem);
}

static void no_callback_comes_after_one_that_failed(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(3);
    for (size_t at = 1; at <= 6; at++) {
        listener l = {.fail_at = at};
        tacit_options options = options_of(&l);
        tacit_run_options wishes = run_options();
        tacit_result *result = NULL;
        char *message = NULL;
        wishes.row = on_row;
        refused(tacit_run(problem, &promise, &wishes, &options, &result, &message), TACIT_CALLBACK_FAILED, &result,
                &message, "callback");
        assert_true(l.has_failed && l.calls == at && l.after_failure == 0);
    }
    tacit_result_free(run(problem, &promise, NULL));
    tacit_problem_free(problem);
}

static void an_interrupted_run_has_a_result(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(3);
    listener l = {0};
    tacit_options options = options_of(&l);
    tacit_run_options wishes = run_options();
    tacit_result *result = NULL;
    promise.rounds = 1e9;
    wishes.row = on_row_that_stops;
    assert_int_equal(tacit_run(problem, &promise, &wishes, &options, &result, NULL), TACIT_OK);
    tacit_run_facts facts = facts_of(result, 0);
    assert_string_equal(facts.outcome, "interrupted");
    assert_non_null(facts.reason);
    assert_true(facts.rounds >= 10 && facts.rounds < 1000000000 && facts.has_states);
    assert_true(row_of(result, 0, facts.rows - 1).k == facts.rounds);
    assert_true(tacit_result_interrupted(result) && !tacit_result_holds(result));
    assert_non_null(strstr(tacit_result_json(result), "\"outcome\": \"interrupted\""));
    tacit_result_free(result);
    result = NULL;
    l.stops = true; /* before there is anything to show */
    assert_int_equal(tacit_run(problem, &promise, &wishes, &options, &result, NULL), TACIT_INTERRUPTED);
    assert_null(result);
    tacit_problem_free(problem);
}

/* ---- threads ---- */

static void *run_in_thread(void *seed) {
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(*(uint64_t *)seed);
    tacit_result *result = NULL, *sweep = NULL;
    tacit_sweep_options points;
    tacit_sweep_options_default(&points, sizeof points);
    points.points = points.seeds = 2;
    char *all = malloc(SMALL);
    if (tacit_run(problem, &promise, NULL, NULL, &result, NULL) == TACIT_OK &&
        tacit_sweep(problem, &promise, &points, NULL, &sweep, NULL) == TACIT_OK && all != NULL) {
        tacit_sweep_point point = {.size = sizeof point};
        double x[HOME_STATES];
        (void)tacit_result_x(result, 0, 0, x, sizeof x / sizeof x[0]);
        (void)tacit_result_point(sweep, 1, &point);
        (void)snprintf(all, SMALL, "%a %a %a %a", x[0], x[5], point.penalty, point.bias);
    }
    tacit_result_free(result);
    tacit_result_free(sweep);
    tacit_problem_free(problem);
    return all;
}

static void two_threads_get_what_one_gets(void **state) {
    (void)state;
    uint64_t seeds[2] = {11, 12};
    pthread_t threads[2];
    char *alone[2], *beside[2];
    for (size_t i = 0; i < 2; i++)
        alone[i] = run_in_thread(&seeds[i]);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_in_thread, &seeds[i]), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], (void **)&beside[i]), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(alone[i], beside[i]);
        free(alone[i]);
        free(beside[i]);
    }
}

/* ---- sweeps ---- */

static void numbers_of_a_sweep_are_those_of_its_json(void **state) {
    (void)state;
    tacit_problem *problem = load();
    double epsilons[] = {4, 1, 4, 2};
    tacit_sweep_options wishes;
    tacit_sweep_options_default(&wishes, sizeof wishes);
    wishes.epsilons = epsilons;
    wishes.epsilon_count = 4;
    wishes.seeds = 5;
    tacit_result *result = NULL;
    assert_int_equal(tacit_sweep(problem, NULL, &wishes, NULL, &result, NULL), TACIT_OK);
    epsilons[0] = epsilons[1] = 0; /* was copied */
    assert_non_null(strstr(tacit_result_warnings(result), "more than once"));
    assert_true(tacit_result_points(result) == 3 && tacit_result_runs(result) == 15 && tacit_result_holds(result));
    const char *at = tacit_result_json(result);
    for (size_t i = 0; i < 3; i++) {
        tacit_sweep_point point = {.size = sizeof point};
        assert_int_equal(tacit_result_point(result, i, &point), TACIT_OK);
        assert_true(point.epsilon == 1 << i && point.runs == 5 && point.diverged == 0);
        at = behind(at, "\"epsilon\": ");
        assert_true(strtod(at, NULL) == point.epsilon);
        assert_true(strtod(behind(at, "\"x_error\": "), NULL) == point.x_error);
        assert_true(strtod(behind(at, "\"penalty\": "), NULL) == point.penalty);
        assert_true(strtod(behind(at, "\"penalty_error\": "), NULL) == point.penalty_error);
        assert_true(strtod(behind(at, "\"bias\": "), NULL) == point.bias);
        assert_true(fabs(point.bias + point.spread - point.penalty) < 1e-9 * point.penalty);
        tacit_run_facts facts = facts_of(result, 5 * i + 3);
        assert_true(facts.seed == 4 && facts.epsilon == point.epsilon && facts.rows == 1 && facts.has_states);
    }
    double slope = 0, low = 0, high = 0;
    assert_int_equal(tacit_result_slope(result, &slope, &low, &high), TACIT_OK);
    assert_true(strtod(behind(behind(at, "\"runs\""), "],\n  \"slope\": "), NULL) == slope);
    assert_true(isnan(low) || (low < slope && slope < high));
    tacit_result_free(result);
    tacit_problem_free(problem);
}

static void a_sweep_of_what_makes_none_is_refused(void **state) {
    (void)state;
    tacit_problem *problem = load();
    const double good[] = {1, 2}, bad[] = {1, NAN}, negative[] = {-1, 1}, infinite[] = {INFINITY, 1};
    const struct {
        tacit_sweep_options wishes;
        const char *says;
    } cases[] = {
        {{.epsilons = good, .epsilon_count = 0, .from = NAN, .to = NAN}, "1 to 1000"},
        {{.epsilons = good, .epsilon_count = 1001, .from = NAN, .to = NAN}, "1 to 1000"},
        {{.epsilons = NULL, .epsilon_count = 2, .from = NAN, .to = NAN}, "no epsilons"},
        {{.epsilons = bad, .epsilon_count = 2, .from = NAN, .to = NAN}, "positive numbers"},
        {{.epsilons = negative, .epsilon_count = 2, .from = NAN, .to = NAN}, "positive numbers"},
        {{.epsilons = infinite, .epsilon_count = 2, .from = NAN, .to = NAN}, "positive numbers"},
        {{.epsilons = good, .epsilon_count = 2, .from = 1, .to = NAN}, "not both"},
        {{.epsilons = good, .epsilon_count = 2, .from = NAN, .to = NAN, .points = 3}, "not both"},
        {{.from = 0, .to = NAN}, "positive numbers"},
        {{.from = NAN, .to = -INFINITY}, "positive numbers"},
        {{.from = 3, .to = 2}, "less than"},
        {{.from = NAN, .to = NAN, .points = 1}, "2 to 1000"},
        {{.from = NAN, .to = NAN, .points = 1001}, "2 to 1000"},
        {{.from = NAN, .to = NAN, .seeds = 1000001}, "seeds"},
        {{.from = NAN, .to = NAN, .points = 1000, .seeds = 1000000}, "10,000,000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tacit_sweep_options wishes = cases[i].wishes;
        tacit_result *result = NULL;
        char *message = NULL;
        wishes.size = sizeof wishes;
        refused(tacit_sweep(problem, NULL, &wishes, NULL, &result, &message), TACIT_BAD_USAGE, &result, &message,
                cases[i].says);
    }
    tacit_promise promise = from_seed(1);
    tacit_result *result = NULL;
    char *message = NULL;
    promise.ledger = "spent";
    refused(tacit_sweep(problem, &promise, NULL, NULL, &result, &message), TACIT_BAD_USAGE, &result, &message,
            "ledger");
    promise.ledger = NULL;
    promise.mechanism = "none";
    refused(tacit_sweep(problem, &promise, NULL, NULL, &result, &message), TACIT_BAD_USAGE, &result, &message,
            "nothing to sweep");
    tacit_problem_free(problem);
}

/* ---- wrong use ---- */

static void wrong_options_of_a_run_are_named(void **state) {
    (void)state;
    tacit_problem *problem = load();
    const struct {
        tacit_run_options wishes;
        uint64_t seed;
        double rounds;
        const char *says;
    } cases[] = {
        {{.seeds = 1000001}, 0, NAN, "at most 1,000,000 seeds"},
        {{.seeds = 2}, UINT64_C(1) << 53, NAN, "there are no seeds"},
        {{.seeds = 2, .row = on_row}, 0, NAN, "single run"},
        {{.rows_per_decade = -2}, 0, NAN, "rows_per_decade"},
        {{.seeds = 1000000, .rows_per_decade = 60, .keep_row_states = 1}, 0, 1e6, "GiB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tacit_run_options wishes = cases[i].wishes;
        tacit_promise promise = from_seed(cases[i].seed);
        tacit_result *result = NULL;
        char *message = NULL;
        wishes.size = sizeof wishes;
        promise.rounds = cases[i].rounds;
        refused(tacit_run(problem, &promise, &wishes, NULL, &result, &message), TACIT_BAD_USAGE, &result, &message,
                cases[i].says);
    }
    tacit_promise promise;
    tacit_result *result = NULL;
    char *message = NULL;
    tacit_promise_default(&promise, sizeof promise);
    promise.budget_epsilon = 4;
    refused(tacit_run(problem, &promise, NULL, NULL, &result, &message), TACIT_BAD_USAGE, &result, &message, "ledger");
    tacit_options options;
    tacit_options_default(&options, sizeof options);
    options.threads = 1025;
    refused(tacit_run(problem, NULL, NULL, &options, &result, &message), TACIT_BAD_USAGE, &result, &message, "threads");
    tacit_problem_free(problem);
}

static void structs_of_other_sizes(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(1);
    tacit_result *result = NULL;
    struct {
        tacit_run_options known;
        double unknown;
    } newer;
    tacit_run_options_default(&newer.known, sizeof newer);
    assert_int_equal(tacit_run(problem, &promise, &newer.known, NULL, &result, NULL), TACIT_OK);
    struct {
        tacit_run_facts known;
        double unknown;
    } facts = {.known = {.size = sizeof facts}, .unknown = 1};
    assert_int_equal(tacit_result_run(result, 0, &facts.known), TACIT_OK);
    assert_true(facts.known.size == sizeof facts && facts.unknown == 0 && facts.known.rounds == 200);
    assert_int_equal(tacit_result_run(result, 0, &(tacit_run_facts){.size = 1}), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_row(result, 0, 0, &(tacit_row){.size = 0}), TACIT_BAD_USAGE);
    tacit_result_free(result);
    newer.unknown = 1;
    assert_int_equal(tacit_run(problem, &promise, &newer.known, NULL, &result, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_run(problem, &promise, &(tacit_run_options){.size = 3}, NULL, &result, NULL),
                     TACIT_BAD_USAGE);
    assert_int_equal(tacit_sweep(problem, &promise, &(tacit_sweep_options){.size = 0}, NULL, &result, NULL),
                     TACIT_BAD_USAGE);
    tacit_problem_free(problem);
}

static void nothing_in_the_place_of_something_is_bad_usage(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(1);
    tacit_result *result = NULL, *check = NULL;
    double x[STATES], slope;
    assert_int_equal(tacit_run(NULL, NULL, NULL, NULL, &result, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_run(problem, NULL, NULL, NULL, NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_sweep(NULL, NULL, NULL, NULL, &result, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_sweep(problem, NULL, NULL, NULL, NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_report(NULL, 1, "x", NULL, NULL, &result, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_report((const char *[]){NULL}, 1, "x", NULL, NULL, &result, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_report((const char *[]){"a"}, 0, "x", NULL, NULL, &result, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_report((const char *[]){"a"}, 1, NULL, NULL, NULL, &result, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_report((const char *[]){"a"}, 1, "x", NULL, NULL, NULL, NULL), TACIT_BAD_USAGE);
    tacit_run_options_default(NULL, sizeof(tacit_run_options));
    tacit_sweep_options_default(NULL, 0);
    assert_int_equal(tacit_check(problem, NULL, &check, NULL), TACIT_OK);
    result = run(problem, &promise, NULL);
    const tacit_result *others[] = {NULL, check, result};
    for (size_t i = 0; i < 3; i++) { /* no sweep, and but for the last no run */
        assert_int_equal(tacit_result_points(others[i]), 0);
        assert_int_equal(tacit_result_point(others[i], 0, &(tacit_sweep_point){.size = sizeof(tacit_sweep_point)}),
                         TACIT_BAD_USAGE);
        assert_int_equal(tacit_result_slope(others[i], &slope, &slope, &slope), TACIT_BAD_USAGE);
        assert_int_equal(tacit_result_runs(others[i]), i == 2);
        assert_int_equal(tacit_result_run(others[i], i == 2, &(tacit_run_facts){.size = sizeof(tacit_run_facts)}),
                         TACIT_BAD_USAGE);
        assert_int_equal(tacit_result_row(others[i], i == 2, 0, &(tacit_row){.size = sizeof(tacit_row)}),
                         TACIT_BAD_USAGE);
        assert_int_equal(tacit_result_x(others[i], i == 2, 0, x, sizeof x / sizeof x[0]), TACIT_BAD_USAGE);
    }
    assert_int_equal(tacit_result_run(result, 0, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_row(result, 0, 0, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_row(result, 0, 1000, &(tacit_row){.size = sizeof(tacit_row)}), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_x(result, 0, 0, NULL, 100), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_x(result, 0, 2, x, sizeof x / sizeof x[0]), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_write_trace(NULL, "x", NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_write_trace(check, "x", NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_write_trace(result, NULL, NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_write_report(NULL, "x", NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_write_report(result, NULL, NULL, NULL), TACIT_BAD_USAGE);
    tacit_result_free(result);
    tacit_result_free(check);
    tacit_problem_free(problem);
}

/* ---- files ---- */

typedef struct folder {
    char path[64];
} folder;

static folder folder_new(void) {
    folder made = {"/tmp/tacit-run-api-XXXXXX"};
    assert_non_null(mkdtemp(made.path));
    return made;
}

static const char *in(const folder *of, const char *name, char text[128]) {
    (void)snprintf(text, 128, "%s/%s", of->path, name);
    return text;
}

static void folder_end(const folder *of) {
    char path[128];
    static const char *const names[] = {"t.csv", "p.html", "other", "spent"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlink(in(of, names[i], path));
    assert_int_equal(rmdir(of->path), 0);
}

static void read_start(const char *path, char text[SMALL]) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, SMALL - 1, file);
    text[length] = '\0';
    (void)fclose(file);
}

static void traces_and_pages_are_replaced_and_nothing_else(void **state) {
    (void)state;
    folder here = folder_new();
    char trace[128], page[128], other[128], text[SMALL];
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(1);
    tacit_run_options wishes = run_options();
    tacit_result *made = NULL;
    char *message = NULL;
    wishes.seeds = 2;
    wishes.keep_row_states = 1;
    (void)in(&here, "t.csv", trace);
    (void)in(&here, "p.html", page);
    FILE *file = fopen(in(&here, "other", other), "w");
    assert_true(file != NULL && fputs("a,b\n1,2\n", file) >= 0 && fclose(file) == 0);
    tacit_result *result = run(problem, &promise, &wishes);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(tacit_result_write_trace(result, trace, "my program", NULL), TACIT_OK);
        assert_int_equal(tacit_result_write_report(result, page, NULL, NULL), TACIT_OK);
    }
    read_start(trace, text);
    assert_non_null(strstr(text, "# command: my program\n"));
    assert_non_null(strstr(text, ",mu[feeder[2]],x[home[1].p[1]],x[home[1].p[2]],x[home[2].p[1]],"));
    assert_non_null(strstr(text, ",x[home[3].p[2]],x[car.q]\n1,0,"));
    refused(tacit_result_write_trace(result, other, NULL, &message), TACIT_BAD_USAGE, NULL, &message, "not a trace");
    refused(tacit_result_write_report(result, trace, NULL, &message), TACIT_BAD_USAGE, NULL, &message, "not an HTML");
    refused(tacit_result_write_trace(result, "", NULL, &message), TACIT_BAD_USAGE, NULL, &message, "empty");
    refused(tacit_result_write_trace(result, here.path, NULL, &message), TACIT_BAD_USAGE, NULL, &message, "folder");
    refused(tacit_result_write_trace(result, "/nowhere/t.csv", NULL, &message), TACIT_CANNOT_WRITE, NULL, &message,
            "cannot write");
    read_start(other, text);
    assert_string_equal(text, "a,b\n1,2\n");
    assert_int_equal(tacit_report((const char *[]){trace, trace}, 2, page, "Two", NULL, &made, NULL), TACIT_OK);
    assert_non_null(strstr(tacit_result_json(made), "\"runs\": 2"));
    assert_non_null(strstr(tacit_result_text(made), "p.html: 2 traces of runs\n"));
    read_start(page, text);
    assert_non_null(strstr(text, "Two"));
    tacit_result_free(made);
    made = NULL;
    refused(tacit_report((const char *[]){other}, 1, page, NULL, NULL, &made, &message), TACIT_BAD_PROBLEM, &made,
            &message, "no trace");
    refused(tacit_report((const char *[]){trace}, 1, trace, NULL, NULL, &made, &message), TACIT_BAD_USAGE, &made,
            &message, "would write over");
    tacit_result_free(result);
    tacit_problem_free(problem);
    folder_end(&here);
}

static void every_private_run_is_entered_and_a_budget_kept(void **state) {
    (void)state;
    folder here = folder_new();
    char spent[128], text[SMALL];
    tacit_problem *problem = load();
    tacit_promise promise;
    tacit_run_options wishes = run_options();
    tacit_plan_facts plan = {.size = sizeof plan};
    tacit_promise_default(&promise, sizeof promise);
    promise.ledger = in(&here, "spent", spent);
    promise.budget_epsilon = 2.5;
    tacit_result *result = NULL;
    for (size_t lines = 1; lines <= 2; lines++) { /* the same run again has the same plan, and costs again */
        result = run(problem, &promise, &wishes);
        assert_true(tacit_result_holds(result) && tacit_result_runs(result) == 1);
        tacit_result_free(result);
        read_start(spent, text);
        size_t found = 0;
        for (const char *at = text; (at = strstr(at, "\"run\":")) != NULL; at++)
            found++;
        assert_int_equal(found, lines);
    }
    result = run(problem, &promise, &wishes);
    assert_true(!tacit_result_holds(result) && tacit_result_runs(result) == 0);
    assert_int_equal(tacit_result_plan(result, &plan), TACIT_OK);
    assert_non_null(plan.over_budget);
    assert_non_null(strstr(tacit_result_json(result), "\"outcome\": \"refused\""));
    assert_int_equal(tacit_result_write_trace(result, "x", NULL, NULL), TACIT_BAD_USAGE);
    tacit_result_free(result);
    read_start(spent, text);
    assert_ptr_equal(strchr(strchr(text, '\n') + 1, '\n'), strrchr(text, '\n')); /* two lines */
    promise.simulate = 1;                                                        /* enters nothing, and costs nothing */
    result = run(problem, &promise, &wishes);
    assert_true(tacit_result_holds(result));
    tacit_result_free(result);
    tacit_problem_free(problem);
    folder_end(&here);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_a_run_are_those_of_its_json),
        cmocka_unit_test(remarks_are_the_warnings_of_text_and_json),
        cmocka_unit_test(what_a_run_is_compared_with_can_be_read),
        cmocka_unit_test(an_interrupt_after_the_last_round_costs_the_comparison_alone),
        cmocka_unit_test(a_run_without_a_seed_is_private_and_never_the_same),
        cmocka_unit_test(each_of_many_runs_is_the_run_of_its_seed),
        cmocka_unit_test(rows_have_states_if_asked),
        cmocka_unit_test(rows_that_are_told_are_those_that_are_kept),
        cmocka_unit_test(no_callback_comes_after_one_that_failed),
        cmocka_unit_test(an_interrupted_run_has_a_result),
        cmocka_unit_test(two_threads_get_what_one_gets),
        cmocka_unit_test(numbers_of_a_sweep_are_those_of_its_json),
        cmocka_unit_test(a_sweep_of_what_makes_none_is_refused),
        cmocka_unit_test(wrong_options_of_a_run_are_named),
        cmocka_unit_test(structs_of_other_sizes),
        cmocka_unit_test(nothing_in_the_place_of_something_is_bad_usage),
        cmocka_unit_test(traces_and_pages_are_replaced_and_nothing_else),
        cmocka_unit_test(every_private_run_is_entered_and_a_budget_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
