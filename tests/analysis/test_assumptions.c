/* Sets, Slater points, dual radii, roles, and how all of it is printed. */
#include "analysis/study.h"

#include <math.h>

static const char *print(study *s, bool json, unsigned width) {
    tc_escape escape;
    tc_escape_begin(s->arena, &escape);
    tc_buffer out = tc_buffer_new(s->arena, 1 << 24);
    if (json) {
        tc_json writer = tc_json_new(&out);
        tc_json_open_object(&writer, NULL);
        tc_analysis_json(s->analysis, &writer);
        tc_json_close_object(&writer);
    } else {
        tc_analysis_text(s->analysis, &out, width);
    }
    const char *text = tc_buffer_text(&out);
    tc_escape_end(s->arena, &escape);
    return text;
}

static void an_empty_set_is_named_with_its_conflict(void **state) {
    (void)state;
    study s = study_text(
        "agents a[i in 1..3] {\n state x[2] in [0, 1]\n private set sum(x) >= i\n private minimize sum(x)\n}\n"
        "constraint c: sum(a: x[1]) <= 3\n",
        NULL);
    assert_int_equal(s.analysis->sets.verdict, TC_FAILS);
    assert_int_equal(s.analysis->sets.finding_count, 1);
    assert_non_null(strstr(s.analysis->sets.findings[0].text, "a[3]"));
    assert_false(tc_analysis_holds(s.analysis));
    study_end(&s);
}

static void a_private_bound_beyond_the_public_box_is_an_empty_set(void **state) {
    (void)state;
    static const char *const sets[] = {"x >= 2", "x <= -1", "x[1] >= 2", "sum(x) >= 3", "2 * x >= 4", "x >= [0.5, 2]"};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "agent a {\n state x[2] in [0, 1]\n private set %s\n private minimize sumsq(x)\n}\n"
                       "constraint c: a.x[1] <= 3\n",
                       sets[i]);
        study s = study_text(text, NULL);
        assert_int_equal(s.analysis->sets.verdict, TC_FAILS);
        assert_int_equal(s.analysis->sets.finding_count, 1);
        assert_non_null(strstr(s.analysis->sets.findings[0].text, sets[i]));
        assert_non_null(strstr(s.analysis->sets.findings[0].text, "public box"));
        assert_int_equal(s.analysis->objectives.verdict, TC_HOLDS);
        assert_int_not_equal(s.analysis->slater.verdict, TC_HOLDS);
        study_end(&s);
    }
}

static void slaters_condition_can_fail_at_the_boundary(void **state) {
    (void)state;
    study s = study_text("agent a {\n state x in [-1, 1]\n private minimize x\n}\nconstraint c: a.x^2 <= 0\n", NULL);
    assert_int_not_equal(s.analysis->slater.verdict, TC_HOLDS);
    assert_true(s.analysis->slater_facts.margin <= 0);
    study_end(&s);
    s = study_text("agent a {\n state x in [-1, 1]\n private minimize x\n}\nconstraint c: a.x^2 <= -1\n", NULL);
    assert_int_equal(s.analysis->slater.verdict, TC_FAILS);
    assert_string_equal(s.analysis->slater.summary, "no point satisfies every constraint strictly");
    const char *text = print(&s, false, 0);
    assert_non_null(strstr(text, "\nBest point found\n  It is not strictly feasible: margin -1, decided by"));
    assert_null(strstr(text, "Slater point\n"));
    assert_null(strstr(text, "(proved)"));
    study_end(&s);
}

static void a_point_that_was_moved_into_its_set_is_not_the_declared_one(void **state) {
    (void)state;
    study s =
        study_text("agent a { state x in [0, 1]; private minimize (x-1)^2; private set x >= 0.5; gap 5; slater x = "
                   "0.1 }\nconstraint c: a.x <= 0.7\n",
                   NULL);
    assert_int_equal(s.analysis->slater.verdict, TC_FAILS);
    assert_int_equal(s.analysis->slater_facts.origin, TC_POINT_FOUND);
    assert_true(s.analysis->slater_facts.point[0] == 0.5);
    assert_string_equal(s.analysis->slater.summary,
                        "a point satisfies every constraint strictly, but the declared one is not a Slater point");
    assert_null(strstr(print(&s, false, 0), "The declared point with margin"));
    study_end(&s);
}

