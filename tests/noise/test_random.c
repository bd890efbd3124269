/* The random source: known answers (computed apart, with Python's hmac and the openssl command), addressing, refusal.
 */
/* labels: threads */
#include "noise/random.h"
#include "noise/random_keys.h"
#include "support/cmocka.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static tc_run_identity identity(void) {
    tc_run_identity run = {.run_id = "run 7", .run_id_length = 5};
    for (unsigned i = 0; i < 32; i++)
        run.plan_hash[i] = (unsigned char)i;
    return run;
}

typedef struct fixture {
    tc_arena *arena;
    tc_random *random;
    tc_random_worker *worker;
} fixture;

static fixture seeded(uint64_t seed) {
    fixture made = {.arena = tc_arena_new(0)};
    tc_run_identity run = identity();
    assert_non_null(made.arena);
    assert_int_equal(tc_random_new_simulation(made.arena, &run, seed, &made.random), TC_OK);
    assert_int_equal(tc_random_worker_new(made.arena, made.random, &made.worker), TC_OK);
    return made;
}

static uint64_t word_of(fixture *f, uint64_t entry) {
    uint64_t word = 0;
    assert_int_equal(tc_random_bulk(f->worker, entry, 1, &word), TC_OK);
    return word;
}

static void run_keys_are_hkdf(void **state) {
    (void)state;
    static const unsigned char expected[TC_KEY_BYTES] = {
        0x3a, 0x58, 0x67, 0xdb, 0x6a, 0xab, 0x38, 0x02, 0xa1, 0xbd, 0xdc, 0x5e, 0x0c, 0x02, 0x5f, 0x53,
        0xc9, 0x10, 0x44, 0xbd, 0x00, 0xe7, 0x63, 0x7c, 0xbc, 0x27, 0xbb, 0x62, 0xf1, 0x65, 0x94, 0x0a};
    unsigned char master[TC_KEY_BYTES], key[TC_KEY_BYTES];
    for (unsigned i = 0; i < TC_KEY_BYTES; i++)
        master[i] = (unsigned char)(100 + i);
    tc_run_identity run = identity();
    assert_true(tc_run_key(master, run.run_id, run.run_id_length, run.plan_hash, "tacit noise 1", key));
    assert_memory_equal(key, expected, TC_KEY_BYTES);
}

static void the_ratchet_is_aes_of_four_blocks(void **state) {
    (void)state;
    static const unsigned char expected[2 * TC_KEY_BYTES] = {
        0x3f, 0x40, 0x9b, 0x9d, 0x7e, 0xa0, 0x8c, 0x7c, 0x7a, 0x81, 0x25, 0x15, 0xa2, 0x62, 0x11, 0x7c,
        0xc4, 0x7c, 0x82, 0xa5, 0x19, 0x66, 0x69, 0xe6, 0xf1, 0xc8, 0x5f, 0xc9, 0xe8, 0x0f, 0xbd, 0x1d,
        0xa1, 0x1a, 0xe9, 0xdc, 0x5d, 0x8e, 0x96, 0x63, 0x0f, 0xf9, 0xd1, 0x0c, 0x7d, 0x18, 0xb4, 0x33,
        0x82, 0xaa, 0x64, 0xaf, 0x5e, 0xfd, 0x1c, 0x35, 0x92, 0xbf, 0x2c, 0x01, 0xd7, 0x88, 0x61, 0x30};
    unsigned char keys[2 * TC_KEY_BYTES] = {0};
    for (unsigned i = 0; i < TC_KEY_BYTES; i++)
        keys[i] = (unsigned char)i;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    assert_int_equal(EVP_EncryptInit_ex(cipher, EVP_aes_256_ecb(), NULL, keys, NULL), 1);
    assert_true(tc_ratchet(cipher, keys));
    assert_memory_equal(keys, expected, sizeof keys);
    EVP_CIPHER_CTX_free(cipher);
}

