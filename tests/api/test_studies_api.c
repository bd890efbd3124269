/* tacit_audit, tacit_bound, tacit_split and tacit_ledger: what they give as numbers is what they write as JSON, and
 * what they are not given is refused. */
#include "support/cmocka.h"

#include <tacit/tacit.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char homes[] = "private param shared = 0.5\n"
                            "agents home[i in 1..3] {\n  state x in [0, 4]\n  private minimize shared * (x - i)^2\n"
                            "}\n"
                            "constraint feeder: sum(home: x) <= 4\ndual radius 8\n"
                            "schedule { alpha 0.5 k^-0.1; gamma 0.1 k^-0.6; rounds 100 }\n"
                            "privacy { mechanism laplace; epsilon 1; adjacency one 1 }\n";

static tacit_problem *problem_of(const char *text) {
    tacit_problem *problem = NULL;
    char *message = NULL;
    tacit_source source = {.size = sizeof source, .path = "homes.tacit", .text = text, .length = strlen(text)};
    if (tacit_problem_make(&source, &problem, &message) != TACIT_OK)
        fail_msg("%s", message == NULL ? "no message" : message);
    return problem;
}

/* What stands in JSON behind the keys, each looked for behind the one before. */
static const char *json_at(const char *json, const char *const *keys) {
    char quoted[64];
    for (; *keys != NULL; keys++) {
        (void)snprintf(quoted, sizeof quoted, "\"%s\": ", *keys);
        json = strstr(json, quoted);
        if (json == NULL)
            fail_msg("there is no %s", quoted);
        json += strlen(quoted);
    }
    return json;
}
#define AT(json, ...) json_at(json, (const char *const[]){__VA_ARGS__, NULL})

static void same_number(double value, const char *json) {
    if (isfinite(value))
        assert_true(value == strtod(json, NULL));
    else
        assert_true(strncmp(json, "null", 4) == 0 || json[0] == '"');
}

static void same_text(const char *value, const char *json) {
    if (value == NULL) {
        assert_int_equal(strncmp(json, "null", 4), 0);
        return;
    }
    assert_true(json[0] == '"' && strncmp(json + 1, value, strlen(value)) == 0 && json[1 + strlen(value)] == '"');
}

/* Ends with a message that has the words, and no result. */
static void refused(tacit_status wanted, tacit_status status, tacit_result *result, char *message, const char *words) {
    assert_int_equal(status, wanted);
    assert_null(result);
    assert_non_null(message);
    if (strstr(message, words) == NULL)
        fail_msg("'%s' is not in: %s", words, message);
    tacit_text_free(message);
}

static void an_audit_says_in_numbers_what_its_json_says(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes);
    tacit_result *result = NULL;
    tacit_promise promise;
    tacit_promise_default(&promise, sizeof promise);
    promise.simulate = 1;
    promise.seed = 3;
    tacit_audit_options how;
    tacit_audit_options_default(&how, sizeof how);
    how.samples = 2000;
    assert_int_equal(tacit_audit(problem, &promise, &how, NULL, &result, NULL), TACIT_OK);
    tacit_audit_facts facts = {.size = sizeof facts};
    assert_int_equal(tacit_result_audit(result, &facts), TACIT_OK);
    const char *json = tacit_result_json(result);
    same_text(facts.verdict, AT(json, "verdict"));
    same_text(facts.because, AT(json, "inconclusive_because"));
    same_number(facts.confidence, AT(json, "confidence"));
    assert_true(facts.systems > 0 && facts.points > 0 && facts.faults == 0);
    const char *place = AT(json, "systems");
    for (size_t i = 0; i < facts.systems; i++) {
        tacit_audit_system system = {.size = sizeof system};
        assert_int_equal(tacit_result_audit_system(result, i, &system), TACIT_OK);
        same_text(system.name, AT(place, "name"));
        same_number(system.claimed_epsilon, AT(place, "claimed_epsilon"));
        same_number(system.lower_bound, AT(place, "lower_bound"));
        same_number(system.price, AT(place, "exact_epsilon"));
        same_number((double)system.samples, AT(place, "samples"));
        same_text(system.verdict, AT(place, "exact_epsilon", "verdict"));
        place = AT(place, "samples");
    }
    place = AT(json, "points");
    for (size_t i = 0; i < facts.points; i++) {
        tacit_audit_point point = {.size = sizeof point};
        assert_int_equal(tacit_result_audit_point(result, i, &point), TACIT_OK);
        same_text(point.name, AT(place, "name"));
        same_text(point.verdict, AT(place, "verdict"));
        same_text(point.why, AT(place, "why"));
        place = AT(place, "why");
    }
    tacit_plan_facts plan = {.size = sizeof plan};
    assert_int_equal(tacit_result_plan(result, &plan), TACIT_OK);
    assert_true(plan.problem == NULL && plan.epsilon == 1 && !plan.is_private);
    tacit_observer observer = {.size = sizeof observer};
    assert_int_equal(tacit_result_observer(result, 0, &observer), TACIT_OK);
    tacit_audit_system system = {.size = sizeof system};
    tacit_audit_point point = {.size = sizeof point};
    tacit_audit_fault fault = {.size = sizeof fault};
    assert_int_equal(tacit_result_audit_system(result, facts.systems, &system), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_audit_point(result, facts.points, &point), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_audit_fault(result, 0, &fault), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_audit_system(result, 0, NULL), TACIT_BAD_USAGE);
    system.size = sizeof system - 1;
    assert_int_equal(tacit_result_audit_system(result, 0, &system), TACIT_BAD_USAGE);
    tacit_result_free(result);
    tacit_problem_free(problem);
}

