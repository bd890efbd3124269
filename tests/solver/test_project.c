#include "solver/project/set.h"

#include "solver/interior/interior.h"
#include "solver/shapes.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 12 };

static double distance(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

/* x is the projection of v exactly where x is in the set and (v - x) . (y - x) <= 0 for all y in the set. */
static void assert_projection(shape *s, tc_set *set, const double *inner, const double *v, const double *x) {
    size_t n = set->dim;
    double scale = tc_set_scale(set), y[MOST];
    double reach = distance(n, v, x);
    assert_true(tc_set_violation(set, x, NULL) <= 1e-12 * scale);
    for (int sample = 0; sample < 40; sample++) {
        tc_mark mark = tc_arena_mark(s->arena);
        shape_sample(s, set, inner, y);
        tc_arena_rewind(s->arena, mark);
        double product = 0;
        for (size_t c = 0; c < n; c++)
            product += (v[c] - x[c]) * (y[c] - x[c]);
        if (product > 2e-12 * (scale + reach) * scale)
            fail_msg("variational inequality: %g, scale %g, reach %g", product, scale, reach);
    }
}

static void check_set(shape *s, const double *inner, double size) {
    tc_set *set = tc_set_of(s->arena, &s->family, 0);
    assert_false(set->is_empty);
    assert_true(tc_set_violation(set, inner, NULL) <= 1e-13 * tc_set_scale(set));
    size_t n = set->dim;
    double v[2][MOST], x[2][MOST], again[MOST];
    for (int trial = 0; trial < 8; trial++) {
        for (int which = 0; which < 2; which++) {
            double reach = trial < 6 ? 3 * size : size * 1e3;
            for (size_t c = 0; c < n; c++)
                v[which][c] = inner[c] + uniform(&s->seed, -reach, reach);
            assert_true(tc_project(set, v[which], x[which]));
            assert_projection(s, set, inner, v[which], x[which]);
            assert_true(tc_project(set, x[which], again));
            assert_true(distance(n, again, x[which]) <= 2e-12 * tc_set_scale(set));
        }
        assert_true(distance(n, x[0], x[1]) <= distance(n, v[0], v[1]) + 1e-12 * tc_set_scale(set));
    }
}

static void random_sets(const tc_set_kind *kinds, size_t kind_count, bool overlap, double size) {
    for (uint64_t seed = 1; seed <= 25; seed++) {
        AT_CASE(seed);
        tc_arena *arena = tc_arena_new(0);
        assert_non_null(arena);
        size_t dim = 2 + seed % 4, total = overlap ? dim : dim * kind_count;
        shape s = shape_new(arena, total, -size, size, seed);
        double inner[MOST];
        for (size_t c = 0; c < total; c++)
            inner[c] = uniform(&s.seed, -0.6 * size, 0.6 * size);
        for (size_t k = 0; k < kind_count; k++)
            shape_add_random(&s, kinds[k], overlap ? 0 : k * dim, dim, inner, size);
        check_set(&s, inner, size);
        tc_arena_free(arena);
    }
}

static const tc_set_kind ALL[] = {TC_SET_HALFSPACE, TC_SET_HYPERPLANE, TC_SET_BALL, TC_SET_BALL1, TC_SET_ELLIPSOID};

static void single_parts_in_a_box_are_projected_exactly(void **state) {
    (void)state;
    for (size_t k = 0; k < 5; k++)
        random_sets(&ALL[k], 1, true, 1);
}

static void scales_of_the_data_do_not_matter(void **state) {
    (void)state;
    for (size_t k = 0; k < 5; k++) {
        random_sets(&ALL[k], 1, true, 1e-9);
        random_sets(&ALL[k], 1, true, 1e12);
    }
}

static void parts_on_their_own_components_are_projected_one_by_one(void **state) {
    (void)state;
    for (size_t k = 0; k < 4; k++)
        random_sets((tc_set_kind[]){ALL[k], ALL[k + 1]}, 2, false, 2);
}

static void intersections_are_projected_to_rounding(void **state) {
    (void)state;
    for (size_t k = 0; k < 5; k++)
        for (size_t l = 0; l <= k; l++)
            if (k != 1 || l != 1)
                random_sets((tc_set_kind[]){ALL[k], ALL[l]}, 2, true, 1);
    random_sets((tc_set_kind[]){TC_SET_HALFSPACE, TC_SET_BALL, TC_SET_ELLIPSOID, TC_SET_HALFSPACE}, 4, true, 100);
    random_sets((tc_set_kind[]){TC_SET_HYPERPLANE, TC_SET_BALL, TC_SET_BALL1}, 3, true, 1);
}

/* A slab: both half-spaces of a random normal, and in some a second one on the side of the first. */
static void parallel_half_spaces_are_one_part(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        AT_CASE(seed);
        tc_arena *arena = tc_arena_new(0);
        assert_non_null(arena);
        size_t dim = 2 + seed % 5;
        double size = seed % 3 == 0 ? 1e6 : 1, inner[MOST], normal[MOST], opposite[MOST], at = 0;
        shape s = shape_new(arena, dim, -size, size, seed);
        for (size_t c = 0; c < dim; c++) {
            inner[c] = uniform(&s.seed, -0.6 * size, 0.6 * size);
            normal[c] = uniform(&s.seed, -1, 1);
            opposite[c] = -normal[c];
            at += normal[c] * inner[c];
        }
        double room = seed % 4 == 0 ? 0 : 0.2 * size;
        (void)shape_add(&s, TC_SET_HALFSPACE, 0, dim, opposite, room * 0.3 - at);
        (void)shape_add(&s, TC_SET_HALFSPACE, 0, dim, normal, at + room);
        if (seed % 2 == 0)
            (void)shape_add(&s, TC_SET_HALFSPACE, 0, dim, opposite, room * uniform(&s.seed, 0, 1) - at);
        tc_set *set = tc_set_of(arena, &s.family, 0);
        assert_int_equal(set->shape, TC_SHAPE_SEPARABLE);
        if (room > 0)
            check_set(&s, inner, size);
        for (int trial = 0; trial < 20; trial++) {
            double v[MOST], x[MOST], y[MOST];
            for (size_t c = 0; c < dim; c++)
                v[c] = uniform(&s.seed, -3 * size, 3 * size);
            assert_true(tc_project(set, v, x));
            assert_true(tc_interior_project(set->work->interior, v, y));
            assert_true(tc_set_violation(set, x, NULL) <= 1e-14 * size);
            assert_true(distance(dim, x, y) <= (room > 0 ? 1e-11 : 1e-7) * size);
        }
        tc_arena_free(arena);
    }
}

