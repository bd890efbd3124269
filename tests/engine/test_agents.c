#include "engine/agents.h"

#include "calculus/tape/tape.h"
#include "crowd.h"
#include "support/cmocka.h"

static const tc_answer_scalars SCALARS = {.step = 0.173, .regularization = 0.0371};
enum { LARGEST = 5000 };

/* The answer and the state of a member depend on its number alone, wherever it stands. */
static double answer_of(size_t j, size_t c) { return crowd_number(j, c, 1, -2, 2); }
static double state_of(size_t j, size_t c) { return crowd_number(j, c, 2, -1.9, 2.9); }

/* Members offset + 1 .. offset + count as a family of their own, stepped block by block: x[component][k]. */
static void step_family(size_t count, size_t offset, size_t block, const char *objective, const char *sets,
                        double *const *out) {
    char text[CROWD_TEXT];
    crowd_family(text, sizeof text, "m", count, offset, objective, sets);
    crowd c = crowd_of(text);
    tc_agents *agents = tc_agents_new(c.arena, c.model, c.derivatives, 3);
    crowd_rows x = crowd_rows_of(c.arena, count, offset, state_of),
               p = crowd_rows_of(c.arena, count, offset, answer_of);
    for (size_t first = 0, worker = 0; first < count; first += block, worker = (worker + 1) % 3) {
        const double *p_at[CROWD_DIM], *x_at[CROWD_DIM];
        double *next_at[CROWD_DIM];
        for (size_t d = 0; d < CROWD_DIM; d++) {
            p_at[d] = p.at[d] + first;
            x_at[d] = x.at[d] + first;
            next_at[d] = out[d] + first;
        }
        size_t left = count - first < block ? count - first : block;
        assert_true(tc_agents_next(agents, worker, 0, first, left, p_at, SCALARS, x_at, next_at) == TC_ALL_FINITE);
    }
    for (size_t d = 0; d < CROWD_DIM && count <= block; d++) { /* in place as well */
        if (d == 0)
            assert_true(tc_agents_next(agents, 1, 0, 0, count, (const double *const *)p.at, SCALARS,
                                       (const double *const *)x.at, x.at) == TC_ALL_FINITE);
        assert_memory_equal(x.at[d], out[d], count * sizeof(double));
    }
    crowd_free(&c);
}

static void assert_same_members(double *const *all, size_t offset, double *const *some, size_t count) {
    for (size_t c = 0; c < CROWD_DIM; c++)
        assert_memory_equal(all[c] + offset, some[c], count * sizeof(double));
}

static void members_do_not_depend_on_their_company(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    static const size_t counts[] = {1, 3, 64, 65, 200}, offsets[] = {0, 71, 4800 - 200};
    for (size_t o = 0; o < OBJECTIVE_COUNT; o++) {
        const char *sets = SETS[(o * 5 + 1) % SET_COUNT];
        bool is_slow = strstr(sets, "quadform") != NULL || strstr(sets, "ball1") != NULL;
        size_t largest = is_slow ? 700 : LARGEST;
        tc_mark mark = tc_arena_mark(arena);
        crowd_rows all = crowd_rows_of(arena, LARGEST, 0, state_of), some = crowd_rows_of(arena, LARGEST, 0, state_of);
        step_family(largest, 0, 2048, OBJECTIVES[o], sets, all.at);
        for (size_t i = 0; i < 5; i++)
            for (size_t k = 0; k < 3; k++) {
                if (offsets[k] + counts[i] > largest)
                    continue;
                step_family(counts[i], offsets[k], i == 4 ? 37 : 2048, OBJECTIVES[o], sets, some.at);
                assert_same_members(all.at, offsets[k], some.at, counts[i]);
            }
        tc_arena_rewind(arena, mark);
    }
    tc_arena_free(arena);
}

static void every_objective_and_set_goes_together(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    crowd_rows all = crowd_rows_of(arena, 67, 0, state_of), some = crowd_rows_of(arena, 67, 0, state_of);
    for (size_t s = 0; s < SET_COUNT; s++)
        for (size_t o = 0; o < OBJECTIVE_COUNT; o++) {
            step_family(67, 0, 67, OBJECTIVES[o], SETS[s], all.at);
            step_family(1, 66, 67, OBJECTIVES[o], SETS[s], some.at);
            assert_same_members(all.at, 66, some.at, 1);
        }
    tc_arena_free(arena);
}

