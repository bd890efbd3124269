#include "plan/placement/placement.h"
#include "model/spread.h"

#include <string.h>

enum { MOST_UNITS = 16384 };
#define QUANTUM 32 /* units whose sensitivities agree to a 32nd of an octave count as one */

/* ---- facts about channels ---------------------------------------------------------------------------------------- */

typedef struct gathering {
    const tc_pricing *pricing;
    tc_channel_facts facts;
    bool gaussian;
    double *sum;       /* by channel: of the open column or block */
    uint32_t *touched; /* channels of the open column */
    size_t touched_count;
    bool *is_touched;
} gathering;

/* From rank to rank (sensitivity.h). */
static void pack_gathering(void *context, tc_parcel *parcel) {
    gathering *g = context;
    size_t count = g->pricing->channel_count;
    tc_put(parcel, g->facts.constant, count * sizeof *g->facts.constant);
    tc_put(parcel, g->facts.slope, count * sizeof *g->facts.slope);
    tc_put(parcel, g->facts.moves, count * sizeof *g->facts.moves);
    tc_put(parcel, &g->facts.most_moved, sizeof g->facts.most_moved);
    tc_put(parcel, g->sum, count * sizeof *g->sum);
    tc_put(parcel, g->touched, count * sizeof *g->touched);
    tc_put(parcel, g->is_touched, count * sizeof *g->is_touched);
    tc_put(parcel, &g->touched_count, sizeof g->touched_count);
}

static void touch(gathering *g, uint32_t channel, double amount) {
    if (!g->is_touched[channel]) {
        g->is_touched[channel] = true;
        g->touched[g->touched_count++] = channel;
    }
    g->sum[channel] = tc_add_up(g->sum[channel], amount);
}

/* Units within and data: how far this agent's states can move; 1 in other units. */
static double reach_of(const gathering *g, const tc_sensitivity_block *block) {
    const tc_pricing *pricing = g->pricing;
    return pricing->reach == NULL ? 1 : pricing->reach[block->family - pricing->sensitivity->streams->model->families];
}

static double together(const gathering *g, const tc_moved *entry) {
    bool many = entry->family != UINT32_MAX && entry->member == SIZE_MAX;
    return many ? (double)g->pricing->sensitivity->streams->model->families[entry->family].count : 1;
}

/* l1: the largest column sum of each channel, the largest single entries, the most entries in a column. */
static void take_columns(void *context, const tc_sensitivity_block *block) {
    gathering *g = context;
    double reach = reach_of(g, block);
    for (size_t c = 0; c < block->columns; c++) {
        double count = 0;
        for (size_t i = block->start[c]; i < block->start[c + 1]; i++) {
            const tc_moved *entry = &block->moved[i];
            double size = tc_magnitude(entry->value), many = together(g, entry);
            count += 1; /* entries that come together weigh as one: what moves them has their number too */
            if (entry->channel == UINT32_MAX)
                continue;
            g->facts.slope[entry->channel] = fmax(g->facts.slope[entry->channel], size / many);
            g->facts.moves[entry->channel] = g->facts.moves[entry->channel] || reach > 0;
            touch(g, entry->channel, reach > 0 ? tc_mul_up(reach, size) : 0);
        }
        g->facts.most_moved = fmax(g->facts.most_moved, count);
        while (g->touched_count > 0) {
            uint32_t channel = g->touched[--g->touched_count];
            double *constant = &g->facts.constant[channel];
            if (!g->gaussian || g->pricing->channels[channel].kind == TC_CHANNEL_JACOBIAN)
                *constant = fmax(*constant, g->sum[channel]);
            g->sum[channel] = 0;
            g->is_touched[channel] = false;
        }
    }
}

