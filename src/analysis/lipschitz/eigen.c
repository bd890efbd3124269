#include "analysis/lipschitz/norm.h"

#include "calculus/interval/interval.h"

#include <float.h>
#include <string.h>

enum { KRYLOV = 32, RESTARTS = 40, POWER_STEPS = 60 };

static const double HALF_ULP = 0x1p-53;

static double dot(const double *x, const double *y, size_t n) {
    double sum[4] = {0}; /* four chains, for speed; the error bounds hold for any order of addition */
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (size_t k = 0; k < 4; k++)
            sum[k] += x[i + k] * y[i + k];
    }
    for (; i < n; i++)
        sum[0] += x[i] * y[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void tc_apply_dense(const void *matrix, size_t n, const double *x, double *y) {
    const double *a = matrix;
    for (size_t i = 0; i < n; i++)
        y[i] = dot(a + i * n, x, n);
}

/* ---- estimates ---- */

/* A symmetric tridiagonal matrix: what Lanczos makes of a large one. */
typedef struct tridiagonal {
    size_t n;
    double diagonal[KRYLOV], beside[KRYLOV]; /* beside[i]: between i and i + 1 */
} tridiagonal;

/* Whether some eigenvalue is above the level: some pivot of level - T is negative (Sylvester's law). */
static bool reaches_above(const tridiagonal *t, double level) {
    double pivot = 1;
    for (size_t i = 0; i < t->n; i++) {
        double before = i > 0 ? t->beside[i - 1] : 0;
        pivot = level - t->diagonal[i] - (before != 0 ? before * before / pivot : 0);
        if (!(pivot > 0))
            return true;
    }
    return false;
}

/* The largest eigenvalue, by bisection, from above. */
static double tridiagonal_largest(const tridiagonal *t) {
    double low = -INFINITY, high = -INFINITY, size = 0;
    for (size_t i = 0; i < t->n; i++) {
        double sides = (i > 0 ? t->beside[i - 1] : 0) + (i + 1 < t->n ? t->beside[i] : 0);
        low = fmax(low, t->diagonal[i]);
        high = fmax(high, t->diagonal[i] + sides);
        size = fmax(size, fabs(t->diagonal[i]) + sides);
    }
    while (high - low > HALF_ULP * size) {
        double middle = low / 2 + high / 2;
        if (!(middle > low && middle < high))
            break;
        if (reaches_above(t, middle))
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Its vector: the recurrences of T v = value v from both ends, which meet where they agree best. Each is stable up to
 * there, and value - T has positive pivots but for the last. */
static void tridiagonal_vector(const tridiagonal *t, double value, double *vector) {
    size_t n = t->n, meet = 0;
    double down[KRYLOV], up[KRYLOV], least = INFINITY, tiny = DBL_EPSILON * fabs(value) + DBL_MIN;
    for (size_t i = 0; i < n; i++) {
        double pivot = value - t->diagonal[i] - (i > 0 ? t->beside[i - 1] * t->beside[i - 1] / down[i - 1] : 0);
        down[i] = fmax(pivot, tiny);
    }
    for (size_t i = n; i-- > 0;) {
        double pivot = value - t->diagonal[i] - (i + 1 < n ? t->beside[i] * t->beside[i] / up[i + 1] : 0);
        up[i] = fmax(pivot, tiny);
    }
    for (size_t i = 0; i < n; i++) {
        double left = fabs(down[i] + up[i] - (value - t->diagonal[i]));
        meet = left < least ? i : meet;
        least = fmin(left, least);
    }
    vector[meet] = 1;
    for (size_t i = meet; i-- > 0;)
        vector[i] = t->beside[i] * vector[i + 1] / down[i];
    for (size_t i = meet + 1; i < n; i++)
        vector[i] = t->beside[i - 1] * vector[i - 1] / up[i];
    double length = sqrt(dot(vector, vector, n));
    for (size_t i = 0; i < n; i++)
        vector[i] /= length;
}

/* Builds an orthonormal Krylov basis from vector, fully reorthogonalised twice, and the matrix seen from it. */
static void krylov(tc_apply apply, const void *matrix, size_t n, size_t most, const double *vector, double *basis,
                   double *image, tridiagonal *t) {
    memcpy(basis, vector, n * sizeof *basis);
    for (t->n = 0; t->n < most; t->n++) {
        size_t k = t->n;
        double *next = basis + k * n;
        double before = sqrt(dot(next, next, n));
        for (int twice = 0; twice < 2; twice++) {
            for (size_t i = 0; i < k; i++) {
                double c = dot(next, basis + i * n, n);
                for (size_t j = 0; j < n; j++)
                    next[j] -= c * basis[i * n + j];
            }
        }
        double length = sqrt(dot(next, next, n));
        if (!(length > 1e-13 * before) || !isfinite(length) || length == 0)
            return;
        for (size_t j = 0; j < n; j++)
            next[j] /= length;
        if (k > 0)
            t->beside[k - 1] = length;
        apply(matrix, n, next, image);
        t->diagonal[k] = dot(next, image, n);
        if (!isfinite(t->diagonal[k]))
            return;
        if (k + 1 < most)
            memcpy(next + n, image, n * sizeof *basis);
    }
}

static void start_vector(double *vector, size_t n) {
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < n; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        vector[i] = 1 + (double)(state >> 40) * 0x1p-25; /* generic and positive: near a Perron vector */
    }
    double length = sqrt(dot(vector, vector, n));
    for (size_t i = 0; i < n; i++)
        vector[i] /= length;
}

double tc_largest_eigen(tc_arena *arena, tc_apply apply, const void *matrix, size_t n, double *vector) {
    if (n == 0)
        return 0;
    start_vector(vector, n);
    size_t most = n < KRYLOV ? n : KRYLOV;
    tc_mark mark = tc_arena_mark(arena);
    double *basis = TC_NEW(arena, double, most *n), *image = TC_NEW(arena, double, n);
    double value = -INFINITY;
    for (int restart = 0; restart < RESTARTS; restart++) {
        tridiagonal t;
        double y[KRYLOV];
        krylov(apply, matrix, n, most, vector, basis, image, &t);
        if (t.n == 0)
            break;
        double found = tridiagonal_largest(&t);
        tridiagonal_vector(&t, found, y);
        for (size_t j = 0; j < n; j++) {
            vector[j] = 0;
            for (size_t i = 0; i < t.n; i++)
                vector[j] += y[i] * basis[i * n + j];
        }
        bool settled = !(fabs(found - value) > 1e-15 * fabs(found));
        value = found;
        if (settled || t.n == n)
            break;
    }
    tc_arena_rewind(arena, mark);
    return value;
}

/* ---- Collatz-Wielandt ---- */

/* Marks the connected component of `seed` in the graph of non-zeros; returns its size and its indices. */
static size_t component(const double *matrix, size_t n, size_t seed, bool *seen, size_t *members) {
    size_t count = 0;
    members[count++] = seed;
    seen[seed] = true;
    for (size_t next = 0; next < count; next++) {
        const double *row = matrix + members[next] * n;
        for (size_t j = 0; j < n; j++) {
            if (!seen[j] && row[j] != 0) {
                seen[j] = true;
                members[count++] = j;
            }
        }
    }
    return count;
}

/* The largest quotient (A v)_i / v_i, rounded up; v > 0. */
static double quotient_bound(const double *a, size_t n, const double *v, double *image) {
    tc_apply_dense(a, n, v, image);
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        /* a sum of n products of non-negative numbers has a relative error below (n + 1) ulp, and an absolute one
         * from underflow */
        double up = tc_mul_up(image[i], 1 + (double)(n + 2) * DBL_EPSILON);
        up = tc_add_up(up, (double)n * 0x1p-1073);
        up = tc_div_up(up, v[i]);
        worst = up > worst || isnan(up) ? up : worst;
    }
    return isnan(worst) ? (double)INFINITY : worst;
}

static double perron_connected(tc_arena *arena, const double *a, size_t n) {
    double *v = TC_NEW(arena, double, n), *image = TC_NEW(arena, double, n);
    double value = tc_largest_eigen(arena, tc_apply_dense, a, n, v);
    if (!isfinite(value))
        return INFINITY;
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(v[i]));
    for (size_t i = 0; i < n; i++)
        v[i] = fmax(fabs(v[i]), 1e-9 * largest);
    double best = INFINITY;
    for (int step = 0; step < POWER_STEPS; step++) {
        double bound = quotient_bound(a, n, v, image);
        if (bound < best)
            best = bound;
        if (!(bound > value * (1 + 4e-15 * (double)(n + 2))))
            break;
        double top = 0;
        for (size_t i = 0; i < n; i++) {
            v[i] = image[i] + 0.1 * value * v[i]; /* the shift breaks cycles of period two */
            top = fmax(top, v[i]);
        }
        if (!(top > 0) || !isfinite(top))
            break;
        for (size_t i = 0; i < n; i++)
            v[i] = fmax(v[i] / top, 1e-280);
    }
    return best;
}

