/* Relations with kinks, without them: max(u, v) <= c is u <= c and v <= c, |u| <= c is u <= c and -u <= c, and
 * norm(u) <= r is (|u|^2 - r^2) / (2 r) <= 0, which has the value and the multiplier of norm(u) - r at its boundary, to
 * first order. */
#include "model/elaborate/elaborate.h"

enum { MOST_ROWS = 16 }; /* that one relation may become */

typedef struct kink_reader {
    tc_elaborator *elaborator;
    tc_expr rows[MOST_ROWS];
    size_t count;
} kink_reader;

static bool is_kink(const tc_node *n) { return n->has_state && (n->op == TC_ABS || n->op == TC_MAX); }

/* Whether a body of a sum under root has a kink, which no rewriting takes out. */
static bool finds_in_sums(tc_elaborator *elaborator, const tc_expr *nodes, size_t count, tc_expr *kink) {
    const tc_dag *dag = elaborator->dag;
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &dag->nodes[nodes[i]];
        if (n->op != TC_SUM)
            continue;
        size_t inner;
        const tc_expr *body = tc_nodes_under(elaborator, elaborator->model->sums[n->u.index].body, &inner);
        for (size_t k = 0; k < inner; k++)
            if (is_kink(&dag->nodes[body[k]])) {
                *kink = body[k];
                return true;
            }
    }
    return false;
}

/* The sign of what multiplies a node, by place: 1, -1, or 0 where it is not reached by sums and constant factors. */
static void pass_sign(const tc_elaborator *elaborator, int8_t *signs, bool *reached, tc_expr child, int sign) {
    size_t at = elaborator->places[child];
    signs[at] = !reached[at] || signs[at] == sign ? (int8_t)sign : 0;
    reached[at] = true;
}

static int sign_of(const tc_dag *dag, tc_expr factor) {
    const tc_node *n = &dag->nodes[factor];
    return n->op != TC_CONST ? 0 : n->u.value > 0 ? 1 : n->u.value < 0 ? -1 : 0;
}

static void spread_sign(const tc_elaborator *elaborator, int8_t *signs, bool *reached, tc_expr e, int sign) {
    const tc_dag *dag = elaborator->dag;
    const tc_node *n = &dag->nodes[e];
    if (n->op == TC_ADD || n->op == TC_SUB) {
        pass_sign(elaborator, signs, reached, n->a, sign);
        pass_sign(elaborator, signs, reached, n->b, n->op == TC_ADD ? sign : -sign);
    } else if (n->op == TC_NEG) {
        pass_sign(elaborator, signs, reached, n->a, -sign);
    } else if (n->op == TC_MUL || n->op == TC_DIV) {
        bool first = dag->nodes[n->a].has_state;
        pass_sign(elaborator, signs, reached, n->a, first ? sign * sign_of(dag, n->b) : 0);
        pass_sign(elaborator, signs, reached, n->b, first || n->op == TC_DIV ? 0 : sign * sign_of(dag, n->a));
    } else {
        for (size_t k = 0; k < tc_operand_count(dag, e); k++)
            pass_sign(elaborator, signs, reached, tc_operand(dag, e, k), 0);
    }
}

/* The last kink under root, which no other kink is made of; *sign as above. */
static tc_expr find_kink(tc_elaborator *elaborator, tc_expr root, int *sign) {
    const tc_dag *dag = elaborator->dag;
    size_t count;
    const tc_expr *nodes = tc_nodes_under(elaborator, root, &count);
    int8_t *signs = TC_NEW(elaborator->arena, int8_t, count);
    bool *reached = TC_NEW(elaborator->arena, bool, count);
    tc_expr kink = TC_NO_EXPR;
    *sign = 0;
    if (finds_in_sums(elaborator, nodes, count, &kink))
        return kink;
    nodes = tc_nodes_under(elaborator, root, &count); /* places again */
    signs[count - 1] = 1;
    reached[count - 1] = true;
    for (size_t i = count; i-- > 0;) {
        if (is_kink(&dag->nodes[nodes[i]])) {
            *sign = signs[i];
            return nodes[i];
        }
        spread_sign(elaborator, signs, reached, nodes[i], signs[i]);
    }
    return TC_NO_EXPR;
}

/* root with other in the place of kink, which sums and constant factors lead to. */
static tc_expr replaced(tc_elaborator *elaborator, tc_expr root, tc_expr kink, tc_expr other) {
    tc_dag *dag = elaborator->dag;
    size_t count;
    const tc_expr *nodes = tc_nodes_under(elaborator, root, &count);
    tc_expr *made = TC_NEW(elaborator->arena, tc_expr, count);
    const uint32_t *places = elaborator->places;
    for (size_t i = 0; i < count; i++) {
        const tc_node n = dag->nodes[nodes[i]]; /* a copy: the pool may move */
        made[i] = nodes[i] == kink ? other : nodes[i];
        bool chain = n.op == TC_ADD || n.op == TC_SUB || n.op == TC_NEG || n.op == TC_MUL || n.op == TC_DIV;
        if (nodes[i] == kink || !chain)
            continue;
        tc_expr a = made[places[n.a]], b = n.op == TC_NEG ? a : made[places[n.b]];
        if (a == n.a && (n.op == TC_NEG || b == n.b))
            continue;
        made[i] = n.op == TC_ADD   ? tc_add(dag, a, b)
                  : n.op == TC_SUB ? tc_sub(dag, a, b)
                  : n.op == TC_NEG ? tc_neg(dag, a)
                  : n.op == TC_MUL ? tc_mul(dag, a, b)
                                   : tc_div(dag, a, b);
    }
    return made[count - 1];
}

