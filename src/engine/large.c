/* The driver for large ensembles: blocks of members are handed to a team, and everything of a block happens while it is
 * in the cache. No number depends on who does which block: sums of the release are sums of integers, those of the
 * response are kept by block and added in the order of the blocks, and noise is drawn by address. */
#include "engine/engine_parts.h"

#include <string.h>

typedef struct block {
    size_t family, number;
} block;

typedef struct worker {
    double **x_hat;   /* [component][k] */
    double **entries; /* [shared entry][k]; NULL where the family's are constants */
    double **p;       /* [component][k] */
    const double **x; /* the block's */
    const double **bite_x;
    double **next_x;
    double **stored; /* x-hat that waits for the second pass */
    tc_fetch fetch;
    size_t failed_block; /* the first block of this worker's where something failed */
    tc_status status;
    size_t member;
} worker;

typedef enum pass { PASS_FIRST, PASS_SECOND, PASS_COLUMNS /* the method `tacit`, before its first answers */ } pass;

struct tc_large {
    block *blocks;
    size_t *parts; /* part i: blocks parts[i] .. parts[i + 1] - 1 */
    size_t part_count;
    worker *workers;
    bool *answers_late; /* by family: p is not known in the first pass */
    bool any_late;
    pass pass;
};

enum {
    PART_STATES = 2048, /* smaller blocks are handed out together, */
    MOST_BLOCKS = 8,    /* and where there are many of them, so that a thread knows which one is next; */
    MANY_PARTS = 64     /* there stay enough for any number of threads to end at about the same time */
};

static void list_blocks(tc_engine *engine, tc_large *large) {
    const tc_model *model = engine->model;
    size_t count = 0, gathered = 0, blocks = 0;
    for (size_t f = 0; f < model->family_count; f++)
        count += (model->families[f].count + TC_RELEASE_BLOCK - 1) / TC_RELEASE_BLOCK;
    large->blocks = TC_NEW(engine->arena, block, count);
    large->parts = TC_NEW(engine->arena, size_t, count + 1);
    size_t together = count / MANY_PARTS < MOST_BLOCKS ? count / MANY_PARTS : MOST_BLOCKS;
    count = 0;
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t first = 0; first < model->families[f].count; first += TC_RELEASE_BLOCK) {
            size_t left = model->families[f].count - first;
            large->blocks[count++] = (block){f, first / TC_RELEASE_BLOCK};
            blocks++;
            gathered += (left < TC_RELEASE_BLOCK ? left : TC_RELEASE_BLOCK) * model->families[f].dim;
            if (gathered >= PART_STATES && blocks >= together) {
                large->parts[++large->part_count] = count;
                gathered = blocks = 0;
            }
        }
    if (large->parts[large->part_count] < count)
        large->parts[++large->part_count] = count;
}

static double **rows_of(tc_arena *arena, size_t rows) {
    double **made = TC_NEW(arena, double *, rows), *numbers = TC_NEW(arena, double, rows *TC_RELEASE_BLOCK);
    for (size_t i = 0; i < rows; i++)
        made[i] = numbers + i * TC_RELEASE_BLOCK;
    return made;
}

static void decide_passes(tc_engine *engine, tc_large *large) {
    const tc_model *model = engine->model;
    large->answers_late = TC_NEW(engine->arena, bool, model->family_count);
    if (engine->method != NULL)
        return;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_entries *of = &engine->released->layout->families[f];
        bool late =
            engine->response != NULL ? !tc_response_is_single_pass(engine->response) : tc_cloud_reads(engine->cloud, f);
        for (size_t i = 0; engine->response == NULL && i < of->single_count; i++)
            late = late || of->singles[i].noised;
        large->answers_late[f] = late;
        large->any_late = large->any_late || late;
    }
}

