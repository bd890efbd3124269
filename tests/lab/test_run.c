#include "analysis/analysis.h"
#include "lab/sweep.h"
#include "solver/problem.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <pthread.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

static const char *const PAIR = "agents a[i in 1..2] { state x in [0, 4]; private minimize (x - 3)^2 }\n"
                                "constraint shared: sum(a: x) <= 4\n"
                                "constraint first: a[1].x^2 <= 9\n"
                                "dual radius 10\n"
                                "privacy { mechanism laplace; epsilon 1; adjacency one 1 }\n"
                                "schedule { alpha 0.01; gamma 0.05 k^-0.51; rounds 200 }\n";
enum { ROUNDS = 200 };

typedef struct bench {
    problem p;
    tc_experiment experiment;
} bench;

static const tc_plan *plan_of(const problem *p, tc_mechanism mechanism, double epsilon) {
    tc_analysis_options facts = {.skip_private = true};
    tc_plan_options options = {.mechanism = mechanism,
                               .method = TC_METHOD_PUBLISHED,
                               .adjacency_bound = NAN,
                               .epsilon = epsilon,
                               .delta = NAN,
                               .rounds = NAN,
                               .seeded = true};
    const tc_analysis *analysis = tc_analysis_run(p->arena, p->model, p->derivatives, &facts, NULL);
    const tc_plan *plan = tc_plan_make(p->arena, p->model, p->derivatives, analysis, &options, NULL);
    assert_null(plan->problem);
    return plan;
}

static bench bench_of(const char *text) {
    bench b = {.p = problem_of(text)};
    size_t count;
    const uint64_t *grid = tc_grid(b.p.arena, ROUNDS, 3, &count);
    b.experiment =
        (tc_experiment){.plan = plan_of(&b.p, TC_MECHANISM_UNSET, NAN),
                        .model = b.p.model,
                        .derivatives = b.p.derivatives,
                        .reference = tc_reference_solve(b.p.arena, b.p.model, b.p.derivatives, 1e-8, 1, NULL),
                        .dual_radius = 10,
                        .rounds = ROUNDS,
                        .grid = grid,
                        .grid_count = count,
                        .threads = 2};
    return b;
}

static tc_record *run_of(bench *b, uint64_t seed, const tc_monitor *monitor) {
    tc_record *record = NULL;
    const char *why = NULL;
    assert_int_equal(tc_lab_run(b->p.arena, &b->experiment, &seed, monitor, &record, &why), TC_OK);
    assert_null(why);
    return record;
}

static void measures_are_those_of_the_functions(void **state) {
    (void)state;
    bench b = bench_of(PAIR);
    tc_measure *measure = tc_measure_new(b.p.arena, b.p.model, b.experiment.reference);
    double g[2], mu[2], x[] = {3.5, 1.25};
    tc_row row = {.constraints = g, .multipliers = mu};
    tc_measure_row(measure, x, (double[]){0.5, 0.25}, &row);
    assert_true(row.objective == 0.25 + 1.75 * 1.75);
    assert_true(g[0] == 0.75 && g[1] == 3.25 && row.max_violation == 3.25);
    assert_true(mu[0] == 0.5 && mu[1] == 0.25);
    assert_true(fabs(row.x_error - hypot(1.5, 0.75)) < 1e-7); /* the solution is at 2 and 2, with prices 2 and 0 */
    assert_true(fabs(row.mu_error - hypot(1.5, 0.25)) < 1e-7);
    x[0] = x[1] = 1;
    tc_measure_row(measure, x, mu, &row);
    assert_true(row.max_violation == 0);
    problem_free(&b.p);
}

static void a_family_larger_than_a_row_of_lanes_is_summed_whole(void **state) {
    (void)state;
    problem p = problem_of("agents a[i in 1..150] { state x in [0, 400]; private minimize i * x }\n"
                           "constraint c: sum(a: x^2) <= 10\n");
    tc_measure *measure = tc_measure_new(p.arena, p.model, NULL);
    double x[150], g, mu = 0, objective = 0, squares = 0;
    for (int i = 0; i < 150; i++) {
        x[i] = 2 * i;
        objective += (i + 1) * x[i];
        squares += x[i] * x[i];
    }
    tc_row row = {.constraints = &g, .multipliers = &mu};
    tc_measure_row(measure, x, &mu, &row);
    assert_true(row.objective == objective && g == squares - 10);
    assert_true(isnan(row.x_error) && isnan(row.mu_error));
    problem_free(&p);
}

