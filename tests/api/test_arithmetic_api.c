/* Every entry point that computes says so where arithmetic is not that of the proofs. */
#include "support/arithmetic.h"
#include "support/cmocka.h"

#include <tacit/agent.h>
#include <tacit/tacit.h>

#include <stdlib.h>
#include <string.h>

static const char TEXT[] = "agent a {\n state x in [0, 1]\n private minimize x^2\n}\n"
                           "agent b {\n state y in [0, 1]\n private minimize y^2\n}\n"
                           "constraint c: a.x + b.y <= 1\n";

static void entry_points_refuse_other_arithmetic(void **state) {
    (void)state;
    tacit_problem *good = NULL;
    char *message = NULL;
    assert_int_equal(tacit_problem_parse("a.tacit", TEXT, sizeof TEXT - 1, &good, &message), TACIT_OK);
    for (size_t i = 0; i < TWEAKS; i++) {
        tacit_problem *problem = good;
        tacit_report *report = NULL;
        tacit_solution *solution = NULL;
        tacit_agent *agent = NULL;
        char *agent_message = NULL;
        const char *paths[] = {"a.tacit"};
        tweak_begin(&tweaks[i]);
        tacit_status parsed = tacit_problem_parse("a.tacit", TEXT, sizeof TEXT - 1, &problem, &message);
        tacit_status checked = tacit_check(good, NULL, &report);
        tacit_status solved = tacit_solve(good, NULL, &solution);
        tacit_status opened = tacit_agent_open_files(&(tacit_agent_options){0}, paths, 1, &agent, &agent_message);
        tweak_end();
        assert_int_equal(parsed, TACIT_BAD_ARITHMETIC);
        assert_int_equal(checked, TACIT_BAD_ARITHMETIC);
        assert_int_equal(solved, TACIT_BAD_ARITHMETIC);
        assert_int_equal(opened, TACIT_BAD_ARITHMETIC);
        assert_null(problem);
        assert_null(report);
        assert_null(solution);
        assert_null(agent);
        assert_non_null(strstr(message, tweaks[i].says));
        assert_non_null(strstr(agent_message, tweaks[i].says));
        free(message);
        free(agent_message);
    }
    tacit_report *report = NULL;
    assert_int_equal(tacit_check(good, NULL, &report), TACIT_OK);
    tacit_report_free(report);
    tacit_problem_free(good);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entry_points_refuse_other_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
