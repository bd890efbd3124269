/* Text for HTML and SVG. Whatever comes from a file goes through tc_put_text. */
#ifndef TC_REPORT_HTML_H
#define TC_REPORT_HTML_H

#include "base/arena.h"

#include <stdbool.h>

#define TC_MINUS "\xe2\x88\x92" /* U+2212 */
#define TC_PERCENT "\xc2\xa0%%" /* with a space that does not break; for printf */
#define TC_DASH "\xe2\x80\x93"  /* U+2013, for ranges */

/* Escaped, so that it is text in an element and in a quoted attribute. What no XML may contain (bytes that are not
 * UTF-8, control characters) becomes U+FFFD. */
void tc_put_text(tc_buffer *out, const char *text);
/* The same, at most `most` characters, with an ellipsis where some are left out. */
void tc_put_short_text(tc_buffer *out, const char *text, size_t most);
/* Characters, not bytes. */
size_t tc_text_characters(const char *text);

/* "-1234.5" as "−1,234.5". */
void tc_put_grouped(tc_buffer *out, const char *number);
/* A number for people, of about `digits` digits: "0.2706", "100,000", "1.2e-9"; a dash where it is not finite. */
void tc_put_number(tc_buffer *out, double value, int digits);

/* The style sheet of reports: light, dark and paper. Pieces, NULL-terminated. */
extern const char *const tc_report_style[];

#endif
