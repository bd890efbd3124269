#include "plan/sensitivity/sensitivity.h"

#include "base/search.h"

#include <stdlib.h>
#include <string.h>

/* ---- channels ---------------------------------------------------------------------------------------------------- */

typedef struct jacobian_key {
    uint32_t channel, family, row;
    size_t member;
} jacobian_key;

static int compare_keys(const void *x, const void *y) {
    const jacobian_key *a = x, *b = y;
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->member < b->member ? -1 : a->member > b->member;
}

tc_channel_map *tc_channel_map_new(tc_arena *arena, const tc_model *model, const tc_channel *channels, size_t count) {
    tc_channel_map *map = TC_NEW(arena, tc_channel_map, 1);
    map->channels = channels;
    map->of_row = TC_NEW(arena, uint32_t, model->constraint_count + 1);
    memset(map->of_row, 0xff, (model->constraint_count + 1) * sizeof *map->of_row);
    map->jacobian = TC_NEW(arena, uint32_t, count + 1);
    jacobian_key *keys = TC_NEW(arena, jacobian_key, count + 1);
    for (size_t i = 0; i < count; i++) {
        const tc_channel *channel = &channels[i];
        for (uint32_t j = 0; channel->kind == TC_CHANNEL_CONSTRAINTS && j < channel->row_count; j++)
            map->of_row[channel->first_row + j] = (uint32_t)i;
        if (channel->kind == TC_CHANNEL_JACOBIAN)
            keys[map->jacobian_count++] =
                (jacobian_key){(uint32_t)i, channel->family, channel->first_row, channel->first_member};
    }
    qsort(keys, map->jacobian_count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < map->jacobian_count; i++)
        map->jacobian[i] = keys[i].channel;
    return map;
}

static bool begins_after(const tc_channel *channel, uint32_t family, uint32_t row, size_t member) {
    if (channel->family != family)
        return channel->family > family;
    if (channel->first_row > row || channel->first_row + channel->row_count <= row)
        return channel->first_row > row;
    return channel->first_member > member;
}

