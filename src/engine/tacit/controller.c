/* One round of docs/method.md, in its order; tc_controller_decide at the end puts the parts together. */
#include "engine/tacit/controller.h"

#include "engine/agent_half.h"
#include "engine/tacit/controller_inside.h"
#include "solver/project/set.h"

#include <string.h>

#define FIRST_EPOCH 8
#define AVERAGED 1.8 /* an average over T rounds with weights k (k+1) has 1.8/T of the variance of one round */

static bool is_without(const tc_controller *controller, tc_without part) { return (controller->without & part) != 0; }

/* ---- filter --------------------------------------------------------------------------------------------------------
 *
 *     y += beta (o - y),    r += 3/(k+2) (o - r)          (the estimator does that)
 *     vy = (1 - beta)^2 vy + beta^2 */

tc_gains tc_controller_gains(const tc_controller *controller, uint64_t k) {
    return (tc_gains){.beta = controller->state.beta, .slow = tc_result_weight(TC_METHOD_TACIT, k)};
}

void tc_controller_open(tc_controller *controller, uint64_t k) {
    tc_controller_state *state = &controller->state;
    double beta = state->beta, rest = 1 - beta;
    state->round = k;
    state->vy = rest * rest * state->vy + beta * beta;
}

/* g^ = g(r^) + g'(r^)(y - r^) + (y - r^)' g''(r^) (y - r^)/2 - (what the noise in y adds on the average) */
static size_t measure(tc_controller *controller, const tc_measurement *measurement) {
    double vy = is_without(controller, TC_WITHOUT_BIAS) ? 0 : controller->state.vy;
    tc_controller_rows_evaluate(&controller->rows, measurement);
    return tc_controller_rows_measure(&controller->rows, measurement, vy);
}

/* beta = d/3 in the next round; at least 2/(k+2), so that no early noise is kept for long. */
static double next_beta(const tc_controller *controller) {
    double k = (double)controller->state.round;
    if (is_without(controller, TC_WITHOUT_FILTER))
        return 1;
    return fmin(1, fmax(controller->d / 3.0, 2.0 / (k + 2)));
}

/* ---- steps ---------------------------------------------------------------------------------------------------------
 *
 *     D' = min(1, 1.2 X / sqrt(v (k - k0))),    D = D' (1 - a (1 - D'^4) (1 - min(1, 0.15 T/k)))
 *     1/d = (1 - a)/D + a/D^(1/4),    omega_d = omega D/d
 *     primal = 0.9 d / (N omega_d + L),    dual = 0.9 d omega_d / N,    theta = 1 + 2 (1 - beta)/beta
 *
 * v: the variance that noise would put into the states in a round, with steps that are not shortened. a: how far the
 * loop is affine. Where it is, noise enters by the dual step alone, and the agents' steps need not be shortened. */

#define STEP_PART 0.9  /* of the largest steps that the linearised loop is stable with */
#define LEAST_N 0.1    /* N is not taken to be smaller */
#define NOISE_PART 1.2 /* allowed drift of the states from noise since k0, as a fraction of X */
#define LATE_PART 0.15 /* of all rounds: from there on noise is let in less and less */

/* The pull towards the least norm, of one step: (1 - k/(0.4 T))^2 / (k+4) until 0.4 T, then 0. */
static double pull_at(const tc_controller *controller) {
    double k = (double)controller->state.round;
    double taper = fmax(0, 1 - k / (0.4 * controller->facts->rounds));
    if (is_without(controller, TC_WITHOUT_TAPER))
        taper = 1;
    return taper * taper / (k + 4.0);
}

static tc_loop_gains gains_of(const tc_controller *controller, tc_columns columns, tc_controller_bends bends) {
    return (tc_loop_gains){.N = fmax(LEAST_N, sqrt(columns.reach * controller->rows.most_reach)),
                           .L = columns.curvature + bends.curvature,
                           .price_noise = columns.noise + bends.noise};
}

/* min(1, 0.15 T/k). Not in units whose noise grows with the rounds: there multipliers climb to the end. */
static double late_part(const tc_controller *controller) {
    return controller->hides_every_round
               ? 1
               : fmin(1, LATE_PART * controller->facts->rounds / (double)controller->state.round);
}

