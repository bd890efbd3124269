#include "engine/tacit/settling.h"

#include "analysis/duality.h"
#include "analysis/region.h"
#include "engine/tacit/controller_inside.h"
#include "model/spread.h"
#include "plan/placement/placement.h"

#include <string.h>

#define NEEDED 0.01        /* the multiplier at the limit, as a part of R'; it hardly matters, since steps follow it */
#define MOST_ROUNDS 16384. /* of one simulation; in longer runs the same part of the doubt is missing */
#define MOST_WORK 262144.  /* rounds times rows; */
#define LEAST_ROUNDS 1000. /* with many rows, a simulation has at least these rounds */
#define MOST_LOOKS 2e6     /* states times rows times points of the box */

#define NOISY_PART 0.25 /* of the rounds: multipliers climb while r has about the noise that it has after these */
#define TWO_PI 6.28318530717958648
#define SERIES 1.2 /* rounds that are tried are so many times apart */

enum { PLACES = 13, BOX_POINTS = 8, CLOSER = 3 };
/* From the Slater point (0) to a point of the box (1), and beyond it as far as the box goes. */
static const double places[PLACES] = {0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 1.5, 2, 3, 5};
enum { WISH = 8 }; /* places[WISH] = 1 */

/* A row at its limit, scaled by S_j; means over points of the box. */
typedef struct at_limit {
    double count;            /* of these points; 0: the row is at its limit nowhere */
    double noise, all_noise; /* variance of one round's noise in it, and in all rows */
    double over;             /* how far agents' wishes violate it */
    double slope;     /* how fast it falls where it is at its limit, on the way from there to the wishes: (0, 1) */
    double steepness; /* |grad g_j|^2 */
    double N;         /* as the controller's */
    double curvature, bent_noise; /* L and the noise of prices, of a multiplier of 1 */
    double bias;                  /* half of sum_c s2_c g_cc: what noise adds to it on the average */
} at_limit;

struct tc_settling {
    tc_arena *arena;
    const tc_plan *plan;
    const tc_model *model;
    const tc_tacit_facts *facts;
    at_limit *rows;
};

/* ---- what the estimator sees at a point -------------------------------------------------------------------------- */

typedef struct looker {
    const tc_plan *plan;
    const tc_model *model;
    const tc_tacit_facts *facts;
    tc_estimator *estimator;
    tc_controller_rows rows;
    double *deviation;           /* by state, of a round's noise in it; 0 where noise is on forms */
    const double *form_variance; /* by input; NULL: noise is on states */
    double *inside, *wish;       /* the Slater point, and a point of the box */
    double *x, *unit, *values;   /* values: by place and row */
    tc_controller_input *inputs;
    at_limit *limits;
} looker;

/* x = inside + s (wish - inside), in the box */
static void go_to(const looker *l, double s, double *x) {
    for (size_t i = 0; i < l->model->state_count; i++) {
        tc_interval range = tc_coord_range(l->model, i);
        x[i] = fmin(range.hi, fmax(range.lo, l->inside[i] + s * (l->wish[i] - l->inside[i])));
    }
}

/* The noise that r has after a part of the rounds, drawn once and for all: it is in what the controller sees of slopes
 * and curvatures, above all in the largest. */
static void add_noise(const looker *l, double *x) {
    uint64_t state = 1;
    double deviation = sqrt(tc_averaged_variance(fmax(1, NOISY_PART * l->plan->rounds)));
    for (size_t i = 0; i < l->model->state_count; i++) {
        double uniform[2];
        for (size_t u = 0; u < 2; u++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            uniform[u] = ((double)(state >> 11) + 0.5) * 0x1p-53;
        }
        x[i] += deviation * l->deviation[i] * sqrt(-2 * log(uniform[0])) * cos(TWO_PI * uniform[1]);
    }
}

/* Moves y to s, and r^ by the gain `slow`: not at all where it is 0. */
static tc_measurement look(looker *l, double s, double slow, bool is_noisy) {
    go_to(l, s, l->x);
    if (is_noisy)
        add_noise(l, l->x);
    tc_estimator_open(l->estimator, (tc_gains){.beta = 1, .slow = slow});
    tc_estimator_take_whole(l->estimator, l->x);
    tc_measurement seen = *tc_estimator_close(l->estimator);
    for (size_t i = 0; l->form_variance != NULL && i < seen.count; i++) {
        seen.noise[i] = l->form_variance[i];
        seen.trace[i] = 0;
    }
    tc_controller_rows_evaluate(&l->rows, &seen);
    (void)tc_controller_rows_measure(&l->rows, &seen, 0);
    return seen;
}

