#include "noise/sampler_tail.h"
#include "noise/sampler_tables.h"

/* numerator / denominator >= number? */
static int ratio_at_least(const BIGNUM *numerator, const BIGNUM *denominator, BN_ULONG factor, BN_ULONG number,
                          BN_CTX *numbers) {
    BN_CTX_start(numbers);
    BIGNUM *left = BN_CTX_get(numbers), *right = BN_CTX_get(numbers);
    int result = -1;
    if (right != NULL && BN_copy(left, numerator) && BN_copy(right, denominator) && BN_mul_word(left, factor) &&
        BN_mul_word(right, number))
        result = BN_cmp(left, right) >= 0;
    BN_CTX_end(numbers);
    return result;
}

int tc_tail_is_below(tc_noise_law law, const BIGNUM *numerator, const BIGNUM *denominator, unsigned bits,
                     BN_CTX *numbers) {
    /* Both tails are at most exp(-x^p / p), p = 1 or 2, and ln 2 < 7/10. */
    if (law == TC_LAPLACE)
        return ratio_at_least(numerator, denominator, 10, 7 * (BN_ULONG)bits, numbers);
    BN_CTX_start(numbers);
    BIGNUM *top = BN_CTX_get(numbers), *bottom = BN_CTX_get(numbers);
    int result = -1;
    if (bottom != NULL && BN_sqr(top, numerator, numbers) && BN_sqr(bottom, denominator, numbers))
        result = ratio_at_least(top, bottom, 5, 7 * (BN_ULONG)bits, numbers);
    BN_CTX_end(numbers);
    return result;
}

/* sum of (-y)^i / i! for i = 0, 1, ..., y = argument 2^-precision <= 1/2: result off by less than 2 terms. */
static bool exp_series(const BIGNUM *argument, int precision, BN_CTX *numbers, BIGNUM *result, unsigned *terms) {
    BN_CTX_start(numbers);
    BIGNUM *term = BN_CTX_get(numbers);
    bool good = term != NULL && BN_one(term) && BN_lshift(term, term, precision) && BN_copy(result, term) != NULL;
    for (*terms = 1; good; ++*terms) {
        good = BN_mul(term, term, argument, numbers) && BN_rshift(term, term, precision) &&
               BN_div_word(term, *terms) != (BN_ULONG)-1;
        if (good && BN_is_zero(term))
            break;
        good = good && (*terms % 2 == 1 ? BN_sub(result, result, term) : BN_add(result, result, term));
    }
    BN_CTX_end(numbers);
    return good;
}

/* exp(-numerator / denominator) 2^precision: |result - truth| <= error. Halves the argument until it is below 2^-8,
 * and squares back. */
static bool exp_minus(const BIGNUM *numerator, const BIGNUM *denominator, int precision, BN_CTX *numbers,
                      BIGNUM *result, uint64_t *error) {
    BN_CTX_start(numbers);
    BIGNUM *argument = BN_CTX_get(numbers), *divisor = BN_CTX_get(numbers);
    int halvings = BN_num_bits(numerator) - BN_num_bits(denominator) + 9;
    halvings = halvings < 0 ? 0 : halvings;
    unsigned terms = 0;
    bool good = divisor != NULL && BN_lshift(argument, numerator, precision) &&
                BN_lshift(divisor, denominator, halvings) && BN_div(argument, NULL, argument, divisor, numbers) &&
                exp_series(argument, precision, numbers, result, &terms);
    *error = 2 * (uint64_t)terms + 1;
    for (int i = 0; good && i < halvings; i++) {
        good = BN_sqr(result, result, numbers) && BN_rshift(result, result, precision);
        *error = 2 * *error + 2;
    }
    BN_CTX_end(numbers);
    return good;
}

static bool laplace_tail(const BIGNUM *numerator, const BIGNUM *denominator, int precision, BN_CTX *numbers,
                         BIGNUM *tail, BIGNUM *error) {
    uint64_t count = 0;
    return exp_minus(numerator, denominator, precision, numbers, tail, &count) && BN_set_word(error, (BN_ULONG)count);
}

/* sum of x^(2 i + 1) / (2 i + 1)!! for i = 0, 1, ...; x_squared in the same fixed point. Too small by at most
 * (terms + 2) exp(x^2 / 2). */
