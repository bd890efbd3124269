/* Several draws at once in doubles; sampler_wide.c and sampler_widest.c include this. Before it they define LANES, the
 * doubles of a pack; PACKS, how many packs go in step (a draw is one long chain of operations that wait for each
 * other); what their processors do in their own way (fused products, tables, masks); and SAMPLE, the name of the
 * result.
 *
 * Every bound holds in every rounding mode and with flushing of subnormal numbers: docs/proofs/sampling.md, "Lanes". */

enum { STEP = PACKS * LANES };
_Static_assert(64 % STEP == 0, "the bits of a step lie in one word");

/* Loops without a jump: packs are in registers. */
#define EACH _Pragma("GCC unroll 8") for (int p = 0; p < PACKS; p++)
#define DOWN(d, from, to) _Pragma("GCC unroll 16") for (int d = (from); d >= (to); d--)

#define ONE_BITS UINT64_C(0x3ff0000000000000)
#define FRACTION ((UINT64_C(1) << 52) - 1)

/* The words' values, rounded once in some direction, and below 2^64. */
TC_INLINE tc_pack from_words(words w) { return tc_pack_smaller(rounded(w), tc_pack_of(0x1.fffffffffffffp63)); }

/* x = M 2^(63 - octave), 1 <= M < 2 */
TC_INLINE tc_pack mantissa(tc_pack x) { return (tc_pack)(((words)x & FRACTION) | ONE_BITS); }
TC_INLINE tc_pack octave(tc_pack x) {
    const uint64_t integer = UINT64_C(0x433) << 52; /* 2^52, whose last bits are an integer's */
    return tc_pack_of(0x1p52 + 1023 + 63) - (tc_pack)((words)x >> 52 | integer);
}

/* M r = 1 + z: Q = octave ln 2 + (ln 2 + ln r) - ln(1 + z) */
TC_INLINE void laplace(const tc_pack *x, tc_pack *q) {
    tc_pack z[PACKS], c[PACKS];
    EACH {
        tc_pack r;
        PLACES at = FIND(LAPLACE_TABLE, (words)x[p] >> 48);
        PICK(LAPLACE_TABLE, at, 0, &r, &c[p]);
        z[p] = fuse(mantissa(x[p]), r, tc_pack_of(-1));
        c[p] = fuse(octave(x[p]), tc_pack_of(tc_lane_log_2), c[p]);
    }
    EACH q[p] = tc_pack_of(tc_lane_log_series[TC_LANE_LAPLACE_DEGREE - 1]);
    DOWN(d, TC_LANE_LAPLACE_DEGREE - 2, 0) EACH q[p] = fuse(q[p], z[p], tc_pack_of(tc_lane_log_series[d]));
    EACH q[p] = fuse(-q[p], z[p], c[p]);
}

/* A polynomial for each half of an octave. */
TC_INLINE void gaussian(const tc_pack *x, tc_pack *q) {
    tc_pack t[PACKS];
    PLACES at[PACKS];
    EACH at[p] = FIND(GAUSSIAN_TABLE, (words)x[p] >> 51);
    EACH {
        tc_pack m = mantissa(x[p]);
        const uint64_t half = UINT64_C(1) << 51;
        t[p] = m - (tc_pack)(((words)m & ~(half - 1)) | half >> 1);
    }
    DOWN(pair, TC_LANE_GAUSSIAN_DEGREE / 2, 0) EACH {
        tc_pack even, odd;
        PICK(GAUSSIAN_TABLE, at[p], pair, &even, &odd);
        odd = pair == TC_LANE_GAUSSIAN_DEGREE / 2 ? odd : fuse(q[p], t[p], odd);
        q[p] = fuse(odd, t[p], even);
    }
}

/* The scales, with the words' signs later, and how far from an integer the product may be that decides. */
typedef struct lane_scales {
    tc_pack s[PACKS], most[PACKS];
} lane_scales;

