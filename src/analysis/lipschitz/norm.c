#include "analysis/lipschitz/norm.h"

#include <float.h>
#include <string.h>

/* ---- sums in twice the working precision ---- */

enum { EXACT_COLUMNS = 4096, PAGE_COLUMNS = 64 };

typedef struct split { /* a number and its upper and lower halves (Veltkamp), for exact products */
    double value, high, low;
} split;

/* Products of smaller entries may underflow, even to nothing; gram_error's absolute term covers that. */
#define TINY 0x1p-400

static split halves(double a) {
    double big = 134217729.0 * a, high = big - (big - a);
    return (split){a, high, a - high};
}

/* head + tail += weight * a * b, with an error far below an ulp (Dekker's product, Knuth's sum). */
static void add_product(tc_gram *gram, size_t at, double weight, split a, split b) {
    double term = a.value * b.value;
    double tail = ((a.high * b.high - term) + a.high * b.low + a.low * b.high) + a.low * b.low;
    if (weight != 1) {
        split w = halves(weight), t = halves(term);
        double scaled = weight * term;
        tail = weight * tail + (((w.high * t.high - scaled) + w.high * t.low + w.low * t.high) + w.low * t.low);
        term = scaled;
    }
    double sum = gram->head[at] + term, part = sum - gram->head[at];
    double error = (gram->head[at] - (sum - part)) + (term - part);
    gram->head[at] = sum;
    gram->tail[at] += error + tail;
    gram->rounded |= error != 0 || tail != 0 || (fabs(term) < 0x1p-800 && term != 0) || !(fabs(term) < 0x1p900);
}

static tc_gram gram_new(tc_arena *arena, size_t rows) {
    return (tc_gram){.head = TC_NEW(arena, double, rows *rows),
                     .tail = TC_NEW(arena, double, rows *rows),
                     .page = TC_NEW(arena, double, rows *rows)};
}

tc_grams *tc_grams_new(tc_arena *arena, size_t rows) {
    tc_grams *grams = TC_NEW(arena, tc_grams, 1);
    *grams = (tc_grams){
        .arena = arena, .rows = rows, .points = gram_new(arena, rows), .scratch = TC_NEW(arena, double, 6 * rows + 1)};
    return grams;
}

enum { GRAMS = 5 };
static void list_grams(tc_grams *grams, tc_gram *all[GRAMS]) {
    all[0] = &grams->points;
    all[1] = &grams->low;
    all[2] = &grams->high;
    all[3] = &grams->middle;
    all[4] = &grams->radius;
}

void tc_grams_clear(tc_grams *grams, bool lower_only) {
    size_t bytes = grams->rows * grams->rows * sizeof(double);
    tc_gram *all[GRAMS];
    list_grams(grams, all);
    for (size_t g = 0; g < GRAMS && all[g]->head != NULL; g++) {
        memset(all[g]->head, 0, bytes);
        memset(all[g]->tail, 0, bytes);
        memset(all[g]->page, 0, bytes);
        all[g]->rounded = false;
    }
    grams->terms = grams->squares = grams->radius_squares = 0;
    grams->on_page = 0;
    grams->has_intervals = false;
    grams->lower_only = lower_only;
}

static void new_intervals(tc_grams *grams) {
    grams->low = gram_new(grams->arena, grams->rows);
    grams->high = gram_new(grams->arena, grams->rows);
    grams->middle = gram_new(grams->arena, grams->rows);
    grams->radius = gram_new(grams->arena, grams->rows);
}

void tc_grams_carry(tc_grams *grams, void (*carry)(void *, void *, size_t), void *context) {
    size_t bytes = grams->rows * grams->rows * sizeof(double);
    struct {
        double terms, squares, radius_squares;
        uint64_t on_page, has_intervals, rounded[GRAMS];
    } facts = {grams->terms, grams->squares, grams->radius_squares, grams->on_page, grams->has_intervals, {0}};
    tc_gram *all[GRAMS];
    if (grams->low.head == NULL)
        new_intervals(grams);
    list_grams(grams, all);
    for (size_t g = 0; g < GRAMS; g++)
        facts.rounded[g] = all[g]->rounded;
    carry(context, &facts, sizeof facts);
    for (size_t g = 0; g < GRAMS; g++) {
        carry(context, all[g]->head, bytes);
        carry(context, all[g]->tail, bytes);
        carry(context, all[g]->page, bytes);
        all[g]->rounded = facts.rounded[g] != 0;
    }
    grams->terms = facts.terms;
    grams->squares = facts.squares;
    grams->radius_squares = facts.radius_squares;
    grams->on_page = (size_t)facts.on_page;
    grams->has_intervals = facts.has_intervals != 0;
}

