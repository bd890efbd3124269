/* Fails the n-th allocation of a command, for every n: each run ends with exit code 3 and a message, and leaks neither
 * memory (the address sanitizer watches) nor file descriptors. */
/* labels: only-asan */
#include "base/arena.h"
#include "cli/tacit.h"
#include "support/failing.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
enum { EVERY = 300 };
#else
enum { EVERY = 100000 };
#endif
static const char *const allocator_names[] = {"malloc", "arena"};

static int lowest_free_descriptor(void) {
    int descriptor = dup(STDIN_FILENO);
    if (descriptor >= 0)
        (void)close(descriptor);
    return descriptor;
}

static long error_bytes(void) {
    struct stat facts;
    (void)fflush(stderr);
    return fstat(STDERR_FILENO, &facts) == 0 ? (long)facts.st_size : -1;
}

/* Runs the command with n allocations. Complains where it ends badly. */
static bool survives(FILE *report, int argc, char *const *argv, long n) {
    int descriptor = lowest_free_descriptor();
    long said = error_bytes();
    (void)lseek(STDIN_FILENO, 0, SEEK_SET);
    has_failed = false;
    countdown = n;
    int code = tc_cli_main(argc, argv);
    countdown = -1;
    const char *complaint = lowest_free_descriptor() != descriptor ? "a descriptor is left open"
                            : has_failed && code != 3              ? "the exit code is not 3"
                            : has_failed && error_bytes() <= said  ? "there is no message"
                            : !has_failed && code > 1              ? "the command fails with all memory"
                                                                   : NULL;
    if (complaint != NULL)
        (void)fprintf(report, "%s %s, %s %ld: %s (exit code %d)\n", argv[1], argv[2], allocator_names[failing], n,
                      complaint, code);
    return complaint == NULL;
}

/* Every allocation in turn; beyond EVERY in growing strides, since a run under the sanitizer takes its time. */
static bool torture(FILE *report, int argc, char *const *argv, allocator which) {
    long tried = 0;
    failing = which;
    for (long n = 0;; n += n < EVERY ? 1 : n / EVERY, tried++) {
        if (!survives(report, argc, argv, n))
            return false;
        if (!has_failed) {
            (void)fprintf(report, "%s %s: %s, %ld allocations failed, the last before %ld\n", argv[1], argv[2],
                          allocator_names[which], tried, n);
            return true;
        }
    }
}

enum { WORDS = 7 }; /* of a command, at most */

int main(void) {
    static const char *const commands[][WORDS] = {
        {"check", TACIT_SOURCE_DIR "/examples/paper.tacit", "--json"},
        {"check", "-"},
        {"solve", TACIT_SOURCE_DIR "/examples/paper.tacit"},
        {"check", TACIT_SOURCE_DIR "/examples/num.tacit"},
        {"solve", TACIT_SOURCE_DIR "/examples/num.tacit", "--json"},
        {"plan", TACIT_SOURCE_DIR "/examples/num.tacit", "--ledger=" TACIT_SOURCE_DIR "/tests/cli/ledger", "--json"},
        {"plan", TACIT_SOURCE_DIR "/examples/paper.tacit", "--placement=outputs", "--method=published"},
        {"bound", TACIT_SOURCE_DIR "/examples/num.tacit", "--rounds=3", "--json"},
        {"advise", TACIT_SOURCE_DIR "/examples/num.tacit", "--mechanism=laplace", "--json"},
        {"run", TACIT_SOURCE_DIR "/examples/num.tacit", "--rounds=3", "--seeds=2", "--threads=1"},
        {"run", TACIT_SOURCE_DIR "/examples/num.tacit", "--rounds=2", "--method=published", "--no-reference",
         "--threads=1"},
        {"run", TACIT_SOURCE_DIR "/examples/num.tacit", "--rounds=2", "--placement=forms", "--margin=auto",
         "--no-reference", "--threads=1"},
    };
    /* The test's own words go to the real standard output; the command's go away, its messages to a file. */
    int saved = dup(STDOUT_FILENO);
    FILE *report = saved < 0 ? NULL : fdopen(saved, "w");
    if (report == NULL || freopen("/dev/null", "w", stdout) == NULL)
        return 3;
    if (freopen(TACIT_SOURCE_DIR "/examples/paper.tacit", "r", stdin) == NULL)
        return 3;
    FILE *messages = tmpfile();
    if (messages == NULL || dup2(fileno(messages), STDERR_FILENO) < 0)
        return 3;
    int code = 0;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char *argv[WORDS + 2] = {NULL};
        int argc = 0;
        char name[] = "tacit";
        argv[argc++] = name;
        for (size_t k = 0; k < WORDS && commands[i][k] != NULL; k++) {
            size_t size = strlen(commands[i][k]) + 1;
            argv[argc] = memcpy(__real_malloc(size), commands[i][k], size);
            argc++;
        }
        if (!torture(report, argc, argv, MALLOC) || !torture(report, argc, argv, ARENA))
            code = 1;
        for (int k = 1; k < argc; k++)
            free(argv[k]);
    }
    (void)fclose(messages);
    (void)fclose(report);
    return code;
}