static bool odd_series(const BIGNUM *x, const BIGNUM *x_squared, int precision, BN_CTX *numbers, BIGNUM *result,
                       unsigned *terms) {
    BN_CTX_start(numbers);
    BIGNUM *term = BN_CTX_get(numbers);
    bool good = term != NULL && BN_copy(term, x) != NULL && BN_copy(result, x) != NULL;
    for (*terms = 1; good && !BN_is_zero(term); ++*terms)
        good = BN_mul(term, term, x_squared, numbers) && BN_rshift(term, term, precision) &&
               BN_div_word(term, 2 * (BN_ULONG)*terms + 1) != (BN_ULONG)-1 && BN_add(result, result, term);
    BN_CTX_end(numbers);
    return good;
}

/* tail = 1 - sqrt(2 / pi) exp(-x^2 / 2) series(x) */
static bool combine(BIGNUM *series, const BIGNUM *exponential, int precision, BN_CTX *numbers, BIGNUM *tail) {
    BN_CTX_start(numbers);
    BIGNUM *root = BN_CTX_get(numbers);
    bool good = root != NULL && precision <= TC_ROOT_BITS && BN_hex2bn(&root, tc_gaussian_root) != 0 &&
                BN_rshift(root, root, TC_ROOT_BITS - precision) && BN_mul(series, series, exponential, numbers) &&
                BN_rshift(series, series, precision) && BN_mul(series, series, root, numbers) &&
                BN_rshift(series, series, precision) && BN_one(tail) && BN_lshift(tail, tail, precision) &&
                BN_sub(tail, tail, series);
    BN_CTX_end(numbers);
    return good;
}

/* growth: 2^growth >= exp(x^2 / 2), by which the error of the exponential grows. */
static bool gaussian_tail(const BIGNUM *numerator, const BIGNUM *denominator, const BIGNUM *numerator_squared,
                          const BIGNUM *denominator_squared, int precision, int growth, BN_CTX *numbers, BIGNUM *tail,
                          BIGNUM *error) {
    BN_CTX_start(numbers);
    BIGNUM *x = BN_CTX_get(numbers), *x_squared = BN_CTX_get(numbers), *series = BN_CTX_get(numbers);
    BIGNUM *exponential = BN_CTX_get(numbers), *doubled = BN_CTX_get(numbers);
    uint64_t count = 0;
    unsigned terms = 0;
    bool good = doubled != NULL && BN_lshift1(doubled, denominator_squared) &&
                exp_minus(numerator_squared, doubled, precision, numbers, exponential, &count) &&
                BN_lshift(x, numerator, precision) && BN_div(x, NULL, x, denominator, numbers) &&
                BN_lshift(x_squared, numerator_squared, precision) &&
                BN_div(x_squared, NULL, x_squared, denominator_squared, numbers) &&
                odd_series(x, x_squared, precision, numbers, series, &terms) &&
                combine(series, exponential, precision, numbers, tail) && BN_set_word(error, (BN_ULONG)count) &&
                BN_lshift(error, error, growth) && BN_add_word(error, terms + 6);
    BN_CTX_end(numbers);
    return good;
}

bool tc_tail(tc_noise_law law, const BIGNUM *numerator, const BIGNUM *denominator, unsigned least_precision,
             BN_CTX *numbers, BIGNUM *tail, BIGNUM *error, unsigned *precision) {
    *precision = least_precision;
    if (law == TC_LAPLACE)
        return laplace_tail(numerator, denominator, (int)least_precision, numbers, tail, error);
    BN_CTX_start(numbers);
    BIGNUM *top = BN_CTX_get(numbers), *bottom = BN_CTX_get(numbers), *whole = BN_CTX_get(numbers);
    bool good = whole != NULL && BN_sqr(top, numerator, numbers) && BN_sqr(bottom, denominator, numbers) &&
                BN_div(whole, NULL, top, bottom, numbers);
    if (good) { /* exp(x^2 / 2) < 2^(3/4 x^2) */
        int growth = (int)(3 * (BN_get_word(whole) + 1) / 4 + 1);
        *precision += (unsigned)growth;
        good = gaussian_tail(numerator, denominator, top, bottom, (int)*precision, growth, numbers, tail, error);
    }
    BN_CTX_end(numbers);
    return good;
}