static void an_audit_without_a_plan_is_inconclusive(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes);
    tacit_result *result = NULL;
    tacit_promise promise;
    tacit_promise_default(&promise, sizeof promise);
    promise.epsilon = 1e-300;
    assert_int_equal(tacit_audit(problem, &promise, NULL, NULL, &result, NULL), TACIT_OK);
    assert_false(tacit_result_holds(result));
    tacit_plan_facts plan = {.size = sizeof plan};
    assert_int_equal(tacit_result_plan(result, &plan), TACIT_OK);
    assert_non_null(plan.problem);
    tacit_audit_facts facts = {.size = sizeof facts};
    assert_int_equal(tacit_result_audit(result, &facts), TACIT_OK);
    assert_string_equal(facts.verdict, "inconclusive");
    assert_string_equal(facts.because, plan.problem);
    same_text(plan.problem, AT(tacit_result_json(result), "problem"));
    assert_string_equal(tacit_result_text(result), "");
    assert_non_null(strstr(tacit_result_warnings(result), plan.problem));
    tacit_result_free(result);
    promise.epsilon = 1e-300;
    promise.method = "published";
    assert_int_equal(tacit_bound(problem, &promise, (double)NAN, NULL, &result, NULL), TACIT_OK);
    tacit_bound_facts bound = {.size = sizeof bound};
    assert_int_equal(tacit_result_bound(result, &bound), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_plan(result, &plan), TACIT_OK);
    same_text(plan.problem, AT(tacit_result_json(result), "problem"));
    assert_true(!tacit_result_holds(result) && strstr(tacit_result_warnings(result), plan.problem) != NULL);
    tacit_result_free(result);
    tacit_problem_free(problem);
}

static void a_bound_says_in_numbers_what_its_json_says(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes);
    tacit_result *result = NULL;
    tacit_bound_facts facts = {.size = sizeof facts};
    const double distances[] = {(double)NAN, 0, 0.5, (double)INFINITY};
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        assert_int_equal(tacit_bound(problem, NULL, distances[i], NULL, &result, NULL), TACIT_OK);
        assert_int_equal(tacit_result_bound(result, &facts), TACIT_OK);
        const char *json = tacit_result_json(result);
        same_number(facts.error, AT(json, "estimate", "expected_squared_error"));
        same_number(facts.published_error, AT(json, "published", "expected_squared_error"));
        same_number(facts.radius, AT(json, "estimate", "radius"));
        same_number(facts.within, AT(json, "estimate", "within"));
        same_number(facts.probability, AT(json, "estimate", "probability"));
        same_number(facts.diameter, AT(json, "D_z"));
        same_number(facts.valid_from, AT(json, "valid_from"));
        same_text(facts.because, AT(json, "because"));
        assert_int_equal(facts.says_something, tacit_result_holds(result));
        tacit_result_free(result);
    }
    facts.size = sizeof facts - 1;
    assert_int_equal(tacit_bound(problem, NULL, 1, NULL, &result, NULL), TACIT_OK);
    assert_int_equal(tacit_result_bound(result, &facts), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_bound(result, NULL), TACIT_BAD_USAGE);
    tacit_result_free(result);
    tacit_problem_free(problem);
}

