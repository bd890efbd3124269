#include "calculus/interval/elementary.h"
#include "calculus/tape/tape_code.h"
#include "random_expression.h"
#include "support/cmocka.h"

enum { ROOTS = 7, SUMS = 3, COORDS = 5 };

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

/* One lane of inputs for the reference below. */
typedef struct lane_inputs {
    double state[STATES], data[COLUMNS], coords[COORDS], sums[SUMS];
} lane_inputs;

static double recurse(tc_expr e, const lane_inputs *in);

static double whole_power(double x, int64_t n) { /* from the lowest bit of the exponent up */
    if (n < 0)
        return 1 / whole_power(x, -n);
    if (n > 16)
        return (n % 2 && x < 0 ? -1 : 1) * tc_pow_proved(fabs(x), (double)n);
    double power = 1;
    for (double square = x; n > 0; n /= 2, square *= square)
        power = n % 2 ? power * square : power;
    return power;
}

static double recurse_norm(const tc_node *n, const lane_inputs *in) {
    double a[16] = {0}, rest = 0, all = 0;
    size_t i = (size_t)(n->u.index >> 32), k = (size_t)(n->u.index & UINT32_MAX);
    for (size_t j = 0; j < n->b; j++) {
        a[j] = recurse(dag->arguments[n->a + j], in);
        all += a[j] * a[j];
        rest += j == k ? 0 : a[j] * a[j];
    }
    double length = sqrt(all), inverse = 1 / length, ratio = a[k] / length;
    if (n->op == TC_NORM)
        return length;
    if (n->op == TC_DIRECTION)
        return all == 0 ? 0 : fabs(ratio) > 1 ? copysign(1, ratio) : ratio;
    return i == k ? rest * inverse * inverse * inverse : -(a[i] * inverse * (a[k] * inverse) * inverse);
}

static double recurse_nary(const tc_node *n, const lane_inputs *in) {
    double u[16] = {0}, sum = n->op == TC_LSE ? 0 : 1;
    for (size_t i = 0; i < n->b; i++)
        u[i] = recurse(dag->arguments[n->a + i], in);
    double shift = n->op == TC_LSE ? u[0] : u[n->u.index];
    for (size_t i = 1; i < n->b && n->op == TC_LSE; i++)
        shift = u[i] > shift ? u[i] : shift;
    if (n->op == TC_LSE && isinf(shift))
        return shift;
    for (size_t i = 0; i < n->b; i++) {
        if (n->op == TC_LSE || i != n->u.index)
            sum += tc_exp_proved(u[i] - shift);
    }
    return n->op == TC_LSE ? shift + tc_log_proved(sum) : 1 / sum;
}

static double recurse_power_of_data(const tc_node *n, const lane_inputs *in) {
    double x = recurse(dag->arguments[n->a], in), e = recurse(dag->arguments[n->a + 1], in), factor = 1;
    for (uint64_t i = 0; i < n->u.index; i++)
        factor *= e - (double)i;
    double p = e - (double)n->u.index, size = p == 0 ? 1 : tc_pow_proved(fabs(x), p);
    if (x < 0 && p != floor(p))
        size = (double)NAN;
    if (x < 0 && fmod(p, 2) != 0)
        size = -size;
    return factor == 0 ? 0 : factor * size;
}

static double recurse_binary(tc_op op, double a, double b) {
    if (op == TC_ADD)
        return a + b;
    if (op == TC_SUB)
        return a - b;
    if (op == TC_MUL)
        return a * b;
    if (op == TC_DIV)
        return a / b;
    if (op == TC_HUBER)
        return fabs(a) <= b ? a * a / 2 : b * (fabs(a) - b / 2);
    if (op == TC_PAIR)
        return a * b;
    if (op == TC_MAX)
        return isnan(a) || isnan(b) ? (double)NAN : fmax(a, b);
    if (op == TC_CLAMP)
        return a > b ? b : a < -b ? -b : a;
    return fabs(a) < b ? 1 : 0;
}