static void zero_has_no_sign(void **state) {
    (void)state;
    static const char *const texts[] = {
        "agent a { state x in [0, 2]; private minimize 0 }\nconstraint c: a.x <= 1\n",
        "agent a { state x in [0, 2]; private minimize 0; gap 0; slater x = 0 }\nconstraint c: a.x <= 1\n",
        "agent a { state x in [0, 2]; private minimize x; private set x >= 1 }\nconstraint c: a.x <= 1\n",
        "agent a { state x in [0, 2]; private minimize x; gap 1; slater x = 1 }\nconstraint c: a.x <= 1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        study s = study_text(texts[i], NULL);
        const char *forms[] = {print(&s, false, 0), print(&s, true, 0)};
        for (int f = 0; f < 2; f++) {
            for (const char *at = forms[f]; (at = strstr(at, "-0")) != NULL; at++) {
                if (strchr(".0123456789", at[2]) == NULL || at[2] == '\0')
                    fail_msg("%s", forms[f]);
            }
        }
        assert_null(strstr(forms[0], "`dual radius 1`")); /* no number made of private data is advised */
        study_end(&s);
    }
}

static void the_margin_is_certified_and_the_radius_follows(void **state) {
    (void)state;
    study s = study_text("agent a {\n state x in [-1, 1]\n private minimize (x - 1)^2\n gap 1\n slater x = 0\n}\n"
                         "constraint c: a.x <= 0.5\n",
                         NULL);
    const tc_analysis *a = s.analysis;
    assert_true(tc_analysis_holds(a));
    assert_true(a->slater_facts.declared_margin == 0.5);
    assert_true(fabs(a->slater_facts.margin - 1.5) < 1e-6);
    assert_int_equal(a->dual_radius.origin, TC_RADIUS_GAPS);
    assert_true(a->dual_radius.value == 2);
    /* the smaller of 1 / 0.5 at the declared point and 4 / 1.5 at the found one */
    assert_true(fabs(a->dual_radius.from_data - 2) < 1e-6);
    assert_true(fabs(a->minimum_upper) < 1e-8);
    assert_int_equal(a->warning_count, 0);
    study_end(&s);
}

static void a_gap_or_a_radius_that_is_too_small_is_named(void **state) {
    (void)state;
    study s = study_text("agent a {\n state x in [-1, 1]\n private minimize (x - 1)^2\n gap 0.5\n slater x = 0\n}\n"
                         "constraint c: a.x <= 0.5\ndual radius 1\n",
                         NULL);
    assert_int_equal(s.analysis->warning_count, 2);
    assert_non_null(strstr(s.analysis->warnings[0], "gap 0.5 of a is too small"));
    assert_non_null(strstr(s.analysis->warnings[1], "dual radius"));
    assert_true(s.analysis->dual_radius.value == 1);
    assert_true(tc_analysis_holds(s.analysis));
    assert_non_null(strstr(print(&s, false, 80), "\nAll assumptions hold, but see the warnings.\n"));
    study_end(&s);
}

static void without_a_warning_none_is_mentioned(void **state) {
    (void)state;
    study s = study_text("agent a {\n state x in [-1, 1]\n private minimize (x - 1)^2\n gap 1\n slater x = 0\n}\n"
                         "constraint c: a.x <= 0.5\n",
                         NULL);
    assert_int_equal(s.analysis->warning_count, 0);
    assert_non_null(strstr(print(&s, false, 80), "\nAll assumptions hold.\n"));
    study_end(&s);
}

