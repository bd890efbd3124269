/* A call of OpenSSL fails during a round: multipliers are those of a run without failures, or the run ends for good. */
#include "engine/runs.h"
#include "noise/failing.h"

#include <limits.h>

enum { ROUNDS = 3, MOST_ROWS = 8 };

static const char *const PROBLEMS[] = {
    AGENTS_ALONE "dual radius 10\nschedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 100 }\n",
    MANY_ALIKE_AND_SOME_NAMED "dual radius 10\nschedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 100 }\n"};

/* Advances round by round, also after a failure; how many were done. */
static size_t advance(tc_engine *engine, size_t rows, double mu[ROUNDS][MOST_ROWS]) {
    size_t done = 0;
    bool has_failed = false;
    for (uint64_t k = 0; k < ROUNDS; k++) {
        tc_engine_outcome outcome;
        bool good = tc_engine_advance(engine, k + 1, NULL, &outcome) == TC_OK && outcome == TC_ENGINE_DONE;
        assert_false(good && has_failed);
        has_failed = has_failed || !good;
        if (good)
            memcpy(mu[done++], tc_engine_multipliers(engine), rows * sizeof(double));
    }
    return done;
}

static void a_run_goes_on_with_its_noise_or_not_at_all(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        planned p = planned_problem("failing.tacit", PROBLEMS[i]);
        tc_plan *plan = run_plan(&p, TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, TC_TIGHT);
        size_t rows = p.model->constraint_count;
        double expected[ROUNDS][MOST_ROWS] = {{0}};
        tc_engine *engine = run_engine(p.arena, &p, plan, 10, NULL, i == 0 ? TC_DRIVER_SMALL : TC_DRIVER_LARGE);
        fail_calls(0, 0);
        assert_int_equal(advance(engine, rows, expected), ROUNDS);
        unsigned long calls = failing.calls, failures = 0, step = 1 + calls / 40;
        for (unsigned long n = 1; n <= calls; n += step) {
            AT_CASE(n);
            double got[ROUNDS][MOST_ROWS];
            tc_arena *arena = tc_arena_new(0);
            engine = run_engine(arena, &p, plan, 10, NULL, i == 0 ? TC_DRIVER_SMALL : TC_DRIVER_LARGE);
            fail_calls(n, n);
            size_t done = advance(engine, rows, got);
            fail_calls(0, 0);
            for (size_t k = 0; k < done; k++)
                assert_memory_equal(got[k], expected[k], rows * sizeof(double));
            failures += done < ROUNDS;
            tc_arena_free(arena);
        }
        assert_true(failures > 3); /* the measure works */
        planned_end(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_run_goes_on_with_its_noise_or_not_at_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
