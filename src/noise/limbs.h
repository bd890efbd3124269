/* Natural numbers in a few 64-bit limbs, the lowest first. Nothing is allocated; all functions are exact. Whoever calls
 * with a constant number of limbs gets code for that number. */
#ifndef TC_NOISE_LIMBS_H
#define TC_NOISE_LIMBS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 tc_two_limbs;

/* Returns the carry. */
static inline uint64_t tc_limbs_add(uint64_t *to, const uint64_t *by, unsigned limbs) {
    uint64_t carry = 0;
    for (unsigned i = 0; i < limbs; i++) {
        tc_two_limbs sum = (tc_two_limbs)to[i] + by[i] + carry;
        to[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    return carry;
}

/* Returns the borrow; the difference is then modulo 2^(64 limbs). */
static inline uint64_t tc_limbs_subtract(uint64_t *from, const uint64_t *by, unsigned limbs) {
    uint64_t borrow = 0;
    for (unsigned i = 0; i < limbs; i++) {
        tc_two_limbs difference = (tc_two_limbs)from[i] - by[i] - borrow;
        from[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
    return borrow;
}

/* 2^(64 limbs) minus the number, which is not 0 */
static inline void tc_limbs_complement(uint64_t *number, unsigned limbs) {
    uint64_t carry = 1;
    for (unsigned i = 0; i < limbs; i++) {
        tc_two_limbs sum = (tc_two_limbs)~number[i] + carry;
        number[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
}

static inline bool tc_limbs_are_zero(const uint64_t *number, unsigned limbs) {
    uint64_t any = 0;
    for (unsigned i = 0; i < limbs; i++)
        any |= number[i];
    return any == 0;
}

static inline bool tc_limbs_at_most(const uint64_t *a, const uint64_t *b, unsigned limbs) {
    for (unsigned i = limbs; i-- > 0;)
        if (a[i] != b[i])
            return a[i] < b[i];
    return true;
}

/* floor(from / 2^bits), 0 <= bits < 64; to may be from */
static inline void tc_limbs_shift_right(uint64_t *to, const uint64_t *from, unsigned limbs, unsigned bits) {
    for (unsigned i = 0; i < limbs; i++) {
        tc_two_limbs pair = (tc_two_limbs)(i + 1 < limbs ? from[i + 1] : 0) << 64 | from[i];
        to[i] = (uint64_t)(pair >> bits);
    }
}

/* number = floor((rest 2^(64 limbs) + number) / divisor), rest < divisor */
static inline void tc_limbs_divide(uint64_t *number, unsigned limbs, uint64_t rest, uint64_t divisor) {
    for (unsigned i = limbs; i-- > 0;) {
        tc_two_limbs pair = (tc_two_limbs)rest << 64 | number[i];
        number[i] = (uint64_t)(pair / divisor);
        rest = (uint64_t)pair - number[i] * divisor;
    }
}

/* a = floor(a b / 2^(64 dropped)) modulo 2^(64 a_limbs), and returns the limb above it. Column by column, so that a
 * limb of a is written when it is no longer needed: a_limbs and b_limbs are at most dropped + 1. b may be a. */
static inline uint64_t tc_limbs_multiply(uint64_t *a, unsigned a_limbs, const uint64_t *b, unsigned b_limbs,
                                         unsigned dropped) {
    tc_two_limbs sum = 0; /* of the column, with what the columns before carry */
    for (unsigned column = 0; column < a_limbs + dropped; column++) {
        uint64_t above = 0;
        unsigned first = column < b_limbs ? 0 : column - b_limbs + 1, end = column < a_limbs ? column + 1 : a_limbs;
        for (unsigned i = first; i < end; i++) {
            tc_two_limbs product = (tc_two_limbs)a[i] * b[column - i];
            sum += product;
            above += sum < product;
        }
        if (column >= dropped)
            a[column - dropped] = (uint64_t)sum;
        sum = sum >> 64 | (tc_two_limbs)above << 64;
    }
    return (uint64_t)sum;
}

#endif
