/* Objectives of constant curvature without mixed terms: from the gradient at the old state the minimum without sets
 * is one Newton step away,
 *
 *     v = x - ((gradient + p) + regularization x) / (curvature + weight),    weight = regularization + 1 / (step s^2),
 *
 * and the new state is the point of the set nearest to it in the norm of these divisors. */
#include "engine/proximal/inside.h"
#include "base/simd.h"

#include <math.h>
#include <string.h>

static const double ZEROS[TC_MOST_LANES];

static void gradient(const tc_proximal_block *b) {
    tc_proximal_work *work = b->work;
    for (size_t c = 0; c < b->family->of->family->dim; c++)
        work->state_at[c] = b->x[c] + b->at;
    const tc_inputs inputs = {.state = work->state_at, .data = work->data_at};
    tc_tape_eval(b->family->of->gradient, &inputs, b->count, work->tape, work->out_at);
}

/* Divisors of all components that have a row, in rows of work->roots. */
static void divisors(const tc_proximal_block *b) {
    const tc_proximal_family *family = b->family;
    if (family->seconds == NULL)
        return;
    tc_proximal_evaluate(b, family->seconds, b->work->result, b->count);
    for (size_t c = 0; c < family->of->family->dim; c++) {
        if (family->curvatures[c].row == TC_NO_ROW)
            continue;
        const double *second = b->work->out_at[family->curvatures[c].row];
        double *to = b->work->roots + c * TC_LANES, weight = tc_proximal_weight(b, c);
        for (size_t k = 0; k < b->count; k++)
            to[k] = second[k] + weight;
    }
}

TC_INLINE tc_pack moved(tc_pack x, tc_pack g, tc_pack p, tc_pack regularization, tc_pack divisor) {
    return x - ((g + p) + regularization * x) / divisor;
}

static bool divided_row(const tc_proximal_block *b, const double *g, const double *p, const double *x,
                        const double *divisor, double *out) {
    const tc_pack regularization = tc_pack_of(b->regularization);
    tc_pack_mask finite = {-1, -1};
    size_t k = 0;
    for (; k + 2 <= b->count; k += 2) {
        tc_pack v = moved(tc_pack_load(x + k), tc_pack_load(g + k), tc_pack_load(p + k), regularization,
                          tc_pack_load(divisor + k));
        finite &= tc_pack_is_finite(v);
        tc_pack_store(out + k, v);
    }
    if (k < b->count) {
        tc_pack v = moved(tc_pack_of(x[k]), tc_pack_of(g[k]), tc_pack_of(p[k]), regularization, tc_pack_of(divisor[k]));
        finite &= tc_pack_is_finite(v);
        out[k] = v[0];
    }
    return (finite[0] & finite[1]) == -1;
}

static void clip_row(const tc_proximal_block *b, tc_coef lower, tc_coef upper, double *v) {
    if (lower.column == NULL && upper.column == NULL) {
        for (size_t k = 0; k < b->count; k++)
            v[k] = tc_proximal_bounded(v[k], lower.value, upper.value);
        return;
    }
    for (size_t k = 0; k < b->count; k++)
        v[k] = tc_proximal_bounded(v[k], tc_coef_at(lower, b->first + k), tc_coef_at(upper, b->first + k));
}

/* v, within the bounds where they are the whole set. */
static bool move(const tc_proximal_block *b) {
    const tc_agents_family *of = b->family->of;
    bool is_finite = true;
    for (size_t c = 0; c < of->family->dim; c++) {
        tc_fixed_curvature curvature = b->family->curvatures[c];
        const double *g = of->rows[c] == TC_NO_ROW ? ZEROS : b->work->out_at[of->rows[c]];
        const double *p = b->p[c] + b->at, *x = b->x[c] + b->at;
        double *out = b->work->result + c * TC_LANES;
        const tc_answer_scalars scalars = {.step = 1 / (curvature.value + tc_proximal_weight(b, c)),
                                           .regularization = b->regularization};
        bool is_plain = of->lower != NULL && of->lower[c].column == NULL && of->upper[c].column == NULL;
        if (curvature.row != TC_NO_ROW)
            is_finite &= divided_row(b, g, p, x, b->work->roots + c * TC_LANES, out);
        else
            is_finite &= tc_agents_row(b->count, g, p, scalars, x, is_plain ? of->lower[c].value : -INFINITY,
                                       is_plain ? of->upper[c].value : INFINITY, out);
        if (of->lower != NULL && !(is_plain && curvature.row == TC_NO_ROW))
            clip_row(b, of->lower[c], of->upper[c], out);
    }
    return is_finite;
}

