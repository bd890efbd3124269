/* Newton's method for any smooth objective in a box with at most one smooth part h <= 0 or h = 0.
 *
 * For a multiplier t the function f + p . x + ... + t h is minimised over the box: each step goes towards the minimum
 * of its quadratic model over the box, as far as the slope along it stays negative (the function is convex, so its
 * values are not needed, and rounding in them does no harm). h of that minimum never increases with t; the right t is
 * its root, by Newton's method within a bracket. Lanes go side by side through the tapes, each at its own pace. */
#include "engine/proximal_box.h"
#include "engine/proximal_parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_STEPS = 600, MOST_MULTIPLIERS = 300, EASY_STEPS = 8 };

typedef struct lane_state {
    bool is_done, is_accurate;
    bool is_inside; /* by the interior-point method */
    bool begins;    /* the trial point begins a problem in the box: there is no line yet */
    int steps;      /* of this problem in the box */
    double slope;   /* along the line, < 0 */
    double length;  /* of the line so far */
    int multipliers;
    double t, t_low, t_high;
    /* the part; its centre or normal is in rows of work->center */
    bool has_part;
    tc_set_kind kind;
    size_t first, count;
    double radius;
    const double *matrix;
} lane_state;

typedef struct solve {
    const tc_proximal_block *b;
    tc_proximal_work *work;
    size_t dim;
    double inverse; /* 1 / step */
    lane_state lanes[TC_LANES];
} solve;

/* ---- the part ---------------------------------------------------------------------------------------------------- */

typedef struct part_value {
    double h, size; /* size: of what cancels in h */
    double square;  /* balls and ellipsoids: 2 h + target */
    double target;
} part_value;

/* At rows of points; its gradient, zero beyond its components, in gradient. */
static part_value evaluate_part(const solve *s, const lane_state *l, size_t lane, const double *rows,
                                double *gradient) {
    part_value out = {0};
    memset(gradient, 0, s->dim * sizeof *gradient);
    for (size_t i = 0; i < l->count; i++) {
        size_t c = l->first + i;
        double x = rows[c * TC_LANES + lane], center = s->work->center[c * TC_LANES + lane];
        if (l->kind == TC_SET_HALFSPACE || l->kind == TC_SET_HYPERPLANE) {
            gradient[c] = center;
            out.h += center * x;
            out.size += fabs(center * x);
            continue;
        }
        if (l->matrix == NULL)
            gradient[c] = x - center;
        for (size_t j = 0; l->matrix != NULL && j < l->count; j++) {
            size_t at = (l->first + j) * TC_LANES + lane;
            gradient[c] += l->matrix[i * l->count + j] * (rows[at] - s->work->center[at]);
        }
        out.square += gradient[c] * (x - center);
    }
    if (l->kind == TC_SET_HALFSPACE || l->kind == TC_SET_HYPERPLANE) {
        out.h -= l->radius;
        out.size += fabs(l->radius);
        return out;
    }
    out.target = l->kind == TC_SET_BALL ? l->radius * l->radius : l->radius;
    out.h = (out.square - out.target) / 2;
    out.size = out.target;
    return out;
}

static void add_part_hessian(const solve *s, const lane_state *l) {
    if (l->kind != TC_SET_BALL && l->kind != TC_SET_ELLIPSOID)
        return;
    for (size_t i = 0; i < l->count; i++)
        for (size_t j = 0; j < l->count; j++) {
            double entry = l->matrix != NULL ? l->matrix[i * l->count + j] : i == j ? 1 : 0;
            s->work->hessian[(l->first + i) * s->dim + l->first + j] += l->t * entry;
        }
}

/* ---- a problem in the box ---------------------------------------------------------------------------------------- */

