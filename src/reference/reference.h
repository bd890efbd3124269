/* The reference solution: z_0, the least-norm saddle point of L = f + mu'g on X x M, without privacy. */
#ifndef TC_REFERENCE_REFERENCE_H
#define TC_REFERENCE_REFERENCE_H

#include "base/status.h"
#include "calculus/derivatives.h"
#include "model/model.h"
#include "solver/ensemble.h"
#include "solver/project/set.h"

#define TC_REFERENCE_OUTCOMES(X)                                                                                       \
    X(TC_SOLVED, "solved")                                                                                             \
    X(TC_INACCURATE, "inaccurate")                     /* the tolerance was not reached, or not the least norm */      \
    X(TC_INFEASIBLE_SUSPECTED, "infeasible_suspected") /* no point seems to satisfy all constraints */                 \
    X(TC_SOLVE_INTERRUPTED, "interrupted")             /* on request: the best so far */

typedef enum tc_reference_outcome {
#define X(code, name) code,
    TC_REFERENCE_OUTCOMES(X)
#undef X
} tc_reference_outcome;

typedef struct tc_reference {
    tc_reference_outcome outcome;
    double *x;  /* state_count, by coordinate; inside X */
    double *mu; /* constraint_count */
    double objective;
    double residual; /* |z - Proj(z - G(z))|_2 on X x {mu >= 0 but for equalities} */
    double max_violation;
    size_t worst; /* the row of max_violation */
    double norm_x, norm_mu;
    bool *conflict;           /* NULL, or marks constraints that no point of X satisfies together */
    bool *held;               /* by agent, beside conflict: its set takes part in that, not its box alone */
    bool is_solution;         /* the residual is within the tolerance, whether of least norm or not */
    double error_x, error_mu; /* estimates: how far x and mu are from those of least norm; INFINITY where unknown */
    size_t iterations;
} tc_reference;

/* For whole problems (TC_ROLE_WHOLE) only. tolerance: of the residual. threads: how many may work, 0 for all
 * processors; no bit depends on it. */
tc_reference *tc_reference_solve(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                 double tolerance, size_t threads, const tc_monitor *monitor);

/* ---- certificate.c: how far a point z = (x, mu) is from a saddle point, from the problem alone ---- */

typedef struct tc_certificate {
    double objective;
    double max_violation; /* max_j g_j, of equalities |g_j|; at least 0 */
    size_t worst;         /* its row; 0 where all hold */
    double residual;      /* |z - Proj(z - G(z))|_2, G = (grad f + mu'g_x, -g), on X x {mu >= 0 but for equalities} */
    double residual_x, residual_mu;
} tc_certificate;

typedef struct tc_judge tc_judge;
tc_judge *tc_judge_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives);
/* Moves x into X and mu, but for equalities, to non-negative numbers, exactly. */
void tc_judge_repair(tc_judge *judge, double *x, double *mu);
tc_certificate tc_judge_point(tc_judge *judge, const double *x, const double *mu);

#endif
