/* A line of a ledger file: keys in a fixed order, then the check of all bytes up to it and of all lines before. */
#ifndef TC_PRIVACY_LEDGER_LINE_H
#define TC_PRIVACY_LEDGER_LINE_H

#include "promise/ledger.h"

enum { TC_LEDGER_CHECK = 16, TC_LEDGER_LINE = 4096 }; /* hexadecimal digits; the longest line */

/* The line with its newline; check holds that of the line before ("" at the start) and receives this one's. */
void tc_ledger_line_write(tc_buffer *out, const tc_ledger_entry *entry, char check[TC_LEDGER_CHECK + 1]);

/* The other way round, for a line without its newline; NULL, or what is wrong with it. */
const char *tc_ledger_line_read(tc_arena *arena, const char *line, size_t length, tc_ledger_entry *entry,
                                char check[TC_LEDGER_CHECK + 1]);

#endif
