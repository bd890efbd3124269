/* The last round of --feasible always: a release of its own, whose noise has bounds, and a source of noise of its own.
 * It is sampled like the rounds. Here: what is claimed of it, what its bounds cost, and whether the two sources have to
 * do with each other. docs/proofs/audit.md. */
#include "audit/inside.h"

#include "plan/account/account.h"

#include <string.h>

tc_plan *tc_audit_plan_of_last(tc_arena *arena, const tc_plan *whole) {
    tc_plan *made = TC_NEW(arena, tc_plan, 1);
    *made = *whole->last->plan;
    if (!tc_hides_every_round(made->adjacency))
        made->adjacency_bound = whole->last->multiplier; /* how far averages are apart */
    return made;
}

/* ---- what is claimed --------------------------------------------------------------------------------------------- */

/* Prices of rounds and last round add up, epsilons or the squares of mu: what is left for the rounds. */
tc_audit_system tc_claim_of_rounds(const tc_plan *whole) {
    tc_audit_system made = {.name = "the rounds", .delta_of_bounds = INFINITY};
    for (size_t i = 0; i < whole->observer_count; i++) {
        const tc_observer *o = &whole->observers[i];
        if (o->kind != TC_OBSERVER_EAVESDROPPER)
            continue;
        if (whole->mechanism == TC_MECHANISM_LAPLACE) {
            made.claimed_epsilon = fmax(0, o->epsilon - whole->last->price);
            continue;
        }
        double square = (o->gdp - whole->last->price) * (o->gdp + whole->last->price);
        made.claimed_delta = whole->delta;
        made.claimed_epsilon = square > 0 ? tc_gaussian_epsilon(sqrt(square), whole->delta) : 0;
    }
    return made;
}

tc_audit_system tc_claim_of_last(const tc_plan *whole) {
    const tc_last_round *last = whole->last;
    tc_audit_system made = {.name = "the last round", .has_bounds = true, .delta_of_bounds = last->delta};
    bool laplace = whole->mechanism == TC_MECHANISM_LAPLACE;
    made.claimed_epsilon = laplace ? last->price : tc_gaussian_epsilon(last->price, tc_noise_delta(whole));
    made.claimed_delta = laplace ? last->delta : whole->delta;
    return made;
}

/* ---- what bounds of noise cost a pair ---------------------------------------------------------------------------- */

/* The probability that noise without bounds lies above x scales. */
static double above(const tc_plan *plan, double x) {
    if (plan->mechanism == TC_MECHANISM_GAUSSIAN)
        return erfc(x / sqrt(2)) / 2;
    return x >= 0 ? exp(-x) / 2 : 1 - exp(x) / 2;
}

/* That one input releases a number which the other cannot: some entry beyond the other's bounds. What rounding can take
 * away of their distance is taken away, so it is at least this. */
static double delta_of_pair(const tc_audit_view *view, const tc_worst_case *pair, size_t first, size_t end) {
    const tc_plan *plan = view->plan;
    double share = fmin(0.05, fmax(0, plan->overhead)), neither = 0; /* the log of the probability of no entry */
    for (size_t e = first; e < end; e++) {
        const tc_channel *channel = &plan->channels[view->entries[e].channel];
        double apart = fabs(pair->truth[0][e] - pair->truth[1][e]) / channel->scale * (1 - share);
        double reach = tc_noise_reach(channel), moved = apart - 2 / channel->lattice_scale;
        if (moved > 0)
            neither +=
                log1p(-fmin(1, (above(plan, reach - moved) - above(plan, reach)) / tc_noise_kept(plan, channel)));
    }
    return -expm1(neither);
}

void tc_judge_bounds(const tc_audit_view *view, const tc_worst_case *pair, size_t first, size_t end,
                     tc_audit_system *system) {
    const double digits = 1e-6; /* for rounding errors of a small difference of tails */
    system->exact_delta_of_bounds = delta_of_pair(view, pair, first, end);
    if (system->exact_delta_of_bounds * (1 - digits) > system->delta_of_bounds)
        system->priced_out = true;
}

/* ---- two sources of noise ---------------------------------------------------------------------------------------- */

enum { MOST_STARTS = 250, LEAST_STARTS = 64, MOST_COMPARED = 64, WORK = 1 << 22 };

typedef struct compared {
    uint64_t starts, same[MOST_COMPARED]; /* by entry: how often both draws were on the same side of zero */
    size_t count;
} compared;

static bool is_above_zero(const tc_audit_source *source, size_t e) {
    return source->sampler->values[e] >= source->pair->truth[0][e];
}

