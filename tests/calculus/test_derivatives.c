#include "calculus/derivatives.h"
#include "calculus/tape/tape.h"
#include "support/cmocka.h"

#include <math.h>
#include <stdio.h>

static tc_arena *arena;
static tc_dag *dag;

static int set_up(void **state) {
    (void)state;
    arena = tc_arena_new(0);
    if (arena == NULL)
        return -1;
    dag = tc_dag_new(arena, 4000000);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tc_arena_free(arena);
    return 0;
}

static tc_expr x(uint64_t component) { return tc_state(dag, 0, component); }
static tc_expr c(double value) { return tc_const(dag, value); }

/* A model of one family with the given objective and no constraints. */
static tc_model *model_of(tc_expr objective) {
    tc_model *model = TC_NEW(arena, tc_model, 1);
    model->arena = arena;
    model->dag = dag;
    model->families = TC_NEW(arena, tc_family, 1);
    model->family_count = 1;
    model->families[0].count = 1;
    model->families[0].objective = objective;
    return model;
}

static double constant(tc_expr e) {
    assert_int_equal(tc_node_of(dag, e)->op, TC_CONST);
    return tc_node_of(dag, e)->u.value;
}

static double value_at(tc_expr e, const double *point, size_t dimension) {
    tc_tape *tape = tc_tape_new(arena, dag, &e, 1);
    const double **rows = TC_NEW(arena, const double *, dimension);
    for (size_t i = 0; i < dimension; i++)
        rows[i] = &point[i];
    double *work = TC_NEW(arena, double, tc_tape_work(tape)), result;
    tc_tape_eval(tape, &(tc_inputs){.state = rows}, 1, work, (double *const[]){&result});
    return result;
}

static void a_sum_of_squares_has_a_linear_gradient_and_a_constant_diagonal_hessian(void **state) {
    (void)state;
    enum { N = 10000 };
    tc_expr sum = c(0);
    for (size_t i = 0; i < N; i++)
        sum = tc_add(dag, sum, tc_pow(dag, tc_sub(dag, x(i), c((double)i)), 2));
    size_t before = dag->count;
    const tc_family_derivatives *d = &tc_derive(arena, model_of(sum))->families[0];
    assert_true(dag->count - before <= 2 * N + 10);
    assert_int_equal(d->objective_first_count, N);
    assert_int_equal(d->objective_second_count, N);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(d->objective_first[i].column, i);
        assert_int_equal(d->objective_second[i].column, i);
        assert_int_equal(d->objective_second[i].other, i);
        assert_true(constant(d->objective_second[i].value) == 2);
    }
}

static void a_dense_quadratic_form_has_its_matrix_as_hessian(void **state) {
    (void)state;
    enum { N = 200 };
    tc_expr sum = c(0);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++)
            sum = tc_add(dag, sum, tc_mul(dag, c((double)(i * 7 + j * 3 + 1)), tc_mul(dag, x(i), x(j))));
    }
    const tc_family_derivatives *d = &tc_derive(arena, model_of(sum))->families[0];
    assert_int_equal(d->objective_first_count, N);
    assert_int_equal(d->objective_second_count, N * (N + 1) / 2);
    for (size_t k = 0; k < d->objective_second_count; k++) {
        const tc_second *s = &d->objective_second[k];
        assert_true(s->other <= s->column);
        assert_false(tc_node_of(dag, s->value)->has_state);
        assert_true(constant(s->value) == 10.0 * (s->column + s->other) + 2);
    }
}

static void a_long_product_is_differentiated_in_linear_size(void **state) {
    (void)state;
    enum { N = 60 };
    tc_expr product = x(0);
    double point[N];
    for (size_t i = 0; i < N; i++) {
        point[i] = 1 + (double)i / N;
        product = i == 0 ? x(0) : tc_mul(dag, product, x(i));
    }
    tc_expr *leaves, *partials;
    size_t before = dag->count;
    assert_int_equal(tc_gradient(arena, tc_differentiator_new(arena, dag), product, TC_STATE, &leaves, &partials), N);
    assert_true(dag->count - before <= 3 * N);
    double whole = value_at(product, point, N);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(leaves[i], x(i));
        assert_true(fabs(value_at(partials[i], point, N) * point[i] / whole - 1) < 1e-13);
    }
}