TC_INLINE void set_scale(lane_scales *scales, int p, tc_pack s) {
    scales->s[p] = s;
    scales->most[p] = fuse(s, tc_pack_of(-TC_LANE_ERROR), tc_pack_of(0.5 - 0x1p-50));
}

/* One step of live <= STEP entries; the bits of those that stay open. Lanes beyond them have the word 0, which is never
 * decided. */
TC_INLINE unsigned step(tc_noise_law law, const lane_scales *scales, int64_t *values, size_t live) {
    const tc_pack magic = tc_pack_of(0x1.8p52); /* plus an integer below 2^51: that is in the last bits */
    const tc_pack least = tc_pack_of(law == TC_LAPLACE ? 0x1p64 / (1 << TC_LANE_LAPLACE_OCTAVES)
                                                       : 0x1p64 / (1 << TC_LANE_GAUSSIAN_OCTAVES));
    words w[PACKS];
    tc_pack x[PACKS], q[PACKS];
    unsigned open = 0;
    EACH w[p] = live == STEP ? load(values + p * LANES) : load_some(values + p * LANES, live, (size_t)p * LANES);
    EACH x[p] = from_words(w[p]);
    if (law == TC_LAPLACE)
        laplace(x, q);
    else
        gaussian(x, q);
    EACH {
        tc_pack s = (tc_pack)((words)scales->s[p] ^ w[p] << 63);
        tc_pack sum = fuse(s, q[p], magic);
        tc_pack off = fuse(s, q[p], magic - sum);
        tc_pack_mask decided = tc_pack_at_most(least, x[p]) & tc_pack_at_most(tc_pack_abs(off), scales->most[p]);
        words k = (words)sum - (words)magic;
        if (live == STEP)
            store(values + p * LANES, decided, k, w[p]);
        else
            store_some(values + p * LANES, decided, k);
        open |= (tc_pack_bits(decided) ^ ((1U << LANES) - 1)) << (p * LANES);
    }
    return live == STEP ? open : open & ((1U << live) - 1);
}

/* The scale as a double, which it was: 2^63 <= mantissa has the 1 that the exponent lacks. */
static double real_scale(const tc_noise_scale *scale) {
    uint64_t bits = (scale->mantissa >> 11) + ((uint64_t)(scale->exponent + 1022) << 52);
    double s = 0;
    memcpy(&s, &bits, sizeof s);
    return s;
}

TC_INLINE void sample(tc_noise_law law, const tc_noise_scale *scales, size_t stride, int64_t *values, size_t count,
                      uint64_t *open) {
    lane_scales now;
    EACH set_scale(&now, p, tc_pack_of(real_scale(scales)));
    for (size_t i = 0; i < count; i += STEP) {
        size_t live = count - i < STEP ? count - i : STEP;
        if (stride != 0) {
            tc_noise_scale last[STEP] = {{0, 0, 0}};
            const tc_noise_scale *from = &scales[i];
            if (live < STEP)
                from = memcpy(last, from, live * sizeof *from);
            EACH set_scale(&now, p, real_scales(from + p * LANES));
        }
        uint64_t bits = live == STEP ? step(law, &now, values + i, STEP) : step(law, &now, values + i, live);
        open[i / 64] = (i % 64 == 0 ? 0 : open[i / 64]) | bits << i % 64;
    }
}

void SAMPLE(tc_noise_law law, const tc_noise_scale *scales, size_t stride, int64_t *values, size_t count,
            uint64_t *open) {
    if (law == TC_LAPLACE && stride == 0)
        sample(TC_LAPLACE, scales, 0, values, count, open);
    else if (law == TC_LAPLACE)
        sample(TC_LAPLACE, scales, 1, values, count, open);
    else if (stride == 0)
        sample(TC_GAUSSIAN, scales, 0, values, count, open);
    else
        sample(TC_GAUSSIAN, scales, 1, values, count, open);
}
