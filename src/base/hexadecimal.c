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

static int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool tc_hexadecimal_read(const char *text, unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < 2 * size; i++) {
        int digit = digit_of(text[i]); /* the NUL is no digit either */
        if (digit < 0)
            return false;
        bytes[i / 2] = (unsigned char)(i % 2 == 0 ? digit << 4 : bytes[i / 2] | digit);
    }
    return text[2 * size] == '\0';
}