/* The slopes at the trial point, and in noise how large the terms are that cancel in them. */
static bool find_slopes(const solve *s, const lane_state *l, size_t lane, double *noise) {
    const tc_proximal_block *b = s->b;
    tc_proximal_work *work = s->work;
    bool is_finite = true;
    if (l->has_part)
        (void)evaluate_part(s, l, lane, work->trial, work->pull);
    for (size_t c = 0; c < s->dim; c++) {
        int32_t row = b->family->of->rows[c];
        double x = work->trial[c * TC_LANES + lane], f = row == TC_NO_ROW ? 0 : work->out_at[row][lane];
        double p = b->p[c][b->at + lane], pull = b->regularization * x;
        double back = (x - b->x[c][b->at + lane]) * s->inverse, price = l->has_part ? l->t * work->pull[c] : 0;
        work->slope[c] = (((f + p) + pull) + back) + price;
        noise[c] = 4 * DBL_EPSILON * (fabs(f) + fabs(p) + fabs(pull) + fabs(back) + fabs(price));
        is_finite = is_finite && isfinite(work->slope[c]);
    }
    return is_finite;
}

static void find_hessian(const solve *s, const lane_state *l, size_t lane) {
    const tc_family_derivatives *d = s->b->family->derivatives;
    double *hessian = s->work->hessian;
    size_t n = s->dim;
    memset(hessian, 0, n * n * sizeof *hessian);
    for (size_t i = 0; i < d->objective_second_count; i++) {
        const tc_second *second = &d->objective_second[i];
        double value = s->work->out_at[d->objective_first_count + i][lane];
        if (isfinite(value)) {
            hessian[second->column * n + second->other] += value;
            if (second->other != second->column)
                hessian[second->other * n + second->column] += value;
        } else if (second->other == second->column) { /* at an edge of the domain: as if it reached a part of the box */
            size_t at = second->column * TC_LANES + lane;
            hessian[second->column * n + second->column] +=
                1e3 * fabs(s->work->slope[second->column]) / (s->work->upper[at] - s->work->lower[at]);
        }
    }
    for (size_t c = 0; c < n; c++)
        hessian[c * n + c] += s->b->weight;
    if (l->has_part && l->t > 0)
        add_part_hessian(s, l);
}

static tc_box_step box_step(const solve *s, const lane_state *l, size_t lane) {
    tc_proximal_work *work = s->work;
    return (tc_box_step){.dim = s->dim,
                         .is_diagonal = s->b->family->is_diagonal && (l->matrix == NULL || l->t == 0),
                         .hessian = work->hessian,
                         .slope = work->slope,
                         .lower = work->roots + lane, /* filled below; the rows are free here */
                         .upper = work->trial + lane,
                         .move = work->move + lane,
                         .stride = TC_LANES,
                         .factor = work->factor,
                         .right = work->side,
                         .free = work->free,
                         .holds = work->holds};
}

static void set_trial(const solve *s, const lane_state *l, size_t lane) {
    tc_proximal_work *work = s->work;
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES + lane;
        work->trial[at] =
            tc_proximal_bounded(work->x[at] + l->length * work->move[at], work->lower[at], work->upper[at]);
    }
}

static inline double larger(double a, double b) { return a > b ? a : b; }

/* Whether the step that has been found is the last one of this problem. */
static bool is_small(const solve *s, size_t lane, const double *noise) {
    const tc_proximal_work *work = s->work;
    double size = 0;
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES + lane;
        double width = work->upper[at] - work->lower[at];
        size = larger(size, larger(fabs(work->x[at]), isfinite(width) ? 1e-6 * width : 0));
    }
    for (size_t c = 0; c < s->dim; c++) {
        double move = fabs(work->move[c * TC_LANES + lane]), slope = fabs(work->slope[c]);
        /* Curvature may be so large for a moment that a short step says little: slopes must have become small too. */
        double little = 1e-6 / (4 * DBL_EPSILON) * noise[c];
        bool is_little =
            slope <= 2 * noise[c] || move <= 2 * DBL_EPSILON * size || (move <= 1e-11 * size && slope <= little);
        if (!is_little)
            return false;
    }
    return true;
}

