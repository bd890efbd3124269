/* The expression DAG: sharing, and folding only what is exact. */
#include "model/expr.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <math.h>

typedef struct pool {
    tc_arena *arena;
    tc_dag *dag;
    tc_expr x, y;
} pool;

static pool pool_new(void) {
    pool p = {.arena = tc_arena_new(0)};
    assert_non_null(p.arena);
    p.dag = tc_dag_new(p.arena, 1000000);
    p.x = tc_state(p.dag, 0, 0);
    p.y = tc_state(p.dag, 0, 1);
    return p;
}

static void equal_nodes_are_one_node(void **state) {
    (void)state;
    pool p = pool_new();
    tc_expr a = tc_mul(p.dag, tc_add(p.dag, p.x, p.y), tc_exp(p.dag, p.x));
    size_t count = p.dag->count;
    tc_expr b = tc_mul(p.dag, tc_exp(p.dag, p.x), tc_add(p.dag, p.y, p.x));
    assert_int_equal(a, b);
    assert_int_equal(p.dag->count, count);
    assert_int_not_equal(tc_sub(p.dag, p.x, p.y), tc_sub(p.dag, p.y, p.x));
    assert_int_not_equal(tc_state(p.dag, 0, 0), tc_state(p.dag, 1, 0));
    assert_int_not_equal(tc_coord(p.dag, 0), tc_sum(p.dag, 0));
    tc_expr arguments[] = {p.x, p.y};
    assert_int_equal(tc_lse(p.dag, arguments, 2), tc_lse(p.dag, arguments, 2));
    tc_arena_free(p.arena);
}

static void many_nodes_stay_shared_as_the_table_grows(void **state) {
    (void)state;
    pool p = pool_new();
    tc_expr first[5000];
    for (int i = 0; i < 5000; i++)
        first[i] = tc_mul(p.dag, tc_const(p.dag, i + 0.5), p.x);
    size_t count = p.dag->count;
    for (int i = 0; i < 5000; i++)
        assert_int_equal(first[i], tc_mul(p.dag, p.x, tc_const(p.dag, i + 0.5)));
    assert_int_equal(p.dag->count, count);
    tc_arena_free(p.arena);
}

static void children_come_before_their_parents(void **state) {
    (void)state;
    pool p = pool_new();
    tc_expr sum = p.x;
    for (int i = 0; i < 1000; i++)
        sum = tc_add(p.dag, tc_mul(p.dag, sum, p.y), tc_const(p.dag, i));
    for (size_t e = 0; e < p.dag->count; e++) {
        for (size_t i = 0; i < tc_operand_count(p.dag, (tc_expr)e); i++)
            assert_true(tc_operand(p.dag, (tc_expr)e, i) < e);
    }
    tc_arena_free(p.arena);
}

static bool is_folded(pool *p, tc_expr e, double value) { return tc_is_const(p->dag, e, value); }

static void exact_results_are_folded(void **state) {
    (void)state;
    pool p = pool_new();
    tc_dag *d = p.dag;
    assert_true(is_folded(&p, tc_add(d, tc_const(d, 0.5), tc_const(d, 0.25)), 0.75));
    assert_true(is_folded(&p, tc_sub(d, tc_const(d, 3), tc_const(d, 5)), -2));
    assert_true(is_folded(&p, tc_mul(d, tc_const(d, 3), tc_const(d, 0.5)), 1.5));
    assert_true(is_folded(&p, tc_div(d, tc_const(d, 3), tc_const(d, 4)), 0.75));
    assert_true(is_folded(&p, tc_sub(d, p.x, p.x), 0));
    assert_true(is_folded(&p, tc_mul(d, p.x, tc_const(d, 0)), 0));
    assert_int_equal(tc_mul(d, p.x, tc_const(d, 1)), p.x);
    assert_int_equal(tc_add(d, p.x, tc_const(d, 0)), p.x);
    assert_int_equal(tc_neg(d, tc_neg(d, p.x)), p.x);
    assert_int_equal(tc_mul(d, p.x, p.x), tc_pow(d, p.x, 2));
    assert_int_equal(tc_const(d, -0.0), tc_const(d, 0.0));
    tc_arena_free(p.arena);
}

static size_t norm_arguments(pool *p, tc_expr e) {
    return p->dag->nodes[e].op == TC_NORM ? tc_operand_count(p->dag, e) : 0;
}

