/* What a block releases: the entries of its members, or their states. */
#include "release/release_parts.h"

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
    const tc_block *block = worker->holds;
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
    tc_block *block = worker->holds;
    if (block == NULL || release->phase != TC_ROUND_SUMMED || !tc_release_is_marked(worker) ||
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
    return tc_release_publish_pieces(worker, block->pieces, block->piece_count, units, block->count, worker->out);
}

tc_status tc_release_states(tc_release_worker *worker, double *const *states) {
    tc_release *release = worker->release;
    tc_block *block = worker->holds;
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
    return tc_release_publish_pieces(worker, block->pieces, block->piece_count, worker->values->units, block->count,
                                     states);
}
