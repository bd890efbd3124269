/* The structure of a gauge over states: which rows the bodies, slopes and curvatures of a family are made of. */
#include "engine/tacit/gauge_build.h"

#include <stdlib.h>

static const tc_node *node_of(const tc_gauge_builder *b, tc_expr e) { return &b->gauge->model->dag->nodes[e]; }

static void make_rows(const tc_gauge_builder *b, const tc_gauge_lists *lists, tc_gauge_family *of) {
    of->row_count = lists->node_count + 1;
    of->rows = TC_NEW(b->arena, tc_gauge_row, of->row_count);
    for (size_t i = 0; i < of->row_count; i++) {
        const tc_node *node = i == 0 ? NULL : node_of(b, lists->nodes[i - 1]);
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

static void make_values(const tc_gauge_builder *b, const tc_gauge_lists *lists, tc_gauge_family *of) {
    uint32_t *place = TC_NEW(b->arena, uint32_t, of->row_count);
    bool *seen = TC_NEW(b->arena, bool, of->row_count);
    of->summed = TC_NEW(b->arena, uint32_t, of->row_count);
    of->values = TC_NEW(b->arena, tc_gauge_term, lists->value_count);
    for (size_t i = 0; i < lists->value_count; i++) {
        const tc_gauge_raw *raw = &lists->values[i];
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
static void make_pairs(const tc_gauge_builder *b, tc_gauge_lists *lists, tc_gauge_family *of) {
    uint32_t *pairs = TC_NEW(b->arena, uint32_t, lists->bend_count), dim = (uint32_t)of->family->dim;
    for (size_t i = 0; i < lists->bend_count; i++)
        pairs[i] = lists->bends[i].at;
    if (lists->bend_count > 1)
        qsort(pairs, lists->bend_count, sizeof *pairs, tc_gauge_increasing);
    for (size_t i = 0; i < lists->bend_count; i++)
        if (i == 0 || pairs[i] != pairs[of->pair_count - 1])
            pairs[of->pair_count++] = pairs[i];
    of->pairs = TC_NEW(b->arena, tc_gauge_pair, of->pair_count);
    for (size_t i = 0; i < of->pair_count; i++)
        of->pairs[i] = (tc_gauge_pair){pairs[i] / dim, pairs[i] % dim};
    for (size_t i = 0; i < lists->bend_count; i++) {
        const uint32_t *found = bsearch(&lists->bends[i].at, pairs, of->pair_count, sizeof *pairs, tc_gauge_increasing);
        if (found == NULL)
            tc_raise(b->arena, TC_INTERNAL);
        lists->bends[i].at = (uint32_t)(found - pairs);
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

static tc_tape *make_tape(const tc_gauge_builder *b, const tc_gauge_lists *lists, tc_gauge_family *of, unsigned pass) {
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
            roots[count++] = lists->nodes[i - 1];
        }
    return count == 0 ? NULL : tc_tape_new(b->arena, b->gauge->model->dag, roots, count);
}

/* ---- a family ------------------------------------------------------------------------------------------------------
 */

static void mark_rows(const tc_gauge_builder *b, tc_gauge_family *of) {
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

static void build_family(const tc_gauge_builder *b, size_t f) {
    tc_gauge *gauge = b->gauge;
    tc_gauge_family *of = &gauge->families[f];
    const tc_family_derivatives *d = &gauge->derivatives->families[f];
    if (d->body_count == 0)
        return;
    of->has_rows = d->body_first_count > 0; /* a sum of data alone is none of the round's business */
    if (of->family->dim >= UINT16_MAX)
        tc_raise(b->arena, TC_TOO_LARGE);
    tc_gauge_lists lists = tc_gauge_list(b, d, of->family);
    make_rows(b, &lists, of);
    make_values(b, &lists, of);
    make_pairs(b, &lists, of);
    of->slopes = tc_gauge_gather(b->arena, lists.slopes, lists.slope_count, of->family->dim);
    of->bends = tc_gauge_gather(b->arena, lists.bends, lists.bend_count, of->pair_count);
    place_totals(of);
    mark_rows(b, of);
    of->tape[0] = make_tape(b, &lists, of, 0);
    of->tape[1] = make_tape(b, &lists, of, 1);
    tc_gauge_add_fixed(b, of, &lists);
    if (!of->has_rows)
        return;
    of->y = TC_NEW(b->arena, double, of->family->dim * of->family->count);
    of->r = TC_NEW(b->arena, double, of->family->dim * of->family->count);
    of->partials = TC_NEW(b->arena, double, of->block_count * of->total_count);
}

/* ---- single coordinates --------------------------------------------------------------------------------------------
 */

static void list_singles(const tc_gauge_builder *b, const double *variance) {
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
static double *read_variances(const tc_gauge_builder *b, const tc_plan *plan) {
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
    tc_gauge_builder b = {.arena = arena, .gauge = gauge, .combiner = tc_combiner_new(arena, gauge->model->dag)};
    const double *variance = read_variances(&b, plan);
    for (size_t f = 0; f < gauge->model->family_count; f++)
        build_family(&b, f);
    list_singles(&b, variance);
}