/* Sets d, and returns omega_d. */
static double shorten(tc_controller *controller, const tc_loop_gains *gains) {
    const tc_controller_state *state = &controller->state;
    double affine = gains->N * state->omega / (gains->N * state->omega + gains->L);
    double primal = STEP_PART * affine / (gains->N * state->omega), dual = STEP_PART / gains->N;
    double by_dual = dual * dual * controller->rows.total_noise;
    double v = primal * primal * gains->price_noise + by_dual;
    controller->d = 1;
    if (!(v > 0) || is_without(controller, TC_WITHOUT_DECAY))
        return state->omega;
    double a = is_without(controller, TC_WITHOUT_AFFINE) ? 0 : affine * affine * by_dual / v;
    double D = fmin(1, NOISE_PART * controller->X / sqrt(v * (double)(state->round - state->origin)));
    D *= 1 - a * (1 - D * D * D * D) * (1 - late_part(controller));
    double root = sqrt(sqrt(D));
    controller->d = D * root / ((1 - a) * root + a * D);
    return state->omega * D / controller->d;
}

static tc_loop_steps choose_steps(tc_controller *controller, const tc_loop_gains *gains) {
    tc_controller_state *state = &controller->state;
    double omega = shorten(controller, gains);
    tc_loop_steps s = {.primal = STEP_PART * controller->d / (gains->N * omega + gains->L),
                       .dual = STEP_PART * controller->d * omega / gains->N,
                       .pull = pull_at(controller),
                       .theta = 1 + 2.0 * (1 - state->beta) / state->beta};
    if (is_without(controller, TC_WITHOUT_LEAD))
        s.theta = 1;
    return s;
}

/* The row to report if a step is not a number: the steepest. */
static size_t steepest_row(const tc_controller *controller) {
    size_t worst = 0;
    for (size_t j = 1; j < controller->rows.count; j++)
        worst = controller->rows.reach[j] > controller->rows.reach[worst] ? j : worst;
    return worst;
}

/* ---- multipliers ---------------------------------------------------------------------------------------------------
 *
 *     mu(k+1) = Proj_M'[ (mu(k) + dual rho (g^ + M)) / (1 + pull w rho) ]
 *     mu_led = mu(k+1) + theta (mu(k+1) - mu(k))          (may be negative) */

#define MOST_RHO 25.0 /* with --margin auto: rows whose multipliers are late cost margins */

/* In the first epoch r^ and the slopes there are not reliable. Without --margin auto rho_j = 1. */
static double most_rho(const tc_controller *controller) {
    bool follows = controller->facts->margin.kind == TC_MARGIN_AUTO && controller->state.round >= FIRST_EPOCH;
    return follows ? MOST_RHO : 1;
}

/* g^_j + M_j, scaled. */
static double g_with_margin(const tc_controller *controller, size_t j) {
    return controller->rows.g_hat[j] + controller->kept.margin[j] * controller->inverse_S[j];
}

static void move_multipliers(tc_controller *controller, const tc_loop_steps *s) {
    double *mu = controller->kept.mu, *moved = controller->moved, *mu_led = controller->mu_led;
    size_t m = controller->rows.count;
    for (size_t j = 0; j < m; j++) {
        double rho = controller->rows.rho[j];
        moved[j] =
            (mu[j] + s->dual * rho * g_with_margin(controller, j)) / (1 + s->pull * controller->pull_weight[j] * rho);
        mu_led[j] = mu[j];
    }
    tc_project_multipliers(controller->constraints, m, controller->R, moved, mu, controller->work);
    for (size_t j = 0; j < m; j++)
        mu_led[j] = mu[j] + s->theta * (mu[j] - mu_led[j]);
}

/* ---- balance: omega ------------------------------------------------------------------------------------------------
 *
 * omega follows the mean of mu over epochs of growing length. Noise alone must not make it grow, and a mean hidden by
 * noise must not make it fall. It begins where public gaps put it, which may be far too high: while no row is seen to
 * need a multiplier, it falls fast. Where a row is seen to be over its limit and noise hides the mean, it grows fast:
 * mu is too small, and does not climb by itself in the time that is left. Where two epochs agree about mu, it has
 * settled, whatever noise could have done: omega then goes to a part of what balances sizes, so that agents' steps are
 * longer and noise moves mu less. */