static void the_root_of_a_sum_of_squares_is_a_norm(void **state) {
    (void)state;
    pool p = pool_new();
    tc_dag *d = p.dag;
    tc_expr squares = tc_add(d, tc_pow(d, p.x, 2), tc_pow(d, p.y, 4)), two = tc_const(d, 2);
    tc_expr norm = tc_sqrt(d, tc_add(d, squares, tc_const(d, 0.25)));
    assert_int_equal(norm_arguments(&p, norm), 3);
    for (size_t i = 0; i < 3; i++) {
        tc_expr a = tc_operand(d, norm, i);
        assert_true(a == p.x || a == tc_pow(d, p.y, 2) || tc_is_const(d, a, 0.5));
    }
    assert_int_equal(tc_sqrt(d, squares), tc_pow(d, squares, 0.5));
    assert_int_equal(tc_pow(d, tc_sqrt(d, squares), 3), tc_pow(d, squares, 1.5));
    assert_int_equal(tc_pow(d, tc_sqrt(d, squares), 4), tc_pow(d, squares, 2));
    /* a root that is not a double stays a node: nothing is rounded */
    norm = tc_sqrt(d, tc_add(d, tc_pow(d, p.x, 2), two));
    assert_int_equal(norm_arguments(&p, norm), 2);
    assert_true(tc_operand(d, norm, 0) == tc_sqrt(d, two) || tc_operand(d, norm, 1) == tc_sqrt(d, two));
    assert_int_equal(tc_pow(d, norm, 2), tc_add(d, tc_pow(d, p.x, 2), two));
    norm = tc_sqrt(d, tc_div(d, tc_add(d, tc_mul(d, two, tc_pow(d, p.x, 2)), tc_const(d, 3)), tc_const(d, 7)));
    assert_int_equal(norm_arguments(&p, norm), 2);
    tc_expr sum = tc_const(d, 1);
    for (int i = 0; i < 3000; i++)
        sum = tc_add(d, sum, tc_pow(d, tc_sub(d, p.x, tc_const(d, i + 0.5)), 2));
    assert_int_equal(norm_arguments(&p, tc_sqrt(d, sum)), 3001);
    /* a sign that is not known, or is wrong, is not a square */
    const tc_expr others[] = {p.x,
                              tc_add(d, squares, p.x),
                              tc_sub(d, squares, tc_const(d, 1)),
                              tc_add(d, tc_pow(d, p.x, 2), tc_pow(d, p.y, 3)),
                              tc_mul(d, p.y, squares),
                              tc_add(d, squares, tc_data(d, 0, 0, false)),
                              tc_const(d, 2)};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(d->nodes[tc_sqrt(d, others[i])].op, TC_SQRT);
    tc_arena_free(p.arena);
}

static void second_derivatives_share_the_list_of_arguments(void **state) {
    (void)state;
    pool p = pool_new();
    tc_expr arguments[60];
    for (size_t i = 0; i < 60; i++)
        arguments[i] = tc_add(p.dag, p.x, tc_const(p.dag, (double)i + 1));
    tc_expr norm = tc_norm(p.dag, arguments, 60);
    size_t before = p.dag->argument_count;
    for (size_t i = 0; i < 60; i++) {
        for (size_t k = 0; k <= i; k++) {
            const tc_expr *list = p.dag->arguments + p.dag->nodes[norm].a;
            tc_expr bend = tc_norm_bend(p.dag, list, 60, i, k);
            assert_int_equal(bend, tc_norm_bend(p.dag, arguments, 60, k, i));
            assert_int_equal(tc_operand(p.dag, bend, 59), arguments[59]);
        }
    }
    assert_int_equal(p.dag->argument_count, before);
    tc_arena_free(p.arena);
}

static void folding_does_not_forget_where_an_expression_is_undefined(void **state) {
    (void)state;
    pool p = pool_new();
    tc_dag *d = p.dag;
    tc_expr zero = tc_const(d, 0),
            parts[] = {tc_log(d, p.x), tc_sqrt(d, p.x), tc_div(d, p.y, p.x), tc_pow(d, p.x, 1.5), tc_pow(d, p.x, -2)};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        tc_expr inside = tc_add(d, p.y, parts[i]);
        tc_expr wholes[] = {tc_mul(d, zero, inside), tc_sub(d, inside, inside), tc_pow(d, inside, 0)};
        for (size_t k = 0; k < sizeof wholes / sizeof wholes[0]; k++) {
            size_t count;
            tc_expr *nodes = tc_reachable(p.arena, d, &wholes[k], 1, &count);
            bool found = false;
            for (size_t n = 0; n < count; n++)
                found = found || nodes[n] == parts[i];
            assert_true(found);
        }
    }
    assert_int_not_equal(tc_pow(d, tc_sqrt(d, p.x), 2), p.x);
    tc_expr half = tc_div(d, p.x, tc_const(d, 3));
    assert_int_equal(tc_mul(d, zero, half), zero);
    tc_arena_free(p.arena);
}

