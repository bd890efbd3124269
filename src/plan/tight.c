/* The tight calibration: epsilon is the price of everything together. First lists the channels. Then finds their
 * scales: relative ones from place.c, enlarged by one factor until the eavesdropper's certified price is the promised
 * one, on the finest possible lattice. */
#include "noise/sampler.h"
#include "model/spread.h"
#include "plan/planner.h"

#include <stdlib.h>
#include <string.h>

/* ---- channels ---------------------------------------------------------------------------------------------------- */

const char *tc_channel_family(tc_planner *p, const tc_family *family) {
    tc_buffer name = tc_buffer_new(p->arena, 4096);
    if (family->is_family)
        tc_buffer_puts(&name, family->name);
    else
        tc_agent_name(&name, family, 0);
    return tc_buffer_text(&name);
}

void tc_set_addresses(tc_layout *layout) {
    layout->entries = 0;
    for (size_t i = 0; i < layout->count; i++) {
        layout->channels[i].first_entry = layout->entries;
        layout->entries += layout->channels[i].entries;
    }
}

/* ---- tight: one channel for each row, and one for each row and family whose Jacobian entries vary ---------------- */

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

static void list_output_channels(tc_planner *p, const tc_entries *entries, tc_layout *layout) {
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
                                                 tc_channel_family(p, family))};
    }
    tc_set_addresses(layout);
}

/* ---- states: runs of members that some constraint depends on ----------------------------------------------------- */

static void list_state_channels(tc_planner *p, tc_layout *layout) {
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
            const char *name = tc_channel_family(p, family);
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
    tc_set_addresses(layout);
}

/* ---- scales ------------------------------------------------------------------------------------------------------ */

#define SHARE 1e-4 /* omega: what the lattice may add */
#define MOST_SHARE 0.05
#define TOKEN_STEPS 16
#define ENLARGE (1 + 0x1p-44) /* room for the roundings of a price that is computed again */

void tc_finish_channel(const tc_planner *p, tc_channel *channel, double scale) {
    bool gaussian = p->plan->mechanism == TC_MECHANISM_GAUSSIAN;
    channel->scale = scale;
    channel->variance = gaussian ? tc_mul_up(scale, scale) : tc_laplace_variance(scale);
    channel->lattice_scale = ldexp(scale, -channel->step_exponent);
}

const char *tc_no_bound(tc_arena *arena, const tc_channel *channel) {
    return tc_arena_format(
        arena,
        "no bound is proved on how far %s can move over the public box: narrow the box, or write the "
        "constraint in another way (`tacit check` says where)",
        channel->name);
}

const char *tc_check_scales(tc_arena *arena, const tc_layout *layout) {
    for (size_t i = 0; i < layout->count; i++) {
        const tc_channel *channel = &layout->channels[i];
        if (!isfinite(channel->scale))
            return tc_no_bound(arena, channel);
        if (!(channel->lattice_scale <= TC_MOST_LATTICE_SCALE))
            return tc_arena_format(arena,
                                   "the noise of %s would be more than 2^40 steps of its lattice: ask for a larger "
                                   "epsilon, a smaller distance or fewer rounds",
                                   channel->name);
        if (channel->lattice_scale < TC_LEAST_NOISE_SCALE)
            return tc_arena_format(arena,
                                   "the noise of %s would be finer than its lattice: ask for a smaller epsilon, or a "
                                   "larger distance",
                                   channel->name);
    }
    return NULL;
}

void tc_take_layout(tc_plan *plan, tc_placement placement, const tc_layout *layout) {
    plan->placement = placement;
    plan->channels = layout->channels;
    plan->channel_count = layout->count;
    plan->entry_count = layout->entries;
    plan->state_exponent = layout->state_exponent;
    plan->sum_exponents = layout->sum_exponents;
    plan->overhead = layout->overhead;
}

/* 2^-20 of the smaller of B (or D) and the narrowest side of the public box. */
int tc_first_state_exponent(const tc_planner *p) {
    const tc_model *model = p->model;
    double least = tc_hides_every_round(p->plan->adjacency) ? tc_least_distance(p->plan) : p->plan->adjacency_bound;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++) {
            bool varies = family->lower[c].column != NULL || family->upper[c].column != NULL;
            for (size_t k = tc_first_known(family, varies); k < tc_end_known(family, varies); k++) {
                double width = tc_coef_at(family->upper[c], k) - tc_coef_at(family->lower[c], k);
                least = width > 0 ? fmin(least, width) : least;
            }
            least = varies ? -tc_largest_of(family, -least) : least;
        }
    }
    return (isfinite(least) ? tc_exponent_below(least) : 0) - 20;
}

static tc_pricing pricing_of(tc_planner *p, const tc_layout *layout) {
    return (tc_pricing){.sensitivity = p->sensitivity,
                        .mechanism = p->plan->mechanism,
                        .unit = p->plan->adjacency,
                        .reach = p->reach,
                        .channels = layout->channels,
                        .channel_count = layout->count};
}

