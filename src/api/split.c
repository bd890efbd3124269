/* tacit_split. */
#include "api/result.h"
#include "base/sized.h"
#include "base/text.h"
#include "model/split/split.h"
#include "plan/plan.h"

#include <math.h>
#include <string.h>

static const size_t MOST_BYTES = (size_t)1 << 30; /* in memory */

typedef struct tc_split_output {
    const char *directory; /* NULL: in memory */
    tc_split_parts parts;
    size_t files;
    const char *plan; /* NULL for none */
    const tc_shared_secret *shared;
    size_t shared_count;
    const char *problem; /* NULL, or why nothing was written */
} tc_split_output;

typedef struct split_wishes {
    const char *directory;
    bool replace;
} split_wishes;

/* ---- JSON and text ---- */

static void split_json(const tacit_result *result, tc_json *json) {
    const tc_split_output *output = result->of.split;
    tc_json_open_object(json, NULL);
    if (output->problem != NULL)
        tc_json_string(json, "problem", output->problem);
    tc_json_string(json, "directory", output->directory);
    tc_json_count(json, "agents", result->model->agent_count);
    tc_json_count(json, "files", output->files);
    tc_json_open_array(json, "shared_secrets");
    for (size_t i = 0; i < output->shared_count; i++) {
        tc_json_open_object(json, NULL);
        tc_json_string(json, "name", output->shared[i].name);
        tc_json_count(json, "agents", output->shared[i].agents);
        tc_json_close_object(json);
    }
    tc_json_close_array(json);
    tc_json_string(json, "plan", output->plan);
    tc_json_close_object(json);
}

static void split_text(const tacit_result *result, tc_buffer *out) {
    const tc_split_output *output = result->of.split;
    size_t agents = result->model->agent_count;
    if (output->problem != NULL) /* a warning has said it */
        return;
    tc_buffer_printf(out, "%s: the cloud's file and %s of %zu agent%s, %zu files in all\n",
                     output->directory == NULL ? "in memory" : output->directory, agents == 1 ? "that" : "those",
                     agents, agents == 1 ? "" : "s", output->files);
    for (size_t i = 0; i < output->shared_count; i++)
        tc_buffer_printf(out, "  the private '%s' is in the files of %zu agents: a secret that they share\n",
                         output->shared[i].name, output->shared[i].agents);
    if (output->plan != NULL)
        tc_buffer_printf(out, "plan %s\n", output->plan);
}

/* ---- what no party can check alone: the cloud's numbers rest on promises about private data ---- */

/* From public facts alone. */
static const char *explain_missing_radius(tc_work *work, const tc_analysis *analysis) {
    static const char why[] =
        "the cloud needs a public dual radius, and none follows from the gaps and the declared Slater point";
    const char *path = analysis->model->source.path;
    tc_buffer_printf(work->messages, "%s: error: %s\n", path, why);
    for (size_t i = 0; i < analysis->slater.finding_count; i++) {
        const tc_finding *finding = &analysis->slater.findings[i];
        tc_buffer_printf(work->messages, "%s: note: %s\n", finding->place != NULL ? finding->place : path,
                         finding->text);
    }
    return why;
}

/* *problem: NULL, or why it cannot be split. */
static tc_status examine(tc_work *work, const tc_loaded *loaded, const char **problem) {
    tc_analysis_options wishes = {.rows_limit = 1};
    const char *path = loaded->model->source.path;
    const tc_analysis *analysis =
        tc_analysis_run(work->arena, loaded->model, loaded->derivatives, &wishes, work->monitor);
    if (analysis->interrupted)
        return TC_INTERRUPTED;
    /* tc_split reports what is missing in the file. */
    if (isnan(analysis->dual_radius.public_value) && tc_radius_is_promised(loaded->model)) {
        tc_status status = tc_analyse_public(work, loaded->model, loaded->derivatives, &analysis);
        if (status == TC_OK)
            *problem = explain_missing_radius(work, analysis);
        return status;
    }
    if (analysis->small_gaps > 0)
        tc_buffer_printf(work->messages,
                         "%s: warning: the gap%s of %zu agent%s smaller than their data need; tacit check shows more\n",
                         path, analysis->small_gaps == 1 ? "" : "s", analysis->small_gaps,
                         analysis->small_gaps == 1 ? " is" : "s are");
    if (analysis->dual_radius.public_too_small)
        tc_buffer_printf(work->messages,
                         "%s: warning: the public dual radius is smaller than the private data call for\n", path);
    if (!tc_analysis_holds(analysis))
        tc_buffer_printf(work->messages, "%s: warning: not all assumptions hold; tacit check says why\n", path);
    return TC_OK;
}

