/* Sums over members, and the numbers made from complete sums: g, and entries of single coordinates. */
#include "base/ranks/ranks.h"
#include "release/inside.h"

#include <string.h>

/* ---- sums, and what is known once all of them are ---------------------------------------------------------------- */

/* A mark of the states of a block. A change of any one number changes the mark. Of no use where the block has no
 * entries to release. */
static uint64_t mark_of(const tc_release_worker *worker) {
    const tc_release_block *block = worker->holds;
    uint64_t mark = 0, weight = 1;
    if (worker->release->blocks->families[block->family].noised_count == 0)
        return 0;
    for (size_t c = 0; c < worker->release->model->families[block->family].dim; c++)
        for (size_t k = 0; k < block->count; k++, weight += 2) {
            uint64_t bits;
            memcpy(&bits, &worker->rows[c][k], sizeof bits);
            mark += bits * weight;
        }
    return mark;
}

/* Whether a worker holds the states that its block was summed with. */
static bool is_marked(const tc_release_worker *worker) { return mark_of(worker) == worker->holds->mark; }

static int64_t integer_sum(const tc_sum_lattice *lattice, const double *terms, size_t lanes) {
    uint64_t sum = 0; /* never beyond 2^62: check.c */
    if (lattice->is_small)
        return tc_lattice_rows_here()->sum(lattice->per_unit, lanes, terms);
    for (size_t lane = 0; lane < lanes; lane++)
        sum += (uint64_t)tc_lattice_round(terms[lane], lattice->per_unit);
    return (int64_t)sum;
}

/* Terms to integers, integers to the worker's own sums. */
static void add_terms(tc_release_worker *worker) {
    const tc_release *release = worker->release;
    const tc_release_block *block = worker->holds;
    const tc_family_derivatives *d = &release->derivatives->families[block->family];
    tc_family_evaluator *of = &worker->evaluator->families[block->family];
    double *plain = release->plain_sums == NULL ? NULL : release->plain_sums + block->plain;
    for (size_t b = 0; plain != NULL && b < d->body_count; b++)
        plain[b] = 0;
    for (size_t k = 0; d->body_count > 0 && k < block->count; k += TC_LANES) {
        size_t lanes = block->count - k < TC_LANES ? block->count - k : TC_LANES;
        for (size_t c = 0; c < release->model->families[block->family].dim; c++)
            of->state[c] = worker->rows[c] + k;
        tc_evaluate_terms(worker->evaluator, block->family, block->first + k, lanes, of->state);
        for (size_t b = 0; b < d->body_count; b++)
            if (plain == NULL)
                worker->sums[d->sums[b]] += integer_sum(&release->sum_lattices[d->sums[b]], of->terms[b], lanes);
            else
                for (size_t lane = 0; lane < lanes; lane++)
                    plain[b] += of->terms[b][lane];
    }
}

tc_status tc_release_sum(tc_release_worker *worker) {
    tc_release *release = worker->release;
    tc_release_block *block = worker->holds;
    if (block == NULL || release->phase != TC_ROUND_OPEN || tc_noises_states(release->plan) ||
        atomic_exchange(&block->summed, release->round) == release->round)
        return TC_BAD_USAGE;
    for (size_t i = 0; i < block->named_count; i++)
        release->coords[block->named[i].coord] = worker->rows[block->named[i].component][block->named[i].offset];
    worker->has_sums = true;
    add_terms(worker);
    block->mark = mark_of(worker);
    (void)atomic_fetch_add(&release->summed_blocks, 1);
    return TC_OK;
}

static bool is_held(const tc_release *release, const tc_release_block *block) {
    return tc_holds(&release->model->families[block->family], block->first);
}

/* This rank's part of what all ranks need, at *next. Doubles of one holder are shared as their bits. */
static uint64_t *put_block(const tc_release *release, const tc_release_block *block, uint64_t *next) {
    size_t sums = release->plain_sums == NULL ? 0 : release->derivatives->families[block->family].body_count;
    if (!is_held(release, block)) {
        memset(next, 0, (sums + block->named_count) * sizeof *next);
        return next + sums + block->named_count;
    }
    for (size_t b = 0; b < sums; b++)
        memcpy(next++, &release->plain_sums[block->plain + b], sizeof *next);
    for (size_t i = 0; i < block->named_count; i++)
        memcpy(next++, &release->coords[block->named[i].coord], sizeof *next);
    return next;
}

