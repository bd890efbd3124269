/* The ledger: what is written is read back, sums never fall below the truth,
 * damage is found, and nothing is lost when many write at once. */
#include "plan/account/account.h"
#include "promise/ledger.h"
#include "support/cmocka.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

typedef struct trial {
    tc_arena *arena;
    tc_buffer messages;
    char folder[64], path[96];
} trial;

static int begin(void **state) {
    static trial t;
    t = (trial){.arena = tc_arena_new(0)};
    assert_non_null(t.arena);
    t.messages = tc_buffer_new(t.arena, 1 << 20);
    (void)strcpy(t.folder, "/tmp/tacit-ledger-XXXXXX");
    assert_non_null(mkdtemp(t.folder));
    (void)snprintf(t.path, sizeof t.path, "%s/ledger", t.folder);
    *state = &t;
    return 0;
}

static int end(void **state) {
    trial *t = *state;
    (void)unlink(t->path);
    (void)rmdir(t->folder);
    tc_arena_free(t->arena);
    return 0;
}

static tc_ledger_entry laplace(const char *run, double epsilon) {
    return (tc_ledger_entry){.run = run,
                             .problem = "ev.tacit",
                             .plan = HASH,
                             .unit = TC_ADJACENCY_ONE,
                             .bound = 0.5,
                             .mechanism = TC_MECHANISM_LAPLACE,
                             .epsilon = epsilon,
                             .mu = NAN,
                             .agent = INFINITY,
                             .rounds = 1000,
                             .agents = 12,
                             .is_priced = true};
}

static tc_ledger_entry gaussian(const char *run, double mu, double delta) {
    tc_ledger_entry entry = laplace(run, tc_gaussian_epsilon(mu, delta));
    entry.mechanism = TC_MECHANISM_GAUSSIAN;
    entry.delta = delta;
    entry.mu = mu;
    return entry;
}

static void record(trial *t, tc_ledger_entry entry) {
    assert_int_equal(tc_ledger_record(t->arena, t->path, &entry, &t->messages, NULL), TC_OK);
}

static tc_ledger *read_back(trial *t) {
    tc_ledger *ledger = NULL;
    assert_int_equal(tc_ledger_read(t->arena, t->path, &t->messages, &ledger), TC_OK);
    return ledger;
}

static size_t file_size(const char *path) {
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    return (size_t)facts.st_size;
}

static void assert_says(trial *t, const char *what) {
    if (strstr(tc_buffer_text(&t->messages), what) == NULL)
        fail_msg("'%s' is not in: %s", what, tc_buffer_text(&t->messages));
}

/* Damaged at this line: not read, and nothing is appended. */
static void assert_damaged(trial *t, size_t line, const char *how) {
    tc_ledger *ledger = NULL;
    tc_ledger_entry entry = laplace("new", 1);
    size_t size = file_size(t->path);
    t->messages.length = 0;
    assert_int_equal(tc_ledger_read(t->arena, t->path, &t->messages, &ledger), TC_BAD_PROBLEM);
    assert_says(t, tc_arena_format(t->arena, "%s:%zu: the ledger is damaged: ", t->path, line));
    assert_says(t, how);
    assert_int_equal(tc_ledger_record(t->arena, t->path, &entry, &t->messages, NULL), TC_BAD_PROBLEM);
    assert_int_equal(file_size(t->path), size);
}

