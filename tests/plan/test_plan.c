#include "plan/planned.h"

#include "plan/account/account.h"
#include "model/split/split.h"

#include <sys/stat.h>
#include <unistd.h>

#define PAPER TACIT_SOURCE_DIR "/examples/paper.tacit"

static const tc_channel *system_of(const tc_plan *plan, const char *name) {
    for (size_t i = 0; i < plan->channel_count; i++) {
        if (strcmp(plan->channels[i].name, name) == 0)
            return &plan->channels[i];
    }
    fail_msg("no system %s", name);
    return NULL;
}

static const tc_observer *observer_of(const tc_plan *plan, const char *who) {
    for (size_t i = 0; i < plan->observer_count; i++) {
        if (strcmp(plan->observers[i].who, who) == 0)
            return &plan->observers[i];
    }
    fail_msg("no observer %s", who);
    return NULL;
}

static void about(double value, double expected, double tolerance) {
    if (!(fabs(value - expected) <= tolerance * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

static tc_plan_options published(tc_mechanism mechanism, tc_constants constants) {
    tc_plan_options options = planned_options();
    options.mechanism = mechanism;
    options.calibration = TC_PUBLISHED;
    options.constants = constants;
    options.delta = mechanism == TC_MECHANISM_GAUSSIAN ? 0.01 : NAN;
    return options;
}

static void the_published_laplace_scheme_has_the_published_variances(void **state) {
    (void)state;
    planned p = planned_problem(PAPER, NULL);
    tc_plan_options options = published(TC_MECHANISM_LAPLACE, TC_DECLARED);
    const tc_plan *plan = planned_plan(&p, &options);
    assert_null(plan->problem);
    assert_int_equal(plan->channel_count, 11);
    static const double constants[] = {4, 2, 2, 2, 2, 4, 2, 4, 2, 2};
    for (size_t i = 0; i < 10; i++) {
        about(plan->channels[i + 1].variance, constants[i] == 4 ? 66.60 : 16.65, 1e-4);
        assert_int_equal(plan->channels[i + 1].entries, 12);
    }
    about(system_of(plan, "g")->scale, 57.45, 1e-4);
    about(system_of(plan, "g")->variance, 6.600e3, 1.5e-4);
    assert_false(plan->is_private); /* 39.82 < 40, and K^4_1 = 4, not 2 */
    assert_int_equal(plan->void_reason_count, 2);
    planned_end(&p);
}

static void the_published_gaussian_scheme_has_the_published_variances(void **state) {
    (void)state;
    planned p = planned_problem(PAPER, NULL);
    tc_plan_options options = published(TC_MECHANISM_GAUSSIAN, TC_DECLARED);
    const tc_plan *plan = planned_plan(&p, &options);
    assert_null(plan->problem);
    about(system_of(plan, "J[a1]")->variance, 101.3, 5e-4);
    about(system_of(plan, "J[a2]")->variance, 50.66, 1e-4);
    about(system_of(plan, "g")->variance, 4.073e4, 1.5e-4);
    about(system_of(plan, "J[a2]")->scale / 2, 3.559, 1e-4);
    planned_end(&p);
}

static void an_agent_pays_one_ln_2_and_an_eavesdropper_two(void **state) {
    (void)state;
    planned p = planned_problem(PAPER, NULL);
    tc_plan_options options = published(TC_MECHANISM_LAPLACE, TC_CERTIFIED);
    const tc_plan *plan = planned_plan(&p, &options);
    assert_true(plan->is_private);
    for (size_t i = 0; i < plan->observer_count; i++)
        about(plan->observers[i].epsilon / log(2), plan->observers[i].kind == TC_OBSERVER_EAVESDROPPER ? 2 : 1, 1e-6);
    about(system_of(plan, "g")->constant, 40, 1e-12);
    about(system_of(plan, "J[a4]")->constant, 4, 1e-12);
    options = published(TC_MECHANISM_GAUSSIAN, TC_CERTIFIED);
    about(system_of(planned_plan(&p, &options), "g")->constant, 56.7777, 1e-6);
    planned_end(&p);
}

static void a_tight_plan_promises_its_epsilon_to_an_eavesdropper(void **state) {
    (void)state;
    static const char *const files[] = {"paper", "ev", "num", "robots"};
    for (size_t f = 0; f < 4; f++) {
        char path[300];
        (void)snprintf(path, sizeof path, "%s/examples/%s.tacit", TACIT_SOURCE_DIR, files[f]);
        planned p = planned_problem(path, NULL);
        for (int i = 0; i < 12; i++) {
            tc_plan_options options = planned_options();
            options.mechanism = i % 2 == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN;
            options.adjacency = (tc_adjacency)(TC_ADJACENCY_ENSEMBLE + i / 2 % 3);
            options.adjacency_bound = 0.7;
            options.method = i / 6 == 0 ? TC_METHOD_PUBLISHED : TC_METHOD_TACIT;
            options.placement = i / 6 == 0 ? TC_PLACEMENT_OUTPUTS : TC_PLACEMENT_STATES;
            options.epsilon = 0.4;
            options.delta = 1e-6;
            const tc_plan *plan = planned_plan(&p, &options);
            if (plan->problem != NULL)
                fail_msg("%s: %s", files[f], plan->problem);
            double epsilon = observer_of(plan, "eavesdropper")->epsilon;
            assert_true(epsilon <= 0.4 && epsilon > 0.4 * (1 - 1e-6));
            for (size_t k = 0; k < plan->observer_count; k++)
                assert_true(plan->observers[k].epsilon <= 0.4);
            assert_true(plan->overhead < 2e-4);
            for (size_t k = 0; k < plan->channel_count; k++)
                assert_true(plan->channels[k].lattice_scale <= 0x1p40 &&
                            plan->channels[k].sensitivity >= plan->channels[k].constant);
        }
        planned_end(&p);
    }
}

static double total_of(planned *p, double epsilon, tc_adjacency unit, tc_mechanism mechanism) {
    tc_plan_options options = planned_options();
    options.mechanism = mechanism;
    options.adjacency = unit;
    options.adjacency_bound = 1;
    options.epsilon = epsilon;
    options.delta = 1e-6;
    options.placement = TC_PLACEMENT_OUTPUTS;
    const tc_plan *plan = planned_plan(p, &options);
    assert_null(plan->problem);
    return plan->facts[0].total;
}

static void more_epsilon_never_needs_more_noise(void **state) {
    (void)state;
    planned p = planned_problem(TACIT_SOURCE_DIR "/examples/robots.tacit", NULL);
    for (int m = 0; m < 2; m++) {
        double before = INFINITY;
        for (double epsilon = 0.05; epsilon < 8; epsilon *= 2) {
            double total =
                total_of(&p, epsilon, TC_ADJACENCY_ONE, m == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN);
            assert_true(total < before);
            before = total;
        }
    }
    planned_end(&p);
}

static void hiding_one_agent_never_costs_more_than_hiding_all(void **state) {
    (void)state;
    static const char *const files[] = {"paper", "ev", "num", "robots"};
    for (size_t f = 0; f < 4; f++) {
        char path[300];
        (void)snprintf(path, sizeof path, "%s/examples/%s.tacit", TACIT_SOURCE_DIR, files[f]);
        planned p = planned_problem(path, NULL);
        double one = total_of(&p, 1, TC_ADJACENCY_ONE, TC_MECHANISM_GAUSSIAN);
        double all = total_of(&p, 1, TC_ADJACENCY_ENSEMBLE, TC_MECHANISM_GAUSSIAN);
        assert_true(one <= all * (1 + 1e-3));
        planned_end(&p);
    }
}

/* An even split of one epsilon over g1 .. g6 and the Jacobian's channels: each gets epsilon over their number. */
static void optimal_scales_beat_an_even_split(void **state) {
    (void)state;
    planned p = planned_problem(PAPER, NULL);
    tc_plan_options options = planned_options();
    options.placement = TC_PLACEMENT_OUTPUTS;
    const tc_plan *plan = planned_plan(&p, &options);
    double best = 0, even = 0;
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        double cost = channel->kind == TC_CHANNEL_JACOBIAN ? (double)channel->entries : 1;
        double scale = channel->constant * (double)plan->channel_count / plan->epsilon;
        double weight = cost / (plan->row_scale[channel->first_row] * plan->row_scale[channel->first_row]);
        best += weight * channel->variance;
        even += weight * 2 * scale * scale;
    }
    assert_true(best < even / 4);
    planned_end(&p);
}

static void constant_entries_of_the_jacobian_get_no_noise(void **state) {
    (void)state;
    planned p =
        planned_problem("affine.tacit", "agents a[i in 1..5] {\n state x[2] in [0, 1]\n private minimize sumsq(x)\n}\n"
                                        "constraint c: sum(a: i * x[1]) <= 3\nconstraint d: sum(a: x[2]^2) <= 3\n"
                                        "constraint e: 1 <= 2\n");
    tc_plan_options options = planned_options();
    options.epsilon = 1;
    options.adjacency = TC_ADJACENCY_BARE;
    options.adjacency_bound = 1;
    options.placement = TC_PLACEMENT_OUTPUTS;
    const tc_plan *plan = planned_plan(&p, &options);
    assert_null(plan->problem);
    assert_int_equal(plan->adjacency, TC_ADJACENCY_ONE);
    assert_int_equal(plan->channel_count, 3); /* c, d and the entries of d; e is public */
    assert_int_equal(plan->channels[2].entries, 5);
    planned_end(&p);
}

static void a_coalition_pays_for_its_blocks(void **state) {
    (void)state;
    planned p = planned_problem(TACIT_SOURCE_DIR "/examples/robots.tacit", NULL);
    tc_plan_options options = planned_options();
    options.placement = TC_PLACEMENT_OUTPUTS;
    const char *const names[] = {"robot[1],robot[2]", "robot[3]"};
    options.coalitions = names;
    options.coalition_count = 2;
    const tc_plan *plan = planned_plan(&p, &options);
    assert_null(plan->problem);
    double both = observer_of(plan, "robot[1] + robot[2]")->epsilon, third = observer_of(plan, "robot[3]")->epsilon;
    assert_true(both <= observer_of(plan, "eavesdropper")->epsilon && both > 0);
    for (size_t i = 0; i < plan->observer_count; i++) {
        if (strcmp(plan->observers[i].who, "robot[3]") == 0)
            about(plan->observers[i].epsilon, third, 1e-12);
    }
    const char *const unknown[] = {"robot[9]"};
    options.coalitions = unknown;
    options.coalition_count = 1;
    plan = planned_plan(&p, &options);
    assert_non_null(plan->problem);
    assert_true(plan->refusal_is_usage);
    planned_end(&p);
}

/* ---- refusals ---- */

static void refused(planned *p, tc_plan_options options, const char *word) {
    const tc_plan *plan = planned_plan(p, &options);
    if (plan->problem == NULL || strstr(plan->problem, word) == NULL)
        fail_msg("'%s' does not say '%s'", plan->problem != NULL ? plan->problem : "(no refusal)", word);
    assert_true(plan->refusal_is_usage);
    assert_false(plan->is_private);
}

static void what_makes_no_sense_is_refused_with_a_reason(void **state) {
    (void)state;
    planned bare = planned_problem("bare.tacit", "agent a {\n state x in [0, 1]\n private minimize x\n}\n"
                                                 "constraint c: a.x <= 1\n");
    tc_plan_options options = planned_options();
    refused(&bare, options, "no privacy block");
    options.epsilon = 1;
    refused(&bare, options, "unit");
    options.adjacency = TC_ADJACENCY_AGENT;
    refused(&bare, options, "rounds");
    options.adjacency = TC_ADJACENCY_ONE;
    options.adjacency_bound = -1;
    refused(&bare, options, "positive");
    options.adjacency_bound = 1;
    options.epsilon = 0;
    refused(&bare, options, "epsilon must be positive");
    options.epsilon = 1;
    options.mechanism = TC_MECHANISM_GAUSSIAN;
    refused(&bare, options, "delta");
    options.delta = 1;
    refused(&bare, options, "between 0 and 1");
    options.delta = 1e-6;
    options.hold_cap = 0.5;
    refused(&bare, options, "whole number");
    options.hold_cap = 0;
    options.rounds = 0.5;
    refused(&bare, options, "rounds");
    options.rounds = NAN;
    options.constants = TC_DECLARED;
    refused(&bare, options, "published");
    options.calibration = TC_PUBLISHED;
    refused(&bare, options, "ensemble");
    options.adjacency = TC_ADJACENCY_BARE;
    refused(&bare, options, "declares no l2 constant of the constraints");
    options.placement = TC_PLACEMENT_STATES;
    refused(&bare, options, "states");
    planned_end(&bare);
}

static void the_published_method_has_its_noise_on_outputs(void **state) {
    (void)state;
    planned p = planned_problem(PAPER, NULL);
    for (int i = 0; i < 8; i++) {
        tc_plan_options options = planned_options();
        options.placement = i % 2 == 0 ? TC_PLACEMENT_STATES : TC_PLACEMENT_FORMS;
        options.mechanism = i / 2 % 2 == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_NONE;
        options.calibration = i / 4 == 0 ? TC_TIGHT : TC_PUBLISHED;
        options.method = i / 4 == 0 ? TC_METHOD_PUBLISHED : TC_METHOD_UNSET; /* the calibration implies it */
        refused(&p, options, "the published method releases constraints and their Jacobian");
        refused(&p, options, i % 2 == 0 ? "--placement states" : "--placement forms");
    }
    planned_end(&p);
    static const char *const names[] = {"paper", "num", "robots", "ev"};
    for (size_t i = 0; i < 4; i++) {
        char path[400];
        (void)snprintf(path, sizeof path, "%s/examples/%s.tacit", TACIT_SOURCE_DIR, names[i]);
        p = planned_problem(path, NULL);
        tc_plan_options options = planned_options();
        if (p.model->privacy.adjacency == TC_ADJACENCY_DATA)
            options.adjacency = TC_ADJACENCY_AGENT; /* data go with method tacit */
        const tc_plan *plan = planned_plan(&p, &options);
        assert_int_equal(plan->placement, TC_PLACEMENT_OUTPUTS);
        assert_true(plan->facts[1].possible && !plan->facts[1].usable);
        options.placement = TC_PLACEMENT_OUTPUTS;
        assert_memory_equal(plan->hash, planned_plan(&p, &options)->hash, sizeof plan->hash);
        options.placement = TC_PLACEMENT_AUTO;
        options.mechanism = TC_MECHANISM_NONE;
        assert_int_equal(planned_plan(&p, &options)->placement, TC_PLACEMENT_OUTPUTS);
        planned_end(&p);
    }
}

static void a_function_without_a_bound_is_an_outcome_not_a_usage_error(void **state) {
    (void)state;
    planned p = planned_problem("steep.tacit", "agent a {\n state x in [0, 1]\n private minimize x\n}\n"
                                               "constraint c: -sqrt(a.x) <= 1\n");
    tc_plan_options options = planned_options();
    options.epsilon = 1;
    options.adjacency = TC_ADJACENCY_ONE;
    options.adjacency_bound = 1;
    options.placement = TC_PLACEMENT_OUTPUTS;
    const tc_plan *plan = planned_plan(&p, &options);
    assert_non_null(plan->problem);
    assert_false(plan->refusal_is_usage);
    planned_end(&p);
}

static void a_state_that_cancels_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "agent a {\n state x in [0, 1]\n private minimize x\n}\nconstraint c: (a.x + 1) - a.x <= 3\n",
        "agents a[i in 1..3] {\n state x in [0, 1]\n private minimize x\n}\nconstraint c: sum(a: x * ((x + 1) - x)) <= "
        "3\n",
        "agents a[i in 1..3] {\n state x in [0, 1]\n private minimize x\n}\nconstraint c: sum(a: x) * 2 - (3 + sum(a: "
        "x)) <= 3\n",
    };
    for (size_t i = 0; i < 3; i++) {
        planned p = planned_problem("cancels.tacit", texts[i]);
        tc_plan_options options = planned_options();
        options.epsilon = 1;
        options.adjacency = TC_ADJACENCY_ONE;
        options.adjacency_bound = 1;
        options.placement = TC_PLACEMENT_OUTPUTS;
        const tc_plan *plan = planned_plan(&p, &options);
        if (i < 2)
            assert_non_null(plan->problem);
        else
            assert_null(plan->problem);
        planned_end(&p);
    }
}

