/* Rows on their lattices: the same numbers for every width of vectors, and those of the plain functions. */
#include "base/simd.h"
#include "release/lattice.h"
#include "support/cmocka.h"
#include "support/random.h"

enum { MOST = 100 };

typedef struct versions {
    const tc_lattice_rows *rows[3];
    size_t count;
} versions;

static versions here(void) {
    versions found = {.rows = {&tc_lattice_rows_narrow}, .count = 1};
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDE())
        found.rows[found.count++] = &tc_lattice_rows_wide;
    if (TC_IS_WIDEST())
        found.rows[found.count++] = &tc_lattice_rows_widest;
#endif
    return found;
}

/* Numbers inside and outside of the box, on the lattice, half-way between two points, and zeros. */
static double any_number(uint64_t *seed) {
    switch (random_below(seed, 5)) {
    case 0:
        return (double)random_below(seed, 64) / 16 - 2;
    case 1:
        return ((double)random_below(seed, 64) + 0.5) / 16 - 2;
    case 2:
        return random_below(seed, 2) == 0 ? 0.0 : -0.0;
    case 3:
        return uniform(seed, -1e3, 1e3);
    default:
        return uniform(seed, -2, 2);
    }
}

static int64_t by_hand(double x, double least, double most) {
    double units = rint(x * 16);
    return (int64_t)fmin(most, fmax(least, units));
}

static void rows_are_the_nearest_lattice_points_at_every_width(void **state) {
    (void)state;
    versions all = here();
    uint64_t seed = 1;
    for (size_t i = 0; i < 400; i++) {
        AT_CASE(i);
        double x[MOST], leasts[MOST + 3], mosts[MOST + 3], row[MOST];
        int64_t units[MOST], sum = 0;
        size_t count = random_below(&seed, MOST + 1), first = random_below(&seed, 4);
        bool same = i % 2 == 0;
        for (size_t k = 0; k < MOST + 3; k++) {
            leasts[k] = -(double)random_below(&seed, 30);
            mosts[k] = (double)random_below(&seed, 30);
        }
        tc_lattice_box box = {.least = -20, .most = 17, .is_small = true};
        if (!same)
            box = (tc_lattice_box){.leasts = leasts, .mosts = mosts, .is_small = true};
        for (size_t k = 0; k < count; k++) {
            x[k] = any_number(&seed);
            sum += tc_lattice_round(x[k], 16);
        }
        for (size_t v = 0; v < all.count; v++) {
            assert_true(all.rows[v]->take(&box, 16, first, count, x, units));
            assert_true(all.rows[v]->all_finite(x, count));
            assert_true(all.rows[v]->sum(16, count, x) == sum);
            all.rows[v]->points(0.0625, count, units, row);
            for (size_t k = 0; k < count; k++) {
                int64_t expected = same ? by_hand(x[k], -20, 17) : by_hand(x[k], leasts[first + k], mosts[first + k]);
                double point = 0.0625 * (double)expected;
                assert_true(units[k] == expected);
                assert_memory_equal(&row[k], &point, sizeof point);
            }
        }
    }
}

static void a_number_that_is_not_finite_is_seen_wherever_it_is(void **state) {
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    const tc_lattice_box box = {.least = -20, .most = 17, .is_small = true};
    versions all = here();
    for (size_t at = 0; at < 40; at++)
        for (size_t v = 0; v < all.count; v++) {
            double x[40] = {0};
            int64_t units[40];
            x[at] = bad[at % 3];
            assert_false(all.rows[v]->take(&box, 16, 0, 40, x, units));
            assert_false(all.rows[v]->all_finite(x, 40));
            assert_false(all.rows[v]->look(x, x, 40, x).all_finite);
        }
}

static void a_number_outside_its_bounds_is_seen_wherever_it_is(void **state) {
    (void)state;
    versions all = here();
    for (size_t at = 0; at < 40; at++)
        for (size_t v = 0; v < all.count; v++) {
            double x[40], lower[40], upper[40];
            for (size_t k = 0; k < 40; k++) {
                x[k] = (double)k - 20;
                lower[k] = k % 2 == 0 ? x[k] : x[k] - 1;
                upper[k] = k % 3 == 0 ? x[k] : x[k] + 1;
            }
            tc_lattice_seen inside = all.rows[v]->look(lower, upper, 40, x);
            assert_true(inside.all_finite && !inside.is_any_outside);
            x[at] += at % 2 == 0 ? 1.5 : -1.5;
            tc_lattice_seen outside = all.rows[v]->look(lower, upper, 40, x);
            assert_true(outside.all_finite && outside.is_any_outside);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_nearest_lattice_points_at_every_width),
        cmocka_unit_test(a_number_that_is_not_finite_is_seen_wherever_it_is),
        cmocka_unit_test(a_number_outside_its_bounds_is_seen_wherever_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
