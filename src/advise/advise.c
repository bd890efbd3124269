#include "advise/advise.h"

#include "analysis/region.h"
#include "plan/account/account.h"
#include "plan/placement/placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_DELTA 1e-6
/* No epsilon below this is recommended. At its delta, Gaussian noise may not need any. */
#define LEAST 1e-3
/* Laplace noise, which has no delta, is preferred if it needs no more than this times the epsilon. */
#define LITTLE 1.1
#define AFTER 1.002 /* once more, where rounding to lattices has made the noise a little larger than predicted */
#define FAR 1e6     /* no price above this is looked at */
#define MOST_ROUNDS (0x1p48 - 1)
#define ROUNDS_APART 16.0 /* rounds of a second plan, which shows what more rounds do */

const double tc_table_epsilons[TC_TABLE_EPSILONS] = {0.1, 0.3, 1, 3, 10};

typedef struct adviser {
    tc_arena *arena;
    tc_model *model;
    const tc_derivatives *derivatives;
    const tc_analysis *analysis;
    const tc_monitor *monitor;
    tc_advice *advice;
    bool *counts;     /* by row: it is judged */
    tc_mechanism law; /* of units in which the laws keep different promises; UNSET: each */
    bool is_other;    /* another promise of the same unit: beside it nothing is looked at again */
} adviser;

/* ---- one plan ---------------------------------------------------------------------------------------------------- */

static tc_plan_options options_of(const adviser *a, const tc_way *way, double epsilon, double rounds) {
    tc_plan_options options = a->advice->wish.plan;
    options.method = TC_METHOD_TACIT;
    options.mechanism = way->mechanism;
    options.adjacency = way->adjacency;
    options.adjacency_bound = way->bound;
    options.epsilon = epsilon;
    options.delta = tc_has_delta(a->advice, way->mechanism) ? a->advice->delta : (double)NAN;
    options.rounds = rounds;
    return options;
}

static const tc_plan *plan_of(adviser *a, const tc_way *way, double epsilon, double rounds) {
    tc_plan_options options = options_of(a, way, epsilon, rounds);
    return tc_plan_make(a->arena, a->model, a->derivatives, a->analysis, &options, NULL);
}

bool tc_has_delta(const tc_advice *advice, tc_mechanism mechanism) {
    return mechanism == TC_MECHANISM_GAUSSIAN || advice->wish.plan.certain;
}

/* Part of it is for the bounds of a last round's noise. */
static double noise_delta(const tc_advice *advice, const tc_way *way) {
    return advice->wish.plan.certain ? tc_noise_delta(way->plan) : advice->delta;
}

/* Noise is proportional to one over this; with a last round nearly so, since its share changes a little with it. */
static double price_of(const tc_advice *advice, const tc_way *way, double epsilon) {
    return way->mechanism == TC_MECHANISM_GAUSSIAN ? tc_gaussian_gdp(epsilon, noise_delta(advice, way)) : epsilon;
}

static double epsilon_of(const tc_advice *advice, const tc_way *way, double price) {
    if (!isfinite(price))
        return INFINITY;
    return fmax(LEAST,
                way->mechanism == TC_MECHANISM_GAUSSIAN ? tc_gaussian_epsilon(price, noise_delta(advice, way)) : price);
}

double tc_doubt_at(const tc_advice *advice, const tc_way *way, size_t row, double epsilon) {
    return way->accuracy->rows[row].doubt * price_of(advice, way, advice->reference) / price_of(advice, way, epsilon);
}

double tc_missing_at(const tc_advice *advice, const tc_way *way, size_t row, double epsilon) {
    double times = price_of(advice, way, advice->reference) / price_of(advice, way, epsilon);
    if (way->settling == NULL || isnan(way->accuracy->rows[row].missing))
        return NAN;
    return tc_settling_missing(way->settling, row, times * times, advice->rounds.now);
}

