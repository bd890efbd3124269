#include "engine/tacit/facts.h"
#include "model/spread.h"

#include "analysis/lipschitz/streams.h"
#include "analysis/region.h"
#include "plan/accuracy.h"
#include "plan/placement/placement.h"

#include <stdlib.h>

/* ---- the public Slater point ------------------------------------------------------------------------------------- */

/* The declared point, and not one found by a search in private sets: the cloud must get the same point. */
static bool load_declared(const tc_model *model, double *x) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        if (!family->has_slater)
            return false;
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = family->known_first; k < family->known_end; k++)
                x[tc_coord_of(family, k, c)] = tc_coef_at(family->slater[c], k);
    }
    return true;
}

/* Rounded down; NAN everywhere where the point is missing or does not satisfy every inequality strictly, and NAN of
 * equalities, which have none. Constant inequalities have no slack that counts: INFINITY. Returns the name of the first
 * inequality that the point is not shown to satisfy strictly; NULL where there is none, or no point. */
static const char *find_slack(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                              const bool *is_constant, double *slack, double *off) {
    const char *loose = NULL;
    size_t m = model->constraint_count;
    for (size_t j = 0; j < m; j++)
        slack[j] = NAN;
    tc_mark mark = tc_arena_mark(arena);
    double *x = TC_NEW(arena, double, model->state_count + 1);
    if (m > 0 && load_declared(model, x)) {
        tc_interval *g = TC_NEW(arena, tc_interval, m);
        tc_constraint_values(tc_streams_new(arena, model, derivatives, NULL), x, g);
        for (size_t j = 0; loose == NULL && j < m; j++)
            if (!model->constraints[j].is_equality &&
                !(is_constant[j] ? g[j].hi <= 0 : g[j].hi < 0 && isfinite(g[j].hi)))
                loose = model->constraints[j].name;
        for (size_t j = 0; loose == NULL && j < m; j++) {
            slack[j] = model->constraints[j].is_equality ? (double)NAN : is_constant[j] ? INFINITY : -g[j].hi;
            off[j] = model->constraints[j].is_equality ? fmax(fabs(g[j].lo), fabs(g[j].hi)) : 0;
        }
    }
    tc_arena_rewind(arena, mark);
    return loose;
}

/* ---- scales and radius ------------------------------------------------------------------------------------------- */

/* The plan's own are of states as they are, and a plan without noise has none. */
static const double *raw_scales(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                                const tc_derivatives *derivatives, tc_state_scales scales) {
    return plan->row_scale != NULL && scales == NULL
               ? plan->row_scale
               : tc_row_scales(arena, tc_streams_new(arena, model, derivatives, NULL), scales);
}

/* Proofs about protected data rest on steps that are the same in all states (docs/proofs/data.md, section 7). */
static tc_state_scales scales_for(tc_arena *arena, const tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t d = 0; d < model->families[f].datum_count; d++)
            if (model->families[f].data[d].by != NULL)
                return NULL;
    return tc_state_scales_find(arena, model);
}

static void find_scales(tc_arena *arena, const double *raw, size_t m, tc_tacit_facts *facts) {
    double least = INFINITY;
    facts->row_scale = TC_NEW(arena, double, m);
    facts->weight = TC_NEW(arena, double, m);
    for (size_t j = 0; j < m; j++) {
        facts->row_scale[j] = raw[j] > 0 && isfinite(raw[j]) ? raw[j] : 1;
        least = facts->is_constant[j] ? least : fmin(least, facts->row_scale[j]);
    }
    for (size_t j = 0; j < m; j++) {
        double part = facts->is_constant[j] ? 1 : least / facts->row_scale[j];
        facts->weight[j] = 4 * part * part;
    }
}

/* What a margin leaves of a slack. Which margin `auto` will end with is not known yet: half the slack is assumed. M_j
 * may be larger for a while, to make up for earlier rounds (docs/proofs/method.md, section 3). */
static double slack_left(const tc_tacit_facts *facts, size_t j) {
    switch (facts->margin.kind) {
    case TC_MARGIN_GIVEN:
        return facts->slack[j] - facts->margin.amount;
    case TC_MARGIN_AUTO:
        return facts->slack[j] / 2;
    case TC_MARGIN_NONE:
        break;
    }
    return facts->slack[j];
}

