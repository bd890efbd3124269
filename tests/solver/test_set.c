#include "solver/project/set.h"

#include "solver/problem.h"
#include "solver/shapes.h"
#include "support/cmocka.h"

static const tc_set *set_of(problem *p, const char *text) {
    *p = problem_of(text);
    return tc_set_of(p->arena, &p->model->families[0], 0);
}

static void boxes_and_simple_pieces_fold_into_the_bounds(void **state) {
    (void)state;
    problem p;
    const tc_set *set = set_of(&p, "agent a { state x[3] in [-5, 5]\n"
                                   " private set x[1] <= 2; private set 2 * x[2] >= 3; private set x[3] == 1\n"
                                   " private set x in [-4, 4]; private minimize x[1] }\n");
    assert_int_equal(set->shape, TC_SHAPE_BOX);
    assert_true(set->lower[0] == -4 && set->upper[0] == 2);
    assert_true(set->lower[1] == 1.5 && set->upper[1] == 4);
    assert_true(set->lower[2] == 1 && set->upper[2] == 1);
    problem_free(&p);
}

static void parts_that_cut_nothing_are_dropped(void **state) {
    (void)state;
    problem p;
    const tc_set *set = set_of(&p, "agent a { state x[2] in [-1, 1]\n"
                                   " private set norm(x) <= 2; private set sum(x) <= 3; private set norm1(x) <= 5\n"
                                   " private minimize x[1] }\n");
    assert_int_equal(set->shape, TC_SHAPE_BOX);
    problem_free(&p);
}

static void members_of_a_family_load_their_own_numbers(void **state) {
    (void)state;
    problem p =
        problem_of("agents a[i in 1..3] { state x[2] in [0, 10]; private set sum(x) >= i; private minimize x[1] }");
    tc_set *set = tc_set_new(p.arena, &p.model->families[0]);
    for (size_t k = 0; k < 3; k++) {
        tc_set_load(set, k);
        assert_int_equal(set->part_count, 1);
        assert_true(set->parts[0].radius == -(double)(k + 1));
    }
    problem_free(&p);
}

static void emptiness_is_seen_with_its_reason(void **state) {
    (void)state;
    static const struct {
        const char *pieces;
        size_t piece, other;
    } cases[] = {
        {"private set x[1] >= 2; private set x[1] <= 1", 0, 1},
        {"private set sum(x) >= 11", 0, TC_NO_PIECE},
        {"private set sum(x) == -11", 0, TC_NO_PIECE},
        {"private set norm(x - [9, 9]) <= 1", 0, TC_NO_PIECE},
        {"private set norm(x) <= 1; private set sum(x) >= 3", 1, 0},
        {"private set norm(x) <= 1; private set norm(x - [3, 0]) <= 1", 0, 1},
        {"private set x in simplex(1); private set x[1] + 2 * x[2] >= 3", 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "agent a { state x[2] in [-5, 5]; %s; private minimize x[1] }",
                       cases[i].pieces);
        problem p = problem_of(text);
        tc_set *set = tc_set_of(p.arena, &p.model->families[0], 0);
        double witness[2];
        tc_set_conflict conflict;
        assert_false(tc_set_examine(set, witness, &conflict));
        bool same = conflict.piece == cases[i].piece && conflict.other == cases[i].other;
        bool swapped = conflict.piece == cases[i].other && conflict.other == cases[i].piece;
        if (!same && !swapped)
            fail_msg("%s: conflict of %zu and %zu", text, conflict.piece, conflict.other);
        problem_free(&p);
    }
}

static void a_set_with_points_has_a_witness(void **state) {
    (void)state;
    const tc_set_kind kinds[] = {TC_SET_HALFSPACE, TC_SET_HYPERPLANE, TC_SET_BALL, TC_SET_BALL1, TC_SET_ELLIPSOID};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        AT_CASE(seed);
        tc_arena *arena = tc_arena_new(0);
        assert_non_null(arena);
        shape s = shape_new(arena, 3, -2, 2, seed);
        double inner[3], witness[3];
        for (size_t c = 0; c < 3; c++)
            inner[c] = uniform(&s.seed, -1.5, 1.5);
        shape_add_random(&s, kinds[seed % 5], 0, 3, inner, 1);
        shape_add_random(&s, kinds[seed % 4 + (seed % 4 > 0)], 0, 3, inner, 1);
        tc_set *set = tc_set_of(arena, &s.family, 0);
        tc_set_conflict conflict;
        assert_true(tc_set_examine(set, witness, &conflict));
        assert_true(tc_set_violation(set, witness, NULL) <= 1e-11);
        tc_arena_free(arena);
    }
}

static void the_bounding_box_contains_the_set_and_is_tight(void **state) {
    (void)state;
    const tc_set_kind kinds[] = {TC_SET_HALFSPACE, TC_SET_HYPERPLANE, TC_SET_BALL, TC_SET_BALL1, TC_SET_ELLIPSOID};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        AT_CASE(seed);
        tc_arena *arena = tc_arena_new(0);
        assert_non_null(arena);
        shape s = shape_new(arena, 3, -2, 2, seed);
        double inner[3], y[3], lower[3], upper[3];
        for (size_t c = 0; c < 3; c++)
            inner[c] = uniform(&s.seed, -1.5, 1.5);
        shape_add_random(&s, kinds[seed % 5], 0, 3, inner, 0.5);
        tc_set *set = tc_set_of(arena, &s.family, 0);
        tc_set_bounds(set, lower, upper);
        for (int sample = 0; sample < 200; sample++) {
            shape_sample(&s, set, inner, y);
            for (size_t c = 0; c < 3; c++)
                assert_true(lower[c] - 1e-13 <= y[c] && y[c] <= upper[c] + 1e-13);
        }
        tc_arena_free(arena);
    }
    problem p;
    double lower[2], upper[2];
    tc_set_bounds(set_of(&p,
                         "agent a { state x[2] in [-9, 9]; private set quadform(x - [1, 2], [[4, 0], [0, 1]]) <= 1\n"
                         " private minimize x[1] }"),
                  lower, upper);
    assert_true(fabs(lower[0] - 0.5) < 1e-5 && fabs(upper[0] - 1.5) < 1e-5);
    assert_true(fabs(lower[1] - 1) < 1e-5 && fabs(upper[1] - 3) < 1e-5);
    problem_free(&p);
}

static void a_set_describes_itself(void **state) {
    (void)state;
    problem p;
    const tc_set *set =
        set_of(&p, "agent a { state x[2] in [-9, 9]; private set norm(x) <= 1; private set sum(x) <= 0.5\n"
                   " private minimize x[1] }");
    tc_buffer text = tc_buffer_new(p.arena, 1000);
    tc_set_describe(&text, set);
    assert_string_equal(tc_buffer_text(&text), "ball and half-space in a box");
    problem_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_and_simple_pieces_fold_into_the_bounds),
        cmocka_unit_test(parts_that_cut_nothing_are_dropped),
        cmocka_unit_test(members_of_a_family_load_their_own_numbers),
        cmocka_unit_test(emptiness_is_seen_with_its_reason),
        cmocka_unit_test(a_set_with_points_has_a_witness),
        cmocka_unit_test(the_bounding_box_contains_the_set_and_is_tight),
        cmocka_unit_test(a_set_describes_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
