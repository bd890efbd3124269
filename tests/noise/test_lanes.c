/* Draws in lanes of doubles: for every width that the processor has, in every rounding mode, they are what integers and
 * the slow path make of the same words. */
#include "base/simd.h"
#include "noise/exact_reference.h"
#include "noise/sampler_inside.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <fenv.h>
#include <math.h>
#include <mpfr.h>
#include <string.h>

static const tc_noise_law laws[] = {TC_LAPLACE, TC_GAUSSIAN};
static const double scales[] = {TC_LEAST_NOISE_SCALE, 0.7,      37.3,     0x1.23p20,  0x1.3p35,
                                0x1.fffffffffffffp35, 0x1.7p40, 0x1.1p44, 0x1.fffp44, 0x1p45,
                                TC_MOST_NOISE_SCALE};
enum { SCALES = sizeof scales / sizeof scales[0], MOST = 1500 };

/* ---- widths and arithmetics -------------------------------------------------------------------------------------- */

typedef struct width {
    const char *name;
    tc_sampler_lanes lanes;
} width;

static width widths[2];
static int width_count;

static int find_widths(void **state) {
    (void)state;
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDE() && __builtin_cpu_supports("fma"))
        widths[width_count++] = (width){"AVX2", tc_sample_wide};
    if (TC_IS_WIDEST())
        widths[width_count++] = (width){"AVX-512", tc_sample_widest};
#endif
    print_message("widths: %d\n", width_count);
    return 0;
}

/* Four ways to round, the first and the last also with subnormal numbers taken for zero. */
enum { ARITHMETICS = 6 };

static void set_arithmetic(int which) {
    static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST, FE_TOWARDZERO};
    assert_int_equal(fesetround(modes[which]), 0);
#ifdef TC_HAS_WIDE
    const unsigned flush = 1U << 15 | 1U << 6;
    _mm_setcsr((_mm_getcsr() & ~flush) | (which >= 4 ? flush : 0));
#endif
}

static size_t sample(const width *with, int arithmetic, tc_noise_law law, const tc_noise_scale *scale, size_t stride,
                     int64_t *values, uint16_t count, uint16_t *undecided) {
    set_arithmetic(arithmetic);
    size_t open = tc_sample_with(with->lanes, law, scale, stride, values, count, undecided);
    set_arithmetic(0);
    return open;
}

/* ---- against integers -------------------------------------------------------------------------------------------- */

typedef struct batch {
    uint16_t count;
    size_t stride;
    tc_noise_scale scales[MOST];
    uint64_t words[MOST];
    int64_t expected[MOST];
    bool is_open[MOST]; /* to integers */
} batch;

static tc_status no_more(void *context, unsigned attempt, uint64_t *word) {
    (void)context;
    *word = UINT64_C(0x123456789abcdef) * attempt;
    return TC_OK;
}

/* Uniform words, words of all octaves, words near 1, and words with few bits. */
static uint64_t varied_word(uint64_t *state, int i) {
    uint64_t word = random_word(state), by = random_word(state) % 64;
    switch (i % 8) {
    case 1:
        return word >> by;
    case 2:
        return ~(word >> by);
    case 3:
        return word << by;
    case 4:
        return (UINT64_C(1) << by) + word % 5 - 2;
    default:
        return word;
    }
}

static void fill(batch *b, uint64_t *random, tc_noise_law law, int scale, bool each) {
    uint16_t undecided[MOST];
    b->count = (uint16_t)(random_word(random) % 4 == 0 ? random_word(random) % MOST : random_word(random) % 70);
    b->stride = each;
    for (int i = 0; i < b->count; i++) {
        double s = scales[each ? (scale + i * (i % 3)) % SCALES : scale];
        assert_true(tc_noise_scale_from(s, &b->scales[i]));
        b->words[i] = varied_word(random, i);
        b->is_open[i] = false;
    }
    if (b->count == 0) /* it is read nevertheless */
        assert_true(tc_noise_scale_from(1, &b->scales[0]));
    memcpy(b->expected, b->words, sizeof b->words);
    size_t open = tc_sample_with(NULL, law, b->scales, b->stride, b->expected, b->count, undecided);
    for (size_t i = 0; i < open; i++)
        b->is_open[undecided[i]] = true;
}

/* Lanes may decide what integers do not; then the slow path must agree. */
static void check(const batch *b, tc_noise_law law, const int64_t *values, const uint16_t *undecided, size_t open) {
    size_t next = 0;
    for (size_t i = 0; i < b->count; i++) {
        if (next < open && undecided[next] == i) {
            next++;
            assert_true(b->is_open[i]);
            assert_true((uint64_t)values[i] == b->words[i]);
            continue;
        }
        int64_t expected = b->expected[i];
        if (b->is_open[i])
            assert_int_equal(
                tc_sample_slow(law, &b->scales[i * b->stride], b->words[i], (tc_bit_source){no_more, NULL}, &expected),
                TC_OK);
        assert_true(values[i] == expected);
    }
    assert_int_equal(next, open);
}

