/* The structure of a gauge over states: which rows the bodies, slopes and curvatures of a family are made of. */
#include "engine/combination.h"
#include "engine/gauge_parts.h"

#include <stdlib.h>
#include <string.h>

#define NODE_ONE TC_NO_EXPR

typedef struct builder {
    tc_arena *arena;
    tc_gauge *gauge;
    tc_combiner *combiner;
} builder;

typedef struct family_plan { /* raw.row is a node until rows have numbers */
    tc_gauge_raw *values, *slopes, *bends;
    size_t value_count, slope_count, bend_count;
    tc_expr *nodes; /* increasing, without repetitions */
    size_t node_count;
} family_plan;

static const tc_node *node_of(const builder *b, tc_expr e) { return &b->gauge->model->dag->nodes[e]; }

/* ---- rows ----------------------------------------------------------------------------------------------------------
 */

/* Takes constant factors off an expression. */
static tc_expr peel(const tc_dag *dag, tc_expr e, double *factor) {
    for (;;) {
        const tc_node *node = &dag->nodes[e];
        if (node->op == TC_NEG) {
            *factor = -*factor;
            e = node->a;
        } else if (node->op == TC_MUL && dag->nodes[node->a].op == TC_CONST) {
            *factor *= dag->nodes[node->a].u.value;
            e = node->b;
        } else if (node->op == TC_MUL && dag->nodes[node->b].op == TC_CONST) {
            *factor *= dag->nodes[node->b].u.value;
            e = node->a;
        } else if (node->op == TC_DIV && dag->nodes[node->b].op == TC_CONST) {
            *factor /= dag->nodes[node->b].u.value;
            e = node->a;
        } else {
            return e;
        }
    }
}

/* A derivative is not split into atoms, since the size of a sum is not the sum of sizes; only factors are taken off. */
static tc_gauge_raw derivative(const builder *b, uint32_t at, uint32_t input, tc_expr value) {
    tc_combination is = tc_combination_of(b->combiner, value);
    tc_gauge_raw made = {.at = at, .input = input, .factor = 1};
    if (is.count == 0) {
        made.row = NODE_ONE;
        made.factor = is.constant;
    } else if (is.count == 1 && is.constant == 0) {
        made.row = is.terms[0].atom;
        made.factor = is.terms[0].factor;
    } else {
        made.row = peel(b->gauge->model->dag, value, &made.factor);
    }
    return made;
}

static void collect_values(const builder *b, const tc_family_derivatives *d, const tc_family *family,
                           family_plan *plan) {
    size_t count = 0;
    tc_combination *bodies = TC_NEW(b->arena, tc_combination, d->body_count);
    for (size_t i = 0; i < d->body_count; i++) {
        bodies[i] = tc_combination_of(b->combiner, d->bodies[i]);
        count += bodies[i].count;
    }
    plan->values = TC_NEW(b->arena, tc_gauge_raw, count);
    for (size_t i = 0; i < d->body_count; i++) {
        b->gauge->fixed.value[d->sums[i]] += bodies[i].constant * (double)family->count;
        for (size_t t = 0; t < bodies[i].count; t++)
            plan->values[plan->value_count++] = (tc_gauge_raw){
                .row = bodies[i].terms[t].atom, .input = d->sums[i], .factor = bodies[i].terms[t].factor};
    }
}

static void collect(const builder *b, const tc_family_derivatives *d, const tc_family *family, family_plan *plan) {
    collect_values(b, d, family, plan);
    plan->slopes = TC_NEW(b->arena, tc_gauge_raw, d->body_first_count);
    for (size_t i = 0; i < d->body_first_count; i++) {
        const tc_first *first = &d->body_first[i];
        plan->slopes[plan->slope_count++] = derivative(b, first->column, d->sums[first->row], first->value);
    }
    plan->bends = TC_NEW(b->arena, tc_gauge_raw, d->body_second_count);
    for (size_t i = 0; i < d->body_second_count; i++) {
        const tc_second *second = &d->body_second[i];
        uint32_t pair = second->column * (uint32_t)family->dim + second->other;
        plan->bends[plan->bend_count++] = derivative(b, pair, d->sums[second->row], second->value);
    }
}

