/* The method tacit, as docs/method.md has it. One round k:
 *
 *     release      o(k) = x(k) + noise, or linear forms of x(k) + noise         in engine/drivers.c, by src/release
 *     filter       y += beta (o - y),   r += 3/(k+2) (o - r)                    estimator
 *     measure      g^ = g(r^) + g'(r^)(y - r^) + ... - what the noise adds      estimator, controller
 *     decide       mu(k+1), mu_led, steps, omega, margins                       controller
 *     answer       p_i = what one unit of x_i costs at the prices mu_led        estimator
 *     agents       x_i <- argmin over X_i of f_i(x) + p_i.x + (regularization/2)|x|^2 + |x - x_i|^2/(2 step) proximal
 *     average      with weights k (k+1): of x_i by each agent, of mu by the cloud: the result of the run
 *     move         in the last round, with --margin auto: the answer is t and the Slater point, and takes the place of
 * a step; the result of an agent is its average moved by t towards that point
 *
 * Prices are made of this round's sums, so all members are measured before the first is answered. One pass over the
 * members answers round k and measures round k+1. Round 1 is measured by itself and has a survey: the first steps need
 * the slopes that a pass of `answer` measures.
 *
 * A round that fails must leave the averages as they were. So x(k) goes into them when it is about to be overwritten,
 * by x(k+2) or when the result is asked for; until then nothing of round k is lost. */
#include "base/machine.h"
#include "base/ranks/ranks.h"
#include "base/simd.h"
#include "engine/agent_half.h"
#include "engine/inside.h"
#include "engine/proximal/proof.h"
#include "engine/proximal/proximal.h"
#include "engine/tacit/controller.h"

#include <string.h>

typedef struct tacit {
    tc_engine *engine;
    tc_estimator *estimator;
    tc_controller *controller;
    tc_proximal *proximal; /* NULL: gradient steps, or agents elsewhere */
    tc_step_proof *proof;  /* NULL: the promise does not rest on steps */
    bool takes_states;     /* placement STATES; otherwise forms */
    double ***x_hat;       /* STATES, by worker: [component][k] of the block, noisy */
    uint64_t k;
    const tc_measurement *measured; /* in this round */
    tc_columns columns;             /* of the last pass of `answer` */
    double *average;                /* of the states, by coordinate; not of agents elsewhere */
    double gain;      /* in the averages, of the states that the open round overwrites; 0: they are there */
    double next_gain; /* the same of the next round */
    bool moves;       /* the answer of this round is a move: x(k+1) is the result */
    double *result;   /* the average of the multipliers */
} tacit;

/* ---- filter and measure ------------------------------------------------------------------------------------------ */

static void open(void *self, uint64_t k, tc_answer_scalars *scalars) {
    tacit *method = self;
    (void)scalars; /* decide sets them */
    method->k = k;
    tc_estimator_open(method->estimator, tc_controller_gains(method->controller, k));
}

static tc_status measure(void *self, const tc_block_work *work) {
    const tacit *method = self;
    if (!method->takes_states)
        return tc_release_sum(work->release);
    double **x_hat = method->x_hat[work->worker];
    tc_status status = tc_release_states(work->release, x_hat);
    if (status == TC_OK)
        tc_estimator_take(method->estimator, work->worker, work->family, work->block, (const double *const *)x_hat);
    return status;
}

static void measure_whole(void *self) {
    const tacit *method = self;
    if (method->takes_states)
        tc_estimator_take_whole(method->estimator, method->engine->released->states);
}

static bool gather(void *self) {
    tacit *method = self;
    tc_controller_open(method->controller, method->k);
    if (!method->takes_states)
        tc_estimator_take_forms(method->estimator, method->engine->released->constraints);
    method->measured = tc_estimator_close(method->estimator);
    if (method->k > 1)
        return false;
    tc_controller_first_tariff(method->controller, method->measured);
    tc_estimator_price(method->estimator);
    return true;
}

/* ---- decide: mu(k+1), the prices of all inputs, step and regularization ------------------------------------------ */

static size_t decide(void *self, const double *mu, double *next_mu, tc_answer_scalars *scalars) {
    tacit *method = self;
    (void)mu; /* the controller has its own */
    if (method->k == 1)
        method->columns = tc_estimator_columns(method->estimator);
    size_t row = tc_controller_decide(method->controller, method->measured, method->columns, scalars);
    if (row != TC_ALL_FINITE)
        return row;
    memcpy(next_mu, tc_controller_multipliers(method->controller),
           method->engine->model->constraint_count * sizeof(double));
    method->moves = tc_controller_moves(method->controller);
    if (!method->moves)
        tc_estimator_price(method->estimator);
    method->gain = method->next_gain;
    method->next_gain = 0;
    return TC_ALL_FINITE;
}

/* ---- answer ------------------------------------------------------------------------------------------------------ */

static bool answers_early(void *self, size_t family) {
    (void)self;
    (void)family;
    return false;
}

