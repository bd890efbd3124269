#include "report/report.h"

#include "base/json.h"
#include "plan/account/account.h"
#include "promise/card.h"

#include <math.h>
#include <string.h>

enum { NOTED_RUNS = 20 };

const char *tc_trace_kind_name(tc_trace_kind kind) {
    switch (kind) {
#define X(code, name)                                                                                                  \
    case code:                                                                                                         \
        return name;
        TC_TRACE_KINDS(X)
#undef X
    default:
        return "unknown";
    }
}

tc_trace tc_trace_empty(tc_trace_kind kind) {
    const tc_trace_result none = {NAN, NAN, NAN, NULL};
    return (tc_trace){.kind = kind,
                      .free_x_error = NAN,
                      .free_mu_error = NAN,
                      .free_objective = NAN,
                      .free_max_violation = NAN,
                      .reference_objective = NAN,
                      .nothing = none,
                      .slater = none,
                      .fit = {NAN, NAN, NAN, NAN, NAN, NAN}};
}

/* Grows when the count reaches a power of two. */
static void *room_for_one(tc_arena *arena, void *items, size_t count, size_t size) {
    return (count & (count - 1)) == 0 ? tc_arena_grow(arena, items, count, count == 0 ? 1 : 2 * count, size) : items;
}

void tc_trace_fact_add(tc_arena *arena, tc_trace *trace, const char *name, const char *value) {
    trace->facts = room_for_one(arena, trace->facts, trace->fact_count, sizeof *trace->facts);
    trace->facts[trace->fact_count++] = (tc_trace_fact){name, value};
}

const char *tc_trace_fact_of(const tc_trace *trace, const char *name) {
    for (size_t i = 0; i < trace->fact_count; i++) {
        if (strcmp(trace->facts[i].name, name) == 0)
            return trace->facts[i].value;
    }
    return NULL;
}

void tc_trace_note_add(tc_arena *arena, tc_trace *trace, const char *note) {
    trace->notes = room_for_one(arena, trace->notes, trace->note_count, sizeof *trace->notes);
    trace->notes[trace->note_count++] = note;
}

void tc_trace_card_add(tc_arena *arena, tc_trace *trace, const char *line) {
    trace->card = room_for_one(arena, trace->card, trace->card_count, sizeof *trace->card);
    trace->card[trace->card_count++] = line;
}

void tc_trace_equality_add(tc_arena *arena, tc_trace *trace, const char *name) {
    trace->equalities = room_for_one(arena, trace->equalities, trace->equality_count, sizeof *trace->equalities);
    trace->equalities[trace->equality_count++] = name;
}

bool tc_trace_is_equality(const tc_trace *trace, size_t constraint) {
    for (size_t i = 0; i < trace->equality_count; i++)
        if (strcmp(trace->equalities[i], trace->constraints[constraint]) == 0)
            return true;
    return false;
}

static void note_outcome(tc_arena *arena, tc_trace *trace, const tc_record *record) {
    const char *who =
        record->seeded ? tc_arena_format(arena, "seed %llu", (unsigned long long)record->seed) : "the run";
    const char *how = record->outcome == TC_ENGINE_DIVERGED ? "diverged" : "was interrupted";
    const char *reason = record->reason != NULL ? tc_arena_format(arena, ": %s", record->reason) : "";
    tc_trace_note_add(
        arena, trace,
        tc_arena_format(arena, "%s %s after %llu rounds%s", who, how, (unsigned long long)record->rounds, reason));
}

static bool was_begun(const tc_record *record) {
    return record->outcome != TC_ENGINE_INTERRUPTED || record->rounds > 0 || record->row_count > 0;
}

/* One line for all interrupted runs. */
static void note_interrupt(tc_arena *arena, tc_trace *trace, const tc_record *records, size_t count) {
    size_t done = 0, stopped = 0, waiting = 0;
    for (size_t i = 0; i < count; i++) {
        bool interrupted = records[i].outcome == TC_ENGINE_INTERRUPTED, begun = was_begun(&records[i]);
        done += records[i].outcome == TC_ENGINE_DONE;
        stopped += interrupted && begun;
        waiting += interrupted && !begun;
    }
    if (stopped + waiting == 0)
        return;
    const char *rest = waiting > 0 ? tc_arena_format(arena, " and %zu were not begun", waiting) : "";
    tc_trace_note_add(arena, trace,
                      tc_arena_format(arena,
                                      "interrupted: of %zu runs %s%zu came to their end, %zu were stopped on the "
                                      "way%s",
                                      count, waiting > 0 ? "" : "that were begun ", done, stopped, rest));
}

void tc_trace_set_records(tc_arena *arena, tc_trace *trace, const tc_record *records, size_t count) {
    size_t noted = 0;
    trace->records = TC_NEW(arena, tc_record, count);
    trace->record_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (count == 1 || was_begun(&records[i]))
            trace->records[trace->record_count++] = records[i];
        if (records[i].outcome == TC_ENGINE_DONE || (count > 1 && records[i].outcome == TC_ENGINE_INTERRUPTED))
            continue;
        if (noted++ < NOTED_RUNS)
            note_outcome(arena, trace, &records[i]);
    }
    if (noted > NOTED_RUNS)
        tc_trace_note_add(arena, trace, tc_arena_format(arena, "and %zu more runs like these", noted - NOTED_RUNS));
    if (count > 1)
        note_interrupt(arena, trace, records, count);
}

