/* What no program should give to the library: nothing, too little, too much, what is no number and no name. There is a
 * status for each, and a sentence where the function has a place for one; never a crash. */
#include "api/commands.h"
#include "support/random.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static const double no_number = (double)NAN, endless = (double)INFINITY;

/* No result, a message that says why, and maybe these words in it. */
static void is_refused(tacit_status wanted, tacit_status status, const void *result, char *message, const char *words) {
    assert_int_equal(status, wanted);
    assert_null(result);
    assert_non_null(message);
    assert_true(strlen(message) > 0);
    if (words != NULL && strstr(message, words) == NULL)
        fail_msg("'%s' is not in: %s", words, message);
    tacit_text_free(message);
}

/* ---- nothing ---- */

static void nothing_in_the_place_of_a_problem_or_a_result(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes_text);
    for (size_t i = 0; i < COMMANDS; i++) {
        tacit_result *result = NULL;
        char *message = NULL;
        tacit_status status = commands[i].call(NULL, NULL, NULL, NULL, &result, &message);
        is_refused(TACIT_BAD_USAGE, status, result, message, "no problem");
        status = commands[i].call(problem, NULL, NULL, NULL, NULL, &message);
        is_refused(TACIT_BAD_USAGE, status, NULL, message, "no place for the result");
        assert_int_equal(commands[i].call(NULL, NULL, NULL, NULL, NULL, NULL), TACIT_BAD_USAGE);
        assert_int_equal(commands[i].call(problem, NULL, NULL, NULL, NULL, NULL), TACIT_BAD_USAGE);
    }
    tacit_problem_free(problem);
}

