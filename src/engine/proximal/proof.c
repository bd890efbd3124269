#include "engine/proximal/proof.h"

#include "analysis/data/data.h"
#include "analysis/region.h"
#include "calculus/tape/tape.h"
#include "solver/linear.h"

/* A state that is nearer to its bound than this part of the bounds' width is meant to be there. */
#define SNAP 0x1p-42
/* Interior points stop a little before a bound; where a step is not proved, it may be meant to be there from here on.
 */
#define FAR_SNAP 0x1p-34
enum { MOST_REPAIRS = 4 };

typedef struct proof_family {
    const tc_family *family;
    bool is_needed;
    tc_tape *gradient; /* first derivatives that are not zero by structure */
    size_t *columns;   /* by output of the tape: the component */
    size_t count;
    tc_tape *hessian; /* second derivatives, for repairs; by output: row * dim + column of the lower triangle */
    size_t *places, second_count;
    double *doubt;  /* by output of the gradient: how far it can be off in double, over boxes and data */
    double allowed; /* the error, in l2 */
} proof_family;

typedef struct proof_work {            /* of one thread */
    double *quick, *quick_tape;        /* rows of TC_LANES: steps at their bounds */
    double **quick_at;                 /* rows of derivatives */
    double *quick_slope, *quick_doubt; /* of one member: dim */
    /* of one member, in intervals */
    tc_interval *tape, *states, *data, *out;
    const tc_interval **state_at, **data_at;
    tc_interval **out_at;
    tc_interval *slope;             /* of one member: dim */
    double *lower, *upper, *normal; /* the same; normal: of its row */
    double *point;                  /* the step, at a bound where it is near one */
    tc_real *matrix, *move, *along; /* of a repair: dim^2, dim, dim */
    double *seconds, *scratch;      /* by output; of the tape */
    size_t *free;
    double *start, *kept;          /* dim each */
    const double **rows, **starts; /* 3 dim each */
    double **next, **next_rows;    /* dim each */
    const double **state_rows, **data_rows;
    double **second_at;
    tc_interval *second_out, **second_out_at;
} proof_work;

struct tc_step_proof {
    const tc_model *model;
    proof_family *families;
    proof_work *works;
};

/* ---- one member -------------------------------------------------------------------------------------------------- */

/* lower <= x <= upper and floor <= normal . x <= ceiling: all there is to a set whose steps can be proved. */
typedef struct member_set {
    double *lower, *upper, *normal;
    double floor, ceiling;
    double least; /* the smallest |normal_c| that is not 0 */
    bool has_row;
} member_set;

static void meet_bounds(member_set *set, size_t c, double low, double high) {
    set->lower[c] = fmax(set->lower[c], low);
    set->upper[c] = fmin(set->upper[c], high);
}

static size_t support_of(const tc_set_piece *piece, size_t member, size_t *only) {
    size_t support = 0;
    for (size_t c = 0; c < piece->count; c++) {
        if (tc_coef_at(piece->center[c], member) == 0)
            continue;
        support++;
        *only = c;
    }
    return support;
}

/* A row; further ones have the same normal or its negative (analysis/data/sets.c). */
static void meet_row(member_set *set, const tc_set_piece *piece, size_t member, size_t dim) {
    double sign = 1, radius = tc_coef_at(piece->radius, member);
    for (size_t c = 0; c < piece->count; c++) {
        double a = piece->kind == TC_SET_SIMPLEX ? 1 : tc_coef_at(piece->center[c], member);
        double *normal = &set->normal[piece->first + c];
        if (!set->has_row)
            *normal = a;
        else if (a != 0)
            sign = *normal == a ? 1 : -1;
    }
    for (size_t c = 0; !set->has_row && c < dim; c++)
        set->least = set->normal[c] != 0 ? fmin(set->least, fabs(set->normal[c])) : set->least;
    set->has_row = true;
    bool equal = piece->kind != TC_SET_HALFSPACE;
    if (equal || sign > 0)
        set->ceiling = fmin(set->ceiling, sign * radius);
    if (equal || sign < 0)
        set->floor = fmax(set->floor, sign * radius);
}

