/* The slow path: W is found by asking, for a few k, whether s Q(V) >= k + 1/2, that is V <= tail((k + 1/2) / s).
 * The answer comes from sampler_tail with a proved error; where it is too close, V gets 64 more bits.
 * docs/proofs/sampling.md, "The slow path". */
#include "noise/sampler.h"
#include "noise/sampler_tail.h"

#include <math.h>

typedef struct search {
    tc_noise_law law;
    const tc_noise_scale *scale;
    tc_bit_source source;
    BN_CTX *numbers;
    BIGNUM *uniform; /* V is in [uniform, uniform + 1) 2^-bits */
    unsigned bits;
    unsigned refinements;
    BIGNUM *numerator, *denominator, *tail, *error, *edge;
    tc_status status;
} search;

enum { FIRST_BITS = 63, GUARD_BITS = 96 };

static bool set_word(BIGNUM *number, uint64_t word) {
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(word >> (56 - 8 * i));
    return BN_bin2bn(bytes, 8, number) != NULL;
}

static bool refine(search *s) {
    uint64_t word = 0;
    s->status = s->source.more(s->source.context, ++s->refinements, &word);
    if (s->status != TC_OK)
        return false;
    s->bits += 64;
    return BN_lshift(s->uniform, s->uniform, 64) && set_word(s->edge, word) && BN_add(s->uniform, s->uniform, s->edge);
}

/* x = (k + 1/2) / s = (2 k + 1) 2^(62 - exponent) / mantissa */
static bool set_point(search *s, uint64_t k) {
    return set_word(s->numerator, 2 * k + 1) && BN_lshift(s->numerator, s->numerator, 62 - s->scale->exponent) &&
           set_word(s->denominator, s->scale->mantissa);
}

typedef enum answer { NO, YES, OPEN, FAILED } answer;

/* Whether V <= tail(x), as far as the bits drawn tell. */
static answer compare(search *s) {
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

static answer exceeds(search *s, uint64_t k) {
    if (!set_point(s, k))
        return FAILED;
    for (;;) {
        answer found = compare(s);
        if (found != OPEN)
            return found;
        if (s->refinements == TC_MOST_REFINEMENTS)
            return NO;
        if (!refine(s))
            return FAILED;
    }
}

/* About -ln V: only a hint, nothing depends on its quality but time. */
static double rough_log(const search *s, BIGNUM *scratch) {
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

static uint64_t guess(search *s) {
    double minus_log = fmax(rough_log(s, s->edge), 0);
    double q = s->law == TC_LAPLACE ? minus_log : rough_half_normal(minus_log);
    double value = ldexp((double)s->scale->mantissa, s->scale->exponent - 63) * q + 0.5;
    return value > 0 && value < (double)TC_MOST_NOISE ? (uint64_t)value : 0;
}

/* Bisection that starts beside the guess and strays from it by twice as much each time. */
static bool find(search *s, uint64_t *result) {
    uint64_t start = guess(s), low = 0, high = (uint64_t)TC_MOST_NOISE;
    for (uint64_t stray = 0; low < high; stray = stray == 0 ? 1 : stray < (uint64_t)TC_MOST_NOISE ? 2 * stray : stray) {
        uint64_t k = low + (high - low) / 2;
        if (k > start + stray)
            k = start + stray;
        if (start > stray && k < start - stray)
            k = start - stray;
        k = k < low ? low : k >= high ? high - 1 : k;
        answer found = exceeds(s, k);
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

/* V = 0 so far: more bits, until it has a first one. */
static bool leave_zero(search *s) {
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
    search s = {.law = law, .scale = scale, .source = source, .bits = FIRST_BITS};
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