static void rows_are_kept_at_the_rounds_of_the_grid(void **state) {
    (void)state;
    bench b = bench_of(PAIR);
    tc_record *record = run_of(&b, 1, NULL);
    assert_int_equal(record->outcome, TC_ENGINE_DONE);
    assert_null(record->reason);
    assert_int_equal(record->rounds, ROUNDS);
    assert_int_equal(record->row_count, b.experiment.grid_count);
    for (size_t i = 0; i < record->row_count; i++)
        assert_int_equal(record->rows[i].k, b.experiment.grid[i]);
    assert_ptr_equal(tc_record_row(record, ROUNDS), tc_record_last(record));
    assert_null(tc_record_row(record, 3));
    assert_memory_equal(tc_record_last(record)->multipliers, record->mu, 2 * sizeof(double));
    problem_free(&b.p);
}

static void what_is_measured_does_not_change_the_run(void **state) {
    (void)state;
    bench b = bench_of(PAIR);
    tc_record *coarse = run_of(&b, 5, NULL);
    b.experiment.grid = tc_grid(b.p.arena, ROUNDS, 0, &b.experiment.grid_count);
    tc_record *fine = run_of(&b, 5, NULL);
    assert_int_equal(fine->row_count, ROUNDS + 1);
    for (size_t i = 0; i < coarse->row_count; i++) {
        const tc_row *row = tc_record_row(fine, coarse->rows[i].k);
        assert_true(row != NULL && row->x_error == coarse->rows[i].x_error);
    }
    assert_memory_equal(fine->x, coarse->x, 2 * sizeof(double));
    problem_free(&b.p);
}

static void nothing_goes_beyond_the_horizon_of_the_plan(void **state) {
    (void)state;
    bench b = bench_of(PAIR);
    tc_record *record = NULL;
    size_t begun = 0;
    const char *why = NULL;
    b.experiment.rounds = ROUNDS + 1;
    assert_int_equal(tc_lab_run(b.p.arena, &b.experiment, &(uint64_t){1}, NULL, &record, &why), TC_BAD_USAGE);
    assert_string_equal(why, "the plan is for 200 rounds, and does not reach round 201");
    why = NULL;
    assert_int_equal(tc_lab_run_many(b.p.arena, &b.experiment, 1, 4, NULL, &record, &begun, &why), TC_BAD_USAGE);
    assert_string_equal(why, "the plan is for 200 rounds, and does not reach round 201");
    problem_free(&b.p);
}

static bool always(void *context) {
    (void)context;
    return true;
}

static void an_interrupt_leaves_the_state_and_a_row_for_it(void **state) {
    (void)state;
    bench b = bench_of(PAIR);
    tc_monitor stop = {.interrupted = always};
    tc_record *record = run_of(&b, 1, &stop), *records = NULL;
    const char *why = NULL;
    assert_int_equal(record->outcome, TC_ENGINE_INTERRUPTED);
    assert_string_equal(record->reason, "stopped on request");
    assert_true(record->rounds < ROUNDS);
    assert_int_equal(tc_record_last(record)->k, record->rounds);
    size_t begun = 7;
    assert_int_equal(tc_lab_run_many(b.p.arena, &b.experiment, 1, 3, &stop, &records, &begun, &why), TC_OK);
    assert_int_equal(begun, 0);
    problem_free(&b.p);
}

static bool after_some(void *context) {
    atomic_uint *left = context;
    unsigned now = atomic_load(left);
    while (now > 0 && !atomic_compare_exchange_weak(left, &now, now - 1))
        continue;
    return now == 0;
}

static void of_many_runs_those_not_begun_take_no_memory_and_leave_no_record(void **state) {
    (void)state;
    enum { MANY = 100000 };
    bench b = bench_of(PAIR);
    atomic_uint left = 500;
    tc_monitor stop = {.interrupted = after_some, .context = &left};
    tc_record *records = NULL;
    const char *why = NULL;
    size_t begun = 0, before = tc_arena_bytes(b.p.arena);
    assert_int_equal(tc_lab_run_many(b.p.arena, &b.experiment, 1, MANY, &stop, &records, &begun, &why), TC_OK);
    assert_in_range(begun, 1, 500);
    assert_true(tc_arena_bytes(b.p.arena) - before < 2 * MANY * (sizeof(tc_record) + 64));
    for (size_t i = 0; i < begun; i++) {
        assert_true(records[i].row_count > 0 && records[i].seeded && records[i].seed > i);
        assert_true(i == 0 || records[i].seed > records[i - 1].seed);
    }
    problem_free(&b.p);
}