double tc_perron_upper(tc_arena *arena, const double *matrix, size_t n) {
    tc_mark mark = tc_arena_mark(arena);
    bool *seen = TC_NEW(arena, bool, n);
    size_t *members = TC_NEW(arena, size_t, n);
    double *block = TC_NEW(arena, double, n *n);
    double worst = 0;
    for (size_t seed = 0; seed < n; seed++) {
        if (seen[seed])
            continue;
        size_t k = component(matrix, n, seed, seen, members);
        if (k == 1) {
            worst = fmax(worst, matrix[seed * n + seed]);
            continue;
        }
        for (size_t i = 0; i < k; i++) {
            for (size_t j = 0; j < k; j++)
                block[i * k + j] = matrix[members[i] * n + members[j]];
        }
        tc_mark inner = tc_arena_mark(arena);
        worst = fmax(worst, perron_connected(arena, block, k));
        tc_arena_rewind(arena, inner);
    }
    tc_arena_rewind(arena, mark);
    return worst;
}

/* ---- verified Cholesky ---- */

/* A shift that covers the rounding of a Cholesky factorisation of a matrix with this trace (Rump: the factorisation
 * of B - shift I runs to its end only if B is positive definite). */
static double cholesky_shift(size_t n, double trace) {
    double gamma = (double)(n + 3) * HALF_ULP;
    double shift = tc_mul_up(tc_div_up(gamma, 1 - 3 * gamma), trace);
    return tc_add_up(shift, (double)(n * n + 10) * 0x1p-1000);
}

