#include "analysis/lipschitz/norm.h"

#include "calculus/interval/interval.h"

#include <float.h>
#include <string.h>

enum { KRYLOV = 32, RESTARTS = 40, JACOBI_SWEEPS = 30, POWER_STEPS = 60 };

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

/* One Jacobi rotation of the k x k matrix a (stride KRYLOV) in the plane p, q; v collects the rotations. */
static void rotate(double (*a)[KRYLOV], double (*v)[KRYLOV], size_t k, size_t p, size_t q) {
    if (a[p][q] == 0)
        return;
    double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    double t = copysign(1, theta) / (fabs(theta) + hypot(theta, 1));
    double c = 1 / hypot(t, 1), s = t * c;
    for (size_t i = 0; i < k; i++) {
        double x = a[i][p], y = a[i][q];
        a[i][p] = c * x - s * y;
        a[i][q] = s * x + c * y;
    }
    for (size_t i = 0; i < k; i++) {
        double x = a[p][i], y = a[q][i];
        a[p][i] = c * x - s * y;
        a[q][i] = s * x + c * y;
        x = v[i][p], y = v[i][q];
        v[i][p] = c * x - s * y;
        v[i][q] = s * x + c * y;
    }
}

/* The largest eigenvalue of the small projected matrix, and its vector. */
static double small_largest(double (*a)[KRYLOV], size_t k, double *vector) {
    double v[KRYLOV][KRYLOV] = {{0}};
    for (size_t i = 0; i < k; i++)
        v[i][i] = 1;
    for (int sweep = 0; sweep < JACOBI_SWEEPS; sweep++) {
        double off = 0, all = 0;
        for (size_t p = 0; p < k; p++) {
            for (size_t q = 0; q < k; q++) {
                off += p != q ? a[p][q] * a[p][q] : 0;
                all += a[p][q] * a[p][q];
            }
        }
        if (!(off > 1e-34 * all))
            break;
        for (size_t p = 0; p + 1 < k; p++) {
            for (size_t q = p + 1; q < k; q++)
                rotate(a, v, k, p, q);
        }
    }
    size_t best = 0;
    for (size_t i = 1; i < k; i++)
        best = a[i][i] > a[best][best] ? i : best;
    for (size_t i = 0; i < k; i++)
        vector[i] = v[i][best];
    return a[best][best];
}

/* Builds an orthonormal Krylov basis from vector, fully reorthogonalised twice; returns its size. */
static size_t krylov(tc_apply apply, const void *matrix, size_t n, size_t most, const double *vector, double *basis,
                     double *image) {
    memcpy(basis, vector, n * sizeof *basis);
    size_t k = 0;
    while (k < most) {
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
            break;
        for (size_t j = 0; j < n; j++)
            next[j] /= length;
        apply(matrix, n, next, image + k * n);
        k++;
        if (k < most)
            memcpy(basis + k * n, image + (k - 1) * n, n * sizeof *basis);
    }
    return k;
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
    double *basis = TC_NEW(arena, double, most *n), *image = TC_NEW(arena, double, most *n);
    double value = -INFINITY;
    for (int restart = 0; restart < RESTARTS; restart++) {
        size_t k = krylov(apply, matrix, n, most, vector, basis, image);
        double small[KRYLOV][KRYLOV], y[KRYLOV];
        for (size_t i = 0; i < k; i++) {
            for (size_t j = 0; j < k; j++)
                small[i][j] = (dot(basis + i * n, image + j * n, n) + dot(basis + j * n, image + i * n, n)) / 2;
        }
        if (k == 0)
            break;
        double found = small_largest(small, k, y);
        for (size_t j = 0; j < n; j++) {
            vector[j] = 0;
            for (size_t i = 0; i < k; i++)
                vector[j] += y[i] * basis[i * n + j];
        }
        bool settled = !(fabs(found - value) > 1e-15 * fabs(found));
        value = found;
        if (settled || k == n)
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
