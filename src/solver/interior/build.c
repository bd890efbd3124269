/* How a problem becomes groups of blocks, the coupling between them, and components that nothing connects; and the
 * problems that are solved. */
#include "solver/interior/layout.h"

#include <math.h>
#include <string.h>

/* ---- groups: the members of a family as blocks ---- */

static tc_tape *tape_of(tc_arena *arena, const tc_dag *dag, const tc_expr *roots, size_t count) {
    return count == 0 ? NULL : tc_tape_new(arena, dag, roots, count);
}

static size_t gather_firsts(tc_expr *roots, size_t at, const tc_first *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        roots[at++] = list[i].value;
    return at;
}

static size_t gather_seconds(tc_expr *roots, size_t at, const tc_second *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        roots[at++] = list[i].value;
    return at;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* Scratch for the evaluation of TC_LANES members. */
static void own_kinks(tc_arena *arena, const tc_group *group, tc_group_tapes *tapes) {
    size_t inputs = group->states + group->family->column_count;
    tapes->enclose_work = TC_NEW(arena, tc_interval, tc_tape_work(tapes->kinks));
    tapes->ranges = TC_NEW(arena, tc_interval, inputs + group->kinks);
    tapes->range_at = TC_NEW(arena, const tc_interval *, inputs);
    tapes->kink_at = TC_NEW(arena, tc_interval *, group->kinks);
    for (size_t i = 0; i < inputs; i++)
        tapes->range_at[i] = &tapes->ranges[i];
    for (size_t t = 0; t < group->kinks; t++)
        tapes->kink_at[t] = &tapes->ranges[inputs + t];
}

static void own_tapes(tc_arena *arena, const tc_group *group, tc_group_tapes *tapes) {
    size_t work = 0, most = tapes->most_outputs, inputs = group->states + group->kinks;
    const tc_tape *all[] = {tapes->values, tapes->firsts, tapes->seconds};
    for (size_t t = 0; t < 3; t++)
        if (all[t] != NULL)
            work = larger(work, tc_tape_work(all[t]));
    tapes->work = TC_NEW(arena, tc_real, work);
    tapes->states = TC_NEW(arena, tc_real, inputs * TC_LANES);
    tapes->outputs = TC_NEW(arena, tc_real, most * TC_LANES);
    tapes->state_at = TC_NEW(arena, const tc_real *, inputs);
    tapes->output_at = TC_NEW(arena, tc_real *, most);
    tapes->data_at = TC_NEW(arena, const double *, group->family->column_count);
    for (size_t c = 0; c < inputs; c++)
        tapes->state_at[c] = tapes->states + c * TC_LANES;
    for (size_t r = 0; r < most; r++)
        tapes->output_at[r] = tapes->outputs + r * TC_LANES;
    if (group->lift != NULL)
        own_kinks(arena, group, tapes);
}

void tc_group_own(tc_arena *arena, tc_group *group) {
    if (group->derivatives != NULL)
        own_tapes(arena, group, &group->tapes);
    if (group->set != NULL)
        group->set = tc_set_new(arena, group->family);
}

static void init_tapes(tc_interior *solver, tc_group *group, const tc_dag *dag) {
    const tc_family_derivatives *d = group->derivatives;
    tc_group_tapes *tapes = &group->tapes;
    tc_arena *arena = solver->arena;
    const tc_lift *lift = group->lift;
    bool objective = solver->goal == TC_GOAL_OBJECTIVE;
    tapes->objective_first = lift != NULL ? lift->first : d->objective_first;
    tapes->objective_second = lift != NULL ? lift->second : d->objective_second;
    tapes->objective_firsts = lift != NULL ? lift->first_count : objective ? d->objective_first_count : 0;
    tapes->objective_seconds = lift != NULL ? lift->second_count : objective ? d->objective_second_count : 0;
    size_t lift_rows = lift != NULL ? lift->row_count : 0, lift_firsts = lift != NULL ? lift->row_first_count : 0;
    size_t lift_seconds = lift != NULL ? lift->row_second_count : 0;
    size_t bodies = group->is_coupled ? d->body_count : 0;
    size_t body_firsts = group->is_coupled ? d->body_first_count : 0;
    size_t body_seconds = group->is_coupled ? d->body_second_count : 0;
    tapes->lift_rows = tapes->objective_firsts + body_firsts;
    tapes->lift_firsts = tapes->lift_rows + lift_rows;
    tapes->lift_seconds = tapes->objective_seconds + body_seconds;
    size_t most = larger(bodies, larger(tapes->lift_firsts + lift_firsts, tapes->lift_seconds + lift_seconds));
    tc_expr *roots = TC_NEW(arena, tc_expr, most + 1);
    tapes->values = tape_of(arena, dag, d->bodies, bodies);
    size_t count = gather_firsts(roots, 0, tapes->objective_first, tapes->objective_firsts);
    count = gather_firsts(roots, count, d->body_first, body_firsts);
    for (size_t j = 0; j < lift_rows; j++)
        roots[count++] = lift->rows[j];
    count = lift == NULL ? count : gather_firsts(roots, count, lift->row_first, lift_firsts);
    tapes->firsts = tape_of(arena, dag, roots, count);
    count = gather_seconds(roots, 0, tapes->objective_second, tapes->objective_seconds);
    count = gather_seconds(roots, count, d->body_second, body_seconds);
    count = lift == NULL ? count : gather_seconds(roots, count, lift->row_second, lift_seconds);
    tapes->seconds = tape_of(arena, dag, roots, count);
    tapes->most_outputs = most;
    if (lift != NULL)
        tapes->kinks = tc_tape_new(arena, dag, lift->kinks, group->kinks);
    own_tapes(arena, group, tapes);
    group->gradients = TC_NEW(arena, tc_real, group->count * body_firsts);
}

static tc_iterate new_iterate(tc_arena *arena, size_t variables, size_t rows) {
    return (tc_iterate){.x = TC_NEW(arena, tc_real, variables),
                        .below = TC_NEW(arena, tc_real, variables),
                        .above = TC_NEW(arena, tc_real, variables),
                        .z_below = TC_NEW(arena, tc_real, variables),
                        .z_above = TC_NEW(arena, tc_real, variables),
                        .slack = TC_NEW(arena, tc_real, rows),
                        .y = TC_NEW(arena, tc_real, rows)};
}

static void init_blocks(tc_interior *solver, tc_group *group) {
    tc_arena *arena = solver->arena;
    size_t variables = group->count * group->dim, rows = group->count * group->rows;
    group->row_count = TC_NEW(arena, size_t, group->count);
    group->is_diagonal = TC_NEW(arena, bool, group->count);
    group->is_equality = TC_NEW(arena, bool, rows);
    group->row_scale = TC_NEW(arena, double, rows);
    group->lower = TC_NEW(arena, tc_real, variables);
    group->width = TC_NEW(arena, tc_real, variables);
    group->weight = TC_NEW(arena, tc_real, variables);
    group->center = TC_NEW(arena, tc_real, variables);
    group->kept = TC_NEW(arena, tc_real, variables);
    group->component = TC_NEW(arena, uint32_t, group->count);
    group->at = new_iterate(arena, variables, rows);
    group->trial = new_iterate(arena, variables, rows);
    group->step = new_iterate(arena, variables, rows);
    group->dual_residual = TC_NEW(arena, tc_real, variables);
    group->row_residual = TC_NEW(arena, tc_real, rows);
    group->miss_below = TC_NEW(arena, tc_real, variables);
    group->miss_above = TC_NEW(arena, tc_real, variables);
    group->miss_row = TC_NEW(arena, tc_real, rows);
    group->right_x = TC_NEW(arena, tc_real, variables);
    group->right_y = TC_NEW(arena, tc_real, rows);
    group->hessian = TC_NEW(arena, tc_real, variables * group->dim);
    group->hessian_diagonal = TC_NEW(arena, tc_real, variables);
    group->row_gradients = TC_NEW(arena, tc_real, rows * group->dim);
    group->row_solved = TC_NEW(arena, tc_real, rows * group->dim);
    group->row_factor = TC_NEW(arena, tc_real, rows * group->rows);
}

static void group_init(tc_interior *solver, tc_group *group, const tc_family *family, size_t count, const tc_dag *dag,
                       const tc_family_derivatives *derivatives, bool is_coupled) {
    group->family = family;
    group->derivatives = derivatives;
    group->count = count;
    group->states = family->dim;
    group->lift = derivatives != NULL && solver->goal == TC_GOAL_OBJECTIVE ? derivatives->lift : NULL;
    group->kinks = group->lift != NULL ? group->lift->count : 0;
    solver->has_kinks = solver->has_kinks || group->kinks > 0;
    solver->has_bends = solver->has_bends || (group->kinks > 0 && group->lift == derivatives->bends);
    group->dim = family->dim + group->kinks + tc_set_lift_limit(family);
    group->rows = tc_set_row_limit(family) + (group->lift != NULL ? group->lift->row_count : 0);
    group->is_coupled = is_coupled;
    if (derivatives != NULL)
        init_tapes(solver, group, dag);
    init_blocks(solver, group);
}

/* The variable t of "minimise t subject to g <= t". */
static void group_init_shift(tc_interior *solver, tc_group *group) {
    group->count = group->states = group->dim = 1;
    group->is_coupled = true;
    init_blocks(solver, group);
}

void tc_group_load(const tc_group *group, size_t member) {
    if (group->derivatives != NULL) /* else the set is the caller's, who has loaded it */
        tc_set_load(group->set, group->first_member + member);
}

static void place_variable(tc_group *group, size_t v, tc_real lower, tc_real upper, tc_real where) {
    tc_real width = upper > lower ? upper - lower : 0;
    group->lower[v] = lower;
    group->width[v] = width;
    group->trial.below[v] = where * width;
    group->trial.above[v] = width - where * width;
    group->trial.x[v] = lower + where * width;
}

void tc_group_place(tc_interior *solver, tc_group *group, size_t first, size_t end, tc_real where) {
    size_t dim = group->dim, rows = group->rows;
    tc_real *lift_lower = solver->scratch.x, *lift_upper = solver->scratch.y;
    for (size_t k = first; k < end; k++) {
        if (group->family == NULL) {
            place_variable(group, 0, -solver->shift_bound, solver->shift_bound, 0.5L);
            continue;
        }
        tc_group_load(group, k);
        group->row_count[k] = tc_rows_prepare(group, k, lift_lower, lift_upper);
        for (size_t c = 0; c < group->states; c++)
            place_variable(group, k * dim + c, group->set->lower[c], group->set->upper[c], where);
        for (size_t c = group->states; c < dim; c++)
            place_variable(group, k * dim + c, lift_lower[c - group->states], lift_upper[c - group->states], 0.5L);
    }
    memset(group->trial.z_below + first * dim, 0, (end - first) * dim * sizeof(tc_real));
    memset(group->trial.z_above + first * dim, 0, (end - first) * dim * sizeof(tc_real));
    memset(group->trial.y + first * rows, 0, (end - first) * rows * sizeof(tc_real));
    memset(group->trial.slack + first * rows, 0, (end - first) * rows * sizeof(tc_real));
}

/* ---- what couples the blocks ---- */

static void init_entries(tc_interior *solver, tc_coupling *coupling, bool has_shift) {
    tc_arena *arena = solver->arena;
    const tc_derivatives *d = coupling->derivatives;
    coupling->entry_count = d->outer_first_count;
    for (size_t j = 0; j < coupling->m; j++)
        coupling->entry_count += has_shift && !tc_is_free(coupling, j);
    coupling->entry_row = TC_NEW(arena, uint32_t, coupling->entry_count);
    coupling->entry_column = TC_NEW(arena, uint32_t, coupling->entry_count);
    coupling->first = TC_NEW(arena, tc_real, coupling->entry_count);
    coupling->column_start = TC_NEW(arena, uint32_t, coupling->q + 2);
    coupling->column_entry = TC_NEW(arena, uint32_t, coupling->entry_count);
    uint32_t row = 0;
    for (size_t e = 0; e < coupling->entry_count; e++) {
        bool shift = e >= d->outer_first_count;
        while (shift && tc_is_free(coupling, row))
            row++;
        coupling->entry_row[e] = shift ? row++ : d->outer_first[e].row;
        coupling->entry_column[e] = shift ? (uint32_t)(coupling->q - 1) : d->outer_first[e].column;
        coupling->column_start[coupling->entry_column[e] + 2]++;
    }
    for (size_t r = 0; r <= coupling->q; r++)
        coupling->column_start[r + 1] += coupling->column_start[r];
    for (size_t e = 0; e < coupling->entry_count; e++)
        coupling->column_entry[coupling->column_start[coupling->entry_column[e] + 1]++] = (uint32_t)e;
}

static void init_outer_tapes(tc_interior *solver, tc_coupling *coupling) {
    tc_arena *arena = solver->arena;
    const tc_derivatives *d = coupling->derivatives;
    const tc_dag *dag = coupling->model->dag;
    size_t most = coupling->m;
    most = d->outer_first_count > most ? d->outer_first_count : most;
    most = d->outer_second_count > most ? d->outer_second_count : most;
    tc_expr *roots = TC_NEW(arena, tc_expr, most);
    for (size_t j = 0; j < coupling->m; j++)
        roots[j] = coupling->model->constraints[j].outer;
    coupling->values = tc_tape_new(arena, dag, roots, coupling->m);
    for (size_t e = 0; e < d->outer_first_count; e++)
        roots[e] = d->outer_first[e].value;
    coupling->firsts = tc_tape_new(arena, dag, roots, d->outer_first_count);
    for (size_t e = 0; e < d->outer_second_count; e++)
        roots[e] = d->outer_second[e].value;
    coupling->seconds = tc_tape_new(arena, dag, roots, d->outer_second_count);
    size_t work = tc_tape_work(coupling->values);
    work = tc_tape_work(coupling->firsts) > work ? tc_tape_work(coupling->firsts) : work;
    work = tc_tape_work(coupling->seconds) > work ? tc_tape_work(coupling->seconds) : work;
    coupling->work = TC_NEW(arena, tc_real, work);
    coupling->outputs = TC_NEW(arena, tc_real, most);
    coupling->output_at = TC_NEW(arena, tc_real *, most);
    for (size_t r = 0; r < most; r++)
        coupling->output_at[r] = coupling->outputs + r;
    if (d->input_count > coupling->model->sum_count)
        coupling->coords = TC_NEW(arena, tc_real, coupling->model->state_count);
}

/* Which outer inputs are coordinates of this group's members. */
static void init_coordinates(tc_interior *solver, tc_group *group) {
    const tc_coupling *coupling = solver->coupling;
    const tc_derivatives *d = coupling->derivatives;
    size_t count = 0, first = group->family == NULL ? 0 : group->family->first_coord,
           size = group->count * group->states;
    for (size_t r = coupling->model->sum_count; group->family != NULL && r < d->input_count; r++)
        count += d->inputs[r].index >= first && d->inputs[r].index < first + size;
    if (group->family == NULL)
        count = 1;
    if (count == 0)
        return;
    group->coord_start = TC_NEW(solver->arena, size_t, group->count + 2);
    group->coord_input = TC_NEW(solver->arena, uint32_t, count);
    group->coord_component = TC_NEW(solver->arena, uint32_t, count);
    if (group->family == NULL) {
        group->coord_start[1] = 1;
        group->coord_input[0] = (uint32_t)(coupling->q - 1);
        return;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = coupling->model->sum_count; r < d->input_count; r++) {
            if (d->inputs[r].index < first || d->inputs[r].index >= first + size)
                continue;
            size_t offset = (size_t)d->inputs[r].index - first, member = offset % group->count;
            if (pass == 0) {
                group->coord_start[member + 2]++;
            } else {
                size_t place = group->coord_start[member + 1]++;
                group->coord_input[place] = (uint32_t)r;
                group->coord_component[place] = (uint32_t)(offset / group->count);
            }
        }
        for (size_t k = 0; pass == 0 && k <= group->count; k++)
            group->coord_start[k + 1] += group->coord_start[k];
    }
}