static int increasing(const void *x, const void *y) {
    tc_expr a = *(const tc_expr *)x, b = *(const tc_expr *)y;
    return (a > b) - (a < b);
}

static size_t list_nodes(const tc_gauge_raw *raw, size_t count, tc_expr *nodes, size_t at) {
    for (size_t i = 0; i < count; i++)
        if (raw[i].row != NODE_ONE)
            nodes[at++] = raw[i].row;
    return at;
}

static void number_nodes(const builder *b, family_plan *plan) {
    size_t count = 0;
    plan->nodes = TC_NEW(b->arena, tc_expr, plan->value_count + plan->slope_count + plan->bend_count);
    count = list_nodes(plan->values, plan->value_count, plan->nodes, count);
    count = list_nodes(plan->slopes, plan->slope_count, plan->nodes, count);
    count = list_nodes(plan->bends, plan->bend_count, plan->nodes, count);
    if (count > 1)
        qsort(plan->nodes, count, sizeof *plan->nodes, increasing);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || plan->nodes[i] != plan->nodes[plan->node_count - 1])
            plan->nodes[plan->node_count++] = plan->nodes[i];
}

/* Row 0 is ONE. */
static void number_rows(const family_plan *plan, tc_gauge_raw *raw, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const tc_expr *found = raw[i].row == NODE_ONE ? NULL
                                                      : bsearch(&raw[i].row, plan->nodes, plan->node_count,
                                                                sizeof *plan->nodes, increasing);
        raw[i].row = found == NULL ? 0 : (uint32_t)(found - plan->nodes) + 1;
    }
}

static void make_rows(const builder *b, const family_plan *plan, tc_gauge_family *of) {
    of->row_count = plan->node_count + 1;
    of->rows = TC_NEW(b->arena, tc_gauge_row, of->row_count);
    for (size_t i = 0; i < of->row_count; i++) {
        const tc_node *node = i == 0 ? NULL : node_of(b, plan->nodes[i - 1]);
        tc_gauge_row *row = &of->rows[i];
        *row = (tc_gauge_row){.from = TC_ROW_ONE, .size_at = SIZE_MAX, .trace_at = SIZE_MAX};
        if (node == NULL)
            continue;
        row->varies = node->has_state;
        row->from = node->op == TC_STATE ? TC_ROW_STATE : node->op == TC_DATA ? TC_ROW_COLUMN : TC_ROW_TAPE;
        if (node->op == TC_STATE)
            row->place[0] = row->place[1] = (size_t)node->u.index;
        if (node->op == TC_DATA)
            row->values = of->family->columns[node->u.index].values;
    }
}

/* ---- what the sums are made of -------------------------------------------------------------------------------------
 */

static void make_values(const builder *b, const family_plan *plan, tc_gauge_family *of) {
    uint32_t *place = TC_NEW(b->arena, uint32_t, of->row_count);
    bool *seen = TC_NEW(b->arena, bool, of->row_count);
    of->summed = TC_NEW(b->arena, uint32_t, of->row_count);
    of->values = TC_NEW(b->arena, tc_gauge_term, plan->value_count);
    for (size_t i = 0; i < plan->value_count; i++) {
        const tc_gauge_raw *raw = &plan->values[i];
        if (!of->rows[raw->row].varies)
            continue;
        if (!seen[raw->row]) {
            seen[raw->row] = true;
            place[raw->row] = (uint32_t)of->summed_count;
            of->summed[of->summed_count++] = raw->row;
        }
        of->values[of->value_count++] = (tc_gauge_term){place[raw->row], raw->input, raw->factor};
    }
}