static double recurse(tc_expr e, const lane_inputs *in) {
    const tc_node *n = tc_node_of(dag, e);
    size_t operands = tc_operand_count(dag, e);
    if (n->op == TC_LSE || n->op == TC_SOFTMAX)
        return recurse_nary(n, in);
    if (n->op == TC_POWD)
        return recurse_power_of_data(n, in);
    if (tc_is_nary(n->op))
        return recurse_norm(n, in);
    if (operands == 2)
        return recurse_binary((tc_op)n->op, recurse(n->a, in), recurse(n->b, in));
    double a = operands == 1 ? recurse(n->a, in) : 0;
    switch ((tc_op)n->op) {
    case TC_CONST:
        return n->u.value;
    case TC_DATA:
        return in->data[n->u.index];
    case TC_STATE:
        return in->state[n->u.index];
    case TC_COORD:
        return in->coords[n->u.index];
    case TC_SUM:
        return in->sums[n->u.index];
    case TC_NEG:
        return -a;
    case TC_POWI:
        return whole_power(a, n->u.exponent);
    case TC_POWR:
        return tc_pow_proved(a, n->u.value);
    case TC_EXP:
        return tc_exp_proved(a);
    case TC_LOG:
        return tc_log_proved(a);
    case TC_SQRT:
        return sqrt(a);
    case TC_HUMP:
        return a * (1 - a);
    case TC_ABS:
        return fabs(a);
    case TC_ADD:
    case TC_SUB:
    case TC_MUL:
    case TC_DIV:
    case TC_HUBER:
    case TC_CLAMP:
    case TC_INSIDE:
    case TC_PAIR:
    case TC_MAX:
    case TC_LSE:
    case TC_SOFTMAX:
    case TC_NORM:
    case TC_DIRECTION:
    case TC_BEND:
    case TC_POWD:
    default:
        return (double)NAN;
    }
}

static bool same(double a, double b) { return (isnan(a) && isnan(b)) || a == b; }

typedef struct rows {
    double state[STATES][TC_MOST_LANES], data[COLUMNS][TC_MOST_LANES];
    const double *state_rows[STATES], *data_rows[COLUMNS];
    double out[ROOTS][TC_MOST_LANES + 1], *out_rows[ROOTS];
} rows;

static rows *random_rows(uint64_t *seed) {
    rows *r = TC_NEW(arena, rows, 1);
    for (size_t lane = 0; lane < TC_MOST_LANES; lane++) {
        for (size_t i = 0; i < STATES; i++)
            r->state[i][lane] = uniform(seed, -2, 2);
        for (size_t i = 0; i < COLUMNS; i++)
            r->data[i][lane] = uniform(seed, -2, 2);
    }
    for (size_t i = 0; i < STATES; i++)
        r->state_rows[i] = r->state[i];
    for (size_t i = 0; i < COLUMNS; i++)
        r->data_rows[i] = r->data[i];
    for (size_t i = 0; i < ROOTS; i++)
        r->out_rows[i] = r->out[i];
    return r;
}

typedef void evaluator(const tc_tape *tape, const tc_inputs *inputs, size_t lanes, double *work, double *const *out);

static void check_lanes_by(evaluator *evaluate, const tc_expr *roots, const tc_tape *tape, rows *r, size_t lanes) {
    size_t size = tc_tape_work_of(tape, lanes);
    double *work = TC_NEW(arena, double, size + 1);
    for (size_t i = 0; i <= size; i++)
        work[i] = (double)NAN; /* what is not written first must not be read */
    work[size] = 12345;
    for (size_t i = 0; i < ROOTS; i++)
        r->out[i][lanes] = 54321;
    evaluate(tape, &(tc_inputs){.state = r->state_rows, .data = r->data_rows}, lanes, work, r->out_rows);
    assert_true(work[size] == 12345);
    for (size_t i = 0; i < ROOTS; i++) {
        assert_true(r->out[i][lanes] == 54321);
        for (size_t lane = 0; lane < lanes; lane++) {
            lane_inputs in = {.state = {r->state[0][lane], r->state[1][lane], r->state[2][lane]},
                              .data = {r->data[0][lane], r->data[1][lane]}};
            assert_true(same(r->out[i][lane], recurse(roots[i], &in)));
        }
    }
}

/* Whatever the processor: the same bits. */
static void check_lanes(const tc_expr *roots, const tc_tape *tape, rows *r, size_t lanes) {
    check_lanes_by(tc_tape_eval, roots, tape, r, lanes);
    check_lanes_by(tc_tape_eval_plain, roots, tape, r, lanes);
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDE())
        check_lanes_by(tc_tape_eval_wide, roots, tape, r, lanes);
    if (TC_IS_WIDEST())
        check_lanes_by(tc_tape_eval_widest, roots, tape, r, lanes);
