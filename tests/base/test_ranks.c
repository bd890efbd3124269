#include "base/ranks/ranks.h"
#include "support/cmocka.h"

enum { MOST_RANKS = 9, MOST_BLOCKS = 40 };

/* Every block of every list has one holder; those of a long list are in order of ranks, and differ by one at most. */
static void every_block_has_one_holder(void **state) {
    (void)state;
    for (size_t ranks = 1; ranks <= MOST_RANKS; ranks++)
        for (size_t blocks = 0; blocks <= MOST_BLOCKS; blocks++)
            for (size_t list = 0; list < 3; list++) {
                int holders[MOST_BLOCKS] = {0};
                size_t before = 0, least = MOST_BLOCKS, most = 0;
                for (size_t rank = 0; rank < ranks; rank++) {
                    size_t first = 0, end = 0;
                    tc_ranks_share_of(list, blocks, rank, ranks, &first, &end);
                    assert_true(first <= end && end <= blocks);
                    assert_true(blocks == 1 || first == before);
                    before = end;
                    least = end - first < least ? end - first : least;
                    most = end - first > most ? end - first : most;
                    for (size_t b = first; b < end; b++)
                        holders[b]++;
                }
                for (size_t b = 0; b < blocks; b++)
                    assert_int_equal(holders[b], 1);
                assert_true(most <= least + 1);
            }
}

static void single_blocks_go_round(void **state) {
    (void)state;
    for (size_t list = 0; list < 10; list++)
        for (size_t rank = 0; rank < 3; rank++) {
            size_t first = 0, end = 0;
            tc_ranks_share_of(list, 1, rank, 3, &first, &end);
            assert_int_equal(end - first, list % 3 == rank);
        }
}

static void long_lists_do_not_overflow(void **state) {
    (void)state;
    size_t first = 0, end = 0;
    tc_ranks_share_of(0, SIZE_MAX, 6, 7, &first, &end);
    assert_true(end == SIZE_MAX);
    assert_true(end - first <= SIZE_MAX / 7 + 1);
}

static bool is_told(void) { return true; }

/* A process without others: nothing changes, it holds all and it prints. */
static void one_rank_has_all(void **state) {
    (void)state;
    uint64_t numbers[] = {3, UINT64_MAX};
    double doubles[] = {2.5};
    size_t first = 1, end = 0, ends[] = {2};
    int code = 2;
    assert_int_equal(tc_ranks_count(), 1);
    assert_int_equal(tc_ranks_started(), 1);
    assert_int_equal(tc_ranks_mine(), 0);
    tc_ranks_share(5, 17, &first, &end);
    assert_int_equal(first, 0);
    assert_int_equal(end, 17);
    tc_ranks_sum(numbers, 2);
    tc_ranks_gather(numbers, ends, sizeof numbers[0]);
    tc_ranks_chain_take(numbers, sizeof numbers);
    tc_ranks_chain_pass(numbers, sizeof numbers);
    tc_ranks_chain_give(numbers, sizeof numbers);
    tc_ranks_chain_end(numbers, sizeof numbers);
    assert_false(tc_ranks_told());
    tc_ranks_watch(is_told);
    assert_true(tc_ranks_told() && tc_ranks_told_here());
    tc_ranks_watch(NULL);
    tc_ranks_broadcast(numbers, sizeof numbers, 0);
    tc_ranks_bring(numbers, sizeof numbers, 0);
    tc_ranks_largest(doubles, 1);
    tc_ranks_part();
    assert_true(tc_ranks_join());
    tc_ranks_barrier();
    assert_true(numbers[0] == 3 && numbers[1] == UINT64_MAX && doubles[0] == 2.5);
    assert_int_equal(tc_ranks_agree(TC_OK), TC_OK);
    assert_int_equal(tc_ranks_agree(TC_CANNOT_READ), TC_CANNOT_READ);
    assert_int_equal(tc_ranks_meet(&code, true), TC_RANK_PRINTS);
    assert_int_equal(code, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_has_one_holder),
        cmocka_unit_test(single_blocks_go_round),
        cmocka_unit_test(long_lists_do_not_overflow),
        cmocka_unit_test(one_rank_has_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