static double error_at(const tc_advice *advice, const tc_way *way, size_t row, double epsilon) {
    tc_row_accuracy there = {.doubt = tc_doubt_at(advice, way, row, epsilon),
                             .missing = tc_missing_at(advice, way, row, epsilon)};
    return tc_error_of(&there);
}

double tc_tolerable(const tc_advice_wish *wish, const tc_row_accuracy *row) {
    return wish->is_share ? wish->tolerance * tc_accuracy_whole(row) : wish->tolerance;
}

tc_advised_cell tc_advised_at(const tc_advice *advice, const tc_way *way, double epsilon) {
    const tc_row_accuracy *row = &way->accuracy->rows[way->worst];
    tc_row_accuracy there = {.doubt = tc_doubt_at(advice, way, way->worst, epsilon),
                             .missing = tc_missing_at(advice, way, way->worst, epsilon)};
    return (tc_advised_cell){.row = row,
                             .doubt = there.doubt,
                             .missing = there.missing,
                             .is_tolerable = tc_error_of(&there) <= tc_tolerable(&advice->wish, row),
                             .is_useless = tc_drowns(row, tc_error_of(&there)),
                             .is_unreached = tc_is_missed(there.doubt, there.missing)};
}

/* How many times the tolerable doubt, in the row where that is most. */
static double worst_times(const adviser *a, const tc_accuracy *accuracy, bool at_home, size_t *worst) {
    double most = 0;
    for (size_t j = 0; j < accuracy->count; j++) {
        const tc_row_accuracy *row = &accuracy->rows[j];
        double times = (at_home ? row->local_doubt : tc_error_of(row)) / tc_tolerable(&a->advice->wish, row);
        if (!a->counts[j] || times <= most)
            continue;
        most = isnan(times) ? (double)INFINITY : times;
        *worst = j;
    }
    return most;
}

/* With what is missing. NULL: no facts can be had, and nothing is known of it. */
static const tc_settling *settle(adviser *a, const tc_plan *plan, tc_accuracy *accuracy) {
    const char *why = NULL;
    const tc_tacit_facts *facts =
        tc_tacit_facts_make(a->arena, plan, a->model, a->derivatives, a->advice->wish.dual_radius,
                            (tc_margin_wish){.kind = TC_MARGIN_NONE, .amount = NAN, .probability = NAN}, &why);
    if (facts == NULL)
        return NULL;
    const tc_settling *made = tc_settling_new(a->arena, plan, a->model, a->derivatives, facts);
    tc_settling_judge(made, accuracy);
    return made;
}

/* The least epsilon at which the error in the worst row is tolerable: what is missing falls in no fixed proportion. */
static double least_epsilon(const adviser *a, const tc_way *way, double price) {
    enum { HALVINGS = 6 };
    const tc_advice *advice = a->advice;
    double tolerable = tc_tolerable(&advice->wish, &way->accuracy->rows[way->worst]), low = price, high = price;
    while (high < FAR && !(error_at(advice, way, way->worst, epsilon_of(advice, way, high)) <= tolerable)) {
        low = high;
        high *= 2;
    }
    if (high >= FAR)
        return INFINITY;
    for (int i = 0; low < high && i < HALVINGS; i++) {
        double middle = sqrt(low * high);
        if (error_at(advice, way, way->worst, epsilon_of(advice, way, middle)) <= tolerable)
            high = middle;
        else
            low = middle;
    }
    return epsilon_of(advice, way, high);
}

