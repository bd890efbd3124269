/* Proximal steps inside: made by proximal_build.c, led by proximal.c; one file for each way to take them. */
#ifndef TC_ENGINE_PROXIMAL_PARTS_H
#define TC_ENGINE_PROXIMAL_PARTS_H

#include "engine/agents_parts.h"
#include "engine/projector_parts.h"
#include "engine/proximal.h"
#include "solver/interior.h"

typedef enum tc_proximal_way {
    TC_PROXIMAL_ROWS,     /* constant curvature: a formula, and bounds or a projection */
    TC_PROXIMAL_WEIGHTED, /* the same, with half-spaces and planes and a curvature for each component */
    TC_PROXIMAL_LINES,    /* one equation for each component */
    TC_PROXIMAL_NEWTON,   /* a box and at most one smooth part; else, member by member, the interior-point method */
} tc_proximal_way;

typedef struct tc_curvature { /* of one component, where it does not depend on states */
    double value;
    int32_t row; /* of the tape of second derivatives; TC_NO_ROW: value */
} tc_curvature;

typedef struct tc_proximal_family {
    const tc_agents_family *of;
    const tc_family_derivatives *derivatives;
    tc_proximal_way way;
    bool is_diagonal;         /* no mixed second derivatives */
    tc_curvature *curvatures; /* by component: rows and weighted; lines use the rows */
    tc_tape *seconds;         /* rows and weighted: what varies of the curvatures */
    tc_tape *both;            /* lines and Newton: first derivatives, then second */
    tc_interior **interiors;  /* by worker, where they may be needed */
} tc_proximal_family;

typedef struct tc_proximal_work { /* of one thread; rows have TC_LANES entries */
    double *tape;
    const double **state_at, **data_at;
    double **out_at;
    double *x, *trial, *move, *lower, *upper, *center; /* dim rows each */
    double *roots;                                     /* dim rows: of the curvatures, in the weighted way */
    tc_coef *coefs;                                    /* 3 dim */
    double *hessian, *factor, *slope, *pull, *side;    /* dim^2, dim^2, dim each */
    size_t *free;                                      /* dim */
    int8_t *holds;                                     /* dim */
    double *response, *noise;                          /* dim */
    tc_real *reals;                                    /* dim */
    double *singles;                                   /* dim rows: of members that went one by one */
    uint64_t inaccurate;
    char apart[64]; /* threads write side by side: not on one cache line */
} tc_proximal_work;

struct tc_proximal {
    tc_agents *agents;
    tc_proximal_family *families;
    tc_proximal_work *works;
    const double **p_at, **x_at; /* by worker: rows of singles */
    double **next_at;
    size_t most_dim;
};

typedef struct tc_proximal_block { /* members first .. first + count - 1, at most TC_LANES */
    const tc_proximal_family *family;
    tc_proximal_work *work;
    size_t worker;
    size_t first, count, at; /* `at` of the caller's rows */
    const double *const *p;
    const double *const *x;
    double step, regularization, weight; /* weight: regularization + 1 / step */
} tc_proximal_block;

/* Each leaves the new states in rows work->x, and returns TC_ALL_FINITE or a member. */
size_t tc_proximal_rows(const tc_proximal_block *b);
size_t tc_proximal_lines(const tc_proximal_block *b);
size_t tc_proximal_newton(const tc_proximal_block *b);

/* Newton's way for one member, whose new state is left in rows work->singles; work->x is lost. */
size_t tc_proximal_alone(const tc_proximal_block *b, size_t lane);

/* The family's tape at rows of states; outputs in work->out_at. */
void tc_proximal_evaluate(const tc_proximal_block *b, const tc_tape *tape, const double *rows);

static inline double tc_proximal_bounded(double x, double lower, double upper) {
    x = x < lower ? lower : x;
    return x > upper ? upper : x;
}

#endif
