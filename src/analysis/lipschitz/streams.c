#include "analysis/lipschitz/streams.h"

#include "model/spread.h"

#include "base/search.h"

#include <stdlib.h>
#include <string.h>

enum { READ_ONCE_LIMIT = 200 };
#define TIGHTEN_COST 200000000.0 /* tapes of single entries are made while entries * DAG nodes stay below this */

bool tc_read_once(const tc_dag *dag, tc_expr e) {
    tc_expr stack[READ_ONCE_LIMIT], seen[READ_ONCE_LIMIT];
    size_t depth = 0, seen_count = 0, visited = 0;
    stack[depth++] = e;
    while (depth > 0) {
        tc_expr next = stack[--depth];
        const tc_node *n = &dag->nodes[next];
        if (!n->has_state)
            continue;
        if (++visited >= READ_ONCE_LIMIT)
            return false;
        size_t operands = tc_operand_count(dag, next);
        if (operands == 0) {
            for (size_t i = 0; i < seen_count; i++) {
                if (seen[i] == next)
                    return false;
            }
            seen[seen_count++] = next;
        }
        if (n->op == TC_SOFTMAX || n->op == TC_LSE || n->op == TC_POWD || depth + operands >= READ_ONCE_LIMIT)
            return false;
        for (size_t i = 0; i < operands; i++)
            stack[depth++] = tc_operand(dag, next, i);
    }
    return true;
}

/* ---- links from first to second derivatives ---- */

static size_t find_first(const tc_first *first, size_t count, uint32_t row, uint32_t column) {
    size_t at;
    TC_SEARCH(at, 0, count, first[at].row < row || (first[at].row == row && first[at].column < column));
    return at < count && first[at].row == row && first[at].column == column ? at : SIZE_MAX;
}

static tc_partial_links link_partials(tc_arena *arena, const tc_first *first, size_t first_count,
                                      const tc_second *second, size_t second_count) {
    tc_partial_links links = {TC_NEW(arena, size_t, first_count + 2),
                              TC_NEW(arena, tc_partial_link, 2 * second_count + 1)};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t s = 0; s < second_count; s++) {
            size_t a = find_first(first, first_count, second[s].row, second[s].column);
            size_t b = find_first(first, first_count, second[s].row, second[s].other);
            bool twice = second[s].column != second[s].other;
            if (pass == 0) {
                if (a != SIZE_MAX)
                    links.start[a + 2]++;
                if (twice && b != SIZE_MAX)
                    links.start[b + 2]++;
                continue;
            }
            if (a != SIZE_MAX)
                links.link[links.start[a + 1]++] = (tc_partial_link){(uint32_t)s, second[s].other};
            if (twice && b != SIZE_MAX)
                links.link[links.start[b + 1]++] = (tc_partial_link){(uint32_t)s, second[s].column};
        }
        for (size_t i = 0; pass == 0 && i < first_count; i++)
            links.start[i + 2] += links.start[i + 1];
    }
    return links;
}

/* ---- tapes ---- */

static tc_tape *tape_of_first(tc_arena *arena, const tc_dag *dag, const tc_first *first, size_t count) {
    tc_expr *roots = TC_NEW(arena, tc_expr, count + 1);
    for (size_t i = 0; i < count; i++)
        roots[i] = first[i].value;
    return tc_tape_new(arena, dag, roots, count);
}

static tc_tape *tape_of_second(tc_arena *arena, const tc_dag *dag, const tc_second *second, size_t count) {
    tc_expr *roots = TC_NEW(arena, tc_expr, count + 1);
    for (size_t i = 0; i < count; i++)
        roots[i] = second[i].value;
    return tc_tape_new(arena, dag, roots, count);
}

