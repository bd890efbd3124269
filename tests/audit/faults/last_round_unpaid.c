/* Observers pay for the rounds, and not for the last round of --feasible always. */
#define tc_with_last honest_with_last
#include "plan/last.c"
#undef tc_with_last

double tc_with_last(const tc_plan *plan, double rounds, double last) {
    return fmin(rounds, honest_with_last(plan, rounds, last));
}
