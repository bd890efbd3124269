/* Rows that are related to others: bands, and multiples of one function. Both are found from values and slopes at fixed
 * points, from public facts alone; nothing that is promised rests on them. */
#include "engine/tacit/facts.h"

#include "analysis/lipschitz/streams.h"
#include "analysis/region.h"
#include "plan/accuracy.h"

#include <stdlib.h>

#define AVERAGED 1.8 /* variance of the average over T rounds, with weights k(k+1), is 1.8 / T of one round's */
#define NARROW 4.0   /* deviations of averaged noise: a band of a smaller half-width collapses */
#define ROUNDED 1e-9 /* a slope is constant if its enclosure is no wider than this part of it; also of values */

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* In [1, 2), from a whole number. */
static double number_of(uint64_t whole) {
    uint64_t z = whole * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z ^= z >> 27;
    return 1 + ldexp((double)(z >> 12), -52);
}

static double middle(tc_interval v) { return v.lo + (v.hi - v.lo) / 2; }

typedef struct sampler { /* evaluates g at fixed points */
    tc_streams *streams;
    const tc_model *model;
    double *x;
    tc_interval *values;
} sampler;

static sampler sampler_new(tc_arena *arena, tc_streams *streams, const tc_model *model) {
    return (sampler){.streams = streams,
                     .model = model,
                     .x = TC_NEW(arena, double, model->state_count + 1),
                     .values = TC_NEW(arena, tc_interval, model->constraint_count)};
}

/* g at one of several points of the public box, whose coordinates have nothing in common. */
static void values_at(const sampler *s, size_t point, double *g) {
    const tc_model *model = s->model;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = family->known_first; k < family->known_end; k++) {
                size_t coord = tc_coord_of(family, k, c);
                tc_interval range = tc_public_range(family, k, c);
                double part = number_of((uint64_t)(point + 1) * model->state_count + coord) - 1;
                s->x[coord] = range.lo + part * (range.hi - range.lo);
            }
    }
    tc_constraint_values(s->streams, s->x, s->values);
    for (size_t j = 0; j < model->constraint_count; j++)
        g[j] = middle(s->values[j]);
}

/* ---- bands -------------------------------------------------------------------------------------------------------
 *
 * Pairs of rows E <= b + d and E >= b - d, written where E == b is meant. Where noise is wider than the band, it
 * presses now on one row, now on the other, and both multipliers drift up together; an equality has one multiplier, of
 * either sign. */

typedef struct row_mark { /* of an affine row a'x <= b */
    double slope;         /* sum_c v_c a_c with fixed numbers v_c: opposite rows have opposite sums */
    size_t row;
    bool is_affine;
} row_mark;

typedef struct row_marks {
    row_mark *marks;
    size_t count;
} row_marks;

static void pack(void *context, tc_parcel *parcel) {
    const row_marks *all = context;
    tc_put(parcel, all->marks, all->count * sizeof *all->marks);
}

static void take_column(void *context, const tc_column_view *column) {
    row_mark *marks = ((const row_marks *)context)->marks;
    double v = column->weight * number_of(tc_coord_of(column->family, column->member, column->component));
    for (size_t i = 0; i < column->count; i++) {
        tc_interval slope = column->values[i];
        double size = fmax(fabs(slope.lo), fabs(slope.hi));
        row_mark *mark = &marks[column->rows[i]];
        mark->is_affine = mark->is_affine && slope.hi - slope.lo <= ROUNDED * size;
        mark->slope += v * (slope.lo + slope.hi) / 2;
    }
}

