#include "plan/account/account.h"

#include <stdlib.h>
#include <string.h>

#define EXPLICIT_LIMIT 200000 /* entries of a matrix whose norm is bounded as a whole */

typedef struct scaled {
    const tc_pricing *pricing;
    tc_arena *arena;
    double worst;
    bool lost; /* some entry has no channel and would be released without noise */
    /* the whole matrix, or one block of it */
    size_t columns, entries, column_capacity, capacity;
    size_t *start;
    tc_moved *key;
    tc_interval *value;
    bool overflow, is_whole; /* is_whole: columns of all blocks are stored */
    /* Gram matrix and row sums */
    tc_grams *grams;
    uint32_t *rows;
    tc_interval *row_values;
    double *row_sums;   /* by constraint: of |dg_j/dx_c| / sigma_j */
    double *curvatures; /* by constraint: the largest column sum of its second derivatives */
    double *column;     /* by constraint: scratch */
    double worst_curved;
    double squares; /* of Jacobian entries: Frobenius */
    /* units within and data */
    tc_block_sink take;
    double *family_worst;
} scaled;

static void store_room(scaled *p, size_t columns, size_t entries);

static void put_bytes(void *parcel, void *bytes, size_t count) { tc_put(parcel, bytes, count); }

/* From rank to rank (sensitivity.h): all but scratch. */
static void pack(void *context, tc_parcel *parcel) {
    scaled *p = context;
    const tc_model *model = p->pricing->sensitivity->streams->model;
    tc_put(parcel, &p->worst, sizeof p->worst);
    tc_put(parcel, &p->lost, sizeof p->lost);
    tc_put(parcel, &p->overflow, sizeof p->overflow);
    tc_put(parcel, &p->worst_curved, sizeof p->worst_curved);
    tc_put(parcel, &p->squares, sizeof p->squares);
    if (p->is_whole && !p->overflow) {
        tc_put(parcel, &p->columns, sizeof p->columns);
        tc_put(parcel, &p->entries, sizeof p->entries);
        store_room(p, p->columns, p->entries);
        tc_put(parcel, p->start, (p->columns + 1) * sizeof *p->start);
        tc_put(parcel, p->key, p->entries * sizeof *p->key);
        tc_put(parcel, p->value, p->entries * sizeof *p->value);
    }
    if (p->row_sums != NULL) {
        tc_put(parcel, p->row_sums, model->constraint_count * sizeof *p->row_sums);
        tc_put(parcel, p->curvatures, model->constraint_count * sizeof *p->curvatures);
    }
    if (p->grams != NULL)
        tc_grams_carry(p->grams, put_bytes, parcel);
    if (p->family_worst != NULL)
        tc_put(parcel, p->family_worst, model->family_count * sizeof *p->family_worst);
}

static double scale_of(scaled *p, const tc_moved *entry) {
    if (entry->channel == UINT32_MAX) {
        p->lost = p->lost || tc_magnitude(entry->value) > 0;
        return INFINITY;
    }
    return p->pricing->channels[entry->channel].scale;
}

/* value / scale outward; scales are positive */
static tc_interval divided(tc_interval value, double scale) {
    return (tc_interval){-tc_div_up(-value.lo, scale), tc_div_up(value.hi, scale)};
}

static bool is_passed_over(const scaled *p, const tc_sensitivity_block *block) {
    return p->pricing->only != NULL && block->family != p->pricing->only;
}

static double nan_is_infinite(double x) { return isnan(x) ? (double)INFINITY : x; }

/* The unit agent with a public set: all entries together. */
static double together(scaled *p, const tc_sensitivity_block *block) {
    tc_mark mark = tc_arena_mark(p->arena);
    double *scales = TC_NEW(p->arena, double, block->start[1] + 1);
    for (size_t i = 0; i < block->start[1]; i++)
        scales[i] = scale_of(p, &block->moved[i]);
    double price =
        tc_capped_price(p->pricing->sensitivity, block, scales, p->pricing->mechanism == TC_MECHANISM_GAUSSIAN);
    tc_arena_rewind(p->arena, mark);
    return nan_is_infinite(price);
}

/* ---- Laplace ----------------------------------------------------------------------------------------------------- */

