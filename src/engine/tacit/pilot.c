#include "engine/tacit/pilot.h"

#include "engine/tacit/margin.h"
#include "engine/tacit/pilot_parts.h"
#include "engine/agent_half.h"
#include "solver/project/project.h"

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

static void set_scales(tc_arena *arena, tc_pilot *pilot, size_t m) {
    const tc_method_facts *facts = pilot->facts;
    bool unscaled = (pilot->without & TC_WITHOUT_ROW_SCALES) != 0;
    double slack = INFINITY, scaled = INFINITY;
    pilot->scale = TC_NEW(arena, double, m);
    pilot->inverse = TC_NEW(arena, double, m);
    pilot->weight = TC_NEW(arena, double, m);
    for (size_t j = 0; j < m; j++) {
        double room = isfinite(facts->slack[j]) ? facts->slack[j] : 1; /* without slacks R' is R max S_j */
        pilot->scale[j] = unscaled ? 1 : facts->row_scale[j];
        pilot->inverse[j] = 1 / pilot->scale[j];
        pilot->weight[j] = unscaled ? 4 : facts->weight[j];
        slack = fmin(slack, room);
        scaled = fmin(scaled, room / facts->row_scale[j]);
    }
    pilot->length = facts->box_length > 0 ? facts->box_length : 1;
    pilot->radius = unscaled && m > 0 ? facts->radius * scaled / slack : facts->radius;
}

static void start(tc_arena *arena, tc_pilot *pilot, const tc_model *model) {
    size_t m = model->constraint_count;
    double *numbers = TC_NEW(arena, double, 6 * m);
    pilot->kept = (tc_pilot_kept){.mu = numbers,
                                  .answer = numbers + m,
                                  .epoch_mean = numbers + 2 * m,
                                  .epoch_noise = numbers + 3 * m,
                                  .epoch_measured = numbers + 4 * m,
                                  .margin = numbers + 5 * m};
    double weight = FIRST_WEIGHT * pilot->radius / pilot->length;
    pilot->state = (tc_pilot_state){.length = FIRST_EPOCH,
                                    .next = FIRST_EPOCH,
                                    .fast = 1,
                                    .omega = !isfinite(weight) ? SOME_WEIGHT
                                             : weight > 0      ? weight
                                                               : LEAST_WEIGHT};
    pilot->least_omega = LEAST_PART * pilot->state.omega;
    for (size_t j = 0; j < m; j++) {
        pilot->moved[j] = model->start_multipliers[j] * pilot->scale[j];
        pilot->kept.margin[j] = pilot->facts->margin.kind == TC_MARGIN_GIVEN ? pilot->facts->margin.amount : 0;
    }
    tc_project_multipliers(m, pilot->radius, pilot->moved, pilot->kept.mu, pilot->work);
    for (size_t j = 0; j < m; j++)
        pilot->kept.answer[j] = pilot->multipliers[j] = pilot->kept.mu[j] * pilot->inverse[j];
}

tc_pilot *tc_pilot_new(tc_arena *arena, const tc_method_facts *facts, const tc_plan *plan, const tc_model *model,
                       const tc_derivatives *derivatives, tc_gauge *gauge, unsigned without) {
    size_t m = model->constraint_count;
    tc_pilot *made = TC_NEW(arena, tc_pilot, 1);
    *made = (tc_pilot){.facts = facts,
                       .gauge = gauge,
                       .without = without,
                       .moved = TC_NEW(arena, double, m),
                       .work = TC_NEW(arena, double, m),
                       .led = TC_NEW(arena, double, m),
                       .multipliers = TC_NEW(arena, double, m)};
    set_scales(arena, made, m);
    tc_pilot_rows_new(arena, &made->rows, plan, model, derivatives, made->inverse);
    made->input_variance = TC_NEW(arena, double, made->rows.inputs);
    for (size_t s = 0; s < made->rows.inputs; s++)
        made->input_variance[s] = tc_gauge_input_variance(gauge, s);
    made->margin = tc_margin_new(arena, facts, plan, model, derivatives);
    start(arena, made, model);
    return made;
}

/* ---- gains ---------------------------------------------------------------------------------------------------------
 */

