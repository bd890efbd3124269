/* The last round of --feasible always (docs/proofs/ending.md): agents send their averages, g is released there with
 * noise of bounded support, and what follows is certain:
 *
 *     g_j(average) <= u_j = released_j + bound_j + allowance_j        of equalities |g_j| <= |released_j| + ...
 *
 * Then the move of engine/tacit/margin.c, with these u_j. One thread goes through the blocks that this rank holds: sums
 * are integers, so the bits are the same on any number of threads and of ranks, and for agents elsewhere. */
#include "base/ranks/ranks.h"
#include "calculus/interval/interval.h"
#include "engine/agent_half.h"
#include "engine/inside.h"

struct tc_last {
    tc_release *release;
    tc_released *released;
    double *upper; /* u_j */
    const double **rows;
    const tc_feasibility *found; /* NULL: not yet */
};

tc_status tc_last_new(tc_engine *engine, tc_random *random, const char **why) {
    const tc_last_round *plan = engine->plan->last;
    *why = "a plan with a last round needs a random source for it";
    if (random == NULL || engine->method->certify == NULL)
        return TC_BAD_USAGE;
    *why = NULL;
    tc_last *made = TC_NEW(engine->arena, tc_last, 1);
    size_t dim = 0;
    for (size_t f = 0; f < engine->model->family_count; f++)
        dim = engine->model->families[f].dim > dim ? engine->model->families[f].dim : dim;
    made->upper = TC_NEW(engine->arena, double, engine->model->constraint_count);
    made->rows = TC_NEW(engine->arena, const double *, dim);
    tc_status status = tc_release_new(engine->arena, plan->plan, plan->plan->measured, plan->plan->measured_derivatives,
                                      random, NULL, &made->release, why);
    if (status != TC_OK)
        return status;
    made->released = tc_released_new(engine->arena, made->release);
    engine->last = made;
    return TC_OK;
}

tc_release *tc_last_release(const tc_last *last) { return last->release; }
const tc_feasibility *tc_last_found(const tc_last *last) { return last->found; }

/* ---- the release ------------------------------------------------------------------------------------------------- */

static tc_status take(const tc_engine *engine, const double *average, size_t f, size_t block) {
    const tc_last *last = engine->last;
    tc_release_worker *worker = tc_release_worker_at(last->release, 0);
    const tc_family *family = &engine->model->families[f];
    if (average == NULL)
        return tc_release_take_stored(worker, f, block, engine->states);
    for (size_t c = 0; c < family->dim; c++)
        last->rows[c] = average + tc_coord_of(family, block * TC_RELEASE_BLOCK, c);
    return tc_release_take(worker, f, block, last->rows);
}

static tc_status sum_blocks(const tc_engine *engine, const double *average) {
    const tc_model *model = engine->model;
    tc_status status = TC_OK;
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t k = model->families[f].held_first; status == TC_OK && k < model->families[f].held_end;
             k += TC_RELEASE_BLOCK) {
            status = take(engine, average, f, k / TC_RELEASE_BLOCK);
            if (status == TC_OK)
                status = tc_release_sum(tc_release_worker_at(engine->last->release, 0));
        }
    return status;
}

/* All ranks fail where one does. */
static tc_status agree(tc_status status) {
    uint64_t failures = status != TC_OK;
    tc_ranks_sum(&failures, 1);
    return status == TC_OK && failures > 0 ? TC_INTERNAL : status;
}

static tc_status release(tc_engine *engine, const double *average) {
    tc_last *last = engine->last;
    tc_status status = tc_release_prepare(last->release, 1);
    if (status == TC_OK)
        status = tc_release_open(last->release, 1);
    if (status == TC_OK)
        status = sum_blocks(engine, average);
    status = agree(status);
    if (status == TC_OK)
        status = tc_release_close_sums(last->release, last->released);
    tc_release_close(last->release);
    return status;
}

/* ---- what is certain --------------------------------------------------------------------------------------------- */

static void bound_rows(const tc_engine *engine) {
    const tc_last_round *plan = engine->plan->last;
    const tc_last *last = engine->last;
    for (size_t j = 0; j < engine->model->constraint_count; j++) {
        double value = last->released->constraints[j];
        value = engine->model->constraints[j].is_equality ? fabs(value) : value;
        last->upper[j] = tc_add_up(value, plan->allowance[j]);
    }
    for (size_t i = 0; i < plan->plan->channel_count; i++) {
        const tc_channel *channel = &plan->plan->channels[i];
        double bound = ldexp((double)channel->bound, channel->step_exponent);
        for (uint32_t j = channel->first_row; j < channel->first_row + channel->row_count; j++)
            last->upper[j] = tc_add_up(last->upper[j], bound);
    }
}

/* ---- the round --------------------------------------------------------------------------------------------------- */

static void move_states(const tc_engine *engine, const double *average, double t) {
    const tc_model *model = engine->model;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = family->held_first; k < family->held_end; k++)
            for (size_t c = 0; c < family->dim; c++) {
                size_t at = tc_coord_of(family, k, c);
                engine->next_x[at] = tc_moved(average[at], t, tc_coef_at(family->slater[c], k));
            }
    }
}

static void put_point(const tc_engine *engine) {
    const tc_model *model = engine->model;
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t c = 0; c < model->families[f].dim; c++)
            for (size_t k = 0; k < model->families[f].count; k++)
                engine->p[tc_coord_of(&model->families[f], k, c)] = tc_coef_at(model->families[f].slater[c], k);
}

tc_status tc_last_round_now(tc_engine *engine, const double *average) {
    tc_last *last = engine->last;
    tc_status status = release(engine, average);
    if (status != TC_OK)
        return status;
    bound_rows(engine);
    last->found = engine->method->certify(engine->of_method, last->upper, engine->plan->last->allowance);
    engine->scalars = (tc_answer_scalars){.step = last->found->move};
    if (engine->agents != NULL)
        move_states(engine, average, last->found->move);
    else
        put_point(engine);
    return TC_OK;
}

/* ---- after a restart --------------------------------------------------------------------------------------------- */

/* What is certain follows from u_j, which are public. */
void tc_last_snapshot(tc_engine *engine, bool is_over, tc_snapshot *snapshot) {
    tc_last *last = engine->last;
    tc_snapshot_numbers(snapshot, last->upper, engine->model->constraint_count);
    if (snapshot->what == TC_SNAPSHOT_LOAD && is_over)
        last->found = engine->method->certify(engine->of_method, last->upper, engine->plan->last->allowance);
}