static void all_widths_draw_what_integers_draw(void **state) {
    (void)state;
    static batch b;
    static int64_t memory[MOST + 2];
    static uint16_t undecided[MOST];
    uint64_t random = 21;
    for (int l = 0; l < 2; l++)
        for (int j = 0; j < SCALES; j++)
            for (int i = 0; i < CASES(4000); i++) {
                AT_CASE(i);
                fill(&b, &random, laws[l], j, i % 3 == 0);
                for (int w = 0; w < width_count; w++) {
                    memset(memory, 0x55, sizeof memory);
                    int64_t *values = memory + 1;
                    memcpy(values, b.words, b.count * sizeof *values);
                    size_t open =
                        sample(&widths[w], i % ARITHMETICS, laws[l], b.scales, b.stride, values, b.count, undecided);
                    check(&b, laws[l], values, undecided, open);
                    assert_true(memory[0] == INT64_C(0x5555555555555555) && values[b.count] == memory[0]);
                }
            }
}

/* ---- beside edges ------------------------------------------------------------------------------------------------ */

/* The first 64 bits of tail((k + 1/2) / s), the last of them 0: the edge between k and k + 1. */
static uint64_t edge(tc_noise_law law, double s, int64_t k) {
    mpfr_t tail;
    mpz_t bits;
    mpfr_init2(tail, 256);
    mpz_init(bits);
    reference_tail(tail, law, s, 2 * k + 1);
    mpfr_mul_2ui(tail, tail, 63, MPFR_RNDN);
    mpfr_get_z(bits, tail, MPFR_RNDD);
    uint64_t word = mpz_get_ui(bits) << 1;
    mpz_clear(bits);
    mpfr_clear(tail);
    return word;
}

/* Places of V (2^-64) in one step of the lattice at x. */
static double places_of_step(tc_noise_law law, double s, double x) {
    return 0x1p64 / s * (law == TC_LAPLACE ? exp(-x) : sqrt(2 / acos(-1)) * exp(-x * x / 2));
}

/* What is decided close beside an edge shows the true error. Each distance is half of the one before, on average. */
static void lanes_are_right_close_beside_the_edges(void **state) {
    (void)state;
    enum { WORDS = 128 };
    const double large[] = {0x1p44, 0x1.5p42, 0x1.fffffffffffffp39, 0x1.3p35};
    uint64_t random = 22;
    size_t decided = 0;
    for (int i = 0; i < CASES(40000); i++) {
        AT_CASE(i);
        tc_noise_law law = laws[i % 2];
        double s = large[i / 2 % 4],
               x = (law == TC_LAPLACE ? 7.6 : 2.8) * random_unit(&random) * (i % 3 == 0 ? 0.01 : 1);
        int64_t k = (int64_t)(x * s), values[WORDS];
        uint64_t at = edge(law, s, k), words[WORDS], open[WORDS / 64];
        tc_noise_scale scale;
        assert_true(tc_noise_scale_from(s, &scale));
        for (int j = 0; j < WORDS; j++) {
            double distance = ldexp(0.9 * random_unit(&random) * places_of_step(law, s, x), -(j / 2 % 16));
            uint64_t offset = (uint64_t)distance / 2 * 2 + 2, sign = random_word(&random) & 1;
            bool is_above = j % 2 == 0 && at + offset > at;
            words[j] = (is_above ? at + offset : at - offset) | sign;
        }
        for (int w = 0; w < width_count; w++) {
            memcpy(values, words, sizeof words);
            set_arithmetic(i / 8 % ARITHMETICS);
            widths[w].lanes(law, &scale, 0, values, WORDS, open);
            set_arithmetic(0);
            for (int j = 0; j < WORDS; j++) {
                int64_t expected = words[j] > at ? k : k + 1; /* a larger V is a smaller W */
                bool is_open = open[j / 64] >> j % 64 & 1;
                assert_true(values[j] == (is_open ? (int64_t)words[j] : words[j] & 1 ? -expected : expected));
                decided += !is_open;
            }
        }
    }
    assert_true(decided >= (size_t)(width_count * CASES(40000)) * WORDS / 8);
}

/* ---- how much is left -------------------------------------------------------------------------------------------- */

static double open_part(const width *with, tc_noise_law law, double s) {
    enum { COUNT = 1024, BATCHES = 256 };
    uint64_t random = 23, open[COUNT / 64], count = 0;
    int64_t values[COUNT];
    tc_noise_scale scale;
    assert_true(tc_noise_scale_from(s, &scale));
    for (int n = 0; n < BATCHES; n++) {
        for (int i = 0; i < COUNT; i++)
            values[i] = (int64_t)random_word(&random);
        with->lanes(law, &scale, 0, values, COUNT, open);
        for (int i = 0; i < COUNT / 64; i++)
            count += (uint64_t)__builtin_popcountll(open[i]);
    }
    return (double)count / COUNT / BATCHES;
}

/* By octaves 2^-11 and 2^-8, and by the error 2^-47 s; give or take five standard deviations. */
static void lanes_leave_little_open(void **state) {
    (void)state;
    for (int w = 0; w < width_count; w++)
        for (int l = 0; l < 2; l++)
            for (int j = 0; j < 3; j++) {
                double s = (const double[]){1e3, 0x1.3p35, 0x1p42}[j], part = open_part(&widths[w], laws[l], s);
                double expected = (laws[l] == TC_LAPLACE ? 0x1p-11 : 0x1p-8) + 0x1p-47 * s;
                print_message("%s, %s, scale %g: %.2e open\n", widths[w].name, l == 0 ? "Laplace" : "Gaussian", s,
                              part);
                assert_true(fabs(part - expected) < 5 * sqrt(expected / (256 * 1024)));
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_widths_draw_what_integers_draw),
        cmocka_unit_test(lanes_are_right_close_beside_the_edges),
        cmocka_unit_test(lanes_leave_little_open),
    };
    return cmocka_run_group_tests(tests, find_widths, NULL);
}