/* ---- the multiplier ---------------------------------------------------------------------------------------------- */

/* Away from a place where h does not depend on t. */
static double leap(const solve *s, const lane_state *l, double sign) {
    double most = 0, steepest = 0;
    for (size_t c = 0; c < s->dim; c++) {
        most = fmax(most, fabs(s->work->slope[c] - l->t * s->work->pull[c]));
        steepest = fmax(steepest, fabs(s->work->pull[c]));
    }
    double unit = steepest > 0 && most > 0 ? most / steepest : 1;
    return l->t + sign * fmax(fabs(l->t), unit);
}

/* Newton's change of t; NAN where there is none. */
static double newton_change(part_value at, double slope) {
    if (!(slope < 0))
        return NAN;
    if (at.target == 0)
        return -at.h / slope;
    /* 1 / sqrt(square) is all but linear in t */
    return (sqrt(at.square / at.target) - 1) * at.square / -slope;
}

static double next_multiplier(const solve *s, const lane_state *l, part_value at, double change) {
    double next = l->t + change;
    if (next > l->t_low && next < l->t_high)
        return next;
    if (isinf(l->t_low) || isinf(l->t_high))
        return leap(s, l, at.h > 0 ? 1 : -1);
    return l->t_low + (l->t_high - l->t_low) / 2;
}

/* The problem in the box is solved: x is its solution, and the factor of its last step is there. */
static void judge_part(solve *s, size_t lane, tc_box_step *step) {
    lane_state *l = &s->lanes[lane];
    tc_proximal_work *work = s->work;
    part_value at = evaluate_part(s, l, lane, work->x, work->pull);
    l->multipliers++;
    l->is_done = (l->multipliers == 1 && at.h <= 0 && l->kind != TC_SET_HYPERPLANE) || fabs(at.h) <= 1e-12 * at.size;
    if (l->is_done)
        return;
    if (at.h > 0)
        l->t_low = l->t;
    else
        l->t_high = l->t;
    double *response = work->response, slope = 0;
    memcpy(response, work->pull, s->dim * sizeof *response);
    tc_box_step_solve(step, response);
    for (size_t c = 0; c < s->dim; c++)
        slope -= work->pull[c] * response[c];
    double change = newton_change(at, slope), next = next_multiplier(s, l, at, change);
    /* The point follows the change itself, which may be too small for the digits of t. */
    bool is_last = fabs(change) <= 64 * DBL_EPSILON * fabs(l->t);
    double by = is_last ? change : next - l->t;
    l->is_accurate = l->is_accurate && l->multipliers <= MOST_MULTIPLIERS;
    l->is_done = is_last || next == l->t || l->multipliers > MOST_MULTIPLIERS;
    l->t = next;
    l->begins = true;
    l->steps = 0;
    for (size_t c = 0; c < s->dim; c++) {
        size_t i = c * TC_LANES + lane;
        work->trial[i] = tc_proximal_bounded(work->x[i] - by * response[c], work->lower[i], work->upper[i]);
        if (is_last)
            work->x[i] = work->trial[i];
    }
}

/* ---- one lane at its evaluated trial point ----------------------------------------------------------------------- */

static void accept(solve *s, size_t lane) {
    for (size_t c = 0; c < s->dim; c++)
        s->work->x[c * TC_LANES + lane] = s->work->trial[c * TC_LANES + lane];
}

/* Whether the line may be followed to the trial point; else a shorter one is set. */
static bool may_go(solve *s, size_t lane, bool is_finite, const double *noise) {
    lane_state *l = &s->lanes[lane];
    if (l->begins && is_finite)
        return true;
    double slope = 0, rounding = 0;
    for (size_t c = 0; c < s->dim; c++) {
        double move = s->work->move[c * TC_LANES + lane];
        slope += s->work->slope[c] * move;
        rounding += noise[c] * fabs(move);
    }
    double most = l->steps <= EASY_STEPS ? 0.3 * -l->slope : 0;
    if (is_finite && slope <= most + rounding)
        return true;
    double shorter = is_finite ? -l->slope / (slope - l->slope) : 0.5;
    l->length *= shorter < 0.1 ? 0.1 : shorter > 0.8 ? 0.8 : shorter;
    set_trial(s, l, lane);
    return false;
}

