#include "support/cmocka.h"

#include <tacit/tacit.h>

#include <math.h>
#include <string.h>

static const char two_agents[] = "agent left {\n  state x in [0, 4]\n  private minimize (x - 3)^2\n}\n"
                                 "agents pair[i in 1..2] {\n  state y[2] in [0, 4]\n"
                                 "  private minimize sumsq(y - [1, i])\n}\n"
                                 "constraint shared: left.x + sum(pair: y[1]) <= 4\n";

static tacit_problem *problem_of(const char *text) {
    tacit_problem *problem = NULL;
    char *message = NULL;
    tacit_status status = tacit_problem_parse("test.tacit", text, strlen(text), &problem, &message);
    if (status != TACIT_OK)
        fail_msg("%s", message == NULL ? tacit_status_text(status) : message);
    assert_null(message);
    return problem;
}

static void a_problem_says_its_sizes_and_names(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(two_agents);
    char name[64];
    assert_int_equal(tacit_problem_agents(problem), 3);
    assert_int_equal(tacit_problem_states(problem), 5);
    assert_int_equal(tacit_problem_constraints(problem), 1);
    assert_int_equal(tacit_problem_agent_states(problem, 0), 1);
    assert_int_equal(tacit_problem_agent_states(problem, 2), 2);
    assert_int_equal(tacit_problem_agent_states(problem, 3), 0);
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
    assert_int_equal(tacit_problem_parse("broken.tacit", text, strlen(text), &problem, &message), TACIT_BAD_PROBLEM);
    assert_null(problem);
    assert_non_null(message);
    assert_non_null(strstr(message, "broken.tacit:3:"));
    tacit_text_free(message);
    assert_int_equal(tacit_problem_parse("broken.tacit", text, strlen(text), &problem, NULL), TACIT_BAD_PROBLEM);
    assert_int_equal(tacit_problem_load("/nowhere.tacit", &problem, NULL), TACIT_BAD_USAGE);
}

static void checking_gives_a_verdict_and_texts(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(two_agents);
    for (int again = 0; again < 2; again++) {
        tacit_report *report = NULL;
        assert_int_equal(tacit_check(problem, NULL, &report), TACIT_OK);
        assert_true(tacit_report_holds(report));
        assert_non_null(strstr(tacit_report_json(report), "\"lipschitz\""));
        assert_true(strlen(tacit_report_text(report)) > 0);
        tacit_report_free(report);
    }
    tacit_problem_free(problem);
}

/* (x - 3)^2 + 2 (y - 1)^2 with x + 2y = 4: x = 3 - m/2, y = 1 - m/2, so 5 - 3m/2 = 4 and m = 2/3. */
static void solving_gives_the_saddle_point(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(two_agents);
    tacit_solution *solution = NULL;
    double x[2];
    assert_int_equal(tacit_solve(problem, NULL, &solution), TACIT_OK);
    assert_int_equal(tacit_solution_outcome(solution), TACIT_SOLVED);
    assert_true(tacit_solution_residual(solution) <= 1e-8);
    assert_true(fabs(tacit_solution_mu(solution)[0] - 2.0 / 3.0) < 1e-7);
    assert_true(fabs(tacit_solution_objective(solution) - 1.0 / 3.0) < 1e-7);
    assert_int_equal(tacit_solution_x(solution, 0, x), TACIT_OK);
    assert_true(fabs(x[0] - 8.0 / 3.0) < 1e-7);
    assert_int_equal(tacit_solution_x(solution, 2, x), TACIT_OK);
    assert_true(fabs(x[0] - 2.0 / 3.0) < 1e-7 && fabs(x[1] - 2.0) < 1e-7);
    assert_int_equal(tacit_solution_x(solution, 3, x), TACIT_BAD_USAGE);
    assert_non_null(strstr(tacit_solution_json(solution), "\"pair[2]\""));
    tacit_solution_free(solution);
    tacit_problem_free(problem);
}

static int stop_at_once(void *context) {
    ++*(int *)context;
    return 1;
}

static void an_interrupted_solve_is_an_outcome(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(two_agents);
    tacit_solution *solution = NULL;
    int asked = 0;
    tacit_options options = {.interrupted = stop_at_once, .context = &asked};
    assert_int_equal(tacit_solve(problem, &options, &solution), TACIT_OK);
    assert_true(asked > 0);
    assert_int_equal(tacit_solution_outcome(solution), TACIT_OUTCOME_INTERRUPTED);
    tacit_solution_free(solution);
    tacit_problem_free(problem);
}

static void freeing_nothing_is_allowed(void **state) {
    (void)state;
    tacit_problem_free(NULL);
    tacit_report_free(NULL);
    tacit_solution_free(NULL);
    tacit_text_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_problem_says_its_sizes_and_names),
        cmocka_unit_test(a_broken_text_gives_a_message_and_no_problem),
        cmocka_unit_test(checking_gives_a_verdict_and_texts),
        cmocka_unit_test(solving_gives_the_saddle_point),
        cmocka_unit_test(an_interrupted_solve_is_an_outcome),
        cmocka_unit_test(freeing_nothing_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
