/* What the method `tacit` takes from the cloud's file: scales, radius, margins and warnings. */
#include "engine/method_runs.h"

#include "support/cmocka.h"

#define SCHEDULE "schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.52; rounds 2000 }\n"

/* Gaps 12 in all; slacks 2 and 9 at x = 1; both rows are affine: S = |coefficients|_2 = sqrt 3 and sqrt 27. */
static const char affine[] =
    "agents a[i in 1..3] {\n state x in [0, 6]\n private minimize (x - 3)^2\n gap 4;  slater x = 1\n}\n"
    "constraint c: sum(a: x) <= 5\nconstraint d: 3 * sum(a: x) <= 18\n" SCHEDULE;

static const tc_tacit_facts *facts_of(planned *p, const char *text, method_options asked) {
    *p = planned_problem("facts.tacit", text);
    return method_facts(p, method_plan(p, &asked), &asked);
}

static method_options quietly(void) {
    return (method_options){.mechanism = TC_MECHANISM_NONE, .rounds = 2000, .radius = NAN};
}

static void near(double a, double b) {
    if (!(fabs(a - b) <= 1e-9 * (1 + fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

static void scales_radius_and_weights_are_those_of_the_formulas(void **state) {
    (void)state;
    planned p;
    const tc_tacit_facts *f = facts_of(&p, affine, quietly());
    near(f->box_length, sqrt(3 * 36.0) / 6);
    near(f->row_scale[0], sqrt(3));
    near(f->row_scale[1], sqrt(27));
    near(f->weight[0], 4);
    near(f->weight[1], 4.0 / 9);
    near(f->slack[0], 2);
    near(f->slack[1], 9);
    near(f->radius, 12 / fmin(2 / sqrt(3), 9 / sqrt(27)));
    assert_int_equal(f->warning_count, 0);
    planned_end(&p);
}

static void with_noise_they_are_the_same(void **state) {
    (void)state;
    planned p, q;
    method_options noisy = quietly();
    noisy.mechanism = TC_MECHANISM_LAPLACE;
    const tc_tacit_facts *f = facts_of(&p, affine, quietly()), *g = facts_of(&q, affine, noisy);
    assert_true(f->radius == g->radius);
    assert_memory_equal(f->row_scale, g->row_scale, 2 * sizeof(double));
    planned_end(&p);
    planned_end(&q);
}

/* ---- rows that say the same -------------------------------------------------------------------------------------- */

static const char three_agents[] =
    "agents a[i in 1..3] {\n state x[2] in [0, 6]\n private minimize sumsq(x - 3)\n gap 40;  slater x = 1\n}\n";

static const tc_tacit_facts *facts_with_rows(planned *p, const char *rows) {
    char text[2048];
    (void)snprintf(text, sizeof text, "%s%sdual radius 9\n" SCHEDULE, three_agents, rows);
    return facts_of(p, text, quietly());
}

static void rows_in_other_units_are_found_with_their_factors(void **state) {
    (void)state;
    planned p;
    const tc_tacit_facts *f = facts_with_rows(&p, "constraint c: sum(a: x[1] + i * x[2]) <= 20\n"
                                                  "constraint other: sum(a: x[1]) <= 15\n"
                                                  "constraint d: 1000 * sum(a: x[1] + i * x[2]) <= 20000\n"
                                                  "constraint e: sum(a: 0.3 * x[1] + 0.3 * i * x[2]) - 6 <= 0\n");
    assert_int_equal(f->same.groups, 1);
    assert_int_equal(f->same.count, 3);
    for (size_t i = 0; i < 3; i++) {
        size_t row = f->same.rows[i];
        near(f->same.factors[i], row == 0 ? 1e-3 : row == 2 ? 1 : 0.3e-3);
        assert_true(row != 1);
    }
    planned_end(&p);
}

static void so_are_curved_rows_and_several_groups(void **state) {
    (void)state;
    planned p;
    const tc_tacit_facts *f = facts_with_rows(&p, "constraint c: sum(a: x[1]^2) <= 50\n"
                                                  "constraint d: exp(sum(a: x[2]) / 9) <= 5\n"
                                                  "constraint e: 8 * sum(a: x[1]^2) <= 400\n"
                                                  "constraint f: 0.25 * exp(sum(a: x[2]) / 9) <= 1.25\n");
    assert_int_equal(f->same.groups, 2);
    assert_int_equal(f->same.ends[0], 2);
    assert_int_equal(f->same.ends[1], 4);
    for (size_t group = 0; group < 2; group++) {
        size_t a = f->same.rows[2 * group], b = f->same.rows[2 * group + 1];
        assert_int_equal(a > b ? a - b : b - a, 2);
        near(f->same.factors[2 * group] / f->same.factors[2 * group + 1], f->row_scale[a] / f->row_scale[b]);
    }
    planned_end(&p);
}

/* An equality may be turned round, an inequality may not; an inequality does not say what an equality says. */
static void signs_count_for_inequalities_alone(void **state) {
    (void)state;
    planned p;
    const tc_tacit_facts *f = facts_with_rows(&p, "constraint c: sum(a: x[1] - x[2]) == 1\n"
                                                  "constraint d: 2 * sum(a: x[2] - x[1]) == -2\n"
                                                  "constraint e: sum(a: x[1] - x[2]) <= 1\n"
                                                  "constraint f: sum(a: x[2] - x[1]) <= -1\n");
    assert_int_equal(f->same.groups, 1);
    assert_int_equal(f->same.count, 2);
    assert_int_equal(f->same.rows[0] + f->same.rows[1], 1);
    near(f->same.factors[0] / f->same.factors[1], f->same.rows[0] == 0 ? -0.5 : -2);
    planned_end(&p);
}

static void other_limits_and_other_members_are_other_rows(void **state) {
    (void)state;
    planned p;
    assert_int_equal(facts_with_rows(&p, "constraint c: sum(a: x[1]) <= 9\nconstraint d: 2 * sum(a: x[1]) <= 18.001\n"
                                         "constraint e[j in 1..3]: a[j].x[1] + a[j].x[2] <= 4\n"
                                         "constraint f: sum(a: x[2]) <= 9\nconstraint constant: 1 <= 2\n"
                                         "constraint twice: 2 <= 4\n")
                         ->same.groups,
                     0);
    planned_end(&p);
}

/* Where most of the box is flat, g_j / S_j of different rows is the same at most points. */
static void steep_rows_of_different_states_are_no_multiples(void **state) {
    (void)state;
    static const char *const rows[] = {"exp(20 * (a[j].x - 6)) <= 1", "exp(50 * (a[j].x - 6)) <= 1",
                                       "(a[j].x / 6)^32 <= 1",
                                       "2 * huber(a[j].x - 5.5, 0.5) + a[j].x - 5.25 <= 0.01"}; /* 0 below 5 */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        planned p;
        char text[1024];
        AT_CASE(i);
        (void)snprintf(
            text, sizeof text,
            "agents a[i in 1..24] {\n state x in [0, 6]\n private minimize (x - 3)^2\n gap 40; slater x = 1\n}\n"
            "constraint hot[j in 1..24]: %s\ndual radius 9\n" SCHEDULE,
            rows[i]);
        const tc_tacit_facts *f = facts_of(&p, text, quietly());
        assert_int_equal(f->same.groups, 0);
        planned_end(&p);
    }
}

/* h <= -M and 1000 h <= -M are different limits. */
static void with_a_given_margin_inequalities_in_other_units_are_no_multiples(void **state) {
    (void)state;
    planned p;
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "%sconstraint c: sum(a: x[1]) <= 9\nconstraint d: 1000 * sum(a: x[1]) <= 9000\n"
                   "constraint e: sum(a: x[2] - x[1]) == 0\nconstraint f: sum(a: x[1] - x[2]) == 0\n"
                   "dual radius 9\n" SCHEDULE,
                   three_agents);
    method_options asked = quietly();
    asked.margin = (tc_margin_wish){.kind = TC_MARGIN_GIVEN, .amount = 0.5};
    const tc_tacit_facts *f = facts_of(&p, text, asked);
    assert_int_equal(f->same.groups, 1);
    assert_int_equal(f->same.rows[0] + f->same.rows[1], 5);
    planned_end(&p);
    assert_int_equal(facts_of(&p, text, quietly())->same.groups, 2);
    planned_end(&p);
}

static void a_radius_that_is_given_is_scaled_by_the_largest_row(void **state) {
    (void)state;
    planned p;
    char text[1024];
    (void)snprintf(text, sizeof text, "%sdual radius 7\n", affine);
    near(facts_of(&p, text, quietly())->radius, 7 * sqrt(27));
    planned_end(&p);
}

/* n agents of room r: |nu| <= 12 / (n r |a|), so that S |nu| <= 12 sqrt 3 / 1.5. The margin shrinks the slack alone. */
static void with_an_equality_the_radius_follows_from_the_room(void **state) {
    (void)state;
    static const char text[] =
        "agents a[i in 1..3] {\n state x in [0, 6]\n private minimize (x - 3)^2\n gap 4;  slater x = 1 within 0.5\n}\n"
        "constraint b: sum(a: x) == 3\n";
    static const char line[] = "constraint c: a[1].x <= 2\n";
    planned p;
    char both[1024];
    (void)snprintf(both, sizeof both, "%s" SCHEDULE, text);
    const tc_tacit_facts *f = facts_of(&p, both, quietly());
    near(f->radius, 12 * sqrt(3) / 1.5);
    assert_true(isnan(f->slack[0]));
    assert_int_equal(f->warning_count, 0);
    planned_end(&p);
    (void)snprintf(both, sizeof both, "%s%s" SCHEDULE, text, line);
    method_options asked = quietly();
    double plain = facts_of(&p, both, asked)->radius;
    planned_end(&p);
    asked.margin = (tc_margin_wish){.kind = TC_MARGIN_GIVEN, .amount = 0.75};
    f = facts_of(&p, both, asked);
    assert_true(plain >= 12 * sqrt(3) / 1.5 && f->radius > plain && isfinite(f->radius));
    near(f->slack[1], 1);
    planned_end(&p);
    (void)snprintf(both, sizeof both, "%s%sdual radius 7\n" SCHEDULE, text, line);
    near(facts_of(&p, both, quietly())->radius, 7 * sqrt(3));
    planned_end(&p);
}

static void a_margin_takes_of_the_slack_and_is_refused_where_nothing_is_left(void **state) {
    (void)state;
    planned p;
    method_options asked = quietly();
    asked.margin = (tc_margin_wish){.kind = TC_MARGIN_GIVEN, .amount = 1.5};
    near(facts_of(&p, affine, asked)->radius, 12 / (0.5 / sqrt(3)));
    const tc_plan *plan = method_plan(&p, &asked);
    const char *why = NULL;
    asked.margin.amount = 2;
    assert_null(tc_tacit_facts_make(p.arena, plan, p.model, p.derivatives, 6, asked.margin, &why));
    assert_string_equal(why,
                        "a margin of 2 leaves no room in constraint c: the declared Slater point satisfies it by 2");
    asked.margin.amount = -1;
    assert_null(tc_tacit_facts_make(p.arena, plan, p.model, p.derivatives, 6, asked.margin, &why));
    assert_string_equal(why, "the margin must be a number that is not negative");
    planned_end(&p);
}

static void a_margin_keeps_the_answer_inside(void **state) {
    (void)state;
    planned p;
    method_options asked = quietly();
    asked.margin = (tc_margin_wish){.kind = TC_MARGIN_GIVEN, .amount = 0.5};
    const tc_tacit_facts *f = facts_of(&p, affine, asked);
    tc_engine *engine = method_engine(p.arena, &p, method_plan(&p, &asked), f, 3, NULL, TC_DRIVER_AUTO, 0);
    run_to(engine, 2000);
    const double *x = tc_engine_result_states(engine);
    assert_true(fabs(x[0] + x[1] + x[2] - 4.5) < 1e-3);
    planned_end(&p);
}

/* Powers of two nearest to a width's part of the widest; boxes that are no more than four times apart have none. */
static void states_are_scaled_by_the_widths_of_their_boxes(void **state) {
    (void)state;
    static const char text[] =
        "agent a {\n state x in [0, %s]\n state y in [-1, 1]\n state z in [3, 3.1]\n"
        " private minimize x^2 + y^2 + z\n gap 900;  slater x = 0;  slater y = 0;  slater z = 3\n}\n"
        "constraint c: a.x + 2 * a.y + 4 * a.z <= 25\n" SCHEDULE;
    char wide[512];
    planned p;
    (void)snprintf(wide, sizeof wide, text, "9");
    const tc_tacit_facts *f = facts_of(&p, wide, quietly());
    assert_true(f->scales[0][0] == 1 && f->scales[0][1] == 0.25 && f->scales[0][2] == 0x1p-6);
    assert_true(fabs(f->box_length - sqrt(81 + 64 + 6.4 * 6.4) / 6) < 1e-12);
    assert_true(fabs(f->row_scale[0] - sqrt(1 + 0.25 + 0x1p-8)) < 1e-12);
    planned_end(&p);
    method_options asked = quietly();
    asked.margin.stays = true;
    f = facts_of(&p, wide, asked);
    assert_true(f->scales == NULL && fabs(f->row_scale[0] - sqrt(21)) < 1e-12);
    planned_end(&p);
    f = facts_of(&p, affine, quietly());
    assert_null(f->scales);
    planned_end(&p);
}

static void expect_warning(const char *text, method_options asked, const char *part) {
    planned p;
    const tc_tacit_facts *f = facts_of(&p, text, asked);
    bool found = false;
    for (size_t i = 0; i < f->warning_count; i++)
        found = found || strstr(f->warnings[i], part) != NULL;
    if (!found)
        fail_msg("no warning that has \"%s\", but %zu others: %s", part, f->warning_count,
                 f->warning_count > 0 ? f->warnings[0] : "");
    planned_end(&p);
}

static void warnings_say_where_little_is_to_be_expected(void **state) {
    (void)state;
    method_options noisy = quietly(), few = quietly();
    noisy.mechanism = TC_MECHANISM_LAPLACE;
    few.rounds = 150;
    expect_warning(affine, few, "150 rounds are too few");
    few.rounds = 1;
    expect_warning(affine, few, "1 round is too few");
    expect_warning(
        "agent a {\n state x in [0, 0.001]\n private minimize x^2\n gap 4;  slater x = 0\n}\n"
        "constraint c: a.x^2 <= 5\n" SCHEDULE,
        noisy, "the noise is wider than the public boxes, so the result says nothing about the constraints' prices");
    expect_warning("agent a {\n state x in [0, 1]\n private minimize x^2\n gap 4;  slater x = 0\n}\n"
                   "agent b {\n private param q = 1\n range q in [0.5, 2]\n protect q by 1\n state y in [0, 100]\n"
                   " private minimize q * y^2\n gap 4;  slater y = 0\n}\n"
                   "constraint c: a.x + b.y <= 5\n" SCHEDULE,
                   quietly(), "the widest public box is 100 times the narrowest, and with protected data");
    expect_warning(
        "agents a[i in 1..2] {\n state x in [0, 99 * i - 98]\n private minimize x^2\n gap 4;  slater x = 0\n}\n"
        "constraint c: sum(a: x) <= 5\n" SCHEDULE,
        quietly(), "the widest public box is 100 times the narrowest, and members of one family");
    expect_warning("agents a[i in 1..3] {\n state x in [0, 6]\n private minimize x^2\n gap 4;  slater x = 1\n}\n"
                   "constraint c[i in 1..3]: a[i].x <= 1.0001 + 3 * (i - 2)^2\n" SCHEDULE,
                   quietly(), "barely satisfies constraint c[2]");
    expect_warning("agent a {\n state x in [0, 1]\n private minimize x^2\n}\nconstraint c: a.x <= 5\n" SCHEDULE,
                   quietly(), "no public bound on the multipliers");
    expect_warning("agent a {\n state x in [0, 1]\n private minimize x^2\n gap 0;  slater x = 0\n}\n"
                   "constraint c: a.x <= 5\n" SCHEDULE,
                   quietly(), "the dual radius is 0");
}

/* Every warning of a plan with the file's own promise. */
static void expect_warnings(const char *text, tc_mechanism mechanism, double rounds, size_t count,
                            const char *const *parts) {
    planned p;
    method_options asked = {.mechanism = mechanism, .rounds = rounds, .radius = NAN, .keeps_privacy = true};
    const tc_tacit_facts *f = facts_of(&p, text, asked);
    for (size_t i = 0; i < f->warning_count && i < count; i++)
        if (strstr(f->warnings[i], parts[i]) == NULL)
            fail_msg("\"%s\" is not in: %s", parts[i], f->warnings[i]);
    if (f->warning_count != count)
        fail_msg("%zu warnings, not %zu: %s", f->warning_count, count, f->warning_count > 0 ? f->warnings[0] : "");
    planned_end(&p);
}

#define THREE_ROWS(limit)                                                                                              \
    "agents a[i in 1..3] {\n state x in [0, 6]\n private minimize x^2\n gap 4;  slater x = 1\n}\n"                     \
    "constraint c[i in 1..3]: a[i].x <= " limit "\nprivacy { epsilon 1; adjacency one 1 }\n" SCHEDULE

/* Noise on states: variance 2 in a round, so sqrt(1.8 * 2 / 2000) = 0.0424 in each constraint after all rounds. */
static void a_slack_that_noise_hides_is_warned_of_even_where_all_are_alike(void **state) {
    (void)state;
    const char *tiny = THREE_ROWS("1.001"), *wide = THREE_ROWS("1.06");
    expect_warnings(tiny, TC_MECHANISM_LAPLACE, 2000, 1,
                    (const char *const[]){"satisfies constraint c[1] by 0.001, and the noise left in it after all "
                                          "rounds has a standard deviation of 0.0424, and so it is with 2 others"});
    expect_warnings(tiny, TC_MECHANISM_LAPLACE, 2000, 1,
                    (const char *const[]){"a point further inside, more rounds or a larger epsilon helps"});
    expect_warnings(tiny, TC_MECHANISM_NONE, 2000, 0, NULL);
    expect_warnings(wide, TC_MECHANISM_LAPLACE, 2000, 0, NULL);
}

/* All rounds of an agent share one promise: averaged Gaussian noise does not depend on their number, Laplace noise
 * grows with its root. */
static void for_the_unit_agent_nobody_is_told_to_take_more_rounds(void **state) {
    (void)state;
    char loud[1024], quiet[1024];
    (void)snprintf(loud, sizeof loud, "%sprivacy { epsilon 1; delta 1e-6; adjacency agent }\n", affine);
    (void)snprintf(quiet, sizeof quiet, "%sprivacy { epsilon 2000; delta 1e-6; adjacency agent }\n", affine);
    expect_warnings(loud, TC_MECHANISM_LAPLACE, 2000, 1,
                    (const char *const[]){"more rounds make it worse, since all of them are hidden together: Gaussian "
                                          "noise (--mechanism gaussian) and about 200 rounds help"});
    expect_warnings(loud, TC_MECHANISM_GAUSSIAN, 2000, 1,
                    (const char *const[]){"more rounds do not help, since all of them are hidden together, and about "
                                          "200 are enough for the method"});
    expect_warnings(quiet, TC_MECHANISM_LAPLACE, 2000, 1,
                    (const char *const[]){"averaged over 2000 rounds it is 3.2 times that of about 200, which are "
                                          "enough for the method; take --rounds 200, or --mechanism gaussian"});
    expect_warnings(quiet, TC_MECHANISM_LAPLACE, 200, 0, NULL);
    expect_warnings(quiet, TC_MECHANISM_GAUSSIAN, 2000, 0, NULL);
}

#define WIDE_ROWS(epsilon, unit)                                                                                       \
    "agents a[i in 1..3] {\n state x in [0, 6]\n private minimize x^2\n gap 4;  slater x = 1\n}\n"                     \
    "constraint c[i in 1..3]: a[i].x <= 5\nprivacy { epsilon " epsilon "; delta 1e-6; adjacency " unit " }\n" SCHEDULE

/* Each state has noise of deviation sqrt(1.8 * 2 / 2000) / epsilon after all rounds, S_j is 1 and X = sqrt(3): 0.042 /
 * epsilon of X. */
static void multipliers_that_noise_hides_are_warned_of(void **state) {
    (void)state;
    expect_warnings(WIDE_ROWS("0.145", "one 1"), TC_MECHANISM_LAPLACE, 2000, 0, NULL);
    expect_warnings(
        WIDE_ROWS("0.138", "one 1"), TC_MECHANISM_LAPLACE, 2000, 1,
        (const char *const[]){"the multipliers cannot be known: averaged over all rounds, the noise is 0.31 "
                              "of X, the size of the public boxes"});
    expect_warnings(
        WIDE_ROWS("0.1", "one 1"), TC_MECHANISM_LAPLACE, 2000, 1,
        (const char *const[]){"0.42 of X, the size of the public boxes, and from 0.3 on multipliers are "
                              "usually off by half of their length or more; more rounds, a larger epsilon "
                              "or a unit of adjacency that asks for less noise help. More agents whose limits "
                              "grow alike help too"});
    expect_warnings(WIDE_ROWS("0.1", "one 1"), TC_MECHANISM_LAPLACE, 20000, 0, NULL);
    expect_warnings(WIDE_ROWS("0.1", "one 1"), TC_MECHANISM_NONE, 2000, 0, NULL);
    expect_warnings(WIDE_ROWS("300", "agent"), TC_MECHANISM_GAUSSIAN, 2000, 1,
                    (const char *const[]){"more rounds do not help, since all of them are hidden together, and about "
                                          "200 are enough for the method; a larger epsilon or a unit of adjacency that "
                                          "asks for less noise (data, or one:B) does. More agents"});
}

#define PLANTS "agents a[i in 1..10] {\n state p in [0, 10]\n private minimize p^2\n gap 100;  slater p = 5\n}\n"

static void expect_band(const char *rows, bool is_band) {
    planned p;
    char text[1024];
    method_options noisy = quietly();
    noisy.mechanism = TC_MECHANISM_LAPLACE;
    (void)snprintf(text, sizeof text, PLANTS "%s" SCHEDULE, rows);
    const tc_tacit_facts *f = facts_of(&p, text, noisy);
    bool found = false;
    for (size_t i = 0; i < f->warning_count; i++)
        found = found || strstr(f->warnings[i], "write one constraint with == instead") != NULL;
    if (found != is_band)
        fail_msg("%s: a band was %s", rows, found ? "found" : "not found");
    planned_end(&p);
}

/* Averaged noise is about 0.04 here. */
static void a_band_that_is_narrow_against_its_noise_should_be_an_equality(void **state) {
    (void)state;
    expect_band("constraint u: sum(a: p) <= 50.01\nconstraint l: sum(a: p) >= 49.99\n", true);
    expect_band("constraint u: sum(a: p) <= 51\nconstraint l: sum(a: p) >= 49\n", false);
    expect_band("constraint u[i in 1..2]: a[i].p + 0.3 * sum(a: p) <= 20.01 + i\n"
                "constraint l[i in 1..2]: a[i].p + 0.3 * sum(a: p) >= 19.99 - i / 100\n",
                false);
    expect_band("constraint u: 0.3 * sum(a: p) + a[2].p <= 20.01\nconstraint l: 19.99 - a[2].p <= sum(a: 0.3 * p)\n",
                true);
    expect_band("constraint u: sum(a: p) <= 50.01\nconstraint l: sum(a: i * p) >= 49.99\n", false);
    expect_band("constraint u: sum(a: p^2) <= 2501\nconstraint l: sum(a: (10 - p)^2) <= 2501\n", false);
    expect_band("constraint e: sum(a: p) == 50\nconstraint l: sum(a: p) >= 49.99\ndual radius 9\n", false);
}

/* The band's own rows have no point further inside. */
static void a_band_does_not_silence_other_rows(void **state) {
    (void)state;
    const char *text = PLANTS "constraint u: sum(a: p) <= 50.01\nconstraint l: sum(a: p) >= 49.99\n"
                              "constraint near: a[1].p <= 5.001\nprivacy { epsilon 1; adjacency one 1 }\n" SCHEDULE;
    expect_warnings(text, TC_MECHANISM_LAPLACE, 2000, 2,
                    (const char *const[]){"constraints u and l are a band of half-width 0.01",
                                          "satisfies constraint near by 0.001, and the noise left in it after all "
                                          "rounds has a standard deviation of"});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_radius_and_weights_are_those_of_the_formulas),
        cmocka_unit_test(with_noise_they_are_the_same),
        cmocka_unit_test(rows_in_other_units_are_found_with_their_factors),
        cmocka_unit_test(so_are_curved_rows_and_several_groups),
        cmocka_unit_test(signs_count_for_inequalities_alone),
        cmocka_unit_test(other_limits_and_other_members_are_other_rows),
        cmocka_unit_test(steep_rows_of_different_states_are_no_multiples),
        cmocka_unit_test(with_a_given_margin_inequalities_in_other_units_are_no_multiples),
        cmocka_unit_test(a_radius_that_is_given_is_scaled_by_the_largest_row),
        cmocka_unit_test(with_an_equality_the_radius_follows_from_the_room),
        cmocka_unit_test(a_band_that_is_narrow_against_its_noise_should_be_an_equality),
        cmocka_unit_test(a_margin_takes_of_the_slack_and_is_refused_where_nothing_is_left),
        cmocka_unit_test(a_margin_keeps_the_answer_inside),
        cmocka_unit_test(states_are_scaled_by_the_widths_of_their_boxes),
        cmocka_unit_test(warnings_say_where_little_is_to_be_expected),
        cmocka_unit_test(a_slack_that_noise_hides_is_warned_of_even_where_all_are_alike),
        cmocka_unit_test(for_the_unit_agent_nobody_is_told_to_take_more_rounds),
        cmocka_unit_test(multipliers_that_noise_hides_are_warned_of),
        cmocka_unit_test(a_band_does_not_silence_other_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