/* at becomes the number of a pair. */
static void make_pairs(const builder *b, family_plan *plan, tc_gauge_family *of) {
    uint32_t *pairs = TC_NEW(b->arena, uint32_t, plan->bend_count), dim = (uint32_t)of->family->dim;
    for (size_t i = 0; i < plan->bend_count; i++)
        pairs[i] = plan->bends[i].at;
    if (plan->bend_count > 1)
        qsort(pairs, plan->bend_count, sizeof *pairs, increasing);
    for (size_t i = 0; i < plan->bend_count; i++)
        if (i == 0 || pairs[i] != pairs[of->pair_count - 1])
            pairs[of->pair_count++] = pairs[i];
    of->pairs = TC_NEW(b->arena, tc_gauge_pair, of->pair_count);
    for (size_t i = 0; i < of->pair_count; i++)
        of->pairs[i] = (tc_gauge_pair){pairs[i] / dim, pairs[i] % dim};
    for (size_t i = 0; i < plan->bend_count; i++) {
        const uint32_t *found = bsearch(&plan->bends[i].at, pairs, of->pair_count, sizeof *pairs, increasing);
        if (found == NULL)
            tc_raise(b->arena, TC_INTERNAL);
        plan->bends[i].at = (uint32_t)(found - pairs);
    }
}

static void place_totals(tc_gauge_family *of) {
    size_t at = of->summed_count;
    of->shift_at = at;
    of->rest_at = at += of->slopes.count;
    of->curve_at = at += of->slopes.count;
    of->rest_curve_at = at += of->bends.count;
    at += of->bends.count;
    for (size_t i = 0; i < of->slopes.count; i++) {
        tc_gauge_row *row = &of->rows[of->slopes.uses[i].row];
        if (row->varies && row->size_at == SIZE_MAX) {
            row->size_at = at;
            row->size_by = i;
            at += 2;
        }
    }
    for (size_t i = 0; i < of->bends.count; i++) {
        tc_gauge_row *row = &of->rows[of->bends.uses[i].row];
        const tc_gauge_pair *pair = &of->pairs[of->bends.uses[i].at];
        if (row->varies && pair->column == pair->other && row->trace_at == SIZE_MAX) {
            row->trace_at = at++;
            row->trace_by = i;
        }
    }
    of->total_count = at;
}

static tc_tape *make_tape(const builder *b, const family_plan *plan, tc_gauge_family *of, unsigned pass) {
    bool *wanted = TC_NEW(b->arena, bool, of->row_count);
    tc_expr *roots = TC_NEW(b->arena, tc_expr, of->row_count);
    size_t count = 0;
    for (size_t i = 0; pass == 0 && i < of->summed_count; i++)
        wanted[of->summed[i]] = true;
    for (size_t i = 0; i < of->slopes.count; i++)
        wanted[of->slopes.uses[i].row] = true;
    for (size_t i = 0; i < of->bends.count; i++)
        wanted[of->bends.uses[i].row] = true;
    for (size_t i = 1; i < of->row_count; i++)
        if (wanted[i] && of->rows[i].from == TC_ROW_TAPE) {
            of->rows[i].place[pass] = count;
            roots[count++] = plan->nodes[i - 1];
        }
    return count == 0 ? NULL : tc_tape_new(b->arena, b->gauge->model->dag, roots, count);
}

/* ---- what no round changes -----------------------------------------------------------------------------------------
 */

static double sum_lanes(const double *t) { return ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7])); }

/* Totals of a row that no state moves. */
static void total_fixed(const builder *b, tc_gauge_family *of, const family_plan *plan, size_t number) {
    const tc_gauge_kernels *kernels = b->gauge->kernels;
    const tc_gauge_row *row = &of->rows[number];
    tc_tape *tape =
        row->from == TC_ROW_TAPE ? tc_tape_new(b->arena, b->gauge->model->dag, &plan->nodes[number - 1], 1) : NULL;
    double *work = TC_NEW(b->arena, double, tape == NULL ? 0 : tc_tape_work(tape)), room[TC_LANES], *out = room;
    double t[3][TC_TOTAL_LANES] = {{0}};
    const double **data = TC_NEW(b->arena, const double *, of->family->column_count);
    for (size_t k = 0; k < of->family->count; k += TC_LANES) {
        size_t lanes = of->family->count - k < TC_LANES ? of->family->count - k : TC_LANES;
        for (size_t d = 0; d < of->family->column_count; d++)
            data[d] = of->family->columns[d].values + k;
        if (tape != NULL)
            tc_tape_eval(tape, &(tc_inputs){.data = data}, lanes, work, &out);
        const double *values = tape != NULL ? room : row->values + k;
        kernels->total(lanes, values, t[0]);
        kernels->total_sizes(lanes, values, t[1], t[2]);
    }
    of->fixed_total[number] = sum_lanes(t[0]);
    of->fixed_size[number] = sum_lanes(t[1]);
    of->fixed_square[number] = sum_lanes(t[2]);
}

