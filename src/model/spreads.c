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
    default: /* and coordinates: their members would stand apart */
        return false;
    }
}

static bool is_affine(const tc_model *model, tc_expr root) {
    tc_mark mark = tc_arena_mark(model->arena);
    size_t count;
    const tc_expr *nodes = tc_reachable(model->arena, model->dag, &root, 1, &count);
    bool *affine = TC_NEW(model->arena, bool, model->dag->count);
    for (size_t i = 0; i < count; i++)
        affine[nodes[i]] = is_affine_node(model->dag, nodes[i], affine);
    bool found = affine[root];
    tc_arena_rewind(model->arena, mark);
    return found;
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

/* Distances of protected data follow from what is public (analysis/data/data.h), here the same for all members. */
static bool has_even_ranges(const tc_family *family) {
    bool even = has_same_box(family) && are_even(family->slater, family->dim) && are_even(family->room, family->dim);
    for (size_t d = 0; d < family->datum_count; d++) {
        const tc_datum *datum = &family->data[d];
        even = even && are_even(datum->lower, datum->count) && are_even(datum->upper, datum->count) &&
               are_even(datum->by, datum->count);
    }
    return even;
}

static bool family_spreads(const tc_family *family) {
    return !is_column(family->declared_objective) && !is_column(family->declared_jacobian[0]) &&
           !is_column(family->declared_jacobian[1]) && tc_public_set(family) == NULL &&
           (family->datum_count == 0 || has_even_ranges(family));
}

static bool is_alike(const tc_model *model, const tc_family *family) {
    bool alike = has_same_box(family);
    for (size_t r = 0; r < model->sum_count; r++)
        alike = alike &&
                !(&model->families[model->sums[r].family] == family && model->dag->nodes[model->sums[r].body].has_data);
    return alike;
}

bool tc_spreads(const tc_model *model, tc_spread most) {
    bool spreads =
        model->role == TC_ROLE_WHOLE && model->constraint_count <= TC_MOST_SPREAD_ROWS && tc_equality_count(model) == 0;
    for (size_t j = 0; spreads && j < model->constraint_count; j++)
        spreads = is_affine(model, model->constraints[j].outer);
    for (size_t f = 0; spreads && f < model->family_count; f++)
        spreads = family_spreads(&model->families[f]) &&
                  (most == TC_SPREAD_ALL || !model->families[f].is_spread || is_alike(model, &model->families[f]));
    return spreads;
}
