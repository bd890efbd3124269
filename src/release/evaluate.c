#include "release/evaluate.h"

#include "noise/secret.h"
#include "release/inside.h"

#include <string.h>

/* ---- members and outer functions --------------------------------------------------------------------------------- */

static double **rows_of(tc_arena *arena, size_t rows, double *values) {
    double **made = TC_NEW(arena, double *, rows);
    for (size_t i = 0; i < rows; i++)
        made[i] = values + i * TC_LANES;
    return made;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void compile_family(tc_arena *arena, const tc_model *model, const tc_family_derivatives *d,
                           tc_family_evaluator *made) {
    if (d->body_count > 0)
        made->bodies = tc_tape_new(arena, model->dag, d->bodies, d->body_count);
    if (d->body_first_count == 0)
        return;
    tc_expr *roots = TC_NEW(arena, tc_expr, d->body_first_count);
    for (size_t i = 0; i < d->body_first_count; i++)
        roots[i] = d->body_first[i].value;
    made->slopes = tc_tape_new(arena, model->dag, roots, d->body_first_count);
}

/* Families are evaluated one after another, so they share their scratch. */
static void make_scratch(tc_arena *arena, tc_evaluator *made) {
    const tc_model *model = made->model;
    size_t dim = 0, columns = 0, bodies = 0, slopes = 0, work = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_evaluator *of = &made->families[f];
        dim = larger(dim, model->families[f].dim);
        columns = larger(columns, model->families[f].column_count);
        bodies = larger(bodies, made->derivatives->families[f].body_count);
        slopes = larger(slopes, made->derivatives->families[f].body_first_count);
        work = larger(work, of->bodies == NULL ? 0 : tc_tape_work(of->bodies));
        work = larger(work, of->slopes == NULL ? 0 : tc_tape_work(of->slopes));
    }
    const double **state = TC_NEW(arena, const double *, dim), **data = TC_NEW(arena, const double *, columns);
    made->work_count = work;
    made->term_count = bodies * TC_LANES;
    made->slope_count = slopes * TC_LANES;
    made->terms = TC_NEW(arena, double, made->term_count);
    made->slopes = TC_NEW(arena, double, made->slope_count);
    made->has_members = made->has_outer = false;
    double **terms = rows_of(arena, bodies, made->terms), **slope_rows = rows_of(arena, slopes, made->slopes);
    for (size_t f = 0; f < model->family_count; f++) {
        made->families[f].state = state;
        made->families[f].data = data;
        made->families[f].terms = terms;
        made->families[f].slope_rows = slope_rows;
    }
    made->work = TC_NEW(arena, double, work);
    made->outer_work = TC_NEW(arena, double, tc_program_work(made->outer_program));
    tc_program_prepare(made->outer_program, made->outer_work);
    made->outer_values = TC_NEW(arena, double, tc_tape_root_count(made->outer));
}

tc_evaluator *tc_evaluator_new(tc_arena *arena, const tc_model *model, const tc_derivatives *d,
                               const tc_entries *entries) {
    tc_evaluator *made = TC_NEW(arena, tc_evaluator, 1);
    *made = (tc_evaluator){.model = model, .derivatives = d, .entries = entries};
    made->families = TC_NEW(arena, tc_family_evaluator, model->family_count);
    for (size_t f = 0; f < model->family_count; f++)
        compile_family(arena, model, &d->families[f], &made->families[f]);
    size_t count = model->constraint_count + d->outer_first_count;
    tc_expr *roots = TC_NEW(arena, tc_expr, count);
    for (size_t j = 0; j < model->constraint_count; j++)
        roots[j] = model->constraints[j].outer;
    for (size_t i = 0; i < d->outer_first_count; i++)
        roots[model->constraint_count + i] = d->outer_first[i].value;
    made->outer = tc_tape_new(arena, model->dag, roots, count);
    made->outer_program = tc_program_new(arena, model, roots, count);
    make_scratch(arena, made);
    return made;
}

