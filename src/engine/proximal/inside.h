/* Proximal steps inside; for the files of this folder, one for each way to take them. */
#ifndef TC_ENGINE_PROXIMAL_INSIDE_H
#define TC_ENGINE_PROXIMAL_INSIDE_H

#include "base/simd.h"
#include "calculus/lift.h"
#include "engine/agents_inside.h"
#include "engine/proximal/proximal.h"
#include "solver/interior/interior.h"

typedef enum tc_proximal_way {
    TC_PROXIMAL_ROWS,     /* constant curvature: a formula, and bounds or a projection */
    TC_PROXIMAL_WEIGHTED, /* the same, with half-spaces and planes and a curvature for each component */
    TC_PROXIMAL_LINES,    /* one equation for each component */
    TC_PROXIMAL_NEWTON,   /* a box and at most one half-space, slab, plane or ball, of all members: side by side */
    TC_PROXIMAL_ALONE,    /* member by member */
    TC_PROXIMAL_KINKS,    /* objectives with kinks, member by member */
} tc_proximal_way;

typedef struct tc_fixed_curvature { /* of one component, where it does not depend on states */
    double value;
    int32_t row; /* of the tape of second derivatives; TC_NO_ROW: value */
} tc_fixed_curvature;

typedef enum tc_newton_part {
    TC_NEWTON_BOX,
    TC_NEWTON_LINEAR,
    TC_NEWTON_SLAB,
    TC_NEWTON_PLANE,
    TC_NEWTON_BALL
} tc_newton_part;

typedef struct tc_proximal_interior { /* of one thread: what the interior-point method needs */
    tc_set *set;
    tc_interior *interior;
    tc_real *tape, **out_at, *reals; /* dim (dim + 8) */
    const tc_real **state_at;
    double *point; /* dim */
} tc_proximal_interior;

typedef struct tc_proximal_family { /* members of a family that are computed in the same way, as each would be alone */
    const size_t *members;          /* increasing; NULL: all */
    const tc_agents_family *of;     /* of these members */
    const tc_family_derivatives *derivatives;
    const double *stretch; /* by component: 1 / s_c^2, which 1 / step is multiplied by */
    double least_stretch;
    tc_proximal_way way;
    bool is_diagonal;                /* no mixed second derivatives */
    bool is_smooth;                  /* second derivatives do not jump */
    bool is_quadratic;               /* they are constant */
    bool has_even_bounds;            /* the same for all members */
    tc_fixed_curvature *curvatures;  /* by component: rows and weighted; lines use the rows */
    tc_tape *seconds;                /* rows and weighted: what varies of the curvatures */
    tc_tape *both;                   /* lines and Newton: first derivatives, then second */
    tc_program *both_at_point;       /* the same for a family of one, in less time; or NULL */
    size_t *second_at;               /* Newton: their places in the lower triangle, or on the diagonal */
    tc_proximal_interior *interiors; /* by worker, where they may be needed; else NULL */
    tc_interior **lifted;            /* kinks and bends, by worker: the objective without, in more variables */
    tc_set **sets;                   /* kinks, by worker */
    tc_real *reals;                  /* kinks, by worker: 3 dim */
    struct tc_quadratic_kinks *quadratic_kinks; /* kinks: a quadratic function and kinks of affine ones; or NULL */
} tc_proximal_family;

enum { TC_PROXIMAL_PACK = 8 }; /* lanes are filled up to a multiple of this */

typedef struct tc_proximal_work { /* of one thread; rows have TC_LANES entries */
    double *tape;
    const double **state_at, **data_at;
    double **out_at;
    double **slopes_at;                                /* dim rows of TC_MOST_LANES: of steps in boxes */
    double *data;                                      /* by column, a row: where lanes have moved */
    size_t who[TC_LANES];                              /* the member of a lane, after b->first */
    double *x, *trial, *move, *lower, *upper, *center; /* dim rows each */
    double *old, *p, *unit, *low, *high;               /* dim rows each */
    double *result;                                    /* dim rows: the new states */
    double *roots;                                     /* dim rows: of the curvatures, in the weighted way */
    double busy[TC_LANES], hard[TC_LANES];             /* 1 for lanes that go on, and that must go alone */
    double t[TC_LANES], along[TC_LANES], length[TC_LANES], last[TC_LANES], radius[TC_LANES];
    double floor[TC_LANES];
    double *inverse, *weight; /* dim: as tc_proximal_inverse and tc_proximal_weight */
    const double **f1, **f2;  /* rows of derivatives: by component, by place in the Hessian */
    double *scratch;          /* of Newton's method */
    tc_coef *coefs;           /* 3 dim */
    /* of one member alone: dim^2, dim^2, dim each */
    double *hessian, *factor, *slope, *pull, *side, *response, *noise;
    size_t *free;
    int8_t *holds;
    double *point, *program, *values; /* of programs: by coordinate, their work and results */
    double *gathered;                 /* 2 dim rows: p and x of members that do not follow each other */
    const double **gathered_at;
    uint64_t inaccurate;
    char apart[64]; /* keeps threads off each other's cache lines */
} tc_proximal_work;

