/* SipHash-2-4 (Aumasson and Bernstein, 2012): where a name stands in a table, for whoever does not know the key. */
#include "serve/rounds/enrolment.h"

#include <string.h>

typedef struct words {
    uint64_t a, b, c, d;
} words;

static inline uint64_t turn(uint64_t x, unsigned by) { return x << by | x >> (64 - by); }

static inline void mix(words *w) {
    w->a += w->b;
    w->b = turn(w->b, 13) ^ w->a;
    w->a = turn(w->a, 32);
    w->c += w->d;
    w->d = turn(w->d, 16) ^ w->c;
    w->a += w->d;
    w->d = turn(w->d, 21) ^ w->a;
    w->c += w->b;
    w->b = turn(w->b, 17) ^ w->c;
    w->c = turn(w->c, 32);
}

static inline void take(words *w, uint64_t word) {
    w->d ^= word;
    mix(w);
    mix(w);
    w->a ^= word;
}

uint64_t tc_keyed_hash(const uint64_t key[2], const unsigned char *bytes, size_t size) {
    words w = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
               key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    size_t at = 0;
    uint64_t word;
    for (; size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word); /* in the machine's order: the hash stays in the process */
        take(&w, word);
    }
    unsigned char last[sizeof word] = {0};
    if (size > at)
        memcpy(last, bytes + at, size - at);
    last[sizeof word - 1] = (unsigned char)size;
    memcpy(&word, last, sizeof word);
    take(&w, word);
    w.c ^= 0xff;
    for (unsigned i = 0; i < 4; i++)
        mix(&w);
    return w.a ^ w.b ^ w.c ^ w.d;
}
