#include "analysis/lipschitz/variation.h"

#include <stdlib.h>
#include <string.h>

#define LISTED_LIMIT 20000000.0 /* entries of all T_i together that are listed one by one */
#define KEPT_SLOPES 6000000.0

/* ---- structure ---- */

/* Second derivatives by variable: entry v lists those with v on either side. */
static tc_partial_links by_variable(tc_arena *arena, const tc_second *second, size_t count, size_t variables) {
    tc_partial_links links = {TC_NEW(arena, size_t, variables + 2), TC_NEW(arena, tc_partial_link, 2 * count + 1)};
    for (size_t i = 0; i < count; i++) {
        links.start[second[i].column + 2]++;
        if (second[i].column != second[i].other)
            links.start[second[i].other + 2]++;
    }
    for (size_t v = 0; v < variables; v++)
        links.start[v + 2] += links.start[v + 1];
    for (size_t i = 0; i < count; i++) {
        links.link[links.start[second[i].column + 1]++] = (tc_partial_link){(uint32_t)i, second[i].other};
        if (second[i].column != second[i].other)
            links.link[links.start[second[i].other + 1]++] = (tc_partial_link){(uint32_t)i, second[i].column};
    }
    return links;
}

static bool is_curved(const tc_variation *v, size_t input) {
    return v->inputs.start[input] < v->inputs.start[input + 1];
}

static void index_inputs(tc_variation *v) {
    tc_streams *s = v->streams;
    const tc_derivatives *d = s->derivatives;
    v->input_family = TC_NEW(v->arena, uint32_t, d->input_count + 1);
    v->body_of_input = TC_NEW(v->arena, uint32_t, d->input_count + 1);
    for (size_t i = 0; i < d->input_count; i++) {
        if (d->inputs[i].op == TC_COORD) {
            v->input_family[i] = (uint32_t)(tc_family_of_coord(s->model, d->inputs[i].index) - s->model->families);
            continue;
        }
        v->input_family[i] = s->model->sums[d->inputs[i].index].family;
        if (is_curved(v, i)) {
            v->couples_sums = true;
            v->slopes[v->input_family[i]].wanted = true;
        }
    }
    for (size_t f = 0; f < s->model->family_count; f++) {
        for (size_t b = 0; b < d->families[f].body_count; b++)
            v->body_of_input[d->families[f].sums[b]] = (uint32_t)b;
    }
}

/* How many entries all T_i would have if each were listed. */
static double listing_cost(const tc_variation *v) {
    const tc_model *model = v->streams->model;
    double agents = 0, columns = 0, slopes = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_stream *stream = &v->streams->families[f];
        double members = stream->alike ? (double)stream->singled_members + 1 : (double)stream->family->count;
        agents += members * (double)stream->family->dim;
        if (v->slopes[f].wanted) {
            columns += (double)stream->family->count; /* at a point members differ */
            slopes += (double)stream->family->count * (double)stream->derivatives->body_first_count;
        }
    }
    return slopes > KEPT_SLOPES ? LISTED_LIMIT * 2 : agents * columns;
}

tc_variation *tc_variation_new(tc_streams *s, size_t row_limit) {
    tc_variation *v = TC_NEW(s->arena, tc_variation, 1);
    v->streams = s;
    v->arena = s->arena;
    const tc_derivatives *d = s->derivatives;
    v->inputs = by_variable(v->arena, d->outer_second, d->outer_second_count, d->input_count);
    v->components = TC_NEW(v->arena, tc_partial_links, s->model->family_count + 1);
    v->slopes = TC_NEW(v->arena, tc_slopes, s->model->family_count + 1);
    for (size_t f = 0; f < s->model->family_count; f++)
        v->components[f] = by_variable(v->arena, d->families[f].body_second, d->families[f].body_second_count,
                                       s->model->families[f].dim);
    index_inputs(v);
    v->aggregated = v->couples_sums && listing_cost(v) > LISTED_LIMIT;
    v->coupled_families = TC_NEW(v->arena, bool, s->model->family_count + 1);
    v->steepest = TC_NEW(v->arena, double, d->input_count + 1);
    v->stamp = TC_NEW(v->arena, uint32_t, row_limit + 1);
    v->slot = TC_NEW(v->arena, uint32_t, row_limit + 1);
    return v;
}

