/* What the two halves of Assumption 4 share: duality.c finds Slater points, radius.c the dual radius. */
#ifndef TC_ANALYSIS_DUALITY_H
#define TC_ANALYSIS_DUALITY_H

#include "analysis/equalities.h"
#include "analysis/steps.h"

typedef struct tc_duality {
    tc_analysis *analysis;
    tc_arena *arena;
    tc_streams *streams;
    const tc_model *model;
    const tc_derivatives *derivatives;
    const tc_monitor *monitor;
    size_t threads;
    double *declared;          /* the file's Slater point, or NULL */
    double *room;              /* around it, by coordinate; NULL where there is none */
    tc_equalities *equalities; /* NULL without */
    double reach;              /* of the room around the declared point */
    bool declared_sound;       /* it lies in the box, and in the sets where they are known, and satisfies g strictly */
    bool refuted;              /* no point does */
    double *minima;            /* of f_i by agent, or NULL */
} tc_duality;

/* Directed rounding may give -0. */
static inline double tc_without_sign(double value) { return value == 0 ? 0 : value; }

/* The file's Slater point and the room around it, by coordinate; NULL where not every agent has a point, and where
 * nobody has room. */
double *tc_declared_point(tc_arena *arena, const tc_model *model);
double *tc_declared_room(tc_arena *arena, const tc_model *model);

/* Fills dual_radius, minimum_lower and minimum_upper. with_private: objectives are known and may be used. */
void tc_find_radius(tc_duality *d, bool with_private);

#endif