static void look_at(adviser *a, tc_way *way) {
    tc_advice *advice = a->advice;
    size_t elsewhere = 0;
    way->plan = plan_of(a, way, advice->reference, advice->rounds.now);
    way->promised = tc_promised(a->arena, way->plan);
    way->problem = way->plan->problem;
    way->needed = way->at_home = INFINITY;
    if (way->problem != NULL)
        return;
    tc_accuracy *accuracy = tc_accuracy_make(a->arena, way->plan, a->derivatives, NULL);
    way->accuracy = accuracy;
    way->settling = settle(a, way->plan, accuracy);
    double price = price_of(advice, way, advice->reference);
    way->times = worst_times(a, way->accuracy, false, &way->worst);
    const tc_row_accuracy *worst = &way->accuracy->rows[way->worst];
    way->needed = isnan(worst->missing)
                      ? epsilon_of(advice, way, price * way->times)
                      : least_epsilon(a, way, price * worst->doubt / tc_tolerable(&advice->wish, worst));
    if (!advice->wish.plan.certain) /* at home nobody has a last round */
        way->at_home = epsilon_of(advice, way, price * worst_times(a, way->accuracy, true, &elsewhere));
}

/* ---- ways -------------------------------------------------------------------------------------------------------- */

static double widest(const tc_model *model) {
    double most = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = 0; k < (tc_same_boxes(family) ? 1 : family->count); k++) {
                tc_interval range = tc_public_range(family, k, c);
                most = fmax(most, range.hi - range.lo);
            }
    }
    return most;
}

/* Both laws only where they keep the same promise. */
static void add_unit(adviser *a, tc_adjacency adjacency, double bound, bool is_asked) {
    static const tc_mechanism laws[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_GAUSSIAN};
    tc_advice *advice = a->advice;
    tc_mechanism only = tc_norm_matters(a->model, adjacency) ? a->law : advice->wish.plan.mechanism;
    for (size_t i = 0; i < 2; i++) {
        if (only != TC_MECHANISM_UNSET && only != laws[i])
            continue;
        tc_way *way = &advice->ways[advice->way_count++];
        *way = (tc_way){.mechanism = laws[i], .adjacency = adjacency, .bound = bound, .is_asked = is_asked};
        look_at(a, way);
        tc_progress(a->monitor, "advise", (double)advice->way_count / (TC_MOST_WAYS + 2));
    }
}

/* The asked unit, and beside it one agent's messages and one agent entirely. Messages: by the same B, or by the whole
 * range of a state. */
static void add_units(adviser *a) {
    const tc_advice_wish *wish = &a->advice->wish;
    bool by_option = wish->plan.adjacency != TC_ADJACENCY_UNSET;
    tc_adjacency unit = by_option ? wish->plan.adjacency : a->model->privacy.adjacency;
    double bound = by_option ? wish->plan.adjacency_bound : a->model->privacy.adjacency_bound;
    unit = unit == TC_ADJACENCY_BARE ? TC_ADJACENCY_ONE : unit;
    add_unit(a, unit, bound, true);
    if (a->is_other)
        return;
    if (unit != TC_ADJACENCY_ONE)
        add_unit(a, TC_ADJACENCY_ONE, unit == TC_ADJACENCY_ENSEMBLE ? bound : widest(a->model), false);
    if (unit != TC_ADJACENCY_AGENT)
        add_unit(a, TC_ADJACENCY_AGENT, NAN, false);
}

/* The largest epsilon that may be recommended. */
static double most_epsilon(const tc_advice *advice) { return advice->is_capped ? advice->reference : TC_WEAK_EPSILON; }

/* Needs less epsilon; where no allowed one does, leaves less doubt at the largest. */
static bool is_better(const tc_advice *advice, const tc_way *way, const tc_way *than) {
    double most = most_epsilon(advice), reference = advice->reference;
    if (than == NULL)
        return true;
    if (way->needed > most && than->needed > most)
        return way->times * price_of(advice, way, reference) / price_of(advice, way, most) <
               than->times * price_of(advice, than, reference) / price_of(advice, than, most);
    if (than->mechanism == TC_MECHANISM_LAPLACE)
        return way->needed * LITTLE < than->needed;
    return way->needed < than->needed;
}