static void add_fixed(const builder *b, tc_gauge_family *of, const family_plan *plan) {
    tc_gauged *fixed = &b->gauge->fixed;
    of->fixed_total = TC_NEW(b->arena, double, of->row_count);
    of->fixed_size = TC_NEW(b->arena, double, of->row_count);
    of->fixed_square = TC_NEW(b->arena, double, of->row_count);
    of->fixed_total[0] = of->fixed_size[0] = of->fixed_square[0] = (double)of->family->count;
    for (size_t i = 1; i < of->row_count; i++)
        if (!of->rows[i].varies)
            total_fixed(b, of, plan, i);
    for (size_t i = 0; i < plan->value_count; i++)
        if (!of->rows[plan->values[i].row].varies)
            fixed->value[plan->values[i].input] += plan->values[i].factor * of->fixed_total[plan->values[i].row];
    for (size_t i = 0; i < plan->slope_count; i++) {
        const tc_gauge_raw *raw = &plan->slopes[i];
        if (of->rows[raw->row].varies)
            continue;
        fixed->norm1[raw->input] += fabs(raw->factor) * of->fixed_size[raw->row];
        fixed->norm2[raw->input] += raw->factor * raw->factor * of->fixed_square[raw->row];
        fixed->noise[raw->input] += of->variance * (raw->factor * raw->factor * of->fixed_square[raw->row]);
    }
    for (size_t i = 0; i < plan->bend_count; i++) {
        const tc_gauge_raw *raw = &plan->bends[i];
        if (!of->rows[raw->row].varies && of->pairs[raw->at].column == of->pairs[raw->at].other)
            fixed->trace[raw->input] += of->variance * (raw->factor * of->fixed_total[raw->row]);
    }
}

/* ---- a family ------------------------------------------------------------------------------------------------------
 */

static void mark_rows(const builder *b, tc_gauge_family *of) {
    size_t dim = of->family->dim;
    of->reach_by_member = TC_NEW(b->arena, bool, dim);
    of->bend_by_member = TC_NEW(b->arena, bool, dim);
    of->pair_is_row = TC_NEW(b->arena, bool, of->pair_count);
    for (size_t i = 0; i < of->slopes.count; i++) {
        const tc_gauge_use *use = &of->slopes.uses[i];
        of->reach_by_member[use->at] |= use->row != 0;
        of->slopes_vary |= of->rows[use->row].varies;
    }
    for (size_t i = 0; i < of->bends.count; i++) {
        const tc_gauge_use *use = &of->bends.uses[i];
        of->pair_is_row[use->at] |= use->row != 0;
        of->bend_by_member[of->pairs[use->at].column] |= use->row != 0;
        of->bend_by_member[of->pairs[use->at].other] |= use->row != 0;
    }
}

