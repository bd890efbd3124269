#include "release/release.h"

#include "base/machine.h"
#include "base/ranks/ranks.h"
#include "noise/secret.h"
#include "release/inside.h"

/* ---- workers: what one thread needs for its blocks --------------------------------------------------------------- */

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

/* Wipes what blocks keep outside of workers: the coordinates that constraints name, and a mark of their states. */
static void wipe_blocks(tc_release *release) {
    for (size_t i = 0; i < release->blocks->block_count; i++) {
        tc_release_block *block = &release->blocks->blocks[i];
        block->mark = 0;
        for (size_t k = 0; k < block->named_count; k++)
            tc_secret_wipe(&release->coords[block->named[k].coord], sizeof *release->coords);
    }
    if (release->plain_sums != NULL)
        tc_secret_wipe(release->plain_sums, release->blocks->plain_count * sizeof *release->plain_sums);
}

static void wipe_round(tc_release *release) {
    bool summed = false;
    for (size_t w = 0; w < release->worker_count; w++) {
        summed = summed || (release->workers[w].has_taken && release->workers[w].has_sums);
        wipe_worker(&release->workers[w]);
    }
    if (summed)
        wipe_blocks(release);
    if (release->has_sums && release->shared != NULL)
        tc_secret_wipe(release->shared, release->shared_count * sizeof *release->shared);
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
    wipe_round(release);
}

static tc_status make_workers(tc_arena *arena, tc_release *release, size_t count) {
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
    return workers <= release->worker_count ? TC_OK : make_workers(arena, release, workers);
}

tc_release_worker *tc_release_worker_at(tc_release *release, size_t worker) { return &release->workers[worker]; }

void tc_release_worker_fetches(tc_release_worker *worker, tc_fetch *fetch) {
    tc_random_worker_fetches(worker->random, fetch);
}

/* ---- made once, and round by round ------------------------------------------------------------------------------- */

/* Finds the families whose Jacobian gets noise on every entry. Channels of one family must agree. */
static const char *list_every_entry(tc_arena *arena, const tc_plan *plan, bool *every) {
    bool *seen = TC_NEW(arena, bool, plan->model->family_count);
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        if (channel->kind != TC_CHANNEL_JACOBIAN)
            continue;
        if (seen[channel->family] && every[channel->family] != channel->every_entry)
            return "channels of one family disagree on which entries get noise";
        seen[channel->family] = true;
        every[channel->family] = channel->every_entry;
    }
    return NULL;
}

static const char *list_segments(tc_arena *arena, tc_release *release) {
    const tc_plan *plan = release->plan;
    size_t count = 0, total = 0;
    for (size_t i = 0; i < plan->channel_count; i++) {
        if (tc_channel_entries(release->entries, &plan->channels[i], NULL, &count) != plan->channels[i].entries)
            return tc_arena_format(arena, "the plan miscounts the entries of %s", plan->channels[i].name);
        total += count;
    }
    release->segments = TC_NEW(arena, tc_segment, total);
    for (size_t i = 0; i < plan->channel_count; i++) {
        (void)tc_channel_entries(release->entries, &plan->channels[i], release->segments + release->segment_count,
                                 &count);
        release->segment_count += count;
    }
    return NULL;
}

static void list_channels(tc_arena *arena, tc_release *release) {
    const tc_plan *plan = release->plan;
    release->channels = TC_NEW(arena, tc_release_channel, plan->channel_count);
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        release->channels[i] = (tc_release_channel){
            .about = channel, .step = ldexp(1, channel->step_exponent), .per_unit = ldexp(1, -channel->step_exponent)};
    }
    if (!tc_release_has_noise(release) || tc_noises_states(plan))
        return;
    release->sum_lattices = TC_NEW(arena, tc_sum_lattice, release->model->sum_count);
    for (size_t r = 0; r < release->model->sum_count; r++)
        release->sum_lattices[r] =
            (tc_sum_lattice){.step = ldexp(1, plan->sum_exponents[r]), .per_unit = ldexp(1, -plan->sum_exponents[r])};
}

