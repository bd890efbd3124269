/* What the language means: constants, vectors, families, sums, settings. */
#include "model/evaluate.h"
#include "model/support.h"

/* The value of a constant expression, by way of a start value. */
static double constant(const char *expression) {
    char text[1000];
    (void)snprintf(text, sizeof text,
                   "param value = %s\nagent x { state y in [-1e300, 1e300]; private minimize y; start y = value }\n",
                   expression);
    bench b = load_good(text);
    double value = tc_coef_at(b.model->families[0].start[0], 0);
    bench_free(&b);
    return value;
}

static void constants_follow_the_usual_rules(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"2 - 3 - 4", -5},
        {"2 / 4 / 2", 0.25},
        {"-2^2", -4},
        {"(-2)^2", 4},
        {"2^3^2", 512},
        {"2^-1", 0.5},
        {"-2 * 3", -6},
        {"- -2", 2},
        {"0.1 + 0.2", 0.1 + 0.2},
        {"1 +\n 2", 3},
        {"(1\n + 2)", 3},
        {"1.5e-3", 1.5e-3},
        {"sum([1, 2, 3])", 6},
        {"sumsq([3, 4])", 25},
        {"norm([3, 4])", 5},
        {"norm2([3, 4])", 5},
        {"norm1([3, -4])", 7},
        {"norminf([3, -4])", 4},
        {"dot([1, 2], [3, 4])", 11},
        {"max(1, 5, 3) + min([4, 2])", 7},
        {"abs(-3)", 3},
        {"floor(2.5) + ceil(2.5)", 5},
        {"exp(0)", 1},
        {"length([4, 5, 6])", 3},
        {"[10, 20, 30][2]", 20},
        {"sum([10, 20, 30][2..3])", 50},
        {"[[1, 2], [3, 4]][2, 1]", 3},
        {"sum([[1, 2], [3, 4]][2])", 7},
        {"sum([[1, 2], [3, 4]][1..2, 2])", 6},
        {"transpose([[1, 2], [3, 4]])[1, 2]", 3},
        {"([[1, 2], [3, 4]] * [5, 6])[2]", 39},
        {"([[1, 2], [3, 4]] * [[5, 6], [7, 8]])[1, 2]", 22},
        {"quadform([1, 2], [[2, 1], [1, 3]])", 18},
        {"sum(i in 1..4: i^2)", 30},
        {"sum(i in 1..2, j in i..3: i * j)", 16},
        {"sum(i in 1..0: i)", 0},
        {"pow(2, 0.5)", 1.4142135623730951},
        {"huber(3, 1)", 2.5},
        {"huber(0.5, 1)", 0.125},
        {"logsumexp(0, 0)", 0.6931471805599453},
        {"ln(2)", 0.6931471805599453},
        {"sqrt(8)", 2.8284271247461903},
        {"norm([1, 2])^4", 25},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = constant(cases[i].text);
        if (value != cases[i].value) {
            print_error("%s is %.17g, not %.17g\n", cases[i].text, value, cases[i].value);
            fail();
        }
    }
}

static void a_node_that_is_a_constant_counts_as_one(void **state) {
    (void)state;
    bench b = load_good("agent a { state x in [0, 1]; private minimize x }\n"
                        "constraint c: a.x * max(a.x - a.x + 0.5, 0.25) <= abs(a.x - a.x - 2)\n");
    double x[] = {6};
    assert_true(constraint_at(b.model, 0, x) == 1);
    bench_free(&b);
}

static void definitions_stand_in_any_order(void **state) {
    (void)state;
    bench b = load_good(
        "agent x { state y[n] in [low, 1]; private minimize sum(y) * c; private param c = d; private param d = n }\n"
        "param low = -n\nparam n = m + 1\nparam m = 2\n");
    assert_int_equal(b.model->families[0].dim, 3);
    assert_true(b.model->families[0].lower[2].value == -3);
    double x[] = {1, 2, 3};
    assert_true(objective_at(b.model, 0, 0, x) == 18);
    bench_free(&b);
}

