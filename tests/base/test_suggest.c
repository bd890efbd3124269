#include "base/suggest.h"
#include "support/cmocka.h"

#include <string.h>

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
        cmocka_unit_test(one_slip_finds_the_name),        cmocka_unit_test(case_alone_is_no_difference),
        cmocka_unit_test(the_nearest_of_two_wins),        cmocka_unit_test(nothing_close_suggests_nothing),
        cmocka_unit_test(very_long_names_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
