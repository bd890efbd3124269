#include "cli/agent_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define TRACE_MARK "# tacit states 1: round, agent, its states before that round; private"

static void close_trace(void *what) { (void)fclose(what); }

void tc_agent_trace_row(void *context, size_t agent, uint64_t round, const double *x) {
    tc_agent_tracer *t = context;
    const tc_agent_steps *steps = &t->agents[agent];
    if (t->file == NULL)
        return;
    (void)fprintf(t->file, "%llu,%s", (unsigned long long)round, steps->name);
    for (size_t i = 0; i < steps->states; i++)
        (void)fprintf(t->file, ",%.17g", x[i]);
    (void)fputc('\n', t->file);
    t->failed = fflush(t->file) != 0 || ferror(t->file) != 0 || t->failed;
}

/* A file that is there must have been begun here. */
static const char *find_wrong_trace(int descriptor) {
    char begin[sizeof TRACE_MARK] = "";
    ssize_t got = pread(descriptor, begin, sizeof TRACE_MARK - 1, 0);
    if (got < 0)
        return strerror(errno);
    return got == 0 || strcmp(begin, TRACE_MARK) == 0 ? NULL : "it is something else than a trace of states";
}

tc_status tc_agent_trace_begin(tc_cli *cli, const char *path, tc_agent_tracer *t) {
    if (path == NULL)
        return TC_OK;
    int descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const char *wrong = descriptor < 0 ? strerror(errno) : find_wrong_trace(descriptor);
    t->file = wrong != NULL ? NULL : fdopen(descriptor, "a");
    if (t->file == NULL) {
        tc_buffer_printf(&cli->messages, "tacit agent: cannot write '%s': %s\n", path,
                         wrong != NULL ? wrong : strerror(errno));
        if (descriptor >= 0)
            (void)close(descriptor);
        return TC_CANNOT_WRITE;
    }
    tc_arena_on_free(cli->arena, close_trace, t->file);
    if (lseek(descriptor, 0, SEEK_END) == 0)
        (void)fprintf(t->file, "%s\n", TRACE_MARK);
    return TC_OK;
}
