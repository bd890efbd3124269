/* The two drivers of a round. Both call the method through its table, in the order of method.h, with the same bits. */
#include "base/ranks/ranks.h"
#include "engine/inside.h"

#include <string.h>

/* ---- small ensembles: whole arrays, one thread, nothing per family that is not needed ---------------------------- */

struct tc_small {
    size_t *crowds; /* families of more than one member, increasing */
    size_t crowd_count;
    bool has_singles;
    const double **x_rows; /* of one crowd */
    double **next_rows;
    const double **p_rows;
};

tc_small *tc_small_new(tc_engine *engine) {
    const tc_model *model = engine->model;
    tc_small *made = TC_NEW(engine->arena, tc_small, 1);
    size_t rows = 0;
    made->crowds = TC_NEW(engine->arena, size_t, model->family_count);
    for (size_t f = 0; f < model->family_count; f++) {
        rows = model->families[f].dim > rows ? model->families[f].dim : rows;
        if (model->families[f].count > 1)
            made->crowds[made->crowd_count++] = f;
    }
    made->has_singles = made->crowd_count < model->family_count;
    made->x_rows = TC_NEW(engine->arena, const double *, rows);
    made->next_rows = TC_NEW(engine->arena, double *, rows);
    made->p_rows = TC_NEW(engine->arena, const double *, rows);
    return made;
}

static size_t step_crowd(tc_engine *engine, size_t f) {
    const tc_small *small = engine->small;
    const tc_family *family = &engine->model->families[f];
    for (size_t c = 0; c < family->dim; c++) {
        small->x_rows[c] = engine->x + tc_coord_of(family, 0, c);
        small->next_rows[c] = engine->next_x + tc_coord_of(family, 0, c);
        small->p_rows[c] = engine->p + tc_coord_of(family, 0, c);
    }
    return engine->method->next_states(engine->of_method, 0, f, 0, family->count, small->p_rows, engine->scalars,
                                       small->x_rows, small->next_rows);
}

/* Reports the first failure in the order of the families. */
static void step_agents(tc_engine *engine, tc_not_finite *failure) {
    const tc_small *small = engine->small;
    size_t alone = TC_ALL_FINITE, member = TC_ALL_FINITE;
    if (small->has_singles)
        alone = engine->method->next_singles(engine->of_method, engine->p, engine->scalars, engine->x, engine->next_x);
    for (size_t i = 0; member == TC_ALL_FINITE && i < small->crowd_count && small->crowds[i] < alone; i++) {
        member = step_crowd(engine, small->crowds[i]);
        if (member != TC_ALL_FINITE)
            *failure = (tc_not_finite){.what = TC_STATE_NOT_FINITE, .family = small->crowds[i], .member = member};
    }
    if (member == TC_ALL_FINITE && alone != TC_ALL_FINITE)
        *failure = (tc_not_finite){.what = TC_STATE_NOT_FINITE, .family = alone};
}

static tc_status release(tc_engine *engine, uint64_t k) {
    if (engine->agents != NULL && tc_states_take(engine->states, engine->x) == TC_STATE_REFUSED)
        return TC_INTERNAL; /* states are finite after every round */
    return tc_release_round(engine->release, k, engine->states, engine->released);
}

tc_status tc_small_round(tc_engine *engine, uint64_t k, tc_not_finite *failure) {
    const tc_method_table *method = engine->method;
    void *self = engine->of_method;
    tc_status status = release(engine, k);
    if (status != TC_OK)
        return status;
    method->open(self, k, &engine->scalars);
    if (method->measure_whole != NULL)
        method->measure_whole(self);
    if (method->gather != NULL && method->gather(self))
        method->answer_whole(self, NULL);
    size_t row = method->decide(self, engine->mu, engine->next_mu, &engine->scalars);
    if (row != TC_ALL_FINITE) {
        *failure = (tc_not_finite){.what = TC_CONSTRAINT_NOT_FINITE, .row = row};
        return TC_OK;
    }
    method->answer_whole(self, engine->p);
    if (engine->agents == NULL)
        return TC_OK;
    if (method->average != NULL)
        method->average(self, engine->next_x, 0, engine->model->state_count);
    step_agents(engine, failure);
    return TC_OK;
}

