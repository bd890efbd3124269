#include "audit/inside.h"

#include <math.h>

/* Lentz's method on the continued fraction of I_x(a, b), which converges fast where x < (a + 1) / (a + b + 2). */
static double fraction(double a, double b, double x) {
    enum { MOST_STEPS = 100000 };
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double f = d;
    for (int i = 1; i <= MOST_STEPS; i++) {
        double m = i;
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        f *= c * d;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        f *= c * d;
        if (fabs(c * d - 1) < 1e-15)
            break;
    }
    return f;
}

/* log of x^a (1 - x)^b / (a B(a, b)); y = 1 - x. The difference of log gammas loses digits where a + b is large, so
 * Stirling's series is used there, whose large parts cancel on paper. */
static double stirling_rest(double z) { /* log gamma(z) - ((z - 1/2) log z - z + log(2 pi)/2) */
    if (z < 20)
        return lgamma(z) - ((z - 0.5) * log(z) - z + 0.91893853320467274178);
    double q = 1 / (z * z);
    return (1 / 12.0 - (1 / 360.0 - (1 / 1260.0 - (1 / 1680.0 - q / 1188.0) * q) * q) * q) / z;
}

/* x log(p / x) where p is near x: log1p keeps the digits. */
static double relative_log(double weight, double p, double share) {
    double off = (p - share) / share;
    return fabs(off) < 0.5 ? weight * log1p(off) : weight * log(p / share);
}

static double log_front(double a, double b, double x, double y) {
    double n = a + b;
    double rest = stirling_rest(n) - stirling_rest(a) - stirling_rest(b);
    double shares = relative_log(a, x, a / n) + relative_log(b, y, b / n);
    return shares + rest + 0.5 * log(b / (n * a)) - 0.91893853320467274178;
}

static double lower_part(double a, double b, double x, double y) {
    return exp(log_front(a, b, x, y)) * fraction(a, b, x);
}

/* I_x(a, b), y = 1 - x: each of the two small tails keeps its digits. */
static double both(double a, double b, double x, double y) {
    if (!(x > 0))
        return 0;
    if (!(y > 0))
        return 1;
    return x < (a + 1) / (a + b + 2) ? lower_part(a, b, x, y) : 1 - lower_part(b, a, y, x);
}

double tc_incomplete_beta(double a, double b, double x) { return both(a, b, x, 1 - x); }

/* Bisection keeps p on the safe side: I_p(k, n - k + 1) = P(at least k successes | p) <= level. */
double tc_expected_lower(double successes, double trials, double level) {
    if (!(successes > 0))
        return 0;
    double low = 0, high = successes / trials;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        double middle = low + (high - low) / 2;
        if (tc_incomplete_beta(successes, trials - successes + 1, middle) <= level * (1 - 1e-6))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The same from the other side: P(at most k successes | p) = I_{1-p}(n - k, k + 1) <= level. */
double tc_expected_upper(double successes, double trials, double level) {
    if (!(successes < trials))
        return 1;
    double low = successes / trials, high = 1;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        double middle = low + (high - low) / 2;
        if (both(trials - successes, successes + 1, 1 - middle, middle) <= level * (1 - 1e-6))
            high = middle;
        else
            low = middle;
    }
    return high;
}

double tc_binomial_lower(uint64_t successes, uint64_t trials, double level) {
    return tc_expected_lower((double)successes, (double)trials, level);
}

double tc_binomial_upper(uint64_t successes, uint64_t trials, double level) {
    return tc_expected_upper((double)successes, (double)trials, level);
}
