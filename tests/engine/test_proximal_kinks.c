/* Proximal steps of objectives with kinks, against the point that the step must be: it is drawn first, with a
 * subgradient there, and the answer p is chosen so that it is the minimum. */
#include "engine/proximal/proximal.h"

#include "crowd.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <string.h>

enum { DIM = 4, KINKS = 6 };

typedef struct sample {
    double center[DIM];     /* of the square */
    double row[KINKS][DIM]; /* of the kinks */
    double offset[KINKS], w[KINKS];
    double x[DIM], slope[DIM]; /* the minimum, and a subgradient of f there */
    bool is_abs[KINKS];
    double push[DIM]; /* of the set, besides the bounds, at the minimum */
    char more[700];   /* of the objective; slope has its subgradient */
} sample;

/* Some kinks, and some bounds, hold at the minimum. */
static sample draw(uint64_t *seed, bool has_lasso) {
    sample s = {0};
    for (size_t c = 0; c < DIM; c++) {
        s.center[c] = uniform(seed, -1, 1);
        s.x[c] = random_below(seed, 3) == 0 ? (has_lasso ? 0 : 2) : uniform(seed, -1.9, 1.9);
        s.slope[c] = 2 * (s.x[c] - s.center[c]);
    }
    for (size_t k = 0; k < KINKS; k++) {
        double value = 0, l;
        s.is_abs[k] = has_lasso && k < DIM;
        s.w[k] = uniform(seed, 0.5, 3);
        for (size_t c = 0; c < DIM; c++) {
            s.row[k][c] = s.is_abs[k] ? (c == k ? 1 : 0) : uniform(seed, -1, 1);
            value += s.row[k][c] * s.x[c];
        }
        s.offset[k] = s.is_abs[k] ? 0 : k < 2 ? -value : uniform(seed, -2, 2);
        value += s.offset[k];
        if (k < 2 && !s.is_abs[k])
            value = 0;
        double low = s.is_abs[k] ? -1 : 0;
        l = value > 0 ? 1 : value < 0 ? low : uniform(seed, 0.9 * low, 0.9);
        if (value == 0 && random_below(seed, 4) == 0) /* barely held: a minimum that is found slowly */
            l = random_below(seed, 2) == 0 ? low : 1;
        for (size_t c = 0; c < DIM; c++)
            s.slope[c] += l * s.w[k] * s.row[k][c];
    }
    return s;
}

static void write(const sample *s, char *text, size_t size, const char *sets) {
    int at = snprintf(text, size, "agent a {\n state x[4] in [-2, 2]\n %s\n private minimize sumsq(x - [", sets);
    for (size_t c = 0; c < DIM; c++)
        at += snprintf(text + at, size - (size_t)at, "%s%.17g", c > 0 ? ", " : "", s->center[c]);
    at += snprintf(text + at, size - (size_t)at, "])");
    for (size_t k = 0; k < KINKS; k++)
        at += snprintf(text + at, size - (size_t)at, " + %.17g * %s(dot([%.17g, %.17g, %.17g, %.17g], x) + %.17g)",
                       s->w[k], s->is_abs[k] ? "abs" : "pos", s->row[k][0], s->row[k][1], s->row[k][2], s->row[k][3],
                       s->offset[k]);
    (void)snprintf(text + at, size - (size_t)at, "%s\n}\n", s->more);
}

static void expect_step(const sample *s, const char *sets, uint64_t *seed) {
    char text[4000];
    write(s, text, sizeof text, sets);
    crowd c = crowd_of(text);
    assert_non_null(c.derivatives->families[0].lift);
    tc_agents *agents = tc_agents_new(c.arena, c.model, c.derivatives, 1);
    tc_proximal *proximal = tc_proximal_new(c.arena, agents, c.derivatives, NULL);
    for (int trial = 0; trial < 10; trial++) {
        tc_answer_scalars scalars = {.step = exp(uniform(seed, -5, 5)), .regularization = uniform(seed, 0, 1)};
        double p[DIM], old[DIM], next[DIM];
        const double *p_at[DIM], *x_at[DIM];
        double *next_at[DIM];
        for (size_t d = 0; d < DIM; d++) {
            bool is_edge = s->x[d] == 2;
            old[d] = random_below(seed, 4) == 0 ? s->x[d] : uniform(seed, -2, 2);
            p[d] = -(s->slope[d] + scalars.regularization * s->x[d] + (s->x[d] - old[d]) / scalars.step);
            p[d] -= s->push[d];
            p[d] -= is_edge ? uniform(seed, 0.1, 1) : 0; /* pushes against the bound */
            p_at[d] = &p[d];
            x_at[d] = &old[d];
            next_at[d] = &next[d];
        }
        assert_true(tc_proximal_next(proximal, 0, 0, 0, 1, p_at, scalars, x_at, next_at) == TC_ALL_FINITE);
        for (size_t d = 0; d < DIM; d++)
            if (!(fabs(next[d] - s->x[d]) <= 4e-10)) /* of boxes of width 4 */
                fail_msg("x[%zu] is %.17g, not %.17g\n%s", d, next[d], s->x[d], text);
    }
    assert_int_equal(tc_proximal_inaccurate(proximal), 0);
    crowd_free(&c);
}

