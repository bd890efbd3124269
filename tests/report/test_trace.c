/* Traces: what is written is read again, and what is no trace is refused with its line. */
#include "report/report.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tc_arena *arena;
static tc_buffer messages;
static char folder[64];

static int begin(void **unused) {
    (void)unused;
    arena = tc_arena_new(0);
    if (arena == NULL)
        return 1;
    messages = tc_buffer_new(arena, 1 << 16);
    (void)snprintf(folder, sizeof folder, "/tmp/tacit-test-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int end(void **unused) {
    (void)unused;
    (void)rmdir(folder);
    tc_arena_free(arena);
    return 0;
}

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static uint64_t seed = 4711;

/* Any bits that are a finite number; now and then NAN. */
static double any_number(void) {
    double value;
    do {
        uint64_t bits = random_word(&seed);
        memcpy(&value, &bits, sizeof value);
    } while (!isfinite(value));
    return random_word(&seed) % 8 == 0 ? NAN : value;
}

static const char *const names[] = {"g1", "feeder[3]", "a, \"quoted\" one", "μ <b>"};
enum { M = sizeof names / sizeof names[0], RUNS = 3, ROWS = 5 };

static tc_row any_row(uint64_t k) {
    tc_row row = {.k = k, .constraints = TC_NEW(arena, double, M), .multipliers = TC_NEW(arena, double, M)};
    double *const numbers[] = {&row.x_error, &row.mu_error, &row.objective, &row.max_violation};
    for (size_t i = 0; i < 4; i++)
        *numbers[i] = any_number();
    for (size_t j = 0; j < M; j++) {
        row.constraints[j] = any_number();
        row.multipliers[j] = any_number();
    }
    return row;
}

static tc_trace *any_run(bool seeded) {
    tc_trace *trace = TC_NEW(arena, tc_trace, 1);
    *trace = (tc_trace){.kind = TC_TRACE_RUN,
                        .problem = "pa\\per\n.tacit",
                        .label = "a label: with = signs",
                        .command = "tacit run 'a b.tacit'",
                        .reference_objective = 1 / 3.0,
                        .free_x_error = NAN,
                        .free_mu_error = NAN,
                        .fit = {NAN, NAN, NAN, NAN, NAN, NAN}};
    trace->constraints = TC_NEW(arena, const char *, M);
    memcpy(trace->constraints, names, sizeof names);
    trace->constraint_count = M;
    tc_trace_fact_add(arena, trace, "epsilon", "0.5 = a = b");
    tc_trace_fact_add(arena, trace, "odd\x01", "\x7f\x02");
    tc_trace_equality_add(arena, trace, names[2]);
    tc_trace_note_add(arena, trace, "");
    trace->card = TC_NEW(arena, const char *, 2);
    trace->card[trace->card_count++] = "GUARANTEE: none";
    trace->card[trace->card_count++] = "    indented";
    size_t runs = seeded ? RUNS : 1;
    tc_record *records = TC_NEW(arena, tc_record, runs);
    for (size_t i = 0; i < runs; i++) {
        records[i] = (tc_record){.seeded = seeded, .seed = i == 0 ? UINT64_MAX : i, .row_count = ROWS};
        records[i].seed = seeded ? records[i].seed : 0;
        records[i].rows = TC_NEW(arena, tc_row, ROWS);
        for (size_t row = 0; row < ROWS; row++)
            records[i].rows[row] = any_row(row * row * 10);
    }
    tc_trace_set_records(arena, trace, records, runs);
    return trace;
}

static tc_trace *written_and_read(const tc_trace *trace) {
    const char *path = tc_arena_format(arena, "%s/trace.csv", folder);
    tc_trace *again = NULL;
    assert_int_equal(tc_trace_write(arena, path, trace, &messages), TC_OK);
    assert_int_equal(tc_trace_read(arena, path, NULL, &messages, &again), TC_OK);
    assert_int_equal(messages.length, 0);
    (void)unlink(path);
    return again;
}

static void assert_same_row(const tc_row *a, const tc_row *b, size_t m) {
    assert_int_equal(a->k, b->k);
    assert_true(same(a->x_error, b->x_error) && same(a->mu_error, b->mu_error) && same(a->objective, b->objective) &&
                same(a->max_violation, b->max_violation));
    for (size_t j = 0; j < m; j++)
        assert_true(same(a->constraints[j], b->constraints[j]) && same(a->multipliers[j], b->multipliers[j]));
}

static void a_run_is_read_as_it_was_written(void **unused) {
    (void)unused;
    for (int i = 0; i < 100; i++) {
        const tc_trace *trace = any_run(i % 2 == 0), *again = written_and_read(trace);
        assert_int_equal(again->kind, TC_TRACE_RUN);
        assert_string_equal(again->problem, trace->problem);
        assert_string_equal(again->label, trace->label);
        assert_string_equal(again->command, trace->command);
        assert_true(again->reference_objective == trace->reference_objective);
        assert_int_equal(again->fact_count, 2);
        assert_string_equal(again->facts[0].value, "0.5 = a = b");
        assert_string_equal(again->facts[1].value, "\x7f\x02");
        assert_int_equal(again->note_count, trace->note_count);
        assert_int_equal(again->card_count, 2);
        assert_string_equal(again->card[1], "    indented");
        assert_int_equal(again->constraint_count, M);
        for (size_t j = 0; j < M; j++) {
            assert_string_equal(again->constraints[j], names[j]);
            assert_int_equal(tc_trace_is_equality(again, j), j == 2);
        }
        assert_int_equal(again->record_count, trace->record_count);
        for (size_t r = 0; r < trace->record_count; r++) {
            assert_int_equal(again->records[r].seeded, trace->records[r].seeded);
            assert_true(again->records[r].seed == trace->records[r].seed);
            assert_int_equal(again->records[r].row_count, ROWS);
            for (size_t row = 0; row < ROWS; row++)
                assert_same_row(&trace->records[r].rows[row], &again->records[r].rows[row], M);
        }
    }
}

static void a_sweep_is_read_as_it_was_written(void **unused) {
    (void)unused;
    tc_trace trace = {.kind = TC_TRACE_SWEEP,
                      .penalty = "a mean",
                      .free_x_error = 0.1,
                      .free_mu_error = DBL_MIN,
                      .reference_objective = NAN,
                      .fit = {-1.9, -2.1, -1.7, 0.25, 0.01, 100}};
    tc_trace_point points[] = {
        {0.01, true, 1, 1, 2, 3, 4, 5}, {0.01, true, 2, NAN, 2, 3, 4, NAN}, {100, false, 0, 1, 2, 3, 4, 5}};
    trace.points = points;
    trace.point_count = 3;
    const tc_trace *again = written_and_read(&trace);
    assert_int_equal(again->kind, TC_TRACE_SWEEP);
    assert_string_equal(again->penalty, "a mean");
    assert_memory_equal(&again->fit, &trace.fit, sizeof trace.fit);
    assert_true(again->free_mu_error == DBL_MIN);
    assert_int_equal(again->point_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(again->points[i].epsilon == points[i].epsilon && again->points[i].seed == points[i].seed);
        assert_int_equal(again->points[i].seeded, points[i].seeded);
        assert_true(same(again->points[i].x_error, points[i].x_error) &&
                    same(again->points[i].penalty, points[i].penalty));
    }
}

static tc_status parse(const char *text, tc_trace **trace) {
    messages.length = 0;
    return tc_trace_parse(arena, "t.csv", text, strlen(text), NULL, &messages, trace);
}

static void marks_are_written_by_hand(void **unused) {
    (void)unused;
    tc_trace *trace;
    assert_int_equal(parse("\xef\xbb\xbf# tacit trace 1\r\n# kind: marks\r\n# label: published\r\n# a remark\r\n\r\n"
                           "k,mu_error,x_error\r\n0,2.169,13.19\r\n# between\r\n50000,,.7658",
                           &trace),
                     TC_OK);
    assert_int_equal(trace->mark_count, 2);
    assert_string_equal(trace->label, "published");
    assert_true(trace->marks[0].x_error == 13.19 && trace->marks[0].mu_error == 2.169);
    assert_true(trace->marks[1].k == 50000 && isnan(trace->marks[1].mu_error) && trace->marks[1].x_error == 0.7658);
    assert_true(isnan(trace->marks[1].objective));
}

static void states_are_passed_over(void **unused) {
    (void)unused;
    tc_trace *trace;
    assert_int_equal(parse("# tacit trace 1\n# kind: run\nseed,k,x_error,mu_error,objective,max_violation,g[a],mu[a],"
                           "x[a.x],\"x[b,c.y[1]]\"\n1,0,1,2,3,4,5,6,7,8\n1,9,1,2,3,4,5,6,,\n",
                           &trace),
                     TC_OK);
    assert_int_equal(trace->constraint_count, 1);
    assert_int_equal(trace->state_count, 0);
    assert_int_equal(trace->records->row_count, 2);
    assert_true(trace->records->rows[1].constraints[0] == 5 && trace->records->rows[1].multipliers[0] == 6);
}

#define FIRST "# tacit trace 1\n"
#define RUN FIRST "# kind: run\nseed,k,x_error,mu_error,objective,max_violation"
#define SWEEP FIRST "# kind: sweep\nepsilon,seed,x_error,mu_error,objective,max_violation,penalty\n"

static void what_is_no_trace_is_refused_with_its_line(void **unused) {
    (void)unused;
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"", "t.csv:1: error: the file is empty\n"},
        {"a,b\n1,2\n", "t.csv:1: error: this is no trace: its first line is not '# tacit trace 1'\n"},
        {"# tacit trace 2\n", "t.csv:1: error: this trace is of format 2; this program reads format 1\n"},
        {"# tacit trace x\n", "t.csv:1: error: this is no trace: its first line is not '# tacit trace 1'\n"},
        {FIRST "# kind: walk\n", "t.csv:2: error: there is no kind 'walk'; it is run, sweep or marks\n"},
        {FIRST "# slope: steep\n", "t.csv:2: error: slope is not a number: 'steep'\n"},
        {FIRST "# fact: epsilon 5\n", "t.csv:2: error: a fact is written NAME = VALUE\n"},
        {FIRST "# kind: run\n", "t.csv:2: error: there is no line that names the columns\n"},
        {FIRST "k,x_error\n", "t.csv:2: error: the columns of a run begin with "
                              "seed,k,x_error,mu_error,objective,max_violation\n"},
        {RUN ",g[a],g[b],mu[a]\n", "t.csv:3: error: there are 2 columns g[NAME] and 1 mu[NAME]\n"},
        {RUN ",g[a],mu[b]\n", "t.csv:3: error: column 'mu[b]' is not expected here: there is g[NAME] for each "
                              "constraint, then mu[NAME] for the same names, and then x[NAME] for states, if any\n"},
        {RUN ",x[a.x],mu[b]\n", "t.csv:3: error: column 'mu[b]' is not expected here: there is g[NAME] for each "
                                "constraint, then mu[NAME] for the same names, and then x[NAME] for states, if any\n"},
        {RUN ",g[a],x[a.x],mu[a]\n",
         "t.csv:3: error: column 'x[a.x]' is not expected here: there is g[NAME] for each constraint, then mu[NAME] "
         "for the same names, and then x[NAME] for states, if any\n"},
        {RUN ",x[a.x]\n1,0,1,2,3,4\n", "t.csv:4: error: there are fewer fields than columns\n"},
        {RUN ",x[a.x]\n1,0,1,2,3,4,y\n", "t.csv:4: error: this is not a number: 'y'\n"},
        {RUN ",\"g[a]\n", "t.csv:3: error: a quote is not closed\n"},
        {RUN "\n", "t.csv:3: error: there are no rows\n"},
        {RUN "\n1,0,1,2,3\n", "t.csv:4: error: there are fewer fields than columns\n"},
        {RUN "\n1,0,1,2,3,4,5\n", "t.csv:4: error: there are more fields than columns\n"},
        {RUN "\n1,0,1,2,3,x\n", "t.csv:4: error: this is not a number: 'x'\n"},
        {RUN "\n1,0,1,2,3,1e999\n", "t.csv:4: error: this is not a number: '1e999'\n"},
        {RUN "\n1,0,1,2,3,nan\n", "t.csv:4: error: this is not a number: 'nan'\n"},
        {RUN "\n-1,0,1,2,3,4\n", "t.csv:4: error: seed is not a whole number: '-1'\n"},
        {RUN "\n18446744073709551616,0,1,2,3,4\n", "t.csv:4: error: seed is not a whole number: "
                                                   "'18446744073709551616'\n"},
        {RUN "\n1,1.5,1,2,3,4\n", "t.csv:4: error: k is not a whole number: '1.5'\n"},
        {RUN "\n1,5,1,2,3,4\n1,5,1,2,3,4\n", "t.csv:5: error: k does not increase\n"},
        {RUN "\n1,5,1,2,3,4\n2,5,1,2,3,4\n1,6,1,2,3,4\n",
         "t.csv:6: error: the rows of a seed stand together, and a run without one stands alone\n"},
        {RUN "\n1,5,1,2,3,4\n,5,1,2,3,4\n",
         "t.csv:5: error: the rows of a seed stand together, and a run without one stands alone\n"},
        {SWEEP "0,1,2,3,4,5,6\n", "t.csv:4: error: epsilon is not positive\n"},
        {SWEEP "2,1,2,3,4,5,6\n1,1,2,3,4,5,6\n",
         "t.csv:5: error: epsilon decreases: the rows of an epsilon stand together, smallest first\n"},
        {FIRST "# kind: sweep\nepsilon,seed\n",
         "t.csv:3: error: the columns of a sweep are epsilon,seed,x_error,mu_error,objective,max_violation,penalty\n"},
        {FIRST "# kind: marks\nx_error\n", "t.csv:3: error: the first column of marks is k\n"},
        {FIRST "# kind: marks\nk,x_error,x_error\n",
         "t.csv:3: error: column 'x_error': marks have k, and any of x_error, mu_error, objective and max_violation "
         "once\n"},
        {FIRST "# kind: marks\nk,x_error\n5,1\n5,1\n", "t.csv:5: error: k does not increase\n"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tc_trace *trace;
        assert_int_equal(parse(wrong[i].text, &trace), TC_BAD_PROBLEM);
        assert_string_equal(tc_buffer_text(&messages), wrong[i].message);
    }
}