static void nothing_in_the_place_of_a_source(void **state) {
    (void)state;
    tacit_problem *problem = NULL;
    char *message = NULL;
    const tacit_source empty = {.size = sizeof empty}, no_length = {.size = sizeof no_length, .text = "x"};
    tacit_status status = tacit_problem_make(NULL, &problem, &message);
    is_refused(TACIT_BAD_USAGE, status, problem, message, "no source");
    status = tacit_problem_make(&empty, &problem, &message);
    is_refused(TACIT_BAD_USAGE, status, problem, message, "neither a path nor a text");
    status = tacit_problem_make(&empty, NULL, &message);
    is_refused(TACIT_BAD_USAGE, status, NULL, message, "no place for the problem");
    status = tacit_problem_make(&no_length, &problem, &message);
    is_refused(TACIT_BAD_PROBLEM, status, problem, message, NULL);
    status = tacit_problem_load(NULL, &problem, &message);
    is_refused(TACIT_BAD_USAGE, status, problem, message, NULL);
    status = tacit_problem_load("", &problem, &message);
    is_refused(TACIT_BAD_USAGE, status, problem, message, NULL);
    assert_int_equal(tacit_problem_load("x", NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_make(NULL, NULL, NULL), TACIT_BAD_USAGE);
}

static void nothing_in_the_place_of_what_a_problem_says(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes_text);
    char name[8] = "before";
    assert_null(tacit_problem_constraint_name(NULL, 0));
    assert_int_equal(tacit_problem_constraint_is_equality(NULL, 0), 0);
    assert_int_equal(tacit_problem_constraint_is_equality(problem, SIZE_MAX), 0);
    assert_null(tacit_problem_constraint_name(problem, SIZE_MAX));
    assert_int_equal(tacit_problem_family(NULL, 0, &(tacit_family){.size = sizeof(tacit_family)}), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_family(problem, 0, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_family(problem, SIZE_MAX, NULL), TACIT_BAD_USAGE);
    tacit_variable variable = {.size = sizeof variable};
    assert_int_equal(tacit_problem_variable(NULL, 0, 0, &variable), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_variable(problem, 0, 0, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_variable(problem, SIZE_MAX, 0, &variable), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_variable(problem, 0, SIZE_MAX, &variable), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_agent_name(NULL, 0, name, sizeof name), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_agent_name(problem, 0, NULL, sizeof name), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_agent_name(problem, 0, name, 0), TACIT_BAD_USAGE);
    assert_int_equal(tacit_problem_agent_name(problem, SIZE_MAX, name, sizeof name), TACIT_BAD_USAGE);
    assert_string_equal(name, "before");
    assert_int_equal(tacit_problem_agent_name(problem, 0, name, 1), TACIT_OK);
    assert_string_equal(name, "");
    tacit_problem_free(problem);
}

static void nothing_in_the_place_of_files(void **state) {
    (void)state;
    tacit_result *result = NULL;
    char *message = NULL;
    const char *const traces[] = {NULL}, *const missing[] = {"/nowhere/at/all"};
    tacit_status status = tacit_report(NULL, 0, NULL, NULL, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "traces");
    status = tacit_report(traces, 0, "page.html", NULL, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "traces");
    status = tacit_report(traces, 1, "page.html", NULL, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "no path");
    status = tacit_report(traces, SIZE_MAX, "page.html", NULL, NULL, &result, &message);
    is_refused(TACIT_TOO_LARGE, status, result, message, NULL);
    status = tacit_report(missing, 1, NULL, NULL, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "path");
    status = tacit_report(missing, 1, "/tmp/no-page-of-a-test.html", NULL, NULL, &result, &message);
    assert_true(status == TACIT_BAD_USAGE || status == TACIT_CANNOT_READ);
    is_refused(status, status, result, message, "/nowhere/at/all");
    assert_int_not_equal(access("/tmp/no-page-of-a-test.html", F_OK), 0);
    assert_int_equal(tacit_report(NULL, 0, NULL, NULL, NULL, NULL, NULL), TACIT_BAD_USAGE);
    status = tacit_ledger(NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "no path");
    status = tacit_ledger("", &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, NULL);
    assert_int_equal(tacit_ledger(NULL, NULL, NULL), TACIT_BAD_USAGE);
}

static void nothing_in_the_place_of_options(void **state) {
    (void)state;
    tacit_options_default(NULL, sizeof(tacit_options));
    tacit_promise_default(NULL, sizeof(tacit_promise));
    tacit_run_options_default(NULL, sizeof(tacit_run_options));
    tacit_sweep_options_default(NULL, sizeof(tacit_sweep_options));
    tacit_audit_options_default(NULL, sizeof(tacit_audit_options));
    assert_non_null(tacit_status_text((tacit_status)-1));
    assert_non_null(tacit_status_text((tacit_status)1000));
}

/* ---- structs of another size ---- */

typedef void default_of(void *options, size_t size);
static void default_options_of(void *options, size_t size) { tacit_options_default(options, size); }
static void default_promise_of(void *options, size_t size) { tacit_promise_default(options, size); }
static void default_run_of(void *options, size_t size) { tacit_run_options_default(options, size); }
static void default_sweep_of(void *options, size_t size) { tacit_sweep_options_default(options, size); }
static void default_audit_of(void *options, size_t size) { tacit_audit_options_default(options, size); }

typedef tacit_status use_of(tacit_problem *problem, const void *options, tacit_result **result, char **message);
static tacit_status use_options(tacit_problem *problem, const void *options, tacit_result **result, char **message) {
    return tacit_plan(problem, NULL, options, result, message);
}
static tacit_status use_promise(tacit_problem *problem, const void *options, tacit_result **result, char **message) {
    return tacit_plan(problem, options, NULL, result, message);
}
static tacit_status use_run(tacit_problem *problem, const void *options, tacit_result **result, char **message) {
    return tacit_run(problem,
                     &(tacit_promise){.size = sizeof(tacit_promise),
                                      .epsilon = 1,
                                      .delta = no_number,
                                      .rounds = 1,
                                      .alpha_bar = no_number,
                                      .gamma_bar = no_number,
                                      .c1 = no_number,
                                      .c2 = no_number,
                                      .rounds_per_day = no_number,
                                      .simulate = 1,
                                      .budget_epsilon = no_number,
                                      .budget_delta = no_number},
                     options, NULL, result, message);
}
static tacit_status use_sweep(tacit_problem *problem, const void *options, tacit_result **result, char **message) {
    tacit_promise promise = promise_of_seed(1);
    promise.rounds = 1;
    return tacit_sweep(problem, &promise, options, NULL, result, message);
}
static tacit_status use_audit(tacit_problem *problem, const void *options, tacit_result **result, char **message) {
    return tacit_audit(problem, NULL, options, NULL, result, message);
}

static const struct {
    size_t size;
    default_of *fill;
    use_of *use;
} option_structs[] = {{sizeof(tacit_options), default_options_of, use_options},
                      {sizeof(tacit_promise), default_promise_of, use_promise},
                      {sizeof(tacit_run_options), default_run_of, use_run},
                      {sizeof(tacit_sweep_options), default_sweep_of, use_sweep},
                      {sizeof(tacit_audit_options), default_audit_of, use_audit}};

enum { ROOM = 1024 };

static void options_of_another_size(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes_text);
    for (size_t i = 0; i < sizeof option_structs / sizeof *option_structs; i++) {
        size_t known = option_structs[i].size;
        const size_t wrong[] = {0, 1, sizeof(size_t) - 1, sizeof(size_t), known - 1, (size_t)1 << 20, SIZE_MAX};
        _Alignas(max_align_t) unsigned char options[ROOM], before[ROOM];
        tacit_result *result = NULL;
        char *message = NULL;
        for (size_t s = 0; s < sizeof wrong / sizeof *wrong; s++) {
            memset(options, 0xa5, sizeof options);
            option_structs[i].fill(options, known);
            memcpy(options, &wrong[s], sizeof wrong[s]);
            tacit_status status = option_structs[i].use(problem, options, &result, &message);
            is_refused(TACIT_BAD_USAGE, status, result, message, "sizeof(tacit_");
        }
        memset(options, 0xa5, sizeof options);
        memcpy(before, options, sizeof options);
        option_structs[i].fill(options, 0); /* writes nothing where there is no room for a size */
        option_structs[i].fill(options, SIZE_MAX);
        assert_memory_equal(options, before, sizeof options);
        option_structs[i].fill(options, sizeof(size_t) + 4); /* and never more than there is */
        assert_memory_equal(options + sizeof(size_t) + 4, before + sizeof(size_t) + 4, ROOM - sizeof(size_t) - 4);
        option_structs[i].fill(options, known + 8); /* a newer program that does not use what is new */
        assert_memory_equal(options + known + 8, before + known + 8, ROOM - known - 8);
        assert_int_equal(option_structs[i].use(problem, options, &result, &message), TACIT_OK);
        tacit_result_free(result);
        options[known + 7] = 1; /* and one that does */
        tacit_status status = option_structs[i].use(problem, options, &result, &message);
        is_refused(TACIT_BAD_USAGE, status, result, message, "sizeof(tacit_");
    }
    tacit_source source = {.path = "x"};
    const size_t wrong[] = {0, 1, sizeof source - 1, sizeof source + 1, SIZE_MAX};
    struct {
        tacit_source known;
        size_t unknown;
    } newer = {.known = {.path = "x"}, .unknown = SIZE_MAX};
    for (size_t s = 0; s < sizeof wrong / sizeof *wrong; s++) {
        tacit_problem *made = NULL;
        char *message = NULL;
        newer.known.size = wrong[s];
        tacit_status status = tacit_problem_make(&newer.known, &made, &message);
        is_refused(TACIT_BAD_USAGE, status, made, message, "sizeof(tacit_source)");
    }
    tacit_problem_free(problem);
}

/* ---- results: facts of another size, results of another kind, numbers that are too large ---- */

typedef tacit_status getter(const tacit_result *result, size_t i, size_t j, void *facts);
static tacit_status get_solution(const tacit_result *result, size_t i, size_t j, void *facts) {
    return i + j > 0 ? TACIT_BAD_USAGE : tacit_result_solution(result, facts);
}
static tacit_status get_plan(const tacit_result *result, size_t i, size_t j, void *facts) {
    return i + j > 0 ? TACIT_BAD_USAGE : tacit_result_plan(result, facts);
}
static tacit_status get_observer(const tacit_result *result, size_t i, size_t j, void *facts) {
    return j > 0 ? TACIT_BAD_USAGE : tacit_result_observer(result, i, facts);
}
static tacit_status get_channel(const tacit_result *result, size_t i, size_t j, void *facts) {
    return j > 0 ? TACIT_BAD_USAGE : tacit_result_channel(result, i, facts);
}
static tacit_status get_run(const tacit_result *result, size_t i, size_t j, void *facts) {
    return j > 0 ? TACIT_BAD_USAGE : tacit_result_run(result, i, facts);
}
static tacit_status get_row(const tacit_result *result, size_t i, size_t j, void *facts) {
    return tacit_result_row(result, i, j, facts);
}
static tacit_status get_point(const tacit_result *result, size_t i, size_t j, void *facts) {
    return j > 0 ? TACIT_BAD_USAGE : tacit_result_point(result, i, facts);
}
static tacit_status get_comparison(const tacit_result *result, size_t i, size_t j, void *facts) {
    return i + j > 0 ? TACIT_BAD_USAGE : tacit_result_comparison(result, facts);
}
static tacit_status get_bound(const tacit_result *result, size_t i, size_t j, void *facts) {
    return i + j > 0 ? TACIT_BAD_USAGE : tacit_result_bound(result, facts);
}
static tacit_status get_audit(const tacit_result *result, size_t i, size_t j, void *facts) {
    return i + j > 0 ? TACIT_BAD_USAGE : tacit_result_audit(result, facts);
}
static tacit_status get_system(const tacit_result *result, size_t i, size_t j, void *facts) {
    return j > 0 ? TACIT_BAD_USAGE : tacit_result_audit_system(result, i, facts);
}
static tacit_status get_audit_point(const tacit_result *result, size_t i, size_t j, void *facts) {
    return j > 0 ? TACIT_BAD_USAGE : tacit_result_audit_point(result, i, facts);
}
static tacit_status get_fault(const tacit_result *result, size_t i, size_t j, void *facts) {
    return j > 0 ? TACIT_BAD_USAGE : tacit_result_audit_fault(result, i, facts);
}
static tacit_status get_entry(const tacit_result *result, size_t i, size_t j, void *facts) {
    return j > 0 ? TACIT_BAD_USAGE : tacit_result_entry(result, i, facts);
}
static tacit_status get_part(const tacit_result *result, size_t i, size_t j, void *facts) {
    return j > 0 ? TACIT_BAD_USAGE : tacit_result_part(result, i, facts);
}

static tacit_status get_doubt(const tacit_result *result, size_t i, size_t j, void *facts) {
    return j > 0 ? TACIT_BAD_USAGE : tacit_result_doubt(result, i, facts);
}
static tacit_status get_advice(const tacit_result *result, size_t i, size_t j, void *facts) {
    return i + j > 0 ? TACIT_BAD_USAGE : tacit_result_advice(result, facts);
}
static tacit_status get_advice_point(const tacit_result *result, size_t i, size_t j, void *facts) {
    return j > 0 ? TACIT_BAD_USAGE : tacit_result_advice_point(result, i, facts);
}

static tacit_status get_check(const tacit_result *result, size_t i, size_t j, void *facts) {
    return i + j > 0 ? TACIT_BAD_USAGE : tacit_result_check(result, facts);
}
static tacit_status get_check_agent(const tacit_result *result, size_t i, size_t j, void *facts) {
    return j > 0 ? TACIT_BAD_USAGE : tacit_result_check_agent(result, i, facts);
}

/* of: the commands whose results have such facts, and "ledger"; first: the size in the first header that had them,
 * 0 where that is the same */
static const struct {
    getter *get;
    size_t size;
    const char *of;
    size_t first;
} getters[] = {{get_check, sizeof(tacit_check_facts), "check", 0},
               {get_check_agent, sizeof(tacit_check_agent), "check", 0},
               {get_solution, sizeof(tacit_solution), "solve", 0},
               {get_plan, sizeof(tacit_plan_facts), "plan advise run many bound audit", 0},
               {get_observer, sizeof(tacit_observer), "plan advise run many bound audit", 0},
               {get_channel, sizeof(tacit_channel), "plan advise run many bound audit", 0},
               {get_doubt, sizeof(tacit_doubt), "plan advise", 0},
               {get_advice, sizeof(tacit_advice), "advise", 0},
               {get_advice_point, sizeof(tacit_advice_point), "advise", 0},
               {get_run, sizeof(tacit_run_facts), "run many sweep", offsetof(tacit_run_facts, feasibility)},
               {get_comparison, sizeof(tacit_comparison), "run many sweep", 0},
               {get_row, sizeof(tacit_row), "run many sweep", 0},
               {get_point, sizeof(tacit_sweep_point), "sweep", offsetof(tacit_sweep_point, no_better_than_nothing)},
               {get_bound, sizeof(tacit_bound_facts), "bound", 0},
               {get_audit, sizeof(tacit_audit_facts), "audit", 0},
               {get_system, sizeof(tacit_audit_system), "audit", 0},
               {get_audit_point, sizeof(tacit_audit_point), "audit", 0},
               {get_fault, sizeof(tacit_audit_fault), "", 0}, /* a right plan has none */
               {get_entry, sizeof(tacit_ledger_entry), "ledger", 0},
               {get_part, sizeof(tacit_part), "split", 0}};

static void fill(unsigned char *facts, size_t size) {
    memset(facts, 0xa5, ROOM);
    memcpy(facts, &size, sizeof size);
}

static void ask_for_everything(const tacit_result *result, const char *name) {
    for (size_t g = 0; g < sizeof getters / sizeof *getters; g++) {
        _Alignas(max_align_t) unsigned char facts[ROOM], before[ROOM];
        size_t known = getters[g].size, first = getters[g].first > 0 ? getters[g].first : known;
        const size_t wrong[] = {0, sizeof(size_t), first - 1, (size_t)1 << 20, SIZE_MAX};
        bool has = strstr(getters[g].of, name) != NULL;
        fill(facts, known);
        assert_int_equal(getters[g].get(result, 0, 0, facts), has ? TACIT_OK : TACIT_BAD_USAGE);
        fill(before, known);
        assert_memory_equal(facts, before, has ? sizeof(size_t) : ROOM);
        assert_memory_equal(facts + known, before + known, ROOM - known); /* never more than there is */
        fill(facts, known + 16);
        assert_int_equal(getters[g].get(result, 0, 0, facts), has ? TACIT_OK : TACIT_BAD_USAGE);
        for (size_t i = known; has && i < known + 16; i++)
            assert_int_equal(facts[i], 0); /* what a newer program asks for in vain */
        fill(facts, first);
        fill(before, first);
        assert_int_equal(getters[g].get(result, 0, 0, facts), has ? TACIT_OK : TACIT_BAD_USAGE);
        assert_memory_equal(facts + first, before + first, ROOM - first); /* an older program has no room for more */
        fill(before, known);
        assert_int_equal(getters[g].get(result, 0, 0, NULL), TACIT_BAD_USAGE);
        fill(facts, known);
        assert_int_equal(getters[g].get(result, SIZE_MAX, 0, facts), TACIT_BAD_USAGE);
        assert_int_equal(getters[g].get(result, 0, SIZE_MAX, facts), TACIT_BAD_USAGE);
        assert_int_equal(getters[g].get(result, 1000, 1000, facts), TACIT_BAD_USAGE);
        assert_int_equal(getters[g].get(NULL, 0, 0, facts), TACIT_BAD_USAGE);
        assert_memory_equal(facts, before, ROOM);
        for (size_t s = 0; s < sizeof wrong / sizeof *wrong; s++) {
            fill(facts, wrong[s]);
            assert_int_equal(getters[g].get(result, 0, 0, facts), TACIT_BAD_USAGE);
        }
    }
}

static void ask_for_the_rest(tacit_result *result, const char *name) {
    double x[16], slope = 7, low = 7, high = 7;
    bool has_states = strstr("solve run many sweep", name) != NULL, has_runs = strstr("run many sweep", name) != NULL;
    bool has_plan = strstr("plan advise run many bound audit", name) != NULL;
    char *message = NULL;
    assert_int_equal(tacit_result_x(result, 0, 0, x, 16), has_states ? TACIT_OK : TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_x(result, SIZE_MAX, 0, x, 16), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_x(result, 0, SIZE_MAX, x, 16), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_x(result, 0, 0, NULL, 16), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_x(result, 0, 0, x, 5), TACIT_BAD_USAGE); /* of 3 times 2 */
    assert_int_equal(tacit_result_reason(result) == NULL, tacit_result_holds(result));
    bool is_sweep = strcmp(name, "sweep") == 0;
    assert_int_equal(tacit_result_slope(result, NULL, &low, &high), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_slope(result, &slope, NULL, &high), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_slope(result, &slope, &low, NULL), TACIT_BAD_USAGE);
    assert_true(slope == 7 && low == 7 && high == 7);
    assert_int_equal(tacit_result_slope(result, &slope, &low, &high), is_sweep ? TACIT_OK : TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_runs(result) > 0, has_runs);
    assert_int_equal(tacit_result_points(result) > 0, is_sweep);
    assert_int_equal(tacit_result_entries(result) > 0, strcmp(name, "ledger") == 0);
    assert_int_equal(tacit_result_parts(result) > 0, strcmp(name, "split") == 0);
    assert_non_null(tacit_result_warnings(result));
    assert_true(tacit_result_json(result)[0] == '{' && tacit_result_text(result) != NULL);
    const char *certificate = tacit_plan_certificate(result, &message);
    assert_true(has_plan || certificate == NULL);
    assert_int_equal(message != NULL, certificate == NULL); /* why */
    tacit_text_free(message);
    message = NULL;
    tacit_status status = tacit_result_write_trace(result, NULL, NULL, &message);
    is_refused(TACIT_BAD_USAGE, status, NULL, message, NULL);
    status = tacit_result_write_report(result, NULL, NULL, &message);
    is_refused(TACIT_BAD_USAGE, status, NULL, message, NULL);
    status = tacit_result_write_trace(result, has_runs ? "" : "/tmp/no-trace-of-a-test", NULL, &message);
    is_refused(TACIT_BAD_USAGE, status, NULL, message, NULL);
    status =
        tacit_result_write_report(result, has_runs ? "/nowhere/at/all" : "/tmp/no-trace-of-a-test", NULL, &message);
    assert_true(status == TACIT_BAD_USAGE || (has_runs && status == TACIT_CANNOT_WRITE));
    is_refused(status, status, NULL, message, NULL);
    assert_int_not_equal(access("/tmp/no-trace-of-a-test", F_OK), 0);
}

static void results_of_every_kind_are_asked_for_everything(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes_text);
    const tacit_promise promise = promise_of_seed(1);
    for (size_t i = 0; i <= COMMANDS; i++) {
        tacit_result *result = NULL;
        const char *name = i < COMMANDS ? commands[i].name : "ledger";
        tacit_status status = i < COMMANDS ? commands[i].call(problem, &promise, NULL, NULL, &result, NULL)
                                           : tacit_ledger(TACIT_SOURCE_DIR "/tests/cli/ledger", &result, NULL);
        assert_int_equal(status, TACIT_OK);
        ask_for_everything(result, name);
        ask_for_the_rest(result, name);
        tacit_result_free(result);
    }
    char *message = NULL;
    assert_null(tacit_plan_certificate(NULL, &message));
    assert_non_null(message);
    tacit_text_free(message);
    tacit_status status = tacit_result_write_trace(NULL, "x", NULL, &message);
    is_refused(TACIT_BAD_USAGE, status, NULL, message, NULL);
    assert_true(tacit_result_runs(NULL) == 0 && tacit_result_points(NULL) == 0 && tacit_result_interrupted(NULL) == 0);
    tacit_problem_free(problem);
}

