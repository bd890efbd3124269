/* Minima of agents and Slater points. */
#include "solver/ensemble.h"
#include "solver/search.h"

#include "solver/problem.h"
#include "solver/shapes.h"
#include "support/cmocka.h"

static void expect_minimum(const char *objective, const char *set, double value, double x1, double x2) {
    char text[512];
    (void)snprintf(text, sizeof text, "agent a { state x[2] in [-2, 3]; %s private minimize %s }", set, objective);
    problem p = problem_of(text);
    double minimum, point[2];
    tc_minimum found =
        tc_minimum_of_family(p.arena, p.model, p.derivatives, &p.model->families[0], 1, NULL, &minimum, point);
    if (!(fabs(minimum - value) <= 1e-10 * (1 + fabs(value))))
        fail_msg("%s: %.15g, not %.15g", text, minimum, value);
    assert_true(found.sum == minimum && found.inaccurate == 0 && found.error <= 1e-8);
    if (!isnan(x1) && !(fabs(point[0] - x1) < 1e-4 && fabs(point[1] - x2) < 1e-4))
        fail_msg("%s: at %g %g", text, point[0], point[1]);
    problem_free(&p);
}

static void minima_in_a_box_are_found(void **state) {
    (void)state;
    expect_minimum("sumsq(x - [1, 5])", "", 4, 1, 3);
    expect_minimum("x[1] + 2 * x[2]", "", -6, -2, -2);
    expect_minimum("(x[1] - 1)^4 + (x[2] + 1)^6", "", 0, NAN, NAN);
    expect_minimum("exp(x[1]) - x[1] + exp(-x[2])", "", 1 + exp(-3), 0, 3);
    expect_minimum("-log(x[1] + 2.001) - log(x[2] + 3)", "", -log(5.001) - log(6), 3, 3);
    expect_minimum("(x[1] + x[2] - 1)^2", "", 0, NAN, NAN);
    expect_minimum("huber(x[1] - 9, 1) + huber(x[2], 0.1)", "", 5.5, 3, 0);
    expect_minimum("quadform(x - [1, 1], [[2, 1.9], [1.9, 2]])", "", 0, 1, 1);
    expect_minimum("logsumexp([10 * x[1], -10 * x[1], x[2]])", "", log(2 + exp(-2)), 0, -2);
    expect_minimum("0 * x[1] + 4", "", 4, NAN, NAN);
}

static void minima_in_other_sets_are_found(void **state) {
    (void)state;
    expect_minimum("sumsq(x)", "private set sum(x) >= 2;", 2, 1, 1);
    expect_minimum("x[1]", "private set norm(x) <= 1;", -1, -1, 0);
    expect_minimum("x[1] + x[2]", "private set x in simplex(2);", 2, NAN, NAN);
    expect_minimum("-2 * x[1] - x[2]", "private set norm1(x) <= 1.5;", -3, 1.5, 0);
    expect_minimum("x[2]", "private set quadform(x, [[1, 0], [0, 4]]) <= 1;", -0.5, 0, -0.5);
    expect_minimum("sumsq(x - [3, 3])", "private set norm(x) <= 1; private set x[1] + x[2] <= 1;", 12.5, 0.5, 0.5);
}

/* Members in a box go side by side, those with a ball one by one. */
static void no_minimum_depends_on_the_number_of_threads(void **state) {
    (void)state;
    static const size_t threads[] = {2, 3, 7, 0};
    problem p = problem_of("agents a[i in 1..6000] { state x[2] in [-5, 5]; private set norm(x) <= i / 1000\n"
                           " private minimize (x[1] - i / 5000)^4 + (x[2] - i / 2000)^2 + i }\n");
    size_t count = 6000;
    double *alone = TC_NEW(p.arena, double, 3 * count), *shared = TC_NEW(p.arena, double, 3 * count);
    const tc_family *family = &p.model->families[0];
    tc_minimum one = tc_minimum_of_family(p.arena, p.model, p.derivatives, family, 1, NULL, alone, alone + count);
    assert_int_equal(one.inaccurate, 0);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        memset(shared, 0, 3 * count * sizeof *shared);
        tc_minimum found =
            tc_minimum_of_family(p.arena, p.model, p.derivatives, family, threads[t], NULL, shared, shared + count);
        assert_memory_equal(&found.sum, &one.sum, sizeof one.sum);
        assert_memory_equal(&found.error, &one.error, sizeof one.error);
        assert_memory_equal(shared, alone, 3 * count * sizeof *alone);
    }
    problem_free(&p);
}

