#include "model/model.h"

#include "base/ranks/ranks.h"
#include "model/elaborate/elaborate.h"
#include "model/spread.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST_FILE = 16 * 1024 * 1024, MOST_NODES = 16 * 1024 * 1024 };

/* ---- the file --------------------------------------------------------------------------------------------------- */

typedef struct open_file {
    int descriptor;
} open_file;

static void close_file(void *what) {
    open_file *file = what;
    if (file->descriptor >= 0)
        (void)close(file->descriptor);
    file->descriptor = -1;
}

/* A path that leads to no file is the caller's mistake; a file that cannot be read is the environment's. */
static tc_status cannot_read(tc_buffer *messages, const char *path, int error) {
    bool no_file = error == ENOENT || error == ENOTDIR || error == EISDIR || error == ENAMETOOLONG;
    tc_buffer_printf(messages, "%s: error: cannot read this file: %s\n", path,
                     error == EISDIR ? "it is a folder" : strerror(error));
    return no_file ? TC_BAD_USAGE : TC_CANNOT_READ;
}

/* Standard input is read until its end: from a terminal, until Ctrl-D. */
static tc_status read_file(const tc_load_request *request, char **text, size_t *length) {
    tc_arena *arena = request->arena;
    const char *path = request->path;
    tc_buffer *messages = request->messages;
    struct stat facts;
    open_file *file = TC_NEW(arena, open_file, 1);
    file->descriptor = -1;
    if (request->standard_input) {
        file->descriptor = STDIN_FILENO;
    } else {
        tc_arena_on_free(arena, close_file, file);
        file->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    }
    if (file->descriptor < 0 || fstat(file->descriptor, &facts) != 0)
        return cannot_read(messages, path, errno);
    if (S_ISDIR(facts.st_mode))
        return cannot_read(messages, path, EISDIR);
    size_t capacity = S_ISREG(facts.st_mode) && facts.st_size > 0 ? (size_t)facts.st_size + 1 : 1 << 16;
    if (capacity > LARGEST_FILE + 1)
        capacity = LARGEST_FILE + 1;
    *text = TC_NEW(arena, char, capacity);
    *length = 0;
    for (;;) {
        ssize_t got = read(file->descriptor, *text + *length, capacity - *length);
        if (tc_interrupted(request->monitor))
            return TC_INTERRUPTED;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot_read(messages, path, errno);
        *length += (size_t)got;
        if (got == 0)
            break;
        if (*length > LARGEST_FILE) {
            tc_buffer_printf(messages, "%s: error: a problem file has at most %d bytes; put data into CSV files\n",
                             path, LARGEST_FILE);
            return TC_BAD_PROBLEM;
        }
        if (*length == capacity) {
            *text = tc_arena_grow(arena, *text, *length, capacity * 2, 1);
            capacity *= 2;
        }
    }
    if (!request->standard_input)
        close_file(file);
    return TC_OK;
}

/* ---- the model -------------------------------------------------------------------------------------------------- */

static tc_model *new_model(tc_arena *arena, const char *path, const char *text, size_t length, size_t nodes) {
    tc_model *model = TC_NEW(arena, tc_model, 1);
    model->arena = arena;
    model->source = (tc_source){tc_arena_copy(arena, path, strlen(path)), text, length};
    model->dag = tc_dag_new(arena, nodes);
    model->declared_constraints[0] = model->declared_constraints[1] = NAN;
    model->dual_radius = NAN;
    model->privacy = (tc_privacy){.adjacency_bound = NAN, .epsilon = NAN, .delta = NAN};
    model->budget = (tc_budget){.epsilon = NAN, .delta = NAN};
    model->schedule = (tc_schedule){NAN, NAN, NAN, NAN, NAN, {0, 0}};
    return model;
}

static bool has_spread(const tc_model *model) {
    bool found = false;
    for (size_t f = 0; f < model->family_count; f++)
        found = found || model->families[f].is_spread;
    return found;
}

/* Of a model that is whole: whether another would not be. */
static bool would_be_spread(const tc_model *model) {
    bool found = false;
    for (size_t f = 0; f < model->family_count; f++)
        found = found || tc_known_rows(model->families[f].count, false).is_spread;
    return found;
}