static void a_declared_slater_point_must_lie_in_its_set_and_satisfy_g(void **state) {
    (void)state;
    static const struct {
        const char *point, *needle;
    } cases[] = {{"0.9", "outside its own set"}, {"0.45", "does not satisfy constraint c"}};
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "agent a {\n state x in [-1, 1]\n private set x <= 0.8\n private minimize x\n slater x = %s\n}\n"
                       "constraint c: a.x <= 0.25\n",
                       cases[i].point);
        study s = study_text(text, NULL);
        assert_int_equal(s.analysis->slater.verdict, TC_FAILS);
        if (strstr(s.analysis->slater.findings[0].text, cases[i].needle) == NULL)
            fail_msg("%s", s.analysis->slater.findings[0].text);
        study_end(&s);
    }
}

static void the_clouds_file_leaves_objectives_and_sets_to_the_agents(void **state) {
    (void)state;
    study s = study_text(
        "role cloud\nagent a {\n state x in [-1, 1]\n gap 2\n slater x = 0\n}\nconstraint c: a.x <= 0.5\n", NULL);
    const tc_analysis *a = s.analysis;
    assert_int_equal(a->objectives.verdict, TC_ELSEWHERE);
    assert_int_equal(a->sets.verdict, TC_ELSEWHERE);
    assert_int_equal(a->constraints.verdict, TC_HOLDS);
    assert_int_equal(a->slater.verdict, TC_HOLDS);
    assert_true(a->dual_radius.value == 4 && a->g[0].upper == 1);
    assert_true(tc_analysis_holds(a));
    study_end(&s);
}

static void an_agents_file_has_no_constraints(void **state) {
    (void)state;
    study s = study_text(
        "role agent\nagent a {\n state x in [-1, 1]\n private minimize x^2\n gap 4\n slater x = 1\n}\n", NULL);
    assert_int_equal(s.analysis->constraints.verdict, TC_ELSEWHERE);
    assert_int_equal(s.analysis->dual_radius.origin, TC_RADIUS_NONE);
    assert_int_equal(s.analysis->objectives.verdict, TC_HOLDS);
    assert_true(s.analysis->agents[0].objective.upper == 2);
    assert_true(tc_analysis_holds(s.analysis));
    study_end(&s);
}

static void declared_constants_are_compared_with_the_bracket(void **state) {
    (void)state;
    study s = study_text("agent a {\n state x in [-1, 1]\n private minimize x^4\n}\nconstraint c: 3*a.x^2 <= 2\n"
                         "declare lipschitz constraints { l1 5.9; l2 6 }\ndeclare lipschitz jacobian a { l1 7; l2 5 }\n"
                         "declare lipschitz objective a 11\n",
                         NULL);
    const tc_analysis *a = s.analysis;
    assert_true(tc_declared_too_small(&a->g[0]) && !tc_declared_too_small(&a->g[1]) &&
                !tc_declared_uncertified(&a->g[1]));
    assert_true(!tc_declared_too_small(&a->agents[0].jacobian[0]) && tc_declared_too_small(&a->agents[0].jacobian[1]));
    assert_true(tc_declared_too_small(&a->agents[0].objective));
    assert_int_equal(a->warning_count, 3);
    assert_non_null(strstr(a->warnings[0], "too small to be private"));
    study_end(&s);
}

static bool interrupt_at_once(void *context) {
    (void)context;
    return true;
}

static void a_private_bound_is_the_number_that_is_stated(void **state) {
    (void)state; /* x^3 is convex from 0 on, and not a hair before */
    const char *sets[] = {"x >= 0", "-x <= 0", "x in [0, 1]"};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "agent a {\n state x in [-1, 1]\n private minimize x^3\n private set %s\n}\n"
                       "constraint c: a.x <= 2\n",
                       sets[i]);
        study s = study_text(text, NULL);
        assert_int_equal(s.analysis->objectives.verdict, TC_HOLDS);
        study_end(&s);
    }
}

static void a_curvature_beyond_all_numbers_ends(void **state) {
    (void)state; /* exp(6000) is infinite even in long double: lifting such a Hessian never ended */
    study s = study_text("agent a {\n state x[2] in [0, 10]\n private minimize x[1]\n}\n"
                         "constraint g: logsumexp(a.x[1] * a.x[2], 6000) <= 100\n",
                         NULL);
    assert_false(tc_analysis_holds(s.analysis));
    study_end(&s);
}

