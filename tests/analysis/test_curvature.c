/* Convexity is proved where it holds and refuted, or at least not proved, where it does not. */
#include "analysis/random_expression.h"
#include "analysis/study.h"

#include "calculus/tape/tape.h"

#include <math.h>

typedef struct sample {
    const char *expression;
    const char *box;
} sample;

static tc_assumption judge(study *s, const sample *x, bool as_constraint) {
    char text[1024];
    if (as_constraint)
        (void)snprintf(text, sizeof text,
                       "agents a[i in 1..3] {\n state x in %s\n state y in %s\n private minimize 0\n}\n"
                       "constraint c: sum(a: %s) <= 1000000\n",
                       x->box, x->box, x->expression);
    else
        (void)snprintf(text, sizeof text, "agent a {\n state x in %s\n state y in %s\n private minimize %s\n}\n",
                       x->box, x->box, x->expression);
    tc_analysis_options options = {.skip_private = true, .needs_smooth = true};
    *s = study_text(text, &options);
    return as_constraint ? s->analysis->constraints : s->analysis->objectives;
}

static const sample convex[] = {
    {"0", "[-1, 1]"},
    {"3*x - y + 2", "[-1, 1]"},
    {"x^2", "[-1, 1]"},
    {"(x - 2*y + 1)^4", "[-3, 5]"},
    {"x^3", "[0, 2]"},
    {"x^2 + x*y + y^2", "[-1, 1]"},
    {"x^2 + 2*x*y + y^2", "[-1, 1]"},       /* singular */
    {"0.5*x^2 - x*y + 0.5*y^2", "[-5, 5]"}, /* a Laplacian */
    {"0.1*x^2 - 0.2*x*y + 0.1*y^2", "[-5, 5]"},
    {"exp(x + y)", "[-2, 2]"},
    {"exp(x^2)", "[-1, 1]"},
    {"-log(x)", "[0.1, 2]"},
    {"-log(x + y)", "[0.1, 2]"},
    {"-sqrt(x)", "[0.5, 2]"},
    {"1/x", "[0.5, 2]"},
    {"3/(x + y)", "[0.5, 2]"},
    {"x^2/y", "[0.5, 2]"},
    {"(x^2 + (x - y)^2)/(x + y)", "[0.5, 2]"},
    {"1/sqrt(x)", "[0.5, 2]"},
    {"pow(x, 2.5)", "[0, 2]"},
    {"-pow(x, 0.5)", "[0.25, 2]"},
    {"pow(x, -1.5)", "[0.25, 2]"},
    {"huber(x - y, 1)", "[-3, 3]"},
    {"logsumexp([x, y, x + y])", "[-3, 3]"},
    {"logsumexp([x^2, y])", "[-3, 3]"},
    {"sqrt(x^2 + y^2 + 1)", "[-3, 3]"},
    {"sqrt((x - y)^2 + 0.01)", "[-3, 3]"},
    {"sqrt(3*(x - y)^2 + (x^2 + y^2)/7 + exp(x)^2)", "[-3, 3]"}, /* a norm of convex functions that are not negative */
    {"norm([x, y])", "[0.5, 3]"},
    {"norm([x - 1, y + 2])^3", "[-3, 3]"}, /* smooth where the norm is not */
    {"pow(sumsq([x, y]), 1.5)", "[-1, 1]"},
    {"pow(norm([x, y]), 3.5)", "[-1, 1]"},
    {"norm([x, y])^3 - sumsq([x, y])/10", "[0.5, 1]"}, /* needs the interval Hessian */
    {"x*log(x)", "[0.1, 3]"},
    {"x*log(x) + y*log(y) - x*y/10", "[0.5, 2]"},
    {"(x^2 + y^2)^2", "[-2, 2]"},
    {"(x^2 + y^2)^3 + x", "[-2, 2]"},
    {"x^4 - x^2", "[1, 2]"}, /* needs the interval Hessian */
    {"x^4 - 6*x^2 + 12*x^2", "[-1, 1]"},
    {"x^4 + 0.5*x^3 + x^2", "[-1, 1]"},
    {"exp(x) + exp(-y) - x*y/100", "[-1, 1]"},
    {"quadform([x, y], [[2, 1], [1, 2]])", "[-1, 1]"},
    {"quadform([x, y], [[1, 1], [1, 1]])", "[-1, 1]"},
    {"quadform([x, y], [[2, 0.5], [0.5, 1]]) + 0.62*(0.73*x + 2.08*y + 1.3)^4", "[0.1, 1]"}, /* a quartic beside it */
    {"sumsq([x, y, x - y])", "[-1, 1]"},
    {"-(x - 1)*(3 - x)", "[-1, 1]"},
    {"exp(exp(x))", "[-1, 1]"},
    {"-log(1 - x^2/2 - y^2/4)", "[-1, 1]"},
    {"1/(2 - x^2)", "[-1, 1]"},
};

