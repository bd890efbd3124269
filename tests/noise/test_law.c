/* The law of many draws: chi-square against the exact probabilities of lattice points and of bins, at fixed seeds.
 * Each statistic is turned into a normal one (Wilson and Hilferty); a right sampler would leave +-4.9 with a
 * probability of 1e-6 for one seed, and there are 24 statistics. */
#include "noise/noise.h"
#include "support/cmocka.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 2000000, CHUNK = 10000, MOST_BINS = 512 };
static const double limit = 4.9;

/* P(|W| >= k) */
static double tail_from(tc_noise_law law, double s, double k) {
    if (k <= 0)
        return 1;
    return law == TC_LAPLACE ? exp(-(k - 0.5) / s) : erfc((k - 0.5) / (s * sqrt(2)));
}

typedef struct bins {
    int count;
    double edges[MOST_BINS + 1];   /* bin i: edges[i] <= |W| < edges[i + 1]; the last one has no upper edge */
    double observed[MOST_BINS][2]; /* by sign */
    double zeros;
} bins;

/* An edge wherever the last bin has at least this probability. */
static void cut(bins *b, tc_noise_law law, double s, double probability) {
    b->edges[0] = 0;
    b->count = 1;
    double step = fmax(1, floor(s / 64));
    for (double k = 1; b->count < MOST_BINS && tail_from(law, s, k) > probability; k += step)
        if (tail_from(law, s, b->edges[b->count - 1]) - tail_from(law, s, k) > probability)
            b->edges[b->count++] = k;
}

/* Doubling tails: |W| beyond the points with probability 1/2, 1/4, ... */
static void cut_tails(bins *b, tc_noise_law law, double s) {
    b->edges[0] = 0;
    b->count = 1;
    for (double k = 0; b->count < 16; k += floor(s / 1024))
        if (tail_from(law, s, k) < ldexp(1, -b->count))
            b->edges[b->count++] = k;
}

static void observe(bins *b, tc_noise_law law, double s, uint64_t seed) {
    static int64_t noise[CHUNK];
    tc_noise_scale scale;
    tc_arena *arena = tc_arena_new(0);
    tc_random *random = NULL;
    tc_random_worker *worker = NULL;
    tc_run_identity run = {.run_id = "law", .run_id_length = 3};
    assert_true(tc_noise_scale_from(s, &scale));
    assert_int_equal(tc_random_new_simulation(arena, &run, seed, &random), TC_OK);
    assert_int_equal(tc_random_worker_new(arena, random, &worker), TC_OK);
    for (uint64_t round = 1; round <= DRAWS / CHUNK; round++) {
        assert_int_equal(tc_random_open_round(random, round), TC_OK);
        assert_int_equal(tc_noise_fill(worker, law, &scale, 0, CHUNK, noise), TC_OK);
        for (int i = 0; i < CHUNK; i++) {
            double size = fabs((double)noise[i]);
            int low = 0, high = b->count;
            while (high - low > 1) {
                int middle = (low + high) / 2;
                *(size >= b->edges[middle] ? &low : &high) = middle;
            }
            *(noise[i] == 0 ? &b->zeros : &b->observed[low][noise[i] < 0]) += 1;
        }
    }
    tc_arena_free(arena);
}

static void assert_plausible(const bins *b, tc_noise_law law, double s) {
    double none = DRAWS * (1 - tail_from(law, s, 1));
    double statistic = none > 10 ? pow(b->zeros - none, 2) / none : 0, freedom = none > 10 ? 0 : -1;
    double total[2] = {0, 0};
    for (int i = 0; i < b->count; i++) {
        double beyond = i + 1 < b->count ? tail_from(law, s, b->edges[i + 1]) : 0;
        double expected = DRAWS * (tail_from(law, s, fmax(b->edges[i], 1)) - beyond) / 2; /* of each sign */
        if (b->edges[i] == 0 && i + 1 < b->count && b->edges[i + 1] == 1)
            continue; /* zeros alone */
        assert_true(expected > 10);
        freedom += 2;
        for (int sign = 0; sign < 2; sign++) {
            statistic += pow(b->observed[i][sign] - expected, 2) / expected;
            total[sign] += b->observed[i][sign];
        }
    }
    assert_true(total[0] + total[1] + b->zeros == DRAWS);
    double normal = (cbrt(statistic / freedom) - (1 - 2 / (9 * freedom))) / sqrt(2 / (9 * freedom));
    double balance = (total[0] - total[1]) / sqrt(DRAWS - b->zeros);
    print_message("%s, scale %.4g: chi-square %.1f with %.0f degrees of freedom, %.2f; signs %.2f\n",
                  law == TC_LAPLACE ? "Laplace" : "Gaussian", s, statistic, freedom, normal, balance);
    assert_true(fabs(normal) < limit);
    assert_true(fabs(balance) < limit);
}

static void lattice_points_have_their_exact_probabilities(void **state) {
    (void)state;
    static const double scales[] = {0.3, 1, 5};
    for (int law = TC_LAPLACE; law <= TC_GAUSSIAN; law++)
        for (int i = 0; i < 3; i++) {
            bins *b = calloc(1, sizeof *b);
            assert_non_null(b);
            cut(b, (tc_noise_law)law, scales[i], 2e-5);
            observe(b, (tc_noise_law)law, scales[i], 100 + (uint64_t)i);
            assert_plausible(b, (tc_noise_law)law, scales[i]);
            free(b);
        }
}

static void bins_and_tails_at_large_scales_have_theirs(void **state) {
    (void)state;
    static const double scales[] = {0x1.3p35, TC_MOST_NOISE_SCALE};
    for (int law = TC_LAPLACE; law <= TC_GAUSSIAN; law++)
        for (int i = 0; i < 2; i++) {
            bins *b = calloc(2, sizeof *b);
            assert_non_null(b);
            cut(&b[0], (tc_noise_law)law, scales[i], 1e-4);
            observe(&b[0], (tc_noise_law)law, scales[i], 200 + (uint64_t)i);
            assert_plausible(&b[0], (tc_noise_law)law, scales[i]);
            if (i == 0) {
                cut_tails(&b[1], (tc_noise_law)law, scales[i]);
                observe(&b[1], (tc_noise_law)law, scales[i], 300);
                assert_plausible(&b[1], (tc_noise_law)law, scales[i]);
            }
            free(b);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lattice_points_have_their_exact_probabilities),
        cmocka_unit_test(bins_and_tails_at_large_scales_have_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
