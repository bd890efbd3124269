/* The reference solution and the facts proved about it, as JSON and as text. */
#ifndef TC_API_SOLUTION_H
#define TC_API_SOLUTION_H

#include "analysis/analysis.h"
#include "base/json.h"
#include "reference/reference.h"

typedef struct tc_solution {
    const tc_model *model;
    const tc_reference *reference;
    const tc_analysis *assumptions; /* 1 to 3 and the public radius only; NULL: interrupted before they were judged */
} tc_solution;

/* Judges the assumptions, and solves in any case. */
tc_solution tc_solution_find(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives, double tolerance,
                             size_t threads, const tc_monitor *monitor);

/* Functions that are proved convex and smooth: without that a saddle point is no more than a stationary point. */
bool tc_solution_is_convex(const tc_solution *solution);
/* Some agent's set is empty: there is no point to show. */
bool tc_solution_lacks_points(const tc_solution *solution);
/* Convex, and solved to the tolerance. */
bool tc_solution_holds(const tc_solution *solution);

/* "solved", "inaccurate", ... */
const char *tc_outcome_name(tc_reference_outcome outcome);

/* Which constraints no point satisfies together, and whose sets take part in that; NULL where it is not known. */
const char *tc_conflict_sentence(tc_arena *arena, const tc_model *model, const tc_reference *reference);
/* Why the solution does not hold, where it does not. */
const char *tc_solution_reason(tc_arena *arena, const tc_solution *solution);

double tc_solution_sum(const tc_solution *solution); /* of the multipliers */
/* R, where public facts give one: the file's, or that of gaps and Slater point; NAN for none. */
double tc_solution_radius(const tc_solution *solution);
/* The private algorithm keeps mu in M = {mu >= 0, sum mu <= R}: with a smaller R it cannot arrive here. False where
 * there is no solution to arrive at. */
bool tc_solution_outside_radius(const tc_solution *solution);

/* One JSON object. */
void tc_solution_json(const tc_solution *solution, tc_json *json);

/* For people, 80 columns wide; long lists are cut unless full. */
void tc_solution_text(const tc_solution *solution, bool full, tc_buffer *out);

#endif
