/* Combines the file's wishes with the options, which override them. Refuses contradictory or invalid ones. */
#include "noise/random.h"
#include "plan/planner.h"

#include <stdarg.h>
#include <stdio.h>

static const char *format_text(tc_arena *arena, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static const char *format_text(tc_arena *arena, const char *format, va_list arguments) {
    char text[1024];
    (void)vsnprintf(text, sizeof text, format, arguments);
    return tc_arena_format(arena, "%s", text);
}

const char *tc_refuse(tc_planner *p, bool is_usage, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    p->plan->problem = format_text(p->arena, format, arguments);
    va_end(arguments);
    p->plan->refusal_is_usage = is_usage;
    p->plan->is_private = false;
    return p->plan->problem;
}

static void append(tc_arena *arena, const char ***list, size_t *count, const char *text) {
    *list = tc_arena_grow(arena, *list, *count, *count + 1, sizeof **list);
    (*list)[(*count)++] = text;
}

void tc_plan_warn(tc_planner *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append(p->arena, &p->plan->warnings, &p->plan->warning_count, format_text(p->arena, format, arguments));
    va_end(arguments);
}

void tc_plan_doubt(tc_planner *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append(p->arena, &p->plan->doubts, &p->plan->doubt_count, format_text(p->arena, format, arguments));
    va_end(arguments);
}

void tc_plan_void(tc_planner *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append(p->arena, &p->plan->void_reasons, &p->plan->void_reason_count, format_text(p->arena, format, arguments));
    va_end(arguments);
    p->plan->is_private = false;
}

const tc_plan *tc_plan_voided(tc_arena *arena, const tc_plan *plan, const char *reason) {
    tc_plan *copy = TC_NEW(arena, tc_plan, 1);
    *copy = *plan;
    copy->void_reasons = TC_NEW(arena, const char *, plan->void_reason_count + 1);
    for (size_t i = 0; i < plan->void_reason_count; i++)
        copy->void_reasons[i] = plan->void_reasons[i];
    copy->void_reasons[copy->void_reason_count++] = reason;
    copy->is_private = false;
    return copy;
}

#define DEFAULT_METHOD TC_METHOD_TACIT

/* The published calibration is the paper's scheme to the letter, steps included. */
tc_method tc_resolve_method(const tc_plan_options *options) {
    if (options->method != TC_METHOD_UNSET)
        return options->method;
    return options->calibration == TC_PUBLISHED ? TC_METHOD_PUBLISHED : DEFAULT_METHOD;
}

tc_mechanism tc_resolve_mechanism(const tc_model *model, const tc_plan_options *options) {
    if (options->mechanism != TC_MECHANISM_UNSET)
        return options->mechanism;
    return model->privacy.mechanism != TC_MECHANISM_UNSET ? model->privacy.mechanism : TC_MECHANISM_LAPLACE;
}

static double first_set(double a, double b) { return isnan(a) ? b : a; }

static bool resolve_unit(tc_planner *p) {
    tc_plan *plan = p->plan;
    const tc_privacy *file = &p->model->privacy;
    bool overridden = p->options->adjacency != TC_ADJACENCY_UNSET;
    plan->adjacency = overridden ? p->options->adjacency : file->adjacency;
    plan->adjacency_bound = overridden ? p->options->adjacency_bound : file->adjacency_bound;
    if (plan->adjacency == TC_ADJACENCY_UNSET) {
        tc_refuse(p, true,
                  "the unit of privacy is missing: say what is to be hidden, for example 'adjacency one 1' in the "
                  "privacy block, or --adjacency one:1");
        return false;
    }
    if (plan->adjacency == TC_ADJACENCY_BARE)
        plan->adjacency = plan->calibration == TC_PUBLISHED ? TC_ADJACENCY_ENSEMBLE : TC_ADJACENCY_ONE;
    if (tc_hides_every_round(plan->adjacency) && isnan(plan->rounds)) {
        tc_refuse(p, true, "%s needs the number of rounds: add 'rounds' to the schedule, or --rounds T",
                  plan->adjacency == TC_ADJACENCY_AGENT ? "hiding an agent entirely"
                                                        : "hiding what goes on in all rounds");
        return false;
    }
    if (plan->adjacency == TC_ADJACENCY_AGENT || plan->adjacency == TC_ADJACENCY_DATA) {
        plan->adjacency_bound = NAN;
    } else if (plan->adjacency == TC_ADJACENCY_WITHIN &&
               !(plan->adjacency_bound > 0 && isfinite(plan->adjacency_bound))) {
        tc_refuse(p, true, "the distance D of the unit agent:D must be a positive number");
        return false;
    } else if (!(plan->adjacency_bound > 0 && isfinite(plan->adjacency_bound))) {
        tc_refuse(p, true, "the distance B of the adjacency must be a positive number");
        return false;
    }
    if (plan->calibration == TC_PUBLISHED && plan->adjacency != TC_ADJACENCY_ENSEMBLE) {
        tc_refuse(p, true,
                  "the published calibration is for the adjacency of the whole ensemble: choose --adjacency "
                  "ensemble:B, or --calibration tight for '%s'",
                  tc_adjacency_name(plan->adjacency));
        return false;
    }
    if (plan->adjacency == TC_ADJACENCY_DATA && plan->method != TC_METHOD_TACIT) {
        tc_refuse(
            p, true,
            "the unit data goes with --method tacit: how far data move states is proved for agents that minimise, "
            "and those of method published make gradient steps");
        return false;
    }
    bool bounded = plan->adjacency == TC_ADJACENCY_WITHIN || plan->adjacency == TC_ADJACENCY_DATA;
    return !bounded || tc_plan_distances(p);
}

static bool resolve_numbers(tc_planner *p) {
    tc_plan *plan = p->plan;
    plan->epsilon = first_set(p->options->epsilon, p->model->privacy.epsilon);
    plan->delta = first_set(p->options->delta, p->model->privacy.delta);
    plan->hold_cap = first_set(p->options->hold_cap, 0);
    if (isnan(plan->epsilon)) {
        tc_refuse(p, true, "epsilon is missing: add it to the privacy block, or --epsilon E");
        return false;
    }
    if (!(plan->epsilon > 0 && isfinite(plan->epsilon))) {
        tc_refuse(p, true, "epsilon must be positive and finite");
        return false;
    }
    if (plan->mechanism == TC_MECHANISM_GAUSSIAN && isnan(plan->delta)) {
        tc_refuse(p, true, "Gaussian noise needs delta, for example --delta 1e-6");
        return false;
    }
    if (plan->mechanism == TC_MECHANISM_GAUSSIAN && !(plan->delta > 0 && plan->delta < 1)) {
        tc_refuse(p, true, "delta must lie strictly between 0 and 1");
        return false;
    }
    if (plan->mechanism == TC_MECHANISM_LAPLACE && !p->options->certain)
        plan->delta = 0;
    if (!(plan->hold_cap >= 0 && plan->hold_cap <= 1e9 && floor(plan->hold_cap) == plan->hold_cap)) {
        tc_refuse(p, true, "the most holds of one message must be a whole number from 0 to 1e9");
        return false;
    }
    return true;
}

static bool nothing_asked(const tc_planner *p) {
    const tc_privacy *file = &p->model->privacy;
    const tc_plan_options *o = p->options;
    return file->mechanism == TC_MECHANISM_UNSET && isnan(file->epsilon) && file->adjacency == TC_ADJACENCY_UNSET &&
           o->mechanism == TC_MECHANISM_UNSET && isnan(o->epsilon) && o->adjacency == TC_ADJACENCY_UNSET;
}

/* paper: eq:adj. Prices are per unit of distance, or per round. The multiplier makes them prices of the whole run: it
 * is B with holds, or in units that hide every round their number (Gaussian: its root). There holds are free: each use
 * of a message is a round of its own. */
static void set_target(tc_planner *p) {
    tc_plan *plan = p->plan;
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN;
    p->target = gaussian ? tc_gaussian_gdp(plan->epsilon, tc_noise_delta(plan)) : plan->epsilon;
    if (tc_hides_every_round(plan->adjacency))
        p->multiplier = gaussian ? tc_sqrt_up(plan->rounds) : plan->rounds;
    else
        p->multiplier =
            tc_mul_up(plan->adjacency_bound, gaussian ? tc_hold_l2(plan->hold_cap) : tc_hold_l1(plan->hold_cap));
    if (plan->last != NULL)
        tc_share_with_last(p);
}

static bool resolve_rounds(tc_planner *p) {
    tc_plan *plan = p->plan;
    plan->rounds = first_set(p->options->rounds, p->model->schedule.rounds);
    if (!isnan(plan->rounds) &&
        !(plan->rounds >= 1 && plan->rounds <= (double)TC_MOST_ROUND && floor(plan->rounds) == plan->rounds)) {
        tc_refuse(p, true, "the number of rounds must be whole, from 1 to 2^48 - 1");
        return false;
    }
    return true;
}

static bool resolve_method(tc_planner *p) {
    tc_plan *plan = p->plan;
    plan->method = tc_resolve_method(p->options);
    if (plan->method == TC_METHOD_TACIT && plan->calibration == TC_PUBLISHED) {
        tc_refuse(p, true,
                  "the published calibration is the paper's scheme to the letter: --method tacit goes with "
                  "--calibration tight");
        return false;
    }
    tc_placement asked = p->options->placement;
    if (plan->method == TC_METHOD_PUBLISHED && asked != TC_PLACEMENT_AUTO && asked != TC_PLACEMENT_OUTPUTS) {
        tc_refuse(p, true,
                  "--placement %s goes with --method tacit: the published method releases constraints and their "
                  "Jacobian, so its noise is on outputs",
                  tc_placement_name(asked));
        return false;
    }
    return true;
}

bool tc_plan_resolve(tc_planner *p) {
    tc_plan *plan = p->plan;
    const tc_plan_options *o = p->options;
    plan->calibration = o->calibration;
    plan->constants = o->constants;
    plan->is_private = true;
    if (p->model->role == TC_ROLE_AGENT) {
        tc_refuse(p, true, "this is one agent's file: a plan is made from the cloud's file, or from the whole problem");
        return false;
    }
    if (nothing_asked(p)) {
        tc_refuse(p, true,
                  "the file has no privacy block, and no options say what to promise: give --epsilon and "
                  "--adjacency, or --mechanism none");
        return false;
    }
    plan->mechanism = tc_resolve_mechanism(p->model, o);
    if (!resolve_rounds(p) || !resolve_method(p))
        return false;
    if (plan->mechanism == TC_MECHANISM_NONE && !tc_resolve_last(p))
        return false;
    if (plan->mechanism == TC_MECHANISM_NONE) {
        plan->placement = TC_PLACEMENT_OUTPUTS; /* method tacit: see tc_place_nothing_tacit */
        plan->epsilon = plan->delta = plan->adjacency_bound = NAN;
        tc_plan_void(p, "no mechanism: what leaves the cloud carries no noise");
        return true;
    }
    if (plan->calibration == TC_TIGHT && plan->constants == TC_DECLARED) {
        tc_refuse(p, true,
                  "declared constants go with --calibration published: tight calibration prices every entry by "
                  "itself, from certified bounds");
        return false;
    }
    if (!resolve_numbers(p) || !resolve_unit(p) || !tc_resolve_last(p))
        return false;
    set_target(p);
    if (o->seeded)
        tc_plan_void(p, "the noise comes from a seed: whoever knows the seed knows the noise");
    return true;
}
