/* The machine below the library: its arithmetic, its locale, its processors, its memory. */
#ifndef TC_BASE_MACHINE_H
#define TC_BASE_MACHINE_H

#include <locale.h>
#include <stddef.h>

/* All proofs are about IEEE binary64 to nearest, with subnormal numbers. The host program, a library compiled for speed
 * or the parent thread may have switched to another arithmetic, and every bound would silently be wrong.
 * NULL where the calling thread computes as the proofs say; otherwise one sentence that says what is different. */
const char *tc_arithmetic_fault(void);

/* The host program may have chosen a locale with a decimal comma: numbers in files, JSON and hashes must not have one.
 * Makes the calling thread's locale that of C until tc_locale_end is given what this returned. */
locale_t tc_locale_begin(void);
void tc_locale_end(locale_t before);

/* Monotonic, in seconds. */
double tc_seconds(void);

/* Processors that this process may use. */
size_t tc_processors(void);

/* Returns free pages to the system. The C library by itself keeps those below a block that is still in use. */
#ifdef __GLIBC__
#include <malloc.h>
#define TC_GIVE_BACK_MEMORY() ((void)malloc_trim(0))
#else
#define TC_GIVE_BACK_MEMORY() ((void)0)
#endif

/* Asks the system for pages of 2 MiB, for an array that every round goes through: fewer addresses to look up. A hint.
 */
void tc_prefer_large_pages(const void *memory, size_t bytes);

/* Asks the system to begin writing a file's bytes to the disk. A hint: nothing is durable because of it. */
void tc_begin_writing(int descriptor);

/* Prefetches the memory that a thread needs next, a little at a time while it computes: in a burst the requests would
 * only wait for each other. A hint: no result depends on it. */
enum { TC_FETCH_ROWS = 16, TC_FETCH_LINE = 8 }; /* doubles of one line of a cache */

typedef struct tc_fetch {
    const double *rows[TC_FETCH_ROWS];
    size_t row_count;
    size_t at, count; /* of each row: asked for so far, and in all */
    size_t pace;      /* at a time; a multiple of TC_FETCH_LINE */
} tc_fetch;

static inline void tc_fetch_some(tc_fetch *fetch) {
    size_t end = fetch->count - fetch->at < fetch->pace ? fetch->count : fetch->at + fetch->pace;
    for (; fetch->at < end; fetch->at += TC_FETCH_LINE)
        for (size_t i = 0; i < fetch->row_count; i++)
            __builtin_prefetch(fetch->rows[i] + fetch->at, 0, 2);
    fetch->at = end;
}

static inline int tc_fetch_is_done(const tc_fetch *fetch) { return fetch->at >= fetch->count; }

#endif
