#include "lab/sweep.h"

#include <math.h>

tc_line tc_line_fit(const double *x, const double *y, const double *weight, size_t count) {
    double sum = 0, mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        sum += weight[i];
        mean_x += weight[i] * x[i];
        mean_y += weight[i] * y[i];
    }
    mean_x /= sum;
    mean_y /= sum;
    for (size_t i = 0; i < count; i++) {
        xx += weight[i] * (x[i] - mean_x) * (x[i] - mean_x);
        xy += weight[i] * (x[i] - mean_x) * (y[i] - mean_y);
    }
    if (!(xx > 0))
        return (tc_line){NAN, NAN};
    return (tc_line){.slope = xy / xx, .intercept = mean_y - xy / xx * mean_x};
}

static double mean_of(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

void tc_samples_judge(const tc_sample *samples, size_t count, tc_sample_facts *facts) {
    bool all_known = true;
    for (size_t i = 0; i < count; i++) {
        const tc_sample *sample = &samples[i];
        double n = (double)sample->count, squares = 0;
        facts[i] = (tc_sample_facts){.mean = mean_of(sample->values, sample->count), .deviation = NAN, .log_mean = NAN};
        for (size_t k = 0; k < sample->count; k++)
            squares += (sample->values[k] - facts[i].mean) * (sample->values[k] - facts[i].mean);
        if (sample->count > 1)
            facts[i].deviation = sqrt(squares / (n - 1));
        if (!(facts[i].mean > 0 && isfinite(facts[i].mean)))
            continue;
        facts[i].log_mean = log(facts[i].mean);
        facts[i].weight = n * (facts[i].mean / facts[i].deviation) * (facts[i].mean / facts[i].deviation);
        all_known = all_known && isfinite(facts[i].weight) && facts[i].weight > 0;
    }
    /* If one point's spread is unknown, all points weigh the same. */
    for (size_t i = 0; i < count && !all_known; i++)
        facts[i].weight = isnan(facts[i].log_mean) ? 0 : 1;
}

/* Sebastiano Vigna's splitmix64, in the public domain: a stream of 64-bit words from a seed. */
static uint64_t next_word(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double mean_resampled(const tc_sample *sample, uint64_t *state) {
    double sum = 0;
    for (size_t i = 0; i < sample->count; i++)
        sum += sample->values[((next_word(state) >> 32) * (uint64_t)sample->count) >> 32];
    return sum / (double)sample->count;
}

/* z with P(Z > z) = tail, tail below one half. */
static double normal_quantile(double tail) {
    double low = 0, high = 40;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        *(0.5 * erfc(middle / sqrt(2)) > tail ? &low : &high) = middle;
    }
    return low;
}

/* The tail probability at which a bootstrap percentile of a mean of n values is to be read, so that it is no narrower
 * than Student's interval (Hesterberg's expanded percentile interval): tail itself for large n, less for small n. */
static double expanded_tail(double tail, size_t n) {
    if (n < 2)
        return tail;
    double z = normal_quantile(tail), nu = (double)(n - 1), z2 = z * z;
    /* Student's quantile by the first terms of its expansion in 1 / nu (Abramowitz and Stegun, 26.7.5). */
    double t = z + z * (z2 + 1) / (4 * nu) + z * (5 * z2 * z2 + 16 * z2 + 3) / (96 * nu * nu) +
               z * (3 * z2 * z2 * z2 + 19 * z2 * z2 + 17 * z2 - 15) / (384 * nu * nu * nu);
    return 0.5 * erfc(t * sqrt((double)n / nu) / sqrt(2));
}

typedef struct kept_points { /* those with a logarithm */
    const tc_sample **samples;
    double *x, *y, *weight;
    size_t count;
    size_t fewest; /* values of a point */
} kept_points;

static kept_points keep(tc_arena *arena, const tc_sample *samples, size_t count) {
    tc_sample_facts *facts = TC_NEW(arena, tc_sample_facts, count + 1);
    kept_points kept = {.samples = TC_NEW(arena, const tc_sample *, count + 1),
                        .x = TC_NEW(arena, double, count + 1),
                        .y = TC_NEW(arena, double, count + 1),
                        .weight = TC_NEW(arena, double, count + 1),
                        .fewest = SIZE_MAX};
    tc_samples_judge(samples, count, facts);
    for (size_t i = 0; i < count; i++) {
        if (isnan(facts[i].log_mean))
            continue;
        kept.samples[kept.count] = &samples[i];
        kept.x[kept.count] = samples[i].x;
        kept.y[kept.count] = facts[i].log_mean;
        kept.weight[kept.count++] = facts[i].weight;
        kept.fewest = samples[i].count < kept.fewest ? samples[i].count : kept.fewest;
    }
    return kept;
}

/* paper: eq:trade4
 * The penalty goes like epsilon^-2 where this slope is -2. */
tc_slope tc_slope_fit(tc_arena *arena, const tc_sample *samples, size_t count, double confidence, size_t resamples) {
    tc_mark mark = tc_arena_mark(arena);
    kept_points kept = keep(arena, samples, count);
    tc_line line = tc_line_fit(kept.x, kept.y, kept.weight, kept.count);
    tc_slope result = {.slope = line.slope, .intercept = line.intercept, .low = NAN, .high = NAN};
    double *slopes = TC_NEW(arena, double, resamples + 1);
    uint64_t state = 1;
    size_t drawn = 0;
    for (size_t b = 0; b < resamples && kept.fewest > 1 && !isnan(result.slope); b++) {
        for (size_t i = 0; i < kept.count; i++)
            kept.y[i] = log(mean_resampled(kept.samples[i], &state));
        double slope = tc_line_fit(kept.x, kept.y, kept.weight, kept.count).slope;
        if (isfinite(slope)) /* a resample may be all zeros */
            slopes[drawn++] = slope;
    }
    if (drawn > 0) {
        tc_sort_numbers(slopes, drawn);
        double tail = expanded_tail((1 - confidence) / 2, kept.fewest);
        result.low = tc_quantile(slopes, drawn, tail);
        result.high = tc_quantile(slopes, drawn, 1 - tail);
    }
    tc_arena_rewind(arena, mark);
    return result;
}
