/* Decimal text to the nearest double, whatever the locale. */
#ifndef TC_MODEL_SYNTAX_NUMBER_H
#define TC_MODEL_SYNTAX_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* Reads digits ['.' digits] ['e' ['+'|'-'] digits] at the start of text; a sign is read only where with_sign.
 * Returns how many bytes belong to the number, 0 where none does. *value is infinite when it overflows.
 * A point needs digits on both sides unless with_sign (data files are written by other programs: .5 and 5. pass). */
size_t tc_number_read(const char *text, size_t length, bool with_sign, double *value);

#endif
