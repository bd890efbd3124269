#include "base/text.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static void every_byte_has_its_two_digits(void **state) {
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned char bytes[1] = {(unsigned char)byte};
        char text[3], expected[3];
        (void)snprintf(expected, sizeof expected, "%02x", byte);
        tc_hexadecimal(text, bytes, 1);
        assert_string_equal(text, expected);
    }
}

static void digits_stand_in_the_order_of_the_bytes(void **state) {
    (void)state;
    const unsigned char bytes[] = {0x01, 0x23, 0xab, 0xcd, 0xef};
    char text[12] = "zzzzzzzzzzz";
    tc_hexadecimal(text, bytes, sizeof bytes);
    assert_string_equal(text, "0123abcdef");
    assert_int_equal(text[10], 0);
}

static void no_bytes_are_an_empty_text(void **state) {
    (void)state;
    char text[2] = "z";
    tc_hexadecimal(text, (const unsigned char *)"", 0);
    assert_string_equal(text, "");
}

static void the_arenas_text_is_the_same(void **state) {
    (void)state;
    const unsigned char bytes[] = {0xde, 0xad, 0x00, 0x7f};
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    tc_escape escape;
    if (TC_TRY(arena, &escape) == TC_OK)
        assert_string_equal(tc_hexadecimal_new(arena, bytes, sizeof bytes), "dead007f");
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
}

static void digits_are_read_back_and_nothing_else_is(void **state) {
    (void)state;
    unsigned char bytes[2] = {0};
    assert_true(tc_hexadecimal_read("09aF", bytes, 2));
    assert_int_equal(bytes[0], 0x09);
    assert_int_equal(bytes[1], 0xaf);
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned char in[1] = {(unsigned char)byte}, out[1];
        char text[3];
        tc_hexadecimal(text, in, 1);
        assert_true(tc_hexadecimal_read(text, out, 1));
        assert_int_equal(out[0], byte);
    }
    static const char *const wrong[] = {"", "0", "09a", "09ag", "09af0", "09af ", " 9af", "0x09", "g000"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(tc_hexadecimal_read(wrong[i], bytes, 2));
}

static const char *const names[] = {"feeder", "home", "sumsq", "pref", "T", "norm1", "norm"};
static const size_t name_count = sizeof names / sizeof names[0];

static void one_slip_finds_the_name(void **state) {
    (void)state;
    static const char *const slips[][2] = {{"feder", "feeder"},  {"feeeder", "feeder"}, {"feedar", "feeder"},
                                           {"efeder", "feeder"}, {"hoem", "home"},      {"sumqs", "sumsq"},
                                           {"prev", "pref"},     {"norn", "norm"}};
    for (size_t i = 0; i < sizeof slips / sizeof slips[0]; i++) {
        const char *found = tc_suggest(slips[i][0], names, name_count);
        assert_non_null(found);
        assert_string_equal(found, slips[i][1]);
    }
}

static void case_alone_is_no_difference(void **state) {
    (void)state;
    assert_string_equal(tc_suggest("t", names, name_count), "T");
    assert_string_equal(tc_suggest("FEEDER", names, name_count), "feeder");
}

static void the_nearest_of_two_wins(void **state) {
    (void)state;
    assert_string_equal(tc_suggest("norm2", names, name_count), "norm1");
    assert_string_equal(tc_suggest("nor", names, name_count), "norm");
}

static void nothing_close_suggests_nothing(void **state) {
    (void)state;
    assert_null(tc_suggest("zebra", names, name_count));
    assert_null(tc_suggest("x", names, name_count));
    assert_null(tc_suggest("", names, name_count));
    assert_null(tc_suggest("feder", names, 0));
}

static void a_word_cut_short_finds_the_shortest_that_begins_so(void **state) {
    (void)state;
    static const char *const words[] = {"epsilons", "epsilon", "rounds", "rounds-per-day", "seed"};
    assert_string_equal(tc_suggest_word("eps", words, 5), "epsilon");
    assert_string_equal(tc_suggest_word("rou", words, 5), "rounds");
    assert_string_equal(tc_suggest_word("sed", words, 5), "seed");
    assert_null(tc_suggest_word("e", words, 5));
    assert_null(tc_suggest_word("", words, 5));
    assert_null(tc_suggest_word("per", words, 5));
}

static void very_long_names_are_left_alone(void **state) {
    (void)state;
    char long_name[1000];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    const char *const candidates[] = {long_name, "aaaa"};
    assert_null(tc_suggest(long_name, candidates, 2));
    assert_string_equal(tc_suggest("aaaab", candidates, 2), "aaaa");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_has_its_two_digits),
        cmocka_unit_test(digits_stand_in_the_order_of_the_bytes),
        cmocka_unit_test(no_bytes_are_an_empty_text),
        cmocka_unit_test(the_arenas_text_is_the_same),
        cmocka_unit_test(digits_are_read_back_and_nothing_else_is),
        cmocka_unit_test(one_slip_finds_the_name),
        cmocka_unit_test(case_alone_is_no_difference),
        cmocka_unit_test(the_nearest_of_two_wins),
        cmocka_unit_test(nothing_close_suggests_nothing),
        cmocka_unit_test(a_word_cut_short_finds_the_shortest_that_begins_so),
        cmocka_unit_test(very_long_names_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