static tc_real *reals(tc_interior *solver, size_t count) { return TC_NEW(solver->arena, tc_real, count); }

size_t tc_coupling_size(const tc_model *model, const tc_derivatives *derivatives) {
    return model->constraint_count + (derivatives->outer_second_count > 0 ? derivatives->input_count : 0);
}

static void coupling_init(tc_interior *solver, const tc_model *model, const tc_derivatives *derivatives) {
    if (tc_coupling_size(model, derivatives) > TC_COUPLING_LIMIT)
        tc_raise(solver->arena, TC_TOO_LARGE);
    bool has_shift = solver->goal == TC_GOAL_MARGIN;
    tc_coupling *coupling = solver->coupling = TC_NEW(solver->arena, tc_coupling, 1);
    size_t m = model->constraint_count, q = derivatives->input_count + has_shift;
    *coupling = (tc_coupling){.model = model, .derivatives = derivatives, .m = m, .q = q};
    coupling->is_curved = derivatives->outer_second_count > 0;
    init_entries(solver, coupling, has_shift);
    init_outer_tapes(solver, coupling);
    for (size_t g = 0; g < solver->group_count; g++)
        init_coordinates(solver, &solver->groups[g]);
    tc_real **by_constraint[] = {&coupling->row_scale,  &coupling->weight, &coupling->center,   &coupling->g,
                                 &coupling->mu,         &coupling->slack,  &coupling->trial_mu, &coupling->trial_slack,
                                 &coupling->residual,   &coupling->miss,   &coupling->right,    &coupling->step_mu,
                                 &coupling->step_slack, &coupling->kept};
    for (size_t a = 0; a < sizeof by_constraint / sizeof *by_constraint; a++)
        *by_constraint[a] = reals(solver, m);
    tc_real **by_input[] = {&coupling->inputs, &coupling->input_size, &coupling->prices, &coupling->step_prices,
                            &coupling->moved};
    for (size_t a = 0; a < sizeof by_input / sizeof *by_input; a++)
        *by_input[a] = reals(solver, q);
    coupling->component = TC_NEW(solver->arena, uint32_t, m);
    coupling->second = reals(solver, derivatives->outer_second_count);
    size_t size = coupling->is_curved ? q + m : m;
    coupling->matrix = reals(solver, size * size);
    coupling->schur = coupling->is_curved ? reals(solver, q * q) : coupling->matrix;
    coupling->schur_start = coupling->is_curved ? TC_NEW(solver->arena, size_t, q + 1) : NULL;
    coupling->schur_column = coupling->is_curved ? TC_NEW(solver->arena, uint32_t, q * q) : NULL;
    coupling->order = TC_NEW(solver->arena, size_t, size);
    coupling->unknown = reals(solver, size);
    coupling->scratch = reals(solver, size);
    coupling->unit = reals(solver, size);
    for (size_t j = 0; j < m; j++)
        coupling->row_scale[j] = 1;
}

