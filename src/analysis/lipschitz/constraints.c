/* K^g_1 = sup |J|_1 and K^g_2 = sup |J|_2 over the box; and which entries of J are constant. */
#include "analysis/steps.h"
#include "analysis/lipschitz/norm.h"
#include "model/spread.h"

#include <stdlib.h>
#include <string.h>

#define STORED_LIMIT 20000000  /* entries of J that may be kept when there are too many rows for a Gram matrix */
#define LARGE 1000000.0        /* entries of J beyond which fewer points are tried */
#define SEARCH_WORK 20000000.0 /* entries evaluated in the search for a better point */

typedef struct gather {
    tc_arena *arena;
    bool smallest;     /* lower bounds: magnitudes are the smallest possible */
    double column_sum; /* the largest so far */
    size_t column_coord;
    double *row_sums;
    double squares;
    tc_grams *grams; /* few rows */
    /* many rows: the matrix itself */
    bool stored, overflow;
    size_t columns, columns_capacity, entries, entries_capacity;
    size_t *start;
    double *weight;
    uint32_t *row;
    tc_interval *value;
} gather;

static void store(gather *g, const tc_column_view *column) {
    if (g->overflow || column->count == 0)
        return;
    if (g->entries + column->count > STORED_LIMIT) {
        g->overflow = true;
        return;
    }
    if (g->columns + 2 > g->columns_capacity) {
        size_t capacity = 2 * g->columns_capacity + 1024;
        g->start = tc_arena_grow(g->arena, g->start, g->columns_capacity, capacity, sizeof *g->start);
        g->weight = tc_arena_grow(g->arena, g->weight, g->columns_capacity, capacity, sizeof *g->weight);
        g->columns_capacity = capacity;
    }
    if (g->entries + column->count > g->entries_capacity) {
        size_t capacity = 2 * g->entries_capacity + column->count + 1024;
        g->row = tc_arena_grow(g->arena, g->row, g->entries, capacity, sizeof *g->row);
        g->value = tc_arena_grow(g->arena, g->value, g->entries, capacity, sizeof *g->value);
        g->entries_capacity = capacity;
    }
    memcpy(g->row + g->entries, column->rows, column->count * sizeof *g->row);
    memcpy(g->value + g->entries, column->values, column->count * sizeof *g->value);
    g->entries += column->count;
    g->weight[g->columns] = column->weight;
    g->start[++g->columns] = g->entries;
}

static void take_column(void *context, const tc_column_view *column) {
    gather *g = context;
    double sum = 0;
    for (size_t i = 0; i < column->count; i++) {
        if (g->smallest) {
            sum = tc_add_down(sum, tc_mignitude(column->values[i]));
            continue;
        }
        double magnitude = tc_magnitude(column->values[i]);
        sum = tc_add_up(sum, magnitude);
        if (g->grams != NULL)
            continue; /* its bound is better than what row sums and squares give */
        double *row = &g->row_sums[column->rows[i]];
        *row = tc_add_up(*row, tc_mul_up(column->weight, magnitude));
        g->squares = tc_add_up(g->squares, tc_mul_up(column->weight, tc_mul_up(magnitude, magnitude)));
    }
    if (!(sum <= g->column_sum)) { /* also where it is not a number */
        g->column_sum = sum;
        g->column_coord = tc_coord_of(column->family, column->member, column->component);
    }
    if (g->grams != NULL)
        tc_grams_add(g->grams, column->weight, column->count, column->rows, column->values);
    else
        store(g, column);
}

static void put_bytes(void *parcel, void *bytes, size_t count) { tc_put(parcel, bytes, count); }

/* Everything that take_column adds to: from rank to rank, in order of members. */
static void pack(void *context, tc_parcel *p) {
    gather *g = context;
    tc_put(p, &g->column_sum, sizeof g->column_sum);
    tc_put(p, &g->column_coord, sizeof g->column_coord);
    tc_grams_carry(g->grams, put_bytes, p);
}

static tc_packing packing_of(const gather *g) { return g->grams != NULL ? pack : NULL; }

static void reset(gather *g, size_t rows, bool smallest) {
    g->smallest = smallest;
    g->column_sum = g->squares = 0;
    g->overflow = false;
    g->columns = g->entries = 0;
    memset(g->row_sums, 0, rows * sizeof *g->row_sums);
    if (g->grams != NULL)
        tc_grams_clear(g->grams, smallest);
}

static tc_sparse stored_matrix(const gather *g, size_t rows) {
    return (tc_sparse){
        .rows = rows, .columns = g->columns, .start = g->start, .row = g->row, .value = g->value, .weight = g->weight};
}

static double norm_upper(gather *g, size_t rows) {
    if (g->grams != NULL)
        return tc_grams_upper(g->arena, g->grams);
    double largest_row = 0;
    for (size_t j = 0; j < rows; j++)
        largest_row = fmax(largest_row, g->row_sums[j]);
    double best = fmin(tc_sqrt_up(g->squares), tc_sqrt_up(tc_mul_up(g->column_sum, largest_row)));
    if (isnan(best))
        return INFINITY;
    if (g->overflow || g->columns == 0)
        return best;
    tc_sparse matrix = stored_matrix(g, rows);
    return fmin(best, tc_sparse_upper(g->arena, &matrix));
}

