/* A host program may have chosen a locale with a decimal comma. Files, JSON, hashes and texts stay as they are, and
 * callbacks see the host's locale. */
#include "support/cmocka.h"

#include <tacit/tacit.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text[] = "param half = 0.5\nagents home[i in 1..3] {\n  state p[2] in [0, 4.25]\n"
                           "  private minimize sumsq(p - [1.5, half * i])\n}\n"
                           "constraint feeder[t in 1..2]: sum(home: p[t]) <= 2.75\ndual radius 10.5\n"
                           "privacy { mechanism laplace; epsilon 0.7; adjacency one 0.5 }\nschedule { rounds 40 }\n";

static int in_host(void *context, const char *what, double fraction) {
    char number[8];
    (void)what;
    (void)fraction;
    (void)snprintf(number, sizeof number, "%.1f", 0.5);
    if (context != NULL)
        assert_string_equal(number, context);
    return 0;
}

typedef struct said {
    char *plan, *run, *solve, *certificate, *agent, *wrong;
} said;

static char *copy_of(const char *words) {
    assert_non_null(words);
    size_t size = strlen(words) + 1;
    return memcpy(malloc(size), words, size);
}

/* The run's times are left out. */
static char *without_times(const char *json) {
    char *copy = copy_of(json);
    char *times = strstr(copy, "\"seconds\"");
    const char *behind = strstr(json, "\"threads\"");
    assert_true(times != NULL && behind != NULL);
    memmove(times, behind, strlen(behind) + 1);
    return copy;
}

static said say_all(const char *half) {
    said all;
    tacit_problem *problem = NULL;
    tacit_result *result = NULL;
    tacit_source source = {.size = sizeof source, .text = text, .length = sizeof text - 1};
    tacit_options options;
    tacit_promise promise;
    union {
        const char *in;
        void *out;
    } context = {.in = half};
    tacit_options_default(&options, sizeof options);
    options.progress = in_host;
    options.context = context.out;
    options.threads = 2;
    tacit_promise_default(&promise, sizeof promise);
    promise.adjacency = "one:0.25";
    promise.margin = "0.125";
    assert_int_equal(tacit_problem_make(&source, &problem, NULL), TACIT_OK);
    char *why = NULL;
    if (tacit_plan(problem, &promise, &options, &result, &why) != TACIT_OK)
        fail_msg("%s", why);
    all.plan = copy_of(tacit_result_json(result));
    all.certificate = copy_of(tacit_plan_certificate(result, NULL));
    tacit_result_free(result);
    promise.simulate = 1;
    promise.seed = 7;
    assert_int_equal(tacit_run(problem, &promise, NULL, &options, &result, NULL), TACIT_OK);
    all.run = without_times(tacit_result_json(result));
    tacit_result_free(result);
    assert_int_equal(tacit_solve(problem, &options, &result, NULL), TACIT_OK);
    all.solve = copy_of(tacit_result_text(result));
    tacit_result_free(result);
    assert_int_equal(tacit_split(problem, NULL, 0, &options, &result, NULL), TACIT_OK);
    tacit_part part = {.size = sizeof part};
    assert_int_equal(tacit_result_part(result, tacit_result_parts(result) - 1, &part), TACIT_OK);
    all.agent = copy_of(part.text);
    tacit_result_free(result);
    promise.epsilon = -0.5;
    assert_int_equal(tacit_plan(problem, &promise, &options, &result, &all.wrong), TACIT_BAD_USAGE);
    tacit_problem_free(problem);
    return all;
}

static void texts_do_not_depend_on_the_locale(void **state) {
    (void)state;
    char folder[] = "/tmp/tacit_locale_XXXXXX", command[160];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8", folder);
    said plain = say_all("0.5");
    if (system(command) != 0)
        fail_msg("%s failed: script/bootstrap --test installs the package locales", command);
    assert_int_equal(setenv("LOCPATH", folder, 1), 0);
    assert_non_null(setlocale(LC_ALL, "de_DE.UTF-8"));
    said host = say_all("0,5");
    assert_string_equal(setlocale(LC_ALL, NULL), "de_DE.UTF-8");
    char number[8];
    (void)snprintf(number, sizeof number, "%.1f", 0.5);
    assert_string_equal(number, "0,5"); /* it is the host's again */
    char **before = &plain.plan, **after = &host.plan;
    for (size_t i = 0; i < sizeof plain / sizeof plain.plan; i++) {
        assert_string_equal(before[i], after[i]);
        free(before[i]);
        free(after[i]);
    }
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_do_not_depend_on_the_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