#endif
}

static void a_tape_computes_what_recursion_computes_for_any_number_of_lanes(void **state) {
    (void)state;
    uint64_t seed = 30;
    for (size_t e = 0; e < CASES(2000); e++) {
        AT_CASE(e);
        tc_mark mark = tc_arena_mark(arena);
        tc_arena *own = arena;
        arena = tc_arena_new(0);
        assert_non_null(arena);
        dag = tc_dag_new(arena, 100000);
        tc_expr roots[ROOTS];
        for (size_t i = 0; i < ROOTS; i++)
            roots[i] = random_expression(dag, &seed, (unsigned)random_below(&seed, 5), true);
        roots[2] = roots[random_below(&seed, 2)]; /* a root twice; one inside another; a leaf; a constant */
        roots[3] = tc_add(dag, roots[1], roots[0]);
        roots[4] = random_leaf(dag, &seed);
        rows *r = random_rows(&seed);
        const tc_tape *tape = tc_tape_new(arena, dag, roots, ROOTS);
        assert_int_equal(tc_tape_root_count(tape), ROOTS);
        check_lanes(roots, tape, r, 1 + e % TC_LANES);
        check_lanes(roots, tape, r, TC_LANES);
        if (e % 8 == 0)
            check_lanes(roots, tape, r, TC_MOST_LANES);
        tc_arena_free(arena);
        arena = own;
        tc_arena_rewind(arena, mark);
    }
}

/* Nodes are in the order they were made in: those of one vector beside each other and apart, all kinds first. */
static void norms_of_one_vector_share_their_root_and_of_others_do_not(void **state) {
    (void)state;
    uint64_t seed = 35;
    for (size_t n = 0; n < CASES(400); n++) {
        AT_CASE(n);
        tc_mark mark = tc_arena_mark(arena);
        tc_arena *own = arena;
        arena = tc_arena_new(0);
        assert_non_null(arena);
        dag = tc_dag_new(arena, 100000);
        tc_expr x = tc_state(dag, 0, 0), y = tc_state(dag, 1, 0), w = tc_data(dag, 0, 1, false);
        tc_expr sum = tc_add(dag, x, w), vectors[3][3] = {{sum, y, w}, {sum, y, x}, {y, sum, w}}, roots[ROOTS];
        for (size_t i = 0; i < ROOTS; i++) {
            const tc_expr *v = vectors[random_below(&seed, 3)];
            size_t count = 2 + random_below(&seed, 2), first = random_below(&seed, count);
            roots[i] = random_below(&seed, 3) == 0   ? tc_norm(dag, v, count)
                       : random_below(&seed, 2) == 0 ? tc_norm_direction(dag, v, count, first)
                                                     : tc_norm_bend(dag, v, count, first, random_below(&seed, count));
            if (random_below(&seed, 2) == 0) /* not the root itself: slots are used again */
                roots[i] = tc_mul(dag, roots[i], sum);
        }
        check_lanes(roots, tc_tape_new(arena, dag, roots, ROOTS), random_rows(&seed), 1 + n % TC_MOST_LANES);
        tc_arena_free(arena);
        arena = own;
        tc_arena_rewind(arena, mark);
    }
}

static void long_double_evaluation_refines_double(void **state) {
    (void)state;
    uint64_t seed = 31;
    tc_expr x = tc_state(dag, 0, 0), y = tc_data(dag, 0, 1, false);
    tc_expr roots[] = {tc_add(dag, tc_mul(dag, x, y), tc_exp(dag, x)), tc_lse(dag, (tc_expr[]){x, y}, 2), y,
                       tc_const(dag, 0.1)};
    const tc_tape *tape = tc_tape_new(arena, dag, roots, 4);
    for (size_t n = 0; n < 200; n++) {
        AT_CASE(n);
        size_t lanes = 1 + n % TC_LANES;
        long double in[TC_LANES], out[4][TC_LANES], *rows_out[] = {out[0], out[1], out[2], out[3]};
        double data[TC_LANES];
        const long double *states[] = {in};
        const double *columns[] = {NULL, data};
        for (size_t lane = 0; lane < lanes; lane++) {
            in[lane] = (long double)uniform(&seed, -3, 3) / 3;
            data[lane] = uniform(&seed, -3, 3);
        }
        long double *work = TC_NEW(arena, long double, tc_tape_work(tape));
        tc_tape_eval_long(tape, &(tc_long_inputs){.state = states, .data = columns}, lanes, work, rows_out);
        for (size_t lane = 0; lane < lanes; lane++) {
            long double a = in[lane], b = (long double)data[lane];
            assert_true(out[0][lane] == a * b + expl(a));
            assert_true(fabsl(out[1][lane] - logl(expl(a) + expl(b))) < 1e-18L);
            assert_true(out[2][lane] == b && out[3][lane] == (long double)0.1);
        }
    }
}

