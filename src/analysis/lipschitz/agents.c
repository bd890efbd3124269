/* The constants of each agent: K^i_1 and K^i_2, how fast the block g_{x_i} changes with the whole x; and L_i, the
 * spectral norm of the Hessian of f_i over the bounding box of X_i. */
#include "analysis/steps.h"
#include "analysis/lipschitz/norm.h"
#include "analysis/lipschitz/variation.h"
#include "model/spread.h"
#include "solver/project/set.h"

#include <string.h>

#define SEARCH_WORK 4000000.0

typedef struct jacobian_search {
    tc_streams *streams;
    tc_variation *variation;
    tc_agent_constants *rows;
    size_t count;
    size_t *worst[2]; /* by row: the member whose upper bound is largest */
} jacobian_search;

/* ---- K^i: upper bounds ---- */

static void take_bound(jacobian_search *h, size_t row, size_t member, const double bound[2]) {
    for (int p = 0; p < 2; p++) {
        tc_bracket *bracket = &h->rows[row].jacobian[p];
        if (bound[p] > bracket->upper) {
            bracket->upper = bound[p];
            h->worst[p][row] = member;
            if (p == 1)
                h->rows[row].member = member;
        }
    }
}

static bool is_named(const tc_family_stream *f, size_t member) {
    size_t named;
    (void)tc_singled_of(f, member, &named);
    return named > 0;
}

/* The members of a batch. */
static void batch_upper(jacobian_search *h, size_t family, size_t first, bool by_family) {
    const tc_family_stream *f = &h->streams->families[family];
    for (size_t l = 0; l < f->batch->lanes; l++) {
        double bound[2], enough = by_family ? h->rows[first].jacobian[1].upper : 0;
        size_t member = f->batch->members[l];
        tc_variation_upper(h->variation, family, l, enough, bound);
        if (by_family) {
            take_bound(h, first, member, bound);
            continue;
        }
        take_bound(h, first + member, member, bound);
        for (size_t k = 0; f->batch->weight[l] > 1 && k < f->family->count; k++) {
            if (k != member && !is_named(f, k))
                take_bound(h, first + k, k, bound);
        }
    }
}

/* Upper bounds of one family; its rows begin at `first` (one, or one per member). */
static void family_upper(jacobian_search *h, size_t family, size_t first, bool by_family) {
    tc_family_stream *f = &h->streams->families[family];
    const tc_monitor *monitor = h->streams->monitor;
    size_t cursor = 0, rows = by_family ? 1 : f->family->count;
    bool stops = false;
    for (size_t k = 0; k < rows; k++)
        h->worst[0][first + k] = h->worst[1][first + k] = by_family ? 0 : k;
    while (!stops && tc_streams_next(h->streams, family, &cursor, true, NULL, true)) {
        batch_upper(h, family, first, by_family);
        stops = f->alike ? tc_interrupted(monitor) : tc_stops_here(f->family, monitor);
    }
    if (!f->alike)
        stops = tc_for_some(f->family, stops); /* a rank that knows no member has not looked */
    if (stops) {
        for (size_t k = 0; k < rows; k++)
            h->rows[first + k].jacobian[0].upper = h->rows[first + k].jacobian[1].upper = INFINITY;
        return;
    }
    for (int p = 0; by_family && !f->alike && p < 2; p++) {
        tc_largest_known(f->family, 0, &h->rows[first].jacobian[p].upper, &h->worst[p][first]);
        if (p == 1)
            h->rows[first].member = h->worst[p][first];
    }
}

/* ---- K^i: lower bounds ---- */

/* The witness of a block: its own coordinates where nothing else matters, else the whole point. */
static tc_witness witness_of(jacobian_search *h, const tc_family *family, size_t member, const double *x, bool copy) {
    tc_arena *arena = h->streams->arena;
    if (h->streams->curved) {
        size_t n = h->streams->model->state_count;
        double *values = copy ? TC_NEW(arena, double, n) : NULL;
        if (copy)
            memcpy(values, x, n * sizeof *values);
        return (tc_witness){.count = n, .values = copy ? values : x};
    }
    uint64_t *coords = TC_NEW(arena, uint64_t, family->dim);
    double *values = TC_NEW(arena, double, family->dim);
    for (size_t c = 0; c < family->dim; c++) {
        coords[c] = tc_coord_of(family, member, c);
        values[c] = x[coords[c]];
    }
    return (tc_witness){.rest = TC_REST_MIDDLE, .count = family->dim, .coords = coords, .values = values};
}

