/* The steps of an analysis, and what they share: findings and warnings in words. */
#ifndef TC_ANALYSIS_STEPS_H
#define TC_ANALYSIS_STEPS_H

#include "analysis/analysis.h"
#include "analysis/convexity/curvature.h"
#include "analysis/lipschitz/streams.h"

/* Assumption 1: every f_i is convex and, but for kinks that solvers lift, C1 over a box around X_i; smoothness: and has
 * no kinks. */
void tc_judge_objectives(tc_prover *prover, const tc_derivatives *derivatives, tc_assumption *assumption,
                         tc_assumption *smoothness, const tc_monitor *monitor);
/* Assumption 3: g is convex and C1; coords, sums: enclosures of the outer inputs over the box. */
void tc_judge_constraints(tc_prover *prover, const tc_derivatives *derivatives, tc_interval *coords, tc_interval *sums,
                          tc_assumption *assumption, const tc_monitor *monitor);
/* Assumption 4. Fills slater, slater_facts, dual_radius, minimum_lower and minimum_upper. */
void tc_judge_slater(tc_analysis *analysis, tc_arena *arena, tc_streams *streams, const tc_derivatives *derivatives,
                     bool skip_private, size_t threads, const tc_monitor *monitor);

/* Adds a finding; the assumption's verdict becomes the worse of the two (fails, then unproved, then holds). */
void tc_find(tc_arena *arena, tc_assumption *assumption, const tc_source *source, tc_verdict verdict, tc_span span,
             const char *format, ...) TC_PRINTF(6, 7);
/* Adds a warning. At most a few dozen are kept. */
void tc_warn(tc_analysis *analysis, tc_arena *arena, const char *text);

/* "x[3]" of a family's component, "x" where the state is a scalar. */
void tc_component_name(tc_buffer *out, const tc_family *family, size_t component);
/* A number for people: six digits at most. */
const char *tc_short_number(char text[32], double value);
/* "home[17]" or, where the whole family is meant, "home". */
const char *tc_who(tc_arena *arena, const tc_family *family, size_t member, bool whole);
/* The name of a row: "home[3]", or "home[*]" for a whole family. */
const char *tc_row_name(tc_arena *arena, const tc_analysis *analysis, const tc_agent_constants *row);

/* ---- lipschitz/: brackets of Lipschitz constants over the public box. Proofs: docs/proofs/lipschitz.md ---- */

/* A bracket counts as closed when its ends agree to this relative width. */
#define TC_CLOSED 1e-12
static inline bool tc_is_closed(const tc_bracket *b) { return b->lower >= b->upper * (1 - TC_CLOSED); }

/* K^g_1 and K^g_2. Leaves in `vertex` (n numbers, or NULL) the point where entries are largest. */
void tc_lipschitz_constraints(tc_streams *streams, tc_bracket g[2], double *vertex);
/* K^i_1 and K^i_2 for every row of rows; vertex from above. Of members that other ranks know some parts of it are
 * added. */
void tc_lipschitz_jacobian(tc_streams *streams, tc_agent_constants *rows, size_t count, bool by_family, double *vertex);
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