static tc_status build(const tc_load_request *request, const char *text, size_t length, tc_model **model) {
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark */
        text += 3;
        length -= 3;
    }
    tc_limits limits = {.nodes = request->nodes != 0 ? request->nodes : MOST_NODES,
                        .no_files = request->no_files,
                        .files = request->files,
                        .whole = !request->spread.is_wished || request->spread.needs_all != NULL};
    tc_model *made = new_model(request->arena, request->path, text, length, limits.nodes);
    tc_diagnostics diagnostics = {request->arena, &made->source, request->messages, 0};
    bool only_space = true;
    for (size_t i = 0; i < length && only_space; i++)
        only_space = strchr(" \t\r\n", text[i]) != NULL && text[i] != '\0';
    if (only_space) {
        tc_error_file(&diagnostics, request->path, "this file is empty");
        return TC_BAD_PROBLEM;
    }
    made->syntax = tc_parse(request->arena, &diagnostics);
    if (diagnostics.errors == 0)
        tc_elaborate(made, &diagnostics, request->monitor, &request->given, &limits);
    if (diagnostics.errors > 0)
        return TC_BAD_PROBLEM;
    if (request->spread.needs_all != NULL && request->spread.whole != NULL && would_be_spread(made))
        request->spread.whole(request->spread.context, request->spread.needs_all);
    const char *why = has_spread(made) ? tc_why_whole(made) : NULL;
    if (why != NULL) {
        tc_load_request whole = *request;
        whole.spread.is_wished = false;
        if (request->spread.whole != NULL)
            request->spread.whole(request->spread.context, why);
        return build(&whole, text, length, model);
    }
    tc_guard_unknown(made);
    *model = made;
    return TC_OK;
}

/* Ranks with other texts, or without one, cannot go on together: each loads alone what it has. */
static void part_unless_alike(tc_status status, const char *text, size_t length, volatile bool *is_parted) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325), is_odd = status != TC_OK;
    for (size_t i = 0; status == TC_OK && i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    uint64_t first = hash;
    if (!tc_ranks_several())
        return;
    tc_ranks_broadcast(&first, sizeof first, 0);
    is_odd += first != hash;
    tc_ranks_sum(&is_odd, 1);
    *is_parted = is_odd > 0;
    if (*is_parted)
        tc_ranks_part();
}

static tc_status load(const tc_load_request *request, tc_model **model, volatile bool *is_parted) {
    char *text = NULL;
    size_t length = request->length;
    tc_status status = TC_OK;
    if (request->text != NULL)
        text = tc_arena_copy(request->arena, request->text, length);
    else
        status = read_file(request, &text, &length);
    part_unless_alike(status, text, length, is_parted);
    return status == TC_OK ? build(request, text, length, model) : status;
}

static tc_status load_safely(const tc_load_request *request, tc_model **model) {
    tc_escape escape;
    volatile bool is_parted = false;
    tc_status status = TC_TRY(request->arena, &escape);
    if (status == TC_OK)
        status = load(request, model, &is_parted);
    tc_escape_end(request->arena, &escape);
    if (is_parted && !tc_ranks_join() && status == TC_OK)
        status = TC_INTERRUPTED;
    return status;
}

/* messages may live in another arena, whose failure has its own escape. */
static tc_status tell(tc_buffer *messages, const tc_load_request *request, tc_status outcome) {
    tc_escape escape;
    tc_status status = TC_TRY(messages->arena, &escape);
    if (status == TC_OK) {
        if (request->messages->length > 0)
            tc_buffer_add(messages, request->messages->text, request->messages->length);
        if (outcome == TC_TOO_LARGE || outcome == TC_NO_MEMORY || outcome == TC_INTERRUPTED)
            tc_buffer_printf(messages, "%s: error: %s\n", request->path, tc_status_text(outcome));
    }
    tc_escape_end(messages->arena, &escape);
    return status;
}

tc_status tc_model_load_request(const tc_load_request *request, tc_model **model) {
    tc_buffer messages = tc_buffer_new(request->arena, 1 << 22);
    tc_load_request own = *request;
    own.messages = &messages;
    tc_model *made = NULL;
    tc_status status = load_safely(&own, &made);
    tc_status told = tell(request->messages, &own, status);
    *model = status == TC_OK ? made : NULL;
    return status != TC_OK ? status : told;
}

tc_status tc_model_load(tc_arena *arena, const char *path, const tc_monitor *monitor, tc_buffer *messages,
                        tc_model **model) {
    tc_load_request request = {.arena = arena, .path = path, .monitor = monitor, .messages = messages};
    return tc_model_load_request(&request, model);
}

tc_status tc_model_parse(tc_arena *arena, const char *path, const char *text, size_t length, const tc_monitor *monitor,
                         tc_buffer *messages, tc_model **model) {
    tc_load_request request = {
        .arena = arena, .path = path, .text = text, .length = length, .monitor = monitor, .messages = messages};
    return tc_model_load_request(&request, model);
}
