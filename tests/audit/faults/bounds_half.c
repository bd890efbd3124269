/* The last round's noise is drawn within half the bounds that its delta pays for. */
#define tc_plan_last honest_plan_last
#include "plan/last.c"
#undef tc_plan_last

void tc_plan_last(tc_planner *rounds, const tc_planner *whole) {
    honest_plan_last(rounds, whole);
    const tc_plan *plan = rounds->plan->last->plan;
    for (size_t i = 0; plan != NULL && i < plan->channel_count; i++)
        plan->channels[i].bound /= 2;
}