/* The hash of the plan that tacit serve makes of the cloud's file without options, from the same public facts. NULL
 * where the file does not say what to promise, or no plan keeps it. */
static tc_status find_plan(tc_work *work, const tc_loaded *loaded, const char **hash) {
    const tc_plan_options wishes = {
        .adjacency_bound = NAN, .epsilon = NAN, .delta = NAN, .rounds = NAN, .hold_cap = NAN};
    const tc_analysis *analysis;
    tc_status status = tc_analyse_public(work, loaded->model, loaded->derivatives, &analysis);
    if (status != TC_OK)
        return status;
    const tc_plan *plan =
        tc_plan_make(work->arena, loaded->model, loaded->derivatives, analysis, &wishes, work->monitor);
    if (tc_interrupted(work->monitor))
        return TC_INTERRUPTED;
    *hash =
        tc_certificate_problem(plan) != NULL ? NULL : tc_hexadecimal_new(work->arena, plan->hash, sizeof plan->hash);
    return TC_OK;
}

/* ---- splitting ---- */

static tc_status look(tc_work *work, const tc_loaded *loaded, tc_split_output *output) {
    if (loaded->model->role != TC_ROLE_WHOLE) /* tc_split refuses it */
        return TC_OK;
    tc_status status = examine(work, loaded, &output->problem);
    return status == TC_OK && output->problem == NULL ? find_plan(work, loaded, &output->plan) : status;
}

static tc_status split(tc_api_call *call, tc_split_output *output) {
    tc_work *work = &call->work;
    const tc_split_wishes wishes = {.directory = output->directory,
                                    .force = ((const split_wishes *)call->own)->replace,
                                    .parts = &output->parts,
                                    .plan = output->plan};
    tc_arena *scratch = tc_arena_new(0); /* parts stay, what they were made with does not */
    if (scratch == NULL)
        return TC_NO_MEMORY;
    tc_status status =
        tc_split_with(scratch, call->problem->loaded.model, &wishes, work->monitor, work->messages, &output->files);
    tc_arena_free(scratch);
    return status;
}

static tc_status make_split(tc_api_call *call) {
    tacit_result *result = call->result;
    tc_work *work = &call->work;
    const split_wishes *own = call->own;
    const tc_loaded *loaded = &call->problem->loaded;
    tc_split_output *output = TC_NEW(work->arena, tc_split_output, 1);
    if (own->directory != NULL)
        output->directory = tc_arena_copy(work->arena, own->directory, strlen(own->directory));
    output->parts = (tc_split_parts){.arena = work->arena, .most = MOST_BYTES};
    result->model = loaded->model;
    result->of.split = output;
    result->write_json = split_json;
    result->write_text = split_text;
    tc_status status = look(work, loaded, output);
    result->reason = output->problem;
    if (status != TC_OK || output->problem != NULL)
        return status;
    status = split(call, output);
    if (status != TC_OK)
        return status;
    output->shared = tc_split_shared(work->arena, loaded->model, &output->shared_count);
    result->holds = true;
    return TC_OK;
}

tacit_status tacit_split(tacit_problem *problem, const char *directory, int replace, const tacit_options *options,
                         tacit_result **result, char **message) {
    const split_wishes own = {directory, replace != 0};
    tc_api_call call = {.command = "split", .needs_problem = true, .problem = problem, .own = &own};
    return tc_call_make(&call, options, make_split, result, message);
}

size_t tacit_result_parts(const tacit_result *result) {
    return result == NULL || result->of.split == NULL ? 0 : result->of.split->parts.count;
}

tacit_status tacit_result_part(const tacit_result *result, size_t part, tacit_part *facts) {
    if (facts == NULL || part >= tacit_result_parts(result))
        return TACIT_BAD_USAGE;
    const tc_split_part *from = &result->of.split->parts.list[part];
    const tacit_part all = {.name = from->name, .text = from->text, .length = from->length};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}
