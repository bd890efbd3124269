/* How accurate a run will be: limits as written, ranges, doubts of every placement, and what is useless. */
#include "plan/planned.h"

#include "plan/accuracy.h"

static const char AGENTS[] = "agents home[i in 1..4] {\n  state p[2] in [0, 5]\n  private minimize sumsq(p - i)\n}\n"
                             "agent shop {\n  state q in [1, 40]\n  private minimize (q - 30)^2\n}\n"
                             "dual radius 10\n"
                             "privacy { mechanism gaussian; epsilon 1; delta 1e-6; adjacency one 1 }\n"
                             "schedule { rounds 400 }\n";

static planned problem_of(const char *constraints) {
    static char text[4096];
    (void)snprintf(text, sizeof text, "%s%s", AGENTS, constraints);
    return planned_problem("test.tacit", text);
}

static tc_plan_options tacit_options_of(void) {
    tc_plan_options options = planned_options();
    options.method = TC_METHOD_TACIT;
    return options;
}

static const tc_accuracy *accuracy_of(planned *p, const tc_plan_options *options, const tc_plan **plan) {
    tc_escape escape;
    *plan = planned_plan(p, options);
    if ((*plan)->problem != NULL)
        fail_msg("no plan: %s", (*plan)->problem);
    tc_status status = TC_TRY(p->arena, &escape);
    if (status != TC_OK)
        fail_msg("raised: %s", tc_status_text(status));
    const tc_accuracy *made = tc_accuracy_make(p->arena, *plan, p->derivatives, NULL);
    tc_escape_end(p->arena, &escape);
    return made;
}

static void weights_of_an_average_add_up(void **state) {
    (void)state;
    for (int rounds = 1; rounds <= 300; rounds += 13) {
        double sum = 0, squares = 0;
        for (double k = 1; k <= rounds; k++) {
            sum += k * (k + 1);
            squares += k * (k + 1) * k * (k + 1);
        }
        AT_CASE(rounds);
        assert_true(fabs(tc_averaged_variance(rounds) * sum * sum / squares - 1) < 1e-12);
    }
    assert_true(fabs(tc_averaged_variance(1e6) * 1e6 - 1.8) < 1e-5);
}