/* Of one member. Where one rank knows it, that rank finds the bounds, and gives them and the member's part of x to all:
 * there, what one agent's states do to its block depends on no other's (tc_why_whole). */
static void lower_of_member(jacobian_search *h, const tc_family *family, size_t member, double *x, double bound[2]) {
    size_t number = (size_t)(family - h->streams->model->families), dim = family->dim;
    if (tc_is_known(family, member)) {
        tc_streams_member(h->streams, number, member, x);
        tc_variation_lower(h->variation, number, 0, bound);
    }
    if (!family->is_spread)
        return;
    tc_mark mark = tc_arena_mark(h->streams->arena);
    double *found = TC_NEW(h->streams->arena, double, dim + 2);
    memcpy(found, bound, 2 * sizeof *found);
    for (size_t c = 0; c < dim; c++)
        found[2 + c] = x[tc_coord_of(family, member, c)];
    tc_from_member(family, member, found, (dim + 2) * sizeof *found);
    memcpy(bound, found, 2 * sizeof *found);
    for (size_t c = 0; c < dim; c++)
        x[tc_coord_of(family, member, c)] = found[2 + c];
    tc_arena_rewind(h->streams->arena, mark);
}

static void lower_at(jacobian_search *h, double *x) {
    for (size_t r = 0; r < h->count; r++) {
        tc_agent_constants *row = &h->rows[r];
        for (int p = 0; p < 2; p++) {
            if (tc_is_closed(&row->jacobian[p]) && row->jacobian[p].witness.count > 0)
                continue;
            double bound[2] = {0, 0};
            lower_of_member(h, row->family, h->worst[p][r], x, bound);
            for (int q = 0; q < 2; q++) {
                tc_bracket *bracket = &row->jacobian[q];
                if (bound[q] > bracket->lower || bracket->witness.count == 0) {
                    bracket->lower = fmax(bound[q], bracket->lower);
                    bracket->witness = witness_of(h, row->family, h->worst[p][r], x, false);
                }
            }
        }
    }
}

static bool all_closed(const jacobian_search *h) {
    for (size_t r = 0; r < h->count; r++) {
        if (!tc_is_closed(&h->rows[r].jacobian[0]) || !tc_is_closed(&h->rows[r].jacobian[1]))
            return false;
    }
    return true;
}

typedef struct trial {
    jacobian_search *search;
    size_t family, member, first_coord, stride; /* coordinates that move: first_coord + i * stride */
    size_t count;
    double *x;
    int p;
} trial;

static double score(void *context, const double *moved) {
    trial *t = context;
    for (size_t i = 0; i < t->count; i++)
        t->x[t->first_coord + i * t->stride] = moved[i];
    tc_streams *s = t->search->streams;
    if (s->curved) {
        tc_streams_outer_point(s, t->x);
        tc_variation_prepare(t->search->variation, t->x);
    }
    double bound[2];
    tc_streams_member(s, t->family, t->member, t->x);
    tc_variation_lower(t->search->variation, t->family, 0, bound);
    return bound[t->p];
}

/* The rank that knows the member searches. */
static double search(trial *t, const tc_bracket *bracket, double *moved, size_t budget) {
    const tc_model *model = t->search->streams->model;
    const tc_family *family = &model->families[t->family];
    tc_arena *arena = t->search->streams->arena;
    double *found = TC_NEW(arena, double, t->count + 1);
    if (tc_is_known(family, t->member)) {
        tc_interval *ranges = TC_NEW(arena, tc_interval, t->count);
        for (size_t i = 0; i < t->count; i++)
            ranges[i] = tc_coord_range(model, t->first_coord + i * t->stride);
        found[t->count] = tc_coordinate_search(ranges, t->count, moved, bracket->lower,
                                               bracket->upper * (1 - TC_CLOSED), budget, score, t);
        memcpy(found, moved, t->count * sizeof *found);
    }
    tc_from_member(family, t->member, found, (t->count + 1) * sizeof *found);
    memcpy(moved, found, t->count * sizeof *found);
    return found[t->count];
}

