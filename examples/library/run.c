/* A private run of a problem file, with a progress bar. Ctrl-C ends it, with what there is so far.
 *
 *     cc run.c $(pkg-config --cflags --libs tacit) -o run && ./run ev.tacit
 */
#include <tacit/tacit.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t wants_to_stop;

static void on_signal(int number) {
    (void)number;
    wants_to_stop = 1;
}

static int interrupted(void *context) {
    (void)context;
    return wants_to_stop;
}

static int show(void *context, const char *what, double fraction) {
    char bar[31];
    int done = (int)(30 * fraction);
    (void)context;
    memset(bar, ' ', 30);
    memset(bar, '=', (size_t)done);
    bar[30] = '\0';
    return fprintf(stderr, "\r[%s] %3.0f %% %-40.40s", bar, 100 * fraction, what) < 0;
}

static int warn(void *context, const char *line) {
    (void)context;
    return fprintf(stderr, "\r%-79s\n", line) < 0;
}

int main(int argc, char **argv) {
    tacit_problem *problem;
    tacit_result *result;
    char *message = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE.tacit\n", argv[0]);
        return 2;
    }
    if (tacit_problem_load(argv[1], &problem, &message) != TACIT_OK) {
        fputs(message == NULL ? "out of memory\n" : message, stderr);
        tacit_text_free(message);
        return 2;
    }
    signal(SIGINT, on_signal);
    tacit_options options;
    tacit_options_default(&options, sizeof options);
    options.interrupted = interrupted;
    options.progress = show;
    options.warning = warn;
    tacit_status status = tacit_run(problem, NULL, NULL, &options, &result, &message);
    fputs("\n", stderr);
    if (status != TACIT_OK) {
        fprintf(stderr, "%s\n", message == NULL ? tacit_status_text(status) : message);
        tacit_text_free(message);
        tacit_problem_free(problem);
        return 2;
    }
    tacit_plan_facts plan = {.size = sizeof plan};
    tacit_run_facts run = {.size = sizeof run};
    tacit_row last = {.size = sizeof last};
    int code = 1;
    if (tacit_result_plan(result, &plan) == TACIT_OK && plan.headline != NULL)
        printf("%s\n", plan.headline);
    if (tacit_result_run(result, 0, &run) == TACIT_OK && run.rows > 0 &&
        tacit_result_row(result, 0, run.rows - 1, &last) == TACIT_OK) {
        printf("%s after %llu rounds: x error %.4g, largest violation %.4g\n", run.outcome,
               (unsigned long long)run.rounds, last.x_error, last.max_violation);
        code = tacit_result_interrupted(result) ? 3 : !tacit_result_holds(result);
    }
    tacit_result_free(result);
    tacit_problem_free(problem);
    return code;
}
