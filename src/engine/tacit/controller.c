#include "engine/tacit/controller.h"

#include "engine/tacit/controller_inside.h"
#include "engine/agent_half.h"
#include "solver/project/project.h"

#include <string.h>

#define STEP_PART 0.9      /* of the largest steps that a linear loop is stable with */
#define LEAST_COUPLING 0.1 /* N is not taken to be smaller */
#define NOISE_PART 1.2     /* of X: what all noise since k0 may have moved the states by */
#define WINDOW 3.0         /* the fast filter looks back this many steps' worth of rounds, */
#define FIRST_WINDOW 2.0   /* and at first 2/(k+2), so that no early noise is kept for long */
#define LEAD 2.0           /* of the lag that the filter makes */
#define PULL_UNTIL 0.4     /* of all rounds: then the regularization is zero */
#define PULL_DELAY 4.0     /* the regularization begins as 1/(k+4) */
#define FIRST_WEIGHT 1e-3  /* omega begins so far below R'/X */
#define SOME_WEIGHT 1e-3   /* omega where there is no R' */
#define LEAST_WEIGHT 1e-12 /* omega where R' is 0 */
#define LEAST_PART 1e-4    /* of the first omega: as low as it falls where no multipliers are needed */
#define FIRST_EPOCH 8
#define AVERAGED 1.8     /* the variance of an average over T rounds with weights k(k+1) is 1.8/T of one round's */
#define MOST_STRIDE 25.0 /* rho_j, with margins that follow the answer (margin.h): rows must not be late */

/* ---- making one ----------------------------------------------------------------------------------------------------
 */

static void set_scales(tc_arena *arena, tc_controller *controller, size_t m) {
    const tc_tacit_facts *facts = controller->facts;
    bool unscaled = (controller->without & TC_WITHOUT_ROW_SCALES) != 0;
    double slack = INFINITY, scaled = INFINITY;
    controller->scale = TC_NEW(arena, double, m);
    controller->inverse = TC_NEW(arena, double, m);
    controller->weight = TC_NEW(arena, double, m);
    for (size_t j = 0; j < m; j++) {
        double room = isfinite(facts->slack[j]) ? facts->slack[j] : 1; /* without slacks R' is R max S_j */
        controller->scale[j] = unscaled ? 1 : facts->row_scale[j];
        controller->inverse[j] = 1 / controller->scale[j];
        controller->weight[j] = unscaled ? 4 : facts->weight[j];
        slack = fmin(slack, room);
        scaled = fmin(scaled, room / facts->row_scale[j]);
    }
    controller->length = facts->box_length > 0 ? facts->box_length : 1;
    controller->radius = unscaled && m > 0 ? facts->radius * scaled / slack : facts->radius;
}

static void start(tc_arena *arena, tc_controller *controller, const tc_model *model) {
    size_t m = model->constraint_count;
    double *numbers = TC_NEW(arena, double, 6 * m);
    controller->kept = (tc_controller_kept){.mu = numbers,
                                            .answer = numbers + m,
                                            .epoch_mean = numbers + 2 * m,
                                            .epoch_noise = numbers + 3 * m,
                                            .epoch_measured = numbers + 4 * m,
                                            .margin = numbers + 5 * m};
    double weight = FIRST_WEIGHT * controller->radius / controller->length;
    controller->state = (tc_controller_state){.length = FIRST_EPOCH,
                                              .next = FIRST_EPOCH,
                                              .fast = 1,
                                              .omega = !isfinite(weight) ? SOME_WEIGHT
                                                       : weight > 0      ? weight
                                                                         : LEAST_WEIGHT};
    controller->least_omega = LEAST_PART * controller->state.omega;
    for (size_t j = 0; j < m; j++) {
        controller->moved[j] = model->start_multipliers[j] * controller->scale[j];
        controller->kept.margin[j] =
            controller->facts->margin.kind == TC_MARGIN_GIVEN ? controller->facts->margin.amount : 0;
    }
    tc_project_multipliers(m, controller->radius, controller->moved, controller->kept.mu, controller->work);
    for (size_t j = 0; j < m; j++)
        controller->kept.answer[j] = controller->multipliers[j] = controller->kept.mu[j] * controller->inverse[j];
}

