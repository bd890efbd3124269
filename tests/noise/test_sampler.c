/* Both paths of the samplers against MPFR, and their edges. */
#include "noise/exact_reference.h"
#include "noise/sampler.h"
#include "noise/sampler_inside.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <math.h>
#include <mpfr.h>
#include <string.h>

static const double scales[] = {
    TC_LEAST_NOISE_SCALE, 0.3, 1, 5, 1e3, 0x1.23456789abcdep20, 0x1.3p35, 0x1.fffffffffffffp39, 0x1p40,
    TC_MOST_NOISE_SCALE};
enum { SCALES = sizeof scales / sizeof scales[0] };
static const tc_noise_law laws[] = {TC_LAPLACE, TC_GAUSSIAN};

typedef struct fixed_bits {
    const uint64_t *words;
    unsigned count, used;
} fixed_bits;

static tc_status next_fixed(void *context, unsigned attempt, uint64_t *word) {
    fixed_bits *bits = context;
    bits->used = attempt;
    if (attempt > bits->count)
        return TC_NO_RANDOM;
    *word = bits->words[attempt - 1];
    return TC_OK;
}

static tc_noise_scale scale_of(double s) {
    tc_noise_scale scale;
    assert_true(tc_noise_scale_from(s, &scale));
    return scale;
}

static bool fast(tc_noise_law law, double s, uint64_t word, int64_t *value) {
    tc_noise_scale scale = scale_of(s);
    uint16_t undecided[1];
    *value = (int64_t)word;
    size_t open = tc_sample_fast(law, &scale, 0, value, 1, undecided);
    if (open != 0)
        assert_true((uint64_t)*value == word);
    return open == 0;
}

static tc_status slow(tc_noise_law law, double s, uint64_t word, fixed_bits *bits, int64_t *value) {
    tc_noise_scale scale = scale_of(s);
    return tc_sample_slow(law, &scale, word, (tc_bit_source){next_fixed, bits}, value);
}

/* Words of all octaves, and words near 1. */
static uint64_t varied_word(uint64_t *state, int i) {
    uint64_t word = random_word(state);
    if (i % 4 == 1)
        word >>= random_word(state) % 64;
    if (i % 4 == 2)
        word = ~(word >> random_word(state) % 64);
    return word;
}

static void what_the_fast_path_decides_is_right_for_every_continuation(void **state) {
    (void)state;
    uint64_t random = 11;
    for (int l = 0; l < 2; l++)
        for (int j = 0; j < SCALES; j++) {
            AT_CASE(j);
            int decided = 0;
            for (int i = 0; i < 5000; i++) {
                uint64_t word = varied_word(&random, i);
                int64_t value = 0;
                if (!fast(laws[l], scales[j], word, &value))
                    continue;
                decided++;
                assert_true(value == 0 || (value < 0) == (word & 1));
                assert_true(reference_agrees(laws[l], scales[j], word, NULL, 0, value < 0 ? -value : value));
            }
            assert_true(decided > 2500);
        }
}

static void the_slow_path_agrees_with_the_fast_one(void **state) {
    (void)state;
    uint64_t random = 12;
    for (int l = 0; l < 2; l++)
        for (int j = 0; j < SCALES; j++)
            for (int i = 0; i < 4000; i++) {
                AT_CASE(i);
                uint64_t word = random_word(&random), more[8];
                for (int k = 0; k < 8; k++)
                    more[k] = random_word(&random);
                int64_t one = 0, other = 0;
                if (!fast(laws[l], scales[j], word, &one))
                    continue;
                fixed_bits bits = {more, 8, 0};
                assert_int_equal(slow(laws[l], scales[j], word, &bits, &other), TC_OK);
                assert_true(one == other);
            }
}

