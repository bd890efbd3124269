#include "calculus/nasty.h"
#include "calculus/tape/tape.h"
#include "random_expression.h"
#include "support/cmocka.h"

/* Programs against tapes with one lane: the same bits, whatever the expression. */

enum { ROOTS = 9, SUMS = 3, COORDS = 7, FIRST_COORD = 2 };

static tc_arena *arena;
static tc_dag *dag;
static tc_family family;
static tc_column columns[COLUMNS];
static double data[COLUMNS];
static tc_model model;

static int set_up(void **state) {
    (void)state;
    arena = tc_arena_new(0);
    if (arena == NULL)
        return -1;
    dag = tc_dag_new(arena, 4000000);
    for (size_t i = 0; i < COLUMNS; i++)
        columns[i] = (tc_column){.values = &data[i]};
    family =
        (tc_family){.count = 1, .first_coord = FIRST_COORD, .dim = STATES, .columns = columns, .column_count = COLUMNS};
    model = (tc_model){.arena = arena, .dag = dag, .families = &family, .family_count = 1};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tc_arena_free(arena);
    return 0;
}

/* Every not-a-number is alike: which operand's it is, is the compiler's choice. */
static bool same_bits(double a, double b) { return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)); }

typedef struct point {
    double coords[COORDS], sums[SUMS];
} point;

static point random_point(uint64_t *seed, bool wild) {
    point p;
    for (size_t i = 0; i < COORDS; i++)
        p.coords[i] = wild ? nasty(seed) : uniform(seed, -2, 2);
    for (size_t i = 0; i < SUMS; i++)
        p.sums[i] = wild ? nasty(seed) : uniform(seed, -2, 2);
    return p;
}

static void eval_by_tape(const tc_expr *roots, size_t root_count, const point *p, double *out) {
    const tc_tape *tape = tc_tape_new(arena, dag, roots, root_count);
    double *work = TC_NEW(arena, double, tc_tape_work(tape));
    double **rows = TC_NEW(arena, double *, root_count);
    const double *state_rows[STATES], *data_rows[COLUMNS];
    for (size_t i = 0; i < STATES; i++)
        state_rows[i] = &p->coords[FIRST_COORD + i];
    for (size_t i = 0; i < COLUMNS; i++)
        data_rows[i] = &data[i];
    for (size_t i = 0; i < root_count; i++)
        rows[i] = &out[i];
    tc_tape_eval(tape, &(tc_inputs){state_rows, data_rows, p->coords, p->sums}, 1, work, rows);
}

static void check_roots(const tc_expr *roots, size_t root_count, uint64_t *seed) {
    const tc_program *program = tc_program_new(arena, &model, roots, root_count);
    size_t size = tc_program_work(program);
    double *work = TC_NEW(arena, double, size + 1), *expected = TC_NEW(arena, double, root_count),
           *got = TC_NEW(arena, double, root_count + 1);
    for (size_t i = 0; i <= size; i++)
        work[i] = (double)NAN; /* what is not written first must not be read */
    work[size] = 12345;
    got[root_count] = 54321;
    tc_program_prepare(program, work);
    for (size_t n = 0; n < 4; n++) { /* prepared once, evaluated again and again */
        point p = random_point(seed, n == 3);
        eval_by_tape(roots, root_count, &p, expected);
        tc_program_eval(program, p.coords, p.sums, work, got);
        for (size_t i = 0; i < root_count; i++)
            assert_true(same_bits(got[i], expected[i]));
    }
    assert_true(work[size] == 12345 && got[root_count] == 54321);
}

/* With leaves of every kind: those of random expressions, coordinates and sums. */
static tc_expr random_mixture(uint64_t *seed) {
    tc_expr e = random_expression(dag, seed, (unsigned)random_below(seed, 5), true);
    uint64_t kind = random_below(seed, 4);
    if (kind == 0)
        return tc_mul(dag, e, tc_coord(dag, random_below(seed, COORDS)));
    if (kind == 1)
        return tc_add(dag, tc_sum(dag, random_below(seed, SUMS)), e);
    return e;
}