static bool refuse(tc_elaborator *elaborator, tc_expr kink, int sign, tc_span span) {
    tc_span at = elaborator->dag->spans[kink]; /* of the first relation that has it */
    if (at.offset < span.offset || at.offset + at.length > span.offset + span.length)
        at = span;
    if (sign < 0)
        tc_error(elaborator->diagnostics, at,
                 "this side of the relation must not have it: abs, max, pos and norms stand on the smaller side of <= "
                 "or >=, and min on the larger one");
    else
        tc_error(elaborator->diagnostics, at,
                 "this has a kink that no rewriting takes out of the relation; give an agent a state t with "
                 "'private set abs(u) <= t', or max(u, v) <= t, and write t here");
    return false;
}

static bool take_out(kink_reader *reader, tc_expr e, tc_span span) {
    tc_elaborator *elaborator = reader->elaborator;
    int sign;
    tc_expr kink = find_kink(elaborator, e, &sign);
    if (kink == TC_NO_EXPR) {
        if (reader->count == MOST_ROWS) {
            tc_error(elaborator->diagnostics, span,
                     "this relation has so many kinks that more than %d rows would be needed; give an agent a state t "
                     "with 'private set abs(u) <= t', and write t here",
                     MOST_ROWS);
            return false;
        }
        reader->rows[reader->count++] = e;
        return true;
    }
    if (sign <= 0)
        return refuse(elaborator, kink, sign, span);
    const tc_node n = elaborator->dag->nodes[kink];
    tc_expr other = n.op == TC_ABS ? tc_neg(elaborator->dag, n.a) : n.b;
    return take_out(reader, replaced(elaborator, e, kink, n.a), span) &&
           take_out(reader, replaced(elaborator, e, kink, other), span);
}

tc_expr *tc_rows_without_kinks(tc_elaborator *elaborator, tc_expr e, tc_span span, size_t *count) {
    kink_reader *reader = TC_NEW(elaborator->arena, kink_reader, 1);
    reader->elaborator = elaborator;
    if (!take_out(reader, e, span))
        return NULL;
    *count = reader->count;
    return reader->rows;
}

/* ---- norms --------------------------------------------------------------------------------------------------------
 */

/* e = factor norm + rest, with constants factor > 0 and rest; false where it is not of that form. */
static bool is_norm_relation(const tc_dag *dag, tc_expr e, tc_expr *norm, double *factor, double *rest) {
    const tc_node *n = &dag->nodes[e];
    *factor = 1;
    *rest = 0;
    if (n->op == TC_SUB && dag->nodes[n->b].op == TC_CONST) {
        *rest = -dag->nodes[n->b].u.value;
        e = n->a;
    } else if (n->op == TC_ADD && (dag->nodes[n->a].op == TC_CONST || dag->nodes[n->b].op == TC_CONST)) {
        bool first = dag->nodes[n->a].op == TC_CONST;
        *rest = dag->nodes[first ? n->a : n->b].u.value;
        e = first ? n->b : n->a;
    }
    n = &dag->nodes[e];
    if (n->op == TC_MUL && dag->nodes[n->a].op == TC_CONST) {
        *factor = dag->nodes[n->a].u.value;
        e = n->b;
    } else if (n->op == TC_DIV && dag->nodes[n->b].op == TC_CONST) {
        *factor = 1 / dag->nodes[n->b].u.value;
        e = n->a;
    }
    *norm = e;
    return dag->nodes[e].op == TC_NORM && *factor > 0;
}

/* With a constant among its arguments a norm has no kink. */
static bool can_be_zero(const tc_dag *dag, tc_expr norm) {
    for (size_t i = 0; i < tc_operand_count(dag, norm); i++)
        if (!dag->nodes[tc_operand(dag, norm, i)].has_state)
            return false;
    return true;
}

tc_expr tc_row_without_norm(tc_elaborator *elaborator, tc_expr e, tc_span span) {
    tc_dag *dag = elaborator->dag;
    tc_expr norm, sum = tc_const(dag, 0);
    double factor, rest;
    if (!is_norm_relation(dag, e, &norm, &factor, &rest) || !can_be_zero(dag, norm))
        return e;
    double radius = -rest / factor;
    if (!(radius > 0)) {
        tc_error(elaborator->diagnostics, span,
                 radius == 0
                     ? "a norm that must be 0 leaves no point that satisfies this strictly; write the components "
                       "as equalities"
                     : "a norm is never negative: no point satisfies this");
        return TC_NO_EXPR;
    }
    for (size_t i = 0; i < tc_operand_count(dag, norm); i++)
        sum = tc_add(dag, sum, tc_pow(dag, tc_operand(dag, norm, i), 2));
    tc_expr excess = tc_sub(dag, sum, tc_pow(dag, tc_const(dag, radius), 2));
    return tc_mul(dag, tc_const(dag, factor), tc_div(dag, excess, tc_const(dag, 2 * radius)));
}
