#include "audit/power.h"

#include "audit/binomial.h"

static double normal_above(double x) { return erfc(x / sqrt(2)) / 2; }

/* An event with probabilities p and q in the two worlds, counted as often as is expected. */
static bool event_refutes(double p, double q, uint64_t trials, const tc_audit_system *system, double level_each) {
    if (!(p - system->claimed_delta > q * exp(system->claimed_epsilon)))
        return false; /* never, with any number of trials */
    double n = (double)trials;
    return tc_bound_epsilon((uint64_t)floor(n * p), trials, (uint64_t)ceil(n * q), trials, system->claimed_delta,
                            level_each) > system->claimed_epsilon;
}

/* Noise at half its size costs twice as much. Laplace: corners (docs/proofs/audit.md has their probabilities).
 * Gaussian: the log-likelihood ratio is normal, mu apart in units of its deviation, and half of the samples test it. */
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
    double mu = 2 * system->expected;
    for (int i = -4; i <= 16 && !shows; i++) {
        double threshold = 0.25 * i;
        shows = event_refutes(normal_above(threshold - mu), normal_above(threshold), samples / 2, system, level_each);
    }
    return shows;
}

uint64_t tc_samples_for_half(const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                             const tc_audit_system *system) {
    const uint64_t most = 1000000000;
    uint64_t low = 8, high = 16;
    while (high < most && !tc_price_shows_half(plan, counts, level_each, system, high)) {
        low = high;
        high *= 2;
    }
    if (high >= most)
        return 0;
    while (high - low > high / 32 + 1) {
        uint64_t middle = low + (high - low) / 2;
        if (tc_price_shows_half(plan, counts, level_each, system, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Half of the draws lie within the stated median; of noise at half its size, those within twice its own. */
bool tc_size_shows_half(const tc_audit_view *view, const tc_whole_counts *whole, double level) {
    bool laplace = view->plan->mechanism == TC_MECHANISM_LAPLACE;
    double within = laplace ? 0.75 : 1 - 2 * normal_above(2 * 0.67448975019608174);
    for (size_t i = 0; i < view->plan->channel_count; i++) {
        double n = (double)whole->law_trials[i];
        uint64_t hits = (uint64_t)floor(n * within);
        double least = tc_binomial_lower(hits, whole->law_trials[i], level / 3 / (double)view->plan->channel_count);
        if (view->start[i + 1] > view->start[i] && !(least > 0.5))
            return false;
    }
    return true;
}
