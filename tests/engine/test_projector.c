#include "engine/projector.h"

#include "crowd.h"
#include "support/cmocka.h"

enum { MEMBERS = 150 };
static const size_t ROOM = (size_t)1 << 27;

typedef struct sets {
    crowd c;
    const tc_family *family;
    tc_set *set; /* for tc_project */
} sets;

static sets sets_of(const char *lines) {
    char text[CROWD_TEXT];
    crowd_family(text, sizeof text, "m", MEMBERS, 0, "sum(x)", lines);
    sets made = {.c = crowd_of(text)};
    made.family = made.c.model->families;
    made.set = tc_set_new(made.c.arena, made.family);
    return made;
}

/* Points of all members, near their sets and far away: [component][member]. */
static double *random_points(tc_arena *arena, uint64_t salt, double reach) {
    double *v = TC_NEW(arena, double, CROWD_DIM *MEMBERS);
    for (size_t c = 0; c < CROWD_DIM; c++)
        for (size_t k = 0; k < MEMBERS; k++)
            v[c * MEMBERS + k] = crowd_number(k, c, salt, -reach, reach);
    return v;
}

static void points_are_those_of_tc_project(void **state) {
    (void)state;
    for (size_t s = 0; s < SET_COUNT; s++) {
        sets of = sets_of(SETS[s]);
        size_t room = ROOM, none = 0;
        tc_projector *kept = tc_projector_new(of.c.arena, of.family, 2, &room);
        tc_projector *loaded = tc_projector_new(of.c.arena, of.family, 1, &none);
        for (uint64_t salt = 0; salt < 3; salt++) {
            double reach = salt == 2 ? 1000 : 3, one[CROWD_DIM];
            double *v = random_points(of.c.arena, salt, reach), *w = random_points(of.c.arena, salt, reach);
            const double *expected = random_points(of.c.arena, salt, reach);
            size_t inaccurate = 0, counted = tc_projector_project(kept, 0, 0, 70, MEMBERS, v);
            counted += tc_projector_project(kept, 1, 70, MEMBERS - 70, MEMBERS, v + 70);
            for (size_t k = 0; k < MEMBERS; k++)
                (void)tc_projector_project(loaded, 0, k, 1, MEMBERS, w + k);
            for (size_t k = 0; k < MEMBERS; k++) {
                for (size_t c = 0; c < CROWD_DIM; c++)
                    one[c] = expected[c * MEMBERS + k];
                tc_set_load(of.set, k);
                assert_false(of.set->is_empty);
                inaccurate += !tc_project(of.set, one, one);
                for (size_t c = 0; c < CROWD_DIM; c++) {
                    assert_memory_equal(&one[c], &v[c * MEMBERS + k], sizeof(double));
                    assert_memory_equal(&one[c], &w[c * MEMBERS + k], sizeof(double));
                }
            }
            assert_int_equal(counted, inaccurate);
        }
        crowd_free(&of.c);
    }
}

/* x is the projection of v exactly where it is in the set and (v - x) . (y - x) <= 0 for all y in the set. */
static void points_satisfy_the_variational_inequality(void **state) {
    (void)state;
    uint64_t seed = 11;
    for (size_t s = 0; s < SET_COUNT; s++) {
        AT_CASE(s);
        size_t compared = 0;
        sets of = sets_of(SETS[s]);
        size_t room = ROOM;
        tc_projector *projector = tc_projector_new(of.c.arena, of.family, 1, &room);
        const double *v = random_points(of.c.arena, 5, 4);
        double *x = random_points(of.c.arena, 5, 4);
        size_t inaccurate = tc_projector_project(projector, 0, 0, MEMBERS, MEMBERS, x);
        assert_int_equal(inaccurate, 0);
        for (size_t k = 0; k < MEMBERS; k++) {
            double point[CROWD_DIM], inner[CROWD_DIM], y[CROWD_DIM];
            tc_set_load(of.set, k);
            for (size_t c = 0; c < CROWD_DIM; c++) {
                inner[c] = (of.set->lower[c] + of.set->upper[c]) / 2;
                point[c] = x[c * MEMBERS + k];
            }
            assert_true(tc_project(of.set, inner, inner));
            assert_true(tc_set_violation(of.set, point, NULL) <= 1e-12);
            for (int sample = 0; sample < 20; sample++) {
                double product = 0;
                if (!crowd_feasible(of.set, inner, &seed, y))
                    continue;
                for (size_t c = 0; c < CROWD_DIM; c++)
                    product += (v[c * MEMBERS + k] - point[c]) * (y[c] - point[c]);
                assert_true(product <= 1e-10);
                compared++;
            }
        }
        assert_true(compared > MEMBERS);
        crowd_free(&of.c);
    }
}

/* Half-spaces that are parallel for every member are one cut; the point is that of the side that is violated, to the
 * bit. */