static void a_seed_and_no_mechanism_are_not_private(void **state) {
    (void)state;
    planned p = planned_problem(PAPER, NULL);
    tc_plan_options options = planned_options();
    options.seeded = true;
    const tc_plan *plan = planned_plan(&p, &options);
    assert_null(plan->problem);
    assert_false(plan->is_private);
    options.seeded = false;
    options.mechanism = TC_MECHANISM_NONE;
    plan = planned_plan(&p, &options);
    assert_null(plan->problem);
    assert_false(plan->is_private);
    assert_int_equal(plan->channel_count, 0);
    planned_end(&p);
}

static void holding_a_message_costs_as_if_it_were_sent_again(void **state) {
    (void)state;
    planned p = planned_problem(PAPER, NULL);
    for (int m = 0; m < 2; m++) {
        tc_plan_options options = planned_options();
        options.mechanism = m == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN;
        options.delta = 1e-6;
        options.placement = TC_PLACEMENT_OUTPUTS;
        double once = system_of(planned_plan(&p, &options), "g[g1]")->scale;
        options.hold_cap = 3;
        about(system_of(planned_plan(&p, &options), "g[g1]")->scale, once * (m == 0 ? 4 : 2), 1e-4);
    }
    planned_end(&p);
}

/* ---- whole file and cloud's file ---- */

