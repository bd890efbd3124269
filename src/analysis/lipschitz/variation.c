#include "analysis/lipschitz/variation.h"

#define LISTED_LIMIT 20000000.0 /* entries of all T_i together that are listed one by one */
#define KEPT_SLOPES 6000000.0

/* ---- structure -------------------------------------------------------------------------------------------------- */

/* Second derivatives by variable: entry v lists those with v on either side. */
static tc_links by_variable(tc_arena *arena, const tc_second *second, size_t count, size_t variables) {
    tc_links links = {TC_NEW(arena, size_t, variables + 2), TC_NEW(arena, tc_link, 2 * count + 1)};
    for (size_t i = 0; i < count; i++) {
        links.start[second[i].column + 2]++;
        if (second[i].column != second[i].other)
            links.start[second[i].other + 2]++;
    }
    for (size_t v = 0; v < variables; v++)
        links.start[v + 2] += links.start[v + 1];
    for (size_t i = 0; i < count; i++) {
        links.link[links.start[second[i].column + 1]++] = (tc_link){(uint32_t)i, second[i].other};
        if (second[i].column != second[i].other)
            links.link[links.start[second[i].other + 1]++] = (tc_link){(uint32_t)i, second[i].column};
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
    v->components = TC_NEW(v->arena, tc_links, s->model->family_count + 1);
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

/* ---- slopes of foreign members ---------------------------------------------------------------------------------- */

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