static void take_column_sums(void *context, const tc_sensitivity_block *block) {
    scaled *p = context;
    for (size_t c = 0; !is_passed_over(p, block) && c < block->columns; c++) {
        double sum = 0;
        for (size_t i = block->start[c]; i < block->start[c + 1]; i++)
            sum = tc_add_up(sum, tc_div_up(tc_magnitude(block->moved[i].value), scale_of(p, &block->moved[i])));
        sum = nan_is_infinite(sum);
        p->worst = fmax(p->worst, block->capped != NULL && sum > p->worst ? fmin(sum, together(p, block)) : sum);
    }
}

/* ---- Gaussian: norms of explicit matrices ------------------------------------------------------------------------ */

/* For so many columns and entries in all; what is there stays. */
static void store_room(scaled *p, size_t columns, size_t entries) {
    if (columns + 1 > p->column_capacity) {
        size_t capacity = p->column_capacity + columns + 64;
        p->start = tc_arena_grow(p->arena, p->start, p->column_capacity, capacity, sizeof *p->start);
        p->column_capacity = capacity;
    }
    if (entries > p->capacity) {
        size_t capacity = p->capacity + entries + 256;
        p->key = tc_arena_grow(p->arena, p->key, p->capacity, capacity, sizeof *p->key);
        p->value = tc_arena_grow(p->arena, p->value, p->capacity, capacity, sizeof *p->value);
        p->capacity = capacity;
    }
}

static void store_column(scaled *p, const tc_sensitivity_block *block, size_t c) {
    store_room(p, p->columns + 1, p->entries + block->start[c + 1] - block->start[c]);
    for (size_t i = block->start[c]; i < block->start[c + 1]; i++) {
        p->key[p->entries] = block->moved[i];
        p->value[p->entries++] = divided(block->moved[i].value, scale_of(p, &block->moved[i]));
    }
    p->start[++p->columns] = p->entries;
}

typedef struct numbered {
    const tc_moved *key;
    size_t place;
} numbered;

static int compare_numbered(const void *x, const void *y) {
    const tc_moved *a = ((const numbered *)x)->key, *b = ((const numbered *)y)->key;
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->family == UINT32_MAX)
        return 0;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    return a->member < b->member ? -1 : a->member > b->member;
}

/* The norm of the stored matrix, whose rows are released entries. */
static double stored_norm(scaled *p) {
    tc_mark mark = tc_arena_mark(p->arena);
    numbered *order = TC_NEW(p->arena, numbered, p->entries + 1);
    uint32_t *row = TC_NEW(p->arena, uint32_t, p->entries + 1);
    for (size_t i = 0; i < p->entries; i++)
        order[i] = (numbered){&p->key[i], i};
    qsort(order, p->entries, sizeof *order, compare_numbered);
    uint32_t rows = 0;
    for (size_t i = 0; i < p->entries; i++) {
        rows += i > 0 && compare_numbered(&order[i - 1], &order[i]) != 0;
        row[order[i].place] = rows;
    }
    tc_sparse matrix = {.rows = rows + 1, .columns = p->columns, .start = p->start, .row = row, .value = p->value};
    double norm = p->entries > 0 ? nan_is_infinite(tc_sparse_upper(p->arena, &matrix)) : 0;
    tc_arena_rewind(p->arena, mark);
    return norm;
}

static void clear_stored(scaled *p) { p->columns = p->entries = 0; }

static double frobenius(const scaled *p) {
    double squares = 0;
    for (size_t i = 0; i < p->entries; i++) {
        double size = tc_magnitude(p->value[i]);
        squares = tc_add_up(squares, tc_mul_up(size, size));
    }
    return nan_is_infinite(tc_sqrt_up(squares));
}

/* Unit one: each agent's block by itself. */
static void take_block_norm(void *context, const tc_sensitivity_block *block) {
    scaled *p = context;
    if (is_passed_over(p, block))
        return;
    clear_stored(p);
    for (size_t c = 0; c < block->columns; c++)
        store_column(p, block, c);
    double norm = frobenius(p);
    if (norm > p->worst && block->columns > 1 && norm < (double)INFINITY)
        norm = fmin(norm, stored_norm(p));
    if (norm > p->worst && block->capped != NULL)
        norm = fmin(norm, together(p, block));
    p->worst = fmax(p->worst, norm);
}

/* ---- Gaussian, ensemble ------------------------------------------------------------------------------------------ */