/* ---- slopes of foreign members ---- */

static void keep_slopes(tc_variation *v, size_t family, const double *x) {
    tc_family_stream *f = &v->streams->families[family];
    tc_slopes *slopes = &v->slopes[family];
    size_t entries = f->derivatives->body_first_count;
    if (slopes->members == NULL) {
        slopes->members = TC_NEW(v->arena, size_t, f->family->count);
        slopes->weight = TC_NEW(v->arena, double, f->family->count);
        slopes->values = TC_NEW(v->arena, tc_interval, f->family->count * entries + 1);
    }
    size_t most = f->family->count, cursor = 0;
    slopes->count = 0;
    while (tc_streams_next(v->streams, family, &cursor, true, x, false)) {
        for (size_t l = 0; l < f->batch->lanes; l++) {
            slopes->members[slopes->count] = f->batch->members[l];
            slopes->weight[slopes->count] = f->batch->weight[l];
            for (size_t e = 0; e < entries; e++)
                slopes->values[e * most + slopes->count] = f->first[e * TC_LANES + l];
            slopes->count++;
        }
    }
}

/* The matrix (a_{sc}) over curved inputs s, gathered column by column. */
typedef struct slope_gather {
    tc_variation *variation;
    uint32_t *place; /* by input: its row, UINT32_MAX where it is not curved */
    tc_grams *grams; /* NULL where there are too many rows */
    uint32_t *rows;
    tc_interval *values;
    size_t count;
    double squares;
} slope_gather;

static void gather_slope(slope_gather *g, uint32_t input, tc_interval slope) {
    if (g->place[input] == UINT32_MAX)
        return;
    double *steepest = &g->variation->steepest[input];
    *steepest = fmax(*steepest, tc_magnitude(slope));
    g->rows[g->count] = g->place[input];
    g->values[g->count++] = slope;
}

static void gather_column(slope_gather *g, const tc_family_stream *f, size_t lane, size_t component) {
    const tc_family_derivatives *d = f->derivatives;
    size_t named;
    const tc_singled *singled = tc_singled_of(f, f->batch->members[lane], &named);
    double weight = f->batch->weight[lane];
    g->count = 0;
    for (size_t e = 0; e < d->body_first_count; e++) {
        if (d->body_first[e].column == component)
            gather_slope(g, d->sums[d->body_first[e].row], f->first[e * TC_LANES + lane]);
    }
    for (size_t i = 0; i < named; i++) {
        if (singled[i].component == component)
            gather_slope(g, singled[i].input, tc_point(1));
    }
    if (g->grams != NULL)
        tc_grams_add(g->grams, weight, g->count, g->rows, g->values);
    for (size_t i = 0; i < g->count; i++) {
        double magnitude = tc_magnitude(g->values[i]);
        g->squares = tc_add_up(g->squares, tc_mul_up(weight, tc_mul_up(magnitude, magnitude)));
    }
}

/* steepest[] and slopes_norm, over the box. */
static void aggregate_slopes(tc_variation *v) {
    tc_streams *s = v->streams;
    size_t inputs = s->derivatives->input_count, curved = 0;
    slope_gather g = {.variation = v, .place = TC_NEW(v->arena, uint32_t, inputs + 1)};
    for (size_t i = 0; i < inputs; i++)
        g.place[i] = is_curved(v, i) ? (uint32_t)curved++ : UINT32_MAX;
    g.grams = curved <= TC_GRAM_LIMIT ? tc_grams_new(v->arena, curved) : NULL;
    g.rows = TC_NEW(v->arena, uint32_t, curved + 1);
    g.values = TC_NEW(v->arena, tc_interval, curved + 1);
    for (size_t k = 0; k < s->model->family_count; k++) {
        const tc_family_stream *f = &s->families[k];
        size_t cursor = 0;
        while (tc_streams_next(s, k, &cursor, true, NULL, false)) {
            for (size_t i = 0; i < f->batch->lanes * f->family->dim; i++)
                gather_column(&g, f, i / f->family->dim, i % f->family->dim);
        }
    }
    v->slopes_norm = tc_sqrt_up(g.squares);
    if (g.grams != NULL)
        v->slopes_norm = fmin(v->slopes_norm, tc_grams_upper(v->arena, g.grams));
}

