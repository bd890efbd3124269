/* Exact Euclidean projections. Closed forms or one-dimensional equations where a set allows it, else the
 * interior-point method. Nothing here allocates. */
#ifndef TC_SOLVER_PROJECT_PROJECT_H
#define TC_SOLVER_PROJECT_PROJECT_H

#include "model/model.h"
#include "solver/linear.h"
#include "solver/project/set.h"

/* x = the point of the set nearest to v (x may be v). The set must not be empty. False where the iteration for a
 * general intersection did not reach its accuracy; x is then its best point. */
bool tc_project(tc_set *set, const double *v, double *x);

/* The multipliers' set: { mu >= 0, sum mu <= radius }; radius may be INFINITY. work: count entries. */
void tc_project_multipliers(size_t count, double radius, const double *v, double *mu, double *work);

/* One part within bounds, count components each; the part's own first is not applied. They assume that the two
 * meet. x may be v. */
void tc_project_linear(size_t count, const double *normal, double offset, bool equality, const double *lower,
                       const double *upper, const double *v, double *x);
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
