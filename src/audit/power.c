#include "audit/power.h"

#include "audit/binomial.h"

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

typedef bool shows_half(const void *context, uint64_t count);

/* The least number that shows it, as all above do; 0 where a billion are too few. */
static uint64_t least_number(shows_half *shows, const void *context) {
    const uint64_t most = 1000000000;
    uint64_t low = 0, high = 16;
    while (high < most && !shows(context, high)) {
        low = high;
        high *= 2;
    }
    if (high >= most)
        return 0;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (shows(context, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

typedef struct price {
    const tc_plan *plan;
    const tc_pair_counts *counts;
    const tc_audit_system *system;
    double level_each;
} price;

static bool price_shows(const void *context, uint64_t samples) {
    const price *p = context;
    return tc_price_shows_half(p->plan, p->counts, p->level_each, p->system, samples);
}

uint64_t tc_samples_for_half(const tc_plan *plan, const tc_pair_counts *counts, double level_each,
                             const tc_audit_system *system) {
    return least_number(price_shows, &(price){plan, counts, system, level_each});
}
