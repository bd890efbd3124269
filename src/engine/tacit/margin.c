/* Feasibility of the result of the method `tacit`, from released data alone (docs/proofs/method.md).
 *
 * The slow filter r and the result x-bar are averages with the same weights, of the released and of the true states (or
 * forms). So r = x-bar + averaged noise, exactly, however the cloud used the noise in between, and with v the sum of
 * the squared weights and s2_c the variance of a coordinate's (or form's) noise
 *
 *     u_j = g_j(r) + z sqrt(v sum_c s2_c (dg_j/dx_c)^2) + v/2 z^2 sum_c s2_c d2g_j/dx_c^2
 *
 * bounds g_j(x-bar), for all j at once with probability P where z = Q^-1((1 - P)/m) (larger for Laplace noise; m
 * without constant rows). For rows that are affine by structure that is exact; for others it is of second order in r -
 * x-bar. An equality has a tolerance in its place: |g_j(x-bar)| <= u_j = |g_j(r)| + z sqrt(...), with z = Q^-1((1 -
 * P)/(2 m)), and no margin.
 *
 * --margin auto: M_j is the distance that the rounds that are left must keep, so that u_j <= 0 after the last one. With
 * W_k the sum of all weights up to round k and q = W_k / W_T,
 *
 *     M_j = ((1 + EXTRA) (u_j - g_j(r)) + q g_j(r)) / (1 - q),     u_j - g_j(r) as it will be in round T.
 *
 * Where (1 + EXTRA) (u_j - g_j(r)) exceeds MOST_SLACKS slacks no margin makes up for the noise, and a run that ends
 * with a move has M_j = 0 there.
 *
 * The move: where a Slater point xs is declared, the last answer tells every agent t and xs_i, and the result is x-bar
 * + t (xs - x-bar), with the least t in [0, 1] for which (1 - t) u_j + t g_j(xs) <= 0 in all inequalities. g_j is
 * convex, so all of them hold there wherever x-bar was below its bounds. */
#include "engine/tacit/controller_inside.h"

#include "calculus/interval/interval.h"
#include "plan/account/account.h"

#define EXTRA 0.1       /* aims this part further than needed, since r goes on moving; */
#define EXTRA_ALONE 0.3 /* further where no move makes up for it */
#define UNTIL 0.98      /* of all rounds: then M_j stays as it is */
#define MOST_SLACKS 5   /* M_j is at most this many slacks of the declared Slater point */

enum { PARTS = 8 }; /* of a tail that are tried */

typedef struct normals { /* what quantiles of a tail share; computed once, since it takes long */
    bool are_known;
    double whole;        /* Q^-1 of the tail */
    double parts[PARTS]; /* Q^-1 of (1 - 4^-1), (1 - 4^-2), ... of the tail */
} normals;

typedef struct side_tail { /* of a row's noise, on one side */
    double tail;
    normals normals;
    double last; /* z of round T, for --margin auto */
} side_tail;

struct tc_margin {
    const tc_tacit_facts *facts;
    const tc_constraint *constraints;
    tc_mechanism mechanism;
    size_t count;
    side_tail above; /* of inequalities: (1 - P) / m */
    side_tail both;  /* of equalities: half of it on each side */
    double state_step;
    double *input_step; /* by input: of its own lattice, beyond the states' */
    bool *shares;       /* by row: some inputs have coordinates in common */
    bool *is_affine;    /* by row: u_j is exact */
    double *bounds;
    tc_feasibility found;
};

/* ---- weights -------------------------------------------------------------------------------------------------------
 * w_i = i (i+1), i = 1 .. k: sum k (k+1) (k+2) / 3, sum of squares k (k+1) (k+2) (3 k^2 + 6 k + 1) / 15. */

static double weight_sum(double k) { return k * (k + 1) * (k + 2) / 3; }
static double square_sum(double k) { return k * (k + 1) * (k + 2) * (3 * k * k + 6 * k + 1) / 15; }

/* v */
static double variance_factor(double k) {
    double sum = weight_sum(k);
    return square_sum(k) / (sum * sum);
}

/* ---- quantiles --------------------------------------------------------------------------------------------------- */