static void the_papers_problem_has_its_numbers(void **state) {
    (void)state;
    bench b = load_path(TACIT_SOURCE_DIR "/examples/paper.tacit");
    assert_int_equal(b.status, TC_OK);
    const tc_model *m = b.model;
    assert_int_equal(m->agent_count, 10);
    assert_int_equal(m->state_count, 20);
    assert_int_equal(m->constraint_count, 6);
    double x[20];
    for (size_t i = 0; i < 20; i++)
        x[i] = 0.5 * (double)i - 4; /* x[2 i], x[2 i + 1]: the states of agent i + 1 */
    double squares[11];
    for (size_t i = 1; i <= 10; i++)
        squares[i] = x[2 * i - 2] * x[2 * i - 2] + x[2 * i - 1] * x[2 * i - 1];
    double g[] = {squares[1] + squares[2] + squares[3] - 10, squares[4] + squares[5] + squares[6] - 50,
                  squares[7] + squares[8] + squares[9] - 50, x[0] * x[0] + x[8] + x[18] * x[18] - 50,
                  x[7] * x[7] + x[12] + x[17] - 20,          squares[8] + squares[6] - 30};
    for (size_t j = 0; j < 6; j++)
        assert_true(fabs(constraint_at(m, j, x) - g[j]) < 1e-12);
    assert_true(fabs(objective_at(m, 0, 0, x) - (x[0] - 5 + x[1] + 5)) < 1e-12);
    assert_true(fabs(objective_at(m, 4, 0, x) - pow((x[8] + 3) * (x[8] + 3) + (x[9] + 3) * (x[9] + 3), 2)) < 1e-9);
    assert_true(m->declared_constraints[0] == 39.82 && m->declared_constraints[1] == 56.71);
    assert_true(m->families[7].declared_jacobian[1].value == sqrt(8) && m->families[8].declared_jacobian[0].value == 2);
    assert_int_equal(m->privacy.mechanism, TC_MECHANISM_LAPLACE);
    assert_true(m->privacy.epsilon == log(2) && m->privacy.adjacency_bound == 1);
    assert_true(m->schedule.step == 0.01 && m->schedule.step_decay == 0.52 && m->schedule.regularization == 0.1 &&
                m->schedule.regularization_decay == 0.3 && m->schedule.rounds == 100000);
    /* Sums of squares, not powers of roots: smooth at zero. */
    for (size_t e = 0; e < m->dag->count; e++)
        assert_int_not_equal(m->dag->nodes[e].op, TC_SQRT);
    bench_free(&b);
}

static void a_family_is_stored_once(void **state) {
    (void)state;
    put_file("d.csv", "need,cap,pref_1,pref_2\n1,2,3,4\n5,6,7,8\n9,10,11,12\n");
    bench b = load_good(
        "data d = csv \"d.csv\" public cap\n"
        "agents home over d { state p[2] in [0, cap]; private minimize sumsq(p - pref) * need; slater p = cap / 4 }\n"
        "constraint c[t in 1..2]: sum(home: cap * p[t]) <= 5\n"
        "constraint again: sum(home: cap * p[1]) + home[2].p[2] >= 7\n");
    const tc_model *m = b.model;
    assert_int_equal(m->family_count, 1);
    assert_int_equal(m->agent_count, 3);
    assert_int_equal(m->sum_count, 2); /* the third is equal to the first */
    assert_int_equal(m->constraint_count, 3);
    assert_string_equal(m->constraints[1].name, "c[2]");
    assert_true(m->families[0].upper[1].column[2] == 10);
    assert_true(tc_coef_at(m->families[0].slater[0], 1) == 1.5);
    double x[] = {1, 2, 3, 4, 5, 6}; /* p[1] of all members, then p[2] */
    assert_true(constraint_at(m, 0, x) == 2 * 1 + 6 * 2 + 10 * 3 - 5);
    assert_true(constraint_at(m, 1, x) == 2 * 4 + 6 * 5 + 10 * 6 - 5);
    assert_true(constraint_at(m, 2, x) == 7 - (44 + 5));
    assert_true(objective_at(m, 0, 1, x) == 5 * ((2 - 7) * (2 - 7) + (5 - 8) * (5 - 8)));
    bench_free(&b);
}