void tc_trace_set_states(tc_arena *arena, tc_trace *trace, const tc_model *model) {
    tc_buffer name = tc_buffer_new(arena, 1 << 20);
    trace->states = TC_NEW(arena, const char *, model->state_count);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t i = 0; i < family->count * family->dim; i++) {
            name.length = 0;
            tc_coord_name(&name, model, tc_coord_of(family, i / family->dim, i % family->dim));
            trace->states[trace->state_count++] = tc_arena_copy(arena, tc_buffer_text(&name), name.length);
        }
    }
}

/* ---- from a plan or a sweep ---- */

enum { LONGEST_CARD = 1 << 20 };

static const char *number(tc_arena *arena, double value) {
    char text[32];
    tc_shortest_number(text, value);
    return tc_arena_copy(arena, text, strlen(text));
}

/* The price of the observer who pays most, with all digits. */
static void add_price(tc_arena *arena, tc_trace *trace, const tc_plan *plan, bool seeded) {
    tc_run_price price = tc_price_of_run(plan);
    if (!isfinite(price.epsilon))
        return;
    const char *delta = price.delta > 0 ? tc_arena_format(arena, ", delta %s", number(arena, price.delta)) : "";
    tc_trace_fact_add(
        arena, trace, plan->is_private && !seeded ? "costs" : "would cost",
        tc_arena_format(arena, "epsilon %s%s (%s)", number(arena, price.epsilon), delta, price.payer->who));
}

/* Method tacit has one calibration, and sets its steps itself. */
static void add_privacy_facts(tc_arena *arena, tc_trace *trace, const tc_plan *plan, bool seeded) {
    tc_trace_fact_add(arena, trace, "method", tc_method_name(plan->method));
    tc_trace_fact_add(arena, trace, "mechanism", tc_mechanism_name(plan->mechanism));
    if (plan->mechanism == TC_MECHANISM_NONE)
        return;
    const char *each = plan->calibration == TC_PUBLISHED ? " for each system" : " for all that anyone can see";
    if (trace->kind == TC_TRACE_RUN)
        tc_trace_fact_add(arena, trace, "epsilon", tc_arena_format(arena, "%.6g%s", plan->epsilon, each));
    if (plan->mechanism == TC_MECHANISM_GAUSSIAN)
        tc_trace_fact_add(arena, trace, "delta", number(arena, plan->delta));
    if (trace->kind == TC_TRACE_RUN)
        add_price(arena, trace, plan, seeded);
    tc_trace_fact_add(arena, trace, "hides", tc_promised(arena, plan).text);
    if (plan->method == TC_METHOD_PUBLISHED) {
        tc_trace_fact_add(arena, trace, "calibration", tc_calibration_name(plan->calibration));
        tc_trace_fact_add(arena, trace, "constants", plan->constants == TC_DECLARED ? "declared" : "certified");
    }
    tc_trace_fact_add(arena, trace, "noise on", tc_placement_name(plan->placement));
}

static void add_problem_facts(tc_arena *arena, tc_trace *trace, const tc_plan *plan) {
    const tc_model *model = plan->model;
    const tc_schedule *schedule = &model->schedule;
    tc_trace_fact_add(arena, trace, "problem",
                      tc_arena_format(arena, "%zu agent%s, %zu states, %zu constraint%s", model->agent_count,
                                      model->agent_count == 1 ? "" : "s", model->state_count, model->constraint_count,
                                      model->constraint_count == 1 ? "" : "s"));
    tc_trace_fact_add(arena, trace, "rounds", tc_arena_format(arena, "%.0f", plan->rounds));
    if (plan->method == TC_METHOD_TACIT) {
        tc_trace_fact_add(arena, trace, "answer", "averages over the rounds");
        return;
    }
    tc_trace_fact_add(
        arena, trace, "gamma",
        tc_arena_format(arena, "%s k^-%s", number(arena, schedule->step), number(arena, schedule->step_decay)));
    tc_trace_fact_add(arena, trace, "alpha",
                      tc_arena_format(arena, "%s k^-%s", number(arena, schedule->regularization),
                                      number(arena, schedule->regularization_decay)));
}

static void set_card(tc_arena *arena, tc_trace *trace, const tc_plan *plan, bool seeded) {
    tc_buffer text = tc_buffer_new(arena, LONGEST_CARD);
    tc_card_text(tc_card_make(arena, plan, seeded), &text);
    char *line = text.text;
    while (line != NULL && *line != '\0') {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        tc_trace_card_add(arena, trace, line);
        line = end != NULL ? end + 1 : NULL;
    }
}

