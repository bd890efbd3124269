#include "plan/plan_parts.h"

#include <stdlib.h>
#include <string.h>

static const char *family_name(tc_planner *p, const tc_family *family) {
    tc_buffer name = tc_buffer_new(p->arena, 4096);
    if (family->is_family)
        tc_buffer_puts(&name, family->name);
    else
        tc_agent_name(&name, family, 0);
    return tc_buffer_text(&name);
}

static void set_addresses(tc_layout *layout) {
    layout->entries = 0;
    for (size_t i = 0; i < layout->count; i++) {
        layout->channels[i].first_entry = layout->entries;
        layout->entries += layout->channels[i].entries;
    }
}

/* ---- tight: one channel for each row, and one for each row and family whose Jacobian entries vary -------------------
 */

typedef struct varying {
    uint32_t row, family;
    uint64_t entries;
} varying;

static int compare_varying(const void *x, const void *y) {
    const varying *a = x, *b = y;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->family < b->family ? -1 : a->family > b->family;
}

static size_t list_varying(tc_planner *p, const tc_entries *entries, varying **list) {
    size_t most = 0, count = 0;
    for (size_t f = 0; f < p->model->family_count; f++)
        most += entries->families[f].shared_count + entries->families[f].single_count;
    varying *found = TC_NEW(p->arena, varying, most + 1);
    for (uint32_t f = 0; f < p->model->family_count; f++) {
        const tc_family_entries *of = &entries->families[f];
        for (size_t e = 0; e < of->shared_count; e++) {
            if (of->shared[e].noised)
                found[count++] = (varying){of->shared[e].row, f, p->model->families[f].count};
        }
        for (size_t i = 0; i < of->single_count; i++) {
            if (of->singles[i].noised)
                found[count++] = (varying){of->singles[i].row, f, 1};
        }
    }
    qsort(found, count, sizeof *found, compare_varying);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && compare_varying(&found[kept - 1], &found[i]) == 0)
            found[kept - 1].entries += found[i].entries;
        else
            found[kept++] = found[i];
    }
    *list = found;
    return kept;
}

void tc_tight_channels(tc_planner *p, const tc_entries *entries, tc_layout *layout) {
    const tc_model *model = p->model;
    varying *list;
    size_t count = list_varying(p, entries, &list);
    bool *depends = TC_NEW(p->arena, bool, model->constraint_count + 1);
    for (size_t o = 0; o < p->derivatives->outer_first_count; o++)
        depends[p->derivatives->outer_first[o].row] = true;
    layout->channels = TC_NEW(p->arena, tc_channel, model->constraint_count + count + 1);
    for (uint32_t j = 0; j < model->constraint_count; j++) {
        if (depends[j])
            layout->channels[layout->count++] =
                (tc_channel){.kind = TC_CHANNEL_CONSTRAINTS,
                             .first_row = j,
                             .row_count = 1,
                             .family = UINT32_MAX,
                             .entries = 1,
                             .name = p->names_forms ? model->constraints[j].name
                                                    : tc_arena_format(p->arena, "g[%s]", model->constraints[j].name)};
    }
    for (size_t i = 0; i < count; i++) {
        const tc_family *family = &model->families[list[i].family];
        layout->channels[layout->count++] =
            (tc_channel){.kind = TC_CHANNEL_JACOBIAN,
                         .first_row = list[i].row,
                         .row_count = 1,
                         .family = list[i].family,
                         .member_count = family->count,
                         .entries = list[i].entries,
                         .name = tc_arena_format(p->arena, "J[%s, %s]", model->constraints[list[i].row].name,
                                                 family_name(p, family))};
    }
    set_addresses(layout);
}

/* ---- published: g, and the block of every agent --------------------------------------------------------------------
 */

void tc_published_channels(tc_planner *p, tc_layout *layout) {
    const tc_model *model = p->model;
    const tc_analysis *analysis = p->analysis;
    int norm = p->plan->mechanism == TC_MECHANISM_GAUSSIAN;
    bool declared = p->plan->constants == TC_DECLARED;
    layout->channels = TC_NEW(p->arena, tc_channel, analysis->agent_rows + 2);
    layout->channels[layout->count++] =
        (tc_channel){.kind = TC_CHANNEL_CONSTRAINTS,
                     .row_count = (uint32_t)model->constraint_count,
                     .family = UINT32_MAX,
                     .entries = model->constraint_count,
                     .name = "g",
                     .every_entry = true,
                     .constant = declared ? analysis->g[norm].declared : analysis->g[norm].upper};
    for (size_t i = 0; i < analysis->agent_rows; i++) {
        const tc_agent_constants *row = &analysis->agents[i];
        double constant = declared ? row->jacobian[norm].declared : row->jacobian[norm].upper;
        if (constant == 0)
            continue; /* a constant Jacobian: K = 0, no noise */
        tc_buffer name = tc_buffer_new(p->arena, 4096);
        tc_buffer_puts(&name, "J[");
        if (analysis->by_family)
            tc_buffer_puts(&name, family_name(p, row->family));
        else
            tc_agent_name(&name, row->family, row->member);
        tc_buffer_puts(&name, "]");
        size_t members = analysis->by_family ? row->family->count : 1;
        layout->channels[layout->count++] =
            (tc_channel){.kind = TC_CHANNEL_JACOBIAN,
                         .row_count = (uint32_t)model->constraint_count,
                         .family = (uint32_t)(row->family - model->families),
                         .first_member = analysis->by_family ? 0 : row->member,
                         .member_count = members,
                         .entries = model->constraint_count * row->family->dim * members,
                         .name = tc_buffer_text(&name),
                         .every_entry = true,
                         .constant = constant};
    }
    set_addresses(layout);
}

/* ---- states: runs of members that some constraint depends on --------------------------------------------------------
 */

void tc_state_channels(tc_planner *p, tc_layout *layout) {
    const tc_model *model = p->model;
    size_t most = 0;
    for (size_t f = 0; f < model->family_count; f++)
        most += p->streams->families[f].singled_members + 1;
    layout->channels = TC_NEW(p->arena, tc_channel, most + 1);
    for (uint32_t f = 0; f < model->family_count; f++) {
        const tc_family_stream *stream = &p->streams->families[f];
        const tc_family *family = stream->family;
        size_t next = 0;
        for (size_t member = 0; member < family->count;) {
            size_t end = family->count; /* by sums: every member */
            if (stream->term_count == 0) {
                if (next == stream->singled_count)
                    break;
                member = stream->singled[next].member;
                for (end = member + 1; next < stream->singled_count && stream->singled[next].member <= end; next++)
                    end += stream->singled[next].member == end;
            }
            bool all = end - member == family->count;
            const char *name = family_name(p, family);
            name = all ? tc_arena_format(p->arena, "x[%s]", name)
                       : tc_arena_format(p->arena, "x[%s[%zu..%zu]]", name, member + 1, end);
            layout->channels[layout->count++] = (tc_channel){.kind = TC_CHANNEL_STATES,
                                                             .family = f,
                                                             .first_member = member,
                                                             .member_count = end - member,
                                                             .entries = (end - member) * family->dim,
                                                             .name = name};
            member = end;
        }
    }
    set_addresses(layout);
}
