/* The slow path of rounded real noise: it decides in big numbers what the fast path leaves open.
 * docs/proofs/sampling.md, "The slow path", derives every bound. */
#include "noise/sampler.h"

#include "noise/sampler_inside.h"

#include <math.h>

/* W is found by asking, for a few k, whether s Q(V) >= k + 1/2, that is V <= tail((k + 1/2) / s). The tail is computed
 * with a proved error; where the comparison is too close, V gets 64 more bits. */

typedef struct tail_search {
    tc_noise_law law;
    const tc_noise_scale *scale;
    tc_bit_source source;
    BN_CTX *numbers;
    BIGNUM *uniform; /* V is in [uniform, uniform + 1) 2^-bits */
    unsigned bits;
    unsigned refinements;
    BIGNUM *numerator, *denominator, *tail, *error, *edge;
    tc_status status;
} tail_search;

enum { FIRST_BITS = 63, GUARD_BITS = 96 };

static bool set_word(BIGNUM *number, uint64_t word) {
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(word >> (56 - 8 * i));
    return BN_bin2bn(bytes, 8, number) != NULL;
}

static bool refine(tail_search *s) {
    uint64_t word = 0;
    s->status = s->source.more(s->source.context, ++s->refinements, &word);
    if (s->status != TC_OK)
        return false;
    s->bits += 64;
    return BN_lshift(s->uniform, s->uniform, 64) && set_word(s->edge, word) && BN_add(s->uniform, s->uniform, s->edge);
}

/* x = (k + 1/2) / s = (2 k + 1) 2^(62 - exponent) / mantissa */
static bool set_point(tail_search *s, uint64_t k) {
    return set_word(s->numerator, 2 * k + 1) && BN_lshift(s->numerator, s->numerator, 62 - s->scale->exponent) &&
           set_word(s->denominator, s->scale->mantissa);
}

typedef enum tail_verdict { NO, YES, OPEN, FAILED } tail_verdict;

/* Whether V <= tail(x), as far as the bits drawn tell. */
static tail_verdict compare(tail_search *s) {
    unsigned precision = 0;
    switch (tc_tail_is_below(s->law, s->numerator, s->denominator, s->bits, s->numbers)) {
    case 1: /* tail(x) <= 2^-bits <= V */
        return NO;
    case 0:
        break;
    default:
        return FAILED;
    }
    if (!tc_tail(s->law, s->numerator, s->denominator, s->bits + GUARD_BITS, s->numbers, s->tail, s->error, &precision))
        return FAILED;
    int shift = (int)(precision - s->bits);
    if (!BN_lshift(s->edge, s->uniform, shift) || !BN_add(s->tail, s->tail, s->error))
        return FAILED;
    if (BN_cmp(s->edge, s->tail) >= 0)
        return NO;
    if (!BN_copy(s->edge, s->uniform) || !BN_add_word(s->edge, 1) || !BN_lshift(s->edge, s->edge, shift) ||
        !BN_sub(s->tail, s->tail, s->error) || !BN_sub(s->tail, s->tail, s->error))
        return FAILED;
    return BN_cmp(s->edge, s->tail) <= 0 ? YES : OPEN;
}

static tail_verdict exceeds(tail_search *s, uint64_t k) {
    if (!set_point(s, k))
        return FAILED;
    for (;;) {
        tail_verdict found = compare(s);
        if (found != OPEN)
            return found;
        if (s->refinements == TC_MOST_REFINEMENTS)
            return NO;
        if (!refine(s))
            return FAILED;
    }
}

