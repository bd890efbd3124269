/* The door: the same bits at every width of vectors, and those of plain arithmetic. */
#include "release/door.c"

#include "support/cmocka.h"
#include "support/random.h"

enum { MOST = 100, MOST_RUNS = 5 };

typedef void adder(const tc_channel_run *runs, size_t run_count, const int64_t *units, const int64_t *noise,
                   double *restrict out);

typedef struct versions {
    adder *adders[4];
    size_t count;
} versions;

static versions here(void) {
    versions found = {.adders = {tc_release_add_noise, add_plainly}, .count = 2};
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDE())
        found.adders[found.count++] = add_widely;
    if (TC_IS_WIDEST())
        found.adders[found.count++] = add_widest;
#endif
    return found;
}

/* Of any size up to 2^bits, so that sums are exact doubles as well as rounded ones. */
static int64_t any_integer(uint64_t *seed, unsigned bits) {
    int64_t size = (int64_t)(random_below(seed, UINT64_C(1) << 62) >> (62 - random_below(seed, bits + 1)));
    return random_below(seed, 2) == 0 ? size : -size;
}

static void every_width_adds_the_same_noise(void **state) {
    (void)state;
    versions all = here();
    uint64_t seed = 1;
    for (size_t i = 0; i < 400; i++) {
        AT_CASE(i);
        tc_release_channel channels[MOST_RUNS];
        tc_channel_run runs[MOST_RUNS];
        int64_t units[MOST], noise[MOST];
        double expected[2 * MOST];
        size_t run_count = 1 + random_below(&seed, MOST_RUNS), at = 0, to = 0;
        memset(expected, 0, sizeof expected);
        for (size_t r = 0; r < run_count; r++) {
            channels[r] = (tc_release_channel){.step = ldexp(1, (int)random_below(&seed, 60) - 40), .is_small = true};
            to += random_below(&seed, 4); /* places between runs stay as they are */
            runs[r] = (tc_channel_run){&channels[r], random_below(&seed, MOST / MOST_RUNS + 1), to};
            for (size_t k = 0; k < runs[r].count; k++, at++, to++) {
                units[at] = any_integer(&seed, 50);
                noise[at] = any_integer(&seed, 57);
                expected[to] = channels[r].step * (double)(units[at] + noise[at]);
            }
        }
        for (size_t v = 0; v < all.count; v++) {
            double out[2 * MOST];
            memset(out, 0, sizeof out);
            all.adders[v](runs, run_count, units, noise, out);
            assert_memory_equal(out, expected, sizeof out);
        }
    }
}

static void sums_of_large_channels_saturate(void **state) {
    (void)state;
    const tc_release_channel channel = {.step = 0.5};
    const tc_channel_run runs[] = {{&channel, 2, 1}, {&channel, 1, 0}};
    const int64_t units[] = {INT64_MAX, INT64_MIN, 7}, noise[] = {1, -1, -10};
    double out[3] = {0};
    tc_release_add_noise(runs, 2, units, noise, out);
    assert_true(out[0] == -1.5 && out[1] == 0x1p62 && out[2] == -0x1p62);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_adds_the_same_noise),
        cmocka_unit_test(sums_of_large_channels_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
