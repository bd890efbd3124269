#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL_DIGITS = 17, LONGEST_NAME = 64, FARTHEST = 3 };

size_t tc_text_width(const char *text, size_t length) {
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80; /* bytes that continue a character have none */
    return width;
}

void tc_layout_wrap(const tc_text_layout *layout, const char *text, size_t indent, size_t column) {
    while (*text != '\0') {
        size_t length = strcspn(text, " \n"), width = tc_text_width(text, length);
        if (column > indent && column + 1 + width > layout->width) {
            tc_buffer_printf(layout->out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            tc_buffer_puts(layout->out, " ");
            column++;
        }
        tc_buffer_add(layout->out, text, length);
        column += width;
        text += length;
        if (strncmp(text, "\n\n", 2) == 0) {
            tc_buffer_printf(layout->out, "\n\n%*s", (int)indent, "");
            column = indent;
        }
        text += strspn(text, " \n");
    }
    tc_buffer_puts(layout->out, "\n");
}

void tc_layout_paragraph(const tc_text_layout *layout, size_t indent, const char *text) {
    tc_buffer_printf(layout->out, "%*s", (int)indent, "");
    tc_layout_wrap(layout, text, indent, indent);
}

void tc_text_name(tc_buffer *out, const char *name, size_t width) {
    size_t length = strlen(name), wide = tc_text_width(name, length);
    if (wide <= width) {
        tc_buffer_printf(out, "%s%*s", name, (int)(width - wide), "");
        return;
    }
    while (tc_text_width(name, length) > width - 2)
        length--;
    while (((unsigned char)name[length] & 0xc0) == 0x80) /* whole characters */
        length++;
    tc_buffer_add(out, name, length);
    tc_buffer_puts(out, "..");
}

void tc_layout_line(const tc_text_layout *layout, const char *name, const char *const cells[3]) {
    size_t column = 2 + tc_text_width(name, strlen(name)), place = 2 + TC_NAME_WIDTH + 1;
    tc_buffer_printf(layout->out, "  %s", name);
    for (int i = 0; i < 3; i++, place += TC_CELL_WIDTH + 1) {
        if (cells[i][0] == '\0')
            continue;
        size_t gap = column < place ? place - column : 1;
        tc_buffer_printf(layout->out, "%*s%s", (int)gap, "", cells[i]);
        column += gap + strlen(cells[i]);
    }
    tc_buffer_puts(layout->out, "\n");
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static bool is_beyond(const char *text, double value, int direction) {
    double back = strtod(text, NULL);
    return direction == 0 || (direction > 0 ? back >= value : back <= value);
}

const char *tc_shown(char text[32], double value, int direction, int digits) {
    if (!isfinite(value))
        return value > 0 ? "unbounded" : "-";
    value = value == 0 ? 0 : value; /* not -0 */
    for (; digits <= ALL_DIGITS; digits++) {
        (void)snprintf(text, 32, "%.*g", digits, value);
        if (is_beyond(text, value, direction))
            break;
        /* half a unit of the last digit further */
        double unit = pow(10, floor(log10(fabs(value))) - digits + 1);
        (void)snprintf(text, 32, "%.*g", digits, value + direction * 0.5 * unit);
        if (is_beyond(text, value, direction))
            break;
    }
    return text;
}

/* ---- numbers as text, read --------------------------------------------------------------------------------------- */

typedef struct decimal {
    uint64_t digits;  /* the leading ones, as many as fit */
    int64_t exponent; /* value = digits * 10^exponent, when complete */
    bool is_full;     /* no more digits fit */
    bool complete;    /* no digit but zeros was dropped */
} decimal;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

/* ---- bytes as digits --------------------------------------------------------------------------------------------- */

void tc_hexadecimal(char *text, const unsigned char *bytes, size_t size) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * size] = '\0';
}

const char *tc_hexadecimal_new(tc_arena *arena, const unsigned char *bytes, size_t size) {
    char *text = TC_NEW(arena, char, 2 * size + 1);
    tc_hexadecimal(text, bytes, size);
    return text;
}

static int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool tc_hexadecimal_read(const char *text, unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < 2 * size; i++) {
        int digit = digit_of(text[i]); /* the NUL is no digit either */
        if (digit < 0)
            return false;
        bytes[i / 2] = (unsigned char)(i % 2 == 0 ? digit << 4 : bytes[i / 2] | digit);
    }
    return text[2 * size] == '\0';
}

/* ---- near misses of names ---------------------------------------------------------------------------------------- */

static char folded(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* The optimal string alignment distance; three rows of its table are enough. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t rows[3][LONGEST_NAME + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *above_that = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            char left = folded(a[i - 1]);
            char right = folded(b[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (left == right ? 0 : 1));
            if (i > 1 && j > 1 && left == folded(b[j - 2]) && folded(a[i - 2]) == right)
                row[j] = least(row[j], above_that[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *tc_suggest(const char *wrong, const char *const *candidates, size_t count) {
    size_t length = strlen(wrong);
    if (length == 0 || length > LONGEST_NAME)
        return NULL;
    size_t nearest = least((length + 1) / 3, FARTHEST) + 1;
    const char *found = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(candidates[i]);
        size_t apart = other > length ? other - length : length - other;
        if (other == 0 || other > LONGEST_NAME || apart >= nearest)
            continue;
        size_t away = distance(wrong, length, candidates[i], other);
        if (away < nearest && away < other) {
            nearest = away;
            found = candidates[i];
        }
    }
    return found;
}

const char *tc_suggest_word(const char *wrong, const char *const *candidates, size_t count) {
    const char *found = tc_suggest(wrong, candidates, count);
    size_t length = strlen(wrong);
    if (found != NULL || length < 2)
        return found;
    for (size_t i = 0; i < count; i++) {
        bool begins = strncmp(candidates[i], wrong, length) == 0;
        if (begins && (found == NULL || strlen(candidates[i]) < strlen(found)))
            found = candidates[i];
    }
    return found;
}