typedef struct tc_proximal_groups { /* of one family */
    tc_proximal_family *at;
    size_t count;
} tc_proximal_groups;

typedef struct tc_proximal_formulas tc_proximal_formulas; /* families of one whose step is a formula (formulas.c) */

struct tc_proximal {
    tc_agents *agents;
    tc_proximal_groups *families;
    tc_proximal_formulas *formulas;
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
    double step, inverse, regularization; /* inverse: 1 / step */
} tc_proximal_block;

/* By component, 1 / (step s_c^2); and with the regularization, the curvature that the step adds to the objective. */
static inline double tc_proximal_inverse(const tc_proximal_block *b, size_t c) {
    return b->inverse * b->family->stretch[c];
}
static inline double tc_proximal_weight(const tc_proximal_block *b, size_t c) {
    return b->regularization + tc_proximal_inverse(b, c);
}
static inline double tc_proximal_least_weight(const tc_proximal_block *b) {
    return b->regularization + b->inverse * b->family->least_stretch;
}
/* The same in long double. */
static inline tc_real tc_long_weight(const tc_proximal_block *b, size_t c, tc_real *inverse) {
    *inverse = (tc_real)b->family->stretch[c] / (tc_real)b->step;
    return (tc_real)b->regularization + *inverse;
}

/* What counts as little in a component: this part of the width of its bounds, or the rounding of the bounds. A little
 * step is the last one; so is a step after which, at the rate at which steps get shorter, the next would be little. */
#define TC_PROXIMAL_LITTLE 1e-12
static inline double tc_proximal_little(double lower, double upper) {
    double width = TC_PROXIMAL_LITTLE * (upper - lower), digits = 0x1p-49 * (upper > -lower ? upper : -lower);
    return width > digits ? width : digits;
}

/* Members first .. first + count - 1 whose bounds and curvatures are the same for all, straight into next. False where
 * that is not so, or a number is not finite: then tc_proximal_rows takes them. */
bool tc_proximal_boxes(const tc_proximal_block *b, size_t first, size_t count, double *const *next);
/* Each leaves the new states in rows work->result, and returns TC_ALL_FINITE or a member. */
size_t tc_proximal_rows(const tc_proximal_block *b);
size_t tc_proximal_lines(const tc_proximal_block *b);
size_t tc_proximal_newton(const tc_proximal_block *b);
size_t tc_proximal_kinks(const tc_proximal_block *b);
/* For one lane. Overwrites work but for the rows of the family's own way. */
size_t tc_proximal_alone(const tc_proximal_block *b, size_t lane);

/* ---- one member whose step is not found side by side with others ------------------------------------------------- */

typedef struct tc_alone {
    tc_proximal_block b; /* of one; its numbers are the first ones of rows */
    tc_proximal_work *work;
    size_t dim;
    bool is_done, is_accurate;
    /* the problem in the box, with the part's multiplier as it is */
    bool begins;   /* at the trial point: there is no line yet */
    int steps;     /* so far */
    double slope;  /* along the line, < 0 */
    double length; /* of the line so far */
    /* the part, where there is one that is smooth; its centre or normal is in rows of work->center */
    bool has_part;
    tc_set_kind kind;
    size_t first, count;
    double radius, floor; /* floor: of slabs, until the side that matters is known; else -INFINITY */
    const double *matrix;
    int multipliers; /* tried so far */
    double t, t_low, t_high;
} tc_alone;

/* By the interior-point method, into work->x (interior.c). is_accurate: certified. False where slopes are finite
 * nowhere. */
bool tc_alone_interior(tc_alone *s);

/* ---- objectives with kinks (kinks.c) ------------------------------------------------------------------------------
 */

void tc_kinks_new(tc_arena *arena, const tc_model *model, size_t workers, tc_proximal_family *made);

/* ---- the same where all but the kinks is quadratic, these are of affine functions, and so is the set
 * (quadratic_kinks.c) ---- */

typedef struct tc_quadratic_kinks tc_quadratic_kinks;
/* NULL where the objective is another one. */
tc_quadratic_kinks *tc_quadratic_kinks_new(tc_arena *arena, const tc_dag *dag, const struct tc_lift *lift,
                                           const tc_family *family, size_t workers);
/* For a block that has begun; then for each lane, with the member's set. False where no point was found. */
void tc_quadratic_kinks_load(const tc_quadratic_kinks *q, const tc_proximal_block *b);
bool tc_quadratic_kinks_step(const tc_quadratic_kinks *q, const tc_proximal_block *b, size_t lane, tc_set *set,
                             double *x);

/* ---- what the ways share (proximal.c) ---------------------------------------------------------------------------- */

/* A block begins: lane k is member first + k. Returns TC_ALL_FINITE, or a member with a state or p that is not finite.
 */