/* l2: |.|_F of each channel's part of a block; for ensembles, of the whole row. */
static void take_squares(void *context, const tc_sensitivity_block *block) {
    gathering *g = context;
    bool ensemble = g->pricing->unit == TC_ADJACENCY_ENSEMBLE;
    double reach = reach_of(g, block);
    for (size_t i = 0; reach > 0 && i < block->start[block->columns]; i++) {
        const tc_moved *entry = &block->moved[i];
        if (entry->channel == UINT32_MAX || (ensemble && entry->family != UINT32_MAX))
            continue;
        double size = tc_mul_up(reach, tc_magnitude(entry->value));
        touch(g, entry->channel, tc_mul_up(ensemble ? block->weight : 1, tc_mul_up(size, size)));
    }
    while (!ensemble && g->touched_count > 0) {
        uint32_t channel = g->touched[--g->touched_count];
        g->facts.constant[channel] = fmax(g->facts.constant[channel], g->sum[channel]);
        g->sum[channel] = 0;
        g->is_touched[channel] = false;
    }
}

static gathering gather_new(const tc_pricing *pricing) {
    tc_arena *arena = pricing->sensitivity->arena;
    size_t count = pricing->channel_count + 1;
    return (gathering){.pricing = pricing,
                       .gaussian = pricing->mechanism == TC_MECHANISM_GAUSSIAN,
                       .facts = {.constant = TC_NEW(arena, double, count),
                                 .slope = TC_NEW(arena, double, count),
                                 .moves = TC_NEW(arena, bool, count)},
                       .sum = TC_NEW(arena, double, count),
                       .touched = TC_NEW(arena, uint32_t, count),
                       .is_touched = TC_NEW(arena, bool, count)};
}

static tc_view *full_view(tc_sensitivity *s, int norm) {
    s->norm = norm;
    return tc_view_new(s, true, NULL, 0, UINT32_MAX);
}

tc_channel_facts tc_channel_facts_find(const tc_pricing *pricing) {
    tc_sensitivity *s = pricing->sensitivity;
    gathering g = gather_new(pricing);
    s->whole_agents = pricing->unit == TC_ADJACENCY_AGENT;
    (void)tc_sensitivity_blocks(s, full_view(s, 1), take_columns, pack_gathering, &g);
    if (!g.gaussian)
        return g.facts;
    bool ensemble = pricing->unit == TC_ADJACENCY_ENSEMBLE;
    double *columns = g.facts.constant; /* Schur's bound for Jacobian channels: second derivatives are symmetric */
    g.facts.constant = TC_NEW(s->arena, double, pricing->channel_count + 1);
    (void)tc_sensitivity_blocks(s, full_view(s, 2), take_squares, pack_gathering, &g);
    for (size_t i = 0; i < pricing->channel_count; i++) {
        double squares = ensemble ? g.sum[i] : g.facts.constant[i];
        g.facts.constant[i] = tc_sqrt_up(squares);
        if (ensemble && pricing->channels[i].kind == TC_CHANNEL_JACOBIAN)
            g.facts.constant[i] = columns[i];
    }
    return g.facts;
}

/* ---- units for the optimisation ---------------------------------------------------------------------------------- */

typedef struct units {
    gathering gather;
    tc_arena *arena;
    double *row_sums; /* Gaussian: by constraint, of the block or of the whole */
    size_t count, entries, capacity;
    size_t *start;
    uint32_t *group;
    double *value;
    uint64_t *table; /* open addressing: hashes of units that are there */
} units;

static uint64_t mix(uint64_t hash, uint64_t word) {
    return (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15) ^ (hash >> 29);
}

static bool is_new(units *u, uint64_t hash) {
    hash |= 1;
    for (size_t at = (size_t)(hash >> 40) % (4 * MOST_UNITS);; at = (at + 1) % (4 * MOST_UNITS)) {
        if (u->table[at] == hash)
            return false;
        if (u->table[at] == 0) {
            u->table[at] = hash;
            return true;
        }
    }
}

static void make_room(units *u, size_t entries, size_t more) {
    if (entries + more <= u->capacity)
        return;
    size_t capacity = 2 * u->capacity + more + 1024, kept = entries < u->capacity ? entries : u->capacity;
    u->group = tc_arena_grow(u->arena, u->group, kept, capacity, sizeof *u->group);
    u->value = tc_arena_grow(u->arena, u->value, kept, capacity, sizeof *u->value);
    u->capacity = capacity;
}