static const sample not_convex[] = {
    {"x*y", "[-1, 1]"},
    {"-x^2", "[-1, 1]"},
    {"x^3", "[-1, 1]"},
    {"x^2 - y^2", "[-1, 1]"},
    {"x^2 + 3*x*y + y^2", "[-1, 1]"},
    {"log(x)", "[0.1, 2]"},
    {"sqrt(x)", "[0.5, 2]"},
    {"exp(-x^2)", "[-1, 1]"},
    {"x/y", "[0.5, 2]"},
    {"x^2*y", "[0.5, 2]"},
    {"x^4 - x^2", "[-1, 1]"},
    {"quadform([x, y], [[1, 2], [2, 1]])", "[-1, 1]"},
    {"y^2 - exp(x)", "[-1, 1]"},
    {"log(exp(x) + x^2 + 1)", "[-3, 3]"},
    {"-huber(x, 1)", "[-1, 1]"},
    {"-norm([x, y])", "[0.5, 1]"},
    {"norm([x, y])^3 - sumsq([x, y])", "[-1, 1]"},
    {"norm([x^2 - 1, 1])", "[-1, 1]"},
    {"1/(x^2 + 1)", "[-1, 1]"},
    {"-logsumexp([x, y])", "[-1, 1]"},
};

static void convex_objectives_are_proved_convex(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof convex / sizeof *convex; i++) {
        study s;
        tc_assumption a = judge(&s, &convex[i], false);
        if (a.verdict != TC_HOLDS)
            fail_msg("%s on %s: %s", convex[i].expression, convex[i].box, a.findings[0].text);
        study_end(&s);
    }
}

static void convex_constraints_are_proved_convex(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof convex / sizeof *convex; i++) {
        study s;
        tc_assumption a = judge(&s, &convex[i], true);
        if (a.verdict != TC_HOLDS)
            fail_msg("%s on %s: %s", convex[i].expression, convex[i].box, a.findings[0].text);
        study_end(&s);
    }
}

static void objectives_that_are_not_convex_are_refuted_with_a_point(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof not_convex / sizeof *not_convex; i++) {
        study s;
        tc_assumption a = judge(&s, &not_convex[i], false);
        if (a.verdict != TC_FAILS)
            fail_msg("%s on %s: not refuted", not_convex[i].expression, not_convex[i].box);
        assert_non_null(strstr(a.findings[0].text, "the second derivative along"));
        assert_non_null(a.findings[0].place);
        study_end(&s);
    }
}

static void constraints_that_are_not_convex_are_refuted(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof not_convex / sizeof *not_convex; i++) {
        study s;
        tc_assumption a = judge(&s, &not_convex[i], true);
        if (a.verdict != TC_FAILS)
            fail_msg("%s on %s: not refuted", not_convex[i].expression, not_convex[i].box);
        study_end(&s);
    }
}

static void the_smallest_expression_at_fault_is_named(void **state) {
    (void)state;
    study s;
    sample x = {"x^2 + exp(3*x*y) + y", "[-1, 1]"};
    tc_assumption a = judge(&s, &x, false);
    assert_int_equal(a.verdict, TC_FAILS);
    assert_string_equal(a.findings[0].expression, "3*x*y");
    assert_string_equal(a.findings[0].place, "study.tacit:4:29");
    study_end(&s);
}

