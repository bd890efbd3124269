/* How far a point z = (x, mu) is from a saddle point, computed from the problem alone. */
#ifndef TC_REFERENCE_CERTIFICATE_H
#define TC_REFERENCE_CERTIFICATE_H

#include "solver/ensemble.h"
#include "solver/project/set.h"

typedef struct tc_certificate {
    double objective;
    double max_violation; /* max_j g_j, at least 0 */
    double residual;      /* |z - Proj(z - G(z))|_2, G = (grad f + mu'g_x, -g), on X x {mu >= 0} */
    double residual_x, residual_mu;
} tc_certificate;

typedef struct tc_judge tc_judge;
tc_judge *tc_judge_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives);
/* Moves x into X and mu to non-negative numbers, exactly. */
void tc_judge_repair(tc_judge *judge, double *x, double *mu);
tc_certificate tc_judge_point(tc_judge *judge, const double *x, const double *mu);

#endif
