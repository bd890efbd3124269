/* Whether an expression is defined and continuously differentiable, with a finite Lipschitz constant of its gradient,
 * over the place where a prover has enclosed it. */
#ifndef TC_ANALYSIS_SMOOTH_H
#define TC_ANALYSIS_SMOOTH_H

#include "analysis/convexity/curvature.h"

typedef struct tc_flaw {
    tc_expr node;      /* TC_NO_EXPR: none */
    tc_expr argument;  /* whose range is at fault */
    bool certain;      /* the range is exact, so that the flaw is real */
    const char *needs; /* "needs an argument above 0" */
    const char *helps;
} tc_flaw;

/* The first flaw of the cone in order of evaluation: the innermost one. */
tc_flaw tc_find_flaw(const tc_prover *prover, const tc_cone *cone);

#endif
