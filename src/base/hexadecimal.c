#include "base/hexadecimal.h"

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