static void build_family(const builder *b, size_t f) {
    tc_gauge *gauge = b->gauge;
    tc_gauge_family *of = &gauge->families[f];
    const tc_family_derivatives *d = &gauge->derivatives->families[f];
    family_plan plan = {0};
    if (d->body_count == 0)
        return;
    of->has_rows = d->body_first_count > 0; /* a sum of data alone is none of the round's business */
    if (of->family->dim >= UINT16_MAX)
        tc_raise(b->arena, TC_TOO_LARGE);
    collect(b, d, of->family, &plan);
    number_nodes(b, &plan);
    number_rows(&plan, plan.values, plan.value_count);
    number_rows(&plan, plan.slopes, plan.slope_count);
    number_rows(&plan, plan.bends, plan.bend_count);
    make_rows(b, &plan, of);
    make_values(b, &plan, of);
    make_pairs(b, &plan, of);
    of->slopes = tc_gauge_gather(b->arena, plan.slopes, plan.slope_count, of->family->dim);
    of->bends = tc_gauge_gather(b->arena, plan.bends, plan.bend_count, of->pair_count);
    place_totals(of);
    mark_rows(b, of);
    of->tape[0] = make_tape(b, &plan, of, 0);
    of->tape[1] = make_tape(b, &plan, of, 1);
    add_fixed(b, of, &plan);
    if (!of->has_rows)
        return;
    of->y = TC_NEW(b->arena, double, of->family->dim * of->family->count);
    of->r = TC_NEW(b->arena, double, of->family->dim * of->family->count);
    of->partials = TC_NEW(b->arena, double, of->block_count * of->total_count);
}

/* ---- single coordinates --------------------------------------------------------------------------------------------
 */

static void list_singles(const builder *b, const double *variance) {
    tc_gauge *gauge = b->gauge;
    const tc_derivatives *d = gauge->derivatives;
    size_t first = gauge->model->sum_count, count = d->input_count - first;
    gauge->first_observed = first;
    gauge->observed_count = gauge->single_count = count;
    gauge->observed = TC_NEW(b->arena, size_t, count);
    gauge->singles = TC_NEW(b->arena, tc_gauge_single, count);
    for (size_t i = 0; i < count; i++) {
        size_t coordinate = (size_t)d->inputs[first + i].index;
        const tc_family *family = tc_family_of_coord(gauge->model, coordinate);
        size_t offset = coordinate - family->first_coord, member = offset % family->count;
        size_t component = offset / family->count, f = (size_t)(family - gauge->model->families);
        gauge->observed[i] = coordinate;
        gauge->lower[i] = tc_coef_at(family->lower[component], member);
        gauge->upper[i] = tc_coef_at(family->upper[component], member);
        gauge->variance[first + i] = gauge->fixed.noise[first + i] = variance[coordinate];
        gauge->fixed.norm1[first + i] = gauge->fixed.norm2[first + i] = 1;
        gauge->singles[i] = (tc_gauge_single){.coordinate = coordinate,
                                              .block = gauge->families[f].first_block + member / TC_RELEASE_BLOCK,
                                              .member = member,
                                              .family = (uint32_t)f,
                                              .component = (uint32_t)component,
                                              .input = (uint32_t)(first + i),
                                              .bends = true,
                                              .slope = 1,
                                              .reach = 1};
    }
}

/* By coordinate: the variance of its noise. Scratch. */
static double *read_variances(const builder *b, const tc_plan *plan) {
    const tc_model *model = b->gauge->model;
    const tc_family_derivatives *derivatives = b->gauge->derivatives->families;
    double *variance = TC_NEW(b->arena, double, model->state_count);
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        if (channel->kind != TC_CHANNEL_STATES || plan->mechanism == TC_MECHANISM_NONE)
            continue;
        const tc_family *family = &model->families[channel->family];
        if (channel->member_count == family->count)
            b->gauge->families[channel->family].variance = channel->variance;
        else if (derivatives[channel->family].body_first_count > 0)
            tc_raise(b->arena, TC_INTERNAL); /* a sum depends on all members alike: one channel has them */
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = channel->first_member; k < channel->first_member + channel->member_count; k++)
                variance[tc_coord_of(family, k, c)] = channel->variance;
    }
    return variance;
}

void tc_gauge_build_states(tc_arena *arena, tc_gauge *gauge, const tc_plan *plan) {
    builder b = {.arena = arena, .gauge = gauge, .combiner = tc_combiner_new(arena, gauge->model->dag)};
    const double *variance = read_variances(&b, plan);
    for (size_t f = 0; f < gauge->model->family_count; f++)
        build_family(&b, f);
    list_singles(&b, variance);
}
