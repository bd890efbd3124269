#include "audit/judge.h"

#include "audit/binomial.h"

#include <stdlib.h>
#include <string.h>

size_t tc_tests_of_epsilon(const tc_plan *plan) {
    return 2 * (plan->mechanism == TC_MECHANISM_LAPLACE ? TC_CORNERS + 1 : 1);
}

/* epsilon >= log((p - delta) / q) for every event with probabilities p and q in the two worlds; each bound may fail
 * with half the level. */
double tc_bound_epsilon(uint64_t hits, uint64_t trials, uint64_t other_hits, uint64_t other_trials, double delta,
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
            tc_bound_epsilon(count_above(counts->statistic[d], 0, half[d], t, sign), half[d],
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
    double bound = tc_bound_epsilon(count_above(counts->statistic[d], half[d], counts->samples[d], t, sign),
                                    counts->samples[d] - half[d],
                                    count_above(counts->statistic[1 - d], half[1 - d], counts->samples[1 - d], t, sign),
                                    counts->samples[1 - d] - half[1 - d], system->claimed_delta, level);
    raise_bound(system, bound,
                tc_arena_format(arena, "a likelihood ratio of at least e^%.4g for the %s input", t,
                                d == 0 ? "first" : "second"));
}

void tc_judge_epsilon(tc_arena *arena, const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                      tc_audit_system *system) {
    for (size_t d = 0; d < 2; d++) {
        for (size_t m = 0; plan->mechanism == TC_MECHANISM_LAPLACE && m < TC_CORNERS; m++)
            raise_bound(system,
                        tc_bound_epsilon(counts->corner[d][d][m], counts->samples[d], counts->corner[d][1 - d][m],
                                         counts->samples[1 - d], system->claimed_delta, level_each),
                        tc_arena_format(arena, "the %zu most changed number%s beyond what the %s input gives", m + 1,
                                        m == 0 ? "" : "s", d == 0 ? "first" : "second"));
        judge_ratio(arena, counts, d, level_each, system);
    }
    system->refuted = system->priced_out || system->lower_bound > system->claimed_epsilon;
    memcpy(system->samples, counts->samples, sizeof system->samples);
}

/* ---- contradictions of another kind ---- */

double tc_largest_mass(const tc_plan *plan, const tc_channel *channel) {
    double mass = plan->mechanism == TC_MECHANISM_LAPLACE ? 0.5 / channel->lattice_scale
                                                          : 0.39894228040143268 / channel->lattice_scale;
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
        double chance = pow(tc_largest_mass(view->plan, channel), (double)whole->comparisons);
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

/* Pairs of samples that agree; their expected number bounds the chance of seeing so many (Markov). */
bool tc_judge_reuse(const tc_audit_view *view, size_t channel, uint64_t *marks, uint64_t count, double level,
                    uint64_t *same) {
    double n = (double)count, pairs = n * (n - 1) / 2;
    size_t entries = view->start[channel + 1] - view->start[channel];
    double mass = pow(tc_largest_mass(view->plan, &view->plan->channels[channel]),
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
        if (tc_judge_reuse(view, i, whole->marks[i], whole->mark_count, level / (double)channels, &same))
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