void tc_variation_prepare(tc_variation *v, const double *x) {
    if (v->aggregated) {
        if (x == NULL)
            aggregate_slopes(v);
        return;
    }
    for (size_t f = 0; f < v->streams->model->family_count; f++) {
        if (v->slopes[f].wanted)
            keep_slopes(v, f, x);
    }
}

/* ---- building T_i ---- */

static void begin_matrix(tc_variation *v) {
    v->columns = v->entries = v->open_at = 0;
    v->stamp_now++;
}

static void add_entry(tc_variation *v, size_t row, tc_interval value) {
    if (v->stamp[row] == v->stamp_now) {
        v->value[v->slot[row]] = tc_iadd(v->value[v->slot[row]], value);
        return;
    }
    if (v->entries == v->entry_capacity) {
        size_t capacity = 2 * v->entry_capacity + 256;
        v->row = tc_arena_grow(v->arena, v->row, v->entries, capacity, sizeof *v->row);
        v->value = tc_arena_grow(v->arena, v->value, v->entries, capacity, sizeof *v->value);
        v->entry_capacity = capacity;
    }
    v->stamp[row] = v->stamp_now;
    v->slot[row] = (uint32_t)v->entries;
    v->row[v->entries] = (uint32_t)row;
    v->value[v->entries++] = value;
}

static void end_column(tc_variation *v, double weight) {
    v->stamp_now++;
    if (v->entries == v->open_at)
        return;
    if (v->columns + 2 > v->column_capacity) {
        size_t capacity = 2 * v->column_capacity + 64;
        v->start = tc_arena_grow(v->arena, v->start, v->column_capacity, capacity, sizeof *v->start);
        v->weight = tc_arena_grow(v->arena, v->weight, v->column_capacity, capacity, sizeof *v->weight);
        v->column_capacity = capacity;
    }
    v->weight[v->columns] = weight;
    v->start[++v->columns] = v->open_at = v->entries;
}

static int compare_couplings(const void *x, const void *y) {
    const tc_input_weight *a = x, *b = y;
    if (a->input != b->input)
        return a->input < b->input ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static void couple(tc_variation *v, size_t input, size_t component, size_t dim, tc_interval slope) {
    tc_streams *s = v->streams;
    for (size_t k = v->inputs.start[input]; k < v->inputs.start[input + 1]; k++) {
        tc_partial_link link = v->inputs.link[k];
        if (v->coupling_count == v->coupling_capacity) {
            size_t capacity = 2 * v->coupling_capacity + 64;
            v->couplings = tc_arena_grow(v->arena, v->couplings, v->coupling_count, capacity, sizeof *v->couplings);
            v->coupling_capacity = capacity;
        }
        v->couplings[v->coupling_count++] =
            (tc_input_weight){.input = link.other,
                              .row = (uint32_t)(s->derivatives->outer_second[link.second].row * dim + component),
                              .value = tc_imul(s->second[link.second], slope)};
    }
}

/* The couplings of the member in this lane, merged and sorted by input. */
static void find_couplings(tc_variation *v, const tc_family_stream *f, size_t lane) {
    const tc_family_derivatives *d = f->derivatives;
    v->coupling_count = 0;
    if (!v->streams->curved)
        return;
    for (size_t e = 0; e < d->body_first_count; e++)
        couple(v, d->sums[d->body_first[e].row], d->body_first[e].column, f->family->dim,
               f->first[e * TC_LANES + lane]);
    size_t named;
    const tc_singled *singled = tc_singled_of(f, f->batch->members[lane], &named);
    for (size_t i = 0; i < named; i++)
        couple(v, singled[i].input, singled[i].component, f->family->dim, tc_point(1));
    if (v->coupling_count > 1)
        qsort(v->couplings, v->coupling_count, sizeof *v->couplings, compare_couplings);
    size_t kept = 0;
    for (size_t i = 0; i < v->coupling_count; i++) {
        if (kept > 0 && compare_couplings(&v->couplings[kept - 1], &v->couplings[i]) == 0)
            v->couplings[kept - 1].value = tc_iadd(v->couplings[kept - 1].value, v->couplings[i].value);
        else
            v->couplings[kept++] = v->couplings[i];
    }
    v->coupling_count = kept;
}

/* Adds, to the open column, slope times the couplings of an input. */
static void add_input(tc_variation *v, uint32_t input, tc_interval slope) {
    size_t low = 0, high = v->coupling_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v->couplings[middle].input < input)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < v->coupling_count && v->couplings[low].input == input; low++)
        add_entry(v, v->couplings[low].row, tc_imul(v->couplings[low].value, slope));
}