/* To hide one agent entirely promises more than to hide its data or a distance: it is taken where it costs as much. */
static void prefer_agent(adviser *a) {
    tc_advice *advice = a->advice;
    const tc_way *asked = advice->best;
    if (asked == NULL || asked->adjacency == TC_ADJACENCY_AGENT || !tc_hides_every_round(asked->adjacency))
        return;
    for (size_t i = 0; i < advice->way_count; i++) {
        const tc_way *way = &advice->ways[i];
        if (way->adjacency == TC_ADJACENCY_AGENT && way->mechanism == asked->mechanism && way->problem == NULL &&
            way->needed <= asked->needed * AFTER && way->needed <= most_epsilon(advice)) {
            advice->best = way;
            advice->instead_of = asked;
        }
    }
}

static void choose(adviser *a) {
    tc_advice *advice = a->advice;
    tc_mechanism wanted = tc_resolve_mechanism(a->model, &advice->wish.plan);
    for (size_t i = 0; i < advice->way_count; i++) {
        const tc_way *way = &advice->ways[i];
        if (!way->is_asked || way->problem != NULL)
            continue;
        if (is_better(advice, way, advice->best))
            advice->best = way;
        if (way->mechanism == wanted)
            advice->shown = way;
    }
    prefer_agent(a);
    if (advice->shown == NULL)
        advice->shown = advice->best;
    if (advice->best == NULL)
        advice->problem = advice->ways[0].problem;
    advice->is_usage = advice->best == NULL && advice->ways[0].plan->refusal_is_usage;
}

/* ---- what is recommended ----------------------------------------------------------------------------------------- */

/* To two digits, upward. */
static double rounded_up(double epsilon) {
    double unit = pow(10, floor(log10(epsilon)) - 1), rounded = ceil(epsilon / unit - 1e-9) * unit;
    char text[32];
    (void)snprintf(text, sizeof text, "%.2g", rounded); /* the nearest to the decimal number */
    return strtod(text, NULL);
}

/* Plans with the epsilon that is about to be recommended. Returns how many times the tolerable error it leaves. */
static double times_at(adviser *a, double epsilon) {
    tc_advice *advice = a->advice;
    size_t worst = advice->best->worst;
    advice->plan = plan_of(a, advice->best, epsilon, advice->rounds.now);
    if (advice->plan->problem != NULL)
        return INFINITY;
    tc_accuracy *accuracy = tc_accuracy_make(a->arena, advice->plan, a->derivatives, NULL);
    (void)settle(a, advice->plan, accuracy);
    double times = worst_times(a, accuracy, false, &worst);
    advice->told = accuracy->rows[worst];
    advice->name_only = tc_name_only_reason(a->arena, advice->plan);
    return times;
}

/* With a last round doubts are not quite proportional: from the epsilon that proportion gives, closer to the right one.
 */
static double come_closer(adviser *a, double epsilon) {
    enum { STEPS = 2 };
    const tc_advice *advice = a->advice;
    for (int i = 0; advice->wish.plan.certain && i < STEPS && epsilon <= most_epsilon(advice); i++)
        epsilon = epsilon_of(advice, advice->best, price_of(advice, advice->best, epsilon) * times_at(a, epsilon));
    return epsilon;
}

enum { MOST_TRIES = 12 };
#define FURTHER 1.15 /* and then, where another row than the worst one needs more */

static void recommend(adviser *a) {
    tc_advice *advice = a->advice;
    double most = most_epsilon(advice), epsilon = come_closer(a, advice->best->needed);
    advice->epsilon = advice->told.doubt = NAN;
    advice->name_only = NULL;
    if (!(epsilon > 0 && epsilon <= most))
        return;
    epsilon = fmin(most, rounded_up(epsilon));
    double times = times_at(a, epsilon);
    for (int i = 0; !(times <= 1) && i < MOST_TRIES; i++) {
        epsilon = fmin(most, rounded_up(epsilon * (i == 0 ? AFTER : FURTHER)));
        times = times_at(a, epsilon);
    }
    if (!(times <= 1)) {
        advice->name_only = NULL;
        return;
    }
    advice->reaches = advice->name_only == NULL;
    advice->epsilon = epsilon;
}