tc_evaluator *tc_evaluator_share(tc_arena *arena, const tc_evaluator *evaluator) {
    tc_evaluator *made = TC_NEW(arena, tc_evaluator, 1);
    *made = *evaluator;
    made->families = tc_arena_grow(arena, evaluator->families, made->model->family_count, made->model->family_count,
                                   sizeof *made->families);
    make_scratch(arena, made);
    return made;
}

static void evaluate_tape(tc_evaluator *evaluator, size_t family, size_t first, size_t lanes,
                          const double *const *state, const tc_tape *tape, double *const *out) {
    tc_family_evaluator *of = &evaluator->families[family];
    const tc_family *about = &evaluator->model->families[family];
    for (size_t d = 0; d < about->column_count; d++)
        of->data[d] = about->columns[d].values + first;
    tc_inputs inputs = {.state = state, .data = of->data};
    evaluator->has_members = true;
    tc_tape_eval(tape, &inputs, lanes, evaluator->work, out);
}

void tc_evaluate_terms(tc_evaluator *evaluator, size_t family, size_t first, size_t lanes, const double *const *state) {
    tc_family_evaluator *of = &evaluator->families[family];
    evaluate_tape(evaluator, family, first, lanes, state, of->bodies, of->terms);
}

void tc_evaluate_slopes(tc_evaluator *evaluator, size_t family, size_t first, size_t lanes,
                        const double *const *state) {
    tc_family_evaluator *of = &evaluator->families[family];
    evaluate_tape(evaluator, family, first, lanes, state, of->slopes, of->slope_rows);
}

void tc_evaluate_outer(tc_evaluator *evaluator, const double *sums, const double *coords) {
    evaluator->has_outer = true;
    tc_program_eval(evaluator->outer_program, coords, sums, evaluator->outer_work, evaluator->outer_values);
}

void tc_program_wipe(const tc_program *program, double *work) {
    size_t first, count;
    tc_program_constants(program, &first, &count);
    tc_secret_wipe(work, first * sizeof *work);
    tc_secret_wipe(work + first + count, (tc_program_work(program) - first - count) * sizeof *work);
}

void tc_evaluator_wipe(tc_evaluator *evaluator) {
    if (evaluator->has_members) {
        tc_secret_wipe(evaluator->work, evaluator->work_count * sizeof *evaluator->work);
        tc_secret_wipe(evaluator->terms, evaluator->term_count * sizeof *evaluator->terms);
        tc_secret_wipe(evaluator->slopes, evaluator->slope_count * sizeof *evaluator->slopes);
    }
    if (evaluator->has_outer) {
        tc_program_wipe(evaluator->outer_program, evaluator->outer_work);
        tc_secret_wipe(evaluator->outer_values, tc_tape_root_count(evaluator->outer) * sizeof *evaluator->outer_values);
    }
    evaluator->has_members = evaluator->has_outer = false;
}

