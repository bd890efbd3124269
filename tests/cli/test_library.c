/* What a command prints and what the library's function of that name gives are the same, but for times. */
#include "cli/tacit.h"
#include "support/cmocka.h"

#include <tacit/tacit.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBLEM TACIT_SOURCE_DIR "/examples/paper.tacit"
enum { ROOM = 1 << 20, WORDS = 12 };

/* Standard output of the command in this process. */
static char *printed(const char *const *words) {
    char *argv[WORDS + 1] = {0}, *text = calloc(1, ROOM);
    int argc = 0, saved = dup(STDOUT_FILENO);
    FILE *file = tmpfile();
    assert_true(saved >= 0 && file != NULL && text != NULL);
    (void)fflush(stdout);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    for (; words[argc] != NULL; argc++)
        argv[argc] = strdup(words[argc]);
    int code = tc_cli_main(argc, argv);
    (void)fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0 && close(saved) == 0);
    assert_int_equal(code, 0);
    rewind(file);
    assert_true(fread(text, 1, ROOM - 1, file) > 0);
    (void)fclose(file);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    return text;
}

/* Numbers behind these words are times, and what follows from them. */
static void forget_times(char *text) {
    static const char *const behind[] = {"\"seconds\": ", "\"load\": ",    "\"analyse\": ", "\"solve\": ",
                                         "\"run\": ",     "\"compare\": ", " in ",          " s, ",
                                         " load ",        " plan ",        " plans ",       " reference "};
    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++) {
        for (char *at = text; (at = strstr(at, behind[i])) != NULL;) {
            at += strlen(behind[i]);
            while (isdigit((unsigned char)*at) || strchr(".e+-", *at) != NULL) {
                if (*at == '\0')
                    break;
                memmove(at, at + 1, strlen(at));
            }
        }
    }
}

static void same(const char *const *words, tacit_result *result, bool is_json) {
    char *command = printed(words), *library = calloc(1, ROOM);
    assert_non_null(library);
    (void)snprintf(library, ROOM, "%s", is_json ? tacit_result_json(result) : tacit_result_text(result));
    forget_times(command);
    forget_times(library);
    assert_string_equal(command, library);
    free(command);
    free(library);
}

static tacit_problem *load(void) {
    tacit_problem *problem = NULL;
    assert_int_equal(tacit_problem_load(PROBLEM, &problem, NULL), TACIT_OK);
    return problem;
}

static tacit_promise from_seed(uint64_t seed) {
    tacit_promise promise;
    tacit_promise_default(&promise, sizeof promise);
    promise.simulate = 1;
    promise.seed = seed;
    promise.rounds = 300;
    return promise;
}

static void a_run_is_the_librarys(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(5);
    tacit_result *result = NULL;
    assert_int_equal(tacit_run(problem, &promise, NULL, NULL, &result, NULL), TACIT_OK);
    same((const char *[]){"tacit", "run", PROBLEM, "--seed", "5", "--rounds", "300", "--json", NULL}, result, true);
    same((const char *[]){"tacit", "run", PROBLEM, "--seed", "5", "--rounds", "300", NULL}, result, false);
    tacit_result_free(result);
    tacit_problem_free(problem);
}

static void many_runs_are_the_librarys(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(5);
    tacit_run_options wishes;
    tacit_result *result = NULL;
    tacit_run_options_default(&wishes, sizeof wishes);
    wishes.seeds = 3;
    wishes.keep_states = 1;
    assert_int_equal(tacit_run(problem, &promise, &wishes, NULL, &result, NULL), TACIT_OK);
    same((const char *[]){"tacit", "run", PROBLEM, "--seed", "5", "--seeds", "3", "--rounds", "300", "--states",
                          "--json", NULL},
         result, true);
    same((const char *[]){"tacit", "run", PROBLEM, "--seed", "5", "--seeds", "3", "--rounds", "300", NULL}, result,
         false);
    tacit_result_free(result);
    tacit_problem_free(problem);
}

static void a_sweep_is_the_librarys(void **state) {
    (void)state;
    tacit_problem *problem = load();
    tacit_promise promise = from_seed(5);
    tacit_sweep_options wishes;
    tacit_result *result = NULL;
    tacit_sweep_options_default(&wishes, sizeof wishes);
    wishes.epsilons = (const double[]){2, 1};
    wishes.epsilon_count = 2;
    wishes.seeds = 3;
    assert_int_equal(tacit_sweep(problem, &promise, &wishes, NULL, &result, NULL), TACIT_OK);
    const char *words[] = {"tacit", "sweep",    PROBLEM, "--seed",     "5",   "--seeds",
                           "3",     "--rounds", "300",   "--epsilons", "1,2", "--json"};
    const char *all[WORDS + 1] = {0};
    memcpy(all, words, sizeof words);
    same(all, result, true);
    all[WORDS - 1] = NULL;
    same(all, result, false);
    tacit_result_free(result);
    tacit_problem_free(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_the_librarys),
        cmocka_unit_test(many_runs_are_the_librarys),
        cmocka_unit_test(a_sweep_is_the_librarys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