/* For placement STATES; tc_release_check_range does it for OUTPUTS. */
static void note_small_states(tc_release *release) {
    const tc_plan *plan = release->plan;
    for (size_t i = 0; tc_noises_states(plan) && i < plan->channel_count; i++) {
        size_t family = plan->channels[i].family;
        release->channels[i].is_small = true;
        for (size_t c = 0; c < release->model->families[family].dim; c++)
            release->channels[i].is_small = release->channels[i].is_small && release->boxes[family][c].is_small;
    }
}

/* The published scheme may leave out agents whose whole block is constant. */
static bool leaves_out(const tc_release *release) {
    uint64_t covered = 0, all = 0;
    if (tc_noises_states(release->plan) || !tc_release_has_noise(release))
        return false;
    for (size_t i = 0; i < release->segment_count; i++)
        covered += release->segments[i].target == TC_TARGET_JACOBIAN ? release->segments[i].count : 0;
    for (size_t f = 0; f < release->model->family_count; f++) {
        const tc_family_entries *entries = &release->entries->families[f];
        for (size_t e = 0; e < entries->shared_count; e++)
            all += entries->shared[e].noised ? release->model->families[f].count : 0;
        for (size_t i = 0; i < entries->single_count; i++)
            all += entries->singles[i].noised;
    }
    return covered < all;
}

static void make_room(tc_arena *arena, tc_release *release) {
    const tc_model *model = release->model;
    double *constants = NULL;
    release->sum_values = TC_NEW(arena, double, model->sum_count);
    release->block_sums = TC_NEW(arena, double, model->sum_count);
    release->coords = TC_NEW(arena, double, model->state_count);
    if (leaves_out(release)) {
        constants = TC_NEW(arena, double, release->entries->position_count);
        tc_release_constants(arena, release, constants);
    }
    release->blocks = tc_block_plan_new(arena, release->plan, release->derivatives, release->entries, release->segments,
                                        release->segment_count, release->block, constants);
    release->noise = TC_NEW(arena, int64_t, (size_t)release->plan->entry_count);
    size_t outer = release->blocks->outer_count;
    release->outer_units = TC_NEW(arena, tc_private_values, 1);
    *release->outer_units = (tc_private_values){TC_NEW(arena, int64_t, outer), outer};
    release->outer_out = TC_NEW(arena, double, outer);
    size_t rows = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        size_t shared = release->entries->families[f].shared_count;
        rows = shared > rows ? shared : rows;
        rows = model->families[f].dim > rows ? model->families[f].dim : rows;
    }
    release->targets = TC_NEW(arena, double *, rows);
    release->whole = tc_whole_new(arena, release);
    if (!tc_release_has_noise(release))
        release->plain_sums = TC_NEW(arena, double, release->blocks->plain_count);
    release->shared_count = release->plain_sums != NULL ? release->blocks->plain_count : model->sum_count;
    for (size_t i = 0; i < release->blocks->block_count; i++)
        release->shared_count += release->blocks->blocks[i].named_count;
    if (tc_ranks_several())
        release->shared = TC_NEW(arena, uint64_t, release->shared_count);
}

static const char *prepare_to_release(tc_arena *arena, tc_release *release) {
    const tc_plan *plan = release->plan;
    bool *every = TC_NEW(arena, bool, release->model->family_count);
    const char *wrong = list_every_entry(arena, plan, every);
    if (wrong != NULL)
        return wrong;
    release->boxes = tc_lattice_boxes(arena, release->model, plan->state_exponent);
    if (release->boxes == NULL)
        return "the public box of some agent has no point on the plan's lattice, or too many";
    release->caps = tc_caps_of_plan(arena, release->model, plan);
    release->entries = tc_entries_new(arena, release->model, release->derivatives, every);
    release->evaluator = tc_evaluator_new(arena, release->model, release->derivatives, release->entries);
    list_channels(arena, release);
    note_small_states(release);
    if ((wrong = list_segments(arena, release)) != NULL || (wrong = tc_release_check_cover(arena, release)) != NULL ||
        (wrong = tc_release_check_range(arena, release)) != NULL)
        return wrong;
    if (!tc_release_plan_noise(arena, release))
        return "a scale is out of the sampler's range";
    make_room(arena, release);
    return NULL;
}