/* Searches from the best point so far, over the agent's own coordinates, or all where others matter. */
static void improve(jacobian_search *h, size_t r, int p, double *x) {
    const tc_model *model = h->streams->model;
    tc_agent_constants *row = &h->rows[r];
    tc_bracket *bracket = &row->jacobian[p];
    bool curved = h->streams->curved;
    size_t n = model->state_count, member = h->worst[p][r];
    double cost = curved ? (double)n * 20 : (double)row->family->dim * 4;
    double share = SEARCH_WORK / (double)h->count;
    if (tc_is_closed(bracket) || !isfinite(bracket->upper) || share < cost * 6)
        return;
    tc_fill_middle(model, x);
    for (size_t i = 0; i < bracket->witness.count; i++)
        x[bracket->witness.coords != NULL ? bracket->witness.coords[i] : i] = bracket->witness.values[i];
    trial t = {.search = h,
               .family = (size_t)(row->family - model->families),
               .member = member,
               .x = x,
               .p = p,
               .count = curved ? n : row->family->dim,
               .stride = curved ? 1 : row->family->count,
               .first_coord = curved ? 0 : row->family->first_coord + member};
    double *moved = TC_NEW(h->streams->arena, double, t.count);
    for (size_t i = 0; i < t.count; i++)
        moved[i] = x[t.first_coord + i * t.stride];
    double found = search(&t, bracket, moved, (size_t)(share / cost));
    if (found > bracket->lower) {
        for (size_t i = 0; i < t.count; i++)
            x[t.first_coord + i * t.stride] = moved[i];
        bracket->lower = found;
        bracket->witness = witness_of(h, row->family, member, x, true);
    }
}

static void find_lower(jacobian_search *h, double *vertex) {
    const tc_model *model = h->streams->model;
    tc_arena *arena = h->streams->arena;
    size_t n = model->state_count;
    void (*const fills[])(const tc_model *, double *) = {NULL, tc_fill_upper, tc_fill_lower, tc_fill_middle};
    for (size_t i = 0; i < sizeof fills / sizeof *fills && !(i > 0 && all_closed(h)); i++) {
        if (tc_interrupted(h->streams->monitor))
            return;
        double *x = vertex;
        if (fills[i] != NULL) {
            x = TC_NEW(arena, double, n + 1);
            fills[i](model, x);
        }
        tc_streams_outer_point(h->streams, x);
        tc_variation_prepare(h->variation, x);
        lower_at(h, x);
    }
    double *x = TC_NEW(arena, double, n + 1);
    for (size_t r = 0; r < h->count && !tc_interrupted(h->streams->monitor); r++) {
        improve(h, r, 0, x);
        improve(h, r, 1, x);
    }
}

/* paper: Assumption 3
 * K^i_1 and K^i_2. */
void tc_lipschitz_jacobian(tc_streams *s, tc_agent_constants *rows, size_t count, bool by_family, double *vertex) {
    size_t widest = 0;
    for (size_t r = 0; r < count; r++) {
        for (int p = 0; p < 2; p++)
            rows[r].jacobian[p] =
                (tc_bracket){.declared = tc_coef_at(rows[r].family->declared_jacobian[p], rows[r].member)};
        widest = rows[r].family->dim > widest ? rows[r].family->dim : widest;
    }
    if (s->model->constraint_count == 0)
        return;
    jacobian_search h = {.streams = s, .rows = rows, .count = count};
    h.worst[0] = TC_NEW(s->arena, size_t, count + 1);
    h.worst[1] = TC_NEW(s->arena, size_t, count + 1);
    h.variation = tc_variation_new(s, s->model->constraint_count * widest);
    tc_streams_outer_box(s);
    tc_variation_prepare(h.variation, NULL);
    size_t first = 0;
    for (size_t f = 0; f < s->model->family_count; f++) {
        tc_progress(s->monitor, "Lipschitz constants of the Jacobian", (double)f / (double)s->model->family_count);
        family_upper(&h, f, first, by_family);
        first += by_family ? 1 : s->model->families[f].count;
    }
    find_lower(&h, vertex);
}

/* ---- L_i: upper bounds ---- */

enum { SEARCH_SCORES = 400, SEARCH_TURNS = 4, SCORE_STEPS = 8 };

typedef struct hessians {
    tc_arena *arena;
    const tc_family *family;
    const tc_family_derivatives *derivatives;
    tc_tape *tape;
    tc_batch *batch;
    tc_interval *work, *values, **out;
    bool constant; /* the Hessian does not depend on states: no box is needed */
    tc_set *set;
    double *lower, *upper;
    double *inside; /* a point of X_i */
    /* one member's Hessian by columns */
    size_t *start;
    uint32_t *row;
    tc_interval *entry;
    size_t *slot; /* for entry k: which second derivative */
    /* lower bounds: the Hessian at a point, a direction, and its images */
    tc_sparse at;
    double *direction, *image; /* image: twice */
} hessians;

