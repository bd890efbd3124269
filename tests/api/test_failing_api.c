/* Fails the n-th allocation of a public function, for many n: the status says so, there is no result, nothing leaks,
 * and the same problem then gives the same result as ever. */
#include "base/arena.h"
#include "support/cmocka.h"
#include "support/failing.h"
#include "support/random.h"

#include <tacit/tacit.h>

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef EVERY   /* test_failing_api_long.c: more */
#define EVERY 6 /* allocations that fail one by one; beyond, in growing strides */
#endif

/* ---- the functions ---- */

static const char homes[] = "private param weight = 0.5\n"
                            "agents home[i in 1..3] {\n  state x in [0, 4]\n  private minimize weight * (x - i)^2\n}\n"
                            "constraint feeder: sum(home: x) <= 4\ndual radius 8\n"
                            "schedule { alpha 0.5 k^-0.1; gamma 0.1 k^-0.6; rounds 20 }\n"
                            "privacy { mechanism laplace; epsilon 1; adjacency one 1 }\n";
static const tacit_source source = {
    .size = sizeof source, .path = "homes.tacit", .text = homes, .length = sizeof homes - 1};

typedef tacit_status call(tacit_problem *problem, tacit_result **result, char **message);

static tacit_promise seeded(void) {
    tacit_promise promise;
    tacit_promise_default(&promise, sizeof promise);
    promise.simulate = 1;
    promise.seed = 7;
    return promise;
}

static tacit_status call_check(tacit_problem *problem, tacit_result **result, char **message) {
    return tacit_check(problem, NULL, result, message);
}

static tacit_status call_solve(tacit_problem *problem, tacit_result **result, char **message) {
    return tacit_solve(problem, NULL, result, message);
}

static tacit_status call_plan(tacit_problem *problem, tacit_result **result, char **message) {
    tacit_promise promise = seeded();
    promise.ledger = TACIT_SOURCE_DIR "/tests/cli/ledger";
    return tacit_plan(problem, &promise, NULL, result, message);
}

static tacit_status call_bound(tacit_problem *problem, tacit_result **result, char **message) {
    return tacit_bound(problem, NULL, 0.5, NULL, result, message);
}

static tacit_status call_audit(tacit_problem *problem, tacit_result **result, char **message) {
    const tacit_audit_options how = {.size = sizeof how, .samples = 20};
    tacit_promise promise = seeded();
    return tacit_audit(problem, &promise, &how, NULL, result, message);
}

static tacit_status call_run(tacit_problem *problem, tacit_result **result, char **message) {
    const tacit_run_options how = {.size = sizeof how};
    tacit_options options;
    tacit_promise promise = seeded();
    tacit_options_default(&options, sizeof options);
    options.threads = 1;
    promise.rounds = 3;
    return tacit_run(problem, &promise, &how, &options, result, message);
}

static tacit_status call_many(tacit_problem *problem, tacit_result **result, char **message) {
    const tacit_run_options how = {.size = sizeof how, .seeds = 3, .keep_states = 1, .keep_row_states = 1};
    tacit_options options;
    tacit_promise promise = seeded();
    tacit_options_default(&options, sizeof options);
    options.threads = 2;
    promise.rounds = 3;
    return tacit_run(problem, &promise, &how, &options, result, message);
}

static tacit_status call_sweep(tacit_problem *problem, tacit_result **result, char **message) {
    const double epsilons[] = {0.5, 1, 2};
    tacit_sweep_options how;
    tacit_options options;
    tacit_promise promise = seeded();
    tacit_sweep_options_default(&how, sizeof how);
    tacit_options_default(&options, sizeof options);
    options.threads = 1;
    how.epsilons = epsilons;
    how.epsilon_count = 3;
    how.seeds = 2;
    promise.rounds = 3;
    return tacit_sweep(problem, &promise, &how, &options, result, message);
}

static tacit_status call_split(tacit_problem *problem, tacit_result **result, char **message) {
    return tacit_split(problem, NULL, 0, NULL, result, message);
}

static tacit_status call_ledger(tacit_problem *problem, tacit_result **result, char **message) {
    (void)problem;
    return tacit_ledger(TACIT_SOURCE_DIR "/tests/cli/ledger", result, message);
}

/* JSON up to how long it took, which an audit says at its end. */
static char *json_of(tacit_result *result) {
    const char *json = tacit_result_json(result);
    assert_non_null(json);
    char *copy = strdup(json), *seconds = strstr(copy, "\"seconds\":");
    if (seconds != NULL)
        *seconds = '\0';
    return copy;
}

static char *whole(call *make, tacit_problem *problem) {
    tacit_result *result = NULL;
    assert_int_equal(make(problem, &result, NULL), TACIT_OK);
    char *json = json_of(result);
    tacit_result_free(result);
    return json;
}

/* False: n allocations are enough. */
static bool cut_short(call *make, tacit_problem *problem, long n) {
    tacit_result *result = NULL;
    char *message = NULL;
    atomic_store(&has_failed, false);
    atomic_store(&countdown, n);
    tacit_status status = make(problem, &result, &message);
    const char *json = status == TACIT_OK ? tacit_result_json(result) : NULL;
    const char *text = status == TACIT_OK ? tacit_result_text(result) : NULL;
    atomic_store(&countdown, -1);
    bool is_cut = atomic_load(&has_failed);
    if (status == TACIT_OK) {
        assert_true(result != NULL && message == NULL);
        assert_true(is_cut || (json != NULL && text != NULL));
    } else {
        assert_true(is_cut && result == NULL);
        assert_int_equal(status, TACIT_NO_MEMORY);
    }
    tacit_text_free(message);
    tacit_result_free(result);
    return is_cut;
}

