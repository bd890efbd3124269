#include "audit/price.h"

#include "plan/account/calibrate.h"

/* Computed in double, and rounded nowhere in particular. */
static const double DIGITS = 1e-9;

/* What rounding to the lattices can take away from the distance of two inputs, in units of the noise: half a step of
 * either F, half a step of the noise on either side of a threshold; and, relative to it, what the plan allows sums. */
typedef struct loss {
    double whole; /* amount of one round: epsilon, or mu */
    double taken;
} loss;

static loss loss_of(const tc_audit_view *view, const tc_worst_case *pair, size_t first, size_t end) {
    bool laplace = view->plan->mechanism == TC_MECHANISM_LAPLACE;
    loss made = {0};
    for (size_t e = first; e < end; e++) {
        const tc_channel *channel = &view->plan->channels[view->entries[e].channel];
        double distance = fabs(pair->truth[0][e] - pair->truth[1][e]) / channel->scale;
        double step = distance > 0 ? 2 / channel->lattice_scale : 0;
        made.whole += laplace ? distance : distance * distance;
        made.taken += laplace ? step : step * step;
    }
    double share = fmin(0.05, fmax(0, view->plan->overhead)); /* 0 where it is unknown */
    if (laplace)
        made.taken += share * made.whole;
    else
        made = (loss){.whole = sqrt(made.whole), .taken = sqrt(made.taken) + share * sqrt(made.whole)};
    return made;
}

static bool refutes(const tc_plan *plan, const tc_audit_system *system, double amount) {
    if (plan->mechanism == TC_MECHANISM_LAPLACE)
        return amount > system->claimed_epsilon;
    return amount > 0 && tc_gaussian_delta(system->claimed_epsilon, amount).lo > system->claimed_delta;
}

void tc_judge_price(const tc_audit_view *view, const tc_worst_case *pair, size_t first, size_t end, double rounds,
                    tc_audit_system *system) {
    const tc_plan *plan = view->plan;
    bool laplace = plan->mechanism == TC_MECHANISM_LAPLACE;
    double times = laplace ? rounds : sqrt(rounds);
    loss one = loss_of(view, pair, first, end);
    system->amount = one.whole * times;
    system->price = laplace ? system->amount : tc_gaussian_epsilon(system->amount, system->claimed_delta);
    system->priced_out = refutes(plan, system, (one.whole * (1 - DIGITS) - one.taken) * times);
}

bool tc_price_would_show_half(const tc_plan *plan, const tc_audit_system *system) {
    return refutes(plan, system, 2 * system->amount);
}
