/* The terms of a run besides its plan, and the server's files besides the journal. The plan's hash covers noise and
 * prices. Steps, margin and radius decide where a run goes, so a run must not change them half-way. */
#include "serve/server.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool add_bytes(EVP_MD_CTX *digest, const void *bytes, size_t size) {
    unsigned char length[8];
    tc_put_u64(length, size);
    return EVP_DigestUpdate(digest, length, sizeof length) == 1 && EVP_DigestUpdate(digest, bytes, size) == 1;
}

static bool add_text(EVP_MD_CTX *digest, const char *text) { return add_bytes(digest, text, strlen(text)); }

/* In the machine's byte order: a journal stays on one kind of machine. */
static bool add_numbers(EVP_MD_CTX *digest, const double *numbers, size_t count) {
    return add_bytes(digest, numbers, count * sizeof *numbers);
}

/* The text of the file and the numbers of its data files. */
static bool add_file(EVP_MD_CTX *digest, const tc_model *model) {
    bool good = add_bytes(digest, model->source.text, model->source.length);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->column_count; c++)
            good = good && add_numbers(digest, family->columns[c].values, family->count);
        for (size_t k = 0; family->member_names != NULL && k < family->count; k++)
            good = good && add_text(digest, family->member_names[k]);
    }
    for (const tc_matrix_file *file = model->last_matrix; file != NULL; file = file->before) {
        const double shape[] = {(double)file->rows, (double)file->columns};
        good = good && add_numbers(digest, shape, 2) && add_numbers(digest, file->numbers, file->rows * file->columns);
    }
    return good;
}

/* Options may override the file. */
static bool add_options(EVP_MD_CTX *digest, const tc_server_settings *settings, const tc_tacit_facts *method) {
    const tc_schedule *schedule = &settings->model->schedule;
    const double steps[] = {schedule->step, schedule->step_decay, schedule->regularization,
                            schedule->regularization_decay};
    const double none = -1, seed = settings->seed == NULL ? none : (double)*settings->seed;
    bool good = add_numbers(digest, &settings->dual_radius, 1) && add_numbers(digest, &seed, 1);
    if (method == NULL)
        return good && add_numbers(digest, steps, sizeof steps / sizeof steps[0]);
    const tc_margin_wish *margin = &method->margin;
    const double wish[] = {margin->kind, margin->kind == TC_MARGIN_GIVEN ? margin->amount : none,
                           margin->kind == TC_MARGIN_AUTO ? margin->probability : none};
    good = good && add_numbers(digest, wish, sizeof wish / sizeof wish[0]) && add_numbers(digest, &method->radius, 1) &&
           (!method->moves || add_text(digest, "ends with a move"));
    for (size_t f = 0; method->scales != NULL && f < settings->model->family_count; f++)
        good = good && add_numbers(digest, method->scales[f], settings->model->families[f].dim);
    return good;
}

bool tc_server_terms(const tc_server_settings *settings, const tc_tacit_facts *method, unsigned char terms[TC_HASH]) {
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    bool good = digest != NULL && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1 &&
                add_text(digest, "tacit terms 1") && add_file(digest, settings->model) &&
                add_options(digest, settings, method) && EVP_DigestFinal_ex(digest, terms, NULL) == 1;
    EVP_MD_CTX_free(digest);
    return good;
}

static tc_status cannot(tc_server *s, const char *path) {
    tc_buffer_printf(s->messages, "cannot write '%s': %s\n", path, strerror(errno));
    return TC_CANNOT_WRITE;
}

/* ---- the trace ---- */

static void write_name(FILE *file, const char *name) {
    (void)fputs(",\"mu[", file);
    for (; *name != '\0'; name++) {
        if (*name == '"')
            (void)fputc('"', file);
        (void)fputc(*name, file);
    }
    (void)fputs("]\"", file);
}

static void write_head(tc_server *s) {
    const tc_model *model = s->settings->model;
    (void)fprintf(s->trace, TC_SERVER_TRACE_MARK "\n# released: run %s\nround,step,regularization", s->run_id);
    for (size_t j = 0; j < model->constraint_count; j++)
        write_name(s->trace, model->constraints[j].name);
    (void)fputc('\n', s->trace);
}