static member_set set_of(const proof_work *work, const tc_family *family, size_t member) {
    member_set set = {.lower = work->lower,
                      .upper = work->upper,
                      .normal = work->normal,
                      .floor = -HUGE_VAL,
                      .ceiling = HUGE_VAL,
                      .least = HUGE_VAL};
    for (size_t c = 0; c < family->dim; c++) {
        set.lower[c] = tc_coef_at(family->lower[c], member);
        set.upper[c] = tc_coef_at(family->upper[c], member);
        set.normal[c] = 0;
    }
    for (size_t p = 0; p < family->piece_count; p++) {
        const tc_set_piece *piece = &family->pieces[p];
        size_t only = 0, support = piece->kind == TC_SET_BOX || piece->kind == TC_SET_SIMPLEX
                                       ? piece->count
                                       : support_of(piece, member, &only);
        for (size_t c = 0; piece->kind == TC_SET_BOX && c < piece->count; c++)
            meet_bounds(&set, piece->first + c, tc_coef_at(piece->center[c], member),
                        tc_coef_at(piece->upper[c], member));
        for (size_t c = 0; piece->kind == TC_SET_SIMPLEX && c < piece->count; c++)
            meet_bounds(&set, piece->first + c, 0, HUGE_VAL);
        if (piece->kind == TC_SET_BOX || support == 0)
            continue;
        if (support > 1 || piece->kind == TC_SET_SIMPLEX) {
            meet_row(&set, piece, member, family->dim);
            continue;
        }
        double a = tc_coef_at(piece->center[only], member), bound = tc_coef_at(piece->radius, member) / a;
        bool equal = piece->kind == TC_SET_HYPERPLANE;
        meet_bounds(&set, piece->first + only, equal || a < 0 ? bound : -HUGE_VAL, equal || a > 0 ? bound : HUGE_VAL);
    }
    return set;
}

/* ---- the multiplier of the row ----------------------------------------------------------------------------------- */

typedef struct multiplier_range {
    double low, high;
} multiplier_range;

/* What the slopes leave over of a normal cone of the bounds, with nu times the row's normal added. */
static double residual(const member_set *set, const proof_work *work, size_t c, double nu) {
    tc_interval total = tc_iadd(work->slope[c], tc_imul(tc_point(nu), tc_point(set->normal[c])));
    bool low = work->point[c] <= set->lower[c], high = work->point[c] >= set->upper[c];
    if (low && high)
        return 0;
    return low ? fmax(0, -total.lo) : high ? fmax(0, total.hi) : tc_magnitude(total);
}

/* The least squares fit where states are free; else the value nearest to 0 that the signs at the bounds allow. */
static double guess_multiplier(const member_set *set, const proof_work *work, size_t dim) {
    double products = 0, squares = 0;
    multiplier_range range = {-HUGE_VAL, HUGE_VAL};
    for (size_t c = 0; c < dim; c++) {
        double a = set->normal[c], slope = work->slope[c].lo / 2 + work->slope[c].hi / 2;
        bool low = work->point[c] <= set->lower[c], high = work->point[c] >= set->upper[c];
        if (a == 0 || (low && high))
            continue;
        if (!low && !high) {
            products += slope * a;
            squares += a * a;
        } else if ((a > 0) == low) { /* slope + nu a must be >= 0 at the lower bound */
            range.low = fmax(range.low, -slope / a);
        } else {
            range.high = fmin(range.high, -slope / a);
        }
    }
    return squares > 0 ? -products / squares : fmin(fmax(0, range.low), range.high);
}

/* ---- the proof --------------------------------------------------------------------------------------------------- */

/* At least the distance from the point to the exact minimiser, with nu for the multiplier of the row. */
static double error_with(const proof_work *work, const member_set *set, size_t dim, double weight, double nu) {
    double shift = 0, squares = 0;
    tc_interval at = tc_point(0);
    for (size_t c = 0; c < dim; c++) {
        double left = residual(set, work, c, nu);
        squares = tc_add_up(squares, tc_mul_up(left, left));
        at = tc_iadd(at, tc_imul(tc_point(set->normal[c]), tc_point(work->point[c])));
    }
    /* The point is the minimiser for a row that is off by this much. */
    if (nu != 0)
        shift = tc_magnitude(tc_isub(at, tc_point(nu > 0 ? set->ceiling : set->floor)));
    else if (set->has_row)
        shift = fmax(0, fmax(tc_add_up(at.hi, -set->ceiling), tc_add_up(set->floor, -at.lo)));
    double error = tc_div_up(tc_sqrt_up(squares), weight);
    error = shift > 0 ? tc_add_up(error, tc_div_up(shift, set->least)) : error;
    return isnan(error) ? HUGE_VAL : error;
}

