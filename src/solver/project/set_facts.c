/* What can be said of a set: its size, a box around it, how far a point is outside, whether it is empty. */
#include "solver/linear.h"
#include "solver/project/project.h"
#include "solver/project/project_work.h"

#include <float.h>

static double outward_down(double x) { return nextafter(x, -INFINITY); }
static double outward_up(double x) { return nextafter(x, INFINITY); }

/* a . x <= b bounds each component by what the others can take away at most. */
static void tighten_linear(const tc_set_part *part, double *lower, double *upper) {
    bool equality = part->kind == TC_SET_HYPERPLANE;
    for (size_t c = 0; c < part->count; c++) {
        double a = part->center[c];
        if (a == 0)
            continue;
        double least = 0, most = 0, size = fabs(part->radius);
        for (size_t d = 0; d < part->count; d++) {
            double e = part->center[d];
            if (d == c || e == 0)
                continue;
            least += e > 0 ? e * lower[d] : e * upper[d];
            most += e > 0 ? e * upper[d] : e * lower[d];
            size += fabs(e) * fmax(fabs(lower[d]), fabs(upper[d]));
        }
        double rounding = 4 * DBL_EPSILON * (double)(part->count + 2) * size;
        double above = outward_up((part->radius - least + rounding) / fabs(a));
        double below = outward_down((part->radius - most - rounding) / fabs(a));
        if (a > 0)
            upper[c] = fmin(upper[c], above);
        else
            lower[c] = fmax(lower[c], -above);
        if (equality && a > 0)
            lower[c] = fmax(lower[c], below);
        else if (equality)
            upper[c] = fmin(upper[c], -below);
    }
}

/* sqrt((P^-1)_cc) for component c, from the factor P = L L'; work: n entries. */
static tc_real half_width(size_t n, const tc_real *factor, size_t c, tc_real *work) {
    for (size_t d = 0; d < n; d++)
        work[d] = d == c;
    tc_solve_lower(n, factor, work);
    return sqrtl(tc_dot(n, work, work));
}

/* max |x_c - center_c| over the ellipsoid is sqrt(radius (P^-1)_cc). The computed factor is that of a matrix within
 * about 3 n u |P|_F of P, and a triangular solve is as good (Higham, theorems 8.5 and 10.3), so the relative error of
 * the width is below 8 n u |P|_F |P^-1|_2, u = 2^-64. The bound is used where that is below 1e-7, ten times less than
 * what it is widened by; |P^-1|_2 is at most the trace of P^-1. */
static void tighten_ellipsoid(const tc_set *set, const tc_set_part *part, double *lower, double *upper) {
    size_t n = part->count;
    tc_real *factor = tc_set_work_reals(set), *work = factor + n * n, size = 0, trace = 0;
    for (size_t e = 0; e < n * n; e++) {
        factor[e] = part->matrix[e];
        size += factor[e] * factor[e];
    }
    if (tc_cholesky(n, factor) != 0)
        return;
    for (size_t c = 0; c < n; c++) {
        tc_real width = half_width(n, factor, c, work);
        trace += width * width;
    }
    if (!(8 * (tc_real)n * LDBL_EPSILON * sqrtl(size) * trace < 1e-7L))
        return;
    for (size_t c = 0; c < n; c++) {
        double reach = (double)(half_width(n, factor, c, work) * sqrtl((tc_real)part->radius) * (1 + 1e-6L));
        lower[c] = fmax(lower[c], outward_down(part->center[c] - reach));
        upper[c] = fmin(upper[c], outward_up(part->center[c] + reach));
    }
}

/* Whether a bound is the number that a piece states, and not one computed from it: x >= b, but not 3 x >= b. */
static bool is_stated(const tc_set *set, size_t piece, size_t c) {
    if (piece == TC_NO_PIECE)
        return true;
    const tc_set_piece *p = &set->family->pieces[piece];
    if (p->kind != TC_SET_HALFSPACE && p->kind != TC_SET_HYPERPLANE)
        return p->kind == TC_SET_BOX;
    size_t others = 0;
    for (size_t d = 0; d < p->count; d++)
        others += d + p->first != c && set->centers[piece][d] != 0;
    return others == 0 && fabs(set->centers[piece][c - p->first]) == 1;
}

void tc_set_bounds(const tc_set *set, double *lower, double *upper) {
    for (size_t c = 0; c < set->dim; c++) {
        lower[c] = is_stated(set, set->lower_piece[c], c) ? set->lower[c] : outward_down(set->lower[c]);
        upper[c] = is_stated(set, set->upper_piece[c], c) ? set->upper[c] : outward_up(set->upper[c]);
    }
    for (size_t p = 0; p < set->part_count; p++) {
        const tc_set_part *part = &set->parts[p];
        double *low = lower + part->first, *high = upper + part->first;
        if (part->kind == TC_SET_BALL || part->kind == TC_SET_BALL1) {
            for (size_t c = 0; c < part->count; c++) {
                low[c] = fmax(low[c], outward_down(part->center[c] - part->radius));
                high[c] = fmin(high[c], outward_up(part->center[c] + part->radius));
            }
        } else if (part->kind == TC_SET_ELLIPSOID) {
            tighten_ellipsoid(set, part, low, high);
        } else {
            tighten_linear(part, low, high);
        }
    }
    for (size_t c = 0; c < set->dim; c++)
        if (lower[c] > upper[c]) /* only rounding can do this in a set that is not empty */
            lower[c] = upper[c] = set->lower[c] + (set->upper[c] - set->lower[c]) / 2;
}