tc_controller *tc_controller_new(tc_arena *arena, const tc_tacit_facts *facts, const tc_plan *plan,
                                 const tc_model *model, const tc_derivatives *derivatives, tc_estimator *estimator,
                                 unsigned without) {
    size_t m = model->constraint_count;
    tc_controller *made = TC_NEW(arena, tc_controller, 1);
    *made = (tc_controller){.facts = facts,
                            .estimator = estimator,
                            .without = without,
                            .moved = TC_NEW(arena, double, m),
                            .work = TC_NEW(arena, double, m),
                            .led = TC_NEW(arena, double, m),
                            .multipliers = TC_NEW(arena, double, m)};
    set_scales(arena, made, m);
    tc_controller_rows_new(arena, &made->rows, plan, model, derivatives, made->inverse);
    made->input_variance = TC_NEW(arena, double, made->rows.inputs);
    for (size_t s = 0; s < made->rows.inputs; s++)
        made->input_variance[s] = tc_estimator_input_variance(estimator, s);
    made->margin = tc_margin_new(arena, facts, plan, model, derivatives);
    start(arena, made, model);
    return made;
}

/* ---- gains ---------------------------------------------------------------------------------------------------------
 */

tc_gains tc_controller_open(tc_controller *controller, uint64_t k) {
    tc_controller_state *state = &controller->state;
    double fast = state->fast, rest = 1 - fast;
    state->round = k;
    state->variance = rest * rest * state->variance + fast * fast;
    return (tc_gains){.fast = fast, .slow = tc_result_weight(TC_METHOD_TACIT, k)};
}

double tc_controller_average_gain(const tc_controller *controller) {
    double k = (double)controller->state.round;
    if ((controller->without & TC_WITHOUT_LATE_WEIGHTS) != 0)
        return 1 / k;
    if ((controller->without & TC_WITHOUT_AVERAGE) != 0)
        return 21 / (k + 20); /* weights about k^20 */
    return tc_result_weight(TC_METHOD_TACIT, controller->state.round);
}

/* ---- steps ---------------------------------------------------------------------------------------------------------
 */

typedef struct steps {
    double primal, dual;
    double pull;  /* a: what is taken of regularization in one step */
    double theta; /* lead */
} steps;

static double pull_at(const tc_controller *controller) {
    double k = (double)controller->state.round;
    double taper = fmax(0, 1 - k / (PULL_UNTIL * controller->facts->rounds));
    if ((controller->without & TC_WITHOUT_TAPER) != 0)
        taper = 1;
    return taper * taper / (k + PULL_DELAY);
}

/* d: what is left of the steps once all noise since k0 has moved the states by a part of X. */
static double decay_at(const tc_controller *controller, const steps *s, double price_noise) {
    const tc_controller_state *state = &controller->state;
    double dual = s->dual / state->omega;
    double noise = s->primal * s->primal * price_noise + dual * dual * controller->rows.total_noise;
    if (!(noise > 0) || (controller->without & TC_WITHOUT_DECAY) != 0)
        return 1;
    return fmin(1, NOISE_PART * controller->length / sqrt(noise * (double)(state->round - state->origin)));
}

static steps choose_steps(tc_controller *controller, tc_columns columns, tc_controller_bends bends) {
    tc_controller_state *state = &controller->state;
    double coupling = fmax(LEAST_COUPLING, sqrt(columns.reach * controller->rows.most_reach));
    steps s = {.primal = STEP_PART / (coupling * state->omega + (columns.curvature + bends.curvature)),
               .dual = STEP_PART * state->omega / coupling,
               .pull = pull_at(controller),
               .theta = 1 + LEAD * (1 - state->fast) / state->fast};
    if ((controller->without & TC_WITHOUT_LEAD) != 0)
        s.theta = 1;
    controller->decay = decay_at(controller, &s, columns.noise + bends.noise);
    s.primal *= controller->decay;
    s.dual *= controller->decay;
    return s;
}