static tc_tape **single_tapes(tc_arena *arena, const tc_dag *dag, const tc_first *first, size_t count) {
    tc_tape **tapes = TC_NEW(arena, tc_tape *, count + 1);
    double cost = 0;
    for (size_t i = 0; i < count; i++) {
        if (!dag->nodes[first[i].value].has_state || tc_read_once(dag, first[i].value))
            continue;
        cost += (double)dag->count;
        if (cost > TIGHTEN_COST)
            break;
        tapes[i] = tc_tape_new(arena, dag, &first[i].value, 1);
    }
    return tapes;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static size_t largest_work(tc_tape *const *tapes, size_t count, size_t least) {
    for (size_t i = 0; i < count; i++)
        least = tapes[i] != NULL ? larger(least, tc_tape_work(tapes[i])) : least;
    return least;
}

static tc_interval **lanes_of(tc_arena *arena, tc_interval *values, size_t count, size_t lanes) {
    tc_interval **out = TC_NEW(arena, tc_interval *, count + 1);
    for (size_t i = 0; i < count; i++)
        out[i] = values + i * lanes;
    return out;
}

/* ---- one family ---- */

static bool bodies_alike(const tc_dag *dag, const tc_family_derivatives *d) {
    for (size_t b = 0; b < d->body_count; b++) {
        if (dag->nodes[d->bodies[b]].has_data)
            return false;
    }
    return true;
}

static int compare_terms(const void *x, const void *y) {
    const tc_term *a = x, *b = y;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static void build_terms(tc_streams *s, tc_family_stream *f) {
    const tc_family_derivatives *d = f->derivatives;
    for (int pass = 0; pass < 2; pass++) {
        size_t count = 0;
        for (size_t i = 0; i < d->body_first_count; i++) {
            uint32_t input = d->sums[d->body_first[i].row];
            for (size_t k = s->input_start[input]; k < s->input_start[input + 1]; k++, count++) {
                if (pass == 1)
                    f->terms[count] = (tc_term){.component = d->body_first[i].column,
                                                .row = s->derivatives->outer_first[s->by_input[k]].row,
                                                .first = (uint32_t)i,
                                                .outer = s->by_input[k]};
            }
        }
        f->term_count = count;
        if (pass == 0)
            f->terms = TC_NEW(s->arena, tc_term, count + 1);
    }
    qsort(f->terms, f->term_count, sizeof *f->terms, compare_terms);
    f->term_start = TC_NEW(s->arena, size_t, f->family->dim + 1);
    for (size_t t = 0; t < f->term_count; t++)
        f->term_start[f->terms[t].component + 1]++;
    for (size_t c = 0; c < f->family->dim; c++)
        f->term_start[c + 1] += f->term_start[c];
}

static int compare_singled(const void *x, const void *y) {
    const tc_singled *a = x, *b = y;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    return a->component < b->component ? -1 : a->component > b->component;
}

static void build_singled(tc_streams *s) {
    const tc_derivatives *d = s->derivatives;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < d->input_count; i++) {
            if (d->inputs[i].op != TC_COORD)
                continue;
            const tc_family *family = tc_family_of_coord(s->model, d->inputs[i].index);
            tc_family_stream *f = &s->families[family - s->model->families];
            size_t offset = d->inputs[i].index - family->first_coord;
            if (pass == 1)
                f->singled[f->singled_count] = (tc_singled){.member = offset % family->count,
                                                            .component = (uint32_t)(offset / family->count),
                                                            .input = (uint32_t)i};
            f->singled_count++;
        }
        for (size_t k = 0; pass == 0 && k < s->model->family_count; k++) {
            s->families[k].singled = TC_NEW(s->arena, tc_singled, s->families[k].singled_count + 1);
            s->families[k].singled_count = 0;
        }
    }
    for (size_t k = 0; k < s->model->family_count; k++) {
        tc_family_stream *f = &s->families[k];
        qsort(f->singled, f->singled_count, sizeof *f->singled, compare_singled);
        for (size_t i = 0; i < f->singled_count; i++)
            f->singled_members += i == 0 || f->singled[i].member != f->singled[i - 1].member;
    }
}

