/* Predicted variances of each placement (docs/proofs/placement.md), and the sizes that they are compared by. */
#include "plan/placement/placement.h"

#include "model/spread.h"

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
void tc_box_point(const tc_model *model, size_t k, double *x) {
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
        tc_box_point(model, k, x);
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
        tc_box_point(model, k, x);
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
