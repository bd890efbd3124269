/* Private sets: what is recognised, and as what. */
#include "model/support.h"

static bench load_set(const char *line) {
    char text[1000];
    put_file("d.csv", "need,c_1,c_2,r\n1,2,3,4\n5,6,7,8\n");
    (void)snprintf(
        text, sizeof text,
        "data d = csv \"d.csv\"\nparam P = [[2, 1], [1, 2]]\n"
        "agents f over d {\n  state s in [-9, 9]\n  state p[2] in [-10, 10]\n  private minimize s\n  %s\n}\n",
        line);
    return load_bytes(text, strlen(text));
}

static tc_set_piece piece_of(bench *b, size_t i) {
    if (b->status != TC_OK)
        print_error("%s", messages_of(b));
    assert_int_equal(b->status, TC_OK);
    assert_true(b->model->families[0].piece_count > i);
    return b->model->families[0].pieces[i];
}

static void relations_become_half_spaces_and_hyperplanes(void **state) {
    (void)state;
    bench b = load_set("private set sum(p) >= need");
    tc_set_piece piece = piece_of(&b, 0);
    assert_int_equal(piece.kind, TC_SET_HALFSPACE);
    assert_int_equal(piece.first, 1);
    assert_int_equal(piece.count, 2);
    assert_true(piece.center[0].value == -1 && piece.center[1].value == -1);
    assert_true(tc_coef_at(piece.radius, 0) == -1 && tc_coef_at(piece.radius, 1) == -5);
    bench_free(&b);
    b = load_set("private set 2 * s - need * p[2] / 4 + 1 == 3 * p[2]");
    piece = piece_of(&b, 0);
    assert_int_equal(piece.kind, TC_SET_HYPERPLANE);
    assert_int_equal(piece.first, 0);
    assert_int_equal(piece.count, 3);
    assert_true(tc_coef_at(piece.center[0], 0) == 2 && tc_coef_at(piece.center[1], 0) == 0 &&
                tc_coef_at(piece.center[2], 1) == -4.25);
    assert_true(tc_coef_at(piece.radius, 0) == -1);
    bench_free(&b);
    b = load_set("private set P * p <= c");
    assert_int_equal(b.model->families[0].piece_count, 2);
    piece = piece_of(&b, 1);
    assert_true(piece.center[0].value == 1 && piece.center[1].value == 2 && tc_coef_at(piece.radius, 1) == 7);
    bench_free(&b);
}

static void bounds_become_boxes(void **state) {
    (void)state;
    bench b = load_set("private set p <= c");
    tc_set_piece piece = piece_of(&b, 0);
    assert_int_equal(piece.kind, TC_SET_BOX);
    assert_int_equal(piece.first, 1);
    assert_true(piece.center[1].value == -10 && tc_coef_at(piece.upper[1], 1) == 7);
    bench_free(&b);
    b = load_set("private set -1 <= p[2]");
    piece = piece_of(&b, 0);
    assert_int_equal(piece.kind, TC_SET_BOX);
    assert_int_equal(piece.first, 2);
    assert_int_equal(piece.count, 1);
    assert_true(piece.center[0].value == -1 && piece.upper[0].value == 10);
    bench_free(&b);
    b = load_set("private set p in [-need, c]");
    piece = piece_of(&b, 0);
    assert_true(tc_coef_at(piece.center[0], 1) == -5 && tc_coef_at(piece.upper[0], 1) == 6);
    bench_free(&b);
}

