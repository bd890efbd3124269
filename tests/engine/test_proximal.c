#include "engine/proximal/proximal.h"

#include "calculus/tape/tape.h"
#include "crowd.h"
#include "support/cmocka.h"

static const tc_answer_scalars SCALARS = {.step = 0.37, .regularization = 0.0371};
enum { MOST_COLUMNS = 64 };

/* The answer and the state of a member depend on its number alone, wherever it stands. */
static double answer_of(size_t j, size_t c) { return crowd_number(j, c, 1, -3, 3); }
static double state_of(size_t j, size_t c) { return crowd_number(j, c, 2, -1.9, 2.9); }

static tc_proximal *new_proximal(const crowd *c, size_t workers) {
    tc_agents *agents = tc_agents_new(c->arena, c->model, c->derivatives, workers);
    return tc_proximal_new(c->arena, agents, c->derivatives, NULL);
}

/* Members offset + 1 .. offset + count as a family of their own, block by block and worker by worker. */
static void step_family(size_t count, size_t offset, size_t block, const char *objective, const char *sets,
                        tc_answer_scalars scalars, double *const *out) {
    char text[CROWD_TEXT];
    crowd_family(text, sizeof text, "m", count, offset, objective, sets);
    crowd c = crowd_of(text);
    tc_proximal *proximal = new_proximal(&c, 2);
    crowd_rows x = crowd_rows_of(c.arena, count, offset, state_of),
               p = crowd_rows_of(c.arena, count, offset, answer_of);
    for (size_t first = 0, worker = 0; first < count; first += block, worker = 1 - worker) {
        const double *p_at[CROWD_DIM], *x_at[CROWD_DIM];
        double *next_at[CROWD_DIM];
        for (size_t d = 0; d < CROWD_DIM; d++) {
            p_at[d] = p.at[d] + first;
            x_at[d] = x.at[d] + first;
            next_at[d] = out[d] + first;
        }
        size_t left = count - first < block ? count - first : block;
        assert_true(tc_proximal_next(proximal, worker, 0, first, left, p_at, scalars, x_at, next_at) == TC_ALL_FINITE);
    }
    assert_int_equal(tc_proximal_inaccurate(proximal), 0);
    crowd_free(&c);
}

typedef struct judge { /* what a step is measured by, in extended precision */
    const crowd *c;
    tc_tape *firsts;
    long double *work;
    tc_set *set;
} judge;

static judge new_judge(const crowd *c) {
    const tc_family_derivatives *d = c->derivatives->families;
    tc_expr roots[CROWD_DIM];
    for (size_t i = 0; i < d->objective_first_count; i++)
        roots[i] = d->objective_first[i].value;
    judge made = {.c = c, .firsts = tc_tape_new(c->arena, c->model->dag, roots, d->objective_first_count)};
    made.work = TC_NEW(c->arena, long double, tc_tape_work(made.firsts));
    made.set = tc_set_new(c->arena, c->model->families);
    return made;
}

/* The gradient of what the step minimises. */
static void gradient_at(const judge *j, size_t member, tc_answer_scalars scalars, const double *x, long double *g) {
    const tc_family_derivatives *d = j->c->derivatives->families;
    const tc_family *family = j->c->model->families;
    long double at[CROWD_DIM], values[CROWD_DIM], *out[CROWD_DIM];
    const long double *state[CROWD_DIM];
    const double *data[MOST_COLUMNS];
    for (size_t c = 0; c < CROWD_DIM; c++) {
        at[c] = x[c];
        state[c] = &at[c];
        out[c] = &values[c];
        g[c] = (long double)answer_of(member + 1, c) + (long double)scalars.regularization * at[c] +
               (at[c] - (long double)state_of(member + 1, c)) / (long double)scalars.step;
    }
    for (size_t i = 0; i < family->column_count; i++)
        data[i] = family->columns[i].values + member;
    const tc_long_inputs inputs = {.state = state, .data = data};
    tc_tape_eval_long(j->firsts, &inputs, 1, j->work, out);
    for (size_t i = 0; i < d->objective_first_count; i++)
        g[d->objective_first[i].column] += values[i];
}