static void many_members_are_streamed(void **state) {
    (void)state;
    problem p = problem_of("agents a[i in 1..20000] { state x[2] in [-5, 5]\n"
                           " private minimize (x[1] - i / 5000)^4 + (x[2] - i / 2000)^2 + i }\n");
    size_t count = 20000;
    double *minima = TC_NEW(p.arena, double, count), *points = TC_NEW(p.arena, double, 2 * count);
    tc_minimum found =
        tc_minimum_of_family(p.arena, p.model, p.derivatives, &p.model->families[0], 1, NULL, minima, points);
    assert_int_equal(found.inaccurate, 0);
    for (size_t k = 0; k < count; k++) {
        double i = (double)(k + 1), over = fmax(0, i / 2000 - 5);
        assert_true(fabs(minima[k] - (i + over * over)) <= 1e-9 * i);
        assert_true(fabs(points[count + k] - fmin(5, i / 2000)) <= 1e-6);
    }
    problem_free(&p);
}

static const tc_slater *search(problem *p, const char *text, size_t limit) {
    *p = problem_of(text);
    return tc_slater_search(p->arena, p->model, p->derivatives, limit, NULL);
}

static void assert_margin(const problem *p, const tc_slater *slater) {
    tc_ensemble *ensemble = tc_ensemble_new(p->arena, p->model, p->derivatives, false);
    size_t worst;
    assert_true(tc_ensemble_values(ensemble, slater->point));
    double margin = (double)-tc_ensemble_largest(ensemble, &worst);
    assert_true(fabs(margin - slater->margin) <= 1e-12 * (1 + fabs(margin)));
    assert_true(fabs((double)ensemble->objective - slater->objective) <= 1e-9 * (1 + fabs(slater->objective)));
}

static void the_largest_margin_is_found(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double margin;
    } cases[] = {
        {"agent a { state x[2] in [-5, 5]; private minimize x[1] }\nconstraint c: sumsq(a.x) <= 10\n", 10},
        {"agent a { state x[2] in [0, 5]; private minimize x[1] }\nconstraint c: a.x[1] + a.x[2] >= 4\n", 6},
        {"agents a[i in 1..5] { state x in [0, 1]; private minimize x }\n"
         "constraint c: sum(a: x) <= 3\nconstraint d: sum(a: x) >= 1\n",
         1},
        {"agents a[i in 1..5] { state x[2] in [-1, 1]; private set norm(x) <= 1; private minimize x[1] }\n"
         "constraint c: sum(a: x[1]) <= -3\n",
         2},
        {"agent a { state x in [1, 5]; private minimize x }\nconstraint c: log(a.x) >= 1\n", 0.6094379124341003},
        {"agent a { state x in [-5, 5]; private minimize x }\nconstraint c: 1e6 * a.x <= 0\nconstraint d: a.x >= -4\n",
         4e6 / (1e6 + 1)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        problem p;
        const tc_slater *slater = search(&p, cases[i].text, 50000);
        assert_int_equal(slater->outcome, TC_SLATER_FOUND);
        if (!slater->is_largest)
            fail_msg("%s: not known to be the largest", cases[i].text);
        if (!(fabs(slater->margin - cases[i].margin) <= 1e-6 * cases[i].margin))
            fail_msg("%s: margin %.12g", cases[i].text, slater->margin);
        assert_margin(&p, slater);
        problem_free(&p);
    }
}

static void the_cheap_search_finds_a_point_too(void **state) {
    (void)state;
    problem p;
    const tc_slater *slater = search(&p,
                                     "agents a[i in 1..300] { state x[2] in [-1, 1]; private set norm(x) <= 1\n"
                                     " private minimize x[1] }\n"
                                     "constraint c: sum(a: x[1]) <= -100\n"
                                     "constraint d: sum(a: x[2]) >= 100\n"
                                     "constraint e: sum(a: sumsq(x)) <= 200\n",
                                     0);
    assert_int_equal(slater->outcome, TC_SLATER_FOUND);
    assert_false(slater->is_largest);
    assert_true(slater->margin > 1);
    assert_margin(&p, slater);
    problem_free(&p);
}

