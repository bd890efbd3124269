#include "base/suggest.h"

#include <string.h>

enum { LONGEST = 64, FARTHEST = 3 };

static char folded(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* The optimal string alignment distance; three rows of its table are enough. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *above_that = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            char left = folded(a[i - 1]);
            char right = folded(b[j - 1]);
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (left == right ? 0 : 1));
            if (i > 1 && j > 1 && left == folded(b[j - 2]) && folded(a[i - 2]) == right)
                row[j] = least(row[j], above_that[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *tc_suggest(const char *wrong, const char *const *candidates, size_t count) {
    size_t length = strlen(wrong);
    if (length == 0 || length > LONGEST)
        return NULL;
    size_t nearest = least((length + 1) / 3, FARTHEST) + 1;
    const char *found = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(candidates[i]);
        size_t apart = other > length ? other - length : length - other;
        if (other == 0 || other > LONGEST || apart >= nearest)
            continue;
        size_t away = distance(wrong, length, candidates[i], other);
        if (away < nearest && away < other) {
            nearest = away;
            found = candidates[i];
        }
    }
    return found;
}
