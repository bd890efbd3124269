/* A small problem with a plan whose scales are worked out by hand, audited. */
#ifndef TC_TESTS_AUDITED_H
#define TC_TESTS_AUDITED_H

#include "audit/audit.h"
#include "plan/account/account.h"
#include "plan/plan_by_hand.h"

/* K^g_1 = 20 + 20 (a[1].x[1] is in both), K^J_1 = 2 + 2; K^g_2 = 49.85 by numpy, K^J_2 = sqrt 8. */
static const char *const AUDITED = "agents a[i in 1..3] { state x[2] in [-10, 10]; private minimize x[1] }\n"
                                   "constraint c: sum(a: x[1]^2 + x[2]^2) <= 10\n"
                                   "constraint d: a[1].x[1]^2 + a[2].x[2] <= 50\n";

typedef struct audited {
    tc_mechanism mechanism;
    tc_placement placement;
    double too_small; /* constants are divided by this */
    uint64_t samples, seed;
    bool coarse; /* states in whole numbers, noise about as large as a step */
} audited;

static inline void set_scale(tc_channel *channel, double scale, int state_exponent) {
    channel->step_exponent = channel->kind == TC_CHANNEL_STATES ? state_exponent : -26;
    channel->scale = scale;
    channel->lattice_scale = ldexp(scale, -channel->step_exponent);
    channel->variance = NAN;
}

/* Each system at epsilon ln 2 (and delta 0.01, where sigma = 2.47053 K is the analytic calibration; test_calibrate.c
 * has it), ensemble adjacency 1. */
static inline tc_plan *audited_plan(const problem *p, const audited *a) {
    hand by = {.placement = a->placement,
               .mechanism = a->mechanism,
               .state_exponent = a->coarse ? 0 : -20,
               .step_exponent = -26,
               .sum_exponent = -30,
               .scale = 1e6,
               .rounds = 1000};
    tc_plan *plan = plan_by_hand(p, &by);
    bool laplace = a->mechanism == TC_MECHANISM_LAPLACE;
    double factor = (laplace ? 1 / log(2) : tc_gaussian_sigma(log(2), 0.01)) / a->too_small;
    plan->calibration = TC_PUBLISHED;
    plan->adjacency = TC_ADJACENCY_ENSEMBLE;
    plan->epsilon = log(2);
    plan->delta = laplace ? 0 : 0.01;
    for (size_t i = 0; i < plan->channel_count; i++) {
        tc_channel *channel = &plan->channels[i];
        set_scale(channel,
                  factor * (channel->kind == TC_CHANNEL_STATES        ? 1
                            : channel->kind == TC_CHANNEL_CONSTRAINTS ? (laplace ? 40 : 49.85)
                                                                      : (laplace ? 4 : sqrt(8))),
                  plan->state_exponent);
    }
    plan->observers = TC_NEW(p->arena, tc_observer, 1);
    plan->observers[0] =
        (tc_observer){.kind = TC_OBSERVER_EAVESDROPPER, .epsilon = plan->channel_count > 1 ? 2 * log(2) : log(2)};
    plan->observer_count = laplace ? 1 : 0;
    return plan;
}

static inline tc_audit *audit_of(const problem *p, const audited *a) {
    tc_audit *audit = NULL;
    tc_audit_options options = {.samples = a->samples, .seeded = true, .seed = a->seed};
    if (tc_audit_run(p->arena, audited_plan(p, a), NULL, &options, NULL, &audit) != TC_OK) {
        (void)fputs("no audit\n", stderr);
        abort();
    }
    return audit;
}

static inline void print_audit(const problem *p, const tc_audit *audit) {
    tc_buffer out = tc_buffer_new(p->arena, 1 << 16);
    tc_audit_text(audit, &out);
    (void)fputs(tc_buffer_text(&out), stdout);
}

#endif
