/* Decimal text to double, against strtod. */
#include "base/text.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void agrees(const char *text) {
    double value;
    size_t length = tc_number_read(text, strlen(text), true, &value);
    double expected = strtod(text, NULL);
    if (length != strlen(text) || memcmp(&value, &expected, sizeof value) != 0) {
        print_error("%s: read %zu bytes as %.17g, not %.17g\n", text, length, value, expected);
        fail();
    }
}

static void every_printed_double_is_read_back(void **state) {
    (void)state;
    uint64_t seed = 42;
    for (int i = 0; i < 300000; i++) {
        AT_CASE(i);
        uint64_t bits = random_word(&seed);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        char text[64];
        (void)snprintf(text, sizeof text, "%.*g", 1 + (int)(random_word(&seed) % 20), value);
        agrees(text);
    }
}

static void ordinary_decimals_are_the_nearest_double(void **state) {
    (void)state;
    uint64_t seed = 43;
    for (int i = 0; i < 300000; i++) {
        AT_CASE(i);
        char text[64];
        int digits = (int)(random_word(&seed) % 19) + 1;
        uint64_t whole = random_word(&seed) % (uint64_t)pow(10, digits);
        (void)snprintf(text, sizeof text, "%s%llu.%0*llu", i % 2 ? "-" : "", (unsigned long long)(whole % 100000),
                       digits, (unsigned long long)whole);
        agrees(text);
        (void)snprintf(text, sizeof text, "%llue%d", (unsigned long long)whole, (int)(random_word(&seed) % 60) - 30);
        agrees(text);
    }
}

static void the_middle_between_two_doubles_is_rounded_to_even(void **state) {
    (void)state;
    agrees("9007199254740993");
    agrees("9007199254740993.00000000000000000000000000000000000000000001");
    agrees("9007199254740992.99999999999999999999999999999999999999999999");
    agrees("9007199254740995");
    agrees("2.2250738585072011e-308");
    agrees("2.4703282292062327208e-324");
    agrees("2.4703282292062328e-324");
    agrees("1.7976931348623158e308");
    agrees("0.1e-400");
    agrees("00000000000000000000000000000000001.5");
    agrees("0.000000000000000000000000000000000000000000000000000000015");
}

static void thousands_of_digits_are_read_right(void **state) {
    (void)state;
    char text[5000] = "0.";
    memset(text + 2, '3', 4000);
    agrees(text);
    memset(text, '9', 3000);
    strcpy(text + 3000, "e-3000");
    agrees(text);
    /* A middle, decided by the 2,000th digit. */
    strcpy(text, "9007199254740993.");
    memset(text + strlen(text), '0', 2000);
    strcat(text, "1");
    agrees(text);
}

static void only_the_number_is_taken(void **state) {
    (void)state;
    double value;
    assert_int_equal(tc_number_read("1..3", 4, false, &value), 1);
    assert_int_equal(tc_number_read("1.5x", 4, false, &value), 3);
    assert_int_equal(tc_number_read("1e", 2, false, &value), 1);
    assert_int_equal(tc_number_read("1e+", 3, false, &value), 1);
    assert_int_equal(tc_number_read("5.", 2, false, &value), 1);
    assert_int_equal(tc_number_read("5.", 2, true, &value), 2);
    assert_int_equal(tc_number_read(".5", 2, false, &value), 0);
    assert_int_equal(tc_number_read(".5", 2, true, &value), 2);
    assert_int_equal(tc_number_read("-3", 2, false, &value), 0);
    assert_int_equal(tc_number_read("-3", 2, true, &value), 2);
    assert_int_equal(tc_number_read("", 0, true, &value), 0);
    assert_int_equal(tc_number_read("-", 1, true, &value), 0);
    assert_int_equal(tc_number_read("inf", 3, true, &value), 0);
    assert_int_equal(tc_number_read("nan", 3, true, &value), 0);
    assert_int_equal(tc_number_read("0x10", 4, true, &value), 1);
    assert_int_equal(tc_number_read("1e999", 5, true, &value), 5);
    assert_true(isinf(value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_printed_double_is_read_back),
        cmocka_unit_test(ordinary_decimals_are_the_nearest_double),
        cmocka_unit_test(the_middle_between_two_doubles_is_rounded_to_even),
        cmocka_unit_test(thousands_of_digits_are_read_right),
        cmocka_unit_test(only_the_number_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
