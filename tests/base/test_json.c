#include "base/json.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static tc_arena *arena;
static tc_buffer out;

static int begin(void **state) {
    (void)state;
    arena = tc_arena_new(0);
    if (arena != NULL)
        out = tc_buffer_new(arena, 100000);
    return arena == NULL;
}

static int end(void **state) {
    (void)state;
    tc_arena_free(arena);
    return 0;
}

static void commas_and_indentation_come_by_themselves(void **state) {
    (void)state;
    tc_json json = tc_json_new(&out);
    tc_json_open_object(&json, NULL);
    tc_json_count(&json, "agents", 2);
    tc_json_open_array(&json, "list");
    tc_json_bool(&json, NULL, true);
    tc_json_null(&json, NULL);
    tc_json_close_array(&json);
    tc_json_open_object(&json, "empty");
    tc_json_close_object(&json);
    tc_json_numbers(&json, "x", (const double[]){1, 0.1}, 2);
    tc_json_close_object(&json);
    assert_string_equal(tc_buffer_text(&out), "{\n  \"agents\": 2,\n  \"list\": [\n    true,\n    null\n  ],\n"
                                              "  \"empty\": {},\n  \"x\": [1, 0.1]\n}\n");
}

static void strings_are_escaped(void **state) {
    (void)state;
    tc_json json = tc_json_new(&out);
    tc_json_string(&json, NULL, "a\"b\\c\nd\te\x01\x7f");
    assert_string_equal(tc_buffer_text(&out), "\"a\\\"b\\\\c\\nd\\te\\u0001\\u007f\"");
}

static void bytes_that_are_not_utf8_are_replaced(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"caf\xe9", "\"caf\\ufffd\""},
        {"\xc3", "\"\\ufffd\""},
        {"\xc0\xaf", "\"\\ufffd\\ufffd\""},
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tc_buffer one = tc_buffer_new(arena, 1000);
        tc_json json = tc_json_new(&one);
        tc_json_string(&json, NULL, texts[i][0]);
        assert_string_equal(tc_buffer_text(&one), texts[i][1]);
    }
}

static void what_is_not_a_number_becomes_null(void **state) {
    (void)state;
    tc_json json = tc_json_new(&out);
    tc_json_numbers(&json, NULL, (const double[]){INFINITY, -INFINITY, (double)NAN}, 3);
    assert_string_equal(tc_buffer_text(&out), "[null, null, null]");
}

static void every_double_reads_back_the_same(void **state) {
    (void)state;
    uint64_t seed = 1;
    double extremes[] = {0.0, -0.0, 0.1, 1.0 / 3.0, DBL_MAX, DBL_MIN, DBL_TRUE_MIN, 9007199254740993.0, 13.19};
    for (size_t i = 0; i < 20000; i++) {
        AT_CASE(i);
        double value;
        uint64_t bits = random_word(&seed);
        memcpy(&value, &bits, sizeof value);
        if (i < sizeof extremes / sizeof extremes[0])
            value = extremes[i];
        if (!isfinite(value))
            continue;
        char text[32];
        tc_shortest_number(text, value);
        double back = strtod(text, NULL);
        assert_memory_equal(&back, &value, sizeof value);
        assert_true(strlen(text) <= 24);
    }
}

static void whole_numbers_are_written_plainly(void **state) {
    (void)state;
    const struct {
        double value;
        const char *text;
    } cases[] = {{30, "30"}, {-1200, "-1200"}, {1e15, "1000000000000000"}, {1e16, "1e+16"}, {0.001, "0.001"}, {0, "0"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        tc_shortest_number(text, cases[i].value);
        assert_string_equal(text, cases[i].text);
    }
}

static void nesting_beyond_the_limit_escapes(void **state) {
    (void)state;
    tc_json json = tc_json_new(&out);
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK) {
        for (int i = 0; i < 1000; i++)
            tc_json_open_array(&json, NULL);
    }
    tc_escape_end(arena, &escape);
    assert_int_equal(status, TC_INTERNAL);
}

static void a_buffer_grows_to_its_limit_and_escapes_beyond(void **state) {
    (void)state;
    tc_buffer small = tc_buffer_new(arena, 1000);
    assert_string_equal(tc_buffer_text(&small), "");
    for (int i = 0; i < 99; i++)
        tc_buffer_printf(&small, "%010d", i);
    assert_int_equal(small.length, 990);
    assert_int_equal(strlen(tc_buffer_text(&small)), 990);
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        tc_buffer_puts(&small, "eleven more");
    tc_escape_end(arena, &escape);
    assert_int_equal(status, TC_TOO_LARGE);
    assert_int_equal(small.length, 990);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(commas_and_indentation_come_by_themselves, begin, end),
        cmocka_unit_test_setup_teardown(strings_are_escaped, begin, end),
        cmocka_unit_test_setup_teardown(bytes_that_are_not_utf8_are_replaced, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_a_number_becomes_null, begin, end),
        cmocka_unit_test_setup_teardown(every_double_reads_back_the_same, begin, end),
        cmocka_unit_test_setup_teardown(whole_numbers_are_written_plainly, begin, end),
        cmocka_unit_test_setup_teardown(nesting_beyond_the_limit_escapes, begin, end),
        cmocka_unit_test_setup_teardown(a_buffer_grows_to_its_limit_and_escapes_beyond, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