tc_large *tc_large_new(tc_engine *engine) {
    const tc_model *model = engine->model;
    tc_large *made = TC_NEW(engine->arena, tc_large, 1);
    size_t dim = 0, entries = 0;
    bool states = engine->plan->placement == TC_PLACEMENT_STATES;
    list_blocks(engine, made);
    decide_passes(engine, made);
    for (size_t f = 0; f < model->family_count; f++) {
        size_t shared = engine->released->layout->families[f].shared_count;
        dim = model->families[f].dim > dim ? model->families[f].dim : dim;
        entries = engine->cloud != NULL && engine->response == NULL && shared > entries ? shared : entries;
    }
    made->workers = TC_NEW(engine->arena, worker, engine->workers);
    for (size_t w = 0; w < engine->workers; w++)
        made->workers[w] = (worker){.x_hat = rows_of(engine->arena, states ? dim : 0),
                                    .entries = rows_of(engine->arena, entries),
                                    .p = rows_of(engine->arena, dim),
                                    .x = TC_NEW(engine->arena, const double *, dim),
                                    .bite_x = TC_NEW(engine->arena, const double *, dim),
                                    .next_x = TC_NEW(engine->arena, double *, dim),
                                    .stored = TC_NEW(engine->arena, double *, dim)};
    for (size_t w = 0; w < engine->workers; w++)
        tc_release_worker_fetches(tc_release_worker_at(engine->release, w), &made->workers[w].fetch);
    return made;
}

/* ---- a round -------------------------------------------------------------------------------------------------------
 */

typedef struct job {
    tc_engine *engine;
    size_t worker_number;
    worker *worker;
    tc_release_worker *release;
    size_t number; /* of the block, among all */
    size_t family, block, first, count;
} job;

static void fail(const job *j, tc_status status, size_t member) {
    if (j->number >= j->worker->failed_block)
        return;
    j->worker->failed_block = j->number;
    j->worker->status = status;
    j->worker->member = member;
}

static tc_status take(const job *j) {
    if (j->engine->agents == NULL)
        return tc_release_take_stored(j->release, j->family, j->block, j->engine->states);
    return tc_release_take(j->release, j->family, j->block, j->worker->x);
}

static void put_answers(const job *j, size_t at, size_t count) {
    const tc_family *family = &j->engine->model->families[j->family];
    for (size_t c = 0; c < family->dim; c++)
        memcpy(j->engine->p + tc_coord_of(family, j->first + at, c), j->worker->p[c], count * sizeof(double));
}

/* The agents' half for members at .. of the block, from x to next_x; where agents are elsewhere, their answers. */
static bool step(const job *j, size_t at, size_t count) {
    if (j->engine->agents == NULL) {
        put_answers(j, at, count);
        return true;
    }
    const tc_family *family = &j->engine->model->families[j->family];
    const double **x = j->worker->bite_x;
    double **next = j->worker->next_x;
    for (size_t c = 0; c < family->dim; c++) {
        x[c] = j->worker->x[c] + at;
        next[c] = j->engine->next_x + tc_coord_of(family, j->first + at, c);
    }
    const double *const *p = (const double *const *)j->worker->p;
    tc_answer_scalars scalars = j->engine->scalars;
    tc_proximal *proximal = j->engine->method != NULL ? j->engine->method->proximal : NULL;
    size_t member =
        proximal != NULL
            ? tc_proximal_next(proximal, j->worker_number, j->family, j->first + at, count, p, scalars, x, next)
            : tc_agents_next(j->engine->agents, j->worker_number, j->family, j->first + at, count, p, scalars, x, next);
    if (member != TC_ALL_FINITE)
        fail(j, TC_OK, member);
    return member == TC_ALL_FINITE;
}

/* Bite by bite, so that answers go to the agents from the nearest cache. */
static void respond(const job *j, const double *const *x_hat, bool second, bool steps) {
    tc_response *response = j->engine->response;
    tc_response_begin(response, j->worker_number, j->family, j->block, x_hat, second);
    for (size_t at = 0; at < j->count; at += TC_RESPONSE_BITE) {
        size_t count = j->count - at < TC_RESPONSE_BITE ? j->count - at : TC_RESPONSE_BITE;
        tc_response_bite(response, j->worker_number, at, count, j->worker->p);
        steps = steps && step(j, at, count);
    }
    tc_response_end(response, j->worker_number);
}

static void point_at_states(const job *j) {
    const tc_family *family = &j->engine->model->families[j->family];
    for (size_t c = 0; c < family->dim; c++)
        j->worker->stored[c] = j->engine->released->states + tc_coord_of(family, j->first, c);
}

/* x-hat into the worker's own rows where this pass is the only one, else to where the second pass finds it. */
static tc_status first_of_states(const job *j, bool late) {
    double **x_hat = late ? j->worker->stored : j->worker->x_hat;
    tc_status status = take(j);
    if (late)
        point_at_states(j);
    if (status == TC_OK)
        status = tc_release_states(j->release, x_hat);
    if (status == TC_OK)
        respond(j, (const double *const *)x_hat, false, !late);
    return status;
}

static tc_status second_of_states(const job *j) {
    point_at_states(j);
    respond(j, (const double *const *)j->worker->stored, true, true);
    return TC_OK;
}