/* Factors l in place; false where a pivot is not positive. */
static bool cholesky_runs(double *l, size_t n) {
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < j; i++) {
            double sum = l[j * n + i] - dot(l + j * n, l + i * n, i);
            l[j * n + i] = sum / l[i * n + i];
        }
        double pivot = l[j * n + j] - dot(l + j * n, l + j * n, j);
        if (!(pivot > 0) || !isfinite(pivot))
            return false;
        l[j * n + j] = sqrt(pivot);
    }
    return true;
}

/* sign * matrix + level I - error I - shift I is positive definite. */
static bool shifted_positive(tc_arena *arena, const double *matrix, size_t n, double sign, double level, double error) {
    double trace = 0, spread = 0;
    for (size_t i = 0; i < n; i++) {
        double entry = tc_add_up(level, sign * matrix[i * n + i]);
        if (!(entry > 0) || !isfinite(entry))
            return n == 0;
        trace = tc_add_up(trace, entry);
        spread = fmax(spread, fmax(fabs(level), fabs(matrix[i * n + i])));
    }
    double margin = tc_add_up(error, cholesky_shift(n, trace));
    margin = tc_add_up(margin, tc_mul_up(4 * HALF_ULP, spread)); /* of forming the diagonal */
    tc_mark mark = tc_arena_mark(arena);
    double *l = TC_NEW(arena, double, n *n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            l[i * n + j] = sign * matrix[i * n + j];
        l[i * n + i] = tc_add_down(tc_add_down(level, sign * matrix[i * n + i]), -margin);
    }
    bool runs = cholesky_runs(l, n);
    tc_arena_rewind(arena, mark);
    return runs;
}

bool tc_certainly_positive(tc_arena *arena, const double *matrix, size_t n, double error) {
    return shifted_positive(arena, matrix, n, 1, 0, error);
}

double tc_eigen_upper(tc_arena *arena, const double *matrix, size_t n, double error) {
    if (n == 0)
        return error;
    double rows = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double row = 0;
        for (size_t j = 0; j < n; j++) {
            row = tc_add_up(row, fabs(matrix[i * n + j]));
            squares = tc_add_up(squares, tc_mul_up(matrix[i * n + j], matrix[i * n + j]));
        }
        rows = row > rows || isnan(row) ? row : rows;
    }
    double best = fmin(rows, tc_sqrt_up(squares));
    if (!isfinite(best))
        return INFINITY;
    double *v = TC_NEW(arena, double, n);
    double estimate = tc_largest_eigen(arena, tc_apply_dense, matrix, n, v);
    if (n > 1 && isfinite(estimate)) {
        double scale = fmax(fabs(estimate), 1e-3 * best);
        for (double step = 2.5e-16 * (double)(n + 4) * (double)(n + 4); step < 1; step *= 20) {
            double level = estimate + step * scale;
            if (level >= best)
                break;
            if (shifted_positive(arena, matrix, n, -1, level, 0)) {
                best = level;
                break;
            }
        }
    } else if (n == 1) {
        best = fmin(best, matrix[0]);
    }
    return tc_add_up(best, error);
}

double tc_eigen_lower(tc_arena *arena, const double *matrix, size_t n, double error) {
    if (n == 0)
        return -error;
    double best = -INFINITY;
    for (size_t i = 0; i < n; i++)
        best = fmax(best, matrix[i * n + i]);
    double *v = TC_NEW(arena, double, n);
    (void)tc_largest_eigen(arena, tc_apply_dense, matrix, n, v);
    tc_interval form = tc_point(0), length = tc_point(0);
    for (size_t i = 0; i < n; i++) {
        tc_interval row = tc_point(0);
        for (size_t j = 0; j < n; j++)
            row = tc_iadd(row, tc_imul(tc_point(matrix[i * n + j]), tc_point(v[j])));
        form = tc_iadd(form, tc_imul(tc_point(v[i]), row));
        length = tc_iadd(length, tc_isquare(tc_point(v[i])));
    }
    if (length.lo > 0) {
        double quotient = form.lo >= 0 ? tc_div_down(form.lo, length.hi) : tc_div_down(form.lo, length.lo);
        best = quotient > best ? quotient : best;
    }
    return tc_add_down(best, -error);
}