static void build_family(tc_streams *s, size_t index) {
    tc_arena *arena = s->arena;
    const tc_dag *dag = s->model->dag;
    tc_family_stream *f = &s->families[index];
    const tc_family_derivatives *d = &s->derivatives->families[index];
    f->family = &s->model->families[index];
    f->derivatives = d;
    f->alike = bodies_alike(dag, d) && tc_same_public(f->family);
    f->values_tape = tc_tape_new(arena, dag, d->bodies, d->body_count);
    f->first_tape = tape_of_first(arena, dag, d->body_first, d->body_first_count);
    f->second_tape = tape_of_second(arena, dag, d->body_second, d->body_second_count);
    f->single = single_tapes(arena, dag, d->body_first, d->body_first_count);
    f->partials = link_partials(arena, d->body_first, d->body_first_count, d->body_second, d->body_second_count);
    build_terms(s, f);
    f->batch = tc_batch_new(arena, f->family);
    size_t work =
        larger(tc_tape_work(f->values_tape), larger(tc_tape_work(f->first_tape), tc_tape_work(f->second_tape)));
    f->work = TC_NEW(arena, tc_interval, largest_work(f->single, d->body_first_count, work));
    f->values = TC_NEW(arena, tc_interval, d->body_count * TC_LANES);
    f->first = TC_NEW(arena, tc_interval, d->body_first_count * TC_LANES);
    f->second = TC_NEW(arena, tc_interval, d->body_second_count * TC_LANES);
    f->values_out = lanes_of(arena, f->values, d->body_count, TC_LANES);
    f->first_out = lanes_of(arena, f->first, d->body_first_count, TC_LANES);
    f->second_out = lanes_of(arena, f->second, d->body_second_count, TC_LANES);
}

/* ---- the outer functions ---- */

static void index_inputs(tc_streams *s) {
    const tc_derivatives *d = s->derivatives;
    s->input_start = TC_NEW(s->arena, size_t, d->input_count + 2);
    s->by_input = TC_NEW(s->arena, uint32_t, d->outer_first_count + 1);
    for (size_t i = 0; i < d->outer_first_count; i++)
        s->input_start[d->outer_first[i].column + 2]++;
    for (size_t i = 0; i < d->input_count; i++)
        s->input_start[i + 2] += s->input_start[i + 1];
    for (size_t i = 0; i < d->outer_first_count; i++)
        s->by_input[s->input_start[d->outer_first[i].column + 1]++] = (uint32_t)i;
}

static void build_outer(tc_streams *s) {
    tc_arena *arena = s->arena;
    const tc_derivatives *d = s->derivatives;
    const tc_dag *dag = s->model->dag;
    s->curved = d->outer_second_count > 0;
    for (size_t i = 0; i < d->input_count; i++)
        s->has_coords = s->has_coords || d->inputs[i].op == TC_COORD;
    s->first_tape = tape_of_first(arena, dag, d->outer_first, d->outer_first_count);
    s->second_tape = tape_of_second(arena, dag, d->outer_second, d->outer_second_count);
    s->single = single_tapes(arena, dag, d->outer_first, d->outer_first_count);
    s->partials = link_partials(arena, d->outer_first, d->outer_first_count, d->outer_second, d->outer_second_count);
    size_t work = larger(tc_tape_work(s->first_tape), tc_tape_work(s->second_tape));
    s->work = TC_NEW(arena, tc_interval, largest_work(s->single, d->outer_first_count, work));
    s->sums = TC_NEW(arena, tc_interval, s->model->sum_count + 1);
    s->coords = s->has_coords ? TC_NEW(arena, tc_interval, s->model->state_count) : NULL;
    s->first = TC_NEW(arena, tc_interval, d->outer_first_count + 1);
    s->second = TC_NEW(arena, tc_interval, d->outer_second_count + 1);
    s->first_out = lanes_of(arena, s->first, d->outer_first_count, 1);
    s->second_out = lanes_of(arena, s->second, d->outer_second_count, 1);
    size_t rows = s->model->constraint_count + 1;
    s->column_rows = TC_NEW(arena, uint32_t, rows);
    s->column_values = TC_NEW(arena, tc_interval, rows);
    s->stamp = TC_NEW(arena, uint32_t, rows);
    s->slot = TC_NEW(arena, uint32_t, rows);
}

