/* What a view costs for each unit of distance: certified upper bounds (docs/proofs/composition.md).
 *
 *   Laplace   max over coordinates c of  sum_e sup |dF_e/dx_c| / b_e                    epsilon per unit of l1 distance
 *   Gaussian  sup |diag(1/sigma) DF|_2 over the columns that may change together        mu per unit of l2 distance
 *             (ensemble: all outside the view; one: those of one agent)
 *   agent     sum_e move_e / b_e, and sqrt(sum_e (move_e / sigma_e)^2)                  for one round of one agent */
#ifndef TC_PLAN_ACCOUNT_VIEW_PRICE_H
#define TC_PLAN_ACCOUNT_VIEW_PRICE_H

#include "plan/sensitivity/sensitivity.h"

typedef struct tc_pricing {
    tc_sensitivity *sensitivity;
    tc_mechanism mechanism; /* LAPLACE or GAUSSIAN */
    tc_adjacency unit;      /* ENSEMBLE, ONE or AGENT */
    const tc_channel *channels;
    size_t channel_count;
} tc_pricing;

typedef struct tc_viewer { /* the arguments of tc_view_new */
    bool everything;
    const size_t *agents;
    size_t agent_count;
    uint32_t any_of;
} tc_viewer;

static inline tc_viewer tc_eavesdropper(void) { return (tc_viewer){.everything = true, .any_of = UINT32_MAX}; }

/* The price of a change by the whole width of the public box, to first order: a share of a width costs at most that
 * share of it. The larger of two: one coordinate changes, in all that is seen; all coordinates of one agent change, in
 * one number that is seen. Not per unit of distance. */
double tc_price_range(const tc_pricing *pricing, const tc_viewer *viewer);

/* With the channels' scales and the sensitivity's lattice. Infinite where nothing is proved. */
double tc_price_view(const tc_pricing *pricing, const tc_viewer *viewer);

#endif