#define OMEGA_UNTIL 0.75  /* of all rounds: later, omega stays */
#define NOISE_GUARD 4.0   /* a mean counts where its square exceeds this many variances of its noise, */
#define NOISE_ROOM 0.5    /* and may be larger by this many standard deviations */
#define IDLE_GUARD 1.0    /* a constraint holds where it does so by this many standard deviations of its mean: */
#define BURIED 0.7        /* an equality needs none where its mean is at most this many deviations of its noise: */
#define IDLE_FALL 16.0    /* then omega and multipliers are divided by this */
#define STILL 1.2         /* |mean|^2 is that of the epoch before but for this factor, and no row is over its limit: */
#define SETTLED_PART 0.3  /* then omega goes to this part of |mean|/X */
#define OVER_GUARD 1.5    /* a single row is seen to be over its limit where its mean is by so many deviations, */
#define OVER_FROM 0.05    /* from this part of all rounds on. If the mean of mu then is */
#define OVER_HIDDEN 5.0   /* less than so many deviations of its noise, mu is too small: */
#define OVER_RISE 4.0     /* omega is multiplied by this, */
#define OVER_FAR 100.0    /* or, if it is less than so many times the least omega, by IDLE_FALL */
#define RISE 2.0          /* |mean|^2 is more than this many times that of the epoch before: mu still rises, */
#define RISE_AHEAD 3.0    /* and is taken to become this many times as large */
#define TOO_SMALL 2.0     /* omega grows where it has been too small by more than this */
#define CLIMB_ROUNDS 0.25 /* of all rounds: in these, */
#define CLIMB_PART 0.04   /* multipliers can climb to this part of R', */
#define DOUBTS 4.0        /* or to a smaller one where their noise is large */

typedef struct mu_sizes {
    double all;     /* |mean|^2 */
    double certain; /* the part of it that is not noise */
    double up;      /* with what noise could have hidden */
    double noise;   /* its variance */
} mu_sizes;

static mu_sizes size_up(const tc_controller *controller) {
    const tc_controller_kept *kept = &controller->kept;
    mu_sizes found = {0};
    for (size_t j = 0; j < controller->rows.count; j++) {
        double mean = kept->epoch_mu[j], noise = kept->epoch_noise[j];
        double most = fabs(mean) + NOISE_ROOM * sqrt(noise);
        found.all += mean * mean;
        found.certain += fmax(0, mean * mean - NOISE_GUARD * noise);
        found.up += most * most;
        found.noise += noise;
    }
    return found;
}

/* Of the mean of g^_j over the epoch. */
static double deviation_of(const tc_controller *controller, size_t j) {
    return sqrt(controller->rows.noise[j] / (double)controller->state.epoch_rounds);
}

/* At the present states a row needs no multiplier, and the present one is noise. An inequality held over the epoch,
 * more clearly than noise makes it seem. An equality never holds clearly; but its multiplier may be far smaller than
 * what noise puts into it, while the row is not seen to be off. */
static bool is_row_idle(const tc_controller *controller, size_t j) {
    const tc_controller_kept *kept = &controller->kept;
    if (controller->constraints[j].is_equality)
        return fabs(kept->epoch_mu[j]) <= BURIED * sqrt(kept->epoch_noise[j]) &&
               fabs(kept->epoch_g_hat[j]) <= IDLE_GUARD * deviation_of(controller, j);
    return kept->epoch_g_hat[j] + IDLE_GUARD * deviation_of(controller, j) <= 0;
}

static bool is_idle(const tc_controller *controller) {
    for (size_t j = 0; j < controller->rows.count; j++)
        if (!is_row_idle(controller, j))
            return false;
    return true;
}

/* How far row j's mean was over its limit in the epoch; of an equality, how far it was off. */
static double excess_of(const tc_controller *controller, size_t j) {
    double mean = controller->kept.epoch_g_hat[j];
    return controller->constraints[j].is_equality ? fabs(mean) : mean;
}