static bool have_gaps(const tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++)
        if (!model->families[f].has_gap)
            return false;
    return true;
}

/* With equalities, from gaps, slacks and the room around the Slater point; NAN where these do not say. */
static double radius_from_room(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                               const tc_tacit_facts *facts) {
    size_t m = model->constraint_count;
    if (tc_equality_count(model) == 0 || !isnan(model->dual_radius) || !have_gaps(model))
        return NAN;
    double *taken = TC_NEW(arena, double, m);
    for (size_t j = 0; j < m; j++)
        taken[j] =
            model->constraints[j].is_equality || facts->is_constant[j] ? 0 : facts->slack[j] - slack_left(facts, j);
    return tc_multiplier_bound(arena, model, derivatives, facts->row_scale, taken, NULL);
}

/* With slack: sum F_i / min_j (slack_j / S_j), and R is sum F_i / min_j slack_j. R of another origin bounds |mu|_1,
 * hence sum |mu_j| S_j by R max S_j; a margin lets multipliers grow as much as it makes slacks shrink. */
static double find_radius(const tc_model *model, const tc_tacit_facts *facts, double dual_radius) {
    size_t m = model->constraint_count, moving = 0;
    double least = INFINITY, least_scaled = INFINITY, largest = 0, growth = 1;
    for (size_t j = 0; j < m; j++) {
        double left = slack_left(facts, j);
        if (facts->is_constant[j])
            continue;
        moving++;
        largest = fmax(largest, facts->row_scale[j]);
        if (isnan(facts->slack[j]))
            continue;
        least = fmin(least, facts->slack[j]);
        least_scaled = fmin(least_scaled, left / facts->row_scale[j]);
        growth = fmax(growth, facts->slack[j] / left);
    }
    if (moving == 0)
        return 0;
    if (!isfinite(dual_radius))
        return INFINITY;
    if (isfinite(least) && isnan(model->dual_radius) && have_gaps(model) && tc_equality_count(model) == 0)
        return dual_radius * least / least_scaled;
    return dual_radius * largest * growth;
}

/* NULL, or why the margin is too large. */
static const char *check_margin(tc_arena *arena, const tc_model *model, const tc_tacit_facts *facts) {
    const tc_margin_wish *margin = &facts->margin;
    if (margin->kind == TC_MARGIN_GIVEN && !(margin->amount >= 0 && isfinite(margin->amount)))
        return "the margin must be a number that is not negative";
    if (margin->kind == TC_MARGIN_AUTO && !(margin->probability > 0 && margin->probability < 1))
        return "the probability of the margin must lie between 0 and 1";
    for (size_t j = 0; j < model->constraint_count; j++)
        if (margin->kind == TC_MARGIN_GIVEN && margin->amount >= facts->slack[j])
            return tc_arena_format(arena,
                                   "a margin of %.6g leaves no room in constraint %s: the declared Slater point "
                                   "satisfies it by %.6g",
                                   margin->amount, model->constraints[j].name, facts->slack[j]);
    return NULL;
}

/* ---- where the method is not expected to do well ----------------------------------------------------------------- */

enum { MOST_WARNINGS = 12 };
#define UNLIKE_WIDTHS 30.0 /* boxes that share a scale may differ in width by this factor */
#define TINY_SLACK 1e3     /* one slack makes the radius so many times the usual one */
#define AVERAGED 1.8       /* variance of the average over T rounds, with weights k(k+1), is 1.8 / T of one round's */
#define PRICES_LOST 0.3    /* averaged noise over X: where it was larger, multipliers were off by half or more */
#define FAR_TOO_MANY 4.0   /* times the rounds that are enough: then Laplace noise in the unit agent has doubled */

typedef struct warner {
    tc_arena *arena;
    const tc_plan *plan;
    const tc_model *model;
    const tc_derivatives *derivatives;
    tc_tacit_facts *facts;
} warner;

static void warn(warner *w, const char *text) { w->facts->warnings[w->facts->warning_count++] = text; }

/* ---- noise and the box ------------------------------------------------------------------------------------------- */

