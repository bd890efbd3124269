/* Newton's method for one member: any smooth objective in a box with at most one smooth part.
 *
 * For a multiplier of the part (proximal_part.c) the function is minimised over the box: each step goes towards the
 * minimum of its quadratic model over the box, as far as the slope along it stays negative. Slower than
 * proximal_newton.c, for what that cannot do, and with more patience. */
#include "engine/proximal/proximal_alone.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_STEPS = 100, MOST_EVALUATIONS = 300, EASY_STEPS = 8 };

/* ---- a problem in the box ---------------------------------------------------------------------------------------- */

/* The slopes at the trial point, and in noise how large the terms are that cancel in them. */
static bool find_slopes(const tc_alone *s, double *noise) {
    const tc_proximal_block *b = &s->b;
    tc_proximal_work *work = s->work;
    bool is_finite = true;
    if (s->has_part)
        (void)tc_alone_part(s, work->trial, work->pull);
    for (size_t c = 0; c < s->dim; c++) {
        int32_t row = b->family->of->rows[c];
        double x = work->trial[c * TC_LANES], f = row == TC_NO_ROW ? 0 : work->out_at[row][0];
        double p = b->p[c][b->at], pull = b->regularization * x;
        double back = (x - b->x[c][b->at]) * s->inverse, price = s->has_part ? s->t * work->pull[c] : 0;
        work->slope[c] = (((f + p) + pull) + back) + price;
        noise[c] = 4 * DBL_EPSILON * (fabs(f) + fabs(p) + fabs(pull) + fabs(back) + fabs(price));
        is_finite = is_finite && isfinite(work->slope[c]);
    }
    return is_finite;
}

static void find_hessian(const tc_alone *s) {
    const tc_family_derivatives *d = s->b.family->derivatives;
    double *hessian = s->work->hessian;
    size_t n = s->dim;
    memset(hessian, 0, n * n * sizeof *hessian);
    for (size_t i = 0; i < d->objective_second_count; i++) {
        const tc_second *second = &d->objective_second[i];
        double value = s->work->out_at[d->objective_first_count + i][0];
        if (isfinite(value)) {
            hessian[second->column * n + second->other] += value;
            if (second->other != second->column)
                hessian[second->other * n + second->column] += value;
        } else if (second->other == second->column) { /* at an edge of the domain: as if it reached a part of the box */
            size_t at = second->column * TC_LANES;
            hessian[second->column * n + second->column] +=
                1e3 * fabs(s->work->slope[second->column]) / (s->work->upper[at] - s->work->lower[at]);
        }
    }
    for (size_t c = 0; c < n; c++)
        hessian[c * n + c] += s->b.weight;
    if (s->has_part && s->t > 0)
        tc_alone_part_hessian(s);
}

static tc_box_step box_step(const tc_alone *s) {
    tc_proximal_work *work = s->work;
    return (tc_box_step){.dim = s->dim,
                         .is_diagonal = s->b.family->is_diagonal && (s->matrix == NULL || s->t == 0),
                         .hessian = work->hessian,
                         .slope = work->slope,
                         .lower = work->roots, /* filled below; the rows are free here */
                         .upper = work->trial,
                         .move = work->move,
                         .stride = TC_LANES,
                         .factor = work->factor,
                         .right = work->side,
                         .free = work->free,
                         .holds = work->holds};
}

static void set_trial(const tc_alone *s) {
    tc_proximal_work *work = s->work;
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES;
        work->trial[at] =
            tc_proximal_bounded(work->x[at] + s->length * work->move[at], work->lower[at], work->upper[at]);
    }
}

static inline double larger(double a, double b) { return a > b ? a : b; }

