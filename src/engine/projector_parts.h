/* A projector inside: made by projector_build.c, used by projector.c. */
#ifndef TC_ENGINE_PROJECTOR_PARTS_H
#define TC_ENGINE_PROJECTOR_PARTS_H

#include "engine/projector.h"
#include "solver/project/project.h"
#include "solver/project/set.h"

typedef enum tc_projector_form {
    TC_PROJECTOR_BOX,     /* bounds */
    TC_PROJECTOR_CUTS,    /* bounds, and parts that share no component */
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

struct tc_projector {
    const tc_family *family;
    tc_projector_form form;
    tc_coef *lower, *upper; /* dim each; boxes and cuts */
    tc_projector_cut *cuts;
    size_t cut_count;
    size_t *uncut; /* components in no cut */
    size_t uncut_count;
    tc_kept_set *kept; /* by member; NULL: loaded in every call */
    tc_projector_work *works;
};

/* The set of one member, in the thread's own work area, until the next one; TC_PROJECTOR_MEMBERS. */
tc_set *tc_projector_set(const tc_projector *projector, size_t worker, size_t member);

#endif