/* ---- parts ---- */

static const char *text_of(const char *folder, const char *name, size_t *length) {
    static char text[1 << 16];
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s is not there", path);
    *length = fread(text, 1, sizeof text, file);
    (void)fclose(file);
    return text;
}

static size_t count_files(const char *folder) {
    size_t count = 0;
    DIR *open = opendir(folder);
    assert_non_null(open);
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;)
        count += strstr(entry->d_name, ".tacit") != NULL || strstr(entry->d_name, ".csv") != NULL ||
                 strcmp(entry->d_name, "plan.hash") == 0;
    (void)closedir(open);
    return count;
}

static void remove_files(const char *folder) {
    char path[512];
    DIR *open = opendir(folder);
    for (const struct dirent *entry; open != NULL && (entry = readdir(open)) != NULL;) {
        (void)snprintf(path, sizeof path, "%s/%.200s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && unlink(path) != 0)
            remove_files(path);
    }
    if (open != NULL)
        (void)closedir(open);
    (void)rmdir(folder);
}

/* A table with a public column, which becomes a file of the cloud. Some members' names are no file names. */
static tacit_problem *problem_of_rows(void) {
    static const char text[] = "data homes = given public cap\n"
                               "agents home over homes {\n  state x in [0, cap]\n  private minimize (x - wish)^2\n}\n"
                               "constraint feeder: sum(home: x) <= 4\ndual radius 8\n";
    const double cap[] = {1, 2.5, 4}, wish[] = {0.1, 0.2, 0.3};
    const char *const names[] = {"plain", "of two words", "a/b"};
    const tacit_column columns[] = {{.name = "cap", .values = cap, .components = 1},
                                    {.name = "wish", .values = wish, .components = 1}};
    const tacit_table table = {.name = "homes", .rows = 3, .columns = columns, .column_count = 2, .members = names};
    tacit_problem *problem = NULL;
    char *message = NULL;
    tacit_source source = {.size = sizeof source,
                           .path = "rows.tacit",
                           .text = text,
                           .length = strlen(text),
                           .tables = &table,
                           .table_count = 1};
    if (tacit_problem_make(&source, &problem, &message) != TACIT_OK)
        fail_msg("%s", message == NULL ? "no message" : message);
    return problem;
}

static void parts_in_memory_are_the_files(void **state) {
    (void)state;
    char folder[] = "/tmp/tacit-parts-XXXXXX", out[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(out, sizeof out, "%s/out", folder);
    for (int with_rows = 0; with_rows < 2; with_rows++) {
        tacit_problem *problem = with_rows ? problem_of_rows() : problem_of(homes);
        tacit_result *files = NULL, *parts = NULL;
        assert_int_equal(tacit_split(problem, out, 1, NULL, &files, NULL), TACIT_OK);
        assert_int_equal(tacit_split(problem, NULL, 0, NULL, &parts, NULL), TACIT_OK);
        assert_true(tacit_result_holds(files) && tacit_result_holds(parts));
        assert_int_equal(tacit_result_parts(files), 0);
        size_t count = tacit_result_parts(parts);
        char agents[128];
        (void)snprintf(agents, sizeof agents, "%s/agents", out);
        assert_int_equal(count, count_files(out) + count_files(agents));
        same_number((double)count, AT(tacit_result_json(parts), "files"));
        same_text(NULL, AT(tacit_result_json(parts), "directory"));
        same_text(out, AT(tacit_result_json(files), "directory"));
        for (size_t i = 0; i < count; i++) {
            tacit_part part = {.size = sizeof part};
            size_t length;
            assert_int_equal(tacit_result_part(parts, i, &part), TACIT_OK);
            const char *text = text_of(out, part.name, &length);
            assert_int_equal(part.length, length);
            assert_memory_equal(part.text, text, length);
            assert_int_equal(part.text[length], 0);
            part.size = sizeof part - 1;
            assert_int_equal(tacit_result_part(parts, i, &part), TACIT_BAD_USAGE);
        }
        assert_int_equal(count, 1 + 1 + 3); /* a table of the cloud, or the hash of a plan */
        tacit_part part = {.size = sizeof part};
        assert_int_equal(tacit_result_part(parts, count, &part), TACIT_BAD_USAGE);
        assert_int_equal(tacit_result_part(parts, 0, NULL), TACIT_BAD_USAGE);
        tacit_result_free(files);
        tacit_result_free(parts);
        tacit_problem_free(problem);
    }
    remove_files(folder);
}

static void a_cloud_from_a_part_is_a_problem(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes), *cloud = NULL;
    tacit_result *parts = NULL, *plan = NULL, *own = NULL;
    tacit_part part = {.size = sizeof part};
    assert_int_equal(tacit_split(problem, NULL, 0, NULL, &parts, NULL), TACIT_OK);
    for (size_t i = 0; i < tacit_result_parts(parts); i++) {
        assert_int_equal(tacit_result_part(parts, i, &part), TACIT_OK);
        if (strcmp(part.name, "cloud.tacit") == 0)
            break;
    }
    tacit_source source = {.size = sizeof source, .path = part.name, .text = part.text, .length = part.length};
    assert_int_equal(tacit_problem_make(&source, &cloud, NULL), TACIT_OK);
    assert_int_equal(tacit_plan(cloud, NULL, NULL, &plan, NULL), TACIT_OK);
    assert_int_equal(tacit_plan(problem, NULL, NULL, &own, NULL), TACIT_OK);
    tacit_plan_facts facts = {.size = sizeof facts}, whole = {.size = sizeof whole};
    assert_int_equal(tacit_result_plan(plan, &facts), TACIT_OK);
    assert_int_equal(tacit_result_plan(own, &whole), TACIT_OK);
    assert_string_equal(facts.hash, whole.hash);
    same_text(facts.hash, AT(tacit_result_json(parts), "plan"));
    tacit_result *again = NULL;
    char *message = NULL;
    tacit_status status = tacit_split(cloud, NULL, 0, NULL, &again, &message);
    refused(TACIT_BAD_PROBLEM, status, again, message, "cloud.tacit: error: this file is one party's already");
    tacit_result_free(plan);
    tacit_result_free(own);
    tacit_result_free(parts);
    tacit_problem_free(cloud);
    tacit_problem_free(problem);
}

static void without_a_public_radius_there_are_no_parts(void **state) {
    (void)state;
    tacit_problem *problem = problem_of("agents home[i in 1..3] {\n  state x in [0, 4]\n  private minimize (x - i)^2\n"
                                        "  gap 100\n  slater x = 3\n}\nconstraint feeder: sum(home: x) <= 4\n");
    tacit_result *result = NULL;
    assert_int_equal(tacit_split(problem, NULL, 0, NULL, &result, NULL), TACIT_OK);
    assert_false(tacit_result_holds(result));
    assert_int_equal(tacit_result_parts(result), 0);
    assert_non_null(strstr(tacit_result_warnings(result), "homes.tacit: error: the cloud needs a public dual radius"));
    assert_non_null(strstr(tacit_result_json(result), "\"problem\": \"the cloud needs"));
    assert_string_equal(tacit_result_text(result), "");
    tacit_result_free(result);
    tacit_problem_free(problem);
}

/* ---- ledgers ---- */

static void a_ledger_is_read_as_plan_reads_it(void **state) {
    (void)state;
    static const char path[] = TACIT_SOURCE_DIR "/tests/cli/ledger";
    tacit_problem *problem = problem_of(homes);
    tacit_result *ledger = NULL, *plan = NULL;
    assert_int_equal(tacit_ledger(path, &ledger, NULL), TACIT_OK);
    assert_true(tacit_result_holds(ledger));
    size_t count = tacit_result_entries(ledger);
    const char *json = tacit_result_json(ledger);
    assert_true(count > 0);
    same_number((double)count, AT(json, "runs"));
    for (size_t i = 0; i < count; i++) {
        tacit_ledger_entry entry = {.size = sizeof entry};
        assert_int_equal(tacit_result_entry(ledger, i, &entry), TACIT_OK);
        assert_true(entry.run[0] != '\0' && strlen(entry.plan) == 64 && entry.rounds >= 1);
        assert_true(!entry.is_priced || (entry.epsilon > 0 && entry.adjacency != NULL));
        entry.size = sizeof entry - 1;
        assert_int_equal(tacit_result_entry(ledger, i, &entry), TACIT_BAD_USAGE);
    }
    assert_int_equal(tacit_result_entry(ledger, 0, NULL), TACIT_BAD_USAGE);
    tacit_promise promise;
    tacit_promise_default(&promise, sizeof promise);
    promise.ledger = path;
    assert_int_equal(tacit_plan(problem, &promise, NULL, &plan, NULL), TACIT_OK);
    same_number(strtod(AT(json, "spent", "epsilon"), NULL), AT(tacit_result_json(plan), "ledger", "spent", "epsilon"));
    assert_true(strlen(tacit_result_text(ledger)) > 0);
    assert_non_null(strstr(tacit_result_text(plan), "Ledger: "));
    tacit_result_free(plan);
    tacit_result_free(ledger);
    tacit_problem_free(problem);
}

static void ledgers_that_are_none(void **state) {
    (void)state;
    tacit_result *result = NULL;
    char *message = NULL;
    tacit_status status = tacit_ledger(NULL, &result, &message);
    refused(TACIT_BAD_USAGE, status, result, message, "there is no path");
    status = tacit_ledger("/nowhere/at/all", &result, &message);
    refused(TACIT_BAD_USAGE, status, result, message, "there is no folder");
    status = tacit_ledger("/tmp", &result, &message);
    refused(TACIT_BAD_USAGE, status, result, message, "plain file");
    status = tacit_ledger(TACIT_SOURCE_DIR "/README.md", &result, &message);
    refused(TACIT_BAD_PROBLEM, status, result, message, "README.md");
    assert_int_equal(tacit_ledger("x", NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_ledger("/tmp/no-such-ledger-of-a-test", &result, NULL), TACIT_OK);
    assert_int_equal(tacit_result_entries(result), 0);
    assert_int_equal(strncmp(AT(tacit_result_json(result), "exists"), "false", 5), 0);
    tacit_audit_facts facts = {.size = sizeof facts};
    assert_int_equal(tacit_result_audit(result, &facts), TACIT_BAD_USAGE);
    tacit_result_free(result);
}

/* ---- what is refused ---- */

static void nothing_in_the_place_of_something_is_bad_usage(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes);
    tacit_result *result = NULL;
    assert_int_equal(tacit_audit(NULL, NULL, NULL, NULL, &result, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_audit(problem, NULL, NULL, NULL, NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_bound(NULL, NULL, 1, NULL, &result, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_bound(problem, NULL, 1, NULL, NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_split(NULL, NULL, 0, NULL, &result, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_split(problem, NULL, 0, NULL, NULL, NULL), TACIT_BAD_USAGE);
    assert_null(result);
    assert_int_equal(tacit_result_audit(NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_audit_system(NULL, 0, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_audit_point(NULL, 0, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_audit_fault(NULL, 0, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_bound(NULL, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_part(NULL, 0, NULL), TACIT_BAD_USAGE);
    assert_int_equal(tacit_result_entry(NULL, 0, NULL), TACIT_BAD_USAGE);
    assert_true(tacit_result_parts(NULL) == 0 && tacit_result_entries(NULL) == 0);
    tacit_audit_options_default(NULL, sizeof(tacit_audit_options));
    tacit_problem_free(problem);
}

static void wrong_options_are_named(void **state) {
    (void)state;
    static const struct {
        tacit_audit_options how;
        const char *words;
    } wrong[] = {{{.size = sizeof(tacit_audit_options) - 1}, "sizeof(tacit_audit_options)"},
                 {{.size = sizeof(tacit_audit_options), .samples = 9}, "samples"},
                 {{.size = sizeof(tacit_audit_options), .samples = UINT64_MAX}, "samples"},
                 {{.size = sizeof(tacit_audit_options), .seconds = -1}, "seconds"},
                 {{.size = sizeof(tacit_audit_options), .seconds = (double)NAN}, "seconds"},
                 {{.size = sizeof(tacit_audit_options), .confidence = 1}, "confidence"},
                 {{.size = sizeof(tacit_audit_options), .confidence = (double)NAN}, "confidence"}};
    tacit_problem *problem = problem_of(homes);
    tacit_result *result = NULL;
    char *message = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tacit_status status = tacit_audit(problem, NULL, &wrong[i].how, NULL, &result, &message);
        refused(TACIT_BAD_USAGE, status, result, message, wrong[i].words);
    }
    tacit_promise promise;
    tacit_promise_default(&promise, sizeof promise);
    promise.ledger = "ledger";
    tacit_status status = tacit_audit(problem, &promise, NULL, NULL, &result, &message);
    refused(TACIT_BAD_USAGE, status, result, message, "audit spends nothing");
    status = tacit_bound(problem, &promise, 1, NULL, &result, &message);
    refused(TACIT_BAD_USAGE, status, result, message, "bound spends nothing");
    promise.ledger = NULL;
    promise.budget_epsilon = 4;
    status = tacit_audit(problem, &promise, NULL, NULL, &result, &message);
    refused(TACIT_BAD_USAGE, status, result, message, "audit spends nothing");
    promise.budget_epsilon = (double)NAN;
    promise.margin = "auto";
    status = tacit_bound(problem, &promise, 1, NULL, &result, &message);
    refused(TACIT_BAD_USAGE, status, result, message, "the theorem is about the published method");
    promise.margin = NULL;
    promise.most_holds = 2;
    status = tacit_bound(problem, &promise, 1, NULL, &result, &message);
    refused(TACIT_BAD_USAGE, status, result, message, "wait for every agent");
    status = tacit_bound(problem, NULL, -1, NULL, &result, &message);
    refused(TACIT_BAD_USAGE, status, result, message, "negative");
    status = tacit_split(problem, "", 0, NULL, &result, &message);
    refused(TACIT_BAD_USAGE, status, result, message, "folder");
    status = tacit_split(problem, TACIT_SOURCE_DIR "/docs", 0, NULL, &result, &message);
    refused(TACIT_BAD_USAGE, status, result, message, "not empty");
    tacit_problem_free(problem);
}

static int stop_at_once(void *context) {
    (void)context;
    return 1;
}

static void an_interrupt_before_anything_is_done_has_no_result(void **state) {
    (void)state;
    tacit_problem *problem = problem_of(homes);
    tacit_result *result = NULL;
    tacit_options options;
    tacit_options_default(&options, sizeof options);
    options.interrupted = stop_at_once;
    assert_int_equal(tacit_audit(problem, NULL, NULL, &options, &result, NULL), TACIT_INTERRUPTED);
    assert_int_equal(tacit_bound(problem, NULL, 1, &options, &result, NULL), TACIT_INTERRUPTED);
    assert_int_equal(tacit_split(problem, NULL, 0, &options, &result, NULL), TACIT_INTERRUPTED);
    assert_null(result);
    tacit_problem_free(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_audit_says_in_numbers_what_its_json_says),
        cmocka_unit_test(an_audit_without_a_plan_is_inconclusive),
        cmocka_unit_test(a_bound_says_in_numbers_what_its_json_says),
        cmocka_unit_test(parts_in_memory_are_the_files),
        cmocka_unit_test(a_cloud_from_a_part_is_a_problem),
        cmocka_unit_test(without_a_public_radius_there_are_no_parts),
        cmocka_unit_test(a_ledger_is_read_as_plan_reads_it),
        cmocka_unit_test(ledgers_that_are_none),
        cmocka_unit_test(nothing_in_the_place_of_something_is_bad_usage),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(an_interrupt_before_anything_is_done_has_no_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
