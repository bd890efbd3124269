#include "plan/sensitivity/sensitivity.h"

#include <stdlib.h>
#include <string.h>

typedef struct making {
    tc_sensitivity *s;
    const tc_view *view;
    const tc_family_stream *stream;
    uint32_t family;
    size_t lane, member;
    size_t first; /* of the open column, in s->moved */
} making;

static tc_interval symmetric(double size) { return (tc_interval){-size, size}; }

/* ---- entries of one column --------------------------------------------------------------------------------------- */

static void push(making *m, tc_moved entry) {
    tc_sensitivity *s = m->s;
    if (s->count == s->capacity) {
        size_t capacity = 2 * s->capacity + 256;
        s->moved = tc_arena_grow(s->arena, s->moved, s->count, capacity, sizeof *s->moved);
        s->capacity = capacity;
    }
    s->moved[s->count++] = entry;
}

static void push_constraint(making *m, uint32_t row, tc_interval value) {
    push(m, (tc_moved){.channel = m->s->map->of_row[row], .row = row, .family = UINT32_MAX, .value = value});
}

static bool is_seen(const making *m, uint32_t family, size_t member) {
    const tc_view *view = m->view;
    if (view->everything)
        return true;
    if (view->any_of != UINT32_MAX)
        return family == view->any_of && !(family == m->family && member == m->member);
    size_t agent = m->s->streams->model->families[family].first_agent + member;
    for (size_t i = 0; i < view->agent_count; i++) {
        if (view->agents[i] == agent)
            return true;
    }
    return false;
}

/* Whether members' entries of this row and component come together: some sum that reaches them is curved in the row. */
static bool come_together(const tc_sensitivity *s, uint32_t family, uint32_t row, uint32_t component) {
    const tc_variation *v = s->variation;
    const tc_derivatives *d = s->streams->derivatives;
    if (!v->couples_sums)
        return false;
    const tc_family_derivatives *of = &d->families[family];
    for (size_t e = 0; e < of->body_first_count; e++) {
        if (of->body_first[e].column != component)
            continue;
        uint32_t input = of->sums[of->body_first[e].row];
        for (size_t k = v->inputs.start[input]; k < v->inputs.start[input + 1]; k++) {
            if (d->outer_second[v->inputs.link[k].second].row == row)
                return true;
        }
    }
    return false;
}

static void push_jacobian(making *m, uint32_t family, uint32_t row, uint32_t component, size_t member,
                          tc_interval value) {
    if (member != SIZE_MAX && !is_seen(m, family, member))
        return;
    if (member != SIZE_MAX && come_together(m->s, family, row, component)) {
        member = SIZE_MAX;
        value = symmetric(tc_magnitude(value));
    }
    /* A lane that stands for several members: their channels may differ (one each, as published), so the worst. */
    bool several = family == m->family && member == m->member && m->stream->batch->weight[m->lane] > 1;
    uint32_t channel = tc_channel_at(m->s->map, family, several ? SIZE_MAX : member, row);
    push(m, (tc_moved){.channel = channel,
                       .row = row,
                       .family = family,
                       .component = component,
                       .member = member,
                       .value = value});
}

int tc_compare_moved(const void *x, const void *y) {
    const tc_moved *a = x, *b = y;
    if (a->family != b->family) /* constraints first */
        return a->family + 1 < b->family + 1 ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    return a->member < b->member ? -1 : a->member > b->member;
}

/* Norm of a vector of ones over the members seen. */
static double ones(const making *m, const tc_moved *entry) {
    if (entry->family == UINT32_MAX || entry->member != SIZE_MAX)
        return 1;
    double count = (double)m->s->streams->model->families[entry->family].count;
    if (!m->view->everything)
        count = m->view->any_of != UINT32_MAX ? 1 : fmin(count, (double)m->view->agent_count);
    return m->s->norm == 1 ? count : tc_sqrt_up(count);
}