/* Adds the pages to the sums. */
static void turn_page(tc_grams *grams) {
    tc_gram *all[GRAMS];
    list_grams(grams, all);
    for (size_t g = 0; grams->on_page > 0 && g < GRAMS && all[g]->head != NULL; g++) {
        tc_gram *gram = all[g];
        for (size_t at = 0; at < grams->rows * grams->rows; at++) {
            if (gram->page[at] == 0)
                continue;
            double sum = gram->head[at] + gram->page[at], part = sum - gram->head[at];
            gram->tail[at] += (gram->head[at] - (sum - part)) + (gram->page[at] - part);
            gram->head[at] = sum;
            gram->page[at] = 0;
            gram->rounded = true;
        }
    }
    grams->on_page = 0;
}

static double middle_of(tc_interval v) { return tc_is_finite(v) ? v.lo / 2 + v.hi / 2 : 0; }

static size_t place_of(const tc_grams *grams, uint32_t i, uint32_t j) {
    return i >= j ? i * grams->rows + j : j * grams->rows + i;
}

static void add_points(tc_grams *grams, double weight, size_t count, const uint32_t *rows, const split *entries) {
    bool exact = grams->terms < EXACT_COLUMNS;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; !exact && j <= i; j++)
            grams->points.page[place_of(grams, rows[i], rows[j])] += weight * (entries[i].value * entries[j].value);
        for (size_t j = 0; exact && j <= i; j++)
            add_product(&grams->points, place_of(grams, rows[i], rows[j]), weight, entries[i], entries[j]);
    }
}

/* The ends whose products bound the product of two intervals. Where signs are certain they are known; else the
 * rounded products are compared, which may err by an ulp: then false. */
static bool bounding_ends(tc_interval x, tc_interval y, bool same, double low[2], double high[2]) {
    if (same) { /* a square */
        low[0] = low[1] = tc_mignitude(x);
        high[0] = high[1] = tc_magnitude(x);
        return true;
    }
    bool x_up = x.lo >= 0, x_down = x.hi <= 0, y_up = y.lo >= 0, y_down = y.hi <= 0;
    if ((x_up || x_down) && (y_up || y_down)) {
        low[0] = y_up ? x.lo : x.hi;
        low[1] = x_up ? y.lo : y.hi;
        high[0] = y_up ? x.hi : x.lo;
        high[1] = x_up ? y.hi : y.lo;
        return true;
    }
    double ends[4][2] = {{x.lo, y.lo}, {x.lo, y.hi}, {x.hi, y.lo}, {x.hi, y.hi}};
    size_t least = 0, most = 0;
    for (size_t k = 1; k < 4; k++) {
        least = ends[k][0] * ends[k][1] < ends[least][0] * ends[least][1] ? k : least;
        most = ends[k][0] * ends[k][1] > ends[most][0] * ends[most][1] ? k : most;
    }
    memcpy(low, ends[least], sizeof ends[least]);
    memcpy(high, ends[most], sizeof ends[most]);
    return false;
}

static void add_intervals(tc_grams *grams, double weight, size_t count, const uint32_t *rows, const tc_interval *values,
                          const split *middle, const split *radius) {
    bool exact = grams->terms < EXACT_COLUMNS;
    if (grams->low.head == NULL)
        new_intervals(grams);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j <= i; j++) {
            size_t at = place_of(grams, rows[i], rows[j]);
            double low[2], high[2];
            if (!bounding_ends(values[i], values[j], i == j, low, high))
                grams->low.rounded = grams->high.rounded = true;
            if (!exact) {
                grams->low.page[at] += weight * (low[0] * low[1]);
                grams->high.page[at] += weight * (high[0] * high[1]);
                grams->middle.page[at] += weight * (middle[i].value * middle[j].value);
                grams->radius.page[at] += weight * (radius[i].value * radius[j].value);
                continue;
            }
            add_product(&grams->low, at, weight, halves(low[0]), halves(low[1]));
            add_product(&grams->high, at, weight, halves(high[0]), halves(high[1]));
            add_product(&grams->middle, at, weight, middle[i], middle[j]);
            add_product(&grams->radius, at, weight, radius[i], radius[j]);
        }
    }
    grams->has_intervals = true;
}