/* ---- components: agents joined by constraints, found by union-find over agents, sums and constraints ---- */

typedef struct forest {
    uint32_t *parent;
} forest;

static uint32_t root_of(forest *f, uint32_t node) {
    while (f->parent[node] != node)
        node = f->parent[node] = f->parent[f->parent[node]];
    return node;
}

static void join(forest *f, uint32_t a, uint32_t b) {
    a = root_of(f, a);
    b = root_of(f, b);
    if (a < b)
        f->parent[b] = a;
    else
        f->parent[a] = b;
}

/* Nodes: inputs first (sums, coordinates, t), then constraints, then members group by group. */
static void join_all(tc_interior *solver, forest *f) {
    const tc_coupling *coupling = solver->coupling;
    uint32_t node = (uint32_t)(coupling->q + coupling->m);
    for (size_t e = 0; e < coupling->entry_count; e++)
        join(f, coupling->entry_column[e], (uint32_t)coupling->q + coupling->entry_row[e]);
    for (size_t g = 0; g < solver->group_count; g++) {
        const tc_group *group = &solver->groups[g];
        for (size_t k = 0; k < group->count; k++, node++) {
            for (size_t b = 0; group->derivatives != NULL && b < group->derivatives->body_count; b++)
                join(f, group->derivatives->sums[b], node);
            for (size_t i = 0; group->coord_start != NULL && i < group->coord_start[k + 1] - group->coord_start[k]; i++)
                join(f, group->coord_input[group->coord_start[k] + i], node);
        }
    }
}

