#include "support/cmocka.h"
#include "support/random.h"

#include <tacit/tacit.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char two_agents[] = "agent left {\n  state x in [0, 4]\n  private minimize (x - 3)^2\n}\n"
                                 "agents pair[i in 1..2] {\n  state y[2] in [0, 4]\n"
                                 "  private minimize sumsq(y - [1, i])\n}\n"
                                 "constraint shared: left.x + sum(pair: y[1]) <= 4\n";

static tacit_problem *problem_of(const char *text) {
    tacit_problem *problem = NULL;
    char *message = NULL;
    tacit_source source = {.size = sizeof source, .path = "test.tacit", .text = text, .length = strlen(text)};
    tacit_status status = tacit_problem_make(&source, &problem, &message);
    if (status != TACIT_OK)
        fail_msg("%s", message == NULL ? tacit_status_text(status) : message);
    assert_null(message);
    return problem;
}

static void a_check_tells_convex_from_smooth(void **state) {
    (void)state;
    tacit_problem *problem = problem_of("agent a { state x in [-1, 1]; private minimize abs(x) }\n");
    for (int published = 0; published < 2; published++) {
        tacit_options options;
        tacit_options_default(&options, sizeof options);
        options.method = published ? "published" : NULL;
        tacit_result *checked;
        assert_int_equal(tacit_check(problem, &options, &checked, NULL), TACIT_OK);
        tacit_check_facts facts = {.size = sizeof facts};
        assert_int_equal(tacit_result_check(checked, &facts), TACIT_OK);
        assert_string_equal(facts.convex, "holds");
        assert_string_equal(facts.smooth, "fails");
        assert_string_equal(facts.objectives, published ? "fails" : "holds");
        assert_int_equal(tacit_result_holds(checked), !published);
        tacit_result_free(checked);
    }
    tacit_problem_free(problem);
}

static void an_equality_has_a_multiplier_of_either_sign(void **state) {
    (void)state;
    tacit_problem *problem = problem_of("agent a { state x[2] in [0, 4]; private minimize sumsq(x - [1, 2]) }\n"
                                        "constraint most: sum(a.x) <= 7\nconstraint exact: a.x == [3, 1]\n");
    assert_int_equal(tacit_problem_constraint_is_equality(problem, 0), 0);
    assert_int_equal(tacit_problem_constraint_is_equality(problem, 1), 1);
    assert_int_equal(tacit_problem_constraint_is_equality(problem, 2), 1);
    tacit_result *solved;
    assert_int_equal(tacit_solve(problem, NULL, &solved, NULL), TACIT_OK);
    tacit_solution solution = {.size = sizeof solution};
    assert_int_equal(tacit_result_solution(solved, &solution), TACIT_OK);
    assert_true(solution.mu[0] == 0 && fabs(solution.mu[1] + 4) < 1e-6 && fabs(solution.mu[2] - 2) < 1e-6);
    tacit_result_free(solved);
    tacit_problem_free(problem);
}

static void a_problem_says_its_sizes_and_names(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(two_agents);
    char name[64];
    assert_int_equal(tacit_problem_agents(problem), 3);
    assert_int_equal(tacit_problem_states(problem), 5);
    assert_int_equal(tacit_problem_constraints(problem), 1);
    assert_int_equal(tacit_problem_families(problem), 2);
    assert_string_equal(tacit_problem_constraint_name(problem, 0), "shared");
    assert_null(tacit_problem_constraint_name(problem, 1));
    tacit_family family = {.size = sizeof family};
    assert_int_equal(tacit_problem_family(problem, 1, &family), TACIT_OK);
    assert_string_equal(family.name, "pair");
    assert_true(family.members == 2 && family.first_agent == 1 && family.states == 2 && family.variables == 1 &&
                family.is_family);
    tacit_variable variable = {.size = sizeof variable};
    assert_int_equal(tacit_problem_variable(problem, 1, 0, &variable), TACIT_OK);
    assert_string_equal(variable.name, "y");
    assert_true(variable.first == 0 && variable.length == 2 && !variable.is_scalar);
    assert_int_equal(tacit_problem_family(problem, 2, &family), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_variable(problem, 1, 1, &variable), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_agent_name(problem, 2, name, sizeof name), TACIT_OK);
    assert_string_equal(name, "pair[2]");
    assert_int_equal(tacit_problem_agent_name(problem, 2, name, 3), TACIT_OK);
    assert_string_equal(name, "pa");
    assert_int_equal(tacit_problem_agent_name(problem, 3, name, sizeof name), TACIT_BAD_USAGE);
    tacit_problem_free(problem);
}