/* What no agent that may differ has an effect on needs no noise. It gets a few steps of its lattice, so that all that
 * is released is drawn, and audited, in one way. */
static double token_scale(const tc_channel *channel) { return ldexp(TOKEN_STEPS, channel->step_exponent); }

typedef struct tc_relative { /* by channel */
    double *scale;
    const bool *moves; /* whether an agent that may differ has an effect on it */
} tc_relative;

static void set_scale(const tc_planner *p, tc_channel *channel, const tc_relative *relative, size_t i, double scale) {
    tc_finish_channel(p, channel, relative->moves[i] ? scale : token_scale(channel));
}

/* One lattice: steps, extras, and all scales enlarged by one factor. */
static const char *try_lattice(tc_planner *p, tc_layout *layout, tc_lattices *lattices, const tc_lattice_wish *wish,
                               const tc_relative *relative, double least_factor) {
    tc_lattice_choice choice;
    const char *problem = tc_lattice_check_states(p->model, wish->state_exponent);
    if (problem != NULL)
        return problem;
    p->sensitivity->lattice = NULL;
    tc_sensitivity_prepare(p->sensitivity); /* exact outer derivatives: steps of sums follow from them */
    tc_lattice_choose(lattices, wish, layout->map, layout->channels, layout->count, &choice);
    if (choice.problem != NULL)
        return choice.problem;
    for (size_t i = 0; i < layout->count; i++)
        set_scale(p, &layout->channels[i], relative, i, relative->scale[i] * least_factor);
    /* Rounding only adds to a price, so a lattice that is too fine need not be priced. */
    problem = tc_check_scales(p->arena, layout);
    if (problem != NULL)
        return problem;
    *layout->lattice = choice.lattice;
    layout->sum_exponents = p->model->sum_count > 0 ? choice.sum_exponents : NULL;
    layout->state_exponent = wish->state_exponent;
    p->sensitivity->lattice = layout->lattice;
    p->reach = tc_reaches(p->arena, p->plan, ldexp(1, wish->state_exponent));
    tc_sensitivity_prepare(p->sensitivity);
    for (size_t i = 0; i < layout->count; i++)
        layout->channels[i].scale = relative->scale[i];
    tc_pricing pricing = pricing_of(p, layout);
    tc_viewer all = tc_eavesdropper();
    double price = tc_mul_up(p->multiplier, tc_price_view(&pricing, &all));
    double factor = tc_mul_up(tc_div_up(price, p->target), ENLARGE);
    for (size_t i = 0; i < layout->count; i++)
        set_scale(p, &layout->channels[i], relative, i, tc_mul_up(relative->scale[i], factor));
    return tc_check_scales(p->arena, layout);
}

static void set_constants(tc_planner *p, tc_layout *layout, const tc_channel_facts *exact) {
    tc_pricing pricing = pricing_of(p, layout);
    tc_channel_facts rounded = tc_channel_facts_find(&pricing);
    layout->overhead = 0;
    for (size_t i = 0; i < layout->count; i++) {
        tc_channel *channel = &layout->channels[i];
        channel->constant = exact->constant[i];
        channel->sensitivity = fmax(rounded.constant[i], exact->constant[i]);
        if (channel->constant > 0)
            layout->overhead = fmax(layout->overhead, channel->sensitivity / channel->constant - 1);
    }
}