static void inexact_results_are_not_folded(void **state) {
    (void)state;
    pool p = pool_new();
    tc_dag *d = p.dag;
    tc_expr third = tc_div(d, tc_const(d, 1), tc_const(d, 3));
    tc_expr sum = tc_add(d, tc_const(d, 0.1), tc_const(d, 0.2));
    tc_expr product = tc_mul(d, tc_const(d, 0.1), tc_const(d, 0.1));
    tc_expr tiny = tc_mul(d, tc_const(d, 0x1p-600), tc_const(d, 0x1p-600));
    tc_expr huge = tc_mul(d, tc_const(d, 1e300), tc_const(d, 1e300));
    assert_int_equal(d->nodes[third].op, TC_DIV);
    assert_int_equal(d->nodes[sum].op, TC_ADD);
    assert_int_equal(d->nodes[product].op, TC_MUL);
    assert_int_equal(d->nodes[tiny].op, TC_MUL);
    assert_int_equal(d->nodes[huge].op, TC_MUL);
    tc_expr e = tc_exp(d, tc_const(d, 1));
    assert_int_equal(d->nodes[e].op, TC_EXP);
    tc_arena_free(p.arena);
}

/* What folding says it knows is checked in twice the precision. */
static void folded_sums_and_products_are_exact_on_random_numbers(void **state) {
    (void)state;
    pool p = pool_new();
    uint64_t seed = 7;
    for (int i = 0; i < 20000; i++) {
        AT_CASE(i);
        double v[2];
        for (int k = 0; k < 2; k++) {
            uint64_t word = random_word(&seed);
            v[k] = ldexp((double)(int64_t)(word >> 40) - 0x1p23, (int)(word >> 8 & 31) - 16);
        }
        tc_expr sum_node = tc_add(p.dag, tc_const(p.dag, v[0]), tc_const(p.dag, v[1]));
        const tc_node *sum = tc_node_of(p.dag, sum_node);
        if (sum->op == TC_CONST)
            assert_true((long double)sum->u.value == (long double)v[0] + (long double)v[1]);
        tc_expr product_node = tc_mul(p.dag, tc_const(p.dag, v[0]), tc_const(p.dag, v[1]));
        const tc_node *product = tc_node_of(p.dag, product_node);
        if (product->op == TC_CONST)
            assert_true((long double)product->u.value == (long double)v[0] * (long double)v[1]);
    }
    tc_arena_free(p.arena);
}

static void labels_are_inherited(void **state) {
    (void)state;
    pool p = pool_new();
    tc_expr secret = tc_data(p.dag, 0, 0, true), open = tc_data(p.dag, 0, 1, false);
    tc_expr product = tc_mul(p.dag, tc_add(p.dag, secret, open), p.x);
    tc_expr sum = tc_add(p.dag, open, tc_const(p.dag, 3));
    const tc_node *mixed = tc_node_of(p.dag, product), *public = tc_node_of(p.dag, sum);
    assert_true(mixed->is_private && mixed->has_data && mixed->has_state);
    assert_true(!public->is_private && public->has_data && !public->has_state && public->family == 0);
    tc_arena_free(p.arena);
}

static void a_full_pool_escapes(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    tc_dag *dag = tc_dag_new(arena, 10);
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK) {
        for (int i = 0; i < 100; i++)
            (void)tc_const(dag, i);
    }
    tc_escape_end(arena, &escape);
    assert_int_equal(status, TC_TOO_LARGE);
    assert_int_equal(dag->count, 10);
    tc_arena_free(arena);
}

static void reachable_nodes_come_in_order_and_no_others(void **state) {
    (void)state;
    pool p = pool_new();
    tc_expr wanted = tc_add(p.dag, tc_exp(p.dag, p.x), p.y);
    (void)tc_log(p.dag, p.y);
    size_t count;
    tc_expr *order = tc_reachable(p.arena, p.dag, &wanted, 1, &count);
    assert_int_equal(count, 4);
    for (size_t i = 1; i < count; i++)
        assert_true(order[i - 1] < order[i]);
    assert_int_equal(order[count - 1], wanted);
    tc_arena_free(p.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_nodes_are_one_node),
        cmocka_unit_test(many_nodes_stay_shared_as_the_table_grows),
        cmocka_unit_test(children_come_before_their_parents),
        cmocka_unit_test(exact_results_are_folded),
        cmocka_unit_test(the_root_of_a_sum_of_squares_is_a_norm),
        cmocka_unit_test(second_derivatives_share_the_list_of_arguments),
        cmocka_unit_test(folding_does_not_forget_where_an_expression_is_undefined),
        cmocka_unit_test(inexact_results_are_not_folded),
        cmocka_unit_test(folded_sums_and_products_are_exact_on_random_numbers),
        cmocka_unit_test(labels_are_inherited),
        cmocka_unit_test(a_full_pool_escapes),
        cmocka_unit_test(reachable_nodes_come_in_order_and_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