/* Laplace noise is Gaussian noise with a variance that is itself random: exponential. The averaged noise is a normal
 * variable times the root of a weighted sum of exponential ones, whose tail is that of a gamma law at most. part: of
 * the tail, for the variance to be larger than it is taken to be. */
static double mixture_quantile(double tail, double part, double normal, double fourth, double largest) {
    double log_part = -log(tail * part);
    double variance = 1 + sqrt(2 * fourth * log_part) + largest * log_part;
    return normal * sqrt(variance);
}

/* Chernoff's bound with exp(t .), b the largest scale of a term where the sum has variance 1. */
static double chernoff_quantile(double tail, double largest, double part) {
    double t = part / sqrt(largest / 2);
    return (-log1p(-part * part) / largest - log(tail)) / t;
}

static void find_normals(tc_mechanism mechanism, double tail, normals *found) {
    if (found->are_known)
        return;
    found->are_known = true;
    if (mechanism != TC_MECHANISM_LAPLACE)
        found->whole = tc_normal_tail_inverse_up(tail);
    for (int i = 0; mechanism == TC_MECHANISM_LAPLACE && i < PARTS; i++)
        found->parts[i] = tc_normal_tail_inverse_up(tail * (1 - ldexp(1, -2 * (i + 1))));
}

static double quantile(tc_mechanism mechanism, double tail, double k, normals *known) {
    find_normals(mechanism, tail, known);
    if (mechanism != TC_MECHANISM_LAPLACE)
        return known->whole;
    double squares = square_sum(k), largest = k * k * (k + 1) * (k + 1) / squares;
    double fourth = fmin(largest, pow(k + 1, 9) / 9 / (squares * squares)); /* i (i+1) <= (i + 1/2)^2, convex */
    double best = INFINITY;
    for (int i = 0; i < PARTS; i++)
        best = fmin(best, mixture_quantile(tail, ldexp(1, -2 * (i + 1)), known->parts[i], fourth, largest));
    for (double part = 0.01; part < 1; part += 0.01)
        best = fmin(best, chernoff_quantile(tail, largest, part));
    return best;
}

double tc_margin_quantile(tc_mechanism mechanism, double tail, double k) {
    normals found = {0};
    return quantile(mechanism, tail, k, &found);
}

/* ---- structure --------------------------------------------------------------------------------------------------- */

static bool *curved_sums(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives) {
    bool *curved = TC_NEW(arena, bool, model->sum_count);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_derivatives *d = &derivatives->families[f];
        for (size_t e = 0; e < d->body_second_count; e++)
            curved[d->sums[d->body_second[e].row]] = true;
    }
    return curved;
}

/* Entries of a row: sums first. Their families are marked by the row that met them last. */
static void look_at_rows(tc_arena *arena, tc_margin *margin, const tc_plan *plan, const tc_model *model,
                         const tc_derivatives *derivatives) {
    const bool *curved = curved_sums(arena, model, derivatives);
    size_t *met = TC_NEW(arena, size_t, model->family_count);
    for (size_t j = 0; j < margin->count; j++)
        margin->is_affine[j] = true;
    for (size_t e = 0; e < derivatives->outer_second_count; e++)
        margin->is_affine[derivatives->outer_second[e].row] = false;
    for (size_t e = 0; plan->placement == TC_PLACEMENT_STATES && e < derivatives->outer_first_count; e++) {
        const tc_first *entry = &derivatives->outer_first[e];
        const tc_outer_input *input = &derivatives->inputs[entry->column];
        bool is_sum = input->op == TC_SUM;
        size_t family = is_sum ? model->sums[input->index].family
                               : (size_t)(tc_family_of_coord(model, (size_t)input->index) - model->families);
        if (met[family] == entry->row + (size_t)1)
            margin->shares[entry->row] = true;
        if (is_sum) {
            met[family] = entry->row + (size_t)1;
            margin->is_affine[entry->row] = margin->is_affine[entry->row] && !curved[input->index];
        }
    }
}

