/* Functions with kinks: what they are worth, and how relations with kinks become rows without. */
#include "model/evaluate.h"
#include "model/support.h"
#include "support/random.h"

static void expect_near(double a, double b, double error) {
    if (!(fabs(a - b) <= error))
        fail_msg("%.17g, not %.17g", a, b);
}

/* ---- values ---- */

static double objective_of(const char *expression, const double *x) {
    char text[500];
    (void)snprintf(text, sizeof text, "agent a { state x[3] in [-9, 9]; private minimize %s }", expression);
    bench b = load_good(text);
    double value = objective_at(b.model, 0, 0, x);
    bench_free(&b);
    return value;
}

static void functions_of_states_have_the_values_of_their_definitions(void **state) {
    (void)state;
    const double x[] = {-2, 0.5, 3};
    const struct {
        const char *expression;
        double value;
    } cases[] = {
        {"abs(x[1])", 2},
        {"sum(abs(x - 1))", 5.5},
        {"norm1(x)", 5.5},
        {"norminf(x)", 3},
        {"norminf(-2 * x)", 6},
        {"max(x)", 3},
        {"min(x)", -2},
        {"max(x[1], x[2] - 1, -4)", -0.5},
        {"min(x[1], x[2] - 1, -4)", -4},
        {"sum(pos(x))", 3.5},
        {"sum(maximum(x, [0, 1, 2]))", 4},
        {"sum(maximum(1, x))", 5},
        {"sum(minimum(x, 0, [-3, 5, 5]))", -3},
        {"abs(x[1])^2", 4},
        {"max(abs(x))", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AT_CASE(i);
        expect_near(objective_of(cases[i].expression, x), cases[i].value, 1e-15);
    }
}

static void functions_of_numbers_are_numbers(void **state) {
    (void)state;
    bench b = load_good("param v = [-1, 2, 0.5]\n"
                        "param w = maximum(v, 1) + pos(v) + minimum(0, v)\n"
                        "agent a { state x in [0, 9]; private minimize dot(w, [1, 10, 100]) * x + max(v) + min(v) }");
    const double x[] = {1};
    expect_near(objective_at(b.model, 0, 0, x), 0 + 40 + 150 + 2 - 1, 1e-12);
    bench_free(&b);
}

static void functions_of_data_are_data(void **state) {
    (void)state;
    put_file("d.csv", "u,v\n1,2\n5,3\n");
    bench b =
        load_good("data d = csv \"d.csv\" public u, v\n"
                  "agents a over d { state x in [0, 9]; private minimize (maximum(u, v) + 10 * pos(u - v)) * x }\n"
                  "constraint c: sum(a: minimum(u, v, 4) * x) <= 99");
    const double x[] = {1, 1};
    expect_near(objective_at(b.model, 0, 0, x), 2, 0);
    expect_near(objective_at(b.model, 0, 1, x), 25, 0);
    expect_near(constraint_at(b.model, 0, x), 1 + 3 - 99, 0);
    /* No expression that another program evaluates has maxima of data. */
    const tc_node *n = &b.model->dag->nodes[b.model->sums[0].body];
    assert_true(n->op == TC_MUL && b.model->dag->nodes[n->a].op != TC_NEG && b.model->dag->nodes[n->b].op != TC_NEG);
    bench_free(&b);
}

/* ---- relations ---- */

#define THREE "agent a { state x[3] in [-9, 9]; private minimize 0 }\n"

/* That the largest row has the sign of the written difference, everywhere. */
static void expect_rows(const char *relation, double (*difference)(const double *x), size_t rows, const char *first) {
    char text[500];
    (void)snprintf(text, sizeof text, THREE "constraint c: %s\n", relation);
    bench b = load_good(text);
    uint64_t seed = 5;
    double x[3];
    assert_int_equal(b.model->constraint_count, rows);
    assert_string_equal(b.model->constraints[0].name, first);
    for (int trial = 0; trial < 200; trial++) {
        double largest = -INFINITY;
        for (size_t i = 0; i < 3; i++)
            x[i] = uniform(&seed, -3, 3);
        for (size_t j = 0; j < rows; j++)
            largest = fmax(largest, constraint_at(b.model, j, x));
        expect_near(largest, difference(x), 1e-12);
    }
    bench_free(&b);
}

static double of_max(const double *x) { return fmax(x[0], fmax(2 * x[1], x[2] - 1)) - 1.5; }
static double of_abs(const double *x) { return fabs(x[0] - x[1]) - x[2]; }
static double of_sum(const double *x) { return 2 * fabs(x[0]) + fmax(x[1], 0) / 2 + x[2] - 4; }
static double of_min(const double *x) { return x[0] - fmin(x[1], x[2]); }
static double of_norminf(const double *x) { return fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(x[2]))) - 2; }
static double of_nested(const double *x) { return fmax(fabs(x[0]), fmax(x[1], -x[2])) - 2; }

