/* The fast path takes the same instructions whatever the words are, but for how many draws lanes leave open. */
/* labels: long */
#include "base/simd.h"
#include "noise/sampler_inside.h"
#include "support/random.h"
#include "support/stepped.h"

#ifdef CAN_STEP

enum { COUNT = 70, KINDS = 5, WARM = 1 }; /* WARM: rounds before, for what is done once */

typedef struct subject {
    tc_sampler_lanes lanes;
    tc_noise_law law;
    size_t stride, open; /* open: draws that lanes leave open; all others they decide */
    tc_noise_scale scales[COUNT];
} subject;

/* Lanes decide: V is 1/2 to 1, and at this scale all of these are zero noise. They leave open what is in the last
 * octaves, for integers (bits 24 to 50 from the top) or for the slow path. */
static uint64_t word_of(uint64_t *random, bool is_open) {
    uint64_t word = random_word(random);
    return is_open ? word >> (24 + random_word(random) % 27) : word | UINT64_C(1) << 63;
}

/* A function of its own: copies of it would have other addresses. */
__attribute__((noinline)) static size_t stepped_sample(const subject *s, int64_t *values, uint16_t *undecided) {
    path_begins();
    size_t open = tc_sample_with(s->lanes, s->law, s->scales, s->stride, values, COUNT, undecided);
    path_ends();
    return open;
}

static void draw(void *context) {
    const subject *s = context;
    for (uint64_t round = 0; round < WARM + KINDS; round++) {
        uint64_t kind = round < WARM ? 0 : round - WARM;
        uint64_t random = 31 + kind;
        int64_t values[COUNT];
        uint16_t undecided[COUNT];
        size_t left = s->open;
        for (size_t i = 0; i < COUNT; i++) { /* kinds 0 and 1: the first and the last ones; otherwise anywhere */
            bool is_open = kind == 0   ? i < s->open
                           : kind == 1 ? i >= COUNT - s->open
                                       : random_word(&random) % (COUNT - i) < left;
            left -= kind > 1 && is_open;
            values[i] = (int64_t)word_of(&random, is_open);
        }
        if (stepped_sample(s, values, undecided) > s->open)
            _exit(2);
    }
}

/* How many steps all kinds of words take; fails where two paths differ. */
static size_t common_path(subject *s) {
    int code = 0;
    path first = {NULL, 0, 0}, other = {NULL, 0, 0};
    pid_t child = path_start(draw, s);
    if (child < 0)
        skip();
    int round = 0;
    for (; path_follow(child, round <= WARM ? &first : &other, &code); round++)
        if (round > WARM) {
            AT_CASE(round);
            assert_int_equal(other.count, first.count);
            assert_memory_equal(other.steps, first.steps, first.count * sizeof *first.steps);
        }
    assert_int_equal(code, 0);
    assert_int_equal(round, WARM + KINDS);
    size_t count = first.count;
    free(first.steps);
    free(other.steps);
    return count;
}

static void check(tc_sampler_lanes lanes) {
    for (int l = 0; l < 2; l++)
        for (size_t stride = 0; stride < 2; stride++) {
            static subject s;
            s = (subject){.lanes = lanes, .law = l == 0 ? TC_LAPLACE : TC_GAUSSIAN, .stride = stride};
            for (size_t i = 0; i < COUNT; i++)
                assert_true(tc_noise_scale_from(i % 2 == 0 ? 0x1p-6 : 0x1.3p-4, &s.scales[i]));
            size_t without = common_path(&s);
            s.open = 3;
            size_t with = common_path(&s);
            assert_true(lanes == NULL ? with == without : with > without); /* as promised, and no more */
        }
}

static void integers_take_the_same_path(void **state) {
    (void)state;
    check(NULL);
}

static void lanes_show_how_many_are_open_and_not_which(void **state) {
    (void)state;
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDE() && __builtin_cpu_supports("fma"))
        check(tc_sample_wide);
    if (TC_IS_WIDEST())
        check(tc_sample_widest);
#endif
}
#else
static void integers_take_the_same_path(void **state) {
    (void)state;
    skip();
}
static void lanes_show_how_many_are_open_and_not_which(void **state) {
    (void)state;
    skip();
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_take_the_same_path),
        cmocka_unit_test(lanes_show_how_many_are_open_and_not_which),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
