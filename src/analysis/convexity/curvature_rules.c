/* The rules of composition: what convexity theory says about one node, given its operands' curvature and ranges. */
#include "analysis/convexity/curvature.h"

enum { NORM_DEPTH = 512 }; /* of sums of squares, in addends waiting */

/* A scalar function on the range of its argument. */
typedef struct shape {
    bool convex, concave;
    bool rising, falling; /* not strictly */
} shape;

static tc_curvature flip(tc_curvature c) { return c == TC_CONVEX ? TC_CONCAVE : c == TC_CONCAVE ? TC_CONVEX : c; }

static tc_curvature join(tc_curvature a, tc_curvature b) {
    if (a == TC_UNKNOWN || b == TC_UNKNOWN)
        return TC_UNKNOWN;
    if (tc_is_flat(a))
        return tc_is_flat(b) ? (a > b ? a : b) : b;
    return tc_is_flat(b) || a == b ? a : TC_UNKNOWN;
}

/* h(g): convex and rising of convex, convex and falling of concave, convex of affine; the same for concave h. */
static tc_curvature compose(shape h, tc_curvature g) {
    if (h.convex && (tc_is_flat(g) || (h.rising && g == TC_CONVEX) || (h.falling && g == TC_CONCAVE)))
        return TC_CONVEX;
    if (h.concave && (tc_is_flat(g) || (h.rising && g == TC_CONCAVE) || (h.falling && g == TC_CONVEX)))
        return TC_CONCAVE;
    return TC_UNKNOWN;
}

static tc_curvature scale(tc_curvature c, tc_interval factor) {
    if (tc_is_flat(c))
        return TC_AFFINE;
    return factor.lo >= 0 ? c : factor.hi <= 0 ? flip(c) : TC_UNKNOWN;
}

static shape power_shape(tc_interval base, int64_t k) {
    bool even = k % 2 == 0, positive = base.lo >= 0, negative = base.hi <= 0;
    if (k > 0 && even)
        return (shape){.convex = true, .rising = positive, .falling = negative};
    if (k > 0)
        return (shape){.convex = positive, .concave = negative, .rising = true};
    positive = base.lo > 0;
    negative = base.hi < 0;
    if (even)
        return (shape){.convex = positive || negative, .rising = negative, .falling = positive};
    return (shape){.convex = positive, .concave = negative, .falling = positive || negative};
}

static shape real_power_shape(tc_interval base, double k) {
    if (k < 0)
        return base.lo > 0 ? (shape){.convex = true, .falling = true} : (shape){0};
    if (!(base.lo >= 0))
        return (shape){0};
    return (shape){.convex = k > 1, .concave = k < 1, .rising = true};
}

/* ---- squares of norms ------------------------------------------------------------------------------------------- */

/* Whether the square root of a node is a convex function: the node is a sum of squares of affine functions, or of
 * convex ones that are not negative, and of constants >= 0. Then the root is a Euclidean norm, which grows with the
 * magnitude of each component. */
static bool is_square(const tc_prover *p, tc_expr e) {
    const tc_node *n = &p->dag->nodes[e];
    tc_interval range = p->enclosures[n->op == TC_POWI || n->op == TC_POWR || n->op == TC_SQRT ? n->a : e];
    tc_curvature base = (tc_curvature)p->curvature[n->op == TC_POWI || n->op == TC_POWR ? n->a : e];
    bool monotone = (base == TC_CONVEX && range.lo >= 0) || (base == TC_CONCAVE && range.hi <= 0);
    if (!n->has_state)
        return p->enclosures[e].lo >= 0;
    if (n->op == TC_POWI && n->u.exponent >= 2 && n->u.exponent % 2 == 0)
        return tc_is_flat(base) || monotone;
    if (n->op == TC_POWR && n->u.value >= 2)
        return range.lo >= 0 && (tc_is_flat(base) || base == TC_CONVEX);
    return false;
}

static bool is_norm_squared(const tc_prover *p, tc_expr e) {
    tc_expr stack[NORM_DEPTH];
    size_t depth = 0;
    stack[depth++] = e;
    while (depth > 0) {
        tc_expr next = stack[--depth];
        const tc_node *n = &p->dag->nodes[next];
        if (n->op == TC_ADD && depth + 2 <= NORM_DEPTH) {
            stack[depth++] = n->a;
            stack[depth++] = n->b;
        } else if (n->op == TC_MUL && !p->dag->nodes[n->a].has_state && p->enclosures[n->a].lo >= 0) {
            stack[depth++] = n->b;
        } else if (!is_square(p, next)) {
            return false;
        }
    }
    return true;
}

/* ---- one node --------------------------------------------------------------------------------------------------- */