static long next_number(long n) { return n + (n < EVERY ? 1 : n / EVERY + 1); }

static void torture(call *make, allocator which) {
    tacit_problem *problem = NULL;
    assert_int_equal(tacit_problem_make(&source, &problem, NULL), TACIT_OK);
    char *expected = whole(make, problem);
    failing = which;
    bool is_cut = true;
    for (long n = 0; is_cut; n = next_number(n)) {
        AT_CASE(n);
        tacit_problem *fresh = NULL; /* its derivatives are not there yet */
        assert_int_equal(tacit_problem_make(&source, &fresh, NULL), TACIT_OK);
        is_cut = cut_short(make, fresh, n);
        (void)cut_short(make, problem, n);
        if (n % 7 == 0) {
            char *again = whole(make, n % 2 == 0 ? fresh : problem);
            assert_string_equal(again, expected);
            free(again);
        }
        tacit_problem_free(fresh);
    }
    free(expected);
    tacit_problem_free(problem);
}

#define TORTURE(name)                                                                                                  \
    static void name##_without_memory(void **state) {                                                                  \
        (void)state;                                                                                                   \
        torture(call_##name, MALLOC);                                                                                  \
        torture(call_##name, ARENA);                                                                                   \
    }
TORTURE(check)
TORTURE(solve)
TORTURE(plan)
TORTURE(bound)
TORTURE(audit)
TORTURE(split)
TORTURE(run)
TORTURE(many)
TORTURE(sweep)
TORTURE(ledger)

/* A trace and a page are whole or not there, and nothing is left beside them. */
static void files_without_memory(void **state) {
    (void)state;
    char folder[] = "/tmp/tacit-failing-api-XXXXXX", trace[64], page[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(trace, sizeof trace, "%s/t.csv", folder);
    (void)snprintf(page, sizeof page, "%s/p.html", folder);
    tacit_problem *problem = NULL;
    assert_int_equal(tacit_problem_make(&source, &problem, NULL), TACIT_OK);
    for (failing = MALLOC; failing <= ARENA; failing++) {
        bool is_cut = true;
        for (long n = 0; is_cut; n = next_number(n)) {
            AT_CASE(n);
            tacit_result *result = NULL, *made = NULL;
            char *message = NULL;
            assert_int_equal(call_many(problem, &result, NULL), TACIT_OK);
            atomic_store(&has_failed, false);
            atomic_store(&countdown, n);
            tacit_status status = tacit_result_write_trace(result, trace, "a program", &message);
            if (status == TACIT_OK)
                status = tacit_result_write_report(result, page, NULL, &message);
            if (status == TACIT_OK)
                status = tacit_report((const char *[]){trace}, 1, page, NULL, NULL, &made, &message);
            atomic_store(&countdown, -1);
            is_cut = atomic_load(&has_failed);
            assert_true(is_cut ? status == TACIT_NO_MEMORY || status == TACIT_CANNOT_WRITE ||
                                     status == TACIT_CANNOT_READ || (failing == MALLOC && status == TACIT_OK)
                               : status == TACIT_OK);
            tacit_text_free(message);
            tacit_result_free(made);
            tacit_result_free(result);
            (void)unlink(trace);
            (void)unlink(page);
            assert_int_equal(rmdir(folder), 0); /* it is empty */
            assert_int_equal(mkdir(folder, 0700), 0);
        }
    }
    tacit_problem_free(problem);
    assert_int_equal(rmdir(folder), 0);
}

static void problems_without_memory(void **state) {
    (void)state;
    for (failing = MALLOC; failing <= ARENA; failing++) {
        bool is_cut = true;
        for (long n = 0; is_cut; n = next_number(n)) {
            AT_CASE(n);
            tacit_problem *problem = NULL;
            char *message = NULL, name[8];
            atomic_store(&has_failed, false);
            atomic_store(&countdown, n);
            tacit_status status = tacit_problem_make(&source, &problem, &message);
            tacit_status named =
                status == TACIT_OK ? tacit_problem_agent_name(problem, 0, name, sizeof name) : TACIT_OK;
            atomic_store(&countdown, -1);
            is_cut = atomic_load(&has_failed);
            assert_int_equal(status == TACIT_OK ? named : status, is_cut ? TACIT_NO_MEMORY : TACIT_OK);
            assert_int_equal(problem != NULL, status == TACIT_OK);
            tacit_text_free(message);
            tacit_problem_free(problem);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problems_without_memory), cmocka_unit_test(check_without_memory),
        cmocka_unit_test(solve_without_memory),    cmocka_unit_test(plan_without_memory),
        cmocka_unit_test(bound_without_memory),    cmocka_unit_test(audit_without_memory),
        cmocka_unit_test(run_without_memory),      cmocka_unit_test(many_without_memory),
        cmocka_unit_test(files_without_memory),    cmocka_unit_test(sweep_without_memory),
        cmocka_unit_test(split_without_memory),    cmocka_unit_test(ledger_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