/* The epoch's mean of mu is that of the epoch before, and no row asks for a larger multiplier. Not in units whose noise
 * grows with the rounds: more rounds average nothing out there, and epochs agree by chance. */
static bool has_settled(const tc_controller *controller, const mu_sizes *found) {
    double before = controller->state.last_size;
    if (controller->hides_every_round || !(found->all < STILL * before && before < STILL * found->all))
        return false;
    for (size_t j = 0; j < controller->rows.count; j++)
        if (excess_of(controller, j) > deviation_of(controller, j))
            return false;
    return true;
}

/* A noisy row is over its limit, more clearly than the largest of m independent deviations would make it seem: one of m
 * standard normal numbers exceeds sqrt(z^2 + 2 log m) about as rarely as a single one exceeds z (an equality, which has
 * two sides, twice as often). Without noise there is nothing to tell apart, and in units whose noise grows with the
 * rounds mu climbs to the end. */
static bool is_over(const tc_controller *controller) {
    const tc_controller_state *state = &controller->state;
    double noisy = 0, most = -INFINITY;
    if (controller->hides_every_round || (double)state->round < OVER_FROM * controller->facts->rounds)
        return false;
    for (size_t j = 0; j < controller->rows.count; j++) {
        if (!(controller->rows.noise[j] > 0))
            continue;
        noisy++;
        most = fmax(most, excess_of(controller, j) / deviation_of(controller, j));
    }
    return noisy > 0 && most > sqrt(OVER_GUARD * OVER_GUARD + 2 * log(noisy));
}

/* The factor by which omega is too small at least; 1 where nothing tells so. Where the mean of mu is known and fits
 * omega, a row over its limit only shows that mu has a way to go. */
static double missing_of(const tc_controller *controller, const mu_sizes *found, bool fits) {
    if (fits || !(found->all < OVER_HIDDEN * OVER_HIDDEN * found->noise) || !is_over(controller))
        return 1;
    return controller->state.omega < OVER_FAR * controller->least_omega ? IDLE_FALL : OVER_RISE;
}

/* Multipliers fall with omega, so that their noise keeps its size against it. But where omega has grown, they are known
 * to be needed: they stay, and omega is halved. */
static void fall(tc_controller *controller) {
    bool is_needed = controller->state.origin > 0;
    double part = is_needed ? 2 : IDLE_FALL;
    if (controller->state.omega / part < controller->least_omega)
        return;
    controller->state.omega /= part;
    for (size_t j = 0; j < controller->rows.count && !is_needed; j++)
        controller->kept.mu[j] /= part;
}

/* Returns whether omega grew: then noise from before counts as if it had been made with the new omega. */
static bool move_omega(tc_controller *controller, const mu_sizes *found, bool rises) {
    tc_controller_state *state = &controller->state;
    bool settled = has_settled(controller, found);
    double share = rises ? RISE_AHEAD : settled ? SETTLED_PART : 1;
    double wanted = sqrt(found->certain) / controller->X * share;
    bool fits = found->certain > 0 && wanted <= TOO_SMALL * state->omega;
    double missing = missing_of(controller, found, fits);
    double balanced = sqrt(found->all) / controller->X * SETTLED_PART;
    if (missing > 1) /* no multiplier is larger than R' */
        wanted = fmax(wanted, fmin(missing * state->omega, controller->R / controller->X));
    if (wanted > TOO_SMALL * state->omega) {
        double part = state->omega / wanted;
        state->origin = state->round - (uint64_t)((double)(state->round - state->origin) * part * part);
        state->omega = wanted;
        return true;
    }
    if (found->certain > 0)
        state->omega = fmax(state->omega / 2, wanted);
    else if (is_idle(controller))
        fall(controller);
    else if (settled && balanced < state->omega)
        state->omega = fmax(state->omega / 2, balanced);
    else if (controller->d >= 1)
        state->omega = fmin(state->omega, fmax(state->omega / 2, sqrt(found->up) / controller->X));
    return false;
}

