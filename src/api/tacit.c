/* The public functions: each sets the escape for what it calls, so that no failure leaves the library. */
#include <tacit/tacit.h>

#include "analysis/analysis.h"
#include "api/handle.h"
#include "api/solution.h"
#include "base/machine.h"
#include "base/status.h"
#include "model/model.h"

#include <string.h>

enum { MESSAGE_LIMIT = 1 << 20 };
static const size_t text_limit = (size_t)1 << 36;

_Static_assert((int)TACIT_OK == (int)TC_OK && (int)TACIT_NO_MEMORY == (int)TC_NO_MEMORY &&
                   (int)TACIT_TOO_LARGE == (int)TC_TOO_LARGE && (int)TACIT_BAD_PROBLEM == (int)TC_BAD_PROBLEM &&
                   (int)TACIT_BAD_USAGE == (int)TC_BAD_USAGE && (int)TACIT_CANNOT_READ == (int)TC_CANNOT_READ &&
                   (int)TACIT_CANNOT_WRITE == (int)TC_CANNOT_WRITE && (int)TACIT_INTERRUPTED == (int)TC_INTERRUPTED &&
                   (int)TACIT_INTERNAL == (int)TC_INTERNAL && (int)TACIT_NO_RANDOM == (int)TC_NO_RANDOM &&
                   (int)TACIT_BAD_ARITHMETIC == (int)TC_BAD_ARITHMETIC,
               "the public list of errors is the internal one");
_Static_assert((int)TACIT_SOLVED == (int)TC_SOLVED && (int)TACIT_INACCURATE == (int)TC_INACCURATE &&
                   (int)TACIT_INFEASIBLE == (int)TC_INFEASIBLE_SUSPECTED &&
                   (int)TACIT_OUTCOME_INTERRUPTED == (int)TC_SOLVE_INTERRUPTED,
               "the public list of outcomes is the internal one");

struct tacit_problem {
    tc_arena *arena;
    tc_model *model;
    tc_derivatives *derivatives; /* made when first needed */
};

struct tacit_report {
    tc_arena *arena;
    bool holds;
    const char *json, *text;
};

struct tacit_solution {
    tc_arena *arena;
    const tc_model *model;
    const tc_reference *reference;
    const char *json;
};

/* ---- Problems ---- */

typedef struct source { /* text NULL: read the file */
    const char *path, *text;
    size_t length;
    tacit_problem *made;
} source;

static tc_status load(void *context, tc_arena *arena, tc_buffer *messages) {
    source *from = context;
    from->made = TC_NEW(arena, tacit_problem, 1);
    from->made->arena = arena;
    if (from->text == NULL)
        return tc_model_load(arena, from->path, NULL, messages, &from->made->model);
    const char *text = tc_arena_copy(arena, from->text, from->length);
    return tc_model_parse(arena, from->path, text, from->length, NULL, messages, &from->made->model);
}

static tacit_status make_problem(source from, tacit_problem **problem, char **message) {
    tacit_status status = tc_handle_make(load, &from, message);
    *problem = status == TACIT_OK ? from.made : NULL;
    return status;
}

tacit_status tacit_problem_load(const char *path, tacit_problem **problem, char **message) {
    return make_problem((source){.path = path}, problem, message);
}

tacit_status tacit_problem_parse(const char *path, const char *text, size_t length, tacit_problem **problem,
                                 char **message) {
    return make_problem((source){.path = path, .text = text, .length = length}, problem, message);
}

void tacit_problem_free(tacit_problem *problem) {
    if (problem != NULL)
        tc_arena_free(problem->arena);
}

size_t tacit_problem_agents(const tacit_problem *problem) { return problem->model->agent_count; }
size_t tacit_problem_states(const tacit_problem *problem) { return problem->model->state_count; }
size_t tacit_problem_constraints(const tacit_problem *problem) { return problem->model->constraint_count; }

size_t tacit_problem_agent_states(const tacit_problem *problem, size_t agent) {
    return agent < problem->model->agent_count ? tc_family_of_agent(problem->model, agent)->dim : 0;
}

tacit_status tacit_problem_agent_name(const tacit_problem *problem, size_t agent, char *text, size_t size) {
    if (agent >= problem->model->agent_count || size == 0)
        return TACIT_BAD_USAGE;
    tc_arena *arena = tc_arena_new(0);
    if (arena == NULL)
        return TACIT_NO_MEMORY;
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK) {
        const tc_family *family = tc_family_of_agent(problem->model, agent);
        tc_buffer name = tc_buffer_new(arena, MESSAGE_LIMIT);
        tc_agent_name(&name, family, agent - family->first_agent);
        size_t length = name.length < size ? name.length : size - 1;
        memcpy(text, tc_buffer_text(&name), length);
        text[length] = '\0';
    }
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return (tacit_status)status;
}

/* ---- Long work ---- */

typedef struct api_job {
    tacit_problem *problem;
    const tacit_options *options;
    tc_monitor monitor;
    tc_arena *arena; /* of the result */
    void *result;
} api_job;

static bool job_interrupted(void *context) {
    const tacit_options *options = context;
    return options->interrupted(options->context) != 0;
}

static void job_progress(void *context, const char *what, double fraction) {
    const tacit_options *options = context;
    options->progress(options->context, what, fraction);
}