/* Noise on the constraints themselves, which are affine then. */
static void put_output_noise(looker *l) {
    const double *variance = tc_row_variances(l->plan);
    for (size_t j = 0; l->plan->placement == TC_PLACEMENT_OUTPUTS && variance != NULL && j < l->rows.count; j++)
        l->rows.noise[j] = variance[j] * l->rows.inverse_S[j] * l->rows.inverse_S[j];
}

/* L and the noise of prices, of mu = e_j. */
static void look_at_bends(looker *l, const tc_measurement *seen, size_t j, at_limit *at) {
    l->unit[j] = 1;
    tc_controller_bends bends = tc_controller_rows_bend(&l->rows, seen, l->unit);
    tc_controller_rows_tariff(&l->rows, seen, l->unit, l->unit, l->inputs, tc_estimator_tariff(l->estimator));
    tc_estimator_price(l->estimator);
    tc_estimator_answer_whole(l->estimator, NULL);
    tc_columns columns = tc_estimator_columns(l->estimator);
    l->unit[j] = 0;
    at->N += fmax(0.1, sqrt(columns.reach * l->rows.most_reach));
    at->curvature += columns.curvature + bends.curvature;
    at->bent_noise += columns.noise + bends.noise;
}

static void add_limit(looker *l, size_t j, double s, double wish, double over) {
    at_limit *at = &l->limits[j];
    double bias = 0, slope = 0, steepness = 0, all = 0;
    (void)look(l, s, 1, false);
    tc_measurement seen = look(l, wish, 0, false);
    put_output_noise(l);
    for (size_t e = l->rows.first_start[j]; e < l->rows.first_start[j + 1]; e++) {
        double first = l->rows.first[e];
        uint32_t input = l->rows.first_input[e];
        slope += first * seen.shift[input];
        steepness += first * first * seen.norm2[input];
        bias += first * seen.trace[input] / 2;
    }
    for (size_t e = l->rows.second_start[j]; e < l->rows.second_start[j + 1]; e++) {
        const struct tc_input_pair *pair = &l->rows.pairs[l->rows.second_pair[e]];
        bias += pair->a == pair->b ? l->rows.second[e] * seen.noise[pair->a] / 2 : 0;
    }
    for (size_t i = 0; i < l->rows.count; i++)
        all += l->rows.noise[i];
    at->count++;
    at->noise += l->rows.noise[j];
    at->all_noise += all;
    at->over += over;
    at->slope += fabs(slope);
    at->steepness += steepness;
    at->bias += fmax(0, bias);
    seen = look(l, s, 1, true);
    look_at_bends(l, &seen, j, at);
}

/* ---- where a row is at its limit --------------------------------------------------------------------------------- */

static void look_at_places(looker *l) {
    for (size_t i = 0; i < PLACES; i++) {
        (void)look(l, places[i], 1, false);
        memcpy(l->values + i * l->rows.count, l->rows.g_hat, l->rows.count * sizeof(double));
    }
}

static void find_limit(looker *l, size_t j) {
    const double *g = l->values + j;
    size_t m = l->rows.count, first = 1, wish = WISH;
    while (wish < PLACES && !(g[wish * m] > 0))
        wish++;
    if (wish == PLACES || !(g[0] <= 0))
        return;
    while (!(g[first * m] > 0))
        first++;
    double low = places[first - 1], high = places[first], below = g[(first - 1) * m], above = g[first * m];
    double s = low, over = g[wish * m];
    for (int i = 0; i < CLOSER; i++) {
        s = low - below * (high - low) / (above - below);
        (void)look(l, s, 1, false);
        double here = l->rows.g_hat[j];
        if (fabs(here) <= 1e-3 * over)
            break;
        low = here > 0 ? low : s;
        below = here > 0 ? below : here;
        high = here > 0 ? s : high;
        above = here > 0 ? here : above;
    }
    add_limit(l, j, s, places[wish], over);
}

static void take_means(at_limit *at) {
    double *const all[] = {&at->noise, &at->all_noise, &at->over,       &at->slope, &at->steepness,
                           &at->N,     &at->curvature, &at->bent_noise, &at->bias};
    for (size_t i = 0; at->count > 0 && i < sizeof all / sizeof *all; i++)
        *all[i] /= at->count;
}

