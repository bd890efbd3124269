/* How a block g_{x_i} of the Jacobian varies with the whole x: the matrix T_i with rows (constraint j, component c' of
 * agent i) and columns all coordinates c,
 *     T_i[(j, c'), c] = d^2 g_j / d x_c' d x_c
 *         = sum_{r,s} Phi^j_{rs} a_{rc'} a_{sc}  +  [c in block i] sum_r Phi_{j,r} d^2 body_r / d x_c' d x_c,
 * with a_{rc} = d u_r / d x_c. The first part exists only where outer functions are curved. */
#ifndef TC_ANALYSIS_LIPSCHITZ_VARIATION_H
#define TC_ANALYSIS_LIPSCHITZ_VARIATION_H

#include "analysis/lipschitz/norm.h"
#include "analysis/lipschitz/streams.h"

typedef struct tc_input_weight { /* sum_r Phi^j_{rs} a_{rc'}: the weight of input s in row (j, c') */
    uint32_t input, row;
    tc_interval value;
} tc_input_weight;

typedef struct tc_slopes { /* du_r/dx of the members of a family, kept where outer functions couple members */
    bool wanted;
    size_t count;
    size_t *members;
    double *weight;
    tc_interval *values; /* [body_first index * count + i] */
} tc_slopes;

typedef struct tc_variation {
    tc_streams *streams;
    tc_arena *arena;
    tc_partial_links inputs;      /* by input: its second derivatives, in outer_second; other: the other input */
    tc_partial_links *components; /* by family, by component: body_second entries; other: the other component */
    uint32_t *input_family;       /* of each input */
    uint32_t *body_of_input;      /* for sums: the body's number in its family */
    bool couples_sums;            /* some curved input is a sum: columns of all its members appear */
    bool aggregated;              /* too many entries to list: foreign columns are bounded together */
    tc_slopes *slopes;            /* by family */
    bool *coupled_families;       /* scratch */
    double *steepest;             /* aggregated: max_c |a_{sc}| by input */
    double slopes_norm;           /* aggregated: |(a_{sc})|_2 over curved inputs */
    /* the matrix being built */
    size_t columns, entries, column_capacity, entry_capacity, open_at;
    size_t *start;
    double *weight;
    uint32_t *row;
    tc_interval *value;
    uint32_t *stamp, *slot, stamp_now;
    tc_input_weight *couplings;
    size_t coupling_count, coupling_capacity;
} tc_variation;

tc_variation *tc_variation_new(tc_streams *streams, size_t row_limit);

/* Prepares for a place: NULL for the box (streams' outer derivatives must be there already), or x. */
void tc_variation_prepare(tc_variation *variation, const double *x);

/* Upper bounds of |T_i|_1 and |T_i|_2 for the member in a lane of the current batch; a |T_i|_2 that is certainly no
 * more than `enough` may be given crudely. */
void tc_variation_upper(tc_variation *variation, size_t family, size_t lane, double enough, double bound[2]);
/* Lower bounds at the place of the batch. */
void tc_variation_lower(tc_variation *variation, size_t family, size_t lane, double bound[2]);

#endif