static void many_runs_are_the_single_ones_and_keep_the_first_state(void **state) {
    (void)state;
    bench b = bench_of(PAIR);
    tc_record *records = NULL;
    size_t begun = 0;
    const char *why = NULL;
    assert_int_equal(tc_lab_run_many(b.p.arena, &b.experiment, 7, 5, NULL, &records, &begun, &why), TC_OK);
    for (size_t i = 0; i < 5; i++) {
        tc_record *alone = run_of(&b, 7 + i, NULL);
        assert_int_equal(records[i].seed, 7 + i);
        assert_memory_equal(records[i].mu, alone->mu, 2 * sizeof(double));
        assert_true(i == 0 ? memcmp(records[0].x, alone->x, 2 * sizeof(double)) == 0 : records[i].x == NULL);
    }
    problem_free(&b.p);
}

static void counts_rows(void *context, const tc_record *record, const tc_row *row) {
    size_t *count = context;
    assert_ptr_equal(row, &record->rows[*count]);
    ++*count;
}

static void a_listener_hears_the_rows_of_a_single_run_in_order(void **state) {
    (void)state;
    bench b = bench_of(PAIR);
    size_t heard = 0;
    tc_record *records = NULL;
    size_t begun = 0;
    const char *why = NULL;
    b.experiment.on_row = counts_rows;
    b.experiment.context = &heard;
    (void)run_of(&b, 1, NULL);
    assert_int_equal(heard, b.experiment.grid_count);
    assert_int_equal(tc_lab_run_many(b.p.arena, &b.experiment, 1, 2, NULL, &records, &begun, &why), TC_OK);
    assert_int_equal(heard, b.experiment.grid_count);
    problem_free(&b.p);
}

static void distances_are_measured_from_the_origin(void **state) {
    (void)state;
    bench b = bench_of(PAIR);
    tc_record *first = run_of(&b, 1, NULL);
    assert_true(isnan(first->moved_x));
    b.experiment.origin_x = first->x;
    b.experiment.origin_mu = first->mu;
    tc_record *same = run_of(&b, 1, NULL), *other = run_of(&b, 2, NULL);
    assert_true(same->moved_x == 0 && same->moved_mu == 0);
    assert_true(other->moved_x == tc_squared_distance(other->x, first->x, 2));
    assert_true(other->moved_mu > 0);
    problem_free(&b.p);
}

static void a_sweep_begins_with_the_run_without_noise(void **state) {
    (void)state;
    bench b = bench_of(PAIR);
    const double epsilons[] = {1, 4};
    const tc_plan *plans[] = {plan_of(&b.p, TC_MECHANISM_UNSET, 1), plan_of(&b.p, TC_MECHANISM_UNSET, 4)};
    const tc_plan *quiet = plan_of(&b.p, TC_MECHANISM_NONE, NAN);
    tc_sweep *sweep = NULL;
    const char *why = NULL;
    assert_int_equal(tc_sweep_run(b.p.arena, &b.experiment, quiet, plans, NULL, epsilons, 2, 1, 6, NULL, &sweep, &why),
                     TC_OK);
    assert_int_equal(sweep->without_noise->outcome, TC_ENGINE_DONE);
    assert_int_equal(sweep->points[0].runs, 6);
    assert_true(sweep->points[0].penalty > sweep->points[1].penalty && sweep->points[1].penalty > 0);
    assert_true(sweep->slope.low <= sweep->slope.slope && sweep->slope.slope <= sweep->slope.high);
    assert_true(sweep->verdict_count > 0 && !sweep->interrupted);
    tc_monitor stop = {.interrupted = always};
    assert_int_equal(tc_sweep_run(b.p.arena, &b.experiment, quiet, plans, NULL, epsilons, 2, 1, 6, &stop, &sweep, &why),
                     TC_OK);
    assert_true(sweep->interrupted && isnan(sweep->slope.slope) && isnan(sweep->points[0].penalty));
    problem_free(&b.p);
}

