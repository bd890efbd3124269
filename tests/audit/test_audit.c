/* Honest plans pass; constants that are too small do not. Seeds are fixed: with others, an honest plan would be refuted
 * with a probability below 1e-6 (the audit's confidence) each. */
/* labels: not-clang */
#include "audit/audited.h"
#include "audit/inside.h"
#include "support/cmocka.h"

/* Replaces src/audit/clock.c, so that nothing depends on the machine. Time stands still unless a test says how much
 * passes from one look to the next. */
static double now, passes;
double tc_audit_clock(void) {
    now += passes;
    return now;
}

static const tc_audit_point *point_of(const tc_audit *audit, const char *name) {
    for (size_t i = 0; i < audit->point_count; i++)
        if (strcmp(audit->points[i].name, name) == 0)
            return &audit->points[i];
    fail_msg("there is no point %s", name);
    return NULL;
}

static void honest(tc_mechanism mechanism, tc_placement placement, uint64_t seed) {
    problem p = problem_of(AUDITED);
    tc_audit *audit = audit_of(&p, &(audited){mechanism, placement, 1, 20000, seed, false});
    for (size_t i = 0; i < audit->system_count; i++) {
        const tc_audit_system *s = &audit->systems[i];
        assert_false(s->refuted);
        assert_true(s->lower_bound <= s->claimed_epsilon);
        assert_int_equal(s->samples[0], 20000);
        assert_int_equal(s->samples[1], 20000);
        /* the pair is nearly as bad as the constants allow (B = 1 of a range of 20 costs 5 % by curvature) */
        double most = mechanism == TC_MECHANISM_LAPLACE ? s->claimed_epsilon : 1 / tc_gaussian_sigma(log(2), 0.01);
        assert_true(s->expected <= most * (1 + 1e-9) && s->expected >= 0.94 * most);
    }
    if (audit->refuted)
        print_audit(&p, audit);
    assert_false(audit->refuted);
    assert_int_equal(audit->fault_count, 0);
    problem_free(&p);
}

static void honest_plans_pass(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        honest(TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, seed);
        honest(TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_OUTPUTS, seed);
        honest(TC_MECHANISM_LAPLACE, TC_PLACEMENT_STATES, seed);
        honest(TC_MECHANISM_GAUSSIAN, TC_PLACEMENT_STATES, seed);
    }
}

static void noise_on_a_coarse_lattice_repeats_itself_honestly(void **state) {
    (void)state;
    static const tc_mechanism mechanisms[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < 2; i++) {
        problem p = problem_of(AUDITED);
        tc_audit *audit = audit_of(&p, &(audited){mechanisms[i], TC_PLACEMENT_STATES, 1, 20000, 1, true});
        assert_false(audit->refuted);
        problem_free(&p);
    }
}

static void a_laplace_bound_comes_near_the_truth(void **state) {
    (void)state;
    problem p = problem_of(AUDITED);
    tc_audit *audit = audit_of(&p, &(audited){TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, 1, 50000, 5, false});
    for (size_t i = 0; i < audit->system_count; i++)
        assert_true(audit->systems[i].lower_bound > 0.75 * audit->systems[i].claimed_epsilon);
    problem_free(&p);
}

static void constants_at_half_their_value_are_refuted(void **state) {
    (void)state;
    static const tc_mechanism mechanisms[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < 2; i++) {
        problem p = problem_of(AUDITED);
        tc_audit *audit = audit_of(&p, &(audited){mechanisms[i], TC_PLACEMENT_OUTPUTS, 2, 10000, 1, false});
        for (size_t k = 0; k < audit->system_count; k++)
            assert_true(audit->systems[k].refuted);
        assert_true(audit->refuted);
        assert_int_equal(audit->fault_count, 0); /* the noise is what the plan says: too little */
        problem_free(&p);
    }
}