static void the_slow_path_agrees_with_mpfr(void **state) {
    (void)state;
    uint64_t random = 13;
    int refined = 0;
    for (int l = 0; l < 2; l++)
        for (int j = 0; j < SCALES; j++)
            for (int i = 0; i < 200; i++) {
                AT_CASE(i);
                uint64_t word = varied_word(&random, i), more[4];
                for (int k = 0; k < 4; k++)
                    more[k] = random_word(&random) >> (i % 3 == 0 ? random_word(&random) % 64 : 0);
                fixed_bits bits = {more, 4, 0};
                int64_t value = 0;
                assert_int_equal(slow(laws[l], scales[j], word, &bits, &value), TC_OK);
                refined += bits.used > 0;
                assert_true(value == 0 || (value < 0) == (word & 1));
                assert_true(reference_agrees(laws[l], scales[j], word, more, bits.used, value < 0 ? -value : value));
            }
    assert_true(refined > 30);
}

/* V that follows tail(k + 1/2), with a large precision to the last bit that may be drawn. */
static void edge_bits(tc_noise_law law, double s, int64_t k, mpfr_prec_t precision, uint64_t *word,
                      uint64_t more[TC_MOST_REFINEMENTS]) {
    mpfr_t tail;
    mpz_t bits, part;
    mpfr_init2(tail, precision);
    mpz_inits(bits, part, NULL);
    reference_tail(tail, law, s, 2 * k + 1);
    mpfr_mul_2ui(tail, tail, 63 + 64 * TC_MOST_REFINEMENTS, MPFR_RNDN);
    mpfr_get_z(bits, tail, MPFR_RNDD);
    for (int i = TC_MOST_REFINEMENTS; i-- > 0;) {
        mpz_fdiv_r_2exp(part, bits, 64);
        more[i] = mpz_get_ui(part);
        mpz_fdiv_q_2exp(bits, bits, 64);
    }
    *word = mpz_get_ui(bits) << 1;
    mpz_clears(bits, part, NULL);
    mpfr_clear(tail);
}

/* At the largest scale a unit of the tables is some 2^5 of the last places of V. An edge between lattice points is
 * known to the last place, so what is decided close beside it shows the fast path's true error. */
static void the_fast_path_is_right_close_beside_the_edges(void **state) {
    (void)state;
    uint64_t random = 16;
    for (int l = 0; l < 2; l++)
        for (int i = 0; i < 1500; i++) {
            AT_CASE(i);
            double reach = laws[l] == TC_LAPLACE ? 4 : 2; /* the next edge is 1000 places away or more */
            double x = reach * (double)(random_word(&random) >> 11) * 0x1p-53 * (i % 3 == 0 ? 0.01 : 1);
            int64_t k = (int64_t)(x * TC_MOST_NOISE_SCALE), value = 0;
            uint64_t word = 0, more[TC_MOST_REFINEMENTS];
            edge_bits(laws[l], TC_MOST_NOISE_SCALE, k, 256, &word, more);
            assert_false(fast(laws[l], TC_MOST_NOISE_SCALE, word, &value));
            int decided = 0;
            for (uint64_t offset = 1; offset < 600; offset += 1 + random_word(&random) % 5) {
                if (word + 2 * offset > word && fast(laws[l], TC_MOST_NOISE_SCALE, word + 2 * offset, &value)) {
                    assert_true(value == k); /* a larger V is a smaller W */
                    decided++;
                }
                if (word >= 2 * offset && fast(laws[l], TC_MOST_NOISE_SCALE, word - 2 * offset, &value)) {
                    assert_true(value == k + 1);
                    decided++;
                }
            }
            assert_true(decided > 50);
        }
}

/* V on an edge, on the next ones, and between them: the slow path looks at one edge only where V is close to it. */
static void the_slow_path_is_right_on_and_beside_the_edges(void **state) {
    (void)state;
    uint64_t random = 17;
    const double large[] = {1, 0x1.fp30, 0x1.fp39, 0x1p44, 0x1.fffffffffffffp44, 0x1.fffffffffffffp46, 0x1p47};
    for (int l = 0; l < 2; l++)
        for (size_t j = 0; j < sizeof large / sizeof large[0]; j++)
            for (int i = 0; i < 200; i++) {
                AT_CASE(i);
                double x = 3 * ldexp((double)(random_word(&random) >> 11), -53) * (i % 3 == 0 ? 0.01 : 1);
                int64_t k = (int64_t)(x * large[j]), value = 0;
                uint64_t on[2], more[TC_MOST_REFINEMENTS];
                edge_bits(laws[l], large[j], k + 1, 256, &on[0], more); /* a larger W is a smaller V */
                edge_bits(laws[l], large[j], k, 256, &on[1], more);
                uint64_t part = on[0] + (uint64_t)(((double)(on[1] - on[0]) * (i % 20)) / 20);
                uint64_t word = (i % 2 ? on[1] + random_word(&random) % 9 - 4 : part) & ~UINT64_C(1);
                fixed_bits bits = {more, TC_MOST_REFINEMENTS, 0};
                assert_int_equal(slow(laws[l], large[j], word, &bits, &value), TC_OK);
                assert_true(reference_agrees(laws[l], large[j], word, more, bits.used, value));
            }
}