/* A problem that begins where its slopes are not finite begins further inside. */
static bool begin_inside(solve *s, size_t lane) {
    lane_state *l = &s->lanes[lane];
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES + lane;
        double middle = s->work->lower[at] + (s->work->upper[at] - s->work->lower[at]) / 2;
        s->work->trial[at] += (middle - s->work->trial[at]) * (l->steps < 20 ? 1e-3 : 0.5);
    }
    return l->steps < 60;
}

/* False where the slopes are nowhere finite. */
static bool judge(solve *s, size_t lane, double *noise) {
    lane_state *l = &s->lanes[lane];
    tc_proximal_work *work = s->work;
    bool is_finite = find_slopes(s, l, lane, noise);
    l->steps++;
    if (l->begins && !is_finite)
        return begin_inside(s, lane);
    bool is_late = l->steps > MOST_STEPS;
    if (!is_late && !may_go(s, lane, is_finite, noise))
        return true;
    if (is_finite)
        accept(s, lane);
    l->begins = false;
    find_hessian(s, l, lane);
    tc_box_step step = box_step(s, l, lane);
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES + lane;
        work->roots[at] = work->lower[at] - work->x[at];
        work->trial[at] = work->upper[at] - work->x[at];
    }
    tc_box_step_find(&step);
    l->length = 1;
    l->slope = 0;
    for (size_t c = 0; c < s->dim; c++)
        l->slope += work->slope[c] * work->move[c * TC_LANES + lane];
    set_trial(s, l, lane);
    bool is_last = is_small(s, lane, noise);
    if (!is_late && !is_last && l->slope < 0)
        return true;
    l->is_accurate = l->is_accurate && is_last;
    if (is_last)
        accept(s, lane);
    if (l->has_part)
        judge_part(s, lane, &step);
    else
        l->is_done = true;
    return true;
}

/* ---- all lanes --------------------------------------------------------------------------------------------------- */

static void load_part(solve *s, size_t lane, tc_set_kind kind, size_t first, size_t count, double radius,
                      const double *matrix) {
    lane_state *l = &s->lanes[lane];
    l->has_part = true;
    l->kind = kind;
    l->first = first;
    l->count = count;
    l->radius = radius;
    l->matrix = matrix;
    l->t_low = -INFINITY;
    l->t_high = INFINITY;
}

/* Bounds and part of a lane; false where it is not for this method. */
static bool load_member(solve *s, size_t lane) {
    const tc_proximal_block *b = s->b;
    const tc_projector *projector = b->family->of->projector;
    size_t member = b->first + lane;
    if (projector->form == TC_PROJECTOR_MEMBERS) {
        const tc_set *set = tc_projector_set(projector, b->worker, member);
        for (size_t c = 0; c < s->dim; c++) {
            s->work->lower[c * TC_LANES + lane] = set->lower[c];
            s->work->upper[c * TC_LANES + lane] = set->upper[c];
        }
        if (set->part_count == 0)
            return true;
        const tc_set_part *part = &set->parts[0];
        for (size_t i = 0; i < part->count; i++)
            s->work->center[(part->first + i) * TC_LANES + lane] = part->center[i];
        load_part(s, lane, part->kind, part->first, part->count, part->radius,
                  part->kind == TC_SET_ELLIPSOID ? part->matrix : NULL);
        return set->part_count == 1 && part->kind != TC_SET_BALL1;
    }
    for (size_t c = 0; c < s->dim; c++) {
        s->work->lower[c * TC_LANES + lane] = tc_coef_at(projector->lower[c], member);
        s->work->upper[c * TC_LANES + lane] = tc_coef_at(projector->upper[c], member);
    }
    size_t parts = 0;
    for (size_t i = 0; i < projector->cut_count; i++) {
        const tc_cut *cut = &projector->cuts[i].cut;
        double radius = tc_coef_at(cut->radius, member);
        if (isinf(radius))
            continue;
        for (size_t j = 0; j < cut->count; j++)
            s->work->center[(projector->cuts[i].first + j) * TC_LANES + lane] = tc_coef_at(cut->center[j], member);
        load_part(s, lane, cut->kind, projector->cuts[i].first, cut->count, radius, NULL);
        parts++;
    }
    return parts == 0 || (parts == 1 && s->lanes[lane].kind != TC_SET_BALL1);
}

