/* One primal-dual interior-point method for everything that must be minimised:
 *
 *     minimise    sum_i f_i(x_i) + (weight/2) |x - center|^2        over x_i in X_i
 *     subject to  g(x) - price_weight (mu - price_center) <= 0, or == 0 in the rows of equalities
 *
 * The two quadratic terms are Tikhonov's regularisation of the saddle point (center 0) or, with the last solution as
 * center, a proximal step. Agents are blocks: the work is linear in their number, and one dense system couples them,
 * in the constraints' multipliers or, where constraints are curved functions of sums, in the sums as well.
 * Arithmetic is long double throughout. Bounds are never crossed, so functions stay inside their domain. */
#ifndef TC_SOLVER_INTERIOR_INTERIOR_H
#define TC_SOLVER_INTERIOR_INTERIOR_H

#include "base/status.h"
#include "base/team.h"
#include "calculus/derivatives.h"
#include "solver/linear.h"
#include "solver/project/set.h"

typedef struct tc_interior tc_interior;

typedef struct tc_interior_options {
    tc_real gap;      /* complementarity to reach, relative to the scale of the objective */
    tc_real residual; /* of the optimality conditions, relative */
    size_t iterations;
    const tc_monitor *monitor;
    const char *what; /* for progress; NULL: silent */
} tc_interior_options;

typedef struct tc_interior_result {
    bool converged, interrupted;
    tc_real gap, residual; /* reached, relative */
    tc_real rounding;      /* what rounding of the sums over agents alone may leave of the residual */
    size_t iterations;
} tc_interior_result;

/* Unknowns of the dense system that couples the agents: its cost grows with their cube. Problems where it is beyond
 * TC_COUPLING_LIMIT are refused with TC_TOO_LARGE. */
size_t tc_coupling_size(const tc_model *model, const tc_derivatives *derivatives);
enum { TC_COUPLING_LIMIT = 8000 };

/* More agents than these are shared by threads, and summed up in parts. */
enum { TC_PART_MEMBERS = 1024 };

/* The whole problem. regularization is relative: 1 would be as strong as the objective itself. team (NULL: the caller
 * alone): threads that share the work over agents; no bit depends on their number. */
tc_interior *tc_interior_model(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                               tc_real regularization, tc_team *team);
/* Minimise t subject to g(x) <= t, equalities as they are. At least one row must be an inequality. */
tc_interior *tc_interior_margin(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives);
/* A point of X that satisfies the constraints; where give is not small, one that minimises the sum of the squares of
 * what the scaled rows miss, which are give times their multipliers. Solved to a coarse gap it lies inside. */
tc_interior *tc_interior_feasible(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                  tc_real give);
/* After a solve: how much one variable can change each constraint across its box. */
void tc_interior_row_sizes(const tc_interior *solver, double *sizes);
/* min f_i over X_i for members of one family, one at a time (tc_interior_member). */
tc_interior *tc_interior_agent(tc_arena *arena, const tc_model *model, const tc_family_derivatives *derivatives,
                               const tc_family *family);
void tc_interior_member(tc_interior *solver, size_t member);
/* The same with sum_c (weight_c / 2) (x - center)_c^2 added, weight > 0. False where the point is not accurate, as for
 * tc_project. */
bool tc_interior_step(tc_interior *solver, const tc_real *weight, const tc_real *center, tc_real *x);
/* The nearest point of a set, whichever member it holds. */
tc_interior *tc_interior_nearest(tc_arena *arena, tc_set *set);
bool tc_interior_project(tc_interior *solver, const double *v, double *x);
/* The minimum of slope . (x - base) + (x - base)' hessian (x - base) / 2 over a set, whichever member it holds.
 * hessian: by rows, positive definite. False as for tc_project. */
typedef struct tc_quadratic {
    const tc_real *hessian, *slope, *base;
} tc_quadratic;
tc_interior *tc_interior_quadratic(tc_arena *arena, tc_set *set);
bool tc_interior_minimize(tc_interior *solver, const tc_quadratic *quadratic, tc_real *x);

/* From the middle of the boxes. With tc_interior_agent, tc_interior_nearest and tc_interior_quadratic solving does
 * not allocate. */
tc_interior_result tc_interior_solve(tc_interior *solver, const tc_interior_options *options);
/* After a solve, on from where it ended, with the regularisation multiplied by factor. */
tc_interior_result tc_interior_weaken(tc_interior *solver, const tc_interior_options *options, tc_real factor);
/* After a solve, on from where it ended, with its solution as center and the regularisation multiplied by factor. */
tc_interior_result tc_interior_proximal(tc_interior *solver, const tc_interior_options *options, tc_real factor);

/* Among many solutions, the one whose states or multipliers have the least norm, each in a problem of its own: the
 * other side is held at the kept solution, which displaces nothing. strength: 1 is a pull as strong as the objective,
 * or a displacement as wide as the boxes. They start from the middle of the boxes. */
void tc_interior_keep(tc_interior *solver);
tc_interior_result tc_interior_least_states(tc_interior *solver, const tc_interior_options *options, tc_real strength);
tc_interior_result tc_interior_least_multipliers(tc_interior *solver, const tc_interior_options *options,
                                                 tc_real strength);
/* A solution next to (x, mu), which is kept. */
tc_interior_result tc_interior_near(tc_interior *solver, const tc_interior_options *options, const double *x,
                                    const double *mu);
/* Components of the problem that no constraint connects: their number, and to which one each state and constraint
 * belongs. */
size_t tc_interior_components(const tc_interior *solver, uint32_t *of_state, uint32_t *of_constraint);
/* After tc_interior_solve: a typical size of each component's states, and the smallest of its multipliers. */
void tc_interior_units(const tc_interior *solver, double *states, double *multipliers);
/* Whether the pull towards zero on states and on multipliers is strong enough to decide between solutions when
 * complementarity has come down to gap; true where they are zero. */
void tc_interior_felt(const tc_interior *solver, tc_real gap, bool *states, bool *multipliers);

/* Read the iterate: states by coordinate, multipliers in the problem's units. */
void tc_interior_states(const tc_interior *solver, double *x);
void tc_interior_multipliers(const tc_interior *solver, double *mu);
/* The states of the first block (tc_interior_agent), and how much one variable can change f across its box. */
void tc_interior_block(const tc_interior *solver, tc_real *x);
tc_real tc_interior_range(const tc_interior *solver);

#endif