static uint32_t number_of(tc_interior *solver, forest *f, uint32_t *number, uint32_t node) {
    uint32_t root = root_of(f, node);
    if (number[root] == UINT32_MAX)
        number[root] = (uint32_t)solver->component_count++;
    return number[root];
}

static void components_init(tc_interior *solver) {
    size_t members = 0, inner = solver->coupling == NULL ? 0 : solver->coupling->q + solver->coupling->m;
    for (size_t g = 0; g < solver->group_count; g++)
        members += solver->groups[g].count;
    if (inner + members >= UINT32_MAX)
        tc_raise(solver->arena, TC_TOO_LARGE);
    forest f = {.parent = TC_NEW(solver->arena, uint32_t, inner + members)};
    uint32_t *number = TC_NEW(solver->arena, uint32_t, inner + members), node = (uint32_t)inner;
    for (uint32_t n = 0; n < inner + members; n++) {
        f.parent[n] = n;
        number[n] = UINT32_MAX;
    }
    if (solver->coupling != NULL)
        join_all(solver, &f);
    for (size_t j = 0; solver->coupling != NULL && j < solver->coupling->m; j++)
        solver->coupling->component[j] = number_of(solver, &f, number, (uint32_t)(solver->coupling->q + j));
    for (size_t g = 0; g < solver->group_count; g++)
        for (size_t k = 0; k < solver->groups[g].count; k++, node++)
            solver->groups[g].component[k] = number_of(solver, &f, number, node);
    solver->components = TC_NEW(solver->arena, tc_component, solver->component_count);
}

