#include "plan/account/account.h"

#include "base/json.h"
#include "calculus/interval/interval.h"

#include <stdio.h>
#include <stdlib.h>

tc_run_price tc_price_of_run(const tc_plan *plan) {
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN;
    tc_run_price price = {.epsilon = INFINITY, .delta = INFINITY, .gdp = NAN};
    if (plan->observer_count == 0 || plan->mechanism == TC_MECHANISM_NONE)
        return price;
    price = (tc_run_price){.gdp = gaussian ? 0 : NAN, .payer = plan->observers};
    for (size_t i = 0; i < plan->observer_count; i++) {
        const tc_observer *observer = &plan->observers[i];
        /* Among observers who pay the same, the one who sees everything stands for all. */
        bool more = observer->epsilon > price.epsilon;
        bool same = observer->epsilon == price.epsilon && observer->kind == TC_OBSERVER_EAVESDROPPER;
        if (more || same)
            price.payer = observer;
        price.epsilon = fmax(price.epsilon, observer->epsilon);
        price.delta = fmax(price.delta, observer->delta);
        if (gaussian)
            price.gdp = fmax(price.gdp, observer->gdp);
    }
    return price;
}

/* The price, epsilon or gdp, up to which the plan is judged: that of epsilon 1. Noise of bounded support does not hide
 * that much at any price: what lies k planned distances apart costs more delta too, and k has an end. */
static double judged_at(const tc_plan *plan, double paid) {
    double at_one = plan->mechanism == TC_MECHANISM_GAUSSIAN ? tc_gaussian_gdp(1, TC_JUDGING_DELTA) : 1;
    if (plan->last == NULL || !(paid < at_one))
        return at_one;
    double most = fmax(TC_JUDGING_DELTA, tc_delta_of_bounds(plan)), k = 1, end = at_one / paid;
    for (int i = 0; i < 60; i++) {
        double next = k + (end - k) / 2;
        bool fits =
            tc_bounded_delta(plan->mechanism, next * plan->last->price, plan->last->rows, plan->last->cut) <= most;
        *(fits ? &k : &end) = next;
    }
    return k * paid;
}

static double paid_by_all(const tc_plan *plan) {
    tc_run_price price = tc_price_of_run(plan);
    return plan->mechanism == TC_MECHANISM_GAUSSIAN ? price.gdp : price.epsilon;
}

double tc_hidden_share(const tc_plan *plan) {
    if (plan->mechanism == TC_MECHANISM_NONE)
        return NAN;
    if (plan->adjacency == TC_ADJACENCY_DATA)
        return fmin(tc_lasting_share(plan), 1);
    double at_one = judged_at(plan, paid_by_all(plan));
    if (plan->message_price <= at_one)
        return INFINITY;
    return plan->range_price > 0 ? nextafter(at_one / plan->range_price, 0) : INFINITY;
}

bool tc_delta_is_large(const tc_plan *plan) {
    return plan->mechanism != TC_MECHANISM_NONE && plan->delta * (double)plan->model->agent_count >= 1;
}

/* By how much a datum is protected, at least and at most over components and members. */
tc_span_of_by tc_protected_by(const tc_family *family, const tc_datum *datum) {
    tc_span_of_by found = {datum->protection.least, datum->protection.most};
    if (datum->protection.is_known)
        return isfinite(found.least) ? found : (tc_span_of_by){0, 0};
    found = (tc_span_of_by){INFINITY, 0};
    for (size_t c = 0; c < datum->count; c++) {
        for (size_t k = 0; k < (datum->by[c].column != NULL ? family->count : 1); k++) {
            double by = tc_coef_at(datum->by[c], k);
            found.least = by > 0 ? fmin(found.least, by) : found.least;
            found.most = fmax(found.most, by);
        }
    }
    return isfinite(found.least) ? found : (tc_span_of_by){0, 0};
}

/* The least share of its range by which a datum is protected. */
static double least_data_share(const tc_model *model) {
    double least = INFINITY;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t i = 0; i < family->datum_count; i++) {
            const tc_datum *datum = &family->data[i];
            bool known = datum->by != NULL && datum->protection.is_known;
            least = known ? fmin(least, datum->protection.share) : least;
            for (size_t c = 0; datum->by != NULL && !known && c < datum->count; c++) {
                for (size_t k = 0; k < family->count; k++) {
                    double width = tc_coef_at(datum->upper[c], k) - tc_coef_at(datum->lower[c], k);
                    if (width > 0)
                        least = fmin(least, tc_coef_at(datum->by[c], k) / width);
                }
            }
        }
    }
    return least;
}