static void seeded_words_are_the_same_on_every_build(void **state) {
    (void)state;
    fixture f = seeded(42);
    uint64_t word = 0;
    assert_int_equal(tc_random_open_round(f.random, 2), TC_OK);
    assert_true(word_of(&f, 0) == UINT64_C(0xe11b8ed01c483f54));
    assert_int_equal(tc_random_open_round(f.random, 5), TC_OK);
    assert_true(word_of(&f, 0) == UINT64_C(0x65559efe374ac2e9));
    assert_true(word_of(&f, 1) == UINT64_C(0x0a002a4950767c6f));
    assert_true(word_of(&f, 2) == UINT64_C(0xcb53518eaeb3c6c6));
    assert_true(word_of(&f, 3) == UINT64_C(0x4f6939f0c0ac0984));
    assert_true(word_of(&f, 1000001) == UINT64_C(0x3c981a11f6a0a361));
    assert_int_equal(tc_random_refine(f.worker, 7, 1, &word), TC_OK);
    assert_true(word == UINT64_C(0x6a36bb3b55781183));
    assert_int_equal(tc_random_refine(f.worker, 7, 2, &word), TC_OK);
    assert_true(word == UINT64_C(0xa6af0d0512f71925));
    assert_int_equal(tc_random_refine(f.worker, 7, 65535, &word), TC_OK);
    assert_true(word == UINT64_C(0x69640da8449a23ed));
    tc_arena_free(f.arena);
}

static void a_word_depends_on_its_address_alone(void **state) {
    (void)state;
    enum { COUNT = 301 };
    static const uint64_t starts[] = {0, 400, UINT64_C(0x200000000) - 151}; /* the last two: blocks 256 and 2^32 */
    fixture f = seeded(1);
    uint64_t whole[COUNT], part[COUNT], refined = 0;
    assert_int_equal(tc_random_open_round(f.random, 3), TC_OK);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        assert_int_equal(tc_random_bulk(f.worker, starts[i], COUNT, whole), TC_OK);
        for (size_t first = 0; first < COUNT; first++)
            for (size_t count = 0; first + count <= COUNT; count += 1 + count / 2) {
                assert_int_equal(tc_random_refine(f.worker, starts[i] + first, 1, &refined), TC_OK);
                assert_int_equal(tc_random_bulk(f.worker, starts[i] + first, count, part), TC_OK);
                assert_memory_equal(part, whole + first, count * sizeof *part);
            }
    }
    tc_arena_free(f.arena);
}

/* Two of these 6,000 words agree by chance with a probability below 2^-39. */
static void different_addresses_and_keys_give_different_words(void **state) {
    (void)state;
    enum { ROUNDS = 20, ENTRIES = 50, KINDS = 3 };
    static uint64_t words[2][ROUNDS][KINDS][ENTRIES];
    for (unsigned seed = 0; seed < 2; seed++) {
        fixture f = seeded(seed);
        for (uint64_t round = 0; round < ROUNDS; round++) {
            assert_int_equal(tc_random_open_round(f.random, round), TC_OK);
            assert_int_equal(tc_random_bulk(f.worker, 0, ENTRIES, words[seed][round][0]), TC_OK);
            for (unsigned kind = 1; kind < KINDS; kind++)
                for (uint64_t i = 0; i < ENTRIES; i++)
                    assert_int_equal(tc_random_refine(f.worker, i, kind, &words[seed][round][kind][i]), TC_OK);
        }
        tc_arena_free(f.arena);
    }
    const uint64_t *all = words[0][0][0];
    size_t count = sizeof words / sizeof *all;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            assert_true(all[i] != all[j]);
}

