/* A small problem, and every public function that works on one, called the same way. */
#ifndef TC_TESTS_API_COMMANDS_H
#define TC_TESTS_API_COMMANDS_H

#include "support/cmocka.h"

#include <tacit/tacit.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* With a warning: rounds are too few. */
static const char homes_text[] =
    "agents home[i in 1..3] {\n  state p[2] in [0, 4]\n  private minimize sumsq(p - [1, i])\n}\n"
    "constraint feeder[t in 1..2]: sum(home: p[t]) <= 5\ndual radius 8\n"
    "privacy { mechanism laplace; epsilon 1; adjacency one 0.5 }\n"
    "schedule { alpha 0.5 k^-0.1; gamma 0.1 k^-0.6; rounds 20 }\n";

static inline tacit_problem *problem_of(const char *text) {
    tacit_problem *problem = NULL;
    char *message = NULL;
    tacit_source source = {.size = sizeof source, .path = "homes.tacit", .text = text, .length = strlen(text)};
    tacit_status status = tacit_problem_make(&source, &problem, &message);
    if (status != TACIT_OK)
        fail_msg("%s", message == NULL ? tacit_status_text(status) : message);
    assert_null(message);
    return problem;
}

static inline tacit_promise promise_of_seed(uint64_t seed) {
    tacit_promise promise;
    tacit_promise_default(&promise, sizeof promise);
    promise.simulate = 1;
    promise.seed = seed;
    return promise;
}

static inline tacit_options default_options(void) {
    tacit_options options;
    tacit_options_default(&options, sizeof options);
    options.threads = 2;
    return options;
}

/* row: for a function that tells rows; NULL for none. */
typedef int row_callback(void *context, const tacit_row *row);
typedef tacit_status command(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                             row_callback *row, tacit_result **result, char **message);

static inline tacit_status do_check(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                                    row_callback *row, tacit_result **result, char **message) {
    (void)promise;
    (void)row;
    return tacit_check(problem, options, result, message);
}

static inline tacit_status do_solve(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                                    row_callback *row, tacit_result **result, char **message) {
    (void)promise;
    (void)row;
    return tacit_solve(problem, options, result, message);
}

static inline tacit_status do_plan(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                                   row_callback *row, tacit_result **result, char **message) {
    (void)row;
    return tacit_plan(problem, promise, options, result, message);
}

static inline tacit_status do_run(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                                  row_callback *row, tacit_result **result, char **message) {
    tacit_run_options how;
    tacit_run_options_default(&how, sizeof how);
    how.row = row;
    how.keep_row_states = 1;
    return tacit_run(problem, promise, &how, options, result, message);
}

static inline tacit_status do_many(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                                   row_callback *row, tacit_result **result, char **message) {
    tacit_run_options how;
    tacit_run_options_default(&how, sizeof how);
    (void)row;
    how.seeds = 3;
    how.keep_states = 1;
    return tacit_run(problem, promise, &how, options, result, message);
}

static inline tacit_status do_sweep(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                                    row_callback *row, tacit_result **result, char **message) {
    const double epsilons[] = {0.5, 1, 2};
    tacit_sweep_options how;
    tacit_sweep_options_default(&how, sizeof how);
    (void)row;
    how.epsilons = epsilons;
    how.epsilon_count = 3;
    how.seeds = 2;
    return tacit_sweep(problem, promise, &how, options, result, message);
}

static inline tacit_status do_advise(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                                     row_callback *row, tacit_result **result, char **message) {
    tacit_advise_options how;
    tacit_advise_options_default(&how, sizeof how);
    (void)row;
    how.doubt = "10%";
    return tacit_advise(problem, promise, &how, options, result, message);
}

static inline tacit_status do_bound(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                                    row_callback *row, tacit_result **result, char **message) {
    (void)row;
    return tacit_bound(problem, promise, 0.5, options, result, message);
}

static inline tacit_status do_audit(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                                    row_callback *row, tacit_result **result, char **message) {
    tacit_audit_options how;
    tacit_audit_options_default(&how, sizeof how);
    (void)row;
    how.samples = 20;
    return tacit_audit(problem, promise, &how, options, result, message);
}

static inline tacit_status do_split(tacit_problem *problem, const tacit_promise *promise, const tacit_options *options,
                                    row_callback *row, tacit_result **result, char **message) {
    (void)promise;
    (void)row;
    return tacit_split(problem, NULL, 0, options, result, message);
}

static const struct {
    const char *name;
    command *call;
    bool has_promise;
} commands[] = {{"check", do_check, false},  {"solve", do_solve, false}, {"plan", do_plan, true},
                {"advise", do_advise, true}, {"run", do_run, true},      {"many", do_many, true},
                {"sweep", do_sweep, true},   {"bound", do_bound, true},  {"audit", do_audit, true},
                {"split", do_split, false}};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* With the times taken out, which are never the same. */
static inline char *without_times(const char *json) {
    static const char *const keys[] = {
        "seconds\": ", "\"load\": ", "\"analyse\": ", "\"solve\": ", "\"run\": ", "\"compare\": "};
    char *copy = strdup(json);
    assert_non_null(copy);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        for (char *at = copy; (at = strstr(at, keys[i])) != NULL;) {
            at += strlen(keys[i]);
            size_t length = strspn(at, "0123456789.e+-");
            memmove(at, at + length, strlen(at + length) + 1);
        }
    }
    return copy;
}

#endif