size_t tc_interior_components(const tc_interior *solver, uint32_t *of_state, uint32_t *of_constraint) {
    for (size_t g = 0; g < solver->group_count; g++) {
        const tc_group *group = &solver->groups[g];
        for (size_t k = 0; group->family != NULL && k < group->count; k++)
            for (size_t c = 0; c < group->states; c++)
                of_state[tc_coord_of(group->family, k, c)] = group->component[k];
    }
    for (size_t j = 0; solver->coupling != NULL && j < solver->coupling->m; j++)
        of_constraint[j] = solver->coupling->component[j];
    return solver->component_count;
}

/* ---- the problems ---- */

static tc_interior *new_solver(tc_arena *arena, tc_goal goal, size_t group_count, tc_real regularization) {
    tc_interior *solver = TC_NEW(arena, tc_interior, 1);
    solver->arena = arena;
    solver->goal = goal;
    solver->groups = TC_NEW(arena, tc_group, group_count);
    solver->group_count = group_count;
    solver->regularization = regularization;
    return solver;
}

enum { MOST_COUPLED = 2048 }; /* numbers of the vectors that couple blocks: they stay in the fastest cache */

tc_block_scratch tc_scratch_new(const tc_interior *solver) {
    size_t dim = 1, rows = 1, local = 1;
    const tc_coupling *coupling = solver->coupling;
    for (size_t g = 0; g < solver->group_count; g++) {
        const tc_group *group = &solver->groups[g];
        size_t inputs = group->dim + (group->derivatives == NULL ? 0 : group->derivatives->body_count);
        dim = group->dim > dim ? group->dim : dim;
        rows = group->rows > rows ? group->rows : rows;
        local = inputs > local ? inputs : local;
    }
    tc_block_scratch scratch = {.x = TC_NEW(solver->arena, tc_real, dim),
                                .y = TC_NEW(solver->arena, tc_real, rows > dim ? rows : dim)};
    if (coupling == NULL)
        return scratch;
    if (!coupling->is_curved)
        local = coupling->m;
    size_t names = coupling->q > coupling->m ? coupling->q : coupling->m;
    size_t lanes = MOST_COUPLED / (local * (dim + rows)) + 1;
    scratch.couple_lanes = lanes < TC_LANES ? lanes : TC_LANES;
    scratch.couple_slots = local;
    scratch.couple = TC_NEW(solver->arena, tc_real, scratch.couple_lanes * local * dim);
    scratch.couple_rows = TC_NEW(solver->arena, tc_real, scratch.couple_lanes * local * rows);
    scratch.couple_first = TC_NEW(solver->arena, size_t, local);
    scratch.couple_end = TC_NEW(solver->arena, size_t, local);
    scratch.couple_name = TC_NEW(solver->arena, uint32_t, local);
    scratch.couple_slot = TC_NEW(solver->arena, uint32_t, names);
    memset(scratch.couple_slot, 0xff, names * sizeof(uint32_t));
    return scratch;
}