double tc_lasting_share(const tc_plan *plan) {
    double paid = paid_by_all(plan), at_one = judged_at(plan, paid);
    if (plan->adjacency == TC_ADJACENCY_DATA)
        return paid > 0 ? least_data_share(plan->model) * (at_one / paid) : (double)INFINITY;
    return plan->agent_price > 0 ? at_one / plan->agent_price : (double)INFINITY;
}

/* The largest epsilon that any observer pays; for Gaussian noise at TC_JUDGING_DELTA. */
static double judged_epsilon(const tc_plan *plan) {
    tc_run_price price = tc_price_of_run(plan);
    if (plan->mechanism != TC_MECHANISM_GAUSSIAN || plan->delta == TC_JUDGING_DELTA || plan->last != NULL)
        return price.epsilon; /* bounds of noise cost a delta of their own, whatever epsilon is asked for */
    return price.gdp == 0 ? 0 : tc_gaussian_epsilon(price.gdp, TC_JUDGING_DELTA);
}

tc_word_for tc_judge_plan(const tc_plan *plan) {
    if (plan->problem != NULL || !plan->is_private || plan->mechanism == TC_MECHANISM_NONE)
        return TC_WORD_VOID;
    bool weak = tc_hides_every_round(plan->adjacency) ? !(judged_epsilon(plan) <= TC_WEAK_EPSILON)
                                                      : !(tc_hidden_share(plan) >= TC_LEAST_SHARE);
    if (plan->distances != NULL) /* a small distance makes epsilon small */
        weak = weak || !(tc_lasting_share(plan) >= TC_LEAST_SHARE);
    return weak || tc_delta_is_large(plan) || plan->delta >= TC_LARGE_DELTA ? TC_WORD_NAME_ONLY : TC_WORD_PRIVATE;
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

const char *tc_mechanism_name(tc_mechanism mechanism) {
    static const char *const names[] = {"unset", "none", "laplace", "gaussian"};
    return names[mechanism];
}
const char *tc_adjacency_name(tc_adjacency adjacency) {
    static const char *const names[] = {"unset", "bare", "ensemble", "one", "agent", "agent", "data"};
    return names[adjacency];
}
const char *tc_placement_name(tc_placement placement) {
    static const char *const names[] = {"auto", "outputs", "states", "forms"};
    return names[placement];
}
const char *tc_calibration_name(tc_calibration calibration) {
    return calibration == TC_PUBLISHED ? "published" : "tight";
}

const char *tc_method_name(tc_method method) {
    static const char *const names[] = {"unset", "published", "tacit"};
    return names[method];
}

const char *tc_unit_text(tc_arena *arena, tc_adjacency unit, double bound) {
    char number[32];
    if (unit == TC_ADJACENCY_AGENT || unit == TC_ADJACENCY_DATA)
        return tc_adjacency_name(unit);
    tc_shortest_number(number, bound);
    return tc_arena_format(arena, "%s:%s", tc_adjacency_name(unit), number);
}

bool tc_norm_matters(const tc_model *model, tc_adjacency unit) {
    bool matters = !tc_hides_every_round(unit);
    for (size_t f = 0; unit == TC_ADJACENCY_WITHIN && f < model->family_count; f++)
        matters = matters || model->families[f].dim > 1;
    return matters;
}

tc_promised_unit tc_promised(tc_arena *arena, const tc_plan *plan) {
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN, within = plan->adjacency == TC_ADJACENCY_WITHIN;
    tc_promised_unit made = {.every_round = NAN};
    if (plan->mechanism == TC_MECHANISM_NONE || plan->adjacency == TC_ADJACENCY_UNSET)
        return made;
    made.text = made.unit = tc_unit_text(arena, plan->adjacency, plan->adjacency_bound);
    if (within)
        made.every_round = plan->adjacency_bound;
    else if (!tc_hides_every_round(plan->adjacency))
        made.every_round = tc_div_down(plan->adjacency_bound, gaussian ? tc_sqrt_up(plan->rounds) : plan->rounds);
    if (tc_norm_matters(plan->model, plan->adjacency) && plan->mechanism != TC_MECHANISM_UNSET) {
        made.norm = gaussian ? "root-sum-square" : "total";
        made.text = tc_arena_format(arena, "%s in %s%s", made.unit, made.norm, within ? " each round" : "");
    }
    return made;
}

void tc_promised_json(const tc_promised_unit *promised, tc_json *json) {
    tc_json_string(json, "unit", promised->unit);
    tc_json_string(json, "norm", promised->norm);
    tc_json_number(json, "hidden_every_round", promised->every_round);
}

const char *tc_text_up(tc_arena *arena, double value) {
    char text[32];
    if (!isfinite(value))
        return isnan(value) ? "unknown" : "infinite";
    for (int digits = 4; digits <= 17; digits++) {
        double unit = value == 0 ? 0 : pow(10, floor(log10(fabs(value))) + 1 - digits);
        for (int up = 0; up <= 1; up++) {
            (void)snprintf(text, sizeof text, "%.*g", digits, value + up * 0.75 * unit);
            if (strtod(text, NULL) >= value)
                return tc_arena_format(arena, "%s", text);
        }
    }
    return tc_arena_format(arena, "%s", text);
}

const char *tc_price_up(tc_arena *arena, double epsilon, double delta) {
    if (!isfinite(epsilon))
        return "no guarantee";
    const char *first = tc_text_up(arena, epsilon);
    return delta > 0 ? tc_arena_format(arena, "epsilon %s, delta %s", first, tc_text_up(arena, delta))
                     : tc_arena_format(arena, "epsilon %s", first);
}

const char *tc_epsilon_is_for(const tc_plan *plan) {
    if (plan->mechanism == TC_MECHANISM_NONE)
        return NULL;
    return plan->calibration == TC_PUBLISHED ? "each system" : "everything";
}

const char *tc_word_text(tc_word_for word, tc_adjacency unit) {
    static const char *const words[][2] = {
        [TC_ADJACENCY_AGENT] = {"private: one agent entirely", "private in name only (one agent entirely)"},
        [TC_ADJACENCY_WITHIN] = {"private: one agent within D in every round",
                                 "private in name only (one agent within D in every round)"},
        [TC_ADJACENCY_DATA] = {"private: one agent's data", "private in name only (one agent's data)"}};
    static const char *const messages[] = {"private: messages only", "private in name only (messages only)"};
    if (word == TC_WORD_VOID)
        return "NOT PRIVATE";
    return (tc_hides_every_round(unit) ? words[unit] : messages)[word == TC_WORD_NAME_ONLY];
}

const char *tc_name_only_reason(tc_arena *arena, const tc_plan *plan) {
    if (tc_judge_plan(plan) != TC_WORD_NAME_ONLY)
        return NULL;
    if (tc_delta_is_large(plan))
        return tc_arena_format(arena, "delta %s is no smaller than one over the number of agents, %zu",
                               tc_text_up(arena, plan->delta), plan->model->agent_count);
    if (plan->delta >= TC_LARGE_DELTA)
        return tc_arena_format(
            arena,
            "delta %s may be added to the probability of any event, P(S) <= e^epsilon P'(S) + delta, "
            "and %g or more is no promise",
            tc_text_up(arena, plan->delta), TC_LARGE_DELTA);
    const char *at = plan->mechanism == TC_MECHANISM_GAUSSIAN ? " and delta 1e-6" : "";
    if (tc_hides_every_round(plan->adjacency) && !(judged_epsilon(plan) <= TC_WEAK_EPSILON))
        return tc_arena_format(arena, "epsilon %s%s is above %d, a factor of e^%d = 22,026 in odds",
                               tc_text_up(arena, judged_epsilon(plan)), at, TC_WEAK_EPSILON, TC_WEAK_EPSILON);
    if (plan->distances != NULL)
        return tc_arena_format(arena,
                               "at epsilon 1%s the noise hides a change %s by %.2g %% of its range; less than %g %% is "
                               "next to nothing, however distances and epsilon are chosen",
                               at,
                               plan->adjacency == TC_ADJACENCY_DATA ? "of a protected datum" : "of all an agent does",
                               100 * tc_lasting_share(plan), 100 * TC_LEAST_SHARE);
    return tc_arena_format(arena,
                           "at epsilon 1%s the noise hides a change of one message by %.2g %% of a state's range; "
                           "less than %g %% is next to nothing, however B and epsilon are chosen",
                           at, 100 * tc_hidden_share(plan), 100 * TC_LEAST_SHARE);
}

const char *tc_promise_text(tc_arena *arena, const tc_plan *plan) {
    const char *asked = tc_price_up(arena, plan->epsilon, plan->delta);
    double everything = tc_price_of_run(plan).epsilon;
    if (plan->calibration == TC_TIGHT)
        return asked;
    if (everything <= plan->epsilon) /* kappa's formula asks for more noise than is needed */
        return tc_arena_format(arena, "%s for each system, and no more for whoever sees all", asked);
    return tc_arena_format(arena, "%s for each system; %s for whoever sees all", asked,
                           isfinite(everything) ? tc_text_up(arena, everything) : "no guarantee");
}