static void end_epoch(tc_controller *controller) {
    tc_controller_state *state = &controller->state;
    size_t m = controller->rows.count;
    mu_sizes found = size_up(controller);
    bool rises = found.all > RISE * state->last_size;
    bool is_early = (double)state->round <= OMEGA_UNTIL * controller->facts->rounds;
    bool moves = is_early && !is_without(controller, TC_WITHOUT_PRIMAL_WEIGHT);
    bool grew = moves && move_omega(controller, &found, rises);
    if (!grew && !(rises && is_early && found.all > 0))
        state->epoch_length *= 2;
    state->last_size = found.all;
    state->epoch_end = state->round + state->epoch_length;
    state->epoch_rounds = 0;
    memset(controller->kept.epoch_mu, 0, m * sizeof(double));
    memset(controller->kept.epoch_noise, 0, m * sizeof(double));
    memset(controller->kept.epoch_g_hat, 0, m * sizeof(double));
}

/* Counts the round; at the end of an epoch, a new omega. */
void tc_controller_balance(tc_controller *controller, double dual) {
    tc_controller_state *state = &controller->state;
    tc_controller_kept *kept = &controller->kept;
    state->epoch_rounds++;
    for (size_t j = 0; j < controller->rows.count; j++) {
        double rho = controller->rows.rho[j];
        double g = g_with_margin(controller, j);
        kept->epoch_g_hat[j] += (g - kept->epoch_g_hat[j]) / (double)state->epoch_rounds;
        kept->epoch_noise[j] += dual * dual * rho * controller->rows.noise[j];
        kept->epoch_mu[j] += (kept->mu[j] / sqrt(rho) - kept->epoch_mu[j]) / (double)state->epoch_rounds;
    }
    if (state->round >= state->epoch_end) /* beyond it where rounds are missing */
        end_epoch(controller);
}

/* Variance of the averaged noise that all rounds leave in the constraints, over X^2. */
static double doubt_of(const tc_controller *controller) {
    double doubt = AVERAGED * controller->rows.total_noise / controller->facts->rounds;
    return doubt / (controller->X * controller->X);
}

/* The largest steps of multipliers, in sum over the first CLIMB_ROUNDS of all rounds, as a multiple of omega X;
 * infinity where noise does not shorten them. */
static double climb_of(const tc_controller *controller, const tc_loop_gains *gains) {
    double rounds = CLIMB_ROUNDS * controller->facts->rounds;
    double first = NOISE_PART * controller->X * gains->N / (STEP_PART * sqrt(controller->rows.total_noise));
    if (first * first >= rounds) /* d = 1 until first^2, then first / sqrt(k) */
        return INFINITY;
    return STEP_PART * (first * first + 2 * first * (sqrt(rounds) - first));
}

/* In round 1. If even the average of all rounds will be too noisy to tell states in the box apart, nothing can be known
 * about multipliers, so they should do little. If noise leaves steps so short that multipliers could not climb to a
 * small part of R' early, omega begins higher; less so, the less can be known about multipliers. */
static void start_omega(tc_controller *controller, const tc_loop_gains *gains) {
    double doubt = doubt_of(controller), *omega = &controller->state.omega;
    if (!(doubt > 0))
        return;
    *omega *= fmin(1, 1 / doubt);
    if (isfinite(controller->R))
        *omega = fmax(*omega, CLIMB_PART * controller->R /
                                  (controller->X * climb_of(controller, gains) * (1 + DOUBTS * doubt)));
}

/* ---- average -------------------------------------------------------------------------------------------------------
 *
 *     average += 3/(k+2) (mu(k+1) - average): weights k (k+1) */

double tc_controller_average_gain(const tc_controller *controller) {
    double k = (double)controller->state.round;
    if (is_without(controller, TC_WITHOUT_LATE_WEIGHTS))
        return 1 / k;
    if (is_without(controller, TC_WITHOUT_AVERAGE))
        return 21 / (k + 20); /* weights about k^20 */
    return tc_result_weight(TC_METHOD_TACIT, controller->state.round);
}

static void average_multipliers(tc_controller *controller) {
    double gain = tc_controller_average_gain(controller);
    for (size_t j = 0; j < controller->rows.count; j++) {
        controller->multipliers[j] = controller->kept.mu[j] * controller->inverse_S[j];
        controller->kept.mu_average[j] += gain * (controller->multipliers[j] - controller->kept.mu_average[j]);
    }
}