tc_streams *tc_streams_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                           const tc_monitor *monitor) {
    tc_streams *s = TC_NEW(arena, tc_streams, 1);
    s->arena = arena;
    s->model = model;
    s->derivatives = derivatives;
    s->monitor = monitor;
    s->families = TC_NEW(arena, tc_family_stream, model->family_count + 1);
    index_inputs(s);
    for (size_t k = 0; k < model->family_count; k++)
        build_family(s, k);
    build_singled(s);
    build_outer(s);
    return s;
}

static bool is_zero(tc_interval a) { return a.lo == 0 && a.hi == 0; }

/* ---- batches of members ---- */

const tc_singled *tc_singled_of(const tc_family_stream *f, size_t member, size_t *count) {
    size_t low;
    TC_SEARCH(low, 0, f->singled_count, f->singled[low].member < member);
    size_t end = low;
    while (end < f->singled_count && f->singled[end].member == member)
        end++;
    *count = end - low;
    return f->singled + low;
}

/* The first member that no outer expression names; count where all are named. */
size_t tc_plain_member(const tc_family_stream *f) {
    size_t plain = 0;
    for (size_t i = 0; i < f->singled_count && f->singled[i].member <= plain; i++) {
        if (f->singled[i].member == plain)
            plain += i + 1 == f->singled_count || f->singled[i + 1].member != plain;
    }
    return plain;
}

/* Fills the batch with the next members; the cursor counts visited members, or, grouped, first the representative of
 * all plain members and then the named ones in order. */
static bool choose_members(tc_family_stream *f, size_t *cursor, bool grouped) {
    tc_batch *batch = f->batch;
    batch->lanes = 0;
    if (!grouped || !f->alike) {
        size_t known = f->family->known_end - f->family->known_first;
        for (; *cursor < known && batch->lanes < TC_LANES; ++*cursor, batch->lanes++) {
            batch->members[batch->lanes] = f->family->known_first + *cursor;
            batch->weight[batch->lanes] = 1;
        }
        return batch->lanes > 0;
    }
    if (*cursor == 0 && f->singled_members < f->family->count) {
        batch->members[0] = tc_plain_member(f);
        batch->weight[0] = (double)(f->family->count - f->singled_members);
        batch->lanes = 1;
    }
    for (size_t i = *cursor; i < f->singled_count && batch->lanes < TC_LANES; i++, ++*cursor) {
        if (i > 0 && f->singled[i].member == f->singled[i - 1].member)
            continue;
        batch->members[batch->lanes] = f->singled[i].member;
        batch->weight[batch->lanes++] = 1;
    }
    if (*cursor == 0)
        *cursor = 1; /* the representative is done even if no member is named */
    return batch->lanes > 0;
}

/* ---- monotonicity: an entry is largest and smallest at the ends of variables it is monotone in ---- */

static void put_ends(const tc_family_stream *f, size_t entry, bool upper, tc_interval *saved) {
    tc_batch *batch = f->batch;
    for (size_t k = f->partials.start[entry]; k < f->partials.start[entry + 1]; k++) {
        tc_partial_link link = f->partials.link[k];
        const tc_interval *slope = f->second + (size_t)link.second * TC_LANES;
        tc_interval *state = batch->state + (size_t)link.other * TC_LANES;
        const tc_interval *range = saved + (size_t)link.other * TC_LANES;
        for (size_t l = 0; l < batch->lanes; l++) {
            bool rising = slope[l].lo >= 0, falling = slope[l].hi <= 0;
            if (rising || falling)
                state[l] = tc_point(rising == upper ? range[l].hi : range[l].lo);
        }
    }
}

