/* The matrix T_i of one agent, and bounds of its norms. */
#include "analysis/lipschitz/variation.h"

#include <stdlib.h>
#include <string.h>

/* ---- building T_i ----------------------------------------------------------------------------------------------- */

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
    const tc_coupling *a = x, *b = y;
    if (a->input != b->input)
        return a->input < b->input ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static void couple(tc_variation *v, size_t input, size_t component, size_t dim, tc_interval slope) {
    tc_streams *s = v->streams;
    for (size_t k = v->inputs.start[input]; k < v->inputs.start[input + 1]; k++) {
        tc_link link = v->inputs.link[k];
        if (v->coupling_count == v->coupling_capacity) {
            size_t capacity = 2 * v->coupling_capacity + 64;
            v->couplings = tc_arena_grow(v->arena, v->couplings, v->coupling_count, capacity, sizeof *v->couplings);
            v->coupling_capacity = capacity;
        }
        v->couplings[v->coupling_count++] =
            (tc_coupling){.input = link.other,
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
    const tc_links *links = &v->components[family];
    for (size_t k = links->start[component]; k < links->start[component + 1]; k++) {
        tc_link link = links->link[k];
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
