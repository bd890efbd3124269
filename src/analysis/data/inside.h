/* One family in the making; for the files of this folder. */
#ifndef TC_ANALYSIS_DATA_INSIDE_H
#define TC_ANALYSIS_DATA_INSIDE_H

#include "analysis/convexity/curvature.h"
#include "analysis/data/data.h"
#include "analysis/region.h"

typedef struct tc_ranged {
    tc_arena *arena;
    const tc_model *model;
    tc_dag *dag;
    tc_prover
        *prover; /* serves all families, as do value and slope: the DAG may be large, and each family's part small */
    tc_family *family;
    const tc_family_derivatives *derivatives;
    tc_batch *batch; /* one lane: the hull of all boxes, and every datum in its range */
    /* by node, of the last roots */
    tc_interval *value, *slope;
    size_t capacity;
    /* by column: how far it moves; 0 for all but the datum in question and what was computed from it when the problem
     * was read, INFINITY */
    double *by;
    bool is_computed; /* there is such a column */
} tc_ranged;

/* ---- ranges.c ---- */

tc_ranged *tc_ranged_new(tc_arena *arena, tc_model *model);
/* From now on it is about this family, and no datum moves. */
void tc_ranged_take(tc_ranged *r, tc_family *family, const tc_family_derivatives *derivatives);
/* From now on this datum moves, by as much as it is protected; NULL: none. */
void tc_ranged_move(tc_ranged *r, const tc_datum *datum);
/* The values of an expression over boxes and ranges. The whole line where private data without a range are in it. */
tc_interval tc_ranged_value(tc_ranged *r, tc_expr e);
/* The derivative along any move of the datum: within [-s, s] for the returned s. */
double tc_ranged_slope(tc_ranged *r, tc_expr e);
/* Whether the datum is in the expression. */
bool tc_ranged_moves(tc_ranged *r, tc_expr e);
/* The same of a number that may differ between members, as it is computed: rounded. */
tc_interval tc_ranged_coef(tc_ranged *r, tc_coef coef);
double tc_ranged_coef_slope(tc_ranged *r, tc_coef coef);
bool tc_ranged_coef_moves(tc_ranged *r, tc_coef coef);
bool tc_ranged_start_moves(tc_ranged *r, size_t component);
/* A private column without a range under e; NULL: none. */
const char *tc_ranged_missing(tc_ranged *r, tc_expr e);

/* ---- sets.c ---- */

/* The private and public sets as bounds of single states, rows, and what is neither. */
typedef struct tc_set_form {
    bool has_curved;         /* balls, ellipsoids */
    size_t rows;             /* relations of two states and more */
    bool one_direction;      /* all rows have the same normal, but for its sign */
    const tc_set_piece *row; /* the first */
} tc_set_form;

tc_set_form tc_set_form_of(tc_ranged *r);
/* Whether the datum is in a set. */
bool tc_sets_move(tc_ranged *r);
/* How far a datum that sets depend on moves states of an agent whose objective is a sum over its states. NULL, or why
 * no bound is proved. */
const char *tc_set_distances(tc_ranged *r, const tc_set_form *form, double distances[2]);
/* Where the Slater points of all members are, with their room. */
tc_interval tc_ranged_slater(const tc_ranged *r, size_t component);
/* NULL, or a sentence: which set is not proved to hold the Slater point, with its room, for all data. Without such a
 * point, whether the sets are not empty. */
const char *tc_slater_fault(tc_ranged *r, const tc_set_form *form);

/* ---- reading.c ---- */

/* NULL, or a sentence: why an agent might be refused for some of the moving datum's values in the range, and take part
 * for others. */
const char *tc_reading_fault(tc_ranged *r, const char *datum, bool convex);

/* ---- objective.c ---- */

/* Whether the objective is a sum of functions of one state each. */
bool tc_objective_is_separable(tc_ranged *r);
/* How far a datum that the objective depends on moves states. NULL, or why no bound is proved. */
const char *tc_objective_distances(tc_ranged *r, const tc_set_form *form, double distances[2]);
/* f at the Slater point, with its room, less its minimum over the box; over all ranges. INFINITY: not known. */
double tc_ranged_gap(tc_ranged *r);

#endif
