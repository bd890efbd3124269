/* Fails the n-th allocation of a command, for every n: each run ends with exit code 3 and a message, and leaks neither
 * memory (the address sanitizer watches) nor file descriptors. Linked with --wrap for malloc, calloc and realloc. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static long countdown = -1; /* allocations that still succeed; -1: all */
static bool failed;

static bool fails(void) {
    if (countdown < 0)
        return false;
    if (countdown > 0) {
        countdown--;
        return false;
    }
    failed = true; /* memory stays out from here on */
    return true;
}

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *old, size_t size) { return fails() ? NULL : __real_realloc(old, size); }

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

/* Returns how many allocations the command makes, or -1 when a run ended badly. */
static long torture(FILE *report, int argc, char *const *argv) {
    int descriptor = lowest_free_descriptor();
    for (long n = 0;; n++) {
        long said = error_bytes();
        failed = false;
        countdown = n;
        int code = tc_cli_main(argc, argv);
        countdown = -1;
        const char *complaint = lowest_free_descriptor() != descriptor ? "a descriptor is left open"
                                : failed && code != 3                  ? "the exit code is not 3"
                                : failed && error_bytes() <= said      ? "there is no message"
                                : !failed && code > 1                  ? "the command fails with all memory"
                                                                       : NULL;
        if (complaint != NULL) {
            (void)fprintf(report, "%s %s, allocation %ld: %s (exit code %d)\n", argv[1], argv[2], n, complaint, code);
            return -1;
        }
        if (!failed)
            return n;
    }
}

int main(void) {
    static const char *const commands[][4] = {
        {"check", TACIT_SOURCE_DIR "/examples/paper.tacit"},
        {"check", TACIT_SOURCE_DIR "/examples/paper.tacit", "--json"},
        {"solve", TACIT_SOURCE_DIR "/examples/paper.tacit"},
        {"solve", TACIT_SOURCE_DIR "/examples/paper.tacit", "--json"},
        {"check", TACIT_SOURCE_DIR "/examples/num.tacit"},
        {"solve", TACIT_SOURCE_DIR "/examples/num.tacit", "--json"},
    };
    /* The test's own words go to the real standard output; the command's go away, its messages to a file. */
    int saved = dup(STDOUT_FILENO);
    FILE *report = saved < 0 ? NULL : fdopen(saved, "w");
    if (report == NULL || freopen("/dev/null", "w", stdout) == NULL)
        return 3;
    FILE *messages = tmpfile();
    if (messages == NULL || dup2(fileno(messages), STDERR_FILENO) < 0)
        return 3;
    int code = 0;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char *argv[5] = {NULL};
        int argc = 0;
        char name[] = "tacit";
        argv[argc++] = name;
        for (size_t k = 0; k < 4 && commands[i][k] != NULL; k++) {
            size_t size = strlen(commands[i][k]) + 1;
            argv[argc] = memcpy(__real_malloc(size), commands[i][k], size);
            argc++;
        }
        long count = torture(report, argc, argv);
        if (count < 0)
            code = 1;
        else
            (void)fprintf(report, "%s %s: %ld allocations, each failed in turn\n", argv[1], argv[2], count);
        for (int k = 1; k < argc; k++)
            free(argv[k]);
    }
    (void)fclose(messages);
    (void)fclose(report);
    return code;
}