static void what_identifies_the_run_changes_the_words(void **state) {
    (void)state;
    uint64_t words[3];
    for (int i = 0; i < 3; i++) {
        fixture f = {.arena = tc_arena_new(0)};
        tc_run_identity run = identity();
        run.run_id_length -= i == 1;
        run.plan_hash[31] ^= i == 2;
        assert_int_equal(tc_random_new_simulation(f.arena, &run, 1, &f.random), TC_OK);
        assert_int_equal(tc_random_worker_new(f.arena, f.random, &f.worker), TC_OK);
        assert_int_equal(tc_random_open_round(f.random, 1), TC_OK);
        words[i] = word_of(&f, 0);
        tc_arena_free(f.arena);
    }
    assert_true(words[0] != words[1] && words[0] != words[2] && words[1] != words[2]);
}

static void rounds_only_go_forward(void **state) {
    (void)state;
    fixture f = seeded(1);
    uint64_t word = 0;
    assert_int_equal(tc_random_bulk(f.worker, 0, 1, &word), TC_NO_RANDOM); /* none is open */
    assert_int_equal(tc_random_open_round(f.random, 4), TC_OK);
    uint64_t before = word_of(&f, 9);
    assert_int_equal(tc_random_open_round(f.random, 3), TC_NO_RANDOM);
    assert_int_equal(tc_random_open_round(f.random, 4), TC_OK); /* still open */
    assert_true(word_of(&f, 9) == before);
    assert_int_equal(tc_random_open_round(f.random, TC_MOST_ROUND + 1), TC_NO_RANDOM);
    assert_true(word_of(&f, 9) == before);
    tc_arena_free(f.arena);
}

/* A worker with an old key would draw the old round's words again. */
static void a_worker_that_was_idle_draws_from_the_open_round(void **state) {
    (void)state;
    fixture f = seeded(1);
    tc_random_worker *own[3];
    uint64_t first = 0, words[4];
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(tc_random_worker_new(f.arena, f.random, &own[i]), TC_OK);
    assert_int_equal(tc_random_open_round(f.random, 1), TC_OK);
    assert_int_equal(tc_random_bulk(own[0], 5, 1, &first), TC_OK);
    for (uint64_t round = 2; round <= 9; round++) {
        assert_int_equal(tc_random_open_round(f.random, round), TC_OK);
        assert_int_equal(tc_random_bulk(own[1], 5, 1, &words[1]), TC_OK);
        assert_true(words[1] == word_of(&f, 5));
    }
    assert_int_equal(tc_random_open_round(f.random, 10), TC_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(tc_random_bulk(own[i], 5, 1, &words[i]), TC_OK);
        assert_true(words[i] == word_of(&f, 5));
        assert_true(words[i] != first);
    }
    tc_arena_free(f.arena);
}

static void workers_and_their_source_go_in_any_order(void **state) {
    (void)state;
    for (int order = 0; order < 6; order++) {
        fixture f = seeded(1);
        tc_arena *arenas[2] = {tc_arena_new(0), tc_arena_new(0)};
        tc_random_worker *own[2];
        uint64_t word = 0;
        assert_int_equal(tc_random_open_round(f.random, 1), TC_OK);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(tc_random_worker_new(arenas[i], f.random, &own[i]), TC_OK);
            assert_int_equal(tc_random_bulk(own[i], 5, 1, &word), TC_OK);
        }
        if (order < 2) { /* the source goes on without one of them */
            tc_arena_free(arenas[order]);
            assert_int_equal(tc_random_open_round(f.random, 2), TC_OK);
            assert_int_equal(tc_random_bulk(own[1 - order], 5, 1, &word), TC_OK);
            assert_true(word == word_of(&f, 5));
            tc_arena_free(f.arena);
            tc_arena_free(arenas[1 - order]);
            continue;
        }
        if (order < 4)
            tc_arena_free(f.arena);
        tc_arena_free(arenas[order % 2]);
        tc_arena_free(arenas[1 - order % 2]);
        if (order >= 4)
            tc_arena_free(f.arena);
    }
}

