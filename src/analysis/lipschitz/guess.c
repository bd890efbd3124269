/* Points of the box where suprema may be attained. Nothing is proved here; a better point makes a better lower bound.
 */
#include "analysis/steps.h"

#include "analysis/lipschitz/streams.h"

#include <string.h>

/* ---- coordinate search ---- */

double tc_coordinate_search(const tc_interval *ranges, size_t count, double *x, double best, double goal, size_t budget,
                            tc_score score, void *context) {
    bool moved = true;
    while (moved && best < goal) {
        moved = false;
        for (size_t i = 0; i < count && best < goal; i++) {
            double kept = x[i], choices[] = {ranges[i].lo, ranges[i].hi, ranges[i].lo / 2 + ranges[i].hi / 2};
            for (size_t c = 0; c < 3; c++) {
                if (choices[c] == kept)
                    continue;
                if (budget-- == 0)
                    return best;
                x[i] = choices[c];
                double found = score(context, x);
                if (found > best) {
                    moved = true;
                    best = found;
                    kept = choices[c];
                }
            }
            x[i] = kept;
        }
    }
    return best;
}

/* ---- guess of a vertex: where entries of J are largest, from signs of second derivatives over the box ---- */

/* +1 or -1 where the sign is certain and not always zero, else 0. */
static int sign_of(tc_interval a) { return a.lo >= 0 && a.hi > 0 ? 1 : a.hi <= 0 && a.lo < 0 ? -1 : 0; }

/* Adds, for each term of one column, the direction in which its variables make the entry's magnitude grow. */
static void pull_column(tc_streams *s, const tc_family_stream *f, size_t lane, size_t component, size_t count) {
    for (size_t t = f->term_start[component]; t < f->term_start[component + 1]; t++) {
        const tc_term *term = &f->terms[t];
        size_t slot = 0;
        while (slot < count && s->column_rows[slot] != term->row)
            slot++;
        if (slot == count)
            continue;
        tc_interval entry = s->column_values[slot], phi = s->first[term->outer];
        tc_interval slope = f->first[term->first * (size_t)TC_LANES + lane];
        double weight = tc_magnitude(entry) * (entry.hi >= -entry.lo ? 1 : -1);
        if (!isfinite(weight))
            continue;
        for (size_t k = f->partials.start[term->first]; k < f->partials.start[term->first + 1]; k++) {
            tc_partial_link link = f->partials.link[k];
            int sign = sign_of(phi) * sign_of(f->second[link.second * (size_t)TC_LANES + lane]);
            s->pulls[tc_coord_of(f->family, f->batch->members[lane], link.other)] += weight * sign;
        }
        for (size_t k = s->partials.start[term->outer]; k < s->partials.start[term->outer + 1]; k++) {
            tc_partial_link link = s->partials.link[k];
            s->input_pulls[link.other] += weight * sign_of(slope) * sign_of(s->second[link.second]);
        }
    }
}

static void pull_singled(tc_streams *s, const tc_singled *singled) {
    for (size_t k = s->input_start[singled->input]; k < s->input_start[singled->input + 1]; k++) {
        uint32_t o = s->by_input[k];
        tc_interval entry = s->first[o];
        double weight = tc_magnitude(entry) * (entry.hi >= -entry.lo ? 1 : -1);
        for (size_t i = s->partials.start[o]; isfinite(weight) && i < s->partials.start[o + 1]; i++)
            s->input_pulls[s->partials.link[i].other] += weight * sign_of(s->second[s->partials.link[i].second]);
    }
}

typedef enum pull_pass { PULL_OWN, PULL_INPUTS } pull_pass;

static void pull_lane(tc_streams *s, tc_family_stream *f, size_t lane, pull_pass step) {
    size_t named, member = f->batch->members[lane];
    const tc_singled *singled = tc_singled_of(f, member, &named);
    for (size_t c = 0; step == PULL_OWN && c < f->family->dim; c++)
        pull_column(s, f, lane, c, tc_build_column(s, f, lane, c, singled, named));
    for (size_t i = 0; i < named; i++) {
        if (step == PULL_OWN)
            pull_singled(s, &singled[i]);
        else
            s->pulls[tc_coord_of(f->family, member, singled[i].component)] += s->input_pulls[singled[i].input];
    }
    for (size_t i = 0; step == PULL_INPUTS && i < f->derivatives->body_first_count; i++) {
        const tc_first *first = &f->derivatives->body_first[i];
        s->pulls[tc_coord_of(f->family, member, first->column)] +=
            s->input_pulls[f->derivatives->sums[first->row]] * sign_of(f->first[i * TC_LANES + lane]);
    }
}