/* The pattern is the same for all members: both triangles, by columns. */
static void build_pattern(hessians *h) {
    const tc_family_derivatives *d = h->derivatives;
    size_t dim = h->family->dim, count = d->objective_second_count;
    h->start = TC_NEW(h->arena, size_t, dim + 2);
    h->row = TC_NEW(h->arena, uint32_t, 2 * count + 1);
    h->entry = TC_NEW(h->arena, tc_interval, 2 * count + 1);
    h->slot = TC_NEW(h->arena, size_t, 2 * count + 1);
    for (size_t i = 0; i < count; i++) {
        h->start[d->objective_second[i].column + 2]++;
        if (d->objective_second[i].column != d->objective_second[i].other)
            h->start[d->objective_second[i].other + 2]++;
    }
    for (size_t c = 0; c < dim; c++)
        h->start[c + 2] += h->start[c + 1];
    for (size_t i = 0; i < count; i++) {
        uint32_t a = d->objective_second[i].column, b = d->objective_second[i].other;
        size_t at = h->start[a + 1]++;
        h->row[at] = b;
        h->slot[at] = i;
        if (a != b) {
            at = h->start[b + 1]++;
            h->row[at] = a;
            h->slot[at] = i;
        }
    }
}

static hessians *hessians_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, size_t f) {
    hessians *h = TC_NEW(arena, hessians, 1);
    h->arena = arena;
    h->family = &model->families[f];
    h->derivatives = &derivatives->families[f];
    size_t count = h->derivatives->objective_second_count;
    tc_expr *roots = TC_NEW(arena, tc_expr, count + 1);
    h->constant = true;
    for (size_t i = 0; i < count; i++) {
        roots[i] = h->derivatives->objective_second[i].value;
        h->constant = h->constant && !model->dag->nodes[roots[i]].has_state;
    }
    h->tape = tc_tape_new(arena, model->dag, roots, count);
    h->batch = tc_batch_new(arena, h->family);
    h->work = TC_NEW(arena, tc_interval, tc_tape_work(h->tape));
    h->values = TC_NEW(arena, tc_interval, count * TC_LANES);
    h->out = TC_NEW(arena, tc_interval *, count + 1);
    for (size_t i = 0; i < count; i++)
        h->out[i] = h->values + i * TC_LANES;
    h->lower = TC_NEW(arena, double, h->family->dim + 1);
    h->upper = TC_NEW(arena, double, h->family->dim + 1);
    h->inside = TC_NEW(arena, double, h->family->dim + 1);
    h->direction = TC_NEW(arena, double, h->family->dim + 1);
    h->image = TC_NEW(arena, double, 2 * h->family->dim + 1);
    h->set = !h->constant && h->family->piece_count > 0 ? tc_set_new(arena, h->family) : NULL;
    build_pattern(h);
    return h;
}

/* Shrinks a lane from the public box to the bounding box of X_i. */
static void tighten_lane(hessians *h, size_t lane) {
    if (h->set == NULL)
        return;
    tc_set_load(h->set, h->batch->members[lane]);
    if (h->set->is_empty)
        return;
    tc_set_bounds(h->set, h->lower, h->upper);
    for (size_t c = 0; c < h->family->dim; c++) {
        tc_interval *range = &h->batch->state[c * TC_LANES + lane];
        tc_interval inner = {fmax(range->lo, h->lower[c]), fmin(range->hi, h->upper[c])};
        if (inner.lo <= inner.hi)
            *range = inner;
    }
}

static tc_sparse lane_matrix(hessians *h, size_t lane) {
    size_t dim = h->family->dim;
    for (size_t k = 0; k < h->start[dim]; k++)
        h->entry[k] = h->values[h->slot[k] * TC_LANES + lane];
    return (tc_sparse){.rows = dim, .columns = dim, .start = h->start, .row = h->row, .value = h->entry};
}

/* |H|_2 <= |H|_inf, and the Frobenius norm. */
static double crude(const tc_sparse *m) {
    double squares = 0;
    for (size_t k = 0; k < m->start[m->columns]; k++)
        squares = tc_add_up(squares, tc_mul_up(tc_magnitude(m->value[k]), tc_magnitude(m->value[k])));
    double bound = fmin(tc_sqrt_up(squares), tc_sparse_upper1(m));
    return isnan(bound) ? (double)INFINITY : bound;
}