/* Ten samples show nothing; what the scales cost is known without any. */
static void a_constant_too_small_by_a_tenth_is_refuted_without_samples(void **state) {
    (void)state;
    static const tc_mechanism mechanisms[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < 2; i++) {
        problem p = problem_of(AUDITED);
        tc_audit *audit = audit_of(&p, &(audited){mechanisms[i], TC_PLACEMENT_OUTPUTS, 1.1, 10, 1, false});
        assert_int_equal(audit->verdict, TC_REFUTED);
        assert_int_equal(point_of(audit, "price")->verdict, TC_REFUTED);
        assert_int_equal(point_of(audit, "samples")->verdict, TC_INCONCLUSIVE);
        assert_int_equal(audit->fault_count, 0);
        for (size_t k = 0; k < audit->system_count; k++)
            assert_true(audit->systems[k].price > audit->systems[k].claimed_epsilon);
        problem_free(&p);
    }
}

/* One round of the unit `agent` with the price of a whole run: T times too little noise. */
static void the_unit_agent_is_priced_over_all_rounds(void **state) {
    (void)state;
    static const tc_mechanism mechanisms[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < 4; i++) {
        bool laplace = mechanisms[i / 2] == TC_MECHANISM_LAPLACE, forgets = i % 2 == 1;
        problem p = problem_of(AUDITED);
        tc_plan *plan = audited_plan(&p, &(audited){mechanisms[i / 2], TC_PLACEMENT_STATES, 1, 0, 0, false});
        double reach = laplace ? 40 : 20 * sqrt(2), times = forgets ? 1 : laplace ? 1000 : sqrt(1000);
        plan->adjacency = TC_ADJACENCY_AGENT;
        plan->adjacency_bound = NAN;
        for (size_t k = 0; k < plan->channel_count; k++)
            set_scale(&plan->channels[k], plan->channels[k].scale * reach * times, plan->state_exponent);
        tc_audit_options options = {.samples = 2000, .seeded = true, .seed = 1};
        tc_audit *audit = NULL;
        assert_int_equal(tc_audit_run(p.arena, plan, NULL, &options, NULL, &audit), TC_OK);
        assert_int_equal(audit->verdict, forgets ? TC_REFUTED : TC_NOT_REFUTED);
        assert_int_equal(point_of(audit, "price")->verdict, forgets ? TC_REFUTED : TC_NOT_REFUTED);
        if (!forgets) {
            assert_int_equal(point_of(audit, "samples")->verdict, TC_INCONCLUSIVE);
            assert_in_range(1e6 * audit->systems[0].price / audit->systems[0].claimed_epsilon, 990000, 1000001);
        }
        problem_free(&p);
    }
}

/* A row that goes up with one state and down with another: not every two opposite corners are far apart. */
static void an_agents_worst_corners_are_found(void **state) {
    (void)state;
    static const char text[] = "agents a[i in 1..3] { state x[4] in [-1, 2]; private minimize x[1] }\n"
                               "constraint c: sum(a: x[1] - 2 * x[2] + x[3] - x[4]) <= 9\n"
                               "constraint d: sum(a: x[1] - x[2] + x[3]) <= 9\n";
    static const tc_mechanism mechanisms[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < 2; i++) {
        problem p = problem_of(text);
        tc_analysis_options no_private_data = {.skip_private = true};
        tc_plan_options options = {.method = TC_METHOD_PUBLISHED,
                                   .mechanism = mechanisms[i],
                                   .placement = TC_PLACEMENT_OUTPUTS,
                                   .adjacency = TC_ADJACENCY_AGENT,
                                   .adjacency_bound = NAN,
                                   .epsilon = 1,
                                   .delta = 1e-3,
                                   .rounds = 100};
        tc_analysis *analysis = tc_analysis_run(p.arena, p.model, p.derivatives, &no_private_data, NULL);
        tc_plan *plan = tc_plan_make(p.arena, p.model, p.derivatives, analysis, &options, NULL);
        assert_null(plan->problem);
        tc_audit_options how = {.samples = 2000, .seeded = true, .seed = 1};
        tc_audit *audit = NULL;
        assert_int_equal(tc_audit_run(p.arena, plan, analysis, &how, NULL, &audit), TC_OK);
        assert_int_equal(audit->verdict, TC_NOT_REFUTED);
        assert_true(audit->systems[0].price > 0.99 * audit->systems[0].claimed_epsilon);
        problem_free(&p);
    }
}

