/* The part of a set, and its multiplier: for a multiplier t the function f + p . x + ... + t h is minimised over the
 * box. h of that minimum never increases with t; the right t is its root, by Newton's method within a bracket. */
#include "engine/proximal/proximal_alone.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_MULTIPLIERS = 60 };

tc_part_value tc_alone_part(const tc_alone *s, const double *rows, double *gradient) {
    tc_part_value out = {0};
    memset(gradient, 0, s->dim * sizeof *gradient);
    for (size_t i = 0; i < s->count; i++) {
        size_t c = s->first + i;
        double x = rows[c * TC_LANES], center = s->work->center[c * TC_LANES];
        if (s->kind == TC_SET_HALFSPACE || s->kind == TC_SET_HYPERPLANE) {
            gradient[c] = center;
            out.h += center * x;
            out.size += fabs(center * x);
            continue;
        }
        if (s->matrix == NULL)
            gradient[c] = x - center;
        for (size_t j = 0; s->matrix != NULL && j < s->count; j++) {
            size_t at = (s->first + j) * TC_LANES;
            gradient[c] += s->matrix[i * s->count + j] * (rows[at] - s->work->center[at]);
        }
        out.square += gradient[c] * (x - center);
    }
    if (s->kind == TC_SET_HALFSPACE || s->kind == TC_SET_HYPERPLANE) {
        out.h -= s->radius;
        out.size += fabs(s->radius);
        return out;
    }
    out.target = s->kind == TC_SET_BALL ? s->radius * s->radius : s->radius;
    out.h = (out.square - out.target) / 2;
    out.size = out.target;
    return out;
}

void tc_alone_part_hessian(const tc_alone *s) {
    if (s->kind != TC_SET_BALL && s->kind != TC_SET_ELLIPSOID)
        return;
    for (size_t i = 0; i < s->count; i++)
        for (size_t j = 0; j < s->count; j++) {
            double entry = s->matrix != NULL ? s->matrix[i * s->count + j] : i == j ? 1 : 0;
            s->work->hessian[(s->first + i) * s->dim + s->first + j] += s->t * entry;
        }
}

/* Away from a place where h does not depend on t. */
static double leap(const tc_alone *s, double sign) {
    double most = 0, steepest = 0;
    for (size_t c = 0; c < s->dim; c++) {
        most = fmax(most, fabs(s->work->slope[c] - s->t * s->work->pull[c]));
        steepest = fmax(steepest, fabs(s->work->pull[c]));
    }
    double unit = steepest > 0 && most > 0 ? most / steepest : 1;
    return s->t + sign * fmax(fabs(s->t), unit);
}

/* Newton's change of t; NAN where there is none. */
static double newton_change(tc_part_value at, double slope) {
    if (!(slope < 0))
        return NAN;
    if (at.target == 0)
        return -at.h / slope;
    /* 1 / sqrt(square) is all but linear in t */
    return (sqrt(at.square / at.target) - 1) * at.square / -slope;
}

static double next_multiplier(const tc_alone *s, tc_part_value at, double change) {
    double next = s->t + change;
    if (next > s->t_low && next < s->t_high)
        return next;
    if (isinf(s->t_low) || isinf(s->t_high))
        return leap(s, at.h > 0 ? 1 : -1);
    return s->t_low + (s->t_high - s->t_low) / 2;
}

void tc_alone_judge_part(tc_alone *s, tc_box_step *step) {
    tc_proximal_work *work = s->work;
    tc_part_value at = tc_alone_part(s, work->x, work->pull);
    s->multipliers++;
    s->is_done = (s->multipliers == 1 && at.h <= 0 && s->kind != TC_SET_HYPERPLANE) || fabs(at.h) <= 1e-12 * at.size;
    if (s->is_done)
        return;
    if (at.h > 0)
        s->t_low = s->t;
    else
        s->t_high = s->t;
    double *response = work->response, slope = 0;
    memcpy(response, work->pull, s->dim * sizeof *response);
    tc_box_step_solve(step, response);
    for (size_t c = 0; c < s->dim; c++)
        slope -= work->pull[c] * response[c];
    double change = newton_change(at, slope), next = next_multiplier(s, at, change);
    /* The point follows the change itself, which may be too small for the digits of t. */
    bool is_last = fabs(change) <= 64 * DBL_EPSILON * fabs(s->t);
    double by = is_last ? change : next - s->t;
    s->is_accurate = s->is_accurate && s->multipliers <= MOST_MULTIPLIERS;
    s->is_done = is_last || next == s->t || s->multipliers > MOST_MULTIPLIERS;
    s->t = next;
    s->begins = true;
    s->steps = 0;
    for (size_t c = 0; c < s->dim; c++) {
        size_t i = c * TC_LANES;
        work->trial[i] = tc_proximal_bounded(work->x[i] - by * response[c], work->lower[i], work->upper[i]);
        if (is_last)
            work->x[i] = work->trial[i];
    }
}