static void tighten_family(tc_streams *s, tc_family_stream *f) {
    size_t states = f->family->dim * TC_LANES;
    tc_mark mark = tc_arena_mark(s->arena);
    tc_interval *saved = TC_NEW(s->arena, tc_interval, states);
    memcpy(saved, f->batch->state, states * sizeof *saved);
    tc_interval result[TC_LANES], *out = result;
    for (size_t i = 0; i < f->derivatives->body_first_count; i++) {
        if (f->single[i] == NULL)
            continue;
        tc_interval *entry = f->first + i * TC_LANES;
        for (int upper = 0; upper < 2; upper++) {
            put_ends(f, i, upper == 1, saved);
            tc_tape_enclose(f->single[i], &f->batch->inputs, f->batch->lanes, f->work, &out);
            for (size_t l = 0; l < f->batch->lanes; l++) {
                if (upper == 1)
                    entry[l].hi = result[l].hi < entry[l].hi ? result[l].hi : entry[l].hi;
                else
                    entry[l].lo = result[l].lo > entry[l].lo ? result[l].lo : entry[l].lo;
            }
            memcpy(f->batch->state, saved, states * sizeof *saved);
        }
    }
    tc_arena_rewind(s->arena, mark);
}

static void evaluate_batch(tc_streams *s, tc_family_stream *f, const double *x, bool second) {
    tc_batch_load_data(f->batch);
    if (x != NULL)
        tc_batch_load_point(f->batch, x);
    else
        tc_batch_load_box(f->batch);
    tc_tape_enclose(f->first_tape, &f->batch->inputs, f->batch->lanes, f->work, f->first_out);
    if (second || x == NULL)
        tc_tape_enclose(f->second_tape, &f->batch->inputs, f->batch->lanes, f->work, f->second_out);
    if (x == NULL)
        tighten_family(s, f);
}

bool tc_streams_next(tc_streams *s, size_t family, size_t *cursor, bool grouped, const double *x, bool second) {
    if (!choose_members(&s->families[family], cursor, grouped && x == NULL))
        return false;
    evaluate_batch(s, &s->families[family], x, second);
    return true;
}

void tc_streams_member(tc_streams *s, size_t family, size_t member, const double *x) {
    tc_family_stream *f = &s->families[family];
    f->batch->lanes = 1;
    f->batch->members[0] = member;
    f->batch->weight[0] = 1;
    evaluate_batch(s, f, x, true);
}

/* ---- the outer functions ---- */

/* Over the public box where lower is NULL. */
static void sums_between(tc_streams *s, const double *lower, const double *upper, tc_interval *sums) {
    for (size_t r = 0; r < s->model->sum_count; r++)
        sums[r] = tc_point(0);
    for (size_t k = 0; k < s->model->family_count; k++) {
        tc_family_stream *f = &s->families[k];
        size_t cursor = 0, bytes = s->model->sum_count * sizeof *sums;
        bool one_by_one = f->derivatives->body_count > 0 && !(lower == NULL && f->alike);
        if (one_by_one)
            tc_fold_begin(f->family, sums, bytes);
        while (f->derivatives->body_count > 0 && choose_members(f, &cursor, lower == NULL)) {
            tc_batch *batch = f->batch;
            tc_batch_load_data(batch);
            if (lower != NULL)
                tc_batch_load_between(batch, lower, upper);
            else
                tc_batch_load_box(batch);
            tc_tape_enclose(f->values_tape, &batch->inputs, batch->lanes, f->work, f->values_out);
            for (size_t b = 0; b < f->derivatives->body_count; b++) {
                tc_interval *sum = &sums[f->derivatives->sums[b]];
                for (size_t l = 0; l < batch->lanes; l++) {
                    tc_interval value = f->values[b * TC_LANES + l];
                    *sum = tc_iadd(*sum, batch->weight[l] == 1 ? value : tc_imul(tc_point(batch->weight[l]), value));
                }
            }
        }
        if (one_by_one)
            tc_fold_end(f->family, sums, bytes);
    }
}

void tc_streams_sums(tc_streams *s, const double *x, tc_interval *sums) { sums_between(s, x, x, sums); }

