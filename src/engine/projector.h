/* Projections onto the sets X_i of one family, many members at a time.
 *
 * Sets are resolved once. If all members have boxes, there are only bounds. If the parts of each set share no
 * component, members are projected side by side (solver/project/project.h). Otherwise tc_project handles each alone.
 * All ways give the same point, bit for bit, and it depends on the projected point and the set alone. */
#ifndef TC_ENGINE_PROJECTOR_H
#define TC_ENGINE_PROJECTOR_H

#include "solver/project/set.h"

typedef enum tc_projector_form {
    TC_PROJECTOR_BOX,     /* bounds */
    TC_PROJECTOR_CUTS,    /* bounds, and parts or slabs that share no component */
    TC_PROJECTOR_MEMBERS, /* anything else */
} tc_projector_form;

typedef struct tc_projector_cut {
    tc_cut cut;
    size_t first; /* its first component */
} tc_projector_cut;

typedef struct tc_kept_set { /* what tc_set_load leaves, for one member */
    double *lower, *upper;
    tc_set_part *parts;
    size_t part_count;
    tc_set_shape shape;
} tc_kept_set;

typedef struct tc_projector_work { /* of one thread, for TC_PROJECTOR_MEMBERS */
    tc_set *set;
    double *point;
} tc_projector_work;

typedef struct tc_projector {
    const tc_family *family;
    tc_projector_form form;
    tc_coef *lower, *upper; /* dim each; boxes and cuts */
    tc_projector_cut *cuts;
    size_t cut_count;
    size_t *uncut; /* components in no cut */
    size_t uncut_count;
    tc_kept_set *kept; /* by member; NULL: loaded in every call */
    tc_projector_work *works;
} tc_projector;

/* What decides about the form of a set: piece_count + 1 numbers, the same for members that have the same form with the
 * same parts. Sets of TC_PROJECTOR_MEMBERS are alike. */
void tc_projector_signature(const tc_set *set, size_t *signature);
/* Whether two members may have different ones. */
bool tc_projector_varies(const tc_family *family);

/* workers: how many threads may project at once. *memory: bytes that resolved sets may take if the family has no
 * simpler form; reduced by what this one takes. Sets without room are resolved again in every call. */
tc_projector *tc_projector_new(tc_arena *arena, const tc_family *family, size_t workers, size_t *memory);

/* The bounds, dim each, where every member's set is a box; else false. */
bool tc_projector_box(const tc_projector *projector, const tc_coef **lower, const tc_coef **upper);

/* Members first .. first + count - 1, in place: v[component * stride + k]. Returns how many did not reach the accuracy
 * of an exact projection (solver/project/project.h); they have the best point found. */
size_t tc_projector_project(tc_projector *projector, size_t worker, size_t first, size_t count, size_t stride,
                            double *v);

/* The set of one member, in the thread's own work area, until the next one; TC_PROJECTOR_MEMBERS. */
tc_set *tc_projector_set(const tc_projector *projector, size_t worker, size_t member);

#endif
