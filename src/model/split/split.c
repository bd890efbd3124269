#include "model/split/split.h"

#include "model/split/split_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool write_all(int descriptor, const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = write(descriptor, text, length);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
    return true;
}

tc_status tc_write_file(tc_split_job *job, const char *path, const tc_buffer *text) {
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_EXCL;
    int descriptor = open(path, flags, S_IRUSR | S_IWUSR);
    if (descriptor < 0)
        return tc_cannot_write(job, path, errno);
    bool good = write_all(descriptor, text->text, text->length);
    int code = errno;
    if (close(descriptor) != 0 && good) {
        good = false;
        code = errno;
    }
    if (!good)
        return tc_cannot_write(job, path, code);
    job->files++;
    return TC_OK;
}

/* ---- what must be there ------------------------------------------------------------------------------------------ */

static tc_status check_dual_radius(const tc_split_job *job) {
    const tc_model *model = job->model;
    size_t gaps = 0, slaters = 0;
    const tc_family *without_gap = NULL, *without_slater = NULL;
    for (size_t f = model->family_count; f-- > 0;) {
        gaps += model->families[f].has_gap;
        slaters += model->families[f].has_slater;
        without_gap = model->families[f].has_gap ? without_gap : &model->families[f];
        without_slater = model->families[f].has_slater ? without_slater : &model->families[f];
    }
    if (!isnan(model->dual_radius) || (without_gap == NULL && without_slater == NULL) || model->constraint_count == 0)
        return TC_OK;
    tc_buffer_printf(job->messages,
                     "%s: error: the cloud needs a public dual radius, and must not learn it from private "
                     "objectives\n",
                     model->source.path);
    tc_buffer_printf(job->messages,
                     "  either add a line 'dual radius R' to the file,\n  or give every agent the public lines "
                     "'gap F' and 'slater x = ...'");
    if (without_gap != NULL)
        tc_buffer_printf(job->messages, "; 'gap' is missing for '%s'%s", without_gap->name,
                         model->family_count - gaps > 1 ? " and others" : "");
    if (without_slater != NULL)
        tc_buffer_printf(job->messages, "; 'slater' is missing for '%s'%s", without_slater->name,
                         model->family_count - slaters > 1 ? " and others" : "");
    tc_buffer_puts(job->messages, "\n");
    return TC_BAD_PROBLEM;
}

static tc_status write_plan(tc_split_job *job) {
    tc_buffer out = tc_buffer_new(job->arena, 1 << 10);
    if (job->plan == NULL)
        return TC_OK;
    tc_buffer_printf(&out, "%s\n", job->plan);
    return tc_write_file(job, tc_arena_format(job->arena, "%s/plan.hash", job->directory), &out);
}

static tc_status split(tc_split_job *job, const char *directory) {
    tc_uses_forget(job->model->syntax);
    if (job->model->role != TC_ROLE_WHOLE) {
        tc_buffer_printf(job->messages,
                         "%s: error: this file is one party's already; only a whole problem can be split\n",
                         job->model->source.path);
        return TC_BAD_PROBLEM;
    }
    tc_status status = check_dual_radius(job);
    if (status == TC_OK)
        status = tc_split_check_cloud(job);
    if (status == TC_OK)
        status = tc_split_check_agents(job);
    if (status == TC_OK)
        status = tc_split_open(job, directory);
    if (status == TC_OK)
        status = write_plan(job);
    if (status == TC_OK)
        status = tc_split_cloud(job);
    if (status == TC_OK)
        status = tc_split_agents(job);
    if (status == TC_OK)
        status = tc_split_commit(job);
    return status;
}

static tc_status split_safely(tc_split_job *job, const char *directory) {
    tc_escape escape;
    tc_status status = TC_TRY(job->arena, &escape);
    if (status == TC_OK)
        status = split(job, directory);
    tc_escape_end(job->arena, &escape);
    return status;
}

static tc_status tell(tc_buffer *messages, const tc_split_job *job, tc_status outcome) {
    tc_escape escape;
    tc_status status = TC_TRY(messages->arena, &escape);
    if (status == TC_OK) {
        if (job->messages->length > 0)
            tc_buffer_add(messages, job->messages->text, job->messages->length);
        else if (outcome != TC_OK)
            tc_buffer_printf(messages, "%s: error: %s\n", job->model->source.path, tc_status_text(outcome));
    }
    tc_escape_end(messages->arena, &escape);
    return status;
}

tc_status tc_split(tc_arena *arena, const tc_model *model, const char *directory, bool force, const tc_monitor *monitor,
                   tc_buffer *messages, size_t *files) {
    return tc_split_planned(arena, model, directory, force, NULL, monitor, messages, files);
}

tc_status tc_split_planned(tc_arena *arena, const tc_model *model, const char *directory, bool force, const char *plan,
                           const tc_monitor *monitor, tc_buffer *messages, size_t *files) {
    tc_buffer own = tc_buffer_new(arena, 1 << 22);
    tc_split_job job = {
        .arena = arena, .model = model, .monitor = monitor, .messages = &own, .force = force, .plan = plan};
    tc_status status = split_safely(&job, directory);
    if (status != TC_OK)
        tc_split_abandon(&job);
    tc_status told = tell(messages, &job, status);
    *files = job.files;
    return status != TC_OK ? status : told;
}