/* ---- numbers ---- */

static const struct {
    const char *name;
    size_t offset;
    bool zero_is_right;
} promised[] = {{"epsilon", offsetof(tacit_promise, epsilon), false},
                {"delta", offsetof(tacit_promise, delta), false},
                {"rounds", offsetof(tacit_promise, rounds), false},
                {"alpha_bar", offsetof(tacit_promise, alpha_bar), false},
                {"gamma_bar", offsetof(tacit_promise, gamma_bar), false},
                {"c1", offsetof(tacit_promise, c1), true},
                {"c2", offsetof(tacit_promise, c2), true},
                {"rounds_per_day", offsetof(tacit_promise, rounds_per_day), false},
                {"budget", offsetof(tacit_promise, budget_epsilon), false},
                {"budget", offsetof(tacit_promise, budget_delta), false}};

static void a_promise_of_numbers_that_are_none(void **state) {
    (void)state;
    static const double wrong[] = {-1, -0x1p-1074, -1e308};
    tacit_problem *problem = problem_of(homes_text);
    for (size_t i = 0; i < sizeof promised / sizeof *promised; i++) {
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong + 4; k++) {
            size_t count = sizeof wrong / sizeof *wrong;
            double value = k < count        ? wrong[k]
                           : k == count     ? endless
                           : k == count + 1 ? -endless
                           : k == count + 2 ? 0.0
                                            : -0.0;
            if (value == 0 && promised[i].zero_is_right)
                continue;
            for (size_t c = 0; c < COMMANDS; c++) {
                tacit_result *result = NULL;
                char *message = NULL;
                tacit_promise promise = promise_of_seed(1);
                memcpy((char *)&promise + promised[i].offset, &value, sizeof value);
                if (!commands[c].has_promise)
                    continue;
                tacit_status status = commands[c].call(problem, &promise, NULL, NULL, &result, &message);
                is_refused(TACIT_BAD_USAGE, status, result, message, promised[i].name);
            }
        }
    }
    tacit_problem_free(problem);
}

