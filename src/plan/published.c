/* Where method published puts its noise: on g and on its Jacobian.
 *
 * The published calibration is the paper's scheme to the letter: b = K_1 B / epsilon, sigma = kappa(delta, epsilon) K_2
 * B, for g and for the block of every agent by itself. K grows by what the lattice adds (docs/proofs/lattice.md,
 * section 4). In the tight calibration tight.c finds the scales. */
#include "plan/planner.h"

#include <stdio.h>
#include <string.h>

#define LOOSE 2    /* upper bound over lower bound */
#define SHARE 1e-6 /* of a sensitivity: less than the digits that the paper prints */

/* ---- channels: g, and the block of every agent ------------------------------------------------------------------- */

static void list_channels(tc_planner *p, tc_layout *layout) {
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
            tc_buffer_puts(&name, tc_channel_family(p, row->family));
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
    tc_set_addresses(layout);
}

static void check_constant(tc_planner *p, const char *name, const tc_bracket *bracket) {
    char declared[32], certified[32];
    if (!(bracket->declared < bracket->upper))
        return;
    for (int digits = 6; digits <= 17; digits++) { /* as many as distinguish them */
        (void)snprintf(declared, sizeof declared, "%.*g", digits, bracket->declared);
        (void)snprintf(certified, sizeof certified, "%.*g", digits, bracket->upper);
        if (strcmp(declared, certified) != 0)
            break;
    }
    tc_plan_void(p, "the declared constant %s of %s is below the certified %s", declared, name, certified);
}

static bool check_constants(tc_planner *p, tc_layout *layout) {
    int norm = p->plan->mechanism == TC_MECHANISM_GAUSSIAN;
    const tc_analysis *analysis = p->analysis;
    bool declared = p->plan->constants == TC_DECLARED;
    size_t next = 1;
    if (declared && !tc_declared(&analysis->g[norm])) {
        tc_refuse(p, true, "--constants declared: the file declares no l%d constant of the constraints", norm + 1);
        return false;
    }
    if (declared)
        check_constant(p, "g", &analysis->g[norm]);
    for (size_t i = 0; declared && i < analysis->agent_rows; i++) {
        if (!tc_declared(&analysis->agents[i].jacobian[norm])) {
            tc_buffer name = tc_buffer_new(p->arena, 4096);
            tc_agent_name(&name, analysis->agents[i].family, analysis->agents[i].member);
            tc_refuse(p, true, "--constants declared: the file declares no l%d constant of the Jacobian of '%s'",
                      norm + 1, tc_buffer_text(&name));
            return false;
        }
        if (analysis->agents[i].jacobian[norm].declared != 0)
            check_constant(p, layout->channels[next++].name, &analysis->agents[i].jacobian[norm]);
        else
            check_constant(p, "a Jacobian block without noise", &analysis->agents[i].jacobian[norm]);
    }
    for (size_t i = 0; i < layout->count; i++) {
        if (!isfinite(layout->channels[i].constant)) {
            tc_refuse(p, false, "%s", tc_no_bound(p->arena, &layout->channels[i]));
            return false;
        }
    }
    return true;
}

/* Warns of the certified constant with the widest bracket. */
static void warn_of_loose_bounds(tc_planner *p, const tc_layout *layout) {
    int norm = p->plan->mechanism == TC_MECHANISM_GAUSSIAN;
    const tc_bracket *bracket = &p->analysis->g[norm];
    double worst = bracket->upper / bracket->lower;
    const char *name = "g";
    size_t next = 1;
    for (size_t i = 0; i < p->analysis->agent_rows; i++) {
        bracket = &p->analysis->agents[i].jacobian[norm];
        if (bracket->upper == 0)
            continue; /* not released with noise */
        const char *system = layout->channels[next++].name;
        if (bracket->upper / bracket->lower > worst) {
            worst = bracket->upper / bracket->lower;
            name = system;
        }
    }
    if (isinf(worst))
        tc_plan_warn(p, "the noise may be far more than is needed: the bound of %s is not tight", name);
    else if (worst > LOOSE)
        tc_plan_warn(p, "the noise may be %.3g times what is needed: the bound of %s is not tight", worst, name);
}