/* ---- large ensembles --------------------------------------------------------------------------------------------- */

/* A team processes the blocks of members that this rank holds, and all work on a block happens while it is in the
 * cache. A pass over the members costs more than what is computed in it, so where the method allows, a round has one:
 * each block is answered, steps, and is measured for the next round. No number depends on which thread does which
 * block: sums of the release are sums of integers, sums over released states are kept by block and added in the order
 * of the blocks, and noise is drawn by address. For the same reasons none depends on how many ranks there are. Ranks
 * tell each other sums, and after each pass what failed, so that all go the same way. */

typedef struct member_block {
    size_t family, number;
    size_t among_all; /* its number among the blocks of all ranks */
} member_block;

typedef struct first_failure { /* of a pass */
    size_t block;              /* among all; SIZE_MAX: none */
    size_t family, member;
    tc_status status; /* TC_OK: a state ceased to be finite or was not proved */
    tc_status ahead;  /* of measuring the next round */
    bool is_unproved;
} first_failure;

typedef struct block_worker {
    double **p;       /* [component][k] */
    const double **x; /* the block's */
    const double **bite_x;
    double **next_x;        /* of a bite */
    const double **ahead_x; /* the block's x(k+1) */
    tc_fetch fetch;
    size_t failed_block; /* the first block of this worker's where something failed */
    tc_status status;
    size_t member;
    tc_status ahead; /* of measuring the next round */
} block_worker;

typedef enum block_pass {
    PASS_MEASURE, /* and the answers of families that have them early */
    PASS_SURVEY,  /* `answer` without p: the method asked for it (gather) */
    PASS_ANSWER,  /* and measuring the next round, if that is open */
} block_pass;

struct tc_large {
    member_block *blocks;
    size_t *parts; /* part i: blocks parts[i] .. parts[i + 1] - 1 */
    size_t part_count;
    block_worker *workers;
    bool *answers_early; /* by family */
    bool all_early;      /* no second pass */
    block_pass pass;
    uint64_t ahead; /* the round that is measured while the one before is answered; 0 for none */
    tc_status ahead_status;
    first_failure *failures; /* by rank */
    size_t *ends;
};

enum {
    PART_STATES = 2048, /* a part that is handed out has at least so many states; */
    MOST_BLOCKS = 8,    /* among many blocks it has several, so that a thread can prefetch the next one, */
    MANY_PARTS = 64     /* as long as so many parts remain that all threads end at about the same time */
};

static size_t blocks_up_to(size_t member) { return (member + TC_RELEASE_BLOCK - 1) / TC_RELEASE_BLOCK; }