/* x is the point of the set nearest to x - tau gradient, with a step tau that fits the curvature. */
static void check_residual(const judge *j, size_t member, tc_answer_scalars scalars, double curvature,
                           const double *x) {
    long double g[CROWD_DIM],
        tau = 1 / ((long double)curvature + (long double)scalars.regularization + 1 / (long double)scalars.step);
    double v[CROWD_DIM], y[CROWD_DIM];
    tc_set_load(j->set, member);
    assert_true(tc_set_violation(j->set, x, NULL) <= 1e-12);
    gradient_at(j, member, scalars, x, g);
    for (size_t c = 0; c < CROWD_DIM; c++)
        v[c] = (double)((long double)x[c] - tau * g[c]);
    (void)tc_project(j->set, v, y);
    for (size_t c = 0; c < CROWD_DIM; c++)
        assert_true(fabs(y[c] - x[c]) <= 5e-10); /* of boxes of width 5 */
}

/* No point of the set is downhill. */
static void check_inequality(const judge *j, size_t member, tc_answer_scalars scalars, double curvature,
                             const double *x, uint64_t *seed) {
    long double g[CROWD_DIM], size = 0;
    double y[CROWD_DIM], inner[CROWD_DIM];
    tc_set_load(j->set, member);
    gradient_at(j, member, scalars, x, g);
    for (size_t c = 0; c < CROWD_DIM; c++) {
        inner[c] = (j->set->lower[c] + j->set->upper[c]) / 2;
        size = fmaxl(size, fabsl(g[c]));
    }
    (void)tc_project(j->set, inner, inner);
    for (int sample = 0; sample < 5; sample++) {
        long double product = 0;
        assert_true(crowd_feasible(j->set, inner, seed, y));
        for (size_t c = 0; c < CROWD_DIM; c++)
            product += g[c] * ((long double)y[c] - (long double)x[c]);
        assert_true(product >= -1e-9L * (1 + size + 1 / (long double)scalars.step + (long double)curvature));
    }
}

static void check_steps(const char *objective, const char *sets, size_t count, tc_answer_scalars scalars,
                        double curvature) {
    char text[CROWD_TEXT];
    uint64_t seed = 5;
    crowd_family(text, sizeof text, "m", count, 0, objective, sets);
    crowd c = crowd_of(text);
    judge j = new_judge(&c);
    crowd_rows next = crowd_rows_of(c.arena, count, 0, state_of);
    step_family(count, 0, count, objective, sets, scalars, next.at);
    for (size_t k = 0; k < count; k++) {
        AT_CASE(k);
        double x[CROWD_DIM];
        for (size_t d = 0; d < CROWD_DIM; d++)
            x[d] = next.at[d][k];
        check_residual(&j, k, scalars, curvature, x);
        check_inequality(&j, k, scalars, curvature, x, &seed);
    }
    crowd_free(&c);
}

static void a_step_is_the_minimum_for_every_objective_and_set(void **state) {
    (void)state;
    for (size_t s = 0; s < SET_COUNT; s++)
        for (size_t o = 0; o < OBJECTIVE_COUNT; o++)
            check_steps(OBJECTIVES[o], SETS[s], 20, SCALARS, 1);
}

/* x^3 has a place among the objectives, but only short steps make its problem convex. */
static bool is_convex(size_t o) { return strstr(OBJECTIVES[o], "^3") == NULL; }

static void steps_may_be_tiny_and_huge(void **state) {
    (void)state;
    static const double steps[] = {1e-8, 1e-4, 1e-2, 10, 1e4, 1e8};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (size_t s = 0; s < SET_COUNT; s++)
            for (size_t o = 0; o < OBJECTIVE_COUNT; o++)
                if (steps[i] < 0.5 || is_convex(o))
                    check_steps(OBJECTIVES[o], SETS[s], 4, (tc_answer_scalars){.step = steps[i]}, 1);
}