/* How far r can be from x-bar plus real noise because everything is on lattices (docs/proofs/lattice.md, 5): a state is
 * moved by h at most, and what is released of it is rounded once more; the terms of a form and its own rounding make at
 * most 2 N + 2 of its steps. */
static void look_at_lattices(tc_margin *margin, const tc_plan *plan, const tc_model *model) {
    size_t largest = 0;
    margin->state_step = ldexp(plan->placement == TC_PLACEMENT_STATES ? 2 : 1, plan->state_exponent);
    for (size_t f = 0; f < model->family_count; f++)
        largest = model->families[f].count > largest ? model->families[f].count : largest;
    for (size_t i = 0; plan->mechanism != TC_MECHANISM_NONE && i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        bool speaks_of_rows = channel->kind == TC_CHANNEL_CONSTRAINTS;
        for (uint32_t j = 0; speaks_of_rows && j < channel->row_count; j++)
            margin->input_step[channel->first_row + j] = ldexp(2 * (double)largest + 2, channel->step_exponent);
    }
}

tc_margin *tc_margin_new(tc_arena *arena, const tc_tacit_facts *facts, const tc_plan *plan, const tc_model *model,
                         const tc_derivatives *derivatives) {
    size_t m = model->constraint_count, moving = tc_moving_count(facts->is_constant, m);
    size_t inputs = plan->placement == TC_PLACEMENT_OUTPUTS ? m : derivatives->input_count;
    double probability = facts->margin.kind == TC_MARGIN_AUTO ? facts->margin.probability : TC_FEASIBLE_PROBABILITY;
    double tail = (1 - probability) / (double)(moving > 0 ? moving : 1);
    tc_margin *made = TC_NEW(arena, tc_margin, 1);
    *made = (tc_margin){.facts = facts,
                        .constraints = model->constraints,
                        .mechanism = plan->mechanism,
                        .count = m,
                        .above = {.tail = tail},
                        .both = {.tail = tail / 2},
                        .input_step = TC_NEW(arena, double, inputs),
                        .shares = TC_NEW(arena, bool, m),
                        .is_affine = TC_NEW(arena, bool, m),
                        .bounds = TC_NEW(arena, double, m)};
    if (facts->margin.kind == TC_MARGIN_AUTO)
        made->above.last = quantile(plan->mechanism, tail, facts->rounds, &made->above.normals);
    look_at_rows(arena, made, plan, model, derivatives);
    look_at_lattices(made, plan, model);
    made->found = (tc_feasibility){.probability = probability, .bounds = made->bounds, .is_exact = true};
    for (size_t j = 0; j < m; j++)
        made->found.is_exact = made->found.is_exact && made->is_affine[j];
    return made;
}

/* ---- a row ------------------------------------------------------------------------------------------------------- */

typedef struct view { /* of g_j / S_j */
    double level;     /* g_j(r), from r^ along r - r^ */
    double variance;  /* of the noise of one round */
    double bend;      /* sum_c s2_c d2g_j/dx_c^2 */
    double rounding;  /* by lattices */
} view;

/* Where inputs share coordinates, at worst their deviations add up. */
static double row_variance(const tc_margin *margin, const tc_controller_rows *rows, const tc_measurement *measurement,
                           size_t j) {
    double sums = 0, coordinates = 0;
    if (!margin->shares[j])
        return rows->noise[j];
    for (size_t e = rows->first_start[j]; e < rows->first_start[j + 1]; e++) {
        uint32_t s = rows->first_input[e];
        double noise = rows->first[e] * rows->first[e] * measurement->noise[s];
        if (s < rows->sum_count)
            sums += sqrt(noise);
        else
            coordinates += noise;
    }
    return (sums + sqrt(coordinates)) * (sums + sqrt(coordinates));
}