/* Bounds may have clipped what was not finite, so it is computed again without them. */
static size_t first_not_finite(const tc_proximal_block *b) {
    const tc_agents_family *of = b->family->of;
    for (size_t k = 0; k < b->count; k++)
        for (size_t c = 0; c < of->family->dim; c++) {
            double g = of->rows[c] == TC_NO_ROW ? 0 : b->work->out_at[of->rows[c]][k];
            double x = b->x[c][b->at + k], sum = (g + b->p[c][b->at + k]) + b->regularization * x;
            tc_fixed_curvature curvature = b->family->curvatures[c];
            double divisor = curvature.row == TC_NO_ROW ? curvature.value + tc_proximal_weight(b, c)
                                                        : b->work->roots[c * TC_LANES + k];
            if (!isfinite(x - sum / divisor) || !isfinite(x - 1 / divisor * sum))
                return b->first + k;
        }
    return b->first;
}

/* Components in units of the roots of their divisors: there the projection is a usual one. */
static void scale_cut(const tc_proximal_block *b, const tc_projector_cut *cut, tc_cut *scaled) {
    tc_proximal_work *work = b->work;
    size_t n = cut->cut.count;
    tc_coef *coefs = work->coefs;
    for (size_t i = 0; i < n; i++) {
        size_t row = (cut->first + i) * TC_LANES;
        tc_fixed_curvature curvature = b->family->curvatures[cut->first + i];
        double *root = work->roots + row, weight = tc_proximal_weight(b, cut->first + i);
        for (size_t k = 0; k < b->count; k++) {
            root[k] = sqrt(curvature.row == TC_NO_ROW ? curvature.value + weight : root[k]);
            work->result[row + k] *= root[k];
            work->center[row + k] = tc_coef_at(cut->cut.center[i], b->first + k) / root[k];
            work->lower[row + k] = tc_coef_at(cut->cut.lower[i], b->first + k) * root[k];
            work->upper[row + k] = tc_coef_at(cut->cut.upper[i], b->first + k) * root[k];
        }
        coefs[i].column = work->center + row;
        coefs[n + i].column = work->lower + row;
        coefs[2 * n + i].column = work->upper + row;
    }
    tc_coef radius = cut->cut.radius;
    if (radius.column != NULL)
        radius.column += b->first;
    tc_coef floor = cut->cut.floor;
    if (floor.column != NULL)
        floor.column += b->first;
    *scaled = (tc_cut){.kind = cut->cut.kind,
                       .count = n,
                       .center = coefs,
                       .lower = coefs + n,
                       .upper = coefs + 2 * n,
                       .radius = radius,
                       .is_slab = cut->cut.is_slab,
                       .floor = floor};
}

static void project_scaled(const tc_proximal_block *b) {
    const tc_projector *projector = b->family->of->projector;
    for (size_t i = 0; i < projector->uncut_count; i++) {
        size_t c = projector->uncut[i];
        clip_row(b, projector->lower[c], projector->upper[c], b->work->result + c * TC_LANES);
    }
    for (size_t i = 0; i < projector->cut_count; i++) {
        const tc_projector_cut *cut = &projector->cuts[i];
        double *rows = b->work->result + cut->first * TC_LANES;
        tc_cut scaled;
        if (cut->cut.kind != TC_SET_HALFSPACE && cut->cut.kind != TC_SET_HYPERPLANE) {
            tc_project_cut(&cut->cut, b->first, b->count, TC_LANES, rows, rows);
            continue;
        }
        scale_cut(b, cut, &scaled);
        tc_project_cut(&scaled, 0, b->count, TC_LANES, rows, rows);
        for (size_t c = cut->first; c < cut->first + cut->cut.count; c++) {
            double *v = b->work->result + c * TC_LANES;
            const double *root = b->work->roots + c * TC_LANES;
            for (size_t k = 0; k < b->count; k++)
                v[k] /= root[k];
            clip_row(b, projector->lower[c], projector->upper[c], v);
        }
    }
}

