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