/* The fast filter's gain of the next round. */
static double next_fast(const tc_controller *controller) {
    if ((controller->without & TC_WITHOUT_FILTER) != 0)
        return 1;
    double k = (double)controller->state.round;
    return fmin(1, fmax(controller->decay / WINDOW, FIRST_WINDOW / (k + 2)));
}

/* Of omega, where even the average of all rounds will be too noisy to tell states in the box apart: multipliers that
 * nothing can be known about are to do little. */
static double known_part(const tc_controller *controller) {
    double doubt = sqrt(AVERAGED * controller->rows.total_noise / controller->facts->rounds);
    double part = doubt > 0 ? controller->length / doubt : 1;
    return fmin(1, part * part);
}

/* In the first epoch r^ is not worth much, and slopes at it neither. Without --margin auto rho_j = 1. */
static double most_stride(const tc_controller *controller) {
    bool follows = controller->facts->margin.kind == TC_MARGIN_AUTO && controller->state.round >= FIRST_EPOCH;
    return follows ? MOST_STRIDE : 1;
}

/* mn = Proj_M'[(mu + gd rho gh) / (1 + a sw rho)] and mb = mn + theta (mn - mu), which may be negative. */
static void move_multipliers(tc_controller *controller, const steps *s) {
    double *mu = controller->kept.mu, *moved = controller->moved, *led = controller->led;
    size_t m = controller->rows.count;
    for (size_t j = 0; j < m; j++) {
        double measured = controller->rows.measured[j] + controller->kept.margin[j] * controller->inverse[j];
        double stride = controller->rows.stride[j];
        moved[j] = (mu[j] + s->dual * stride * measured) / (1 + s->pull * controller->weight[j] * stride);
        led[j] = mu[j];
    }
    tc_project_multipliers(m, controller->radius, moved, mu, controller->work);
    for (size_t j = 0; j < m; j++)
        led[j] = mu[j] + s->theta * (mu[j] - led[j]);
}

static void average_multipliers(tc_controller *controller) {
    double gain = tc_controller_average_gain(controller);
    for (size_t j = 0; j < controller->rows.count; j++) {
        controller->multipliers[j] = controller->kept.mu[j] * controller->inverse[j];
        controller->kept.answer[j] += gain * (controller->multipliers[j] - controller->kept.answer[j]);
    }
}

/* Which row to blame where a step is no number: the steepest. */
static size_t steepest_row(const tc_controller *controller) {
    size_t worst = 0;
    for (size_t j = 1; j < controller->rows.count; j++)
        worst = controller->rows.reach[j] > controller->rows.reach[worst] ? j : worst;
    return worst;
}

void tc_controller_first_tariff(tc_controller *controller, const tc_measurement *measurement) {
    const double *mu = controller->kept.mu;
    tc_controller_rows_evaluate(&controller->rows, measurement);
    (void)tc_controller_rows_bend(&controller->rows, measurement, mu);
    tc_controller_rows_tariff(&controller->rows, measurement, mu, mu, controller->input_variance,
                              tc_estimator_tariff(controller->estimator));
}

size_t tc_controller_step(tc_controller *controller, const tc_measurement *measurement, tc_columns columns,
                          tc_answer_scalars *scalars) {
    tc_controller_rows *rows = &controller->rows;
    tc_controller_state *state = &controller->state;
    if (rows->count == 0) {
        *scalars = (tc_answer_scalars){.step = 1, .regularization = pull_at(controller)};
        return TC_ALL_FINITE;
    }
    tc_controller_rows_evaluate(rows, measurement);
    size_t row = tc_controller_rows_measure(rows, measurement,
                                            (controller->without & TC_WITHOUT_BIAS) != 0 ? 0 : state->variance);
    if (row != TC_ALL_FINITE)
        return row;
    tc_controller_rows_stride(rows, most_stride(controller));
    if (state->round == 1)
        state->omega *= known_part(controller);
    steps s = choose_steps(controller, columns, tc_controller_rows_bend(rows, measurement, controller->kept.mu));
    if (!(s.primal > 0 && isfinite(s.primal) && s.dual >= 0 && isfinite(s.dual)))
        return steepest_row(controller);
    tc_margin_set(controller->margin, rows, measurement, state->round, controller->kept.margin);
    state->fast = next_fast(controller);
    move_multipliers(controller, &s);
    (void)tc_controller_rows_bend(rows, measurement, controller->kept.mu);
    tc_controller_rows_tariff(rows, measurement, controller->kept.mu, controller->led, controller->input_variance,
                              tc_estimator_tariff(controller->estimator));
    tc_controller_epoch(controller, s.dual);
    average_multipliers(controller);
    controller->measurement = measurement;
    *scalars = (tc_answer_scalars){.step = s.primal, .regularization = s.pull / s.primal};
    return TC_ALL_FINITE;
}