static void addresses_outside_the_limits_are_refused(void **state) {
    (void)state;
    fixture f = seeded(1);
    uint64_t word = 1;
    assert_int_equal(tc_random_open_round(f.random, 1), TC_OK);
    assert_int_equal(tc_random_refine(f.worker, 0, 0, &word), TC_NO_RANDOM); /* attempt 0 is bulk's */
    assert_true(word == 0);
    assert_int_equal(tc_random_refine(f.worker, 0, 65536, &word), TC_NO_RANDOM);
    assert_int_equal(tc_random_refine(f.worker, TC_MOST_ENTRY + 1, 1, &word), TC_NO_RANDOM);
    assert_int_equal(tc_random_bulk(f.worker, TC_MOST_ENTRY, 1, &word), TC_NO_RANDOM);
    assert_int_equal(tc_random_bulk(f.worker, UINT64_MAX, 0, &word), TC_NO_RANDOM);
    tc_arena_free(f.arena);
}

static void system_keys_are_private_and_never_the_same(void **state) {
    (void)state;
    uint64_t words[2];
    for (int i = 0; i < 2; i++) {
        fixture f = {.arena = tc_arena_new(0)};
        tc_run_identity run = identity();
        assert_int_equal(tc_random_new(f.arena, &run, &f.random), TC_OK);
        assert_true(tc_random_is_private(f.random));
        assert_int_equal(tc_random_worker_new(f.arena, f.random, &f.worker), TC_OK);
        assert_int_equal(tc_random_open_round(f.random, 1), TC_OK);
        words[i] = word_of(&f, 0);
        tc_arena_free(f.arena);
    }
    assert_true(words[0] != words[1]);
}

static void a_seeded_source_is_not_private(void **state) {
    (void)state;
    fixture f = seeded(1);
    assert_false(tc_random_is_private(f.random));
    tc_arena_free(f.arena);
}

static void a_mac_is_hmac_under_a_key_of_its_own(void **state) {
    (void)state;
    static const unsigned char expected[TC_MAC_BYTES] = {
        0x2c, 0x43, 0x43, 0xab, 0xe5, 0x45, 0x02, 0x5b, 0x23, 0xd2, 0x36, 0x91, 0xc7, 0xab, 0x10, 0xaf,
        0xdd, 0xa6, 0x39, 0xa2, 0x5c, 0x93, 0xbf, 0x2e, 0x34, 0x16, 0xd4, 0x51, 0xfc, 0x49, 0xd3, 0x8f};
    int64_t words[200];
    unsigned char mac[TC_MAC_BYTES], other[TC_MAC_BYTES];
    fixture f = seeded(5);
    for (int64_t i = 0; i < 200; i++)
        words[i] = (i % 2 == 0 ? 1 : -1) * i * i * i * 1000003;
    assert_int_equal(tc_random_mac(f.random, "tacit states 1", 0x123456789, words, 200, mac), TC_OK);
    assert_memory_equal(mac, expected, TC_MAC_BYTES);
    assert_int_equal(tc_random_open_round(f.random, 9), TC_OK); /* no round changes it */
    assert_int_equal(tc_random_mac(f.random, "tacit states 1", 0x123456789, words, 200, mac), TC_OK);
    assert_memory_equal(mac, expected, TC_MAC_BYTES);
    for (size_t i = 0; i < 200; i += 21) {
        words[i] ^= (int64_t)(UINT64_C(1) << (i % 64));
        assert_int_equal(tc_random_mac(f.random, "tacit states 1", 0x123456789, words, 200, other), TC_OK);
        assert_memory_not_equal(mac, other, TC_MAC_BYTES);
        words[i] ^= (int64_t)(UINT64_C(1) << (i % 64));
    }
    assert_int_equal(tc_random_mac(f.random, "tacit states 1", 0x123456788, words, 200, other), TC_OK);
    assert_memory_not_equal(mac, other, TC_MAC_BYTES);
    assert_int_equal(tc_random_mac(f.random, "tacit states 1", 0x123456789, words, 199, other), TC_OK);
    assert_memory_not_equal(mac, other, TC_MAC_BYTES);
    tc_arena_free(f.arena);
}