static void pack_units(void *context, tc_parcel *parcel) {
    units *u = context;
    size_t rows = u->gather.pricing->sensitivity->streams->model->constraint_count;
    pack_gathering(&u->gather, parcel);
    tc_put(parcel, u->row_sums, rows * sizeof *u->row_sums);
    tc_put(parcel, &u->count, sizeof u->count);
    tc_put(parcel, &u->entries, sizeof u->entries);
    if (parcel->unpacks)
        make_room(u, 0, u->entries);
    tc_put(parcel, u->start, (u->count + 1) * sizeof *u->start);
    tc_put(parcel, u->group, u->entries * sizeof *u->group);
    tc_put(parcel, u->value, u->entries * sizeof *u->value);
    tc_put(parcel, u->table, 4 * (size_t)MOST_UNITS * sizeof *u->table);
}

/* The open column becomes a unit, unless one like it is there. */
static void end_unit(units *u) {
    gathering *g = &u->gather;
    uint64_t hash = 0; /* of a set: the order of channels does not matter */
    for (size_t i = 0; i < g->touched_count; i++) {
        double step = floor(QUANTUM * log2(g->sum[g->touched[i]])); /* a square may be below all numbers */
        int64_t place = isfinite(step) ? (int64_t)step : INT64_MIN;
        hash += mix(mix(UINT64_C(0x1234567), g->touched[i]), (uint64_t)place);
    }
    bool kept = g->touched_count > 0 && u->count < MOST_UNITS && is_new(u, hash);
    if (kept)
        make_room(u, u->entries, g->touched_count);
    while (g->touched_count > 0) {
        uint32_t channel = g->touched[--g->touched_count];
        if (kept) {
            u->group[u->entries] = channel;
            u->value[u->entries++] = g->sum[channel];
        }
        g->sum[channel] = 0;
        g->is_touched[channel] = false;
    }
    if (kept)
        u->start[++u->count] = u->entries;
}

static void take_row_sums(void *context, const tc_sensitivity_block *block) {
    units *u = context;
    for (size_t i = 0; i < block->start[block->columns]; i++) {
        if (block->moved[i].family == UINT32_MAX)
            u->row_sums[block->moved[i].row] += block->weight * tc_magnitude(block->moved[i].value);
    }
}

/* Laplace: column sums. Gaussian: Schur's test with what Jacobian entries see taken as equal for all (placement.h). */
static void take_units(void *context, const tc_sensitivity_block *block) {
    units *u = context;
    gathering *g = &u->gather;
    bool one = g->gaussian && g->pricing->unit != TC_ADJACENCY_ENSEMBLE;
    double reach = reach_of(g, block), weight = g->gaussian ? reach * reach : reach;
    if (!(reach > 0))
        return;
    if (one) {
        for (size_t i = 0; i < block->start[block->columns]; i++)
            u->row_sums[block->moved[i].row] = 0;
        tc_sensitivity_block alone = *block;
        alone.weight = 1;
        take_row_sums(u, &alone);
    }
    for (size_t c = 0; c < block->columns; c++) {
        for (size_t i = block->start[c]; i < block->start[c + 1]; i++) {
            const tc_moved *entry = &block->moved[i];
            double size = tc_magnitude(entry->value);
            if (entry->channel == UINT32_MAX || !(size > 0))
                continue;
            if (g->gaussian)
                size *= entry->family == UINT32_MAX ? u->row_sums[entry->row] : size;
            touch(g, entry->channel, weight * size);
        }
        end_unit(u);
    }
}

static units *units_find(const tc_pricing *pricing) {
    tc_sensitivity *s = pricing->sensitivity;
    units *u = TC_NEW(s->arena, units, 1);
    *u = (units){.gather = gather_new(pricing), .arena = s->arena};
    u->row_sums = TC_NEW(s->arena, double, s->streams->model->constraint_count + 1);
    u->start = TC_NEW(s->arena, size_t, MOST_UNITS + 1);
    u->table = TC_NEW(s->arena, uint64_t, 4 * MOST_UNITS);
    tc_view *view = full_view(s, u->gather.gaussian ? 2 : 1);
    if (u->gather.gaussian && pricing->unit == TC_ADJACENCY_ENSEMBLE)
        (void)tc_sensitivity_blocks(s, view, take_row_sums, pack_units, u);
    (void)tc_sensitivity_blocks(s, view, take_units, pack_units, u);
    return u;
}