/* The same for the better of two multipliers: none, and the guess. */
static double error_of(const proof_work *work, const member_set *set, size_t dim, double weight) {
    double error = error_with(work, set, dim, weight, 0);
    if (!set->has_row)
        return error;
    double nu = guess_multiplier(set, work, dim);
    bool has_side = nu > 0 ? set->ceiling < HUGE_VAL : nu < 0 && set->floor > -HUGE_VAL;
    return has_side ? fmin(error, error_with(work, set, dim, weight, nu)) : error;
}

/* Moves the step to the bounds that it is nearest to; how far, in l2. */
static double snap(const member_set *set, double *point, size_t dim, double share) {
    double squares = 0;
    for (size_t c = 0; c < dim; c++) {
        double near = share * (set->upper[c] - set->lower[c]), at = point[c];
        point[c] = at <= set->lower[c] + near ? set->lower[c] : at >= set->upper[c] - near ? set->upper[c] : at;
        double way = tc_magnitude(tc_isub(tc_point(at), tc_point(point[c])));
        squares = tc_add_up(squares, tc_mul_up(way, way));
    }
    return tc_sqrt_up(squares);
}

typedef struct proof_block {
    const proof_family *of;
    proof_work *work;
    size_t first, count;
    const double *const *p; /* NULL: x(1), no objective and no price */
    const double *const *x;
    double *const *next;
    tc_answer_scalars scalars;
} proof_block;

/* The step of lane k, moved to the bounds that it is near, and f' there. Returns how far it was moved. */
static double load_lane(const proof_block *b, size_t k, double share) {
    const tc_family *family = b->of->family;
    proof_work *work = b->work;
    member_set set = set_of(work, family, b->first + k);
    for (size_t c = 0; c < family->dim; c++)
        work->point[c] = b->next[c][k];
    double moved = snap(&set, work->point, family->dim, share);
    for (size_t c = 0; c < family->dim; c++)
        work->states[c] = tc_point(work->point[c]);
    for (size_t d = 0; d < family->column_count; d++)
        work->data[d] = tc_point(family->columns[d].values[b->first + k]);
    const tc_interval_inputs inputs = {.state = work->state_at, .data = work->data_at};
    if (b->p != NULL && b->of->count > 0)
        tc_tape_enclose(b->of->gradient, &inputs, 1, work->tape, work->out_at);
    return moved;
}

/* The slope of what the agent minimises: f' + p + regularization x + (x - x_old) / step. */
static void load_slope(const proof_block *b, size_t k) {
    proof_work *work = b->work;
    tc_interval inverse = tc_idiv(tc_point(1), tc_point(b->scalars.step));
    for (size_t c = 0; c < b->of->family->dim; c++) {
        tc_interval x = work->states[c], way = tc_isub(x, tc_point(b->x[c][k]));
        work->slope[c] = tc_iadd(tc_imul(tc_point(b->scalars.regularization), x), tc_imul(way, inverse));
        if (b->p != NULL)
            work->slope[c] = tc_iadd(work->slope[c], tc_point(b->p[c][k]));
    }
    for (size_t i = 0; b->p != NULL && i < b->of->count; i++) {
        tc_interval *of = &work->slope[b->of->columns[i]];
        *of = tc_iadd(*of, work->out[i]);
    }
}

static double weight_of(tc_answer_scalars scalars) {
    return tc_add_down(scalars.regularization, tc_idiv(tc_point(1), tc_point(scalars.step)).lo);
}

/* The least curvature of f in the box, with the data of lane k; 0 where f couples states. Leaves states in work. */
static double curvature_of(const proof_block *b, size_t k) {
    const tc_family *family = b->of->family;
    proof_work *work = b->work;
    double least = HUGE_VAL;
    if (b->p == NULL || b->of->second_count != family->dim)
        return 0;
    for (size_t c = 0; c < family->dim; c++)
        work->states[c] = tc_public_range(family, b->first + k, c);
    for (size_t d = 0; d < family->column_count; d++)
        work->data[d] = tc_point(family->columns[d].values[b->first + k]);
    const tc_interval_inputs inputs = {.state = work->state_at, .data = work->data_at};
    tc_tape_enclose(b->of->hessian, &inputs, 1, work->tape, work->second_out_at);
    for (size_t i = 0; i < family->dim; i++) {
        bool is_diagonal = b->of->places[i] / family->dim == b->of->places[i] % family->dim;
        bool is_known = is_diagonal && tc_is_finite(work->second_out[i]);
        least = fmin(least, is_known ? work->second_out[i].lo : 0);
    }
    return fmax(least, 0);
}

