/* Bounds of a probability from k successes in n independent trials (Clopper and Pearson): each holds with probability
 * at least 1 - level, whatever the probability is. docs/proofs/audit.md. */
#ifndef TC_AUDIT_BINOMIAL_H
#define TC_AUDIT_BINOMIAL_H

#include <stdint.h>

/* The regularised incomplete beta function I_x(a, b) for a, b > 0; relative error below 1e-9 where it is above 1e-300
 * and a + b is below 1e9 (tests compare with scipy). */
double tc_incomplete_beta(double a, double b, double x);

/* Below and above the probability; moved outward by more than the error of the computation. */
double tc_binomial_lower(uint64_t successes, uint64_t trials, double level);
double tc_binomial_upper(uint64_t successes, uint64_t trials, double level);

/* The same formulas of expected counts, which need not be whole: bounds that narrow with every trial. */
double tc_expected_lower(double successes, double trials, double level);
double tc_expected_upper(double successes, double trials, double level);

#endif
