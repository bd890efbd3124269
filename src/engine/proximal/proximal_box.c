#include "engine/proximal/proximal_box.h"

#include <math.h>

/* H_FF = L D L', L with ones on its diagonal; 1 / D is in its place. */
static void factor_free(tc_box_step *s) {
    size_t m = s->free_count, n = s->dim;
    for (size_t i = 0; i < m && !s->is_diagonal; i++) {
        double *row = s->factor + i * m;
        const double *from = s->hessian + s->free[i] * n;
        double own = from[s->free[i]], least = 0x1p-50 * own, pivot = own;
        for (size_t j = 0; j < i; j++) { /* L D first */
            const double *other = s->factor + j * m;
            double sum = from[s->free[j]];
            for (size_t k = 0; k < j; k++)
                sum -= row[k] * other[k];
            row[j] = sum;
        }
        for (size_t j = 0; j < i; j++) {
            double entry = row[j] * s->factor[j * m + j];
            pivot -= row[j] * entry;
            row[j] = entry;
        }
        row[i] = 1 / (pivot > least ? pivot : least); /* where rounding has eaten the curvature, a little is left */
    }
}

/* right = H_FF^-1 right, by place among the free. */
static void solve_free(const tc_box_step *s, double *right) {
    size_t m = s->free_count;
    if (s->is_diagonal) {
        for (size_t i = 0; i < m; i++)
            right[i] /= s->hessian[s->free[i] * s->dim + s->free[i]];
        return;
    }
    for (size_t i = 1; i < m; i++)
        for (size_t j = 0; j < i; j++)
            right[i] -= s->factor[i * m + j] * right[j];
    for (size_t i = m; i-- > 0;) {
        right[i] *= s->factor[i * m + i];
        for (size_t j = i + 1; j < m; j++)
            right[i] -= s->factor[j * m + i] * right[j];
    }
}

void tc_box_step_solve(tc_box_step *s, double *z) {
    for (size_t i = 0; i < s->free_count; i++)
        s->right[i] = z[s->free[i]];
    solve_free(s, s->right);
    for (size_t c = 0; c < s->dim; c++)
        z[c] = 0;
    for (size_t i = 0; i < s->free_count; i++)
        z[s->free[i]] = s->right[i];
}

/* slope + H d in one component. */
static double slope_after(const tc_box_step *s, size_t c) {
    double sum = s->slope[c];
    if (s->is_diagonal)
        return sum + s->hessian[c * s->dim + c] * s->move[c * s->stride];
    for (size_t d = 0; d < s->dim; d++)
        sum += s->hessian[c * s->dim + d] * s->move[d * s->stride];
    return sum;
}

/* Solves with the bounds that are held; true where they are the right ones, else they are exchanged. */
static bool try_holds(tc_box_step *s) {
    s->free_count = 0;
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * s->stride;
        s->move[at] = s->holds[c] == 0 ? 0 : s->holds[c] < 0 ? s->lower[at] : s->upper[at];
        if (s->holds[c] == 0)
            s->free[s->free_count++] = c;
    }
    factor_free(s);
    for (size_t i = 0; i < s->free_count; i++)
        s->right[i] = -slope_after(s, s->free[i]);
    solve_free(s, s->right);
    for (size_t i = 0; i < s->free_count; i++)
        s->move[s->free[i] * s->stride] = s->right[i];
    bool is_right = true;
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * s->stride;
        double d = s->move[at];
        int8_t hold = s->holds[c];
        if (hold == 0)
            hold = d < s->lower[at] ? -1 : d > s->upper[at] ? 1 : 0;
        else if (s->lower[at] < s->upper[at] && hold * slope_after(s, c) > 0)
            hold = 0;
        is_right = is_right && hold == s->holds[c];
        s->holds[c] = hold;
    }
    return is_right;
}

/* Component by component: slow, but always downhill. */
static void descend(tc_box_step *s) {
    for (size_t c = 0; c < s->dim; c++)
        s->move[c * s->stride] = 0;
    for (int sweep = 0; sweep < 100; sweep++)
        for (size_t c = 0; c < s->dim; c++) {
            size_t at = c * s->stride;
            double d = s->move[at] - slope_after(s, c) / s->hessian[c * s->dim + c];
            s->move[at] = d < s->lower[at] ? s->lower[at] : d > s->upper[at] ? s->upper[at] : d;
        }
    s->free_count = 0;
    for (size_t c = 0; c < s->dim; c++) {
        double d = s->move[c * s->stride];
        s->holds[c] = d <= s->lower[c * s->stride] ? -1 : d >= s->upper[c * s->stride] ? 1 : 0;
        if (s->holds[c] == 0)
            s->free[s->free_count++] = c;
    }
    factor_free(s);
}

void tc_box_step_find(tc_box_step *s) {
    for (size_t c = 0; c < s->dim; c++) {
        double lower = s->lower[c * s->stride], upper = s->upper[c * s->stride];
        s->holds[c] = lower >= upper || (lower >= 0 && s->slope[c] > 0) ? -1 : upper <= 0 && s->slope[c] < 0 ? 1 : 0;
    }
    for (size_t round = 0; round < 12 + s->dim; round++)
        if (try_holds(s))
            return;
    descend(s);
}