/* Two states that keep to different ends of the set, and one outside that is moved into it. */
static void the_worst_states_of_a_public_set_are_found(void **state) {
    (void)state;
    static const char text[] =
        "agents a[i in 1..3] { state x[6] in [0, 2]; public set sum(x) <= 4; private minimize 0 }\n"
        "agent b { state y in [0, 1]; private minimize y }\n"
        "constraint c[t in 1..6]: sum(a: x[t]) + b.y <= 9\n";
    static const tc_mechanism mechanisms[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < 4; i++) {
        problem p = problem_of(text);
        tc_analysis_options no_private_data = {.skip_private = true};
        tc_plan_options options = {.method = i < 2 ? TC_METHOD_PUBLISHED : TC_METHOD_TACIT,
                                   .mechanism = mechanisms[i % 2],
                                   .placement = i < 2 ? TC_PLACEMENT_OUTPUTS : TC_PLACEMENT_STATES,
                                   .adjacency = TC_ADJACENCY_AGENT,
                                   .adjacency_bound = NAN,
                                   .epsilon = 1,
                                   .delta = 1e-3,
                                   .rounds = 100};
        tc_analysis *analysis = tc_analysis_run(p.arena, p.model, p.derivatives, &no_private_data, NULL);
        tc_plan *plan = tc_plan_make(p.arena, p.model, p.derivatives, analysis, &options, NULL);
        assert_null(plan->problem);
        tc_audit_options how = {.samples = 2000, .seeded = true, .seed = 1};
        tc_audit *audit = NULL;
        assert_int_equal(tc_audit_run(p.arena, plan, analysis, &how, NULL, &audit), TC_OK);
        assert_int_equal(audit->verdict, TC_NOT_REFUTED);
        assert_true(audit->systems[0].price > 0.99 * audit->systems[0].claimed_epsilon);
        assert_int_equal(point_of(audit, "public set")->verdict, TC_NOT_REFUTED);
        problem_free(&p);
    }
}

/* Scales far above what the claim needs: not even half of them could be refuted. */
static void a_price_that_could_show_nothing_is_inconclusive(void **state) {
    (void)state;
    problem p = problem_of(AUDITED);
    tc_audit *audit = audit_of(&p, &(audited){TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, 0.3, 2000, 1, false});
    assert_int_equal(point_of(audit, "price")->verdict, TC_INCONCLUSIVE);
    assert_int_equal(audit->verdict, TC_INCONCLUSIVE);
    assert_false(audit->refuted);
    problem_free(&p);
}

static void a_constant_too_small_by_half_a_percent_is_seen_by_its_price_and_not_by_samples(void **state) {
    (void)state;
    problem p = problem_of(AUDITED);
    tc_audit *audit = audit_of(&p, &(audited){TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, 1.005, 20000, 1, false});
    assert_int_equal(point_of(audit, "price")->verdict, TC_REFUTED);
    assert_int_equal(point_of(audit, "samples")->verdict, TC_NOT_REFUTED);
    for (size_t i = 0; i < audit->system_count; i++)
        assert_true(audit->systems[i].lower_bound <= audit->systems[i].claimed_epsilon);
    problem_free(&p);
}

/* At confidence 0.8 a fifth of honest audits may be refuted: 26 of 60 or more with a probability below 1e-4. */
static void false_alarms_are_as_rare_as_stated(void **state) {
    (void)state;
    int alarms = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        problem p = problem_of(AUDITED);
        tc_plan *plan = audited_plan(&p, &(audited){TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, 1, 0, 0, false});
        tc_audit_options options = {.samples = 300, .confidence = 0.8, .seeded = true, .seed = seed};
        tc_audit *audit = NULL;
        assert_int_equal(tc_audit_run(p.arena, plan, NULL, &options, NULL, &audit), TC_OK);
        alarms += audit->refuted;
        problem_free(&p);
    }
    assert_in_range(alarms, 0, 25);
}

/* Planned, not by hand: two curved rows on three forms. */
static tc_plan *forms_plan(const problem *p, tc_mechanism mechanism) {
    tc_analysis_options no_private_data = {.skip_private = true};
    tc_plan_options options = {.method = TC_METHOD_TACIT,
                               .mechanism = mechanism,
                               .placement = TC_PLACEMENT_FORMS,
                               .adjacency = TC_ADJACENCY_ONE,
                               .adjacency_bound = 0.5,
                               .epsilon = 1,
                               .delta = 1e-2,
                               .rounds = 100,
                               .hold_cap = 0};
    tc_analysis *analysis = tc_analysis_run(p->arena, p->model, p->derivatives, &no_private_data, NULL);
    return tc_plan_make(p->arena, p->model, p->derivatives, analysis, &options, NULL);
}