/* Noise on forms or constraints: the variance of each input's. */
static const double *form_variances(tc_arena *arena, const tc_plan *plan, const tc_derivatives *derivatives) {
    double *variance = TC_NEW(arena, double, derivatives->input_count + 1);
    for (size_t i = 0; plan->placement == TC_PLACEMENT_FORMS && i < plan->channel_count; i++)
        for (uint32_t r = 0; r < plan->channels[i].row_count; r++)
            variance[plan->channels[i].first_row + r] = plan->channels[i].variance;
    return plan->placement == TC_PLACEMENT_STATES ? NULL : variance;
}

static double *state_deviations(tc_arena *arena, const tc_plan *plan, const tc_model *model) {
    double *deviation = TC_NEW(arena, double, model->state_count + 1);
    for (size_t i = 0; plan->placement == TC_PLACEMENT_STATES && i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        const tc_family *family = &model->families[channel->family];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = channel->first_member; k < channel->first_member + channel->member_count; k++)
                deviation[tc_coord_of(family, k, c)] = sqrt(channel->variance);
    }
    return deviation;
}

/* The geometry is that of states wherever the noise is. */
static looker look_from(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                        const tc_tacit_facts *facts) {
    size_t m = model->constraint_count, n = model->state_count + 1;
    tc_plan *geometry = TC_NEW(arena, tc_plan, 1);
    double *inverse_S = TC_NEW(arena, double, m + 1);
    *geometry = *plan;
    geometry->placement = TC_PLACEMENT_STATES;
    geometry->channel_count = plan->placement == TC_PLACEMENT_STATES ? plan->channel_count : 0;
    for (size_t j = 0; j < m; j++)
        inverse_S[j] = 1 / facts->row_scale[j];
    looker l = {.plan = plan,
                .model = model,
                .facts = facts,
                .estimator = tc_estimator_new(arena, geometry, model, derivatives, NULL, facts->scales, 1),
                .deviation = state_deviations(arena, plan, model),
                .form_variance = form_variances(arena, plan, derivatives),
                .inside = TC_NEW(arena, double, n),
                .wish = TC_NEW(arena, double, n),
                .x = TC_NEW(arena, double, n),
                .unit = TC_NEW(arena, double, m + 1),
                .values = TC_NEW(arena, double, PLACES *m + 1),
                .inputs = TC_NEW(arena, tc_controller_input, derivatives->input_count + 1),
                .limits = TC_NEW(arena, at_limit, m + 1)};
    tc_controller_rows_new(arena, &l.rows, geometry, model, derivatives, inverse_S);
    for (size_t s = 0; s < derivatives->input_count; s++)
        l.inputs[s] = (tc_controller_input){
            .variance = l.form_variance != NULL ? l.form_variance[s] : tc_estimator_input_variance(l.estimator, s),
            .scale = tc_estimator_input_scale(l.estimator, s)};
    return l;
}

static bool can_look(const tc_plan *plan, const tc_tacit_facts *facts) {
    return plan->method == TC_METHOD_TACIT && plan->mechanism != TC_MECHANISM_NONE && !isnan(plan->rounds) &&
           isfinite(facts->radius) && facts->radius > 0;
}

tc_settling *tc_settling_new(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                             const tc_derivatives *derivatives, const tc_tacit_facts *facts) {
    tc_settling *made = TC_NEW(arena, tc_settling, 1);
    size_t m = model->constraint_count;
    *made = (tc_settling){
        .arena = arena, .plan = plan, .model = model, .facts = facts, .rows = TC_NEW(arena, at_limit, m + 1)};
    const bool *curved;
    if (!can_look(plan, facts) || tc_curved_rows(arena, model, derivatives, &curved) == 0)
        return made;
    tc_mark mark = tc_arena_mark(arena);
    model = tc_whole_model(arena, model);
    looker l = look_from(arena, plan, model, derivatives, facts);
    double points = fmin(BOX_POINTS, fmax(1, MOST_LOOKS / ((double)m * (double)model->state_count)));
    const double *declared = tc_declared_point(arena, model);
    if (declared == NULL)
        tc_fill_middle(model, l.inside);
    else
        memcpy(l.inside, declared, model->state_count * sizeof *l.inside);
    for (size_t k = 0; k < (size_t)points; k++) {
        tc_box_point(model, k, l.wish);
        look_at_places(&l);
        for (size_t j = 0; j < m; j++)
            if (curved[j])
                find_limit(&l, j);
    }
    for (size_t j = 0; j < m; j++)
        take_means(&l.limits[j]);
    memcpy(made->rows, l.limits, m * sizeof *made->rows);
    tc_arena_rewind(arena, mark);
    return made;
}