static double extra_of(const making *m, const tc_moved *entry) {
    const tc_lattice *lattice = m->s->lattice;
    if (lattice == NULL)
        return 0;
    double extra = entry->family == UINT32_MAX    ? lattice->row_extra[entry->row]
                   : entry->channel != UINT32_MAX ? lattice->channel_extra[entry->channel]
                                                  : (double)INFINITY;
    return tc_mul_up(extra, ones(m, entry));
}

static size_t merge(tc_sensitivity *s, size_t first) {
    if (s->count - first > 1)
        qsort(s->moved + first, s->count - first, sizeof *s->moved, tc_compare_moved);
    size_t kept = first;
    for (size_t i = first; i < s->count; i++) {
        if (kept > first && tc_compare_moved(&s->moved[kept - 1], &s->moved[i]) == 0)
            s->moved[kept - 1].value = tc_iadd(s->moved[kept - 1].value, s->moved[i].value);
        else
            s->moved[kept++] = s->moved[i];
    }
    s->count = kept;
    return kept;
}

static void end_column(making *m, size_t column) {
    tc_sensitivity *s = m->s;
    (void)merge(s, m->first);
    for (size_t i = m->first; !s->whole_agents && s->lattice != NULL && i < s->count; i++)
        s->moved[i].value =
            tc_iadd(s->moved[i].value, symmetric(tc_div_up(extra_of(m, &s->moved[i]), s->lattice->step)));
    m->first = s->start[column + 1] = s->count;
}

/* ---- derivatives ------------------------------------------------------------------------------------------------- */

/* du_r/dx_c, with what rounding of the terms adds for each step of the states' lattice. */
typedef struct slope {
    tc_interval exact;
    double extra;
} slope;

static slope slope_of(const making *m, size_t entry) {
    const tc_sensitivity *s = m->s;
    slope found = {.exact = m->stream->first[entry * TC_LANES + m->lane]};
    if (s->lattice != NULL && !s->whole_agents) {
        uint32_t sum = m->stream->derivatives->sums[m->stream->derivatives->body_first[entry].row];
        found.extra = tc_div_up(s->lattice->sum_extra[sum], s->lattice->step);
    }
    return found;
}

static slope named_slope(void) { return (slope){.exact = tc_point(1)}; }

/* An outer derivative (weight, off by shift) times a slope; or, extras only, what it differs by from the exact product:
 * |(w + s)(a + e) - w a| <= |w + s| e + s |a|. */
static tc_interval times(const making *m, tc_interval weight, double shift, slope by) {
    if (m->s->extras_only)
        return symmetric(
            tc_add_up(tc_mul_up(tc_magnitude(weight), by.extra), tc_mul_up(shift, tc_magnitude(by.exact))));
    tc_interval wide = by.extra > 0 ? tc_iadd(by.exact, symmetric(by.extra)) : by.exact;
    return weight.lo == 1 && weight.hi == 1 ? wide : tc_imul(weight, wide);
}

static void add_gradient(making *m, size_t component, const tc_singled *singled, size_t named) {
    const tc_sensitivity *s = m->s;
    const tc_family_stream *f = m->stream;
    for (size_t t = f->term_start[component]; t < f->term_start[component + 1]; t++) {
        uint32_t outer = f->terms[t].outer;
        push_constraint(m, f->terms[t].row,
                        times(m, s->first[outer], s->first_shift[outer], slope_of(m, f->terms[t].first)));
    }
    for (size_t i = 0; i < named; i++) {
        for (size_t k = s->streams->input_start[singled[i].input];
             singled[i].component == component && k < s->streams->input_start[singled[i].input + 1]; k++) {
            uint32_t outer = s->streams->by_input[k];
            push_constraint(m, s->streams->derivatives->outer_first[outer].row,
                            times(m, s->first[outer], s->first_shift[outer], named_slope()));
        }
    }
}

