#include "engine/engine_parts.h"

#include <string.h>

tc_method_run *tc_method_run_new(tc_engine *engine, const tc_derivatives *derivatives,
                                 const tc_engine_settings *settings) {
    const tc_model *model = engine->model;
    tc_method_run *made = TC_NEW(engine->arena, tc_method_run, 1);
    *made = (tc_method_run){.takes_states = engine->plan->placement == TC_PLACEMENT_STATES,
                            .answer = TC_NEW(engine->arena, double, model->constraint_count)};
    made->gauge = tc_estimator_new(engine->arena, engine->plan, model, derivatives, engine->released, engine->workers);
    made->pilot = tc_controller_new(engine->arena, settings->method, engine->plan, model, derivatives, made->gauge,
                                    settings->without);
    if (engine->agents == NULL)
        return made;
    made->average = TC_NEW(engine->arena, double, model->state_count);
    made->next_average = TC_NEW(engine->arena, double, model->state_count);
    if ((settings->without & TC_WITHOUT_PROXIMAL) == 0)
        made->proximal = tc_proximal_new(engine->arena, engine->agents, derivatives);
    return made;
}

void tc_method_open(tc_engine *engine, uint64_t k) {
    tc_method_run *run = engine->method;
    tc_estimator_open(run->gauge, tc_controller_open(run->pilot, k));
    run->gain = tc_controller_average_gain(run->pilot);
}

const tc_measurement *tc_method_close(tc_engine *engine) {
    tc_method_run *run = engine->method;
    if (!run->takes_states)
        tc_estimator_take_forms(run->gauge, engine->released->constraints);
    return tc_estimator_close(run->gauge);
}

bool tc_method_turn(tc_engine *engine, const tc_measurement *gauged, tc_failure *failure) {
    tc_method_run *run = engine->method;
    size_t row = tc_controller_step(run->pilot, gauged, run->columns, &engine->scalars);
    if (row != TC_ALL_FINITE) {
        *failure = (tc_failure){.what = TC_FAILED_CONSTRAINT, .row = row};
        return false;
    }
    memcpy(engine->next_mu, tc_controller_multipliers(run->pilot), engine->model->constraint_count * sizeof(double));
    tc_estimator_price(run->gauge);
    return true;
}

void tc_method_average(const tc_engine *engine, size_t first, size_t count) {
    const tc_method_run *run = engine->method;
    const double *restrict x = engine->x + first, *restrict average = run->average + first;
    double *restrict next = run->next_average + first;
    double gain = run->gain;
    for (size_t i = 0; i < count; i++)
        next[i] = average[i] + gain * (x[i] - average[i]);
}

void tc_method_settle(tc_engine *engine) {
    tc_method_run *run = engine->method;
    double *kept = run->average;
    run->average = run->next_average;
    run->next_average = kept;
    memcpy(run->answer, tc_controller_result(run->pilot), engine->model->constraint_count * sizeof(double));
}