static size_t moving_rows(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives) {
    return tc_moving_count(tc_constant_rows(arena, model, derivatives), model->constraint_count);
}

void tc_place_scales(const tc_pricing *pricing, tc_channel *channels, const double *row_scale, double box_length) {
    tc_sensitivity *s = pricing->sensitivity;
    size_t count = pricing->channel_count, m = moving_rows(s->arena, s->streams->model, s->streams->derivatives);
    s->whole_agents = pricing->unit == TC_ADJACENCY_AGENT;
    units *u = units_find(pricing);
    double *cost = TC_NEW(s->arena, double, count + 1);
    for (size_t i = 0; i < count; i++) {
        double scale = row_scale[channels[i].first_row];
        cost[i] = 1 / (scale * scale);
        if (channels[i].kind == TC_CHANNEL_JACOBIAN)
            cost[i] *= box_length * box_length * (double)channels[i].entries / (double)m;
    }
    tc_scale_problem budget = {.groups = count,
                               .units = u->count,
                               .q = u->gather.gaussian ? 1 : 2,
                               .cost = cost,
                               .start = u->start,
                               .group = u->group,
                               .sensitivity = u->value};
    tc_scales scales;
    tc_scales_find(s->arena, &budget, &scales);
    for (size_t i = 0; i < count; i++) {
        double inverse = u->gather.gaussian ? sqrt(scales.a[i]) : scales.a[i];
        channels[i].scale = inverse > 0 ? 1 / inverse : 1;
    }
}

/* ---- predicted variances: fixed quadrature over the public box, in ordinary double arithmetic -------------------- */

enum { POINTS = 32, FEW_STATES = 5000 };

double tc_box_length(const tc_model *model, tc_state_scales scales) {
    double squares = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++) {
            bool same = family->lower[c].column == NULL && family->upper[c].column == NULL;
            if (!same)
                tc_fold_begin(family, &squares, sizeof squares);
            for (size_t k = tc_first_known(family, !same); k < tc_end_known(family, !same); k++) {
                double width = tc_coef_at(family->upper[c], k) - tc_coef_at(family->lower[c], k);
                width /= tc_scale_of(scales, f, c);
                squares += (same ? (double)family->count : 1) * width * width;
            }
            if (!same)
                tc_fold_end(family, &squares, sizeof squares);
        }
    }
    return sqrt(squares) / 6;
}

typedef struct mean_squares {
    double *rows;
    const tc_family *families;
    const double *variance; /* by family: of what gradients are multiplied with; NULL for 1 */
    tc_state_scales scales; /* of the states that gradients are by */
    double weight;
    bool ranges;  /* of entries known as ranges: as if uniform in them */
    size_t count; /* of rows */
} mean_squares;

static void pack_means(void *context, tc_parcel *parcel) {
    const mean_squares *mean = context;
    tc_put(parcel, mean->rows, mean->count * sizeof *mean->rows);
}

static double square_of(tc_interval v, bool ranges) {
    return ranges ? (v.lo * v.lo + v.lo * v.hi + v.hi * v.hi) / 3 : v.lo * v.lo;
}

static void take_gradient(void *context, const tc_column_view *column) {
    mean_squares *mean = context;
    double weight = mean->weight * column->weight;
    size_t family = (size_t)(column->family - mean->families);
    double scale = tc_scale_of(mean->scales, family, column->component);
    if (mean->variance != NULL)
        weight *= mean->variance[family];
    weight *= scale * scale;
    for (size_t i = 0; i < column->count; i++)
        mean->rows[column->rows[i]] += weight * square_of(column->values[i], mean->ranges);
}