void tc_grams_add(tc_grams *grams, double weight, size_t count, const uint32_t *rows, const tc_interval *values) {
    split *middle = (split *)(void *)grams->scratch, *radius = middle + grams->rows;
    bool points = true, tiny = false, exact = grams->terms < EXACT_COLUMNS;
    double squares = 0, radius_squares = 0;
    for (size_t i = 0; i < count; i++) {
        tc_interval v = values[i];
        double m = middle_of(v), magnitude = tc_magnitude(v);
        double r = tc_is_point(v) ? 0 : fmax(tc_add_up(v.hi, -m), tc_add_up(m, -v.lo));
        middle[i] = exact ? halves(m) : (split){.value = m};
        radius[i] = exact ? halves(r) : (split){.value = r};
        points = points && r == 0;
        tiny = tiny || (magnitude != 0 && magnitude < TINY) || (r != 0 && r < TINY);
        squares += magnitude * magnitude;
        radius_squares += r * r;
    }
    /* a plain sum of count squares, and its product with the weight, err by less than count + 2 ulp */
    double factor = weight * (1 + (double)(count + 3) * DBL_EPSILON);
    grams->squares = tc_add_up(grams->squares, squares * factor + DBL_MIN);
    if (radius_squares != 0 || !points)
        grams->radius_squares = tc_add_up(grams->radius_squares, radius_squares * factor + DBL_MIN);
    if (points || grams->lower_only)
        add_points(grams, weight, count, rows, middle);
    else
        add_intervals(grams, weight, count, rows, values, middle, radius);
    grams->points.rounded |= tiny; /* every bound reads this flag */
    if (grams->terms >= EXACT_COLUMNS && ++grams->on_page == PAGE_COLUMNS)
        turn_page(grams);
    grams->terms += 1;
}

/* ---- whole matrices ---- */

/* head + tail of both, as a full symmetric matrix. *rounded is set where that is not exact. */
static double *gram_full(tc_arena *arena, const tc_grams *grams, const tc_gram *gram, const tc_gram *more,
                         bool *rounded) {
    size_t n = grams->rows;
    double *full = TC_NEW(arena, double, n *n);
    *rounded = *rounded || gram->rounded || (more != NULL && more->rounded);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            size_t at = i * n + j;
            double value = gram->head[at] + gram->tail[at];
            if (more != NULL) {
                value = (gram->head[at] + more->head[at]) + (gram->tail[at] + more->tail[at]);
                *rounded =
                    *rounded || value - more->head[at] != gram->head[at] || value - gram->head[at] != more->head[at];
            }
            full[at] = full[j * n + i] = value;
        }
    }
    return full;
}

/* How far, in the spectral norm, such a full matrix may be from the exact sum: what the tails lost, and the rounding
 * of head + tail and of pages, all relative to the trace of the sum of magnitudes. Zero where every step was exact. */
static double gram_error(const tc_grams *grams, bool rounded) {
    if (!rounded)
        return 0;
    double tails = tc_mul_up((grams->terms + 8) * (grams->terms + 8) * 0x1p-100, grams->squares);
    double last = tc_mul_up(grams->terms < EXACT_COLUMNS ? 0x1p-50 : 0x1p-45, grams->squares);
    return tc_add_up((double)grams->rows * (grams->terms + 8) * 0x1p-700, tc_add_up(tails, last));
}

static bool all_finite(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return false;
    }
    return true;
}

/* The spectral radius of [[a, b], [b, d]], non-negative, rounded up: cheap, and exact enough. */
static double two_by_two(const double *g) {
    if (g[1] == 0)
        return fmax(g[0], g[3]);
    double half = tc_mul_up(0.5, tc_add_up(fmax(g[0], g[3]), -fmin(g[0], g[3])));
    double root = tc_sqrt_up(tc_add_up(tc_mul_up(half, half), tc_mul_up(g[1], g[1])));
    return tc_add_up(tc_mul_up(0.5, tc_add_up(g[0], g[3])), root);
}