static const uint64_t *take_block(tc_release *release, const tc_release_block *block, const uint64_t *next) {
    size_t sums = release->plain_sums == NULL ? 0 : release->derivatives->families[block->family].body_count;
    for (size_t b = 0; b < sums; b++)
        memcpy(&release->plain_sums[block->plain + b], next++, sizeof *next);
    for (size_t i = 0; i < block->named_count; i++)
        memcpy(&release->coords[block->named[i].coord], next++, sizeof *next);
    return next;
}

/* Every rank gets the sums of all members' terms, and the coordinates that constraints name. */
static void share_sums(tc_release *release) {
    size_t sums = release->plain_sums == NULL ? release->model->sum_count : 0;
    uint64_t *put = release->shared;
    for (size_t r = 0; r < sums; r++, put++) {
        *put = 0;
        for (size_t w = 0; w < release->worker_count; w++)
            *put += (uint64_t)release->workers[w].sums[r];
    }
    for (size_t i = 0; i < release->blocks->block_count; i++)
        put = put_block(release, &release->blocks->blocks[i], put);
    tc_ranks_sum(release->shared, release->shared_count);
    const uint64_t *take = release->shared + sums;
    for (size_t i = 0; i < release->blocks->block_count; i++)
        take = take_block(release, &release->blocks->blocks[i], take);
}

/* Adds all workers' sums as integers, in any order. Without noise: block by block. */
static void add_up(tc_release *release) {
    const tc_model *model = release->model;
    if (release->shared != NULL)
        share_sums(release);
    if (release->plain_sums != NULL) {
        memset(release->sum_values, 0, model->sum_count * sizeof *release->sum_values);
        for (size_t i = 0; i < release->blocks->block_count; i++) {
            const tc_release_block *block = &release->blocks->blocks[i];
            const tc_family_derivatives *d = &release->derivatives->families[block->family];
            for (size_t b = 0; b < d->body_count; b++)
                release->sum_values[d->sums[b]] += release->plain_sums[block->plain + b];
        }
        return;
    }
    for (size_t r = 0; r < model->sum_count; r++) {
        uint64_t sum = release->shared != NULL ? release->shared[r] : 0;
        for (size_t w = 0; release->shared == NULL && w < release->worker_count; w++)
            sum += (uint64_t)release->workers[w].sums[r];
        release->sum_values[r] = (double)(int64_t)sum * release->sum_lattices[r].step;
    }
}

void tc_release_evaluate_outer(tc_release *release) {
    release->phase = TC_ROUND_SUMMED;
    release->has_sums = true;
    add_up(release);
    tc_evaluate_outer(release->workers[0].evaluator, release->sum_values, release->coords);
}

static void scatter(const tc_release *release, const double *values, tc_released *released) {
    for (size_t i = 0; i < release->blocks->outer_count; i++) {
        const tc_outer_entry *entry = &release->blocks->outer[i];
        (entry->is_constraint ? released->constraints : released->jacobian)[entry->position] = values[i];
    }
}

/* Mechanism none releases everything, also entries without a channel. */
static void release_plainly(const tc_release *release, tc_released *released) {
    const tc_evaluator *evaluator = release->workers[0].evaluator;
    memcpy(released->constraints, evaluator->outer_values,
           release->model->constraint_count * sizeof *released->constraints);
    for (size_t f = 0; f < release->model->family_count; f++) {
        const tc_family_entries *entries = &release->entries->families[f];
        for (size_t i = 0; i < entries->single_count; i++)
            if (entries->singles[i].shared == UINT32_MAX)
                released->jacobian[entries->first_single + i] = tc_outer_slopes(evaluator)[entries->singles[i].outer];
    }
}

static tc_status release_outer(tc_release *release, tc_released *released) {
    const tc_block_plan *plan = release->blocks;
    const double *values = release->workers[0].evaluator->outer_values;
    int64_t *units = release->outer_units->units;
    release->has_outer = true;
    for (size_t i = 0; i < plan->outer_piece_count; i++) {
        const tc_piece *piece = &plan->outer_pieces[i];
        const tc_release_channel *channel = &release->channels[piece->channel];
        for (size_t k = piece->offset; k < piece->offset + piece->count; k++)
            units[k] = tc_lattice_units(channel->is_small, values[plan->outer[k].source], channel->per_unit);
    }
    tc_status status = tc_release_pieces(&release->workers[0], plan->outer_pieces, plan->outer_piece_count, units, 0,
                                         &release->outer_out);
    if (status == TC_OK)
        scatter(release, release->outer_out, released);
    return status;
}

tc_status tc_release_close_sums(tc_release *release, tc_released *released) {
    if (release->phase != TC_ROUND_OPEN || tc_noises_states(release->plan) || released->layout != release->entries ||
        atomic_load(&release->summed_blocks) != release->blocks->held_count)
        return TC_BAD_USAGE;
    tc_release_evaluate_outer(release);
    released->round = release->round;
    if (tc_release_has_noise(release))
        return release_outer(release, released);
    release_plainly(release, released);
    return TC_OK;
}