typedef struct widths { /* of the linear forms over the box */
    double *of_row;
    size_t rows;
} widths;

static void pack_widths(void *context, tc_parcel *parcel) {
    const widths *w = context;
    tc_put(parcel, w->of_row, w->rows * sizeof *w->of_row);
}

static void take_column(void *context, const tc_column_view *column) {
    widths *w = context;
    tc_interval range = tc_public_range(column->family, column->member, column->component);
    for (size_t i = 0; i < column->count; i++) {
        tc_interval v = column->values[i];
        double size = fmax(fabs(v.lo), fabs(v.hi));
        w->of_row[column->rows[i]] += column->weight * size * (range.hi - range.lo);
    }
}

/* How many released numbers still have noise wider than half their range when averaged over all rounds. */
typedef struct hidden_tally {
    double hidden, all;
} hidden_tally;

static void count_entry(hidden_tally *t, double variance, double rounds, double width, double times) {
    t->all += times;
    if (sqrt(variance * AVERAGED / rounds) > width / 2)
        t->hidden += times;
}

static void count_states(warner *w, const tc_channel *channel, hidden_tally *t) {
    const tc_family *family = &w->model->families[channel->family];
    for (size_t c = 0; c < family->dim; c++) {
        bool same = family->lower[c].column == NULL && family->upper[c].column == NULL;
        size_t first = channel->first_member, end = first + (same ? 1 : channel->member_count);
        hidden_tally found = {0}; /* whole numbers: their order does not matter */
        for (size_t k = first; k < end; k++) {
            if (!same && !tc_is_known(family, k))
                continue;
            tc_interval range = tc_public_range(family, k, c);
            count_entry(&found, channel->variance, w->plan->rounds, range.hi - range.lo,
                        same ? (double)channel->member_count : 1);
        }
        t->hidden += same ? found.hidden : (double)tc_sum_known(family, (size_t)found.hidden);
        t->all += same ? found.all : (double)tc_sum_known(family, (size_t)found.all);
    }
}

static void count_rows(warner *w, const tc_channel *channel, const double *of_row, hidden_tally *t) {
    for (uint32_t j = channel->first_row; j < channel->first_row + channel->row_count; j++)
        count_entry(t, channel->variance, w->plan->rounds, of_row[j], 1);
}

static double *find_widths(warner *w) {
    const tc_model *measured = w->plan->measured;
    widths found = {.of_row = TC_NEW(w->arena, double, measured->constraint_count + 1),
                    .rows = measured->constraint_count};
    tc_streams *streams = tc_streams_new(w->arena, measured, w->plan->measured_derivatives, NULL);
    tc_streams_outer_box(streams);
    (void)tc_streams_columns(streams, NULL, take_column, pack_widths, &found);
    return found.of_row;
}

/* How far averaged noise moves the scaled constraints. A gradient there has length 1: it is a length of states too. */
static double averaged_noise(const warner *w) {
    const double *variance = tc_row_variances(w->plan);
    double total = 0;
    for (size_t j = 0; variance != NULL && j < w->model->constraint_count; j++)
        total += variance[j] / (w->facts->row_scale[j] * w->facts->row_scale[j]);
    return sqrt(AVERAGED * total / w->plan->rounds);
}

/* ---- hiding an agent entirely ------------------------------------------------------------------------------------ */

/* All rounds share one promise, so each of T rounds has noise of variance T (Gaussian) or T^2 (Laplace) times that of a
 * single one: averaged, it does not depend on T, or grows with it. */
static bool hides_agents(const warner *w) {
    return tc_hides_every_round(w->plan->adjacency) && w->plan->mechanism != TC_MECHANISM_NONE;
}

/* The least T at which the method's own error is no larger than the noise, to two digits. */
static double enough_rounds(const warner *w) {
    double noise = averaged_noise(w), own = TC_OWN_ERROR * w->facts->box_length;
    double rounds =
        w->plan->mechanism == TC_MECHANISM_LAPLACE ? pow(own * sqrt(w->plan->rounds) / noise, 2.0 / 3) : own / noise;
    if (!(rounds > TC_FEW_ROUNDS))
        return TC_FEW_ROUNDS;
    double unit = pow(10, floor(log10(rounds)) - 1);
    return ceil(rounds / unit) * unit;
}

