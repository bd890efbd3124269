/* Memory of the projections onto one set. */
#ifndef TC_SOLVER_PROJECT_WORK_H
#define TC_SOLVER_PROJECT_WORK_H

#include "solver/linear.h"
#include "solver/project/set.h"

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
