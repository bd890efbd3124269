/* min f_i in a box: projected Newton steps, TC_LANES members at once, each until a first-order certificate closes:
 *
 *     f(x) - min f  <=  max over y in the box of grad f(x) . (x - y)
 *
 * Members with further sets, and those whose certificate stays open, go to the interior-point method one by one. */
#include "solver/search.h"

#include "calculus/tape/tape.h"
#include "solver/ensemble.h"
#include "solver/interior/interior.h"
#include "solver/project/set.h"

#include <math.h>
#include <string.h>

typedef struct lanes_of {
    const tc_family *family;
    const tc_family_derivatives *derivatives;
    tc_tape *tape; /* value, first, second */
    size_t dim;
    double *x, *trial, *lower, *upper, *direction; /* dim * TC_LANES, by component */
    double *work, *outputs;
    const double **state_at, **data_at;
    double **output_at;
    double value[TC_LANES], step[TC_LANES], first_gap[TC_LANES], gap[TC_LANES];
    bool done[TC_LANES];
    tc_real *matrix, *vector; /* dim * dim, dim */
    size_t *free_component;
    tc_set *set;
    tc_interior *interior;
} lanes_of;

static lanes_of *new_lanes(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                           const tc_family *family) {
    lanes_of *l = TC_NEW(arena, lanes_of, 1);
    const tc_family_derivatives *d = &derivatives->families[family - model->families];
    size_t roots = 1 + d->objective_first_count + d->objective_second_count, at = 0, dim = family->dim;
    tc_expr *root = TC_NEW(arena, tc_expr, roots);
    root[at++] = family->objective;
    for (size_t i = 0; i < d->objective_first_count; i++)
        root[at++] = d->objective_first[i].value;
    for (size_t i = 0; i < d->objective_second_count; i++)
        root[at++] = d->objective_second[i].value;
    l->family = family;
    l->derivatives = d;
    l->dim = dim;
    l->tape = tc_tape_new(arena, model->dag, root, roots);
    double **arrays[] = {&l->x, &l->trial, &l->lower, &l->upper, &l->direction};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++)
        *arrays[a] = TC_NEW(arena, double, dim *TC_LANES);
    l->work = TC_NEW(arena, double, tc_tape_work(l->tape));
    l->outputs = TC_NEW(arena, double, roots *TC_LANES);
    l->state_at = TC_NEW(arena, const double *, dim);
    l->data_at = TC_NEW(arena, const double *, family->column_count);
    l->output_at = TC_NEW(arena, double *, roots);
    for (size_t r = 0; r < roots; r++)
        l->output_at[r] = l->outputs + r * TC_LANES;
    l->matrix = TC_NEW(arena, tc_real, dim * dim);
    l->vector = TC_NEW(arena, tc_real, dim);
    l->free_component = TC_NEW(arena, size_t, dim);
    l->set = tc_set_new(arena, family);
    return l;
}

static void evaluate(lanes_of *l, size_t first, size_t lanes, double *x) {
    for (size_t c = 0; c < l->dim; c++)
        l->state_at[c] = x + c * TC_LANES;
    for (size_t d = 0; d < l->family->column_count; d++)
        l->data_at[d] = l->family->columns[d].values + first;
    tc_inputs inputs = {.state = l->state_at, .data = l->data_at};
    tc_tape_eval(l->tape, &inputs, lanes, l->work, l->output_at);
}

/* How much f could still fall, by convexity, in the box. */
static double certificate(const lanes_of *l, size_t lane, const double *x) {
    double sum = 0;
    for (size_t i = 0; i < l->derivatives->objective_first_count; i++) {
        size_t at = l->derivatives->objective_first[i].column * TC_LANES + lane;
        double slope = l->output_at[1 + i][lane];
        sum += fmax(slope * (x[at] - l->lower[at]), slope * (x[at] - l->upper[at]));
    }
    return sum;
}