static double nonnegative_upper(tc_arena *arena, const double *gram, size_t n) {
    if (!all_finite(gram, n * n))
        return INFINITY;
    if (n <= 1)
        return n == 1 ? gram[0] : 0;
    if (n == 2)
        return two_by_two(gram);
    return fmin(tc_perron_upper(arena, gram, n), tc_eigen_upper(arena, gram, n, 0));
}

/* From the enclosure [P, Q] of J J': by magnitudes, and by midpoint and radius. */
static double enclosure_upper(tc_arena *arena, const tc_grams *grams) {
    size_t n = grams->rows;
    const tc_gram *low = grams->has_intervals ? &grams->low : NULL, *high = grams->has_intervals ? &grams->high : NULL;
    bool rounded = false;
    double *p = gram_full(arena, grams, &grams->points, low, &rounded);
    double *q = gram_full(arena, grams, &grams->points, high, &rounded);
    double error = gram_error(grams, rounded);
    double *magnitude = TC_NEW(arena, double, n *n), *middle = TC_NEW(arena, double, n *n), *radius = p;
    for (size_t i = 0; i < n * n; i++) {
        magnitude[i] = fmax(fabs(p[i]), fabs(q[i]));
        middle[i] = p[i] / 2 + q[i] / 2;
        radius[i] = p[i] == q[i] ? 0 : fmax(tc_add_up(q[i], -middle[i]), tc_add_up(middle[i], -p[i]));
    }
    double best = tc_add_up(nonnegative_upper(arena, magnitude, n), error);
    if (n > 1 && all_finite(middle, n * n)) {
        double spread = grams->has_intervals ? nonnegative_upper(arena, radius, n) : 0;
        double other = tc_eigen_upper(arena, middle, n, tc_add_up(error, spread));
        best = other < best ? other : best;
    }
    return best;
}

double tc_grams_upper(tc_arena *arena, tc_grams *grams) {
    turn_page(grams);
    if (!isfinite(grams->squares))
        return INFINITY;
    tc_mark mark = tc_arena_mark(arena);
    size_t n = grams->rows;
    double best = fmin(tc_sqrt_up(grams->squares), tc_sqrt_up(fmax(0, enclosure_upper(arena, grams))));
    if (grams->has_intervals) {
        bool rounded = false;
        double *middle = gram_full(arena, grams, &grams->points, &grams->middle, &rounded);
        double *radius = gram_full(arena, grams, &grams->radius, NULL, &rounded);
        double error = gram_error(grams, rounded);
        double bound = tc_sqrt_up(fmax(0, tc_eigen_upper(arena, middle, n, error)));
        bound = tc_add_up(bound, tc_sqrt_up(tc_add_up(nonnegative_upper(arena, radius, n), error)));
        best = bound < best ? bound : best;
    }
    tc_arena_rewind(arena, mark);
    return isnan(best) ? (double)INFINITY : best;
}

double tc_grams_lower(tc_arena *arena, tc_grams *grams) {
    turn_page(grams);
    if (!isfinite(grams->squares))
        return 0;
    tc_mark mark = tc_arena_mark(arena);
    bool rounded = false;
    double *middle = gram_full(arena, grams, &grams->points, grams->has_intervals ? &grams->middle : NULL, &rounded);
    double bound = 0;
    if (all_finite(middle, grams->rows * grams->rows)) {
        double error = gram_error(grams, rounded);
        double square = tc_eigen_lower(arena, middle, grams->rows, error);
        bound = square > 0 ? tc_sqrt_down(square) : 0;
        if (grams->radius_squares > 0)
            bound = tc_add_down(bound, -tc_sqrt_up(grams->radius_squares));
    }
    tc_arena_rewind(arena, mark);
    return bound > 0 ? bound : 0;
}

/* ---- sparse interval matrices ---- */

/* They are cut into connected blocks, each bounded by the Gram matrix of its smaller side, or, where
 * both sides are large, by Collatz-Wielandt on the sparse matrix itself and by sqrt(|J|_1 |J|_inf). */

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

/* ---- blocks ---- */

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

/* ---- large blocks ---- */

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

/* ---- whole matrices ---- */

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