/* Runs whose mean is off by 1 / epsilon^2, and which hardly differ: the penalty goes like epsilon^-4. */
static void a_penalty_that_falls_faster_is_explained_by_its_bias(void **state) {
    (void)state;
    enum { RUNS = 10 };
    bench b = bench_of(PAIR);
    double origin[2] = {0}, at[2][RUNS][2] = {0}, mu[2] = {0};
    tc_row row = {.k = ROUNDS};
    tc_record quiet = {.outcome = TC_ENGINE_DONE, .rows = &row, .row_count = 1, .x = origin, .mu = mu},
              records[2][RUNS] = {0};
    tc_sweep_point points[2] = {{.epsilon = 1}, {.epsilon = 2}};
    for (size_t e = 0; e < 2; e++) {
        for (size_t i = 0; i < RUNS; i++) {
            double off = 1 / (points[e].epsilon * points[e].epsilon) + 1e-3 * ((double)i - 4.5);
            at[e][i][0] = off;
            records[e][i] = quiet;
            records[e][i].x = at[e][i];
            records[e][i].moved_x = off * off;
        }
        points[e].records = records[e];
        points[e].record_count = RUNS;
    }
    tc_sweep sweep = {.model = b.p.model,
                      .seeds = RUNS,
                      .rounds = ROUNDS,
                      .without_noise = &quiet,
                      .points = points,
                      .point_count = 2};
    tc_sweep_judge(b.p.arena, &sweep);
    assert_int_equal(sweep.local[0].bend, TC_BEND_STEEPER);
    assert_true(fabs(sweep.slope.slope + 4) < 0.01);
    bool is_said = false;
    for (size_t i = 0; i < sweep.verdict_count; i++)
        is_said = is_said || strstr(sweep.verdict[i], "The mean of the runs is off, by 100 % of the penalty at 1 and "
                                                      "100 % at 2.") != NULL;
    assert_true(is_said);
    problem_free(&b.p);
}

static void the_pace_reads_well(void **state) {
    (void)state;
    char text[64];
    tc_pace_text(text, 1234567.8, 2.1);
    assert_string_equal(text, "1,234,568 rounds/s, 3 s left");
    tc_pace_text(text, 999, 75);
    assert_string_equal(text, "999 rounds/s, 1 min 15 s left");
    tc_pace_text(text, 0.0123, 7200);
    assert_string_equal(text, "0.012 rounds/s, 2 h 00 min left");
    tc_pace_text(text, 0, INFINITY);
    assert_string_equal(text, "0 rounds/s, days left");
}

enum { NAMERS = 4, NAMES = 2000 };

static void *take_names(void *arena) {
    const char **names = TC_NEW(arena, const char *, NAMES);
    for (size_t i = 0; i < NAMES; i++)
        names[i] = tc_lab_run_id(arena);
    return names;
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* A ledger enters a run of one name once: two runs with one name would pay once. */
static void no_two_threads_name_runs_alike(void **state) {
    (void)state;
    pthread_t threads[NAMERS];
    tc_arena *arenas[NAMERS];
    const char *all[NAMERS * NAMES];
    for (size_t t = 0; t < NAMERS; t++) {
        arenas[t] = tc_arena_new(0);
        assert_int_equal(pthread_create(&threads[t], NULL, take_names, arenas[t]), 0);
    }
    for (size_t t = 0; t < NAMERS; t++) {
        void *names = NULL;
        assert_int_equal(pthread_join(threads[t], &names), 0);
        memcpy(&all[t * NAMES], names, NAMES * sizeof *all);
    }
    qsort(all, NAMERS * NAMES, sizeof *all, by_text);
    for (size_t i = 1; i < NAMERS * NAMES; i++)
        assert_string_not_equal(all[i - 1], all[i]);
    for (size_t t = 0; t < NAMERS; t++)
        tc_arena_free(arenas[t]);
}

static void no_two_runs_have_one_name(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    const char *last = tc_lab_run_id(arena);
    for (size_t i = 0; i < 1000; i++) {
        const char *next = tc_lab_run_id(arena);
        assert_string_not_equal(last, next);
        assert_true(strlen(next) <= 256);
        last = next;
    }
    tc_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_are_those_of_the_functions),
        cmocka_unit_test(a_family_larger_than_a_row_of_lanes_is_summed_whole),
        cmocka_unit_test(rows_are_kept_at_the_rounds_of_the_grid),
        cmocka_unit_test(what_is_measured_does_not_change_the_run),
        cmocka_unit_test(nothing_goes_beyond_the_horizon_of_the_plan),
        cmocka_unit_test(of_many_runs_those_not_begun_take_no_memory_and_leave_no_record),
        cmocka_unit_test(an_interrupt_leaves_the_state_and_a_row_for_it),
        cmocka_unit_test(many_runs_are_the_single_ones_and_keep_the_first_state),
        cmocka_unit_test(a_listener_hears_the_rows_of_a_single_run_in_order),
        cmocka_unit_test(distances_are_measured_from_the_origin),
        cmocka_unit_test(a_sweep_begins_with_the_run_without_noise),
        cmocka_unit_test(a_penalty_that_falls_faster_is_explained_by_its_bias),
        cmocka_unit_test(the_pace_reads_well),
        cmocka_unit_test(no_two_runs_have_one_name),
        cmocka_unit_test(no_two_threads_name_runs_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