static void pull_all(tc_streams *s, pull_pass step) {
    for (size_t k = 0; k < s->model->family_count; k++) {
        tc_family_stream *f = &s->families[k];
        size_t cursor = 0;
        while (tc_streams_next(s, k, &cursor, true, NULL, true)) {
            for (size_t l = 0; l < f->batch->lanes; l++)
                pull_lane(s, f, l, step);
        }
    }
}

/* Members that were visited as one get the same pulls. */
static void spread_pulls(tc_streams *s, tc_family_stream *f) {
    size_t plain = tc_plain_member(f);
    size_t next = 0;
    for (size_t k = f->family->known_first; f->alike && k < f->family->known_end; k++) {
        while (next < f->singled_count && f->singled[next].member < k)
            next++;
        bool is_named = next < f->singled_count && f->singled[next].member == k;
        for (size_t c = 0; !is_named && k != plain && c < f->family->dim; c++)
            s->pulls[tc_coord_of(f->family, k, c)] = s->pulls[tc_coord_of(f->family, plain, c)];
    }
}

/* ---- ties ---- */

/* An entry like 2 (x - y) is as large at one corner as at the opposite one. Such an entry follows the corners that
 * earlier entries have settled: up is +1, down is -1, 0 is not settled. */
static void settle_entry(tc_streams *s, size_t entry, signed char *settled) {
    tc_interval range = s->first[entry];
    int want = range.hi >= -range.lo ? 1 : -1, agreement = 0;
    bool tie = fabs(range.hi + range.lo) <= 1e-12 * (range.hi - range.lo);
    for (size_t k = s->partials.start[entry]; k < s->partials.start[entry + 1]; k++)
        agreement += settled[s->partials.link[k].other] * sign_of(s->second[s->partials.link[k].second]);
    if (tie && agreement != 0)
        want = agreement > 0 ? 1 : -1;
    for (size_t k = s->partials.start[entry]; k < s->partials.start[entry + 1]; k++) {
        tc_partial_link link = s->partials.link[k];
        if (settled[link.other] == 0)
            settled[link.other] = (signed char)(want * sign_of(s->second[link.second]));
    }
}

void tc_guess_other_vertex(tc_streams *s, double *x) {
    const tc_derivatives *d = s->derivatives;
    tc_mark mark = tc_arena_mark(s->arena);
    signed char *settled = TC_NEW(s->arena, signed char, d->input_count + 1);
    for (int ties = 0; ties < 2; ties++) {
        for (size_t i = 0; i < d->outer_first_count; i++) {
            bool tie = fabs(s->first[i].hi + s->first[i].lo) <= 1e-12 * (s->first[i].hi - s->first[i].lo);
            if (tie == (ties == 1))
                settle_entry(s, i, settled);
        }
    }
    for (size_t i = 0; i < d->input_count; i++) {
        size_t coord = (size_t)d->inputs[i].index;
        if (d->inputs[i].op == TC_COORD && settled[i] != 0)
            x[coord] = settled[i] > 0 ? tc_coord_range(s->model, coord).hi : tc_coord_range(s->model, coord).lo;
    }
    tc_arena_rewind(s->arena, mark);
}

/* Members that are known, and those that stand for others. */
static void clear(const tc_streams *s, double *x) {
    for (size_t k = 0; k < s->model->family_count; k++) {
        const tc_family *family = s->families[k].family;
        size_t plain = tc_plain_member(&s->families[k]);
        for (size_t c = 0; c < family->dim; c++) {
            memset(x + tc_coord_of(family, family->known_first, c), 0,
                   (family->known_end - family->known_first) * sizeof *x);
            if (plain < family->count)
                x[tc_coord_of(family, plain, c)] = 0;
        }
    }
}

void tc_guess_vertex(tc_streams *s, double *x) {
    tc_mark mark = tc_arena_mark(s->arena);
    s->pulls = x; /* in the memory of the result */
    clear(s, x);
    s->input_pulls = TC_NEW(s->arena, double, s->derivatives->input_count + 1);
    pull_all(s, PULL_OWN);
    if (s->curved)
        pull_all(s, PULL_INPUTS);
    for (size_t k = 0; k < s->model->family_count; k++) {
        tc_family_stream *f = &s->families[k];
        spread_pulls(s, f);
        for (size_t c = 0; c < f->family->dim; c++) {
            for (size_t i = f->family->known_first; i < f->family->known_end; i++) {
                double *at = &x[tc_coord_of(f->family, i, c)];
                tc_interval range = tc_public_range(f->family, i, c);
                *at = *at >= 0 ? range.hi : range.lo;
            }
        }
    }
    s->pulls = s->input_pulls = NULL;
    tc_arena_rewind(s->arena, mark);
}