static void steps_in_a_box_are_the_minimum(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (size_t i = 0; i < CASES(300); i++) {
        AT_CASE(i);
        sample s = draw(&seed, i % 2 == 0);
        expect_step(&s, "", &seed);
    }
}

static void steps_in_another_set_are_the_minimum_too(void **state) {
    (void)state;
    uint64_t seed = 4;
    for (size_t i = 0; i < CASES(40); i++) {
        AT_CASE(i);
        sample s = draw(&seed, i % 2 == 0);
        expect_step(&s, "private set sum(x) <= 100", &seed);
    }
}

/* A half-space, a plane or a slab that holds at the minimum, as hard as not; the rest of the step stays as it was. */
static void steps_under_a_row_are_the_minimum(void **state) {
    (void)state;
    uint64_t seed = 5;
    for (size_t i = 0; i < CASES(300); i++) {
        AT_CASE(i);
        sample s = draw(&seed, i % 2 == 0);
        double a[DIM], at = 0, price = random_below(&seed, 5) == 0 ? 0 : uniform(&seed, 0, 3);
        for (size_t c = 0; c < DIM; c++) {
            a[c] = random_below(&seed, 3) == 0 ? 1 : uniform(&seed, -1, 1);
            at += a[c] * s.x[c];
        }
        char sets[400], sum[200];
        (void)snprintf(sum, sizeof sum, "dot([%.17g, %.17g, %.17g, %.17g], x)", a[0], a[1], a[2], a[3]);
        size_t kind = i / 2 % 3;
        price *= kind > 0 && random_below(&seed, 2) == 0 ? -1 : 1;
        if (kind == 0)
            (void)snprintf(sets, sizeof sets, "private set %s <= %.17g", sum, at);
        else if (kind == 1)
            (void)snprintf(sets, sizeof sets, "private set %s == %.17g", sum, at);
        else
            (void)snprintf(sets, sizeof sets, "private set %.17g <= %s <= %.17g", at - (price < 0 ? 0 : 0.3), sum,
                           at + (price < 0 ? 0.3 : 0));
        for (size_t c = 0; c < DIM; c++)
            s.push[c] = price * a[c];
        expect_step(&s, sets, &seed);
    }
}

/* w max(u_1, .., u_m) with some of them largest together. */
static void add_largest(sample *s, uint64_t *seed) {
    double w = uniform(seed, 0.5, 3), shares[5], sum = 0;
    size_t count = 3 + random_below(seed, 3), together = 1 + random_below(seed, 3);
    size_t at = strlen(s->more);
    at += (size_t)snprintf(s->more + at, sizeof s->more - at, " + %.17g * max(", w);
    for (size_t j = 0; j < count; j++) {
        shares[j] = j < together ? uniform(seed, 0.1, 1) : 0;
        sum += shares[j];
    }
    for (size_t j = 0; j < count; j++) {
        double row[DIM], value = 0;
        for (size_t c = 0; c < DIM; c++) {
            row[c] = uniform(seed, -1, 1);
            value += row[c] * s->x[c];
            s->slope[c] += w * shares[j] / sum * row[c];
        }
        double below = j < together ? 0 : uniform(seed, 0.01, 2);
        at += (size_t)snprintf(s->more + at, sizeof s->more - at, "%sdot([%.17g, %.17g, %.17g, %.17g], x) + %.17g",
                               j > 0 ? ", " : "", row[0], row[1], row[2], row[3], -value - below);
    }
    (void)snprintf(s->more + at, sizeof s->more - at, ")");
}

static void steps_with_the_largest_of_several_are_the_minimum(void **state) {
    (void)state;
    uint64_t seed = 6;
    for (size_t i = 0; i < CASES(300); i++) {
        AT_CASE(i);
        sample s = draw(&seed, i % 2 == 0);
        add_largest(&s, &seed);
        expect_step(&s, i % 3 == 0 ? "private set sum(x) <= 100" : "", &seed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_in_a_box_are_the_minimum),
        cmocka_unit_test(steps_in_another_set_are_the_minimum_too),
        cmocka_unit_test(steps_under_a_row_are_the_minimum),
        cmocka_unit_test(steps_with_the_largest_of_several_are_the_minimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