static void new_scratch(tc_interior *solver) {
    solver->component_steepest = TC_NEW(solver->arena, tc_real, solver->component_count);
    solver->component_counts = TC_NEW(solver->arena, size_t, solver->component_count);
    solver->scratch = tc_scratch_new(solver);
}

static void add_families(tc_interior *solver, const tc_model *model, const tc_derivatives *derivatives) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        group_init(solver, &solver->groups[f], family, family->count, model->dag, &derivatives->families[f],
                   model->constraint_count > 0);
        solver->groups[f].set = tc_set_new(solver->arena, family);
    }
}

tc_interior *tc_interior_model(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                               tc_real regularization, tc_team *team) {
    tc_interior *solver = new_solver(arena, TC_GOAL_OBJECTIVE, model->family_count, regularization);
    solver->is_least_norm = true;
    add_families(solver, model, derivatives);
    if (model->constraint_count > 0)
        coupling_init(solver, model, derivatives);
    components_init(solver);
    new_scratch(solver);
    tc_parts_init(solver, team);
    return solver;
}

tc_interior *tc_interior_margin(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives) {
    tc_interior *solver = new_solver(arena, TC_GOAL_MARGIN, model->family_count + 1, 1e-10L);
    add_families(solver, model, derivatives);
    group_init_shift(solver, &solver->groups[model->family_count]);
    coupling_init(solver, model, derivatives);
    components_init(solver);
    new_scratch(solver);
    return solver;
}

