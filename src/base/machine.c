/* Which processors a process may use is not in POSIX, nor are large pages and the beginning of writing. */
#define _GNU_SOURCE
#include "base/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <time.h>

enum { FIRST_GUESS = 1024, MOST_PROCESSORS = 1 << 20 };

/* By what the processor does, and not by what a register says: some machines have more than one. volatile keeps the
 * compiler from computing the results. */
static bool rounds_to_nearest(void) {
    static volatile double one = 1, half = 0x1p-54, more = 0x1.8p-53;
    bool above = one + half == 1 && one + more == 1 + 0x1p-52;
    bool below = -one - half == -1 && -one - more == -1 - 0x1p-52;
    return above && below && fegetround() == FE_TONEAREST;
}

static bool keeps_subnormal_results(void) {
    static volatile double least = 0x1p-1022, half = 0.5;
    volatile double result = least * half;
    return result * 0x1p1000 == 0x1p-23;
}

static bool keeps_subnormal_operands(void) {
    static volatile double tiny = 0x1p-1060, large = 0x1p1000;
    return tiny * large == 0x1p-60;
}

const char *tc_arithmetic_fault(void) {
    if (!rounds_to_nearest())
        return "arithmetic in this process does not round to nearest, and all guarantees assume that it does: a "
               "library "
               "that it loaded has changed the rounding mode";
    if (!keeps_subnormal_operands() || !keeps_subnormal_results())
        return "arithmetic in this process treats the smallest numbers as zero, and all guarantees assume that it does "
               "not: a library that it loaded has switched on flush-to-zero or denormals-are-zero, as libraries "
               "compiled "
               "with -ffast-math do";
    return NULL;
}

/* 0 where the system does not say. */
static size_t allowed_processors(void) {
    for (size_t room = FIRST_GUESS; room <= MOST_PROCESSORS; room *= 2) {
        cpu_set_t *set = CPU_ALLOC(room);
        if (set == NULL)
            return 0;
        size_t size = CPU_ALLOC_SIZE(room);
        bool known = sched_getaffinity(0, size, set) == 0;
        bool too_small = !known && errno == EINVAL;
        size_t count = known ? (size_t)CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (!too_small)
            return count;
    }
    return 0;
}

size_t tc_processors(void) {
    size_t allowed = allowed_processors();
    if (allowed > 0)
        return allowed;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

locale_t tc_locale_begin(void) {
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a static one: nothing to free */
    return plain == (locale_t)0 ? plain : uselocale(plain);
}

void tc_locale_end(locale_t before) {
    if (before != (locale_t)0)
        (void)uselocale(before);
}

double tc_seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void tc_prefer_large_pages(const void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)1 << 21, begin = (uintptr_t)memory, end = begin + bytes;
    const uintptr_t first = (begin + page - 1) / page * page, last = end / page * page; /* whole ones inside */
    if (first < last)
        (void)madvise((void *)first, last - first, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)bytes;
#endif
}

void tc_begin_writing(int descriptor) {
#ifdef SYNC_FILE_RANGE_WRITE
    (void)sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
#else
    (void)descriptor;
#endif
}