static void a_relation_with_kinks_is_all_its_rows(void **state) {
    (void)state;
    expect_rows("max(a.x[1], 2 * a.x[2], a.x[3] - 1) <= 1.5", of_max, 3, "c[1]");
    expect_rows("1.5 >= max(a.x[1], 2 * a.x[2], a.x[3] - 1)", of_max, 3, "c[1]");
    expect_rows("abs(a.x[1] - a.x[2]) <= a.x[3]", of_abs, 2, "c[1]");
    expect_rows("2 * abs(a.x[1]) + pos(a.x[2]) / 2 + a.x[3] <= 4", of_sum, 4, "c[1]");
    expect_rows("a.x[1] <= min(a.x[2], a.x[3])", of_min, 2, "c[1]");
    expect_rows("max(abs(a.x[1]), a.x[2], -a.x[3]) <= 2", of_nested, 4, "c[1]");
    expect_rows("norminf(a.x) <= 2", of_norminf, 6, "c[1]");
}

static void rows_are_in_the_order_of_arguments_and_named_after_elements(void **state) {
    (void)state;
    bench b = load_good(THREE "constraint c[k in 1..2]: abs(a.x[k]) <= k\n"
                              "constraint d: maximum(a.x, 0) <= [1, 2, 3]\n"
                              "constraint e: abs(a.x[1]) <= 4\n"
                              "start e = [0.5, 0.25]\n");
    static const char *const names[] = {"c[1,1]", "c[1,2]", "c[2,1]", "c[2,2]", "d[1,1]", "d[1,2]",
                                        "d[2,1]", "d[2,2]", "d[3,1]", "d[3,2]", "e[1]",   "e[2]"};
    const double x[] = {1, 2, 3};
    assert_int_equal(b.model->constraint_count, 12);
    for (size_t j = 0; j < 12; j++)
        assert_string_equal(b.model->constraints[j].name, names[j]);
    expect_near(constraint_at(b.model, 10, x), -3, 0);
    expect_near(constraint_at(b.model, 11, x), -5, 0);
    assert_true(b.model->start_multipliers[10] == 0.5 && b.model->start_multipliers[11] == 0.25);
    bench_free(&b);
}

/* At the boundary the row has the value and the slope of the norm less its bound. */
static void a_norm_is_measured_by_its_square(void **state) {
    (void)state;
    const char *forms[] = {"norm(a.x - 1) <= 2", "2 >= norm(a.x - 1)", "norm(a.x - 1) - 2 <= 0",
                           "sqrt(sumsq(a.x - 1)) <= 2"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, THREE "constraint c: %s\n", forms[i]);
        bench b = load_good(text);
        double inside[] = {1, 1, 1}, edge[] = {1, 3, 1}, beyond[] = {1, 3 + 1e-6, 1};
        assert_string_equal(b.model->constraints[0].name, "c");
        expect_near(constraint_at(b.model, 0, inside), -1, 1e-15); /* (0 - 4) / 4 */
        expect_near(constraint_at(b.model, 0, edge), 0, 1e-15);
        expect_near(constraint_at(b.model, 0, beyond), 1e-6, 1e-12);
        bench_free(&b);
    }
    bench b = load_good(THREE "constraint c: 3 * norm(a.x) <= 6\nconstraint d: sqrt(sumsq(a.x) + 1) <= 2\n");
    const double edge[] = {0, 2 + 1e-6, 0};
    expect_near(constraint_at(b.model, 0, edge), 3e-6, 1e-11);
    expect_near(constraint_at(b.model, 1, edge), sqrt(5) - 2, 1e-5); /* no kink: as it was written */
    bench_free(&b);
}

static void sets_have_rows_without_kinks(void **state) {
    (void)state;
    bench b =
        load_good("agent a {\n state x[2] in [-9, 9]\n state t in [0, 9]\n"
                  " private set abs(x) <= 1.5\n private set t >= max(x[1] - x[2], 2 * x[1])\n private minimize 0\n}");
    assert_int_equal(b.model->families[0].piece_count, 6);
    bench_free(&b);
}

/* Of two relations with the same kink, the one that is refused is shown. */
static void a_kink_is_shown_in_the_relation_that_is_refused(void **state) {
    (void)state;
    expect_messages("agent a { state x in [-1, 1]; private minimize x }\n"
                    "constraint one: abs(a.x) <= 0.5\n"
                    "constraint two: exp(abs(a.x)) <= 2\n",
                    "p.tacit:3:17: error: this has a kink that no rewriting takes out of the relation; give an agent a "
                    "state t with 'private set abs(u) <= t', or max(u, v) <= t, and write t here\n"
                    "    constraint two: exp(abs(a.x)) <= 2\n"
                    "                    ^~~~~~~~~~~~~~~~~~\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_states_have_the_values_of_their_definitions),
        cmocka_unit_test(functions_of_numbers_are_numbers),
        cmocka_unit_test(functions_of_data_are_data),
        cmocka_unit_test(a_relation_with_kinks_is_all_its_rows),
        cmocka_unit_test(rows_are_in_the_order_of_arguments_and_named_after_elements),
        cmocka_unit_test(a_norm_is_measured_by_its_square),
        cmocka_unit_test(a_kink_is_shown_in_the_relation_that_is_refused),
        cmocka_unit_test(sets_have_rows_without_kinks),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