static void answer(const job *j, double *const *entries) {
    tc_cloud_answer(j->engine->cloud, j->engine->released, j->family, j->block, (const double *const *)entries,
                    j->engine->mu, j->worker->p);
    (void)step(j, 0, j->count);
}

static tc_status first_of_outputs(const job *j, bool late) {
    tc_status status = take(j);
    if (status == TC_OK)
        status = tc_release_sum(j->release);
    if (status == TC_OK && !late)
        answer(j, NULL);
    return status;
}

static tc_status second_of_outputs(const job *j) {
    tc_status status = TC_OK;
    if (tc_cloud_reads(j->engine->cloud, j->family)) {
        status = take(j);
        if (status == TC_OK)
            status = tc_release_entries(j->release, j->worker->entries);
    }
    if (status == TC_OK)
        answer(j, j->worker->entries);
    return status;
}

static tc_status first_of_method(const job *j) {
    bool states = j->engine->method->takes_states;
    tc_status status = take(j);
    if (status == TC_OK)
        status = states ? tc_release_states(j->release, j->worker->x_hat) : tc_release_sum(j->release);
    if (status == TC_OK && states)
        tc_estimator_take(j->engine->method->gauge, j->worker_number, j->family, j->block,
                          (const double *const *)j->worker->x_hat);
    return status;
}

static void second_of_method(const job *j, bool steps) {
    const tc_family *family = &j->engine->model->families[j->family];
    for (size_t at = 0; at < j->count; at += TC_ESTIMATOR_BITE) {
        size_t count = j->count - at < TC_ESTIMATOR_BITE ? j->count - at : TC_ESTIMATOR_BITE;
        tc_estimator_answer(j->engine->method->gauge, j->worker_number, j->family, j->block, at, count,
                            steps ? j->worker->p : NULL);
        if (!steps)
            continue;
        steps = step(j, at, count);
        for (size_t c = 0; j->engine->agents != NULL && c < family->dim; c++)
            tc_method_average(j->engine, tc_coord_of(family, j->first + at, c), count);
        if (!steps)
            return;
    }
}

static tc_status do_method(const job *j) {
    if (j->engine->large->pass == PASS_FIRST)
        return first_of_method(j);
    second_of_method(j, j->engine->large->pass == PASS_SECOND);
    return TC_OK;
}

static tc_status do_published(const job *j) {
    bool late = j->engine->large->answers_late[j->family], states = j->engine->response != NULL;
    if (j->engine->large->pass == PASS_FIRST)
        return states ? first_of_states(j, late) : first_of_outputs(j, late);
    if (!late)
        return TC_OK;
    return states ? second_of_states(j) : second_of_outputs(j);
}

static void do_block(tc_engine *engine, size_t worker_number, size_t number) {
    const tc_large *large = engine->large;
    const block *b = &large->blocks[number];
    const tc_family *family = &engine->model->families[b->family];
    size_t first = b->number * TC_RELEASE_BLOCK, left = family->count - first;
    job j = {.engine = engine,
             .worker_number = worker_number,
             .worker = &large->workers[worker_number],
             .release = tc_release_worker_at(engine->release, worker_number),
             .number = number,
             .family = b->family,
             .block = b->number,
             .first = first,
             .count = left < TC_RELEASE_BLOCK ? left : TC_RELEASE_BLOCK};
    for (size_t c = 0; engine->agents != NULL && c < family->dim; c++)
        j.worker->x[c] = engine->x + tc_coord_of(family, first, c);
    tc_status status = engine->method != NULL ? do_method(&j) : do_published(&j);
    if (status != TC_OK)
        fail(&j, status, TC_ALL_FINITE);
}

/* The rows of the next block, which are asked for while noise is drawn for this one. At 64 draws a time. */
static void fetch_next(const tc_engine *engine, size_t number, tc_fetch *fetch) {
    const block *b = &engine->large->blocks[number];
    const tc_family *family = &engine->model->families[b->family];
    size_t first = b->number * TC_RELEASE_BLOCK, left = family->count - first, rows = 0;
    if (engine->agents == NULL || 2 * family->dim + family->column_count > TC_FETCH_ROWS)
        return;
    for (size_t c = 0; c < family->dim; c++) {
        fetch->rows[rows++] = engine->x + tc_coord_of(family, first, c);
        fetch->rows[rows++] = engine->next_x + tc_coord_of(family, first, c);
    }
    for (size_t d = 0; d < family->column_count; d++)
        fetch->rows[rows++] = family->columns[d].values + first;
    fetch->row_count = rows;
    fetch->count = left < TC_RELEASE_BLOCK ? left : TC_RELEASE_BLOCK;
    fetch->pace = (64 / family->dim / TC_FETCH_LINE + 1) * TC_FETCH_LINE;
}

