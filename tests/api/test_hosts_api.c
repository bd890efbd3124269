/* labels: not-clang threads */
/* The program around the library: its callbacks fail, call back and interrupt; it has threads, forks, and keeps results
 * and problems for long. */
#include "api/commands.h"
#include "api/result.h"
#include "support/random.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* With something to warn of. */
static const char warned_text[] = "agents home[i in 1..3] {\n  state p in [0, 4]\n  private minimize (p - i)^2\n}\n"
                                  "constraint feeder: sum(home: p) <= 5\ndual radius 0.1\n"
                                  "privacy { mechanism laplace; epsilon 1; adjacency one 0.5 }\n"
                                  "schedule { alpha 0.5 k^-0.1; gamma 0.1 k^-0.6; rounds 20 }\n";

/* ---- callbacks that fail or interrupt ---- */

typedef struct host {
    long calls, fails_at, stops_at; /* 0: never */
    bool has_failed, has_stopped, called_after;
} host;

static int count_call(host *h) {
    h->called_after = h->called_after || h->has_failed;
    h->calls++;
    h->has_failed = h->has_failed || h->calls == h->fails_at;
    return h->calls == h->fails_at;
}

static int on_progress(void *context, const char *what, double fraction) {
    assert_true(what != NULL && fraction >= 0 && fraction <= 1);
    return count_call(context);
}

static int on_warning(void *context, const char *line) {
    assert_true(line != NULL && strchr(line, '\n') == NULL);
    return count_call(context);
}

static int on_row(void *context, const tacit_row *row) {
    assert_true(row->size == sizeof *row && row->constraints > 0 && row->g != NULL && row->mu != NULL);
    return count_call(context);
}

static int on_question(void *context) {
    host *h = context;
    h->called_after = h->called_after || h->has_failed || h->has_stopped;
    if (h->stops_at == 0)
        return 0;
    h->has_stopped = h->has_stopped || ++h->calls == h->stops_at;
    return h->has_stopped;
}

static tacit_options listening(host *h) {
    tacit_options options = default_options();
    options.context = h;
    options.progress = on_progress;
    options.warning = on_warning;
    options.interrupted = on_question;
    return options;
}

static long next_call(long n) { return n < 12 ? n + 1 : n + n / 4; }

/* The n-th call of any callback fails: for all n or, if there are many, for some. */
static void a_callback_that_fails_is_the_last_one(void **state) {
    (void)state;
    const char *const texts[] = {homes_text, warned_text};
    for (size_t t = 0; t < 2; t++) {
        tacit_problem *problem = problem_of(texts[t]);
        const tacit_promise promise = promise_of_seed(3);
        for (size_t c = 0; c < COMMANDS; c++) {
            bool has_failed = true;
            for (long n = 1; has_failed; n = next_call(n)) {
                AT_CASE(n);
                host h = {.fails_at = n};
                const tacit_options options = listening(&h);
                tacit_result *result = NULL;
                char *message = NULL;
                tacit_status status = commands[c].call(problem, &promise, &options, on_row, &result, &message);
                has_failed = h.has_failed;
                assert_false(h.called_after);
                assert_int_equal(status, has_failed ? TACIT_CALLBACK_FAILED : TACIT_OK);
                assert_int_equal(result == NULL, has_failed);
                assert_int_equal(message != NULL, has_failed);
                tacit_text_free(message);
                tacit_result_free(result);
            }
        }
        tacit_problem_free(problem);
    }
}

/* Every kind of callback was there to fail. */
static void every_function_has_callbacks_to_fail(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes_text);
    const tacit_promise promise = promise_of_seed(3);
    for (size_t c = 0; c < COMMANDS; c++) {
        host h = {0};
        const tacit_options options = listening(&h);
        tacit_result *result = NULL;
        assert_int_equal(commands[c].call(problem, &promise, &options, on_row, &result, NULL), TACIT_OK);
        assert_true(h.calls > 0);
        tacit_result_free(result);
    }
    tacit_problem_free(problem);
}

/* What an interrupted function gives may be asked for everything. */
static void ask(tacit_result *result) {
    double x[8];
    tacit_solution solution = {.size = sizeof solution};
    assert_true(tacit_result_json(result) != NULL && tacit_result_text(result) != NULL);
    if (tacit_result_solution(result, &solution) == TACIT_OK)
        assert_true(solution.mu == NULL || solution.mu[solution.constraints - 1] >= 0);
    for (size_t run = 0; run < 1 + tacit_result_runs(result); run++) {
        tacit_run_facts facts = {.size = sizeof facts};
        if (tacit_result_x(result, run, 0, x, 8) == TACIT_OK)
            for (size_t i = 0; i < 3; i++)
                assert_true(isfinite(x[i]));
        if (tacit_result_run(result, run, &facts) != TACIT_OK)
            continue;
        for (size_t row = 0; row < facts.rows; row++) {
            tacit_row of = {.size = sizeof of};
            assert_int_equal(tacit_result_row(result, run, row, &of), TACIT_OK);
        }
    }
    for (size_t i = 0; i < tacit_result_points(result); i++) {
        tacit_sweep_point point = {.size = sizeof point};
        assert_int_equal(tacit_result_point(result, i, &point), TACIT_OK);
    }
}