/* Allowed numbers that no one would want: a refusal, or an outcome whose scales are finite. */
static void a_promise_of_numbers_at_their_ends(void **state) {
    (void)state;
    static const double ends[] = {0x1p-1074, 0x1p-1022, 1e-300,     1e-9,  1 - 0x1p-53,
                                  1,         10,        0x1p48 - 1, 1e300, 0x1.fffffffffffffp1023};
    tacit_problem *problem = problem_of(homes_text);
    for (size_t i = 0; i < sizeof promised / sizeof *promised; i++) {
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
            for (int published = 0; published < 2; published++) {
                tacit_result *result = NULL;
                char *message = NULL;
                tacit_promise promise = promise_of_seed(1);
                promise.method = published ? "published" : "tacit";
                memcpy((char *)&promise + promised[i].offset, &ends[k], sizeof ends[k]);
                tacit_status status = tacit_plan(problem, &promise, NULL, &result, &message);
                if (status != TACIT_OK) {
                    is_refused(TACIT_BAD_USAGE, status, result, message, NULL);
                    continue;
                }
                tacit_plan_facts facts = {.size = sizeof facts};
                assert_int_equal(tacit_result_plan(result, &facts), TACIT_OK);
                assert_true(facts.problem != NULL || (facts.epsilon > 0 && facts.rounds >= 1));
                assert_true(tacit_result_json(result) != NULL && tacit_result_text(result) != NULL);
                for (size_t c = 0; c < facts.channels; c++) {
                    tacit_channel channel = {.size = sizeof channel};
                    assert_int_equal(tacit_result_channel(result, c, &channel), TACIT_OK);
                    assert_true(channel.scale >= 0 && isfinite(channel.scale));
                }
                tacit_result_free(result);
            }
        }
    }
    tacit_problem_free(problem);
}