static void a_concave_side_of_a_constraint_gives_a_clear_counterexample(void **state) {
    (void)state;
    tc_analysis_options options = {.skip_private = true};
    study s =
        study_text("agent a {\n state x in [-2, 2]\n private minimize x\n}\nconstraint far: -a.x^2 <= -1\n", &options);
    assert_int_equal(s.analysis->constraints.verdict, TC_FAILS);
    assert_non_null(strstr(s.analysis->constraints.findings[0].text, "is -2"));
    study_end(&s);
}

static void what_is_maximized_must_be_concave_and_messages_speak_of_it(void **state) {
    (void)state;
    tc_analysis_options options = {.skip_private = true};
    study s = study_text("agent a {\n state x in [0, 2]\n private maximize 3 * x + x^2\n}\n"
                         "agent b {\n state x in [0, 2]\n private maximize log(x + 1) - x^2\n}\n",
                         &options);
    const tc_assumption *objectives = &s.analysis->objectives;
    assert_int_equal(objectives->verdict, TC_FAILS);
    assert_int_equal(objectives->finding_count, 1);
    assert_string_equal(objectives->findings[0].expression, "x^2");
    assert_string_equal(objectives->findings[0].text,
                        "This is convex where a concave function is needed, so the objective that a maximizes is not "
                        "concave: at x = 1 the second derivative along x is 2.");
    study_end(&s);
}

static void exponents_that_differ_are_judged_member_by_member(void **state) {
    (void)state;
    static const struct {
        const char *objective, *box, *needle; /* NULL: convex for all */
    } cases[] = {
        {"x^i", "[0, 2]", NULL},
        {"x^(1 + i / 3)", "[0.1, 2]", NULL},
        {"(x + 1)^(2 * i)", "[-3, 2]", NULL}, /* even powers, of any base */
        {"-x^(i / 3)", "[0.1, 2]", NULL},
        {"x^(-i / 2)", "[0.1, 2]", NULL},
        {"pow(x^2 + 1, i)", "[-3, 2]", NULL},
        {"x^i", "[-1, 2]", "the objective of a[3] is not convex"},
        {"-x^(i / 2)", "[0.1, 2]", "the objective of a[3] is not convex"},
        {"x^(i + 0.5)", "[-1, 2]", "needs a base above 0, for its exponent is not a whole number"},
        {"x^(i + 0.5)", "[0, 2]", "has derivatives without bound where its base is 0"},
        {"x^(i - 2)", "[0, 2]", "needs a base that is never 0"},
    };
    tc_analysis_options options = {.skip_private = true};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[300];
        (void)snprintf(text, sizeof text, "agents a[i in 1..3] {\n state x in %s\n private minimize %s\n}\n",
                       cases[i].box, cases[i].objective);
        study s = study_text(text, &options);
        const tc_assumption *objectives = &s.analysis->objectives;
        if ((objectives->verdict == TC_HOLDS) != (cases[i].needle == NULL))
            fail_msg("%s: %s", text, objectives->finding_count > 0 ? objectives->findings[0].text : "");
        if (cases[i].needle != NULL && strstr(objectives->findings[0].text, cases[i].needle) == NULL)
            fail_msg("%s: %s", text, objectives->findings[0].text);
        study_end(&s);
    }
}

static void sums_over_one_family_are_judged_together(void **state) {
    (void)state;
    tc_analysis_options options = {.skip_private = true};
    study s = study_text("agents a[i in 1..4] {\n state x in [-2, 2]\n private minimize 0\n}\n"
                         "constraint c: sum(a: x^2) - 0.5 * sum(a: x^2 + x) <= 9\n",
                         &options);
    assert_int_equal(s.analysis->constraints.verdict, TC_HOLDS);
    study_end(&s);
}