static const char *json_of(planned *p, const tc_plan_options *options) {
    const tc_plan *plan = planned_plan(p, options);
    tc_buffer out = tc_buffer_new(p->arena, 1 << 26);
    tc_json json = tc_json_new(&out);
    tc_json_open_object(&json, NULL);
    tc_plan_json(plan, &json);
    tc_json_close_object(&json);
    tc_plan_text(plan, &out, 80);
    return tc_buffer_text(&out);
}

static void split_problem(planned *p, const char *directory) {
    tc_buffer messages = tc_buffer_new(p->arena, 1 << 20);
    size_t files;
    tc_status status = tc_split(p->arena, p->model, directory, true, NULL, &messages, &files);
    if (status != TC_OK)
        fail_msg("%s", tc_buffer_text(&messages));
}

static void the_cloud_s_file_gives_the_same_plan_byte_for_byte(void **state) {
    (void)state;
    static const char *const files[] = {"paper", "ev", "num", "robots"};
    for (size_t f = 0; f < 4; f++) {
        char path[400], directory[] = "/tmp/tacit_plan_XXXXXX";
        assert_non_null(mkdtemp(directory));
        (void)snprintf(path, sizeof path, "%s/examples/%s.tacit", TACIT_SOURCE_DIR, files[f]);
        planned whole = planned_problem(path, NULL);
        split_problem(&whole, directory);
        (void)snprintf(path, sizeof path, "%s/cloud.tacit", directory);
        planned cloud = planned_problem(path, NULL);
        for (int i = 0; i < 16; i++) {
            tc_plan_options options = planned_options();
            options.mechanism = i % 2 == 0 ? TC_MECHANISM_LAPLACE : TC_MECHANISM_GAUSSIAN;
            options.delta = 1e-6;
            options.adjacency = i < 12 ? (tc_adjacency)(TC_ADJACENCY_ENSEMBLE + i / 2 % 3) : TC_ADJACENCY_ENSEMBLE;
            options.adjacency_bound = 0.3;
            options.placement = i < 6 ? TC_PLACEMENT_OUTPUTS : i < 12 ? TC_PLACEMENT_AUTO : TC_PLACEMENT_OUTPUTS;
            options.calibration = i < 12 ? TC_TIGHT : TC_PUBLISHED;
            assert_string_equal(json_of(&whole, &options), json_of(&cloud, &options));
        }
        tc_plan_options as_written = planned_options();
        assert_string_equal(json_of(&whole, &as_written), json_of(&cloud, &as_written));
        planned_end(&cloud);
        planned_end(&whole);
        char command[500];
        (void)snprintf(command, sizeof command, "rm -r '%s'", directory);
        assert_int_equal(system(command), 0);
    }
}

