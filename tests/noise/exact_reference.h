/* What a draw has to be, by MPFR: W = +-k with tail((k + 1/2) / s) < V < tail((k - 1/2) / s). */
#ifndef TC_TESTS_PRIVACY_EXACT_REFERENCE_H
#define TC_TESTS_PRIVACY_EXACT_REFERENCE_H

#include "noise/sampler.h"

#include <mpfr.h>

enum { REFERENCE_BITS = 192 };

/* exp(-x), or erfc(x / sqrt 2), at x = (twice_k_and_one / 2) / s */
static inline void reference_tail(mpfr_t tail, tc_noise_law law, double s, int64_t twice_k_and_one) {
    mpfr_set_si(tail, twice_k_and_one, MPFR_RNDN);
    mpfr_div_2ui(tail, tail, 1, MPFR_RNDN);
    mpfr_div_d(tail, tail, s, MPFR_RNDN);
    if (law == TC_LAPLACE) {
        mpfr_neg(tail, tail, MPFR_RNDN);
        mpfr_exp(tail, tail, MPFR_RNDN);
        return;
    }
    mpfr_t root;
    mpfr_init2(root, mpfr_get_prec(tail));
    mpfr_sqrt_ui(root, 2, MPFR_RNDN);
    mpfr_div(tail, tail, root, MPFR_RNDN);
    mpfr_erfc(tail, tail, MPFR_RNDN);
    mpfr_clear(root);
}

/* Whether every V that starts with the 63 bits of word and then the given words makes |W| = k. */
static inline bool reference_agrees(tc_noise_law law, double s, uint64_t word, const uint64_t *more, unsigned count,
                                    int64_t k) {
    mpz_t bits;
    mpfr_t low, high, tail;
    mpz_init(bits);
    mpz_set_ui(bits, word >> 1);
    for (unsigned i = 0; i < count; i++) {
        mpz_mul_2exp(bits, bits, 64);
        mpz_add_ui(bits, bits, more[i]);
    }
    unsigned precision = REFERENCE_BITS + 128 * count;
    mpfr_inits2(precision, low, high, tail, (mpfr_ptr)NULL);
    mpfr_set_z_2exp(low, bits, -63 - 64 * (mpfr_exp_t)count, MPFR_RNDN);
    mpz_add_ui(bits, bits, 1);
    mpfr_set_z_2exp(high, bits, -63 - 64 * (mpfr_exp_t)count, MPFR_RNDN);
    reference_tail(tail, law, s, 2 * k + 1);
    bool agrees = k >= 0 && mpfr_cmp(tail, low) <= 0;
    if (k > 0) {
        reference_tail(tail, law, s, 2 * k - 1);
        agrees = agrees && mpfr_cmp(high, tail) <= 0;
    }
    mpfr_clears(low, high, tail, (mpfr_ptr)NULL);
    mpz_clear(bits);
    return agrees;
}

#endif