/* The Slater point of members first .. first + count - 1. */
static void put_point(const tc_family *family, size_t first, size_t count, size_t component, double *p) {
    for (size_t i = 0; i < count; i++)
        p[i] = tc_coef_at(family->slater[component], first + i);
}

static tc_status answer(void *self, const tc_block_work *work, size_t at, size_t count, double *const *p) {
    const tacit *method = self;
    const tc_family *family = &method->engine->model->families[work->family];
    if (!method->moves)
        tc_estimator_answer(method->estimator, work->worker, work->family, work->block, at, count, p);
    for (size_t c = 0; method->moves && c < family->dim; c++)
        put_point(family, work->first + at, count, c, p[c]);
    return TC_OK;
}

static void answer_whole(void *self, double *p) {
    const tacit *method = self;
    const tc_model *model = method->engine->model;
    if (!method->moves)
        tc_estimator_answer_whole(method->estimator, p);
    for (size_t f = 0; method->moves && f < model->family_count; f++)
        for (size_t c = 0; c < model->families[f].dim; c++)
            put_point(&model->families[f], 0, model->families[f].count, c, p + tc_coord_of(&model->families[f], 0, c));
}

/* ---- agents: each minimises, or moves ---------------------------------------------------------------------------- */

/* x(k) goes into the average, which is then moved. */
static void move_states(const tacit *method, size_t count, const double *average, double t, const double *p,
                        const double *x, double *next) {
    double gain = tc_controller_average_gain(method->controller);
    for (size_t i = 0; i < count; i++)
        next[i] = tc_moved(average[i] + gain * (x[i] - average[i]), t, p[i]);
}

static size_t next_states(void *self, size_t worker, size_t family, size_t first, size_t count, const double *const *p,
                          tc_answer_scalars scalars, const double *const *x, double *const *next) {
    const tacit *method = self;
    const tc_family *of = &method->engine->model->families[family];
    for (size_t c = 0; method->moves && c < of->dim; c++)
        move_states(method, count, method->average + tc_coord_of(of, first, c), scalars.step, p[c], x[c], next[c]);
    if (method->moves)
        return TC_ALL_FINITE;
    if (method->proximal == NULL)
        return tc_agents_next(method->engine->agents, worker, family, first, count, p, scalars, x, next);
    size_t member = tc_proximal_next(method->proximal, worker, family, first, count, p, scalars, x, next);
    if (method->proof == NULL || member != TC_ALL_FINITE)
        return member;
    member = tc_step_proof_check(method->proof, worker, family, first, count, p, scalars, x, next);
    if (member != TC_ALL_FINITE)
        method->engine->is_unproved = true;
    return member;
}

static size_t next_singles(void *self, const double *p, tc_answer_scalars scalars, const double *x, double *next) {
    const tacit *method = self;
    const tc_model *model = method->engine->model;
    for (size_t f = 0; method->moves && f < model->family_count; f++) {
        size_t first = model->families[f].first_coord,
               count = model->families[f].count == 1 ? model->families[f].dim : 0;
        move_states(method, count, method->average + first, scalars.step, p + first, x + first, next + first);
    }
    if (method->moves)
        return TC_ALL_FINITE;
    if (method->proximal == NULL)
        return tc_agents_next_singles(method->engine->agents, 0, p, scalars, x, next);
    size_t family = tc_proximal_next_singles(method->proximal, 0, p, scalars, x, next);
    if (method->proof == NULL || family != TC_ALL_FINITE)
        return family;
    family = tc_step_proof_check_singles(method->proof, p, scalars, x, next);
    if (family != TC_ALL_FINITE)
        method->engine->is_unproved = true;
    return family;
}

/* ---- average: the result of the run ------------------------------------------------------------------------------ */

TC_INLINE void follow(size_t count, double gain, const double *restrict x, double *restrict average) {
    for (size_t i = 0; i < count; i++)
        average[i] += gain * (x[i] - average[i]);
}

#ifdef TC_HAS_WIDE
TC_WIDE static void follow_wide(size_t count, double gain, const double *x, double *average) {
    follow(count, gain, x, average);
}
#endif

static void average(void *self, const double *x, size_t first, size_t count) {
    const tacit *method = self;
    if (method->gain == 0)
        return;
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDE()) {
        follow_wide(count, method->gain, x + first, method->average + first);
        return;
    }
#endif
    follow(count, method->gain, x + first, method->average + first);
}

static void settle(void *self) {
    tacit *method = self;
    method->next_gain = tc_controller_average_gain(method->controller);
    method->columns = tc_estimator_columns(method->estimator);
    memcpy(method->result, tc_controller_result(method->controller),
           method->engine->model->constraint_count * sizeof(double));
}

static void average_held(tacit *method) {
    const tc_model *model = method->engine->model;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++)
            average(method, method->engine->next_x, tc_coord_of(family, family->held_first, c),
                    family->held_end - family->held_first);
    }
}