/* Agents written one by one, among a family that must not be touched: all at once, and each through tc_agents_next. */
static void agents_step_all_at_once_as_one_by_one(void **state) {
    (void)state;
    char text[CROWD_TEXT * (SET_COUNT + 1)], name[32], part[CROWD_TEXT];
    for (size_t o = 0; o < OBJECTIVE_COUNT; o++) {
        text[0] = '\0';
        for (size_t s = 0; s < SET_COUNT; s++) {
            (void)snprintf(name, sizeof name, "agent_%zu", s);
            crowd_agent(part, sizeof part, name, s + 3, OBJECTIVES[(o + s) % OBJECTIVE_COUNT], SETS[s]);
            strcat(text, part);
            crowd_family(part, sizeof part, "crowd", 2, 0, OBJECTIVES[o], "");
            if (s == 5)
                strcat(text, part);
        }
        crowd c = crowd_of(text);
        tc_agents *agents = tc_agents_new(c.arena, c.model, c.derivatives, 2);
        size_t n = c.model->state_count;
        double *x = TC_NEW(c.arena, double, n), *p = TC_NEW(c.arena, double, n), *next = TC_NEW(c.arena, double, n);
        for (size_t f = 0; f < c.model->family_count; f++)
            for (size_t i = 0; i < c.model->families[f].count * CROWD_DIM; i++) {
                x[c.model->families[f].first_coord + i] = state_of(f, i);
                p[c.model->families[f].first_coord + i] = answer_of(f, i);
                next[c.model->families[f].first_coord + i] = 77;
            }
        assert_true(tc_agents_next_singles(agents, 1, p, SCALARS, x, next) == TC_ALL_FINITE);
        for (size_t f = 0; f < c.model->family_count; f++) {
            const tc_family *family = &c.model->families[f];
            const double *p_at[CROWD_DIM], *x_at[CROWD_DIM];
            double one[CROWD_DIM], *one_at[CROWD_DIM];
            for (size_t d = 0; d < CROWD_DIM; d++) {
                p_at[d] = p + family->first_coord + d;
                x_at[d] = x + family->first_coord + d;
                one_at[d] = &one[d];
                one[d] = 77;
            }
            if (family->count == 1)
                assert_true(tc_agents_next(agents, 0, f, 0, 1, p_at, SCALARS, x_at, one_at) == TC_ALL_FINITE);
            assert_memory_equal(one, next + family->first_coord, sizeof one);
        }
        assert_true(tc_agents_next_singles(agents, 0, p, SCALARS, x, x) == TC_ALL_FINITE);
        for (size_t f = 0; f < c.model->family_count; f++)
            if (c.model->families[f].count == 1)
                assert_memory_equal(x + c.model->families[f].first_coord, next + c.model->families[f].first_coord,
                                    CROWD_DIM * sizeof *x);
        crowd_free(&c);
    }
}

static void step_alone(const char *text, size_t j, double *x) {
    crowd c = crowd_of(text);
    tc_agents *agents = tc_agents_new(c.arena, c.model, c.derivatives, 1);
    double p[CROWD_DIM];
    for (size_t d = 0; d < CROWD_DIM; d++) {
        x[d] = state_of(j, d);
        p[d] = answer_of(j, d);
    }
    assert_true(tc_agents_next_singles(agents, 0, p, SCALARS, x, x) == TC_ALL_FINITE);
    crowd_free(&c);
}

/* With columns of one number each, an agent alone has the same expressions, hence the same bits. With plain numbers
 * for columns, expressions are simplified further and may round differently. */
static void an_agent_alone_steps_as_a_member_with_the_same_numbers(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    crowd_rows all = crowd_rows_of(arena, 40, 0, state_of);
    for (size_t s = 0; s < SET_COUNT; s++)
        for (size_t o = 0; o < OBJECTIVE_COUNT; o++) {
            char text[CROWD_TEXT];
            size_t j = 1 + (s * 7 + o * 3) % 40;
            double column[CROWD_DIM], number[CROWD_DIM];
            step_family(40, 0, 40, OBJECTIVES[o], SETS[s], all.at);
            crowd_family(text, sizeof text, "alone", 1, j - 1, OBJECTIVES[o], SETS[s]);
            step_alone(text, j, column);
            crowd_agent(text, sizeof text, "alone", j, OBJECTIVES[o], SETS[s]);
            step_alone(text, j, number);
            for (size_t d = 0; d < CROWD_DIM; d++) {
                assert_memory_equal(&column[d], &all.at[d][j - 1], sizeof(double));
                assert_true(fabs(number[d] - column[d]) <= 1e-13);
            }
        }
    tc_arena_free(arena);
}

