/* A near miss of a name: "did you mean 'feeder'?". */
#ifndef TC_BASE_SUGGEST_H
#define TC_BASE_SUGGEST_H

#include <stddef.h>

/* The candidate nearest to what was written, or NULL when nothing is close. Letters left out, added, changed or
 * swapped with a neighbour count one each; upper and lower case are the same. The first of equals wins. */
const char *tc_suggest(const char *wrong, const char *const *candidates, size_t count);

#endif