static void expect_same_plan(const char *text) {
    char path[400], command[500], directory[] = "/tmp/tacit_plan_XXXXXX";
    assert_non_null(mkdtemp(directory));
    planned whole = planned_problem("whole.tacit", text);
    split_problem(&whole, directory);
    (void)snprintf(path, sizeof path, "%s/cloud.tacit", directory);
    planned cloud = planned_problem(path, NULL);
    for (tc_placement placement = TC_PLACEMENT_AUTO; placement <= TC_PLACEMENT_STATES; placement++) {
        tc_plan_options options = planned_options();
        options.method = placement == TC_PLACEMENT_STATES ? TC_METHOD_TACIT : TC_METHOD_PUBLISHED;
        options.placement = placement;
        assert_null(planned_plan(&cloud, &options)->problem);
        assert_string_equal(json_of(&whole, &options), json_of(&cloud, &options));
    }
    planned_end(&cloud);
    planned_end(&whole);
    (void)snprintf(command, sizeof command, "rm -r '%s'", directory);
    assert_int_equal(system(command), 0);
}

#define PROMISES                                                                                                       \
    "privacy { mechanism laplace; epsilon 1; adjacency one 1 }\n"                                                      \
    "schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 100 }\n"

static void a_curved_problem_s_cloud_file_gives_the_same_plan(void **state) {
    (void)state;
    expect_same_plan("param w = [2, 3, 5]\n"
                     "agents a[i in 1..3] {\n state x in [0, 1]\n private minimize w[i] * exp(x)\n gap 30\n"
                     " slater x = 0\n}\n"
                     "constraint c[k in 1..3]: exp(a[1].x / k) + sum(a: x^4) <= 9\n"
                     "dual radius 10\n" PROMISES);
}