static void the_gradient_of_logsumexp_is_the_softmax(void **state) {
    (void)state;
    enum { N = 50 };
    tc_expr arguments[N];
    double point[N];
    for (size_t i = 0; i < N; i++) {
        arguments[i] = x(i);
        point[i] = (double)(i % 7);
    }
    const tc_family_derivatives *d = &tc_derive(arena, model_of(tc_lse(dag, arguments, N)))->families[0];
    assert_int_equal(d->objective_first_count, N);
    assert_int_equal(d->objective_second_count, N * (N + 1) / 2);
    double sum = 0, row = 0;
    for (size_t i = 0; i < N; i++)
        sum += value_at(d->objective_first[i].value, point, N);
    assert_true(fabs(sum - 1) < 1e-14);
    for (size_t k = 0; k < d->objective_second_count; k++) { /* the last row of the Hessian sums to zero */
        if (d->objective_second[k].column == N - 1)
            row += value_at(d->objective_second[k].value, point, N);
    }
    assert_true(fabs(row) < 1e-15);
}

static void logsumexp_counts_a_repeated_argument_twice(void **state) {
    (void)state;
    tc_expr arguments[3] = {x(0), x(1), x(0)};
    tc_expr *leaves, *partials;
    assert_int_equal(
        tc_gradient(arena, tc_differentiator_new(arena, dag), tc_lse(dag, arguments, 3), TC_STATE, &leaves, &partials),
        2);
    double point[2] = {1, 1};
    assert_true(fabs(value_at(partials[0], point, 2) - 2.0 / 3) < 1e-15);
    assert_true(fabs(value_at(partials[1], point, 2) - 1.0 / 3) < 1e-15);
}

static void the_power_rule_is_exact_where_the_exponent_less_one_is_not_a_double(void **state) {
    (void)state;
    /* 0.1 - 1 is not a double: the derivative must still be that of a^0.1 with the double 0.1. */
    double exponents[] = {0.1, -0.1, 1e-20, 0.3, -2.7, 1.5, 2.5};
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
        double p = exponents[i];
        tc_expr *leaves, *partials;
        assert_int_equal(
            tc_gradient(arena, tc_differentiator_new(arena, dag), tc_pow(dag, x(0), p), TC_STATE, &leaves, &partials),
            1);
        tc_tape *tape = tc_tape_new(arena, dag, partials, 1);
        long double at = 1e12L, result; /* large: a^(1e-17) differs from 1 */
        long double *work = TC_NEW(arena, long double, tc_tape_work(tape));
        const long double *row = &at;
        tc_tape_eval_long(tape, &(tc_long_inputs){.state = &row}, 1, work, (long double *const[]){&result});
        long double truth = (long double)p * powl(at, (long double)p) / at;
        assert_true(fabsl(result / truth - 1) < 1e-17L);
    }
}

static void huber_becomes_clamp_becomes_inside(void **state) {
    (void)state;
    tc_expr *leaves, *partials;
    assert_int_equal(
        tc_gradient(arena, tc_differentiator_new(arena, dag), tc_huber(dag, x(0), c(2)), TC_STATE, &leaves, &partials),
        1);
    assert_int_equal(partials[0], tc_clamp(dag, x(0), c(2)));
    assert_int_equal(tc_gradient(arena, tc_differentiator_new(arena, dag), partials[0], TC_STATE, &leaves, &partials),
                     1);
    assert_int_equal(partials[0], tc_inside(dag, x(0), c(2)));
    assert_int_equal(tc_gradient(arena, tc_differentiator_new(arena, dag), partials[0], TC_STATE, &leaves, &partials),
                     0);
}

static void what_cancels_or_has_no_state_has_no_derivative(void **state) {
    (void)state;
    tc_expr *leaves, *partials;
    assert_int_equal(tc_gradient(arena, tc_differentiator_new(arena, dag), c(5), TC_STATE, &leaves, &partials), 0);
    assert_int_equal(
        tc_gradient(arena, tc_differentiator_new(arena, dag), tc_data(dag, 0, 3, true), TC_STATE, &leaves, &partials),
        0);
    tc_expr both = tc_sub(dag, tc_add(dag, x(0), x(1)), x(1));
    assert_int_equal(tc_gradient(arena, tc_differentiator_new(arena, dag), both, TC_STATE, &leaves, &partials), 1);
    assert_int_equal(leaves[0], x(0));
    assert_int_equal(
        tc_gradient(arena, tc_differentiator_new(arena, dag), tc_coord(dag, 1), TC_STATE, &leaves, &partials), 0);
    assert_int_equal(tc_gradient(arena, tc_differentiator_new(arena, dag), x(0), TC_SUM, &leaves, &partials), 0);
}