static void half_spaces_that_miss_each_other_are_no_slab(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    const double normal[] = {1, 1}, opposite[] = {-1, -1};
    shape s = shape_new(arena, 2, -4, 4, 1);
    (void)shape_add(&s, TC_SET_HALFSPACE, 0, 2, opposite, -2);
    (void)shape_add(&s, TC_SET_HALFSPACE, 0, 2, normal, 1);
    tc_set *set = tc_set_of(arena, &s.family, 0);
    tc_set_conflict conflict;
    double witness[2];
    assert_false(tc_set_examine(set, witness, &conflict));
    assert_true((conflict.piece == 0 && conflict.other == 1) || (conflict.piece == 1 && conflict.other == 0));
    tc_arena_free(arena);
}

/* Dykstra's method on the plain projections, as slow as it is independent. */
static void dykstra(const tc_set *set, const double *v, double *x) {
    double correction[8][MOST] = {{0}};
    size_t n = set->dim;
    memcpy(x, v, n * sizeof *x);
    for (int sweep = 0; sweep < 200000; sweep++)
        for (size_t p = 0; p <= set->part_count; p++) {
            double y[MOST];
            for (size_t c = 0; c < n; c++)
                y[c] = x[c] + correction[p][c];
            if (p == set->part_count) {
                for (size_t c = 0; c < n; c++)
                    x[c] = fmin(fmax(y[c], set->lower[c]), set->upper[c]);
            } else {
                const tc_set_part *part = &set->parts[p];
                double along = -part->radius, squares = 0;
                for (size_t c = 0; c < n; c++) {
                    double d = part->kind == TC_SET_BALL ? y[c] - part->center[c] : part->center[c];
                    along += part->center[c] * y[c];
                    squares += d * d;
                }
                for (size_t c = 0; c < n; c++) {
                    if (part->kind == TC_SET_BALL)
                        x[c] = part->center[c] + (y[c] - part->center[c]) * fmin(1, part->radius / sqrt(squares));
                    else
                        x[c] = y[c] - fmax(0, along) / squares * part->center[c];
                }
            }
            for (size_t c = 0; c < n; c++)
                correction[p][c] = y[c] - x[c];
        }
}