tc_status tc_release_new(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                         tc_random *random, const tc_release_settings *settings, tc_release **release,
                         const char **why) {
    tc_release_settings usual = {0};
    settings = settings == NULL ? &usual : settings;
    *release = NULL;
    *why = tc_arithmetic_fault();
    if (*why != NULL)
        return TC_BAD_ARITHMETIC;
    *why = tc_release_check_plan(arena, plan, model, derivatives);
    if (*why != NULL)
        return TC_BAD_USAGE;
    tc_release *made = TC_NEW(arena, tc_release, 1);
    *made = (tc_release){.plan = plan,
                         .model = model,
                         .derivatives = derivatives,
                         .random = random,
                         .block = settings->block == 0 ? TC_RELEASE_BLOCK : settings->block,
                         .state_step = ldexp(1, plan->state_exponent),
                         .states_per_unit = ldexp(1, -plan->state_exponent),
                         .next_round = settings->first_round == 0 ? 1 : settings->first_round};
    *why = prepare_to_release(arena, made);
    if (*why != NULL)
        return TC_BAD_USAGE;
    if (!tc_random_claim(random)) {
        *why = "the random source serves another release already: their noise would be the same";
        return TC_BAD_USAGE;
    }
    tc_status status = make_workers(arena, made, 1);
    if (status == TC_OK)
        *release = made;
    return status;
}

bool tc_release_is_private(const tc_release *release) {
    return release->plan->is_private && tc_release_has_noise(release) && tc_random_is_private(release->random);
}

uint64_t tc_release_next_round(const tc_release *release) { return release->next_round; }

tc_released *tc_released_new(tc_arena *arena, tc_release *release) {
    const tc_model *model = release->model;
    tc_released *made = TC_NEW(arena, tc_released, 1);
    *made = (tc_released){.is_private = tc_release_is_private(release),
                          .layout = release->entries,
                          .constraints = TC_NEW(arena, double, model->constraint_count),
                          .jacobian = TC_NEW(arena, double, release->entries->position_count)};
    if (tc_noises_states(release->plan)) {
        made->states = TC_NEW(arena, double, model->state_count);
        for (size_t i = 0; i < model->state_count; i++)
            made->states[i] = NAN;
    }
    tc_release_constants(arena, release, made->jacobian);
    return made;
}

/* Always asks the random source, also for noise drawn before: it refuses a forked child. */
static tc_status open_keys(tc_release *release, uint64_t round) {
    if (release->phase != TC_ROUND_CLOSED || round != release->next_round || (double)round > release->plan->rounds)
        return TC_BAD_USAGE;
    if (release->ahead != NULL)
        return tc_random_is_usable(release->random) ? tc_ahead_check(release, round) : TC_NO_RANDOM;
    return tc_random_open_round(release->random, round);
}

static void wipe_noise(tc_release *release) {
    tc_secret_wipe(release->noise, (size_t)release->plan->entry_count * sizeof *release->noise);
    release->prepared = 0;
}

tc_status tc_release_prepare(tc_release *release, uint64_t round) {
    tc_status status = open_keys(release, round);
    if (status != TC_OK || release->prepared == round || release->ahead != NULL)
        return status;
    status = tc_release_draw(release, release->noise);
    if (status == TC_OK)
        release->prepared = round;
    else
        wipe_noise(release);
    return status;
}

