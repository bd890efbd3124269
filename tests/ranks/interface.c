/* What base/ranks/ranks.h says, by MPI: every rank of this program checks what it gets. Started by test_interface.py;
 * the word `alone` lets one rank fail while the others wait for it. */
#include "base/ranks/ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)fprintf(stderr, "rank %zu: line %d: %s\n", tc_ranks_mine(), __LINE__, #condition);                   \
            tc_ranks_abort(1);                                                                                         \
        }                                                                                                              \
    } while (0)

static size_t ranks, mine;

static void sums(void) {
    uint64_t numbers[3] = {mine + 1, UINT64_C(1) << 63, (uint64_t)0 - mine};
    tc_ranks_sum(numbers, 3);
    CHECK(numbers[0] == ranks * (ranks + 1) / 2);
    CHECK(numbers[1] == (ranks % 2 == 0 ? 0 : UINT64_C(1) << 63));
    CHECK(numbers[2] == (uint64_t)0 - ranks * (ranks - 1) / 2);
    double doubles[2] = {-(double)mine, mine == ranks / 2 ? NAN : 1};
    tc_ranks_largest(doubles, 2);
    CHECK(doubles[0] == 0 && isnan(doubles[1]));
}

/* Pieces of different lengths, one of them empty; more bytes than are gathered at once. */
static void gathers(size_t unit) {
    size_t *ends = calloc(ranks, sizeof *ends), total = 0;
    CHECK(ends != NULL);
    for (size_t r = 0; r < ranks; r++)
        ends[r] = total += r == 1 ? 0 : (r + 1) * unit;
    uint32_t *items = calloc(total, sizeof *items);
    CHECK(items != NULL);
    for (size_t i = mine == 0 ? 0 : ends[mine - 1]; i < ends[mine]; i++)
        items[i] = (uint32_t)i + 1;
    tc_ranks_gather(items, ends, sizeof *items);
    for (size_t i = 0; i < total; i++)
        CHECK(items[i] == (uint32_t)i + 1);
    free(items);
    free(ends);
}

static void bytes(void) {
    char word[8] = "nobody";
    if (mine == ranks - 1)
        memcpy(word, "last", 5);
    tc_ranks_broadcast(word, sizeof word, ranks - 1);
    CHECK(strcmp(word, "last") == 0);
    size_t number = mine;
    tc_ranks_bring(&number, sizeof number, ranks - 1);
    CHECK(number == (mine == 0 ? ranks - 1 : mine));
}

/* 1 + 1/2 + ... in order: the bits of a loop in one process. */
static void chains(void) {
    enum { EACH = 100 };
    double sum = 0.1, expected = 0.1;
    for (size_t i = 0; i < ranks * EACH; i++)
        expected += 1 / (double)(i + 1);
    tc_ranks_chain_take(&sum, sizeof sum);
    for (size_t i = mine * EACH; i < (mine + 1) * EACH; i++)
        sum += 1 / (double)(i + 1);
    tc_ranks_chain_pass(&sum, sizeof sum);
    CHECK(sum == expected);
}

/* A word that grows, with its length: both are given on before either ends. */
static void long_chains(void) {
    char word[64] = "";
    size_t length = 0;
    tc_ranks_chain_take(&length, sizeof length);
    tc_ranks_chain_take(word, length);
    CHECK(length == mine);
    word[length++] = (char)('a' + mine);
    tc_ranks_chain_give(&length, sizeof length);
    tc_ranks_chain_give(word, length);
    tc_ranks_chain_end(&length, sizeof length);
    CHECK(length == ranks);
    tc_ranks_chain_end(word, length);
    for (size_t r = 0; r < ranks; r++)
        CHECK(word[r] == (char)('a' + r));
}

static bool is_last_told;
static bool told(void) { return is_last_told && mine == ranks - 1; }

/* One is told to stop: it waits with it until all know. */
static void stops(void) {
    uint64_t numbers[2] = {1, mine};
    tc_ranks_watch(told);
    tc_ranks_sum(numbers, 2);
    CHECK(!tc_ranks_told() && !tc_ranks_told_here());
    is_last_told = true;
    CHECK(tc_ranks_told_here() == (mine == ranks - 1));
    CHECK(!tc_ranks_told() || ranks == 1);
    numbers[0] = 1;
    tc_ranks_sum(numbers, 1);
    CHECK(numbers[0] == ranks && tc_ranks_told());
    tc_ranks_watch(NULL);
    CHECK(!tc_ranks_told());
}

static void agreement(void) {
    CHECK(tc_ranks_agree(TC_OK) == TC_OK);
    CHECK(tc_ranks_agree(mine == ranks - 1 ? TC_CANNOT_READ : TC_OK) == TC_CANNOT_READ);
    CHECK(tc_ranks_agree(mine == 0 ? TC_NO_MEMORY : TC_BAD_USAGE) == TC_NO_MEMORY);
}

static void parting(void) {
    uint64_t number = 7;
    tc_ranks_part();
    CHECK(tc_ranks_count() == 1 && tc_ranks_mine() == 0 && tc_ranks_started() == ranks);
    tc_ranks_sum(&number, 1);
    CHECK(number == 7);
    CHECK(tc_ranks_join());
    CHECK(tc_ranks_count() == ranks && tc_ranks_mine() == mine);
    tc_ranks_barrier();
}

/* One rank leaves while it works alone: the others learn of it, and none waits. */
static void leaving(void) {
    int code = mine == ranks - 1 ? 3 : 0;
    tc_ranks_part();
    if (mine < ranks - 1)
        CHECK(!tc_ranks_join());
    CHECK(tc_ranks_meet(&code, false) == (mine == 0 ? TC_RANK_PRINTS : TC_RANK_IS_SILENT));
    CHECK(code == (ranks == 1 ? 3 : 0) && tc_ranks_count() == ranks);
}

/* A failure is printed by the rank that has it. */
static void meeting(void) {
    int code = mine == ranks / 2 ? 2 : 0;
    tc_rank_voice voice = tc_ranks_meet(&code, code > 1);
    CHECK(code == 2);
    CHECK(voice == (mine == ranks / 2 ? TC_RANK_PRINTS : TC_RANK_IS_SILENT));
    code = 0;
    CHECK(tc_ranks_meet(&code, code > 1) == (mine == 0 ? TC_RANK_PRINTS : TC_RANK_IS_SILENT));
    CHECK(code == 0);
    if (mine == 0)
        (void)printf("%zu ranks\n", ranks);
}

static void fail_alone(void) {
    int code = 3;
    if (mine == ranks - 1 && tc_ranks_meet(&code, true) == TC_RANK_FAILED_ALONE) {
        (void)fprintf(stderr, "rank %zu failed alone\n", mine);
        tc_ranks_abort(code);
    }
    tc_ranks_barrier(); /* for ever */
}

int main(int argc, char **argv) {
    tc_ranks_begin(&argc, &argv);
    ranks = tc_ranks_count();
    mine = tc_ranks_mine();
    if (argc > 1) {
        fail_alone();
        return 0;
    }
    sums();
    gathers(10);
    gathers(18000000 / (ranks * ranks));
    bytes();
    chains();
    long_chains();
    stops();
    agreement();
    parting();
    leaving();
    meeting();
    tc_ranks_end();
    return 0;
}
