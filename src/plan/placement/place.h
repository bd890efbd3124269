/* Where the noise goes and how it is shared out: public facts about channels, the cheapest scales within one budget,
 * and the predicted variance of each placement (docs/proofs/placement.md). Nothing here carries a guarantee: the scales
 * found are priced afterwards and enlarged until they keep the promise. */
#ifndef TC_PLAN_PLACEMENT_PLACE_H
#define TC_PLAN_PLACEMENT_PLACE_H

#include "plan/account/view_price.h"

typedef struct tc_channel_facts {
    double *constant;  /* by channel: K, in the norm of the mechanism, rounded up */
    double *slope;     /* by channel: the largest movement of a single entry */
    double most_moved; /* entries that one column moves, at most; those that come together count once */
} tc_channel_facts;

/* With the sensitivity's lattice as it is. */
tc_channel_facts tc_channel_facts_find(const tc_pricing *pricing);

/* S_j: root mean square of |grad g_j| over the public box, by fixed quadrature; 1 where g_j is constant. */
double *tc_row_scales(tc_arena *arena, tc_streams *streams);
/* By entry of outer_first: mean square of dPhi_j/du_r over the public box, by the same quadrature. */
double *tc_outer_squares(tc_arena *arena, tc_streams *streams);
/* X = |hi - lo|_2 / 6 */
double tc_box_length(const tc_model *model);

/* Relative scales: minimises the predicted variance. Writes channel->scale, of no particular size. */
void tc_place_scales(const tc_pricing *pricing, tc_channel *channels, const double *row_scale, double box_length);

/* The predicted variances of the two placements, for channels with their final scales. */
void tc_predict_outputs(tc_arena *arena, const tc_model *model, const tc_channel *channels, size_t count,
                        const double *row_scale, double box_length, tc_placement_facts *facts);
void tc_predict_states(tc_sensitivity *sensitivity, double variance, const double *row_scale, double box_length,
                       tc_placement_facts *facts);

/* For method tacit: the effect of noise on constraints alone, rows scaled alike. Noise on states, its variance by
 * family; on forms, the channels of the model whose constraints they are (forms.h). */
void tc_predict_rows_of_states(tc_arena *arena, tc_streams *streams, const double *family_variance,
                               const double *row_scale, tc_placement_facts *facts);
void tc_predict_rows_of_forms(tc_arena *arena, const tc_streams *streams, const double *outer_squares,
                              const tc_channel *channels, size_t count, const double *row_scale,
                              tc_placement_facts *facts);

#endif
