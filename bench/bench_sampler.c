/* Exact noise against the usual inexact one, in one run on one core: draws per second and their ratios. Fails below
 * the goals. Naive: xoshiro256+ with -b log(u), and with Box-Muller, both of its outputs used.
 *
 * bench_sampler [narrow | wide | widest]: as on a processor without AVX2, with AVX2, with AVX-512; this processor's
 * width unless given. */
#include "base/arena.h"
#include "base/simd.h"
#include "noise/noise.h"
#include "noise/random_keys.h"
#include "noise/sampler_inside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DRAWS = 4096, ROUNDS = 500, REPEATS = 15 };

static double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t xoshiro[4] = {1, 2, 3, 4};

static inline uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }

static inline uint64_t next_word(void) {
    uint64_t result = xoshiro[0] + xoshiro[3], shifted = xoshiro[1] << 17;
    xoshiro[2] ^= xoshiro[0];
    xoshiro[3] ^= xoshiro[1];
    xoshiro[1] ^= xoshiro[2];
    xoshiro[0] ^= xoshiro[3];
    xoshiro[2] ^= shifted;
    xoshiro[3] = rotate(xoshiro[3], 45);
    return result;
}

static inline double to_unit(uint64_t word) { return ((double)(word >> 11) + 0.5) * 0x1p-53; }

typedef struct bench {
    tc_random *random;
    tc_random_worker *worker;
    tc_noise_scale scale;
    uint64_t round;
    bool failed;
    double reals[DRAWS];
    int64_t integers[DRAWS];
} bench;

static const double scale = 0x1.3p35;

static void naive_laplace(bench *b) {
    for (int i = 0; i < DRAWS; i++) {
        uint64_t word = next_word();
        double magnitude = -scale * log(to_unit(word));
        b->reals[i] = word & 1 ? magnitude : -magnitude;
    }
}

static void box_muller(bench *b) {
    for (int i = 0; i < DRAWS; i += 2) {
        double radius = scale * sqrt(-2 * log(to_unit(next_word())));
        double angle = 6.283185307179586 * to_unit(next_word());
        b->reals[i] = radius * cos(angle);
        b->reals[i + 1] = radius * sin(angle);
    }
}

/* ---- widths ------------------------------------------------------------------------------------------------------ */

typedef struct width {
    const char *name;
    tc_sampler_lanes lanes;
    double laplace, gaussian; /* goals */
} width;

static const width widths[] = {
    {"narrow", NULL, 0.8, 1.0},
#ifdef TC_HAS_WIDE
    {"wide", tc_sample_wide, 2.2, 2.8},
    {"widest", tc_sample_widest, 3.5, 4.0},
#endif
};
static const width *chosen = widths;

static size_t width_of_processor(void) {
#ifdef TC_HAS_WIDE
    return TC_IS_WIDEST() ? 2 : TC_IS_WIDE() && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

/* False for a width that there is not. */
static bool choose(const char *name) {
    size_t most = width_of_processor();
    chosen = &widths[most];
    for (size_t i = 0; name != NULL && i <= most; i++)
        if (strcmp(name, widths[i].name) == 0)
            chosen = &widths[i];
    return name == NULL || strcmp(name, chosen->name) == 0;
}

/* Linked with --wrap. */
size_t __wrap_tc_sample_fast(tc_noise_law law, const tc_noise_scale *scales, size_t stride, int64_t *values,
                             uint16_t count, uint16_t *undecided);
size_t __wrap_tc_sample_fast(tc_noise_law law, const tc_noise_scale *scales, size_t stride, int64_t *values,
                             uint16_t count, uint16_t *undecided) {
    return tc_sample_with(chosen->lanes, law, scales, stride, values, count, undecided);
}

/* ---- contestants ------------------------------------------------------------------------------------------------- */

static void exact(bench *b, tc_noise_law law) {
    if (tc_random_open_round(b->random, ++b->round) != TC_OK ||
        tc_noise_fill(b->worker, law, &b->scale, 0, DRAWS, b->integers) != TC_OK)
        b->failed = true;
}

static void exact_laplace(bench *b) { exact(b, TC_LAPLACE); }
static void exact_gaussian(bench *b) { exact(b, TC_GAUSSIAN); }

static double seconds_of(bench *b, void (*draw)(bench *)) {
    double began = seconds_now();
    for (int i = 0; i < ROUNDS; i++) {
        draw(b);
        __asm__ volatile("" ::"r"(b) : "memory");
    }
    return seconds_now() - began;
}

static void open_rounds(bench *b) {
    double began = seconds_now();
    enum { COUNT = 100000 };
    b->round += COUNT;
    if (tc_random_open_round(b->random, b->round) != TC_OK)
        b->failed = true;
    printf("opening a round: %.0f ns\n", (seconds_now() - began) / COUNT * 1e9);
}

int main(int count, char **arguments) {
    static bench b;
    if (count > 2 || !choose(count == 2 ? arguments[1] : NULL)) {
        (void)fprintf(stderr, "usage: bench_sampler [narrow | wide | widest], as wide as this processor is\n");
        return 2;
    }
    tc_arena *arena = tc_arena_new(0);
    const tc_run_identity run = {.run_id = "bench", .run_id_length = 5};
    if (arena == NULL || tc_random_new_simulation(arena, &run, 1, &b.random) != TC_OK ||
        tc_random_worker_new(arena, b.random, &b.worker) != TC_OK || !tc_noise_scale_from(scale, &b.scale))
        return 3;
    static const struct {
        const char *name;
        void (*draw)(bench *);
    } contestants[] = {{"naive Laplace, -b log(u)", naive_laplace},
                       {"exact Laplace", exact_laplace},
                       {"Box-Muller, both outputs", box_muller},
                       {"exact Gaussian", exact_gaussian}};
    double best[4] = {1e9, 1e9, 1e9, 1e9};
    for (int repeat = 0; repeat < REPEATS; repeat++) /* in turn, so that all meet the same conditions */
        for (int i = 0; i < 4; i++)
            best[i] = fmin(best[i], seconds_of(&b, contestants[i].draw));
    for (int i = 0; i < 4; i++)
        printf("%-26s %7.1f million draws a second\n", contestants[i].name, DRAWS * 1e-6 * ROUNDS / best[i]);
    open_rounds(&b);
    double laplace = best[0] / best[1], gaussian = best[2] / best[3];
    printf("width: %s\n", chosen->name);
    printf("exact over naive: Laplace %.2f (goal %.2f), Gaussian %.2f (goal %.2f)\n", laplace, chosen->laplace,
           gaussian, chosen->gaussian);
    tc_arena_free(arena);
    return b.failed ? 3 : laplace < chosen->laplace || gaussian < chosen->gaussian;
}