static int by_size(const void *x, const void *y) {
    const row_mark *a = x, *b = y;
    double p = fabs(a->slope), q = fabs(b->slope);
    if (p != q)
        return p < q ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Affine inequalities, those with slopes of equal size side by side. */
static row_mark *mark_rows(tc_arena *arena, tc_streams *streams, const tc_model *model, size_t *count) {
    size_t m = model->constraint_count;
    row_mark *marks = TC_NEW(arena, row_mark, m);
    for (size_t j = 0; j < m; j++)
        marks[j] = (row_mark){.row = j, .is_affine = !model->constraints[j].is_equality};
    tc_streams_outer_box(streams);
    row_marks all = {marks, m};
    (void)tc_streams_columns(streams, NULL, take_column, pack, &all);
    *count = 0;
    for (size_t j = 0; j < m; j++)
        if (marks[j].is_affine && marks[j].slope != 0)
            marks[(*count)++] = marks[j];
    if (*count > 1)
        qsort(marks, *count, sizeof *marks, by_size);
    return marks;
}

static const char *warning_of(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                              const tc_derivatives *derivatives, const double *variance, bool *in_band) {
    const char *first = NULL;
    size_t count;
    tc_streams *streams = tc_streams_new(arena, model, derivatives, NULL);
    const row_mark *marks = mark_rows(arena, streams, model, &count);
    double *g = NULL;
    for (size_t i = 0; i + 1 < count; i++)
        for (size_t l = i + 1; l < count && fabs(marks[l].slope) == fabs(marks[i].slope); l++) {
            if (marks[l].slope == marks[i].slope)
                continue;
            if (g == NULL) {
                const sampler somewhere = sampler_new(arena, streams, model);
                g = TC_NEW(arena, double, model->constraint_count);
                values_at(&somewhere, 0, g); /* the two add up to -2 d everywhere */
            }
            size_t a = marks[i].row, b = marks[l].row;
            double half = -(g[a] + g[b]) / 2;
            double deviation = sqrt(AVERAGED * fmax(variance[a], variance[b]) / plan->rounds);
            if (!(half < NARROW * deviation))
                continue;
            in_band[a] = in_band[b] = true;
            if (first == NULL)
                first = tc_arena_format(arena,
                                        "constraints %s and %s are a band of half-width %.3g, narrow against their "
                                        "averaged noise of %.3g: both multipliers drift, and the result may be far "
                                        "off; write one constraint with == instead",
                                        model->constraints[a].name, model->constraints[b].name, half, deviation);
        }
    return first;
}

const char *tc_band_warning(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                            const tc_derivatives *derivatives, bool *in_band) {
    const double *variance = tc_row_variances(plan);
    if (model->constraint_count < 2 || variance == NULL || plan->mechanism == TC_MECHANISM_NONE)
        return NULL;
    return warning_of(arena, plan, model, derivatives, variance, in_band);
}

/* ---- multiples -----------------------------------------------------------------------------------------------------
 *
 * Rows g_j = c_j h of one function h, as when a limit is written once in grams and once in tonnes. Only the sum of
 * c_j mu_j has an effect on anything, so the loop cannot tell how they share it. The multipliers of least norm do:
 * mu_j = c_j P / sum c^2, with P = sum c_l mu_l. The scales S_j tell |c_j|.
 *
 * g_j / S_j is compared at several points. A row that hardly changes between them says nothing there: steep functions
 * of different states are all flat in most of the box. A given margin is in each row's own units, and makes different
 * limits of multiples. */

enum { POINTS = 4 };
#define CHANGES 100.0 /* times the tolerance: a row whose values differ by more says something */
static const double point_weight[POINTS] = {1, 0.8, 0.6, 0.4};

typedef struct row_key { /* the same for multiples */
    double key;
    size_t row;
} row_key;

typedef struct kinship {
    const tc_model *model;
    const tc_tacit_facts *facts;
    double *g[POINTS];
} kinship;

static double scaled_at(const kinship *k, size_t point, size_t row) {
    return k->g[point][row] / k->facts->row_scale[row];
}

static double tolerance(const kinship *k, double value) { return ROUNDED * (fabs(value) + k->facts->box_length); }

static bool is_near(const kinship *k, double a, double b) {
    return isfinite(a) && isfinite(b) && fabs(a - b) <= tolerance(k, a);
}

/* The sign of c_b where row a has 1; 0: they are not multiples. An inequality that is turned round says another thing.
 */
static int sign_between(const kinship *k, size_t a, size_t b) {
    bool is_equality = k->model->constraints[a].is_equality;
    if (is_equality != k->model->constraints[b].is_equality)
        return 0;
    int sign = is_equality && scaled_at(k, 0, a) * scaled_at(k, 0, b) < 0 ? -1 : 1;
    for (size_t point = 0; point < POINTS; point++)
        if (!is_near(k, scaled_at(k, point, a), sign * scaled_at(k, point, b)))
            return 0;
    return sign;
}

static int by_key(const void *x, const void *y) {
    const row_key *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Whether row j can be a multiple of another, as far as the first points tell. */
static bool is_candidate(const kinship *k, size_t points, size_t j) {
    double least = INFINITY, most = -INFINITY;
    bool has_margin = k->facts->margin.kind == TC_MARGIN_GIVEN && k->facts->margin.amount > 0;
    if (k->facts->is_constant[j] || (has_margin && !k->model->constraints[j].is_equality))
        return false;
    for (size_t point = 0; point < points; point++) {
        double value = scaled_at(k, point, j);
        if (!isfinite(value))
            return false;
        least = fmin(least, value);
        most = fmax(most, value);
    }
    return points == 1 || most - least > CHANGES * tolerance(k, fmax(fabs(least), fabs(most)));
}

/* Candidates by the first points; those that may be multiples of each other stand side by side. */
static size_t sort_rows(const kinship *k, size_t points, row_key *sorted) {
    size_t count = 0;
    for (size_t j = 0; j < k->model->constraint_count; j++) {
        double key = 0;
        if (!is_candidate(k, points, j))
            continue;
        for (size_t point = 0; point < points; point++)
            key += point_weight[point] * fabs(scaled_at(k, point, j));
        sorted[count++] = (row_key){key, j};
    }
    if (count > 1)
        qsort(sorted, count, sizeof *sorted, by_key);
    return count;
}

/* Keys of multiples differ by less than POINTS tolerances. */
static bool are_neighbours(const kinship *k, const row_key *a, const row_key *b) {
    return fabs(a->key - b->key) <= POINTS * tolerance(k, a->key);
}

static bool has_neighbours(const kinship *k, const row_key *sorted, size_t count) {
    for (size_t i = 0; i + 1 < count; i++)
        if (are_neighbours(k, &sorted[i], &sorted[i + 1]))
            return true;
    return false;
}

static void add_row(const kinship *k, tc_multiples *found, size_t row, int sign) {
    found->rows[found->count] = row;
    found->factors[found->count++] = sign * k->facts->row_scale[row];
}

/* Of all factors of a group the largest is 1 or -1: their squares are numbers. */
static void end_group(tc_multiples *found, size_t begin) {
    double largest = 0;
    for (size_t i = begin; i < found->count; i++)
        largest = fmax(largest, fabs(found->factors[i]));
    for (size_t i = begin; i < found->count; i++)
        found->factors[i] /= largest;
    found->ends[found->groups++] = found->count;
}

/* The multiples of sorted[at] after it, and itself. */
static void take_group(const kinship *k, const row_key *sorted, size_t count, size_t at, bool *taken,
                       tc_multiples *found) {
    size_t begin = found->count;
    add_row(k, found, sorted[at].row, 1);
    for (size_t i = at + 1; i < count && are_neighbours(k, &sorted[at], &sorted[i]); i++) {
        int sign = taken[i] ? 0 : sign_between(k, sorted[at].row, sorted[i].row);
        if (sign == 0)
            continue;
        taken[i] = true;
        add_row(k, found, sorted[i].row, sign);
    }
    if (found->count - begin < 2)
        found->count = begin;
    else
        end_group(found, begin);
}

/* One point tells mostly that there are none. */
static void find_groups(tc_arena *arena, kinship *k, const sampler *s, tc_multiples *found) {
    size_t m = k->model->constraint_count;
    row_key *sorted = TC_NEW(arena, row_key, m);
    bool *taken = TC_NEW(arena, bool, m);
    for (size_t point = 0; point < POINTS; point++)
        k->g[point] = TC_NEW(arena, double, m);
    values_at(s, 0, k->g[0]);
    if (!has_neighbours(k, sorted, sort_rows(k, 1, sorted)))
        return;
    for (size_t point = 1; point < POINTS; point++)
        values_at(s, point, k->g[point]);
    size_t count = sort_rows(k, POINTS, sorted);
    for (size_t i = 0; i < count; i++)
        if (!taken[i])
            take_group(k, sorted, count, i, taken, found);
}

tc_multiples tc_find_multiples(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                               const tc_tacit_facts *facts) {
    size_t m = model->constraint_count;
    tc_multiples found = {
        .rows = TC_NEW(arena, size_t, m), .factors = TC_NEW(arena, double, m), .ends = TC_NEW(arena, size_t, m)};
    if (m < 2)
        return found;
    tc_mark mark = tc_arena_mark(arena);
    const sampler s = sampler_new(arena, tc_streams_new(arena, model, derivatives, NULL), model);
    find_groups(arena, &(kinship){.model = model, .facts = facts}, &s, &found);
    tc_arena_rewind(arena, mark);
    return found;
}
