#include "analysis/convexity/psd.h"

#include "analysis/convexity/eigen.h"

#include <string.h>

static bool is_zero(tc_interval a) { return a.lo == 0 && a.hi == 0; }

/* Each diagonal entry at least the sum of its row's other magnitudes. Sums are exact where they can be, so that a
 * graph Laplacian, which is only just semidefinite, passes. */
static bool diagonally_dominant(const tc_interval *h, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum = j == i ? sum : tc_add_up(sum, tc_magnitude(h[i * n + j]));
        if (!(h[i * n + i].lo >= sum))
            return false;
    }
    return true;
}

/* LDL' in interval arithmetic, in the given order; destroys h. A pivot that is exactly zero is fine if its column is.
 */
static bool factors(tc_interval *h, size_t n) {
    for (size_t k = 0; k < n; k++) {
        tc_interval pivot = h[k * n + k];
        bool empty = true;
        for (size_t i = k + 1; i < n; i++)
            empty = empty && is_zero(h[i * n + k]);
        if (!(pivot.lo >= 0))
            return false;
        if (empty)
            continue;
        if (!(pivot.lo > 0))
            return false;
        for (size_t i = k + 1; i < n; i++) {
            if (is_zero(h[i * n + k]))
                continue;
            tc_interval ratio = tc_idiv(h[i * n + k], pivot);
            for (size_t j = k + 1; j < i; j++)
                h[i * n + j] = tc_isub(h[i * n + j], tc_imul(ratio, h[j * n + k]));
            /* h_ik^2 / pivot, as a square, so that it is not negative */
            h[i * n + i] = tc_isub(h[i * n + i], tc_idiv(tc_isquare(h[i * n + k]), pivot));
        }
    }
    return true;
}

/* midpoint - |radius|_2 I is positive definite: Cholesky with a bound of its error. */
static bool midpoint_positive(tc_arena *arena, const tc_interval *h, size_t n) {
    double *middle = TC_NEW(arena, double, n *n), *radius = TC_NEW(arena, double, n *n);
    for (size_t i = 0; i < n * n; i++) {
        if (!tc_is_finite(h[i]))
            return false;
        middle[i] = h[i].lo / 2 + h[i].hi / 2;
        radius[i] = tc_is_point(h[i]) ? 0 : fmax(tc_add_up(h[i].hi, -middle[i]), tc_add_up(middle[i], -h[i].lo));
    }
    return tc_certainly_positive(arena, middle, n, tc_perron_upper(arena, radius, n));
}

static bool connected_psd(tc_arena *arena, const tc_interval *h, size_t n) {
    if (n == 1)
        return h[0].lo >= 0;
    if (diagonally_dominant(h, n))
        return true;
    tc_interval *copy = TC_NEW(arena, tc_interval, n * n);
    memcpy(copy, h, n * n * sizeof *h);
    return factors(copy, n) || midpoint_positive(arena, h, n);
}

bool tc_interval_psd(tc_arena *arena, const tc_interval *h, size_t n, int sign) {
    tc_mark mark = tc_arena_mark(arena);
    bool *seen = TC_NEW(arena, bool, n + 1), holds = true;
    size_t *members = TC_NEW(arena, size_t, n + 1);
    for (size_t seed = 0; seed < n && holds; seed++) {
        if (seen[seed])
            continue;
        size_t count = 0;
        members[count++] = seed;
        seen[seed] = true;
        for (size_t next = 0; next < count; next++) {
            for (size_t j = 0; j < n; j++) {
                if (!seen[j] && !is_zero(h[members[next] * n + j])) {
                    seen[j] = true;
                    members[count++] = j;
                }
            }
        }
        tc_mark inner = tc_arena_mark(arena);
        tc_interval *block = TC_NEW(arena, tc_interval, count * count);
        for (size_t i = 0; i < count; i++) {
            for (size_t j = 0; j < count; j++) {
                tc_interval entry = h[members[i] * n + members[j]];
                block[i * count + j] = sign < 0 ? tc_ineg(entry) : entry;
            }
        }
        holds = connected_psd(arena, block, count);
        tc_arena_rewind(arena, inner);
    }
    tc_arena_rewind(arena, mark);
    return holds;
}
