#include "net/agent/agent.h"

#include "engine/agent_half.h"
#include "model/model.h"
#include "net/agent/kept.h"

#include <math.h>
#include <string.h>

static bool start(void *context, double *x) {
    tc_agent_half *device = context;
    bool good = tc_agent_half_start(device, x);
    for (size_t i = 0; i < tc_agent_half_states(device); i++)
        good = good && isfinite(x[i]);
    return good;
}

static tc_slater_answer check_slater(void *context) {
    tc_agent_half_slater found = tc_agent_half_check_slater(context);
    return !found.has_point ? TC_SLATER_UNASKED : found.holds ? TC_SLATER_YES : TC_SLATER_NO;
}

static bool holds(void *context, const double *p) { return tc_agent_half_is_slater(context, p); }

static const char *scale(void *context, const int8_t *scales) { return tc_agent_half_scale(context, scales); }

static tc_agent_stepped step(void *context, const tc_agent_answer *answer, const double *x, double *next) {
    tc_answer_scalars scalars = {.step = answer->step, .regularization = answer->regularization};
    tc_method method = answer->method == TC_WIRE_TACIT ? TC_METHOD_TACIT : TC_METHOD_PUBLISHED;
    return tc_agent_half_step(context, method, scalars, answer->p, x, next) ? TC_STEPPED : TC_STEP_NOT_FINITE;
}

/* ---- what the steps are made of: the text, and each data file's name and bytes; a length before each ---- */

static void add_bytes(tc_buffer *out, const char *bytes, size_t size) {
    unsigned char length[8];
    tc_put_u64(length, size);
    tc_buffer_add(out, (const char *)length, sizeof length);
    tc_buffer_add(out, bytes, size);
}

static void pack(tc_arena *arena, const tc_model *model, const tc_read_files *files, tc_agent_steps *steps) {
    static const char room[TC_KEPT_HEADER];
    tc_buffer out = tc_buffer_new(arena, SIZE_MAX / 4);
    tc_buffer_add(&out, room, sizeof room);
    add_bytes(&out, model->source.text, model->source.length);
    for (size_t i = 0; i < files->count; i++) {
        add_bytes(&out, files->list[i].path, strlen(files->list[i].path));
        add_bytes(&out, files->list[i].bytes, files->list[i].length);
    }
    steps->problem = (unsigned char *)tc_arena_copy(arena, out.text, out.length);
    steps->problem_size = out.length;
}

/* NULL: none is left, or less than it says. */
static const char *take_bytes(tc_arena *arena, const unsigned char **at, const unsigned char *end, size_t *size) {
    if (end - *at < 8 || tc_get_u64(*at) > (uint64_t)(end - *at) - 8)
        return NULL;
    *size = (size_t)tc_get_u64(*at);
    const char *bytes = tc_arena_copy(arena, (const char *)*at + 8, *size);
    *at += 8 + *size;
    return bytes;
}

static tc_status load(const tc_load_request *request, tc_agent_steps *steps);

static tc_status make_again(tc_arena *arena, const char *path, const unsigned char *problem, size_t size,
                            tc_buffer *messages, tc_agent_steps *steps) {
    const unsigned char *at = problem + TC_KEPT_HEADER, *end = problem + size;
    tc_read_files files = {.list = TC_NEW(arena, tc_read_file, size / 16 + 1), .room = size / 16 + 1};
    tc_load_request request = {.arena = arena, .path = path, .messages = messages, .files = &files};
    request.text = take_bytes(arena, &at, end, &request.length);
    for (size_t unused; request.text != NULL && at < end; files.count++) {
        tc_read_file *file = &files.list[files.count];
        file->path = take_bytes(arena, &at, end, &unused);
        file->bytes = file->path == NULL ? NULL : take_bytes(arena, &at, end, &file->length);
        if (file->bytes == NULL)
            request.text = NULL;
    }
    if (request.text != NULL)
        return load(&request, steps);
    tc_buffer_printf(messages, "the copy of the agent's file '%s' is damaged\n", path);
    return TC_CANNOT_READ;
}

static tc_status load(const tc_load_request *request, tc_agent_steps *steps) {
    tc_arena *arena = request->arena;
    tc_buffer *messages = request->messages;
    const char *path = request->path, *why = NULL;
    tc_model *model = NULL;
    tc_agent_half *device = NULL;
    tc_status status = tc_model_load_request(request, &model);
    if (status != TC_OK)
        return status;
    if (model->role == TC_ROLE_CLOUD) {
        tc_buffer_printf(messages,
                         "%s: this is the cloud's file; an agent takes its own, which `tacit split` writes as "
                         "agents/NAME.tacit\n",
                         path);
        return TC_BAD_USAGE;
    }
    tc_tell_outside(model, true, messages); /* to who started the agent, not to the cloud */
    status = tc_agent_half_new(arena, model, tc_derive(arena, model), &device, &why);
    if (status != TC_OK) {
        tc_buffer_printf(messages, "%s: %s\n", path, why);
        return status;
    }
    double *lower = TC_NEW(arena, double, tc_agent_half_states(device)),
           *upper = TC_NEW(arena, double, tc_agent_half_states(device));
    tc_agent_half_box(device, lower, upper);
    *steps = (tc_agent_steps){.name = tc_agent_half_name(device),
                              .states = tc_agent_half_states(device),
                              .lower = lower,
                              .upper = upper,
                              .context = device,
                              .has_kinks = tc_agent_half_has_kinks(device),
                              .start = start,
                              .check_slater = check_slater,
                              .holds = holds,
                              .scale = scale,
                              .step = step,
                              .make_again = make_again};
    pack(arena, model, request->files, steps);
    return TC_OK;
}

tc_status tc_agent_compile(tc_arena *arena, const char *path, const tc_monitor *monitor, tc_buffer *messages,
                           tc_agent_steps *steps) {
    tc_read_files files = {0};
    tc_load_request request = {.arena = arena, .path = path, .monitor = monitor, .messages = messages, .files = &files};
    return load(&request, steps);
}