static void outer_functions_of_sums_are_judged_by_composition(void **state) {
    (void)state;
    const char *const yes[] = {"(sum(a: x))^2", "exp(sum(a: x^2)/8)", "(sum(a: x) - sum(a: 2*x))^2 + sum(a: x^2)",
                               "logsumexp([sum(a: x), sum(a: -x)])", "(sum(a: x))^2 + 2*sum(a: x)*a[1].x + 2*a[1].x^2"};
    const char *const no[] = {"-(sum(a: x))^2", "sum(a: x) * a[1].x", "sqrt(sum(a: x^2) + 1) - a[1].x^2"};
    tc_analysis_options options = {.skip_private = true};
    for (size_t i = 0; i < 8; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "agents a[i in 1..4] {\n state x in [-2, 2]\n private minimize 0\n}\nconstraint c: %s <= 900\n",
                       i < 5 ? yes[i] : no[i - 5]);
        study s = study_text(text, &options);
        if ((s.analysis->constraints.verdict == TC_HOLDS) != (i < 5))
            fail_msg("%s", text);
        study_end(&s);
    }
}

static void a_flaw_of_smoothness_is_named_with_its_range_and_a_remedy(void **state) {
    (void)state;
    static const struct {
        const char *expression, *box, *needle;
        tc_verdict verdict;
    } flaws[] = {
        {"-log(x)", "[0, 1]", "above 0", TC_FAILS},
        {"-log(x - 1)", "[0, 3]", "[-1, 2]", TC_FAILS},
        {"norm([x, y])", "[-1, 1]", "sqrt(sumsq(v) + d^2)", TC_FAILS},
        {"norm([x, y])^3 + norm([x, y])", "[-1, 1]", "kink", TC_FAILS},
        {"x^2 + exp(norm([x, y])^3 + norm([y, 2*x]))", "[-1, 1]", "kink", TC_FAILS},
        {"pow(norm([x, y]), 2.5)", "[-1, 1]", "kink", TC_FAILS}, /* not true of this one: a rule that is not there */
        {"1/(x - y)", "[0, 1]", "never 0", TC_FAILS},
        {"-sqrt(x)", "[0, 1]", "no derivative where its argument is 0, at the edge of the box", TC_FAILS},
        {"pow(x, 1.5)", "[0, 1]", "without bound", TC_FAILS},
        {"pow(x, 2.5)", "[-1, 1]", "base above 0", TC_FAILS},
        {"1/x^2", "[-1, 1]", "never 0", TC_FAILS},
        {"exp(exp(x))", "[0, 100]", "no finite bound", TC_UNPROVED},
        {"-log(x^2 - x + 1)", "[-1, 1]", "above 0", TC_UNPROVED},
    };
    for (size_t i = 0; i < sizeof flaws / sizeof *flaws; i++) {
        for (int as_constraint = 0; as_constraint < 2; as_constraint++) {
            study s;
            sample x = {flaws[i].expression, flaws[i].box};
            tc_assumption a = judge(&s, &x, as_constraint == 1);
            if (a.verdict == TC_HOLDS || (as_constraint == 0 && a.verdict != flaws[i].verdict))
                fail_msg("%s: verdict %d", flaws[i].expression, (int)a.verdict);
            if (strstr(a.findings[0].text, flaws[i].needle) == NULL)
                fail_msg("%s: %s", flaws[i].expression, a.findings[0].text);
            study_end(&s);
        }
    }
}

static void an_objective_is_judged_on_its_own_set_where_the_box_is_too_large(void **state) {
    (void)state;
    tc_analysis_options options = {.skip_private = true};
    study s = study_text("agent a {\n state x in [-1, 4]\n private set x >= 0.5\n private minimize -log(x) + x^3\n}\n",
                         &options);
    assert_int_equal(s.analysis->objectives.verdict, TC_HOLDS);
    study_end(&s);
}

/* ---- random expressions ----------------------------------------------------------------------------------------- */