/* Of lane k, at the point of its step. Leaves bounds, slopes and the point in work. */
static double error_of_lane(const proof_block *b, size_t k, double share, member_set *set) {
    double weight = tc_add_down(weight_of(b->scalars), curvature_of(b, k)), moved = load_lane(b, k, share);
    load_slope(b, k);
    *set = set_of(b->work, b->of->family, b->first + k);
    return tc_add_up(moved, error_of(b->work, set, b->of->family->dim, weight));
}

/* ---- repairs ----------------------------------------------------------------------------------------------------- */

/* The Hessian of the free states, as work->free numbers them, in the lower triangle of work->matrix. */
static void load_matrix(const proof_block *b, size_t k, size_t count) {
    proof_work *work = b->work;
    size_t dim = b->of->family->dim;
    const double **states = work->state_rows, **data = work->data_rows;
    for (size_t c = 0; c < dim; c++)
        states[c] = &work->point[c];
    for (size_t d = 0; d < b->of->family->column_count; d++)
        data[d] = &b->of->family->columns[d].values[b->first + k];
    const tc_inputs inputs = {.state = states, .data = data};
    for (size_t i = 0; i < b->of->second_count; i++)
        work->second_at[i] = &work->seconds[i];
    tc_tape_eval(b->of->hessian, &inputs, 1, work->scratch, work->second_at);
    for (size_t i = 0; i < count * count; i++)
        work->matrix[i] = 0;
    for (size_t i = 0; i < count; i++)
        work->matrix[i * count + i] = (tc_real)b->scalars.regularization + 1 / (tc_real)b->scalars.step;
    for (size_t i = 0; b->p != NULL && i < b->of->second_count; i++) {
        size_t row = work->free[b->of->places[i] / dim], column = work->free[b->of->places[i] % dim];
        if (row == SIZE_MAX || column == SIZE_MAX)
            continue;
        work->matrix[row * count + column] += (tc_real)work->seconds[i];
        if (row != column)
            work->matrix[column * count + row] += (tc_real)work->seconds[i];
    }
}

/* One step of Newton's method from the point, with the bounds and the side of the row that it is at. */
static bool repair(const proof_block *b, size_t k, const member_set *set) {
    proof_work *work = b->work;
    size_t dim = b->of->family->dim, count = 0;
    double nu = set->has_row ? guess_multiplier(set, work, dim) : 0;
    bool without =
        error_with(work, set, dim, weight_of(b->scalars), 0) <= error_with(work, set, dim, weight_of(b->scalars), nu);
    for (size_t c = 0; c < dim; c++) {
        bool at_bound = work->point[c] <= set->lower[c] || work->point[c] >= set->upper[c];
        work->free[c] = at_bound ? SIZE_MAX : count++;
    }
    load_matrix(b, k, count);
    if (count == 0 || tc_cholesky(count, work->matrix) != 0)
        return false;
    tc_real reach = 0, grip = 0, need = 0;
    for (size_t c = 0; c < dim; c++) {
        need -= (tc_real)set->normal[c] * (tc_real)work->point[c];
        if (work->free[c] == SIZE_MAX)
            continue;
        work->move[work->free[c]] = -((tc_real)work->slope[c].lo + (tc_real)work->slope[c].hi) / 2;
        work->along[work->free[c]] = (tc_real)set->normal[c];
    }
    tc_solve_lower(count, work->matrix, work->move);
    tc_solve_lower_transposed(count, work->matrix, work->move);
    tc_solve_lower(count, work->matrix, work->along);
    tc_solve_lower_transposed(count, work->matrix, work->along);
    for (size_t c = 0; c < dim; c++) {
        if (work->free[c] == SIZE_MAX)
            continue;
        reach += (tc_real)set->normal[c] * work->move[work->free[c]];
        grip += (tc_real)set->normal[c] * work->along[work->free[c]];
    }
    need += (tc_real)(nu > 0 ? set->ceiling : set->floor);
    tc_real back = !without && grip > 0 ? (reach - need) / grip : 0;
    for (size_t c = 0; c < dim; c++) {
        if (work->free[c] == SIZE_MAX)
            continue;
        tc_real to = (tc_real)work->point[c] + work->move[work->free[c]] - back * work->along[work->free[c]];
        if (!isfinite(to))
            return false;
        b->next[c][k] = fmin(fmax((double)to, set->lower[c]), set->upper[c]);
    }
    return true;
}