/* ---- the loop, with one number for all agents
 * -------------------------------------------------------------------------
 *
 * t is how far agents have gone from their wishes (0) to where the row is at its limit (1). On this way g is taken as
 *
 *     g(t) = over (1 - t) - bend t (1 - t),    with the slope at 1 that it has,
 *
 * and agents minimise h t^2/2 in units of t, with h such that a multiplier of mu* = 0.01 R' brings them to 1. In y and
 * r t is filtered as states are. */

typedef struct stand_in {
    double over, bend; /* of g(t) */
    double length2;    /* of the way in states along the gradient, squared: slope^2 / |grad g|^2 */
    double stiffness;  /* h over length2: of the objectives */
    double t, y, r, average;
    double hidden; /* how much smaller g is measured than it is */
} stand_in;

static stand_in stand_in_for(const at_limit *at, double radius) {
    double bend = fmax(0, at->over - at->slope), slope = at->over - bend;
    return (stand_in){.over = at->over,
                      .bend = bend,
                      .length2 = slope * slope / at->steepness,
                      .stiffness = NEEDED * radius * at->steepness / slope};
}

static double g_at(const stand_in *a, double t) { return a->over * (1 - t) - a->bend * t * (1 - t); }
static double slope_at(const stand_in *a, double t) { return -a->over - a->bend * (1 - 2 * t); }

/* Agents lean against the noise u that prices show them, by about c / (h + c) of it, c the curvature of mu'g, as far as
 * they are quick enough to follow it; so measured g is too small by that part of what noise adds to it. */
static void hide(stand_in *a, const tc_controller *c, const at_limit *at, double variance, double step) {
    double bent = at->bias > 0 ? c->kept.mu[0] * at->bent_noise / (2 * at->bias) : 0;
    double quick = step * a->stiffness / (1 + step * a->stiffness);
    double part = bent / (a->stiffness + bent) * quick / (quick + c->state.beta);
    a->hidden = c->state.vy * variance * at->bias * part;
}

static void step_agents(stand_in *a, const tc_controller *c, double step) {
    double price = (c->mu_led[0] * slope_at(a, a->r) + c->kept.mu[0] * 2 * a->bend * (a->y - a->r)) / a->length2;
    a->t = fmin(3, fmax(-1, (a->t / step - price) / (a->stiffness + 1 / step)));
}

/* A copy of model and facts that have this row alone. */
static tc_controller *controller_of(tc_arena *arena, const tc_settling *settling, size_t j, double rounds) {
    tc_tacit_facts *facts = TC_NEW(arena, tc_tacit_facts, 1);
    tc_model *model = TC_NEW(arena, tc_model, 1);
    *model = *settling->model;
    model->constraints += j;
    model->start_multipliers += j;
    model->constraint_count = 1;
    *facts = *settling->facts;
    facts->rounds = rounds;
    facts->row_scale += j;
    facts->weight += j;
    facts->slack += j;
    facts->is_constant += j;
    facts->margin.kind = TC_MARGIN_NONE;
    return tc_controller_of_rows(arena, facts, settling->plan, model);
}

static double most_rounds(const tc_settling *settling) {
    return fmin(MOST_ROUNDS, fmax(LEAST_ROUNDS, MOST_WORK / (double)settling->model->constraint_count));
}

/* The variance of a round's noise, where the plan is for so many rounds instead, as a multiple. */
static double variance_for(const tc_plan *plan, double rounds) {
    double times = rounds / plan->rounds;
    if (!tc_hides_every_round(plan->adjacency))
        return 1;
    return plan->mechanism == TC_MECHANISM_LAPLACE ? times * times : times;
}

