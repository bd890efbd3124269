/* The coefficients of an affine function of a member's state, by one sweep from the root down: what multiplies a node
 * is known before its children are met. */
#include "model/elaborate/elaborate.h"

static void pass(tc_elaborator *elaborator, tc_expr *factors, tc_expr child, tc_expr factor) {
    tc_expr *place = &factors[elaborator->places[child]];
    *place = *place == TC_NO_EXPR ? factor : tc_add(elaborator->dag, *place, factor);
}

/* Hands the factor of a node that depends on states to its operands. false where the node is not affine. */
static bool spread(tc_elaborator *elaborator, tc_expr *factors, tc_expr node, tc_expr factor) {
    tc_dag *dag = elaborator->dag;
    tc_node n = dag->nodes[node];
    switch ((tc_op)n.op) {
    case TC_ADD:
    case TC_SUB:
        pass(elaborator, factors, n.a, factor);
        pass(elaborator, factors, n.b, n.op == TC_ADD ? factor : tc_neg(dag, factor));
        return true;
    case TC_NEG:
        pass(elaborator, factors, n.a, tc_neg(dag, factor));
        return true;
    case TC_MUL:
        if (dag->nodes[n.a].has_state && dag->nodes[n.b].has_state)
            return false;
        if (dag->nodes[n.a].has_state)
            pass(elaborator, factors, n.a, tc_mul(dag, factor, n.b));
        else
            pass(elaborator, factors, n.b, tc_mul(dag, factor, n.a));
        return true;
    case TC_DIV:
        if (dag->nodes[n.b].has_state)
            return false;
        pass(elaborator, factors, n.a, tc_div(dag, factor, n.b));
        return true;
    case TC_CONST:
    case TC_DATA:
    case TC_STATE:
    case TC_COORD:
    case TC_SUM:
    case TC_POWI:
    case TC_POWR:
    case TC_EXP:
    case TC_LOG:
    case TC_SQRT:
    case TC_HUBER:
    case TC_CLAMP:
    case TC_INSIDE:
    case TC_LSE:
    case TC_SOFTMAX:
    case TC_HUMP:
    case TC_PAIR:
    case TC_NORM:
    case TC_DIRECTION:
    case TC_BEND:
        break;
    }
    return false;
}

bool tc_affine_of(tc_elaborator *elaborator, tc_expr root, tc_affine *affine, tc_expr *culprit) {
    tc_dag *dag = elaborator->dag;
    size_t count;
    tc_expr *nodes = tc_nodes_under(elaborator, root, &count);
    tc_expr *factors = TC_NEW(elaborator->arena, tc_expr, count);
    for (size_t i = 0; i < count; i++)
        factors[i] = TC_NO_EXPR;
    factors[count - 1] = tc_const(dag, 1);
    *affine = (tc_affine){.constant = tc_const(dag, 0)};
    for (size_t i = count; i-- > 0;) {
        if (factors[i] == TC_NO_EXPR)
            continue;
        if (!dag->nodes[nodes[i]].has_state) {
            affine->constant = tc_add(dag, affine->constant, tc_mul(dag, factors[i], nodes[i]));
        } else if (dag->nodes[nodes[i]].op == TC_STATE) {
            size_t at = affine->count;
            size_t component = (size_t)dag->nodes[nodes[i]].u.index;
            size_t components = affine->count;
            if (tc_is_const(dag, factors[i], 0))
                continue;
            TC_PUSH(elaborator->arena, affine->components, components, component);
            TC_PUSH(elaborator->arena, affine->factors, affine->count, factors[i]);
            for (; at > 0 && affine->components[at - 1] > component; at--) {
                affine->components[at] = affine->components[at - 1];
                affine->factors[at] = affine->factors[at - 1];
            }
            affine->components[at] = component;
            affine->factors[at] = factors[i];
        } else if (!spread(elaborator, factors, nodes[i], factors[i])) {
            *culprit = nodes[i];
            return false;
        }
    }
    return true;
}