static void macs_of_two_fresh_sources_differ(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    tc_run_identity run = identity();
    const int64_t word = 1;
    unsigned char macs[2][TC_MAC_BYTES];
    for (size_t i = 0; i < 2; i++) {
        tc_random *random = NULL;
        assert_int_equal(tc_random_new(arena, &run, &random), TC_OK);
        assert_int_equal(tc_random_mac(random, "tacit states 1", 1, &word, 1, macs[i]), TC_OK);
    }
    assert_memory_not_equal(macs[0], macs[1], TC_MAC_BYTES);
    tc_arena_free(arena);
}

static void a_forked_child_is_refused(void **state) {
    (void)state;
    fixture f = seeded(1);
    assert_int_equal(tc_random_open_round(f.random, 1), TC_OK);
    uint64_t before = word_of(&f, 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint64_t word = 1, refined = 1;
        const int64_t input = 1;
        unsigned char mac[TC_MAC_BYTES] = {1};
        bool refused = tc_random_bulk(f.worker, 0, 1, &word) == TC_NO_RANDOM &&
                       tc_random_refine(f.worker, 0, 1, &refined) == TC_NO_RANDOM &&
                       tc_random_open_round(f.random, 1) == TC_NO_RANDOM &&
                       tc_random_open_round(f.random, 2) == TC_NO_RANDOM && word == 0 && refined == 0 &&
                       tc_random_mac(f.random, "x", 1, &input, 1, mac) == TC_NO_RANDOM && mac[0] == 0;
        tc_arena_free(f.arena);
        _exit(refused ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(word_of(&f, 0) == before); /* the parent goes on */
    tc_arena_free(f.arena);
}

/* RLIMIT_MEMLOCK is not in POSIX, so the limit is used up rather than set: each source locks a page of its own. All
 * sources work, locked or not. Those that are not locked say so. */
static void a_source_works_without_locked_memory(void **state) {
    (void)state;
    fixture f = seeded(1);
    tc_run_identity run = identity();
    assert_int_equal(tc_random_open_round(f.random, 1), TC_OK);
    uint64_t expected = word_of(&f, 0);
    bool locked = true;
    for (int i = 0; i < 5000 && locked; i++) {
        assert_int_equal(tc_random_new_simulation(f.arena, &run, 1, &f.random), TC_OK);
        assert_int_equal(tc_random_worker_new(f.arena, f.random, &f.worker), TC_OK);
        assert_int_equal(tc_random_open_round(f.random, 1), TC_OK);
        assert_true(word_of(&f, 0) == expected);
        locked = tc_random_is_locked(f.random);
    }
    tc_arena_free(f.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_keys_are_hkdf),
        cmocka_unit_test(the_ratchet_is_aes_of_four_blocks),
        cmocka_unit_test(seeded_words_are_the_same_on_every_build),
        cmocka_unit_test(a_word_depends_on_its_address_alone),
        cmocka_unit_test(different_addresses_and_keys_give_different_words),
        cmocka_unit_test(what_identifies_the_run_changes_the_words),
        cmocka_unit_test(rounds_only_go_forward),
        cmocka_unit_test(a_worker_that_was_idle_draws_from_the_open_round),
        cmocka_unit_test(workers_and_their_source_go_in_any_order),
        cmocka_unit_test(addresses_outside_the_limits_are_refused),
        cmocka_unit_test(system_keys_are_private_and_never_the_same),
        cmocka_unit_test(a_seeded_source_is_not_private),
        cmocka_unit_test(a_mac_is_hmac_under_a_key_of_its_own),
        cmocka_unit_test(macs_of_two_fresh_sources_differ),
        cmocka_unit_test(a_forked_child_is_refused),
        cmocka_unit_test(a_source_works_without_locked_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