static void a_broken_text_gives_a_message_and_no_problem(void **state) {
    (void)state;
    tacit_problem *problem = NULL;
    char *message = NULL;
    const char *text = "agent a {\n  state x in [0, 1]\n  private minimize y\n}\n";
    tacit_source source = {.size = sizeof source, .path = "broken.tacit", .text = text, .length = strlen(text)};
    assert_int_equal(tacit_problem_make(&source, &problem, &message), TACIT_BAD_PROBLEM);
    assert_null(problem);
    assert_non_null(message);
    assert_non_null(strstr(message, "broken.tacit:3:"));
    tacit_text_free(message);
    assert_int_equal(tacit_problem_make(&source, &problem, NULL), TACIT_BAD_PROBLEM);
    assert_int_equal(tacit_problem_load("/nowhere.tacit", &problem, NULL), TACIT_BAD_USAGE);
}

static void checking_gives_a_verdict_and_texts(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(two_agents);
    for (int again = 0; again < 2; again++) {
        tacit_result *result = NULL;
        assert_int_equal(tacit_check(problem, NULL, &result, NULL), TACIT_OK);
        assert_true(tacit_result_holds(result));
        assert_false(tacit_result_interrupted(result));
        assert_null(tacit_result_reason(result));
        tacit_check_facts facts = {.size = sizeof facts};
        assert_int_equal(tacit_result_check(result, &facts), TACIT_OK);
        assert_string_equal(facts.objectives, "holds");
        assert_string_equal(facts.slater, "holds");
        assert_true(facts.slater_margin > 0 && facts.agents == 3);
        assert_true(facts.constraint_2.lower <= sqrt(3) && facts.constraint_2.upper >= sqrt(3) &&
                    facts.constraint_2.upper < 1.7321); /* |(1, 1, 0, 1, 0)| */
        tacit_check_agent agent = {.size = sizeof agent};
        assert_int_equal(tacit_result_check_agent(result, 2, &agent), TACIT_OK);
        assert_true(agent.family == 1 && agent.member == 1 && agent.objective.lower <= 2 && agent.objective.upper >= 2);
        assert_int_equal(tacit_result_check_agent(result, 3, &agent), TACIT_BAD_USAGE);
        assert_non_null(strstr(tacit_result_json(result), "\"lipschitz\""));
        assert_ptr_equal(tacit_result_json(result), tacit_result_json(result));
        assert_true(strlen(tacit_result_text(result)) > 0);
        tacit_result_free(result);
    }
    tacit_problem_free(problem);
}

/* (x - 3)^2 + 2 (y - 1)^2 with x + 2y = 4: x = 3 - m/2, y = 1 - m/2, so 5 - 3m/2 = 4 and m = 2/3. */
static void solving_gives_the_saddle_point(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(two_agents);
    tacit_result *result = NULL;
    tacit_solution solution = {.size = sizeof solution};
    double x[4] = {0};
    assert_int_equal(tacit_solve(problem, NULL, &result, NULL), TACIT_OK);
    assert_int_equal(tacit_result_solution(result, &solution), TACIT_OK);
    assert_string_equal(solution.outcome, "solved");
    assert_true(solution.residual <= 1e-8 && solution.is_convex && solution.constraints == 1);
    assert_true(fabs(solution.mu[0] - 2.0 / 3.0) < 1e-7);
    assert_true(fabs(solution.objective - 1.0 / 3.0) < 1e-7);
    assert_int_equal(tacit_result_x(result, 0, 0, x, sizeof x / sizeof x[0]), TACIT_OK);
    assert_true(fabs(x[0] - 8.0 / 3.0) < 1e-7);
    assert_int_equal(tacit_result_x(result, 0, 1, x, sizeof x / sizeof x[0]), TACIT_OK);
    assert_true(fabs(x[0] - 2.0 / 3.0) < 1e-7 && fabs(x[1] - 1.0) < 1e-7); /* pair[1] */
    assert_true(fabs(x[2] - 2.0 / 3.0) < 1e-7 && fabs(x[3] - 2.0) < 1e-7); /* pair[2] */
    assert_int_equal(tacit_result_x(result, 0, 2, x, sizeof x / sizeof x[0]), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_x(result, 1, 0, x, sizeof x / sizeof x[0]), TACIT_BAD_USAGE);
    assert_non_null(strstr(tacit_result_json(result), "\"pair[2]\""));
    tacit_result_free(result);
    tacit_problem_free(problem);
}