/* f of one member at a point. */
static double objective_at(const crowd *c, const tc_tape *tape, double *work, size_t member, const double *point) {
    const tc_family *family = c->model->families;
    const double *state[CROWD_DIM], *data[64];
    double value, *out[] = {&value};
    for (size_t d = 0; d < CROWD_DIM; d++)
        state[d] = &point[d];
    for (size_t d = 0; d < family->column_count; d++)
        data[d] = family->columns[d].values + member;
    const tc_inputs inputs = {.state = state, .data = data};
    tc_tape_eval(tape, &inputs, 1, work, out);
    return value;
}

/* The new state is the point of the set nearest to x - step (grad f + p + regularization x), the gradient by central
 * differences: it is in the set, and no other point of the set is on the far side of it. */
static void check_step(tc_set *set, size_t member, const double *v, const double *x, uint64_t *seed) {
    double y[CROWD_DIM], inner[CROWD_DIM];
    tc_set_load(set, member);
    assert_true(tc_set_violation(set, x, NULL) <= 1e-12);
    for (size_t d = 0; d < CROWD_DIM; d++)
        inner[d] = (set->lower[d] + set->upper[d]) / 2;
    assert_true(tc_project(set, inner, inner));
    for (int sample = 0; sample < 10; sample++) {
        double product = 0;
        assert_true(crowd_feasible(set, inner, seed, y));
        for (size_t d = 0; d < CROWD_DIM; d++)
            product += (v[d] - x[d]) * (y[d] - x[d]);
        assert_true(product <= 1e-6);
    }
}

static void a_step_goes_down_the_gradient_and_back_into_the_set(void **state) {
    (void)state;
    enum { COUNT = 30 };
    uint64_t seed = 3;
    for (size_t s = 0; s < SET_COUNT; s++)
        for (size_t o = 0; o < OBJECTIVE_COUNT; o++) {
            AT_CASE(o);
            char text[CROWD_TEXT];
            crowd_family(text, sizeof text, "m", COUNT, 0, OBJECTIVES[o], SETS[s]);
            crowd c = crowd_of(text);
            const tc_tape *tape = tc_tape_new(c.arena, c.model->dag, &c.model->families->objective, 1);
            double *work = TC_NEW(c.arena, double, tc_tape_work(tape));
            tc_set *set = tc_set_new(c.arena, c.model->families);
            crowd_rows next = crowd_rows_of(c.arena, COUNT, 0, state_of);
            step_family(COUNT, 0, COUNT, OBJECTIVES[o], SETS[s], next.at);
            for (size_t k = 0; k < COUNT; k++) {
                double x[CROWD_DIM], v[CROWD_DIM], moved[CROWD_DIM], h = 1e-5;
                for (size_t d = 0; d < CROWD_DIM; d++) {
                    x[d] = state_of(k + 1, d);
                    moved[d] = next.at[d][k];
                }
                for (size_t d = 0; d < CROWD_DIM; d++) {
                    double at = x[d];
                    x[d] = at + h;
                    double above = objective_at(&c, tape, work, k, x);
                    x[d] = at - h;
                    double below = objective_at(&c, tape, work, k, x);
                    x[d] = at;
                    double slope = (above - below) / (2 * h);
                    v[d] = at - SCALARS.step * (slope + answer_of(k + 1, d) + SCALARS.regularization * at);
                    if (SETS[s][0] == '\0') /* a box: by hand */
                        assert_true(fabs(moved[d] - fmin(fmax(v[d], -2), 3)) <= 1e-6);
                }
                check_step(set, k, v, moved, &seed);
            }
            crowd_free(&c);
        }
}

static void the_order_of_operations_is_the_one_promised(void **state) {
    (void)state;
    crowd c = crowd_of("agents m[i in 1..500] { state x in [-1e9, 1e9]; private minimize (x - i / 7)^2 }\n"
                       "agent z { state y[2] in [-1e9, 1e9]; private minimize 0.1 * y[1] }\n");
    tc_agents *agents = tc_agents_new(c.arena, c.model, c.derivatives, 1);
    double x[502], p[502];
    for (size_t k = 0; k < 502; k++) {
        x[k] = state_of(k, 0);
        p[k] = answer_of(k, 0);
    }
    double *x_at[] = {x};
    const double *p_at[] = {p};
    assert_true(tc_agents_next(agents, 0, 0, 0, 500, p_at, SCALARS, (const double *const *)x_at, x_at) ==
                TC_ALL_FINITE);
    assert_true(tc_agents_next_singles(agents, 0, p, SCALARS, x, x) == TC_ALL_FINITE);
    for (size_t k = 0; k < 502; k++) {
        double before = state_of(k, 0), gradient = k < 500 ? 2 * (before - (double)(k + 1) / 7) : k == 500 ? 0.1 : 0;
        double sum = gradient + p[k];
        double pull = SCALARS.regularization * before;
        double whole = sum + pull;
        double move = SCALARS.step * whole;
        assert_true(x[k] == before - move);
    }
    crowd_free(&c);
}