static void list_blocks(tc_engine *engine, tc_large *large) {
    const tc_model *model = engine->model;
    size_t count = 0, gathered = 0, blocks = 0, before = 0;
    for (size_t f = 0; f < model->family_count; f++)
        count += blocks_up_to(model->families[f].held_end) - model->families[f].held_first / TC_RELEASE_BLOCK;
    large->blocks = TC_NEW(engine->arena, member_block, count);
    large->parts = TC_NEW(engine->arena, size_t, count + 1);
    size_t together = count / MANY_PARTS < MOST_BLOCKS ? count / MANY_PARTS : MOST_BLOCKS;
    count = 0;
    for (size_t f = 0; f < model->family_count; before += blocks_up_to(model->families[f++].count))
        for (size_t first = model->families[f].held_first; first < model->families[f].held_end;
             first += TC_RELEASE_BLOCK) {
            size_t left = model->families[f].count - first, number = first / TC_RELEASE_BLOCK;
            large->blocks[count++] = (member_block){f, number, before + number};
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

double **tc_block_rows(tc_arena *arena, size_t rows) {
    double **made = TC_NEW(arena, double *, rows), *numbers = TC_NEW(arena, double, rows *TC_RELEASE_BLOCK);
    for (size_t i = 0; i < rows; i++)
        made[i] = numbers + i * TC_RELEASE_BLOCK;
    return made;
}

tc_large *tc_large_new(tc_engine *engine) {
    const tc_model *model = engine->model;
    tc_large *made = TC_NEW(engine->arena, tc_large, 1);
    size_t dim = 0;
    list_blocks(engine, made);
    made->failures = TC_NEW(engine->arena, first_failure, tc_ranks_count());
    made->ends = TC_NEW(engine->arena, size_t, tc_ranks_count());
    for (size_t r = 0; r < tc_ranks_count(); r++)
        made->ends[r] = r + 1;
    made->answers_early = TC_NEW(engine->arena, bool, model->family_count);
    made->all_early = true;
    for (size_t f = 0; f < model->family_count; f++) {
        dim = model->families[f].dim > dim ? model->families[f].dim : dim;
        made->answers_early[f] = engine->method->answers_early(engine->of_method, f);
        made->all_early = made->all_early && made->answers_early[f];
    }
    made->workers = TC_NEW(engine->arena, block_worker, engine->workers);
    for (size_t w = 0; w < engine->workers; w++) {
        made->workers[w] = (block_worker){.p = tc_block_rows(engine->arena, dim),
                                          .x = TC_NEW(engine->arena, const double *, dim),
                                          .bite_x = TC_NEW(engine->arena, const double *, dim),
                                          .next_x = TC_NEW(engine->arena, double *, dim),
                                          .ahead_x = TC_NEW(engine->arena, const double *, dim)};
        tc_release_worker_fetches(tc_release_worker_at(engine->release, w), &made->workers[w].fetch);
    }
    return made;
}

/* ---- a block ---- */

static void fail(const tc_block_work *work, size_t number, tc_status status, size_t member) {
    block_worker *worker = &work->engine->large->workers[work->worker];
    if (number >= worker->failed_block)
        return;
    worker->failed_block = number;
    worker->status = status;
    worker->member = member;
}

tc_status tc_block_take(const tc_block_work *work) {
    if (work->x == NULL)
        return tc_release_take_stored(work->release, work->family, work->block, work->engine->states);
    return tc_release_take(work->release, work->family, work->block, work->x);
}

/* Agents elsewhere: their answers go out. */
static void put_answers(const tc_block_work *work, size_t at, size_t count, double *const *p) {
    const tc_family *family = &work->engine->model->families[work->family];
    for (size_t c = 0; c < family->dim; c++)
        memcpy(work->engine->p + tc_coord_of(family, work->first + at, c), p[c], count * sizeof(double));
}

/* The agents' half for members at .. of the block, from x(k) to x(k+1), which takes the place of x(k-1). Returns a
 * member, or TC_ALL_FINITE. */
static size_t step_members(const tc_block_work *work, size_t at, size_t count, double *const *p) {
    tc_engine *engine = work->engine;
    const block_worker *worker = &engine->large->workers[work->worker];
    const tc_family *family = &engine->model->families[work->family];
    for (size_t c = 0; c < family->dim; c++) {
        worker->bite_x[c] = work->x[c] + at;
        worker->next_x[c] = engine->next_x + tc_coord_of(family, work->first + at, c);
        if (engine->method->average != NULL)
            engine->method->average(engine->of_method, engine->next_x, tc_coord_of(family, work->first + at, c), count);
    }
    return engine->method->next_states(engine->of_method, work->worker, work->family, work->first + at, count,
                                       (const double *const *)p, engine->scalars, worker->bite_x, worker->next_x);
}

/* Bite by bite, so that answers go to the agents from the nearest cache. Goes on after a failure: averages of all
 * members must be of the same round. */
static tc_status answer(const tc_block_work *work, size_t number) {
    const tc_engine *engine = work->engine;
    bool is_survey = engine->large->pass == PASS_SURVEY;
    double *const *p = is_survey ? NULL : engine->large->workers[work->worker].p;
    size_t bite = engine->method->bite;
    for (size_t at = 0; at < work->count; at += bite) {
        size_t count = work->count - at < bite ? work->count - at : bite;
        tc_status status = engine->method->answer(engine->of_method, work, at, count, p);
        if (status != TC_OK)
            return status;
        if (is_survey)
            continue;
        if (work->x == NULL) {
            put_answers(work, at, count, p);
            continue;
        }
        size_t member = step_members(work, at, count, p);
        if (member != TC_ALL_FINITE)
            fail(work, number, TC_OK, member);
    }
    return TC_OK;
}

static tc_status measure_block(const tc_block_work *work) {
    tc_status status = tc_block_take(work);
    return status == TC_OK ? work->engine->method->measure(work->engine->of_method, work) : status;
}

/* The block's x(k+1), if all is well. What fails here fails the next round. */
static void measure_ahead(const tc_block_work *work) {
    const tc_engine *engine = work->engine;
    const tc_family *family = &engine->model->families[work->family];
    block_worker *worker = &engine->large->workers[work->worker];
    if (worker->failed_block != SIZE_MAX || worker->ahead != TC_OK)
        return;
    for (size_t c = 0; c < family->dim; c++)
        worker->ahead_x[c] = engine->next_x + tc_coord_of(family, work->first, c);
    tc_block_work next = *work;
    next.x = worker->ahead_x;
    worker->ahead = measure_block(&next);
}

static tc_status do_pass(const tc_block_work *work, size_t number) {
    const tc_large *large = work->engine->large;
    bool is_early = large->answers_early[work->family];
    if (large->pass == PASS_MEASURE) {
        tc_status status = measure_block(work);
        return status == TC_OK && is_early ? answer(work, number) : status;
    }
    tc_status status = is_early ? TC_OK : answer(work, number);
    if (status == TC_OK && large->pass == PASS_ANSWER && large->ahead != 0)
        measure_ahead(work);
    return status;
}

static void do_block(tc_engine *engine, size_t worker_number, size_t number) {
    const tc_large *large = engine->large;
    const member_block *b = &large->blocks[number];
    const tc_family *family = &engine->model->families[b->family];
    size_t first = b->number * TC_RELEASE_BLOCK, left = family->count - first;
    const double **x = large->workers[worker_number].x;
    for (size_t c = 0; engine->agents != NULL && c < family->dim; c++)
        x[c] = engine->x + tc_coord_of(family, first, c);
    tc_block_work work = {.engine = engine,
                          .worker = worker_number,
                          .release = tc_release_worker_at(engine->release, worker_number),
                          .family = b->family,
                          .block = b->number,
                          .first = first,
                          .count = left < TC_RELEASE_BLOCK ? left : TC_RELEASE_BLOCK,
                          .x = engine->agents != NULL ? x : NULL};
    tc_status status = do_pass(&work, number);
    if (status != TC_OK)
        fail(&work, number, status, TC_ALL_FINITE);
}

/* Prefetches the rows of the next block while noise is drawn for this one: a few cache lines for every 128 draws. */
static void fetch_next(const tc_engine *engine, size_t number, tc_fetch *fetch) {
    const member_block *b = &engine->large->blocks[number];
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
    fetch->pace = (128 / family->dim / TC_FETCH_LINE + 1) * TC_FETCH_LINE;
}

static void do_part(void *context, size_t worker_number, size_t part) {
    tc_engine *engine = context;
    tc_fetch *fetch = &engine->large->workers[worker_number].fetch;
    const tc_large *large = engine->large;
    size_t end = large->parts[part + 1];
    bool is_last = large->part_count - part <= engine->workers;
    for (size_t i = large->parts[part]; i < end; i++) {
        *fetch = (tc_fetch){0};
        if (i + 1 < end)
            fetch_next(engine, i + 1, fetch);
        else if (!is_last) /* where threads take turns, this one's next part */
            fetch_next(engine, large->parts[part + engine->workers], fetch);
        do_block(engine, worker_number, i);
    }
}

static void go_through(tc_engine *engine, block_pass which) {
    tc_large *large = engine->large;
    large->pass = which;
    if (engine->team != NULL)
        tc_team_run(engine->team, large->part_count, do_part, engine);
    else
        for (size_t i = 0; i < large->part_count; i++)
            do_part(engine, 0, i);
}

static first_failure failure_of_threads(const tc_engine *engine) {
    const tc_large *large = engine->large;
    const block_worker *first = &large->workers[0];
    first_failure found = {.block = SIZE_MAX, .is_unproved = engine->is_unproved};
    for (size_t w = 0; w < engine->workers; w++) {
        if (large->workers[w].failed_block < first->failed_block)
            first = &large->workers[w];
        if (found.ahead == TC_OK)
            found.ahead = large->workers[w].ahead;
    }
    found.status = first->status;
    if (first->failed_block == SIZE_MAX)
        return found;
    const member_block *block = &large->blocks[first->failed_block];
    found.block = block->among_all;
    found.family = block->family;
    found.member = first->member;
    return found;
}

/* The failure of the first block that failed, on any thread of any rank: an error of the release, or a state. opened:
 * of the round, or of the round ahead. */
static tc_status find_failure(tc_engine *engine, tc_status opened, tc_not_finite *failure) {
    tc_large *large = engine->large;
    first_failure mine = failure_of_threads(engine), first;
    size_t ranks = tc_ranks_count();
    if (opened != TC_OK)
        mine.block = 0, mine.status = opened;
    large->failures[tc_ranks_mine()] = mine;
    tc_ranks_gather(large->failures, large->ends, sizeof *large->failures);
    first = large->failures[0];
    for (size_t r = 1; r < ranks; r++) {
        tc_status ahead = first.ahead != TC_OK ? first.ahead : large->failures[r].ahead;
        if (large->failures[r].block < first.block)
            first = large->failures[r];
        first.ahead = ahead;
    }
    large->ahead_status = first.ahead;
    if (first.block == SIZE_MAX || first.status != TC_OK)
        return first.status;
    engine->is_unproved = first.is_unproved;
    *failure = (tc_not_finite){.what = TC_STATE_NOT_FINITE, .family = first.family, .member = first.member};
    return TC_OK;
}

/* ---- a round ---- */

static tc_status open_round(tc_engine *engine, uint64_t k) {
    tc_status status = tc_release_open(engine->release, k);
    if (status == TC_OK)
        engine->method->open(engine->of_method, k, &engine->scalars);
    return status;
}

static tc_status measure_now(tc_engine *engine, uint64_t k) {
    tc_not_finite none = {0};
    tc_status status = open_round(engine, k);
    if (status == TC_OK)
        go_through(engine, PASS_MEASURE);
    return find_failure(engine, status, &none);
}

static tc_status measure(tc_engine *engine, uint64_t k) {
    tc_status status = engine->large->ahead == k ? engine->large->ahead_status : measure_now(engine, k);
    if (status == TC_OK && engine->plan->placement != TC_PLACEMENT_STATES)
        status = tc_release_close_sums(engine->release, engine->released);
    return status;
}

/* Opens round k + 1 for the pass that answers round k. Where that fails, the next round opens it, or fails; of several
 * ranks one may fail, so then this round does. */
static tc_status open_ahead(tc_engine *engine, uint64_t k) {
    engine->large->ahead = 0;
    if (!engine->method->measures_ahead || engine->agents == NULL || (double)k >= engine->plan->rounds)
        return TC_OK;
    tc_release_close(engine->release);
    tc_status status = open_round(engine, k + 1);
    if (status == TC_OK)
        engine->large->ahead = k + 1;
    for (size_t w = 0; w < engine->workers; w++)
        engine->large->workers[w].ahead = TC_OK;
    return tc_ranks_several() ? status : TC_OK;
}

static tc_status do_round(tc_engine *engine, uint64_t k, tc_not_finite *failure) {
    const tc_method_table *method = engine->method;
    tc_status status = measure(engine, k);
    if (status != TC_OK)
        return status;
    if (method->gather != NULL && method->gather(engine->of_method))
        go_through(engine, PASS_SURVEY);
    size_t row = method->decide(engine->of_method, engine->mu, engine->next_mu, &engine->scalars);
    if (row != TC_ALL_FINITE) {
        *failure = (tc_not_finite){.what = TC_CONSTRAINT_NOT_FINITE, .row = row};
        return TC_OK;
    }
    status = open_ahead(engine, k);
    if (!engine->large->all_early)
        go_through(engine, PASS_ANSWER);
    return find_failure(engine, status, failure);
}

tc_status tc_large_round(tc_engine *engine, uint64_t k, tc_not_finite *failure) {
    for (size_t w = 0; w < engine->workers; w++) {
        engine->large->workers[w].failed_block = SIZE_MAX;
        engine->large->workers[w].status = TC_OK;
    }
    tc_status status = do_round(engine, k, failure);
    if (status != TC_OK || failure->what != TC_ALL_IS_FINITE || engine->large->ahead != k + 1)
        tc_release_close(engine->release);
    return status;
}