static void an_interrupt_at_any_question(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(warned_text);
    const tacit_promise promise = promise_of_seed(3);
    for (size_t c = 0; c < COMMANDS; c++) {
        bool has_stopped = true;
        for (long n = 1; has_stopped; n = next_call(n)) {
            AT_CASE(n);
            host h = {.stops_at = n};
            tacit_options options = default_options();
            options.context = &h;
            options.interrupted = on_question;
            tacit_result *result = NULL;
            char *message = NULL;
            tacit_status status = commands[c].call(problem, &promise, &options, NULL, &result, &message);
            has_stopped = h.has_stopped;
            assert_false(h.called_after);
            assert_true(status == TACIT_OK || (has_stopped && status == TACIT_INTERRUPTED));
            assert_int_equal(result != NULL, status == TACIT_OK);
            assert_int_equal(message != NULL, status != TACIT_OK);
            if (status == TACIT_OK) {
                assert_true(has_stopped || !tacit_result_interrupted(result));
                ask(result);
            }
            tacit_text_free(message);
            tacit_result_free(result);
        }
    }
    tacit_problem_free(problem);
}

static void an_interrupt_while_a_problem_is_made(void **state) {
    (void)state;
    enum { ROWS = 100000 };
    double *wish = calloc(ROWS, sizeof *wish);
    assert_non_null(wish);
    static const char text[] = "data homes = given\nagents home over homes {\n  state x in [0, 4]\n"
                               "  private minimize (x - wish)^2\n}\n";
    const tacit_column column = {"wish", wish, 1, 0, 0};
    const tacit_table table = {"homes", ROWS, &column, 1, NULL};
    bool has_stopped = true;
    for (long n = 1; has_stopped; n = next_call(n)) {
        host h = {.stops_at = n};
        tacit_problem *problem = NULL;
        char *message = NULL;
        const tacit_source source = {.size = sizeof source,
                                     .text = text,
                                     .length = sizeof text - 1,
                                     .tables = &table,
                                     .table_count = 1,
                                     .interrupted = on_question,
                                     .context = &h};
        tacit_status status = tacit_problem_make(&source, &problem, &message);
        has_stopped = h.has_stopped;
        assert_false(h.called_after);
        assert_int_equal(status, has_stopped ? TACIT_INTERRUPTED : TACIT_OK);
        assert_int_equal(problem == NULL, has_stopped);
        tacit_text_free(message);
        tacit_problem_free(problem);
    }
    free(wish);
}

/* ---- callbacks that call back ---- */

typedef struct caller {
    tacit_problem *same, *other;
    long busy, worked;
    bool is_inside;
} caller;

static int call_back(caller *c) {
    tacit_result *result = NULL;
    const tacit_promise promise = promise_of_seed(3);
    if (c->is_inside)
        return 0;
    c->is_inside = true;
    for (size_t i = 0; i < COMMANDS && c->worked < 40; i++) {
        c->busy += commands[i].call(c->same, &promise, NULL, NULL, &result, NULL) == TACIT_BUSY;
        assert_null(result);
    }
    assert_int_equal(tacit_problem_agents(c->same), 3); /* what does not change may be read */
    if (c->worked < 40) {
        assert_int_equal(tacit_plan(c->other, &promise, NULL, &result, NULL), TACIT_OK);
        assert_non_null(tacit_result_json(result));
        tacit_result_free(result);
    }
    c->worked++;
    c->is_inside = false;
    return 0;
}

static int progress_calls(void *context, const char *what, double fraction) {
    (void)what;
    (void)fraction;
    return call_back(context);
}
static int warning_calls(void *context, const char *line) {
    (void)line;
    return call_back(context);
}
static int row_calls(void *context, const tacit_row *row) {
    (void)row;
    return call_back(context);
}
static int question_calls(void *context) { return call_back(context); }

