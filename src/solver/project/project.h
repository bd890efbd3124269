/* Exact Euclidean projections. Closed forms or one-dimensional equations where a set allows it, else the
 * interior-point method. Nothing here allocates. */
#ifndef TC_SOLVER_PROJECT_H
#define TC_SOLVER_PROJECT_H

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

#endif
