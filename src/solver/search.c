/* min f_i in a box: projected Newton steps, TC_LANES members at once, each until a first-order certificate closes:
 *
 *     f(x) - min f  <=  max over y in the box of grad f(x) . (x - y)
 *
 * Members with further sets, and those whose certificate stays open, go to the interior-point method one by one. */
#include "solver/search.h"

#include "model/spread.h"
#include "base/team.h"
#include "calculus/tape/tape.h"
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
    l->interior = tc_interior_agent(arena, model, d, family); /* made here: threads do not allocate */
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
        l->done[lane] = l->set->shape != TC_SHAPE_BOX || l->derivatives->lift != NULL;
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
static void minimize_alone(lanes_of *l, size_t first, size_t lane) {
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

static void polish_lanes(lanes_of *l, size_t first, size_t lanes) {
    bool changed = false, alone[TC_LANES];
    for (size_t lane = 0; lane < lanes; lane++) {
        alone[lane] = !is_accurate(l, lane);
        if (alone[lane])
            minimize_alone(l, first, lane);
        changed = changed || alone[lane];
    }
    if (!changed)
        return;
    evaluate(l, first, lanes, l->x);
    for (size_t lane = 0; lane < lanes; lane++)
        if (alone[lane])
            l->value[lane] = l->output_at[0][lane];
}

/* ---- all members, TC_LANES of them a part, WAVE parts before their results are added up in order ---- */

enum { WAVE = 64 };

typedef struct minimum_search {
    tc_arena *arena;
    const tc_model *model;
    const tc_derivatives *derivatives;
    const tc_family *family;
    const tc_monitor *monitor;
    double *minima, *points; /* each may be NULL */
    lanes_of **workers;
    size_t first; /* of the wave */
    double value[WAVE * TC_LANES], gap[WAVE * TC_LANES], first_gap[WAVE * TC_LANES];
    tc_minimum result;
} minimum_search;

static void minimize_part(void *context, size_t worker, size_t part) {
    minimum_search *s = context;
    lanes_of *l = s->workers[worker];
    size_t first = s->first + part * TC_LANES, left = s->family->known_end - first,
           lanes = left < TC_LANES ? left : TC_LANES;
    minimize_lanes(l, first, lanes);
    polish_lanes(l, first, lanes);
    for (size_t lane = 0; lane < lanes; lane++) {
        size_t at = part * TC_LANES + lane;
        s->value[at] = l->value[lane];
        s->gap[at] = l->gap[lane];
        s->first_gap[at] = l->first_gap[lane];
        if (s->minima != NULL)
            s->minima[first + lane] = l->value[lane];
        for (size_t c = 0; s->points != NULL && c < l->dim; c++)
            s->points[c * s->family->count + first + lane] = l->x[c * TC_LANES + lane];
    }
}

static void minimize_waves(void *context, tc_team *team) {
    minimum_search *s = context;
    size_t workers = team == NULL ? 1 : tc_team_size(team);
    s->workers = TC_NEW(s->arena, lanes_of *, workers);
    for (size_t w = 0; w < workers; w++)
        s->workers[w] = new_lanes(s->arena, s->model, s->derivatives, s->family);
    size_t end = s->family->known_end;
    double *values = TC_NEW(s->arena, double, end - s->family->known_first + 1);
    double *gaps = TC_NEW(s->arena, double, end - s->family->known_first + 1);
    for (s->first = s->family->known_first; s->first < end && !s->result.interrupted; s->first += WAVE * TC_LANES) {
        size_t left = end - s->first, members = left < WAVE * TC_LANES ? left : WAVE * TC_LANES;
        size_t parts = (members + TC_LANES - 1) / TC_LANES;
        if (team != NULL)
            tc_team_run(team, parts, minimize_part, s);
        else
            for (size_t part = 0; part < parts; part++)
                minimize_part(s, 0, part);
        for (size_t k = 0; k < members; k++) {
            values[s->first - s->family->known_first + k] = s->value[k];
            gaps[s->first - s->family->known_first + k] = s->gap[k];
            s->result.inaccurate += !(s->gap[k] <= 1e-9 * (fabs(s->value[k]) + s->first_gap[k]));
        }
        s->result.interrupted = tc_stops_here(s->family, s->monitor);
    }
    s->result.interrupted = tc_for_some(s->family, s->result.interrupted);
    s->result.inaccurate = tc_sum_known(s->family, s->result.inaccurate);
    struct {
        long double sum;
        double error;
    } all = {0, 0};
    tc_fold_begin(s->family, &all, sizeof all);
    for (size_t k = 0; k < end - s->family->known_first && !s->result.interrupted; k++) {
        all.sum += (long double)values[k];
        all.error += gaps[k];
    }
    tc_fold_end(s->family, &all, sizeof all);
    s->result.error = all.error;
    s->result.sum = (double)all.sum;
}

tc_minimum tc_minimum_of_family(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                const tc_family *family, size_t threads, const tc_monitor *monitor, double *minima,
                                double *points) {
    tc_mark mark = tc_arena_mark(arena);
    minimum_search *s = TC_NEW(arena, minimum_search, 1);
    s->arena = arena;
    s->model = model;
    s->derivatives = derivatives;
    s->family = family;
    s->monitor = monitor;
    s->minima = minima;
    s->points = points;
    if (threads == 1 || family->count <= TC_PART_MEMBERS)
        minimize_waves(s, NULL);
    else
        tc_team_with(arena, threads, minimize_waves, s);
    tc_minimum result = s->result;
    tc_arena_rewind(arena, mark);
    return result;
}
