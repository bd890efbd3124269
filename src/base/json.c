#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tc_json tc_json_new(tc_buffer *out) { return (tc_json){.out = out}; }

static bool is_exact_with(char text[32], int digits, double value) {
    return snprintf(text, 32, "%.*g", digits, value) > 0 && strtod(text, NULL) == value;
}

/* What fewer than 15 digits say, 15 say too: most numbers that are computed need more, and are tried three times. */
void tc_shortest_number(char text[32], double value) {
    int digits = is_exact_with(text, 15, value) ? 1 : 16;
    while (!is_exact_with(text, digits, value) && digits < 17)
        digits++;
    const char *exponent = strchr(text, 'e');
    int places = exponent != NULL ? atoi(exponent + 1) : 0;
    if (places > 0 && places <= 15) /* 30, not 3e+01 */
        (void)snprintf(text, 32, "%.*g", digits > places + 1 ? digits : places + 1, value);
    char *point = strpbrk(text, ","); /* the decimal point of some locales */
    if (point != NULL)
        *point = '.';
}

size_t tc_utf8_length(const char *text) { /* Unicode, table 3-7 */
    const unsigned char *byte = (const unsigned char *)text;
    size_t length = byte[0] < 0x80 ? 1 : byte[0] < 0xc2 ? 0 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
    if (byte[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80) /* the NUL at the end is none either */
            return 0;
    }
    bool overlong = (byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xf0 && byte[1] < 0x90);
    bool beyond = (byte[0] == 0xed && byte[1] > 0x9f) || (byte[0] == 0xf4 && byte[1] > 0x8f);
    return overlong || beyond ? 0 : length;
}

static void add_string(tc_buffer *out, const char *text) {
    tc_buffer_puts(out, "\"");
    for (const char *c = text; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        size_t length = tc_utf8_length(c);
        if (byte == '"' || byte == '\\')
            tc_buffer_printf(out, "\\%c", byte);
        else if (byte == '\n')
            tc_buffer_puts(out, "\\n");
        else if (byte == '\t')
            tc_buffer_puts(out, "\\t");
        else if (byte < 0x20 || byte == 0x7f)
            tc_buffer_printf(out, "\\u%04x", byte);
        else if (length == 0)
            tc_buffer_puts(out, "\\ufffd");
        else
            tc_buffer_add(out, c, length);
        c += length > 1 ? length - 1 : 0;
    }
    tc_buffer_puts(out, "\"");
}

static void add_number(tc_buffer *out, double value) {
    char text[32];
    if (!isfinite(value)) {
        tc_buffer_puts(out, "null");
        return;
    }
    tc_shortest_number(text, value);
    tc_buffer_puts(out, text);
}

static void new_line(tc_json *json) {
    tc_buffer_puts(json->out, "\n");
    for (unsigned i = 0; i < json->depth; i++)
        tc_buffer_puts(json->out, "  ");
}

static void begin(tc_json *json, const char *key) {
    if (json->depth > 0) {
        if (json->has_items[json->depth])
            tc_buffer_puts(json->out, ",");
        json->has_items[json->depth] = true;
        new_line(json);
    }
    if (key != NULL) {
        add_string(json->out, key);
        tc_buffer_puts(json->out, ": ");
    }
}

static void open_bracket(tc_json *json, const char *key, const char *bracket) {
    begin(json, key);
    tc_buffer_puts(json->out, bracket);
    if (json->depth + 1 >= sizeof json->has_items / sizeof json->has_items[0])
        tc_raise(json->out->arena, TC_INTERNAL);
    json->has_items[++json->depth] = false;
}

static void close_bracket(tc_json *json, const char *bracket) {
    bool had_items = json->has_items[json->depth--];
    if (had_items)
        new_line(json);
    tc_buffer_puts(json->out, bracket);
    if (json->depth == 0)
        tc_buffer_puts(json->out, "\n");
}

void tc_json_open_object(tc_json *json, const char *key) { open_bracket(json, key, "{"); }
void tc_json_close_object(tc_json *json) { close_bracket(json, "}"); }
void tc_json_open_array(tc_json *json, const char *key) { open_bracket(json, key, "["); }
void tc_json_close_array(tc_json *json) { close_bracket(json, "]"); }

void tc_json_string(tc_json *json, const char *key, const char *value) {
    begin(json, key);
    if (value == NULL)
        tc_buffer_puts(json->out, "null");
    else
        add_string(json->out, value);
}

void tc_json_number(tc_json *json, const char *key, double value) {
    begin(json, key);
    add_number(json->out, value);
}

void tc_json_count(tc_json *json, const char *key, uint64_t value) {
    begin(json, key);
    tc_buffer_printf(json->out, "%llu", (unsigned long long)value);
}

void tc_json_bool(tc_json *json, const char *key, bool value) {
    begin(json, key);
    tc_buffer_puts(json->out, value ? "true" : "false");
}

void tc_json_null(tc_json *json, const char *key) { tc_json_string(json, key, NULL); }

void tc_json_numbers(tc_json *json, const char *key, const double *values, size_t count) {
    begin(json, key);
    tc_buffer_puts(json->out, "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            tc_buffer_puts(json->out, ", ");
        add_number(json->out, values[i]);
    }
    tc_buffer_puts(json->out, "]");
}