static const char promised[] = "agents home[i in 1..3] {\n  state p[2] in [0, 4]\n"
                               "  private minimize sumsq(p - [1, i])\n}\n"
                               "constraint feeder[t in 1..2]: sum(home: p[t]) <= 5\ndual radius 10\n"
                               "privacy { mechanism laplace; epsilon 1; adjacency one 0.5 }\n"
                               "schedule { rounds 100 }\n";

static void planning_gives_scales_observers_and_a_certificate(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(promised);
    tacit_result *result = NULL;
    char *message = NULL;
    assert_int_equal(tacit_plan(problem, NULL, NULL, &result, &message), TACIT_OK);
    tacit_plan_facts plan = {.size = sizeof plan};
    assert_int_equal(tacit_result_plan(result, &plan), TACIT_OK);
    assert_true(plan.is_private && tacit_result_holds(result));
    assert_string_equal(plan.mechanism, "laplace");
    assert_string_equal(plan.adjacency, "one:0.5");
    assert_true(plan.epsilon == 1 && plan.rounds == 100 && plan.channels > 0 && plan.observers > 0);
    assert_int_equal(strlen(plan.hash), 64);
    assert_non_null(strstr(tacit_result_json(result), plan.hash));
    for (size_t i = 0; i < plan.observers; i++) {
        tacit_observer observer = {.size = sizeof observer};
        assert_int_equal(tacit_result_observer(result, i, &observer), TACIT_OK);
        assert_true(observer.epsilon > 0 && observer.epsilon <= 1 + 1e-9 && observer.who != NULL);
    }
    tacit_channel channel = {.size = sizeof channel};
    assert_int_equal(tacit_result_channel(result, 0, &channel), TACIT_OK);
    assert_true(channel.scale > 0 && channel.sensitivity >= channel.constant);
    assert_int_equal(tacit_result_channel(result, plan.channels, &channel), TACIT_BAD_USAGE);
    assert_non_null(strstr(tacit_plan_certificate(result, NULL), plan.hash));
    tacit_result_free(result);
    tacit_problem_free(problem);
}

static void a_promise_overrides_the_file_and_leaves_it_as_it_was(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(promised);
    tacit_result *first = NULL, *other = NULL, *again = NULL;
    tacit_promise promise;
    tacit_promise_default(&promise, sizeof promise);
    promise.mechanism = "gaussian";
    promise.epsilon = 2;
    promise.delta = 1e-6;
    promise.rounds = 7;
    promise.adjacency = "agent";
    assert_int_equal(tacit_plan(problem, NULL, NULL, &first, NULL), TACIT_OK);
    assert_int_equal(tacit_plan(problem, &promise, NULL, &other, NULL), TACIT_OK);
    assert_int_equal(tacit_plan(problem, NULL, NULL, &again, NULL), TACIT_OK);
    tacit_plan_facts facts = {.size = sizeof facts};
    assert_int_equal(tacit_result_plan(other, &facts), TACIT_OK);
    assert_string_equal(facts.mechanism, "gaussian");
    assert_true(facts.epsilon == 2 && facts.delta == 1e-6 && facts.rounds == 7);
    assert_string_equal(tacit_result_json(first), tacit_result_json(again));
    tacit_result_free(first);
    tacit_result_free(other);
    tacit_result_free(again);
    tacit_problem_free(problem);
}

static void what_does_not_hold_has_a_reason(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(promised);
    tacit_promise promise;
    tacit_result *result = NULL;
    tacit_promise_default(&promise, sizeof promise);
    promise.mechanism = "none";
    assert_int_equal(tacit_plan(problem, &promise, NULL, &result, NULL), TACIT_OK);
    assert_false(tacit_result_holds(result));
    assert_non_null(strstr(tacit_result_reason(result), "not private"));
    tacit_result_free(result);
    tacit_problem_free(problem);
    problem = problem_of("agent a {\n  state x in [0, 1]\n  private minimize -x^2\n}\nconstraint c: a.x <= 1\n");
    assert_int_equal(tacit_check(problem, NULL, &result, NULL), TACIT_OK);
    assert_false(tacit_result_holds(result));
    assert_non_null(tacit_result_reason(result));
    tacit_result_free(result);
    assert_int_equal(tacit_solve(problem, NULL, &result, NULL), TACIT_OK);
    assert_non_null(strstr(tacit_result_reason(result), "convex"));
    tacit_result_free(result);
    tacit_problem_free(problem);
}