static double value_at(study *s, const tc_tape *tape, double *work, double x, double y) {
    (void)s;
    const double *state[] = {&x, &y};
    double result, *out = &result;
    tc_inputs inputs = {.state = state};
    tc_tape_eval(tape, &inputs, 1, work, &out);
    return result;
}

static void nothing_random_is_called_convex_that_is_not(void **state) {
    (void)state;
    uint64_t seed = 77;
    size_t held = 0, failed = 0;
    for (int t = 0; t < 600; t++) {
        AT_CASE(t);
        char expression[512];
        grow(expression, sizeof expression, 1 + t % 3, &seed);
        study s;
        sample x = {expression, "[-1, 2]"};
        tc_assumption a = judge(&s, &x, false);
        held += a.verdict == TC_HOLDS;
        failed += a.verdict == TC_FAILS;
        const tc_tape *tape = tc_tape_new(s.arena, s.model->dag, &s.model->families[0].objective, 1);
        double *work = TC_NEW(s.arena, double, tc_tape_work(tape));
        for (int k = 0; a.verdict == TC_HOLDS && k < 200; k++) {
            double x1 = 3 * random_unit(&seed) - 1, y1 = 3 * random_unit(&seed) - 1;
            double x2 = 3 * random_unit(&seed) - 1, y2 = 3 * random_unit(&seed) - 1;
            double f1 = value_at(&s, tape, work, x1, y1), f2 = value_at(&s, tape, work, x2, y2);
            double middle = value_at(&s, tape, work, x1 / 2 + x2 / 2, y1 / 2 + y2 / 2);
            if (!(middle <= (f1 + f2) / 2 + 1e-9 * (1 + fabs(f1) + fabs(f2))))
                fail_msg("%s is not convex between (%g, %g) and (%g, %g)", expression, x1, y1, x2, y2);
        }
        study_end(&s);
    }
    assert_true(held > 100 && failed > 100); /* both happen often */
}

/* ---- kinks ---- */

static void expect_kinks(const char *expression, bool is_convex, bool is_smooth) {
    char text[512];
    (void)snprintf(text, sizeof text, "agent a {\n state x in [-1, 2]\n state y in [0, 1]\n private minimize %s\n}\n",
                   expression);
    for (int published = 0; published < 2; published++) {
        tc_analysis_options options = {.skip_private = true, .needs_smooth = published == 1};
        study s = study_text(text, &options);
        if ((s.analysis->convexity == TC_HOLDS) != is_convex ||
            (s.analysis->smoothness.verdict == TC_HOLDS) != is_smooth)
            fail_msg("%s", expression);
        bool holds = is_convex && (is_smooth || published == 0);
        assert_int_equal(s.analysis->objectives.verdict == TC_HOLDS, holds);
        assert_true((s.derivatives->families[0].lift == NULL) == is_smooth);
        if (!is_smooth)
            assert_true(strstr(s.analysis->smoothness.findings[0].text, "method tacit takes it") != NULL &&
                        s.analysis->smoothness.findings[0].place != NULL);
        study_end(&s);
    }
}

static void kinks_are_convex_or_not_apart_from_smooth(void **state) {
    (void)state;
    expect_kinks("abs(x)", true, false);
    expect_kinks("-abs(x)", false, false);
    expect_kinks("abs(y) + x^2", true, true); /* y is not negative */
    expect_kinks("quadform([x, y], [[2, 1], [1, 3]]) + abs(x - 0.2)", true, false);
    expect_kinks("x^2 + x*y + y^2 + pos(x) + max(x, y)", true, false);
    expect_kinks("x^2 + 3*x*y + y^2 + abs(x)", false, false);
    expect_kinks("-abs(y)", true, true);
    expect_kinks("max(x, y, 0.5)", true, false);
    expect_kinks("min(x, y)", false, false);
    expect_kinks("-min(x, y)", true, false);
    expect_kinks("exp(pos(x)) + pos(x)^2", true, false);
    expect_kinks("abs(x)^2", true, true); /* a square */
    expect_kinks("max(x^2, y - 1)", true, false);
    expect_kinks("max(-x^2, y - 1)", false, false);
    expect_kinks("abs(x) - 0.5 * abs(x)", false, false); /* not by rules */
    expect_kinks("norm([x, y])", true, false);
    expect_kinks("norm([x - 3, y])", true, true); /* never 0 in the box */
    expect_kinks("norminf([x, y]) + norm1([x, y]) + log(2 + x) * 0", true, false);
}

