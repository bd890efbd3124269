/* Sets made by hand for tests: a family of one member, and random pieces that all contain a known inner point. */
#ifndef TC_TESTS_SOLVER_SHAPES_H
#define TC_TESTS_SOLVER_SHAPES_H

#include "solver/project/set.h"
#include "support/random.h"

#include <stdint.h>

typedef struct shape {
    tc_arena *arena;
    tc_family family;
    uint64_t seed;
} shape;

static inline tc_coef *coefs(tc_arena *arena, const double *values, size_t count) {
    tc_coef *list = TC_NEW(arena, tc_coef, count);
    for (size_t i = 0; i < count; i++)
        list[i].value = values[i];
    return list;
}

static inline shape shape_new(tc_arena *arena, size_t dim, double lower, double upper, uint64_t seed) {
    shape s = {.arena = arena, .seed = seed * 2654435761u + 12345};
    s.family = (tc_family){.name = "test", .count = 1, .dim = dim};
    s.family.lower = TC_NEW(arena, tc_coef, dim);
    s.family.upper = TC_NEW(arena, tc_coef, dim);
    for (size_t c = 0; c < dim; c++) {
        s.family.lower[c].value = lower;
        s.family.upper[c].value = upper;
    }
    s.family.pieces = TC_NEW(arena, tc_set_piece, 16);
    return s;
}

static inline tc_set_piece *shape_add(shape *s, tc_set_kind kind, size_t first, size_t count, const double *center,
                                      double radius) {
    tc_set_piece *piece = &s->family.pieces[s->family.piece_count++];
    *piece = (tc_set_piece){.kind = kind, .first = first, .count = count, .radius = {.value = radius}};
    if (center != NULL)
        piece->center = coefs(s->arena, center, count);
    return piece;
}

/* A random piece of the kind over components first .. first + count - 1 that holds `inner`, with some room around. */
static inline void shape_add_random(shape *s, tc_set_kind kind, size_t first, size_t count, const double *inner,
                                    double size) {
    double *center = TC_NEW(s->arena, double, count), *matrix = TC_NEW(s->arena, double, count *count);
    double *root = TC_NEW(s->arena, double, count *count);
    double squares = 0, absolute = 0, dot = 0, form = 0;
    bool linear = kind == TC_SET_HALFSPACE || kind == TC_SET_HYPERPLANE;
    for (size_t c = 0; c < count; c++) {
        double at = inner[first + c];
        center[c] = linear ? uniform(&s->seed, -1, 1) : at + uniform(&s->seed, -size, size);
        squares += (at - center[c]) * (at - center[c]);
        absolute += fabs(at - center[c]);
        dot += at * center[c];
    }
    for (size_t e = 0; e < count * count; e++)
        root[e] = uniform(&s->seed, -1, 1);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            matrix[i * count + j] = i == j ? 0.3 : 0;
            for (size_t k = 0; k < count; k++)
                matrix[i * count + j] += root[i * count + k] * root[j * count + k];
        }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            form += (inner[first + i] - center[i]) * matrix[i * count + j] * (inner[first + j] - center[j]);
    double room = uniform(&s->seed, 0.05, 0.5);
    double radius = 0;
    if (kind == TC_SET_HALFSPACE)
        radius = dot + room * size;
    else if (kind == TC_SET_HYPERPLANE)
        radius = dot;
    else if (kind == TC_SET_BALL)
        radius = sqrt(squares) + room * size;
    else if (kind == TC_SET_BALL1)
        radius = absolute + room * size;
    else
        radius = form * (1 + room) + room * size * size;
    tc_set_piece *piece = shape_add(s, kind, first, count, center, radius);
    piece->matrix = coefs(s->arena, matrix, count * count);
}

/* A random point of the set: from the inner point along a random direction, some of the way to the border (in the
 * planes of the hyperplanes, of which one is supported). */
static inline void shape_sample(shape *s, const tc_set *set, const double *inner, double *y) {
    size_t dim = set->dim;
    double *d = TC_NEW(s->arena, double, dim);
    for (size_t c = 0; c < dim; c++)
        d[c] = uniform(&s->seed, -1, 1);
    for (size_t p = 0; p < set->part_count; p++) {
        const tc_set_part *part = &set->parts[p];
        double along = 0, squares = 0;
        for (size_t c = 0; part->kind == TC_SET_HYPERPLANE && c < part->count; c++) {
            along += part->center[c] * d[part->first + c];
            squares += part->center[c] * part->center[c];
        }
        for (size_t c = 0; part->kind == TC_SET_HYPERPLANE && c < part->count; c++)
            d[part->first + c] -= along / squares * part->center[c];
    }
    double low = 0, high = 4 * tc_set_scale(set), border = 1e-14 * tc_set_scale(set);
    for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2;
        for (size_t c = 0; c < dim; c++)
            y[c] = inner[c] + middle * d[c];
        if (tc_set_violation(set, y, NULL) <= border)
            low = middle;
        else
            high = middle;
    }
    if (uniform(&s->seed, 0, 1) < 0.3)
        low *= uniform(&s->seed, 0, 1);
    for (size_t c = 0; c < dim; c++)
        y[c] = inner[c] + low * d[c];
}

#endif