static void take_whole(void *context, const tc_sensitivity_block *block) {
    scaled *p = context;
    p->overflow = p->overflow || block->weight != 1 || p->entries + block->start[block->columns] > EXPLICIT_LIMIT;
    for (size_t c = 0; !p->overflow && c < block->columns; c++)
        store_column(p, block, c);
}

static void take_rows(void *context, const tc_sensitivity_block *block) {
    scaled *p = context;
    for (size_t c = 0; c < block->columns; c++) {
        size_t count = 0, begin = block->start[c], end = block->start[c + 1];
        for (size_t i = begin; i < end; i++) {
            const tc_moved *entry = &block->moved[i];
            tc_interval value = divided(entry->value, scale_of(p, entry));
            if (entry->family == UINT32_MAX) {
                double *sum = &p->row_sums[entry->row];
                *sum = tc_add_up(*sum, tc_mul_up(block->weight, tc_magnitude(value)));
                p->rows[count] = entry->row;
                p->row_values[count++] = value;
                continue;
            }
            p->column[entry->row] = tc_add_up(p->column[entry->row], tc_magnitude(entry->value));
        }
        if (p->grams != NULL)
            tc_grams_add(p->grams, block->weight, count, p->rows, p->row_values);
        for (size_t i = begin; i < end; i++) {
            double *sum = &p->column[block->moved[i].row];
            p->curvatures[block->moved[i].row] = fmax(p->curvatures[block->moved[i].row], *sum);
            *sum = 0;
        }
    }
}

/* Schur's test: |A|_2^2 <= max over columns of sum_e |A_ec| R_e, R_e at least the sum of row e. */
static void take_schur(void *context, const tc_sensitivity_block *block) {
    scaled *p = context;
    for (size_t c = 0; c < block->columns; c++) {
        double constraints = 0, curved = 0;
        for (size_t i = block->start[c]; i < block->start[c + 1]; i++) {
            const tc_moved *entry = &block->moved[i];
            double scale = scale_of(p, entry), size = tc_div_up(tc_magnitude(entry->value), scale);
            if (entry->family == UINT32_MAX)
                constraints = tc_add_up(constraints, tc_mul_up(size, p->row_sums[entry->row]));
            else
                curved = tc_add_up(curved, tc_mul_up(size, tc_div_up(p->curvatures[entry->row], scale)));
        }
        p->worst = fmax(p->worst, nan_is_infinite(tc_add_up(constraints, curved)));
        p->worst_curved = fmax(p->worst_curved, nan_is_infinite(curved));
    }
}

/* For views of some agents' blocks only. */
static void take_squares(void *context, const tc_sensitivity_block *block) {
    scaled *p = context;
    for (size_t i = 0; i < block->start[block->columns]; i++) {
        if (block->moved[i].family == UINT32_MAX)
            continue;
        double size = tc_div_up(tc_magnitude(block->moved[i].value), scale_of(p, &block->moved[i]));
        p->squares = tc_add_up(p->squares, tc_mul_up(block->weight, tc_mul_up(size, size)));
    }
}

/* A lattice whose extras depend on the row alone, and are no smaller: bounds of second derivatives stay symmetric. */
static tc_lattice symmetric_lattice(const tc_pricing *pricing, const tc_lattice *lattice, size_t rows) {
    tc_arena *arena = pricing->sensitivity->arena;
    tc_lattice made = *lattice;
    double *by_row = TC_NEW(arena, double, rows + 1);
    made.channel_extra = TC_NEW(arena, double, pricing->channel_count + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < pricing->channel_count; i++) {
            const tc_channel *channel = &pricing->channels[i];
            for (uint32_t j = channel->first_row;
                 channel->kind == TC_CHANNEL_JACOBIAN && j < channel->first_row + channel->row_count; j++) {
                if (pass == 0)
                    by_row[j] = fmax(by_row[j], lattice->channel_extra[i]);
                else
                    made.channel_extra[i] = fmax(made.channel_extra[i], by_row[j]);
            }
        }
    }
    return made;
}

