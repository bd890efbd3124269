/* The driver for small ensembles: whole arrays, one thread, nothing per family that is not needed. */
#include "engine/inside.h"

struct tc_small {
    size_t *crowds; /* families of more than one member, increasing */
    size_t crowd_count;
    bool has_singles;
    const double **x_rows; /* of one crowd */
    double **next_rows;
    const double **p_rows;
};

tc_small *tc_small_new(tc_engine *engine) {
    const tc_model *model = engine->model;
    tc_small *made = TC_NEW(engine->arena, tc_small, 1);
    size_t rows = 0;
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
    const tc_family *family = &engine->model->families[f];
    for (size_t c = 0; c < family->dim; c++) {
        small->x_rows[c] = engine->x + tc_coord_of(family, 0, c);
        small->next_rows[c] = engine->next_x + tc_coord_of(family, 0, c);
        small->p_rows[c] = engine->p + tc_coord_of(family, 0, c);
    }
    return engine->method->step(engine->of_method, 0, f, 0, family->count, small->p_rows, engine->scalars,
                                small->x_rows, small->next_rows);
}

/* The first failure, in the order of the families, is the one that is reported. */
static void step_agents(tc_engine *engine, tc_not_finite *failure) {
    const tc_small *small = engine->small;
    size_t alone = TC_ALL_FINITE, member = TC_ALL_FINITE;
    if (small->has_singles)
        alone = engine->method->step_singles(engine->of_method, engine->p, engine->scalars, engine->x, engine->next_x);
    for (size_t i = 0; member == TC_ALL_FINITE && i < small->crowd_count && small->crowds[i] < alone; i++) {
        member = step_crowd(engine, small->crowds[i]);
        if (member != TC_ALL_FINITE)
            *failure = (tc_not_finite){.what = TC_STATE_NOT_FINITE, .family = small->crowds[i], .member = member};
    }
    if (member == TC_ALL_FINITE && alone != TC_ALL_FINITE)
        *failure = (tc_not_finite){.what = TC_STATE_NOT_FINITE, .family = alone};
}

static tc_status release(tc_engine *engine, uint64_t k) {
    if (engine->agents != NULL && tc_states_take(engine->states, engine->x) == TC_STATE_REFUSED)
        return TC_INTERNAL; /* states are finite after every round */
    return tc_release_round(engine->release, k, engine->states, engine->released);
}

tc_status tc_small_round(tc_engine *engine, uint64_t k, tc_not_finite *failure) {
    const tc_method_table *method = engine->method;
    void *self = engine->of_method;
    tc_status status = release(engine, k);
    if (status != TC_OK)
        return status;
    method->open(self, k, &engine->scalars);
    if (method->measure_whole != NULL)
        method->measure_whole(self);
    if (method->gather != NULL && method->gather(self))
        method->answer_whole(self, NULL);
    size_t row = method->decide(self, engine->mu, engine->next_mu, &engine->scalars);
    if (row != TC_ALL_FINITE) {
        *failure = (tc_not_finite){.what = TC_CONSTRAINT_NOT_FINITE, .row = row};
        return TC_OK;
    }
    method->answer_whole(self, engine->p);
    if (engine->agents == NULL)
        return TC_OK;
    step_agents(engine, failure);
    if (method->average != NULL)
        method->average(self, engine->x, 0, engine->model->state_count);
    return TC_OK;
}