static void do_part(void *context, size_t worker_number, size_t part) {
    tc_engine *engine = context;
    tc_fetch *fetch = &engine->large->workers[worker_number].fetch;
    size_t end = engine->large->parts[part + 1];
    for (size_t i = engine->large->parts[part]; i < end; i++) {
        *fetch = (tc_fetch){0};
        if (i + 1 < end)
            fetch_next(engine, i + 1, fetch);
        do_block(engine, worker_number, i);
    }
}

static void run_pass(tc_engine *engine, pass which) {
    tc_large *large = engine->large;
    large->pass = which;
    if (engine->team != NULL)
        tc_team_run(engine->team, large->part_count, do_part, engine);
    else
        for (size_t i = 0; i < large->part_count; i++)
            do_part(engine, 0, i);
}

/* The first failure by block, whoever met it: an error of the release, or a state. */
static tc_status find_failure(const tc_engine *engine, tc_failure *failure) {
    const worker *first = &engine->large->workers[0];
    for (size_t w = 1; w < engine->workers; w++)
        if (engine->large->workers[w].failed_block < first->failed_block)
            first = &engine->large->workers[w];
    if (first->failed_block == SIZE_MAX || first->status != TC_OK)
        return first->status;
    *failure = (tc_failure){
        .what = TC_FAILED_STATE, .family = engine->large->blocks[first->failed_block].family, .member = first->member};
    return TC_OK;
}

static tc_status run_first(tc_engine *engine) {
    tc_failure none = {0};
    run_pass(engine, PASS_FIRST);
    tc_status status = find_failure(engine, &none);
    if (status == TC_OK && engine->plan->placement != TC_PLACEMENT_STATES)
        status = tc_release_close_sums(engine->release, engine->released);
    return status;
}

static tc_status run_published(tc_engine *engine, tc_failure *failure) {
    tc_status status = run_first(engine);
    if (status != TC_OK)
        return status;
    if (engine->response != NULL)
        tc_response_close(engine->response, engine->mu, engine->released->constraints);
    size_t row = tc_cloud_step(engine->cloud, engine->released, engine->scalars, engine->mu, engine->next_mu);
    if (row != TC_ALL_FINITE) {
        *failure = (tc_failure){.what = TC_FAILED_CONSTRAINT, .row = row};
        return TC_OK;
    }
    if (engine->large->any_late)
        run_pass(engine, PASS_SECOND);
    return find_failure(engine, failure);
}

static tc_status run_method(tc_engine *engine, uint64_t k, tc_failure *failure) {
    tc_method_run *run = engine->method;
    tc_method_open(engine, k);
    tc_status status = run_first(engine);
    if (status != TC_OK)
        return status;
    const tc_measurement *gauged = tc_method_close(engine);
    if (k == 1) {
        tc_controller_first_tariff(run->pilot, gauged);
        tc_estimator_price(run->gauge);
        run_pass(engine, PASS_COLUMNS);
        run->columns = tc_estimator_columns(run->gauge);
    }
    if (!tc_method_turn(engine, gauged, failure))
        return TC_OK;
    run_pass(engine, PASS_SECOND);
    run->columns = tc_estimator_columns(run->gauge);
    return find_failure(engine, failure);
}

static tc_status open_round(tc_engine *engine, uint64_t k) {
    for (size_t w = 0; w < engine->workers; w++) {
        engine->large->workers[w].failed_block = SIZE_MAX;
        engine->large->workers[w].status = TC_OK;
    }
    return tc_release_open(engine->release, k);
}

tc_status tc_large_round(tc_engine *engine, uint64_t k, tc_failure *failure) {
    if (engine->response != NULL)
        tc_response_open(engine->response, engine->mu);
    tc_status status = open_round(engine, k);
    if (status != TC_OK)
        return status;
    status = run_published(engine, failure);
    tc_release_close(engine->release);
    return status;
}

tc_status tc_large_method_round(tc_engine *engine, uint64_t k, tc_failure *failure) {
    tc_status status = open_round(engine, k);
    if (status != TC_OK)
        return status;
    status = run_method(engine, k, failure);
    tc_release_close(engine->release);
    return status;
}
