/* Any call of the system or of OpenSSL may fail, once or from then on. Noise is then what it is without failures, or
 * there is none. No word that was not drawn is taken for noise, and no key of another round is used. */
#include "noise/failing.h"
#include "noise/noise.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <limits.h>
#include <string.h>

enum { COUNT = 150, ROUNDS = 2, WORDS = 5 };

typedef struct drawn {
    bool mac, refined, filled[2];
    unsigned char mac_of[TC_MAC_BYTES];
    uint64_t word;
    int64_t noise[2][COUNT];
} drawn;

typedef struct session {
    tc_random *random;
    tc_random_worker *workers[2];
    drawn rounds[ROUNDS];
} session;

static void draw(session *s, tc_noise_law law, const tc_noise_scale *scale, drawn *to) {
    static const int64_t words[WORDS] = {1, -2, 3, -4, 5};
    to->mac = tc_random_mac(s->random, "a label", 7, words, WORDS, to->mac_of) == TC_OK;
    to->refined = tc_random_refine(s->workers[0], 9, 1, &to->word) == TC_OK;
    for (size_t w = 0; w < 2; w++)
        to->filled[w] = tc_noise_fill(s->workers[w], law, scale, 1, COUNT, to->noise[w]) == TC_OK;
}

/* At the largest scale one entry in some hundreds takes the slow path. Goes on after a failure, as no caller should. */
static void run(tc_arena *arena, tc_noise_law law, session *s) {
    tc_run_identity of = {.run_id = "run", .run_id_length = 3};
    tc_noise_scale scale;
    tc_escape escape;
    memset(s, 0xab, sizeof *s);
    for (size_t k = 0; k < ROUNDS; k++)
        s->rounds[k] = (drawn){0};
    if (!tc_noise_scale_from(TC_MOST_NOISE_SCALE, &scale) || TC_TRY(arena, &escape) != TC_OK)
        return;
    if (tc_random_new_simulation(arena, &of, 42, &s->random) == TC_OK &&
        tc_random_worker_new(arena, s->random, &s->workers[0]) == TC_OK &&
        tc_random_worker_new(arena, s->random, &s->workers[1]) == TC_OK)
        for (uint64_t k = 0; k < ROUNDS; k++)
            if (tc_random_open_round(s->random, k + 1) == TC_OK)
                draw(s, law, &scale, &s->rounds[k]);
    tc_escape_end(arena, &escape);
}

static bool is_zero(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (((const unsigned char *)bytes)[i] != 0)
            return false;
    return true;
}

/* As in the run without failures, or all zero. */
static bool is_good(bool is_drawn, const void *got, const void *expected, size_t size) {
    return is_drawn ? memcmp(got, expected, size) == 0 : is_zero(got, size);
}

static size_t compare(const session *got, const session *expected) {
    size_t refused = 0;
    for (size_t k = 0; k < ROUNDS; k++) {
        const drawn *a = &got->rounds[k], *b = &expected->rounds[k];
        assert_true(is_good(a->mac, a->mac_of, b->mac_of, sizeof a->mac_of));
        assert_true(is_good(a->refined, &a->word, &b->word, sizeof a->word));
        for (size_t w = 0; w < 2; w++)
            assert_true(is_good(a->filled[w], a->noise[w], b->noise[w], sizeof a->noise[w]));
        refused += !(a->mac && a->refined && a->filled[0] && a->filled[1]);
    }
    return refused;
}

static void noise_is_right_or_there_is_none(void **state) {
    (void)state;
    static session expected, got;
    for (int law = TC_LAPLACE; law <= TC_GAUSSIAN; law++) {
        tc_arena *arena = tc_arena_new(0);
        fail_calls(0, 0);
        run(arena, (tc_noise_law)law, &expected);
        unsigned long calls = failing.calls, refusals = 0;
        assert_int_equal(compare(&expected, &expected), 0);
        tc_arena_free(arena);
        for (unsigned long n = 1; n <= calls; n++)
            for (int for_ever = 0; for_ever < 2; for_ever++) {
                AT_CASE(n);
                arena = tc_arena_new(0);
                fail_calls(n, for_ever ? ULONG_MAX : n);
                run(arena, (tc_noise_law)law, &got);
                fail_calls(0, 0);
                refusals += compare(&got, &expected) > 0;
                tc_arena_free(arena);
            }
        assert_true(calls > 40 && refusals > calls); /* the measure works: almost every failure is seen */
    }
}

/* A source with a key of the system. */
static bool new_source(tc_arena *arena, tc_random **random) {
    tc_run_identity of = {.run_id = "run", .run_id_length = 3};
    tc_escape escape;
    if (TC_TRY(arena, &escape) != TC_OK)
        return false;
    tc_status status = tc_random_new(arena, &of, random);
    tc_escape_end(arena, &escape);
    return status == TC_OK;
}

static void a_source_that_cannot_start_is_not_usable(void **state) {
    (void)state;
    for (unsigned long n = 1; n <= 20; n++) {
        AT_CASE(n);
        tc_arena *arena = tc_arena_new(0);
        tc_random *random = NULL;
        fail_calls(n, n);
        bool made = new_source(arena, &random);
        assert_int_equal(made, failing.calls < n);
        if (random != NULL)
            assert_int_equal(tc_random_is_usable(random), made);
        fail_calls(0, 0);
        tc_arena_free(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_is_right_or_there_is_none),
        cmocka_unit_test(a_source_that_cannot_start_is_not_usable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
