#include "net/wire/frame.h"

#include <string.h>

const char *tc_frame_finding_text(tc_frame_finding cut) {
    static const char *const texts[] = {
#define X(code, text) text,
        TC_CUTS(X)
#undef X
    };
    return texts[cut];
}

void tc_put_u16(unsigned char *bytes, uint16_t value) {
    bytes[0] = (unsigned char)(value & 0xff);
    bytes[1] = (unsigned char)(value >> 8);
}

void tc_put_u32(unsigned char *bytes, uint32_t value) {
    tc_put_u16(bytes, (uint16_t)(value & 0xffff));
    tc_put_u16(bytes + 2, (uint16_t)(value >> 16));
}

void tc_put_u64(unsigned char *bytes, uint64_t value) {
    tc_put_u32(bytes, (uint32_t)(value & 0xffffffff));
    tc_put_u32(bytes + 4, (uint32_t)(value >> 32));
}

uint16_t tc_get_u16(const unsigned char *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }

uint32_t tc_get_u32(const unsigned char *bytes) { return tc_get_u16(bytes) | (uint32_t)tc_get_u16(bytes + 2) << 16; }

uint64_t tc_get_u64(const unsigned char *bytes) { return tc_get_u32(bytes) | (uint64_t)tc_get_u32(bytes + 4) << 32; }

_Static_assert(sizeof(double) == 8, "doubles travel as IEEE 754 binary64");

static void copy_words(unsigned char *to, const unsigned char *from, size_t count) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (count > 0)
        memcpy(to, from, 8 * count);
#else
    for (size_t i = 0; i < 8 * count; i++)
        to[i] = from[i ^ 7];
#endif
}

void tc_put_doubles(unsigned char *bytes, const double *values, size_t count) {
    copy_words(bytes, (const unsigned char *)values, count);
}

void tc_get_doubles(const unsigned char *bytes, double *values, size_t count) {
    copy_words((unsigned char *)values, bytes, count);
}

void tc_put_integers(unsigned char *bytes, const int64_t *values, size_t count) {
    copy_words(bytes, (const unsigned char *)values, count);
}

void tc_get_integers(const unsigned char *bytes, int64_t *values, size_t count) {
    copy_words((unsigned char *)values, bytes, count);
}

unsigned char *tc_frame_begin(unsigned char *bytes, unsigned type, uint32_t slot, uint64_t round, size_t size) {
    tc_put_u32(bytes, (uint32_t)(size - TC_FRAME_HEADER));
    tc_put_u16(bytes + 4, (uint16_t)type);
    tc_put_u16(bytes + 6, 0);
    tc_put_u32(bytes + 8, slot);
    tc_put_u32(bytes + 12, 0);
    tc_put_u64(bytes + 16, round);
    return bytes + TC_FRAME_HEADER;
}

tc_frame_finding tc_frame_cut(const unsigned char *bytes, size_t size, uint32_t most_body, tc_frame *frame,
                              size_t *taken, size_t *wanted) {
    *taken = 0;
    *wanted = TC_FRAME_HEADER;
    if (size < TC_FRAME_HEADER)
        return TC_CUT_MORE;
    uint32_t length = tc_get_u32(bytes);
    uint64_t round = tc_get_u64(bytes + 16);
    uint16_t type = tc_get_u16(bytes + 4), flags = tc_get_u16(bytes + 6);
    if ((flags != 0 && type != TC_FRAME_FLAGGED) || tc_get_u32(bytes + 12) != 0)
        return TC_CUT_RESERVED;
    if (length > most_body || length > TC_FRAME_MOST_BODY)
        return TC_CUT_TOO_LONG;
    if (round > TC_FRAME_MOST_ROUND)
        return TC_CUT_ROUND;
    *wanted = TC_FRAME_HEADER + (size_t)length;
    if (size < *wanted)
        return TC_CUT_MORE;
    *frame = (tc_frame){.type = type,
                        .flags = flags,
                        .slot = tc_get_u32(bytes + 8),
                        .round = round,
                        .body = bytes + TC_FRAME_HEADER,
                        .length = length};
    *taken = *wanted;
    return TC_CUT_FRAME;
}
