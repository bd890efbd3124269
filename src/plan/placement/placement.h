/* Where noise disturbs least. Nothing here carries a guarantee: the scales found are priced afterwards and enlarged
 * until they keep the promise. */
#ifndef TC_PLAN_PLACEMENT_PLACEMENT_H
#define TC_PLAN_PLACEMENT_PLACEMENT_H

#include "plan/account/account.h"
#include "plan/scales.h"

/* ==== place.c, predict.c ==== */

/* How noise is shared out: public facts about channels, the cheapest scales within one budget, and the predicted
 * variance of each placement (docs/proofs/placement.md). */

typedef struct tc_channel_facts {
    double *constant;  /* by channel: K, in the norm of the mechanism, rounded up; with reaches, what they can do */
    bool *moves;       /* by channel: whether an agent that may differ has an effect on it */
    double *slope;     /* by channel: the largest movement of a single entry */
    double most_moved; /* entries that one column moves, at most; those that come together count once */
} tc_channel_facts;

/* With the sensitivity's lattice as it is. */
tc_channel_facts tc_channel_facts_find(const tc_pricing *pricing);

/* S_j: root mean square of |grad g_j| over the public box, by scaled states and by fixed quadrature; 1 where g_j is
 * constant. */
double *tc_row_scales(tc_arena *arena, tc_streams *streams, tc_state_scales scales);
/* By entry of outer_first: mean square of dPhi_j/du_r over the public box, by the same quadrature. */
double *tc_outer_squares(tc_arena *arena, tc_streams *streams);
/* Point k of the quadrature, k = 0, 1, ...: all over the public box, and in every coordinate another one. */
void tc_box_point(const tc_model *model, size_t k, double *x);
/* X = |hi - lo|_2 / 6, of scaled states */
double tc_box_length(const tc_model *model, tc_state_scales scales);

/* Relative scales: minimises the predicted variance. Writes channel->scale, of no particular size. */
void tc_place_scales(const tc_pricing *pricing, tc_channel *channels, const double *row_scale, double box_length);

/* The predicted variances of the two placements, for channels with their final scales. */
void tc_predict_outputs(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                        const tc_channel *channels, size_t count, const double *row_scale, double box_length,
                        tc_placement_facts *facts);
void tc_predict_states(tc_sensitivity *sensitivity, double variance, const double *row_scale, double box_length,
                       tc_placement_facts *facts);

/* For method tacit: the effect of noise on constraints alone, rows scaled alike. Noise on states, its variance by
 * family; on forms, the channels of the model whose constraints they are. */
void tc_predict_rows_of_states(tc_arena *arena, tc_streams *streams, const double *family_variance,
                               const double *row_scale, tc_placement_facts *facts);
void tc_predict_rows_of_forms(tc_arena *arena, const tc_streams *streams, const double *outer_squares,
                              const tc_channel *channels, size_t count, const double *row_scale,
                              tc_placement_facts *facts);

/* ==== forms.c ==== */

/* Placement FORMS: noise on the inputs of the constraints, where these are linear in the states.
 *
 * g = Phi(u), u = (inner sums, single coordinates): the outer inputs. Where every body is affine by structure, u is an
 * affine function of the states, with public coefficients. Only its noisy values have to leave the cloud: g and its
 * Jacobian follow from them. The *forms* of a model are a model whose constraints are the inputs, with the same agents,
 * states, sums and DAG. On it noise on forms is noise on outputs, so one piece of code prices, scales, releases and
 * audits both (docs/proofs/placement.md, section 6). */

typedef struct tc_forms {
    tc_model *model;             /* constraint r is outer input r; 0 where no constraint depends on it */
    tc_derivatives *derivatives; /* its Jacobian is constant by structure */
} tc_forms;

/* NULL where there are forms, or why not: which family's sum has a body that is not affine. */
const char *tc_forms_problem(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives);
/* Only where tc_forms_problem has none. May add a node to the model's DAG. */
tc_forms *tc_forms_new(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives);

/* How many constraints are curved by structure, and which; curved may be NULL. Where none is, rows are forms
 * themselves.
 */
size_t tc_curved_rows(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, const bool **curved);
/* The model with those of its constraints alone that are not left out. rows[j] becomes the number of the j-th. */
tc_forms *tc_some_rows(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, const bool *left_out,
                       uint32_t *rows);

/* ==== scales.c, barrier.c ==== */

/* The cheapest scales within one joint budget (docs/proofs/scales.md):
 *
 *     minimise   sum over groups e of  cost_e a_e^-q      subject to   sum over e of  S_ue a_e <= 1   for every unit u
 *
 * A group is a set of released entries that share a scale; a unit is the thing to hide (a coordinate, an agent), and
 * S_ue is its effect on the group. Laplace: a = 1/b in units of the budget, q = 2, S the l1 sensitivities. Gaussian: a
 * = 1/sigma^2 likewise, q = 1, S the squares of the l2 sensitivities. */

typedef struct tc_scale_problem {
    size_t groups, units;
    int q;              /* 1 or 2 */
    const double *cost; /* per group, >= 0 */
    /* entries start[u] .. start[u + 1] - 1 are those of unit u; a group at most once in each */
    const size_t *start;
    const uint32_t *group;
    const double *sensitivity; /* >= 0 */
} tc_scale_problem;

typedef struct tc_scales {
    double *a;      /* per group; infinite if no unit affects it: no noise is needed */
    double cost;    /* the cost of these, groups of cost 0 left out */
    double at_best; /* lower bound of the cost of any a within the budget, up to rounding */
    size_t rows;    /* units in the final working set, of all distinct ones */
    size_t steps;
} tc_scales;

/* The result provably keeps the budget. cost / at_best - 1 bounds its distance from the optimum, in practice below
 * 1e-6. Groups of cost 0 share what the others leave, at least 2e-7 of it all. An input that is negative or not finite
 * gives a = 0, infinite noise, everywhere. */
void tc_scales_find(tc_arena *arena, const tc_scale_problem *budget, tc_scales *scales);

/* The largest sum over e of S_ue a_e, rounded up; infinite entries of a are passed over where S is 0. */
double tc_scales_use(const tc_scale_problem *budget, const double *a);

/* ---- between scales.c and barrier.c: the same problem on normalised numbers, solved on a few rows at a time ------ */

typedef struct tc_rows { /* sparse, row by row */
    size_t count;
    size_t *start;
    uint32_t *column;
    double *value;
} tc_rows;

typedef struct tc_allotment {
    size_t columns;
    int q;
    const double *cost; /* > 0, sum 1 */
    tc_rows rows;       /* entries in (0, 1], each column has one that is 1 */
    double *x;          /* in: strictly within the rows; out: near the optimum for these rows */
    double at_best;     /* out: no x within these rows costs less */
    size_t steps;       /* grows */
} tc_allotment;

double tc_allotment_cost(const tc_allotment *problem, const double *x);

/* Until cost / at_best <= 1 + accuracy, or no progress is made. */
void tc_allotment_solve(tc_arena *arena, tc_allotment *problem, double accuracy);

#endif
