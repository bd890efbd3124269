/* A block's states in a worker's hands. They stay there: nobody else can read a worker. */
#include "release/release_parts.h"

/* NULL where there is no such block, or nothing is open. */
static tc_block *block_at(const tc_release *release, size_t family, size_t block) {
    if (release->phase == TC_ROUND_CLOSED || family >= release->model->family_count ||
        block >= (release->model->families[family].count + release->block - 1) / release->block)
        return NULL;
    return &release->blocks->blocks[release->blocks->families[family].first_block + block];
}

static bool keeps_integers(const tc_release *release) {
    return tc_noises_states(release->plan) && tc_release_has_noise(release);
}

/* h times the integers: exact. */
static void to_points(const tc_release *release, const int64_t *units, size_t count, double *restrict row) {
    double step = release->state_step;
    for (size_t k = 0; k < count; k++)
        row[k] = tc_lattice_double(units[k]) * step;
}

tc_status tc_release_take(tc_release_worker *worker, size_t family, size_t number, const double *const *x) {
    tc_release *release = worker->release;
    tc_block *block = block_at(release, family, number);
    worker->holds = NULL;
    if (block == NULL)
        return TC_BAD_USAGE;
    size_t dim = release->model->families[family].dim;
    worker->has_taken = true;
    for (size_t c = 0; c < dim; c++) {
        bool integers = keeps_integers(release);
        int64_t *units = worker->values->units + (integers ? c * block->count : 0);
        if (!tc_lattice_take(&release->boxes[family][c], release->states_per_unit, block->first, block->count, x[c],
                             units))
            return TC_BAD_USAGE;
        if (!integers)
            to_points(release, units, block->count, worker->rows[c]);
    }
    worker->holds = block;
    return TC_OK;
}

tc_status tc_release_take_stored(tc_release_worker *worker, size_t family, size_t number,
                                 const tc_private_states *states) {
    const tc_release *release = worker->release;
    tc_block *block = block_at(release, family, number);
    worker->holds = NULL;
    if (block == NULL || !tc_release_knows(release, states) || states->exponent != release->plan->state_exponent)
        return TC_BAD_USAGE;
    const tc_family *of = &release->model->families[family];
    worker->has_taken = true;
    for (size_t c = 0; c < of->dim; c++) {
        const int64_t *units = states->units + tc_coord_of(of, block->first, c);
        if (keeps_integers(release))
            memcpy(worker->values->units + c * block->count, units, block->count * sizeof *units);
        else
            to_points(release, units, block->count, worker->rows[c]);
    }
    worker->holds = block;
    return TC_OK;
}