/* The round of the last complete line. Cuts off an incomplete line after it. */
static tc_status find_last(tc_server *s, uint64_t *round) {
    char line[64];
    off_t end = 0;
    bool at_start = true;
    *round = 0;
    rewind(s->trace);
    while (fgets(line, sizeof line, s->trace) != NULL) {
        unsigned long long k = 0;
        static const char run[] = "# released: run ";
        if (at_start && strncmp(line, run, sizeof run - 1) == 0 &&
            strncmp(line + sizeof run - 1, s->run_id, strlen(s->run_id)) != 0) {
            tc_buffer_printf(s->messages, "the trace '%s' is of another run: choose another name\n",
                             s->settings->trace);
            return TC_BAD_USAGE;
        }
        if (at_start && sscanf(line, "%llu,", &k) == 1)
            *round = k;
        at_start = strchr(line, '\n') != NULL;
        if (at_start)
            end = ftello(s->trace);
    }
    if (!at_start) { /* incomplete: its round is written again if the journal has it */
        *round = *round > 0 ? *round - 1 : 0;
        if (ftruncate(fileno(s->trace), end) != 0)
            return cannot(s, s->settings->trace);
    }
    return fseeko(s->trace, 0, SEEK_END) == 0 ? TC_OK : cannot(s, s->settings->trace);
}

/* Every line is flushed at once, so only the journal's last round can be missing. */
tc_status tc_server_trace_open(tc_server *s) {
    const char *path = s->settings->trace;
    const tc_journal_round *last = tc_journal_last(s->journal);
    if (path == NULL)
        return TC_OK;
    struct stat facts;
    bool goes_on = last->round > 0 && stat(path, &facts) == 0 && facts.st_size > 0;
    s->trace = fopen(path, goes_on ? "r+e" : "we");
    if (s->trace == NULL)
        return cannot(s, path);
    uint64_t written = 0;
    if (goes_on) {
        tc_status status = find_last(s, &written);
        if (status != TC_OK)
            return status;
    } else {
        write_head(s);
    }
    if (last->round > written && s->half != NULL)
        tc_server_trace_row(s, last->round,
                            (tc_answer_scalars){.step = last->step, .regularization = last->regularization});
    return s->trace != NULL && fflush(s->trace) == 0 ? TC_OK : cannot(s, path);
}

void tc_server_trace_row(tc_server *s, uint64_t round, tc_answer_scalars scalars) {
    const double *mu = tc_cloud_half_multipliers(s->half);
    if (s->trace == NULL)
        return;
    (void)fprintf(s->trace, "%llu,%.17g,%.17g", (unsigned long long)round, scalars.step, scalars.regularization);
    for (size_t j = 0; j < s->settings->model->constraint_count; j++)
        (void)fprintf(s->trace, ",%.17g", mu[j]);
    (void)fputc('\n', s->trace);
    if (fflush(s->trace) == 0)
        return;
    TC_LOG(s->settings->log, TC_EVENT_TRACE_FAILED, tc_log_text("file", s->settings->trace),
           tc_log_why(strerror(errno)));
    s->has_trace_failed = true;
    (void)fclose(s->trace); /* a later row would stand behind half a row */
    s->trace = NULL;
}

bool tc_server_trace_close(tc_server *s) {
    bool failed = s->has_trace_failed || (s->trace != NULL && fclose(s->trace) != 0);
    s->trace = NULL;
    if (failed)
        tc_buffer_printf(s->messages, "the trace '%s' could not be written completely\n", s->settings->trace);
    return !failed;
}

/* ---- the ports ---- */

tc_status tc_server_write_ports(tc_server *s) {
    const char *path = s->settings->port_file;
    if (path == NULL)
        return TC_OK;
    const char *part = tc_arena_format(s->arena, "%s.part", path);
    FILE *file = fopen(part, "we");
    if (file == NULL)
        return cannot(s, part);
    (void)fprintf(file, "%u %u\n", tc_listener_port(s->listener), s->http == NULL ? 0 : tc_http_port(s->http));
    bool failed = ferror(file) != 0;
    failed |= fclose(file) != 0;
    return !failed && rename(part, path) == 0 ? TC_OK : cannot(s, path);
}