tc_gains tc_pilot_open(tc_pilot *pilot, uint64_t k) {
    tc_pilot_state *state = &pilot->state;
    double fast = state->fast, rest = 1 - fast;
    state->round = k;
    state->variance = rest * rest * state->variance + fast * fast;
    return (tc_gains){.fast = fast, .slow = tc_result_weight(TC_METHOD_TACIT, k)};
}

double tc_pilot_average_gain(const tc_pilot *pilot) {
    double k = (double)pilot->state.round;
    if ((pilot->without & TC_WITHOUT_LATE_WEIGHTS) != 0)
        return 1 / k;
    if ((pilot->without & TC_WITHOUT_AVERAGE) != 0)
        return 21 / (k + 20); /* weights about k^20 */
    return tc_result_weight(TC_METHOD_TACIT, pilot->state.round);
}

/* ---- steps ---------------------------------------------------------------------------------------------------------
 */

typedef struct steps {
    double primal, dual;
    double pull;  /* a: what is taken of regularization in one step */
    double theta; /* lead */
} steps;

static double pull_at(const tc_pilot *pilot) {
    double k = (double)pilot->state.round;
    double taper = fmax(0, 1 - k / (PULL_UNTIL * pilot->facts->rounds));
    if ((pilot->without & TC_WITHOUT_TAPER) != 0)
        taper = 1;
    return taper * taper / (k + PULL_DELAY);
}

/* d: what is left of the steps once all noise since k0 has moved the states by a part of X. */
static double decay_at(const tc_pilot *pilot, const steps *s, double price_noise) {
    const tc_pilot_state *state = &pilot->state;
    double dual = s->dual / state->omega;
    double noise = s->primal * s->primal * price_noise + dual * dual * pilot->rows.total_noise;
    if (!(noise > 0) || (pilot->without & TC_WITHOUT_DECAY) != 0)
        return 1;
    return fmin(1, NOISE_PART * pilot->length / sqrt(noise * (double)(state->round - state->origin)));
}

static steps choose_steps(tc_pilot *pilot, tc_columns columns, tc_pilot_bends bends) {
    tc_pilot_state *state = &pilot->state;
    double coupling = fmax(LEAST_COUPLING, sqrt(columns.reach * pilot->rows.most_reach));
    steps s = {.primal = STEP_PART / (coupling * state->omega + (columns.curvature + bends.curvature)),
               .dual = STEP_PART * state->omega / coupling,
               .pull = pull_at(pilot),
               .theta = 1 + LEAD * (1 - state->fast) / state->fast};
    if ((pilot->without & TC_WITHOUT_LEAD) != 0)
        s.theta = 1;
    pilot->decay = decay_at(pilot, &s, columns.noise + bends.noise);
    s.primal *= pilot->decay;
    s.dual *= pilot->decay;
    return s;
}

/* The fast filter's gain of the next round. */
static double next_fast(const tc_pilot *pilot) {
    if ((pilot->without & TC_WITHOUT_FILTER) != 0)
        return 1;
    double k = (double)pilot->state.round;
    return fmin(1, fmax(pilot->decay / WINDOW, FIRST_WINDOW / (k + 2)));
}

/* Of omega, where even the average of all rounds will be too noisy to tell states in the box apart: multipliers that
 * nothing can be known about are to do little. */
static double known_part(const tc_pilot *pilot) {
    double doubt = sqrt(AVERAGED * pilot->rows.total_noise / pilot->facts->rounds);
    double part = doubt > 0 ? pilot->length / doubt : 1;
    return fmin(1, part * part);
}

/* In the first epoch r^ is not worth much, and slopes at it neither. Without --margin auto rho_j = 1. */
static double most_stride(const tc_pilot *pilot) {
    bool follows = pilot->facts->margin.kind == TC_MARGIN_AUTO && pilot->state.round >= FIRST_EPOCH;
    return follows ? MOST_STRIDE : 1;
}