static void whole_numbers_that_are_too_large(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes_text);
    tacit_result *result = NULL;
    char *message = NULL;
    tacit_promise promise = promise_of_seed(UINT64_MAX);
    tacit_status status = tacit_plan(problem, &promise, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "seeds");
    promise = promise_of_seed(1);
    promise.most_holds = UINT32_MAX;
    status = tacit_plan(problem, &promise, NULL, &result, &message);
    assert_true(status == TACIT_OK || (status == TACIT_BAD_USAGE && message != NULL));
    tacit_text_free(message);
    tacit_result_free(result);
    promise = promise_of_seed(UINT64_C(1) << 53);
    tacit_run_options how;
    tacit_run_options_default(&how, sizeof how);
    how.seeds = 2;
    status = tacit_run(problem, &promise, &how, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "seed");
    promise = promise_of_seed(1);
    how.seeds = SIZE_MAX;
    status = tacit_run(problem, &promise, &how, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "seeds");
    tacit_run_options_default(&how, sizeof how);
    static const int rows[] = {-2, INT32_MIN, INT32_MAX, 1000001};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        how.rows_per_decade = rows[i];
        status = tacit_run(problem, &promise, &how, NULL, &result, &message);
        is_refused(TACIT_BAD_USAGE, status, result, message, "rows_per_decade");
    }
    how.rows_per_decade = -1; /* every round, of more rounds than there is memory */
    promise.rounds = 0x1p48 - 1;
    status = tacit_run(problem, &promise, &how, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "rows");
    promise.rounds = 1e9;
    status = tacit_run(problem, &promise, &how, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "rows");
    tacit_problem_free(problem);
}

static void options_of_numbers_that_are_none(void **state) {
    (void)state;
    const double wrong[] = {-1, no_number, endless, -endless, 2, 1e-15, -0x1p-1074, 0x1p-1074};
    tacit_problem *problem = problem_of(homes_text);
    tacit_result *result = NULL;
    char *message = NULL;
    for (size_t c = 0; c < COMMANDS; c++) {
        tacit_options options = default_options();
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            options.tolerance = wrong[i];
            tacit_status status = commands[c].call(problem, NULL, &options, NULL, &result, &message);
            is_refused(TACIT_BAD_USAGE, status, result, message, "tolerance");
        }
        options = default_options();
        options.threads = SIZE_MAX;
        tacit_status status = commands[c].call(problem, NULL, &options, NULL, &result, &message);
        is_refused(TACIT_BAD_USAGE, status, result, message, "threads");
    }
    tacit_status status = tacit_bound(problem, NULL, -endless, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "negative");
    tacit_problem_free(problem);
}

static void a_sweep_over_what_are_no_prices(void **state) {
    (void)state;
    const double wrong[] = {-1, 0, -0.0, no_number, endless, -endless}, list[1001] = {1};
    tacit_problem *problem = problem_of(homes_text);
    const tacit_promise promise = promise_of_seed(1);
    tacit_result *result = NULL;
    char *message = NULL;
    tacit_sweep_options how;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const double epsilons[] = {1, wrong[i]};
        tacit_sweep_options_default(&how, sizeof how);
        how.epsilons = epsilons;
        how.epsilon_count = 2;
        tacit_status status = tacit_sweep(problem, &promise, &how, NULL, &result, &message);
        is_refused(TACIT_BAD_USAGE, status, result, message, "positive numbers");
        for (int end = 0; end < 2 && !isnan(wrong[i]); end++) {
            tacit_sweep_options_default(&how, sizeof how);
            *(end == 0 ? &how.from : &how.to) = wrong[i];
            status = tacit_sweep(problem, &promise, &how, NULL, &result, &message);
            is_refused(TACIT_BAD_USAGE, status, result, message, "positive numbers");
        }
    }
    tacit_sweep_options_default(&how, sizeof how);
    const tacit_sweep_options standard = how;
    static const struct {
        size_t count, points, seeds;
        bool has_list;
    } sizes[] = {{0, 0, 1, true},         {SIZE_MAX, 0, 1, true},   {1001, 0, 1, true},      {1, 0, 1, false},
                 {SIZE_MAX, 0, 1, false}, {0, 1, 1, false},         {0, SIZE_MAX, 1, false}, {1, 2, 1, true},
                 {0, 2, SIZE_MAX, false}, {0, 1000, 1000000, false}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        how = standard;
        how.epsilons = sizes[i].has_list ? list : NULL;
        how.epsilon_count = sizes[i].count;
        how.points = sizes[i].points;
        how.seeds = sizes[i].seeds;
        tacit_status status = tacit_sweep(problem, &promise, &how, NULL, &result, &message);
        is_refused(TACIT_BAD_USAGE, status, result, message, NULL);
    }
    how = standard;
    how.from = 2;
    how.to = 1;
    tacit_status status = tacit_sweep(problem, &promise, &how, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "less than");
    how.from = 0x1p-1074;
    how.to = 0x1.fffffffffffffp1023;
    how.seeds = 1;
    status = tacit_sweep(problem, &promise, &how, NULL, &result, &message);
    assert_true(status == TACIT_OK || (status == TACIT_BAD_USAGE && message != NULL));
    tacit_text_free(message);
    tacit_result_free(result);
    tacit_problem_free(problem);
}

