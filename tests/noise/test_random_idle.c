/* Keys of the past in workers' ciphers. The source is compiled in: no public function reads a cipher, and none should.
 */
/* labels: threads */
#include "noise/random.c"

#include "support/cmocka.h"

enum { WORKERS = 4 };

/* What the worker's cipher makes of entry 0 of round 1, whatever round is open. */
static uint64_t old_word(tc_random_worker *worker) {
    uint64_t block[2];
    write_addresses(block, 1, 1, 0, 0);
    assert_true(encrypt(worker, block, 2));
    to_native(block, 1);
    return block[0];
}

static void an_idle_worker_keeps_no_key_of_the_past(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    tc_run_identity run = {.run_id = "run", .run_id_length = 3};
    tc_random *random = NULL;
    tc_random_worker *workers[WORKERS];
    uint64_t word = 0, again = 0;
    assert_int_equal(tc_random_new(arena, &run, &random), TC_OK);
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(tc_random_worker_new(arena, random, &workers[i]), TC_OK);
    assert_int_equal(tc_random_open_round(random, 1), TC_OK);
    for (size_t i = 0; i < WORKERS; i++) {
        assert_int_equal(tc_random_bulk(workers[i], 0, 1, &word), TC_OK);
        assert_true(old_word(workers[i]) == word); /* old_word sees a key */
    }
    assert_int_equal(tc_random_open_round(random, 1), TC_OK); /* still open: keys stay */
    for (size_t i = 0; i < WORKERS; i++)
        assert_true(old_word(workers[i]) == word);
    for (uint64_t round = 2; round <= 4; round++) {
        assert_int_equal(tc_random_open_round(random, round), TC_OK);
        for (size_t i = 0; i < WORKERS; i++)
            assert_true(old_word(workers[i]) != word);
        assert_int_equal(tc_random_bulk(workers[0], 0, 1, &again), TC_OK);
        assert_true(again != word);
    }
    tc_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_idle_worker_keeps_no_key_of_the_past)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