/* A Newton direction in the components that are not held at a bound by their gradient. */
static void choose_direction(lanes_of *l, size_t lane) {
    const tc_family_derivatives *d = l->derivatives;
    size_t count = 0, *place = l->free_component;
    for (size_t c = 0; c < l->dim; c++) {
        l->direction[c * TC_LANES + lane] = 0;
        place[c] = SIZE_MAX;
    }
    for (size_t i = 0; i < d->objective_first_count; i++) {
        size_t c = d->objective_first[i].column, at = c * TC_LANES + lane;
        double slope = l->output_at[1 + i][lane], width = l->upper[at] - l->lower[at];
        bool held = (slope > 0 && l->x[at] <= l->lower[at] + 1e-14 * width) ||
                    (slope < 0 && l->x[at] >= l->upper[at] - 1e-14 * width);
        if (slope == 0 || held || width == 0)
            continue;
        l->vector[count] = -(tc_real)slope;
        place[c] = count++;
    }
    memset(l->matrix, 0, count * count * sizeof *l->matrix);
    for (size_t i = 0; i < d->objective_second_count; i++) {
        size_t row = place[d->objective_second[i].column], column = place[d->objective_second[i].other];
        if (row == SIZE_MAX || column == SIZE_MAX)
            continue;
        size_t low = row < column ? row : column, high = row < column ? column : row;
        l->matrix[high * count + low] += l->output_at[1 + d->objective_first_count + i][lane];
    }
    for (size_t c = 0; c < l->dim; c++) { /* a floor under the curvature: a step may cross the box, not more */
        if (place[c] == SIZE_MAX)
            continue;
        double width = l->upper[c * TC_LANES + lane] - l->lower[c * TC_LANES + lane];
        tc_real *diagonal = &l->matrix[place[c] * count + place[c]];
        *diagonal += 1e-13L * fabsl(*diagonal) + 1e-10L * fabsl(l->vector[place[c]]) / width;
    }
    if (tc_cholesky(count, l->matrix) == 0) {
        tc_solve_lower(count, l->matrix, l->vector);
        tc_solve_lower_transposed(count, l->matrix, l->vector);
    }
    for (size_t c = 0; c < l->dim; c++)
        if (place[c] != SIZE_MAX)
            l->direction[c * TC_LANES + lane] = (double)l->vector[place[c]];
}

/* trial = the box's point nearest to x + step * direction. */
static void set_trial(lanes_of *l, size_t lane) {
    for (size_t c = 0; c < l->dim; c++) {
        size_t at = c * TC_LANES + lane;
        l->trial[at] = fmin(fmax(l->x[at] + l->step[lane] * l->direction[at], l->lower[at]), l->upper[at]);
    }
}

static void start_lanes(lanes_of *l, size_t first, size_t lanes) {
    for (size_t lane = 0; lane < lanes; lane++) {
        tc_set_load(l->set, first + lane);
        l->done[lane] = l->set->shape != TC_SHAPE_BOX;
        l->gap[lane] = l->first_gap[lane] = INFINITY;
        l->value[lane] = INFINITY;
        l->step[lane] = 1;
        for (size_t c = 0; c < l->dim; c++) {
            size_t at = c * TC_LANES + lane;
            l->lower[at] = l->set->lower[c];
            l->upper[at] = l->set->upper[c];
            l->x[at] = l->trial[at] = l->lower[at] + (l->upper[at] - l->lower[at]) / 2;
        }
    }
}

/* Looks at the evaluated trial point of one lane: keeps it where f has not risen, and chooses the next one. */
static void judge_lane(lanes_of *l, size_t lane) {
    double value = l->output_at[0][lane], gap = certificate(l, lane, l->trial);
    bool first = !isfinite(l->first_gap[lane]);
    if (!first && !(value <= l->value[lane] + 1e-15 * fabs(l->value[lane]))) {
        l->step[lane] /= 4;
        l->done[lane] = l->step[lane] < 1e-12;
        set_trial(l, lane);
        return;
    }
    for (size_t c = 0; c < l->dim; c++)
        l->x[c * TC_LANES + lane] = l->trial[c * TC_LANES + lane];
    l->value[lane] = value;
    l->gap[lane] = gap;
    if (first)
        l->first_gap[lane] = gap;
    if (!isfinite(value) || !isfinite(gap) || gap <= 1e-13 * (fabs(value) + l->first_gap[lane])) {
        l->done[lane] = true;
        return;
    }
    choose_direction(l, lane);
    l->step[lane] = 1;
    set_trial(l, lane);
}