/* ---- in double --------------------------------------------------------------------------------------------------- */

/* Nearly all steps are proved by plain arithmetic: every sum below is made of terms whose sizes are added up too, so
 * that SLACK times them bounds all that rounding can do, and half of the allowed error is left for sums of errors. */
#define SLACK 0x1p-46

/* The derivatives of all lanes at their steps, each moved to its bounds; the bounds of a lane are made anew later. */
static void load_quickly(const proof_block *b, double *moved) {
    const tc_family *family = b->of->family;
    proof_work *work = b->work;
    for (size_t k = 0; k < b->count; k++) {
        member_set set = set_of(work, family, b->first + k);
        moved[k] = 0;
        for (size_t c = 0; c < family->dim; c++) {
            double near = SNAP * (set.upper[c] - set.lower[c]), at = b->next[c][k];
            double to = at <= set.lower[c] + near ? set.lower[c] : at >= set.upper[c] - near ? set.upper[c] : at;
            work->quick[c * TC_LANES + k] = to;
            moved[k] += fabs(to - at);
        }
    }
    for (size_t c = 0; c < family->dim; c++)
        work->state_rows[c] = work->quick + c * TC_LANES;
    for (size_t d = 0; d < family->column_count; d++)
        work->data_rows[d] = family->columns[d].values + b->first;
    const tc_inputs inputs = {.state = work->state_rows, .data = work->data_rows};
    if (b->p != NULL && b->of->count > 0)
        tc_tape_eval(b->of->gradient, &inputs, b->count, work->quick_tape, work->quick_at);
}

/* At least twice the error of lane k; INFINITY where nothing is known of the derivatives' rounding. */
static double quick_error(const proof_block *b, size_t k, const member_set *set, double nu, double moved) {
    const proof_work *work = b->work;
    double inverse = 1 / b->scalars.step, squares = 0, at = 0, size = 0, shift = 0;
    for (size_t c = 0; c < b->of->family->dim; c++) {
        double x = work->quick[c * TC_LANES + k], a = set->normal[c], p = b->p != NULL ? b->p[c][k] : 0;
        double f = work->quick_slope[c], way = (x - b->x[c][k]) * inverse, pull = b->scalars.regularization * x;
        double total = f + p + pull + way + nu * a;
        double doubt = work->quick_doubt[c] + SLACK * (fabs(f) + fabs(p) + fabs(pull) + fabs(way) + fabs(nu * a) +
                                                       inverse * (fabs(x) + fabs(b->x[c][k])));
        bool low = x <= set->lower[c], high = x >= set->upper[c];
        double left = low && high ? 0 : low ? fmax(0, -total) : high ? fmax(0, total) : fabs(total);
        left += doubt;
        squares += left * left;
        at += a * x;
        size += fabs(a * x);
    }
    if (nu != 0)
        shift = fabs(at - (nu > 0 ? set->ceiling : set->floor));
    else if (set->has_row)
        shift = fmax(0, fmax(at - set->ceiling, set->floor - at));
    if (set->has_row)
        shift += SLACK * (double)b->of->family->dim * size;
    if (squares < 0x1p-900) /* squares of what is left may have underflowed: intervals do not lose them */
        return HUGE_VAL;
    double error = sqrt(squares) / (b->scalars.regularization + inverse) + moved;
    return 2 * (set->has_row ? error + shift / set->least : error);
}