static void curved_sets_are_recognised_however_written(void **state) {
    (void)state;
    static const struct {
        const char *line;
        tc_set_kind kind;
        double center, radius; /* of the second component, for the second member */
    } cases[] = {
        {"private set norm(p - c) <= r", TC_SET_BALL, 7, 8},
        {"private set r >= norm(c - p)", TC_SET_BALL, 7, 8},
        {"private set sumsq(p - c) <= 9", TC_SET_BALL, 7, 3},
        {"private set norm(p) <= 2", TC_SET_BALL, 0, 2},
        {"private set p in ball(c, r)", TC_SET_BALL, 7, 8},
        {"private set norm1(p - 1) <= need", TC_SET_BALL1, 1, 5},
        {"private set p in ball1([1, 2], 3)", TC_SET_BALL1, 2, 3},
        {"private set quadform(p - c, P) <= 4", TC_SET_ELLIPSOID, 7, 4},
        {"private set p in ellipsoid(c, P)", TC_SET_ELLIPSOID, 7, 1},
        {"private set p[1..2] in ball(-c, 2 * r)", TC_SET_BALL, -7, 16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench b = load_set(cases[i].line);
        tc_set_piece piece = piece_of(&b, 0);
        assert_int_equal(piece.kind, cases[i].kind);
        assert_int_equal(piece.first, 1);
        assert_int_equal(piece.count, 2);
        assert_true(tc_coef_at(piece.center[1], 1) == cases[i].center);
        assert_true(tc_coef_at(piece.radius, 1) == cases[i].radius);
        if (piece.kind == TC_SET_ELLIPSOID)
            assert_true(piece.matrix[1].value == 1 && piece.matrix[3].value == 2);
        bench_free(&b);
    }
    bench b = load_set("private set p in simplex(need)");
    tc_set_piece piece = piece_of(&b, 0);
    assert_int_equal(piece.kind, TC_SET_SIMPLEX);
    assert_true(tc_coef_at(piece.radius, 1) == 5);
    bench_free(&b);
}

static void pieces_are_kept_in_order(void **state) {
    (void)state;
    bench b = load_set("private set p in [0, 9]; private set sum(p) == 3; private set norm(p) <= 8; private set s <= "
                       "1; private set s >= 0");
    static const tc_set_kind kinds[] = {TC_SET_BOX, TC_SET_HYPERPLANE, TC_SET_BALL, TC_SET_BOX, TC_SET_BOX};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(piece_of(&b, i).kind, kinds[i]);
    bench_free(&b);
}

static void what_is_not_a_set_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"private set p[1] * p[2] <= 1", "this part is not affine in the state"},
        {"private set exp(s) <= 1", "this part is not affine in the state"},
        {"private set norm(p) >= 1", "this part is not affine in the state"},
        {"private set norm(2 * p) <= 1", "this is not of the form x - c"},
        {"private set norm(p) <= s", "a radius must not depend on states"},
        {"private set need <= 3", "this relation contains no state"},
        {"private set p in [3, 2]", "this set is empty: the lower bound is above the upper one"},
        {"private set p in [need, 3]", "this set is empty for f[2]: the lower bound is above the upper one"},
        {"private set norm(p) <= -1", "a radius must not be negative, but this private number is wrong"},
        {"private set norm(p) <= 2 - need", "a radius must not be negative, but this private number is wrong for f[2]"},
        {"private set p in ellipsoid(0, [[1, 2], [2, 1]])",
         "the matrix of an ellipsoid must be positive definite, but this one is not"},
        {"private set p in ellipsoid(0, [[1, 2], [0, 1]])", "entries [1, 2] and [2, 1] differ"},
        {"private set p in ellipsoid(0, 3)", "must be a constant 2 x 2 matrix, but this is a number"},
        {"private set p in ball(0)", "ball takes 2 arguments, not 1"},
        {"private set 2 * p in ball(0, 1)", "expected a state, or a range p[a..b] of one, left of 'in'"},
        {"private set (need - 1) * s <= 1", "all coefficients of this relation are zero for f[1]"},
        {"private set p in [0, [1, 2, 3]]",
         "an upper bound must be a number or a vector of 2, but this is a vector of 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench b = load_set(cases[i].line);
        assert_int_equal(b.status, TC_BAD_PROBLEM);
        if (strstr(messages_of(&b), cases[i].message) == NULL) {
            print_error("expected: %s\nfound: %s", cases[i].message, messages_of(&b));
            fail();
        }
        bench_free(&b);
    }
}