void tc_scale_outputs(tc_planner *p, tc_layout *layout) {
    const tc_entries *entries =
        tc_entries_new(p->arena, p->model, p->plan->is_last ? p->plan->measured_derivatives : p->derivatives, NULL);
    list_output_channels(p, entries, layout);
    layout->map = tc_channel_map_new(p->arena, p->model, layout->channels, layout->count);
    layout->lattice = TC_NEW(p->arena, tc_lattice, 1);
    p->sensitivity->map = layout->map;
    p->sensitivity->lattice = NULL;
    /* Of a last round the lattice of states is decided, and public sets are enforced on it. */
    int exponent = p->state_exponent != NULL ? *p->state_exponent : tc_first_state_exponent(p);
    p->sensitivity->caps = tc_planned_caps(p, exponent);
    p->sensitivity->extras_only = false;
    p->reach = tc_reaches(p->arena, p->plan, 0);
    tc_sensitivity_prepare(p->sensitivity);
    tc_pricing pricing = pricing_of(p, layout);
    tc_channel_facts facts = tc_channel_facts_find(&pricing);
    for (size_t i = 0; i < layout->count; i++) {
        if (!isfinite(facts.constant[i]) || !isfinite(facts.slope[i])) {
            layout->problem = tc_no_bound(p->arena, &layout->channels[i]);
            return;
        }
    }
    if (layout->count == 0)
        return;
    tc_place_scales(&pricing, layout->channels, p->row_scale, p->box_length);
    tc_relative relative = {.scale = TC_NEW(p->arena, double, layout->count + 1), .moves = facts.moves};
    for (size_t i = 0; i < layout->count; i++)
        relative.scale[i] = layout->channels[i].scale;
    tc_lattices *lattices = tc_lattices_new(p->arena, p->streams, entries);
    bool agent = p->plan->adjacency == TC_ADJACENCY_AGENT;
    tc_viewer all = tc_eavesdropper();
    double least_factor = p->multiplier * tc_price_view(&pricing, &all) / p->target;
    tc_lattice_wish wish = {.share = SHARE,
                            .most_moved = facts.most_moved,
                            .slope = facts.slope,
                            .whole_agents = agent,
                            .state_exponent = exponent};
    bool decided = p->state_exponent != NULL, either = p->plan->distances != NULL;
    for (int i = 0; i < (either ? 2 : 1) * TC_LATTICE_TRIES && wish.share <= MOST_SHARE; i++) {
        layout->problem = try_lattice(p, layout, lattices, &wish, &relative, least_factor);
        if (layout->problem == NULL)
            break;
        /* coarser states, or, where no two of them need be far apart, a larger share for rounding; where both cost
         * something, what costs less */
        bool coarser = decided  ? false
                       : either ? tc_lattice_share(p->plan, wish.state_exponent) < wish.share ||
                                      tc_lattice_check_states(p->model, wish.state_exponent) != NULL
                                : !agent;
        wish.state_exponent += coarser;
        wish.share *= coarser ? 1 : 2;
    }
    if (layout->problem == NULL)
        set_constants(p, layout, &facts);
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* The unit agent alone relies on public sets. */
const tc_caps *tc_planned_caps(const tc_planner *p, int state_exponent) {
    bool agent = p->plan->adjacency == TC_ADJACENCY_AGENT && tc_lattice_check_states(p->model, state_exponent) == NULL;
    return agent ? tc_caps_new(p->arena, p->model, state_exponent) : NULL;
}

double tc_state_reach(const tc_planner *p, const tc_channel *channel, const tc_caps *caps) {
    const tc_family *family = &p->model->families[channel->family];
    bool gaussian = p->plan->mechanism == TC_MECHANISM_GAUSSIAN;
    bool capped = caps != NULL && caps->families[channel->family] != NULL;
    bool varies = !tc_same_public(family);
    size_t first = channel->first_member, end = first + (varies ? channel->member_count : 1);
    double worst = 0;
    for (size_t k = first; k < end; k++) {
        double sum = 0;
        if (varies && !tc_is_known(family, k))
            continue;
        for (size_t c = 0; c < family->dim; c++) {
            double width = tc_add_up(tc_coef_at(family->upper[c], k), -tc_coef_at(family->lower[c], k));
            sum = tc_add_up(sum, gaussian ? tc_mul_up(width, width) : width);
        }
        sum = gaussian ? tc_sqrt_up(sum) : sum;
        worst =
            fmax(worst, capped ? fmin(sum, tc_cap_reach(p->arena, caps, family, channel->family, k, gaussian)) : sum);
    }
    return varies ? tc_largest_of(family, worst) : worst;
}

void tc_scale_states(tc_planner *p, tc_layout *layout) {
    list_state_channels(p, layout);
    layout->state_exponent = tc_first_state_exponent(p);
    for (int i = 0; i < TC_LATTICE_TRIES; i++, layout->state_exponent++) {
        const tc_caps *caps = tc_planned_caps(p, layout->state_exponent);
        const double *exact = tc_reaches(p->arena, p->plan, 0);
        const double *reach = tc_reaches(p->arena, p->plan, ldexp(1, layout->state_exponent));
        layout->problem = tc_lattice_check_states(p->model, layout->state_exponent);
        layout->overhead = 0;
        for (size_t k = 0; k < layout->count; k++) {
            tc_channel *channel = &layout->channels[k];
            channel->constant = channel->sensitivity =
                p->plan->adjacency == TC_ADJACENCY_AGENT ? tc_state_reach(p, channel, caps) : 1;
            if (reach == NULL)
                continue;
            channel->constant = exact[channel->family];
            channel->sensitivity = reach[channel->family];
            if (channel->constant > 0)
                layout->overhead = fmax(layout->overhead, channel->sensitivity / channel->constant - 1);
        }
        for (size_t k = 0; layout->problem == NULL && k < layout->count; k++) {
            tc_channel *channel = &layout->channels[k];
            double scale = tc_div_up(tc_mul_up(p->multiplier, channel->sensitivity), p->target);
            channel->step_exponent = layout->state_exponent;
            tc_finish_channel(p, channel, scale > 0 ? tc_mul_up(scale, ENLARGE) : token_scale(channel));
        }
        if (layout->problem == NULL)
            layout->problem = tc_check_scales(p->arena, layout);
        if (layout->problem == NULL)
            return;
    }
}