/* ---- words and names ---- */

static char *long_text(size_t length, char letter) {
    char *text = malloc(length + 1);
    assert_non_null(text);
    memset(text, letter, length);
    text[length] = '\0';
    return text;
}

static const size_t words[] = {offsetof(tacit_promise, mechanism),   offsetof(tacit_promise, adjacency),
                               offsetof(tacit_promise, method),      offsetof(tacit_promise, placement),
                               offsetof(tacit_promise, calibration), offsetof(tacit_promise, constants),
                               offsetof(tacit_promise, margin)};

static void words_that_are_no_words(void **state) {
    (void)state;
    char *longest = long_text((size_t)3 << 20, 'a');
    const char *const wrong[] = {"",         "\n",      "laplace ", " none",       "\xff\xfe", "auto\n",
                                 "one:",     "one:nan", "one:inf",  "one:1e400",   "one:0",    "one:0x1p3",
                                 "agent ",   "auto:",   "auto:nan", "ensemble:-1", "one:1,2",  "%s%n%d",
                                 "\xc3\xa4", "1e",      longest,    "-0x1p-1074"};
    tacit_problem *problem = problem_of(homes_text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            tacit_result *result = NULL;
            char *message = NULL;
            tacit_promise promise = promise_of_seed(1);
            memcpy((char *)&promise + words[i], &wrong[k], sizeof wrong[k]);
            tacit_status status = tacit_plan(problem, &promise, NULL, &result, &message);
            is_refused(TACIT_BAD_USAGE, status, result, message, NULL);
        }
    }
    free(longest);
    tacit_problem_free(problem);
}

static void coalitions_that_are_none(void **state) {
    (void)state;
    char *longest = long_text((size_t)3 << 20, 'a');
    const char *const wrong[] = {"",
                                 ",",
                                 "home[1],",
                                 ",home[1]",
                                 "home[1],,home[2]",
                                 "home",
                                 "home[4]",
                                 "home[0]",
                                 "home[1]\n",
                                 "home[1 ]",
                                 "\xff",
                                 "home[99999999999999999999]",
                                 NULL,
                                 longest,
                                 "home[-1]",
                                 "home[1],home[1],nobody"};
    tacit_problem *problem = problem_of(homes_text);
    tacit_result *result = NULL;
    char *message = NULL;
    tacit_promise promise = promise_of_seed(1);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        promise.coalitions = &wrong[k];
        promise.coalition_count = 1;
        tacit_status status = tacit_plan(problem, &promise, NULL, &result, &message);
        is_refused(TACIT_BAD_USAGE, status, result, message, NULL);
    }
    promise.coalition_count = SIZE_MAX;
    tacit_status status = tacit_plan(problem, &promise, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "coalitions");
    promise.coalitions = NULL;
    promise.coalition_count = 1;
    status = tacit_plan(problem, &promise, NULL, &result, &message);
    is_refused(TACIT_BAD_USAGE, status, result, message, "coalition");
    const char *const all[] = {"home[1],home[2],home[3]", "home[1]", "home[1]"};
    promise.coalitions = all;
    promise.coalition_count = 3;
    assert_int_equal(tacit_plan(problem, &promise, NULL, &result, NULL), TACIT_OK);
    tacit_result_free(result);
    free(longest);
    tacit_problem_free(problem);
}

/* Printable ASCII and newlines alone. */
static void is_plain_json(const char *json) {
    assert_non_null(json);
    for (const unsigned char *c = (const unsigned char *)json; *c != '\0'; c++)
        assert_true((*c >= 0x20 || *c == '\n') && *c < 0x7f);
}

static void paths_that_are_no_names(void **state) {
    (void)state;
    char *longest = long_text((size_t)1 << 16, 'a');
    const char *const wrong[] = {"",      "\n",         "/tmp/\n", "\xff\xfe/x", "/", ".", "/nowhere/at/all",
                                 longest, "/dev/null/x"};
    tacit_problem *problem = problem_of(homes_text);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        tacit_result *result = NULL;
        tacit_problem *other = NULL;
        char *message = NULL;
        tacit_promise promise = promise_of_seed(1);
        promise.ledger = wrong[k];
        bool may_be = wrong[k][0] == '\n' || strcmp(wrong[k], "/tmp/\n") == 0; /* a new file could have this name */
        for (size_t c = 2; c < 4; c++) {                                       /* plan and run */
            tacit_status status = commands[c].call(problem, &promise, NULL, NULL, &result, &message);
            if (may_be && status == TACIT_OK) {
                is_plain_json(tacit_result_json(result));
                tacit_result_free(result);
                result = NULL;
            } else {
                assert_true(status == TACIT_BAD_USAGE || status == TACIT_CANNOT_READ);
                is_refused(status, status, result, message, NULL);
                message = NULL;
            }
        }
        tacit_status status = tacit_problem_load(wrong[k], &other, &message);
        assert_true(status == TACIT_BAD_USAGE || status == TACIT_CANNOT_READ);
        is_refused(status, status, other, message, NULL);
    }
    free(longest);
    tacit_problem_free(problem);
}

