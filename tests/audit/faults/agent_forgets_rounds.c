/* The units `agent`, `agent D` and `data` priced as if a run had one round. */
#define tc_plan_resolve honest_plan_resolve
#include "plan/resolve.c"
#undef tc_plan_resolve

bool tc_plan_resolve(tc_planner *p) {
    bool good = honest_plan_resolve(p);
    if (tc_hides_every_round(p->plan->adjacency))
        p->multiplier = 1;
    return good;
}