/* A point of an additive sequence, different in every coordinate: x_c = lo + (hi - lo) frac(k a_c + b_c). */
static void fill_point(const tc_model *model, size_t k, double *x) {
    for (size_t i = 0; i < model->state_count; i++) {
        uint64_t hash = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
        /* one point in each of POINTS cells, in an order of the coordinate's own */
        double cell = (double)((k * (2 * (hash >> 40) + 1) + (hash >> 20)) % POINTS);
        tc_interval range = tc_coord_range(model, i);
        x[i] = range.lo + (range.hi - range.lo) * (cell + 0.5) / POINTS;
    }
}

/* Sums over columns of squares of J, mean over the box. */
static void add_gradients(tc_arena *arena, tc_streams *streams, mean_squares mean) {
    const tc_model *model = streams->model;
    mean.families = model->families;
    mean.count = model->constraint_count;
    mean.ranges = model->state_count > FEW_STATES;
    mean.weight = mean.ranges ? 1 : 1.0 / POINTS;
    double *x = mean.ranges ? NULL : TC_NEW(arena, double, model->state_count + 1);
    for (size_t k = 0; x != NULL && k < POINTS; k++) {
        fill_point(model, k, x);
        tc_streams_outer_point(streams, x);
        (void)tc_streams_columns(streams, x, take_gradient, pack_means, &mean);
    }
    tc_streams_outer_box(streams);
    if (mean.ranges)
        (void)tc_streams_columns(streams, NULL, take_gradient, pack_means, &mean);
}

double *tc_row_scales(tc_arena *arena, tc_streams *streams, tc_state_scales scales) {
    size_t m = streams->model->constraint_count;
    double *scale = TC_NEW(arena, double, m + 1);
    add_gradients(arena, streams, (mean_squares){.rows = scale, .scales = scales});
    for (size_t j = 0; j < m; j++) {
        scale[j] = sqrt(scale[j]);
        scale[j] = scale[j] > 0 && isfinite(scale[j]) ? scale[j] : 1;
    }
    return scale;
}

double *tc_outer_squares(tc_arena *arena, tc_streams *streams) {
    const tc_model *model = streams->model;
    size_t count = streams->derivatives->outer_first_count;
    double *squares = TC_NEW(arena, double, count + 1);
    bool ranges = model->state_count > FEW_STATES;
    double *x = ranges ? NULL : TC_NEW(arena, double, model->state_count + 1);
    for (size_t k = 0; x != NULL && k < POINTS; k++) {
        fill_point(model, k, x);
        tc_streams_outer_point(streams, x);
        for (size_t o = 0; o < count; o++)
            squares[o] += square_of(streams->first[o], false) / POINTS;
    }
    tc_streams_outer_box(streams);
    for (size_t o = 0; ranges && o < count; o++)
        squares[o] = square_of(streams->first[o], true);
    return squares;
}

void tc_predict_outputs(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                        const tc_channel *channels, size_t count, const double *row_scale, double box_length,
                        tc_placement_facts *facts) {
    size_t m = model->constraint_count;
    const bool *constant = tc_constant_rows(arena, model, derivatives);
    double moving = (double)tc_moving_count(constant, m), share = moving > 0 ? 1 / moving : 0;
    double *of_family = TC_NEW(arena, double, model->family_count + 1);
    facts->constraint_variance = TC_NEW(arena, double, m + 1);
    facts->total = 0;
    for (size_t i = 0; i < count; i++) {
        const tc_channel *channel = &channels[i];
        for (uint32_t j = channel->first_row; j < channel->first_row + channel->row_count; j++) {
            double scaled = channel->variance / (row_scale[j] * row_scale[j]);
            if (constant[j])
                continue; /* the paper's scheme adds noise to it, but its multiplier is 0 all the same */
            if (channel->kind == TC_CHANNEL_CONSTRAINTS) {
                facts->constraint_variance[j] = channel->variance;
                facts->total += scaled;
            } else {
                double entries = (double)channel->entries / (double)channel->row_count;
                facts->total += box_length * box_length * share * entries * scaled;
                if (channel->row_count == 1)
                    of_family[channel->family] += share * scaled;
                else
                    of_family[channel->family] = fmax(of_family[channel->family], share * scaled * moving);
            }
        }
    }
    for (size_t f = 0; f < model->family_count; f++)
        facts->price_variance = fmax(facts->price_variance, of_family[f]);
    facts->possible = isfinite(facts->total);
}

