/* What rounds first .. last can do to the error at most, whichever of them is meant. docs/proofs/bound.md, section 3.
 */
#ifndef TC_ENGINE_BOUND_ROUNDS_H
#define TC_ENGINE_BOUND_ROUNDS_H

#include "calculus/interval/interval.h"
#include "theory/bound.h"

typedef struct tc_bound_terms {
    double loss;  /* tight: 1 - theta_k; published: tau_k. At least this, and it may be negative */
    double drift; /* tight: |xi_k - xi_{k-1}|, at most */
    double added; /* tight: gamma_k^2 K_w; published: sigma_k. At most */
} tc_bound_terms;

/* 2 <= first <= last, whole numbers. */
tc_bound_terms tc_bound_terms_of(const tc_bound_setting *setting, double first, double last);

/* The squared error after `count` rounds with these terms. */
double tc_bound_advance(const tc_bound_setting *setting, const tc_bound_terms *terms, double squared, double count);

#endif