static void where_there_is_none_the_best_is_told(void **state) {
    (void)state;
    problem p;
    const tc_slater *slater = search(&p,
                                     "agent a { state x[2] in [-5, 5]; private minimize x[1] }\n"
                                     "constraint c: a.x[1] + a.x[2] <= -20\n",
                                     50000);
    assert_int_equal(slater->outcome, TC_SLATER_NONE);
    assert_true(fabs(slater->margin + 10) < 1e-6);
    problem_free(&p);
    slater = search(&p,
                    "agent a { state x in [-5, 5]; private minimize x }\n"
                    "constraint c: a.x <= 1\nconstraint d: a.x >= 1\n",
                    50000);
    assert_int_equal(slater->outcome, TC_SLATER_NONE);
    assert_true(fabs(slater->margin) < 1e-7);
    problem_free(&p);
}

static void a_declared_point_counts_as_a_candidate(void **state) {
    (void)state;
    problem p;
    const tc_slater *slater = search(&p,
                                     "agents a[i in 1..4] { state x[2] in [-5, 5]; slater x = [1, 2]\n"
                                     " private minimize x[1] }\n"
                                     "constraint c: sum(a: (x[1] - 1)^2 + (x[2] - 2)^2) <= 3\n",
                                     0);
    assert_int_equal(slater->outcome, TC_SLATER_FOUND);
    assert_true(slater->is_declared && fabs(slater->margin - 3) < 1e-12);
    problem_free(&p);
}

static void an_empty_set_is_named(void **state) {
    (void)state;
    problem p;
    const tc_slater *slater = search(&p,
                                     "agents a[i in 1..4] { state x[2] in [0, 1]; private set sum(x) >= i - 1\n"
                                     " private minimize x[1] }\nconstraint c: sum(a: x[1]) <= 9\n",
                                     50000);
    assert_int_equal(slater->outcome, TC_SLATER_EMPTY_SET);
    assert_int_equal(slater->empty_agent, 3);
    problem_free(&p);
}

/* Evaluation of the ensemble against plain differences. */
static void the_gradient_of_the_ensemble_is_that_of_its_values(void **state) {
    (void)state;
    problem p =
        problem_of("agents a[i in 1..70] { state x[2] in [-1, 1]; private minimize exp(x[1]) * 1 + i * x[2]^2 }\n"
                   "agent b { state y in [-1, 1]; private minimize y^4 }\n"
                   "constraint c: sum(a: sumsq(x))^2 + b.y <= 9\n"
                   "constraint d: a[3].x[2] + sum(a: x[1]) / 70 <= 2\n");
    uint64_t seed = 3;
    size_t n = p.model->state_count;
    double *x = TC_NEW(p.arena, double, n), mu[2] = {0.3, 0.7};
    for (size_t i = 0; i < n; i++)
        x[i] = uniform(&seed, -1, 1);
    for (int fast = 0; fast < 2; fast++) {
        tc_ensemble *ensemble = tc_ensemble_new(p.arena, p.model, p.derivatives, fast);
        for (size_t f = 0; f < 2; f++)
            for (size_t k = 0; k < p.model->families[f].count; k++)
                for (size_t c = 0; c < p.model->families[f].dim; c++) {
                    tc_real gradient[2 * TC_LANES], sides[2];
                    size_t at = tc_coord_of(&p.model->families[f], k, c);
                    double middle = x[at], h = 1e-6;
                    assert_true(tc_ensemble_values(ensemble, x));
                    tc_ensemble_prices(ensemble, mu);
                    tc_ensemble_gradient(ensemble, f, k, 1, x, true, gradient);
                    for (int side = 0; side < 2; side++) {
                        x[at] = middle + (side == 0 ? -h : h);
                        assert_true(tc_ensemble_values(ensemble, x));
                        sides[side] = ensemble->objective + 0.3L * ensemble->g[0] + 0.7L * ensemble->g[1];
                    }
                    x[at] = middle;
                    double slope = (double)((sides[1] - sides[0]) / (2 * (tc_real)h));
                    assert_true(fabs(slope - (double)gradient[c * TC_LANES]) <= 1e-5 * (1 + fabs(slope)));
                }
    }
    problem_free(&p);
}