static void limits_are_as_the_file_has_them(void **state) {
    (void)state;
    static const struct {
        const char *row;
        double limit;
    } cases[] = {
        {"constraint c: sum(home: p[1]) <= 12", 12},
        {"constraint c: sum(home: p[1]) >= 3", 3},
        {"constraint c: 3 <= sum(home: p[1])", 3},
        {"constraint c: sum(home: p[1]) == 7", 7},
        {"param most = 50\nconstraint c: 2 * shop.q + 4 <= most - 10", 40},
        {"constraint c: sum(home: p[1]) <= shop.q", NAN},
        {"constraint c: sum(home: p[1]) - 12 <= 0", 0},
        {"constraint c: sumsq(home[1].p) <= 9", 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AT_CASE(i);
        planned p = problem_of(cases[i].row);
        double limit = p.model->constraints[0].limit;
        assert_true(isnan(cases[i].limit) ? isnan(limit) : limit == cases[i].limit);
        tc_arena_free(p.arena);
    }
}

static void every_row_of_a_chain_and_of_a_vector_has_its_own_limit(void **state) {
    (void)state;
    planned p = problem_of("constraint c: -3 <= shop.q - sum(home: p[1]) <= 8\n"
                           "constraint v[t in 1..2]: sum(home: p[t]) <= 10 + t\n"
                           "constraint w: home[1].p <= [2, 4]\n"
                           "constraint z: home[2].p <= 3\n"
                           "constraint a: abs(shop.q - 10) <= 6\n"
                           "constraint n: norm(home[3].p) <= 4\n");
    static const double limits[] = {-3, 8, 11, 12, 2, 4, 3, 3, 6, 6, 4};
    assert_int_equal(p.model->constraint_count, sizeof limits / sizeof *limits);
    for (size_t j = 0; j < p.model->constraint_count; j++) {
        AT_CASE(j);
        assert_true(p.model->constraints[j].limit == limits[j]);
    }
    tc_arena_free(p.arena);
}

static void ranges_and_rooms_are_those_of_the_boxes(void **state) {
    (void)state;
    const tc_plan *plan;
    planned p = problem_of("constraint c: sum(home: p[1]) + shop.q <= 30\nconstraint e: sum(home: p[2]) == 7\n");
    tc_plan_options options = tacit_options_of();
    const tc_accuracy *found = accuracy_of(&p, &options, &plan);
    assert_true(fabs(found->rows[0].range - 59) < 1e-12 && fabs(found->rows[0].room - 29) < 1e-12);
    assert_true(fabs(found->rows[1].range - 20) < 1e-12 && isnan(found->rows[1].room));
    assert_true(found->rows[1].is_equality && !found->rows[0].is_equality);
    assert_null(found->reason);
    tc_arena_free(p.arena);
}

/* Noise of variance s2 on what a placement measures reaches c1 p + c2 q with (c1^2 + c2^2) s2, in every placement. */
static void doubts_follow_from_channels_and_slopes(void **state) {
    (void)state;
    static const tc_placement placements[] = {TC_PLACEMENT_OUTPUTS, TC_PLACEMENT_FORMS, TC_PLACEMENT_STATES};
    planned p = problem_of("constraint c: 3 * sum(home: p[1]) + 2 * shop.q <= 100\n");
    for (size_t i = 0; i < 3; i++) {
        const tc_plan *plan;
        tc_plan_options options = tacit_options_of();
        options.placement = placements[i];
        const tc_row_accuracy *row = accuracy_of(&p, &options, &plan)->rows;
        double variance = plan->channels[0].variance;
        if (placements[i] == TC_PLACEMENT_FORMS)
            variance = 9 * plan->channels[0].variance + 4 * plan->channels[1].variance;
        if (placements[i] == TC_PLACEMENT_STATES)
            variance = (4 * 9 + 4) * plan->channels[0].variance; /* both families have the scale of the unit */
        AT_CASE(i);
        assert_true(fabs(row->round_doubt / sqrt(variance) - 1) < 1e-9);
        assert_true(fabs(row->doubt / sqrt(variance * tc_averaged_variance(400)) - 1) < 1e-9);
        assert_true(row->is_exact && fabs(row->most_doubt / row->doubt - 1) < 1e-9);
        if (placements[i] == TC_PLACEMENT_STATES)
            assert_true(row->local_doubt == row->doubt);
    }
    tc_arena_free(p.arena);
}

/* The slope of x^2 is at most 80 in [1, 40]; its mean square is that of 2 x. */
static void a_curved_row_has_a_predicted_and_a_proved_doubt(void **state) {
    (void)state;
    const tc_plan *plan;
    planned p = problem_of("constraint c: shop.q^2 <= 900\n");
    tc_plan_options options = tacit_options_of();
    options.placement = TC_PLACEMENT_STATES;
    const tc_row_accuracy *row = accuracy_of(&p, &options, &plan)->rows;
    double deviation = sqrt(plan->channels[0].variance * tc_averaged_variance(400)), mean = 0;
    for (int i = 0; i < 1000; i++) {
        double slope = 2 * (1 + 39 * (i + 0.5) / 1000);
        mean += slope * slope / 1000;
    }
    assert_false(row->is_exact);
    assert_true(fabs(row->most_doubt / (80 * deviation) - 1) < 1e-9);
    assert_true(fabs(row->doubt / (sqrt(mean) * deviation) - 1) < 0.01);
    tc_arena_free(p.arena);
}

static void a_doubt_beyond_all_that_a_constraint_can_be_is_useless(void **state) {
    (void)state;
    planned p = problem_of("constraint c: sum(home: p[1]) <= 18\n");
    for (int i = 0; i < 24; i++) {
        const tc_plan *plan;
        tc_plan_options options = tacit_options_of();
        options.epsilon = ldexp(1, 2 - i);
        const tc_accuracy *found = accuracy_of(&p, &options, &plan);
        AT_CASE(i);
        assert_true(found->rows[0].is_useless == (found->rows[0].doubt > 18)); /* the room: the range is 20 */
        assert_int_equal(found->useless, found->rows[0].is_useless);
        if (i == 0 || i == 23)
            assert_int_equal(found->useless, i == 23);
    }
    tc_arena_free(p.arena);
}

static void nothing_is_said_where_nothing_is_known(void **state) {
    (void)state;
    const tc_plan *plan;
    planned p = problem_of("constraint c: sum(home: p[1]) <= 18\n");
    tc_plan_options options = planned_options(); /* method published */
    const tc_accuracy *found = accuracy_of(&p, &options, &plan);
    assert_non_null(found->reason);
    assert_true(isnan(found->rows[0].doubt) && found->rows[0].round_doubt > 0 && !found->rows[0].is_useless);
    options = tacit_options_of();
    options.mechanism = TC_MECHANISM_NONE;
    found = accuracy_of(&p, &options, &plan);
    assert_true(found->reason == NULL && found->rows[0].doubt == 0 && !found->rows[0].is_useless);
    p.model->schedule.rounds = NAN;
    options.mechanism = TC_MECHANISM_UNSET;
    found = accuracy_of(&p, &options, &plan);
    assert_non_null(found->reason);
    assert_true(isnan(found->rows[0].doubt));
    tc_arena_free(p.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_an_average_add_up),
        cmocka_unit_test(limits_are_as_the_file_has_them),
        cmocka_unit_test(every_row_of_a_chain_and_of_a_vector_has_its_own_limit),
        cmocka_unit_test(ranges_and_rooms_are_those_of_the_boxes),
        cmocka_unit_test(doubts_follow_from_channels_and_slopes),
        cmocka_unit_test(a_curved_row_has_a_predicted_and_a_proved_doubt),
        cmocka_unit_test(a_doubt_beyond_all_that_a_constraint_can_be_is_useless),
        cmocka_unit_test(nothing_is_said_where_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