/* The part of own columns that comes from the bodies' own curvature. */
static void add_bodies(tc_variation *v, size_t family, size_t lane, size_t component) {
    tc_streams *s = v->streams;
    const tc_family_stream *f = &s->families[family];
    const tc_partial_links *links = &v->components[family];
    for (size_t k = links->start[component]; k < links->start[component + 1]; k++) {
        tc_partial_link link = links->link[k];
        uint32_t input = f->derivatives->sums[f->derivatives->body_second[link.second].row];
        tc_interval curvature = f->second[link.second * (size_t)TC_LANES + lane];
        for (size_t o = s->input_start[input]; o < s->input_start[input + 1]; o++) {
            uint32_t outer = s->by_input[o];
            size_t row = s->derivatives->outer_first[outer].row * f->family->dim + link.other;
            add_entry(v, row, tc_imul(s->first[outer], curvature));
        }
    }
}

static void add_own_columns(tc_variation *v, size_t family, size_t lane, bool bodies, bool coupled) {
    const tc_family_stream *f = &v->streams->families[family];
    const tc_family_derivatives *d = f->derivatives;
    size_t named;
    const tc_singled *singled = tc_singled_of(f, f->batch->members[lane], &named);
    for (size_t c = 0; c < f->family->dim; c++) {
        if (bodies)
            add_bodies(v, family, lane, c);
        for (size_t e = 0; coupled && v->coupling_count > 0 && e < d->body_first_count; e++) {
            if (d->body_first[e].column == c)
                add_input(v, d->sums[d->body_first[e].row], f->first[e * TC_LANES + lane]);
        }
        for (size_t i = 0; coupled && i < named; i++) {
            if (singled[i].component == c)
                add_input(v, singled[i].input, tc_point(1));
        }
        end_column(v, 1);
    }
}

/* Columns of other members of a family whose sums are coupled to this agent. */
static void add_family_columns(tc_variation *v, size_t family, bool own, size_t own_member) {
    const tc_family_stream *f = &v->streams->families[family];
    const tc_family_derivatives *d = f->derivatives;
    const tc_slopes *slopes = &v->slopes[family];
    for (size_t i = 0; i < slopes->count; i++) {
        double weight = slopes->weight[i];
        if (own && slopes->members[i] == own_member)
            weight -= 1; /* the others that this one stands for */
        if (weight <= 0)
            continue;
        size_t named;
        const tc_singled *singled = tc_singled_of(f, slopes->members[i], &named);
        for (size_t c = 0; c < f->family->dim; c++) {
            for (size_t e = 0; e < d->body_first_count; e++) {
                if (d->body_first[e].column == c)
                    add_input(v, d->sums[d->body_first[e].row], slopes->values[e * f->family->count + i]);
            }
            for (size_t k = 0; k < named; k++) {
                if (singled[k].component == c)
                    add_input(v, singled[k].input, tc_point(1));
            }
            end_column(v, weight);
        }
    }
}

static void add_foreign_columns(tc_variation *v, size_t family, size_t member) {
    const tc_derivatives *d = v->streams->derivatives;
    const tc_model *model = v->streams->model;
    bool *coupled = v->coupled_families;
    memset(coupled, 0, model->family_count * sizeof *coupled);
    for (size_t i = 0; i < v->coupling_count; i++) {
        uint32_t input = v->couplings[i].input;
        if (d->inputs[input].op == TC_SUM)
            coupled[v->input_family[input]] = true;
    }
    for (size_t k = 0; k < model->family_count; k++) {
        if (coupled[k])
            add_family_columns(v, k, k == family, member);
    }
    for (size_t i = 0; i < v->coupling_count; i++) {
        uint32_t input = v->couplings[i].input;
        if (d->inputs[input].op != TC_COORD || coupled[v->input_family[input]] ||
            (i > 0 && v->couplings[i - 1].input == input))
            continue;
        const tc_family *other = &model->families[v->input_family[input]];
        if (v->input_family[input] == family && (d->inputs[input].index - other->first_coord) % other->count == member)
            continue;
        add_input(v, input, tc_point(1));
        end_column(v, 1);
    }
}