static void warn_of_shared_rounds(warner *w) {
    double enough = hides_agents(w) ? enough_rounds(w) : INFINITY;
    if (w->plan->mechanism == TC_MECHANISM_LAPLACE && w->plan->rounds >= FAR_TOO_MANY * enough)
        warn(w,
             tc_arena_format(w->arena,
                             "all rounds of an agent are hidden together, so Laplace noise grows with their number: "
                             "averaged over %.6g rounds it is %.2g times that of about %.6g, which are enough for "
                             "the method; take --rounds %.0f, or --mechanism gaussian, whose averaged noise does not "
                             "depend on their number",
                             w->plan->rounds, sqrt(w->plan->rounds / enough), enough, enough));
}

static const char *drowning_helps(const warner *w) {
    const char *smaller = w->plan->adjacency == TC_ADJACENCY_AGENT ? " (data, or one:B)" : "";
    if (!hides_agents(w))
        return "more rounds, a larger epsilon or a unit of adjacency that asks for less noise help";
    if (w->plan->mechanism == TC_MECHANISM_LAPLACE)
        return tc_arena_format(
            w->arena,
            "more rounds make it worse, since all of them are hidden together: Gaussian noise "
            "(--mechanism gaussian) and about %.6g rounds help, and so does a larger epsilon or a unit "
            "of adjacency that asks for less noise%s",
            enough_rounds(w), smaller);
    return tc_arena_format(
        w->arena,
        "more rounds do not help, since all of them are hidden together, and about %.6g are enough for "
        "the method; a larger epsilon or a unit of adjacency that asks for less noise%s does",
        enough_rounds(w), smaller);
}

/* Whether noise drowns everything. */
static bool warn_of_noise(warner *w) {
    hidden_tally t = {0};
    tc_mark mark = tc_arena_mark(w->arena);
    double *of_row = NULL;
    for (size_t i = 0; i < w->plan->channel_count; i++) {
        const tc_channel *channel = &w->plan->channels[i];
        if (channel->kind == TC_CHANNEL_STATES) {
            count_states(w, channel, &t);
        } else if (channel->kind != TC_CHANNEL_JACOBIAN) {
            if (of_row == NULL)
                of_row = find_widths(w);
            count_rows(w, channel, of_row, &t);
        }
    }
    tc_arena_rewind(w->arena, mark);
    bool drowns = t.hidden > t.all / 2 || averaged_noise(w) > w->facts->box_length;
    if (drowns)
        warn(w, tc_arena_format(w->arena,
                                "even averaged over all rounds the noise is wider than the public boxes, so the result "
                                "says nothing about the constraints' prices: it may ignore them or stay far inside; %s",
                                drowning_helps(w)));
    return drowns;
}

/* Where noise does not drown everything, it may still be too much for prices: these are slopes, and noise that moves
 * constraints by a part of the box moves slopes by more (docs/method.md counts how often this is right). */