static double norm_lower(gather *g, size_t rows) {
    if (g->grams != NULL)
        return tc_grams_lower(g->arena, g->grams);
    if (g->columns == 0)
        return 0;
    tc_sparse matrix = stored_matrix(g, rows); /* where it overflowed, some columns: a smaller norm */
    return tc_sparse_lower(g->arena, &matrix);
}

/* ---- lower bounds ---- */

typedef struct norm_attempt {
    tc_streams *streams;
    gather *gather;
    bool want_norm2;
} norm_attempt;

static double evaluate_at(norm_attempt *a, const double *x) {
    size_t rows = a->streams->model->constraint_count;
    tc_streams_outer_point(a->streams, x);
    reset(a->gather, rows, true);
    if (!tc_streams_columns(a->streams, x, take_column, packing_of(a->gather), a->gather))
        return 0;
    return a->want_norm2 ? norm_lower(a->gather, rows) : a->gather->column_sum;
}

static double score(void *context, const double *x) { return evaluate_at(context, x); }

static void keep(tc_bracket *bracket, double **best, double found, const double *x, tc_arena *arena,
                 const tc_model *model) {
    size_t n = model->state_count;
    if (!(found > bracket->lower) && *best != NULL)
        return;
    if (*best == NULL)
        *best = TC_NEW(arena, double, n);
    tc_copy_point(model, *best, x);
    bracket->lower = fmax(bracket->lower, found);
    bracket->witness = (tc_witness){.count = n, .values = *best};
}

static void improve(norm_attempt *a, tc_bracket *bracket, double *best) {
    const tc_model *model = a->streams->model;
    size_t n = model->state_count;
    /* A point costs the entries of J, or the operations of Phi's derivatives where they are more: n^2 for a covariance
     * across agents, so that n points would be n^3. */
    double operations = (double)tc_tape_length(a->streams->first_tape);
    double cost = fmax((double)n * (double)(model->constraint_count + 4), operations);
    if (tc_is_closed(bracket) || best == NULL || cost * (double)n > SEARCH_WORK)
        return;
    tc_interval *ranges = TC_NEW(a->gather->arena, tc_interval, n);
    for (size_t i = 0; i < n; i++)
        ranges[i] = tc_coord_range(model, i);
    bracket->lower = tc_coordinate_search(ranges, n, best, bracket->lower, bracket->upper * (1 - TC_CLOSED),
                                          (size_t)(SEARCH_WORK / cost), score, a);
}

static void find_lower(tc_streams *s, gather *g, tc_bracket bracket[2], double *vertex) {
    size_t n = s->model->state_count;
    double *x = TC_NEW(g->arena, double, n + 1), *best[2] = {NULL, NULL};
    void (*const fills[])(const tc_model *, double *) = {NULL, NULL, tc_fill_upper, tc_fill_lower, tc_fill_middle};
    double *settled = TC_NEW(g->arena, double, n + 1);
    tc_guess_vertex(s, x);
    tc_copy_point(s->model, settled, x);
    tc_guess_other_vertex(s, settled);
    if (vertex != NULL)
        tc_copy_point(s->model, vertex, x);
    norm_attempt a = {.streams = s, .gather = g};
    size_t tries = (double)n * (double)s->model->constraint_count > LARGE ? 3 : sizeof fills / sizeof *fills;
    for (size_t i = 0; i < tries; i++) {
        if (tc_interrupted(s->monitor) || (tc_is_closed(&bracket[0]) && tc_is_closed(&bracket[1])))
            break;
        if (fills[i] != NULL)
            fills[i](s->model, x);
        else if (i == 1)
            tc_copy_point(s->model, x, settled);
        if (i == 1 && !s->has_coords)
            continue; /* nothing to settle */
        tc_progress(s->monitor, "Lipschitz constants of g", 0.4 + 0.12 * (double)i);
        a.want_norm2 = true;
        double norm2 = evaluate_at(&a, x);
        keep(&bracket[0], &best[0], g->column_sum, x, s->arena, s->model);
        keep(&bracket[1], &best[1], norm2, x, s->arena, s->model);
    }
    for (int p = 0; p < 2; p++) {
        a.want_norm2 = p == 1;
        improve(&a, &bracket[p], best[p]);
    }
}

/* paper: Assumption 3
 * K^g_1 and K^g_2. */