/* ---- rounds and agents ------------------------------------------------------------------------------------------- */

/* How far averaged noise moves the constraints, scaled so that their gradients have length 1: a length of states. */
static double noise_length(const tc_plan *plan, const tc_accuracy *accuracy) {
    double squares = 0;
    for (size_t j = 0; j < accuracy->count; j++) {
        double part = accuracy->rows[j].doubt / plan->row_scale[j];
        squares += part * part;
    }
    return sqrt(squares);
}

static void look_at_rounds(adviser *a) {
    tc_advice *advice = a->advice;
    const tc_way *way = advice->best;
    tc_advised_rounds *rounds = &advice->rounds;
    const tc_plan *longer = plan_of(a, way, advice->reference, fmin(ROUNDS_APART * rounds->now, MOST_ROUNDS));
    double power = -0.5, noise = noise_length(way->plan, way->accuracy);
    if (longer->problem == NULL) {
        const double *before = tc_row_variances(way->plan), *after = tc_row_variances(longer);
        power = log(after[way->worst] / before[way->worst]) / log(ROUNDS_APART) / 2 - 0.5;
    }
    rounds->power = round(2 * power) / 2;
    rounds->needed = way->times <= 1 ? rounds->now : INFINITY;
    if (rounds->power < 0 && way->times > 1)
        rounds->needed = ceil(rounds->now * pow(way->times, -1 / rounds->power));
    double own = TC_OWN_ERROR * tc_box_length(a->model, NULL);
    double enough = pow(own * pow(rounds->now, rounds->power) / noise, 1 / (1 + rounds->power));
    const tc_row_accuracy *worst = &way->accuracy->rows[way->worst];
    if (worst->is_unreached) /* noise shortens the steps */
        enough = fmax(enough, worst->rounds_needed);
    rounds->enough = enough > TC_FEW_ROUNDS && isfinite(enough) ? rounded_up(enough) : TC_FEW_ROUNDS;
}

/* Whether every row that counts is made of sums over declared families alone. */
static bool are_sums(const adviser *a) {
    const tc_derivatives *d = a->derivatives;
    for (size_t o = 0; o < d->outer_first_count; o++) {
        const tc_outer_input *input = &d->inputs[d->outer_first[o].column];
        if (!a->counts[d->outer_first[o].row])
            continue;
        if (input->op != TC_SUM || !a->model->families[a->model->sums[input->index].family].is_family)
            return false;
    }
    return true;
}