/* Steep, stiff, with kinks that are all but corners, with curvature without bound at the edge of the box. */
static void hard_objectives_are_minimised_where_newton_goes(void **state) {
    (void)state;
    static const char *const hard[] = {
        "exp(20 * x[1] - b) + exp(-15 * x[2] + x[3]) + (x[3] - d)^4",
        "sumsq(x - [a, b, d, w])^2",
        "-log(x[1] + 2.0001) - 1e-3 * log(3.001 - x[2]) + 5 * huber(x[3] + x[4], 1e-3)",
        "pow(x[1] + 2, 1.5) + pow(x[2] + x[3] + 4, 1.25) + x[4]^2",
        "quadform(x, [[4, 1, 2, -1], [1, 3, 0.5, 1], [2, 0.5, 5, 1], [-1, 1, 1, 6]]) * (1 + 100 * w)",
        "norm([x[1] - a, x[2] - b, 1e-3]) * 10 + x[3]^20 + (1 + a) * x[4]^2",
        "(x[1] + x[2] + x[3] + x[4])^2 + 1e-3 * a * x[1]",
    };
    static const double steps[] = {1e-4, 1e-2, 1, 30, 1e4};
    for (size_t o = 0; o < sizeof hard / sizeof *hard; o++)
        for (size_t s = 0; s < SET_COUNT; s++)
            for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
                check_steps(hard[o], SETS[s], s < 8 ? 12 : 3, (tc_answer_scalars){.step = steps[i]}, 1e4);
}

static void assert_same_members(double *const *all, size_t offset, double *const *some, size_t count) {
    for (size_t c = 0; c < CROWD_DIM; c++)
        assert_memory_equal(all[c] + offset, some[c], count * sizeof(double));
}

static void members_do_not_depend_on_their_company(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    crowd_rows all = crowd_rows_of(arena, 150, 0, state_of), some = crowd_rows_of(arena, 150, 0, state_of);
    for (size_t s = 0; s < SET_COUNT; s++)
        for (size_t o = 0; o < OBJECTIVE_COUNT; o++) {
            size_t count = s > 9 ? 67 : 150;
            step_family(count, 0, count, OBJECTIVES[o], SETS[s], SCALARS, all.at);
            step_family(count, 0, 29, OBJECTIVES[o], SETS[s], SCALARS, some.at);
            assert_same_members(all.at, 0, some.at, count);
            step_family(1, 66, 1, OBJECTIVES[o], SETS[s], SCALARS, some.at);
            assert_same_members(all.at, 66, some.at, 1);
            step_family(3, 41, 3, OBJECTIVES[o], SETS[s], SCALARS, some.at);
            assert_same_members(all.at, 41, some.at, 3);
        }
    tc_arena_free(arena);
}

static void steps_in_place_and_of_singles_are_the_same(void **state) {
    (void)state;
    char text[CROWD_TEXT * (SET_COUNT + 1)], name[32], part[CROWD_TEXT];
    for (size_t o = 0; o < OBJECTIVE_COUNT; o++) {
        text[0] = '\0';
        for (size_t s = 0; s < SET_COUNT; s++) {
            (void)snprintf(name, sizeof name, "agent_%zu", s);
            crowd_agent(part, sizeof part, name, s + 3, OBJECTIVES[(o + s) % OBJECTIVE_COUNT], SETS[s]);
            strcat(text, part);
        }
        crowd c = crowd_of(text);
        tc_proximal *proximal = new_proximal(&c, 2);
        size_t n = c.model->state_count;
        double *x = TC_NEW(c.arena, double, n), *p = TC_NEW(c.arena, double, n), *next = TC_NEW(c.arena, double, n);
        for (size_t i = 0; i < n; i++) {
            x[i] = state_of(i / CROWD_DIM + 3, i % CROWD_DIM);
            p[i] = answer_of(i / CROWD_DIM + 3, i % CROWD_DIM);
        }
        assert_true(tc_proximal_next_singles(proximal, 1, p, SCALARS, x, next) == TC_ALL_FINITE);
        for (size_t f = 0; f < c.model->family_count; f++) {
            const double *p_at[CROWD_DIM];
            double *x_at[CROWD_DIM];
            for (size_t d = 0; d < CROWD_DIM; d++) {
                p_at[d] = p + c.model->families[f].first_coord + d;
                x_at[d] = x + c.model->families[f].first_coord + d;
            }
            assert_true(tc_proximal_next(proximal, 0, f, 0, 1, p_at, SCALARS, (const double *const *)x_at, x_at) ==
                        TC_ALL_FINITE);
        }
        assert_memory_equal(x, next, n * sizeof *x);
        crowd_free(&c);
    }
}