static void intersections_agree_with_dykstra(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        AT_CASE(seed);
        tc_arena *arena = tc_arena_new(0);
        assert_non_null(arena);
        shape s = shape_new(arena, 3, -1, 1, seed);
        double inner[3] = {0.1, -0.2, 0.3}, v[3], x[3], slow[3];
        shape_add_random(&s, TC_SET_HALFSPACE, 0, 3, inner, 0.5);
        shape_add_random(&s, TC_SET_BALL, 0, 3, inner, 0.5);
        tc_set *set = tc_set_of(arena, &s.family, 0);
        for (size_t c = 0; c < 3; c++)
            v[c] = uniform(&s.seed, -3, 3);
        assert_true(tc_project(set, v, x));
        dykstra(set, v, slow);
        assert_true(distance(3, x, slow) < 1e-7);
        tc_arena_free(arena);
    }
}

static void the_simplex_is_projected_exactly(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        AT_CASE(seed);
        tc_arena *arena = tc_arena_new(0);
        assert_non_null(arena);
        shape s = shape_new(arena, 5, -3, 3, seed);
        (void)shape_add(&s, TC_SET_SIMPLEX, 0, 5, NULL, 1);
        tc_set *set = tc_set_of(arena, &s.family, 0);
        double v[5], x[5], sum = 0, threshold = INFINITY;
        for (size_t c = 0; c < 5; c++)
            v[c] = uniform(&s.seed, -2, 2);
        assert_true(tc_project(set, v, x));
        for (size_t c = 0; c < 5; c++) {
            assert_true(x[c] >= 0);
            sum += x[c];
            if (x[c] > 0)
                threshold = v[c] - x[c];
        }
        assert_true(fabs(sum - 1) < 1e-15);
        for (size_t c = 0; c < 5; c++)
            assert_true(fabs(x[c] - fmax(0, v[c] - threshold)) < 1e-15);
        tc_arena_free(arena);
    }
}

static void multipliers_of_equalities_keep_their_sign(void **state) {
    (void)state;
    tc_constraint rows[5] = {{.is_equality = true}, {.is_equality = false}, {.is_equality = true}};
    uint64_t seed = 11;
    double v[5], mu[5], work[5], mirrored[5], mirror[5];
    for (int trial = 0; trial < 1000; trial++) {
        AT_CASE(trial);
        double radius = trial % 4 == 0 ? INFINITY : uniform(&seed, 0.1, 4), size = 0, step = 0;
        for (size_t j = 0; j < 5; j++) {
            v[j] = uniform(&seed, -3, 3);
            mirror[j] = rows[j].is_equality ? -v[j] : v[j];
        }
        tc_project_multipliers(rows, 5, radius, v, mu, work);
        tc_project_multipliers(rows, 5, radius, mirror, mirrored, work);
        for (size_t j = 0; j < 5; j++) {
            assert_true(rows[j].is_equality ? mu[j] * v[j] >= 0 : mu[j] >= 0);
            assert_true(mirrored[j] == (rows[j].is_equality ? -mu[j] : mu[j]));
            size += fabs(mu[j]);
        }
        assert_true(size <= radius * (1 + 1e-14));
        for (size_t other = 0; other < 20; other++) { /* nearest: (v - mu).(w - mu) <= 0 for every w in M */
            double w[5], sum = 0, product = 0;
            for (size_t j = 0; j < 5; j++) {
                w[j] = rows[j].is_equality ? uniform(&seed, -1, 1) : uniform(&seed, 0, 1);
                sum += fabs(w[j]);
            }
            for (size_t j = 0; j < 5; j++)
                product += (v[j] - mu[j]) * (w[j] * (isfinite(radius) ? radius / sum : 1) - mu[j]);
            step = fmax(step, product);
        }
        assert_true(step <= 1e-13);
    }
}

