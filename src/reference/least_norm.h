/* The saddle point of least norm among all of them. */
#ifndef TC_ENGINE_LEAST_NORM_H
#define TC_ENGINE_LEAST_NORM_H

#include "solver/interior/interior.h"

/* One side of z = (x, mu) and how far it is from the least-norm solution, by estimate and in the 2-norm. */
typedef struct tc_side {
    size_t count;
    uint32_t *component; /* of the problem, by number */
    double *unit;        /* a typical size, by component */
    double *values, *before;
    double *change, *size, *least_change; /* by component */
    double *taken;                        /* the steadiest values so far */
    double error;
    bool is_settled;
} tc_side;

typedef struct tc_least_norm {
    tc_interior *solver;
    const tc_interior_options *options;
    size_t component_count;
    tc_side x, mu;
    size_t iterations;
    bool interrupted;
} tc_least_norm;

tc_least_norm *tc_least_norm_new(tc_arena *arena, const tc_model *model, tc_interior *solver,
                                 const tc_interior_options *options);

/* The regularised solution, with ever weaker weights until it settles. The solver is left there. */
void tc_least_norm_approach(tc_least_norm *search);
/* Takes the solver's iterate as the solution to search from. */
void tc_least_norm_keep(tc_least_norm *search);
/* One side in a problem of its own, into its `taken`, while the other one is held at the solution kept. */
void tc_least_norm_states(tc_least_norm *search);
void tc_least_norm_multipliers(tc_least_norm *search);

#endif