/* ---- what the lattice adds to each system ------------------------------------------------------------------------ */

typedef struct added {
    tc_planner *planner;
    const tc_layout *layout;
    double *open;        /* by channel: the open column */
    double *column;      /* by channel: the largest column sum */
    double *row;         /* by constraint: the row's sum */
    double *family_each; /* by family: what entries that come together add to each member's own, in one column */
    double *family_open;
    double *touches; /* by family: entries that one column moves */
} added;

/* What is open is empty between two blocks. */
static void pack_added(void *context, tc_parcel *parcel) {
    const added *a = context;
    const tc_model *model = a->planner->model;
    tc_put(parcel, a->column, a->layout->count * sizeof *a->column);
    tc_put(parcel, a->row, model->constraint_count * sizeof *a->row);
    tc_put(parcel, a->family_each, model->family_count * sizeof *a->family_each);
    tc_put(parcel, a->touches, model->family_count * sizeof *a->touches);
}

static void take_added(void *context, const tc_sensitivity_block *block) {
    added *a = context;
    const tc_model *model = a->planner->model;
    for (size_t c = 0; c < block->columns; c++) {
        double count = 0;
        for (size_t i = block->start[c]; i < block->start[c + 1]; i++) {
            const tc_moved *entry = &block->moved[i];
            double size = tc_magnitude(entry->value);
            if (entry->family == UINT32_MAX)
                a->row[entry->row] = tc_add_up(a->row[entry->row], tc_mul_up(block->weight, size));
            if (entry->family != UINT32_MAX && entry->member == SIZE_MAX) {
                a->family_open[entry->family] = tc_add_up(a->family_open[entry->family], size);
                count += (double)model->families[entry->family].count;
                continue;
            }
            count += entry->family != UINT32_MAX;
            if (entry->channel != UINT32_MAX)
                a->open[entry->channel] = tc_add_up(a->open[entry->channel], size);
        }
        for (size_t i = block->start[c]; i < block->start[c + 1]; i++) {
            const tc_moved *entry = &block->moved[i];
            if (entry->family != UINT32_MAX && entry->member == SIZE_MAX) {
                a->family_each[entry->family] = fmax(a->family_each[entry->family], a->family_open[entry->family]);
                continue;
            }
            if (entry->channel == UINT32_MAX)
                continue;
            a->column[entry->channel] = fmax(a->column[entry->channel], a->open[entry->channel]);
        }
        for (size_t i = block->start[c]; i < block->start[c + 1]; i++) {
            const tc_moved *entry = &block->moved[i];
            if (entry->family != UINT32_MAX && entry->member == SIZE_MAX)
                a->family_open[entry->family] = 0;
            else if (entry->channel != UINT32_MAX)
                a->open[entry->channel] = 0;
        }
        size_t f = (size_t)(block->family - model->families);
        a->touches[f] = fmax(a->touches[f], count);
    }
}

/* l1: the largest column sum. l2: by Schur's test with the largest row sum; an entry of an agent's block is moved by as
 * many coordinates as that coordinate moves entries. */
static double added_to(const added *a, size_t channel, bool gaussian) {
    const tc_channel *at = &a->layout->channels[channel];
    double column = a->column[channel], row = 0;
    if (at->kind == TC_CHANNEL_JACOBIAN) {
        column = tc_add_up(column, a->family_each[at->family]);
        row = tc_mul_up(a->touches[at->family], column);
    }
    for (uint32_t j = 0; at->kind == TC_CHANNEL_CONSTRAINTS && j < at->row_count; j++)
        row = fmax(row, a->row[j]);
    return gaussian ? tc_sqrt_up(tc_mul_up(column, row)) : column;
}

