#include "calculus/tape/tape_code.h"

#define NUMBER tc_interval
#define INPUTS tc_interval_inputs
#define EVALUATE tc_tape_enclose
#define DATA_ROWS_ARE_NUMBERS
#define FROM_DATA(x) (x)
#define FROM_DOUBLE(x) tc_point(x)
#define ADD(x, y) tc_iadd((x), (y))
#define SUB(x, y) tc_isub((x), (y))
#define MUL(x, y) tc_imul((x), (y))
#define DIV(x, y) tc_idiv((x), (y))
#define NEGATE(x) tc_ineg(x)
#define SQUARE(x) tc_isquare(x)
#define POWER_WHOLE(x, n) tc_ipowi((x), (n))
#define POWER_REAL(x, p) tc_ipowr((x), (p))
#define EXP(x) tc_iexp(x)
#define LOG(x) tc_ilog(x)
#define SQRT(x) tc_isqrt(x)
#define HUBER(x, y) tc_ihuber((x), (y))
#define CLAMP(x, y) tc_iclamp((x), (y))
#define INSIDE(x, y) tc_iinside((x), (y))
#define HUMP(x) tc_ihump(x)
#define PAIR(x, y) tc_ipair((x), (y))
#define ABS(x) tc_iabs(x)
#define MAX(x, y) tc_imax((x), (y))
#define ARRAY(arguments) ((tc_interval_arguments){(arguments), sizeof *(arguments), NULL})
#define LSE(arguments, count) tc_ilse((arguments), (count))
#define SOFTMAX(arguments, count, index) tc_isoftmax((arguments), (count), (index))
#define NORM(arguments, count) tc_inorm(ARRAY(arguments), (count))
#define DIRECTION(arguments, count, index) tc_idirection(ARRAY(arguments), (count), (index))
#define BEND(arguments, count, i, k) tc_ibend(ARRAY(arguments), (count), (i), (k))
#define POWER_OF_DATA(arguments, order) tc_ipowd((arguments)[0], (arguments)[1], (order))

#include "calculus/tape/evaluate.inc.h"

static tc_interval enclose_leaf(const tc_node *n, const tc_interval_inputs *inputs) {
    if (n->op == TC_DATA)
        return inputs->data[n->u.index][0];
    if (n->op == TC_STATE)
        return inputs->state[n->u.index][0];
    if (n->op == TC_COORD)
        return inputs->coords[n->u.index];
    if (n->op == TC_SUM)
        return inputs->sums[n->u.index];
    return tc_point(n->u.value);
}

static tc_interval enclose_nary(const tc_dag *dag, const tc_node *n, const tc_interval *enclosures) {
    const tc_expr *chosen = dag->arguments + n->a;
    tc_interval_arguments arguments = {enclosures, sizeof *enclosures, chosen};
    size_t count = n->b, index = (size_t)(n->u.index & UINT32_MAX);
    if (n->op == TC_LSE)
        return tc_ilse_among(enclosures, chosen, count);
    if (n->op == TC_SOFTMAX)
        return tc_isoftmax_among(enclosures, chosen, count, index);
    if (n->op == TC_NORM)
        return tc_inorm(arguments, count);
    if (n->op == TC_DIRECTION)
        return tc_idirection(arguments, count, index);
    if (n->op == TC_POWD)
        return tc_ipowd(enclosures[chosen[0]], enclosures[chosen[1]], index);
    return tc_ibend(arguments, count, (size_t)(n->u.index >> 32), index);
}

static tc_interval enclose_node(const tc_dag *dag, tc_expr e, const tc_interval_inputs *inputs,
                                const tc_interval *enclosures) {
    const tc_node *n = &dag->nodes[e];
    if (tc_is_nary(n->op))
        return enclose_nary(dag, n, enclosures);
    size_t operands = tc_operand_count(dag, e);
    if (operands == 0)
        return enclose_leaf(n, inputs);
    tc_instruction instruction = {.op = n->op, .u.index = n->u.index};
    tc_interval result;
    run_scalar(&instruction, 1, &result, &enclosures[n->a], &enclosures[operands > 1 ? n->b : n->a]);
    return result;
}

void tc_enclose_nodes(const tc_dag *dag, const tc_expr *nodes, size_t count, const tc_interval_inputs *inputs,
                      tc_interval *enclosures) {
    for (size_t i = 0; i < count; i++)
        enclosures[nodes[i]] = enclose_node(dag, nodes[i], inputs, enclosures);
}
