/* tacit_report, and the traces and pages of runs and sweeps. */
#include "api/handle.h"
#include "api/runs/run.h"
#include "base/outputs.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

/* ---- traces ---- */

static tc_trace_result result_of(const tc_baseline *baseline, const tc_model *model) {
    if (baseline == NULL)
        return (tc_trace_result){NAN, NAN, NAN, NULL};
    return (tc_trace_result){.x_error = baseline->row.x_error,
                             .objective = baseline->row.objective,
                             .max_violation = baseline->row.max_violation,
                             .worst = tc_baseline_worst(baseline, model)};
}

static void set_comparison(tc_trace *trace, const tc_comparison *made, const tc_model *model,
                           const tc_reference *reference) {
    const tc_row *quiet = made->noise_free == NULL || made->is_own ? NULL : tc_record_last(made->noise_free);
    trace->reference_objective = reference == NULL ? NAN : reference->objective;
    trace->nothing = result_of(made->zero, model);
    trace->slater = result_of(made->slater, model);
    trace->verdict = made->verdict;
    trace->is_lost = made->lost;
    trace->error_parts = made->parts;
    if (quiet == NULL)
        return;
    trace->free_x_error = quiet->x_error;
    trace->free_mu_error = quiet->mu_error;
    trace->free_objective = quiet->objective;
    trace->free_max_violation = quiet->max_violation;
}

tc_trace *tc_run_trace(tc_arena *arena, const tc_run_output *output, const char *command) {
    if (output->record_count == 0)
        return NULL;
    tc_trace *trace = tc_trace_new(arena, TC_TRACE_RUN, output->plan, output->simulated, command);
    tc_trace_set_records(arena, trace, output->records, output->record_count);
    if (output->record_count < output->wanted)
        tc_trace_note_add(arena, trace,
                          tc_arena_format(arena, "%zu of %zu runs were not begun",
                                          output->wanted - output->record_count, output->wanted));
    if (output->keep_row_states)
        tc_trace_set_states(arena, trace, output->setup->model);
    set_comparison(trace, &output->comparison, output->setup->model, output->target.reference);
    if (!output->many) { /* of many each has its own */
        trace->feasibility = output->released_words[0];
        trace->true_feasibility = output->true_words[0];
    }
    if (output->comparison.advice != NULL)
        tc_trace_note_add(arena, trace, output->comparison.advice);
    tc_trace_fact_add(arena, trace, "dual radius",
                      tc_arena_format(arena, "%.6g (%s)", output->setup->dual_radius,
                                      tc_radius_origin_name(output->setup->radius_origin)));
    const char *margin = tc_margin_text(arena, output->method);
    if (margin != NULL)
        tc_trace_fact_add(arena, trace, "margin", margin);
    if (output->plan->last != NULL)
        tc_trace_fact_add(arena, trace, "feasible", "always");
    tc_trace_fact_add(arena, trace, "seconds", tc_arena_format(arena, "%.3g", output->run_seconds));
    return trace;
}

static size_t finished_runs(const tc_sweep *sweep) {
    size_t count = 0;
    for (size_t e = 0; e < sweep->point_count; e++)
        count += sweep->points[e].runs;
    return count;
}

tc_trace *tc_sweep_trace(tc_arena *arena, const tc_sweep_output *output, const char *command) {
    if (output->sweep == NULL || finished_runs(output->sweep) == 0)
        return NULL;
    tc_trace *trace = tc_trace_new(arena, TC_TRACE_SWEEP, output->sweep->points[0].plan, true, command);
    set_comparison(trace, &output->comparison, output->setup->model, output->target.reference);
    tc_trace_set_sweep(arena, trace, output->sweep);
    if (output->margin != NULL)
        tc_trace_fact_add(arena, trace, "margin", output->margin);
    return trace;
}

bool tc_result_has_trace(const tacit_result *result) {
    const tc_sweep_output *sweep = result->of.sweep;
    return (result->of.run != NULL && result->of.run->record_count > 0) ||
           (sweep != NULL && sweep->sweep != NULL && finished_runs(sweep->sweep) > 0);
}

typedef struct writing {
    const char *path, *command;
    bool is_page;
} writing;

static tc_status check_output(tc_arena *arena, const char *function, const char *path, bool is_page,
                              const tc_input_file *inputs, size_t input_count, tc_buffer *messages) {
    const tc_file_kind page = TC_PAGE_FILE, trace = TC_TRACE_FILE;
    const tc_output_file output = {.option = function, .path = path, .kind = is_page ? page : trace};
    return tc_outputs_check(arena, &output, 1, inputs, input_count, messages);
}

static tc_status write_file(tacit_result *result, void *context, tc_buffer *messages) {
    const writing *w = context;
    const char *function = w->is_page ? "tacit_result_write_report" : "tacit_result_write_trace";
    const tc_input_file problem = {"the problem", result->model->source.path};
    tc_arena *arena = result->arena;
    if (!tc_result_has_trace(result)) {
        tc_buffer_puts(messages, "no run was begun and finished: there is nothing to write\n");
        return TC_BAD_USAGE;
    }
    tc_status status = check_output(arena, function, w->path, w->is_page, &problem, 1, messages);
    if (status != TC_OK)
        return status;
    const char *command = w->command == NULL ? NULL : tc_arena_copy(arena, w->command, strlen(w->command));
    const tc_trace *trace = result->of.run != NULL ? tc_run_trace(arena, result->of.run, command)
                                                   : tc_sweep_trace(arena, result->of.sweep, command);
    const char *path = tc_arena_copy(arena, w->path, strlen(w->path)); /* after a failure it is freed with the result */
    return w->is_page ? tc_report_write(arena, path, NULL, &trace, 1, messages)
                      : tc_trace_write(arena, path, trace, messages);
}

