#include "lab/lab.h"
#include "support/cmocka.h"

typedef struct grid {
    tc_arena *arena;
    uint64_t *k;
    size_t count;
} grid;

static grid grid_of(uint64_t rounds, unsigned per_decade) {
    grid g = {.arena = tc_arena_new(0)};
    assert_non_null(g.arena);
    g.k = tc_grid(g.arena, rounds, per_decade, &g.count);
    return g;
}

static bool has(const grid *g, uint64_t k) {
    for (size_t i = 0; i < g->count; i++)
        if (g->k[i] == k)
            return true;
    return false;
}

static void a_grid_increases_from_zero_to_the_last_round_and_has_the_half(void **state) {
    (void)state;
    static const uint64_t rounds[] = {1, 2, 3, 4, 5, 9, 10, 11, 99, 1000, 12345, 100000, (UINT64_C(1) << 48) - 1};
    static const unsigned per_decade[] = {1, 2, 3, 7, 60, 1000};
    for (size_t r = 0; r < sizeof rounds / sizeof *rounds; r++) {
        for (size_t p = 0; p < sizeof per_decade / sizeof *per_decade; p++) {
            grid g = grid_of(rounds[r], per_decade[p]);
            assert_int_equal(g.k[0], 0);
            assert_int_equal(g.k[g.count - 1], rounds[r]);
            assert_true(has(&g, rounds[r] / 2));
            for (size_t i = 1; i < g.count; i++)
                assert_true(g.k[i - 1] < g.k[i]);
            assert_true(g.count <= 16 * (size_t)(per_decade[p] + 3) + 3);
            tc_arena_free(g.arena);
        }
    }
}

static void three_to_a_decade_are_one_two_and_five(void **state) {
    (void)state;
    static const uint64_t expected[] = {0, 1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 600};
    grid g = grid_of(600, 3);
    assert_int_equal(g.count, sizeof expected / sizeof *expected);
    assert_memory_equal(g.k, expected, sizeof expected);
    tc_arena_free(g.arena);
}

static void a_coarse_grid_lies_within_a_fine_one(void **state) {
    (void)state;
    grid coarse = grid_of(123456, 3), fine = grid_of(123456, 60);
    for (size_t i = 0; i < coarse.count; i++)
        assert_true(has(&fine, coarse.k[i]));
    assert_true(fine.count > 4 * coarse.count);
    tc_arena_free(coarse.arena);
    tc_arena_free(fine.arena);
}

static void none_to_a_decade_means_every_round(void **state) {
    (void)state;
    grid g = grid_of(17, 0);
    assert_int_equal(g.count, 18);
    for (size_t i = 0; i < g.count; i++)
        assert_int_equal(g.k[i], i);
    tc_arena_free(g.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_increases_from_zero_to_the_last_round_and_has_the_half),
        cmocka_unit_test(three_to_a_decade_are_one_two_and_five),
        cmocka_unit_test(a_coarse_grid_lies_within_a_fine_one),
        cmocka_unit_test(none_to_a_decade_means_every_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