void tc_evaluate_shared_at(const tc_evaluator *evaluator, const double *outer, size_t family,
                           const tc_shared_entry *entry, size_t lanes, double *out) {
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

/* ---- g and its Jacobian at public points: constants by structure, and released states ---------------------------- */

/* The single parts of a family's entries: all of them, or those that are constant by structure. */
static void write_singles(const tc_release *release, size_t f, bool varying, double *jacobian) {
    const tc_family_entries *entries = &release->entries->families[f];
    const double *outer = tc_outer_slopes(release->evaluator);
    for (size_t i = 0; i < entries->single_count; i++) {
        const tc_single_entry *s = &entries->singles[i];
        if (s->varies && !varying)
            continue;
        if (s->shared == UINT32_MAX)
            jacobian[entries->first_single + i] = outer[s->outer];
        else
            jacobian[entries->first + s->shared * release->model->families[f].count + s->member] += outer[s->outer];
    }
}

/* All entries, or those that are constant by structure. */
static void write_jacobian(tc_release *release, const double *x, bool varying, double *jacobian) {
    const tc_model *model = release->model;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_entries *entries = &release->entries->families[f];
        const tc_family *family = &model->families[f];
        tc_family_evaluator *of = &release->evaluator->families[f];
        for (size_t k = family->known_first; k < family->known_end; k += TC_LANES) {
            size_t lanes = family->known_end - k < TC_LANES ? family->known_end - k : TC_LANES;
            for (size_t c = 0; c < family->dim; c++)
                of->state[c] = x + tc_coord_of(family, k, c);
            if (of->slopes != NULL)
                tc_evaluate_slopes(release->evaluator, f, k, lanes, of->state);
            for (size_t e = 0; e < entries->shared_count; e++)
                if (varying || !entries->shared[e].varies)
                    tc_evaluate_shared(release->evaluator, f, &entries->shared[e], lanes,
                                       jacobian + entries->first + e * family->count + k);
        }
        write_singles(release, f, varying, jacobian);
    }
}

void tc_release_constants(tc_arena *arena, tc_release *release, double *jacobian) {
    /* A constant by structure does not depend on x. In the published calibration each round overwrites it with its
     * noisy value, unless the agent has no channel because its whole block is constant. */
    double *anywhere = TC_NEW(arena, double, release->model->state_count);
    memset(release->sum_values, 0, release->model->sum_count * sizeof *release->sum_values);
    tc_evaluate_outer(release->evaluator, release->sum_values, anywhere);
    write_jacobian(release, anywhere, false, jacobian);
}

/* Where the plan has lattices for sums, terms are rounded to them, as in a release. */
static double term_of(const tc_release *release, size_t sum, double value) {
    if (release->sum_lattices == NULL)
        return value;
    const tc_sum_lattice *lattice = &release->sum_lattices[sum];
    return (double)tc_lattice_round(value, lattice->per_unit) * lattice->step;
}

/* Member by member in a block, then block by block: always the same order. */
static void add_block(tc_release *release, const tc_release_block *block, const double *x) {
    const tc_family_derivatives *d = &release->derivatives->families[block->family];
    const tc_family *family = &release->model->families[block->family];
    tc_family_evaluator *of = &release->evaluator->families[block->family];
    memset(release->block_sums, 0, d->body_count * sizeof *release->block_sums);
    for (size_t k = block->first; k < block->first + block->count; k += TC_LANES) {
        size_t rest = block->first + block->count - k, lanes = rest < TC_LANES ? rest : TC_LANES;
        for (size_t c = 0; c < family->dim; c++)
            of->state[c] = x + tc_coord_of(family, k, c);
        tc_evaluate_terms(release->evaluator, block->family, k, lanes, of->state);
        for (size_t b = 0; b < d->body_count; b++)
            for (size_t lane = 0; lane < lanes; lane++)
                release->block_sums[b] += term_of(release, d->sums[b], of->terms[b][lane]);
    }
    for (size_t b = 0; b < d->body_count; b++)
        release->sum_values[d->sums[b]] += release->block_sums[b];
}

static void add_sums(tc_release *release, const double *x) {
    memset(release->sum_values, 0, release->model->sum_count * sizeof *release->sum_values);
    for (size_t i = 0; i < release->blocks->block_count; i++)
        if (release->derivatives->families[release->blocks->blocks[i].family].body_count > 0)
            add_block(release, &release->blocks->blocks[i], x);
}

void tc_released_evaluate(tc_release *release, const double *x, tc_released *released) {
    add_sums(release, x);
    tc_evaluate_outer(release->evaluator, release->sum_values, x);
    memcpy(released->constraints, release->evaluator->outer_values,
           release->model->constraint_count * sizeof *released->constraints);
    write_jacobian(release, x, true, released->jacobian);
}