static double lane_upper(hessians *h, size_t lane, double enough) {
    tc_sparse matrix = lane_matrix(h, lane);
    double bound = crude(&matrix);
    if (bound <= enough || !isfinite(bound))
        return bound;
    return fmin(bound, tc_sparse_upper(h->arena, &matrix));
}

/* ---- L_i: lower bounds ---- */

/* The point of X_i nearest to x: a box around X_i has corners that no agent can reach. */
static const double *reachable(hessians *h, const double *x) {
    if (h->set == NULL || h->set->is_empty || !tc_project(h->set, x, h->inside))
        memcpy(h->inside, x, h->family->dim * sizeof *x);
    return h->inside;
}

/* The Hessian at that point. */
static tc_sparse matrix_at(hessians *h, const double *x) {
    const double *inside = reachable(h, x);
    for (size_t c = 0; c < h->family->dim; c++)
        h->batch->state[c * TC_LANES] = tc_point(inside[c]);
    tc_tape_enclose(h->tape, &h->batch->inputs, 1, h->work, h->out);
    return lane_matrix(h, 0);
}

/* y = H x for the midpoints. */
static void apply_once(const tc_sparse *m, const double *x, double *y) {
    for (size_t c = 0; c < m->columns; c++) { /* symmetric: columns are rows */
        y[c] = 0;
        for (size_t k = m->start[c]; k < m->start[c + 1]; k++)
            y[c] += (m->value[k].lo / 2 + m->value[k].hi / 2) * x[m->row[k]];
    }
}

/* y = H H x: its largest eigenvalue is |H|_2^2, whatever the signs. */
static void apply_twice(const void *context, size_t n, const double *x, double *y) {
    const hessians *h = context;
    (void)n;
    apply_once(&h->at, x, h->image);
    apply_once(&h->at, h->image, y);
}

/* |H w| / |w| after a few power steps w from the direction: an estimate of a lower bound that costs little more than
 * the Hessian itself, where the norm is cubic in the states. */
static double hessian_score(void *context, const double *x) {
    hessians *h = context;
    size_t dim = h->family->dim;
    double *from = h->image, *to = h->image + dim, before = 1, after = 1;
    h->at = matrix_at(h, x);
    memcpy(from, h->direction, dim * sizeof *from);
    for (int step = 0; step < SCORE_STEPS && after > 0; step++) {
        before = after;
        after = 0;
        apply_once(&h->at, from, to);
        for (size_t c = 0; c < dim; c++)
            after += to[c] * to[c];
        double *last = from;
        from = to;
        to = last;
    }
    return isfinite(after / before) ? sqrt(after / before) : 0;
}

/* Moves x to where the Hessian is larger in the direction in which it is largest, while that raises the norm, which is
 * returned, proved. */
static double climb(hessians *h, const tc_interval *ranges, double *x, double goal) {
    size_t dim = h->family->dim;
    tc_mark mark = tc_arena_mark(h->arena);
    double best = -1, *next = TC_NEW(h->arena, double, dim);
    memcpy(next, x, dim * sizeof *x);
    for (int turn = 0; turn < SEARCH_TURNS; turn++) {
        h->at = matrix_at(h, next);
        double found = tc_sparse_lower(h->arena, &h->at);
        if (!(found > best * (1 + TC_CLOSED)))
            break;
        best = found;
        memcpy(x, next, dim * sizeof *x);
        if (best >= goal || dim > 64 || h->constant)
            break;
        (void)tc_largest_eigen(h->arena, apply_twice, h, dim, h->direction);
        (void)tc_coordinate_search(ranges, dim, next, hessian_score(h, next), goal, SEARCH_SCORES, hessian_score, h);
    }
    tc_arena_rewind(h->arena, mark);
    return best;
}