static tc_sparse matrix_of(const tc_variation *v, size_t family) {
    size_t rows = v->streams->model->constraint_count * v->streams->model->families[family].dim;
    return (tc_sparse){
        .rows = rows, .columns = v->columns, .start = v->start, .row = v->row, .value = v->value, .weight = v->weight};
}

/* The Frobenius norm: cheap. */
static double crude_upper(const tc_variation *v) {
    double squares = 0;
    for (size_t c = 0; c < v->columns; c++) {
        for (size_t k = v->start[c]; k < v->start[c + 1]; k++) {
            double magnitude = tc_magnitude(v->value[k]);
            squares = tc_add_up(squares, tc_mul_up(v->weight[c], tc_mul_up(magnitude, magnitude)));
        }
    }
    return tc_sqrt_up(squares);
}

static double norm2_upper(tc_variation *v, size_t family, double enough) {
    if (v->columns == 0)
        return 0;
    double crude = crude_upper(v);
    if (crude <= enough)
        return crude;
    tc_sparse matrix = matrix_of(v, family);
    return fmin(crude, tc_sparse_upper(v->arena, &matrix));
}

/* Foreign columns bounded together: |T|_2 <= |bodies|_2 + |couplings|_2 |slopes|_2. */
static void aggregated_upper(tc_variation *v, size_t family, size_t lane, double bound[2]) {
    begin_matrix(v);
    add_own_columns(v, family, lane, true, true);
    tc_sparse own = matrix_of(v, family);
    bound[0] = v->columns > 0 ? tc_sparse_upper1(&own) : 0;
    double foreign = 0;
    for (size_t i = 0; i < v->coupling_count; i++)
        foreign =
            tc_add_up(foreign, tc_mul_up(tc_magnitude(v->couplings[i].value), v->steepest[v->couplings[i].input]));
    bound[0] = fmax(bound[0], foreign);
    begin_matrix(v);
    add_own_columns(v, family, lane, true, false);
    double bodies = norm2_upper(v, family, 0);
    begin_matrix(v);
    for (size_t i = 0; i < v->coupling_count; i++) {
        add_entry(v, v->couplings[i].row, v->couplings[i].value);
        if (i + 1 == v->coupling_count || v->couplings[i + 1].input != v->couplings[i].input)
            end_column(v, 1);
    }
    bound[1] = tc_add_up(bodies, tc_mul_up(norm2_upper(v, family, 0), v->slopes_norm));
}

static void build_matrix(tc_variation *v, size_t family, size_t lane) {
    const tc_family_stream *f = &v->streams->families[family];
    begin_matrix(v);
    add_own_columns(v, family, lane, true, true);
    if (v->coupling_count > 0 && !v->aggregated)
        add_foreign_columns(v, family, f->batch->members[lane]);
}

void tc_variation_upper(tc_variation *v, size_t family, size_t lane, double enough, double bound[2]) {
    find_couplings(v, &v->streams->families[family], lane);
    if (v->aggregated && v->coupling_count > 0) {
        aggregated_upper(v, family, lane, bound);
    } else {
        build_matrix(v, family, lane);
        tc_sparse matrix = matrix_of(v, family);
        bound[0] = v->columns > 0 ? tc_sparse_upper1(&matrix) : 0;
        bound[1] = norm2_upper(v, family, enough);
    }
    for (int p = 0; p < 2; p++)
        bound[p] = isnan(bound[p]) ? (double)INFINITY : bound[p];
}

void tc_variation_lower(tc_variation *v, size_t family, size_t lane, double bound[2]) {
    find_couplings(v, &v->streams->families[family], lane);
    build_matrix(v, family, lane);
    bound[0] = bound[1] = 0;
    if (v->columns == 0)
        return;
    tc_sparse matrix = matrix_of(v, family);
    bound[0] = tc_sparse_lower1(&matrix);
    bound[1] = tc_sparse_lower(v->arena, &matrix);
}
