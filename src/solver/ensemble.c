#include "solver/ensemble.h"

#include "model/spread.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct tc_ensemble_family {
    tc_tape *values; /* bodies, then the objective */
    tc_tape *firsts; /* of the bodies, then of the objective */
    bool has_objective;
    size_t first_input, last_input; /* coordinates of this family among the outer inputs */
} tc_ensemble_family;

typedef struct ensemble_sizes {
    size_t work, outputs, states, columns;
} ensemble_sizes;

static void enlarge(size_t *size, size_t wanted) {
    if (wanted > *size)
        *size = wanted;
}

static tc_tape *new_tape(tc_arena *arena, const tc_dag *dag, const tc_expr *roots, size_t count, ensemble_sizes *need) {
    if (count == 0)
        return NULL;
    tc_tape *tape = tc_tape_new(arena, dag, roots, count);
    enlarge(&need->work, tc_tape_work(tape));
    enlarge(&need->outputs, count);
    return tape;
}

static void init_family(tc_arena *arena, tc_ensemble *ensemble, size_t f, ensemble_sizes *need) {
    const tc_family *family = &ensemble->model->families[f];
    const tc_family_derivatives *d = &ensemble->derivatives->families[f];
    tc_ensemble_family *own = &ensemble->families[f];
    own->has_objective = family->objective != TC_NO_EXPR;
    size_t most = d->body_first_count + d->objective_first_count + d->body_count + 1, count = d->body_count;
    tc_expr *roots = TC_NEW(arena, tc_expr, most);
    if (count != 0)
        memcpy(roots, d->bodies, count * sizeof *roots);
    if (own->has_objective)
        roots[count++] = family->objective;
    own->values = new_tape(arena, ensemble->model->dag, roots, count, need);
    count = 0;
    for (size_t i = 0; i < d->body_first_count; i++)
        roots[count++] = d->body_first[i].value;
    for (size_t i = 0; i < d->objective_first_count; i++)
        roots[count++] = d->objective_first[i].value;
    own->firsts = new_tape(arena, ensemble->model->dag, roots, count, need);
    enlarge(&need->states, family->dim);
    enlarge(&need->columns, family->column_count);
    size_t input = ensemble->model->sum_count, end = family->first_coord + family->count * family->dim;
    while (input < ensemble->derivatives->input_count &&
           ensemble->derivatives->inputs[input].index < family->first_coord)
        input++;
    own->first_input = input;
    while (input < ensemble->derivatives->input_count && ensemble->derivatives->inputs[input].index < end)
        input++;
    own->last_input = input;
}

static void init_fast(tc_arena *arena, tc_ensemble *ensemble, const ensemble_sizes *need) {
    ensemble->fast_work = TC_NEW(arena, double, need->work + 1);
    ensemble->fast_state_at = TC_NEW(arena, const double *, need->states);
    ensemble->fast_output_at = TC_NEW(arena, double *, need->outputs);
    double *outputs = TC_NEW(arena, double, need->outputs *TC_LANES);
    for (size_t r = 0; r < need->outputs; r++)
        ensemble->fast_output_at[r] = outputs + r * TC_LANES;
}

