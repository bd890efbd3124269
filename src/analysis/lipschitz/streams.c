#include "analysis/lipschitz/streams.h"

#include <string.h>

static bool is_zero(tc_interval a) { return a.lo == 0 && a.hi == 0; }

/* ---- batches of members ----------------------------------------------------------------------------------------- */

const tc_singled *tc_singled_of(const tc_family_stream *f, size_t member, size_t *count) {
    size_t low = 0, high = f->singled_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->singled[middle].member < member)
            low = middle + 1;
        else
            high = middle;
    }
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
        for (; *cursor < f->family->count && batch->lanes < TC_LANES; ++*cursor, batch->lanes++) {
            batch->members[batch->lanes] = *cursor;
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
        *cursor = 1; /* the representative is done even where nobody is named */
    return batch->lanes > 0;
}

/* ---- monotonicity: an entry is largest and smallest at the ends of variables it is monotone in ------------------ */

static void put_ends(const tc_family_stream *f, size_t entry, bool upper, tc_interval *saved) {
    tc_batch *batch = f->batch;
    for (size_t k = f->partials.start[entry]; k < f->partials.start[entry + 1]; k++) {
        tc_link link = f->partials.link[k];
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

/* ---- the outer functions ---------------------------------------------------------------------------------------- */

void tc_streams_sums(tc_streams *s, const double *x, tc_interval *sums) {
    for (size_t r = 0; r < s->model->sum_count; r++)
        sums[r] = tc_point(0);
    for (size_t k = 0; k < s->model->family_count; k++) {
        tc_family_stream *f = &s->families[k];
        size_t cursor = 0;
        while (f->derivatives->body_count > 0 && choose_members(f, &cursor, x == NULL)) {
            tc_batch *batch = f->batch;
            tc_batch_load_data(batch);
            if (x != NULL)
                tc_batch_load_point(batch, x);
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
    }
}

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
            s->coords[coord] = x != NULL ? tc_point(x[coord]) : tc_coord_range(s->model, coord);
    }
    tc_interval_inputs inputs = {.coords = s->coords, .sums = s->sums};
    tc_tape_enclose(s->first_tape, &inputs, 1, s->work, s->first_out);
    tc_tape_enclose(s->second_tape, &inputs, 1, s->work, s->second_out);
    if (x == NULL)
        tighten_outer(s, &inputs);
}

void tc_streams_outer_box(tc_streams *s) { outer(s, NULL); }
void tc_streams_outer_point(tc_streams *s, const double *x) { outer(s, x); }

/* ---- columns ---------------------------------------------------------------------------------------------------- */

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

bool tc_streams_columns(tc_streams *s, const double *x, tc_column_sink sink, void *context) {
    for (size_t k = 0; k < s->model->family_count; k++) {
        tc_family_stream *f = &s->families[k];
        size_t cursor = 0;
        if (f->term_count == 0 && f->singled_count == 0)
            continue;
        while (tc_streams_next(s, k, &cursor, true, x, false)) {
            if (tc_interrupted(s->monitor))
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
    }
    return true;
}
