/* Any set, one member: each step goes towards the minimum of the quadratic model over the set, which the interior-point
 * method finds, as far as the slope along it stays negative. In long double.
 *
 * The error of the quadratic model decides whether a step is the last one. With z the model's minimum from x and d = z
 * - x the optimality of z says that -(slope(x) + H d) is normal to the set at z. So z is the exact minimum for slopes
 * that are wrong by
 *
 *     r = slope(z) - slope(x) - H(x) d,
 *
 * and for a function with Hessian H and curvature of at least w everywhere it is within sqrt(r' H^-1 r / w)
 * of the minimum. */
#include "engine/proximal/inside.h"
#include "solver/project/set.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 100, EASY_STEPS = 8, MOST_SHORTER = 60 };
static const tc_real ACCURACY = 1e-10L; /* of the widest bounds */

typedef struct inside {
    tc_alone *s;
    const tc_proximal_interior *room;
    size_t n;
    const tc_real *inverse, *weight; /* by component, as the block's, in long double */
    tc_real least_weight;
    tc_real width;          /* of the widest bounds */
    tc_real *x, *z, *trial; /* the point, the model's minimum, a point between */
    tc_real *slope, *slope_there, *hessian, *miss;
} inside;

/* Slopes at a point, and its Hessian where it is asked for. False where they are not finite. */
static bool evaluate(const inside *in, const tc_real *at, tc_real *slope, tc_real *hessian) {
    const tc_proximal_block *b = &in->s->b;
    const tc_family_derivatives *d = b->family->derivatives;
    const tc_proximal_interior *room = in->room;
    bool is_finite = true;
    for (size_t c = 0; c < in->n; c++)
        room->state_at[c] = &at[c];
    const tc_long_inputs inputs = {.state = room->state_at, .data = b->work->data_at};
    tc_tape_eval_long(b->family->both, &inputs, 1, room->tape, room->out_at);
    for (size_t c = 0; c < in->n; c++)
        slope[c] = (tc_real)b->p[c][b->at] + (tc_real)b->regularization * at[c] +
                   (at[c] - (tc_real)b->x[c][b->at]) * in->inverse[c];
    for (size_t i = 0; i < d->objective_first_count; i++)
        slope[d->objective_first[i].column] += *room->out_at[i];
    for (size_t c = 0; c < in->n; c++)
        is_finite = is_finite && isfinite(slope[c]);
    if (hessian == NULL)
        return is_finite;
    memset(hessian, 0, in->n * in->n * sizeof *hessian);
    for (size_t i = 0; i < d->objective_second_count; i++) {
        size_t row = d->objective_second[i].column, column = d->objective_second[i].other;
        tc_real value = *room->out_at[d->objective_first_count + i];
        if (!isfinite(value)) /* at an edge of the domain: limits the step to 1/1000 of the box */
            value = row == column ? 1e3L * fabsl(slope[row]) / in->width : 0;
        hessian[row * in->n + column] = hessian[column * in->n + row] = value;
    }
    for (size_t c = 0; c < in->n; c++)
        hessian[c * in->n + c] += in->weight[c];
    return is_finite;
}

static tc_real along(const inside *in, const tc_real *slope) {
    tc_real sum = 0;
    for (size_t c = 0; c < in->n; c++)
        sum += slope[c] * (in->z[c] - in->x[c]);
    return sum;
}

/* A bound of the distance from z to the minimum. Leaves slopes at z, and nothing of the Hessian at x. */
static tc_real miss_of(const inside *in) {
    size_t n = in->n;
    tc_real sum = 0;
    for (size_t c = 0; c < n; c++) {
        in->miss[c] = in->slope[c];
        for (size_t d = 0; d < n; d++)
            in->miss[c] += in->hessian[c * n + d] * (in->z[d] - in->x[d]);
    }
    if (!evaluate(in, in->z, in->slope_there, in->hessian) || tc_cholesky(n, in->hessian) != 0)
        return INFINITY;
    for (size_t c = 0; c < n; c++)
        in->miss[c] = in->slope_there[c] - in->miss[c];
    tc_solve_lower(n, in->hessian, in->miss);
    for (size_t c = 0; c < n; c++)
        sum += in->miss[c] * in->miss[c];
    return sqrtl(sum / in->least_weight);
}