static tacit_status write_result(tacit_result *result, const writing *w, char **message) {
    if (message != NULL)
        *message = NULL;
    if (result == NULL || w->path == NULL || (result->of.run == NULL && result->of.sweep == NULL)) {
        if (message != NULL)
            *message = tc_own_lines("there is no path, or no result of run or sweep");
        return TACIT_BAD_USAGE;
    }
    writing copy = *w;
    return tc_result_work(result, write_file, &copy, message);
}

tacit_status tacit_result_write_trace(tacit_result *result, const char *path, const char *command, char **message) {
    return write_result(result, &(writing){.path = path, .command = command}, message);
}

tacit_status tacit_result_write_report(tacit_result *result, const char *path, const char *command, char **message) {
    return write_result(result, &(writing){.path = path, .command = command, .is_page = true}, message);
}

/* ---- a page about trace files ---- */

typedef struct tc_page_output {
    const char *path;
    size_t kinds[3]; /* how many traces of each */
} tc_page_output;

typedef struct page_wishes {
    const char *const *traces;
    size_t count;
    const char *path, *title;
} page_wishes;

static void page_json(const tacit_result *result, tc_json *json) {
    const tc_page_output *page = result->of.page;
    tc_json_open_object(json, NULL);
    tc_json_string(json, "file", page->path);
    tc_json_count(json, "runs", page->kinds[TC_TRACE_RUN]);
    tc_json_count(json, "sweeps", page->kinds[TC_TRACE_SWEEP]);
    tc_json_count(json, "marks", page->kinds[TC_TRACE_MARKS]);
    tc_json_close_object(json);
}

/* "page.html: 2 traces of runs, 1 of sweeps, 1 of marks" */
static void page_text(const tacit_result *result, tc_buffer *out) {
    const tc_page_output *page = result->of.page;
    size_t runs = page->kinds[TC_TRACE_RUN], sweeps = page->kinds[TC_TRACE_SWEEP], marks = page->kinds[TC_TRACE_MARKS];
    const char *separator = ": ";
    tc_buffer_puts(out, page->path);
    if (runs > 0) {
        tc_buffer_printf(out, "%s%zu trace%s of runs", separator, runs, tc_plural(runs));
        separator = ", ";
    }
    if (sweeps > 0) {
        tc_buffer_printf(out, "%s%zu of sweeps", separator, sweeps);
        separator = ", ";
    }
    if (marks > 0)
        tc_buffer_printf(out, "%s%zu of marks", separator, marks);
    tc_buffer_puts(out, "\n");
}

static tc_status check_page(tc_api_call *call, const page_wishes *wishes) {
    tc_work *work = &call->work;
    if (wishes->path == NULL || wishes->traces == NULL || wishes->count == 0)
        return tc_work_refuse(work, "a report wants traces, and a path to write to");
    tc_input_file *inputs = TC_NEW(work->arena, tc_input_file, wishes->count);
    for (size_t i = 0; i < wishes->count; i++) {
        if (wishes->traces[i] == NULL)
            return tc_work_refuse(work, "a trace has no path");
        inputs[i] = (tc_input_file){"a trace to be read", wishes->traces[i]};
    }
    return check_output(work->arena, "tacit_report", wishes->path, true, inputs, wishes->count, work->messages);
}

static tc_status make_page(tc_api_call *call) {
    tc_work *work = &call->work;
    const page_wishes *wishes = call->own;
    tc_status status = check_page(call, wishes);
    if (status != TC_OK)
        return status;
    tc_page_output *page = TC_NEW(work->arena, tc_page_output, 1);
    const tc_trace **traces = TC_NEW(work->arena, const tc_trace *, wishes->count);
    for (size_t i = 0; i < wishes->count; i++) {
        tc_progress(work->monitor, "reading", (double)i / (double)wishes->count);
        tc_trace *trace = NULL;
        status = tc_trace_read(work->arena, wishes->traces[i], work->monitor, work->messages, &trace);
        if (status != TC_OK)
            return status;
        traces[i] = trace;
        page->kinds[trace->kind]++;
    }
    page->path = tc_arena_copy(work->arena, wishes->path, strlen(wishes->path));
    status = tc_report_write(work->arena, page->path, wishes->title, traces, wishes->count, work->messages);
    call->result->of.page = page;
    call->result->holds = true;
    call->result->write_json = page_json;
    call->result->write_text = page_text;
    return status;
}

tacit_status tacit_report(const char *const *traces, size_t count, const char *path, const char *title,
                          const tacit_options *options, tacit_result **result, char **message) {
    const page_wishes wishes = {.traces = traces, .count = count, .path = path, .title = title};
    tc_api_call call = {.command = "report", .own = &wishes};
    return tc_call_make(&call, options, make_page, result, message);
}