static void a_uniform_on_the_edge_is_refined_until_it_leaves_it(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++)
        for (int j = 1; j < SCALES; j++) {
            uint64_t word = 0, more[TC_MOST_REFINEMENTS];
            int64_t k = (int64_t)scales[j], value = 0; /* a common value, for all but the least scale */
            edge_bits(laws[l], scales[j], k, 2560, &word, more);
            assert_false(fast(laws[l], scales[j], word, &value));
            for (unsigned at = 1; at < 6; at++) {
                uint64_t moved[TC_MOST_REFINEMENTS];
                memcpy(moved, more, sizeof moved);
                for (int up = 0; up < 2; up++) {
                    moved[at] = more[at] + (up ? 5 : -UINT64_C(5));
                    fixed_bits bits = {moved, TC_MOST_REFINEMENTS, 0};
                    assert_int_equal(slow(laws[l], scales[j], word, &bits, &value), TC_OK);
                    assert_int_equal(bits.used, at + 1);
                    assert_true(value == (up ? k : k + 1)); /* a larger V is a smaller W */
                }
            }
        }
}

static void a_tie_to_the_last_bit_ends(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++) {
        uint64_t word = 0, more[TC_MOST_REFINEMENTS];
        int64_t k = INT64_C(3) << 34, value = 0;
        edge_bits(laws[l], 0x1p35, k, 2560, &word, more);
        fixed_bits bits = {more, TC_MOST_REFINEMENTS, 0};
        assert_int_equal(slow(laws[l], 0x1p35, word, &bits, &value), TC_OK);
        assert_int_equal(bits.used, TC_MOST_REFINEMENTS);
        assert_in_range(value, k, k + 1);
    }
}

static void a_uniform_that_starts_with_zeros_is_refined(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++)
        for (int j = 0; j < SCALES; j++)
            for (unsigned zeros = 0; zeros < TC_MOST_REFINEMENTS - 4; zeros += 5)
                for (uint64_t word = 0; word < 2; word++) {
                    uint64_t more[TC_MOST_REFINEMENTS] = {0};
                    for (unsigned i = zeros; i < TC_MOST_REFINEMENTS; i++)
                        more[i] = UINT64_C(0x123456789abcdef) * (i + 1);
                    fixed_bits bits = {more, TC_MOST_REFINEMENTS, 0};
                    int64_t value = 0;
                    assert_false(fast(laws[l], scales[j], word, &value));
                    assert_int_equal(slow(laws[l], scales[j], word, &bits, &value), TC_OK);
                    assert_in_range(bits.used, zeros + 1, zeros + 3);
                    int64_t k = word & 1 ? -value : value;
                    assert_true(reference_agrees(laws[l], scales[j], word, more, bits.used, k));
                }
}