/* mn = Proj_M'[(mu + gd rho gh) / (1 + a sw rho)] and mb = mn + theta (mn - mu), which may be negative. */
static void move_multipliers(tc_pilot *pilot, const steps *s) {
    double *mu = pilot->kept.mu, *moved = pilot->moved, *led = pilot->led;
    size_t m = pilot->rows.count;
    for (size_t j = 0; j < m; j++) {
        double measured = pilot->rows.measured[j] + pilot->kept.margin[j] * pilot->inverse[j];
        double stride = pilot->rows.stride[j];
        moved[j] = (mu[j] + s->dual * stride * measured) / (1 + s->pull * pilot->weight[j] * stride);
        led[j] = mu[j];
    }
    tc_project_multipliers(m, pilot->radius, moved, mu, pilot->work);
    for (size_t j = 0; j < m; j++)
        led[j] = mu[j] + s->theta * (mu[j] - led[j]);
}

static void average_multipliers(tc_pilot *pilot) {
    double gain = tc_pilot_average_gain(pilot);
    for (size_t j = 0; j < pilot->rows.count; j++) {
        pilot->multipliers[j] = pilot->kept.mu[j] * pilot->inverse[j];
        pilot->kept.answer[j] += gain * (pilot->multipliers[j] - pilot->kept.answer[j]);
    }
}

/* Which row to blame where a step is no number: the steepest. */
static size_t steepest_row(const tc_pilot *pilot) {
    size_t worst = 0;
    for (size_t j = 1; j < pilot->rows.count; j++)
        worst = pilot->rows.reach[j] > pilot->rows.reach[worst] ? j : worst;
    return worst;
}

void tc_pilot_first_tariff(tc_pilot *pilot, const tc_gauged *gauged) {
    const double *mu = pilot->kept.mu;
    tc_pilot_rows_evaluate(&pilot->rows, gauged);
    (void)tc_pilot_rows_bend(&pilot->rows, gauged, mu);
    tc_pilot_rows_tariff(&pilot->rows, gauged, mu, mu, pilot->input_variance, tc_gauge_tariff(pilot->gauge));
}

size_t tc_pilot_step(tc_pilot *pilot, const tc_gauged *gauged, tc_columns columns, tc_answer_scalars *scalars) {
    tc_pilot_rows *rows = &pilot->rows;
    tc_pilot_state *state = &pilot->state;
    if (rows->count == 0) {
        *scalars = (tc_answer_scalars){.step = 1, .regularization = pull_at(pilot)};
        return TC_ALL_FINITE;
    }
    tc_pilot_rows_evaluate(rows, gauged);
    size_t row = tc_pilot_rows_measure(rows, gauged, (pilot->without & TC_WITHOUT_BIAS) != 0 ? 0 : state->variance);
    if (row != TC_ALL_FINITE)
        return row;
    tc_pilot_rows_stride(rows, most_stride(pilot));
    if (state->round == 1)
        state->omega *= known_part(pilot);
    steps s = choose_steps(pilot, columns, tc_pilot_rows_bend(rows, gauged, pilot->kept.mu));
    if (!(s.primal > 0 && isfinite(s.primal) && s.dual >= 0 && isfinite(s.dual)))
        return steepest_row(pilot);
    tc_margin_set(pilot->margin, rows, gauged, state->round, pilot->kept.margin);
    state->fast = next_fast(pilot);
    move_multipliers(pilot, &s);
    (void)tc_pilot_rows_bend(rows, gauged, pilot->kept.mu);
    tc_pilot_rows_tariff(rows, gauged, pilot->kept.mu, pilot->led, pilot->input_variance,
                         tc_gauge_tariff(pilot->gauge));
    tc_pilot_epoch(pilot, s.dual);
    average_multipliers(pilot);
    pilot->gauged = gauged;
    *scalars = (tc_answer_scalars){.step = s.primal, .regularization = s.pull / s.primal};
    return TC_ALL_FINITE;
}

uint64_t tc_pilot_round(const tc_pilot *pilot) { return pilot->state.round; }
const double *tc_pilot_multipliers(const tc_pilot *pilot) { return pilot->multipliers; }
const double *tc_pilot_answer(const tc_pilot *pilot) { return pilot->kept.answer; }

const tc_feasibility *tc_pilot_feasibility(tc_pilot *pilot) {
    unsigned weights = TC_WITHOUT_LATE_WEIGHTS | TC_WITHOUT_AVERAGE;
    if (pilot->gauged == NULL || (pilot->without & weights) != 0)
        return NULL;
    return tc_margin_judge(pilot->margin, &pilot->rows, pilot->gauged, pilot->state.round);
}