/* The curvature of this member's own terms: it moves its own entries. */
static void add_own(making *m, size_t component) {
    tc_sensitivity *s = m->s;
    const tc_family_stream *f = m->stream;
    const tc_partial_links *links = &s->variation->components[m->family];
    if (!is_seen(m, m->family, m->member))
        return;
    for (size_t k = links->start[component]; k < links->start[component + 1]; k++) {
        tc_partial_link link = links->link[k];
        uint32_t input = f->derivatives->sums[f->derivatives->body_second[link.second].row];
        slope curvature = {.exact = f->second[link.second * (size_t)TC_LANES + m->lane]};
        for (size_t o = s->streams->input_start[input]; o < s->streams->input_start[input + 1]; o++) {
            uint32_t outer = s->streams->by_input[o];
            push_jacobian(m, m->family, s->streams->derivatives->outer_first[outer].row, link.other, m->member,
                          times(m, s->first[outer], s->first_shift[outer], curvature));
        }
    }
}

/* The curvature of outer functions: input s moves what they make of every input r. */
static void add_coupling(making *m, uint32_t input, slope by) {
    tc_sensitivity *s = m->s;
    const tc_derivatives *d = s->streams->derivatives;
    const tc_variation *v = s->variation;
    for (size_t k = v->inputs.start[input]; k < v->inputs.start[input + 1]; k++) {
        tc_partial_link link = v->inputs.link[k];
        uint32_t row = d->outer_second[link.second].row, family = v->input_family[link.other];
        tc_interval weight = times(m, s->second[link.second], s->second_shift[link.second], by);
        const tc_outer_input *other = &d->inputs[link.other];
        if (other->op == TC_COORD) {
            const tc_family *of = &s->streams->model->families[family];
            size_t offset = other->index - of->first_coord;
            push_jacobian(m, family, row, (uint32_t)(offset / of->count), offset % of->count, weight);
            continue;
        }
        for (size_t e = s->slope_start[other->index]; e < s->slope_end[other->index]; e++) {
            double size = tc_mul_up(tc_magnitude(weight), m->view->share[family][e]);
            if (size > 0 || m->view->everything)
                push_jacobian(m, family, row, d->families[family].body_first[e].column, SIZE_MAX, symmetric(size));
        }
    }
}

static void add_couplings(making *m, size_t component, const tc_singled *singled, size_t named) {
    const tc_family_derivatives *d = m->stream->derivatives;
    if (!m->s->streams->curved)
        return;
    for (size_t e = 0; e < d->body_first_count; e++) {
        if (d->body_first[e].column == component)
            add_coupling(m, d->sums[d->body_first[e].row], slope_of(m, e));
    }
    for (size_t i = 0; i < named; i++) {
        if (singled[i].component == component)
            add_coupling(m, singled[i].input, named_slope());
    }
}

/* ---- the unit `agent`: how far an entry moves when all of this agent's states do -------------------------------- */

static double width(tc_interval a) { return tc_add_up(a.hi, -a.lo); }

/* By the ranges of this member's terms: |g_j(x) - g_j(x')| <= sum_r sup |Phi_{j,r}| width(body_r) + named ones. */
static double move_of_row(const making *m, uint32_t row, const tc_singled *singled, size_t named) {
    const tc_sensitivity *s = m->s;
    const tc_family_stream *f = m->stream;
    const tc_derivatives *d = s->streams->derivatives;
    double total = 0;
    for (size_t b = 0; b < f->derivatives->body_count; b++) {
        uint32_t input = f->derivatives->sums[b];
        for (size_t o = s->streams->input_start[input]; o < s->streams->input_start[input + 1]; o++) {
            if (d->outer_first[s->streams->by_input[o]].row != row)
                continue;
            double move = width(f->values[b * TC_LANES + m->lane]);
            if (s->lattice != NULL)
                move = tc_add_up(move, s->lattice->sum_extra[input]);
            total = tc_add_up(total, tc_mul_up(tc_magnitude(s->first[s->streams->by_input[o]]), move));
        }
    }
    for (size_t i = 0; i < named; i++) {
        double move = width(tc_public_range(f->family, m->member, singled[i].component));
        for (size_t o = s->streams->input_start[singled[i].input]; o < s->streams->input_start[singled[i].input + 1];
             o++) {
            if (d->outer_first[s->streams->by_input[o]].row == row)
                total = tc_add_up(total, tc_mul_up(tc_magnitude(s->first[s->streams->by_input[o]]), move));
        }
    }
    return total;
}