static view look_at(const tc_margin *margin, const tc_controller_rows *rows, const tc_measurement *measurement,
                    size_t j) {
    view seen = {.level = rows->value[j], .variance = row_variance(margin, rows, measurement, j)};
    for (size_t e = rows->first_start[j]; e < rows->first_start[j + 1]; e++) {
        uint32_t s = rows->first_input[e];
        double slope = rows->first[e];
        seen.level += slope * (measurement->rest[s] + measurement->rest_curve[s] / 2);
        seen.bend += slope * measurement->trace[s];
        seen.rounding += fabs(slope) * (margin->state_step * measurement->norm1[s] + margin->input_step[s]);
    }
    for (size_t e = rows->second_start[j]; e < rows->second_start[j + 1]; e++) {
        const struct tc_input_pair *pair = &rows->pairs[rows->second_pair[e]];
        double product = rows->second[e] * measurement->rest[pair->a] * measurement->rest[pair->b];
        double noise = sqrt(measurement->noise[pair->a] * measurement->noise[pair->b]);
        seen.level += pair->a == pair->b ? product / 2 : product;
        if (pair->a == pair->b)
            seen.bend += rows->second[e] * noise;
        else if (margin->shares[j])
            seen.bend += 2 * fabs(rows->second[e]) * noise;
    }
    return seen;
}

/* u_j - g_j(r) after round k. Where slopes are at most z standard deviations off, a quadratic form of noise is at most
 * z^2 times its mean: exactly that for one square, less for many. */
static double room(const view *seen, double z, double k) {
    double v = variance_factor(k);
    return z * sqrt(v * seen->variance) + v / 2 * fmax(1, z * z) * fmax(0, seen->bend) + seen->rounding;
}

void tc_margin_set(const tc_margin *margin, const tc_controller_rows *rows, const tc_measurement *measurement,
                   uint64_t k, double *margins) {
    double last = margin->facts->rounds;
    if (margin->facts->margin.kind != TC_MARGIN_AUTO || !((double)k <= UNTIL * last))
        return;
    bool moves = margin->facts->moves || margin->facts->certain;
    double done = weight_sum((double)k) / weight_sum(last), extra = moves ? EXTRA : EXTRA_ALONE;
    for (size_t j = 0; j < margin->count; j++) {
        if (margin->constraints[j].is_equality)
            continue;
        view seen = look_at(margin, rows, measurement, j);
        double needed = (1 + extra) * room(&seen, margin->above.last, last),
               most = MOST_SLACKS * margin->facts->slack[j];
        double wanted = (needed + done * seen.level) / (1 - done) / rows->inverse_S[j];
        bool is_futile = moves && needed / rows->inverse_S[j] > most; /* the move does it alone */
        margins[j] = is_futile ? 0 : fmax(0, wanted > most ? most : wanted);
    }
}

/* ---- the move ------------------------------------------------------------------------------------------------------
 * Rounded so that what is said holds of the numbers t, u_j and the bounds of g_j(xs). */

#define WHOLE_MOVE (1 - 0x1p-40) /* a longer move is a whole one, which needs no arithmetic of the agents */

/* (1 - t) u + t at_point, rounded up */
static double moved_bound(double u, double t, double at_point) {
    double rest = u > 0 ? tc_add_up(1, -t) : tc_add_down(1, -t);
    return tc_add_up(tc_mul_up(rest, u), tc_mul_up(t, at_point));
}

double tc_margin_least_move(double u, double slack) {
    if (u <= 0)
        return 0;
    if (!(slack > 0))
        return 1;
    double t = u / (u + slack);
    while (t < WHOLE_MOVE && moved_bound(u, t, -slack) > 0)
        t = nextafter(t, 1);
    return t < WHOLE_MOVE ? t : 1; /* u infinite or not a number: the point itself */
}

/* allowance: what rounding of the result may add to a row; NULL for none. A whole move has no rounding. */
static double slack_of(const tc_margin *margin, const double *allowance, size_t j) {
    return allowance == NULL ? margin->facts->slack[j] : tc_add_down(margin->facts->slack[j], -allowance[j]);
}

