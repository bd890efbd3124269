/* f, g and their gradients at one point of the whole ensemble, members streamed in blocks: the memory does not depend
 * on the number of agents. In long double; or, where speed counts more, agents in double and only sums in long double.
 * Independent of the interior-point method, so it can judge its results. */
#ifndef TC_SOLVER_ENSEMBLE_H
#define TC_SOLVER_ENSEMBLE_H

#include "calculus/derivatives.h"
#include "calculus/tape/tape.h"
#include "solver/linear.h"

typedef struct tc_ensemble {
    const tc_model *model;
    const tc_derivatives *derivatives;
    tc_real objective; /* f, where files have objectives */
    tc_real *g;        /* constraint_count */
    /* private */
    struct tc_ensemble_family *families;
    tc_tape *outer_values, *outer_firsts;
    tc_real *inputs, *prices, *coords, *work, *states, *outputs;
    tc_real *carried; /* between ranks: sums and the objective */
    const tc_real **state_at;
    const double **data_at;
    tc_real **output_at;
    double *fast_work; /* NULL: long double */
    const double **fast_state_at;
    double **fast_output_at;
} tc_ensemble;

tc_ensemble *tc_ensemble_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, bool is_fast);

/* objective and g at x (by coordinate). False where something is not finite. */
bool tc_ensemble_values(tc_ensemble *ensemble, const double *x);
/* Keeps A' mu, A at the point of the last tc_ensemble_values. */
void tc_ensemble_prices(tc_ensemble *ensemble, const double *mu);
/* out[c * TC_LANES + lane]: component c of the gradient of (with_objective: f +) mu'g for members first .. of a
 * family; at most TC_LANES of them. */
void tc_ensemble_gradient(tc_ensemble *ensemble, size_t family, size_t first, size_t lanes, const double *x,
                          bool with_objective, tc_real *out);

/* The largest g_j of the inequalities; *worst its number. -INFINITY where there are none. */
tc_real tc_ensemble_largest(const tc_ensemble *ensemble, size_t *worst);

#endif
