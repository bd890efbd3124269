/* Sparse interval matrices: cut into connected blocks, each bounded by the Gram matrix of its smaller side, or, where
 * both sides are large, by Collatz-Wielandt on the sparse matrix itself and by sqrt(|J|_1 |J|_inf). */
#include "analysis/convexity/eigen.h"
#include "analysis/lipschitz/norm.h"

#include <float.h>
#include <string.h>

enum { SPARSE_STEPS = 300 };

static double weight_of(const tc_sparse *m, size_t column) { return m->weight != NULL ? m->weight[column] : 1; }

double tc_sparse_upper1(const tc_sparse *m) {
    double worst = 0;
    for (size_t c = 0; c < m->columns; c++) {
        double sum = 0;
        for (size_t k = m->start[c]; k < m->start[c + 1]; k++)
            sum = tc_add_up(sum, tc_magnitude(m->value[k]));
        worst = sum > worst ? sum : worst;
    }
    return worst;
}

double tc_sparse_lower1(const tc_sparse *m) {
    double best = 0;
    for (size_t c = 0; c < m->columns; c++) {
        double sum = 0;
        for (size_t k = m->start[c]; k < m->start[c + 1]; k++)
            sum = tc_add_down(sum, tc_mignitude(m->value[k]));
        best = sum > best ? sum : best;
    }
    return best;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static uint32_t root_of(uint32_t *parent, uint32_t i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

typedef struct block_order {
    uint32_t *row_block;    /* block of each row */
    uint32_t *row_in_block; /* its number there */
    size_t *block_rows;     /* how many rows */
    size_t *first;          /* columns of block b: order[first[b]] .. order[first[b + 1] - 1] */
    size_t *order;
    size_t blocks;
} block_order;

static block_order find_blocks(tc_arena *arena, const tc_sparse *m) {
    uint32_t *parent = TC_NEW(arena, uint32_t, m->rows + 1);
    for (uint32_t i = 0; i < m->rows; i++)
        parent[i] = i;
    for (size_t c = 0; c < m->columns; c++) {
        for (size_t k = m->start[c] + 1; k < m->start[c + 1]; k++) {
            uint32_t a = root_of(parent, m->row[k - 1]), b = root_of(parent, m->row[k]);
            parent[a > b ? a : b] = a > b ? b : a;
        }
    }
    block_order o = {.row_block = TC_NEW(arena, uint32_t, m->rows + 1),
                     .row_in_block = TC_NEW(arena, uint32_t, m->rows + 1),
                     .block_rows = TC_NEW(arena, size_t, m->rows + 1),
                     .first = TC_NEW(arena, size_t, m->rows + 2),
                     .order = TC_NEW(arena, size_t, m->columns + 1)};
    for (uint32_t i = 0; i < m->rows; i++) {
        uint32_t root = root_of(parent, i);
        o.row_block[i] = root == i ? (uint32_t)o.blocks++ : o.row_block[root];
        o.row_in_block[i] = (uint32_t)o.block_rows[o.row_block[i]]++;
    }
    for (size_t c = 0; c < m->columns; c++) {
        if (m->start[c] < m->start[c + 1])
            o.first[o.row_block[m->row[m->start[c]]] + 1]++;
    }
    for (size_t b = 0; b < o.blocks; b++)
        o.first[b + 1] += o.first[b];
    size_t *next = TC_NEW(arena, size_t, o.blocks + 1);
    memcpy(next, o.first, o.blocks * sizeof *next);
    for (size_t c = 0; c < m->columns; c++) {
        if (m->start[c] < m->start[c + 1])
            o.order[next[o.row_block[m->row[m->start[c]]]]++] = c;
    }
    return o;
}

/* The block as a Gram matrix over its rows. */
static tc_grams *grams_by_rows(tc_arena *arena, const tc_sparse *m, const block_order *o, size_t b) {
    tc_grams *grams = tc_grams_new(arena, o->block_rows[b]);
    uint32_t *rows = TC_NEW(arena, uint32_t, o->block_rows[b] + 1);
    for (size_t i = o->first[b]; i < o->first[b + 1]; i++) {
        size_t c = o->order[i], count = m->start[c + 1] - m->start[c];
        for (size_t k = 0; k < count; k++)
            rows[k] = o->row_in_block[m->row[m->start[c] + k]];
        tc_grams_add(grams, weight_of(m, c), count, rows, m->value + m->start[c]);
    }
    return grams;
}

/* The same over its columns: the block transposed; a column of weight w counts as one column times sqrt(w). */
static tc_grams *grams_by_columns(tc_arena *arena, const tc_sparse *m, const block_order *o, size_t b) {
    size_t columns = o->first[b + 1] - o->first[b], rows = o->block_rows[b];
    size_t *start = TC_NEW(arena, size_t, rows + 2);
    size_t entries = 0;
    for (size_t i = o->first[b]; i < o->first[b + 1]; i++) {
        for (size_t k = m->start[o->order[i]]; k < m->start[o->order[i] + 1]; k++, entries++)
            start[o->row_in_block[m->row[k]] + 1]++;
    }
    for (size_t r = 0; r < rows; r++)
        start[r + 1] += start[r];
    size_t *next = TC_NEW(arena, size_t, rows + 1);
    memcpy(next, start, rows * sizeof *next);
    uint32_t *column = TC_NEW(arena, uint32_t, entries + 1);
    tc_interval *value = TC_NEW(arena, tc_interval, entries + 1);
    for (size_t i = o->first[b]; i < o->first[b + 1]; i++) {
        size_t c = o->order[i];
        double w = weight_of(m, c);
        tc_interval scale = {tc_sqrt_down(w), tc_sqrt_up(w)};
        for (size_t k = m->start[c]; k < m->start[c + 1]; k++) {
            size_t at = next[o->row_in_block[m->row[k]]]++;
            column[at] = (uint32_t)(i - o->first[b]);
            value[at] = w == 1 ? m->value[k] : tc_imul(scale, m->value[k]);
        }
    }
    tc_grams *grams = tc_grams_new(arena, columns);
    for (size_t r = 0; r < rows; r++)
        tc_grams_add(grams, 1, start[r + 1] - start[r], column + start[r], value + start[r]);
    return grams;
}

static tc_grams *block_grams(tc_arena *arena, const tc_sparse *m, const block_order *o, size_t b) {
    size_t columns = o->first[b + 1] - o->first[b], rows = o->block_rows[b];
    if ((rows <= columns ? rows : columns) > TC_GRAM_LIMIT)
        return NULL;
    return rows <= columns ? grams_by_rows(arena, m, o, b) : grams_by_columns(arena, m, o, b);
}

/* ---- large blocks ----------------------------------------------------------------------------------------------- */

/* image = A A' v over the rows of the block, rounded up. */
static void apply_up(const tc_sparse *m, const block_order *o, size_t b, const double *v, double *image) {
    memset(image, 0, o->block_rows[b] * sizeof *image);
    for (size_t i = o->first[b]; i < o->first[b + 1]; i++) {
        size_t c = o->order[i];
        double sum = 0;
        for (size_t k = m->start[c]; k < m->start[c + 1]; k++)
            sum = tc_add_up(sum, tc_mul_up(tc_magnitude(m->value[k]), v[o->row_in_block[m->row[k]]]));
        sum = tc_mul_up(sum, weight_of(m, c));
        for (size_t k = m->start[c]; k < m->start[c + 1]; k++) {
            double *at = &image[o->row_in_block[m->row[k]]];
            *at = tc_add_up(*at, tc_mul_up(tc_magnitude(m->value[k]), sum));
        }
    }
}

static double large_block_upper(tc_arena *arena, const tc_sparse *m, const block_order *o, size_t b) {
    size_t rows = o->block_rows[b];
    double *v = TC_NEW(arena, double, rows), *image = TC_NEW(arena, double, rows);
    for (size_t r = 0; r < rows; r++)
        v[r] = 1;
    double best = INFINITY;
    for (int step = 0; step < SPARSE_STEPS; step++) {
        apply_up(m, o, b, v, image);
        double worst = 0, least = INFINITY, top = 0;
        for (size_t r = 0; r < rows; r++) {
            double quotient = tc_div_up(image[r], v[r]);
            worst = fmax(worst, quotient);
            least = fmin(least, quotient);
            top = fmax(top, image[r]);
        }
        if (!isfinite(worst))
            return INFINITY;
        best = fmin(best, worst);
        if (worst <= least * (1 + 1e-12) || !(top > 0))
            break;
        for (size_t r = 0; r < rows; r++)
            v[r] = fmax(image[r] / top, 1e-280);
    }
    return tc_sqrt_up(best);
}

/* The norm of a matrix is at least that of any of its columns. */
static double column_lower(const tc_sparse *m, const block_order *o, size_t b) {
    double best = 0;
    for (size_t i = o->first[b]; i < o->first[b + 1]; i++) {
        double sum = 0;
        for (size_t k = m->start[o->order[i]]; k < m->start[o->order[i] + 1]; k++) {
            double least = tc_mignitude(m->value[k]);
            sum = tc_add_down(sum, tc_mul_down(least, least));
        }
        sum = tc_mul_down(sum, weight_of(m, o->order[i]));
        best = fmax(best, sum);
    }
    return tc_sqrt_down(best);
}

/* A Rayleigh quotient |J' v|^2 / |v|^2 with a vector from a few power steps on the midpoints. */
static double large_block_lower(tc_arena *arena, const tc_sparse *m, const block_order *o, size_t b) {
    size_t rows = o->block_rows[b];
    double *v = TC_NEW(arena, double, rows), *image = TC_NEW(arena, double, rows);
    for (size_t r = 0; r < rows; r++)
        v[r] = 1 + 0.25 * (double)(r % 7);
    for (int step = 0; step < SPARSE_STEPS; step++) {
        memset(image, 0, rows * sizeof *image);
        for (size_t i = o->first[b]; i < o->first[b + 1]; i++) {
            size_t c = o->order[i];
            double sum = 0;
            for (size_t k = m->start[c]; k < m->start[c + 1]; k++)
                sum += m->value[k].lo * v[o->row_in_block[m->row[k]]];
            for (size_t k = m->start[c]; k < m->start[c + 1]; k++)
                image[o->row_in_block[m->row[k]]] += weight_of(m, c) * m->value[k].lo * sum;
        }
        double top = 0;
        for (size_t r = 0; r < rows; r++)
            top = fmax(top, fabs(image[r]));
        if (!(top > 0) || !isfinite(top))
            break;
        for (size_t r = 0; r < rows; r++)
            v[r] = image[r] / top;
    }
    double square = 0, length = 0;
    for (size_t i = o->first[b]; i < o->first[b + 1]; i++) {
        size_t c = o->order[i];
        tc_interval sum = tc_point(0);
        for (size_t k = m->start[c]; k < m->start[c + 1]; k++)
            sum = tc_iadd(sum, tc_imul(m->value[k], tc_point(v[o->row_in_block[m->row[k]]])));
        double least = tc_mignitude(sum);
        square = tc_add_down(square, tc_mul_down(weight_of(m, c), tc_mul_down(least, least)));
    }
    for (size_t r = 0; r < rows; r++)
        length = tc_add_up(length, tc_mul_up(v[r], v[r]));
    double bound = length > 0 && square > 0 ? tc_sqrt_down(tc_div_down(square, length)) : 0;
    return fmax(bound, column_lower(m, o, b));
}

/* ---- whole matrices --------------------------------------------------------------------------------------------- */

double tc_sparse_upper(tc_arena *arena, const tc_sparse *m) {
    tc_mark mark = tc_arena_mark(arena);
    block_order o = find_blocks(arena, m);
    double worst = 0;
    for (size_t b = 0; b < o.blocks; b++) {
        if (o.first[b] == o.first[b + 1])
            continue;
        tc_mark inner = tc_arena_mark(arena);
        tc_grams *grams = block_grams(arena, m, &o, b);
        double bound = grams != NULL ? tc_grams_upper(arena, grams) : large_block_upper(arena, m, &o, b);
        tc_arena_rewind(arena, inner);
        worst = bound > worst ? bound : worst;
    }
    tc_arena_rewind(arena, mark);
    return worst;
}

double tc_sparse_lower(tc_arena *arena, const tc_sparse *m) {
    tc_mark mark = tc_arena_mark(arena);
    block_order o = find_blocks(arena, m);
    double best = 0;
    for (size_t b = 0; b < o.blocks; b++) {
        if (o.first[b] == o.first[b + 1])
            continue;
        tc_mark inner = tc_arena_mark(arena);
        tc_grams *grams = block_grams(arena, m, &o, b);
        double bound = grams != NULL ? tc_grams_lower(arena, grams) : large_block_lower(arena, m, &o, b);
        tc_arena_rewind(arena, inner);
        best = bound > best ? bound : best;
    }
    tc_arena_rewind(arena, mark);
    return best;
}