/* Equal agents were examined once, through one of their channels. Gives all channels of a family the largest value
 * (where_zero: only those without one). */
static void spread(tc_planner *p, const tc_layout *layout, double *values, bool where_zero) {
    double *most = TC_NEW(p->arena, double, p->model->family_count + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < layout->count; i++) {
            const tc_channel *channel = &layout->channels[i];
            if (channel->kind != TC_CHANNEL_JACOBIAN)
                continue;
            if (pass == 0)
                most[channel->family] = fmax(most[channel->family], values[i]);
            else if (!where_zero || values[i] == 0)
                values[i] = most[channel->family];
        }
    }
}

static const char *try_published(tc_planner *p, tc_layout *layout, tc_lattices *lattices, const tc_lattice_wish *wish) {
    tc_plan *plan = p->plan;
    bool gaussian = plan->mechanism == TC_MECHANISM_GAUSSIAN;
    tc_lattice_choice choice;
    const char *problem = tc_lattice_check_states(p->model, wish->state_exponent);
    if (problem != NULL)
        return problem;
    p->sensitivity->lattice = NULL;
    tc_sensitivity_prepare(p->sensitivity);
    tc_lattice_choose(lattices, wish, layout->map, layout->channels, layout->count, &choice);
    if (choice.problem != NULL)
        return choice.problem;
    spread(p, layout, choice.lattice.channel_extra, false);
    *layout->lattice = choice.lattice;
    layout->sum_exponents = p->model->sum_count > 0 ? choice.sum_exponents : NULL;
    layout->state_exponent = wish->state_exponent;
    tc_sensitivity *s = p->sensitivity;
    s->lattice = layout->lattice;
    tc_sensitivity_prepare(s);
    size_t m = p->model->constraint_count, families = p->model->family_count;
    added a = {.planner = p,
               .layout = layout,
               .open = TC_NEW(p->arena, double, layout->count + 1),
               .column = TC_NEW(p->arena, double, layout->count + 1),
               .row = TC_NEW(p->arena, double, m + 1),
               .family_each = TC_NEW(p->arena, double, families + 1),
               .family_open = TC_NEW(p->arena, double, families + 1),
               .touches = TC_NEW(p->arena, double, families + 1)};
    s->norm = 1;
    s->extras_only = true;
    (void)tc_sensitivity_blocks(s, tc_view_new(s, true, NULL, 0, UINT32_MAX), take_added, pack_added, &a);
    s->extras_only = false;
    spread(p, layout, a.column, false);
    layout->overhead = 0;
    double hold = gaussian ? tc_hold_l2(plan->hold_cap) : tc_hold_l1(plan->hold_cap);
    for (size_t i = 0; i < layout->count; i++) {
        tc_channel *channel = &layout->channels[i];
        channel->sensitivity = tc_add_up(channel->constant, added_to(&a, i, gaussian));
        layout->overhead = fmax(layout->overhead, channel->sensitivity / channel->constant - 1);
        double distance = tc_mul_up(plan->adjacency_bound, hold);
        /* paper: Theorem 1, Theorem 2 */
        double scale = gaussian
                           ? tc_mul_up(tc_kappa(plan->delta, plan->epsilon), tc_mul_up(channel->sensitivity, distance))
                           : tc_laplace_scale(channel->sensitivity, distance, plan->epsilon);
        tc_finish_channel(p, channel, scale);
    }
    return tc_check_scales(p->arena, layout);
}

