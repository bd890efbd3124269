/* Every entry point that computes says so where arithmetic is not that of the proofs. */
#include "support/arithmetic.h"
#include "support/cmocka.h"

#include <tacit/agent.h>
#include <tacit/tacit.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char TEXT[] = "agent a {\n state x in [0, 1]\n private minimize x^2\n}\n"
                           "agent b {\n state y in [0, 1]\n private minimize y^2\n}\n"
                           "constraint c: a.x + b.y <= 1\n";

static const tacit_source SOURCE = {.size = sizeof SOURCE, .path = "a.tacit", .text = TEXT, .length = sizeof TEXT - 1};

static void entry_points_refuse_other_arithmetic(void **state) {
    (void)state;
    tacit_problem *good = NULL;
    char *message = NULL;
    assert_int_equal(tacit_problem_make(&SOURCE, &good, &message), TACIT_OK);
    tacit_result *before = NULL;
    assert_int_equal(tacit_check(good, NULL, &before, NULL), TACIT_OK);
    for (size_t i = 0; i < TWEAKS; i++) {
        tacit_problem *problem = good;
        tacit_result *checking = NULL, *solution = NULL, *plan = NULL, *run = NULL, *sweep = NULL, *bound = NULL,
                     *audit = NULL;
        tacit_agent *agent = NULL;
        char *agent_message = NULL;
        const char *paths[] = {"a.tacit"};
        tweak_begin(&tweaks[i]);
        tacit_status parsed = tacit_problem_make(&SOURCE, &problem, &message);
        const tacit_status refused[] = {
            tacit_check(good, NULL, &checking, NULL),          tacit_solve(good, NULL, &solution, NULL),
            tacit_plan(good, NULL, NULL, &plan, NULL),         tacit_run(good, NULL, NULL, NULL, &run, NULL),
            tacit_sweep(good, NULL, NULL, NULL, &sweep, NULL), tacit_bound(good, NULL, NAN, NULL, &bound, NULL),
            tacit_audit(good, NULL, NULL, NULL, &audit, NULL)};
        const char *json = tacit_result_json(before);
        tacit_status opened = tacit_agent_open_files(&(tacit_agent_options){0}, paths, 1, &agent, &agent_message);
        tweak_end();
        assert_int_equal(parsed, TACIT_BAD_ARITHMETIC);
        for (size_t r = 0; r < sizeof refused / sizeof refused[0]; r++)
            assert_int_equal(refused[r], TACIT_BAD_ARITHMETIC);
        assert_null(json);
        assert_int_equal(opened, TACIT_BAD_ARITHMETIC);
        assert_null(problem);
        assert_true(checking == NULL && solution == NULL && plan == NULL && run == NULL && sweep == NULL &&
                    bound == NULL && audit == NULL);
        assert_null(agent);
        assert_non_null(strstr(message, tweaks[i].says));
        assert_non_null(strstr(agent_message, tweaks[i].says));
        free(message);
        free(agent_message);
    }
    assert_non_null(tacit_result_json(before));
    tacit_result_free(before);
    tacit_problem_free(good);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entry_points_refuse_other_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