static char *slurp(trial *t, size_t *length) {
    FILE *file = fopen(t->path, "r");
    assert_non_null(file);
    *length = file_size(t->path);
    char *text = TC_NEW(t->arena, char, *length + 1);
    assert_int_equal(fread(text, 1, *length, file), *length);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void spill(trial *t, const char *text, size_t length) {
    FILE *file = fopen(t->path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void a_file_that_is_not_there_is_an_empty_ledger(void **state) {
    trial *t = *state;
    assert_int_equal(read_back(t)->count, 0);
    assert_int_equal(access(t->path, F_OK), -1);
}

static void entries_are_read_back_as_they_were_written(void **state) {
    trial *t = *state;
    tc_ledger_entry first = laplace("run \"one\"\\\n\x01, \xc3\xa9", 0.1 + 0.2);
    tc_ledger_entry second = gaussian("2", 0.3, 1e-6);
    second.unit = TC_ADJACENCY_AGENT;
    second.bound = NAN;
    tc_ledger_entry third = laplace("3", INFINITY);
    third.is_priced = false;
    third.delta = INFINITY;
    third.mechanism = TC_MECHANISM_NONE;
    record(t, first);
    record(t, second);
    record(t, third);
    const tc_ledger *ledger = read_back(t);
    assert_int_equal(ledger->count, 3);
    assert_string_equal(ledger->entries[0].run, first.run);
    assert_string_equal(ledger->entries[0].problem, "ev.tacit");
    assert_string_equal(ledger->entries[0].plan, HASH);
    assert_int_equal(strlen(ledger->entries[0].time), 20);
    assert_true(ledger->entries[0].epsilon == 0.1 + 0.2);
    assert_true(ledger->entries[0].bound == 0.5 && isnan(ledger->entries[0].mu) && ledger->entries[0].delta == 0);
    assert_int_equal(ledger->entries[1].unit, TC_ADJACENCY_AGENT);
    assert_true(isnan(ledger->entries[1].bound) && ledger->entries[1].mu == 0.3 && ledger->entries[1].delta == 1e-6);
    assert_false(ledger->entries[2].is_priced);
    assert_true(isinf(ledger->entries[2].epsilon));
    struct stat facts;
    assert_int_equal(stat(t->path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
}

static void a_run_is_entered_once_and_with_one_plan(void **state) {
    trial *t = *state;
    bool was_there = true;
    tc_ledger_entry entry = laplace("run", 1);
    assert_int_equal(tc_ledger_record(t->arena, t->path, &entry, &t->messages, &was_there), TC_OK);
    assert_false(was_there);
    assert_int_equal(tc_ledger_record(t->arena, t->path, &entry, &t->messages, &was_there), TC_OK);
    assert_true(was_there);
    assert_int_equal(read_back(t)->count, 1);
    entry.plan = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    assert_int_equal(tc_ledger_record(t->arena, t->path, &entry, &t->messages, &was_there), TC_BAD_USAGE);
    assert_says(t, "with another plan");
    entry.run = "";
    assert_int_equal(tc_ledger_record(t->arena, t->path, &entry, &t->messages, NULL), TC_BAD_USAGE);
}

static tc_ledger_entry unnoised(const char *run) {
    tc_ledger_entry entry = laplace(run, INFINITY);
    entry.delta = INFINITY;
    entry.unit = TC_ADJACENCY_UNSET;
    entry.bound = NAN;
    entry.mechanism = TC_MECHANISM_NONE;
    entry.is_priced = false;
    return entry;
}

static void a_run_without_a_guarantee_is_told_of(void **state) {
    trial *t = *state;
    tc_ledger_entry entries[3] = {laplace("a", 1), laplace("b", 1), unnoised("c")};
    entries[1].unit = TC_ADJACENCY_AGENT;
    entries[1].bound = NAN;
    tc_ledger ledger = {.path = t->path, .entries = entries, .count = 2};
    tc_ledger_text(t->arena, &ledger, &entries[2], &t->messages);
    assert_says(t, "a run without a guarantee: no sum holds after it");
    assert_says(t, "NOT PRIVATE");
    assert_null(strstr(tc_buffer_text(&t->messages), "which then comes to"));
    assert_says(t, "without noise");
    tc_json json = tc_json_new(&t->messages);
    tc_ledger_json(t->arena, &ledger, &entries[2], NULL, &json);
    assert_says(t, "\"would_be\": {");
}

/* As 0.1.0 wrote it. */
static const char old_form[] =
    "{\"tacit_ledger\":1,\"run\":\"second\",\"time\":\"2026-01-06T20:00:00Z\",\"problem\":\"num.tacit\",\"plan\":"
    "\"10112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\",\"unit\":\"one\",\"bound\":0.1,"
    "\"mechanism\":\"laplace\",\"epsilon\":1,\"delta\":0,\"mu\":null,\"rounds\":5e+04,\"private\":true,\"check\":"
    "\"%s\"}\n";

static void lines_of_the_first_form_are_read_and_stay_as_they_are(void **state) {
    trial *t = *state;
    size_t length = 0;
    const char *text = tc_arena_format(t->arena, old_form, "67d2c2636b298cde");
    spill(t, text, strlen(text));
    const tc_ledger *ledger = read_back(t);
    assert_int_equal(ledger->count, 1);
    assert_true(ledger->entries[0].epsilon == 1 && ledger->entries[0].is_priced && isinf(ledger->entries[0].agent));
    record(t, laplace("new", 1));
    const char *after = slurp(t, &length);
    assert_memory_equal(after, text, strlen(text));
    assert_non_null(strstr(after, "{\"tacit_ledger\":2,\"run\":\"new\""));
    assert_int_equal(read_back(t)->count, 2);
}

static void a_run_without_noise_is_read_back(void **state) {
    trial *t = *state;
    record(t, laplace("a", 1));
    record(t, unnoised("b"));
    const tc_ledger *ledger = read_back(t);
    assert_int_equal(ledger->count, 2);
    assert_true(ledger->entries[1].unit == TC_ADJACENCY_UNSET && !ledger->entries[1].is_priced);
}

static void a_cut_last_line_is_refused_wherever_it_is_cut(void **state) {
    trial *t = *state;
    size_t length = 0;
    record(t, laplace("a", 1));
    record(t, laplace("b", 1));
    char *text = slurp(t, &length);
    size_t first = (size_t)(strchr(text, '\n') - text) + 1;
    for (size_t cut = first + 1; cut < length; cut++) {
        spill(t, text, cut);
        assert_damaged(t, 2, "cut off");
    }
}

static void every_changed_byte_is_found(void **state) {
    trial *t = *state;
    size_t length = 0;
    record(t, laplace("a", 1));
    record(t, gaussian("b", 0.5, 1e-5));
    char *text = slurp(t, &length);
    size_t first = (size_t)(strchr(text, '\n') - text) + 1;
    for (size_t i = 0; i + 1 < length; i++) { /* without the last newline, that is a cut line */
        char kept = text[i];
        text[i] = kept == '7' ? '8' : '7';
        spill(t, text, length);
        assert_damaged(t, i < first ? 1 : 2, "");
        text[i] = kept;
    }
    text[first + 3] = '\0';
    spill(t, text, length);
    assert_damaged(t, 2, "zero byte");
}

static void a_line_that_is_lost_or_moved_is_found(void **state) {
    trial *t = *state;
    size_t length = 0;
    record(t, laplace("a", 1));
    record(t, laplace("b", 1));
    record(t, laplace("c", 1));
    char *text = slurp(t, &length);
    const char *second = strchr(text, '\n') + 1;
    const char *third = strchr(second, '\n') + 1;
    spill(t, second, length - (size_t)(second - text));
    assert_damaged(t, 1, "is missing");
    tc_buffer without = tc_buffer_new(t->arena, 10000);
    tc_buffer_add(&without, text, (size_t)(second - text));
    tc_buffer_puts(&without, third);
    spill(t, without.text, without.length);
    assert_damaged(t, 2, "is missing");
    spill(t, "epsilon,delta\n", 14);
    assert_damaged(t, 1, "not a line of a tacit ledger");
}

static void what_is_not_a_readable_file_is_refused(void **state) {
    trial *t = *state;
    tc_ledger *ledger = NULL;
    tc_ledger_entry entry = laplace("a", 1);
    assert_int_equal(tc_ledger_read(t->arena, t->folder, &t->messages, &ledger), TC_BAD_USAGE);
    assert_says(t, "a plain file");
    assert_int_equal(tc_ledger_record(t->arena, t->folder, &entry, &t->messages, NULL), TC_CANNOT_WRITE);
    assert_int_equal(tc_ledger_read(t->arena, "/dev/null", &t->messages, &ledger), TC_BAD_USAGE);
    const char *nowhere = tc_arena_format(t->arena, "%s/no/ledger", t->folder);
    assert_int_equal(tc_ledger_read(t->arena, nowhere, &t->messages, &ledger), TC_BAD_USAGE);
    assert_says(t, "there is no folder");
    assert_int_equal(tc_ledger_read(t->arena, "", &t->messages, &ledger), TC_BAD_USAGE);
    assert_says(t, "'' names no file");
    assert_true(read_back(t)->is_new);
    assert_int_equal(tc_ledger_record(t->arena, nowhere, &entry, &t->messages, NULL), TC_CANNOT_WRITE);
    assert_int_equal(mkfifo(t->path, 0600), 0);
    assert_int_equal(tc_ledger_read(t->arena, t->path, &t->messages, &ledger), TC_BAD_USAGE);
    assert_int_equal(tc_ledger_record(t->arena, t->path, &entry, &t->messages, NULL), TC_BAD_USAGE);
    assert_int_equal(unlink(t->path), 0);
    if (geteuid() == 0)
        return; /* nothing is forbidden to root */
    record(t, entry);
    assert_int_equal(chmod(t->path, 0), 0);
    assert_int_equal(tc_ledger_read(t->arena, t->path, &t->messages, &ledger), TC_CANNOT_READ);
    assert_says(t, "cannot be read");
}

static void a_file_that_may_not_grow_keeps_whole_lines(void **state) {
    trial *t = *state;
    record(t, laplace("a", 1));
    size_t size = file_size(t->path);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {.rlim_cur = size + 100, .rlim_max = size + 100};
        tc_ledger_entry entry = laplace("b", 1);
        (void)signal(SIGXFSZ, SIG_IGN);
        bool refused = setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                       tc_ledger_record(t->arena, t->path, &entry, &t->messages, NULL) == TC_CANNOT_WRITE;
        _exit(refused ? 0 : 1);
    }
    int code = -1;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    assert_int_equal(file_size(t->path), size);
    assert_int_equal(read_back(t)->count, 1);
}

static void many_writers_at_once_lose_nothing(void **state) {
    trial *t = *state;
    enum { WRITERS = 8, EACH = 25 };
    pid_t children[WRITERS];
    for (int w = 0; w < WRITERS; w++) {
        children[w] = fork();
        assert_true(children[w] >= 0);
        if (children[w] != 0)
            continue;
        bool done = true;
        for (int i = 0; i < EACH; i++) {
            tc_ledger_entry entry = laplace(tc_arena_format(t->arena, "writer %d run %d", w, i), 1);
            done = tc_ledger_record(t->arena, t->path, &entry, &t->messages, NULL) == TC_OK && done;
        }
        _exit(done ? 0 : 1);
    }
    for (int w = 0; w < WRITERS; w++) {
        int code = -1;
        assert_int_equal(waitpid(children[w], &code, 0), children[w]);
        assert_int_equal(code, 0);
    }
    const tc_ledger *ledger = read_back(t);
    assert_int_equal(ledger->count, WRITERS * EACH);
}

/* Eight processes want one unit each, and there are three. */
static void many_writers_at_once_stay_within_a_budget(void **state) {
    trial *t = *state;
    pid_t children[8];
    for (int c = 0; c < 8; c++) {
        children[c] = fork();
        assert_true(children[c] >= 0);
        if (children[c] == 0) {
            char run[16];
            const char *over = NULL;
            (void)snprintf(run, sizeof run, "run %d", c);
            tc_ledger_entry entry = laplace(run, 1);
            tc_budget budget = {.epsilon = 3.5, .delta = NAN};
            tc_status status = tc_ledger_record_within(t->arena, t->path, &entry, &budget, 1, &t->messages, &over);
            _exit(status != TC_OK ? 2 : over != NULL);
        }
    }
    int refused = 0, entered = 0;
    for (int c = 0; c < 8; c++) {
        int status = 0;
        assert_int_equal(waitpid(children[c], &status, 0), children[c]);
        refused += WIFEXITED(status) && WEXITSTATUS(status) == 1;
        entered += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    assert_int_equal(entered, 3);
    assert_int_equal(refused, 5);
    assert_int_equal(read_back(t)->count, 3);
}

static void a_plan_is_entered_at_the_price_of_who_sees_most(void **state) {
    trial *t = *state;
    tc_model model = {.source = {.path = "/some/where/ev.tacit"}};
    tc_observer observers[] = {{.who = "a1", .epsilon = 0.5, .gdp = 0.1, .delta = 1e-6},
                               {.who = "eavesdropper", .epsilon = 1, .gdp = 0.2, .delta = 1e-6}};
    tc_plan plan = {.model = &model,
                    .mechanism = TC_MECHANISM_GAUSSIAN,
                    .adjacency = TC_ADJACENCY_ONE,
                    .adjacency_bound = 2,
                    .rounds = 7,
                    .observers = observers,
                    .observer_count = 2,
                    .is_private = true,
                    .hash = {0xab, 0x01}};
    tc_ledger_entry entry = tc_ledger_entry_of(t->arena, &plan, "id");
    assert_string_equal(entry.problem, "ev.tacit");
    assert_memory_equal(entry.plan, "ab0100", 6);
    assert_int_equal(strlen(entry.plan), 64);
    assert_true(entry.epsilon == 1 && entry.mu == 0.2 && entry.delta == 1e-6 && entry.bound == 2 && entry.rounds == 7);
    plan.is_private = false;
    entry = tc_ledger_entry_of(t->arena, &plan, "id");
    assert_true(!entry.is_priced && isinf(entry.epsilon));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(a_file_that_is_not_there_is_an_empty_ledger),
        TEST(entries_are_read_back_as_they_were_written),
        TEST(a_run_is_entered_once_and_with_one_plan),
        TEST(a_run_without_a_guarantee_is_told_of),
        TEST(lines_of_the_first_form_are_read_and_stay_as_they_are),
        TEST(a_run_without_noise_is_read_back),
        TEST(a_cut_last_line_is_refused_wherever_it_is_cut),
        TEST(every_changed_byte_is_found),
        TEST(a_line_that_is_lost_or_moved_is_found),
        TEST(what_is_not_a_readable_file_is_refused),
        TEST(a_file_that_may_not_grow_keeps_whole_lines),
        TEST(many_writers_at_once_lose_nothing),
        TEST(many_writers_at_once_stay_within_a_budget),
        TEST(a_plan_is_entered_at_the_price_of_who_sees_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
