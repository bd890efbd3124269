/* The connected components of a problem: agents joined by constraints, found by union-find over agents, sums and
 * constraints. */
#include "solver/interior/interior_parts.h"

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

void tc_components_init(tc_interior *solver) {
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
