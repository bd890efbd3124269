/* Projections onto the sets X_i of one family, many members at a time.
 *
 * Sets are resolved once. Where all members have boxes, there are bounds alone; where each has parts that speak of
 * components of their own, members are projected side by side (solver/project/project.h); else each goes alone
 * through tc_project. A member's point is the same in every way, bit for bit, and a function of what is projected
 * alone. */
#ifndef TC_ENGINE_PROJECTOR_H
#define TC_ENGINE_PROJECTOR_H

#include "model/model.h"

typedef struct tc_projector tc_projector;

/* workers: how many threads may project at once. *memory: bytes that resolved sets may take where the family has no
 * simpler form; what is taken is taken off. Sets that find no room are resolved again in every call. */
tc_projector *tc_projector_new(tc_arena *arena, const tc_family *family, size_t workers, size_t *memory);

/* The bounds, dim each, where every member's set is a box; else false. */
bool tc_projector_box(const tc_projector *projector, const tc_coef **lower, const tc_coef **upper);

/* Members first .. first + count - 1, in place: v[component * stride + k]. Returns how many did not reach the accuracy
 * of an exact projection (solver/project/project.h); they have the best point found. */
size_t tc_projector_project(tc_projector *projector, size_t worker, size_t first, size_t count, size_t stride,
                            double *v);

#endif