static void members_index_gathers_columns(void **state) {
    (void)state;
    put_file("d.csv", "bus\n2\n1\n2\n");
    put_file("A.csv", "1,2,3\n4,5,6\n");
    bench b = load_good("data d = csv \"d.csv\" public bus\nparam A = csv \"A.csv\"\nparam v = [10, 20]\n"
                        "agents f[i] over d { state x in [0, i]; private minimize x * max(bus, i) }\n"
                        "constraint row[l in 1..2]: sum(f: A[l, i] * x) <= 0\n"
                        "constraint by_bus: sum(f: v[bus] * x + A[bus, i] * x) <= 0\n"
                        "constraint total: sum(f: x) <= sum(f: bus)\n");
    double x[] = {1, 10, 100};
    assert_true(constraint_at(b.model, 0, x) == 321);
    assert_true(constraint_at(b.model, 1, x) == 654);
    assert_true(constraint_at(b.model, 2, x) == 20 + 100 + 2000 + 4 + 20 + 600);
    assert_true(constraint_at(b.model, 3, x) == 111 - 5);
    assert_true(objective_at(b.model, 0, 0, x) == 2 && objective_at(b.model, 0, 2, x) == 300);
    assert_true(tc_coef_at(b.model->families[0].upper[0], 2) == 3);
    /* The same gather twice is one column: bus, i, A[1, i], A[2, i], v[bus], A[bus, i], max. */
    assert_int_equal(b.model->families[0].column_count, 7);
    bench_free(&b);
    put_file("d.csv", "bus\n2\n3\n");
    expect_error("data d = csv \"d.csv\" public bus\nparam v = [10, 20]\n"
                 "agents f over d { state x in [0, 1]; private minimize x * v[bus] }",
                 "an index must be a whole number between 1 and 2, but this is 3 for f[2]");
}

static void sums_over_one_agent_are_coordinates(void **state) {
    (void)state;
    bench b = load_good("agent a { state x in [0, 1]; state y[2] in [0, 1]; private minimize x }\n"
                        "agents f[k in 1..2] { state z in [0, 1]; private minimize z }\n"
                        "constraint c: sum(a: x * y[2]) + a.y[1] + sum(k in 1..2: f[k].z * k) <= 0\n");
    double x[] = {2, 3, 4, 5, 6};
    assert_int_equal(b.model->sum_count, 0);
    assert_true(constraint_at(b.model, 0, x) == 2 * 4 + 3 + 5 + 12);
    tc_buffer name = tc_buffer_new(b.arena, 100);
    tc_coord_name(&name, b.model, 0);
    tc_buffer_puts(&name, " ");
    tc_coord_name(&name, b.model, 2);
    tc_buffer_puts(&name, " ");
    tc_coord_name(&name, b.model, 4);
    assert_string_equal(tc_buffer_text(&name), "a.x a.y[2] f[2].z");
    bench_free(&b);
}

static void vector_relations_are_one_constraint_each(void **state) {
    (void)state;
    bench b = load_good("agents f[k in 1..2] { state p[3] in [0, 1]; private minimize sum(p) }\n"
                        "constraint c: sum(f: p) <= [1, 2, 3]\nconstraint d[k in 1..2]: f[k].p[1..2] >= 0.25\n");
    assert_int_equal(b.model->constraint_count, 7);
    assert_string_equal(b.model->constraints[2].name, "c[3]");
    assert_string_equal(b.model->constraints[5].name, "d[2,1]");
    double x[] = {1, 2, 3, 4, 5, 6};
    assert_true(constraint_at(b.model, 2, x) == 11 - 3);
    assert_true(constraint_at(b.model, 5, x) == 0.25 - 2);
    bench_free(&b);
}

static void starts_default_to_zero_clipped_to_the_box(void **state) {
    (void)state;
    put_file("d.csv", "low\n-1\n2\n");
    bench b = load_good("data d = csv \"d.csv\" public low\n"
                        "agents f over d { state x in [low, 5]; state y in [1, 2]; state z in [-3, -2]; private "
                        "minimize x; start y = 1.5 }\n"
                        "constraint c[i in 1..3]: sum(f: x) <= i\nstart multipliers 0.5\nstart c[2] = 2\n");
    const tc_family *f = &b.model->families[0];
    assert_true(tc_coef_at(f->start[0], 0) == 0 && tc_coef_at(f->start[0], 1) == 2);
    assert_true(f->start[1].value == 1.5 && f->start[2].value == -2);
    assert_true(b.model->start_multipliers[0] == 0.5 && b.model->start_multipliers[1] == 2);
    bench_free(&b);
}

