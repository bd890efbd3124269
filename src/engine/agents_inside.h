/* The agents inside; for agents.c. Proximal steps (proximal/inside.h) share the families, the rows and the
 * projectors. */
#ifndef TC_ENGINE_AGENTS_INSIDE_H
#define TC_ENGINE_AGENTS_INSIDE_H

#include "calculus/tape/tape.h"
#include "engine/agents.h"
#include "engine/projector.h"

enum { TC_NO_ROW = -1 };

typedef struct tc_agents_family {
    const tc_family *family;
    tc_tape *gradient;    /* the derivatives that are not zero by structure */
    int32_t *rows;        /* by component: the output of the tape; TC_NO_ROW for zero */
    const double **data;  /* the columns, by number */
    const tc_coef *lower; /* bounds, where every set is a box; else NULL */
    const tc_coef *upper;
    tc_projector *projector;
} tc_agents_family;

typedef struct tc_coord_range { /* coordinates of families of one that follow each other */
    size_t coord, place, count;
} tc_coord_range;

typedef struct tc_agents_singles {
    size_t count;         /* of coordinates: each has a place, in their order */
    tc_program *gradient; /* of all of them */
    size_t *places;       /* by root */
    size_t root_count;    /* less than count where derivatives are zero by structure */
    tc_coord_range *ranges;
    size_t range_count;
    double *lower, *upper; /* by place; infinite where a set is not a box */
    size_t *families;      /* all of them; those whose sets are not boxes come first */
    size_t *begins;        /* the places of their first coordinates */
    size_t family_count, shaped_count;
} tc_agents_singles;

typedef struct tc_agents_work { /* of one thread */
    double *tape;               /* scratch of a tape */
    const double **state_at, **data_at;
    double **out_at;          /* gradient rows of TC_LANES */
    double *v;                /* rows of TC_LANES */
    double *program, *values; /* of the singles: scratch, derivatives by root */
    double *slopes, *points;  /* by place */
    uint64_t inaccurate;
    char apart[64]; /* keeps threads off each other's cache lines */
} tc_agents_work;

struct tc_agents {
    const tc_model *model;
    tc_agents_family *families;
    tc_agents_singles singles;
    tc_agents_work *works;
    size_t workers;
};

/* Bytes of resolved sets, in all families together. */
#define TC_MOST_KEPT ((size_t)1 << 27)

/* A family in two parts: data and gradient; then, of the same family, bounds and projector. memory: as for
 * tc_projector_new. */
void tc_agents_slopes_new(tc_arena *arena, const tc_dag *dag, const tc_family *family, const tc_family_derivatives *of,
                          tc_agents_family *made);
void tc_agents_sets_new(tc_arena *arena, size_t workers, size_t *memory, tc_agents_family *made);

/* v = x - step ((g + p) + regularization x), clipped to one pair of bounds, which may be infinite. False where a v was
 * not finite. */
bool tc_agents_row(size_t count, const double *g, const double *p, tc_answer_scalars scalars, const double *x,
                   double lower, double upper, double *out);

#endif