static void noise_on_forms_passes_and_at_half_its_size_is_refuted(void **state) {
    (void)state;
    static const char text[] = "agents a[i in 1..3] { state x[2] in [-1, 1]; private minimize x[1] }\n"
                               "constraint c: exp(sum(a: x[1] + 2 * x[2])) + (sum(a: x[1]))^2 <= 90\n"
                               "constraint d: (a[1].x[1] - sum(a: x[1]))^2 <= 50\n";
    for (int i = 0; i < 4; i++) {
        problem p = problem_of(text);
        tc_plan *plan = forms_plan(&p, i < 2 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN);
        assert_null(plan->problem);
        assert_int_equal(plan->channel_count, 3);
        for (size_t k = 0; i % 2 == 1 && k < plan->channel_count; k++) {
            plan->channels[k].scale /= 2;
            plan->channels[k].lattice_scale /= 2;
        }
        tc_audit_options options = {.samples = 20000, .seeded = true, .seed = 5};
        tc_audit *audit = NULL;
        assert_int_equal(tc_audit_run(p.arena, plan, NULL, &options, NULL, &audit), TC_OK);
        assert_int_equal(audit->verdict, i % 2 == 1 ? TC_REFUTED : TC_NOT_REFUTED);
        assert_int_equal(audit->fault_count, 0);
        problem_free(&p);
    }
}

static void a_plan_without_noise_is_not_audited(void **state) {
    (void)state;
    problem p = problem_of(AUDITED);
    hand by = {.placement = TC_PLACEMENT_OUTPUTS,
               .mechanism = TC_MECHANISM_NONE,
               .state_exponent = -20,
               .step_exponent = -26,
               .rounds = 10};
    tc_plan *plan = plan_by_hand(&p, &by);
    tc_audit *audit = NULL;
    assert_int_equal(tc_audit_run(p.arena, plan, NULL, &(tc_audit_options){0}, NULL, &audit), TC_OK);
    assert_int_equal(audit->verdict, TC_INCONCLUSIVE);
    assert_true(!audit->refuted && audit->system_count == 0);
    assert_non_null(strstr(audit->inconclusive_because, "nothing is promised"));
    problem_free(&p);
}

static void time_ends_an_audit(void **state) {
    (void)state;
    problem p = problem_of(AUDITED);
    tc_plan *plan = audited_plan(&p, &(audited){TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, 1, 0, 0, false});
    tc_audit_options options = {.samples = 10000000, .seconds = 10, .seeded = true, .seed = 1};
    for (int is_slow = 0; is_slow <= 1; is_slow++) {
        tc_audit *audit = NULL;
        passes = is_slow ? 0.1 : 0.0005; /* a machine that does 100 things in the time, or 20,000 */
        assert_int_equal(tc_audit_run(p.arena, plan, NULL, &options, NULL, &audit), TC_OK);
        passes = 0;
        assert_false(audit->refuted);
        assert_true(audit->seconds < 11 && audit->note_count > 0);
        for (size_t i = 0; i < audit->system_count; i++)
            assert_true(audit->systems[i].samples[0] < options.samples);
        assert_int_equal(audit->verdict, is_slow ? TC_INCONCLUSIVE : TC_NOT_REFUTED);
        assert_int_equal(point_of(audit, "first round")->verdict, is_slow ? TC_INCONCLUSIVE : TC_NOT_REFUTED);
    }
    problem_free(&p);
}

static bool stop_at_once(void *context) {
    (void)context;
    return true;
}

static void an_interrupted_audit_says_nothing(void **state) {
    (void)state;
    problem p = problem_of(AUDITED);
    tc_plan *plan = audited_plan(&p, &(audited){TC_MECHANISM_LAPLACE, TC_PLACEMENT_OUTPUTS, 1, 0, 0, false});
    tc_audit *audit = NULL;
    tc_audit_options options = {.samples = 1000, .seeded = true, .seed = 1};
    tc_monitor monitor = {.interrupted = stop_at_once};
    assert_int_equal(tc_audit_run(p.arena, plan, NULL, &options, &monitor, &audit), TC_OK);
    assert_true(audit->interrupted && !audit->refuted);
    assert_int_equal(audit->verdict, TC_INCONCLUSIVE);
    for (size_t i = 0; i < audit->system_count; i++)
        assert_true(audit->systems[i].left_out);
    for (size_t i = 0; i < audit->note_count; i++)
        assert_null(strstr(audit->notes[i], "no two adjacent"));
    problem_free(&p);
}

