/* Random inputs of tests: splitmix64 from a fixed seed, and which case a test failed at. */
#ifndef TC_TESTS_SUPPORT_RANDOM_H
#define TC_TESTS_SUPPORT_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Sanitizers make programs several times slower, and so does counting for coverage: an eighth of the cases. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(TACIT_FEW_CASES)
#define CASES(count) ((count) / 8)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define CASES(count) ((count) / 8)
#endif
#endif
#ifndef CASES
#define CASES(count) (count)
#endif

static inline uint64_t random_word(uint64_t *seed) {
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t *seed, uint64_t limit) { return random_word(seed) % limit; }

/* In [0, 1). */
static inline double random_unit(uint64_t *seed) { return (double)(random_word(seed) >> 11) * 0x1p-53; }

static inline double uniform(uint64_t *seed, double low, double high) { return low + (high - low) * random_unit(seed); }

/* AT_CASE(i), first in a loop over many cases: at its end the program prints the last i of every such loop. The loop of
 * a test that failed stopped at the case that failed. */
typedef struct last_case {
    const char *test, *name;
    unsigned long long value;
    struct last_case *next;
} last_case;

static inline last_case **last_cases(void) {
    static last_case *first;
    return &first;
}

static inline void print_last_cases(void) {
    for (const last_case *at = *last_cases(); at != NULL; at = at->next)
        (void)fprintf(stderr, "last case of %s: %s = %llu\n", at->test, at->name, at->value);
}

static inline void add_last_case(last_case *at, const char *test, const char *name) {
    if (*last_cases() == NULL)
        (void)atexit(print_last_cases);
    *at = (last_case){.test = test, .name = name, .next = *last_cases()};
    *last_cases() = at;
}

#define AT_CASE(number)                                                                                                \
    do {                                                                                                               \
        static last_case at_case;                                                                                      \
        if (at_case.test == NULL)                                                                                      \
            add_last_case(&at_case, __func__, #number);                                                                \
        at_case.value = (unsigned long long)(number);                                                                  \
    } while (0)

#endif
