/* The driver for small ensembles: whole arrays, one thread, nothing per family that is not needed. */
#include "engine/engine_parts.h"

struct tc_small {
    tc_flat *flat;  /* placement OUTPUTS */
    size_t *crowds; /* families of more than one member, increasing */
    size_t crowd_count;
    bool has_singles;
    const double **x_rows; /* of the crowds, one after another */
    double **next_rows;
    const double **p_rows;
};

tc_small *tc_small_new(tc_engine *engine) {
    const tc_model *model = engine->model;
    tc_small *made = TC_NEW(engine->arena, tc_small, 1);
    size_t rows = 0;
    if (engine->cloud != NULL && engine->response == NULL)
        made->flat = tc_flat_new(engine->arena, model, engine->released->layout);
    made->crowds = TC_NEW(engine->arena, size_t, model->family_count);
    for (size_t f = 0; f < model->family_count; f++) {
        rows = model->families[f].dim > rows ? model->families[f].dim : rows;
        if (model->families[f].count > 1)
            made->crowds[made->crowd_count++] = f;
    }
    made->has_singles = made->crowd_count < model->family_count;
    made->x_rows = TC_NEW(engine->arena, const double *, rows);
    made->next_rows = TC_NEW(engine->arena, double *, rows);
    made->p_rows = TC_NEW(engine->arena, const double *, rows);
    return made;
}

static size_t step_crowd(tc_engine *engine, size_t f) {
    const tc_small *small = engine->small;
    tc_answer_scalars scalars = engine->scalars;
    const tc_family *family = &engine->model->families[f];
    for (size_t c = 0; c < family->dim; c++) {
        small->x_rows[c] = engine->x + tc_coord_of(family, 0, c);
        small->next_rows[c] = engine->next_x + tc_coord_of(family, 0, c);
        small->p_rows[c] = engine->p + tc_coord_of(family, 0, c);
    }
    if (engine->method != NULL && engine->method->proximal != NULL)
        return tc_proximal_next(engine->method->proximal, 0, f, 0, family->count, small->p_rows, scalars, small->x_rows,
                                small->next_rows);
    return tc_agents_next(engine->agents, 0, f, 0, family->count, small->p_rows, scalars, small->x_rows,
                          small->next_rows);
}

static size_t step_singles(tc_engine *engine) {
    const double *p = engine->p;
    tc_answer_scalars scalars = engine->scalars;
    if (engine->method != NULL && engine->method->proximal != NULL)
        return tc_proximal_next_singles(engine->method->proximal, 0, p, scalars, engine->x, engine->next_x);
    return tc_agents_next_singles(engine->agents, 0, p, scalars, engine->x, engine->next_x);
}

/* The first failure, in the order of the families, is the one that is reported. */
static void step_agents(tc_engine *engine, tc_failure *failure) {
    const tc_small *small = engine->small;
    size_t alone = TC_ALL_FINITE, member = TC_ALL_FINITE;
    if (engine->agents == NULL)
        return;
    if (small->has_singles)
        alone = step_singles(engine);
    for (size_t i = 0; member == TC_ALL_FINITE && i < small->crowd_count && small->crowds[i] < alone; i++) {
        member = step_crowd(engine, small->crowds[i]);
        if (member != TC_ALL_FINITE)
            *failure = (tc_failure){.what = TC_FAILED_STATE, .family = small->crowds[i], .member = member};
    }
    if (member == TC_ALL_FINITE && alone != TC_ALL_FINITE)
        *failure = (tc_failure){.what = TC_FAILED_STATE, .family = alone};
}

static tc_status release(tc_engine *engine, uint64_t k) {
    if (engine->agents != NULL && tc_states_take(engine->states, engine->x) == TC_STATE_REFUSED)
        return TC_INTERNAL; /* states are finite after every round */
    return tc_release_round(engine->release, k, engine->states, engine->released);
}

tc_status tc_small_round(tc_engine *engine, uint64_t k, tc_failure *failure) {
    tc_status status = release(engine, k);
    if (status != TC_OK)
        return status;
    if (engine->response != NULL)
        tc_response_whole(engine->response, engine->released, engine->mu, engine->p);
    else
        tc_flat_answer(engine->small->flat, engine->released, engine->mu, engine->p);
    size_t row = tc_cloud_step(engine->cloud, engine->released, engine->scalars, engine->mu, engine->next_mu);
    if (row != TC_ALL_FINITE)
        *failure = (tc_failure){.what = TC_FAILED_CONSTRAINT, .row = row};
    else
        step_agents(engine, failure);
    return TC_OK;
}

tc_status tc_small_method_round(tc_engine *engine, uint64_t k, tc_failure *failure) {
    tc_method_run *run = engine->method;
    tc_status status = release(engine, k);
    if (status != TC_OK)
        return status;
    tc_method_open(engine, k);
    if (run->takes_states)
        tc_estimator_take_whole(run->gauge, engine->released->states);
    const tc_measurement *gauged = tc_method_close(engine);
    if (k == 1) {
        tc_controller_first_tariff(run->pilot, gauged);
        tc_estimator_price(run->gauge);
        tc_estimator_answer_whole(run->gauge, NULL);
        run->columns = tc_estimator_columns(run->gauge);
    }
    if (!tc_method_turn(engine, gauged, failure))
        return TC_OK;
    tc_estimator_answer_whole(run->gauge, engine->p);
    run->columns = tc_estimator_columns(run->gauge);
    step_agents(engine, failure);
    if (engine->agents != NULL)
        tc_method_average(engine, 0, engine->model->state_count);
    return TC_OK;
}
