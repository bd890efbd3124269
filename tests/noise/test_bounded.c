/* Noise of bounded support: the law is that of the samplers, given that it lies inside. */
#include "noise/noise.h"
#include "support/cmocka.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 400000, CHUNK = 10000 };

typedef struct fixture {
    tc_arena *arena;
    tc_random *random;
    tc_random_worker *worker;
} fixture;

static fixture seeded(void) {
    fixture made = {.arena = tc_arena_new(0)};
    tc_run_identity run = {.run_id = "bounded", .run_id_length = 7};
    assert_int_equal(tc_random_new_simulation(made.arena, &run, 9, &made.random), TC_OK);
    assert_int_equal(tc_random_worker_new(made.arena, made.random, &made.worker), TC_OK);
    assert_int_equal(tc_random_open_round(made.random, 1), TC_OK);
    return made;
}

/* P(|W| >= k) of the unbounded law. */
static double tail_from(tc_noise_law law, double s, double k) {
    if (k <= 0)
        return 1;
    return law == TC_LAPLACE ? exp(-(k - 0.5) / s) : erfc((k - 0.5) / (s * sqrt(2)));
}

static double probability(tc_noise_law law, double s, int64_t bound, int64_t value) {
    double size = fabs((double)value), both = tail_from(law, s, size) - tail_from(law, s, size + 1);
    return both / (value == 0 ? 1 : 2) / (1 - tail_from(law, s, (double)bound + 1));
}

static void check_law(tc_noise_law law, double s, int64_t bound) {
    static int64_t noise[CHUNK], bounds[CHUNK];
    static tc_noise_scale scales[CHUNK];
    double *seen = calloc(2 * (size_t)bound + 1, sizeof *seen), statistic = 0;
    assert_non_null(seen);
    fixture f = seeded();
    for (size_t i = 0; i < CHUNK; i++) {
        bounds[i] = bound;
        assert_true(tc_noise_scale_from(s, &scales[i]));
    }
    for (uint64_t round = 2; round < 2 + DRAWS / CHUNK; round++) {
        assert_int_equal(tc_random_open_round(f.random, round), TC_OK);
        assert_int_equal(tc_noise_fill_within(f.worker, law, scales, bounds, 0, CHUNK, noise), TC_OK);
        for (size_t i = 0; i < CHUNK; i++) {
            assert_true(noise[i] >= -bound && noise[i] <= bound);
            seen[noise[i] + bound]++;
        }
    }
    for (int64_t k = -bound; k <= bound; k++) {
        double expected = DRAWS * probability(law, s, bound, k);
        assert_true(expected > 10);
        statistic += pow(seen[k + bound] - expected, 2) / expected;
    }
    double freedom = 2 * (double)bound;
    double normal = (cbrt(statistic / freedom) - (1 - 2 / (9 * freedom))) / sqrt(2 / (9 * freedom));
    print_message("%s, scale %g, bound %lld: chi-square %.1f, %.2f\n", law == TC_LAPLACE ? "Laplace" : "Gaussian", s,
                  (long long)bound, statistic, normal);
    assert_true(fabs(normal) < 4.9);
    free(seen);
    tc_arena_free(f.arena);
}

static void the_law_is_the_conditional_one(void **state) {
    (void)state;
    for (int law = TC_LAPLACE; law <= TC_GAUSSIAN; law++) {
        check_law((tc_noise_law)law, 1, 1);
        check_law((tc_noise_law)law, 2, 2);
        check_law((tc_noise_law)law, 2, 5);
        check_law((tc_noise_law)law, 7.5, 20);
    }
}

/* What is inside stays as it is; what is outside is drawn anew, at an address that no entry has. */
static void only_what_is_outside_is_drawn_again(void **state) {
    (void)state;
    enum { COUNT = 3000 };
    static int64_t plain[COUNT], inside[COUNT], again[COUNT], bounds[COUNT];
    static tc_noise_scale scales[COUNT];
    fixture f = seeded();
    size_t redrawn = 0;
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(tc_noise_scale_from(1e6, &scales[i]));
        bounds[i] = 1500000;
    }
    assert_int_equal(tc_noise_fill_each(f.worker, TC_LAPLACE, scales, 0, COUNT, plain), TC_OK);
    assert_int_equal(tc_noise_fill_within(f.worker, TC_LAPLACE, scales, bounds, 0, COUNT, inside), TC_OK);
    for (size_t i = 0; i < COUNT; i++) {
        if (llabs(plain[i]) <= bounds[i]) {
            assert_true(inside[i] == plain[i]);
            continue;
        }
        redrawn++;
        int64_t next = 0;
        for (uint64_t k = 1; k == 1 || llabs(next) > bounds[i]; k++)
            assert_int_equal(tc_noise_fill(f.worker, TC_LAPLACE, scales, i + k * TC_REDRAW_STRIDE, 1, &next), TC_OK);
        assert_true(inside[i] == next);
    }
    assert_true(redrawn > COUNT / 10);
    for (size_t i = 0; i < COUNT; i += 700) /* in any cut */
        assert_int_equal(tc_noise_fill_within(f.worker, TC_LAPLACE, scales + i, bounds + i, i,
                                              COUNT - i < 700 ? COUNT - i : 700, again + i),
                         TC_OK);
    assert_memory_equal(again, inside, sizeof again);
    tc_arena_free(f.arena);
}

static void what_cannot_be_drawn_leaves_nothing(void **state) {
    (void)state;
    int64_t noise[2] = {1, 2}, bounds[2] = {100, -1};
    tc_noise_scale scales[2];
    fixture f = seeded();
    for (size_t i = 0; i < 2; i++)
        assert_true(tc_noise_scale_from(10, &scales[i]));
    assert_int_equal(tc_noise_fill_within(f.worker, TC_LAPLACE, scales, bounds, 0, 2, noise), TC_NO_RANDOM);
    assert_true(noise[0] == 0 && noise[1] == 0);
    assert_int_equal(tc_noise_fill_within(f.worker, TC_LAPLACE, scales, bounds, TC_REDRAW_STRIDE - 1, 2, noise),
                     TC_BAD_USAGE);
    tc_arena_free(f.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_law_is_the_conditional_one),
        cmocka_unit_test(only_what_is_outside_is_drawn_again),
        cmocka_unit_test(what_cannot_be_drawn_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
