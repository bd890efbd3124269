/* Bands: pairs of rows E <= b + d and E >= b - d, written where E == b is meant. Where noise is wider than the band, it
 * presses now on one row, now on the other, and both multipliers drift up together; an equality has one multiplier, of
 * either sign. */
#include "engine/tacit/facts.h"

#include "analysis/lipschitz/streams.h"
#include "analysis/region.h"
#include "plan/accuracy.h"

#include <stdlib.h>

#define AVERAGED 1.8 /* variance of the average over T rounds, with weights k(k+1), is 1.8 / T of one round's */
#define NARROW 4.0   /* deviations of averaged noise: a band of a smaller half-width collapses */
#define ROUNDED 1e-9 /* a slope is constant if its enclosure is no wider than this part of it */

typedef struct row_mark { /* of an affine row a'x <= b */
    double slope;         /* sum_c v_c a_c with fixed numbers v_c: opposite rows have opposite sums */
    size_t row;
    bool is_affine;
} row_mark;

/* Between 1 and 2, from the column's number. */
static double number_of(uint64_t column) {
    uint64_t z = column * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z ^= z >> 27;
    return 1 + ldexp((double)(z >> 12), -52);
}

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

static double middle(tc_interval v) { return v.lo + (v.hi - v.lo) / 2; }

/* g_j at the middle of the box: that of two opposite affine rows adds up to -2 d everywhere. */
static double *values_somewhere(tc_arena *arena, tc_streams *streams, const tc_model *model) {
    double *x = TC_NEW(arena, double, model->state_count + 1), *g = TC_NEW(arena, double, model->constraint_count);
    tc_interval *values = TC_NEW(arena, tc_interval, model->constraint_count);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = family->known_first; k < family->known_end; k++)
                x[tc_coord_of(family, k, c)] = middle(tc_public_range(family, k, c));
    }
    tc_constraint_values(streams, x, values);
    for (size_t j = 0; j < model->constraint_count; j++)
        g[j] = middle(values[j]);
    return g;
}

static const char *warning_of(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                              const tc_derivatives *derivatives, const double *variance, bool *in_band) {
    const char *first = NULL;
    size_t count;
    tc_streams *streams = tc_streams_new(arena, model, derivatives, NULL);
    const row_mark *marks = mark_rows(arena, streams, model, &count);
    const double *g = NULL;
    for (size_t i = 0; i + 1 < count; i++)
        for (size_t l = i + 1; l < count && fabs(marks[l].slope) == fabs(marks[i].slope); l++) {
            if (marks[l].slope == marks[i].slope)
                continue;
            g = g != NULL ? g : values_somewhere(arena, streams, model);
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
