#include "plan/account/price.h"

#include "plan/account/calibrate.h"

tc_run_price tc_price_of_run(const tc_plan *plan) {
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN;
    tc_run_price price = {.epsilon = INFINITY, .delta = INFINITY, .mu = NAN};
    if (plan->observer_count == 0 || plan->mechanism == TC_MECHANISM_NONE)
        return price;
    price = (tc_run_price){.mu = gaussian ? 0 : NAN, .payer = plan->observers};
    for (size_t i = 0; i < plan->observer_count; i++) {
        const tc_observer *observer = &plan->observers[i];
        /* Among those who pay the same, whoever sees everything stands for all. */
        bool more = observer->epsilon > price.epsilon;
        bool same = observer->epsilon == price.epsilon && observer->kind == TC_OBSERVER_EAVESDROPPER;
        if (more || same)
            price.payer = observer;
        price.epsilon = fmax(price.epsilon, observer->epsilon);
        price.delta = fmax(price.delta, observer->delta);
        if (gaussian)
            price.mu = fmax(price.mu, observer->mu);
    }
    return price;
}

double tc_hidden_share(const tc_plan *plan) {
    if (plan->mechanism == TC_MECHANISM_NONE)
        return NAN;
    double at_one = plan->mechanism == TC_MECHANISM_GAUSSIAN ? tc_gaussian_mu(1, TC_JUDGING_DELTA) : 1;
    if (plan->message_price <= at_one)
        return INFINITY;
    return plan->range_price > 0 ? nextafter(at_one / plan->range_price, 0) : INFINITY;
}

bool tc_delta_is_large(const tc_plan *plan) {
    return plan->mechanism == TC_MECHANISM_GAUSSIAN && plan->delta * (double)plan->model->agent_count >= 1;
}

double tc_judged_epsilon(const tc_plan *plan) {
    tc_run_price price = tc_price_of_run(plan);
    if (plan->mechanism != TC_MECHANISM_GAUSSIAN || plan->delta == TC_JUDGING_DELTA)
        return price.epsilon;
    return price.mu == 0 ? 0 : tc_gaussian_epsilon(price.mu, TC_JUDGING_DELTA);
}

tc_word_for tc_judge_plan(const tc_plan *plan) {
    if (plan->problem != NULL || !plan->is_private || plan->mechanism == TC_MECHANISM_NONE)
        return TC_WORD_VOID;
    bool weak = plan->adjacency == TC_ADJACENCY_AGENT ? !(tc_judged_epsilon(plan) <= TC_WEAK_EPSILON)
                                                      : !(tc_hidden_share(plan) >= TC_LEAST_SHARE);
    return weak || tc_delta_is_large(plan) || plan->delta >= TC_LARGE_DELTA ? TC_WORD_NAME_ONLY : TC_WORD_PRIVATE;
}