static void a_callback_finds_its_problem_busy_and_another_one_free(void **state) {
    (void)state;
    const tacit_promise promise = promise_of_seed(3);
    for (size_t c = 0; c < COMMANDS; c++) {
        caller with = {.same = problem_of(warned_text), .other = problem_of(homes_text)};
        tacit_options options = default_options();
        tacit_result *result = NULL, *alone = NULL;
        options.context = &with;
        options.progress = progress_calls;
        options.warning = warning_calls;
        options.interrupted = question_calls;
        assert_int_equal(commands[c].call(with.same, &promise, &options, row_calls, &result, NULL), TACIT_OK);
        assert_true(with.worked > 0);
        assert_int_equal(with.busy, COMMANDS * (with.worked < 40 ? with.worked : 40));
        options = default_options(); /* and it is free again */
        assert_int_equal(commands[c].call(with.same, &promise, &options, NULL, &alone, NULL), TACIT_OK);
        char *left = without_times(tacit_result_json(result)), *right = without_times(tacit_result_json(alone));
        assert_string_equal(left, right);
        free(left);
        free(right);
        tacit_result_free(alone);
        tacit_result_free(result);
        tacit_problem_free(with.same);
        tacit_problem_free(with.other);
    }
}

/* ---- threads ---- */

typedef struct worker {
    tacit_problem *problem;
    size_t first;
    long done, busy;
    bool is_wrong;
} worker;

static void *work(void *context) {
    worker *w = context;
    const tacit_promise promise = promise_of_seed(3);
    for (size_t i = 0; i < CASES(18); i++) {
        tacit_options options = default_options();
        options.threads = 1 + i / COMMANDS % 2;
        tacit_result *result = NULL;
        tacit_status status =
            commands[(w->first + i) % COMMANDS].call(w->problem, &promise, &options, NULL, &result, NULL);
        w->done += status == TACIT_OK;
        w->busy += status == TACIT_BUSY;
        w->is_wrong =
            w->is_wrong || (status != TACIT_OK && status != TACIT_BUSY) || (result == NULL) == (status == TACIT_OK);
        w->is_wrong = w->is_wrong || tacit_problem_agents(w->problem) != 3;
        tacit_result_free(result);
    }
    return NULL;
}

/* One problem for two threads, then one each. With one they take turns, or one is told to come again. */
static void two_threads(void **state) {
    (void)state;
    for (size_t problems = 1; problems <= 2; problems++) {
        tacit_problem *problem[] = {problem_of(homes_text), problem_of(homes_text)};
        worker workers[] = {{.problem = problem[0]}, {.problem = problem[problems - 1], .first = 3}};
        pthread_t threads[2];
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_false(workers[0].is_wrong || workers[1].is_wrong);
        assert_true(workers[0].done + workers[1].done > 0);
        assert_true(problems == 1 || workers[0].busy + workers[1].busy == 0);
        tacit_problem_free(problem[0]);
        tacit_problem_free(problem[1]);
    }
}

/* ---- fork ---- */

static char *outputs_of(tacit_problem *problem) {
    const tacit_promise promise = promise_of_seed(3);
    char *all = calloc(1, 1);
    assert_non_null(all);
    for (size_t c = 0; c < COMMANDS; c++) {
        tacit_result *result = NULL;
        assert_int_equal(commands[c].call(problem, &promise, NULL, NULL, &result, NULL), TACIT_OK);
        char *json = without_times(tacit_result_json(result));
        all = realloc(all, strlen(all) + strlen(json) + 1);
        assert_non_null(all);
        strcat(all, json);
        free(json);
        tacit_result_free(result);
    }
    return all;
}

/* The objective at the end of a run with fresh noise. */
static double fresh_end(tacit_problem *problem) {
    tacit_result *result = NULL;
    tacit_run_facts run = {.size = sizeof run};
    assert_int_equal(tacit_run(problem, NULL, NULL, NULL, &result, NULL), TACIT_OK);
    assert_int_equal(tacit_result_run(result, 0, &run), TACIT_OK);
    tacit_row last = {.size = sizeof last};
    assert_int_equal(tacit_result_row(result, 0, run.rows - 1, &last), TACIT_OK);
    tacit_result_free(result);
    return last.objective;
}

/* The same bits for a seed, and fresh noise of its own. */
static void a_forked_child_goes_on_with_its_copy(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes_text);
    tacit_result *plan = NULL;
    assert_int_equal(tacit_plan(problem, NULL, NULL, &plan, NULL), TACIT_OK);
    char *before = outputs_of(problem);
    int wires[2];
    assert_int_equal(pipe(wires), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char *text = outputs_of(problem);
        double end = fresh_end(problem);
        bool same = strcmp(text, before) == 0 && tacit_result_json(plan) != NULL;
        same = same && write(wires[1], &end, sizeof end) == sizeof end;
        tacit_result_free(plan);
        tacit_problem_free(problem);
        _exit(same ? 0 : 1);
    }
    double own = fresh_end(problem), end = 0;
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(wires[0], &end, sizeof end), sizeof end);
    assert_true(end != own);
    char *after = outputs_of(problem);
    assert_string_equal(before, after);
    free(after);
    free(before);
    (void)close(wires[0]);
    (void)close(wires[1]);
    tacit_result_free(plan);
    tacit_problem_free(problem);
}