static void set_sweep_card(tc_arena *arena, tc_trace *trace) {
    static const char *const lines[] = {
        "GUARANTEE: NOT PRIVATE",
        "--------------------------------------------------------------------------------",
        "NOT PRIVATE     simulated runs with noise from seeds: whoever knows a seed knows",
        "                the noise. What each epsilon would promise is what",
        "                `tacit plan --epsilon E` says.",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        tc_trace_card_add(arena, trace, lines[i]);
}

static const char *label_of(tc_arena *arena, const tc_plan *plan) {
    bool tacit = plan->method == TC_METHOD_TACIT;
    if (plan->mechanism == TC_MECHANISM_NONE)
        return tacit ? "without noise, tacit" : "without noise";
    return tc_arena_format(arena, "%s, %s", tc_mechanism_name(plan->mechanism),
                           tacit ? "tacit" : tc_calibration_name(plan->calibration));
}

tc_trace *tc_trace_new(tc_arena *arena, tc_trace_kind kind, const tc_plan *plan, bool seeded, const char *command) {
    const tc_model *model = plan->model;
    const char *slash = strrchr(model->source.path, '/');
    tc_trace *trace = TC_NEW(arena, tc_trace, 1);
    *trace = tc_trace_empty(kind);
    trace->problem = slash == NULL ? model->source.path : slash + 1;
    trace->command = command;
    trace->label = label_of(arena, plan);
    trace->constraints = TC_NEW(arena, const char *, model->constraint_count);
    trace->constraint_count = model->constraint_count;
    for (size_t j = 0; j < model->constraint_count; j++) {
        trace->constraints[j] = model->constraints[j].name;
        if (model->constraints[j].is_equality)
            tc_trace_equality_add(arena, trace, model->constraints[j].name);
    }
    add_privacy_facts(arena, trace, plan, seeded);
    add_problem_facts(arena, trace, plan);
    if (kind == TC_TRACE_RUN)
        set_card(arena, trace, plan, seeded);
    else
        set_sweep_card(arena, trace);
    return trace;
}

/* Of the line with the sweep's slope: the weights are those of the fit, (mean / its standard error)^2. */
static double intercept(const tc_sweep *sweep) {
    double above = 0, weights = 0;
    for (size_t i = 0; i < sweep->point_count; i++) {
        const tc_sweep_point *point = &sweep->points[i];
        double ratio = point->penalty / point->penalty_error, weight = isfinite(ratio) ? ratio * ratio : 0;
        if (!(point->penalty > 0) || weight == 0)
            continue;
        above += weight * (log10(point->penalty) - sweep->slope.slope * log10(point->epsilon));
        weights += weight;
    }
    return weights > 0 ? above / weights : NAN;
}

static tc_trace_point point_of(const tc_record *record, const tc_row *row, double epsilon) {
    return (tc_trace_point){.epsilon = epsilon,
                            .seeded = record->seeded,
                            .seed = record->seed,
                            .x_error = row->x_error,
                            .mu_error = row->mu_error,
                            .objective = row->objective,
                            .max_violation = row->max_violation,
                            .penalty = record->moved_x + record->moved_mu};
}

void tc_trace_set_sweep(tc_arena *arena, tc_trace *trace, const tc_sweep *sweep) {
    size_t count = sweep->point_count;
    size_t runs = 0;
    for (size_t e = 0; e < count; e++)
        runs += sweep->points[e].record_count;
    trace->points = TC_NEW(arena, tc_trace_point, runs + 1);
    for (size_t e = 0; e < count; e++) {
        for (size_t s = 0; s < sweep->points[e].record_count; s++) {
            const tc_record *record = &sweep->points[e].records[s];
            if (record->outcome == TC_ENGINE_DONE && record->row_count > 0)
                trace->points[trace->point_count++] =
                    point_of(record, &record->rows[record->row_count - 1], sweep->points[e].epsilon);
        }
    }
    trace->penalty = "mean over seeds of |z - z_free|^2 after the last round, z = (x, mu), where z_free is the run "
                     "without noise";
    trace->fit = (tc_trace_fit){sweep->slope.slope, sweep->slope.low, sweep->slope.high, intercept(sweep), NAN, NAN};
    if (count > 0) {
        trace->fit.from = sweep->points[0].epsilon;
        trace->fit.to = sweep->points[count - 1].epsilon;
        tc_trace_fact_add(arena, trace, "epsilon",
                          tc_arena_format(arena, "%zu, from %.4g to %.4g", count, trace->fit.from, trace->fit.to));
    }
    tc_trace_fact_add(arena, trace, "seeds", tc_arena_format(arena, "%zu for each epsilon", sweep->seeds));
    const tc_record *without = sweep->without_noise;
    if (without != NULL && without->row_count > 0) {
        trace->free_x_error = without->rows[without->row_count - 1].x_error;
        trace->free_mu_error = without->rows[without->row_count - 1].mu_error;
        trace->free_objective = without->rows[without->row_count - 1].objective;
        trace->free_max_violation = without->rows[without->row_count - 1].max_violation;
    }
    for (size_t i = 0; i < sweep->worth_count; i++)
        tc_trace_note_add(arena, trace, sweep->worth[i]);
    for (size_t i = 0; i < sweep->verdict_count; i++)
        tc_trace_note_add(arena, trace, sweep->verdict[i]);
}