size_t tc_proximal_begin(const tc_proximal_block *b);
/* A family's numbers of the block's members. */
void tc_proximal_load(tc_coef numbers, const tc_proximal_block *b, double *row);
/* The family's tape at rows of states; outputs in work->out_at. Fewer lanes than the block has: those that are left
 * after tc_proximal_squeeze. */
void tc_proximal_evaluate(const tc_proximal_block *b, const tc_tape *tape, const double *rows, size_t count);
/* How many of the first `left` lanes go on, and their places; `left` where fewer than a third have ended: then moving
 * them does not pay. */
size_t tc_proximal_busy(const tc_proximal_block *b, size_t left, size_t *places);
/* x of the first `count` lanes becomes the result of their members. */
void tc_proximal_write(const tc_proximal_block *b, size_t count);
/* Lane places[k] becomes lane k, for k < count, in dim rows each of rows[], in data and in who. */
void tc_proximal_squeeze(const tc_proximal_block *b, size_t count, const size_t *places, double *const *rows,
                         size_t row_count);

static inline double tc_proximal_bounded(double x, double lower, double upper) {
    x = x < lower ? lower : x;
    return x > upper ? upper : x;
}

/* ---- families of one whose step is a formula, all together (formulas.c) ------------------------------------------ */

/* A program keeps an array of all coordinates: only for models of so many. */
enum { TC_MOST_POINT = 1 << 14 };

tc_proximal_formulas *tc_proximal_formulas_new(tc_arena *arena, const tc_proximal *proximal);
bool tc_proximal_has_formula(const tc_proximal_formulas *formulas, size_t family);
/* By coordinate, as tc_proximal_rows one by one, with the same bits. False where something is not finite; next is then
 * undefined. */
bool tc_proximal_formulas_step(const tc_proximal_formulas *formulas, size_t worker, const double *p,
                               tc_answer_scalars scalars, const double *x, double *next);

/* ---- which members are computed in the same way (groups.c) ------------------------------------------------------- */

/* Fills in members, of and derivatives of each group. memory: as for tc_projector_new. */
tc_proximal_groups tc_proximal_group(tc_arena *arena, const tc_agents *agents, size_t family,
                                     const tc_family_derivatives *derivatives, size_t *memory);

/* ---- packs of lanes (narrow.c, wide.c, widest.c) ----------------------------------------------------------------- */

typedef struct tc_line_rows { /* of one component */
    const double *f1, *f2;    /* derivatives */
    double *p, *old, *lower, *upper;
    double *unit;           /* what is little */
    double *x, *low, *high; /* the bracket: where s < 0 and s > 0 was seen */
    double *last;           /* how long the last step was, < 0 where it was not Newton's; 0: ended */
    double *busy;
} tc_line_rows;

typedef struct tc_line_numbers {
    double inverse, regularization, weight;
    bool is_late; /* steps that do not get shorter are halved */
    bool is_smooth;
} tc_line_numbers;

/* False where a slope is no number. */
bool tc_line_advance(const tc_line_rows *r, size_t count, const tc_line_numbers *n);

typedef struct tc_newton_rows {
    size_t dim;
    bool is_diagonal, is_smooth, is_quadratic;
    tc_newton_part part;
    size_t part_first, part_count;
    const double *const *f1;        /* by component */
    const double *const *f2;        /* by place in the lower triangle, by rows, or on the diagonal */
    const double *inverse, *weight; /* by component */
    double regularization, least_weight;
    const double *p, *old, *lower, *upper, *center; /* rows; center or normal */
    const double *unit;                             /* 1 / what is little */
    double *x, *trial, *move;
    double *t, *along, *length, *last, *busy, *hard;
    const double *radius; /* of lanes: offset of planes, square for balls */
    const double *floor;  /* of lanes: of slabs */
    double *scratch;
} tc_newton_rows;

/* How many numbers the scratch of tc_newton_advance has. */
static inline size_t tc_newton_scratch(size_t dim, bool is_diagonal) {
    return ((is_diagonal ? 2 : 2 * dim) + 9) * dim * TC_PROXIMAL_PACK;
}

/* One step of every busy lane, from the derivatives at its trial point. most_along: the slope at the end of a line may
 * be this part of minus the slope at its beginning. */
void tc_newton_advance(const tc_newton_rows *r, size_t count, double most_along);

/* The versions that these two choose from. Wide ones are for AVX2; only where TC_IS_WIDE(). Widest ones are for
 * AVX-512; only where TC_IS_WIDEST(). */
bool tc_line_advance_narrow(const tc_line_rows *r, size_t count, const tc_line_numbers *n);
void tc_newton_advance_narrow(const tc_newton_rows *r, size_t count, double most_along);
bool tc_line_advance_wide(const tc_line_rows *r, size_t count, const tc_line_numbers *n);
void tc_newton_advance_wide(const tc_newton_rows *r, size_t count, double most_along);
bool tc_line_advance_widest(const tc_line_rows *r, size_t count, const tc_line_numbers *n);
void tc_newton_advance_widest(const tc_newton_rows *r, size_t count, double most_along);

#endif
