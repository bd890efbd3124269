/* The proved bound of multipliers: weights, margins and curved constraints; docs/proofs/equalities.md. */
#include "analysis/study.h"

#define AGENTS                                                                                                         \
    "agents a[i in 1..4] {\n state x in [-1, 1]\n private minimize (x - 0.5)^2\n gap 1.5625\n"                         \
    " slater x = 0 within 0.5\n}\n"

static double bound_of(const char *rows, const double *weights, const double *taken) {
    char text[1000];
    (void)snprintf(text, sizeof text, AGENTS "%s", rows);
    static const tc_analysis_options public_facts = {.skip_private = true};
    study s = study_text(text, &public_facts);
    double bound = tc_multiplier_bound(s.arena, s.model, s.derivatives, weights, taken, NULL);
    if (weights == NULL && taken == NULL && !isnan(bound))
        assert_true(bound == s.analysis->dual_radius.from_gaps);
    study_end(&s);
    return bound;
}

static void about(double value, double expected) {
    if (!(value >= expected && value <= expected * (1 + 1e-9)))
        fail_msg("%.17g is not %.17g, rounded up", value, expected);
}

static void one_row_is_bounded_by_gaps_over_rooms(void **state) {
    (void)state;
    about(bound_of("constraint e: sum(a: x) == 0\n", NULL, NULL), 6.25 / (4 * 0.5));
    about(bound_of("constraint e: sum(a: 3 * x) == 0\n", NULL, NULL), 6.25 / (4 * 0.5 * 3));
    about(bound_of("constraint e: a[1].x == a[2].x\n", NULL, NULL), 6.25 / (2 * 0.5));
}

static void separate_rows_are_bounded_together(void **state) {
    (void)state;
    about(bound_of("constraint e: a[1].x + a[2].x == 0\nconstraint f: a[3].x - a[4].x == 0\n", NULL, NULL), 6.25);
}

static void an_inequality_shares_the_gap(void **state) {
    (void)state;
    /* slack 1, which the room makes 1 - 2 t; the equality has 2 t: they meet at t = 1/4 */
    about(bound_of("constraint e: sum(a: x) == 0\nconstraint c: sum(a: x) <= 1\n", NULL, NULL), 6.25 / 0.5);
    /* slack 9 - 1 t or more, of a sum of squares: the equality decides */
    about(bound_of("constraint e: sum(a: x) == 0\nconstraint c: sum(a: x^2) <= 9\n", NULL, NULL), 6.25 / 2);
    /* slack 2 - 1 t, by the range of the squares in the room: slopes over the whole box would say 2 - 4 t */
    about(bound_of("constraint e: sum(a: x) == 0\nconstraint c: sum(a: x^2) <= 2\n", NULL, NULL), 6.25 / (4.0 / 3));
}

static void a_margin_takes_from_the_slack(void **state) {
    (void)state;
    const char *rows = "constraint e: sum(a: x) == 0\nconstraint c: sum(a: x) <= 1.5\n";
    about(bound_of(rows, NULL, (double[]){0, 0.5}), 6.25 / 0.5);
    assert_true(isnan(bound_of(rows, NULL, (double[]){0, 1.5})));
    about(bound_of("constraint c: sum(a: x) <= 1.5\n", NULL, (double[]){0.5}), 6.25);
}

static void weights_are_another_unit_of_the_rows(void **state) {
    (void)state;
    const char *rows = "constraint e: a[1].x + a[2].x == 0\nconstraint f: sum(a: i * x) == 0\n"
                       "constraint g: 2 * a[1].x + 2 * a[2].x + sum(a: i * x) == 0\nconstraint c: sum(a: x) <= 1\n";
    const char *scaled =
        "constraint e: (a[1].x + a[2].x) / 2 == 0\nconstraint f: sum(a: i * x) * 4 == 0\n"
        "constraint g: (2 * a[1].x + 2 * a[2].x + sum(a: i * x)) / 8 == 0\nconstraint c: sum(a: x) * 2 <= 2\n";
    double plain = bound_of(scaled, NULL, NULL), weighted = bound_of(rows, (double[]){2, 0.25, 8, 0.5}, NULL);
    assert_true(plain > 0 && fabs(weighted - plain) <= 1e-9 * plain);
    about(bound_of("constraint e: sum(a: x) == 0\n", (double[]){5}, NULL), 5 * 6.25 / 2);
}

static void without_promises_there_is_no_bound(void **state) {
    (void)state;
    study s = study_text("agents a[i in 1..2] { state x in [0, 1]; private minimize x; slater x = 0.5 within 0.5 }\n"
                         "constraint e: sum(a: x) == 1\n",
                         NULL);
    assert_true(isnan(tc_multiplier_bound(s.arena, s.model, s.derivatives, NULL, NULL, NULL)));
    assert_int_equal(s.analysis->dual_radius.origin, TC_RADIUS_PRIVATE);
    study_end(&s);
    s = study_text("agents a[i in 1..2] { state x in [0, 1]; private minimize x; gap 1; slater x = 0.5 }\n"
                   "constraint e: sum(a: x) == 1\n",
                   NULL);
    assert_true(isnan(tc_multiplier_bound(s.arena, s.model, s.derivatives, NULL, NULL, NULL)));
    assert_non_null(strstr(s.analysis->slater_facts.declared_fault, "within r"));
    study_end(&s);
}

static void rows_that_are_nearly_dependent_get_no_bound(void **state) {
    (void)state;
    assert_true(isnan(
        bound_of("constraint e: a[1].x + a[2].x == 0\nconstraint f: a[1].x + 1.00000002 * a[2].x == 0\n", NULL, NULL)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_is_bounded_by_gaps_over_rooms),
        cmocka_unit_test(separate_rows_are_bounded_together),
        cmocka_unit_test(an_inequality_shares_the_gap),
        cmocka_unit_test(a_margin_takes_from_the_slack),
        cmocka_unit_test(weights_are_another_unit_of_the_rows),
        cmocka_unit_test(without_promises_there_is_no_bound),
        cmocka_unit_test(rows_that_are_nearly_dependent_get_no_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