/* Whether the step that has been found is the last one of this problem. */
static bool is_small(const tc_alone *s, const double *noise) {
    const tc_proximal_work *work = s->work;
    double size = 0;
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES;
        double width = work->upper[at] - work->lower[at];
        size = larger(size, larger(fabs(work->x[at]), isfinite(width) ? 1e-6 * width : 0));
    }
    for (size_t c = 0; c < s->dim; c++) {
        double move = fabs(work->move[c * TC_LANES]), slope = fabs(work->slope[c]);
        /* Curvature may be so large for a moment that a short step says little: slopes must have become small too. */
        double little = 1e-6 / (4 * DBL_EPSILON) * noise[c];
        bool is_little =
            slope <= 2 * noise[c] || move <= 2 * DBL_EPSILON * size || (move <= 1e-11 * size && slope <= little);
        if (!is_little)
            return false;
    }
    return true;
}

static void accept(tc_alone *s) {
    for (size_t c = 0; c < s->dim; c++)
        s->work->x[c * TC_LANES] = s->work->trial[c * TC_LANES];
}

/* Whether the line may be followed to the trial point; else a shorter one is set. */
static bool may_go(tc_alone *s, bool is_finite, const double *noise) {
    if (s->begins && is_finite)
        return true;
    double slope = 0, rounding = 0;
    for (size_t c = 0; c < s->dim; c++) {
        double move = s->work->move[c * TC_LANES];
        slope += s->work->slope[c] * move;
        rounding += noise[c] * fabs(move);
    }
    double most = s->steps <= EASY_STEPS ? 0.3 * -s->slope : 0;
    if (is_finite && slope <= most + rounding)
        return true;
    double shorter = is_finite ? -s->slope / (slope - s->slope) : 0.5;
    s->length *= shorter < 0.1 ? 0.1 : shorter > 0.8 ? 0.8 : shorter;
    set_trial(s);
    return false;
}

/* A problem that begins where its slopes are not finite begins further inside. */
static bool begin_inside(tc_alone *s) {
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES;
        double middle = s->work->lower[at] + (s->work->upper[at] - s->work->lower[at]) / 2;
        s->work->trial[at] += (middle - s->work->trial[at]) * (s->steps < 20 ? 1e-3 : 0.5);
    }
    return s->steps < 60;
}

/* False where the slopes are nowhere finite. */
static bool judge(tc_alone *s, double *noise) {
    tc_proximal_work *work = s->work;
    bool is_finite = find_slopes(s, noise);
    s->steps++;
    if (s->begins && !is_finite)
        return begin_inside(s);
    bool is_late = s->steps > MOST_STEPS;
    if (!is_late && !may_go(s, is_finite, noise))
        return true;
    if (is_finite)
        accept(s);
    s->begins = false;
    find_hessian(s);
    tc_box_step step = box_step(s);
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES;
        work->roots[at] = work->lower[at] - work->x[at];
        work->trial[at] = work->upper[at] - work->x[at];
    }
    tc_box_step_find(&step);
    s->length = 1;
    s->slope = 0;
    for (size_t c = 0; c < s->dim; c++)
        s->slope += work->slope[c] * work->move[c * TC_LANES];
    set_trial(s);
    bool is_last = is_small(s, noise);
    if (!is_late && !is_last && s->slope < 0)
        return true;
    s->is_accurate = s->is_accurate && is_last;
    if (is_last)
        accept(s);
    if (s->has_part)
        tc_alone_judge_part(s, &step);
    else
        s->is_done = true;
    return true;
}

/* ---- the member -------------------------------------------------------------------------------------------------- */

static void load_part(tc_alone *s, tc_set_kind kind, size_t first, size_t count, double radius, const double *matrix) {
    s->has_part = true;
    s->kind = kind;
    s->first = first;
    s->count = count;
    s->radius = radius;
    s->matrix = matrix;
    s->t_low = -INFINITY;
    s->t_high = INFINITY;
}

