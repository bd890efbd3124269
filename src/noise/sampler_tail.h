/* The tails P(|Y| > x s) of the real laws in big numbers, with error bounds: docs/proofs/sampling.md, "The slow path".
 * x = numerator / denominator > 0. Functions fail only when memory is out. */
#ifndef TC_NOISE_SAMPLER_TAIL_H
#define TC_NOISE_SAMPLER_TAIL_H

#include "noise/sampler.h"

#include <openssl/bn.h>

/* 1 when tail(x) <= 2^-bits by a simple estimate; 0 when the estimate does not decide, and x is then small enough for
 * tc_tail; -1 on failure. */
int tc_tail_is_below(tc_noise_law law, const BIGNUM *numerator, const BIGNUM *denominator, unsigned bits,
                     BN_CTX *numbers);

/* |tail - tail(x) 2^precision| <= error. The precision is at least least_precision, and error 2^-precision is below
 * 2^(40 - least_precision). */
bool tc_tail(tc_noise_law law, const BIGNUM *numerator, const BIGNUM *denominator, unsigned least_precision,
             BN_CTX *numbers, BIGNUM *tail, BIGNUM *error, unsigned *precision) TC_MUST_USE;

#endif
