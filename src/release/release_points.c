/* g and its Jacobian at points that anybody may know: constants by structure, and released states. */
#include "release/release_parts.h"

#include <string.h>

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
        for (size_t k = 0; k < family->count; k += TC_LANES) {
            size_t lanes = family->count - k < TC_LANES ? family->count - k : TC_LANES;
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
    /* A constant by structure does not look at x. Where such an entry gets noise (published calibration), each round
     * overwrites it; where the plan leaves an agent whose whole block is constant without a channel, it stays. */
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
static void add_block(tc_release *release, const tc_block *block, const double *x) {
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