static double ensemble_norm(const tc_pricing *pricing, const tc_viewer *viewer) {
    tc_sensitivity *s = pricing->sensitivity;
    size_t m = s->streams->model->constraint_count;
    scaled p = {.pricing = pricing, .arena = s->arena, .is_whole = true};
    s->norm = 2;
    tc_view *view = tc_view_new(s, viewer->everything, viewer->agents, viewer->agent_count, viewer->any_of);
    if (!tc_sensitivity_blocks(s, view, take_whole, pack, &p) || p.lost)
        return INFINITY;
    double explicit_norm = p.overflow ? (double)INFINITY : stored_norm(&p);
    if (!p.overflow)
        return explicit_norm;
    p.is_whole = false;
    if (!view->everything && !tc_sensitivity_blocks(s, view, take_squares, pack, &p))
        return INFINITY;
    const tc_lattice *kept = s->lattice;
    tc_lattice lattice = kept != NULL ? symmetric_lattice(pricing, kept, m) : (tc_lattice){0};
    s->norm = 1;
    s->lattice = kept != NULL ? &lattice : NULL;
    p.row_sums = TC_NEW(s->arena, double, m + 1);
    p.curvatures = TC_NEW(s->arena, double, m + 1);
    p.column = TC_NEW(s->arena, double, m + 1);
    p.rows = TC_NEW(s->arena, uint32_t, m + 1);
    p.row_values = TC_NEW(s->arena, tc_interval, m + 1);
    p.grams = m <= TC_GRAM_LIMIT ? tc_grams_new(s->arena, m) : NULL;
    view = tc_view_new(s, viewer->everything, viewer->agents, viewer->agent_count, viewer->any_of);
    p.worst = 0;
    bool done =
        tc_sensitivity_blocks(s, view, take_rows, pack, &p) && tc_sensitivity_blocks(s, view, take_schur, pack, &p);
    s->lattice = kept;
    if (!done || p.lost)
        return INFINITY;
    double gram = p.grams != NULL ? nan_is_infinite(tc_grams_upper(s->arena, p.grams)) : (double)INFINITY;
    double constraints = tc_mul_up(gram, gram);
    if (view->everything)
        return tc_sqrt_up(fmin(tc_add_up(constraints, p.worst_curved), p.worst));
    /* Schur's row sums need the symmetry of all second derivatives. Blocks of some agents: the Frobenius norm. */
    double schur_constraints = p.worst; /* at least the part of the constraints */
    return tc_sqrt_up(tc_add_up(fmin(constraints, schur_constraints), p.squares));
}

/* ---- by a share of public ranges --------------------------------------------------------------------------------- */

/* Members with different boxes come one by one. */
static double range_of(const tc_sensitivity_block *block, size_t component) {
    const tc_family *family = block->family;
    return tc_add_up(tc_coef_at(family->upper[component], block->member),
                     -tc_coef_at(family->lower[component], block->member));
}

/* Columns: one state by its whole range, in all entries. Rows: all states by theirs, in one entry. */
static void take_ranges(void *context, const tc_sensitivity_block *block) {
    scaled *p = context;
    tc_mark mark = tc_arena_mark(p->arena);
    size_t count = block->start[block->columns];
    bool gaussian = p->pricing->mechanism == TC_MECHANISM_GAUSSIAN;
    numbered *order = TC_NEW(p->arena, numbered, count + 1);
    double *size = TC_NEW(p->arena, double, count + 1), sum = 0;
    for (size_t c = 0; c < block->columns; c++) {
        double column = 0;
        for (size_t i = block->start[c]; i < block->start[c + 1]; i++) {
            double slope = tc_div_up(tc_magnitude(block->moved[i].value), scale_of(p, &block->moved[i]));
            size[i] = slope == 0 ? 0 : tc_mul_up(slope, range_of(block, c));
            order[i] = (numbered){&block->moved[i], i};
            column = tc_add_up(column, gaussian ? tc_mul_up(size[i], size[i]) : size[i]);
        }
        p->worst = fmax(p->worst, nan_is_infinite(gaussian ? tc_sqrt_up(column) : column));
    }
    qsort(order, count, sizeof *order, compare_numbered);
    for (size_t i = 0; i < count; i++) {
        sum = tc_add_up(sum, size[order[i].place]);
        p->worst = fmax(p->worst, nan_is_infinite(sum));
        if (i + 1 == count || compare_numbered(&order[i], &order[i + 1]) != 0)
            sum = 0;
    }
    tc_arena_rewind(p->arena, mark);
}