/* ---- what a block releases: the entries of its members, or their states ------------------------------------------ */

static const double *outer_slopes(const tc_release *release) {
    return tc_outer_slopes(release->workers[0].evaluator); /* where tc_release_close_sums left them */
}

/* Row r of the block's entries at members k .. k + lanes - 1, before rounding. */
static void evaluate_row(const tc_release_worker *worker, size_t row, size_t lanes, double *values) {
    const tc_release *release = worker->release;
    size_t family = worker->holds->family;
    const tc_shared_entry *shared =
        &release->entries->families[family].shared[release->blocks->families[family].noised[row]];
    tc_evaluate_shared_at(worker->evaluator, outer_slopes(release), family, shared, lanes, values);
}

/* All rows of the block's entries, single parts folded in: values[row][k]. */
static void evaluate_rows(tc_release_worker *worker, double *const *values) {
    const tc_release *release = worker->release;
    const tc_release_block *block = worker->holds;
    tc_family_evaluator *of = &worker->evaluator->families[block->family];
    size_t rows = release->blocks->families[block->family].noised_count;
    for (size_t k = 0; k < block->count; k += TC_LANES) {
        size_t lanes = block->count - k < TC_LANES ? block->count - k : TC_LANES;
        for (size_t c = 0; c < release->model->families[block->family].dim; c++)
            of->state[c] = worker->rows[c] + k;
        if (of->slopes != NULL)
            tc_evaluate_slopes(worker->evaluator, block->family, block->first + k, lanes, of->state);
        for (size_t row = 0; row < rows; row++)
            evaluate_row(worker, row, lanes, values[row] + k);
    }
    for (size_t i = 0; i < block->fold_count; i++)
        values[block->folds[i].row][block->folds[i].offset] += outer_slopes(release)[block->folds[i].outer];
}

static void round_row(const tc_release_channel *channel, const double *values, size_t count, int64_t *units) {
    if (channel->is_small)
        for (size_t k = 0; k < count; k++)
            units[k] = tc_lattice_round_small(values[k], channel->per_unit);
    else
        for (size_t k = 0; k < count; k++)
            units[k] = tc_lattice_round(values[k], channel->per_unit);
}

tc_status tc_release_entries(tc_release_worker *worker, double *const *jacobian) {
    tc_release *release = worker->release;
    tc_release_block *block = worker->holds;
    if (block == NULL || release->phase != TC_ROUND_SUMMED || !is_marked(worker) ||
        atomic_exchange(&block->released, release->round) == release->round)
        return TC_BAD_USAGE;
    const tc_block_family *family = &release->blocks->families[block->family];
    for (size_t row = 0; row < family->noised_count; row++)
        worker->out[row] = jacobian[family->noised[row]];
    if (!tc_release_has_noise(release)) {
        evaluate_rows(worker, worker->out);
        return TC_OK;
    }
    evaluate_rows(worker, worker->entries);
    int64_t *units = worker->values->units;
    for (size_t i = 0; i < block->piece_count; i++) {
        const tc_piece *piece = &block->pieces[i];
        round_row(&release->channels[piece->channel], worker->entries[piece->row] + piece->offset, piece->count,
                  units + piece->row * block->count + piece->offset);
    }
    for (size_t i = 0; i < block->left_out_count; i++)
        worker->out[block->left_out[i].row][block->left_out[i].offset] = block->left_out[i].value;
    return tc_release_pieces(worker, block->pieces, block->piece_count, units, block->count, worker->out);
}

tc_status tc_release_states(tc_release_worker *worker, double *const *states) {
    tc_release *release = worker->release;
    tc_release_block *block = worker->holds;
    if (block == NULL || !tc_noises_states(release->plan) || release->phase != TC_ROUND_OPEN ||
        atomic_exchange(&block->released, release->round) == release->round)
        return TC_BAD_USAGE;
    size_t dim = release->model->families[block->family].dim, covered = 0;
    if (!tc_release_has_noise(release)) {
        for (size_t c = 0; c < dim; c++)
            memcpy(states[c], worker->rows[c], block->count * sizeof *states[c]);
        return TC_OK;
    }
    for (size_t i = 0; i < block->piece_count; i++)
        covered += block->pieces[i].count;
    for (size_t c = 0; covered < dim * block->count && c < dim; c++)
        for (size_t k = 0; k < block->count; k++)
            states[c][k] = NAN;
    return tc_release_pieces(worker, block->pieces, block->piece_count, worker->values->units, block->count, states);
}