double tc_set_scale(const tc_set *set) {
    double scale = 0;
    for (size_t c = 0; c < set->dim; c++)
        scale = fmax(scale, fmax(fabs(set->lower[c]), fabs(set->upper[c])));
    return scale > 0 ? scale : 1;
}

double tc_part_violation(const tc_set_part *part, const double *x) {
    tc_real sum = 0, size = 0;
    for (size_t c = 0; c < part->count; c++) {
        tc_real a = part->center[c], y = x[part->first + c];
        if (part->kind == TC_SET_HALFSPACE || part->kind == TC_SET_HYPERPLANE) {
            sum += a * y;
            size += a * a;
        } else if (part->kind == TC_SET_BALL) {
            sum += (y - a) * (y - a);
        } else if (part->kind == TC_SET_BALL1) {
            sum += fabsl(y - a);
        } else {
            size += (y - a) * (y - a);
            for (size_t d = 0; d < part->count; d++)
                sum += (y - a) * (tc_real)part->matrix[c * part->count + d] *
                       ((tc_real)x[part->first + d] - (tc_real)part->center[d]);
        }
    }
    tc_real radius = part->radius, distance = 0;
    if (part->kind == TC_SET_HALFSPACE || part->kind == TC_SET_HYPERPLANE)
        distance = (sum - radius) / sqrtl(size);
    else if (part->kind == TC_SET_BALL)
        distance = sqrtl(sum) - radius;
    else if (part->kind == TC_SET_BALL1)
        distance = sum - radius;
    else if (sum > radius)
        distance = sqrtl(size) * (1 - sqrtl(radius / sum));
    if (part->kind == TC_SET_HYPERPLANE)
        distance = fabsl(distance);
    return (double)fmaxl(distance, 0);
}

double tc_set_violation(const tc_set *set, const double *x, size_t *piece) {
    double worst = 0;
    size_t who = TC_NO_PIECE;
    for (size_t c = 0; c < set->dim; c++) {
        double out = fmax(set->lower[c] - x[c], x[c] - set->upper[c]);
        if (out > worst) {
            worst = out;
            who = x[c] < set->lower[c] ? set->lower_piece[c] : set->upper_piece[c];
        }
    }
    for (size_t p = 0; p < set->part_count; p++) {
        double out = tc_part_violation(&set->parts[p], x);
        if (out > worst) {
            worst = out;
            who = set->parts[p].piece;
        }
    }
    if (piece != NULL)
        *piece = who;
    return worst;
}

/* The part that is violated most, and the next one: the conflict that is worth naming. */
static tc_set_conflict conflict_at(const tc_set *set, const double *x) {
    tc_set_conflict conflict = {.piece = TC_NO_PIECE, .other = TC_NO_PIECE, .component = SIZE_MAX};
    double worst = -1, second = -1;
    for (size_t p = 0; p < set->part_count; p++) {
        double out = tc_part_violation(&set->parts[p], x);
        if (out > worst) {
            conflict.other = conflict.piece;
            second = worst;
            conflict.piece = set->parts[p].piece;
            worst = out;
        } else if (out > second) {
            conflict.other = set->parts[p].piece;
            second = out;
        }
    }
    return conflict;
}

bool tc_set_examine(tc_set *set, double *witness, tc_set_conflict *conflict) {
    if (set->is_empty) {
        *conflict = set->conflict;
        return false;
    }
    for (size_t c = 0; c < set->dim; c++)
        witness[c] = set->lower[c] + (set->upper[c] - set->lower[c]) / 2;
    (void)tc_project(set, witness, witness);
    if (tc_set_violation(set, witness, NULL) <= 1e-9 * tc_set_scale(set))
        return true;
    *conflict = conflict_at(set, witness);
    return false;
}

static const char *kind_name(tc_set_kind kind) {
    switch (kind) {
    case TC_SET_BOX:
        return "box";
    case TC_SET_HALFSPACE:
        return "half-space";
    case TC_SET_HYPERPLANE:
        return "hyperplane";
    case TC_SET_BALL:
        return "ball";
    case TC_SET_BALL1:
        return "l1 ball";
    case TC_SET_SIMPLEX:
        return "simplex";
    case TC_SET_ELLIPSOID:
        return "ellipsoid";
    }
    return "set";
}

void tc_set_describe(tc_buffer *out, const tc_set *set) {
    for (size_t p = 0; p < set->part_count; p++)
        tc_buffer_printf(out, "%s%s", p == 0 ? "" : " and ", kind_name(set->parts[p].kind));
    tc_buffer_puts(out, set->part_count == 0 ? "box" : " in a box");
}
