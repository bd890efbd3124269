/* Text, paths and plots. */
#include "report/html.h"
#include "report/plot.h"
#include "support/cmocka.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tc_arena *arena;

static int begin(void **unused) {
    (void)unused;
    arena = tc_arena_new(0);
    return arena == NULL;
}

static int end(void **unused) {
    (void)unused;
    tc_arena_free(arena);
    return 0;
}

static const char *escaped(const char *text) {
    tc_buffer out = tc_buffer_new(arena, 1 << 20);
    tc_put_text(&out, text);
    return tc_buffer_text(&out);
}

static void text_cannot_leave_its_place(void **unused) {
    (void)unused;
    assert_string_equal(escaped("<script>alert('x')</script>"), "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
    assert_string_equal(escaped("a & b \" c"), "a &amp; b &quot; c");
    assert_string_equal(escaped("für μ"), "für μ");
    assert_string_equal(escaped("\xff\x01\x7f\xef\xbf\xbf!"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd!");
    assert_string_equal(escaped("cut \xe2\x82"), "cut \xef\xbf\xbd\xef\xbf\xbd");
}

static void any_bytes_become_text(void **unused) {
    (void)unused;
    unsigned draw = 1;
    for (int i = 0; i < 2000; i++) {
        char text[24] = {0};
        for (size_t j = 0; j + 1 < sizeof text; j++) {
            draw = draw * 1664525u + 1013904223u;
            text[j] = (char)(draw >> 24);
        }
        const char *safe = escaped(text);
        assert_null(strpbrk(safe, "<>\"'\x01\x1f\x7f"));
        for (const char *c = safe; (c = strchr(c, '&')) != NULL; c++)
            assert_true(strncmp(c, "&amp;", 5) == 0 || strncmp(c, "&lt;", 4) == 0 || strncmp(c, "&gt;", 4) == 0 ||
                        strncmp(c, "&quot;", 6) == 0 || strncmp(c, "&#39;", 5) == 0);
    }
}

static void assert_number(double value, int digits, const char *expected) {
    tc_buffer out = tc_buffer_new(arena, 1000);
    tc_put_number(&out, value, digits);
    assert_string_equal(tc_buffer_text(&out), expected);
}

static void numbers_read_well(void **unused) {
    (void)unused;
    assert_number(0.27061, 4, "0.2706");
    assert_number(100000, 16, "100,000");
    assert_number(-1234.56, 4, TC_MINUS "1,235");
    assert_number(13.19, 4, "13.19");
    assert_number(0, 4, "0");
    assert_number(0.000012345, 3, "1.23e" TC_MINUS "5");
    assert_number(2.5e12, 3, "2.50e12");
    assert_number(NAN, 4, TC_DASH);
}

static void long_text_is_cut_between_characters(void **unused) {
    (void)unused;
    tc_buffer out = tc_buffer_new(arena, 1000);
    tc_put_short_text(&out, "μμμμμμμμ", 5);
    assert_string_equal(tc_buffer_text(&out), "μμμμ…");
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

enum { MANY = 100000 };

static void a_path_of_many_points_is_short_and_keeps_its_extremes(void **unused) {
    (void)unused;
    double *x = TC_NEW(arena, double, MANY), *y = TC_NEW(arena, double, MANY);
    for (size_t i = 0; i < MANY; i++) {
        x[i] = (double)i;
        y[i] = sin((double)i / 1000);
    }
    y[54321] = 9;
    y[54322] = -7;
    tc_axis horizontal = {false, 0, MANY, 0, 400}, vertical = {false, -10, 10, 200, 0};
    tc_buffer out = tc_buffer_new(arena, 1 << 22);
    size_t points = tc_path_line(&out, &horizontal, &vertical, x, y, MANY);
    assert_true(points <= 4 * 801);
    double least = INFINITY, most = -INFINITY;
    for (const char *c = strpbrk(out.text, "ML"); c != NULL; c = strpbrk(c + 1, "ML")) {
        char *next;
        (void)strtod(c + 1, &next);
        double place = strtod(next, NULL);
        least = fmin(least, place);
        most = fmax(most, place);
    }
    assert_true(fabs(least - tc_axis_at(&vertical, 9)) < 0.1);
    assert_true(fabs(most - tc_axis_at(&vertical, -7)) < 0.1);
}

static void what_is_no_number_is_a_gap(void **unused) {
    (void)unused;
    const double x[] = {1, 2, 3, 4, 5}, y[] = {1, 2, NAN, 4, 5};
    tc_axis horizontal = {false, 1, 5, 0, 400}, vertical = {false, 0, 5, 200, 0};
    tc_buffer out = tc_buffer_new(arena, 1000);
    assert_int_equal(tc_path_line(&out, &horizontal, &vertical, x, y, 5), 4);
    assert_string_equal(tc_buffer_text(&out), "M0 160L100 120M300 40L400 0");
}

static void a_log_axis_leaves_out_what_it_cannot_show(void **unused) {
    (void)unused;
    const double x[] = {0, 1, 10, 100}, y[] = {5, 1, 0, 100}, low[] = {1, 1, 0, 10}, high[] = {2, 10, 10, 100};
    tc_axis horizontal = {true, 1, 100, 0, 200}, vertical = {true, 1, 100, 100, 0};
    tc_buffer line = tc_buffer_new(arena, 1000), band = tc_buffer_new(arena, 1000);
    assert_int_equal(tc_path_line(&line, &horizontal, &vertical, x, y, 4), 2);
    assert_string_equal(tc_buffer_text(&line), "M0 100M200 0");
    (void)tc_path_band(&band, &horizontal, &vertical, x, low, high, 4);
    assert_string_equal(tc_buffer_text(&band), "M0 50L100 50L200 0L200 50L100 100L0 100Z");
}

/* ---- plots ------------------------------------------------------------------------------------------------------- */

static const char *drawn(tc_plot plot) {
    tc_buffer out = tc_buffer_new(arena, 1 << 20);
    plot.id = "p";
    plot.title = "title";
    plot.description = "description";
    plot.x_title = "x";
    plot.y_title = "y";
    tc_plot_svg(&plot, &out);
    return out.text;
}

static void labels_stand_beside_lines_where_they_are_short(void **unused) {
    (void)unused;
    const double x[] = {1, 10, 100}, y[] = {3, 2, 1}, z[] = {3, 2, 1.01};
    tc_series series[] = {{.label = "g1", .style = 0, .count = 3, .x = x, .y = y},
                          {.label = "g2", .style = 1, .count = 3, .x = x, .y = z}};
    tc_plot plot = {.level = NAN, .series = series, .series_count = 2};
    const char *svg = drawn(plot);
    const char *first = strstr(svg, ">g1</text>"), *second = strstr(svg, ">g2</text>");
    assert_non_null(first);
    assert_non_null(second);
    double places[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        const char *at = i == 0 ? first : second;
        while (strncmp(at, "y=\"", 3) != 0)
            at--;
        places[i] = strtod(at + 3, NULL);
    }
    assert_true(fabs(places[0] - places[1]) >= 12); /* they do not cover each other */
    series[1].label = "a long name";
    assert_non_null(strstr(drawn(plot), ">a long name</text>"));
}

static void nothing_to_draw_is_an_empty_frame(void **unused) {
    (void)unused;
    const double x[] = {0, -1}, y[] = {NAN, INFINITY};
    tc_series series = {.label = "none", .count = 2, .x = x, .y = y};
    tc_plot plot = {.x_log = true, .y_log = true, .level = NAN, .series = &series, .series_count = 1};
    assert_null(strstr(drawn(plot), "nan"));
    plot.series_count = 0;
    assert_null(strstr(drawn(plot), "inf"));
}

static void no_number_breaks_a_plot(void **unused) {
    (void)unused;
    const double odd[] = {0, NAN, INFINITY, -INFINITY, 1e308, -1e308, 5e-324, 1, -1, 1e-300};
    enum { COUNT = sizeof odd / sizeof odd[0] };
    double x[COUNT], y[COUNT];
    for (int logs = 0; logs < 4; logs++) {
        for (size_t shift = 0; shift < COUNT; shift++) {
            for (size_t i = 0; i < COUNT; i++) {
                x[i] = (double)i;
                y[i] = odd[(i + shift) % COUNT];
            }
            tc_series series = {.count = COUNT, .x = x, .y = y, .low = y, .high = y, .least = y, .most = y};
            tc_plot plot = {.x_log = (logs & 1) != 0,
                            .y_log = (logs & 2) != 0,
                            .level = odd[shift],
                            .level_label = "limit",
                            .series = &series,
                            .series_count = 1};
            const char *svg = drawn(plot);
            assert_null(strstr(svg, "nan"));
            assert_null(strstr(svg, "inf"));
        }
    }
}

/* ---- colours ----------------------------------------------------------------------------------------------------- */

static double luminance(const char *colour) { /* WCAG 2: of "#rrggbb" */
    const double weights[] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (size_t i = 0; i < 3; i++) {
        char digits[3] = {colour[1 + 2 * i], colour[2 + 2 * i], '\0'};
        double part = (double)strtol(digits, NULL, 16) / 255;
        sum += weights[i] * (part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static double contrast(const char *sheet, const char *name, const char *paper) {
    const char *colour = strstr(sheet, name), *ground = strstr(sheet, paper);
    assert_non_null(colour);
    assert_non_null(ground);
    double a = luminance(colour + strlen(name)), b = luminance(ground + strlen(paper));
    return (fmax(a, b) + 0.05) / (fmin(a, b) + 0.05);
}

static void text_and_lines_can_be_seen_in_light_and_dark(void **unused) {
    (void)unused;
    size_t sheets = 0;
    for (const char *const *piece = tc_report_style; *piece != NULL; piece++) {
        if (strstr(*piece, "--paper:") == NULL)
            continue;
        sheets++;
        const char *const texts[] = {"--ink:", "--muted:", "--warn:", "--c0:" /* links */};
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
            assert_true(contrast(*piece, texts[i], "--paper:") >= 4.5);
            assert_true(contrast(*piece, texts[i], "--panel:") >= 4.5);
        }
        const char *const lines[TC_PLOT_STYLES] = {"--c0:", "--c1:", "--c2:", "--c3:", "--c4:", "--c5:"};
        for (size_t i = 0; i < TC_PLOT_STYLES; i++)
            assert_true(contrast(*piece, lines[i], "--paper:") >= 3);
    }
    assert_int_equal(sheets, 3); /* light, dark, paper */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_cannot_leave_its_place, begin, end),
        cmocka_unit_test_setup_teardown(any_bytes_become_text, begin, end),
        cmocka_unit_test_setup_teardown(numbers_read_well, begin, end),
        cmocka_unit_test_setup_teardown(long_text_is_cut_between_characters, begin, end),
        cmocka_unit_test_setup_teardown(a_path_of_many_points_is_short_and_keeps_its_extremes, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_number_is_a_gap, begin, end),
        cmocka_unit_test_setup_teardown(a_log_axis_leaves_out_what_it_cannot_show, begin, end),
        cmocka_unit_test_setup_teardown(labels_stand_beside_lines_where_they_are_short, begin, end),
        cmocka_unit_test_setup_teardown(nothing_to_draw_is_an_empty_frame, begin, end),
        cmocka_unit_test_setup_teardown(no_number_breaks_a_plot, begin, end),
        cmocka_unit_test_setup_teardown(text_and_lines_can_be_seen_in_light_and_dark, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
