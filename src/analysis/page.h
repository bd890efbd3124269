/* Paragraphs and table lines of the analysis for people. */
#ifndef TC_ANALYSIS_PAGE_H
#define TC_ANALYSIS_PAGE_H

#include "analysis/analysis.h"

enum { TC_NAME_WIDTH = 14, TC_CELL_WIDTH = 20 }; /* of a table: a name and three cells make 80 columns */

typedef struct tc_page {
    tc_buffer *out;
    unsigned width;
} tc_page;

/* Columns on the screen: characters, not bytes (of UTF-8). */
size_t tc_text_width(const char *text, size_t length);

/* Words, wrapped; the first line begins at `column`, where the page is already, the others after an indent. */
void tc_page_wrap(tc_page *page, const char *text, size_t indent, size_t column);
void tc_page_paragraph(tc_page *page, size_t indent, const char *text);

/* A name and up to three cells ("" for none); what is too long pushes the rest aside. */
void tc_page_line(tc_page *page, const char *name, const char *const cells[3]);

/* A number in a few digits, never below the value (direction 1), above it (-1), or the nearest (0). */
const char *tc_shown(char text[32], double value, int direction, int digits);
/* [lower, upper], rounded outward, or the one number that it is, in as many digits as a cell has room for. */
const char *tc_shown_bracket(char text[80], const tc_bracket *bracket);
/* "2.5 ok", or what is wrong with a declared constant; "" where there is none. */
const char *tc_shown_declared(char text[80], const tc_bracket *bracket);

static inline const char *tc_plural(size_t count) { return count == 1 ? "" : "s"; }

#endif