static void outer_expressions_read_coordinates_and_sums(void **state) {
    (void)state;
    tc_expr roots[] = {tc_mul(dag, tc_sum(dag, 2), tc_coord(dag, 4)), tc_coord(dag, 1),
                       tc_lse(dag, (tc_expr[]){tc_sum(dag, 0), tc_const(dag, 2), tc_coord(dag, 0)}, 3)};
    const tc_tape *tape = tc_tape_new(arena, dag, roots, 3);
    double coords[COORDS] = {1, 2, 3, 4, 5}, sums[SUMS] = {10, 20, 30}, out[3];
    double *work = TC_NEW(arena, double, tc_tape_work(tape));
    tc_tape_eval(tape, &(tc_inputs){.coords = coords, .sums = sums}, 1, work,
                 (double *const[]){&out[0], &out[1], &out[2]});
    assert_true(out[0] == 150 && out[1] == 2);
    assert_true(fabs(out[2] - log(exp(10) + exp(2) + exp(1))) < 1e-14);
}

static void extreme_arguments_do_not_overflow_logsumexp(void **state) {
    (void)state;
    tc_expr arguments[] = {tc_state(dag, 0, 0), tc_state(dag, 0, 1)};
    tc_expr roots[] = {tc_lse(dag, arguments, 2), tc_softmax(dag, arguments, 2, 0), tc_softmax(dag, arguments, 2, 1)};
    const tc_tape *tape = tc_tape_new(arena, dag, roots, 3);
    double a[] = {1e6, -1e6, -HUGE_VAL}, b[] = {1e6, 1e6, 3}, out[3][3];
    const double *states[] = {a, b};
    double *work = TC_NEW(arena, double, tc_tape_work(tape));
    tc_tape_eval(tape, &(tc_inputs){.state = states}, 3, work, (double *const[]){out[0], out[1], out[2]});
    assert_true(out[0][0] == 1e6 + log(2) && out[0][1] == 1e6 && out[0][2] == 3);
    assert_true(out[1][0] == 0.5 && out[1][1] == 0 && out[1][2] == 0);
    assert_true(out[2][0] == 0.5 && out[2][1] == 1 && out[2][2] == 1);
}

static void a_long_chain_needs_few_slots(void **state) {
    (void)state;
    tc_expr sum = tc_const(dag, 0);
    for (size_t i = 0; i < 20000; i++)
        sum = tc_add(dag, sum, tc_exp(dag, tc_mul(dag, tc_const(dag, (double)i), tc_state(dag, 0, i % 3))));
    const tc_tape *tape = tc_tape_new(arena, dag, &sum, 1);
    assert_true(tc_tape_work(tape) <= 8 * TC_LANES);
}

static void a_tape_without_roots_does_nothing(void **state) {
    (void)state;
    const tc_tape *tape = tc_tape_new(arena, dag, NULL, 0);
    assert_int_equal(tc_tape_root_count(tape), 0);
    double work[2];
    assert_true(tc_tape_work(tape) <= 2);
    tc_tape_eval(tape, &(tc_inputs){0}, 1, work, NULL);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_tape_computes_what_recursion_computes_for_any_number_of_lanes),
        TEST(norms_of_one_vector_share_their_root_and_of_others_do_not),
        TEST(long_double_evaluation_refines_double),
        TEST(outer_expressions_read_coordinates_and_sums),
        TEST(extreme_arguments_do_not_overflow_logsumexp),
        TEST(a_long_chain_needs_few_slots),
        TEST(a_tape_without_roots_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