static bool warn_of_prices(warner *w) {
    double part = averaged_noise(w) / w->facts->box_length;
    if (!(part > PRICES_LOST))
        return false;
    warn(w,
         tc_arena_format(w->arena,
                         "the multipliers cannot be known: averaged over all rounds, the noise is %.2g of X, the size "
                         "of the public boxes, and from %g on multipliers are usually off by half of their length "
                         "or more; %s. More agents whose limits grow alike help too",
                         part, PRICES_LOST, drowning_helps(w)));
    return true;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* Scales make up for states of different widths, but not for members of a family, which share a scale. */
static void warn_of_widths(warner *w) {
    double apart = tc_widths_apart(w->model, w->facts->scales);
    bool has_none = w->facts->scales == NULL && tc_state_scales_find(w->arena, w->model) != NULL;
    if (apart > UNLIKE_WIDTHS)
        warn(w, tc_arena_format(w->arena,
                                "the widest public box is %.3g times the narrowest, and %s: the result may be far off, "
                                "even without noise; units in which the states have similar ranges help",
                                apart,
                                has_none ? "with protected data all states have the same steps"
                                         : "members of one family have the same steps"));
    double scaled = tc_widths_apart(w->model, NULL);
    if (w->facts->scales != NULL && scaled > UNLIKE_WIDTHS)
        warn(w, tc_arena_format(
                    w->arena,
                    "the widest public box is %.3g times the narrowest, and steps follow the widths: a state in "
                    "a narrow box is slow where moving it through its whole box is worth far less to its agent than "
                    "the same is in a wide box",
                    scaled));
}

static int increasing(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void warn_of_slack(warner *w) {
    size_t m = 0, worst = 0;
    double *scaled = TC_NEW(w->arena, double, w->model->constraint_count + 1), least = INFINITY;
    for (size_t j = 0; j < w->model->constraint_count; j++) {
        if (w->model->constraints[j].is_equality || w->facts->is_constant[j])
            continue;
        scaled[m] = w->facts->slack[j] / w->facts->row_scale[j];
        if (isnan(scaled[m]))
            return;
        worst = scaled[m] < least ? j : worst;
        least = fmin(least, scaled[m++]);
    }
    qsort(scaled, m, sizeof *scaled, increasing);
    if (m > 0 && scaled[m / 2] > TINY_SLACK * least)
        warn(w, tc_arena_format(w->arena,
                                "the declared Slater point barely satisfies constraint %s, so that multipliers may be "
                                "anything up to %.3g: expect slow multipliers; a point further inside helps",
                                w->model->constraints[worst].name, w->facts->radius));
}

/* A slack that noise hides: nobody can tell then on which side of the constraint a result is. A band, which is warned
 * of by itself, has no point further inside. */
static void warn_of_hidden_slack(warner *w, const bool *in_band) {
    const double *variance = tc_row_variances(w->plan);
    size_t m = w->model->constraint_count, worst = m, count = 0;
    double most = 1;
    for (size_t j = 0; variance != NULL && j < m; j++) {
        double noise = sqrt(AVERAGED * variance[j] / w->plan->rounds), times = noise / w->facts->slack[j];
        if (in_band[j] || !(times > 1))
            continue;
        count++;
        if (times > most) {
            most = times;
            worst = j;
        }
    }
    if (worst == m)
        return;
    const char *others = count == 1   ? ""
                         : count == 2 ? ", and so it is with another constraint"
                                      : tc_arena_format(w->arena, ", and so it is with %zu others", count - 1);
    warn(w, tc_arena_format(w->arena,
                            "the declared Slater point satisfies constraint %s by %.3g, and the noise left in it after "
                            "all rounds has a standard deviation of %.3g%s: it is chance whether the result satisfies "
                            "such a constraint, and no margin fits; a point further inside%s or a larger epsilon helps",
                            w->model->constraints[worst].name, w->facts->slack[worst], most * w->facts->slack[worst],
                            others, hides_agents(w) ? "" : ", more rounds"));
}

static void warn_of_radius(warner *w) {
    if (tc_moving_count(w->facts->is_constant, w->model->constraint_count) == 0)
        return;
    bool known = w->facts->radius < INFINITY;
    if (!known && tc_radius_is_promised(w->model))
        return; /* nothing runs: the plan says why */
    if (!known)
        warn(w, "no public bound on the multipliers is known: expect a slow start; give gaps and a Slater point, or a "
                "dual radius");
    else if (w->facts->radius == 0)
        warn(w, "the dual radius is 0, so all multipliers stay 0 and constraints are ignored; if that is not "
                "intended, the gaps are too small");
}

static bool has_curved_bodies(const tc_derivatives *derivatives, const tc_model *model) {
    for (size_t f = 0; f < model->family_count; f++)
        if (derivatives->families[f].body_second_count > 0)
            return true;
    return false;
}

static void warn_of_curved_bodies(warner *w) {
    bool private_states = w->plan->placement == TC_PLACEMENT_STATES && w->plan->mechanism != TC_MECHANISM_NONE;
    if (private_states && tc_hides_every_round(w->plan->adjacency) && has_curved_bodies(w->derivatives, w->model))
        warn(w, "what an agent does is hidden in all rounds together, and constraints sum up curved functions of its "
                "states, so that "
                "every state carries its own noise: expect large errors; sums of affine functions need far less");
}

/* Some inequality has none: then no inequality has one. */
static bool lacks_slacks(const tc_model *model, const tc_tacit_facts *facts) {
    for (size_t j = 0; j < model->constraint_count; j++)
        if (isnan(facts->slack[j]) && !model->constraints[j].is_equality)
            return true;
    return false;
}

/* --margin auto, and a Slater point to move to. */
static bool ends_with_a_move(const tc_model *model, const tc_tacit_facts *facts) {
    size_t moving = 0;
    for (size_t j = 0; j < model->constraint_count; j++)
        moving += !model->constraints[j].is_equality && !facts->is_constant[j];
    return facts->margin.kind == TC_MARGIN_AUTO && !facts->margin.stays && !facts->certain && moving > 0 &&
           !lacks_slacks(model, facts);
}

static void warn_of_all(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                        tc_tacit_facts *facts) {
    warner w = {.arena = arena, .plan = plan, .model = model, .derivatives = derivatives, .facts = facts};
    facts->warnings = TC_NEW(arena, const char *, MOST_WARNINGS);
    facts->warning_count = 0;
    bool drowns = warn_of_noise(&w);
    if (!drowns && !warn_of_prices(&w))
        warn_of_shared_rounds(&w);
    warn_of_widths(&w);
    warn_of_slack(&w);
    warn_of_radius(&w);
    warn_of_curved_bodies(&w);
    if (plan->rounds < TC_FEW_ROUNDS)
        warn(&w, tc_arena_format(arena, "%.0f round%s too few for the method to settle; %d or more are usual",
                                 plan->rounds, plan->rounds == 1 ? " is" : "s are", (int)TC_FEW_ROUNDS));
    if (facts->margin.kind == TC_MARGIN_GIVEN && lacks_slacks(model, facts))
        warn(&w, "no public Slater point is declared, so that nobody knows whether the margin leaves room");
    bool *in_band = TC_NEW(arena, bool, model->constraint_count + 1);
    const char *band = tc_band_warning(arena, plan, model, derivatives, in_band);
    if (band != NULL)
        warn(&w, band);
    if (!drowns)
        warn_of_hidden_slack(&w, in_band);
}

/* ---- the facts --------------------------------------------------------------------------------------------------- */

tc_tacit_facts *tc_tacit_facts_make(tc_arena *arena, const tc_plan *plan, tc_model *model,
                                    const tc_derivatives *derivatives, double dual_radius, tc_margin_wish margin,
                                    const char **why) {
    tc_tacit_facts *made = TC_NEW(arena, tc_tacit_facts, 1);
    tc_state_scales scales = margin.stays ? NULL : scales_for(arena, model);
    *made = (tc_tacit_facts){.rounds = plan->rounds,
                             .scales = scales,
                             .box_length = tc_box_length(model, scales),
                             .slack = TC_NEW(arena, double, model->constraint_count),
                             .slater_off = TC_NEW(arena, double, model->constraint_count),
                             .is_constant = tc_constant_rows(arena, model, derivatives),
                             .certain = plan->last != NULL,
                             .margin = margin};
    find_scales(arena, raw_scales(arena, plan, model, derivatives, scales), model->constraint_count, made);
    made->same = tc_find_multiples(arena, model, derivatives, made);
    const char *loose = find_slack(arena, model, derivatives, made->is_constant, made->slack, made->slater_off);
    made->moves = ends_with_a_move(model, made);
    *why = made->certain && loose != NULL
               ? tc_arena_format(arena,
                                 "--feasible always moves the result towards the declared Slater point, and that is "
                                 "not shown to satisfy constraint %s strictly: declare one that satisfies every "
                                 "inequality with room to spare",
                                 loose)
               : check_margin(arena, model, made);
    if (*why != NULL)
        return NULL;
    tc_predict_move(arena, plan, model, made);
    made->radius = radius_from_room(arena, model, derivatives, made);
    if (isnan(made->radius))
        made->radius = find_radius(model, made, dual_radius);
    warn_of_all(arena, plan, model, derivatives, made);
    return made;
}