static tc_curvature divide(const tc_prover *p, const tc_node *n, tc_curvature a, tc_curvature b) {
    tc_interval over = p->enclosures[n->b];
    if (b == TC_CONSTANT)
        return over.lo > 0 || over.hi < 0 ? scale(a, tc_idiv(tc_point(1), over)) : TC_UNKNOWN;
    if (a == TC_CONSTANT) {
        shape reciprocal = {.convex = over.lo > 0, .concave = over.hi<0, .falling = over.lo> 0 || over.hi < 0};
        return scale(compose(reciprocal, b), p->enclosures[n->a]);
    }
    /* |v|^2 / t is convex, rising in |v| and falling in t > 0 */
    return over.lo > 0 && tc_is_concave(b) && is_norm_squared(p, n->a) ? TC_CONVEX : TC_UNKNOWN;
}

static tc_curvature multiply(const tc_prover *p, const tc_node *n, tc_curvature a, tc_curvature b) {
    if (a == TC_CONSTANT)
        return scale(b, p->enclosures[n->a]);
    return b == TC_CONSTANT ? scale(a, p->enclosures[n->b]) : TC_UNKNOWN;
}

static tc_curvature log_sum_exp(const tc_prover *p, tc_expr e) {
    for (size_t k = 0; k < tc_operand_count(p->dag, e); k++) {
        if (!tc_is_convex((tc_curvature)p->curvature[tc_operand(p->dag, e, k)]))
            return TC_UNKNOWN;
    }
    return TC_CONVEX;
}

/* A Euclidean norm: of affine functions, of convex ones that are not negative, of concave ones that are not positive.
 */
static tc_curvature norm(const tc_prover *p, tc_expr e) {
    for (size_t k = 0; k < tc_operand_count(p->dag, e); k++) {
        tc_expr argument = tc_operand(p->dag, e, k);
        tc_curvature c = p->dag->nodes[argument].has_state ? (tc_curvature)p->curvature[argument] : TC_CONSTANT;
        tc_interval range = p->enclosures[argument];
        if (!tc_is_flat(c) && !(c == TC_CONVEX && range.lo >= 0) && !(c == TC_CONCAVE && range.hi <= 0))
            return TC_UNKNOWN;
    }
    return TC_CONVEX;
}

static tc_curvature root(const tc_prover *p, const tc_node *n, tc_curvature a) {
    if (p->enclosures[n->a].lo >= 0 && is_norm_squared(p, n->a))
        return TC_CONVEX;
    return p->enclosures[n->a].lo >= 0 ? compose((shape){.concave = true, .rising = true}, a) : TC_UNKNOWN;
}

tc_curvature tc_curvature_rule(const tc_prover *p, tc_expr e) {
    const tc_node *n = &p->dag->nodes[e];
    if (!n->has_state)
        return TC_CONSTANT;
    size_t operands = tc_operand_count(p->dag, e);
    tc_curvature a = operands > 0 ? (tc_curvature)p->curvature[tc_operand(p->dag, e, 0)] : TC_AFFINE;
    tc_curvature b = operands > 1 ? (tc_curvature)p->curvature[tc_operand(p->dag, e, 1)] : TC_CONSTANT;
    tc_interval range = operands > 0 ? p->enclosures[tc_operand(p->dag, e, 0)] : tc_point(0);
    switch ((tc_op)n->op) {
    case TC_CONST:
    case TC_DATA:
        return TC_CONSTANT;
    case TC_STATE:
    case TC_COORD:
        return TC_AFFINE;
    case TC_SUM:
        return p->sum_curvature[n->u.index];
    case TC_ADD:
        return join(a, b);
    case TC_SUB:
        return join(a, flip(b));
    case TC_NEG:
        return flip(a);
    case TC_MUL:
        return multiply(p, n, a, b);
    case TC_DIV:
        return divide(p, n, a, b);
    case TC_POWI:
        return compose(power_shape(range, n->u.exponent), a);
    case TC_POWR:
        return compose(real_power_shape(range, n->u.value), a);
    case TC_EXP:
        return compose((shape){.convex = true, .rising = true}, a);
    case TC_LOG:
        return range.lo > 0 ? compose((shape){.concave = true, .rising = true}, a) : TC_UNKNOWN;
    case TC_SQRT:
        return root(p, n, a);
    case TC_HUBER:
        return compose((shape){.convex = true, .rising = range.lo >= 0, .falling = range.hi <= 0}, a);
    case TC_LSE:
        return log_sum_exp(p, e);
    case TC_NORM:
        return norm(p, e);
    case TC_CLAMP:
    case TC_INSIDE:
    case TC_SOFTMAX:
    case TC_HUMP:
    case TC_PAIR:
    case TC_DIRECTION:
    case TC_BEND:
        return TC_UNKNOWN;
    }
    return TC_UNKNOWN;
}
