/* The slow path of rounded real noise: it decides what the fast path leaves open, by comparison with the tail.
 * docs/proofs/sampling.md, "The slow path", derives every bound. */
#include "noise/sampler.h"

#include "noise/limbs.h"
#include "noise/sampler_inside.h"
#include "noise/secret.h"

#include <math.h>

/* W is found by asking, for a few k, whether s Q(V) >= k + 1/2, that is V <= tail((k + 1/2) / s). The tail is computed
 * with a proved error; where the comparison is too close, V gets 64 more bits. */

enum { FIRST_BITS = 63 };

typedef struct tail_search {
    tc_noise_law law;
    const tc_noise_scale *scale;
    tc_bit_source source;
    /* V is in [uniform, uniform + 2^-bits), bits = FIRST_BITS + 64 refinements. The highest limb is the first, and the
     * last bit of the last limb is not drawn yet. */
    uint64_t uniform[TC_MOST_REFINEMENTS + 1];
    unsigned refinements;
    uint64_t from[TC_TAIL_LIMBS], to[TC_TAIL_LIMBS]; /* the ends of V's interval, as fractions like the tail */
    tc_tail tail;
    tc_status status;
} tail_search;

static bool refine(tail_search *s) {
    uint64_t word = 0;
    s->status = s->source.more(s->source.context, s->refinements + 1, &word);
    if (s->status != TC_OK)
        return false;
    s->uniform[s->refinements++] |= word >> 63;
    s->uniform[s->refinements] = word << 1;
    return true;
}

static void set_ends(tail_search *s) {
    unsigned limbs = s->tail.limbs, last = limbs - 1 - s->refinements;
    memset(s->from, 0, limbs * sizeof *s->from);
    for (unsigned i = 0; i <= s->refinements; i++)
        s->from[limbs - 1 - i] = s->uniform[i];
    memcpy(s->to, s->from, limbs * sizeof *s->to);
    for (uint64_t carry = 2; carry != 0 && last < limbs; last++) {
        s->to[last] += carry;
        carry = s->to[last] < carry;
    }
}

/* Whether the numbers are so close that at most one edge is between them: more - less <= tail / 2^(e + 2), s < 2^(e+1).
 * Overwrites more. */
static bool are_neighbours(tail_search *s, uint64_t *more, const uint64_t *less) {
    if (s->scale->exponent < 0)
        return false;
    (void)tc_limbs_subtract(more, less, s->tail.limbs);
    tc_limbs_shift_right(s->tail.term, s->tail.low, s->tail.limbs, (unsigned)s->scale->exponent + 2);
    return tc_limbs_at_most(more, s->tail.term, s->tail.limbs);
}

typedef enum tail_verdict { NO, YES, OPEN, FAILED } tail_verdict;

/* Whether V <= tail((k + 1/2) / s), as far as the bits drawn tell. And whether V is so close that it is beyond no other
 * edge. */
static tail_verdict compare(tail_search *s, uint64_t k, bool *is_close) {
    *is_close = false;
    if (!tc_tail_compute(s->law, s->scale, k, FIRST_BITS + 64 * s->refinements, &s->tail)) /* tail <= 2^-bits <= V */
        return NO;
    set_ends(s);
    if (tc_limbs_at_most(s->tail.high, s->from, s->tail.limbs)) {
        *is_close = are_neighbours(s, s->to, s->tail.low);
        return NO;
    }
    /* Not 1 here, which would be stored as 0: 1 - 2^-bits is above every tail. */
    if (tc_limbs_at_most(s->to, s->tail.low, s->tail.limbs)) {
        *is_close = are_neighbours(s, s->tail.high, s->from);
        return YES;
    }
    return OPEN;
}

static tail_verdict exceeds(tail_search *s, uint64_t k, bool *is_close) {
    for (;;) {
        tail_verdict found = compare(s, k, is_close);
        if (found != OPEN)
            return found;
        if (s->refinements == TC_MOST_REFINEMENTS)
            return NO;
        if (!refine(s))
            return FAILED;
    }
}

/* About the x with erfc(x / sqrt 2) = v. */
static double rough_half_normal(double v, double minus_log) {
    double r = sqrt(2 * minus_log + 1.3862943611198906); /* Abramowitz and Stegun, 26.2.23: off by less than 0.00045 */
    double x = r - (2.515517 + r * (0.802853 + r * 0.010328)) / (1 + r * (1.432788 + r * (0.189269 + r * 0.001308)));
    for (int i = 0; i < 2 && v > 1e-280; i++) { /* Halley's method */
        double step = (erfc(x * 0.70710678118654752) - v) / (0.79788456080286536 * exp(-x * x / 2));
        x += step / (1 - x * step / 2);
    }
    return x;
}

/* About s Q(V), rounded down: where V is close to an edge, it is close to this plus 1/2. Only a guess: its quality
 * affects nothing but time. */
static uint64_t guess(const tail_search *s) {
    unsigned zeros = 0;
    while (zeros < s->refinements && s->uniform[zeros] == 0)
        zeros++;
    double next = zeros < s->refinements ? (double)s->uniform[zeros + 1] : 0;
    double leading = ldexp((double)s->uniform[zeros], -64) + ldexp(next, -128);
    double minus_log = fmax(44.361419555836500 * zeros - log(leading), 0);
    double q = s->law == TC_LAPLACE ? minus_log : rough_half_normal(ldexp(leading, -64 * (int)zeros), minus_log);
    double value = ldexp((double)s->scale->mantissa, s->scale->exponent - 63) * q;
    return value > 0 && value < (double)TC_MOST_NOISE ? (uint64_t)value : 0;
}

/* Bisection that begins at the guess; the allowed distance from it doubles in each step. */
static bool find(tail_search *s, uint64_t *result) {
    uint64_t start = guess(s), low = 0, high = (uint64_t)TC_MOST_NOISE;
    for (uint64_t stray = 0; low < high; stray = stray == 0 ? 1 : stray < (uint64_t)TC_MOST_NOISE ? 2 * stray : stray) {
        uint64_t k = low + (high - low) / 2;
        bool is_close = false;
        if (k > start + stray)
            k = start + stray;
        if (start > stray && k < start - stray)
            k = start - stray;
        k = k < low ? low : k >= high ? high - 1 : k;
        tail_verdict found = exceeds(s, k, &is_close);
        if (found == FAILED)
            return false;
        if (found == YES)
            low = k + 1;
        else
            high = k;
        if (is_close)
            low = high = found == YES ? k + 1 : k;
    }
    *result = low;
    return true;
}

/* V = 0 so far: draws more bits until one is set. */
static bool leave_zero(tail_search *s) {
    while (tc_limbs_are_zero(s->uniform, s->refinements + 1)) {
        if (s->refinements == TC_MOST_REFINEMENTS)
            s->uniform[s->refinements] = 2;
        else if (!refine(s))
            return false;
    }
    return true;
}

tc_status tc_sample_slow(tc_noise_law law, const tc_noise_scale *scale, uint64_t word, tc_bit_source source,
                         int64_t *value) {
    tail_search s;
    uint64_t magnitude = 0;
    s.law = law;
    s.scale = scale;
    s.source = source;
    s.uniform[0] = word & ~UINT64_C(1);
    s.refinements = 0;
    s.status = TC_OK;
    bool good = leave_zero(&s) && find(&s, &magnitude);
    tc_status status = s.status;
    tc_secret_wipe(&s, sizeof s);
    *value = !good ? 0 : word & 1 ? -(int64_t)magnitude : (int64_t)magnitude;
    return status;
}