tc_ensemble *tc_ensemble_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, bool is_fast) {
    tc_ensemble *ensemble = TC_NEW(arena, tc_ensemble, 1);
    ensemble_sizes need = {0};
    ensemble->model = model;
    ensemble->derivatives = derivatives;
    ensemble->families = TC_NEW(arena, tc_ensemble_family, model->family_count);
    for (size_t f = 0; f < model->family_count; f++)
        init_family(arena, ensemble, f, &need);
    size_t m = model->constraint_count, entries = derivatives->outer_first_count;
    tc_expr *roots = TC_NEW(arena, tc_expr, m + entries);
    for (size_t j = 0; j < m; j++)
        roots[j] = model->constraints[j].outer;
    for (size_t e = 0; e < entries; e++)
        roots[m + e] = derivatives->outer_first[e].value;
    ensemble->outer_values = new_tape(arena, model->dag, roots, m, &need);
    ensemble->outer_firsts = new_tape(arena, model->dag, roots + m, entries, &need);
    ensemble->g = TC_NEW(arena, tc_real, m);
    ensemble->inputs = TC_NEW(arena, tc_real, derivatives->input_count);
    ensemble->prices = TC_NEW(arena, tc_real, derivatives->input_count);
    ensemble->carried = TC_NEW(arena, tc_real, model->sum_count + 1);
    if (derivatives->input_count > model->sum_count)
        ensemble->coords = TC_NEW(arena, tc_real, model->state_count);
    ensemble->work = TC_NEW(arena, tc_real, need.work);
    ensemble->states = TC_NEW(arena, tc_real, need.states * TC_LANES);
    ensemble->outputs = TC_NEW(arena, tc_real, need.outputs * TC_LANES);
    ensemble->state_at = TC_NEW(arena, const tc_real *, need.states);
    ensemble->data_at = TC_NEW(arena, const double *, need.columns);
    ensemble->output_at = TC_NEW(arena, tc_real *, need.outputs);
    for (size_t c = 0; c < need.states; c++)
        ensemble->state_at[c] = ensemble->states + c * TC_LANES;
    for (size_t r = 0; r < need.outputs; r++)
        ensemble->output_at[r] = ensemble->outputs + r * TC_LANES;
    if (is_fast)
        init_fast(arena, ensemble, &need);
    return ensemble;
}

/* In double, reading the states where they are. */
static void evaluate_fast(tc_ensemble *ensemble, const tc_tape *tape, const tc_family *family, size_t first,
                          size_t lanes, const double *x) {
    for (size_t c = 0; c < family->dim; c++)
        ensemble->fast_state_at[c] = x + tc_coord_of(family, first, c);
    tc_inputs inputs = {.state = ensemble->fast_state_at, .data = ensemble->data_at};
    tc_tape_eval(tape, &inputs, lanes, ensemble->fast_work, ensemble->fast_output_at);
    for (size_t r = 0; r < tc_tape_root_count(tape); r++)
        for (size_t lane = 0; lane < lanes; lane++)
            ensemble->output_at[r][lane] = ensemble->fast_output_at[r][lane];
}

static void evaluate(tc_ensemble *ensemble, const tc_tape *tape, const tc_family *family, size_t first, size_t lanes,
                     const double *x) {
    for (size_t d = 0; d < family->column_count; d++)
        ensemble->data_at[d] = family->columns[d].values + first;
    if (ensemble->fast_work != NULL) {
        evaluate_fast(ensemble, tape, family, first, lanes, x);
        return;
    }
    for (size_t c = 0; c < family->dim; c++)
        for (size_t lane = 0; lane < lanes; lane++)
            ensemble->states[c * TC_LANES + lane] = x[tc_coord_of(family, first + lane, c)];
    tc_long_inputs inputs = {.state = ensemble->state_at, .data = ensemble->data_at};
    tc_tape_eval_long(tape, &inputs, lanes, ensemble->work, ensemble->output_at);
}

static void evaluate_outer(tc_ensemble *ensemble, const tc_tape *tape) {
    tc_long_inputs inputs = {.coords = ensemble->coords, .sums = ensemble->inputs};
    tc_tape_eval_long(tape, &inputs, 1, ensemble->work, ensemble->output_at);
}

/* The sums so far, from rank to rank. */
static void carry(tc_ensemble *ensemble, const tc_family *family, void (*fold)(const tc_family *, void *, size_t)) {
    size_t sums = ensemble->model->sum_count;
    tc_real *all = ensemble->carried;
    memcpy(all, ensemble->inputs, sums * sizeof *all);
    all[sums] = ensemble->objective;
    fold(family, all, (sums + 1) * sizeof *all);
    memcpy(ensemble->inputs, all, sums * sizeof *all);
    ensemble->objective = all[sums];
}