static void minimize_lanes(lanes_of *l, size_t first, size_t lanes) {
    start_lanes(l, first, lanes);
    for (int round = 0; round < 100; round++) {
        bool all = true;
        for (size_t lane = 0; lane < lanes; lane++)
            all = all && l->done[lane];
        if (all)
            return;
        evaluate(l, first, lanes, l->trial);
        for (size_t lane = 0; lane < lanes; lane++)
            if (!l->done[lane])
                judge_lane(l, lane);
    }
}

static bool is_accurate(const lanes_of *l, size_t lane) {
    return isfinite(l->value[lane]) && l->gap[lane] <= 1e-10 * (fabs(l->value[lane]) + l->first_gap[lane]);
}

/* The interior-point method for one member; its complementarity bounds the error. */
static void minimize_alone(lanes_of *l, tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                           size_t first, size_t lane) {
    if (l->interior == NULL)
        l->interior = tc_interior_agent(arena, model, derivatives, l->family);
    tc_interior_member(l->interior, first + lane);
    tc_interior_options options = {.gap = 1e-15L, .residual = 1e-13L, .iterations = 150};
    tc_interior_result result = tc_interior_solve(l->interior, &options);
    tc_interior_block(l->interior, l->vector);
    tc_set_load(l->set, first + lane);
    for (size_t c = 0; c < l->dim; c++)
        l->x[c * TC_LANES + lane] = fmin(fmax((double)l->vector[c], l->set->lower[c]), l->set->upper[c]);
    l->first_gap[lane] = (double)tc_interior_range(l->interior);
    l->gap[lane] = l->first_gap[lane] * (double)(result.gap + result.residual) * 4 * (double)(l->dim + 1);
}

static void polish_lanes(lanes_of *l, tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                         size_t first, size_t lanes) {
    bool changed = false, alone[TC_LANES];
    for (size_t lane = 0; lane < lanes; lane++) {
        alone[lane] = !is_accurate(l, lane);
        if (alone[lane])
            minimize_alone(l, arena, model, derivatives, first, lane);
        changed = changed || alone[lane];
    }
    if (!changed)
        return;
    evaluate(l, first, lanes, l->x);
    for (size_t lane = 0; lane < lanes; lane++)
        if (alone[lane])
            l->value[lane] = l->output_at[0][lane];
}

tc_minimum tc_minimum_of_family(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                const tc_family *family, const tc_monitor *monitor, double *minima, double *points) {
    tc_mark mark = tc_arena_mark(arena);
    lanes_of *l = new_lanes(arena, model, derivatives, family);
    tc_minimum result = {0};
    long double sum = 0;
    for (size_t first = 0; first < family->count && !result.interrupted; first += TC_LANES) {
        size_t lanes = family->count - first < TC_LANES ? family->count - first : TC_LANES;
        minimize_lanes(l, first, lanes);
        polish_lanes(l, arena, model, derivatives, first, lanes);
        for (size_t lane = 0; lane < lanes; lane++) {
            sum += (long double)l->value[lane];
            result.error += l->gap[lane];
            result.inaccurate += !(l->gap[lane] <= 1e-9 * (fabs(l->value[lane]) + l->first_gap[lane]));
            if (minima != NULL)
                minima[first + lane] = l->value[lane];
            for (size_t c = 0; points != NULL && c < l->dim; c++)
                points[c * family->count + first + lane] = l->x[c * TC_LANES + lane];
        }
        if (first % (1024 * TC_LANES) == 0)
            result.interrupted = tc_interrupted(monitor);
    }
    result.sum = (double)sum;
    tc_arena_rewind(arena, mark);
    return result;
}

/* ---- a Slater point ---- */

enum { EXACT_COUPLING = 600 }; /* a larger system takes too long to wait for */

typedef struct slater_search {
    const tc_model *model;
    const tc_derivatives *derivatives;
    tc_ensemble *ensemble;
    tc_set **sets; /* by family */
    tc_slater *result;
    double *trial, *mu;
    double *member, *moved; /* the largest dimension */
    tc_real *gradient;      /* largest dimension * TC_LANES */
    const tc_monitor *monitor;
} slater_search;

/* Keeps the trial point where its margin is better. */
static bool consider(slater_search *s) {
    if (!tc_ensemble_values(s->ensemble, s->trial))
        return false;
    size_t worst;
    double margin = (double)-tc_ensemble_largest(s->ensemble, &worst);
    if (!(margin > s->result->margin))
        return false;
    s->result->margin = margin;
    s->result->worst = worst;
    s->result->objective = (double)s->ensemble->objective;
    s->result->is_declared = false;
    memcpy(s->result->point, s->trial, s->model->state_count * sizeof *s->trial);
    return true;
}