static void multipliers_are_projected_exactly(void **state) {
    (void)state;
    const tc_constraint inequalities[6] = {{.is_equality = false}};
    uint64_t seed = 7;
    double v[6], mu[6], work[6];
    for (int trial = 0; trial < 2000; trial++) {
        AT_CASE(trial);
        double radius = trial % 3 == 0 ? 0.5 : trial % 3 == 1 ? 1e-12 : 20, sum = 0, threshold = 0;
        for (size_t j = 0; j < 6; j++)
            v[j] = trial % 5 == 0 ? (double)(j / 2) : uniform(&seed, -2, 3);
        tc_project_multipliers(inequalities, 6, radius, v, mu, work);
        for (size_t j = 0; j < 6; j++) {
            assert_true(mu[j] >= 0);
            sum += mu[j];
            threshold = fmax(threshold, mu[j] > 0 ? v[j] - mu[j] : 0);
        }
        assert_true(sum <= radius * (1 + 1e-14) + 1e-15);
        if (sum < radius * (1 - 1e-9) - 1e-15)
            threshold = 0;
        for (size_t j = 0; j < 6; j++)
            assert_true(fabs(mu[j] - fmax(0, v[j] - threshold)) <= 1e-15);
    }
    tc_project_multipliers(inequalities, 6, 0, (double[]){1, 2, 3, -1, 0, 1}, mu, work);
    for (size_t j = 0; j < 6; j++)
        assert_true(mu[j] == 0);
    for (double size = 1e10; size < 1e300; size *= 1e10) { /* far outside: still on the edge, and in the right corner */
        tc_project_multipliers(inequalities, 3, 466.75, (double[]){size, -size, size / 2}, mu, work);
        assert_true(mu[0] == 466.75 && mu[1] == 0 && mu[2] == 0);
        tc_project_multipliers(inequalities, 3, 3, (double[]){size, 0, size}, mu, work);
        assert_true(mu[0] == 1.5 && mu[1] == 0 && mu[2] == 1.5);
    }
    tc_project_multipliers(inequalities, 6, INFINITY, (double[]){1, 2, 3, -1, 0, 1}, mu, work);
    assert_true(mu[2] == 3 && mu[3] == 0);
}

static tc_set *one_set(tc_arena *arena, shape *s) {
    tc_set *set = tc_set_of(arena, &s->family, 0);
    assert_false(set->is_empty);
    return set;
}

static void degenerate_sets_have_their_one_point(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    double v[3] = {5, -7, 0.25}, x[3], ones[3] = {1, 1, 1}, center[3] = {0.5, 0.25, -0.125};
    const tc_set_kind round[] = {TC_SET_BALL, TC_SET_BALL1, TC_SET_ELLIPSOID};
    for (size_t k = 0; k < 3; k++) { /* radius zero */
        shape s = shape_new(arena, 3, -1, 1, 1);
        shape_add(&s, round[k], 0, 3, center, 0)->matrix = coefs(arena, (double[]){1, 0, 0, 0, 1, 0, 0, 0, 1}, 9);
        assert_true(tc_project(one_set(arena, &s), v, x));
        assert_memory_equal(x, center, sizeof x);
    }
    { /* a box of one point, and one that is flat in two directions */
        shape s = shape_new(arena, 3, 1, 1, 1);
        assert_true(tc_project(one_set(arena, &s), v, x));
        assert_memory_equal(x, ones, sizeof x);
        s = shape_new(arena, 3, -1, 1, 1);
        s.family.upper[0].value = s.family.upper[1].value = -1;
        shape_add(&s, TC_SET_HALFSPACE, 0, 3, ones, 0);
        assert_true(tc_project(one_set(arena, &s), v, x));
        assert_true(x[0] == -1 && x[1] == -1 && x[2] == 0.25);
    }
    { /* a half-space that touches the box in a vertex; a plane through one */
        for (int equality = 0; equality < 2; equality++) {
            shape s = shape_new(arena, 3, -1, 1, 1);
            shape_add(&s, equality ? TC_SET_HYPERPLANE : TC_SET_HALFSPACE, 0, 3, ones, -3);
            assert_true(tc_project(one_set(arena, &s), v, x));
            assert_true(x[0] == -1 && x[1] == -1 && x[2] == -1);
        }
        shape s = shape_new(arena, 3, 0.1, 1, 1);
        shape_add(&s, TC_SET_SIMPLEX, 0, 3, NULL, 0.1 + 0.1 + 0.1);
        assert_true(tc_project(one_set(arena, &s), v, x));
        assert_true(x[0] == 0.1 && x[1] == 0.1 && x[2] == 0.1);
    }
    { /* a ball that touches the box from outside */
        shape s = shape_new(arena, 3, -1, 1, 1);
        shape_add(&s, TC_SET_BALL, 0, 3, (double[]){3, 0.5, 0.5}, 2);
        assert_true(tc_project(one_set(arena, &s), v, x));
        assert_true(x[0] == 1 && x[1] == 0.5 && x[2] == 0.5);
    }
    tc_arena_free(arena);
}