bool tc_ensemble_values(tc_ensemble *ensemble, const double *x) {
    const tc_model *model = ensemble->model;
    const tc_derivatives *d = ensemble->derivatives;
    ensemble->objective = 0;
    memset(ensemble->inputs, 0, d->input_count * sizeof(tc_real));
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        const tc_ensemble_family *own = &ensemble->families[f];
        size_t bodies = d->families[f].body_count, end = own->values != NULL ? family->known_end : 0;
        if (family->is_spread)
            carry(ensemble, family, tc_fold_begin);
        for (size_t first = family->known_first; first < end; first += TC_LANES) {
            size_t lanes = end - first < TC_LANES ? end - first : TC_LANES;
            evaluate(ensemble, own->values, family, first, lanes, x);
            for (size_t b = 0; b < bodies; b++)
                for (size_t lane = 0; lane < lanes; lane++)
                    ensemble->inputs[d->families[f].sums[b]] += ensemble->output_at[b][lane];
            for (size_t lane = 0; own->has_objective && lane < lanes; lane++)
                ensemble->objective += ensemble->output_at[bodies][lane];
        }
        if (family->is_spread)
            carry(ensemble, family, tc_fold_end);
    }
    for (size_t r = model->sum_count; r < d->input_count; r++)
        ensemble->coords[d->inputs[r].index] = ensemble->inputs[r] = tc_coord_at(model, x, d->inputs[r].index);
    tc_real finite = ensemble->objective;
    if (ensemble->outer_values != NULL)
        evaluate_outer(ensemble, ensemble->outer_values);
    for (size_t j = 0; j < model->constraint_count; j++)
        finite += ensemble->g[j] = ensemble->output_at[j][0];
    return isfinite(finite);
}

void tc_ensemble_prices(tc_ensemble *ensemble, const double *mu) {
    const tc_derivatives *d = ensemble->derivatives;
    memset(ensemble->prices, 0, d->input_count * sizeof(tc_real));
    if (ensemble->outer_firsts == NULL)
        return;
    evaluate_outer(ensemble, ensemble->outer_firsts);
    for (size_t e = 0; e < d->outer_first_count; e++)
        ensemble->prices[d->outer_first[e].column] += ensemble->output_at[e][0] * (tc_real)mu[d->outer_first[e].row];
}

void tc_ensemble_gradient(tc_ensemble *ensemble, size_t f, size_t first, size_t lanes, const double *x,
                          bool with_objective, tc_real *out) {
    const tc_family *family = &ensemble->model->families[f];
    const tc_family_derivatives *d = &ensemble->derivatives->families[f];
    const tc_ensemble_family *own = &ensemble->families[f];
    memset(out, 0, family->dim * TC_LANES * sizeof *out);
    if (own->firsts != NULL)
        evaluate(ensemble, own->firsts, family, first, lanes, x);
    for (size_t i = 0; i < d->body_first_count; i++) {
        tc_real price = ensemble->prices[d->sums[d->body_first[i].row]];
        for (size_t lane = 0; lane < lanes; lane++)
            out[d->body_first[i].column * TC_LANES + lane] += price * ensemble->output_at[i][lane];
    }
    for (size_t i = 0; with_objective && i < d->objective_first_count; i++)
        for (size_t lane = 0; lane < lanes; lane++)
            out[d->objective_first[i].column * TC_LANES + lane] += ensemble->output_at[d->body_first_count + i][lane];
    for (size_t r = own->first_input; r < own->last_input; r++) {
        size_t offset = (size_t)ensemble->derivatives->inputs[r].index - family->first_coord;
        size_t member = offset % family->count;
        if (member >= first && member < first + lanes)
            out[offset / family->count * TC_LANES + member - first] += ensemble->prices[r];
    }
}

tc_real tc_ensemble_largest(const tc_ensemble *ensemble, size_t *worst) {
    tc_real most = -INFINITY;
    *worst = 0;
    for (size_t j = 0; j < ensemble->model->constraint_count; j++)
        if (!ensemble->model->constraints[j].is_equality && !(ensemble->g[j] <= most)) {
            most = ensemble->g[j];
            *worst = j;
        }
    return most;
}
