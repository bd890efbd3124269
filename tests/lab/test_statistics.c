/* Quantiles and the fit, against what can be worked out by hand; tests/cli/test_sweep.py compares them with NumPy. */
#include "lab/sweep.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <math.h>

static void near(double value, double expected, double accuracy) {
    if (!(fabs(value - expected) <= accuracy))
        fail_msg("%.17g is not %.17g", value, expected);
}

static double exponential(uint64_t *seed) { return -log(1 - random_unit(seed)); }

static void quantiles_lie_between_order_statistics(void **state) {
    (void)state;
    double values[] = {5, 1, 4, 2, 3, 6};
    tc_quantiles q = tc_quantiles_of(values, 6);
    near(q.min, 1, 0);
    near(q.q10, 1.5, 1e-15);
    near(q.median, 3.5, 1e-15);
    near(q.q90, 5.5, 1e-15);
    near(q.max, 6, 0);
}

static void quantiles_leave_out_what_is_no_number(void **state) {
    (void)state;
    double values[] = {NAN, 7, NAN}, none[] = {NAN};
    tc_quantiles q = tc_quantiles_of(values, 3);
    assert_true(q.min == 7 && q.q10 == 7 && q.median == 7 && q.q90 == 7 && q.max == 7);
    assert_true(isnan(tc_quantiles_of(none, 1).median));
    assert_true(isnan(tc_quantiles_of(none, 0).median));
}

static void infinite_values_do_not_spoil_finite_quantiles(void **state) {
    (void)state;
    double values[] = {1, INFINITY, 2, 3, INFINITY};
    tc_quantiles q = tc_quantiles_of(values, 5);
    assert_true(q.min == 1 && q.median == 3 && isinf(q.max));
}

static void a_line_is_found_whatever_the_weights(void **state) {
    (void)state;
    uint64_t seed = 3;
    double x[9], y[9], weight[9];
    for (size_t i = 0; i < 9; i++) {
        x[i] = random_unit(&seed);
        y[i] = 0.75 - 2 * x[i];
        weight[i] = exponential(&seed);
    }
    tc_line line = tc_line_fit(x, y, weight, 9);
    near(line.slope, -2, 1e-12);
    near(line.intercept, 0.75, 1e-12);
}

static void a_weight_of_two_is_a_point_twice(void **state) {
    (void)state;
    tc_line weighted = tc_line_fit((double[]){0, 1, 3}, (double[]){1, 5, 2}, (double[]){1, 2, 1}, 3);
    tc_line repeated = tc_line_fit((double[]){0, 1, 1, 3}, (double[]){1, 5, 5, 2}, (double[]){1, 1, 1, 1}, 4);
    near(weighted.slope, repeated.slope, 1e-15);
    near(weighted.intercept, repeated.intercept, 1e-15);
}

static void a_single_abscissa_has_no_slope(void **state) {
    (void)state;
    assert_true(isnan(tc_line_fit((double[]){1, 1}, (double[]){1, 2}, (double[]){1, 1}, 2).slope));
    assert_true(isnan(tc_line_fit(NULL, NULL, NULL, 0).slope));
}

/* count samples of size n around scale e^(-2 x). */
static void draw(uint64_t *seed, size_t count, size_t n, double *values, tc_sample *samples) {
    for (size_t i = 0; i < count; i++) {
        samples[i] = (tc_sample){.x = 0.5 * (double)i, .values = values + i * n, .count = n};
        for (size_t k = 0; k < n; k++)
            values[i * n + k] = exp(-2 * samples[i].x) * (exponential(seed) + exponential(seed));
    }
}

static void points_without_a_logarithm_are_left_out(void **state) {
    (void)state;
    double zeros[] = {0, 0}, some[] = {1, 2}, more[] = {4, 8};
    tc_sample samples[] = {{0, some, 2}, {1, zeros, 2}, {2, more, 2}, {3, NULL, 0}};
    tc_sample_facts facts[4];
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    tc_samples_judge(samples, 4, facts);
    assert_true(isnan(facts[1].log_mean) && facts[1].weight == 0 && isnan(facts[3].log_mean));
    near(tc_slope_fit(arena, samples, 4, 0.95, 100).slope, log(4) / 2, 1e-15);
    tc_arena_free(arena);
}

static void one_value_a_point_gives_a_slope_and_no_interval(void **state) {
    (void)state;
    double a[] = {1}, b[] = {0.25};
    tc_sample samples[] = {{0, a, 1}, {log(2), b, 1}};
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    tc_slope slope = tc_slope_fit(arena, samples, 2, 0.95, 100);
    near(slope.slope, -2, 1e-15);
    assert_true(isnan(slope.low) && isnan(slope.high));
    tc_arena_free(arena);
}

static void the_same_samples_give_the_same_interval(void **state) {
    (void)state;
    double values[5 * 20];
    tc_sample samples[5];
    uint64_t seed = 11;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    draw(&seed, 5, 20, values, samples);
    tc_slope first = tc_slope_fit(arena, samples, 5, 0.95, 500), again = tc_slope_fit(arena, samples, 5, 0.95, 500);
    assert_true(first.low == again.low && first.high == again.high);
    assert_true(first.low < first.slope && first.slope < first.high);
    tc_slope wider = tc_slope_fit(arena, samples, 5, 0.999, 500);
    assert_true(wider.low < first.low && wider.high > first.high);
    tc_arena_free(arena);
}

/* Percentile intervals of 20 values are somewhat narrow. Of 300 intervals with a true coverage of at least 0.88, 240 or
 * fewer cover with probability below 1e-4 (binomial); with a coverage of 0.97 or less, all 300 do with about 1e-4. */
static void intervals_cover_the_true_slope_about_as_often_as_they_say(void **state) {
    (void)state;
    double values[7 * 20];
    tc_sample samples[7];
    uint64_t seed = 5;
    size_t covered = 0;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    for (size_t t = 0; t < 300; t++) {
        draw(&seed, 7, 20, values, samples);
        tc_slope slope = tc_slope_fit(arena, samples, 7, 0.95, 300);
        covered += slope.low <= -2 && slope.high >= -2;
    }
    tc_arena_free(arena);
    if (!(covered > 240 && covered < 300))
        fail_msg("%zu of 300", covered);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_lie_between_order_statistics),
        cmocka_unit_test(quantiles_leave_out_what_is_no_number),
        cmocka_unit_test(infinite_values_do_not_spoil_finite_quantiles),
        cmocka_unit_test(a_line_is_found_whatever_the_weights),
        cmocka_unit_test(a_weight_of_two_is_a_point_twice),
        cmocka_unit_test(a_single_abscissa_has_no_slope),
        cmocka_unit_test(points_without_a_logarithm_are_left_out),
        cmocka_unit_test(one_value_a_point_gives_a_slope_and_no_interval),
        cmocka_unit_test(the_same_samples_give_the_same_interval),
        cmocka_unit_test(intervals_cover_the_true_slope_about_as_often_as_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
