/* gamma_k = gamma-bar k^-c2,  alpha_k = alpha-bar k^-c1     paper: the schedule */
#include "base/simd.h"
#include "calculus/interval/elementary.h"
#include "engine/published/published.h"

static double decayed(double first, double k, double decay) { /* k is below 2^48, hence exact */
    return decay == 0 ? first : first * tc_pow_proved(k, -decay);
}

tc_answer_scalars tc_schedule_at(const tc_schedule *schedule, uint64_t k) {
    return (tc_answer_scalars){.step = decayed(schedule->step, (double)k, schedule->step_decay),
                               .regularization =
                                   decayed(schedule->regularization, (double)k, schedule->regularization_decay)};
}

/* ---- many rounds at once ----------------------------------------------------------------------------------------- */

static void decay_plainly(double first, double k, double decay, double *out) {
    for (int i = 0; i < TC_ROUNDS_SCHEDULED; i++)
        out[i] = decayed(first, k + i, decay);
}

/* The operations of tc_pow_proved in the same order, so with the same bits, four rounds in one instruction. Powers with
 * k < 2^48 and a decay of at most MOST_DECAY are usual ones: |p log k| <= 800. The processor must have an instruction
 * for fma, as no loop over a library's can be vectorised. */
#ifdef TC_HAS_WIDE
static const double MOST_DECAY = 20;

__attribute__((target("avx2,fma"))) static void decay_widely(double first, double k, double decay, double *out) {
    for (int i = 0; i < TC_ROUNDS_SCHEDULED; i++)
        out[i] = first * tc_join_power(tc_split_power(k + i, -decay));
}

static bool is_wide(double decay) {
    return decay > 0 && decay <= MOST_DECAY && TC_IS_WIDE() && __builtin_cpu_supports("fma");
}
#endif

static void decay_all(double first, uint64_t k, double decay, double *out) {
#ifdef TC_HAS_WIDE
    if (is_wide(decay)) {
        decay_widely(first, (double)k, decay, out);
        return;
    }
#endif
    decay_plainly(first, (double)k, decay, out);
}

tc_answer_scalars tc_schedule_next(const tc_schedule *schedule, tc_schedule_ahead *ahead, uint64_t k) {
    if (ahead->first == 0 || k - ahead->first >= TC_ROUNDS_SCHEDULED) {
        decay_all(schedule->step, k, schedule->step_decay, ahead->steps);
        decay_all(schedule->regularization, k, schedule->regularization_decay, ahead->regularizations);
        ahead->first = k;
    }
    size_t at = (size_t)(k - ahead->first);
    return (tc_answer_scalars){.step = ahead->steps[at], .regularization = ahead->regularizations[at]};
}