static void equalities_hold_at_the_point_of_the_largest_margin(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double margin;
    } cases[] = {
        {"agents a[i in 1..5] { state x in [0, 1]; private minimize x }\n"
         "constraint e: sum(a: x) == 2\nconstraint c: a[1].x + a[2].x <= 0.75\n",
         0.75},
        {"agents a[i in 1..2] { state x in [-5, 5]; private minimize x }\n"
         "constraint e: a[1].x - a[2].x == 4\nconstraint c: sumsq([a[1].x, a[2].x]) <= 10\n",
         2},
        {"agents a[i in 1..3] { state x in [0, 1]; private minimize x }\n"
         "constraint e: sum(a: x) == 2\nconstraint f: 2 * sum(a: x) == 4\n",
         INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        problem p;
        const tc_slater *slater = search(&p, cases[i].text, 50000);
        assert_int_equal(slater->outcome, TC_SLATER_FOUND);
        assert_true(slater->margin == cases[i].margin ||
                    fabs(slater->margin - cases[i].margin) <= 1e-6 * cases[i].margin);
        assert_true(slater->missed <= 1e-9);
        double x[5];
        assert_true(tc_inner_point(p.arena, p.model, p.derivatives, NULL, x));
        for (size_t c = 0; c < p.model->state_count; c++)
            assert_true(x[c] > p.model->families[0].lower[0].value + 0.01 &&
                        x[c] < p.model->families[0].upper[0].value - 0.01);
        problem_free(&p);
    }
}

static void equalities_that_no_point_satisfies_are_marked(void **state) {
    (void)state;
    problem p;
    const tc_slater *slater = search(&p,
                                     "agents a[i in 1..3] { state x in [0, 1]; private minimize x }\n"
                                     "constraint fine: a[1].x == a[2].x\nconstraint low: sum(a: x) <= 1\n"
                                     "constraint high: sum(a: x) == 2\n",
                                     50000);
    assert_int_equal(slater->outcome, TC_SLATER_NONE);
    assert_true(slater->is_shown && !slater->conflict[0] && slater->conflict[1] && slater->conflict[2]);
    problem_free(&p);
}

static void inequalities_that_no_point_satisfies_are_marked_with_the_agents_whose_sets_matter(void **state) {
    (void)state;
    problem p;
    const tc_slater *slater = search(&p,
                                     "agents a[i in 1..3] { state x[2] in [0, 1]; private minimize sum(x)\n"
                                     "  private set sum(x) <= i / 2 }\n"
                                     "agent b { state y in [0, 1]; private minimize y; private set y >= 0.2 }\n"
                                     "constraint low: b.y <= 0.5\nconstraint some: a[3].x[1] <= 0.9\n"
                                     "constraint high: a[1].x[1] + a[1].x[2] + a[3].x[2] - b.y >= 2\n",
                                     50000);
    assert_int_equal(slater->outcome, TC_SLATER_NONE); /* high: 0.5 + 1 - 0.2 at most */
    assert_true(slater->is_shown && !slater->conflict[0] && !slater->conflict[1] && slater->conflict[2]);
    assert_true(fabs(slater->missed - 0.7) < 1e-6);
    assert_true(slater->held[0] && !slater->held[1] && !slater->held[2] && slater->held[3]);
    problem_free(&p);
    slater = search(&p,
                    "agents a[i in 1..3] { state x in [0, 1]; private minimize x }\n"
                    "constraint edge: sum(a: x) <= 0\n",
                    50000);
    assert_true(slater->outcome == TC_SLATER_NONE && !slater->is_shown); /* it holds, if not strictly */
    problem_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minima_in_a_box_are_found),
        cmocka_unit_test(minima_in_other_sets_are_found),
        cmocka_unit_test(no_minimum_depends_on_the_number_of_threads),
        cmocka_unit_test(many_members_are_streamed),
        cmocka_unit_test(inequalities_that_no_point_satisfies_are_marked_with_the_agents_whose_sets_matter),
        cmocka_unit_test(the_largest_margin_is_found),
        cmocka_unit_test(the_cheap_search_finds_a_point_too),
        cmocka_unit_test(where_there_is_none_the_best_is_told),
        cmocka_unit_test(a_declared_point_counts_as_a_candidate),
        cmocka_unit_test(an_empty_set_is_named),
        cmocka_unit_test(equalities_hold_at_the_point_of_the_largest_margin),
        cmocka_unit_test(equalities_that_no_point_satisfies_are_marked),
        cmocka_unit_test(the_gradient_of_the_ensemble_is_that_of_its_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