static double run_loop(const tc_settling *settling, size_t row, double variance, double rounds) {
    const at_limit *at = &settling->rows[row];
    tc_mark mark = tc_arena_mark(settling->arena);
    tc_controller *c = controller_of(settling->arena, settling, row, rounds);
    stand_in a = stand_in_for(at, settling->facts->radius);
    for (uint64_t k = 1; (double)k <= rounds; k++) {
        double mu = c->kept.mu[0], beta = c->state.beta;
        tc_controller_open(c, k);
        double slow = tc_controller_average_gain(c);
        a.y += beta * (a.t - a.y);
        a.r += slow * (a.t - a.r);
        c->rows.g_hat[0] = g_at(&a, a.y) - a.hidden;
        c->rows.noise[0] = variance * at->noise;
        c->rows.total_noise = variance * at->all_noise;
        const tc_loop_gains gains = {
            .N = at->N, .L = mu * at->curvature, .price_noise = mu * mu * variance * at->bent_noise};
        const tc_loop_steps steps = tc_controller_steps(c, &gains);
        tc_controller_climb(c, &steps);
        hide(&a, c, at, variance, steps.primal);
        a.average += slow * (a.t - a.average);
        step_agents(&a, c, steps.primal);
        tc_controller_balance(c, steps.dual);
    }
    double missing = g_at(&a, a.average) * settling->facts->row_scale[row];
    tc_arena_rewind(settling->arena, mark);
    return missing;
}

/* Returns the doubt of a plan for so many rounds, as a multiple of this plan's. */
static double doubt_for(const tc_plan *plan, double rounds) {
    double averaged = tc_averaged_variance(rounds) / tc_averaged_variance(plan->rounds);
    return sqrt(averaged * variance_for(plan, rounds));
}

double tc_settling_missing(const tc_settling *settling, size_t row, double variance, double rounds) {
    const tc_plan *plan = settling->plan;
    const at_limit *at = &settling->rows[row];
    double looked = fmin(rounds, most_rounds(settling));
    if (!(at->count > 0) || !(at->slope > 0) || !(at->steepness > 0) || !(at->noise > 0))
        return NAN;
    double missing = fmax(0, run_loop(settling, row, variance * variance_for(plan, looked), looked));
    return missing * doubt_for(plan, rounds) / doubt_for(plan, looked);
}

/* ---- what plan and advise say ------------------------------------------------------------------------------------ */

/* Whether the error after so many rounds is at most twice the doubt that is said of the plan's. */
static bool reaches(const tc_settling *settling, size_t row, double doubt, double rounds) {
    return hypot(doubt * doubt_for(settling->plan, rounds), tc_settling_missing(settling, row, 1, rounds)) <= 2 * doubt;
}

/* The least rounds of a geometric series, to two digits, that reach it; INFINITY: none. Beyond those that are looked at
 * the error is the same multiple of the doubt, and the doubt falls as one over the root of their number, or not at all.
 */
static double rounds_needed(const tc_settling *settling, size_t row, double doubt, double from) {
    const tc_plan *plan = settling->plan;
    double most = most_rounds(settling), rounds = from;
    while (rounds <= most && !reaches(settling, row, doubt, rounds))
        rounds *= SERIES;
    if (rounds > most) {
        double there = doubt * doubt_for(plan, rounds);
        double times = hypot(1, tc_settling_missing(settling, row, 1, rounds) / there);
        if (tc_hides_every_round(plan->adjacency))
            return INFINITY;
        rounds = fmax(rounds, plan->rounds * times * times / 4);
    }
    double unit = pow(10, floor(log10(rounds)) - 1);
    return ceil(rounds / unit - 1e-9) * unit;
}

static void judge_row(const tc_settling *settling, size_t j, tc_row_accuracy *row) {
    const at_limit *at = &settling->rows[j];
    double rounds = settling->plan->rounds, scale = settling->facts->row_scale[j];
    double times = scale * sqrt(at->noise) / row->round_doubt;
    if (times > 0 && isfinite(times)) {
        row->round_doubt *= times;
        row->doubt *= times;
        row->local_doubt *= times;
    }
    row->missing = tc_settling_missing(settling, j, 1, rounds);
    row->is_unreached = tc_is_missed(row->doubt, row->missing);
    if (!isnan(row->missing))
        row->rounds_needed = row->is_unreached ? rounds_needed(settling, j, row->doubt, rounds * SERIES) : rounds;
    row->is_useless = tc_drowns(row, tc_error_of(row));
}

void tc_settling_judge(const tc_settling *settling, tc_accuracy *accuracy) {
    accuracy->useless = 0;
    for (size_t j = 0; j < accuracy->count; j++) {
        tc_row_accuracy *row = &accuracy->rows[j];
        if (settling->rows[j].count > 0 && row->doubt > 0)
            judge_row(settling, j, row);
        accuracy->useless += row->is_useless;
        accuracy->unreached += row->is_unreached;
    }
}