static void a_start_is_projected_onto_the_set(void **state) {
    (void)state;
    crowd c = crowd_of("agents m[i in 1..70] { state x[2] in [1, 9]; private set sum(x) <= 4; private minimize x[1]\n"
                       "  start x = [i / 10 + 1, 3] }\n"
                       "agents n[i in 1..2] { state x in [-5, i]; private minimize x }\n"
                       "agent z { state y[2] in [2, 5]; private set y[1] >= 2.5; private minimize y[1] }\n");
    tc_agents *agents = tc_agents_new(c.arena, c.model, c.derivatives, 1);
    double x[144];
    tc_agents_start(agents, x);
    for (size_t k = 0; k < 70; k++) {
        double first = (double)(k + 1) / 10 + 1, excess = fmax(0, first + 3 - 4) / 2;
        double expected = fmin(fmax(first - excess, 1), 3);
        assert_true(fabs(x[k] - expected) < 1e-14);
        assert_true(fabs(x[70 + k] - fmin(3, 4 - expected)) < 1e-14);
    }
    assert_true(x[140] == 0 && x[141] == 0 && x[142] == 2.5 && x[143] == 2);
    assert_int_equal(tc_agents_inaccurate(agents), 0);
    crowd_free(&c);
}

static void a_member_that_is_not_finite_is_named(void **state) {
    (void)state;
    crowd c = crowd_of("agents m[i in 1..300] { state x[2] in [0, 9]; private minimize sumsq(x) }\n"
                       "agents n[i in 1..300] { state x[2] in [0, 9]; private set sum(x) <= 1;\n"
                       "  private minimize -log(x[1]) }\n"
                       "agent y { state x[2] in [0, 9]; private minimize sum(x) }\n"
                       "agent z { state x[2] in [0, 9]; private set sum(x) <= 1; private minimize -log(x[2]) }\n");
    tc_agents *agents = tc_agents_new(c.arena, c.model, c.derivatives, 1);
    double x[1204], p[1204], kept[1204], next[1204];
    for (size_t i = 0; i < 1204; i++) {
        p[i] = 0;
        kept[i] = x[i] = 1 + (double)(i % 7);
    }
    p[300 + 201] = NAN;
    kept[600 + 299] = x[600 + 299] = 0; /* log 0 */
    for (size_t f = 0; f < 2; f++) {
        const double *x_at[] = {x + 600 * f, x + 600 * f + 300}, *p_at[] = {p + 600 * f, p + 600 * f + 300};
        double *next_at[] = {next + 600 * f, next + 600 * f + 300};
        assert_int_equal(tc_agents_next(agents, 0, f, 0, 300, p_at, SCALARS, x_at, next_at), f == 0 ? 201 : 299);
    }
    p[1200] = INFINITY;
    assert_int_equal(tc_agents_next_singles(agents, 0, p, SCALARS, x, x), 2);
    p[1200] = 0;
    kept[1203] = x[1203] = 0;
    assert_int_equal(tc_agents_next_singles(agents, 0, p, SCALARS, x, x), 3);
    assert_memory_equal(x, kept, sizeof x);
    kept[1203] = x[1203] = 0.5;
    assert_true(tc_agents_next_singles(agents, 0, p, SCALARS, x, x) == TC_ALL_FINITE);
    crowd_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_do_not_depend_on_their_company),
        cmocka_unit_test(every_objective_and_set_goes_together),
        cmocka_unit_test(agents_step_all_at_once_as_one_by_one),
        cmocka_unit_test(an_agent_alone_steps_as_a_member_with_the_same_numbers),
        cmocka_unit_test(a_step_goes_down_the_gradient_and_back_into_the_set),
        cmocka_unit_test(the_order_of_operations_is_the_one_promised),
        cmocka_unit_test(a_start_is_projected_onto_the_set),
        cmocka_unit_test(a_member_that_is_not_finite_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