static bool is_proved_quickly(const proof_block *b, size_t k, double moved) {
    proof_work *work = b->work;
    size_t dim = b->of->family->dim;
    member_set set = set_of(work, b->of->family, b->first + k);
    for (size_t c = 0; c < dim; c++)
        work->quick_slope[c] = work->quick_doubt[c] = 0;
    for (size_t i = 0; b->p != NULL && i < b->of->count; i++) {
        work->quick_slope[b->of->columns[i]] += work->quick_at[i][k];
        work->quick_doubt[b->of->columns[i]] += b->of->doubt[i];
    }
    if (quick_error(b, k, &set, 0, moved) <= b->of->allowed)
        return true;
    if (!set.has_row)
        return false;
    for (size_t c = 0; c < dim; c++) {
        double x = work->quick[c * TC_LANES + k], p = b->p != NULL ? b->p[c][k] : 0;
        work->point[c] = x;
        work->slope[c] =
            tc_point(work->quick_slope[c] + p + b->scalars.regularization * x + (x - b->x[c][k]) / b->scalars.step);
    }
    double nu = guess_multiplier(&set, work, dim);
    bool has_side = nu > 0 ? set.ceiling < HUGE_VAL : nu < 0 && set.floor > -HUGE_VAL;
    return has_side && quick_error(b, k, &set, nu, moved) <= b->of->allowed;
}

/* In intervals; the step is made anew where that is needed. share: what counts as near a bound. */
static bool is_proved_slowly(const proof_block *b, size_t k, double share) {
    member_set set;
    double error = error_of_lane(b, k, share, &set);
    for (int i = 0; !(error <= b->of->allowed) && i < MOST_REPAIRS && repair(b, k, &set); i++)
        error = error_of_lane(b, k, share, &set);
    return error <= b->of->allowed;
}

static size_t check_lanes(const proof_block *b) {
    double moved[TC_LANES], *kept = b->work->kept;
    load_quickly(b, moved);
    for (size_t k = 0; k < b->count; k++) {
        if (is_proved_quickly(b, k, moved[k]))
            continue;
        for (size_t c = 0; c < b->of->family->dim; c++)
            kept[c] = b->next[c][k];
        if (is_proved_slowly(b, k, SNAP))
            continue;
        for (size_t c = 0; c < b->of->family->dim; c++)
            b->next[c][k] = kept[c];
        if (!is_proved_slowly(b, k, FAR_SNAP))
            return b->first + k;
    }
    return TC_ALL_FINITE;
}

size_t tc_step_proof_check(tc_step_proof *proof, size_t worker, size_t family, size_t first, size_t count,
                           const double *const *p, tc_answer_scalars scalars, const double *const *x,
                           double *const *next) {
    const proof_family *of = &proof->families[family];
    size_t dim = of->family->dim;
    proof_work *work = &proof->works[worker];
    const double **rows = work->rows;
    if (!of->is_needed)
        return TC_ALL_FINITE;
    for (size_t at = 0; at < count; at += TC_LANES) {
        for (size_t c = 0; c < dim; c++) {
            rows[c] = p != NULL ? p[c] + at : NULL;
            rows[dim + c] = x[c] + at;
            work->next[c] = next[c] + at;
        }
        proof_block b = {.of = of,
                         .work = work,
                         .first = first + at,
                         .count = count - at < TC_LANES ? count - at : TC_LANES,
                         .p = p != NULL ? rows : NULL,
                         .x = rows + dim,
                         .next = work->next,
                         .scalars = scalars};
        size_t member = check_lanes(&b);
        if (member != TC_ALL_FINITE)
            return member;
    }
    return TC_ALL_FINITE;
}

size_t tc_step_proof_check_singles(tc_step_proof *proof, const double *p, tc_answer_scalars scalars, const double *x,
                                   double *next) {
    const double **rows = proof->works[0].starts;
    double **next_rows = proof->works[0].next_rows;
    for (size_t f = 0; f < proof->model->family_count; f++) {
        const tc_family *of = proof->families[f].family;
        if (of->count != 1 || !proof->families[f].is_needed)
            continue;
        for (size_t c = 0; c < of->dim; c++) {
            rows[c] = p + of->first_coord + c;
            rows[of->dim + c] = x + of->first_coord + c;
            next_rows[c] = next + of->first_coord + c;
        }
        if (tc_step_proof_check(proof, 0, f, 0, 1, rows, scalars, rows + of->dim, next_rows) != TC_ALL_FINITE)
            return f;
    }
    return TC_ALL_FINITE;
}

