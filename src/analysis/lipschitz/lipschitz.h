/* Brackets of Lipschitz constants over the public box. Arguments: docs/proofs/lipschitz.md. */
#ifndef TC_ANALYSIS_LIPSCHITZ_LIPSCHITZ_H
#define TC_ANALYSIS_LIPSCHITZ_LIPSCHITZ_H

#include "analysis/analysis.h"
#include "analysis/lipschitz/streams.h"
#include "calculus/interval/interval.h"

/* A bracket counts as closed when its ends agree to this relative width. */
#define TC_CLOSED 1e-12
static inline bool tc_is_closed(const tc_bracket *b) { return b->lower >= b->upper * (1 - TC_CLOSED); }

/* K^g_1 and K^g_2. Leaves in `vertex` (n numbers, or NULL) the point where entries are largest. */
void tc_lipschitz_constraints(tc_streams *streams, tc_bracket g[2], double *vertex);
/* K^i_1 and K^i_2 for every row of rows (analysis.h); vertex from above. */
void tc_lipschitz_jacobian(tc_streams *streams, tc_agent_constants *rows, size_t count, bool by_family,
                           const double *vertex);
/* L_i over the bounding box of X_i. */
void tc_lipschitz_objectives(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                             tc_agent_constants *rows, size_t count, bool by_family, const tc_monitor *monitor);

void tc_count_constancy(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, tc_constancy *rows,
                        tc_constancy *total);

/* Coordinate search for a point of the box with a large score: each coordinate at its lower end, upper end or middle.
 * Any point gives a valid lower bound, a better one a better bound. */
typedef double (*tc_score)(void *context, const double *x);

/* Improves x (whose score is `best`) within count ranges, until no single move helps, the score reaches `goal`, or
 * `budget` scores were taken. Returns the best score. */
double tc_coordinate_search(const tc_interval *ranges, size_t count, double *x, double best, double goal, size_t budget,
                            tc_score score, void *context);

#endif
