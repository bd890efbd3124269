/* Memory that a thread will need next, asked for a little at a time while it computes on what is near: a burst of
 * requests would only wait for each other. A hint: no result depends on it. */
#ifndef TC_BASE_FETCH_H
#define TC_BASE_FETCH_H

#include <stddef.h>

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
