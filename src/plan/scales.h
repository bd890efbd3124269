/* The scale of each state in method tacit: states are taken in units in which their public boxes are about equally
 * wide (docs/method.md). A function of public boxes alone. */
#ifndef TC_PLAN_SCALES_H
#define TC_PLAN_SCALES_H

#include "model/model.h"

/* By family and component, a power of two of at most 1; NULL: all are 1. */
typedef const double *const *tc_state_scales;

static inline double tc_scale_of(tc_state_scales scales, size_t family, size_t component) {
    return scales == NULL ? 1 : scales[family][component];
}

/* NULL where all boxes are about equally wide. */
tc_state_scales tc_state_scales_find(tc_arena *arena, const tc_model *model);

/* The widest public box over the narrowest one that is left when states are scaled; 1 where there is none. */
double tc_widths_apart(const tc_model *model, tc_state_scales scales);

#endif