/* ---- placement states -------------------------------------------------------------------------------------------- */

typedef struct curved {
    const double *row_scale;
    double share; /* reference multipliers: mu_j = sqrt(share) / S_j */
    double total, worst;
} curved;

static void pack_curved(void *context, tc_parcel *parcel) {
    curved *k = context;
    tc_put(parcel, &k->total, sizeof k->total);
    tc_put(parcel, &k->worst, sizeof k->worst);
}

/* |sum_j mu_j H_j|_F^2 by columns, with magnitudes over the box: entries of one coordinate in several rows add. */
static void take_curvature(void *context, const tc_sensitivity_block *block) {
    curved *k = context;
    for (size_t c = 0; c < block->columns; c++) {
        double squares = 0;
        for (size_t i = block->start[c]; i < block->start[c + 1]; i++) {
            const tc_moved *entry = &block->moved[i];
            if (entry->family == UINT32_MAX)
                continue;
            double size = tc_magnitude(entry->value) / k->row_scale[entry->row];
            squares += k->share * size * size;
        }
        k->total += block->weight * squares;
        k->worst = fmax(k->worst, squares);
    }
}

void tc_predict_states(tc_sensitivity *s, double variance, const double *row_scale, double box_length,
                       tc_placement_facts *facts) {
    size_t m = s->streams->model->constraint_count;
    const bool *constant = tc_constant_rows(s->arena, s->streams->model, s->streams->derivatives);
    double moving = (double)tc_moving_count(constant, m);
    curved k = {.row_scale = row_scale, .share = moving > 0 ? 1 / moving : 0};
    s->norm = 2;
    s->whole_agents = false;
    (void)tc_sensitivity_blocks(s, tc_view_new(s, true, NULL, 0, UINT32_MAX), take_curvature, pack_curved, &k);
    facts->constraint_variance = TC_NEW(s->arena, double, m + 1);
    facts->total = 0;
    for (size_t j = 0; j < m; j++) {
        if (constant[j])
            continue;
        facts->constraint_variance[j] = variance * row_scale[j] * row_scale[j];
        facts->total += variance;
    }
    facts->total += box_length * box_length * variance * k.total;
    facts->price_variance = variance * k.worst;
    facts->possible = isfinite(facts->total);
}

/* ---- method tacit: constraints alone ----------------------------------------------------------------------------- */

static void add_rows(const double *row_scale, size_t m, tc_placement_facts *facts) {
    facts->total = 0;
    facts->price_variance = NAN;
    for (size_t j = 0; j < m; j++)
        facts->total += facts->constraint_variance[j] / (row_scale[j] * row_scale[j]);
    facts->possible = isfinite(facts->total);
}

void tc_predict_rows_of_states(tc_arena *arena, tc_streams *streams, const double *family_variance,
                               const double *row_scale, tc_placement_facts *facts) {
    size_t m = streams->model->constraint_count;
    facts->constraint_variance = TC_NEW(arena, double, m + 1);
    add_gradients(arena, streams, (mean_squares){.rows = facts->constraint_variance, .variance = family_variance});
    add_rows(row_scale, m, facts);
}

void tc_predict_rows_of_forms(tc_arena *arena, const tc_streams *streams, const double *outer_squares,
                              const tc_channel *channels, size_t count, const double *row_scale,
                              tc_placement_facts *facts) {
    const tc_derivatives *d = streams->derivatives;
    size_t m = streams->model->constraint_count;
    double *variance = TC_NEW(arena, double, d->input_count + 1);
    for (size_t i = 0; i < count; i++)
        variance[channels[i].first_row] = channels[i].variance;
    facts->constraint_variance = TC_NEW(arena, double, m + 1);
    for (size_t o = 0; o < d->outer_first_count; o++)
        facts->constraint_variance[d->outer_first[o].row] += outer_squares[o] * variance[d->outer_first[o].column];
    add_rows(row_scale, m, facts);
}
