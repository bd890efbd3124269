/* Arithmetic other than the proofs assume, as a library that was loaded into the process may set it. */
#ifndef TC_TESTS_ARITHMETIC_H
#define TC_TESTS_ARITHMETIC_H

#include <fenv.h>
#include <stdbool.h>
#include <stddef.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

typedef struct tweak {
    const char *name, *says; /* part of the sentence that reports it */
    int rounding;
    unsigned flush; /* bits of MXCSR */
} tweak;

static const tweak tweaks[] = {
    {"upward", "does not round to nearest", FE_UPWARD, 0},
    {"downward", "does not round to nearest", FE_DOWNWARD, 0},
    {"toward zero", "does not round to nearest", FE_TOWARDZERO, 0},
#ifdef __x86_64__
    {"upward, in one of two registers", "does not round to nearest", FE_TONEAREST, 0x4000},
    {"flush to zero", "treats the smallest numbers as zero", FE_TONEAREST, 0x8000},
    {"denormals are zero", "treats the smallest numbers as zero", FE_TONEAREST, 0x0040},
    {"both", "treats the smallest numbers as zero", FE_TONEAREST, 0x8040},
#endif
};
enum { TWEAKS = sizeof tweaks / sizeof tweaks[0] };

static inline void tweak_begin(const tweak *t) {
    (void)fesetround(t->rounding);
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() | t->flush);
#endif
}

static inline void tweak_end(void) {
    (void)fesetround(FE_TONEAREST);
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() & ~0xe040U);
#endif
}

#endif
