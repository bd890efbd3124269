/* Prices of observers where lists, families and constants are out of the ordinary. */
#include "plan/planned.h"

#include "plan/account/account.h"

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

/* Released sums lie on a lattice, which adds less than 1e-3 to what an agent moves them by. */
static void an_agent_alone_pays_for_the_agent_that_moves_most_among_the_others(void **state) {
    (void)state;
    planned p = planned_problem("p.tacit", "agent a { state x in [0, 1]; private minimize x }\n"
                                           "agent b { state x in [0, 1]; private minimize x }\n"
                                           "agent c { state x in [0, 1]; private minimize x }\n"
                                           "constraint g: a.x + 3 * b.x + 2 * c.x <= 5\n"
                                           "dual radius 1\nschedule { rounds 100 }\n");
    const tc_adjacency units[] = {TC_ADJACENCY_ONE, TC_ADJACENCY_AGENT};
    for (int i = 0; i < 4; i++) {
        tc_mechanism mechanism = i < 2 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN;
        const tc_plan *plan = plan_of(&p, mechanism, units[i % 2], TC_TIGHT, NULL, 0);
        double price[4];
        for (size_t k = 0; k < 4; k++)
            price[k] = i < 2 ? plan->observers[k].epsilon : plan->observers[k].gdp;
        assert_true(plan->observers[3].kind == TC_OBSERVER_EAVESDROPPER);
        assert_true(price[0] == price[3] && price[2] == price[3]);
        assert_true(fabs(price[1] / price[3] - 2.0 / 3) < 1e-3);
    }
    planned_end(&p);
}

/* One row with noise b: a home moves it by 2 x 5 with one state and by 3 x 5 with both, a shop by 40. On states each
 * state has noise of its own. The family that pays most pays the plan's price. */
static void every_family_has_its_own_prices(void **state) {
    (void)state;
    static const tc_placement placements[] = {TC_PLACEMENT_OUTPUTS, TC_PLACEMENT_FORMS, TC_PLACEMENT_STATES};
    planned p = planned_problem("p.tacit", "agents home[i in 1..4] { state p[2] in [0, 5]; private minimize sum(p) }\n"
                                           "agents shop[i in 1..2] { state q in [0, 40]; private minimize q }\n"
                                           "constraint c: sum(home: 2 * p[1] + p[2]) + sum(shop: q) <= 100\n"
                                           "dual radius 1\nschedule { rounds 50 }\n");
    for (int i = 0; i < 6; i++) {
        tc_plan_options options = planned_options();
        bool gaussian = i >= 3, on_states = placements[i % 3] == TC_PLACEMENT_STATES;
        options.method = TC_METHOD_TACIT;
        options.mechanism = gaussian ? TC_MECHANISM_GAUSSIAN : TC_MECHANISM_LAPLACE;
        options.placement = placements[i % 3];
        options.adjacency = TC_ADJACENCY_ONE;
        options.adjacency_bound = 1;
        options.epsilon = 1;
        options.delta = 1e-6;
        tc_plan *plan = planned_plan(&p, &options);
        AT_CASE(i);
        assert_int_equal(plan->family_price_count, 2);
        const tc_family_price *home = &plan->family_prices[0], *shop = &plan->family_prices[1];
        assert_true(home->range == 5 && shop->range == 40 && home->members == 4);
        double largest = gaussian ? tc_gaussian_epsilon(plan->message_price, 1e-6) : plan->message_price;
        assert_true(shop->round_epsilon == largest);
        assert_true(home->round_epsilon < largest && home->state_epsilon < home->round_epsilon);
        if (gaussian || placements[i % 3] == TC_PLACEMENT_FORMS)
            continue;
        double b = plan->channels[0].scale;
        assert_true(fabs(home->state_epsilon / ((on_states ? 5 : 10) / b) - 1) < 1e-3);
        assert_true(fabs(home->round_epsilon / ((on_states ? 10 : 15) / b) - 1) < 1e-3);
        assert_true(fabs(home->run_epsilon / (50 * home->round_epsilon) - 1) < 1e-9);
        assert_true(fabs(shop->state_epsilon / (40 / b) - 1) < 1e-3);
    }
    planned_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_named_twice_in_a_coalition_is_one_agent),
        cmocka_unit_test(families_of_different_size_in_one_outer_function_are_priced),
        cmocka_unit_test(a_price_without_bound_voids_the_plan),
        cmocka_unit_test(an_agent_alone_pays_for_the_agent_that_moves_most_among_the_others),
        cmocka_unit_test(every_family_has_its_own_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
