#include "lab/one.h"

#include "lab/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void tc_record_init(tc_arena *arena, const tc_experiment *experiment, bool keep_states, tc_record *record) {
    size_t m = experiment->model->constraint_count, rows = experiment->grid_count + 1; /* one for where it stopped */
    double *numbers = TC_NEW(arena, double, 2 * m * rows + 1);
    *record = (tc_record){.outcome = TC_ENGINE_INTERRUPTED,
                          .rows = TC_NEW(arena, tc_row, rows),
                          .x = keep_states ? TC_NEW(arena, double, experiment->model->state_count) : NULL,
                          .mu = TC_NEW(arena, double, m + 1),
                          .bounds = TC_NEW(arena, double, m + 1),
                          .moved_x = NAN,
                          .moved_mu = NAN};
    record->reason_room = TC_NEW(arena, char, TC_REASON_SIZE);
    for (size_t i = 0; i < rows; i++) {
        record->rows[i].constraints = numbers + 2 * m * i;
        record->rows[i].multipliers = numbers + 2 * m * i + m;
    }
}

static void add_row(const tc_one *one, const tc_engine *engine, tc_measure *measure) {
    tc_record *record = one->record;
    tc_row *row = &record->rows[record->row_count++];
    row->k = tc_engine_rounds(engine);
    tc_measure_row(measure, tc_engine_result_states(engine), tc_engine_result_multipliers(engine), row);
    if (one->tells_rows && one->experiment->on_row != NULL)
        one->experiment->on_row(one->experiment->context, record, row);
}

/* Long enough not to be felt, short enough for progress and Ctrl-C: some thirtieth of a second. */
static uint64_t chunk_for(uint64_t chunk, double seconds) {
    if (seconds < 0.015)
        return chunk < UINT64_C(1) << 40 ? 2 * chunk : chunk;
    return seconds > 0.06 && chunk > 1 ? chunk / 2 : chunk;
}

/* On to round `target`, and how long that took. */
static tc_status advance(const tc_one *one, tc_engine *engine, uint64_t target, double *seconds) {
    uint64_t before = tc_engine_rounds(engine);
    double began = tc_lab_seconds();
    tc_status status = tc_engine_advance(engine, target, one->monitor, &one->record->outcome);
    *seconds = tc_lab_seconds() - began;
    one->record->seconds += *seconds;
    one->record->rounds = tc_engine_rounds(engine);
    tc_pace_add(one->pace, one->record->rounds - before);
    if (one->reports)
        tc_pace_report(one->pace);
    return status;
}

static tc_status go(const tc_one *one, tc_engine *engine, tc_measure *measure) {
    const uint64_t rounds = one->experiment->rounds, *next = one->experiment->grid;
    const uint64_t *const grid_end = next + one->experiment->grid_count;
    tc_record *record = one->record;
    uint64_t chunk = 1;
    record->outcome = TC_ENGINE_DONE;
    for (;;) {
        uint64_t done = record->rounds;
        if (next < grid_end && *next == done) {
            add_row(one, engine, measure);
            next++;
        }
        if (done >= rounds || record->outcome != TC_ENGINE_DONE)
            return TC_OK;
        if (tc_interrupted(one->monitor)) { /* the engine asks seldom where rounds are short */
            record->outcome = TC_ENGINE_INTERRUPTED;
            return TC_OK;
        }
        double seconds = 0;
        uint64_t target = rounds - done > chunk ? done + chunk : rounds;
        if (next < grid_end && *next < target)
            target = *next;
        tc_status status = advance(one, engine, target, &seconds);
        if (status != TC_OK)
            return status;
        if (target == done + chunk || seconds > 0.06)
            chunk = chunk_for(chunk, seconds);
    }
}

/* A copy: the record outlives the engine. */
static void keep_feasibility(const tc_feasibility *found, size_t m, tc_record *record) {
    if (found == NULL)
        return;
    record->feasibility = *found;
    record->feasibility.bounds = record->bounds;
    memcpy(record->bounds, found->bounds, m * sizeof *found->bounds);
}

static void conclude(const tc_one *one, const tc_engine *engine, tc_measure *measure) {
    const tc_experiment *experiment = one->experiment;
    const tc_model *model = experiment->model;
    tc_record *record = one->record;
    const double *x = tc_engine_result_states(engine), *mu = tc_engine_result_multipliers(engine);
    const tc_row *last = tc_record_last(record);
    if (last == NULL || last->k != record->rounds)
        add_row(one, engine, measure);
    if (record->x != NULL)
        memcpy(record->x, x, model->state_count * sizeof *x);
    if (model->constraint_count > 0)
        memcpy(record->mu, mu, model->constraint_count * sizeof *mu);
    if (model->constraint_count > 0)
        keep_feasibility(tc_engine_feasibility(engine), model->constraint_count, record);
    if (experiment->origin_x != NULL) {
        record->moved_x = tc_squared_distance(x, experiment->origin_x, model->state_count);
        record->moved_mu = tc_squared_distance(mu, experiment->origin_mu, model->constraint_count);
    }
}

/* The reason outlives the engine. */
static void keep_reason(tc_record *record, const char *reason) {
    record->reason = reason == NULL ? NULL : record->reason_room;
    if (reason != NULL)
        (void)snprintf(record->reason_room, TC_REASON_SIZE, "%s", reason);
}

tc_status tc_one_run(tc_arena *arena, tc_one *one, const char **why) {
    const tc_experiment *experiment = one->experiment;
    tc_engine_settings settings = {
        .dual_radius = experiment->dual_radius, .team = one->team, .facts = experiment->method};
    tc_engine *engine = NULL;
    tc_status status = tc_engine_new(arena, experiment->plan, experiment->model, experiment->derivatives, one->random,
                                     &settings, &engine, why);
    if (status != TC_OK)
        return status;
    tc_measure *measure = tc_measure_new(arena, experiment->model, experiment->reference);
    status = go(one, engine, measure);
    if (status == TC_BAD_USAGE)
        *why = tc_arena_format(arena, "the plan is for %.0f rounds, and does not reach round %.0f",
                               experiment->plan->rounds, (double)experiment->rounds);
    if (status != TC_OK)
        return status;
    conclude(one, engine, measure);
    keep_reason(one->record,
                one->record->outcome == TC_ENGINE_INTERRUPTED ? "stopped on request" : tc_engine_reason(engine));
    return TC_OK;
}