static void a_program_computes_the_bits_of_a_tape(void **state) {
    (void)state;
    uint64_t seed = 40;
    for (size_t e = 0; e < CASES(4000); e++) {
        AT_CASE(e);
        tc_expr roots[ROOTS];
        for (size_t i = 0; i < COLUMNS; i++)
            data[i] = uniform(&seed, -2, 2);
        for (size_t i = 0; i < ROOTS; i++)
            roots[i] = random_mixture(&seed);
        roots[2] = roots[random_below(&seed, 2)]; /* a root twice; one inside another; a leaf */
        roots[3] = tc_add(dag, roots[1], roots[0]);
        roots[4] = random_leaf(dag, &seed);
        check_roots(roots, 1 + e % ROOTS, &seed);
        if (e % 64 == 63) {
            (void)tear_down(NULL);
            assert_int_equal(set_up(NULL), 0);
        }
    }
}

static void every_operation_is_there(void **state) {
    (void)state;
    uint64_t seed = 41;
    tc_expr x = tc_state(dag, 0, 0), y = tc_coord(dag, 6), s = tc_sum(dag, 1), c = tc_const(dag, 0.75);
    tc_expr three[] = {x, y, s};
    tc_expr soft = tc_softmax(dag, three, 3, 1), other = tc_softmax(dag, three, 3, 2);
    tc_expr roots[] = {
        tc_add(dag, x, y),
        tc_sub(dag, x, s),
        tc_mul(dag, y, s),
        tc_div(dag, x, s),
        tc_neg(dag, y),
        tc_pow(dag, x, 2),
        tc_pow(dag, x, 3),
        tc_pow(dag, y, -7),
        tc_pow(dag, y, 2147483646),
        tc_pow(dag, x, 0.3),
        tc_pow(dag, y, -1.7),
        tc_exp(dag, x),
        tc_log(dag, y),
        tc_sqrt(dag, s),
        tc_huber(dag, x, c),
        tc_clamp(dag, y, c),
        tc_inside(dag, s, c),
        tc_lse(dag, three, 3),
        soft,
        tc_hump(dag, soft),
        tc_pair(dag, soft, other),
        tc_norm(dag, three, 3),
        tc_norm_direction(dag, three, 3, 2),
        tc_norm_bend(dag, three, 3, 2, 1),
        tc_norm_bend(dag, three, 3, 1, 1),
        tc_data(dag, 0, 1, false),
        c,
    };
    for (size_t n = 0; n < 500; n++)
        check_roots(roots, sizeof roots / sizeof *roots, &seed);
}

static void a_long_chain_of_dependent_operations_keeps_its_order(void **state) {
    (void)state;
    uint64_t seed = 42;
    tc_expr sum = tc_const(dag, 0);
    for (size_t i = 0; i < 20000; i++)
        sum = tc_add(dag, sum, tc_mul(dag, tc_const(dag, 1 / (1 + (double)i)), tc_coord(dag, i % COORDS)));
    check_roots(&sum, 1, &seed);
}

static void inputs_that_no_root_needs_may_be_absent(void **state) {
    (void)state;
    tc_expr roots[] = {tc_const(dag, 7), tc_exp(dag, tc_sum(dag, 2))};
    const tc_program *program = tc_program_new(arena, &model, roots, 2);
    double *work = TC_NEW(arena, double, tc_program_work(program)), out[2];
    tc_program_prepare(program, work);
    tc_program_eval(program, NULL, (const double[]){1, 1, 0}, work, out);
    assert_true(out[0] == 7 && out[1] == 1);
    program = tc_program_new(arena, &model, roots, 1);
    tc_program_prepare(program, work);
    tc_program_eval(program, NULL, NULL, work, out);
    assert_true(out[0] == 7);
}

static void a_program_without_roots_does_nothing(void **state) {
    (void)state;
    const tc_program *program = tc_program_new(arena, &model, NULL, 0);
    double work[1] = {3};
    assert_true(tc_program_work(program) <= 1);
    tc_program_prepare(program, work);
    tc_program_eval(program, NULL, NULL, work, NULL);
    assert_true(work[0] == 3);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_program_computes_the_bits_of_a_tape),
        TEST(every_operation_is_there),
        TEST(a_long_chain_of_dependent_operations_keeps_its_order),
        TEST(inputs_that_no_root_needs_may_be_absent),
        TEST(a_program_without_roots_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