static void the_smallest_uniform_ends_within_the_limit(void **state) {
    (void)state;
    uint64_t more[TC_MOST_REFINEMENTS] = {0};
    for (int l = 0; l < 2; l++)
        for (int j = 0; j < SCALES; j += 3) {
            fixed_bits bits = {more, TC_MOST_REFINEMENTS, 0};
            int64_t value = 0;
            assert_int_equal(slow(laws[l], scales[j], 0, &bits, &value), TC_OK);
            assert_int_equal(bits.used, TC_MOST_REFINEMENTS);
            assert_in_range(value, 0, TC_MOST_NOISE);
            double expected = scales[j] * (laws[l] == TC_LAPLACE ? 1087 * log(2) : 38.7);
            assert_true(fabs((double)value - expected) <= 0.01 * expected + 1);
            uint64_t one[TC_MOST_REFINEMENTS] = {0}; /* the last bit counts as 1 */
            one[TC_MOST_REFINEMENTS - 1] = 1;
            fixed_bits other = {one, TC_MOST_REFINEMENTS, 0};
            int64_t same = 0;
            assert_int_equal(slow(laws[l], scales[j], 0, &other, &same), TC_OK);
            assert_true(same == value);
        }
}

static void the_largest_uniform_is_zero_noise(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++)
        for (int j = 0; j < SCALES; j++) {
            uint64_t more[TC_MOST_REFINEMENTS];
            memset(more, 0xff, sizeof more);
            fixed_bits bits = {more, TC_MOST_REFINEMENTS, 0};
            int64_t value = 1;
            assert_int_equal(slow(laws[l], scales[j], UINT64_MAX, &bits, &value), TC_OK);
            assert_true(value == 0 && bits.used == 0);
            assert_true(fast(laws[l], scales[j], UINT64_MAX, &value));
            assert_true(value == 0);
            assert_true(fast(laws[l], scales[j], UINT64_MAX - 1, &value));
            assert_true(value == 0);
        }
}

static void a_failing_source_is_reported(void **state) {
    (void)state;
    fixed_bits bits = {NULL, 0, 0};
    int64_t value = 1;
    assert_int_equal(slow(TC_GAUSSIAN, 1, 0, &bits, &value), TC_NO_RANDOM);
    assert_true(value == 0);
}

static void scales_are_exact_and_limited(void **state) {
    (void)state;
    tc_noise_scale scale;
    uint64_t random = 14;
    for (int i = 0; i < 10000; i++) {
        AT_CASE(i);
        double s = ldexp(1 + (double)(random_word(&random) >> 12) * 0x1p-52, (int)(random_word(&random) % 53) - 6);
        assert_true(tc_noise_scale_from(s, &scale));
        assert_true(scale.mantissa >> 63 == 1);
        assert_true(ldexp((double)(scale.mantissa >> 11), scale.exponent - 52) == s);
        assert_true(scale.mantissa << 53 == 0);
        assert_in_range(scale.shift, 10, 63);
    }
    const double outside[] = {0,
                              -1,
                              nextafter(TC_LEAST_NOISE_SCALE, 0),
                              nextafter(TC_MOST_NOISE_SCALE, 1e300),
                              1e300,
                              -(double)INFINITY,
                              (double)INFINITY,
                              (double)NAN};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        assert_false(tc_noise_scale_from(outside[i], &scale));
}

/* A number in limbs as a fraction. */
static void set_fraction(mpfr_t to, const uint64_t *number, unsigned limbs) {
    mpz_t whole;
    mpz_init(whole);
    mpz_import(whole, limbs, -1, sizeof *number, 0, 0, number);
    mpfr_set_z_2exp(to, whole, -(mpfr_exp_t)(64 * limbs), MPFR_RNDN);
    mpz_clear(whole);
}

/* The claim of sampler_inside.h about the tail at k. Returns its limbs, 0 where it is far. */
static unsigned check_tail(tc_noise_law law, double s, uint64_t k, unsigned bits) {
    static tc_tail tail;
    tc_noise_scale scale = scale_of(s);
    mpfr_t truth, low, high;
    mpfr_inits2(bits + 256, truth, low, high, (mpfr_ptr)NULL);
    reference_tail(truth, law, s, (int64_t)(2 * k + 1));
    memset(&tail, 0xab, sizeof tail);
    bool computed = tc_tail_compute(law, &scale, k, bits, &tail);
    if (computed) {
        set_fraction(low, tail.low, tail.limbs);
        set_fraction(high, tail.high, tail.limbs);
        assert_true(mpfr_cmp(low, truth) <= 0 && mpfr_cmp(truth, high) <= 0);
        mpfr_sub(high, high, low, MPFR_RNDN);
        assert_true(mpfr_cmp_ui_2exp(high, 1, -(mpfr_exp_t)(bits + 20)) < 0);
    } else {
        assert_true(mpfr_cmp_ui_2exp(truth, 1, -(mpfr_exp_t)bits) <= 0);
    }
    mpfr_clears(truth, low, high, (mpfr_ptr)NULL);
    return computed ? tail.limbs : 0;
}