/* What rounding of the terms that are summed does to a Jacobian entry through the outer functions, at most. */
static double coupled_extra(const making *m, const tc_moved *entry) {
    const tc_sensitivity *s = m->s;
    const tc_derivatives *d = s->streams->derivatives;
    double total = 0;
    for (size_t b = 0; s->lattice != NULL && s->streams->curved && b < m->stream->derivatives->body_count; b++) {
        uint32_t input = m->stream->derivatives->sums[b];
        for (size_t k = s->variation->inputs.start[input]; k < s->variation->inputs.start[input + 1]; k++) {
            tc_partial_link link = s->variation->inputs.link[k];
            if (d->outer_second[link.second].row != entry->row)
                continue;
            double size = tc_mul_up(tc_magnitude(s->second[link.second]), s->lattice->sum_extra[input]);
            const tc_outer_input *other = &d->inputs[link.other];
            if (other->op == TC_COORD || entry->member != SIZE_MAX) {
                total = tc_add_up(total, size);
                continue;
            }
            if (s->variation->input_family[link.other] != entry->family)
                continue; /* the entry is of a member that this sum does not add up */
            for (size_t e = s->slope_start[other->index]; e < s->slope_end[other->index]; e++)
                total = tc_add_up(total, tc_mul_up(size, m->view->share[entry->family][e]));
        }
    }
    return total;
}

/* One column for the agent: each entry's slopes times the ranges of its coordinates, or what is known better. */
static void collapse(making *m, const tc_singled *singled, size_t named) {
    tc_sensitivity *s = m->s;
    bool capped = tc_is_capped(s, m->family);
    if (capped)
        tc_capped_keep(s, m->stream->family);
    for (size_t c = 0; c < m->stream->family->dim; c++) {
        double range = width(tc_public_range(m->stream->family, m->member, c));
        for (size_t i = s->start[c]; i < s->start[c + 1]; i++)
            s->moved[i].value = symmetric(tc_mul_up(tc_magnitude(s->moved[i].value), range));
    }
    (void)merge(s, 0);
    if (capped)
        tc_capped_bound(s, m->family, m->member);
    for (size_t i = 0; i < s->count; i++) {
        tc_moved *entry = &s->moved[i];
        double move = entry->value.hi, sums = 0;
        if (entry->family == UINT32_MAX) {
            double known = move_of_row(m, entry->row, singled, named);
            for (size_t b = 0; s->lattice != NULL && b < m->stream->derivatives->body_count; b++) {
                uint32_t input = m->stream->derivatives->sums[b];
                for (size_t o = s->streams->input_start[input]; o < s->streams->input_start[input + 1]; o++) {
                    if (s->streams->derivatives->outer_first[s->streams->by_input[o]].row == entry->row)
                        sums = tc_add_up(sums, tc_mul_up(tc_magnitude(s->first[s->streams->by_input[o]]),
                                                         s->lattice->sum_extra[input]));
                }
            }
            move = fmin(tc_add_up(move, sums), known);
        } else {
            sums = coupled_extra(m, entry);
            move = tc_add_up(move, sums);
        }
        if (capped)
            s->capped.extra[i] = tc_add_up(sums, extra_of(m, entry));
        entry->value = symmetric(tc_add_up(move, extra_of(m, entry)));
    }
    s->start[1] = s->count;
}

void tc_make_block(tc_sensitivity *s, const tc_view *view, size_t family, size_t lane) {
    const tc_family_stream *f = &s->streams->families[family];
    making m = {
        .s = s, .view = view, .stream = f, .family = (uint32_t)family, .lane = lane, .member = f->batch->members[lane]};
    size_t named;
    const tc_singled *singled = tc_singled_of(f, m.member, &named);
    s->count = 0;
    s->start[0] = 0;
    for (size_t c = 0; c < f->family->dim; c++) {
        add_gradient(&m, c, singled, named);
        add_own(&m, c);
        add_couplings(&m, c, singled, named);
        end_column(&m, c);
    }
    if (s->whole_agents)
        collapse(&m, singled, named);
}
