/* Where the sizes of a tape show no subnormal number, the evaluator meets none: the processor's own flags tell. Random
 * expressions and their derivatives, at points of lattices, the corners and the smallest ones among them. */
#include "calculus/derivatives.h"
#include "calculus/tape/tape.h"
#include "random_expression.h"
#include "support/cmocka.h"

#include <fenv.h>
#include <stdlib.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { ROOTS = 1 + STATES };

/* ---- what the processor has met ---- */

static void forget(void) {
    assert_int_equal(feclearexcept(FE_ALL_EXCEPT), 0);
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() & ~0x3fU); /* FE_ALL_EXCEPT leaves out subnormal operands */
#endif
}

/* A result that was subnormal and rounded, or an operand that was subnormal. */
static bool has_met_subnormal(void) {
    bool met = fetestexcept(FE_UNDERFLOW) != 0;
#ifdef __x86_64__
    met = met || (_mm_getcsr() & 0x2) != 0;
#endif
    return met;
}

/* ---- problems ---- */

typedef struct problem {
    tc_arena *arena;
    tc_dag *dag;
    tc_expr roots[ROOTS];
    tc_tape *tape;
    double data[COLUMNS];
    tc_interval box[STATES];
    int exponent;
} problem;

static problem problem_of(tc_arena *arena, tc_dag *dag, tc_expr f) {
    problem p = {.arena = arena, .dag = dag};
    for (size_t i = 0; i < ROOTS; i++)
        p.roots[i] = i == 0 ? f : tc_const(dag, 0);
    tc_expr *leaves, *partials;
    size_t count = tc_gradient(arena, tc_differentiator_new(arena, dag), f, TC_STATE, &leaves, &partials);
    for (size_t k = 0; k < count; k++)
        p.roots[1 + dag->nodes[leaves[k]].u.index] = partials[k];
    p.tape = tc_tape_new(arena, dag, p.roots, ROOTS);
    return p;
}

static const char *tiny_of(const problem *p) {
    tc_sized states[STATES], columns[COLUMNS], results[ROOTS], *out[ROOTS];
    const tc_sized *state[STATES], *data[COLUMNS];
    for (size_t i = 0; i < STATES; i++) {
        states[i] = tc_sized_multiple(p->box[i], p->exponent);
        state[i] = &states[i];
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        columns[i] = tc_sized_constant(p->data[i]);
        data[i] = &columns[i];
    }
    for (size_t i = 0; i < ROOTS; i++)
        out[i] = &results[i];
    tc_sized *work = TC_NEW(p->arena, tc_sized, tc_tape_work(p->tape));
    tc_tape_sizes(p->tape, &(tc_sized_inputs){.state = state, .data = data}, 1, work, out);
    for (size_t i = 0; i < ROOTS; i++)
        if (results[i].tiny != NULL)
            return results[i].tiny;
    return NULL;
}

/* A lattice point of the box: an end, one next to zero, or anywhere. */
static double point_in(tc_interval box, int exponent, uint64_t *seed) {
    double least = ceil(ldexp(box.lo, -exponent)), most = floor(ldexp(box.hi, -exponent));
    double n = floor(least + (most - least) * uniform(seed, 0, 1));
    switch (random_below(seed, 6)) {
    case 0:
        n = least;
        break;
    case 1:
        n = most;
        break;
    case 2:
        n = (double)random_below(seed, 5) - 2;
        break;
    case 3:
        n = ldexp(n, -(int)random_below(seed, 40));
        n = n < 0 ? ceil(n) : floor(n);
        break;
    default:
        break;
    }
    return ldexp(fmin(fmax(n, least), most), exponent);
}

static bool meets_subnormal(const problem *p, uint64_t *seed) {
    static double points[STATES][TC_LANES], data[COLUMNS][TC_LANES], values[ROOTS][TC_LANES];
    const double *state_rows[STATES], *data_rows[COLUMNS];
    double *out[ROOTS], *work = TC_NEW(p->arena, double, tc_tape_work(p->tape));
    for (size_t i = 0; i < STATES; i++) {
        state_rows[i] = points[i];
        for (size_t lane = 0; lane < TC_LANES; lane++)
            points[i][lane] = point_in(p->box[i], p->exponent, seed);
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        data_rows[i] = data[i];
        for (size_t lane = 0; lane < TC_LANES; lane++)
            data[i][lane] = p->data[i];
    }
    for (size_t i = 0; i < ROOTS; i++)
        out[i] = values[i];
    forget();
    tc_tape_eval(p->tape, &(tc_inputs){.state = state_rows, .data = data_rows}, TC_LANES, work, out);
    return has_met_subnormal();
}

static void choose_box(problem *p, uint64_t *seed) {
    static const int exponents[] = {0, -10, -20, -40, -120, -300, -1000};
    p->exponent = exponents[random_below(seed, 7)];
    for (size_t i = 0; i < STATES; i++) {
        double c = uniform(seed, -2, 2), h = ldexp(1, p->exponent), width = fmin(0x1p50 * h, 4);
        tc_interval sides[] = {{fmax(c, 0) + h, fmax(c, 0) + h + width},
                               {0, fmin(1, 0x1p50 * h) + h},
                               {-uniform(seed, 0, width) - h, uniform(seed, 0, width) + h},
                               {-700 * width, 700 * width}};
        p->box[i] = sides[random_below(seed, 4)];
    }
}