/* pos(u)^2 has continuous derivatives, but no proof: the message has the form that is proved. */
static void the_square_of_a_positive_part_is_told_its_smooth_form(void **state) {
    (void)state;
    static const char *const squares[] = {"pos(x - 0.5)^2 + y^2", "sumsq(pos([x, y - x]))", "maximum(x, 0)^2"};
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) {
        char text[256];
        AT_CASE(i);
        (void)snprintf(text, sizeof text, "agent a { state x in [-1, 2]; state y in [0, 1]; private minimize %s }",
                       squares[i]);
        study s = study_text(text, &(tc_analysis_options){.skip_private = true});
        assert_non_null(strstr(s.analysis->smoothness.findings[0].text, "2*huber(u - h/2, h/2) + h*u - h^2/4"));
        study_end(&s);
    }
    expect_kinks("2*huber(x - 0.5 - 0.75, 0.75) + 1.5*(x - 0.5) - 1.5^2/4", true, true);
    study s = study_text("agent a { state x in [-1, 2]; private minimize pos(x)^2 + pos(x) }",
                         &(tc_analysis_options){.skip_private = true});
    assert_null(strstr(s.analysis->smoothness.findings[0].text, "huber(u - h/2"));
    study_end(&s);
}

/* A node that two statements share is shown in the one at fault. */
static void a_part_that_stands_elsewhere_first_is_shown_where_it_is_used(void **state) {
    (void)state;
    study s =
        study_text("agent a {\n state x in [-1, 2]\n private set abs(x) <= 1\n private minimize x^2 + 3 * abs(x)\n}\n"
                   "agent b {\n state x in [-1, 2]\n private minimize x\n}\n"
                   "constraint c: b.x^2 <= 1\nconstraint d: a.x - 2 * b.x^2 <= 1\n",
                   &(tc_analysis_options){.skip_private = true});
    assert_string_equal(s.analysis->smoothness.findings[0].place, "study.tacit:4:25");
    assert_string_equal(s.analysis->smoothness.findings[0].expression, "3 * abs(x)");
    assert_int_equal(s.analysis->constraints.finding_count, 1);
    assert_string_equal(s.analysis->constraints.findings[0].expression, "2 * b.x^2");
    study_end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_square_of_a_positive_part_is_told_its_smooth_form),
        cmocka_unit_test(a_part_that_stands_elsewhere_first_is_shown_where_it_is_used),
        cmocka_unit_test(kinks_are_convex_or_not_apart_from_smooth),
        cmocka_unit_test(convex_objectives_are_proved_convex),
        cmocka_unit_test(convex_constraints_are_proved_convex),
        cmocka_unit_test(objectives_that_are_not_convex_are_refuted_with_a_point),
        cmocka_unit_test(constraints_that_are_not_convex_are_refuted),
        cmocka_unit_test(the_smallest_expression_at_fault_is_named),
        cmocka_unit_test(a_concave_side_of_a_constraint_gives_a_clear_counterexample),
        cmocka_unit_test(what_is_maximized_must_be_concave_and_messages_speak_of_it),
        cmocka_unit_test(exponents_that_differ_are_judged_member_by_member),
        cmocka_unit_test(sums_over_one_family_are_judged_together),
        cmocka_unit_test(outer_functions_of_sums_are_judged_by_composition),
        cmocka_unit_test(a_flaw_of_smoothness_is_named_with_its_range_and_a_remedy),
        cmocka_unit_test(nothing_random_is_called_convex_that_is_not),
        cmocka_unit_test(an_objective_is_judged_on_its_own_set_where_the_box_is_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