/* Along the line from x to z, to where the function has fallen: into trial. */
static bool search_line(const inside *in, tc_real beginning, int step) {
    tc_real length = 1, most = step < EASY_STEPS ? -0.3L * beginning : 0;
    for (int shorter = 0; shorter < MOST_SHORTER; shorter++) {
        for (size_t c = 0; c < in->n; c++)
            in->trial[c] = in->x[c] + length * (in->z[c] - in->x[c]);
        bool is_finite = evaluate(in, in->trial, in->slope_there, NULL);
        tc_real slope = along(in, in->slope_there);
        if (is_finite && slope <= most)
            return true;
        tc_real factor = is_finite ? -beginning / (slope - beginning) : 0.5L;
        length *= fminl(fmaxl(factor, 0.1L), 0.8L);
    }
    return false;
}

/* A point of the set where slopes are finite: the old state, or further inside. */
static bool begin(const inside *in) {
    const tc_proximal_block *b = &in->s->b;
    double *point = in->room->point;
    for (int tries = 0; tries < 40; tries++) {
        for (size_t c = 0; c < in->n; c++) {
            double lower = in->room->set->lower[c], upper = in->room->set->upper[c], old = b->x[c][b->at];
            double inner = tries == 0 ? 0 : ldexp(1, tries - 40);
            point[c] = old + (lower + (upper - lower) / 2 - old) * inner;
        }
        (void)tc_project(in->room->set, point, point);
        for (size_t c = 0; c < in->n; c++)
            in->x[c] = (tc_real)point[c];
        if (evaluate(in, in->x, in->slope, in->hessian))
            return true;
    }
    return false;
}

static bool go_on(const inside *in) {
    const tc_quadratic model = {.hessian = in->hessian, .slope = in->slope, .base = in->x};
    for (int step = 0; step < MOST_STEPS; step++) {
        bool is_exact = tc_interior_minimize(in->room->interior, &model, in->z);
        tc_real beginning = along(in, in->slope), miss = 0, longest = 0;
        for (size_t c = 0; c < in->n; c++)
            longest = fmaxl(longest, fabsl(in->z[c] - in->x[c]));
        if (longest <= 1e-3L * in->width) {
            miss = miss_of(in);
            if (is_exact && miss <= 1e-3L * ACCURACY * in->width)
                return true;
        }
        bool moves = beginning < 0 && search_line(in, beginning, step);
        if (!moves) /* as near as rounding allows */
            return is_exact && longest <= 1e-3L * in->width && miss <= ACCURACY * in->width;
        memcpy(in->x, in->trial, in->n * sizeof *in->x);
        if (!evaluate(in, in->x, in->slope, in->hessian))
            return false;
    }
    return false;
}

/* Where curvature jumps, the quadratic model can mislead: the same minimum in the form in which it does not. */
static bool go_around_bends(const inside *in) {
    const tc_proximal_block *b = &in->s->b;
    if (b->family->lifted == NULL)
        return false;
    for (size_t c = 0; c < in->n; c++)
        in->trial[c] = ((tc_real)b->x[c][b->at] * in->inverse[c] - (tc_real)b->p[c][b->at]) / in->weight[c];
    tc_interior_member(b->family->lifted[b->worker], b->first);
    return tc_interior_step(b->family->lifted[b->worker], in->weight, in->trial, in->miss);
}

bool tc_alone_interior(tc_alone *s) {
    const tc_proximal_block *b = &s->b;
    const tc_proximal_interior *room = b->family->interiors + b->worker;
    size_t n = s->dim;
    tc_real *reals = room->reals;
    inside in = {.s = s,
                 .room = room,
                 .n = n,
                 .least_weight = INFINITY,
                 .x = reals,
                 .z = reals + n,
                 .trial = reals + 2 * n,
                 .slope = reals + 3 * n,
                 .slope_there = reals + 4 * n,
                 .miss = reals + 5 * n,
                 .inverse = reals + 6 * n,
                 .weight = reals + 7 * n,
                 .hessian = reals + 8 * n};
    for (size_t c = 0; c < n; c++) {
        tc_real weight = tc_long_weight(b, c, reals + 6 * n + c);
        reals[7 * n + c] = weight;
        in.least_weight = fminl(in.least_weight, weight);
    }
    tc_set_load(room->set, b->first);
    for (size_t c = 0; c < n; c++)
        in.width = fmaxl(in.width, (tc_real)(room->set->upper[c] - room->set->lower[c]));
    if (in.width == 0)
        in.width = 1;
    if (!begin(&in))
        return false;
    s->is_accurate = go_on(&in);
    if (!s->is_accurate && go_around_bends(&in)) {
        s->is_accurate = true;
        memcpy(in.z, in.miss, n * sizeof *in.z);
    }
    s->has_part = s->has_part && !s->is_accurate; /* an accurate point is in the set already */
    for (size_t c = 0; c < n; c++)
        s->work->x[c * TC_LANES] = tc_proximal_bounded((double)in.z[c], room->set->lower[c], room->set->upper[c]);
    return true;
}
