/* labels: threads */
#define _DEFAULT_SOURCE /* mincore */
#include "base/arena.h"
#include "support/cmocka.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void memory_is_zeroed_and_aligned(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    for (size_t size = 1; size < 100000; size = size * 3 + 1) {
        unsigned char *bytes = TC_NEW(arena, unsigned char, size);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(bytes[i], 0);
        memset(bytes, 0xff, size);
        long double *number = TC_NEW(arena, long double, 1);
        assert_int_equal((uintptr_t)number % _Alignof(long double), 0);
    }
    tc_arena_free(arena);
}

static void room_is_not_zeroed_and_as_large(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    for (size_t size = 64; size < 100000; size = size * 3 + 1) {
        unsigned char *room = tc_arena_room(arena, size, 1);
        memset(room, 0xff, size);
        assert_int_equal((uintptr_t)room % 64, 0);
        assert_int_equal(*TC_NEW(arena, unsigned char, 1), 0);
        assert_int_equal(room[size - 1], 0xff);
    }
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        (void)tc_arena_room(arena, SIZE_MAX / 8, sizeof(double));
    tc_escape_end(arena, &escape);
    assert_int_equal(status, TC_TOO_LARGE);
    tc_arena_free(arena);
}

static void the_limit_escapes_to_the_entry_point(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(1 << 20);
    assert_non_null(arena);
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK) {
        for (;;)
            (void)TC_NEW(arena, double, 1000);
    }
    tc_escape_end(arena, &escape);
    assert_int_equal(status, TC_TOO_LARGE);
    assert_true(tc_arena_bytes(arena) <= 1 << 20);
    tc_arena_free(arena);
}

static void an_overflowing_size_escapes(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        (void)tc_arena_alloc(arena, SIZE_MAX / 2, 16);
    tc_escape_end(arena, &escape);
    assert_int_equal(status, TC_TOO_LARGE);
    tc_arena_free(arena);
}

/* Large memory: zero also where it was used before, and where nobody touches a page, none is taken. */
static void large_memory_is_zeroed_and_costs_nothing_until_touched(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    for (size_t size = 1 << 20, round = 0; round < 8; round++) {
        tc_mark mark = tc_arena_mark(arena);
        unsigned char *bytes = TC_NEW(arena, unsigned char, size + round * 4096);
        assert_int_equal((uintptr_t)bytes % 64, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(bytes[i], 0);
        memset(bytes, 0xff, size);
        assert_int_equal(*TC_NEW(arena, unsigned char, 1), 0);
        tc_arena_rewind(arena, mark);
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = ((size_t)64 << 20) / page, present = 0;
    unsigned char *bytes = TC_NEW(arena, unsigned char, (pages + 1) * page);
    unsigned char *first = bytes + (page - (uintptr_t)bytes % page), *seen = TC_NEW(arena, unsigned char, pages);
    assert_int_equal(mincore(first, (pages - 1) * page, seen), 0);
    for (size_t i = 0; i < pages; i++)
        present += seen[i] & 1;
#ifndef __SANITIZE_THREAD__ /* its calloc touches what it gives */
    assert_true(present < pages / 8);
#endif
    assert_int_equal(bytes[pages * page], 0);
    tc_arena_free(arena);
}

static void count_release(void *what) { ++*(int *)what; }

static void releases_run_once_when_the_arena_is_freed(void **state) {
    (void)state;
    int released = 0;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    tc_arena_on_free(arena, count_release, &released);
    assert_int_equal(released, 0);
    tc_arena_free(arena);
    assert_int_equal(released, 1);
}

static void rewinding_gives_scratch_memory_back(void **state) {
    (void)state;
    tc_arena *arena = tc_arena_new(0);
    assert_non_null(arena);
    char *kept = tc_arena_copy(arena, "kept", 4);
    tc_mark mark = tc_arena_mark(arena);
    size_t before = tc_arena_bytes(arena);
    (void)TC_NEW(arena, double, 1000000);
    tc_arena_rewind(arena, mark);
    assert_int_equal(tc_arena_bytes(arena), before);
    assert_string_equal(kept, "kept");
    tc_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(room_is_not_zeroed_and_as_large),
        cmocka_unit_test(large_memory_is_zeroed_and_costs_nothing_until_touched),
        cmocka_unit_test(the_limit_escapes_to_the_entry_point),
        cmocka_unit_test(an_overflowing_size_escapes),
        cmocka_unit_test(releases_run_once_when_the_arena_is_freed),
        cmocka_unit_test(rewinding_gives_scratch_memory_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
