/* Which problems may be spread over ranks: those whose analysis goes over members in order, or needs one of them alone.
 * Of the others every rank knows all data. */
#include "model/spread.h"

#include <string.h>

static bool is_column(tc_coef coef) { return coef.column != NULL; }

/* Whether an expression is affine in states, whatever the data are; affine is by place in nodes. */
static bool is_affine_node(const tc_dag *dag, tc_expr e, const bool *affine) {
    const tc_node *n = &dag->nodes[e];
    if (!n->has_state)
        return true;
    switch ((int)n->op) {
    case TC_STATE:
    case TC_SUM:
    case TC_COORD:
        return true;
    case TC_ADD:
    case TC_SUB:
        return affine[n->a] && affine[n->b];
    case TC_NEG:
        return affine[n->a];
    case TC_MUL:
        return affine[n->a] && affine[n->b] && !(dag->nodes[n->a].has_state && dag->nodes[n->b].has_state);
    case TC_DIV:
        return affine[n->a] && !dag->nodes[n->b].has_state;
    default:
        return false;
    }
}

static bool has_same_box(const tc_family *family);

/* Whether a constraint is affine in sums and coordinates. Members of spread families that it names have public boxes
 * that all ranks know; *named counts them. */
static bool outer_spreads(const tc_model *model, tc_expr root, size_t *named) {
    tc_mark mark = tc_arena_mark(model->arena);
    size_t count;
    const tc_expr *nodes = tc_reachable(model->arena, model->dag, &root, 1, &count);
    bool *affine = TC_NEW(model->arena, bool, model->dag->count), spreads = true;
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &model->dag->nodes[nodes[i]];
        affine[nodes[i]] = is_affine_node(model->dag, nodes[i], affine);
        if (n->op != TC_COORD || !tc_family_of_coord(model, n->u.index)->is_spread)
            continue;
        spreads = spreads && has_same_box(tc_family_of_coord(model, n->u.index));
        ++*named;
    }
    spreads = spreads && affine[root];
    tc_arena_rewind(model->arena, mark);
    return spreads;
}

static bool are_even(const tc_coef *coefs, size_t count) {
    bool even = true;
    for (size_t i = 0; coefs != NULL && i < count; i++)
        even = even && !is_column(coefs[i]);
    return even;
}

static bool has_same_box(const tc_family *family) {
    return are_even(family->lower, family->dim) && are_even(family->upper, family->dim);
}

/* Constants declared by member are compared with each member's. */
static bool family_spreads(const tc_family *family) {
    return !is_column(family->declared_objective) && !is_column(family->declared_jacobian[0]) &&
           !is_column(family->declared_jacobian[1]);
}

bool tc_spreads(const tc_model *model) {
    bool spreads = model->role == TC_ROLE_WHOLE && model->constraint_count <= TC_MOST_SPREAD_ROWS;
    size_t named = 0;
    for (size_t j = 0; spreads && j < model->constraint_count; j++)
        spreads = outer_spreads(model, model->constraints[j].outer, &named) && named <= TC_MOST_SPREAD_ROWS;
    for (size_t f = 0; spreads && f < model->family_count; f++)
        spreads = family_spreads(&model->families[f]);
    return spreads;
}