static void put_outer_ends(tc_streams *s, size_t entry, bool upper, bool restore, tc_interval *saved) {
    const tc_derivatives *d = s->derivatives;
    size_t place = 0;
    for (size_t k = s->partials.start[entry]; k < s->partials.start[entry + 1]; k++, place++) {
        const tc_outer_input *input = &d->inputs[s->partials.link[k].other];
        tc_interval *value = input->op == TC_SUM ? &s->sums[input->index] : &s->coords[input->index];
        if (restore) {
            *value = saved[place];
            continue;
        }
        tc_interval slope = s->second[s->partials.link[k].second];
        saved[place] = *value;
        if (slope.lo >= 0 || slope.hi <= 0)
            *value = tc_point((slope.lo >= 0) == upper ? value->hi : value->lo);
    }
}

static void tighten_outer(tc_streams *s, const tc_interval_inputs *inputs) {
    tc_mark mark = tc_arena_mark(s->arena);
    tc_interval *saved = TC_NEW(s->arena, tc_interval, s->derivatives->input_count + 1);
    for (size_t i = 0; i < s->derivatives->outer_first_count; i++) {
        if (s->single[i] == NULL)
            continue;
        for (int upper = 0; upper < 2; upper++) {
            tc_interval result, *out = &result;
            put_outer_ends(s, i, upper == 1, false, saved);
            tc_tape_enclose(s->single[i], inputs, 1, s->work, &out);
            put_outer_ends(s, i, upper == 1, true, saved);
            if (upper == 1)
                s->first[i].hi = result.hi < s->first[i].hi ? result.hi : s->first[i].hi;
            else
                s->first[i].lo = result.lo > s->first[i].lo ? result.lo : s->first[i].lo;
        }
    }
    tc_arena_rewind(s->arena, mark);
}

static void outer(tc_streams *s, const double *x) {
    const tc_derivatives *d = s->derivatives;
    if (s->curved)
        tc_streams_sums(s, x, s->sums);
    for (size_t i = 0; i < d->input_count; i++) {
        size_t coord = (size_t)d->inputs[i].index;
        if (d->inputs[i].op == TC_COORD)
            s->coords[coord] = x != NULL ? tc_point(tc_coord_at(s->model, x, coord)) : tc_coord_range(s->model, coord);
    }
    tc_interval_inputs inputs = {.coords = s->coords, .sums = s->sums};
    tc_tape_enclose(s->first_tape, &inputs, 1, s->work, s->first_out);
    tc_tape_enclose(s->second_tape, &inputs, 1, s->work, s->second_out);
    if (x == NULL)
        tighten_outer(s, &inputs);
}

void tc_streams_outer_box(tc_streams *s) { outer(s, NULL); }
void tc_streams_outer_point(tc_streams *s, const double *x) { outer(s, x); }

/* ---- columns ---- */

static tc_interval *entry_at(tc_streams *s, size_t *count, uint32_t row) {
    if (s->stamp[row] != s->stamp_now) {
        s->stamp[row] = s->stamp_now;
        s->slot[row] = (uint32_t)*count;
        s->column_rows[*count] = row;
        s->column_values[(*count)++] = tc_point(0);
    }
    return &s->column_values[s->slot[row]];
}

/* Column (member of lane, component): sums' terms, then the coordinate's own. */
size_t tc_build_column(tc_streams *s, const tc_family_stream *f, size_t lane, size_t component,
                       const tc_singled *singled, size_t singled_count) {
    size_t count = 0;
    s->stamp_now++;
    for (size_t t = f->term_start[component]; t < f->term_start[component + 1]; t++) {
        const tc_term *term = &f->terms[t];
        tc_interval product = f->first[term->first * (size_t)TC_LANES + lane], phi = s->first[term->outer];
        if (phi.lo != 1 || phi.hi != 1)
            product = tc_imul(phi, product);
        tc_interval *entry = entry_at(s, &count, term->row);
        *entry = tc_iadd(*entry, product);
    }
    for (size_t i = 0; i < singled_count; i++) {
        uint32_t input = singled[i].input;
        for (size_t k = s->input_start[input]; singled[i].component == component && k < s->input_start[input + 1];
             k++) {
            tc_interval *entry = entry_at(s, &count, s->derivatives->outer_first[s->by_input[k]].row);
            *entry = tc_iadd(*entry, s->first[s->by_input[k]]);
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_zero(s->column_values[i]))
            continue;
        s->column_rows[kept] = s->column_rows[i];
        s->column_values[kept++] = s->column_values[i];
    }
    return kept;
}

