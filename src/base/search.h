/* Binary search in sorted arrays. */
#ifndef TC_BASE_SEARCH_H
#define TC_BASE_SEARCH_H

/* at becomes the first of from .. to - 1 for which is_before, an expression in at, is false; to where there is none.
 * A macro, so that the comparison is compiled into the loop:
 *     size_t at;
 *     TC_SEARCH(at, 0, count, rows[at].k < k);       // the first row that is not before k */
#define TC_SEARCH(at, from, to, is_before)                                                                             \
    do {                                                                                                               \
        __typeof__(at) search_low = (from), search_high = (to);                                                        \
        while (search_low < search_high) {                                                                             \
            (at) = search_low + (search_high - search_low) / 2;                                                        \
            if (is_before)                                                                                             \
                search_low = (at) + 1;                                                                                 \
            else                                                                                                       \
                search_high = (at);                                                                                    \
        }                                                                                                              \
        (at) = search_low;                                                                                             \
    } while (0)

#endif