/* Noise on sums does not know how many agents there are. Noise on states, and that for all agents together, adds up. */
static void look_at_agents(adviser *a) {
    tc_advice *advice = a->advice;
    const tc_way *way = advice->best;
    bool together = way->adjacency == TC_ADJACENCY_ENSEMBLE && way->mechanism == TC_MECHANISM_GAUSSIAN;
    advice->agents = (tc_advised_agents){.now = (double)a->model->agent_count,
                                         .needed = NAN,
                                         .power = tc_noises_states(way->plan) || together ? 0.5 : 0};
    /* Where a run does not settle, more agents do not bring what is missing down as they do noise. */
    if (are_sums(a) && !way->accuracy->rows[way->worst].is_unreached)
        advice->agents.needed = ceil(advice->agents.now * pow(way->times, 1 / (1 - advice->agents.power)));
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* "feeder" is feeder and feeder[1], feeder[2], ... */
static bool has_name(const char *row, const char *name) {
    size_t length = strlen(name);
    return strncmp(row, name, length) == 0 && (row[length] == '\0' || row[length] == '[');
}

static bool choose_rows(adviser *a) {
    tc_advice *advice = a->advice;
    const char *name = advice->wish.constraint;
    const bool *is_constant = tc_constant_rows(a->arena, a->model, a->derivatives);
    size_t count = 0;
    a->counts = TC_NEW(a->arena, bool, a->model->constraint_count + 1);
    for (size_t j = 0; j < a->model->constraint_count; j++) {
        a->counts[j] = !is_constant[j] && (name == NULL || has_name(a->model->constraints[j].name, name));
        count += a->counts[j];
    }
    if (count == 0) {
        advice->problem =
            name == NULL
                ? "no state has an effect on a constraint: there is nothing to be in doubt about"
                : tc_arena_format(a->arena, "there is no constraint '%.200s' that states have an effect on", name);
        advice->is_usage = name != NULL;
    }
    return count > 0;
}

static double first_known(double a, double b, double c) { return !isnan(a) ? a : !isnan(b) ? b : c; }

static tc_advice *one_promise(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives,
                              const tc_analysis *analysis, const tc_advice_wish *wish, const tc_monitor *monitor,
                              tc_mechanism law, bool is_other) {
    tc_advice *advice = TC_NEW(arena, tc_advice, 1);
    *advice = (tc_advice){.model = model,
                          .wish = *wish,
                          .delta = first_known(wish->plan.delta, model->privacy.delta, USUAL_DELTA),
                          .reference = first_known(wish->plan.epsilon, model->privacy.epsilon, 1),
                          .is_capped = !isnan(wish->plan.epsilon),
                          .most_move = NAN,
                          .usual_move = NAN,
                          .rounds = {.now = first_known(wish->plan.rounds, model->schedule.rounds, NAN)}};
    adviser a = {.arena = arena,
                 .model = model,
                 .derivatives = derivatives,
                 .analysis = analysis,
                 .monitor = monitor,
                 .advice = advice,
                 .law = law,
                 .is_other = is_other};
    if (!choose_rows(&a))
        return advice;
    tc_progress(monitor, "advise", 0);
    add_units(&a);
    choose(&a);
    if (advice->problem != NULL)
        return advice;
    recommend(&a);
    look_at_rounds(&a);
    look_at_agents(&a);
    return advice;
}

/* Two promises that were asked for in one word: the one that reaches first, with the ways of both. */
static tc_advice *joined(tc_advice *first, tc_advice *second) {
    if (first->problem != NULL || second->problem != NULL)
        return first->problem == NULL ? first : second;
    if (!first->reaches && second->reaches)
        return joined(second, first);
    const tc_advice *with = first->way_count > 1 ? first : second; /* other units beside */
    memmove(&first->ways[2], &with->ways[1], (with->way_count - 1) * sizeof first->ways[0]);
    if (with == first) { /* what points at them moves along */
        first->best += first->best > first->ways;
        first->shown += first->shown > first->ways;
    }
    first->ways[1] = second->ways[0];
    first->way_count = 1 + with->way_count;
    first->other = second;
    return first;
}

tc_advice *tc_advise(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives, const tc_analysis *analysis,
                     const tc_advice_wish *wish, const tc_monitor *monitor) {
    tc_adjacency unit = wish->plan.adjacency != TC_ADJACENCY_UNSET ? wish->plan.adjacency : model->privacy.adjacency;
    bool by_option = wish->plan.mechanism != TC_MECHANISM_UNSET;
    tc_mechanism law = by_option ? wish->plan.mechanism : model->privacy.mechanism;
    bool are_two = law == TC_MECHANISM_UNSET && tc_norm_matters(model, unit);
    tc_advice *advice =
        one_promise(arena, model, derivatives, analysis, wish, monitor, are_two ? TC_MECHANISM_GAUSSIAN : law, false);
    if (are_two)
        advice =
            joined(advice, one_promise(arena, model, derivatives, analysis, wish, monitor, TC_MECHANISM_LAPLACE, true));
    if (advice->problem == NULL)
        advice->recommendation = tc_recommend(arena, advice);
    tc_progress(monitor, "advise", 1);
    return advice;
}