/* A point much farther away than the set is wide has too few digits to be projected: Newton's method takes the slopes
 * in the set instead. */
static bool is_far(const tc_proximal_block *b, size_t lane) {
    const tc_family *family = b->family->of->family;
    double width = 0, way = 0;
    for (size_t c = 0; c < family->dim; c++) {
        double lower = tc_coef_at(family->lower[c], b->first + lane);
        width = fmax(width, tc_coef_at(family->upper[c], b->first + lane) - lower);
        way = fmax(way, fabs(b->work->result[c * TC_LANES + lane] - b->x[c][b->at + lane]));
    }
    return way > 1e3 * width;
}

static size_t project(const tc_proximal_block *b) {
    bool far[TC_LANES], any = false;
    for (size_t lane = 0; lane < b->count; lane++) {
        far[lane] = is_far(b, lane);
        any = any || far[lane];
    }
    if (b->family->way == TC_PROXIMAL_WEIGHTED)
        project_scaled(b);
    else
        b->work->inaccurate +=
            tc_projector_project(b->family->of->projector, b->worker, b->first, b->count, TC_LANES, b->work->result);
    if (!any)
        return TC_ALL_FINITE;
    for (size_t lane = 0; lane < b->count; lane++)
        if (far[lane] && tc_proximal_alone(b, lane) != TC_ALL_FINITE)
            return b->first + lane;
    return TC_ALL_FINITE;
}

static void load_data(const tc_proximal_block *b) {
    const tc_agents_family *of = b->family->of;
    for (size_t d = 0; d < of->family->column_count; d++)
        b->work->data_at[d] = of->data[d] + b->first;
}

size_t tc_proximal_rows(const tc_proximal_block *b) {
    load_data(b);
    divisors(b);
    gradient(b);
    if (!move(b))
        return first_not_finite(b);
    return b->family->of->lower != NULL ? TC_ALL_FINITE : project(b);
}

/* ---- boxes, many members at a time ------------------------------------------------------------------------------- */

static bool is_plain(const tc_proximal_family *family, size_t c) {
    const tc_agents_family *of = family->of;
    return of->lower[c].column == NULL && of->upper[c].column == NULL && family->curvatures[c].row == TC_NO_ROW;
}

static bool has_boxes(const tc_proximal_family *family) {
    bool good = family->way == TC_PROXIMAL_ROWS && family->of->lower != NULL;
    for (size_t c = 0; good && c < family->of->family->dim; c++)
        good = is_plain(family, c);
    return good;
}

bool tc_proximal_boxes(const tc_proximal_block *b, size_t first, size_t count, double *const *next) {
    const tc_agents_family *of = b->family->of;
    tc_proximal_work *work = b->work;
    size_t dim = of->family->dim, most = tc_tape_lanes(of->gradient);
    bool is_finite = true;
    if ((const double *)next[0] == b->x[0] || !has_boxes(b->family))
        return false;
    for (size_t at = 0; is_finite && at < count; at += most) {
        size_t lanes = count - at < most ? count - at : most;
        for (size_t d = 0; d < of->family->column_count; d++)
            work->data_at[d] = of->data[d] + first + at;
        for (size_t c = 0; c < dim; c++)
            work->state_at[c] = b->x[c] + at;
        const tc_inputs inputs = {.state = work->state_at, .data = work->data_at};
        tc_tape_eval(of->gradient, &inputs, lanes, work->tape, work->slopes_at);
        for (size_t c = 0; c < dim; c++) {
            const tc_answer_scalars scalars = {.step = 1 / (b->family->curvatures[c].value + tc_proximal_weight(b, c)),
                                               .regularization = b->regularization};
            const double *g = of->rows[c] == TC_NO_ROW ? ZEROS : work->slopes_at[of->rows[c]];
            is_finite &= tc_agents_row(lanes, g, b->p[c] + at, scalars, b->x[c] + at, of->lower[c].value,
                                       of->upper[c].value, next[c] + at);
        }
    }
    return is_finite;
}
