/* Distances of every round taken for half of what they are. */
#define tc_reaches honest_reaches
#include "plan/distance.c"
#undef tc_reaches

double *tc_reaches(tc_arena *arena, const tc_plan *plan, double step) {
    double *reach = honest_reaches(arena, plan, step);
    for (size_t f = 0; reach != NULL && f < plan->model->family_count; f++)
        reach[f] /= 2;
    return reach;
}