static void a_public_set_is_one_half_space_that_everybody_knows(void **state) {
    (void)state;
    put_file("d.csv", "cap,w_1,w_2,need\n8,1,2,0\n5,1,-1,3\n");
    bench b = load_good("data d = csv \"d.csv\" public cap, w\nagents f over d {\n  state p[2] in [0, 4]\n"
                        "  private set sum(p) >= need\n  public set dot(w, p) <= cap\n  private minimize p[1]\n}\n");
    tc_set_piece piece = piece_of(&b, 1);
    assert_true(piece.is_public && !b.model->families[0].pieces[0].is_public);
    assert_ptr_equal(tc_public_set(&b.model->families[0]), &b.model->families[0].pieces[1]);
    assert_int_equal(piece.kind, TC_SET_HALFSPACE);
    assert_true(tc_coef_at(piece.center[1], 0) == 2 && tc_coef_at(piece.center[1], 1) == -1);
    assert_true(tc_coef_at(piece.radius, 0) == 8 && tc_coef_at(piece.radius, 1) == 5);
    bench_free(&b);
    b = load_set("public set 3 >= s");
    assert_int_not_equal(b.status, TC_OK);
    bench_free(&b);
    b = load_set("public set 20 <= sum(p) + s");
    piece = piece_of(&b, 0);
    assert_true(piece.is_public && piece.count == 3 && piece.center[0].value == -1 && piece.radius.value == -20);
    bench_free(&b);
}

static void what_a_public_set_may_not_be_is_said(void **state) {
    (void)state;
    static const struct {
        const char *line, *what;
    } cases[] = {
        {"public set sum(p) <= need", "this set is public, but this uses the private 'need'"},
        {"public set sum(p) == 1", "a public set is one relation E <= F or E >= F"},
        {"public set 0 <= sum(p) <= 1", "a public set is one relation E <= F or E >= F"},
        {"public set p <= 1", "bounds of single states belong into the box of 'state'"},
        {"public set P * p <= 1", "a public set is one relation"},
        {"public set norm(p) <= 1", "a public set is one relation"},
        {"public set p in [0, 1]", "a public set is one relation"},
        {"public set sum(p) <= -20.5", "no state in the box of f[1] keeps to this public set"},
        {"public set sum(p) <= 1; public set sum(p) >= -1", "'f' has two public sets; one is allowed"},
        {"public set sum(p) <= 1; slater s = 0; slater p = 0.6", "the Slater point of f[1] leaves the public set"},
        {"public set sum(p) <= 1; slater s = 0; slater p = 0.4 within 0.2",
         "the Slater point of f[1] leaves the public set"},
        {"public gap 3", "'public' goes with 'set'"},
        {"public", "'public' goes with 'set'"},
        {"public minimize s", "'public' goes with 'set'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench b = load_set(cases[i].line);
        assert_int_equal(b.status, TC_BAD_PROBLEM);
        if (strstr(messages_of(&b), cases[i].what) == NULL)
            fail_msg("%s\n%s", cases[i].line, messages_of(&b));
        bench_free(&b);
    }
    bench b = load_set("public set sum(p) <= 1.2; slater s = 0; slater p = 0.6");
    assert_true(piece_of(&b, 0).is_public);
    bench_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relations_become_half_spaces_and_hyperplanes),
        cmocka_unit_test(bounds_become_boxes),
        cmocka_unit_test(curved_sets_are_recognised_however_written),
        cmocka_unit_test(pieces_are_kept_in_order),
        cmocka_unit_test(what_is_not_a_set_is_refused),
        cmocka_unit_test(a_public_set_is_one_half_space_that_everybody_knows),
        cmocka_unit_test(what_a_public_set_may_not_be_is_said),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
