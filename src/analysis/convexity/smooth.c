#include "analysis/convexity/smooth.h"

#include "analysis/lipschitz/streams.h"

static const char *const tighten = "A tighter public box for the states in it would help.";
static const char *const smoothing = "Smooth it with a small constant d: sqrt(sumsq(v) + d^2) instead of norm(v).";

static tc_flaw check_root(const tc_prover *p, tc_expr e) {
    const tc_node *n = &p->dag->nodes[e];
    double least = p->enclosures[n->a].lo;
    tc_flaw flaw = {.node = e, .argument = n->a, .needs = "needs an argument above 0", .helps = tighten};
    if (least > 0 || (least == 0 && !n->has_state))
        flaw.node = TC_NO_EXPR;
    if (least == 0) {
        flaw.needs = "has a kink where its argument is 0";
        flaw.helps = smoothing;
    }
    return flaw;
}

static tc_flaw check_power(const tc_prover *p, tc_expr e) {
    const tc_node *n = &p->dag->nodes[e];
    tc_interval base = p->enclosures[n->a];
    tc_flaw flaw = {.node = e, .argument = n->a, .helps = tighten};
    if (n->op == TC_POWI) {
        flaw.needs = "needs a base that is never 0";
        flaw.node = n->u.exponent > 0 || base.lo > 0 || base.hi < 0 ? TC_NO_EXPR : e;
        return flaw;
    }
    double k = n->u.value;
    bool fine = base.lo > 0 || (base.lo >= 0 && (k >= 2 || (k > 0 && !n->has_state)));
    flaw.node = fine ? TC_NO_EXPR : e;
    flaw.needs = base.lo >= 0 ? "has derivatives without bound where its base is 0" : "needs a base above 0";
    return flaw;
}

/* Whether every use of a norm is a power that is smooth where the norm is not: the gradient of N^p is p N^(p-2) v, and
 * for p >= 3 what it and its slopes are made of is bounded (p whole: an even power is no power of a norm). */
static bool is_raised(const tc_prover *p, const tc_cone *cone, tc_expr norm) {
    if (norm == cone->root)
        return false;
    for (size_t i = 0; i < cone->count; i++) {
        const tc_node *n = &p->dag->nodes[cone->nodes[i]];
        bool power = (n->op == TC_POWI && n->u.exponent >= 2) || (n->op == TC_POWR && n->u.value >= 3);
        for (size_t k = 0; !power && k < tc_operand_count(p->dag, cone->nodes[i]); k++) {
            if (tc_operand(p->dag, cone->nodes[i], k) == norm)
                return false;
        }
    }
    return true;
}

static tc_flaw check_norm(const tc_prover *p, const tc_cone *cone, tc_expr e) {
    tc_flaw flaw = {.node = e, .argument = e, .needs = "has a kink where it is 0", .helps = smoothing};
    if (p->enclosures[e].lo > 0 || is_raised(p, cone, e))
        flaw.node = TC_NO_EXPR;
    return flaw;
}

static tc_flaw check_node(const tc_prover *p, const tc_cone *cone, tc_expr e) {
    const tc_node *n = &p->dag->nodes[e];
    tc_interval range;
    switch ((tc_op)n->op) {
    case TC_LOG:
        if (!(p->enclosures[n->a].lo > 0))
            return (tc_flaw){.node = e, .argument = n->a, .needs = "needs an argument above 0", .helps = tighten};
        break;
    case TC_SQRT:
        return check_root(p, e);
    case TC_NORM:
        return check_norm(p, cone, e);
    case TC_DIV:
        range = p->enclosures[n->b];
        if (!(range.lo > 0 || range.hi < 0))
            return (tc_flaw){
                .node = e, .argument = n->b, .needs = "needs a denominator that is never 0", .helps = tighten};
        break;
    case TC_POWI:
    case TC_POWR:
        return check_power(p, e);
    case TC_HUBER:
        if (!(p->enclosures[n->b].lo > 0))
            return (tc_flaw){
                .node = e, .argument = n->b, .needs = "needs a threshold above 0", .helps = "Check the data in it."};
        break;
    case TC_CONST:
    case TC_DATA:
    case TC_STATE:
    case TC_COORD:
    case TC_SUM:
    case TC_ADD:
    case TC_SUB:
    case TC_MUL:
    case TC_NEG:
    case TC_EXP:
    case TC_CLAMP:
    case TC_INSIDE:
    case TC_LSE:
    case TC_SOFTMAX:
    case TC_HUMP:
    case TC_PAIR:
    case TC_DIRECTION:
    case TC_BEND:
        break;
    }
    return (tc_flaw){.node = TC_NO_EXPR};
}

/* The ends are exact but for rounding: an end that is almost but not quite zero decides nothing. */
static bool is_certain(const tc_prover *p, tc_expr argument) {
    tc_interval range = p->enclosures[argument];
    double tiny = 1e-12 * tc_magnitude(range);
    return tc_read_once(p->dag, argument) && (range.lo == 0 || fabs(range.lo) > tiny) &&
           (range.hi == 0 || fabs(range.hi) > tiny);
}

tc_flaw tc_find_flaw(const tc_prover *p, const tc_cone *cone) {
    for (size_t i = 0; i < cone->count; i++) {
        tc_flaw flaw = check_node(p, cone, cone->nodes[i]);
        if (flaw.node == TC_NO_EXPR)
            continue;
        flaw.certain = is_certain(p, flaw.argument);
        return flaw;
    }
    if (!tc_is_finite(p->enclosures[cone->root]))
        return (tc_flaw){
            .node = cone->root, .argument = cone->root, .needs = "overflows: it has no finite bound", .helps = tighten};
    return (tc_flaw){.node = TC_NO_EXPR};
}