static void bytes_that_are_no_text_are_refused(void **unused) {
    (void)unused;
    tc_trace *trace;
    static const char text[] = FIRST "# label: a\0b\n";
    assert_int_equal(tc_trace_parse(arena, "t.csv", text, sizeof text - 1, NULL, &messages, &trace), TC_BAD_PROBLEM);
    assert_non_null(strstr(messages.text, "t.csv:2: error: there is a zero byte"));
}

static void a_file_is_whole_or_not_there(void **unused) {
    (void)unused;
    const tc_trace *trace = any_run(true);
    const char *there = tc_arena_format(arena, "%s/link.csv", folder);
    assert_int_equal(tc_trace_write(arena, folder, trace, &messages), TC_BAD_USAGE);
    assert_non_null(strstr(messages.text, "this is a folder; only plain files are overwritten"));
    messages.length = 0;
    assert_int_equal(symlink("/dev/null", there), 0);
    assert_int_equal(tc_trace_write(arena, there, trace, &messages), TC_BAD_USAGE);
    assert_non_null(strstr(messages.text, "this is a link"));
    (void)unlink(there);
    messages.length = 0;
    const char *nowhere = tc_arena_format(arena, "%s/none/trace.csv", folder);
    assert_int_equal(tc_trace_write(arena, nowhere, trace, &messages), TC_CANNOT_WRITE);
    assert_non_null(strstr(messages.text, "cannot write: No such file or directory"));
    messages.length = 0;
    tc_trace *again;
    assert_int_equal(tc_trace_read(arena, nowhere, NULL, &messages, &again), TC_BAD_USAGE);
    assert_non_null(strstr(messages.text, "cannot read: No such file or directory"));
    assert_int_equal(rmdir(folder), 0); /* nothing was left in it */
    assert_int_equal(mkdir(folder, S_IRWXU), 0);
}

