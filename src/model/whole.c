/* A problem whose data every rank knows, made of one that is spread: for what needs all members at once. */
#include "model/spread.h"

#include "base/ranks/ranks.h"

#include <string.h>

typedef struct whole_gather {
    tc_arena *arena;
    const tc_family *family;
    size_t *ends; /* by rank: of the members that it knows */
} whole_gather;

static const double *gather_column(const whole_gather *g, const double *column) {
    const tc_family *family = g->family;
    double *whole = TC_NEW(g->arena, double, family->count);
    size_t known = family->known_end - family->known_first;
    if (known > 0)
        memcpy(whole + family->known_first, column + family->known_first, known * sizeof *whole);
    tc_ranks_gather(whole, g->ends, sizeof *whole);
    return whole;
}

static tc_coef gather_coef(const whole_gather *g, tc_coef coef) {
    if (coef.column != NULL)
        coef.column = gather_column(g, coef.column);
    return coef;
}

static tc_coef *gather_coefs(const whole_gather *g, const tc_coef *coefs, size_t count) {
    if (coefs == NULL)
        return NULL;
    tc_coef *whole = TC_NEW(g->arena, tc_coef, count);
    for (size_t i = 0; i < count; i++)
        whole[i] = gather_coef(g, coefs[i]);
    return whole;
}

static void gather_pieces(const whole_gather *g, tc_family *whole) {
    whole->pieces = TC_NEW(g->arena, tc_set_piece, whole->piece_count);
    for (size_t p = 0; p < whole->piece_count; p++) {
        tc_set_piece *piece = &whole->pieces[p];
        *piece = g->family->pieces[p];
        piece->center = gather_coefs(g, piece->center, piece->count);
        piece->upper = gather_coefs(g, piece->upper, piece->count);
        piece->radius = gather_coef(g, piece->radius);
        piece->matrix = gather_coefs(g, piece->matrix, piece->count * piece->count);
    }
}

/* The objective's data, the box, the set, and the points of members. Not: ranges of data, and what is declared. */
static void gather_family(const whole_gather *g, tc_family *whole) {
    *whole = *g->family;
    whole->columns = TC_NEW(g->arena, tc_column, whole->column_count);
    for (size_t d = 0; d < whole->column_count; d++) {
        whole->columns[d] = g->family->columns[d];
        whole->columns[d].values = gather_column(g, g->family->columns[d].values);
    }
    whole->lower = gather_coefs(g, whole->lower, whole->dim);
    whole->upper = gather_coefs(g, whole->upper, whole->dim);
    whole->slater = gather_coefs(g, whole->slater, whole->dim);
    whole->room = gather_coefs(g, whole->room, whole->dim);
    whole->start = gather_coefs(g, whole->start, whole->dim);
    whole->gap = gather_coef(g, whole->gap);
    gather_pieces(g, whole);
    whole->data = NULL;
    whole->datum_count = 0;
    whole->known_first = 0;
    whole->known_end = whole->count;
    whole->is_spread = false;
}

const tc_model *tc_whole_model(tc_arena *arena, const tc_model *model) {
    size_t ranks = tc_ranks_count();
    bool spread = false;
    for (size_t f = 0; f < model->family_count; f++)
        spread = spread || model->families[f].is_spread;
    if (!spread)
        return model;
    tc_model *whole = TC_NEW(arena, tc_model, 1);
    *whole = *model;
    whole->families = TC_NEW(arena, tc_family, model->family_count);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        whole_gather g = {arena, family, TC_NEW(arena, size_t, ranks)};
        whole->families[f] = *family;
        if (!family->is_spread)
            continue;
        for (size_t r = 0; r < ranks; r++)
            g.ends[r] = tc_known_end_of(family->count, r);
        gather_family(&g, &whole->families[f]);
    }
    return whole;
}
