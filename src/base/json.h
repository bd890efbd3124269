/* Writes JSON into a buffer: commas, indentation and escapes are its business.
 * A key is NULL inside an array. Numbers are written with the fewest digits that read back to the same double;
 * infinities and NaN, which JSON lacks, become null. Bytes that are not UTF-8 become the replacement character. */
#ifndef TC_BASE_JSON_H
#define TC_BASE_JSON_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tc_json {
    tc_buffer *out;
    unsigned depth;
    bool has_items[64]; /* by depth */
} tc_json;

tc_json tc_json_new(tc_buffer *out);
void tc_json_open_object(tc_json *json, const char *key);
void tc_json_close_object(tc_json *json);
void tc_json_open_array(tc_json *json, const char *key);
void tc_json_close_array(tc_json *json);
void tc_json_string(tc_json *json, const char *key, const char *value); /* NULL: null */
void tc_json_number(tc_json *json, const char *key, double value);
void tc_json_count(tc_json *json, const char *key, uint64_t value);
void tc_json_bool(tc_json *json, const char *key, bool value);
void tc_json_null(tc_json *json, const char *key);
/* An array of numbers on one line. */
void tc_json_numbers(tc_json *json, const char *key, const double *values, size_t count);

/* The shortest decimal text that reads back as value: at most 24 characters and the NUL. */
void tc_shortest_number(char text[32], double value);

/* How many bytes the character at text has, 0 where it is not well-formed UTF-8. */
size_t tc_utf8_length(const char *text);

#endif