/* The start, moved into the box, is projected: a step without objective and price. */
size_t tc_step_proof_check_start(tc_step_proof *proof, double *x, size_t *family) {
    const tc_answer_scalars scalars = {.step = 1, .regularization = 0};
    for (*family = 0; *family < proof->model->family_count; (*family)++) {
        const tc_family *of = proof->families[*family].family;
        const double **rows = proof->works[0].starts;
        double **next_rows = proof->works[0].next_rows;
        for (size_t k = of->held_first; proof->families[*family].is_needed && k < of->held_end; k++) {
            for (size_t c = 0; c < of->dim; c++) {
                proof->works[0].start[c] = tc_coef_at(of->start[c], k);
                rows[c] = &proof->works[0].start[c];
                next_rows[c] = &x[tc_coord_of(of, k, c)];
            }
            if (tc_step_proof_check(proof, 0, *family, k, 1, NULL, scalars, rows, next_rows) != TC_ALL_FINITE)
                return k;
        }
    }
    return TC_ALL_FINITE;
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

/* How far the derivatives can be off in double, for all states of the boxes and all members' data. */
static void find_doubts(tc_arena *arena, proof_family *made) {
    const tc_family *family = made->family;
    tc_batch *batch = tc_batch_new(arena, family);
    tc_rounded *inputs = TC_NEW(arena, tc_rounded, family->dim + family->column_count + 1);
    const tc_rounded **states = TC_NEW(arena, const tc_rounded *, family->dim + 1),
                     **data = TC_NEW(arena, const tc_rounded *, family->column_count + 1);
    tc_rounded *found = TC_NEW(arena, tc_rounded, made->count + 1);
    tc_rounded **found_at = TC_NEW(arena, tc_rounded *, made->count + 1);
    tc_batch_load_hull(batch);
    for (size_t c = 0; c < family->dim; c++) {
        inputs[c] = tc_rounded_exactly(batch->state[c * TC_LANES]);
        states[c] = &inputs[c];
    }
    for (size_t d = 0; d < family->column_count; d++) {
        inputs[family->dim + d] = tc_rounded_exactly(batch->data[d * TC_LANES]);
        data[d] = &inputs[family->dim + d];
    }
    for (size_t i = 0; i < made->count; i++)
        found_at[i] = &found[i];
    const tc_rounding_inputs all = {.state = states, .data = data};
    tc_tape_rounding(made->gradient, &all, 1, TC_NEW(arena, tc_rounded, tc_tape_work(made->gradient) + 1), found_at);
    made->doubt = TC_NEW(arena, double, made->count + 1);
    for (size_t i = 0; i < made->count; i++)
        made->doubt[i] = found[i].error;
}

static void make_family(tc_arena *arena, const tc_model *model, const tc_family_derivatives *d, proof_family *made) {
    tc_expr *roots = TC_NEW(arena, tc_expr, d->objective_first_count + 1);
    made->columns = TC_NEW(arena, size_t, d->objective_first_count + 1);
    for (size_t i = 0; i < d->objective_first_count; i++) {
        roots[i] = d->objective_first[i].value;
        made->columns[i] = d->objective_first[i].column;
    }
    made->count = d->objective_first_count;
    tc_expr *seconds = TC_NEW(arena, tc_expr, d->objective_second_count + 1);
    made->places = TC_NEW(arena, size_t, d->objective_second_count + 1);
    for (size_t i = 0; i < d->objective_second_count; i++) {
        seconds[i] = d->objective_second[i].value;
        made->places[i] = d->objective_second[i].column * made->family->dim + d->objective_second[i].other;
    }
    made->second_count = d->objective_second_count;
    made->hessian = tc_tape_new(arena, model->dag, seconds, made->second_count);
    made->gradient = tc_tape_new(arena, model->dag, roots, made->count);
    find_doubts(arena, made);
    made->allowed = TC_STEP_ERROR * tc_box_diameter(made->family, 2);
}

static void make_work(tc_arena *arena, const tc_step_proof *proof, proof_work *work) {
    size_t dim = 0, columns = 0, outputs = 0, length = 0, seconds = 0, scratch = 0;
    for (size_t f = 0; f < proof->model->family_count; f++) {
        const proof_family *of = &proof->families[f];
        if (!of->is_needed)
            continue;
        dim = of->family->dim > dim ? of->family->dim : dim;
        columns = of->family->column_count > columns ? of->family->column_count : columns;
        outputs = of->count > outputs ? of->count : outputs;
        length = tc_tape_work(of->gradient) > length ? tc_tape_work(of->gradient) : length;
        seconds = of->second_count > seconds ? of->second_count : seconds;
        scratch = tc_tape_work(of->hessian) > scratch ? tc_tape_work(of->hessian) : scratch;
        length = scratch > length ? scratch : length; /* intervals go through both */
    }
    *work = (proof_work){.tape = TC_NEW(arena, tc_interval, length + 1),
                         .quick = TC_NEW(arena, double, dim *TC_LANES + 1),
                         .quick_tape = TC_NEW(arena, double, length + 1),
                         .quick_at = TC_NEW(arena, double *, outputs + 1),
                         .quick_slope = TC_NEW(arena, double, dim + 1),
                         .quick_doubt = TC_NEW(arena, double, dim + 1),
                         .states = TC_NEW(arena, tc_interval, dim + 1),
                         .data = TC_NEW(arena, tc_interval, columns + 1),
                         .out = TC_NEW(arena, tc_interval, outputs + 1),
                         .state_at = TC_NEW(arena, const tc_interval *, dim + 1),
                         .data_at = TC_NEW(arena, const tc_interval *, columns + 1),
                         .out_at = TC_NEW(arena, tc_interval *, outputs + 1),
                         .slope = TC_NEW(arena, tc_interval, dim + 1),
                         .lower = TC_NEW(arena, double, dim + 1),
                         .upper = TC_NEW(arena, double, dim + 1),
                         .normal = TC_NEW(arena, double, dim + 1),
                         .point = TC_NEW(arena, double, dim + 1),
                         .matrix = TC_NEW(arena, tc_real, dim * dim + 1),
                         .move = TC_NEW(arena, tc_real, dim + 1),
                         .along = TC_NEW(arena, tc_real, dim + 1),
                         .seconds = TC_NEW(arena, double, seconds + 1),
                         .scratch = TC_NEW(arena, double, scratch + 1),
                         .free = TC_NEW(arena, size_t, dim + 1),
                         .start = TC_NEW(arena, double, dim + 1),
                         .kept = TC_NEW(arena, double, dim + 1),
                         .next = TC_NEW(arena, double *, dim + 1),
                         .next_rows = TC_NEW(arena, double *, dim + 1),
                         .state_rows = TC_NEW(arena, const double *, dim + 1),
                         .data_rows = TC_NEW(arena, const double *, columns + 1),
                         .second_at = TC_NEW(arena, double *, seconds + 1),
                         .second_out = TC_NEW(arena, tc_interval, seconds + 1),
                         .second_out_at = TC_NEW(arena, tc_interval *, seconds + 1),
                         .rows = TC_NEW(arena, const double *, 3 * dim + 1),
                         .starts = TC_NEW(arena, const double *, 3 * dim + 1)};
    for (size_t c = 0; c < dim; c++)
        work->state_at[c] = work->states + c;
    for (size_t d = 0; d < columns; d++)
        work->data_at[d] = work->data + d;
    for (size_t i = 0; i < seconds; i++)
        work->second_out_at[i] = work->second_out + i;
    for (size_t i = 0; i < outputs; i++) {
        work->out_at[i] = work->out + i;
        work->quick_at[i] = TC_NEW(arena, double, TC_LANES);
    }
}

tc_step_proof *tc_step_proof_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                 size_t workers) {
    bool any = false;
    for (size_t f = 0; f < model->family_count; f++)
        any = any || tc_data_needs_steps(&model->families[f]);
    if (!any)
        return NULL;
    tc_step_proof *proof = TC_NEW(arena, tc_step_proof, 1);
    *proof = (tc_step_proof){.model = model,
                             .families = TC_NEW(arena, proof_family, model->family_count),
                             .works = TC_NEW(arena, proof_work, workers)};
    for (size_t f = 0; f < model->family_count; f++) {
        proof->families[f].family = &model->families[f];
        proof->families[f].is_needed = tc_data_needs_steps(&model->families[f]);
        if (proof->families[f].is_needed)
            make_family(arena, model, &derivatives->families[f], &proof->families[f]);
    }
    for (size_t w = 0; w < workers; w++)
        make_work(arena, proof, &proof->works[w]);
    return proof;
}
