/* The published method, as the paper has it. One round k (paper: Algorithm 2, Algorithm 1 without noise):
 *
 *     release     g^ = g(x(k)) + w_g,   J^_i = g_{x_i}(x(k)) + w_i          in engine/drivers.c, by src/release
 *     answer      p_i = J^_i' mu(k)                                         to agent i, with gamma_k and alpha_k
 *     agents      x_i(k+1) = Proj_{X_i}[ x_i(k) - gamma_k (grad f_i(x_i(k)) + p_i + alpha_k x_i(k)) ]
 *     cloud       mu(k+1)  = Proj_M    [ mu(k)  + gamma_k (g^ - alpha_k mu(k)) ],   M = { |mu|_1 <= R, mu_j >= 0 }
 *
 * Cloud and agents step at the same time: both use mu(k) and x(k). A row may be an affine equality, which the paper
 * does not have: then mu_j may have either sign (docs/paper.md). */
#include "engine/published/published.h"

#include "engine/inside.h"
#include "solver/project/set.h"

#include <math.h>

typedef struct published {
    const tc_engine *engine; /* has mu(k), and g^ and J^ in engine->released */
    tc_jacobian *jacobian;   /* from J^ to answers */
    tc_schedule_ahead schedule;
    double dual_radius;      /* R */
    double *moved, *scratch; /* by constraint */
    const bool *is_constant; /* by constraint: mu_j = 0, whatever noise the paper's scheme adds to g_j */
    double ***entries;       /* by worker: [shared entry][k], the block's J^ */
} published;

/* ---- gamma_k and alpha_k: schedule.c ---- */

static void open(void *self, uint64_t k, tc_answer_scalars *scalars) {
    published *method = self;
    *scalars = tc_schedule_next(&method->engine->model->schedule, &method->schedule, k);
}

/* ---- release: the blocks' shares of the sums that g^ is made of ---- */

static tc_status measure(void *self, const tc_block_work *work) {
    (void)self;
    return tc_release_sum(work->release);
}

/* ---- p_i = J^_i' mu(k)     paper: eq:fullupdate ---- */

/* A constant Jacobian is known, so p_i then depends on mu(k) and on nothing that this round releases. */
static bool answers_early(void *self, size_t family) {
    return !tc_jacobian_has_noise(((published *)self)->jacobian, family);
}

static tc_status answer(void *self, const tc_block_work *work, size_t at, size_t count, double *const *p) {
    published *method = self;
    double **entries = method->entries[work->worker];
    (void)at, (void)count; /* one bite is a whole block */
    if (tc_jacobian_is_read(method->jacobian, work->family)) {
        tc_status status = tc_block_take(work);
        if (status == TC_OK)
            status = tc_release_entries(work->release, entries);
        if (status != TC_OK)
            return status;
    }
    tc_jacobian_answer(method->jacobian, method->engine->released, work->family, work->block,
                       (const double *const *)entries, method->engine->mu, p);
    return TC_OK;
}

static void answer_whole(void *self, double *p) {
    const published *method = self;
    tc_jacobian_answer_whole(method->jacobian, method->engine->released, method->engine->mu, p);
}

/* ---- x_i(k+1), the agents' half     paper: eq:per-agent-update ----
 * engine/agents.c evaluates the gradient, applies TC_STATE_UPDATE and projects onto X_i. */

static size_t next_states(void *self, size_t worker, size_t family, size_t first, size_t count, const double *const *p,
                          tc_answer_scalars scalars, const double *const *x, double *const *next) {
    return tc_agents_next(((published *)self)->engine->agents, worker, family, first, count, p, scalars, x, next);
}

static size_t next_singles(void *self, const double *p, tc_answer_scalars scalars, const double *x, double *next) {
    return tc_agents_next_singles(((published *)self)->engine->agents, 0, p, scalars, x, next);
}

/* ---- mu(k+1), the cloud's half     paper: eq:noisyupdate ---- */

static void start(void *self, const double *x, double *mu) { /* mu(1): the nearest point of M to the file's start */
    published *method = self;
    const tc_model *model = method->engine->model;
    (void)x;
    tc_project_multipliers(model->constraints, model->constraint_count, method->dual_radius, model->start_multipliers,
                           mu, method->scratch);
}

static size_t decide(void *self, const double *mu, double *next_mu, tc_answer_scalars *scalars) {
    published *method = self;
    size_t count = method->engine->model->constraint_count;
    const double *g_hat = method->engine->released->constraints;
    for (size_t j = 0; j < count; j++) {
        method->moved[j] =
            method->is_constant[j] ? 0 : TC_MULTIPLIER_UPDATE(mu[j], g_hat[j], scalars->step, scalars->regularization);
        if (!isfinite(method->moved[j]))
            return j;
    }
    tc_project_multipliers(method->engine->model->constraints, count, method->dual_radius, method->moved, next_mu,
                           method->scratch);
    return TC_ALL_FINITE;
}

/* ---- making one. The result is the last x and mu, and a round depends on nothing else ---- */

static void *make(tc_engine *engine, const tc_derivatives *derivatives, const tc_engine_settings *settings) {
    tc_arena *arena = engine->arena;
    const tc_model *model = engine->model;
    published *made = TC_NEW(arena, published, 1);
    *made = (published){.engine = engine,
                        .jacobian = tc_jacobian_new(arena, model, engine->released, !engine->is_large),
                        .dual_radius = settings->dual_radius,
                        .is_constant = tc_constant_rows(arena, model, derivatives),
                        .moved = TC_NEW(arena, double, model->constraint_count),
                        .scratch = TC_NEW(arena, double, model->constraint_count),
                        .entries = TC_NEW(arena, double **, engine->workers)};
    size_t most = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        size_t shared = engine->released->layout->families[f].shared_count;
        most = shared > most ? shared : most;
    }
    for (size_t w = 0; engine->is_large && w < engine->workers; w++)
        made->entries[w] = tc_block_rows(arena, most);
    return made;
}

const tc_method_table tc_published_method = {
    .make = make,
    .bite = TC_RELEASE_BLOCK,
    .start = start,
    .open = open,
    .measure = measure,
    .decide = decide,
    .answers_early = answers_early,
    .answer = answer,
    .answer_whole = answer_whole,
    .next_states = next_states,
    .next_singles = next_singles,
};