static void scale_published(tc_planner *p, tc_layout *layout) {
    list_channels(p, layout);
    if (!check_constants(p, layout))
        return;
    if (p->plan->constants == TC_CERTIFIED)
        warn_of_loose_bounds(p, layout);
    bool *every = TC_NEW(p->arena, bool, p->model->family_count + 1);
    for (size_t i = 0; i < layout->count; i++) {
        if (layout->channels[i].kind == TC_CHANNEL_JACOBIAN)
            every[layout->channels[i].family] = true;
    }
    layout->map = tc_channel_map_new(p->arena, p->model, layout->channels, layout->count);
    layout->lattice = TC_NEW(p->arena, tc_lattice, 1);
    p->sensitivity->map = layout->map;
    p->sensitivity->lattice = NULL;
    tc_sensitivity_prepare(p->sensitivity);
    tc_pricing pricing = {.sensitivity = p->sensitivity,
                          .mechanism = TC_MECHANISM_LAPLACE,
                          .unit = p->plan->adjacency,
                          .channels = layout->channels,
                          .channel_count = layout->count};
    tc_channel_facts facts = tc_channel_facts_find(&pricing);
    spread(p, layout, facts.slope, true);
    tc_lattices *lattices =
        tc_lattices_new(p->arena, p->streams, tc_entries_new(p->arena, p->model, p->derivatives, every));
    tc_lattice_wish wish = {.share = SHARE,
                            .most_moved = facts.most_moved,
                            .slope = facts.slope,
                            .state_exponent = tc_first_state_exponent(p)};
    for (int i = 0; i < TC_LATTICE_TRIES; i++, wish.state_exponent++) {
        layout->problem = try_published(p, layout, lattices, &wish);
        if (layout->problem == NULL)
            return;
    }
}

/* ---- where the noise goes ---------------------------------------------------------------------------------------- */

/* Method published, tight calibration: the noise is always on outputs. The plan also predicts noise on states, because
 * its hash covers that prediction. */
static void place_tight(tc_planner *p) {
    tc_plan *plan = p->plan;
    tc_layout outputs = {0}, states = {0};
    p->row_scale = plan->row_scale = tc_row_scales(p->arena, p->streams, NULL);
    p->box_length = tc_box_length(p->model, NULL);
    plan->facts[0] = (tc_placement_facts){.placement = TC_PLACEMENT_OUTPUTS, .usable = true};
    plan->facts[1] = (tc_placement_facts){.placement = TC_PLACEMENT_STATES};
    tc_scale_outputs(p, &outputs);
    tc_take_layout(plan, TC_PLACEMENT_OUTPUTS, &outputs);
    if (outputs.problem != NULL) {
        tc_refuse(p, false, "placement outputs: %s", outputs.problem);
        return;
    }
    tc_predict_outputs(p->arena, p->model, p->derivatives, outputs.channels, outputs.count, plan->row_scale,
                       p->box_length, &plan->facts[0]);
    tc_scale_states(p, &states);
    if (states.problem == NULL) {
        double variance = 0;
        for (size_t i = 0; i < states.count; i++)
            variance = fmax(variance, states.channels[i].variance);
        const tc_lattice *kept = p->sensitivity->lattice;
        p->sensitivity->lattice = NULL;
        tc_predict_states(p->sensitivity, variance, plan->row_scale, p->box_length, &plan->facts[1]);
        p->sensitivity->lattice = kept;
    }
}

static void place_as_published(tc_planner *p) {
    tc_plan *plan = p->plan;
    tc_layout layout = {0};
    p->row_scale = plan->row_scale = tc_row_scales(p->arena, p->streams, NULL);
    p->box_length = tc_box_length(p->model, NULL);
    plan->facts[0] = (tc_placement_facts){.placement = TC_PLACEMENT_OUTPUTS, .usable = true};
    scale_published(p, &layout);
    tc_take_layout(plan, TC_PLACEMENT_OUTPUTS, &layout);
    if (plan->problem == NULL && layout.problem != NULL)
        tc_refuse(p, false, "%s", layout.problem);
    if (plan->problem == NULL)
        tc_predict_outputs(p->arena, p->model, p->derivatives, layout.channels, layout.count, plan->row_scale,
                           p->box_length, &plan->facts[0]);
}

void tc_place_published(tc_planner *p) {
    if (p->plan->calibration == TC_PUBLISHED)
        place_as_published(p);
    else
        place_tight(p);
}