/* x from tiny to huge, with few limbs and with many. */
static void the_tails_keep_their_error_bounds(void **state) {
    (void)state;
    uint64_t random = 15, seen[2] = {0, 0};
    for (int i = 0; i < 1500; i++) {
        AT_CASE(i);
        double s = scales[random_word(&random) % SCALES];
        unsigned bits = 63 + 64 * (unsigned)(i % 3 == 0 ? random_word(&random) % (TC_MOST_REFINEMENTS + 1) : 0);
        double reach = laws[i % 2] == TC_LAPLACE ? 0.75 * bits : sqrt(1.45 * bits);
        double x = reach * ldexp((double)(random_word(&random) >> 11), -53);
        uint64_t k = (uint64_t)(x * s) >> (i % 7 == 0 ? random_word(&random) % 50 : 0);
        seen[i % 2] |= UINT64_C(1) << check_tail(laws[i % 2], s, k, bits);
    }
    const uint64_t always = 1 | 1 << 2; /* far points, and the fewest limbs */
    assert_true((seen[0] & always) == always && seen[0] >> 19 == 1);
    assert_true((seen[1] & always) == always && seen[1] >> 36 != 0 && seen[1] >> (TC_TAIL_LIMBS + 1) == 0);
}

static void the_tails_keep_their_error_bounds_at_the_limits(void **state) {
    (void)state;
    const double ends[] = {TC_LEAST_NOISE_SCALE, 0x1.fffffffffffffp-1, 1, 0x1.fffffffffffffp46, TC_MOST_NOISE_SCALE};
    const unsigned most = 63 + 64 * TC_MOST_REFINEMENTS;
    static tc_tail tail;
    for (int l = 0; l < 2; l++)
        for (size_t j = 0; j < sizeof ends / sizeof ends[0]; j++) {
            assert_int_equal(check_tail(laws[l], ends[j], (uint64_t)TC_MOST_NOISE - 1, most), 0);
            for (unsigned bits = 63; bits <= most; bits += 256) {
                AT_CASE(bits);
                (void)check_tail(laws[l], ends[j], 0, bits);
                uint64_t low = 0, high = (uint64_t)TC_MOST_NOISE - 1; /* the last point that is not far */
                tc_noise_scale scale = scale_of(ends[j]);
                while (high - low > 1) {
                    uint64_t k = low + (high - low) / 2;
                    *(tc_tail_compute(laws[l], &scale, k, bits, &tail) ? &low : &high) = k;
                }
                (void)check_tail(laws[l], ends[j], low, bits);
                assert_int_equal(check_tail(laws[l], ends[j], high, bits), 0);
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_fast_path_decides_is_right_for_every_continuation),
        cmocka_unit_test(the_slow_path_agrees_with_the_fast_one),
        cmocka_unit_test(the_slow_path_agrees_with_mpfr),
        cmocka_unit_test(the_fast_path_is_right_close_beside_the_edges),
        cmocka_unit_test(the_slow_path_is_right_on_and_beside_the_edges),
        cmocka_unit_test(a_uniform_on_the_edge_is_refined_until_it_leaves_it),
        cmocka_unit_test(a_tie_to_the_last_bit_ends),
        cmocka_unit_test(a_uniform_that_starts_with_zeros_is_refined),
        cmocka_unit_test(the_smallest_uniform_ends_within_the_limit),
        cmocka_unit_test(the_largest_uniform_is_zero_noise),
        cmocka_unit_test(a_failing_source_is_reported),
        cmocka_unit_test(scales_are_exact_and_limited),
        cmocka_unit_test(the_tails_keep_their_error_bounds),
        cmocka_unit_test(the_tails_keep_their_error_bounds_at_the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