static void outer_inputs_are_sums_then_coordinates_and_entries_are_sorted(void **state) {
    (void)state;
    tc_model *model = model_of(tc_pow(dag, x(1), 2));
    model->sums = TC_NEW(arena, tc_inner_sum, 3);
    model->sum_count = 3;
    for (size_t r = 0; r < 3; r++)
        model->sums[r].body = tc_mul(dag, x(r % 2), tc_exp(dag, x(1)));
    model->constraints = TC_NEW(arena, tc_constraint, 2);
    model->constraint_count = 2;
    tc_expr seven = tc_coord(dag, 7), three = tc_coord(dag, 3); /* created out of order */
    model->constraints[0].outer = tc_mul(dag, tc_mul(dag, seven, tc_sum(dag, 2)), three);
    model->constraints[1].outer = tc_add(dag, tc_pow(dag, three, 2), tc_sum(dag, 0));
    const tc_derivatives *d = tc_derive(arena, model);
    assert_int_equal(d->input_count, 5);
    assert_int_equal(d->inputs[2].op, TC_SUM);
    assert_int_equal(d->inputs[3].index, 3);
    assert_int_equal(d->inputs[4].index, 7);
    const uint32_t rows[] = {0, 0, 0, 1, 1}, columns[] = {2, 3, 4, 0, 3};
    assert_int_equal(d->outer_first_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(d->outer_first[i].row, rows[i]);
        assert_int_equal(d->outer_first[i].column, columns[i]);
    }
    const uint32_t pairs[][3] = {{0, 3, 2}, {0, 4, 2}, {0, 4, 3}, {1, 3, 3}};
    assert_int_equal(d->outer_second_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(d->outer_second[i].row, pairs[i][0]);
        assert_int_equal(d->outer_second[i].column, pairs[i][1]);
        assert_int_equal(d->outer_second[i].other, pairs[i][2]);
    }
    const tc_family_derivatives *family = &d->families[0];
    assert_int_equal(family->body_count, 3);
    assert_int_equal(family->sums[2], 2);
    assert_int_equal(family->body_first_count, 5); /* bodies 0 and 2: x0 and x1; body 1: x1 */
}

static void many_derivatives_in_a_large_dag_take_time_in_proportion(void **state) {
    (void)state;
    /* 10,000 first derivatives in a DAG of more than 100,000 nodes: each must cost what it reaches, not the DAG. */
    enum { N = 10000 };
    tc_expr sum = c(0);
    for (size_t i = 0; i < N; i++) {
        tc_expr difference = tc_sub(dag, x(i), x((i + 1) % N));
        sum = tc_add(dag, sum, tc_mul(dag, c(1 + (double)i), tc_exp(dag, tc_pow(dag, difference, 2))));
    }
    const tc_family_derivatives *d = &tc_derive(arena, model_of(sum))->families[0];
    assert_int_equal(d->objective_first_count, N);
    assert_int_equal(d->objective_second_count, 2 * N);
}

static void too_many_derivatives_escape(void **state) {
    (void)state;
    dag->limit = 5000;
    tc_expr sum = c(0);
    for (size_t i = 0; i < 300; i++)
        sum = tc_add(dag, sum, x(i));
    tc_model *model = model_of(tc_exp(dag, sum));
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        (void)tc_derive(arena, model);
    tc_escape_end(arena, &escape);
    assert_int_equal(status, TC_TOO_LARGE);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_sum_of_squares_has_a_linear_gradient_and_a_constant_diagonal_hessian),
        TEST(a_dense_quadratic_form_has_its_matrix_as_hessian),
        TEST(a_long_product_is_differentiated_in_linear_size),
        TEST(the_gradient_of_logsumexp_is_the_softmax),
        TEST(logsumexp_counts_a_repeated_argument_twice),
        TEST(the_power_rule_is_exact_where_the_exponent_less_one_is_not_a_double),
        TEST(huber_becomes_clamp_becomes_inside),
        TEST(what_cancels_or_has_no_state_has_no_derivative),
        TEST(outer_inputs_are_sums_then_coordinates_and_entries_are_sorted),
        TEST(many_derivatives_in_a_large_dag_take_time_in_proportion),
        TEST(too_many_derivatives_escape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
