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

static bool are_even(const tc_coef *coefs, size_t count) {
    bool even = true;
    for (size_t i = 0; coefs != NULL && i < count; i++)
        even = even && !is_column(coefs[i]);
    return even;
}

static bool has_same_box(const tc_family *family) {
    return are_even(family->lower, family->dim) && are_even(family->upper, family->dim);
}

/* Why not, of one constraint: it must be affine in sums and coordinates, and members of spread families that it names
 * must have public boxes that all ranks know; *named counts them. */
static const char *why_not_outer(const tc_model *model, const tc_constraint *constraint, size_t *named) {
    size_t count;
    const char *why = NULL;
    tc_mark mark = tc_arena_mark(model->arena);
    const tc_expr *nodes = tc_reachable(model->arena, model->dag, &constraint->outer, 1, &count);
    bool *affine = TC_NEW(model->arena, bool, model->dag->count);
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &model->dag->nodes[nodes[i]];
        affine[nodes[i]] = is_affine_node(model->dag, nodes[i], affine);
        if (n->op != TC_COORD || !tc_family_of_coord(model, n->u.index)->is_spread)
            continue;
        ++*named;
        if (why != NULL || has_same_box(tc_family_of_coord(model, n->u.index)))
            continue;
        tc_buffer name = tc_buffer_new(model->arena, 1 << 16);
        tc_coord_name(&name, model, n->u.index);
        why = tc_arena_format(model->arena, "constraint %s names %s, and boxes of %s differ by member",
                              constraint->name, tc_buffer_text(&name), tc_family_of_coord(model, n->u.index)->name);
    }
    if (!affine[constraint->outer])
        why = tc_arena_format(model->arena,
                              "constraint %s is not affine in sums, so that every member moves every other's slopes",
                              constraint->name);
    if (why == NULL)
        tc_arena_rewind(model->arena, mark);
    return why;
}

/* Constants declared by member are compared with each member's. */
static const char *why_not_family(const tc_model *model, const tc_family *family) {
    bool differs = is_column(family->declared_objective) || is_column(family->declared_jacobian[0]) ||
                   is_column(family->declared_jacobian[1]);
    return differs ? tc_arena_format(model->arena, "the declared constants of %s differ by member", family->name)
                   : NULL;
}

const char *tc_why_whole(const tc_model *model) {
    size_t named = 0;
    const char *why = NULL;
    if (model->role != TC_ROLE_WHOLE)
        return "the file holds one party's part";
    if (model->constraint_count > TC_MOST_SPREAD_ROWS)
        return tc_arena_format(model->arena, "there are %zu constraints, more than %d", model->constraint_count,
                               TC_MOST_SPREAD_ROWS);
    for (size_t j = 0; why == NULL && j < model->constraint_count; j++)
        why = why_not_outer(model, &model->constraints[j], &named);
    if (why == NULL && named > TC_MOST_SPREAD_ROWS)
        why = tc_arena_format(model->arena, "constraints name members %zu times, more than %d", named,
                              TC_MOST_SPREAD_ROWS);
    for (size_t f = 0; why == NULL && f < model->family_count; f++)
        why = why_not_family(model, &model->families[f]);
    return why;
}
