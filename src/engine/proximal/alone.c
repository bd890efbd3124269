/* Newton's method for one member: any smooth objective in a box with at most one smooth part. Slower than newton.c, for
 * members that newton.c does not solve.
 *
 * For a multiplier of the part the function is minimised over the box: each step goes towards the minimum of its
 * quadratic model over the box, as far as the slope along it stays negative. */
#include "engine/proximal/inside.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_STEPS = 100, MOST_EVALUATIONS = 300, EASY_STEPS = 8, MOST_MULTIPLIERS = 60 };

/* ---- the step in a box ------------------------------------------------------------------------------------------- */

/* min slope . d + d' hessian d / 2 over bounds, for one member. */

typedef struct box_problem {
    size_t dim;
    bool is_diagonal;
    const double *hessian;       /* dim * dim, positive definite */
    const double *slope;         /* dim */
    const double *lower, *upper; /* of d, at c * stride; lower <= 0 <= upper */
    double *move;                /* d, at c * stride */
    size_t stride;
    double *factor; /* dim * dim */
    double *right;  /* dim */
    size_t *free;   /* dim */
    size_t free_count;
    int8_t *holds; /* dim: -1 and 1 where d is held at a bound */
} box_problem;

/* H_FF = L D L', L with ones on its diagonal; 1 / D is in its place. */
static void factor_free(box_problem *s) {
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
        row[i] = 1 / (pivot > least ? pivot : least); /* keeps a little where rounding has cancelled the curvature */
    }
}

