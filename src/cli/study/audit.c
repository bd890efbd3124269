#include "cli/study/study.h"

#include "api/result.h"
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JSON = TC_PRIVACY_OPTION_COUNT, SAMPLES, SECONDS, CONFIDENCE, END_TO_END };

static const tc_option options[] = {
    TC_PRIVACY_OPTIONS_WITHOUT_COALITION, /* the samples are all that leaves the cloud */
    [JSON] = TC_JSON_OPTION,
    [SAMPLES] = {.name = "samples",
                 .type = TC_OPTION_INT,
                 .argument = "N",
                 .least = 10,
                 .most = 1e9,
                 .text = "Releases of each of the two inputs, for each system. Without it there are 20,000, or as many "
                         "as it takes to notice half the noise where that is a matter of seconds; where it is not, the "
                         "command says so before it begins, with the number. A constant that is 5 % too small takes "
                         "millions."},
    [SECONDS] = {.name = "seconds",
                 .type = TC_OPTION_REAL,
                 .argument = "S",
                 .least = 0.1,
                 .most = 1e7,
                 .text = "Stop sampling after about S seconds, and judge the samples so far."},
    [CONFIDENCE] = {.name = "confidence",
                    .type = TC_OPTION_REAL,
                    .argument = "C",
                    .least = 0.5,
                    .most = 1 - 1e-12,
                    .standard = "0.999999",
                    .text = "The probability with which all bounds hold together, and an honest release passes."},
    [END_TO_END] = {.name = "end-to-end",
                    .type = TC_OPTION_FLAG,
                    .text = "Also run two worlds that differ in what one agent says and release the same numbers, "
                            "through the cloud's half of the engine and through sockets on loopback: answers, pages, "
                            "journal, log and sizes must be the same, byte for byte, except what is listed. It takes "
                            "some seconds, and a folder in TMPDIR."},
};

static const tc_example examples[] = {
    {"tacit audit paper.tacit", "Tries to refute the plan that tacit plan paper.tacit shows."},
    {"tacit audit paper.tacit --end-to-end", "Also compares all that leaves the cloud in two worlds."},
    {"tacit audit paper.tacit --calibration published --constants declared",
     "The paper's scheme with the constants that the file declares."},
};

/* ---- --end-to-end ---- */

enum { MOST_TEXTS = 128 };

/* Named after this program: beside it in a build, or in libexec of an installation. */
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

/* With a pipe each for standard output and standard error. */
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

/* src/worlds/main.c describes the lines. True where the last one is there. */
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

/* Starts the program that compares two worlds, with the words of this command, and reads its findings. Noise can
 * be coupled there, and must not be here: so it is another program. Where it cannot be started or does not finish, the
 * result says that nothing was tested, and why. */
static const tc_end_to_end *run_end_to_end(void *context, tc_work *work) {
    const tc_cli *cli = context;
    tc_end_to_end *found = TC_NEW(work->arena, tc_end_to_end, 1);
    const char *program = find_program(work->arena);
    child made;
    int status = 0;
    found->differs_in = TC_NEW(work->arena, const char *, MOST_TEXTS);
    found->exceptions = TC_NEW(work->arena, const char *, MOST_TEXTS);
    if (program == NULL) {
        found->untested =
            "the program tacit-end-to-end is neither beside tacit nor in libexec/tacit of its installation: "
            "script/build release builds it";
        return found;
    }
    tc_progress(work->monitor, "comparing two worlds", 0);
    if (!start(program, cli->words, &made)) {
        found->untested = tc_arena_format(work->arena, "%s cannot be started: %s", program, strerror(errno));
        return found;
    }
    const char *said = read_all(work->arena, made.out), *complaint = read_all(work->arena, made.err);
    while (waitpid(made.process, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!take_lines(work->arena, said, found) || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        found->untested =
            tc_arena_format(work->arena, "tacit-end-to-end did not finish: %s", first_line(work->arena, complaint));
    found->equal = found->untested == NULL && found->differ_count == 0;
    return found;
}

/* ---- the command ---- */

static tc_status run(tc_cli *cli, const tc_arguments *arguments, bool *yes) {
    const tc_option_value *values = arguments->values;
    const tc_audit_hooks hooks = {run_end_to_end, cli};
    const tacit_audit_options how = {.size = sizeof how,
                                     .samples = values[SAMPLES].given ? (uint64_t)values[SAMPLES].integer : 0,
                                     .seconds = values[SECONDS].given ? values[SECONDS].real : 0,
                                     .confidence = values[CONFIDENCE].real};
    tc_study study;
    tacit_promise promise;
    tacit_result *result = NULL;
    tc_study_begin(&study, cli, "audit");
    tc_status status = tc_promise_options(cli, "audit", arguments, &promise);
    if (status == TC_OK && values[END_TO_END].flag && tc_is_standard_input(arguments->operands[0])) {
        tc_buffer_puts(&cli->messages, "tacit audit: --end-to-end wants a file, not standard input: a second program "
                                       "reads it again\n");
        status = TC_BAD_USAGE;
    }
    if (status == TC_OK)
        status = tc_study_load(&study, arguments->operands[0]);
    if (status != TC_OK)
        return status;
    tacit_status made = tc_audit_with(study.problem, &promise, &how, values[END_TO_END].flag ? &hooks : NULL,
                                      &study.options, &result, NULL);
    return tc_study_end(&study, made, result, values[JSON].flag, yes);
}

const tc_command tc_command_audit = {
    .usage =
        {.name = "audit",
         .summary = "try to refute a plan's guarantee from samples of the release",
         .operands = "FILE",
         .least_operands = 1,
         .most_operands = 1,
         .operand_help = TC_FILE_HELP,
         .description =
             "Makes the plan that tacit plan would show, and chooses two adjacent inputs that should be hardest to "
             "hide. Their price is computed with the plan's own scales, over all rounds if the unit is an agent: a "
             "price above the claim refutes the plan at once. Then each input is released many times by the code that "
             "a real run uses. Events that are likelier under one of them than the plan allows give a lower bound on "
             "epsilon that holds with the stated confidence. The noise itself is tested too: its lattice, sign, tails "
             "and scale, and that no draw tells of another entry, agent or round, also in the first round of many "
             "releases with fresh keys. No agent's data are used. What is sampled is all that leaves the cloud, which "
             "is more than any coalition of agents sees.\n\n"
             "Each of these points has a verdict of its own. A point that could not have revealed half the noise is "
             "inconclusive, and never counts as not refuted.\n\n"
             "An audit can refute a guarantee, never prove it: a constant that is too small by a few per cent can "
             "pass. The guarantee rests on the proofs.\n\n"
             "The exit code is 0 when nothing was refuted; 1 when something was, or when there were too few samples to "
             "notice even half the noise (inconclusive; the output says which --samples that takes, and some problems "
             "take many more than the default); 3 after an interrupt.",
         .options = options,
         .option_count = sizeof options / sizeof options[0],
         .examples = examples,
         .example_count = sizeof examples / sizeof examples[0]},
    .run = run,
};