static bool columns(tc_streams *s, const double *x, bool grouped, tc_column_sink sink, tc_packing pack, void *context) {
    for (size_t k = 0; k < s->model->family_count; k++) {
        tc_family_stream *f = &s->families[k];
        size_t cursor = 0;
        if (f->term_count == 0 && f->singled_count == 0)
            continue;
        bool carried = f->family->is_spread && !(grouped && x == NULL && f->alike);
        if (carried && pack == NULL)
            tc_raise(s->arena, TC_INTERNAL); /* tc_why_whole: such problems are whole */
        if (tc_interrupted(s->monitor))
            return false;
        if (carried)
            tc_carry(s->arena, f->family, pack, context, true);
        while (tc_streams_next(s, k, &cursor, grouped, x, false)) {
            if (!carried && tc_interrupted(s->monitor))
                return false;
            for (size_t l = 0; l < f->batch->lanes; l++) {
                size_t named;
                const tc_singled *singled = tc_singled_of(f, f->batch->members[l], &named);
                for (size_t c = 0; c < f->family->dim; c++) {
                    tc_column_view view = {.family = f->family,
                                           .member = f->batch->members[l],
                                           .component = c,
                                           .weight = f->batch->weight[l],
                                           .count = tc_build_column(s, f, l, c, singled, named),
                                           .rows = s->column_rows,
                                           .values = s->column_values};
                    sink(context, &view);
                }
            }
        }
        if (carried)
            tc_carry(s->arena, f->family, pack, context, false);
    }
    return true;
}

bool tc_streams_columns(tc_streams *s, const double *x, tc_column_sink sink, tc_packing pack, void *context) {
    return columns(s, x, true, sink, pack, context);
}

bool tc_streams_all_columns(tc_streams *s, tc_column_sink sink, tc_packing pack, void *context) {
    return columns(s, NULL, false, sink, pack, context);
}

void tc_constraint_values(tc_streams *s, const double *x, tc_interval *g) { tc_constraint_ranges(s, x, x, g); }

void tc_constraint_ranges(tc_streams *s, const double *lower, const double *upper, tc_interval *g) {
    const tc_model *model = s->model;
    tc_mark mark = tc_arena_mark(s->arena);
    size_t rows = model->constraint_count;
    tc_expr *roots = TC_NEW(s->arena, tc_expr, rows + 1);
    tc_interval **out = TC_NEW(s->arena, tc_interval *, rows + 1);
    tc_interval *sums = TC_NEW(s->arena, tc_interval, model->sum_count + 1);
    for (size_t j = 0; j < rows; j++) {
        roots[j] = model->constraints[j].outer;
        out[j] = &g[j];
    }
    sums_between(s, lower, upper, sums);
    for (size_t i = 0; i < s->derivatives->input_count; i++) {
        const tc_outer_input *input = &s->derivatives->inputs[i];
        if (input->op == TC_COORD)
            s->coords[input->index] =
                (tc_interval){tc_coord_at(model, lower, input->index), tc_coord_at(model, upper, input->index)};
    }
    tc_tape *tape = tc_tape_new(s->arena, model->dag, roots, rows);
    tc_interval *work = TC_NEW(s->arena, tc_interval, tc_tape_work(tape));
    tc_interval_inputs inputs = {.coords = s->coords, .sums = sums};
    tc_tape_enclose(tape, &inputs, 1, work, out);
    tc_arena_rewind(s->arena, mark);
}
