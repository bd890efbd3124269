#include "report/page/html.h"

#include "base/json.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* U+FFFE and U+FFFF are no characters of XML. */
static bool is_noncharacter(const char *text, size_t length) {
    return length == 3 && memcmp(text, "\xef\xbf", 2) == 0 && (unsigned char)text[2] >= 0xbe;
}

/* One character; how many bytes it was. */
static size_t put_character(tc_buffer *out, const char *text) {
    unsigned char byte = (unsigned char)*text;
    size_t length = tc_utf8_length(text);
    if (length == 0 || byte == 0x7f || (byte < 0x20 && byte != '\n' && byte != '\t') || is_noncharacter(text, length)) {
        tc_buffer_puts(out, "\xef\xbf\xbd");
        return length == 0 ? 1 : length;
    }
    if (byte == '&')
        tc_buffer_puts(out, "&amp;");
    else if (byte == '<')
        tc_buffer_puts(out, "&lt;");
    else if (byte == '>')
        tc_buffer_puts(out, "&gt;");
    else if (byte == '"')
        tc_buffer_puts(out, "&quot;");
    else if (byte == '\'')
        tc_buffer_puts(out, "&#39;");
    else
        tc_buffer_add(out, text, length);
    return length;
}

void tc_put_text(tc_buffer *out, const char *text) { tc_put_short_text(out, text, SIZE_MAX); }

size_t tc_text_characters(const char *text) {
    size_t count = 0;
    for (; *text != '\0'; count++) {
        size_t length = tc_utf8_length(text);
        text += length == 0 ? 1 : length;
    }
    return count;
}

void tc_put_short_text(tc_buffer *out, const char *text, size_t most) {
    bool fits = most == SIZE_MAX || tc_text_characters(text) <= most;
    for (size_t count = 0; *text != '\0' && (fits || count + 1 < most); count++)
        text += put_character(out, text);
    if (!fits)
        tc_buffer_puts(out, "\xe2\x80\xa6");
}

void tc_put_grouped(tc_buffer *out, const char *number) {
    if (*number == '-') {
        tc_buffer_puts(out, TC_MINUS);
        number++;
    }
    size_t whole = strspn(number, "0123456789");
    for (size_t i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0 && whole > 3)
            tc_buffer_puts(out, ",");
        tc_buffer_add(out, number + i, 1);
    }
    tc_buffer_puts(out, number + whole);
}

void tc_put_number(tc_buffer *out, double value, int digits) {
    char text[64];
    double size = fabs(value);
    if (!isfinite(value)) {
        tc_buffer_puts(out, TC_DASH);
        return;
    }
    if (size != 0 && (size < 1e-4 || size >= 1e9)) {
        (void)snprintf(text, sizeof text, "%.*e", digits - 1, value);
        char *exponent = strchr(text, 'e');
        int power = exponent != NULL ? atoi(exponent + 1) : 0;
        if (exponent != NULL)
            *exponent = '\0';
        tc_put_grouped(out, text);
        tc_buffer_printf(out, "e%s%d", power < 0 ? TC_MINUS : "", abs(power));
        return;
    }
    int whole = size >= 1 ? (int)floor(log10(size)) + 1 : size > 0 ? (int)floor(log10(size)) + 1 : 1;
    int decimals = digits - whole > 0 ? digits - whole : 0;
    bool is_whole = value == floor(value) && size < 1e9;
    (void)snprintf(text, sizeof text, "%.*f", is_whole ? 0 : decimals, value);
    tc_put_grouped(out, text);
}