tc_interior *tc_interior_feasible(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                  tc_real give) {
    tc_interior *solver = new_solver(arena, TC_GOAL_FEASIBLE, model->family_count, 1e-10L);
    solver->give = give;
    add_families(solver, model, derivatives);
    coupling_init(solver, model, derivatives);
    components_init(solver);
    new_scratch(solver);
    return solver;
}

tc_interior *tc_interior_agent(tc_arena *arena, const tc_model *model, const tc_family_derivatives *derivatives,
                               const tc_family *family) {
    tc_interior *solver = new_solver(arena, TC_GOAL_OBJECTIVE, 1, 1e-13L);
    group_init(solver, solver->groups, family, 1, model->dag, derivatives, false);
    solver->groups[0].set = tc_set_new(arena, family);
    components_init(solver);
    new_scratch(solver);
    return solver;
}

void tc_interior_member(tc_interior *solver, size_t member) { solver->groups[0].first_member = member; }

static tc_interior *new_for_set(tc_arena *arena, tc_set *set, tc_goal goal) {
    tc_interior *solver = new_solver(arena, goal, 1, 0);
    group_init(solver, solver->groups, set->family, 1, NULL, NULL, false);
    solver->groups[0].set = set;
    components_init(solver);
    new_scratch(solver);
    return solver;
}

tc_interior *tc_interior_nearest(tc_arena *arena, tc_set *set) { return new_for_set(arena, set, TC_GOAL_NEAREST); }
tc_interior *tc_interior_quadratic(tc_arena *arena, tc_set *set) { return new_for_set(arena, set, TC_GOAL_QUADRATIC); }

static bool solve_exactly(tc_interior *solver) {
    tc_interior_options options = {.gap = 1e-26L, .residual = 1e-16L, .iterations = 150};
    tc_interior_result result = tc_interior_solve(solver, &options);
    return result.gap <= 1e-19L && result.residual <= 1e-13L;
}

bool tc_interior_project(tc_interior *solver, const double *v, double *x) {
    const tc_group *group = &solver->groups[0];
    solver->target = v;
    bool is_exact = solve_exactly(solver);
    for (size_t c = 0; c < group->states; c++)
        x[c] = fmin(fmax((double)group->at.x[c], group->set->lower[c]), group->set->upper[c]);
    return is_exact;
}

bool tc_interior_step(tc_interior *solver, const tc_real *weight, const tc_real *center, tc_real *x) {
    solver->near_weight = weight;
    solver->near_center = center;
    solver->regularization = 0;
    bool is_exact = solve_exactly(solver);
    tc_interior_block(solver, x);
    return is_exact;
}

bool tc_interior_minimize(tc_interior *solver, const tc_quadratic *quadratic, tc_real *x) {
    solver->quadratic = quadratic;
    bool is_exact = solve_exactly(solver);
    tc_interior_block(solver, x);
    return is_exact;
}