/* -log(x) by hand, from x = 0: the positive root of x^2 (a + 1/s) + x p = 1. */
static void edges_of_domains_do_no_harm(void **state) {
    (void)state;
    crowd c = crowd_of("agents m[i in 1..70] { state x in [0, 9]; private minimize -log(x) }\n"
                       "agents n[i in 1..70] { state x[2] in [0, 9]; private set sum(x) <= 1 + i;\n"
                       "  private minimize -log(x[1]) - log(x[2]) }\n"
                       "agents r[i in 1..70] { state x[2] in [0, 9]; private minimize pow(x[1] + x[2], 1.5) }\n");
    tc_proximal *proximal = new_proximal(&c, 1);
    double x[2][70] = {{0}}, p[2][70], next[2][70], *next_at[] = {next[0], next[1]};
    const double *x_at[] = {x[0], x[1]}, *p_at[] = {p[0], p[1]};
    for (size_t k = 0; k < 70; k++)
        p[0][k] = p[1][k] = answer_of(k, 0) * 3;
    for (size_t f = 0; f < 3; f++) {
        assert_true(tc_proximal_next(proximal, 0, f, 0, 70, p_at, SCALARS, x_at, next_at) == TC_ALL_FINITE);
        for (size_t k = 0; k < 70; k++) {
            double w = SCALARS.regularization + 1 / SCALARS.step, q = p[0][k];
            double root = 2 / (q + sqrt(q * q + 4 * w));
            if (f == 0)
                assert_true(fabs(next[0][k] - fmin(root, 9)) <= 1e-10);
            if (f == 1)
                assert_true(fabs(next[1][k] - fmin(root, (1 + (double)(k + 1)) / 2)) <= 1e-10);
            if (f == 2 && q > 0)
                assert_true(next[0][k] == 0 && next[1][k] == 0);
            if (f == 2 && q < 0) { /* 1.5 sqrt(2 x) + w x = -q */
                double u = 2 * -q / (1.5 * sqrt(2) + sqrt(4.5 - 4 * w * q));
                assert_true(fabs(next[0][k] - u * u) <= 1e-10);
            }
        }
    }
    crowd_free(&c);
}

static void a_member_that_is_not_finite_is_named(void **state) {
    (void)state;
    static const char *const sets[] = {"", "private set sum(x) <= 1 + a + b",
                                       "private set norm1(x - [d, d, d, d]) <= 2.2 + w"};
    for (size_t o = 0; o < OBJECTIVE_COUNT; o++)
        for (size_t s = 0; s < 3; s++)
            for (size_t bad = 0; bad < 3; bad++) {
                char text[CROWD_TEXT];
                crowd_family(text, sizeof text, "m", 100, 0, OBJECTIVES[o], sets[s]);
                crowd c = crowd_of(text);
                tc_proximal *proximal = new_proximal(&c, 1);
                crowd_rows x = crowd_rows_of(c.arena, 100, 0, state_of), p = crowd_rows_of(c.arena, 100, 0, answer_of);
                p.at[bad][66 + bad] = bad == 0 ? INFINITY : bad == 1 ? NAN : -INFINITY;
                assert_int_equal(tc_proximal_next(proximal, 0, 0, 0, 100, (const double *const *)p.at, SCALARS,
                                                  (const double *const *)x.at, x.at),
                                 66 + bad);
                crowd_free(&c);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_the_minimum_for_every_objective_and_set),
        cmocka_unit_test(steps_may_be_tiny_and_huge),
        cmocka_unit_test(hard_objectives_are_minimised_where_newton_goes),
        cmocka_unit_test(members_do_not_depend_on_their_company),
        cmocka_unit_test(steps_in_place_and_of_singles_are_the_same),
        cmocka_unit_test(edges_of_domains_do_no_harm),
        cmocka_unit_test(a_member_that_is_not_finite_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
