/* Random expressions in x and y, finite on [-1, 2]^2, of every operator the language has. */
#ifndef TC_TESTS_RANDOM_EXPRESSION_H
#define TC_TESTS_RANDOM_EXPRESSION_H

#include "analysis/study.h"

static inline void grow(char *out, size_t size, int depth, uint64_t *seed) {
    char a[400], b[400];
    int pick = (int)(random_unit(seed) * 16);
    if (depth == 0) {
        const char *const leaves[] = {"x", "y", "(x + y)", "(2*x - y)", "(3 - x)", "0.5"};
        (void)snprintf(out, size, "%s", leaves[pick % 6]);
        return;
    }
    grow(a, sizeof a, depth - 1, seed);
    grow(b, sizeof b, depth - 1, seed);
    static const char *const forms[] = {"(%s + %s)",
                                        "(%s - %s)",
                                        "(%s * %s)",
                                        "(%s)^2 + %s",
                                        "-(%s) + (%s)^2",
                                        "exp(0.3*(%s)) + %s",
                                        "%s / (%s + 9)",
                                        "huber(%s, 0.7) + %s",
                                        "logsumexp([%s, %s])",
                                        "(%s)^4 - 2*%s",
                                        "sqrt((%s)^2 + (%s)^2 + 1)",
                                        "-log(9 + %s) + %s",
                                        "(%s)^3 + %s",
                                        "2*(%s) + (%s)^2",
                                        "(%s)^2 * 0.5 + %s",
                                        "1/(20 - %s) + %s"};
    if (strlen(a) + strlen(b) > 300)
        (void)snprintf(out, size, "%s", a);
    else {
        char form[64];
        (void)snprintf(form, sizeof form, "%s", forms[pick]);
        char *first = strstr(form, "%s"), *second = strstr(first + 2, "%s");
        (void)snprintf(out, size, "(%.*s%s%.*s%s%s)", (int)(first - form), form, a, (int)(second - first - 2),
                       first + 2, b, second + 2);
    }
}

#endif