/* Halved Gaussian and Laplace noise is refuted by three times as many samples as are said to be the least. */
static void the_number_of_samples_that_is_asked_for_is_about_right(void **state) {
    (void)state;
    static const tc_mechanism mechanisms[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < 2; i++) {
        problem p = problem_of(AUDITED);
        tc_audit *few = audit_of(&p, &(audited){mechanisms[i], TC_PLACEMENT_STATES, 1, 100, 1, false});
        const char *at = NULL;
        for (size_t k = 0; k < few->note_count && at == NULL; k++)
            at = strstr(few->notes[k], "at least ");
        assert_non_null(at);
        uint64_t needed = strtoull(at + strlen("at least "), NULL, 10);
        assert_in_range(needed, 200, 20000);
        tc_audit *halved = audit_of(&p, &(audited){mechanisms[i], TC_PLACEMENT_STATES, 2, 3 * needed, 1, false});
        assert_true(halved->systems[0].lower_bound > halved->systems[0].claimed_epsilon);
        tc_audit *fewer = audit_of(&p, &(audited){mechanisms[i], TC_PLACEMENT_STATES, 2, needed / 3, 1, false});
        assert_false(fewer->systems[0].lower_bound > fewer->systems[0].claimed_epsilon);
        problem_free(&p);
    }
}

/* By price and by size: an audit with as many samples as are said to be needed, or more, does not ask for more. */
static void every_number_of_samples_above_the_least_suffices(void **state) {
    (void)state;
    static const tc_mechanism mechanisms[] = {TC_MECHANISM_LAPLACE, TC_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < 2; i++) {
        tc_plan plan = {.mechanism = mechanisms[i], .channel_count = 3};
        tc_pair_counts counts = {.corner_loss = {0.4, 0.7, 0.9}};
        tc_audit_system system = {.claimed_epsilon = 1, .claimed_delta = i == 0 ? 0 : 0.01, .expected = 0.9};
        double level = 1e-6 / 20;
        uint64_t least = tc_samples_for_half(&plan, &counts, level, &system);
        assert_in_range(least, 100, 5000);
        for (uint64_t n = least / 2; n < 2 * least; n++)
            assert_int_equal(tc_price_shows_half(&plan, &counts, level, &system, n), n >= least);
        for (uint64_t draws = tc_draws_for_half(&plan, level), n = draws; n < 8 * draws; n++) {
            double within = i == 0 ? 0.75 : 0.8227;
            assert_true(tc_expected_lower((double)n * within, (double)n, level / 15) > 0.5);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_plans_pass),
        cmocka_unit_test(noise_on_a_coarse_lattice_repeats_itself_honestly),
        cmocka_unit_test(a_laplace_bound_comes_near_the_truth),
        cmocka_unit_test(constants_at_half_their_value_are_refuted),
        cmocka_unit_test(a_constant_too_small_by_a_tenth_is_refuted_without_samples),
        cmocka_unit_test(the_unit_agent_is_priced_over_all_rounds),
        cmocka_unit_test(an_agents_worst_corners_are_found),
        cmocka_unit_test(the_worst_states_of_a_public_set_are_found),
        cmocka_unit_test(a_price_that_could_show_nothing_is_inconclusive),
        cmocka_unit_test(a_constant_too_small_by_half_a_percent_is_seen_by_its_price_and_not_by_samples),
        cmocka_unit_test(false_alarms_are_as_rare_as_stated),
        cmocka_unit_test(noise_on_forms_passes_and_at_half_its_size_is_refuted),
        cmocka_unit_test(a_plan_without_noise_is_not_audited),
        cmocka_unit_test(time_ends_an_audit),
        cmocka_unit_test(an_interrupted_audit_says_nothing),
        cmocka_unit_test(the_number_of_samples_that_is_asked_for_is_about_right),
        cmocka_unit_test(every_number_of_samples_above_the_least_suffices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