typedef enum candidate { DECLARED, MIDDLE, NEAR_ZERO } candidate;

/* Fills the trial point with the projections of simple points. False where a set is empty. */
static bool place(slater_search *s, candidate which) {
    for (size_t f = 0; f < s->model->family_count; f++) {
        const tc_family *family = &s->model->families[f];
        tc_set *set = s->sets[f];
        for (size_t k = 0; k < family->count; k++) {
            tc_set_conflict conflict;
            tc_set_load(set, k);
            bool found = true;
            if (which == MIDDLE) {
                found = tc_set_examine(set, s->moved, &conflict);
            } else {
                for (size_t c = 0; c < family->dim; c++)
                    s->member[c] = which == NEAR_ZERO   ? 0
                                   : family->has_slater ? tc_coef_at(family->slater[c], k)
                                                        : set->lower[c] + (set->upper[c] - set->lower[c]) / 2;
                (void)tc_project(set, s->member, s->moved);
            }
            if (!found) {
                s->result->outcome = TC_SLATER_EMPTY_SET;
                s->result->empty_agent = family->first_agent + k;
                return false;
            }
            for (size_t c = 0; c < family->dim; c++)
                s->trial[tc_coord_of(family, k, c)] = s->moved[c];
        }
    }
    return true;
}

/* Weights of the constraints in the gradient of T log sum exp(g / T), a smooth stand-in for max_j g_j. */
static void smooth_weights(slater_search *s, double temperature) {
    size_t m = s->model->constraint_count, worst;
    tc_real most = tc_ensemble_largest(s->ensemble, &worst), sum = 0;
    for (size_t j = 0; j < m; j++)
        sum += expl((s->ensemble->g[j] - most) / (tc_real)temperature);
    for (size_t j = 0; j < m; j++)
        s->mu[j] = (double)(expl((s->ensemble->g[j] - most) / (tc_real)temperature) / sum);
}

/* trial = projection of (best - length * gradient), the gradient taken at the best point; returns the gradient's
 * squared norm. */
static double step_from_best(slater_search *s, double length) {
    const double *best = s->result->point;
    double squares = 0;
    for (size_t f = 0; f < s->model->family_count; f++) {
        const tc_family *family = &s->model->families[f];
        for (size_t first = 0; first < family->count; first += TC_LANES) {
            size_t lanes = family->count - first < TC_LANES ? family->count - first : TC_LANES;
            tc_ensemble_gradient(s->ensemble, f, first, lanes, best, false, s->gradient);
            for (size_t k = first; k < first + lanes; k++) {
                for (size_t c = 0; c < family->dim; c++) {
                    double slope = (double)s->gradient[c * TC_LANES + k - first];
                    squares += slope * slope;
                    s->member[c] = best[tc_coord_of(family, k, c)] - length * slope;
                }
                tc_set_load(s->sets[f], k);
                (void)tc_project(s->sets[f], s->member, s->moved);
                for (size_t c = 0; c < family->dim; c++)
                    s->trial[tc_coord_of(family, k, c)] = s->moved[c];
            }
        }
    }
    return squares;
}

/* Projected gradient steps on the smoothed maximum, until a positive margin hardly grows any more. */
static void descend(slater_search *s, int steps) {
    double length = 0, spread = fabs(s->result->margin) + 1e-6;
    int idle = 0;
    bool current = false; /* the ensemble's values are those of the best point */
    for (int step = 0; step < steps && !tc_interrupted(s->monitor); step++) {
        tc_progress(s->monitor, "searching a Slater point", (double)step / steps);
        if (!current && !tc_ensemble_values(s->ensemble, s->result->point))
            return;
        smooth_weights(s, spread / (1 + step));
        tc_ensemble_prices(s->ensemble, s->mu);
        if (length == 0) {
            double squares = step_from_best(s, 0);
            if (!(squares > 0))
                return;
            length = 2 * spread / squares; /* to first order, twice the way to zero */
        }
        double before = s->result->margin;
        (void)step_from_best(s, length);
        current = consider(s);
        length = current ? 4 * length : length / 4;
        idle = s->result->margin < 1.1 * before ? idle + 1 : 0;
        if (s->result->margin > 0 && idle >= 2)
            return;
    }
}

