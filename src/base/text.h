/* Text: layout in columns, numbers to and from text, hexadecimal digits, near misses of names. */
#ifndef TC_BASE_TEXT_H
#define TC_BASE_TEXT_H

#include "base/arena.h"

#include <stdbool.h>

enum { TC_NAME_WIDTH = 14, TC_CELL_WIDTH = 20 }; /* of a table: a name and three cells make 80 columns */

typedef struct tc_text_layout {
    tc_buffer *out;
    unsigned width; /* in columns */
} tc_text_layout;

/* Columns on the screen: characters, not bytes of UTF-8. */
size_t tc_text_width(const char *text, size_t length);

/* Wraps words. The first line goes on from `column`, the others begin at `indent`. An empty line in the text separates
 * paragraphs. */
void tc_layout_wrap(const tc_text_layout *layout, const char *text, size_t indent, size_t column);
void tc_layout_paragraph(const tc_text_layout *layout, size_t indent, const char *text);

/* A name and up to three cells ("" for none); what is too long pushes the rest aside. */
void tc_layout_line(const tc_text_layout *layout, const char *name, const char *const cells[3]);

/* A name in so many columns: cut with dots, or filled up with blanks. */
void tc_text_name(tc_buffer *out, const char *name, size_t width);

/* A number in at least this many digits: not below the value (direction 1), not above it (-1), or the nearest (0). */
const char *tc_shown(char text[32], double value, int direction, int digits);

static inline const char *tc_plural(size_t count) { return count == 1 ? "" : "s"; }

/* Decimal text to the nearest double, whatever the locale.
 * Reads digits ['.' digits] ['e' ['+'|'-'] digits] at the start of text; a sign is read only where with_sign.
 * Returns how many bytes belong to the number, 0 where none does. *value is infinite when it overflows.
 * A point needs digits on both sides unless with_sign (data files are written by other programs: .5 and 5. pass). */
size_t tc_number_read(const char *text, size_t length, bool with_sign, double *value);

/* Two lower-case digits for each byte, the high half first, and a NUL: text has room for 2 size + 1. */
void tc_hexadecimal(char *text, const unsigned char *bytes, size_t size);

/* The same in memory of the arena. */
const char *tc_hexadecimal_new(tc_arena *arena, const unsigned char *bytes, size_t size);

/* The bytes that exactly 2 size digits, of either case, stand for; false for any other text. */
bool tc_hexadecimal_read(const char *text, unsigned char *bytes, size_t size);

/* The candidate nearest to what was written, or NULL when nothing is close. Letters left out, added, changed or
 * swapped with a neighbour count one each; upper and lower case are the same. The first of equals wins. */
const char *tc_suggest(const char *wrong, const char *const *candidates, size_t count);

/* The same for the words of a command, which people cut short: where nothing is close, the shortest candidate that
 * begins with what was written, which has two letters at least. */
const char *tc_suggest_word(const char *wrong, const char *const *candidates, size_t count);

#endif