/* ---- the round --------------------------------------------------------------------------------------------------- */

tc_loop_steps tc_controller_steps(tc_controller *controller, const tc_loop_gains *gains) {
    if (controller->state.round == 1)
        start_omega(controller, gains);
    return choose_steps(controller, gains);
}

void tc_controller_climb(tc_controller *controller, const tc_loop_steps *steps) {
    controller->state.beta = next_beta(controller);
    move_multipliers(controller, steps);
}

void tc_controller_first_tariff(tc_controller *controller, const tc_measurement *measurement) {
    const double *mu = controller->kept.mu;
    tc_controller_rows_evaluate(&controller->rows, measurement);
    (void)tc_controller_rows_bend(&controller->rows, measurement, mu);
    tc_controller_rows_tariff(&controller->rows, measurement, mu, mu, controller->inputs,
                              tc_estimator_tariff(controller->estimator));
}

size_t tc_controller_decide(tc_controller *controller, const tc_measurement *measurement, tc_columns columns,
                            tc_answer_scalars *scalars) {
    tc_controller_rows *rows = &controller->rows;
    tc_controller_state *state = &controller->state;
    double *mu = controller->kept.mu;
    if (rows->count == 0) {
        *scalars = (tc_answer_scalars){.step = 1, .regularization = pull_at(controller)};
        return TC_ALL_FINITE;
    }
    /* g^ at the filtered state */
    size_t row = measure(controller, measurement);
    if (row != TC_ALL_FINITE)
        return row;
    tc_controller_rows_stride(rows, most_rho(controller));
    /* N, L, d, and steps from them */
    tc_loop_gains gains = gains_of(controller, columns, tc_controller_rows_bend(rows, measurement, mu));
    tc_loop_steps s = tc_controller_steps(controller, &gains);
    if (!(s.primal > 0 && isfinite(s.primal) && s.dual >= 0 && isfinite(s.dual)))
        return steepest_row(controller);
    tc_margin_set(controller->margin, rows, measurement, state->round, controller->kept.margin);
    /* mu(k+1) and mu_led, and prices from them */
    tc_controller_climb(controller, &s);
    (void)tc_controller_rows_bend(rows, measurement, mu);
    tc_controller_rows_tariff(rows, measurement, mu, controller->mu_led, controller->inputs,
                              tc_estimator_tariff(controller->estimator));
    tc_controller_balance(controller, s.dual);
    average_multipliers(controller);
    controller->measurement = measurement;
    *scalars = (tc_answer_scalars){.step = s.primal, .regularization = s.pull / s.primal};
    if (tc_controller_moves(controller))
        *scalars =
            (tc_answer_scalars){.step = tc_margin_judge(controller->margin, rows, measurement, state->round)->move};
    return TC_ALL_FINITE;
}

uint64_t tc_controller_round(const tc_controller *controller) { return controller->state.round; }
const double *tc_controller_multipliers(const tc_controller *controller) { return controller->multipliers; }

/* Rows g_j = c_j h: the loop knows P = sum c_l mu_l and not how they share it. The multipliers of least norm do so as
 * mu_j = c_j P / sum c^2. */
static void share_among_multiples(const tc_multiples *same, double *mu) {
    for (size_t group = 0, i = 0; group < same->groups; group++) {
        double P = 0, squares = 0;
        size_t first = i;
        for (; i < same->ends[group]; i++) {
            P += same->factors[i] * mu[same->rows[i]];
            squares += same->factors[i] * same->factors[i];
        }
        for (size_t l = first; l < i; l++)
            mu[same->rows[l]] = same->factors[l] * (P / squares);
    }
}

const double *tc_controller_result(tc_controller *controller) {
    if (controller->facts->same.groups == 0)
        return controller->kept.mu_average;
    memcpy(controller->shared, controller->kept.mu_average, controller->rows.count * sizeof(double));
    share_among_multiples(&controller->facts->same, controller->shared);
    return controller->shared;
}

/* Then r is not the average of the same states. */
static bool has_other_weights(const tc_controller *controller) {
    return is_without(controller, TC_WITHOUT_LATE_WEIGHTS) || is_without(controller, TC_WITHOUT_AVERAGE);
}