uint64_t tc_controller_round(const tc_controller *controller) { return controller->state.round; }
const double *tc_controller_multipliers(const tc_controller *controller) { return controller->multipliers; }
const double *tc_controller_result(const tc_controller *controller) { return controller->kept.answer; }

const tc_feasibility *tc_controller_feasibility(tc_controller *controller) {
    unsigned weights = TC_WITHOUT_LATE_WEIGHTS | TC_WITHOUT_AVERAGE;
    if (controller->measurement == NULL || (controller->without & weights) != 0)
        return NULL;
    return tc_margin_judge(controller->margin, &controller->rows, controller->measurement, controller->state.round);
}

/* ---- epochs --------------------------------------------------------------------------------------------------------
 */

#define EARLY 0.75      /* of all rounds: later, omega stays */
#define NOISE_GUARD 4.0 /* a mean counts where its square exceeds this many variances of its noise, */
#define NOISE_ROOM 0.5  /* and may be as much larger as this many standard deviations */
#define IDLE_GUARD 1.0  /* a constraint holds where it does so by as many standard deviations of its mean: */
#define IDLE_FALL 16.0  /* then omega and multipliers become smaller by this */
#define CLIMB 2.0       /* |mean|^2 is more than so many times the last epoch's: still on the way up, */
#define BOOST 3.0       /* and will be larger than it is now */
#define GROWS 2.0       /* omega has been too small by more than this */

typedef struct sizes {
    double all;     /* |mean|^2 */
    double certain; /* the part of it that is not noise */
    double up;      /* what noise could have hidden */
} sizes;

static sizes measure(const tc_controller *controller) {
    const tc_controller_kept *kept = &controller->kept;
    sizes found = {0};
    for (size_t j = 0; j < controller->rows.count; j++) {
        double mean = kept->epoch_mean[j], noise = kept->epoch_noise[j];
        double most = mean + NOISE_ROOM * sqrt(noise);
        found.all += mean * mean;
        found.certain += fmax(0, mean * mean - NOISE_GUARD * noise);
        found.up += most * most;
    }
    return found;
}

/* Whether every constraint held over the epoch, more clearly than noise makes it seem: where the states are now no
 * multiplier is needed, and what there is of them is noise. */
static bool is_idle(const tc_controller *controller) {
    for (size_t j = 0; j < controller->rows.count; j++) {
        double deviation = sqrt(controller->rows.noise[j] / (double)controller->state.count);
        if (controller->kept.epoch_measured[j] + IDLE_GUARD * deviation > 0)
            return false;
    }
    return true;
}

/* Multipliers go along, so that their noise keeps its size against omega. */
static void fall(tc_controller *controller) {
    if (controller->state.omega / IDLE_FALL < controller->least_omega)
        return;
    controller->state.omega /= IDLE_FALL;
    for (size_t j = 0; j < controller->rows.count; j++)
        controller->kept.mu[j] /= IDLE_FALL;
}