/* About -ln V. Only a guess: its quality affects nothing but time. */
static double rough_log(const tail_search *s, BIGNUM *scratch) {
    int surplus = BN_num_bits(s->uniform) - 53;
    if (surplus > 0 ? !BN_rshift(scratch, s->uniform, surplus) : !BN_lshift(scratch, s->uniform, -surplus))
        return 0;
    unsigned char bytes[8] = {0};
    double leading = 0;
    if (BN_bn2binpad(scratch, bytes, sizeof bytes) != sizeof bytes)
        return 0;
    for (unsigned i = 0; i < sizeof bytes; i++)
        leading = leading * 256 + bytes[i];
    return -(log1p(ldexp(leading, -53) - 1) + ((double)surplus + 53 - (double)s->bits) * 0.69314718055994531);
}

/* About the x with erfc(x / sqrt 2) = e^-minus_log: Newton on the logarithm falls to it from sqrt(2 minus_log). */
static double rough_half_normal(double minus_log) {
    double x = sqrt(2 * minus_log);
    for (int i = 0; i < 40 && x < 36; i++) {
        double tail = erfc(x * 0.70710678118654752);
        double next = x + (log(tail) + minus_log) * tail / (0.79788456080286536 * exp(-x * x / 2));
        if (!(next < x))
            break;
        x = next;
    }
    return x;
}

static uint64_t guess(tail_search *s) {
    double minus_log = fmax(rough_log(s, s->edge), 0);
    double q = s->law == TC_LAPLACE ? minus_log : rough_half_normal(minus_log);
    double value = ldexp((double)s->scale->mantissa, s->scale->exponent - 63) * q + 0.5;
    return value > 0 && value < (double)TC_MOST_NOISE ? (uint64_t)value : 0;
}

/* Bisection that begins at the guess; the allowed distance from it doubles in each step. */
static bool find(tail_search *s, uint64_t *result) {
    uint64_t start = guess(s), low = 0, high = (uint64_t)TC_MOST_NOISE;
    for (uint64_t stray = 0; low < high; stray = stray == 0 ? 1 : stray < (uint64_t)TC_MOST_NOISE ? 2 * stray : stray) {
        uint64_t k = low + (high - low) / 2;
        if (k > start + stray)
            k = start + stray;
        if (start > stray && k < start - stray)
            k = start - stray;
        k = k < low ? low : k >= high ? high - 1 : k;
        tail_verdict found = exceeds(s, k);
        if (found == FAILED)
            return false;
        if (found == YES)
            low = k + 1;
        else
            high = k;
    }
    *result = low;
    return true;
}

/* V = 0 so far: draws more bits until one is set. */
static bool leave_zero(tail_search *s) {
    while (BN_is_zero(s->uniform)) {
        if (s->refinements == TC_MOST_REFINEMENTS)
            return BN_one(s->uniform);
        if (!refine(s))
            return false;
    }
    return true;
}

tc_status tc_sample_slow(tc_noise_law law, const tc_noise_scale *scale, uint64_t word, tc_bit_source source,
                         int64_t *value) {
    tail_search s = {.law = law, .scale = scale, .source = source, .bits = FIRST_BITS};
    uint64_t magnitude = 0;
    *value = 0;
    s.numbers = BN_CTX_new();
    if (s.numbers == NULL)
        return TC_NO_MEMORY;
    BN_CTX_start(s.numbers);
    s.uniform = BN_CTX_get(s.numbers);
    s.numerator = BN_CTX_get(s.numbers);
    s.denominator = BN_CTX_get(s.numbers);
    s.tail = BN_CTX_get(s.numbers);
    s.error = BN_CTX_get(s.numbers);
    s.edge = BN_CTX_get(s.numbers);
    bool good = s.edge != NULL && set_word(s.uniform, word >> 1) && leave_zero(&s) && find(&s, &magnitude);
    BN_CTX_end(s.numbers);
    BN_CTX_free(s.numbers); /* which clears the numbers */
    if (!good)
        return s.status == TC_OK ? TC_NO_MEMORY : s.status;
    *value = word & 1 ? -(int64_t)magnitude : (int64_t)magnitude;
    return TC_OK;
}

/* ---- tails in big numbers ---------------------------------------------------------------------------------------- */

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