static bool is_answer_finite(const tc_proximal_block *b, size_t lane) {
    for (size_t c = 0; c < b->family->of->family->dim; c++)
        if (!isfinite(b->p[c][b->at + lane]) || !isfinite(b->x[c][b->at + lane]))
            return false;
    return true;
}

/* How much one component can change f across its box, by the slopes at a point; 0 where they are not finite. */
static tc_real range_at(const solve *s, size_t lane) {
    tc_proximal_block one = *s->b;
    tc_proximal_work *work = s->work;
    tc_real range = 0;
    one.first += lane;
    one.count = 1;
    tc_proximal_evaluate(&one, s->b->family->both, work->x + lane);
    for (size_t c = 0; c < s->dim; c++) {
        int32_t row = s->b->family->of->rows[c];
        tc_real width = (tc_real)(work->upper[c * TC_LANES + lane] - work->lower[c * TC_LANES + lane]);
        tc_real slope = row == TC_NO_ROW ? 0 : (tc_real)work->out_at[row][0] * width;
        range = fmaxl(range, fabsl(slope));
    }
    return isfinite(range) ? range : 0;
}

static tc_interior_result solve_inside_once(solve *s, size_t lane, tc_real range) {
    const tc_proximal_block *b = s->b;
    tc_proximal_work *work = s->work;
    tc_interior *interior = b->family->interiors[b->worker];
    const tc_interior_options options = {.gap = 1e-26L, .residual = 1e-16L, .iterations = 200};
    for (size_t c = 0; c < s->dim; c++)
        work->reals[c] = (tc_real)b->x[c][b->at + lane] / (tc_real)b->step - (tc_real)b->p[c][b->at + lane];
    tc_interior_member(interior, b->first + lane);
    tc_real weight = (tc_real)b->regularization + 1 / (tc_real)b->step;
    tc_interior_result result = tc_interior_pulled(interior, &options, weight, work->reals, range);
    if (!isfinite(result.residual))
        return result;
    tc_interior_block(interior, work->reals);
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES + lane;
        work->x[at] = tc_proximal_bounded((double)work->reals[c], work->lower[at], work->upper[at]);
    }
    return result;
}

/* The interior-point method. Its accuracy is relative to the slopes, which may be quite other ones at the solution
 * than where they were judged: then once more. False where the objective is not defined in the middle of the box. */
static bool solve_inside(solve *s, size_t lane) {
    tc_interior_result result = {0};
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES + lane;
        s->work->x[at] = tc_proximal_bounded(s->b->x[c][s->b->at + lane], s->work->lower[at], s->work->upper[at]);
    }
    tc_real range = range_at(s, lane), used = range;
    for (int again = 0; again < 4; again++) {
        result = solve_inside_once(s, lane, used = range);
        if (!isfinite(result.residual))
            return false;
        range = range_at(s, lane);
        if (range > 0.03L * used && range < 30 * used)
            break;
    }
    bool is_accurate = result.gap <= 1e-19L && result.residual <= 1e-13L;
    s->lanes[lane].is_done = s->lanes[lane].is_inside = true;
    s->lanes[lane].has_part = !is_accurate; /* an accurate point is in the set already */
    s->lanes[lane].is_accurate = is_accurate;
    return true;
}