/* Minimises t subject to g <= t exactly. */
static void find_largest(slater_search *s, tc_arena *arena) {
    tc_interior *solver = tc_interior_margin(arena, s->model, s->derivatives);
    tc_interior_options options = {.gap = 1e-14L,
                                   .residual = 1e-12L,
                                   .iterations = 200,
                                   .monitor = s->monitor,
                                   .what = "searching a Slater point"};
    tc_interior_result found = tc_interior_solve(solver, &options);
    tc_interior_states(solver, s->trial);
    for (size_t f = 0; f < s->model->family_count; f++) {
        const tc_family *family = &s->model->families[f];
        for (size_t k = 0; k < family->count; k++) {
            for (size_t c = 0; c < family->dim; c++)
                s->member[c] = s->trial[tc_coord_of(family, k, c)];
            tc_set_load(s->sets[f], k);
            (void)tc_project(s->sets[f], s->member, s->moved);
            for (size_t c = 0; c < family->dim; c++)
                s->trial[tc_coord_of(family, k, c)] = s->moved[c];
        }
    }
    (void)consider(s);
    s->result->is_largest = found.gap <= 1e-11L && found.residual <= 1e-8L;
}

/* A margin this small is rounding. */
static double negligible(const slater_search *s) {
    double size = 0;
    for (size_t j = 0; j < s->model->constraint_count; j++)
        size = fmax(size, fabs((double)s->ensemble->g[j]));
    return 1e-10 * size;
}

static void run(slater_search *s, tc_arena *arena, size_t exact_limit) {
    bool declared = false;
    if (!place(s, MIDDLE))
        return;
    memcpy(s->result->point, s->trial, s->model->state_count * sizeof *s->trial);
    (void)consider(s);
    for (size_t f = 0; f < s->model->family_count; f++)
        declared = declared || s->model->families[f].has_slater;
    if (declared && place(s, DECLARED))
        s->result->is_declared = consider(s);
    if (s->model->constraint_count > 0) {
        if (place(s, NEAR_ZERO))
            (void)consider(s);
        bool exact =
            s->model->state_count <= exact_limit && tc_coupling_size(s->model, s->derivatives) <= EXACT_COUPLING;
        if (exact)
            find_largest(s, arena);
        if (!exact || !s->result->is_largest)
            descend(s, s->result->margin > 0 ? 8 : 40);
        (void)tc_ensemble_values(s->ensemble, s->result->point);
    }
    if (tc_interrupted(s->monitor))
        s->result->outcome = TC_SLATER_INTERRUPTED;
    else if (s->result->margin > (s->result->is_largest ? negligible(s) : 0))
        s->result->outcome = TC_SLATER_FOUND;
    else
        s->result->outcome = s->result->is_largest ? TC_SLATER_NONE : TC_SLATER_NOT_FOUND;
}

tc_slater *tc_slater_search(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                            size_t exact_limit, const tc_monitor *monitor) {
    tc_slater *result = TC_NEW(arena, tc_slater, 1);
    result->point = TC_NEW(arena, double, model->state_count);
    result->margin = -INFINITY;
    tc_mark mark = tc_arena_mark(arena);
    size_t dim = 1;
    slater_search s = {.model = model, .derivatives = derivatives, .result = result, .monitor = monitor};
    s.ensemble = tc_ensemble_new(arena, model, derivatives, true);
    s.sets = TC_NEW(arena, tc_set *, model->family_count);
    for (size_t f = 0; f < model->family_count; f++) {
        s.sets[f] = tc_set_new(arena, &model->families[f]);
        dim = model->families[f].dim > dim ? model->families[f].dim : dim;
    }
    s.trial = TC_NEW(arena, double, model->state_count);
    s.mu = TC_NEW(arena, double, model->constraint_count);
    s.member = TC_NEW(arena, double, dim);
    s.moved = TC_NEW(arena, double, dim);
    s.gradient = TC_NEW(arena, tc_real, dim * TC_LANES);
    run(&s, arena, exact_limit);
    if (result->outcome == TC_SLATER_EMPTY_SET)
        result->point = NULL;
    tc_arena_rewind(arena, mark);
    return result;
}