static void what_is_shown_to_be_normal_is_normal(void **state) {
    (void)state;
    uint64_t seed = 20;
    size_t shown = 0, doubted = 0, met = 0;
    while (shown < 20000) {
        tc_arena *arena = tc_arena_new(0);
        tc_dag *dag = tc_dag_new(arena, 1000000);
        tc_expr f = random_expression(dag, &seed, 1 + (unsigned)random_below(&seed, 5), random_below(&seed, 3) == 0);
        if (dag->nodes[f].has_state && dag->count < 200) {
            problem p = problem_of(arena, dag, f);
            for (size_t i = 0; i < COLUMNS; i++)
                p.data[i] = random_below(&seed, 8) == 0 ? 0 : uniform(&seed, -2, 2);
            for (int box = 0; box < 8; box++) {
                AT_CASE(box);
                choose_box(&p, &seed);
                const char *tiny = tiny_of(&p);
                bool has_met = false;
                for (int block = 0; block < 4; block++)
                    has_met = meets_subnormal(&p, &seed) || has_met;
                if (tiny == NULL && has_met) {
                    show_expression(dag, f);
                    fail_msg(" on the lattice 2^%d meets a subnormal number, and none was shown", p.exponent);
                }
                shown += tiny == NULL;
                doubted += tiny != NULL;
                met += has_met;
            }
        }
        tc_arena_free(arena);
    }
    print_message("%zu shown, %zu not, %zu of these did meet one\n", shown, doubted, met);
    assert_true(met > 100); /* the flags work, and there was something to find */
}

/* ---- by hand ---- */

typedef struct hand {
    tc_interval box;
    int exponent;
    const char *tiny;
} hand;

static void check(tc_expr (*make)(tc_dag *dag, tc_expr x), const hand *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        tc_arena *arena = tc_arena_new(0);
        tc_dag *dag = tc_dag_new(arena, 1000);
        problem p = problem_of(arena, dag, make(dag, tc_state(dag, 0, 0)));
        p.exponent = cases[i].exponent;
        for (size_t s = 0; s < STATES; s++)
            p.box[s] = cases[i].box;
        const char *tiny = tiny_of(&p);
        if ((tiny == NULL) != (cases[i].tiny == NULL) || (tiny != NULL && strcmp(tiny, cases[i].tiny) != 0))
            fail_msg("case %zu: %s", i, tiny == NULL ? "nothing" : tiny);
        tc_arena_free(arena);
    }
}

static tc_expr exponential(tc_dag *dag, tc_expr x) { return tc_exp(dag, x); }
static tc_expr cube(tc_dag *dag, tc_expr x) { return tc_pow(dag, x, 3); }
static tc_expr quotient(tc_dag *dag, tc_expr x) { return tc_div(dag, x, tc_add(dag, x, tc_const(dag, 1e9))); }
static tc_expr real_power(tc_dag *dag, tc_expr x) { return tc_pow(dag, x, 2.5); }
static tc_expr difference(tc_dag *dag, tc_expr x) {
    return tc_sub(dag, tc_exp(dag, x), tc_exp(dag, tc_mul(dag, tc_const(dag, 2), x)));
}

static void limits_are_where_they_should_be(void **state) {
    (void)state;
    static const hand exponentials[] = {{{-707, 0}, -20, NULL},
                                        {{-740, 0}, -20, "an exponential"},
                                        {{-2000, -1000}, -20, "an exponential"},
                                        {{-1, 1}, -440, NULL},
                                        {{0, 0x1p-460}, -500, "the argument of an exponential"}};
    static const hand cubes[] = {{{-1, 1}, -300, NULL}, {{-1, 1}, -400, "a product"}, {{0.5, 1}, -400, NULL}};
    static const hand quotients[] = {{{0, 1}, -900, NULL}, {{0, 1}, -1010, "a quotient"}};
    static const hand powers[] = {{{0, 1}, -300, NULL}, {{0, 1}, -450, "a power"}};
    static const hand differences[] = {
        {{-330, 0}, -20, NULL}, {{-350, 0}, -20, "a sum"}, {{-360, 0}, -20, "an exponential"}};
    check(exponential, exponentials, 5);
    check(cube, cubes, 3);
    check(quotient, quotients, 2);
    check(real_power, powers, 2);
    check(difference, differences, 3);
}

/* Differences of numbers that are near each other are multiples of the last place of the smaller. */
static void sums_of_normal_numbers_can_be_too_small(void **state) {
    (void)state;
    tc_sized a = tc_sized_multiple((tc_interval){0x1p-1000, 1}, -1060), b = tc_sized_constant(-0x1.8p-1000);
    assert_null(a.tiny);
    assert_null(b.tiny);
    assert_string_equal(tc_sized_add(a, b).tiny, "a sum");
    assert_null(tc_sized_add(tc_sized_multiple((tc_interval){0, 1}, -1022), tc_sized_constant(-1)).tiny);
    assert_non_null(tc_sized_constant(0x1p-1030).tiny);
    assert_null(tc_sized_constant(0).tiny);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shown_to_be_normal_is_normal),
        cmocka_unit_test(limits_are_where_they_should_be),
        cmocka_unit_test(sums_of_normal_numbers_can_be_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