void tc_lipschitz_constraints(tc_streams *s, tc_bracket bracket[2], double *vertex) {
    size_t rows = s->model->constraint_count;
    for (int p = 0; p < 2; p++)
        bracket[p] = (tc_bracket){.declared = s->model->declared_constraints[p]};
    if (rows == 0)
        return;
    gather g = {.arena = s->arena, .row_sums = TC_NEW(s->arena, double, rows)};
    g.grams = rows <= TC_GRAM_LIMIT ? tc_grams_new(s->arena, rows) : NULL;
    tc_progress(s->monitor, "Lipschitz constants of g", 0);
    tc_streams_outer_box(s);
    reset(&g, rows, false);
    if (!tc_streams_columns(s, NULL, take_column, packing_of(&g), &g)) {
        bracket[0].upper = bracket[1].upper = INFINITY;
        return;
    }
    bracket[0].upper = isnan(g.column_sum) ? (double)INFINITY : g.column_sum;
    bracket[1].upper = norm_upper(&g, rows);
    find_lower(s, &g, bracket, vertex);
    tc_streams_outer_box(s);
}

/* ---- entries of the Jacobian that are zero, constant or varying by structure ---- */

typedef struct entry_place {
    uint64_t coord; /* a coordinate, or for sums family and component with all members */
    uint32_t row, family;
    uint32_t component;
    bool is_family, varying;
} entry_place;

static int compare(const void *x, const void *y) {
    const entry_place *a = x, *b = y;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    if (a->is_family != b->is_family)
        return a->is_family ? -1 : 1;
    return a->coord < b->coord ? -1 : a->coord > b->coord;
}

static void add(entry_place *places, size_t *count, entry_place p) { places[(*count)++] = p; }

/* One entry of the list per outer partial and coordinate or component it reaches. */
static size_t list_places(const tc_model *model, const tc_derivatives *d, const size_t *first_of_sum,
                          entry_place *places) {
    size_t count = 0;
    for (size_t i = 0; i < d->outer_first_count; i++) {
        const tc_first *outer = &d->outer_first[i];
        const tc_outer_input *input = &d->inputs[outer->column];
        bool varying = model->dag->nodes[outer->value].has_state;
        if (input->op == TC_COORD) {
            const tc_family *family = tc_family_of_coord(model, input->index);
            size_t offset = input->index - family->first_coord;
            add(places, &count,
                (entry_place){.coord = input->index,
                              .row = outer->row,
                              .varying = varying,
                              .family = (uint32_t)(family - model->families),
                              .component = (uint32_t)(offset / family->count)});
            continue;
        }
        uint32_t family = model->sums[input->index].family;
        const tc_family_derivatives *f = &d->families[family];
        for (size_t k = first_of_sum[input->index];
             k < f->body_first_count && f->sums[f->body_first[k].row] == input->index; k++)
            add(places, &count,
                (entry_place){.row = outer->row,
                              .family = family,
                              .component = f->body_first[k].column,
                              .is_family = true,
                              .varying = varying || model->dag->nodes[f->body_first[k].value].has_state});
    }
    return count;
}

/* All places of one row, family and component: the whole family's entries, and those named apart. */
static void count_group(const tc_model *model, const entry_place *p, size_t count, tc_constancy *row) {
    size_t i = 0;
    bool whole = p[0].is_family, whole_varying = false;
    for (; i < count && p[i].is_family; i++)
        whole_varying = whole_varying || p[i].varying;
    uint64_t members = whole ? model->families[p[0].family].count : 0, named = 0;
    while (i < count) {
        uint64_t coord = p[i].coord;
        bool varying = whole_varying;
        for (; i < count && p[i].coord == coord; i++)
            varying = varying || p[i].varying;
        named++;
        *(varying ? &row->varying : &row->constants) += 1;
    }
    if (whole)
        *(whole_varying ? &row->varying : &row->constants) += members - named;
}

void tc_count_constancy(tc_arena *arena, const tc_model *model, const tc_derivatives *d, tc_constancy *rows,
                        tc_constancy *total) {
    size_t *first_of_sum = TC_NEW(arena, size_t, model->sum_count + 1);
    size_t *entries_of_sum = TC_NEW(arena, size_t, model->sum_count + 1);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_derivatives *family = &d->families[f];
        for (size_t k = family->body_first_count; k-- > 0;) {
            first_of_sum[family->sums[family->body_first[k].row]] = k;
            entries_of_sum[family->sums[family->body_first[k].row]]++;
        }
    }
    size_t most = 1;
    for (size_t i = 0; i < d->outer_first_count; i++) {
        const tc_outer_input *input = &d->inputs[d->outer_first[i].column];
        most += input->op == TC_SUM ? entries_of_sum[input->index] : 1;
    }
    entry_place *places = TC_NEW(arena, entry_place, most);
    for (size_t r = 0; r < model->sum_count; r++)
        first_of_sum[r] = entries_of_sum[r] == 0 ? SIZE_MAX : first_of_sum[r];
    size_t count = list_places(model, d, first_of_sum, places);
    qsort(places, count, sizeof *places, compare);
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && places[end].row == places[i].row && places[end].family == places[i].family &&
               places[end].component == places[i].component)
            end++;
        count_group(model, places + i, end - i, &rows[places[i].row]);
        i = end;
    }
    for (size_t j = 0; j < model->constraint_count; j++) {
        rows[j].zeros = model->state_count - rows[j].constants - rows[j].varying;
        total->zeros += rows[j].zeros;
        total->constants += rows[j].constants;
        total->varying += rows[j].varying;
    }
}
