/* Bytes as people read hashes and identifiers. */
#ifndef TC_BASE_HEXADECIMAL_H
#define TC_BASE_HEXADECIMAL_H

#include "base/arena.h"

#include <stdbool.h>

/* Two lower-case digits for each byte, the high half first, and a NUL: text has room for 2 size + 1. */
void tc_hexadecimal(char *text, const unsigned char *bytes, size_t size);

/* The same in memory of the arena. */
const char *tc_hexadecimal_new(tc_arena *arena, const unsigned char *bytes, size_t size);

/* The bytes that exactly 2 size digits, of either case, stand for; false for any other text. */
bool tc_hexadecimal_read(const char *text, unsigned char *bytes, size_t size);

#endif