double tc_price_range(const tc_pricing *pricing, const tc_viewer *viewer) {
    tc_sensitivity *s = pricing->sensitivity;
    scaled p = {.pricing = pricing, .arena = s->arena};
    s->whole_agents = s->extras_only = false;
    s->norm = pricing->mechanism == TC_MECHANISM_GAUSSIAN ? 2 : 1;
    tc_view *view = tc_view_new(s, viewer->everything, viewer->agents, viewer->agent_count, viewer->any_of);
    return tc_sensitivity_blocks(s, view, take_ranges, pack, &p) && !p.lost ? p.worst : (double)INFINITY;
}

/* ---- units within and data --------------------------------------------------------------------------------------- */

/* Agents of a family without reach are the same in both worlds. */
static void take_by_family(void *context, const tc_sensitivity_block *block) {
    scaled *p = context;
    size_t f = (size_t)(block->family - p->pricing->sensitivity->streams->model->families);
    if (p->pricing->reach != NULL && !(p->pricing->reach[f] > 0))
        return;
    p->worst = p->family_worst[f];
    p->take(p, block);
    p->family_worst[f] = p->worst;
}

/* For each unit of distance of one agent, or for all that it can do (whole); false where nothing is proved. */
static bool price_by_family(const tc_pricing *pricing, const tc_viewer *viewer, bool whole, double *worst) {
    tc_sensitivity *s = pricing->sensitivity;
    size_t families = s->streams->model->family_count;
    bool gaussian = pricing->mechanism == TC_MECHANISM_GAUSSIAN;
    scaled p = {.pricing = pricing,
                .arena = s->arena,
                .take = gaussian ? take_block_norm : take_column_sums,
                .family_worst = worst};
    memset(worst, 0, families * sizeof *worst);
    s->norm = gaussian ? 2 : 1;
    s->whole_agents = whole;
    s->extras_only = false;
    tc_view *view = tc_view_new(s, viewer->everything, viewer->agents, viewer->agent_count, viewer->any_of);
    return tc_sensitivity_blocks(s, view, take_by_family, pack, &p) && !p.lost;
}

void tc_price_families(const tc_pricing *pricing, const tc_viewer *viewer, double *worst) {
    size_t families = pricing->sensitivity->streams->model->family_count;
    double *whole = TC_NEW(pricing->sensitivity->arena, double, families + 1);
    bool proved = price_by_family(pricing, viewer, pricing->unit == TC_ADJACENCY_AGENT, worst) &&
                  (pricing->reach == NULL || price_by_family(pricing, viewer, true, whole));
    for (size_t f = 0; f < families; f++) {
        if (!proved)
            worst[f] = INFINITY;
        else if (pricing->reach != NULL) /* of one agent both hold: by its reach, and by all that it can do */
            worst[f] = pricing->reach[f] > 0 ? fmin(tc_mul_up(pricing->reach[f], worst[f]), whole[f]) : 0;
    }
}

static double reach_price(const tc_pricing *pricing, const tc_viewer *viewer) {
    size_t families = pricing->sensitivity->streams->model->family_count;
    double *of = TC_NEW(pricing->sensitivity->arena, double, families + 1), worst = 0;
    tc_price_families(pricing, viewer, of);
    for (size_t f = 0; f < families; f++)
        worst = fmax(worst, of[f]);
    return worst;
}

double tc_price_view(const tc_pricing *pricing, const tc_viewer *viewer) {
    tc_sensitivity *s = pricing->sensitivity;
    bool gaussian = pricing->mechanism == TC_MECHANISM_GAUSSIAN;
    s->whole_agents = pricing->unit == TC_ADJACENCY_AGENT;
    s->extras_only = false;
    if (pricing->reach != NULL)
        return reach_price(pricing, viewer);
    if (gaussian && pricing->unit == TC_ADJACENCY_ENSEMBLE)
        return ensemble_norm(pricing, viewer);
    s->norm = gaussian ? 2 : 1;
    scaled p = {.pricing = pricing, .arena = s->arena};
    tc_view *view = tc_view_new(s, viewer->everything, viewer->agents, viewer->agent_count, viewer->any_of);
    bool done = tc_sensitivity_blocks(s, view, gaussian ? take_block_norm : take_column_sums, pack, &p);
    return done && !p.lost ? p.worst : (double)INFINITY;
}