/* The path is for messages only: it may be anything, and JSON stays JSON. */
static void a_path_of_any_bytes(void **state) {
    (void)state;
    char *longest = long_text((size_t)2 << 20, '"');
    const char *const paths[] = {"", "\n\"\\", "\xff\xc0\x80", longest};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        tacit_problem *problem = NULL;
        char *message = NULL;
        tacit_source source = {
            .size = sizeof source, .path = paths[i], .text = homes_text, .length = sizeof homes_text - 1};
        assert_int_equal(tacit_problem_make(&source, &problem, &message), TACIT_OK);
        const tacit_promise promise = promise_of_seed(1);
        for (size_t c = 0; c < COMMANDS; c++) {
            tacit_result *result = NULL;
            tacit_status status = commands[c].call(problem, &promise, NULL, NULL, &result, &message);
            assert_true(status == TACIT_OK || (i == 3 && status == TACIT_TOO_LARGE));
            if (status == TACIT_OK)
                is_plain_json(tacit_result_json(result));
            tacit_text_free(message);
            tacit_result_free(result);
        }
        tacit_problem_free(problem);
        source.text = "agent";
        source.length = 5;
        tacit_status status = tacit_problem_make(&source, &problem, &message);
        assert_true(status == TACIT_BAD_PROBLEM || (i == 3 && status == TACIT_TOO_LARGE));
        is_refused(status, status, problem, message, NULL);
    }
    free(longest);
}

/* ---- data ---- */

static const char rows_text[] = "data homes = given\nparam m = given\n"
                                "agents home over homes {\n  state x in [0, 4]\n  private minimize (x - wish)^2\n}\n"
                                "constraint feeder: sum(home: x) <= m[1, 1]\ndual radius 8\n";

static tacit_status make_rows(const tacit_table *tables, size_t table_count, const tacit_matrix *matrices,
                              size_t matrix_count, tacit_problem **problem, char **message) {
    const tacit_source source = {.size = sizeof source,
                                 .text = rows_text,
                                 .length = sizeof rows_text - 1,
                                 .tables = tables,
                                 .table_count = table_count,
                                 .matrices = matrices,
                                 .matrix_count = matrix_count};
    return tacit_problem_make(&source, problem, message);
}

static void tables_that_are_none(void **state) {
    (void)state;
    const double good[] = {1, 2, 3, 4}, holes[] = {1, no_number, endless, 4};
    char *longest = long_text((size_t)2 << 20, 'n');
    const char *const twice[] = {"a", "a"}, *const hole[] = {"a", NULL}, *const empty[] = {"a", ""};
    const char *const lines[] = {"a", "b\nc"}, *const bytes[] = {"a", "\xff"}, *const large[] = {"a", longest};
    const tacit_matrix matrix = {"m", good, 2, 2, 0, 0};
    const tacit_column column = {"wish", good, 1, 0, 0};
    const struct {
        tacit_table table;
        tacit_column column;
    } wrong[] = {
        {{"homes", 0, NULL, 1, NULL}, column},
        {{"homes", 2, NULL, 0, NULL}, column},
        {{"homes", SIZE_MAX, NULL, 1, NULL}, column},
        {{"homes", 2, NULL, SIZE_MAX, NULL}, column},
        {{NULL, 2, NULL, 1, NULL}, column},
        {{"", 2, NULL, 1, NULL}, column},
        {{"ho\nmes", 2, NULL, 1, NULL}, column},
        {{"\xff", 2, NULL, 1, NULL}, column},
        {{longest, 2, NULL, 1, NULL}, column},
        {{"other", 2, NULL, 1, NULL}, column},
        {{"homes", 2, NULL, 1, NULL}, {NULL, good, 1, 0, 0}},
        {{"homes", 2, NULL, 1, NULL}, {"", good, 1, 0, 0}},
        {{"homes", 2, NULL, 1, NULL}, {"wi\nsh", good, 1, 0, 0}},
        {{"homes", 2, NULL, 1, NULL}, {"\xff", good, 1, 0, 0}},
        {{"homes", 2, NULL, 1, NULL}, {longest, good, 1, 0, 0}},
        {{"homes", 2, NULL, 1, NULL}, {"wish", NULL, 1, 0, 0}},
        {{"homes", 2, NULL, 1, NULL}, {"wish", good, 0, 0, 0}},
        {{"homes", 2, NULL, 1, NULL}, {"wish", good, SIZE_MAX, 0, 0}},
        {{"homes", 2, NULL, 1, NULL}, {"wish", good, 1, SIZE_MAX, 0}},
        {{"homes", 2, NULL, 1, NULL}, {"wish", good, 2, 0, SIZE_MAX}},
        {{"homes", 2, NULL, 1, NULL}, {"wish", holes, 1, 0, 0}},
        {{"homes", 2, NULL, 1, NULL}, {"wish", holes, 1, 2, 0}},
        {{"homes", 2, NULL, 1, twice}, column},
        {{"homes", 2, NULL, 1, hole}, column},
        {{"homes", 2, NULL, 1, empty}, column},
        {{"homes", 2, NULL, 1, lines}, column},
        {{"homes", 2, NULL, 1, bytes}, column},
        {{"homes", 2, NULL, 1, large}, column},
    };
    tacit_problem *problem = NULL;
    char *message = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tacit_table table = wrong[i].table;
        AT_CASE(i);
        table.columns = i == 1 ? NULL : &wrong[i].column;
        tacit_status status = make_rows(&table, 1, &matrix, 1, &problem, &message);
        assert_true(status == TACIT_BAD_PROBLEM || status == TACIT_TOO_LARGE || status == TACIT_BAD_USAGE);
        is_refused(status, status, problem, message, NULL);
    }
    const tacit_table table = {"homes", 2, &column, 1, NULL};
    const tacit_matrix matrices[] = {{NULL, good, 2, 2, 0, 0},       {"", good, 2, 2, 0, 0},
                                     {"m", NULL, 2, 2, 0, 0},        {"m", good, 0, 2, 0, 0},
                                     {"m", good, 2, 0, 0, 0},        {"m", good, SIZE_MAX, 2, 0, 0},
                                     {"m", good, 2, SIZE_MAX, 0, 0}, {"m", good, 2, 2, SIZE_MAX, 0},
                                     {"m", holes, 2, 2, 0, 0},       {"other", good, 2, 2, 0, 0}};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        AT_CASE(i);
        tacit_status status = make_rows(&table, 1, &matrices[i], 1, &problem, &message);
        assert_true(status == TACIT_BAD_PROBLEM || status == TACIT_TOO_LARGE || status == TACIT_BAD_USAGE);
        is_refused(status, status, problem, message, NULL);
    }
    tacit_status status = make_rows(&table, SIZE_MAX, &matrix, 1, &problem, &message);
    is_refused(TACIT_TOO_LARGE, status, problem, message, NULL);
    status = make_rows(&table, 1, &matrix, SIZE_MAX, &problem, &message);
    is_refused(TACIT_TOO_LARGE, status, problem, message, NULL);
    status = make_rows(NULL, 1, &matrix, 1, &problem, &message);
    is_refused(TACIT_BAD_PROBLEM, status, problem, message, "homes");
    status = make_rows(NULL, SIZE_MAX, NULL, SIZE_MAX, &problem, &message);
    is_refused(TACIT_TOO_LARGE, status, problem, message, NULL);
    const tacit_table both[] = {table, table};
    status = make_rows(both, 2, &matrix, 1, &problem, &message);
    is_refused(TACIT_BAD_PROBLEM, status, problem, message, "homes");
    const tacit_source endless_text = {.size = sizeof endless_text, .text = "agent", .length = SIZE_MAX};
    status = tacit_problem_make(&endless_text, &problem, &message);
    is_refused(TACIT_TOO_LARGE, status, problem, message, NULL);
    free(longest);
}