/* right = H_FF^-1 right, by place among the free. */
static void solve_free(const box_problem *s, double *right) {
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

/* z = H_FF^-1 z over the free components, after box_find; entries of the others become 0. */
static void box_solve(box_problem *s, double *z) {
    for (size_t i = 0; i < s->free_count; i++)
        s->right[i] = z[s->free[i]];
    solve_free(s, s->right);
    for (size_t c = 0; c < s->dim; c++)
        z[c] = 0;
    for (size_t i = 0; i < s->free_count; i++)
        z[s->free[i]] = s->right[i];
}

/* slope + H d in one component. */
static double slope_after(const box_problem *s, size_t c) {
    double sum = s->slope[c];
    if (s->is_diagonal)
        return sum + s->hessian[c * s->dim + c] * s->move[c * s->stride];
    for (size_t d = 0; d < s->dim; d++)
        sum += s->hessian[c * s->dim + d] * s->move[d * s->stride];
    return sum;
}

/* Solves with the bounds that are held; true where they are the right ones, else they are exchanged. */
static bool try_holds(box_problem *s) {
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
static void descend(box_problem *s) {
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

/* Finds d, with the components that are free and their factor; where the right bounds are not found in a few rounds,
 * a d that is better than 0. */
static void box_find(box_problem *s) {
    for (size_t c = 0; c < s->dim; c++) {
        double lower = s->lower[c * s->stride], upper = s->upper[c * s->stride];
        s->holds[c] = lower >= upper || (lower >= 0 && s->slope[c] > 0) ? -1 : upper <= 0 && s->slope[c] < 0 ? 1 : 0;
    }
    for (size_t round = 0; round < 12 + s->dim; round++)
        if (try_holds(s))
            return;
    descend(s);
}

/* ---- the part of a set, h <= 0 or h = 0 -------------------------------------------------------------------------- */

/* For a multiplier t the function f + p . x + ... + t h is minimised over the box. h at that minimum never increases
 * with t; the right t is its root, by Newton's method within a bracket. */

typedef struct part_value {
    double h, size; /* size: of what cancels in h */
    double square;  /* balls and ellipsoids: 2 h + target */
    double target;
} part_value;

/* At rows of points; its gradient, zero beyond its components, in gradient. */
static part_value part_at(const tc_alone *s, const double *rows, double *gradient) {
    part_value out = {0};
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

/* t times the Hessian of h, added to work->hessian. */
static void add_part_hessian(const tc_alone *s) {
    if (s->kind != TC_SET_BALL && s->kind != TC_SET_ELLIPSOID)
        return;
    for (size_t i = 0; i < s->count; i++)
        for (size_t j = 0; j < s->count; j++) {
            double entry = s->matrix != NULL ? s->matrix[i * s->count + j] : i == j ? 1 : 0;
            s->work->hessian[(s->first + i) * s->dim + s->first + j] += s->t * entry;
        }
}

/* A t far from the present one, where h does not depend on t. */
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
static double newton_change(part_value at, double slope) {
    if (!(slope < 0))
        return NAN;
    if (at.target == 0)
        return -at.h / slope;
    /* 1 / sqrt(square) is all but linear in t */
    return (sqrt(at.square / at.target) - 1) * at.square / -slope;
}

static double next_multiplier(const tc_alone *s, part_value at, double change) {
    double next = s->t + change;
    if (next > s->t_low && next < s->t_high)
        return next;
    if (isinf(s->t_low) || isinf(s->t_high))
        return leap(s, at.h > 0 ? 1 : -1);
    return s->t_low + (s->t_high - s->t_low) / 2;
}

/* x is the minimum without the slab. Only the side that it violates, if any, holds with equality. */
static void choose_side(tc_alone *s) {
    double sum = 0;
    for (size_t c = s->first; c < s->first + s->count; c++)
        sum += s->work->center[c * TC_LANES] * s->work->x[c * TC_LANES];
    if (sum < s->floor) {
        for (size_t c = s->first; c < s->first + s->count; c++)
            s->work->center[c * TC_LANES] *= -1;
        s->radius = -s->floor;
    }
    s->floor = -INFINITY;
}

/* x solves the problem in the box; step is the last one, with its factor. Ends the search, or sets the next multiplier.
 */
static void judge_part(tc_alone *s, box_problem *step) {
    tc_proximal_work *work = s->work;
    if (isfinite(s->floor))
        choose_side(s);
    part_value at = part_at(s, work->x, work->pull);
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
    box_solve(step, response);
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

/* ---- Newton's steps in the box ----------------------------------------------------------------------------------- */

/* The slopes at the trial point, and in noise how large the terms are that cancel in them. */
static bool find_slopes(const tc_alone *s, double *noise) {
    const tc_proximal_block *b = &s->b;
    tc_proximal_work *work = s->work;
    bool is_finite = true;
    if (s->has_part)
        (void)part_at(s, work->trial, work->pull);
    for (size_t c = 0; c < s->dim; c++) {
        int32_t row = b->family->of->rows[c];
        double x = work->trial[c * TC_LANES], f = row == TC_NO_ROW ? 0 : work->out_at[row][0];
        double p = b->p[c][b->at], pull = b->regularization * x;
        double back = (x - b->x[c][b->at]) * tc_proximal_inverse(b, c), price = s->has_part ? s->t * work->pull[c] : 0;
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
        } else if (second->other == second->column) {
            /* At an edge of the domain: limits the step to 1/1000 of the box. */
            size_t at = second->column * TC_LANES;
            hessian[second->column * n + second->column] +=
                1e3 * fabs(s->work->slope[second->column]) / (s->work->upper[at] - s->work->lower[at]);
        }
    }
    for (size_t c = 0; c < n; c++)
        hessian[c * n + c] += tc_proximal_weight(&s->b, c);
    if (s->has_part && s->t > 0)
        add_part_hessian(s);
}

static box_problem problem_in_box(const tc_alone *s) {
    tc_proximal_work *work = s->work;
    return (box_problem){.dim = s->dim,
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
    box_problem step = problem_in_box(s);
    for (size_t c = 0; c < s->dim; c++) {
        size_t at = c * TC_LANES;
        work->roots[at] = work->lower[at] - work->x[at];
        work->trial[at] = work->upper[at] - work->x[at];
    }
    box_find(&step);
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
        judge_part(s, &step);
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
    s->floor = -INFINITY;
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
        double floor = cut->is_slab ? tc_coef_at(cut->floor, member) : -INFINITY;
        if (isinf(radius) && isinf(floor))
            continue;
        for (size_t j = 0; j < cut->count; j++)
            s->work->center[(projector->cuts[i].first + j) * TC_LANES] = tc_coef_at(cut->center[j], member);
        load_part(s, cut->kind, projector->cuts[i].first, cut->count, radius, NULL);
        s->floor = floor;
        parts++;
    }
    return parts == 0 || (parts == 1 && s->kind != TC_SET_BALL1);
}

/* Newton's method did not converge: the interior-point method's point where that one is certified, else Newton's. */
static bool rescue(tc_alone *s) {
    double *kept = s->work->slope;
    for (size_t c = 0; c < s->dim; c++)
        kept[c] = s->work->x[c * TC_LANES];
    if (!tc_alone_interior(s))
        return false;
    for (size_t c = 0; c < s->dim && !s->is_accurate; c++)
        s->work->x[c * TC_LANES] = kept[c];
    return true;
}

/* False where something is not finite. */
static bool solve(tc_alone *s) {
    bool goes_inside = !load_member(s);
    if (goes_inside)
        return tc_alone_interior(s);
    for (size_t c = 0; c < s->dim; c++)
        s->work->trial[c * TC_LANES] =
            tc_proximal_bounded(s->b.x[c][s->b.at], s->work->lower[c * TC_LANES], s->work->upper[c * TC_LANES]);
    for (int evaluations = 0; !s->is_done && evaluations < MOST_EVALUATIONS; evaluations++) {
        tc_proximal_evaluate(&s->b, s->b.family->both, s->work->trial, 1);
        if (!judge(s, s->work->noise))
            return false;
    }
    s->is_accurate = s->is_accurate && s->is_done;
    return s->is_accurate || s->b.family->interiors == NULL || rescue(s);
}

size_t tc_proximal_alone(const tc_proximal_block *b, size_t lane) {
    tc_alone s = {.b = *b, .work = b->work, .dim = b->family->of->family->dim, .is_accurate = true, .begins = true};
    s.b.first += lane;
    s.b.at += lane;
    s.b.count = 1;
    if (tc_proximal_begin(&s.b) != TC_ALL_FINITE || !solve(&s))
        return s.b.first;
    if (s.has_part) /* for the bits of the set's own projection */
        s.is_accurate &=
            tc_projector_project(b->family->of->projector, b->worker, s.b.first, 1, TC_LANES, b->work->x) == 0;
    b->work->inaccurate += !s.is_accurate;
    for (size_t c = 0; c < s.dim; c++)
        b->work->result[c * TC_LANES + lane] = b->work->x[c * TC_LANES];
    return TC_ALL_FINITE;
}
