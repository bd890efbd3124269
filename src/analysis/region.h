/* Boxes to evaluate over: the public box of members, and ranges of their data, as inputs of tapes. */
#ifndef TC_ANALYSIS_REGION_H
#define TC_ANALYSIS_REGION_H

#include "calculus/tape/tape.h"
#include "model/model.h"

static inline tc_interval tc_public_range(const tc_family *family, size_t member, size_t component) {
    return (tc_interval){tc_coef_at(family->lower[component], member), tc_coef_at(family->upper[component], member)};
}

/* Up to TC_LANES members of one family at once: lane l is member members[l]. */
typedef struct tc_batch {
    const tc_family *family;
    size_t lanes;
    size_t members[TC_LANES];
    double weight[TC_LANES];   /* how many members this lane stands for */
    tc_interval *state, *data; /* [index * TC_LANES + lane] */
    const tc_interval **state_at, **data_at;
    tc_interval_inputs inputs; /* for tapes */
} tc_batch;

tc_batch *tc_batch_new(tc_arena *arena, const tc_family *family);
/* Fills the data of the chosen members. */
void tc_batch_load_data(tc_batch *batch);
void tc_batch_load_box(tc_batch *batch);
void tc_batch_load_point(tc_batch *batch, const double *x); /* x: all coordinates of the ensemble */
void tc_batch_load_between(tc_batch *batch, const double *lower, const double *upper);

/* One lane that stands for all members: hulls of their boxes and of their data. */
void tc_batch_load_hull(tc_batch *batch);
/* One lane for one member. */
void tc_batch_load_member(tc_batch *batch, size_t member);

/* Whether all members have the same public box. */
bool tc_same_boxes(const tc_family *family);

/* The same public set too, or none. */
bool tc_same_public(const tc_family *family);

/* The public box of every coordinate, as points of the ensemble. */
void tc_fill_lower(const tc_model *model, double *x);
void tc_fill_upper(const tc_model *model, double *x);
void tc_fill_middle(const tc_model *model, double *x);
/* x -+ room, rounded outward. */
void tc_box_around(const tc_model *model, const double *x, const double *room, double *lower, double *upper);
tc_interval tc_coord_range(const tc_model *model, size_t coord);

#endif