static void slabs_have_the_bits_of_the_violated_side(void **state) {
    (void)state;
    const char *const above = "private set x[1] + a * x[2] - x[3] <= 0.8 + d";
    const char *const below = "private set x[1] + a * x[2] - x[3] >= b - 0.7";
    char both[256];
    (void)snprintf(both, sizeof both, "%s; %s", above, below);
    sets of[] = {sets_of(above), sets_of(below), sets_of(both)};
    double *x[3];
    for (size_t s = 0; s < 3; s++) {
        size_t room = ROOM;
        tc_projector *projector = tc_projector_new(of[s].c.arena, of[s].family, 1, &room);
        assert_int_equal(projector->form, TC_PROJECTOR_CUTS);
        assert_int_equal(projector->cut_count, 1);
        x[s] = random_points(of[s].c.arena, 7, 4);
        (void)tc_projector_project(projector, 0, 0, MEMBERS, MEMBERS, x[s]);
    }
    size_t sides[2] = {0, 0};
    for (size_t k = 0; k < MEMBERS; k++) {
        double point[CROWD_DIM];
        for (size_t c = 0; c < CROWD_DIM; c++)
            point[c] = x[0][c * MEMBERS + k];
        tc_set_load(of[1].set, k);
        bool is_below = tc_set_violation(of[1].set, point, NULL) > 1e-12;
        for (size_t c = 0; c < CROWD_DIM; c++)
            assert_memory_equal(&x[2][c * MEMBERS + k], &x[is_below ? 1 : 0][c * MEMBERS + k], sizeof(double));
        sides[is_below]++;
    }
    assert_true(sides[0] > MEMBERS / 5 && sides[1] > MEMBERS / 5);
    for (size_t s = 0; s < 3; s++)
        crowd_free(&of[s].c);
}

static void slabs_that_all_share_take_no_memory(void **state) {
    (void)state;
    crowd c = crowd_of("agents m[i in 1..1000000] { state x[2] in [0, 1]; private set 0.5 <= sum(x) <= 1.5;\n"
                       "  private set sum(x) <= 1.25; private minimize x[1] }\n");
    size_t before = tc_arena_bytes(c.arena), room = ROOM;
    tc_projector *projector = tc_projector_new(c.arena, c.model->families, 4, &room);
    assert_int_equal(projector->form, TC_PROJECTOR_CUTS);
    assert_true(tc_arena_bytes(c.arena) - before < (1 << 20));
    double v[] = {1, 0.1, 0.6, 1, 0.1, 0.5}; /* three members: above, below, between */
    assert_int_equal(tc_projector_project(projector, 0, 17, 3, 3, v), 0);
    const double expected[] = {0.625, 0.25, 0.6, 0.625, 0.25, 0.5};
    for (size_t i = 0; i < 6; i++)
        assert_true(fabs(v[i] - expected[i]) <= 1e-15);
    crowd_free(&c);
}

/* Where the half-spaces of one member are not parallel, members are projected one by one. */
static void slabs_of_some_members_are_not_cuts(void **state) {
    (void)state;
    sets of = sets_of("private set x[1] + x[2] <= 1; private set x[1] + x[2] + 0.5 * floor(1.5 * a) * x[2] >= -1");
    size_t room = ROOM;
    assert_int_equal(tc_projector_new(of.c.arena, of.family, 1, &room)->form, TC_PROJECTOR_MEMBERS);
    crowd_free(&of.c);
}

static void bounds_that_all_share_take_no_memory(void **state) {
    (void)state;
    crowd c =
        crowd_of("param n = 1000000\n"
                 "agents m[i in 1..n] { state x[2] in [-1, 2]; private set x[1] <= 0.5; private minimize x[1] }\n");
    size_t before = tc_arena_bytes(c.arena), room = ROOM;
    const tc_coef *lower, *upper;
    tc_projector *projector = tc_projector_new(c.arena, c.model->families, 4, &room);
    assert_true(tc_projector_box(projector, &lower, &upper));
    assert_true(lower[0].value == -1 && upper[0].value == 0.5 && upper[1].value == 2);
    assert_true(lower[0].column == NULL && upper[0].column == NULL);
    assert_true(tc_arena_bytes(c.arena) - before < (1 << 20));
    assert_int_equal(room, ROOM);
    crowd_free(&c);
}

static void sets_that_find_no_room_are_not_kept(void **state) {
    (void)state;
    sets of = sets_of("private set sum(x) <= 1 + a; private set x in ball(0, 1.4 + b)");
    size_t room = ROOM, tight = 1000;
    (void)tc_projector_new(of.c.arena, of.family, 1, &room);
    assert_true(room < ROOM && room > ROOM - 600 * MEMBERS);
    (void)tc_projector_new(of.c.arena, of.family, 1, &tight);
    assert_int_equal(tight, 1000);
    crowd_free(&of.c);
}

/* Two balls that only touch: the projection cannot be accurate, but there is a point. */
static void what_is_not_accurate_is_counted(void **state) {
    (void)state;
    crowd c = crowd_of("agents m[i in 1..3] { state x[2] in [-4, 4]; private minimize x[1]\n"
                       "  private set x in ball([-1, 0], 1); private set x in ball([1, 0], 1) }\n");
    size_t room = ROOM;
    tc_projector *projector = tc_projector_new(c.arena, c.model->families, 1, &room);
    double v[] = {0.5, 0.2, -0.3, 3, 2, 1};
    size_t inaccurate = tc_projector_project(projector, 0, 0, 3, 3, v);
    assert_true(inaccurate > 0 && inaccurate <= 3);
    for (size_t i = 0; i < 6; i++)
        assert_true(fabs(v[i]) < 1e-3);
    crowd_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_those_of_tc_project),
        cmocka_unit_test(points_satisfy_the_variational_inequality),
        cmocka_unit_test(slabs_have_the_bits_of_the_violated_side),
        cmocka_unit_test(slabs_that_all_share_take_no_memory),
        cmocka_unit_test(slabs_of_some_members_are_not_cuts),
        cmocka_unit_test(bounds_that_all_share_take_no_memory),
        cmocka_unit_test(sets_that_find_no_room_are_not_kept),
        cmocka_unit_test(what_is_not_accurate_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