/* ---- results and problems that live long ---- */

/* Texts are made when first asked for, and what came between does not change them. */
static void texts_do_not_depend_on_when_they_are_asked_for(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes_text);
    const tacit_promise promise = promise_of_seed(3);
    tacit_result *early[COMMANDS], *late[COMMANDS];
    char *json[COMMANDS], *text[COMMANDS];
    for (size_t c = 0; c < COMMANDS; c++) {
        assert_int_equal(commands[c].call(problem, &promise, NULL, NULL, &early[c], NULL), TACIT_OK);
        json[c] = without_times(tacit_result_json(early[c]));
        text[c] = strdup(tacit_result_text(early[c]));
        assert_int_equal(commands[c].call(problem, &promise, NULL, NULL, &late[c], NULL), TACIT_OK);
    }
    tacit_result *plan = NULL, *late_plan = NULL;
    assert_int_equal(tacit_plan(problem, NULL, NULL, &plan, NULL), TACIT_OK);
    assert_int_equal(tacit_plan(problem, NULL, NULL, &late_plan, NULL), TACIT_OK);
    assert_non_null(tacit_plan_certificate(plan, NULL));
    for (size_t c = 0; c < COMMANDS; c++) { /* others come and go */
        tacit_promise other = promise_of_seed(4);
        tacit_result *result = NULL;
        other.rounds = 7;
        if (commands[c].call != do_sweep) /* which has its own */
            other.epsilon = 3;
        other.adjacency = "agent";
        assert_int_equal(commands[c].call(problem, &other, NULL, NULL, &result, NULL), TACIT_OK);
        tacit_result_free(result);
    }
    for (size_t c = COMMANDS; c-- > 0;) {
        char *again = without_times(tacit_result_json(late[c]));
        assert_string_equal(again, json[c]);
        free(again);
        again = without_times(tacit_result_json(early[c]));
        assert_string_equal(again, json[c]);
        free(again);
        if (strstr(text[c], " s\n") == NULL && strstr(text[c], "second") == NULL) /* which are never the same */
            assert_string_equal(tacit_result_text(late[c]), text[c]);
        assert_string_equal(tacit_result_text(early[c]), text[c]);
        tacit_result_free(early[c]); /* in any order */
        free(json[c]);
        free(text[c]);
    }
    for (size_t c = 0; c < COMMANDS; c++)
        tacit_result_free(late[c]);
    assert_string_equal(tacit_plan_certificate(late_plan, NULL), tacit_plan_certificate(plan, NULL));
    tacit_result_free(plan);
    tacit_result_free(late_plan);
    tacit_problem_free(problem);
}

/* The first call of each function may add to a problem, later ones not. */
static void a_problem_does_not_grow_with_its_calls(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes_text);
    size_t before = 0;
    for (unsigned i = 0; i < CASES(25); i++) {
        AT_CASE(i);
        for (size_t c = 0; c < COMMANDS; c++) {
            if (i > 2 && (commands[c].call == do_audit || commands[c].call == do_bound)) /* slow */
                continue;
            tacit_promise promise = promise_of_seed(3 + i);
            if (commands[c].call != do_sweep)
                promise.epsilon = 1 + 0.1 * i;
            tacit_options options = default_options();
            options.threads = 1;
            tacit_result *result = NULL;
            assert_int_equal(commands[c].call(problem, &promise, &options, NULL, &result, NULL), TACIT_OK);
            tacit_result_free(result);
        }
        if (i == 0)
            before = tc_arena_bytes(problem->arena);
        assert_true(tc_arena_bytes(problem->arena) <= before);
    }
    tacit_problem_free(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_callback_that_fails_is_the_last_one),
        cmocka_unit_test(every_function_has_callbacks_to_fail),
        cmocka_unit_test(an_interrupt_at_any_question),
        cmocka_unit_test(an_interrupt_while_a_problem_is_made),
        cmocka_unit_test(a_callback_finds_its_problem_busy_and_another_one_free),
        cmocka_unit_test(two_threads),
        cmocka_unit_test(a_forked_child_goes_on_with_its_copy),
        cmocka_unit_test(texts_do_not_depend_on_when_they_are_asked_for),
        cmocka_unit_test(a_problem_does_not_grow_with_its_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