/* Bounds and part of a lane; false where it is not for this method. */
static bool load_member(tc_alone *s) {
    const tc_proximal_block *b = &s->b;
    const tc_projector *projector = b->family->of->projector;
    size_t member = b->first;
    if (projector->form == TC_PROJECTOR_MEMBERS) {
        const tc_set *set = tc_projector_set(projector, b->worker, member);
        for (size_t c = 0; c < s->dim; c++) {
            s->work->lower[c * TC_LANES] = set->lower[c];
            s->work->upper[c * TC_LANES] = set->upper[c];
        }
        if (set->part_count == 0)
            return true;
        const tc_set_part *part = &set->parts[0];
        for (size_t i = 0; i < part->count; i++)
            s->work->center[(part->first + i) * TC_LANES] = part->center[i];
        load_part(s, part->kind, part->first, part->count, part->radius,
                  part->kind == TC_SET_ELLIPSOID ? part->matrix : NULL);
        return set->part_count == 1 && part->kind != TC_SET_BALL1;
    }
    for (size_t c = 0; c < s->dim; c++) {
        s->work->lower[c * TC_LANES] = tc_coef_at(projector->lower[c], member);
        s->work->upper[c * TC_LANES] = tc_coef_at(projector->upper[c], member);
    }
    size_t parts = 0;
    for (size_t i = 0; i < projector->cut_count; i++) {
        const tc_cut *cut = &projector->cuts[i].cut;
        double radius = tc_coef_at(cut->radius, member);
        if (isinf(radius))
            continue;
        for (size_t j = 0; j < cut->count; j++)
            s->work->center[(projector->cuts[i].first + j) * TC_LANES] = tc_coef_at(cut->center[j], member);
        load_part(s, cut->kind, projector->cuts[i].first, cut->count, radius, NULL);
        parts++;
    }
    return parts == 0 || (parts == 1 && s->kind != TC_SET_BALL1);
}

/* Where Newton's method resisted: what it has stays where the other is no better. */
static bool rescue(tc_alone *s) {
    double *kept = s->work->slope;
    for (size_t c = 0; c < s->dim; c++)
        kept[c] = s->work->x[c * TC_LANES];
    if (!tc_alone_inside(s))
        return false;
    for (size_t c = 0; c < s->dim && !s->is_accurate; c++)
        s->work->x[c * TC_LANES] = kept[c];
    return true;
}

/* False where something is not finite. */
static bool solve(tc_alone *s) {
    bool goes_inside = !load_member(s);
    if (goes_inside)
        return tc_alone_inside(s);
    for (size_t c = 0; c < s->dim; c++)
        s->work->trial[c * TC_LANES] =
            tc_proximal_bounded(s->b.x[c][s->b.at], s->work->lower[c * TC_LANES], s->work->upper[c * TC_LANES]);
    for (int evaluations = 0; !s->is_done && evaluations < MOST_EVALUATIONS; evaluations++) {
        tc_proximal_evaluate(&s->b, s->b.family->both, s->work->trial, 1);
        if (!judge(s, s->work->noise))
            return false;
    }
    s->is_accurate = s->is_accurate && s->is_done;
    return s->is_accurate || s->b.family->insides == NULL || rescue(s);
}

size_t tc_proximal_alone(const tc_proximal_block *b, size_t lane) {
    tc_alone s = {.b = *b,
                  .work = b->work,
                  .dim = b->family->of->family->dim,
                  .inverse = 1 / b->step,
                  .is_accurate = true,
                  .begins = true};
    s.b.first += lane;
    s.b.at += lane;
    s.b.count = 1;
    if (tc_proximal_begin(&s.b) != TC_ALL_FINITE || !solve(&s))
        return s.b.first;
    if (s.has_part) /* digits of the set's own */
        s.is_accurate &=
            tc_projector_project(b->family->of->projector, b->worker, s.b.first, 1, TC_LANES, b->work->x) == 0;
    b->work->inaccurate += !s.is_accurate;
    for (size_t c = 0; c < s.dim; c++)
        b->work->result[c * TC_LANES + lane] = b->work->x[c * TC_LANES];
    return TC_ALL_FINITE;
}
