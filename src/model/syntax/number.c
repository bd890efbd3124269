#include "model/syntax/number.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

typedef struct decimal {
    uint64_t digits;  /* the leading ones, as many as fit */
    int64_t exponent; /* value = digits * 10^exponent, when complete */
    bool is_full;     /* no more digits fit */
    bool complete;    /* no digit but zeros was dropped */
} decimal;

static void push_digit(decimal *d, char c, bool after_point) {
    unsigned digit = (unsigned)(c - '0');
    if (d->is_full || d->digits > (UINT64_MAX - digit) / 10) {
        d->is_full = true;
        d->complete = d->complete && digit == 0;
        d->exponent += !after_point;
        return;
    }
    d->digits = d->digits * 10 + digit;
    d->exponent -= after_point;
}

/* The exponent part, if a whole one is there; returns its length. */
static size_t read_exponent(const char *text, size_t length, int64_t *exponent) {
    size_t i = 1;
    bool negative = false;
    if (i < length && (text[i] == '+' || text[i] == '-'))
        negative = text[i++] == '-';
    if (i >= length || !is_digit(text[i]))
        return 0;
    int64_t value = 0;
    for (; i < length && is_digit(text[i]); i++)
        value = value < 100000000 ? value * 10 + (text[i] - '0') : value;
    *exponent += negative ? -value : value;
    return i;
}

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* One correctly rounded operation on two exact doubles is the nearest double. */
static bool exact_in_double(decimal d, double *value) {
    if (!d.complete || d.digits > UINT64_C(1) << 53 || d.exponent < -22 || d.exponent > 22)
        return false;
    double digits = (double)d.digits;
    *value = d.exponent < 0 ? digits / powers[-d.exponent] : digits * powers[d.exponent];
    return true;
}

/* The same with the 64-bit significand of x87, then rounded again to 53 bits: right unless the first result lies next
 * to the middle of two doubles. */
static bool exact_in_extended(decimal d, double *value) {
#if LDBL_MANT_DIG == 64
    if (!d.complete || d.digits == 0 || d.exponent < -22 || d.exponent > 22)
        return false;
    long double power = (long double)powers[d.exponent < 0 ? -d.exponent : d.exponent];
    long double wide = d.exponent < 0 ? (long double)d.digits / power : (long double)d.digits * power;
    int scale;
    uint64_t significand = (uint64_t)ldexpl(frexpl(wide, &scale), 64);
    uint64_t below = significand & 0x7ff;
    if (below >= 0x3ff && below <= 0x401)
        return false;
    *value = (double)wide;
    return true;
#else
    (void)d;
    (void)value;
    return false;
#endif
}

/* strtod, on the digits without their point: so the locale's decimal point does not matter. The middle between two
 * doubles has at most 767 digits; a digit 1 stands for whatever follows the first 800. */
static double slowly(const char *text, size_t length) {
    enum { KEPT = 800 };
    char digits[KEPT + 40];
    size_t count = 0;
    int64_t exponent = 0;
    bool after_point = false, dropped = false;
    size_t i = 0;
    for (; i < length && text[i] != 'e' && text[i] != 'E'; i++) {
        if (text[i] == '.') {
            after_point = true;
        } else if (count == KEPT) {
            dropped = dropped || text[i] != '0';
            exponent += !after_point;
        } else {
            if (count > 0 || text[i] != '0')
                digits[count++] = text[i];
            exponent -= after_point;
        }
    }
    if (count == 0)
        return 0;
    if (dropped) {
        digits[count++] = '1';
        exponent--;
    }
    if (i < length)
        (void)read_exponent(text + i, length - i, &exponent);
    (void)snprintf(digits + count, sizeof digits - count, "e%lld", (long long)exponent);
    return strtod(digits, NULL);
}

size_t tc_number_read(const char *text, size_t length, bool with_sign, double *value) {
    size_t i = 0;
    bool negative = false;
    if (with_sign && length > 0 && (text[0] == '-' || text[0] == '+'))
        negative = text[i++] == '-';
    size_t start = i;
    decimal d = {.complete = true};
    for (; i < length && is_digit(text[i]); i++)
        push_digit(&d, text[i], false);
    size_t whole = i - start, fraction = 0;
    bool point = i < length && text[i] == '.';
    if (point && i + 1 < length && is_digit(text[i + 1]) && (whole > 0 || with_sign)) {
        for (i++; i < length && is_digit(text[i]); i++, fraction++)
            push_digit(&d, text[i], true);
    } else if (point && whole > 0 && with_sign) {
        i++;
    }
    if (whole + fraction == 0)
        return 0;
    if (i < length && (text[i] == 'e' || text[i] == 'E'))
        i += read_exponent(text + i, length - i, &d.exponent);
    if (!exact_in_double(d, value) && !exact_in_extended(d, value))
        *value = slowly(text + start, i - start);
    if (negative)
        *value = -*value;
    return i;
}
