/* Axes and their ticks. */
#include "report/plot.h"
#include "report/html.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;

static bool is_round(double value) { /* 1, 2 or 5 times a power of ten */
    char text[32];
    (void)snprintf(text, sizeof text, "%.10e", fabs(value));
    return (text[0] == '1' || text[0] == '2' || text[0] == '5') && strspn(text + 2, "0") == 10;
}

static void ends_of_an_axis_are_at_its_places(void **unused) {
    (void)unused;
    for (int i = 0; i < 1000; i++) {
        double low = pow(10, 12 * random_unit(&seed) - 6), high = low * (1 + 100 * random_unit(&seed) + 1e-3);
        for (int logs = 0; logs < 2; logs++) {
            tc_axis axis = {logs == 1, low, high, 300, 20};
            assert_true(fabs(tc_axis_at(&axis, low) - 300) < 1e-6);
            assert_true(fabs(tc_axis_at(&axis, high) - 20) < 1e-6);
            double middle = logs == 1 ? sqrt(low * high) : (low + high) / 2;
            assert_true(fabs(tc_axis_at(&axis, middle) - 160) < 1e-6);
        }
    }
}

static void an_axis_holds_what_it_is_made_around(void **unused) {
    (void)unused;
    for (int i = 0; i < 10000; i++) {
        bool is_log = random_unit(&seed) < 0.5;
        double size = pow(10, 40 * random_unit(&seed) - 20), other = pow(10, 40 * random_unit(&seed) - 20);
        double low = is_log ? size : (random_unit(&seed) < 0.5 ? -size : size),
               high = random_unit(&seed) < 0.2 ? low : fmax(low, other);
        tc_axis axis = tc_axis_around(is_log, low, high, 0, 100);
        assert_true(axis.low < axis.high);
        assert_true(axis.low <= low && high <= axis.high);
        assert_true(!is_log || axis.low > 0);
    }
}

static void an_axis_is_never_empty(void **unused) {
    (void)unused;
    const double odd[] = {0, -0.0, NAN, INFINITY, -INFINITY, 1e308, -1e308, 5e-324, 1e-300, 1};
    size_t count = sizeof odd / sizeof odd[0];
    for (size_t i = 0; i < count * count * 2; i++) {
        tc_axis axis = tc_axis_around(i % 2 == 1, odd[i / 2 % count], odd[i / 2 / count], 0, 100);
        assert_true(isfinite(axis.low) && isfinite(axis.high) && axis.low < axis.high);
        tc_ticks ticks = tc_ticks_of(&axis, 5);
        assert_true(ticks.count >= 2 && ticks.count <= TC_MOST_TICKS);
        assert_true(isfinite(tc_axis_at(&axis, ticks.values[0])));
    }
}

static void linear_ticks_are_round_numbers_of_even_distance(void **unused) {
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        double width = pow(10, 12 * random_unit(&seed) - 6), low = width * (20 * random_unit(&seed) - 10);
        tc_axis axis = {false, low, low + width, 0, 400};
        size_t wanted = 4 + (size_t)(4 * random_unit(&seed));
        tc_ticks ticks = tc_ticks_of(&axis, wanted);
        assert_true(ticks.count >= 2 && ticks.count <= 2 * wanted);
        double step = ticks.values[1] - ticks.values[0];
        char text[32];
        (void)snprintf(text, sizeof text, "%.6g", step);
        double tidy = strtod(text, NULL);
        assert_true(is_round(tidy));
        for (size_t t = 0; t < ticks.count; t++) {
            assert_true(ticks.values[t] >= axis.low - 1e-6 * width && ticks.values[t] <= axis.high + 1e-6 * width);
            assert_true(fabs(ticks.values[t] - ticks.values[0] - (double)t * step) < 1e-6 * width);
            double multiple = ticks.values[t] / tidy;
            assert_true(fabs(multiple - round(multiple)) < 1e-6);
        }
        assert_true(ticks.values[0] - step < axis.low && ticks.values[ticks.count - 1] + step > axis.high);
    }
}

static void log_ticks_are_powers_of_ten_where_there_are_enough(void **unused) {
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        double low = pow(10, 20 * random_unit(&seed) - 10), decades = 0.05 + 12 * random_unit(&seed);
        tc_axis axis = {true, low, low * pow(10, decades), 0, 400};
        tc_ticks ticks = tc_ticks_of(&axis, 5);
        assert_true(ticks.count >= 2 && ticks.count <= TC_MOST_TICKS);
        for (size_t t = 0; t < ticks.count; t++) {
            assert_true(ticks.values[t] >= axis.low * (1 - 1e-6) && ticks.values[t] <= axis.high * (1 + 1e-6));
            assert_true(t == 0 || ticks.values[t] > ticks.values[t - 1]);
            assert_true(decades < 4 || fabs(log10(ticks.values[t]) - round(log10(ticks.values[t]))) < 1e-9);
        }
    }
}

static void assert_labels(bool is_log, double low, double high, const char *expected) {
    tc_arena *arena = tc_arena_new(0);
    tc_buffer out = tc_buffer_new(arena, 1 << 16);
    tc_axis axis = {is_log, low, high, 0, 400};
    tc_ticks ticks = tc_ticks_of(&axis, 5);
    for (size_t i = 0; i < ticks.count; i++) {
        tc_buffer_puts(&out, i > 0 ? " " : "");
        (void)tc_tick_label(&out, &ticks, ticks.values[i]);
    }
    assert_string_equal(tc_buffer_text(&out), expected);
    tc_arena_free(arena);
}

static void ticks_of_usual_ranges_read_well(void **unused) {
    (void)unused;
    assert_labels(false, 0, 100000, "0 20,000 40,000 60,000 80,000 100,000");
    assert_labels(false, 0, 13.19, "0 2 4 6 8 10 12");
    assert_labels(false, -52.6, 6.3, TC_MINUS "50 " TC_MINUS "40 " TC_MINUS "30 " TC_MINUS "20 " TC_MINUS "10 0");
    assert_labels(false, 0.1, 0.32, "0.10 0.15 0.20 0.25 0.30");
    assert_labels(true, 1, 100000, "1 10 100 1,000 10,000 100,000");
    assert_labels(true, 0.11, 14, "0.2 0.5 1 2 5 10");
    assert_labels(true, 0.3, 0.8, "0.3 0.4 0.5 0.6 0.7 0.8");
    assert_labels(true, 5.8, 20, "10 15 20");
    assert_labels(true, 1e-9, 1e-6,
                  "10<tspan class=\"sup\" dy=\"-4\">" TC_MINUS "9</tspan> 10<tspan class=\"sup\" dy=\"-4\">" TC_MINUS
                  "8</tspan> 10<tspan class=\"sup\" dy=\"-4\">" TC_MINUS "7</tspan> 10<tspan class=\"sup\" "
                  "dy=\"-4\">" TC_MINUS "6</tspan>");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_of_an_axis_are_at_its_places),
        cmocka_unit_test(an_axis_holds_what_it_is_made_around),
        cmocka_unit_test(an_axis_is_never_empty),
        cmocka_unit_test(linear_ticks_are_round_numbers_of_even_distance),
        cmocka_unit_test(log_ticks_are_powers_of_ten_where_there_are_enough),
        cmocka_unit_test(ticks_of_usual_ranges_read_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