bool tc_controller_moves(const tc_controller *controller) {
    const tc_tacit_facts *facts = controller->facts;
    return facts->moves && (double)controller->state.round == facts->rounds && !has_other_weights(controller);
}

const tc_feasibility *tc_controller_certify(tc_controller *controller, const double *upper, const double *allowance) {
    return tc_margin_certify(controller->margin, upper, allowance);
}

const tc_feasibility *tc_controller_feasibility(tc_controller *controller) {
    if (controller->measurement == NULL || has_other_weights(controller))
        return NULL;
    return tc_margin_judge(controller->margin, &controller->rows, controller->measurement, controller->state.round);
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

void tc_controller_snapshot(tc_controller *controller, tc_snapshot *snapshot) {
    tc_controller_state *state = &controller->state;
    uint64_t *const counts[] = {&state->round, &state->origin, &state->epoch_length, &state->epoch_end,
                                &state->epoch_rounds};
    double *const numbers[] = {&state->omega, &state->beta, &state->vy, &state->last_size};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        tc_snapshot_count(snapshot, counts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tc_snapshot_numbers(snapshot, numbers[i], 1);
    tc_snapshot_numbers(snapshot, controller->kept.mu, 6 * controller->rows.count);
}

static bool is_sound(const tc_controller *controller) {
    const tc_controller_state *state = &controller->state;
    bool finite = true;
    for (size_t i = 0; i < 6 * controller->rows.count; i++)
        finite = finite && isfinite(controller->kept.mu[i]);
    for (size_t j = 0; j < controller->rows.count; j++)
        finite = finite && (controller->kept.mu[j] >= 0 || controller->constraints[j].is_equality);
    return finite && state->origin <= state->round && state->epoch_length > 0 &&
           state->epoch_rounds < state->epoch_length && state->omega > 0 && isfinite(state->omega) && state->beta > 0 &&
           state->beta <= 1 && state->vy >= 0 && isfinite(state->vy) && isfinite(state->last_size);
}

bool tc_controller_review(tc_controller *controller, const tc_measurement *measurement) {
    if (!is_sound(controller))
        return false;
    for (size_t j = 0; j < controller->rows.count; j++)
        controller->multipliers[j] = controller->kept.mu[j] * controller->inverse_S[j];
    if (controller->rows.count == 0 || controller->state.round == 0)
        return true;
    controller->measurement = measurement;
    return measure(controller, measurement) == TC_ALL_FINITE;
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

#define FIRST_OMEGA 1e-3    /* omega begins at this fraction of R'/X, */
#define SOME_OMEGA 1e-3     /* at this where there is no R', */
#define TINY_OMEGA 1e-12    /* at this where R' is 0, */
#define LEAST_OF_OMEGA 1e-4 /* and falls to no less than this part of it where no multipliers are needed */

static void set_scales(tc_arena *arena, tc_controller *controller, size_t m) {
    const tc_tacit_facts *facts = controller->facts;
    bool unscaled = is_without(controller, TC_WITHOUT_ROW_SCALES), has_equalities = false;
    double slack = INFINITY, scaled = INFINITY, least = INFINITY;
    controller->S = TC_NEW(arena, double, m);
    controller->inverse_S = TC_NEW(arena, double, m);
    controller->pull_weight = TC_NEW(arena, double, m);
    for (size_t j = 0; j < m; j++) {
        double room = isfinite(facts->slack[j]) ? facts->slack[j] : 1; /* without slacks R' is R max S_j */
        bool moves = !facts->is_constant[j];
        controller->S[j] = unscaled ? 1 : facts->row_scale[j];
        controller->inverse_S[j] = 1 / controller->S[j];
        controller->pull_weight[j] = unscaled ? 4 : facts->weight[j];
        slack = moves ? fmin(slack, room) : slack;
        scaled = moves ? fmin(scaled, room / facts->row_scale[j]) : scaled;
        least = moves ? fmin(least, facts->row_scale[j]) : least;
        has_equalities = has_equalities || controller->constraints[j].is_equality;
    }
    controller->X = facts->box_length > 0 ? facts->box_length : 1;
    controller->R = facts->radius;
    if (unscaled && isfinite(slack)) /* equalities have no slack */
        controller->R = has_equalities ? facts->radius / least : facts->radius * scaled / slack;
}

static void start(tc_arena *arena, tc_controller *controller, const tc_model *model) {
    size_t m = model->constraint_count;
    double *numbers = TC_NEW(arena, double, 6 * m);
    controller->kept = (tc_controller_kept){.mu = numbers,
                                            .mu_average = numbers + m,
                                            .epoch_mu = numbers + 2 * m,
                                            .epoch_noise = numbers + 3 * m,
                                            .epoch_g_hat = numbers + 4 * m,
                                            .margin = numbers + 5 * m};
    double omega = FIRST_OMEGA * controller->R / controller->X;
    controller->state = (tc_controller_state){.epoch_length = FIRST_EPOCH,
                                              .epoch_end = FIRST_EPOCH,
                                              .beta = 1,
                                              .omega = !isfinite(omega) ? SOME_OMEGA
                                                       : omega > 0      ? omega
                                                                        : TINY_OMEGA};
    controller->least_omega = LEAST_OF_OMEGA * controller->state.omega;
    for (size_t j = 0; j < m; j++) {
        bool moves = !controller->facts->is_constant[j];
        bool has_margin =
            moves && controller->facts->margin.kind == TC_MARGIN_GIVEN && !model->constraints[j].is_equality;
        controller->moved[j] = moves ? model->start_multipliers[j] * controller->S[j] : 0;
        controller->kept.margin[j] = has_margin ? controller->facts->margin.amount : 0;
    }
    tc_project_multipliers(controller->constraints, m, controller->R, controller->moved, controller->kept.mu,
                           controller->work);
    for (size_t j = 0; j < m; j++)
        controller->kept.mu_average[j] = controller->multipliers[j] = controller->kept.mu[j] * controller->inverse_S[j];
}

static tc_controller *new_without_rows(tc_arena *arena, const tc_tacit_facts *facts, const tc_plan *plan,
                                       const tc_model *model, unsigned without) {
    size_t m = model->constraint_count;
    tc_controller *made = TC_NEW(arena, tc_controller, 1);
    *made = (tc_controller){.facts = facts,
                            .constraints = model->constraints,
                            .without = without,
                            .hides_every_round = tc_hides_every_round(plan->adjacency),
                            .moved = TC_NEW(arena, double, m),
                            .work = TC_NEW(arena, double, m),
                            .mu_led = TC_NEW(arena, double, m),
                            .multipliers = TC_NEW(arena, double, m),
                            .shared = TC_NEW(arena, double, m)};
    set_scales(arena, made, m);
    start(arena, made, model);
    return made;
}

tc_controller *tc_controller_of_rows(tc_arena *arena, const tc_tacit_facts *facts, const tc_plan *plan,
                                     const tc_model *model) {
    size_t m = model->constraint_count;
    tc_controller *made = new_without_rows(arena, facts, plan, model, 0);
    made->rows = (tc_controller_rows){.count = m,
                                      .inverse_S = made->inverse_S,
                                      .g_hat = TC_NEW(arena, double, m),
                                      .noise = TC_NEW(arena, double, m),
                                      .rho = TC_NEW(arena, double, m)};
    for (size_t j = 0; j < m; j++)
        made->rows.rho[j] = 1;
    return made;
}

tc_controller *tc_controller_new(tc_arena *arena, const tc_tacit_facts *facts, const tc_plan *plan,
                                 const tc_model *model, const tc_derivatives *derivatives, tc_estimator *estimator,
                                 unsigned without) {
    tc_controller *made = new_without_rows(arena, facts, plan, model, without);
    made->estimator = estimator;
    tc_controller_rows_new(arena, &made->rows, plan, model, derivatives, made->inverse_S);
    made->inputs = TC_NEW(arena, tc_controller_input, made->rows.inputs);
    for (size_t s = 0; s < made->rows.inputs; s++)
        made->inputs[s] = (tc_controller_input){.variance = tc_estimator_input_variance(estimator, s),
                                                .scale = tc_estimator_input_scale(estimator, s)};
    made->margin = tc_margin_new(arena, facts, plan, model, derivatives);
    return made;
}