static tc_monitor monitor_of(const tacit_options *options) {
    if (options == NULL)
        return (tc_monitor){0};
    /* The context is only read through the functions above. */
    union {
        const tacit_options *in;
        void *out;
    } context = {.in = options};
    return (tc_monitor){.interrupted = options->interrupted == NULL ? NULL : job_interrupted,
                        .progress = options->progress == NULL ? NULL : job_progress,
                        .context = context.out};
}

/* Runs work with an escape on both arenas: the result's own, and the problem's, whose DAG grows. */
static tc_status run_job(api_job *j, void (*work)(api_job *)) {
    tc_escape outer, inner;
    if (tc_arithmetic_fault() != NULL)
        return TC_BAD_ARITHMETIC;
    j->arena = tc_arena_new(0);
    if (j->arena == NULL)
        return TC_NO_MEMORY;
    tc_status status = TC_TRY(j->problem->arena, &outer);
    if (status == TC_OK) {
        status = TC_TRY(j->arena, &inner);
        if (status == TC_OK) {
            if (j->problem->derivatives == NULL)
                j->problem->derivatives = tc_derive(j->problem->arena, j->problem->model);
            work(j);
        }
        tc_escape_end(j->arena, &inner);
    }
    tc_escape_end(j->problem->arena, &outer);
    if (status != TC_OK)
        tc_arena_free(j->arena);
    return status;
}

static void check_work(api_job *j) {
    tacit_problem *problem = j->problem;
    const tc_analysis *analysis = tc_analysis_run(j->arena, problem->model, problem->derivatives, NULL, &j->monitor);
    tacit_report *report = TC_NEW(j->arena, tacit_report, 1);
    tc_buffer json_text = tc_buffer_new(j->arena, text_limit);
    tc_buffer text = tc_buffer_new(j->arena, text_limit);
    tc_json json = tc_json_new(&json_text);
    tc_json_open_object(&json, NULL);
    tc_analysis_json(analysis, &json);
    tc_json_close_object(&json);
    tc_analysis_text(analysis, &text, 0);
    *report = (tacit_report){.arena = j->arena,
                             .holds = tc_analysis_holds(analysis),
                             .json = tc_buffer_text(&json_text),
                             .text = tc_buffer_text(&text)};
    j->result = report;
}

tacit_status tacit_check(tacit_problem *problem, const tacit_options *options, tacit_report **report) {
    api_job j = {.problem = problem, .options = options, .monitor = monitor_of(options)};
    tc_status status = run_job(&j, check_work);
    *report = status == TC_OK ? j.result : NULL;
    return (tacit_status)status;
}

void tacit_report_free(tacit_report *report) {
    if (report != NULL)
        tc_arena_free(report->arena);
}

int tacit_report_holds(const tacit_report *report) { return report->holds; }
const char *tacit_report_json(const tacit_report *report) { return report->json; }
const char *tacit_report_text(const tacit_report *report) { return report->text; }

static void solve_work(api_job *j) {
    tacit_problem *problem = j->problem;
    double tolerance = j->options == NULL || j->options->tolerance <= 0 ? 1e-8 : j->options->tolerance;
    tc_solution found = tc_solution_find(j->arena, problem->model, problem->derivatives, tolerance, &j->monitor);
    tacit_solution *solution = TC_NEW(j->arena, tacit_solution, 1);
    tc_buffer text = tc_buffer_new(j->arena, text_limit);
    tc_json json = tc_json_new(&text);
    tc_solution_json(&found, &json);
    *solution = (tacit_solution){
        .arena = j->arena, .model = problem->model, .reference = found.reference, .json = tc_buffer_text(&text)};
    j->result = solution;
}

tacit_status tacit_solve(tacit_problem *problem, const tacit_options *options, tacit_solution **solution) {
    *solution = NULL;
    if (problem->model->role != TC_ROLE_WHOLE)
        return TACIT_BAD_PROBLEM;
    api_job j = {.problem = problem, .options = options, .monitor = monitor_of(options)};
    tc_status status = run_job(&j, solve_work);
    *solution = status == TC_OK ? j.result : NULL;
    return (tacit_status)status;
}

void tacit_solution_free(tacit_solution *solution) {
    if (solution != NULL)
        tc_arena_free(solution->arena);
}

tacit_outcome tacit_solution_outcome(const tacit_solution *solution) {
    return (tacit_outcome)solution->reference->outcome;
}

double tacit_solution_objective(const tacit_solution *solution) { return solution->reference->objective; }
double tacit_solution_residual(const tacit_solution *solution) { return solution->reference->residual; }
const double *tacit_solution_mu(const tacit_solution *solution) { return solution->reference->mu; }
const char *tacit_solution_json(const tacit_solution *solution) { return solution->json; }

tacit_status tacit_solution_x(const tacit_solution *solution, size_t agent, double *x) {
    if (agent >= solution->model->agent_count)
        return TACIT_BAD_USAGE;
    const tc_family *family = tc_family_of_agent(solution->model, agent);
    for (size_t c = 0; c < family->dim; c++)
        x[c] = solution->reference->x[tc_coord_of(family, agent - family->first_agent, c)];
    return TACIT_OK;
}