tc_status tc_release_open(tc_release *release, uint64_t round) {
    tc_status status = open_keys(release, round);
    if (status == TC_OK && release->ahead != NULL)
        status = tc_ahead_take(release, round);
    if (status != TC_OK)
        return status;
    release->next_round++; /* before anything is written, so that no round is released twice */
    release->round = round;
    release->phase = TC_ROUND_OPEN;
    atomic_store_explicit(&release->summed_blocks, 0, memory_order_relaxed); /* no worker has the round yet */
    /* tc_release_close has wiped them already. A remainder would be released with this round, so they are set to zero
     * again. */
    for (size_t w = 0; w < release->worker_count; w++)
        for (size_t r = 0; r < release->model->sum_count; r++)
            release->workers[w].sums[r] = 0;
    return TC_OK;
}

void tc_release_close(tc_release *release) {
    if (release->phase == TC_ROUND_CLOSED)
        return;
    release->phase = TC_ROUND_CLOSED;
    if (release->prepared != 0)
        wipe_noise(release);
    if (release->ahead != NULL)
        tc_ahead_give_back(release, release->round);
    wipe_round(release);
}

/* Mechanism none: a simulation, marked as not private. */
static void release_plainly(tc_release *release, const tc_private_states *states, tc_released *released) {
    for (size_t i = 0; i < release->model->state_count; i++)
        release->coords[i] = (double)states->units[i] * states->step;
    tc_released_evaluate(release, release->coords, released);
    for (size_t i = 0; released->states != NULL && i < release->model->state_count; i++)
        released->states[i] = release->coords[i];
}

static double *const *rows_at(tc_release *release, double *first, size_t rows, size_t stride) {
    for (size_t i = 0; i < rows; i++)
        release->targets[i] = first + i * stride;
    return release->targets;
}

tc_status tc_release_block_sums(tc_release *release, const tc_release_block *block, const tc_private_states *states) {
    tc_release_worker *worker = &release->workers[0];
    tc_status status = tc_release_take_stored(worker, block->family, block->first / release->block, states);
    return status == TC_OK ? tc_release_sum(worker) : status;
}

tc_status tc_release_block_rows(tc_release *release, const tc_release_block *block, const tc_private_states *states,
                                tc_released *released) {
    tc_release_worker *worker = &release->workers[0];
    const tc_family *family = &release->model->families[block->family];
    const tc_family_entries *entries = &release->entries->families[block->family];
    tc_status status = tc_release_take_stored(worker, block->family, block->first / release->block, states);
    if (status != TC_OK)
        return status;
    if (released->states != NULL)
        return tc_release_states(worker, rows_at(release, released->states + tc_coord_of(family, block->first, 0),
                                                 family->dim, family->count));
    return tc_release_entries(worker, rows_at(release, released->jacobian + entries->first + block->first,
                                              entries->shared_count, family->count));
}

static tc_status release_blocks(tc_release *release, const tc_private_states *states, tc_released *released) {
    const tc_block_plan *plan = release->blocks;
    tc_status status = TC_OK;
    bool outputs = released->states == NULL;
    for (size_t i = 0; outputs && status == TC_OK && i < plan->block_count; i++)
        status = tc_release_block_sums(release, &plan->blocks[i], states);
    if (outputs && status == TC_OK)
        status = tc_release_close_sums(release, released);
    for (size_t i = 0; status == TC_OK && i < plan->block_count; i++)
        status = tc_release_block_rows(release, &plan->blocks[i], states, released);
    return status;
}

tc_status tc_release_round(tc_release *release, uint64_t round, const tc_private_states *states,
                           tc_released *released) {
    if (!tc_release_knows(release, states) || states->exponent != release->plan->state_exponent ||
        released->layout != release->entries)
        return TC_BAD_USAGE;
    bool at_once = release->whole != NULL || release->plan->is_last;
    tc_status status = at_once ? tc_release_prepare(release, round) : TC_OK;
    if (status == TC_OK)
        status = tc_release_open(release, round);
    if (status != TC_OK)
        return status;
    if (release->whole != NULL)
        status = tc_whole_release(release, states, released);
    else if (tc_release_has_noise(release))
        status = release_blocks(release, states, released);
    else
        release_plainly(release, states, released);
    tc_release_close(release);
    released->round = round;
    return status;
}
