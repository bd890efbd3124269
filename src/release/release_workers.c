/* Workers: what one thread needs for its blocks. */
#include "release/release_parts.h"
#include "release/release_whole.h"
#include "noise/secret.h"

static double **rows_of(tc_arena *arena, size_t rows, size_t length) {
    double **made = TC_NEW(arena, double *, rows);
    double *numbers = TC_NEW(arena, double, rows *length);
    for (size_t i = 0; i < rows; i++)
        made[i] = numbers + i * length;
    return made;
}

static size_t most_dim(const tc_model *model) {
    size_t most = 0;
    for (size_t f = 0; f < model->family_count; f++)
        most = model->families[f].dim > most ? model->families[f].dim : most;
    return most;
}

/* Members of the largest block. */
static size_t most_members(const tc_release *release) {
    size_t most = 0;
    for (size_t i = 0; i < release->blocks->block_count; i++)
        most = release->blocks->blocks[i].count > most ? release->blocks->blocks[i].count : most;
    return most;
}

static size_t noise_room(size_t members) { return members > TC_NOISE_ROOM ? members : TC_NOISE_ROOM; }

static tc_status make_worker(tc_arena *arena, tc_release *release, tc_release_worker *made) {
    size_t rows = release->blocks->most_rows, members = most_members(release);
    *made = (tc_release_worker){.release = release,
                                .members = members,
                                .evaluator = tc_evaluator_share(arena, release->evaluator),
                                .rows = rows_of(arena, most_dim(release->model), members),
                                .entries = rows_of(arena, rows, members),
                                .values = TC_NEW(arena, tc_private_values, 1),
                                .sums = TC_NEW(arena, int64_t, release->model->sum_count),
                                .noise = TC_NEW(arena, int64_t, noise_room(members)),
                                .scales = TC_NEW(arena, tc_noise_scale, noise_room(members)),
                                .out = TC_NEW(arena, double *, rows)};
    made->values->count = (rows > 0 ? rows : 1) * members;
    made->values->units = TC_NEW(arena, int64_t, made->values->count);
    return tc_random_worker_new(arena, release->random, &made->random);
}

static void wipe_worker(tc_release_worker *worker) {
    const tc_release *release = worker->release;
    size_t members = worker->members;
    worker->holds = NULL;
    tc_secret_wipe(worker->noise, worker->drawn * sizeof *worker->noise);
    if (worker->has_taken) {
        tc_secret_wipe(worker->rows[0], most_dim(release->model) * members * sizeof *worker->rows[0]);
        tc_secret_wipe(worker->values->units, worker->values->count * sizeof *worker->values->units);
        if (release->blocks->most_rows > 0)
            tc_secret_wipe(worker->entries[0], release->blocks->most_rows * members * sizeof *worker->entries[0]);
    }
    if (worker->has_sums)
        tc_secret_wipe(worker->sums, release->model->sum_count * sizeof *worker->sums);
    tc_evaluator_wipe(worker->evaluator);
    worker->drawn = 0;
    worker->has_taken = worker->has_sums = false;
}

/* What blocks have left outside of workers: the coordinates that constraints name, and a mark of their states. */
static void wipe_blocks(tc_release *release) {
    for (size_t i = 0; i < release->blocks->block_count; i++) {
        tc_block *block = &release->blocks->blocks[i];
        block->mark = 0;
        for (size_t k = 0; k < block->named_count; k++)
            tc_secret_wipe(&release->coords[block->named[k].coord], sizeof *release->coords);
    }
    if (release->plain_sums != NULL)
        tc_secret_wipe(release->plain_sums, release->blocks->plain_count * sizeof *release->plain_sums);
}

void tc_release_wipe(tc_release *release) {
    bool summed = false;
    for (size_t w = 0; w < release->worker_count; w++) {
        summed = summed || (release->workers[w].has_taken && release->workers[w].has_sums);
        wipe_worker(&release->workers[w]);
    }
    if (summed)
        wipe_blocks(release);
    if (release->has_sums)
        tc_secret_wipe(release->sum_values, release->model->sum_count * sizeof *release->sum_values);
    release->has_sums = false;
    if (release->whole != NULL)
        tc_whole_wipe(release);
    if (release->has_outer)
        tc_secret_wipe(release->outer_units->units, release->outer_units->count * sizeof *release->outer_units->units);
    release->has_outer = false;
}

static void wipe_all(void *what) {
    tc_release *release = what;
    tc_secret_wipe(release->noise, (size_t)release->plan->entry_count * sizeof *release->noise);
    tc_release_wipe(release);
}

tc_status tc_release_make_workers(tc_arena *arena, tc_release *release, size_t count) {
    tc_release_worker *workers = TC_NEW(arena, tc_release_worker, count);
    tc_status status = TC_OK;
    for (size_t w = 0; w < release->worker_count; w++)
        workers[w] = release->workers[w];
    for (size_t w = release->worker_count; w < count && status == TC_OK; w++)
        status = make_worker(arena, release, &workers[w]);
    if (status != TC_OK)
        return status;
    bool first = release->worker_count == 0;
    release->workers = workers;
    release->worker_count = count;
    if (first)
        tc_arena_on_free(arena, wipe_all, release);
    return TC_OK;
}

tc_status tc_release_hire(tc_arena *arena, tc_release *release, size_t workers) {
    if (release->phase != TC_ROUND_CLOSED || (release->ahead != NULL && workers > release->worker_count))
        return TC_BAD_USAGE;
    return workers <= release->worker_count ? TC_OK : tc_release_make_workers(arena, release, workers);
}

tc_release_worker *tc_release_worker_at(tc_release *release, size_t worker) { return &release->workers[worker]; }

void tc_release_worker_fetches(tc_release_worker *worker, tc_fetch *fetch) {
    tc_random_worker_fetches(worker->random, fetch);
}