static void the_header_says_the_version(void **state) {
    (void)state;
    char text[32];
    (void)snprintf(text, sizeof text, "%d.%d.%d", TACIT_VERSION_MAJOR, TACIT_VERSION_MINOR, TACIT_VERSION_PATCH);
    assert_string_equal(tacit_version(), text);
}

static void wrong_words_and_numbers_are_named(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(promised);
    tacit_promise promise;
    char *message = NULL;
    tacit_result *result = NULL;
    tacit_promise_default(&promise, sizeof promise);
    promise.mechanism = "gauss";
    promise.adjacency = "one:-1";
    promise.epsilon = 0;
    promise.rounds = 2.5;
    promise.margin = "auto:2";
    assert_int_equal(tacit_plan(problem, &promise, NULL, &result, &message), TACIT_BAD_USAGE);
    assert_null(result);
    static const char *const says[] = {"mechanism wants none, laplace or gaussian, not 'gauss'", "adjacency wants",
                                       "epsilon wants a positive number, not '0'", "rounds wants a whole number",
                                       "margin wants"};
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++)
        if (strstr(message, says[i]) == NULL)
            fail_msg("'%s' is not in:\n%s", says[i], message);
    tacit_text_free(message);
    tacit_problem_free(problem);
}

static void all_that_a_run_lacks_is_named_at_once(void **state) {
    (void)state;
    tacit_problem *problem = problem_of("agent a { state x in [0, 1]; private minimize (x - 1)^2 }\n"
                                        "constraint c: a.x <= 0.5\n");
    char *message = NULL;
    tacit_result *result = NULL;
    assert_int_equal(tacit_run(problem, NULL, NULL, NULL, &result, &message), TACIT_BAD_USAGE);
    assert_null(result);
    static const char *const says[] = {"3 things are missing:\n",
                                       "  the number of rounds: ", "  what to promise: ", "  a public dual radius, "};
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++)
        if (strstr(message, says[i]) == NULL)
            fail_msg("'%s' is not in:\n%s", says[i], message);
    tacit_text_free(message);
    tacit_problem_free(problem);
}

static void wishes_that_would_change_nothing_are_refused(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(promised);
    tacit_promise promise;
    char *message = NULL;
    tacit_result *result = NULL;
    tacit_promise_default(&promise, sizeof promise);
    promise.mechanism = "laplace";
    promise.delta = 1e-6;
    promise.c1 = 0.3;
    assert_int_equal(tacit_plan(problem, &promise, NULL, &result, &message), TACIT_BAD_USAGE);
    assert_non_null(strstr(message, "--delta would change nothing: Laplace noise"));
    assert_non_null(strstr(message, "--c1 would change nothing: method tacit"));
    tacit_text_free(message);
    tacit_problem_free(problem);
}

