#include "cli/end_to_end.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_TEXTS = 128 };

/* By the name of this program: beside it, as it is built, or where it is installed. */
static const char *find_program(tc_arena *arena) {
    char path[4096] = {0};
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    char *name = length > 0 ? strrchr(path, '/') : NULL;
    if (name == NULL)
        return NULL;
    *name++ = '\0';
    const char *places[] = {tc_arena_format(arena, "%s/%s-end-to-end", path, name),
                            tc_arena_format(arena, "%s/../libexec/tacit/%s-end-to-end", path, name)};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* Its output in a pipe; what it says on standard error in another. */
typedef struct child {
    pid_t process;
    int out, err;
} child;

static bool start(const char *program, char *const *words, child *made) {
    int out[2], err[2];
    if (pipe(out) != 0)
        return false;
    if (pipe(err) != 0) {
        (void)close(out[0]);
        (void)close(out[1]);
        return false;
    }
    made->process = fork();
    if (made->process == 0) {
        if (dup2(out[1], STDOUT_FILENO) < 0 || dup2(err[1], STDERR_FILENO) < 0)
            _exit(126);
        (void)close(out[0]);
        (void)close(err[0]);
        (void)execv(program, words);
        _exit(127);
    }
    (void)close(out[1]);
    (void)close(err[1]);
    made->out = out[0];
    made->err = err[0];
    if (made->process > 0)
        return true;
    (void)close(out[0]);
    (void)close(err[0]);
    return false;
}

static const char *read_all(tc_arena *arena, int descriptor) {
    char bytes[4096];
    tc_buffer text = tc_buffer_new(arena, 1 << 26);
    for (;;) {
        ssize_t got = read(descriptor, bytes, sizeof bytes);
        if (got > 0)
            tc_buffer_add(&text, bytes, (size_t)got);
        else if (got == 0 || errno != EINTR)
            break;
    }
    (void)close(descriptor);
    return tc_buffer_text(&text);
}

static bool begins(const char *line, const char *word, const char **rest) {
    size_t length = strlen(word);
    *rest = line + length;
    return strncmp(line, word, length) == 0;
}

/* src/worlds/main.c says what its lines are. True where the last one is there. */
static bool take_lines(tc_arena *arena, const char *text, tc_end_to_end *found) {
    bool is_whole = false;
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        const char *line = tc_arena_copy(arena, text, length), *rest;
        unsigned long long bytes = 0;
        if (begins(line, "differs ", &rest) && found->differ_count < MOST_TEXTS)
            found->differs_in[found->differ_count++] = rest;
        else if (begins(line, "exception ", &rest) && found->exception_count < MOST_TEXTS)
            found->exceptions[found->exception_count++] = rest;
        else if (begins(line, "untested ", &rest))
            found->untested = rest;
        else if (begins(line, "compared ", &rest) && sscanf(rest, "%llu", &bytes) == 1)
            found->bytes = bytes;
        is_whole = strcmp(line, "end") == 0;
        text += length + (text[length] == '\n');
    }
    return is_whole;
}

static const char *first_line(tc_arena *arena, const char *text) {
    size_t length = strcspn(text, "\n");
    return length == 0 ? "it said nothing" : tc_arena_copy(arena, text, length);
}

tc_end_to_end *tc_end_to_end_run(tc_cli *cli) {
    tc_end_to_end *found = TC_NEW(cli->arena, tc_end_to_end, 1);
    const char *program = find_program(cli->arena);
    child made;
    int status = 0;
    found->differs_in = TC_NEW(cli->arena, const char *, MOST_TEXTS);
    found->exceptions = TC_NEW(cli->arena, const char *, MOST_TEXTS);
    if (program == NULL) {
        found->untested =
            "the program tacit-end-to-end is neither beside tacit nor in libexec/tacit of its installation: "
            "script/build release builds it";
        return found;
    }
    tc_progress(&cli->monitor, "comparing two worlds", 0);
    if (!start(program, cli->words, &made)) {
        found->untested = tc_arena_format(cli->arena, "%s cannot be started: %s", program, strerror(errno));
        return found;
    }
    const char *said = read_all(cli->arena, made.out), *complaint = read_all(cli->arena, made.err);
    while (waitpid(made.process, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!take_lines(cli->arena, said, found) || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        found->untested =
            tc_arena_format(cli->arena, "tacit-end-to-end did not finish: %s", first_line(cli->arena, complaint));
    found->equal = found->untested == NULL && found->differ_count == 0;
    return found;
}