static size_t begin(solve *s) {
    const tc_proximal_block *b = s->b;
    for (size_t lane = 0; lane < b->count; lane++) {
        s->lanes[lane] = (lane_state){.is_accurate = true, .begins = true};
        if (!is_answer_finite(b, lane))
            return b->first + lane;
        if (!load_member(s, lane) && !solve_inside(s, lane))
            return b->first + lane;
        for (size_t c = 0; c < s->dim; c++) {
            size_t at = c * TC_LANES + lane;
            s->work->trial[at] = s->lanes[lane].is_done ? s->work->x[at]
                                                        : tc_proximal_bounded(b->x[c][b->at + lane], s->work->lower[at],
                                                                              s->work->upper[at]);
        }
    }
    return TC_ALL_FINITE;
}

static bool goes_on(const solve *s) {
    for (size_t lane = 0; lane < s->b->count; lane++)
        if (!s->lanes[lane].is_done)
            return true;
    return false;
}

/* Once more for a lane that has resisted; what it has stays where that is no better. */
static bool rescue(solve *s, size_t lane) {
    bool has_part = s->lanes[lane].has_part;
    double *kept = s->work->slope;
    for (size_t c = 0; c < s->dim; c++)
        kept[c] = s->work->x[c * TC_LANES + lane];
    if (!solve_inside(s, lane))
        return false;
    if (s->lanes[lane].is_accurate)
        return true;
    s->lanes[lane].has_part = has_part;
    for (size_t c = 0; c < s->dim; c++)
        s->work->x[c * TC_LANES + lane] = kept[c];
    return true;
}

static size_t solve_block(const tc_proximal_block *b) {
    solve s = {.b = b, .work = b->work, .dim = b->family->of->family->dim, .inverse = 1 / b->step};
    size_t failed = begin(&s);
    if (failed != TC_ALL_FINITE)
        return failed;
    while (goes_on(&s)) {
        tc_proximal_evaluate(b, b->family->both, b->work->trial);
        for (size_t lane = 0; lane < b->count; lane++)
            if (!s.lanes[lane].is_done && !judge(&s, lane, b->work->noise))
                return b->first + lane;
    }
    for (size_t lane = 0; lane < b->count; lane++) {
        if (!s.lanes[lane].is_accurate && !s.lanes[lane].is_inside && b->family->interiors != NULL && !rescue(&s, lane))
            return b->first + lane;
        b->work->inaccurate += !s.lanes[lane].is_accurate;
        if (s.lanes[lane].has_part) /* digits of the set's own */
            b->work->inaccurate += tc_projector_project(b->family->of->projector, b->worker, b->first + lane, 1,
                                                        TC_LANES, b->work->x + lane);
    }
    return TC_ALL_FINITE;
}

size_t tc_proximal_alone(const tc_proximal_block *b, size_t lane) {
    tc_proximal_block one = *b;
    one.first += lane;
    one.at += lane;
    one.count = 1;
    size_t failed = solve_block(&one);
    for (size_t c = 0; c < b->family->of->family->dim; c++)
        b->work->singles[c * TC_LANES + lane] = b->work->x[c * TC_LANES];
    return failed;
}

/* Sets that have no common form are looked at one by one. */
size_t tc_proximal_newton(const tc_proximal_block *b) {
    if (b->family->of->projector->form != TC_PROJECTOR_MEMBERS)
        return solve_block(b);
    for (size_t lane = 0; lane < b->count; lane++) {
        size_t failed = tc_proximal_alone(b, lane);
        if (failed != TC_ALL_FINITE)
            return failed;
    }
    memcpy(b->work->x, b->work->singles, b->family->of->family->dim * TC_LANES * sizeof(double));
    return TC_ALL_FINITE;
}