static void find_objective_lower(hessians *h, size_t member, tc_bracket *bracket) {
    size_t dim = h->family->dim;
    tc_batch_load_member(h->batch, member);
    tighten_lane(h, 0);
    tc_interval *ranges = TC_NEW(h->arena, tc_interval, dim);
    double *x = TC_NEW(h->arena, double, dim), *best = TC_NEW(h->arena, double, dim);
    for (size_t c = 0; c < dim; c++)
        ranges[c] = h->batch->state[c * TC_LANES];
    bracket->lower = -1;
    for (int start = 0; start < (h->constant ? 1 : 3) && !tc_is_closed(bracket); start++) {
        for (size_t c = 0; c < dim; c++)
            x[c] = start == 0 ? ranges[c].hi : start == 1 ? ranges[c].lo : ranges[c].lo / 2 + ranges[c].hi / 2;
        double found = climb(h, ranges, x, bracket->upper * (1 - TC_CLOSED));
        if (found > bracket->lower) {
            bracket->lower = found;
            memcpy(best, reachable(h, x), dim * sizeof *x);
        }
    }
    uint64_t *coords = TC_NEW(h->arena, uint64_t, dim);
    for (size_t c = 0; c < dim; c++)
        coords[c] = tc_coord_of(h->family, member, c);
    bracket->witness = (tc_witness){.rest = TC_REST_MIDDLE, .count = dim, .coords = coords, .values = best};
}

/* The rank that knows the member finds it. */
static void share_objective_lower(hessians *h, size_t member, tc_bracket *bracket) {
    size_t dim = h->family->dim;
    double *found = TC_NEW(h->arena, double, dim + 1);
    if (tc_is_known(h->family, member)) {
        find_objective_lower(h, member, bracket);
        memcpy(found, bracket->witness.values, dim * sizeof *found);
        found[dim] = bracket->lower;
    }
    if (!h->family->is_spread)
        return;
    tc_from_member(h->family, member, found, (dim + 1) * sizeof *found);
    uint64_t *coords = TC_NEW(h->arena, uint64_t, dim);
    for (size_t c = 0; c < dim; c++)
        coords[c] = tc_coord_of(h->family, member, c);
    bracket->lower = found[dim];
    bracket->witness = (tc_witness){.rest = TC_REST_MIDDLE, .count = dim, .coords = coords, .values = found};
}

/* ---- rows ---- */

static void family_objectives(hessians *h, tc_agent_constants *rows, bool by_family, const tc_monitor *monitor) {
    size_t worst = 0, begin = h->family->known_first, end = h->family->known_end;
    bool stops = false;
    for (; begin < end && !stops; begin += TC_LANES) {
        tc_batch *batch = h->batch;
        batch->lanes = end - begin < TC_LANES ? end - begin : TC_LANES;
        for (size_t l = 0; l < batch->lanes; l++)
            batch->members[l] = begin + l;
        tc_batch_load_data(batch);
        tc_batch_load_box(batch);
        for (size_t l = 0; l < batch->lanes && !h->constant; l++)
            tighten_lane(h, l);
        tc_tape_enclose(h->tape, &batch->inputs, batch->lanes, h->work, h->out);
        for (size_t l = 0; l < batch->lanes; l++) {
            tc_bracket *bracket = &rows[by_family ? 0 : begin + l].objective;
            double bound = lane_upper(h, l, by_family ? bracket->upper : 0);
            if (bound > bracket->upper) {
                bracket->upper = bound;
                worst = begin + l;
            }
        }
        stops = tc_stops_here(h->family, monitor);
    }
    if (tc_for_some(h->family, stops)) { /* a rank that knows no member has not looked */
        for (size_t k = by_family ? 0 : begin; k < (by_family ? 1 : h->family->count); k++)
            rows[k].objective.upper = INFINITY;
        return;
    }
    if (by_family) {
        tc_largest_known(h->family, 0, &rows[0].objective.upper, &worst);
        share_objective_lower(h, worst, &rows[0].objective);
        return;
    }
    for (size_t k = 0; k < h->family->count; k++)
        find_objective_lower(h, k, &rows[k].objective);
}

/* paper: Assumption 1
 * L_i. */
void tc_lipschitz_objectives(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                             tc_agent_constants *rows, size_t count, bool by_family, const tc_monitor *monitor) {
    for (size_t r = 0; r < count; r++)
        rows[r].objective = (tc_bracket){.declared = tc_coef_at(rows[r].family->declared_objective, rows[r].member)};
    size_t first = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        if (derivatives->families[f].lift != NULL) /* the gradient jumps */
            for (size_t r = first; r < first + (by_family ? 1 : family->count); r++)
                rows[r].objective.upper = INFINITY;
        else if (family->objective != TC_NO_EXPR)
            family_objectives(hessians_new(arena, model, derivatives, f), rows + first, by_family, monitor);
        first += by_family ? 1 : family->count;
    }
}