static void move_result(tc_margin *margin, const double *allowance) {
    const tc_tacit_facts *facts = margin->facts;
    double *bounds = margin->bounds, t = 0;
    for (size_t j = 0; j < margin->count; j++)
        if (!margin->constraints[j].is_equality && !facts->is_constant[j])
            t = fmax(t, tc_margin_least_move(bounds[j], slack_of(margin, allowance, j)));
    for (size_t j = 0; t > 0 && t < 1 && j < margin->count; j++) /* a row that has less slack than rounding */
        if (!margin->constraints[j].is_equality && !facts->is_constant[j] &&
            moved_bound(bounds[j], t, -slack_of(margin, allowance, j)) > 0)
            t = 1;
    for (size_t j = 0; t > 0 && j < margin->count; j++) {
        bool is_equality = margin->constraints[j].is_equality;
        double at_point = is_equality ? facts->slater_off[j] : -facts->slack[j];
        if (t < 1 && allowance != NULL)
            at_point = is_equality ? tc_add_up(at_point, allowance[j]) : -slack_of(margin, allowance, j);
        if (!facts->is_constant[j])
            bounds[j] = t < 1 ? moved_bound(bounds[j], t, at_point) : at_point;
    }
    margin->found.move = t;
}

/* By row of g: the bound of its noise in the last round. */
static double *last_bounds(tc_arena *arena, const tc_plan *last, size_t m) {
    double *bounds = TC_NEW(arena, double, m + 1);
    for (size_t i = 0; i < last->channel_count; i++) {
        const tc_channel *channel = &last->channels[i];
        for (uint32_t j = channel->first_row; j < channel->first_row + channel->row_count; j++)
            bounds[j] = ldexp((double)channel->bound, channel->step_exponent);
    }
    return bounds;
}

void tc_predict_move(tc_arena *arena, const tc_plan *plan, const tc_model *model, tc_tacit_facts *facts) {
    facts->most_move = facts->usual_move = facts->certain ? 0 : NAN;
    if (!facts->certain)
        return;
    const double *bounds = last_bounds(arena, plan->last->plan, model->constraint_count);
    for (size_t j = 0; j < model->constraint_count; j++) {
        double allowance = plan->last->allowance[j], slack = tc_add_down(facts->slack[j], -allowance);
        double once = tc_add_up(bounds[j], allowance), twice = tc_mul_up(2, once);
        if (model->constraints[j].is_equality || facts->is_constant[j])
            continue;
        facts->most_move = slack > 0 ? fmax(facts->most_move, tc_margin_least_move(twice, slack)) : 1;
        facts->usual_move = slack > 0 ? fmax(facts->usual_move, tc_margin_least_move(once, slack)) : 1;
    }
}

static void note_shown(tc_margin *margin) {
    margin->found.shown = true;
    for (size_t j = 0; j < margin->count; j++)
        margin->found.shown = margin->found.shown && (margin->constraints[j].is_equality || margin->bounds[j] <= 0);
}

static double quantile_at(const tc_margin *margin, side_tail *side, double k) {
    return side->last > 0 && k == margin->facts->rounds ? side->last
                                                        : quantile(margin->mechanism, side->tail, k, &side->normals);
}

const tc_feasibility *tc_margin_judge(tc_margin *margin, const tc_controller_rows *rows,
                                      const tc_measurement *measurement, uint64_t k) {
    double above = 0, both = 0; /* z, computed where a row wants it */
    for (size_t j = 0; j < margin->count; j++) {
        view seen = look_at(margin, rows, measurement, j);
        if (margin->constraints[j].is_equality) {
            both = both > 0 ? both : quantile_at(margin, &margin->both, (double)k);
            margin->bounds[j] = (fabs(seen.level) + room(&seen, both, (double)k)) / rows->inverse_S[j];
            continue;
        }
        above = above > 0 ? above : quantile_at(margin, &margin->above, (double)k);
        margin->bounds[j] = (seen.level + room(&seen, above, (double)k)) / rows->inverse_S[j];
    }
    margin->found.move = NAN;
    if (margin->facts->moves && (double)k == margin->facts->rounds)
        move_result(margin, NULL);
    note_shown(margin);
    return &margin->found;
}

const tc_feasibility *tc_margin_certify(tc_margin *margin, const double *upper, const double *allowance) {
    for (size_t j = 0; j < margin->count; j++)
        margin->bounds[j] = upper[j];
    move_result(margin, allowance);
    note_shown(margin);
    margin->found.probability = 1;
    margin->found.is_exact = margin->found.is_certain = true;
    return &margin->found;
}