static void an_interrupt_leaves_nothing_claimed(void **state) {
    (void)state;
    study s = study_text("agent a {\n state x in [-1, 1]\n private minimize x^2\n}\nconstraint c: a.x <= 0.5\n", NULL);
    tc_escape escape;
    tc_monitor monitor = {.interrupted = interrupt_at_once};
    tc_escape_begin(s.arena, &escape);
    tc_analysis *a = tc_analysis_run(s.arena, s.model, s.derivatives, NULL, &monitor);
    tc_escape_end(s.arena, &escape);
    assert_true(a->interrupted);
    assert_false(tc_analysis_holds(a));
    assert_true(isinf(a->g[0].upper) && isinf(a->agents[0].jacobian[1].upper));
    study_end(&s);
}

static const char *const printed =
    "agents home[i in 1..5] {\n state p[2] in [0, 7]\n private minimize sumsq(p - i) + exp(p[1]*p[2])\n}\n"
    "agent depot {\n state q in [-3, 3]\n private minimize q\n}\n"
    "constraint feeder: sum(home: p[1]^2) + depot.q <= 200\n"
    "declare lipschitz constraints { l1 1; l2 1 }\n";

static void the_json_has_the_keys_that_scripts_rely_on(void **state) {
    (void)state;
    study s = study_text(printed, NULL);
    const char *text = print(&s, true, 0);
    static const char *const keys[] = {"\"agents\": 6",
                                       "\"states\": 11",
                                       "\"constraints\": 1",
                                       "\"assumptions\"",
                                       "\"objectives\"",
                                       "\"sets\"",
                                       "\"slater\"",
                                       "\"holds\"",
                                       "\"lipschitz\"",
                                       "\"g\"",
                                       "\"l1\"",
                                       "\"l2\"",
                                       "\"jacobian\"",
                                       "\"agent\": \"home[1]\"",
                                       "\"agent\": \"depot\"",
                                       "\"lower\"",
                                       "\"upper\"",
                                       "\"declared\": 1",
                                       "\"declared_too_small\": true",
                                       "\"dual_radius\"",
                                       "\"margin\"",
                                       "\"point\""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strstr(text, keys[i]) == NULL)
            fail_msg("no %s in\n%s", keys[i], text);
    }
    study_end(&s);
}