static void names_from_data_are_the_agents_names(void **state) {
    (void)state;
    put_file("d.csv", "name,w\nanna,1\n\"b, c\",2\n");
    bench b = load_good("data d = csv \"d.csv\"\nagents f over d { state x in [0, 1]; private minimize x * w }\n");
    tc_buffer name = tc_buffer_new(b.arena, 100);
    tc_coord_name(&name, b.model, 1);
    assert_string_equal(tc_buffer_text(&name), "b, c.x");
    assert_ptr_equal(tc_family_of_agent(b.model, 1), &b.model->families[0]);
    bench_free(&b);
    put_file("d.csv", "name,w\nanna,1\ng,2\n");
    expect_error("data d = csv \"d.csv\"\nagents f over d { state x in [0, 1]; private minimize x * w }\n"
                 "agent g { state x in [0, 1]; private minimize x }",
                 "like another agent");
}

static void private_constants_may_flow_into_private_lines(void **state) {
    (void)state;
    bench b = load_good("private param w = [1, 2]\nagent a { state x[2] in [0, 1]; private param v = 2 * w; private "
                        "minimize dot(v, x); "
                        "private set x <= w; private start x = w / 4 }\n");
    double x[] = {1, 1};
    assert_true(objective_at(b.model, 0, 0, x) == 6);
    assert_true(tc_coef_at(b.model->families[0].start[1], 0) == 0.5);
    bench_free(&b);
}

static void settings_that_are_absent_are_unset(void **state) {
    (void)state;
    bench b = load_good("agent a { state x in [0, 1]; private minimize x }\nprivacy { adjacency agent }\nschedule { "
                        "gamma 0.5; rounds 7 }\n");
    assert_int_equal(b.model->privacy.mechanism, TC_MECHANISM_UNSET);
    assert_int_equal(b.model->privacy.adjacency, TC_ADJACENCY_AGENT);
    assert_true(isnan(b.model->privacy.epsilon) && isnan(b.model->schedule.regularization) &&
                isnan(b.model->dual_radius));
    assert_true(b.model->schedule.step == 0.5 && b.model->schedule.step_decay == 0 && b.model->schedule.rounds == 7);
    assert_true(isnan(b.model->families[0].declared_objective.value));
    bench_free(&b);
}

static void every_example_loads(void **state) {
    (void)state;
    static const char *const names[] = {"paper", "ev", "num", "robots", "dispatch", "lasso"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[300];
        (void)snprintf(path, sizeof path, TACIT_SOURCE_DIR "/examples/%s.tacit", names[i]);
        bench b = load_path(path);
        assert_string_equal(messages_of(&b), "");
        assert_int_equal(b.status, TC_OK);
        /* The public Slater point is strictly feasible, so that the dual radius is public. */
        const tc_model *m = b.model;
        double *x = TC_NEW(b.arena, double, m->state_count);
        for (size_t f = 0; f < m->family_count; f++) {
            const tc_family *family = &m->families[f];
            assert_true(family->has_gap && family->has_slater);
            for (size_t k = 0; k < family->count; k++) {
                for (size_t c = 0; c < family->dim; c++)
                    x[tc_coord_of(family, k, c)] = tc_coef_at(family->slater[c], k);
            }
        }
        for (size_t j = 0; j < m->constraint_count; j++)
            assert_true(m->constraints[j].is_equality ? fabs(constraint_at(m, j, x)) < 1e-12
                                                      : constraint_at(m, j, x) < -1e-3);
        bench_free(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_follow_the_usual_rules),
        cmocka_unit_test(a_node_that_is_a_constant_counts_as_one),
        cmocka_unit_test(definitions_stand_in_any_order),
        cmocka_unit_test(the_papers_problem_has_its_numbers),
        cmocka_unit_test(a_family_is_stored_once),
        cmocka_unit_test(members_index_gathers_columns),
        cmocka_unit_test(sums_over_one_agent_are_coordinates),
        cmocka_unit_test(vector_relations_are_one_constraint_each),
        cmocka_unit_test(starts_default_to_zero_clipped_to_the_box),
        cmocka_unit_test(names_from_data_are_the_agents_names),
        cmocka_unit_test(private_constants_may_flow_into_private_lines),
        cmocka_unit_test(settings_that_are_absent_are_unset),
        cmocka_unit_test(every_example_loads),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
