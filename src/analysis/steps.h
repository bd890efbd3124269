/* The steps of an analysis, and what they share: findings and warnings in words. */
#ifndef TC_ANALYSIS_STEPS_H
#define TC_ANALYSIS_STEPS_H

#include "analysis/analysis.h"
#include "analysis/convexity/curvature.h"
#include "analysis/lipschitz/streams.h"

/* Assumption 1: every f_i is convex and C1 over a box around X_i. */
void tc_judge_objectives(tc_prover *prover, tc_assumption *assumption, const tc_monitor *monitor);
/* Assumption 2: every X_i is non-empty, compact and convex. */
void tc_judge_sets(tc_arena *arena, const tc_model *model, tc_assumption *assumption, const tc_monitor *monitor);
/* Assumption 3: g is convex and C1; coords, sums: enclosures of the outer inputs over the box. */
void tc_judge_constraints(tc_prover *prover, const tc_derivatives *derivatives, tc_interval *coords, tc_interval *sums,
                          tc_assumption *assumption, const tc_monitor *monitor);
/* Assumption 4. Fills slater, slater_facts, dual_radius, minimum_lower and minimum_upper. */
void tc_judge_slater(tc_analysis *analysis, tc_arena *arena, tc_streams *streams, const tc_derivatives *derivatives,
                     bool skip_private, const tc_monitor *monitor);

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

#endif