static void expect_narrow(const char *line) {
    while (*line != '\0') {
        size_t length = strcspn(line, "\n"), width = 0;
        for (size_t i = 0; i < length; i++)
            width += ((unsigned char)line[i] & 0xc0) != 0x80;
        if (width > 80)
            fail_msg("%zu columns: %.*s", width, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static void the_text_fits_its_width(void **state) {
    (void)state;
    study s = study_text(printed, NULL);
    const char *text = print(&s, false, 80);
    assert_non_null(strstr(text, "TOO SMALL"));
    assert_non_null(strstr(text, "Not all assumptions hold."));
    expect_narrow(text);
    study_end(&s);
    /* brackets of every length, declared and not */
    static const double scales[] = {1e-120, 1e-7, 0.0123456, 1, 54.5987, 1e5, 1e9, 1e100};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        char problem[1000];
        (void)snprintf(
            problem, sizeof problem,
            "agent a_rather_long_name { state x[2] in [0.5, 4]; private minimize %g * (sumsq(x)^2 - "
            "sum(log(x))) }\nagent b { state y in [-3, 3]; private minimize %g * (huber(y, 0.5) + exp(y / 3))"
            " }\nconstraint c: %g * (sqrt(sumsq(a_rather_long_name.x) + 1) + b.y) <= 1\n"
            "constraint d: %g * (exp(a_rather_long_name.x[1]) + huber(b.y, 0.1)) <= 3\n"
            "declare lipschitz constraints { l1 %g; l2 %g }\n"
            "declare lipschitz jacobian b { l1 %g; l2 %g }\ndeclare lipschitz objective b %g\n",
            scales[i], scales[i], scales[i], scales[i], scales[i] * 1.234567, scales[i] * 56.78912345, scales[i],
            scales[i], scales[i]);
        s = study_text(problem, NULL);
        expect_narrow(print(&s, false, 80));
        study_end(&s);
    }
}

static void expect_line(const char *text, const char *line) {
    if (strstr(text, line) == NULL)
        fail_msg("expected: %s\nfound:\n%s", line, text);
}

static void tables_are_aligned_by_characters_and_leave_out_what_is_not_there(void **state) {
    (void)state;
    study s =
        study_text("role agent\nagent \"\xc3\xa4rger\xc3\xbc\" { state x in [0, 1]; private minimize x^2 }\n", NULL);
    expect_line(print(&s, false, 0), "\n  each agent     L_i of grad f_i\n  \xc3\xa4rger\xc3\xbc         2\n");
    study_end(&s);
    s = study_text("agent a { state x in [0, 1]; private minimize x^2 }\nconstraint c: a.x <= 2\n", NULL);
    expect_line(print(&s, false, 0), "\n  The Jacobian has 0 entries that vary, 1 that is constant and 0 that are");
    study_end(&s);
    s = study_text(
        "agents a[i in 1..30] { state x in [0, i]; private minimize i * x^2 }\nconstraint c: sum(a: x) <= 2\n", NULL);
    expect_line(print(&s, false, 0), "\n  ... and 6 more agents (--full or --json shows all)\n");
    expect_line(print(&s, false, 0), "\n    ... and 20 more agents (--full or --json shows all)\n");
    s.analysis->print_all_points = true;
    expect_line(print(&s, false, 0), "\n  a[30]          0 ");
    expect_line(print(&s, false, 0), "\n    a[30] =");
    assert_null(strstr(print(&s, false, 0), "more agents"));
    study_end(&s);
}

static tc_status analyse_within(size_t limit) {
    tc_arena *arena = tc_arena_new(limit);
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK) {
        tc_model *model = NULL;
        tc_buffer messages = tc_buffer_new(arena, 1 << 20);
        status = tc_model_parse(arena, "study.tacit", printed, strlen(printed), NULL, &messages, &model);
        if (status == TC_OK)
            (void)tc_analysis_run(arena, model, tc_derive(arena, model), NULL, NULL);
    }
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return status;
}

/* The arena refuses at every size up to what the analysis needs: each time the escape is reached, and nothing leaks. */
static void running_out_of_memory_ends_cleanly(void **state) {
    (void)state;
    size_t refused = 0;
    tc_status status = TC_TOO_LARGE;
    for (size_t limit = 20000; status != TC_OK; limit += limit / 12, refused++) {
        status = analyse_within(limit);
        assert_true(status == TC_OK || status == TC_TOO_LARGE);
    }
    assert_true(refused > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_set_is_named_with_its_conflict),
        cmocka_unit_test(a_private_bound_beyond_the_public_box_is_an_empty_set),
        cmocka_unit_test(a_point_that_was_moved_into_its_set_is_not_the_declared_one),
        cmocka_unit_test(zero_has_no_sign),
        cmocka_unit_test(tables_are_aligned_by_characters_and_leave_out_what_is_not_there),
        cmocka_unit_test(slaters_condition_can_fail_at_the_boundary),
        cmocka_unit_test(the_margin_is_certified_and_the_radius_follows),
        cmocka_unit_test(a_gap_or_a_radius_that_is_too_small_is_named),
        cmocka_unit_test(without_a_warning_none_is_mentioned),
        cmocka_unit_test(a_declared_slater_point_must_lie_in_its_set_and_satisfy_g),
        cmocka_unit_test(the_clouds_file_leaves_objectives_and_sets_to_the_agents),
        cmocka_unit_test(an_agents_file_has_no_constraints),
        cmocka_unit_test(declared_constants_are_compared_with_the_bracket),
        cmocka_unit_test(a_private_bound_is_the_number_that_is_stated),
        cmocka_unit_test(a_curvature_beyond_all_numbers_ends),
        cmocka_unit_test(an_interrupt_leaves_nothing_claimed),
        cmocka_unit_test(the_json_has_the_keys_that_scripts_rely_on),
        cmocka_unit_test(the_text_fits_its_width),
        cmocka_unit_test(running_out_of_memory_ends_cleanly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
