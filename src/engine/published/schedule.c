#include "engine/published/schedule.h"

#include "calculus/interval/elementary.h"

/* A round number is below 2^48, hence exact. */
static double decayed(double first, double k, double decay) {
    return decay == 0 ? first : first * tc_pow_proved(k, -decay);
}

tc_answer_scalars tc_schedule_at(const tc_schedule *schedule, uint64_t k) {
    return (tc_answer_scalars){.step = decayed(schedule->step, (double)k, schedule->step_decay),
                               .regularization =
                                   decayed(schedule->regularization, (double)k, schedule->regularization_decay)};
}