static void runs_that_did_not_end_well_are_noted(void **unused) {
    (void)unused;
    tc_trace trace = {.kind = TC_TRACE_RUN};
    tc_record records[] = {{.seeded = true,
                            .seed = 7,
                            .rounds = 16,
                            .outcome = TC_ENGINE_DIVERGED,
                            .reason = "the state of a3 in round 17"},
                           {.seeded = true, .seed = 8, .rounds = 20}};
    tc_trace_set_records(arena, &trace, records, 2);
    assert_int_equal(trace.note_count, 1);
    assert_string_equal(trace.notes[0], "seed 7 diverged after 16 rounds: the state of a3 in round 17");
    tc_trace alone = {.kind = TC_TRACE_RUN};
    tc_record record = {.rounds = 3, .outcome = TC_ENGINE_INTERRUPTED};
    tc_trace_set_records(arena, &alone, &record, 1);
    assert_int_equal(alone.note_count, 1);
    assert_string_equal(alone.notes[0], "the run was interrupted after 3 rounds");
}

static void runs_that_were_not_begun_are_none(void **unused) {
    (void)unused;
    tc_trace trace = {.kind = TC_TRACE_RUN};
    tc_record records[40] = {{.rounds = 20}, {.rounds = 16, .outcome = TC_ENGINE_DIVERGED}, {.rounds = 20}};
    tc_row rows[40] = {0};
    for (size_t i = 0; i < 40; i++) {
        records[i].seeded = true;
        records[i].seed = i + 1;
        records[i].rows = &rows[i];
        records[i].row_count = i < 6 || i == 30;
        if (i > 2) {
            records[i].outcome = TC_ENGINE_INTERRUPTED;
            records[i].rounds = i < 6 || i == 30 ? i : 0;
        }
    }
    tc_trace_set_records(arena, &trace, records, 40);
    assert_int_equal(trace.record_count, 7);
    assert_int_equal(trace.records[6].seed, 31);
    assert_int_equal(trace.note_count, 2);
    assert_string_equal(trace.notes[0], "seed 2 diverged after 16 rounds");
    assert_string_equal(trace.notes[1], "interrupted: of 40 runs 2 came to their end, 4 were stopped on the way and 33 "
                                        "were not begun");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_is_read_as_it_was_written, begin, end),
        cmocka_unit_test_setup_teardown(a_sweep_is_read_as_it_was_written, begin, end),
        cmocka_unit_test_setup_teardown(marks_are_written_by_hand, begin, end),
        cmocka_unit_test_setup_teardown(states_are_passed_over, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_trace_is_refused_with_its_line, begin, end),
        cmocka_unit_test_setup_teardown(bytes_that_are_no_text_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_file_is_whole_or_not_there, begin, end),
        cmocka_unit_test_setup_teardown(runs_that_did_not_end_well_are_noted, begin, end),
        cmocka_unit_test_setup_teardown(runs_that_were_not_begun_are_none, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