/* After a round, the states before it are in next_x. */
static const double *result_states(void *self) {
    tacit *method = self;
    if (method->moves && method->engine->done == method->k)
        return method->engine->x;
    method->gain = method->next_gain;
    method->next_gain = 0;
    if (method->average != NULL)
        average_held(method);
    return method->average;
}

static const double *result_multipliers(void *self) { return ((tacit *)self)->result; }
static const tc_feasibility *feasibility(void *self) { return tc_controller_feasibility(((tacit *)self)->controller); }
static const tc_feasibility *certify(void *self, const double *upper, const double *allowance) {
    return tc_controller_certify(((tacit *)self)->controller, upper, allowance);
}

/* ---- before the first round, and after a restart ----------------------------------------------------------------- */

static void *make(tc_engine *engine, const tc_derivatives *derivatives, const tc_engine_settings *settings) {
    tc_arena *arena = engine->arena;
    const tc_model *model = engine->model;
    tacit *made = TC_NEW(arena, tacit, 1);
    *made = (tacit){.engine = engine,
                    .takes_states = engine->plan->placement == TC_PLACEMENT_STATES,
                    .x_hat = TC_NEW(arena, double **, engine->workers),
                    .result = TC_NEW(arena, double, model->constraint_count)};
    tc_state_scales scales = settings->facts->scales;
    made->estimator =
        tc_estimator_new(arena, engine->plan, model, derivatives, engine->released, scales, engine->workers);
    made->controller =
        tc_controller_new(arena, settings->facts, engine->plan, model, derivatives, made->estimator, settings->without);
    size_t dim = 0;
    for (size_t f = 0; f < model->family_count; f++)
        dim = model->families[f].dim > dim ? model->families[f].dim : dim;
    for (size_t w = 0; made->takes_states && engine->is_large && w < engine->workers; w++)
        made->x_hat[w] = tc_block_rows(arena, dim);
    if (engine->agents == NULL)
        return made;
    made->average = TC_NEW(arena, double, model->state_count);
    tc_prefer_large_pages(made->average, model->state_count * sizeof *made->average);
    if ((settings->without & TC_WITHOUT_PROXIMAL) == 0)
        made->proximal = tc_proximal_new(arena, engine->agents, derivatives, scales);
    if (made->proximal != NULL && engine->plan->adjacency == TC_ADJACENCY_DATA)
        made->proof = tc_step_proof_new(arena, model, derivatives, engine->workers);
    return made;
}

static void start(void *self, const double *x, double *mu) {
    tacit *method = self;
    const tc_model *model = method->engine->model;
    size_t bytes = model->constraint_count * sizeof(double);
    memcpy(mu, tc_controller_multipliers(method->controller), bytes);
    memcpy(method->result, tc_controller_result(method->controller), bytes);
    size_t family;
    uint64_t unproved =
        method->proof != NULL && tc_step_proof_check_start(method->proof, method->engine->x, &family) != TC_ALL_FINITE;
    tc_ranks_sum(&unproved, 1); /* all ranks go the same way */
    if (unproved > 0)
        method->engine->reason = "the start of an agent is not proved to be accurate, and the promise about data rests "
                                 "on that";
    if (x != NULL)
        tc_copy_held(model, method->average, x);
}

static void snapshot(void *self, tc_snapshot *bytes) {
    tacit *method = self;
    tc_snapshot_numbers(bytes, &method->columns.reach, 1);
    tc_snapshot_numbers(bytes, &method->columns.curvature, 1);
    tc_snapshot_numbers(bytes, &method->columns.noise, 1);
    tc_controller_snapshot(method->controller, bytes);
    tc_estimator_snapshot(method->estimator, bytes);
}

static bool resume(void *self, uint64_t round, const double *mu) {
    tacit *method = self;
    size_t bytes = method->engine->model->constraint_count * sizeof(double);
    if (!isfinite(method->columns.reach) || !isfinite(method->columns.curvature) || !isfinite(method->columns.noise) ||
        tc_controller_round(method->controller) != round ||
        !tc_controller_review(method->controller, tc_estimator_review(method->estimator)) ||
        memcmp(tc_controller_multipliers(method->controller), mu, bytes) != 0)
        return false;
    memcpy(method->result, tc_controller_result(method->controller), bytes);
    return true;
}

const tc_method_table tc_tacit_method = {
    .make = make,
    .bite = TC_ESTIMATOR_BITE,
    .measures_ahead = true,
    .start = start,
    .open = open,
    .measure = measure,
    .measure_whole = measure_whole,
    .gather = gather,
    .decide = decide,
    .answers_early = answers_early,
    .answer = answer,
    .answer_whole = answer_whole,
    .next_states = next_states,
    .next_singles = next_singles,
    .average = average,
    .settle = settle,
    .result_states = result_states,
    .result_multipliers = result_multipliers,
    .feasibility = feasibility,
    .certify = certify,
    .snapshot = snapshot,
    .resume = resume,
};
