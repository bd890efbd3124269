/* Prices of observers where lists, families and constants are out of the ordinary. */
#include "plan/planned.h"

static tc_plan *plan_of(planned *p, tc_mechanism mechanism, tc_adjacency unit, tc_calibration calibration,
                        const char *const *coalitions, size_t count) {
    tc_plan_options options = planned_options();
    options.mechanism = mechanism;
    options.adjacency = unit;
    options.adjacency_bound = unit == TC_ADJACENCY_AGENT ? (double)NAN : 1;
    options.calibration = calibration;
    options.placement = TC_PLACEMENT_OUTPUTS;
    options.epsilon = 1;
    options.delta = 1e-6;
    options.coalitions = coalitions;
    options.coalition_count = count;
    tc_plan *plan = planned_plan(p, &options);
    assert_null(plan->problem);
    return plan;
}

static void an_agent_named_twice_in_a_coalition_is_one_agent(void **state) {
    (void)state;
    planned p = planned_problem("p.tacit", "agents f[i in 1..3] { state x in [-1, 1]; private minimize x }\n"
                                           "constraint c: (sum(f: x))^2 <= 1\ndual radius 1\n"
                                           "schedule { rounds 10 }\n");
    const char *coalitions[] = {"f[1]", "f[1],f[1]", "f[1],f[1],f[1]"};
    for (int gaussian = 0; gaussian < 2; gaussian++) {
        tc_plan *plan = plan_of(&p, gaussian ? TC_MECHANISM_GAUSSIAN : TC_MECHANISM_LAPLACE, TC_ADJACENCY_ENSEMBLE,
                                TC_TIGHT, coalitions, 3);
        double first = NAN;
        for (size_t i = 0; i < plan->observer_count; i++) {
            if (plan->observers[i].kind != TC_OBSERVER_COALITION)
                continue;
            first = isnan(first) ? plan->observers[i].epsilon : first;
            assert_true(first > 0);
            assert_true(plan->observers[i].epsilon == first);
        }
        assert_true(first > 0);
    }
    planned_end(&p);
}

static void families_of_different_size_in_one_outer_function_are_priced(void **state) {
    (void)state; /* the address sanitizer watches this one */
    planned p = planned_problem("p.tacit", "agents a[i in 1..3] { state p[3] in [0, 1]; private minimize sum(p) }\n"
                                           "agents b[i in 1..4] { state q in [0, 1]; private minimize q }\n"
                                           "constraint g: (sum(a: p[1] + 2*p[2] - p[3]) + sum(b: q))^2 <= 100\n"
                                           "dual radius 1\nschedule { rounds 100 }\n");
    tc_plan *plan = plan_of(&p, TC_MECHANISM_LAPLACE, TC_ADJACENCY_AGENT, TC_TIGHT, NULL, 0);
    for (size_t i = 0; i < plan->observer_count; i++)
        assert_true(plan->observers[i].epsilon > 0 && plan->observers[i].epsilon <= 1);
    planned_end(&p);
}

static void a_price_without_bound_voids_the_plan(void **state) {
    (void)state; /* huber is straight on this box: K is 0, but the entry varies by structure */
    planned p = planned_problem("p.tacit", "agent a { state p in [0.5, 1.5]; private minimize p }\n"
                                           "constraint g: huber(a.p, 0.25) <= 100\ndual radius 1\n"
                                           "schedule { rounds 100 }\n");
    tc_plan *plan = plan_of(&p, TC_MECHANISM_LAPLACE, TC_ADJACENCY_ENSEMBLE, TC_PUBLISHED, NULL, 0);
    bool bounded = true;
    for (size_t i = 0; i < plan->observer_count; i++)
        bounded = bounded && isfinite(plan->observers[i].epsilon);
    assert_true(bounded || !plan->is_private);
    planned_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_named_twice_in_a_coalition_is_one_agent),
        cmocka_unit_test(families_of_different_size_in_one_outer_function_are_priced),
        cmocka_unit_test(a_price_without_bound_voids_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