/* ---- equalities ----------------------------------------------------------------------------------------------------
 */

#define PLANTS                                                                                                         \
    "agents a[i in 1..3] {\n state x in [0, 1]\n private minimize exp(x)\n gap 3;  slater x = 0.5 within 0.2\n}\n"

static void with_equalities_too(void **state) {
    (void)state;
    expect_same_plan(PLANTS "constraint b: sum(a: x) == 1.5\nconstraint c: a[1].x^2 + a[2].x <= 1\n"
                            "constraint d: 0.5 == a[3].x\n" PROMISES);
}

static void a_plan_and_its_hash_say_which_rows_are_equalities(void **state) {
    (void)state;
    planned equal = planned_problem("a.tacit", PLANTS "constraint b: sum(a: x) == 1.5\ndual radius 9\n" PROMISES);
    planned less = planned_problem("b.tacit", PLANTS "constraint b: sum(a: x) <= 1.5\ndual radius 9\n" PROMISES);
    tc_plan_options options = planned_options();
    const tc_plan *first = planned_plan(&equal, &options), *second = planned_plan(&less, &options);
    assert_non_null(strstr(json_of(&equal, &options), "\"equalities\": [\n    \"b\"\n  ]"));
    assert_null(strstr(json_of(&less, &options), "equalities"));
    assert_memory_not_equal(first->hash, second->hash, sizeof first->hash);
    assert_int_equal(first->channel_count, second->channel_count);
    for (size_t i = 0; i < first->channel_count; i++) /* what is released is the same */
        assert_true(first->channels[i].scale == second->channels[i].scale);
    planned_end(&equal);
    planned_end(&less);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_laplace_scheme_has_the_published_variances),
        cmocka_unit_test(the_published_gaussian_scheme_has_the_published_variances),
        cmocka_unit_test(an_agent_pays_one_ln_2_and_an_eavesdropper_two),
        cmocka_unit_test(a_tight_plan_promises_its_epsilon_to_an_eavesdropper),
        cmocka_unit_test(more_epsilon_never_needs_more_noise),
        cmocka_unit_test(hiding_one_agent_never_costs_more_than_hiding_all),
        cmocka_unit_test(optimal_scales_beat_an_even_split),
        cmocka_unit_test(constant_entries_of_the_jacobian_get_no_noise),
        cmocka_unit_test(a_coalition_pays_for_its_blocks),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_a_reason),
        cmocka_unit_test(the_published_method_has_its_noise_on_outputs),
        cmocka_unit_test(a_function_without_a_bound_is_an_outcome_not_a_usage_error),
        cmocka_unit_test(a_state_that_cancels_is_refused),
        cmocka_unit_test(a_seed_and_no_mechanism_are_not_private),
        cmocka_unit_test(holding_a_message_costs_as_if_it_were_sent_again),
        cmocka_unit_test(the_cloud_s_file_gives_the_same_plan_byte_for_byte),
        cmocka_unit_test(a_curved_problem_s_cloud_file_gives_the_same_plan),
        cmocka_unit_test(with_equalities_too),
        cmocka_unit_test(a_plan_and_its_hash_say_which_rows_are_equalities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