/* Returns whether omega grew: then noise from before counts as if it had been made with the new omega. */
static bool move_omega(tc_controller *controller, const sizes *found, bool climbs) {
    tc_controller_state *state = &controller->state;
    double wanted = sqrt(found->certain) / controller->length * (climbs ? BOOST : 1);
    if (wanted > GROWS * state->omega) {
        double part = state->omega / wanted;
        state->origin = state->round - (uint64_t)((double)(state->round - state->origin) * part * part);
        state->omega = wanted;
        return true;
    }
    if (found->certain > 0)
        state->omega = fmax(state->omega / 2, wanted);
    else if (is_idle(controller))
        fall(controller);
    else if (controller->decay >= 1)
        state->omega = fmin(state->omega, fmax(state->omega / 2, sqrt(found->up) / controller->length));
    return false;
}

static void end_epoch(tc_controller *controller) {
    tc_controller_state *state = &controller->state;
    size_t m = controller->rows.count;
    sizes found = measure(controller);
    bool climbs = found.all > CLIMB * state->last_size;
    bool early = (double)state->round <= EARLY * controller->facts->rounds;
    bool moves = early && (controller->without & TC_WITHOUT_PRIMAL_WEIGHT) == 0;
    bool grew = moves && move_omega(controller, &found, climbs);
    if (!grew && !(climbs && early && found.all > 0))
        state->length *= 2;
    state->last_size = found.all;
    state->next = state->round + state->length;
    state->count = 0;
    memset(controller->kept.epoch_mean, 0, m * sizeof(double));
    memset(controller->kept.epoch_noise, 0, m * sizeof(double));
    memset(controller->kept.epoch_measured, 0, m * sizeof(double));
}

void tc_controller_epoch(tc_controller *controller, double dual_step) {
    tc_controller_state *state = &controller->state;
    tc_controller_kept *kept = &controller->kept;
    state->count++;
    for (size_t j = 0; j < controller->rows.count; j++) {
        double stride = controller->rows.stride[j];
        double measured = controller->rows.measured[j] + kept->margin[j] * controller->inverse[j];
        kept->epoch_measured[j] += (measured - kept->epoch_measured[j]) / (double)state->count;
        kept->epoch_noise[j] += dual_step * dual_step * stride * controller->rows.noise[j];
        kept->epoch_mean[j] += (kept->mu[j] / sqrt(stride) - kept->epoch_mean[j]) / (double)state->count;
    }
    if (state->round >= state->next) /* beyond it where rounds are missing */
        end_epoch(controller);
}

/* ---- snapshots -----------------------------------------------------------------------------------------------------
 */

void tc_controller_snapshot(tc_controller *controller, tc_snapshot *memory) {
    tc_controller_state *state = &controller->state;
    uint64_t *const counts[] = {&state->round, &state->origin, &state->length, &state->next, &state->count};
    double *const numbers[] = {&state->omega, &state->fast, &state->variance, &state->last_size};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        tc_snapshot_count(memory, counts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tc_snapshot_numbers(memory, numbers[i], 1);
    tc_snapshot_numbers(memory, controller->kept.mu, 6 * controller->rows.count);
}

static bool is_sound(const tc_controller *controller) {
    const tc_controller_state *state = &controller->state;
    bool finite = true;
    for (size_t i = 0; i < 6 * controller->rows.count; i++)
        finite = finite && isfinite(controller->kept.mu[i]);
    for (size_t j = 0; j < controller->rows.count; j++)
        finite = finite && controller->kept.mu[j] >= 0;
    return finite && state->origin <= state->round && state->length > 0 && state->count < state->length &&
           state->omega > 0 && isfinite(state->omega) && state->fast > 0 && state->fast <= 1 && state->variance >= 0 &&
           isfinite(state->variance) && isfinite(state->last_size);
}

bool tc_controller_review(tc_controller *controller, const tc_measurement *measurement) {
    if (!is_sound(controller))
        return false;
    for (size_t j = 0; j < controller->rows.count; j++)
        controller->multipliers[j] = controller->kept.mu[j] * controller->inverse[j];
    if (controller->rows.count == 0 || controller->state.round == 0)
        return true;
    double variance = (controller->without & TC_WITHOUT_BIAS) != 0 ? 0 : controller->state.variance;
    tc_controller_rows_evaluate(&controller->rows, measurement);
    controller->measurement = measurement;
    return tc_controller_rows_measure(&controller->rows, measurement, variance) == TC_ALL_FINITE;
}