static void nothing_in_the_place_of_something_is_bad_usage(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(promised);
    tacit_result *result = NULL;
    char *message = NULL;
    assert_int_equal(tacit_check(NULL, NULL, &result, &message), TACIT_BAD_USAGE);
    assert_non_null(message);
    tacit_text_free(message);
    assert_int_equal(tacit_check(problem, NULL, NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_plan(NULL, NULL, NULL, &result, NULL), TACIT_BAD_USAGE);
    tacit_problem_free(problem);
    assert_int_equal(tacit_problem_make(NULL, &problem, NULL), TACIT_BAD_USAGE);
    assert_null(problem);
    assert_int_equal(tacit_problem_load(NULL, &problem, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_load("a", NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_agents(NULL) + tacit_problem_states(NULL) + tacit_problem_constraints(NULL) +
                         tacit_problem_families(NULL),
                     0);
    assert_int_equal(tacit_result_holds(NULL), 0);
    assert_null(tacit_result_json(NULL));
    assert_null(tacit_result_text(NULL));
    assert_string_equal(tacit_result_warnings(NULL), "");
    assert_string_equal(tacit_result_remarks(NULL), "");
    assert_int_equal(tacit_result_plan(NULL, &(tacit_plan_facts){.size = sizeof(tacit_plan_facts)}), TACIT_BAD_USAGE);
    assert_null(tacit_plan_certificate(NULL, NULL));
    tacit_options_default(NULL, sizeof(tacit_options));
    tacit_promise_default(NULL, 0);
}

static void a_result_of_another_kind_has_no_such_facts(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(promised);
    tacit_result *check = NULL;
    double x[6];
    assert_int_equal(tacit_check(problem, NULL, &check, NULL), TACIT_OK);
    assert_int_equal(tacit_result_solution(check, &(tacit_solution){.size = sizeof(tacit_solution)}), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_plan(check, &(tacit_plan_facts){.size = sizeof(tacit_plan_facts)}), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_x(check, 0, 0, x, sizeof x / sizeof x[0]), TACIT_BAD_USAGE);
    assert_null(tacit_plan_certificate(check, NULL));
    tacit_result_free(check);
    tacit_problem_free(problem);
}

/* A newer program may set members that this library does not know; an older one has fewer. */
static void structs_of_other_sizes(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(promised);
    tacit_result *result = NULL;
    struct {
        tacit_promise known;
        double unknown;
    } newer;
    tacit_promise_default((tacit_promise *)&newer, sizeof newer);
    assert_true(newer.known.size == sizeof newer && newer.unknown == 0);
    assert_int_equal(tacit_plan(problem, &newer.known, NULL, &result, NULL), TACIT_OK);
    struct {
        tacit_plan_facts known;
        double unknown;
    } facts = {.known = {.size = sizeof facts}, .unknown = 1};
    assert_int_equal(tacit_result_plan(result, &facts.known), TACIT_OK);
    assert_true(facts.known.size == sizeof facts && facts.unknown == 0);
    tacit_result_free(result);
    newer.unknown = 1;
    assert_int_equal(tacit_plan(problem, &newer.known, NULL, &result, NULL), TACIT_BAD_USAGE);
    newer.known.size = 3;
    assert_int_equal(tacit_plan(problem, &newer.known, NULL, &result, NULL), TACIT_BAD_USAGE);
    tacit_options options = {.size = 1};
    assert_int_equal(tacit_check(problem, &options, &result, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_family(problem, 0, &(tacit_family){.size = 0}), TACIT_BAD_USAGE);
    tacit_problem_free(problem);
}

static int stop_at_once(void *context) {
    ++*(int *)context;
    return 1;
}

static size_t looks, last_look;
static int stop_at_last_look(void *context) {
    (void)context;
    return ++looks >= last_look;
}

/* Told to stop at every look that a check has, with bodies that have a flaw or are convex only together. What was not
 * judged is not proved, and nothing is said to be wrong with it. */
static void a_check_can_be_interrupted_at_every_look(void **state) {
    (void)state;
    static const char *const terms[] = {"sum(home: sqrt(p + 0.001 * i - 0.02)) <= 50",
                                        "sum(home: i * p^2) + sum(home: (20 - i) * p^2) <= 50000"};
    for (size_t t = 0; t < 2; t++) {
        char text[400];
        (void)snprintf(
            text, sizeof text,
            "agents home[i in 1..40] { state p in [0, 1]; private minimize (p - i / 40)^2; slater p = 0.1; gap 2 }\n"
            "constraint c: %s\n",
            terms[t]);
        tacit_problem *problem = problem_of(text);
        bool was_told = true;
        for (last_look = 1; was_told; last_look++) {
            AT_CASE(last_look);
            tacit_options options;
            tacit_result *checked;
            tacit_options_default(&options, sizeof options);
            options.interrupted = stop_at_last_look;
            options.threads = 1;
            looks = 0;
            assert_int_equal(tacit_check(problem, &options, &checked, NULL), TACIT_OK);
            was_told = looks >= last_look;
            if (t == 1)
                assert_null(strstr(tacit_result_text(checked), "concave where a convex"));
            assert_true(was_told || (tacit_result_holds(checked) == 1) == (t == 1));
            tacit_result_free(checked);
        }
        assert_true(last_look > 5);
        tacit_problem_free(problem);
    }
}

static void an_interrupted_solve_is_an_outcome(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(two_agents);
    tacit_result *result = NULL;
    tacit_solution solution = {.size = sizeof solution};
    int asked = 0;
    tacit_options options;
    tacit_options_default(&options, sizeof options);
    options.interrupted = stop_at_once;
    options.context = &asked;
    assert_int_equal(tacit_solve(problem, &options, &result, NULL), TACIT_OK);
    assert_int_equal(asked, 1); /* and not again */
    assert_true(tacit_result_interrupted(result));
    assert_int_equal(tacit_result_solution(result, &solution), TACIT_OK);
    assert_string_equal(solution.outcome, "interrupted");
    tacit_result_free(result);
    tacit_problem_free(problem);
}

typedef struct counting {
    int progress, warnings, asked, fails_at;
    tacit_problem *problem;
    tacit_status inner;
} counting;

static int fail_at(void *context, const char *what, double fraction) {
    counting *c = context;
    (void)what;
    assert_true(fraction >= 0 && fraction <= 1);
    return ++c->progress >= c->fails_at;
}

static int count_asked(void *context) {
    ((counting *)context)->asked++;
    return 0;
}

static void no_callback_comes_after_one_that_failed(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(two_agents);
    for (int at = 1; at <= 2; at++) {
        counting c = {.fails_at = at};
        tacit_result *result = NULL;
        tacit_options options;
        char *message = NULL;
        tacit_options_default(&options, sizeof options);
        options.progress = fail_at;
        options.interrupted = count_asked;
        options.context = &c;
        assert_int_equal(tacit_solve(problem, &options, &result, &message), TACIT_CALLBACK_FAILED);
        assert_null(result);
        assert_int_equal(c.progress, at);
        assert_non_null(strstr(message, tacit_status_text(TACIT_CALLBACK_FAILED)));
        assert_int_equal(message[strlen(message) - 1], '\n');
        tacit_text_free(message);
    }
    tacit_problem_free(problem);
}

static int call_back(void *context, const char *what, double fraction) {
    counting *c = context;
    tacit_result *result = NULL;
    (void)what;
    (void)fraction;
    c->inner = tacit_check(c->problem, NULL, &result, NULL);
    assert_null(result);
    return 0;
}

static void a_problem_in_use_is_busy(void **state) {
    (void)state;
    counting c = {.problem = problem_of(two_agents)};
    tacit_result *result = NULL;
    tacit_options options;
    tacit_options_default(&options, sizeof options);
    options.progress = call_back;
    options.context = &c;
    assert_int_equal(tacit_solve(c.problem, &options, &result, NULL), TACIT_OK);
    assert_int_equal(c.inner, TACIT_BUSY);
    tacit_result_free(result);
    assert_int_equal(tacit_solve(c.problem, NULL, &result, NULL), TACIT_OK); /* and free again */
    tacit_result_free(result);
    tacit_problem_free(c.problem);
}

static void freeing_nothing_is_allowed(void **state) {
    (void)state;
    tacit_problem_free(NULL);
    tacit_result_free(NULL);
    tacit_text_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_problem_says_its_sizes_and_names),
        cmocka_unit_test(a_check_tells_convex_from_smooth),
        cmocka_unit_test(an_equality_has_a_multiplier_of_either_sign),
        cmocka_unit_test(a_broken_text_gives_a_message_and_no_problem),
        cmocka_unit_test(checking_gives_a_verdict_and_texts),
        cmocka_unit_test(solving_gives_the_saddle_point),
        cmocka_unit_test(planning_gives_scales_observers_and_a_certificate),
        cmocka_unit_test(a_promise_overrides_the_file_and_leaves_it_as_it_was),
        cmocka_unit_test(what_does_not_hold_has_a_reason),
        cmocka_unit_test(the_header_says_the_version),
        cmocka_unit_test(wrong_words_and_numbers_are_named),
        cmocka_unit_test(all_that_a_run_lacks_is_named_at_once),
        cmocka_unit_test(wishes_that_would_change_nothing_are_refused),
        cmocka_unit_test(nothing_in_the_place_of_something_is_bad_usage),
        cmocka_unit_test(a_result_of_another_kind_has_no_such_facts),
        cmocka_unit_test(structs_of_other_sizes),
        cmocka_unit_test(a_check_can_be_interrupted_at_every_look),
        cmocka_unit_test(an_interrupted_solve_is_an_outcome),
        cmocka_unit_test(no_callback_comes_after_one_that_failed),
        cmocka_unit_test(a_problem_in_use_is_busy),
        cmocka_unit_test(freeing_nothing_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