uint32_t tc_channel_at(const tc_channel_map *map, uint32_t family, size_t member, uint32_t row) {
    size_t wanted = member == SIZE_MAX ? 0 : member, after;
    TC_SEARCH(after, 0, map->jacobian_count, !begins_after(&map->channels[map->jacobian[after]], family, row, wanted));
    if (after == 0)
        return UINT32_MAX;
    uint32_t found = map->jacobian[after - 1]; /* the last channel that does not begin after the entry */
    const tc_channel *channel = &map->channels[found];
    bool fits = channel->family == family && row >= channel->first_row && row - channel->first_row < channel->row_count;
    if (!fits)
        return UINT32_MAX;
    if (member != SIZE_MAX)
        return member - channel->first_member < channel->member_count ? found : UINT32_MAX;
    for (size_t i = after; i < map->jacobian_count; i++) {
        const tc_channel *other = &map->channels[map->jacobian[i]];
        if (other->family != family || other->first_row != channel->first_row)
            break;
        if (other->scale < map->channels[found].scale)
            found = map->jacobian[i];
    }
    return found;
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* |v|_p over members, p = 1 or 2, or the largest, rounded up; running sums. */
static void add_share(const tc_sensitivity *s, bool largest, double weight, double slope, double *share) {
    if (largest)
        *share = fmax(*share, slope);
    else
        *share = tc_add_up(*share, tc_mul_up(weight, s->norm == 1 ? slope : tc_mul_up(slope, slope)));
}

static void add_lane(tc_sensitivity *s, size_t family, size_t lane, bool largest, double *share) {
    const tc_family_stream *f = &s->streams->families[family];
    for (size_t e = 0; e < f->derivatives->body_first_count; e++) {
        double slope = tc_magnitude(f->first[e * TC_LANES + lane]);
        /* Widened like the other factor: second derivatives are symmetric, and their bounds must be too. */
        if (s->lattice != NULL && !s->whole_agents)
            slope = tc_add_up(slope,
                              tc_div_up(s->lattice->sum_extra[f->derivatives->sums[f->derivatives->body_first[e].row]],
                                        s->lattice->step));
        add_share(s, largest, f->batch->weight[lane], slope, &share[e]);
    }
}

tc_view *tc_view_new(tc_sensitivity *s, bool everything, const size_t *agents, size_t count, uint32_t any_of) {
    const tc_model *model = s->streams->model;
    tc_view *view = TC_NEW(s->arena, tc_view, 1);
    everything = everything && !s->values_only;
    *view = (tc_view){.everything = everything, .agents = agents, .agent_count = count, .any_of = any_of};
    view->share = TC_NEW(s->arena, double *, model->family_count + 1);
    for (size_t f = 0; f < model->family_count; f++)
        view->share[f] = TC_NEW(s->arena, double, s->streams->derivatives->families[f].body_first_count + 1);
    if (!s->variation->couples_sums)
        return view; /* members never move each other's entries through a sum */
    for (uint32_t f = 0; f < model->family_count; f++) {
        size_t cursor = 0;
        const tc_family_stream *stream = &s->streams->families[f];
        bool wanted = (everything || f == any_of) && stream->derivatives->body_first_count > 0;
        if (wanted && stream->family->is_spread && !stream->alike)
            tc_raise(s->arena, TC_INTERNAL); /* tc_why_whole: such problems are whole */
        while (wanted && tc_streams_next(s->streams, f, &cursor, true, NULL, false)) {
            for (size_t l = 0; l < s->streams->families[f].batch->lanes; l++)
                add_lane(s, f, l, f == any_of && !everything, view->share[f]);
        }
    }
    for (size_t i = 0; !everything && i < count; i++) {
        const tc_family *family = tc_family_of_agent(model, agents[i]);
        size_t f = (size_t)(family - model->families);
        tc_streams_member(s->streams, f, agents[i] - family->first_agent, NULL);
        add_lane(s, f, 0, false, view->share[f]);
    }
    for (size_t f = 0; s->norm == 2 && f < model->family_count; f++) {
        for (size_t e = 0; (everything || f != any_of) && e < s->streams->derivatives->families[f].body_first_count;
             e++)
            view->share[f][e] = tc_sqrt_up(view->share[f][e]);
    }
    return view;
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

tc_sensitivity *tc_sensitivity_new(tc_arena *arena, tc_streams *streams) {
    const tc_derivatives *d = streams->derivatives;
    tc_sensitivity *s = TC_NEW(arena, tc_sensitivity, 1);
    *s = (tc_sensitivity){.arena = arena, .streams = streams, .norm = 1};
    s->variation = tc_variation_new(streams, 1);
    s->slope_start = TC_NEW(arena, size_t, streams->model->sum_count + 1);
    s->slope_end = TC_NEW(arena, size_t, streams->model->sum_count + 1);
    size_t widest = 0;
    for (size_t f = 0; f < streams->model->family_count; f++) {
        widest = streams->model->families[f].dim > widest ? streams->model->families[f].dim : widest;
        for (size_t e = d->families[f].body_first_count; e-- > 0;) {
            uint32_t sum = d->families[f].sums[d->families[f].body_first[e].row];
            s->slope_start[sum] = e;
            s->slope_end[sum] = s->slope_end[sum] == 0 ? e + 1 : s->slope_end[sum];
        }
    }
    s->widest = widest;
    s->start = TC_NEW(arena, size_t, widest + 2);
    s->first = TC_NEW(arena, tc_interval, d->outer_first_count + 1);
    s->second = TC_NEW(arena, tc_interval, d->outer_second_count + 1);
    s->first_shift = TC_NEW(arena, double, d->outer_first_count + 1);
    s->second_shift = TC_NEW(arena, double, d->outer_second_count + 1);
    return s;
}

/* Rounded sums may leave the exact ones' range by sum_spread. Second derivatives are enclosed over the wider range, and
 * first ones moved by as much as those allow (docs/proofs/lattice.md, section 3). */
void tc_sensitivity_prepare(tc_sensitivity *s) {
    tc_streams *streams = s->streams;
    const tc_derivatives *d = streams->derivatives;
    tc_streams_outer_box(streams);
    memcpy(s->second, streams->second, d->outer_second_count * sizeof *s->second);
    memset(s->first_shift, 0, d->outer_first_count * sizeof *s->first_shift);
    memset(s->second_shift, 0, d->outer_second_count * sizeof *s->second_shift);
    if (s->lattice != NULL && streams->curved) {
        tc_interval *exact = TC_NEW(s->arena, tc_interval, streams->model->sum_count + 1);
        memcpy(exact, streams->sums, streams->model->sum_count * sizeof *exact);
        for (size_t r = 0; r < streams->model->sum_count; r++)
            streams->sums[r] = tc_iadd(exact[r], (tc_interval){-s->lattice->sum_spread[r], s->lattice->sum_spread[r]});
        tc_interval_inputs inputs = {.coords = streams->coords, .sums = streams->sums};
        tc_tape_enclose(streams->second_tape, &inputs, 1, streams->work, streams->second_out);
        memcpy(streams->sums, exact, streams->model->sum_count * sizeof *exact);
        for (size_t k = 0; k < d->outer_second_count; k++)
            s->second_shift[k] = fmax(0, fmax(tc_add_up(streams->second[k].hi, -s->second[k].hi),
                                              tc_add_up(s->second[k].lo, -streams->second[k].lo)));
        for (size_t o = 0; o < d->outer_first_count; o++) {
            double shift = 0;
            for (size_t k = streams->partials.start[o]; k < streams->partials.start[o + 1]; k++) {
                const tc_outer_input *input = &d->inputs[streams->partials.link[k].other];
                if (input->op == TC_SUM)
                    shift = tc_add_up(shift, tc_mul_up(tc_magnitude(streams->second[streams->partials.link[k].second]),
                                                       s->lattice->sum_spread[input->index]));
            }
            s->first_shift[o] = shift;
            streams->first[o] = tc_iadd(streams->first[o], (tc_interval){-shift, shift});
        }
    }
    memcpy(s->first, streams->first, d->outer_first_count * sizeof *s->first);
    memcpy(s->second, streams->second, d->outer_second_count * sizeof *s->second);
}

/* ---- all blocks -------------------------------------------------------------------------------------------------- */

static bool is_among(const tc_view *view, size_t agent) {
    size_t at;
    TC_SEARCH(at, 0, view->agent_count, view->agents[at] < agent);
    return at < view->agent_count && view->agents[at] == agent;
}

/* How many of the agents that this lane stands for are outside the view. */
static double outside(const tc_view *view, const tc_family_stream *f, size_t lane) {
    double weight = f->batch->weight[lane];
    if (weight == 1)
        return is_among(view, f->family->first_agent + f->batch->members[lane]) ? 0 : 1;
    for (size_t i = 0; i < view->agent_count; i++) {
        size_t named, agent = view->agents[i];
        if (agent < f->family->first_agent || agent - f->family->first_agent >= f->family->count)
            continue;
        (void)tc_singled_of(f, agent - f->family->first_agent, &named);
        weight -= named == 0;
    }
    return weight;
}

bool tc_sensitivity_blocks(tc_sensitivity *s, const tc_view *view, tc_block_sink sink, tc_packing pack, void *context) {
    tc_streams *streams = s->streams;
    for (size_t k = 0; k < streams->model->family_count; k++) {
        tc_family_stream *f = &streams->families[k];
        size_t cursor = 0;
        bool only_one = view->any_of == k && f->family->count == 1; /* the observer is the family */
        if ((f->term_count == 0 && f->singled_count == 0) || only_one)
            continue;
        bool carried = f->family->is_spread && !f->alike;
        if (tc_interrupted(streams->monitor))
            return false;
        if (carried)
            tc_carry(s->arena, f->family, pack, context, true);
        while (tc_streams_next(streams, k, &cursor, true, NULL, true)) {
            if (!carried && tc_interrupted(streams->monitor))
                return false;
            if (s->whole_agents && f->derivatives->body_count > 0)
                tc_tape_enclose(f->values_tape, &f->batch->inputs, f->batch->lanes, f->work, f->values_out);
            for (size_t l = 0; l < f->batch->lanes; l++) {
                double weight = outside(view, f, l);
                if (weight <= 0)
                    continue;
                tc_make_block(s, view, k, l);
                tc_sensitivity_block block = {.family = f->family,
                                              .member = f->batch->members[l],
                                              .weight = weight,
                                              .columns = s->whole_agents ? 1 : f->family->dim,
                                              .start = s->start,
                                              .moved = s->moved,
                                              .capped = tc_is_capped(s, k) ? &s->capped : NULL};
                sink(context, &block);
            }
        }
        if (carried)
            tc_carry(s->arena, f->family, pack, context, false);
    }
    return true;
}

/* ---- states that cancel ------------------------------------------------------------------------------------------ */

/* (x + 1) - x has derivative zero by structure, yet its floating-point value wobbles with x. Bounds
 * from derivatives would release that wobble without noise, so such expressions are refused (docs/proofs/lattice.md,
 * section 2): every state that is read must have a derivative. */

typedef struct reading {
    const tc_dag *dag;
    uint32_t *stamp, now;
    tc_expr *stack;
    uint32_t *input_of; /* by node: the outer input it is */
} reading;

/* Calls found for every leaf that carries a state below root; stops with false where found says so. */
typedef bool (*leaf_check)(const void *context, const tc_node *leaf, tc_expr number);

static bool each_leaf(reading *r, tc_expr root, leaf_check found, const void *context) {
    size_t depth = 0;
    r->now++;
    r->stack[depth++] = root;
    r->stamp[root] = r->now;
    while (depth > 0) {
        tc_expr at = r->stack[--depth];
        const tc_node *node = tc_node_of(r->dag, at);
        if (!node->has_state)
            continue;
        size_t operands = tc_operand_count(r->dag, at);
        if (operands == 0 && !found(context, node, at))
            return false;
        for (size_t i = 0; i < operands; i++) {
            tc_expr next = tc_operand(r->dag, at, i);
            if (r->stamp[next] != r->now) {
                r->stamp[next] = r->now;
                r->stack[depth++] = next;
            }
        }
    }
    return true;
}

typedef struct wanted {
    const tc_first *first; /* entries of one row */
    size_t count;
    const tc_partial_link *links; /* second derivatives of one first derivative */
    size_t link_count;
    const reading *reading;
    bool outer;
} wanted;

static bool has_derivative(const void *context, const tc_node *leaf, tc_expr number) {
    const wanted *w = context;
    uint32_t variable = w->outer ? w->reading->input_of[number] : (uint32_t)leaf->u.index;
    for (size_t i = 0; i < w->count; i++) {
        if (w->first[i].column == variable)
            return true;
    }
    for (size_t i = 0; i < w->link_count; i++) {
        if (w->links[i].other == variable)
            return true;
    }
    return false;
}

/* Entries of one row in a list sorted by row. */
static void find_row(const tc_first *first, size_t count, uint32_t row, wanted *w) {
    size_t at;
    TC_SEARCH(at, 0, count, first[at].row < row);
    w->first = count > 0 ? first + at : NULL;
    for (w->count = 0; at + w->count < count && first[at + w->count].row == row;)
        w->count++;
}

static bool family_reads_well(reading *r, const tc_family_stream *f) {
    const tc_family_derivatives *d = f->derivatives;
    for (uint32_t b = 0; b < d->body_count; b++) {
        wanted w = {.reading = r};
        find_row(d->body_first, d->body_first_count, b, &w);
        if (!each_leaf(r, d->bodies[b], has_derivative, &w))
            return false;
    }
    for (size_t e = 0; e < d->body_first_count; e++) {
        wanted w = {.reading = r,
                    .links = f->partials.link + f->partials.start[e],
                    .link_count = f->partials.start[e + 1] - f->partials.start[e]};
        if (!each_leaf(r, d->body_first[e].value, has_derivative, &w))
            return false;
    }
    return true;
}

bool tc_sensitivity_sees_all(tc_sensitivity *s) {
    tc_streams *streams = s->streams;
    const tc_derivatives *d = streams->derivatives;
    const tc_model *model = streams->model;
    size_t nodes = model->dag->count;
    tc_mark mark = tc_arena_mark(s->arena);
    reading r = {.dag = model->dag,
                 .stamp = TC_NEW(s->arena, uint32_t, nodes + 1),
                 .stack = TC_NEW(s->arena, tc_expr, nodes + 1),
                 .input_of = TC_NEW(s->arena, uint32_t, nodes + 1)};
    for (size_t i = 0; i < d->input_count; i++)
        r.input_of[d->inputs[i].leaf] = (uint32_t)i;
    bool good = true;
    for (size_t f = 0; good && f < model->family_count; f++)
        good = family_reads_well(&r, &streams->families[f]);
    for (uint32_t j = 0; good && j < model->constraint_count; j++) {
        wanted w = {.reading = &r, .outer = true};
        find_row(d->outer_first, d->outer_first_count, j, &w);
        good = each_leaf(&r, model->constraints[j].outer, has_derivative, &w);
    }
    for (size_t o = 0; good && o < d->outer_first_count; o++) {
        wanted w = {.reading = &r,
                    .outer = true,
                    .links = streams->partials.link + streams->partials.start[o],
                    .link_count = streams->partials.start[o + 1] - streams->partials.start[o]};
        good = each_leaf(&r, d->outer_first[o].value, has_derivative, &w);
    }
    tc_arena_rewind(s->arena, mark);
    return good;
}