static tc_status start_both(const tc_audit_source both[2], const tc_audit_options *options, compared *found) {
    const tc_audit_start start = {.name = "two sources", .number = found->starts, .has_hash = true};
    tc_status status = tc_release_first(both[0].sampler, 0, options, &start);
    if (status == TC_OK)
        status = tc_release_first(both[1].sampler, 0, options, &start);
    for (size_t e = 0; status == TC_OK && e < found->count; e++)
        found->same[e] += is_above_zero(&both[0], e) == is_above_zero(&both[1], e);
    found->starts++;
    return status;
}

static double off_side(const tc_audit_source *source, size_t e) {
    const tc_audit_view *view = source->sampler->view;
    return tc_off_side(view->plan, &view->plan->channels[view->entries[e].channel],
                       tc_audit_slack(view->plan, source->pair));
}

/* Draws at the same address, which are the same words where the sources are the same. */
static void judge_sources(tc_arena *arena, const tc_audit_source both[2], const compared *found, double level,
                          tc_audit *audit) {
    double each = level / (2 * (double)found->count);
    for (size_t e = 0; found->starts > 0 && e < found->count; e++) {
        double off = 2 * off_side(&both[0], e) * off_side(&both[1], e);
        bool is_more = tc_binomial_lower(found->same[e], found->starts, each) > 0.5 + off;
        if (!is_more && !(tc_binomial_upper(found->same[e], found->starts, each) < 0.5 - off))
            continue;
        tc_audit_add_fault(audit, "sources",
                           tc_arena_format(arena,
                                           "the noise of number %zu has the same side of zero in the last round as in "
                                           "the first one in %llu of %llu runs: both have the same source, and "
                                           "whoever knows one learns of the other",
                                           e + 1, (unsigned long long)found->same[e],
                                           (unsigned long long)found->starts));
        return;
    }
}

tc_status tc_audit_sources(tc_arena *arena, const tc_audit_source both[2], const tc_audit_options *options,
                           const tc_monitor *monitor, double level, tc_audit *audit) {
    compared found = {.count = MOST_COMPARED};
    uint64_t work = 0;
    for (size_t i = 0; i < 2; i++) {
        const tc_audit_view *view = both[i].sampler->view;
        work += view->model->state_count + view->count;
        found.count = view->count < found.count ? view->count : found.count;
        tc_set_inputs(arena, both[i].sampler, both[i].pair);
    }
    uint64_t fit = WORK / work, wanted = fit > MOST_STARTS ? MOST_STARTS : fit < LEAST_STARTS ? LEAST_STARTS : fit;
    tc_status status = TC_OK;
    while (status == TC_OK && found.starts < wanted && !tc_interrupted(monitor))
        status = start_both(both, options, &found);
    if (status == TC_OK)
        judge_sources(arena, both, &found, level, audit);
    return status;
}

/* ---- one audit of both ------------------------------------------------------------------------------------------- */

void tc_audit_join(tc_audit *audit, const tc_audit *last) {
    tc_arena *arena = audit->arena;
    const tc_audit_system *rounds = audit->systems;
    audit->systems = TC_NEW(arena, tc_audit_system, audit->system_count + last->system_count + 1);
    memcpy(audit->systems, rounds, audit->system_count * sizeof *rounds);
    for (size_t i = 0; i < last->system_count; i++)
        audit->systems[audit->system_count++] = last->systems[i];
    for (size_t i = 0; i < last->fault_count; i++)
        tc_audit_add_fault(audit, last->faults[i].kind,
                           tc_arena_format(arena, "the last round: %s", last->faults[i].text));
    tc_audit_add_point(audit, "last round", last->refuted, last->inconclusive_because);
    audit->interrupted = audit->interrupted || last->interrupted;
    audit->seconds += last->seconds;
    audit->refuted = audit->refuted || last->refuted;
    if (audit->refuted) {
        audit->verdict = TC_REFUTED;
        audit->inconclusive_because = NULL;
    } else if (audit->verdict == TC_NOT_REFUTED && last->inconclusive_because != NULL) {
        audit->verdict = TC_INCONCLUSIVE;
        audit->inconclusive_because = tc_arena_format(arena, "the last round: %s", last->inconclusive_because);
    }
    const char **notes = TC_NEW(arena, const char *, audit->note_count + last->note_count + 1);
    memcpy(notes, audit->notes, audit->note_count * sizeof *notes);
    for (size_t i = 0; i < last->note_count; i++)
        notes[audit->note_count++] = last->notes[i];
    audit->notes = notes;
}
