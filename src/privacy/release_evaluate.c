#include "privacy/release_evaluate.h"

static double **rows_of(tc_arena *arena, size_t rows, size_t lanes) {
    double **made = TC_NEW(arena, double *, rows);
    double *values = TC_NEW(arena, double, rows *lanes);
    for (size_t i = 0; i < rows; i++)
        made[i] = values + i * lanes;
    return made;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static size_t new_family(tc_arena *arena, const tc_model *model, const tc_family_derivatives *d,
                         const tc_family *family, tc_family_evaluator *made) {
    size_t work = 0;
    made->state = TC_NEW(arena, const double *, family->dim);
    made->data = TC_NEW(arena, const double *, family->column_count);
    made->state_rows = rows_of(arena, family->dim, TC_LANES);
    if (d->body_count > 0) {
        made->bodies = tc_tape_new(arena, model->dag, d->bodies, d->body_count);
        made->terms = rows_of(arena, d->body_count, TC_LANES);
        work = tc_tape_work(made->bodies);
    }
    if (d->body_first_count > 0) {
        tc_expr *roots = TC_NEW(arena, tc_expr, d->body_first_count);
        for (size_t i = 0; i < d->body_first_count; i++)
            roots[i] = d->body_first[i].value;
        made->slopes = tc_tape_new(arena, model->dag, roots, d->body_first_count);
        made->slope_rows = rows_of(arena, d->body_first_count, TC_LANES);
        work = larger(work, tc_tape_work(made->slopes));
    }
    return work;
}

tc_evaluator *tc_evaluator_new(tc_arena *arena, const tc_model *model, const tc_derivatives *d,
                               const tc_entries *entries) {
    tc_evaluator *made = TC_NEW(arena, tc_evaluator, 1);
    *made = (tc_evaluator){.model = model, .derivatives = d, .entries = entries};
    made->families = TC_NEW(arena, tc_family_evaluator, model->family_count);
    size_t work = 0;
    for (size_t f = 0; f < model->family_count; f++)
        work = larger(work, new_family(arena, model, &d->families[f], &model->families[f], &made->families[f]));
    size_t count = model->constraint_count + d->outer_first_count;
    tc_expr *roots = TC_NEW(arena, tc_expr, count);
    for (size_t j = 0; j < model->constraint_count; j++)
        roots[j] = model->constraints[j].outer;
    for (size_t i = 0; i < d->outer_first_count; i++)
        roots[model->constraint_count + i] = d->outer_first[i].value;
    made->outer = tc_tape_new(arena, model->dag, roots, count);
    made->outer_values = TC_NEW(arena, double, count);
    made->outer_out = TC_NEW(arena, double *, count);
    for (size_t i = 0; i < count; i++)
        made->outer_out[i] = made->outer_values + i;
    made->work = TC_NEW(arena, double, larger(work, tc_tape_work(made->outer)));
    return made;
}

static void run(tc_evaluator *evaluator, size_t family, size_t first, size_t lanes, const double *const *state,
                const tc_tape *tape, double *const *out) {
    tc_family_evaluator *of = &evaluator->families[family];
    const tc_family *about = &evaluator->model->families[family];
    for (size_t d = 0; d < about->column_count; d++)
        of->data[d] = about->columns[d].values + first;
    tc_inputs inputs = {.state = state, .data = of->data};
    tc_tape_eval(tape, &inputs, lanes, evaluator->work, out);
}

void tc_evaluate_terms(tc_evaluator *evaluator, size_t family, size_t first, size_t lanes, const double *const *state) {
    tc_family_evaluator *of = &evaluator->families[family];
    run(evaluator, family, first, lanes, state, of->bodies, of->terms);
}

void tc_evaluate_slopes(tc_evaluator *evaluator, size_t family, size_t first, size_t lanes,
                        const double *const *state) {
    tc_family_evaluator *of = &evaluator->families[family];
    run(evaluator, family, first, lanes, state, of->slopes, of->slope_rows);
}

void tc_evaluate_outer(tc_evaluator *evaluator, const double *sums, const double *coords) {
    tc_inputs inputs = {.coords = coords, .sums = sums};
    tc_tape_eval(evaluator->outer, &inputs, 1, evaluator->work, evaluator->outer_out);
}

void tc_evaluate_shared(const tc_evaluator *evaluator, size_t family, const tc_shared_entry *entry, size_t lanes,
                        double *out) {
    const double *outer = tc_outer_slopes(evaluator);
    const tc_entry_term *terms = evaluator->entries->families[family].terms + entry->first_term;
    for (size_t lane = 0; lane < lanes; lane++)
        out[lane] = 0;
    for (size_t i = 0; i < entry->term_count; i++) {
        const double *slope = evaluator->families[family].slope_rows[terms[i].first];
        double weight = outer[terms[i].outer];
        for (size_t lane = 0; lane < lanes; lane++)
            out[lane] += weight * slope[lane];
    }
}