/* Two balls that only touch have no interior, and no multipliers: the answer keeps few digits, and says so. Two
 * half-spaces that touch are as good as a plane. */
static void touching_sets_are_projected_to_their_meeting_point(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    double x[2];
    shape s = shape_new(arena, 2, -4, 4, 1);
    shape_add(&s, TC_SET_BALL, 0, 2, (double[]){-1, 0}, 1);
    shape_add(&s, TC_SET_BALL, 0, 2, (double[]){1, 0}, 1);
    assert_false(tc_project(one_set(arena, &s), (double[]){0.5, 3}, x));
    assert_true(fabs(x[0]) < 1e-3 && fabs(x[1]) < 1e-3);
    s = shape_new(arena, 2, -4, 4, 1);
    shape_add(&s, TC_SET_HALFSPACE, 0, 2, (double[]){1, 1}, 1);
    shape_add(&s, TC_SET_HALFSPACE, 0, 2, (double[]){-1, -1}, -1);
    assert_true(tc_project(one_set(arena, &s), (double[]){2, 0}, x));
    assert_true(fabs(x[0] - 1.5) < 1e-9 && fabs(x[1] + 0.5) < 1e-9);
    tc_arena_free(arena);
}

/* Agents are projected by several threads at once, and an arena serves one: without one it still works.
 */
static void a_projection_takes_no_memory(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(1 << 22);
    assert_non_null(arena);
    double x[2] = {0};
    shape s = shape_new(arena, 2, -4, 4, 1);
    shape_add(&s, TC_SET_BALL, 0, 2, (double[]){-1, 0}, 1.5);
    shape_add(&s, TC_SET_BALL, 0, 2, (double[]){1, 0}, 1.5);
    tc_set *set = one_set(arena, &s);
    tc_escape escape;
    if (TC_TRY(arena, &escape) == TC_OK)
        for (;;)
            (void)TC_NEW(arena, char, 16);
    tc_escape_end(arena, &escape);
    volatile bool found = false;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        found = tc_project(set, (double[]){0, 3}, x);
    tc_escape_end(arena, &escape);
    assert_int_equal(status, TC_OK);
    assert_true(found && fabs(x[0]) < 1e-9 && fabs(x[1] - sqrt(1.25)) < 1e-9);
    tc_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_parts_in_a_box_are_projected_exactly),
        cmocka_unit_test(scales_of_the_data_do_not_matter),
        cmocka_unit_test(parts_on_their_own_components_are_projected_one_by_one),
        cmocka_unit_test(intersections_are_projected_to_rounding),
        cmocka_unit_test(parallel_half_spaces_are_one_part),
        cmocka_unit_test(half_spaces_that_miss_each_other_are_no_slab),
        cmocka_unit_test(intersections_agree_with_dykstra),
        cmocka_unit_test(the_simplex_is_projected_exactly),
        cmocka_unit_test(multipliers_are_projected_exactly),
        cmocka_unit_test(multipliers_of_equalities_keep_their_sign),
        cmocka_unit_test(degenerate_sets_have_their_one_point),
        cmocka_unit_test(touching_sets_are_projected_to_their_meeting_point),
        cmocka_unit_test(a_projection_takes_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