/* Arrays are read during the call and never written: they may share memory, and be changed afterwards. */
static void arrays_that_overlap(void **state) {
    (void)state;
    double numbers[] = {1, 2, 3, 4}, x[4];
    const tacit_column columns[] = {
        {"wish", numbers, 1, 0, 0}, {"same", numbers, 1, 0, 0}, {"next", numbers + 1, 1, 0, 0}};
    const tacit_table table = {"homes", 3, columns, 3, NULL};
    const tacit_matrix matrix = {"m", numbers, 2, 2, 0, 0};
    tacit_problem *problem = NULL;
    tacit_result *before = NULL, *after = NULL;
    assert_int_equal(make_rows(&table, 1, &matrix, 1, &problem, NULL), TACIT_OK);
    assert_int_equal(tacit_solve(problem, NULL, &before, NULL), TACIT_OK);
    assert_int_equal(tacit_result_x(before, 0, 0, numbers, 4), TACIT_OK); /* x may go to any memory of the caller */
    assert_int_equal(tacit_solve(problem, NULL, &after, NULL), TACIT_OK);
    assert_int_equal(tacit_result_x(after, 0, 0, x, 4), TACIT_OK);
    assert_memory_equal(x, numbers, 3 * sizeof *x);
    assert_string_equal(tacit_result_json(before), tacit_result_json(after));
    tacit_result_free(before);
    tacit_result_free(after);
    tacit_problem_free(problem);
}

/* Names of members are copied, and may be any text that names one. */
static void names_are_copied(void **state) {
    (void)state;
    const double numbers[] = {1, 2, 3, 4};
    char first[] = "a b", second[] = "\xc3\xa4";
    const char *const names[] = {first, second};
    const tacit_column column = {"wish", numbers, 1, 0, 0};
    const tacit_table table = {"homes", 2, &column, 1, names};
    const tacit_matrix matrix = {"m", numbers, 2, 2, 0, 0};
    tacit_problem *problem = NULL;
    tacit_result *result = NULL;
    char *message = NULL, name[32];
    tacit_status status = make_rows(&table, 1, &matrix, 1, &problem, &message);
    if (status != TACIT_OK)
        fail_msg("%s", message);
    memset(first, 'x', sizeof first);
    memset(second, 'x', sizeof second);
    assert_int_equal(tacit_problem_agent_name(problem, 1, name, sizeof name), TACIT_OK);
    assert_non_null(strstr(name, "\xc3\xa4"));
    assert_int_equal(tacit_solve(problem, NULL, &result, NULL), TACIT_OK);
    assert_non_null(strstr(tacit_result_json(result), "a b"));
    tacit_result_free(result);
    tacit_problem_free(problem);
}

/* ---- texts of a program in files ---- */

static void a_command_or_a_title_of_any_bytes(void **state) {
    (void)state;
    char folder[] = "/tmp/tacit-bytes-XXXXXX", trace[64], page[64], *message = NULL;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(trace, sizeof trace, "%s/trace", folder);
    (void)snprintf(page, sizeof page, "%s/page.html", folder);
    char *longest = long_text(100000, 'i');
    const char *const texts[] = {"", "a\nb,c\n# d", "\xff\xfe", "</script><script>", longest, "\"", "\\", "\x01", NULL};
    tacit_problem *problem = problem_of(homes_text);
    const tacit_promise promise = promise_of_seed(1);
    tacit_result *result = NULL;
    assert_int_equal(tacit_run(problem, &promise, NULL, NULL, &result, NULL), TACIT_OK);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tacit_result *report = NULL;
        tacit_status status = tacit_result_write_trace(result, trace, texts[i], &message);
        if (status != TACIT_OK)
            fail_msg("%s", message);
        status = tacit_result_write_report(result, page, texts[i], &message);
        if (status != TACIT_OK)
            fail_msg("%s", message);
        const char *const traces[] = {trace};
        status = tacit_report(traces, 1, page, texts[i], NULL, &report, &message);
        if (status != TACIT_OK)
            fail_msg("%s", message);
        is_plain_json(tacit_result_json(report));
        tacit_result_free(report);
    }
    tacit_result_free(result);
    free(longest);
    tacit_problem_free(problem);
    (void)unlink(trace);
    (void)unlink(page);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_the_place_of_a_problem_or_a_result),
        cmocka_unit_test(nothing_in_the_place_of_a_source),
        cmocka_unit_test(nothing_in_the_place_of_what_a_problem_says),
        cmocka_unit_test(nothing_in_the_place_of_files),
        cmocka_unit_test(nothing_in_the_place_of_options),
        cmocka_unit_test(options_of_another_size),
        cmocka_unit_test(results_of_every_kind_are_asked_for_everything),
        cmocka_unit_test(a_promise_of_numbers_that_are_none),
        cmocka_unit_test(a_promise_of_numbers_at_their_ends),
        cmocka_unit_test(whole_numbers_that_are_too_large),
        cmocka_unit_test(options_of_numbers_that_are_none),
        cmocka_unit_test(a_sweep_over_what_are_no_prices),
        cmocka_unit_test(words_that_are_no_words),
        cmocka_unit_test(coalitions_that_are_none),
        cmocka_unit_test(paths_that_are_no_names),
        cmocka_unit_test(a_path_of_any_bytes),
        cmocka_unit_test(tables_that_are_none),
        cmocka_unit_test(arrays_that_overlap),
        cmocka_unit_test(names_are_copied),
        cmocka_unit_test(a_command_or_a_title_of_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
