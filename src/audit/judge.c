#include "audit/inside.h"

#include "plan/account/account.h"

#include <stdlib.h>
#include <string.h>

size_t tc_tests_of_epsilon(const tc_plan *plan) {
    size_t events = plan->mechanism == TC_MECHANISM_LAPLACE ? TC_CORNERS + 1 : 1;
    return 2 * (plan->is_last ? events + 1 : events);
}

/* A lower bound on epsilon from the counts of one event in the two worlds: epsilon >= log((p - delta) / q) for its
 * probabilities p and q. Each of these bounds may fail with half the level. */
static double bound_epsilon(uint64_t hits, uint64_t trials, uint64_t other_hits, uint64_t other_trials, double delta,
                            double level) {
    double p = tc_binomial_lower(hits, trials, level / 2), q = tc_binomial_upper(other_hits, other_trials, level / 2);
    return p - delta > q ? log((p - delta) / q) : 0;
}

static void raise_bound(tc_audit_system *system, double bound, const char *event) {
    if (bound > system->lower_bound) {
        system->lower_bound = bound;
        system->event = event;
    }
}

static int compare_numbers(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static uint64_t count_above(const double *values, size_t begin, size_t end, double threshold, double sign) {
    uint64_t count = 0;
    for (size_t i = begin; i < end; i++)
        count += sign * values[i] >= threshold;
    return count;
}

/* The threshold that separates the first halves best, at quantiles of the likelier world. */
static double choose_threshold(tc_arena *arena, const tc_pair_counts *counts, size_t d, double delta, double level) {
    enum { CHOICES = 100 };
    double sign = d == 0 ? 1 : -1, best = -1, threshold = 0;
    size_t half[2] = {counts->samples[0] / 2, counts->samples[1] / 2};
    double *sorted = TC_NEW(arena, double, half[d] + 1);
    for (size_t i = 0; i < half[d]; i++)
        sorted[i] = sign * counts->statistic[d][i];
    qsort(sorted, half[d], sizeof *sorted, compare_numbers);
    for (size_t i = 0; i < CHOICES && half[d] > 0; i++) {
        double t = sorted[half[d] * i / CHOICES];
        double bound =
            bound_epsilon(count_above(counts->statistic[d], 0, half[d], t, sign), half[d],
                          count_above(counts->statistic[1 - d], 0, half[1 - d], t, sign), half[1 - d], delta, level);
        if (bound > best) {
            best = bound;
            threshold = t;
        }
    }
    return threshold;
}

/* Chosen on one half, tested on the other. */
static void judge_ratio(tc_arena *arena, const tc_pair_counts *counts, size_t d, double level,
                        tc_audit_system *system) {
    double sign = d == 0 ? 1 : -1;
    double t = choose_threshold(arena, counts, d, system->claimed_delta, level);
    size_t half[2] = {counts->samples[0] / 2, counts->samples[1] / 2};
    double bound = bound_epsilon(count_above(counts->statistic[d], half[d], counts->samples[d], t, sign),
                                 counts->samples[d] - half[d],
                                 count_above(counts->statistic[1 - d], half[1 - d], counts->samples[1 - d], t, sign),
                                 counts->samples[1 - d] - half[1 - d], system->claimed_delta, level);
    raise_bound(system, bound,
                tc_arena_format(arena, "a likelihood ratio of at least e^%.4g for the %s input", t,
                                d == 0 ? "first" : "second"));
}

bool tc_samples_refute(const tc_audit_system *system) {
    return system->lower_bound > system->claimed_epsilon || system->delta_seen > system->delta_of_bounds;
}

void tc_judge_epsilon(tc_arena *arena, const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                      tc_audit_system *system) {
    for (size_t d = 0; d < 2; d++) {
        for (size_t m = 0; plan->mechanism == TC_MECHANISM_LAPLACE && m < TC_CORNERS; m++)
            raise_bound(system,
                        bound_epsilon(counts->corner[d][d][m], counts->samples[d], counts->corner[d][1 - d][m],
                                      counts->samples[1 - d], system->claimed_delta, level_each),
                        tc_arena_format(arena, "the %zu most changed number%s beyond what the %s input gives", m + 1,
                                        m == 0 ? "" : "s", d == 0 ? "first" : "second"));
        judge_ratio(arena, counts, d, level_each, system);
    }
    for (size_t w = 0; plan->is_last && w < 2; w++)
        system->delta_seen =
            fmax(system->delta_seen, tc_binomial_lower(counts->impossible[w], counts->samples[w], level_each));
    system->refuted = system->priced_out || tc_samples_refute(system);
    memcpy(system->samples, counts->samples, sizeof system->samples);
}

/* ---- contradictions of another kind ---- */

/* The largest probability of one value of the noise: density times a step; more where noise has bounds. */
static double largest_mass(const tc_plan *plan, const tc_channel *channel) {
    double mass = plan->mechanism == TC_MECHANISM_LAPLACE ? 0.5 / channel->lattice_scale
                                                          : 0.39894228040143268 / channel->lattice_scale;
    mass /= tc_noise_kept(plan, channel);
    return mass < 1 ? mass : 1;
}

static void judge_lattice(tc_arena *arena, const tc_audit_view *view, const tc_whole_counts *whole, tc_audit *audit) {
    for (size_t i = 0; i < view->plan->channel_count; i++)
        if (whole->off_lattice[i] > 0)
            tc_audit_add_fault(
                audit, "lattice",
                tc_arena_format(arena,
                                "%s: %llu released numbers are no multiples of 2^%d, the lattice of the plan: they "
                                "carry more than the rounded noise, and the guarantee is not about them",
                                view->plan->channels[i].name, (unsigned long long)whole->off_lattice[i],
                                view->plan->channels[i].step_exponent));
}

static void judge_support(tc_arena *arena, const tc_audit_view *view, const tc_whole_counts *whole, double level,
                          tc_audit *audit) {
    for (size_t e = 0; e < view->count; e++) {
        const tc_channel *channel = &view->plan->channels[view->entries[e].channel];
        double chance = pow(largest_mass(view->plan, channel), (double)whole->comparisons);
        if (!whole->moved[e] && chance * (double)view->count <= level)
            tc_audit_add_fault(
                audit, "support",
                tc_arena_format(arena,
                                "%s: number %zu of it never changed in %llu releases of the same input: it has no "
                                "noise",
                                channel->name, e - view->start[view->entries[e].channel] + 1,
                                (unsigned long long)whole->comparisons + 1));
    }
}

static int compare_marks(const void *x, const void *y) {
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

/* Whether so many fingerprints of a channel agree that its noise was used twice. Sorts them; *same pairs agree. Their
 * expected number bounds the chance of seeing so many (Markov). */
static bool is_reused(const tc_audit_view *view, size_t channel, uint64_t *marks, uint64_t count, double level,
                      uint64_t *same) {
    double n = (double)count, pairs = n * (n - 1) / 2;
    size_t entries = view->start[channel + 1] - view->start[channel];
    double mass = pow(largest_mass(view->plan, &view->plan->channels[channel]),
                      (double)(entries < TC_REUSE_ENTRIES ? entries : TC_REUSE_ENTRIES));
    uint64_t run = 0;
    *same = 0;
    qsort(marks, count, sizeof *marks, compare_marks);
    for (size_t k = 1; k < count; k++) {
        run = marks[k] == marks[k - 1] ? run + 1 : 0;
        *same += run;
    }
    return *same > 0 && pairs * (mass + 0x1p-64) / (double)*same <= level;
}

static void judge_reuse(tc_arena *arena, const tc_audit_view *view, const tc_whole_counts *whole, double level,
                        tc_audit *audit) {
    size_t channels = tc_marked_channels(view->plan);
    uint64_t same;
    for (size_t i = 0; i < channels; i++)
        if (is_reused(view, i, whole->marks[i], whole->mark_count, level / (double)channels, &same))
            tc_audit_add_fault(audit, "reuse",
                               tc_arena_format(arena,
                                               "%s: %llu pairs of rounds with the same input released the same "
                                               "numbers: their noise was used twice, and a difference of two rounds "
                                               "has none",
                                               view->plan->channels[i].name, (unsigned long long)same));
}

void tc_judge_whole(tc_arena *arena, const tc_audit_view *view, const tc_whole_counts *whole, double level,
                    tc_audit *audit) {
    judge_lattice(arena, view, whole, audit); /* cannot happen by chance */
    judge_support(arena, view, whole, level * TC_SHARE_SUPPORT, audit);
    judge_reuse(arena, view, whole, level * TC_SHARE_REUSE, audit);
    tc_judge_law(arena, whole->law, level * TC_SHARE_LAW, NULL, "", audit);
}

/* ---- first rounds ---- */

static void judge_fresh_support(tc_arena *arena, const tc_audit_view *view, const tc_fresh *fresh, double level,
                                tc_audit *audit) {
    size_t still = 0, last = 0;
    for (size_t e = 0; e < view->count; e++) {
        double mass = largest_mass(view->plan, &view->plan->channels[view->entries[e].channel]);
        bool is_still =
            !fresh->moved[e] && fresh->done > 1 && pow(mass, (double)(fresh->done - 1)) * (double)view->count <= level;
        still += is_still;
        last = is_still ? e : last;
    }
    if (still > 0)
        tc_audit_add_fault(
            audit, "first round",
            tc_arena_format(arena,
                            "%zu of %zu numbers never changed in the first rounds of %llu releases of the same input, "
                            "one of %s among them: they have no noise, or the same under every key",
                            still, view->count, (unsigned long long)fresh->done,
                            view->plan->channels[view->entries[last].channel].name));
}

void tc_judge_fresh(tc_arena *arena, const tc_audit_view *view, const tc_fresh *fresh, double level, tc_audit *audit) {
    size_t channels = tc_marked_channels(view->plan);
    uint64_t same;
    judge_fresh_support(arena, view, fresh, level / 3, audit);
    for (size_t i = 0; i < channels; i++)
        if (is_reused(view, i, fresh->marks[i], fresh->done, level / 3 / (double)channels, &same)) {
            tc_audit_add_fault(audit, "first round",
                               tc_arena_format(arena,
                                               "%s: %llu pairs of releases with fresh keys released the same numbers "
                                               "in their first round",
                                               view->plan->channels[i].name, (unsigned long long)same));
            break;
        }
    tc_judge_law(arena, fresh->law, level / 3, "first round", "in first rounds ", audit);
}

/* How many show noise of half its size in the first round, or none. */
static uint64_t fresh_needed(const tc_fresh *fresh, double level) { return tc_rounds_for_law(fresh->law, level / 3); }

/* ---- the price of a pair ---- */

/* For rounding errors of the price, which is computed in double. */
static const double DIGITS = 1e-9;

/* What rounding to the lattices can take away from the distance of two inputs, in units of the noise: half a step of
 * either F, half a step of the noise on either side of a threshold; and the share of it that the plan allows sums. */
typedef struct loss {
    double whole; /* amount of one round: epsilon, or gdp */
    double taken;
} loss;

static loss loss_of(const tc_audit_view *view, const tc_worst_case *pair, size_t first, size_t end) {
    bool laplace = view->plan->mechanism == TC_MECHANISM_LAPLACE;
    loss made = {0};
    for (size_t e = first; e < end; e++) {
        const tc_channel *channel = &view->plan->channels[view->entries[e].channel];
        double distance = fabs(pair->truth[0][e] - pair->truth[1][e]) / channel->scale;
        double step = distance > 0 ? 2 / channel->lattice_scale : 0;
        made.whole += laplace ? distance : distance * distance;
        made.taken += laplace ? step : step * step;
    }
    double share = fmin(0.05, fmax(0, view->plan->overhead)); /* 0 where it is unknown */
    if (laplace)
        made.taken += share * made.whole;
    else
        made = (loss){.whole = sqrt(made.whole), .taken = sqrt(made.taken) + share * sqrt(made.whole)};
    return made;
}

static bool refutes(const tc_plan *plan, const tc_audit_system *system, double amount) {
    if (plan->mechanism == TC_MECHANISM_LAPLACE)
        return amount > system->claimed_epsilon;
    return amount > 0 && tc_gaussian_delta(system->claimed_epsilon, amount).lo > system->claimed_delta;
}

void tc_judge_price(const tc_audit_view *view, const tc_worst_case *pair, size_t first, size_t end, double rounds,
                    tc_audit_system *system) {
    const tc_plan *plan = view->plan;
    bool laplace = plan->mechanism == TC_MECHANISM_LAPLACE;
    double times = laplace ? rounds : sqrt(rounds);
    loss one = loss_of(view, pair, first, end);
    system->amount = one.whole * times;
    system->price = laplace ? system->amount : tc_gaussian_epsilon(system->amount, system->claimed_delta);
    system->priced_out = refutes(plan, system, (one.whole * (1 - DIGITS) - one.taken) * times);
    if (plan->is_last)
        tc_judge_bounds(view, pair, first, end, system);
}

/* Whether the price would refute the claim of a plan with half the noise. */
static bool price_would_show_half(const tc_plan *plan, const tc_audit_system *system) {
    return refutes(plan, system, 2 * system->amount);
}

/* ---- could half the noise have been seen? ---- */

static double normal_above(double x) { return erfc(x / sqrt(2)) / 2; }

/* An event with probabilities p and q in the two worlds, counted as often as is expected. Counts are not rounded: then
 * whatever n trials show, n + 1 do, which whole counts do not have (docs/proofs/audit.md). */
static bool event_refutes(double p, double q, uint64_t trials, const tc_audit_system *system, double level_each) {
    if (!(p - system->claimed_delta > q * exp(system->claimed_epsilon)))
        return false; /* never, with any number of trials */
    double n = (double)trials;
    double least = tc_expected_lower(n * p, n, level_each / 2), most = tc_expected_upper(n * q, n, level_each / 2);
    return least - system->claimed_delta > most * exp(system->claimed_epsilon);
}

/* Noise at half its size costs twice as much. Laplace: corners (docs/proofs/audit.md has their probabilities).
 * Gaussian: the log-likelihood ratio is normal, gdp apart in units of its deviation, and half of the samples test it.
 */
bool tc_price_shows_half(const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                         const tc_audit_system *system, uint64_t samples) {
    bool shows = false;
    if (plan->mechanism == TC_MECHANISM_LAPLACE) {
        for (size_t m = 0; m < TC_CORNERS && counts->corner_loss[m] > 0 && !shows; m++) {
            double p = ldexp(1, -(int)m - 1);
            shows = event_refutes(p, p * exp(-2 * counts->corner_loss[m]), samples, system, level_each);
        }
        return shows;
    }
    double gdp = 2 * system->expected;
    for (int i = -4; i <= 16 && !shows; i++) {
        double threshold = 0.25 * i;
        shows = event_refutes(normal_above(threshold - gdp), normal_above(threshold), samples / 2, system, level_each);
    }
    return shows;
}

uint64_t tc_samples_for_half(const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                             const tc_audit_system *system) {
    const uint64_t most = 1000000000;
    uint64_t low = 0, high = 16;
    while (high < most && !tc_price_shows_half(plan, counts, level_each, system, high)) {
        low = high;
        high *= 2;
    }
    if (high >= most)
        return 0;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        *(tc_price_shows_half(plan, counts, level_each, system, middle) ? &high : &low) = middle;
    }
    return high;
}

/* ---- verdicts ---- */

typedef struct facts {
    tc_arena *arena;
    tc_audit *audit;
    size_t left_out;        /* systems without a sample */
    uint64_t needed;        /* samples of each input for the price of some system; 0: there were enough */
    uint64_t law_needed;    /* and for the law of the noise */
    bool is_beyond_samples; /* of some system no number of samples shows half the noise */
} facts;

static bool has_fault(const tc_audit *audit, const char *const *kinds, size_t count) {
    for (size_t i = 0; i < audit->fault_count; i++)
        for (size_t k = 0; k < count; k++)
            if (strcmp(audit->faults[i].kind, kinds[k]) == 0)
                return true;
    return false;
}

void tc_audit_add_point(tc_audit *audit, const char *name, bool is_refuted, const char *why) {
    audit->points[audit->point_count++] = (tc_audit_point){name,
                                                           is_refuted    ? TC_REFUTED
                                                           : why != NULL ? TC_INCONCLUSIVE
                                                                         : TC_NOT_REFUTED,
                                                           is_refuted ? NULL : why};
}

static const char *too_few(const facts *f, uint64_t needed) {
    return tc_arena_format(
        f->arena, "too few samples to refute even half the noise: at least %llu needed of each input (--samples %llu)",
        (unsigned long long)needed, (unsigned long long)needed);
}

/* Why the computed price could not have refuted half the noise; NULL if it could. */
static const char *why_unpriced(const facts *f) {
    for (size_t i = 0; i < f->audit->system_count; i++) {
        const tc_audit_system *s = &f->audit->systems[i];
        if (s->pair == NULL)
            return tc_arena_format(f->arena, "%s: no two inputs to compute a price of", s->name);
        if (!price_would_show_half(f->audit->plan, s))
            return tc_arena_format(f->arena,
                                   "%s: the inputs that were found cost %.4g, less than half of what is claimed: noise "
                                   "at half its scale would not show",
                                   s->name, s->price);
    }
    return NULL;
}

static void judge_samples(const facts *f) {
    bool is_refuted = false;
    for (size_t i = 0; i < f->audit->system_count; i++)
        is_refuted = is_refuted || tc_samples_refute(&f->audit->systems[i]);
    tc_audit_add_point(f->audit, "samples", is_refuted,
                       f->needed > 0          ? too_few(f, f->needed)
                       : f->left_out > 0      ? "no sample was taken of some system"
                       : f->is_beyond_samples ? "no number of samples of one round shows half the noise by its price"
                                              : NULL);
}

static void judge_first(const facts *f, const tc_fresh *fresh, double level) {
    static const char *const kinds[] = {"first round"};
    uint64_t needed = fresh == NULL ? 0 : fresh_needed(fresh, level);
    tc_audit_add_point(
        f->audit, "first round", has_fault(f->audit, kinds, 1),
        fresh == NULL ? "no first round was released"
        : fresh->done < needed
            ? tc_arena_format(f->arena, "%llu first rounds were released, and it takes %llu to notice half the noise",
                              (unsigned long long)fresh->done, (unsigned long long)needed)
            : NULL);
}

static const char *why_inconclusive(const facts *f, uint64_t rounds) {
    /* A last round has a small part of the price: its exact price, bounds and law decide, and samples where they can.
     */
    uint64_t needed = f->needed > f->law_needed && !f->audit->plan->is_last ? f->needed : f->law_needed;
    if (f->audit->interrupted)
        return "it was interrupted";
    if (f->left_out > 0)
        return tc_arena_format(f->arena, "time ended before the first sample of %zu of %zu systems", f->left_out,
                               f->audit->system_count);
    if (rounds == 0)
        return "no sample was taken";
    if (needed > 0)
        return too_few(f, needed);
    /* Where samples can show nothing, the computed price and the law of the noise together make up for them. */
    for (size_t i = 0; i < f->audit->point_count; i++)
        if (f->audit->points[i].verdict == TC_INCONCLUSIVE && strcmp(f->audit->points[i].name, "samples") != 0)
            return f->audit->points[i].why;
    return NULL;
}

void tc_audit_take_end_to_end(tc_audit *audit, const tc_end_to_end *found) {
    bool differs = found->differ_count > 0;
    audit->end_to_end = found;
    audit->refuted = audit->refuted || differs;
    tc_audit_add_point(audit, "end to end", differs, found->untested);
    if (audit->refuted) {
        audit->verdict = TC_REFUTED;
        audit->inconclusive_because = NULL;
    } else if (found->untested != NULL && audit->verdict == TC_NOT_REFUTED) {
        audit->verdict = TC_INCONCLUSIVE;
        audit->inconclusive_because = found->untested;
    }
}

void tc_audit_conclude(tc_arena *arena, const tc_whole_counts *whole, uint64_t rounds, const tc_fresh *fresh,
                       double level, tc_audit *audit) {
    static const char *const noise[] = {"lattice", "support", "bounds", "noise", "law"};
    static const char *const dependence[] = {"reuse", "dependence"};
    static const char *const sets[] = {"public set"};
    facts f = {.arena = arena, .audit = audit};
    bool is_priced_out = false;
    uint64_t enough = tc_rounds_for_law(whole->law, level * TC_SHARE_LAW);
    f.law_needed = whole->law->rounds < enough ? (enough + 1) / 2 : 0;
    for (size_t i = 0; i < audit->system_count; i++) {
        const tc_audit_system *s = &audit->systems[i];
        f.left_out += s->left_out;
        is_priced_out = is_priced_out || s->priced_out;
        f.needed = s->needed > f.needed ? s->needed : f.needed;
        f.is_beyond_samples = f.is_beyond_samples || (s->verdict == TC_INCONCLUSIVE && s->needed == 0);
    }
    const char *few = f.law_needed > 0 ? too_few(&f, f.law_needed) : NULL;
    tc_audit_add_point(audit, "price", is_priced_out, why_unpriced(&f));
    judge_samples(&f);
    tc_audit_add_point(audit, "noise", has_fault(audit, noise, 5), few);
    tc_audit_add_point(audit, "independence", has_fault(audit, dependence, 2), few);
    judge_first(&f, fresh, level * TC_SHARE_FIRST);
    if (tc_relies_on_caps(audit->plan))
        tc_audit_add_point(audit, "public set", has_fault(audit, sets, 1), NULL);
    audit->inconclusive_because = audit->refuted ? NULL : why_inconclusive(&f, rounds);
    audit->verdict = audit->refuted                        ? TC_REFUTED
                     : audit->inconclusive_because != NULL ? TC_INCONCLUSIVE
                                                           : TC_NOT_REFUTED;
}
