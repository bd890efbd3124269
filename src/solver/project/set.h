/* X_i of one member as numbers: a box, and the parts that cut it further.
 *
 * Loading a member resolves the family's pieces, folds what is only a bound (boxes, the sign part of a simplex,
 * half-spaces with one coefficient, balls of radius zero) into the box, drops parts that cut nothing, fixes components
 * where a part touches the box in one vertex, and sees the plain cases of emptiness. One tc_set serves all members of
 * its family, one after another, without allocating. */
#ifndef TC_SOLVER_PROJECT_SET_H
#define TC_SOLVER_PROJECT_SET_H

#include "model/model.h"
#include "solver/linear.h"

#define TC_NO_PIECE SIZE_MAX /* the public box */

typedef struct tc_set_part {
    tc_set_kind kind; /* half-space, hyperplane, ball, l1 ball or ellipsoid; the others are folded */
    size_t first, count;
    double *center; /* centre or normal */
    double radius;
    double *matrix; /* ellipsoids */
    size_t piece;   /* its number in the family, for messages */
    size_t slab;    /* of half-spaces: the first part that is parallel to it; of others, the part itself */
} tc_set_part;

typedef struct tc_slab { /* parallel half-spaces: floor <= normal . x <= radius, each may be infinite */
    double floor, radius;
} tc_slab;

typedef enum tc_set_shape {
    TC_SHAPE_BOX,       /* no parts */
    TC_SHAPE_SEPARABLE, /* parts have no component in common, but for parallel half-spaces that meet */
    TC_SHAPE_GENERAL,
} tc_set_shape;

typedef struct tc_set_conflict { /* why a set is empty: these two, or one of them with the box */
    size_t piece, other;
    size_t component; /* where two bounds cross; SIZE_MAX for none */
} tc_set_conflict;

typedef struct tc_set {
    size_t dim;
    double *lower, *upper;
    tc_set_part *parts;
    size_t part_count;
    tc_set_shape shape;
    bool is_empty; /* seen while loading; a set that is not seen empty may still be (tc_set_examine) */
    tc_set_conflict conflict;
    /* scratch and structure */
    const tc_family *family;
    size_t *lower_piece, *upper_piece; /* the piece that gave the bound */
    double **centers, **matrices;      /* storage by piece */
    struct tc_set_work *work;          /* of the projections */
} tc_set;

tc_set *tc_set_new(tc_arena *arena, const tc_family *family);
void tc_set_load(tc_set *set, size_t member);
/* Both at once, for a single member. */
tc_set *tc_set_of(tc_arena *arena, const tc_family *family, size_t member);

/* The most rows and extra variables that the parts of a family's sets need in the interior-point method. */
size_t tc_set_row_limit(const tc_family *family);
size_t tc_set_lift_limit(const tc_family *family);

/* 1 where two normals are the same, -1 where one is the other's negative, else 0. */
int tc_normals_agree(size_t count, const double *a, const double *b);
/* The half-spaces parallel to part p, along its normal; p is the first of them. */
tc_slab tc_set_slab(const tc_set *set, size_t p);

/* A box that contains X_i, outward rounded: the bounds, tightened by the parts. */
void tc_set_bounds(const tc_set *set, double *lower, double *upper);

/* How far x is outside: the largest violation of a bound, a part's distance (l1 distance for l1 balls, and for
 * ellipsoids the length of the outer piece of the ray from the centre). *piece may be NULL. */
double tc_set_violation(const tc_set *set, const double *x, size_t *piece);

/* ---- room.c: boxes x +- room around a point ---- */

/* How far the box is outside, as tc_set_violation. For an ellipsoid of many components it may be less: what is
 * returned is always attained at some vertex. vertex: scratch of dim numbers. */
double tc_set_room_violation(const tc_set *set, const double *x, const double *room, double *vertex, size_t *piece);
/* The box around x that touches the bounds, shrunk until it lies in the set. work: 2 dim numbers. */
void tc_set_largest_room(const tc_set *set, const double *x, double *room, double *work);

/* A size for "relative to the data": the largest magnitude among bounds, centres and radii. */
double tc_set_scale(const tc_set *set);

/* Non-emptiness: true with a witness (the projection of the middle of the box), or false with a conflict. */
bool tc_set_examine(tc_set *set, double *witness, tc_set_conflict *conflict);

/* "ball and half-space in a box", for people. */
void tc_set_describe(tc_buffer *out, const tc_set *set);

/* ---- project.c and cut.c ----
 * Exact Euclidean projections. Closed forms or one-dimensional equations where a set allows it, else the
 * interior-point method. Nothing here allocates. */

/* x = the point of the set nearest to v (x may be v). The set must not be empty. False where the iteration for a
 * general intersection did not reach its accuracy; x is then its best point. */
bool tc_project(tc_set *set, const double *v, double *x);

/* The multipliers' set M = { mu : |mu|_1 <= radius, mu_j >= 0 where row j is an inequality }; radius may be INFINITY.
 * work: count entries. */
void tc_project_multipliers(const tc_constraint *rows, size_t count, double radius, const double *v, double *mu,
                            double *work);

/* One part within bounds, count components each; the part's own first is not applied. They assume that the two
 * meet. x may be v. */
void tc_project_linear(size_t count, const double *normal, double offset, bool equality, const double *lower,
                       const double *upper, const double *v, double *x);
/* Where v, clipped to the bounds, is on the wrong side of one half-space of a slab, only that one matters: the bits are
 * those of its own projection. */
void tc_project_slab(size_t count, const double *normal, tc_slab slab, const double *lower, const double *upper,
                     const double *v, double *x);
void tc_project_ball(size_t count, const double *center, double radius, const double *lower, const double *upper,
                     const double *v, double *x);
void tc_project_ball1(size_t count, const double *center, double radius, const double *lower, const double *upper,
                      const double *v, double *x);
/* The ellipsoid alone, without bounds. work: count * (count + 3) entries. */
void tc_project_ellipsoid(size_t count, const double *center, const double *matrix, double radius, const double *v,
                          double *x, long double *work);

/* Projections onto one part within bounds, for many members at a time.
 *
 * The nearest point is a function of one number, the part's multiplier, and that is the root of a decreasing piecewise
 * linear function. Newton's method finds it in a few steps, for several members side by side; every member goes
 * through the same operations, in the same order, as it would alone. */
typedef struct tc_cut {
    tc_set_kind kind; /* half-space, hyperplane, ball or l1 ball */
    size_t count;
    const tc_coef *center, *lower, *upper; /* count each: centre or normal, and the bounds */
    tc_coef radius;                        /* INFINITY: the member has no such part, only the bounds */
    bool is_slab;                          /* a half-space, and its opposite: floor <= center . x */
    tc_coef floor;                         /* of slabs; -INFINITY: the member has no opposite one */
} tc_cut;

/* Members first .. first + count - 1: v[c * stride + lane] to x, which may be v. The part and the bounds meet. */
void tc_project_cut(const tc_cut *cut, size_t first, size_t count, size_t stride, const double *v, double *x);

/* Memory of the projections onto one set. */
typedef struct tc_set_work {
    tc_real *reals;               /* largest ellipsoid count * (count + 3) */
    double *point;                /* dim */
    struct tc_interior *interior; /* where the family's pieces may overlap */
} tc_set_work;

struct tc_set_work *tc_set_work_new(tc_arena *arena, tc_set *set);
tc_real *tc_set_work_reals(const tc_set *set);

/* How far x is outside one part, as in tc_set_violation. */
double tc_part_violation(const tc_set_part *part, const double *x);

#endif
