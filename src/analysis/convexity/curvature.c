#include "analysis/convexity/curvature.h"

#include <stdlib.h>
#include <string.h>

tc_prover *tc_prover_new(tc_arena *arena, tc_model *model) {
    tc_prover *p = TC_NEW(arena, tc_prover, 1);
    p->arena = arena;
    p->model = model;
    p->dag = model->dag;
    p->differentiator = tc_differentiator_new(arena, model->dag);
    p->sum_curvature = TC_NEW(arena, tc_curvature, model->sum_count + 1);
    for (size_t r = 0; r < model->sum_count; r++)
        p->sum_curvature[r] = TC_UNKNOWN;
    return p;
}

void tc_prover_at_batch(tc_prover *p, tc_batch *batch) {
    p->batch = batch;
    p->coords = p->sums = NULL;
}

void tc_prover_at_outer(tc_prover *p, tc_interval *coords, tc_interval *sums) {
    p->batch = NULL;
    p->coords = coords;
    p->sums = sums;
}

static void make_room(tc_prover *p) {
    if (p->dag->count <= p->capacity)
        return;
    size_t capacity = p->dag->count * 2;
    p->enclosures = tc_arena_grow(p->arena, p->enclosures, p->capacity, capacity, sizeof *p->enclosures);
    p->curvature = tc_arena_grow(p->arena, p->curvature, p->capacity, capacity, sizeof *p->curvature);
    p->needed = tc_arena_grow(p->arena, p->needed, p->capacity, capacity, sizeof *p->needed);
    p->visited = tc_arena_grow(p->arena, p->visited, p->capacity, capacity, sizeof *p->visited);
    p->capacity = capacity;
}

static int compare_nodes(const void *x, const void *y) {
    tc_expr a = *(const tc_expr *)x, b = *(const tc_expr *)y;
    return a < b ? -1 : a > b;
}

/* A walk that costs only what it finds: there may be thousands of constraints in one large DAG. */
tc_cone tc_cone_of(tc_prover *p, tc_expr root) {
    make_room(p);
    p->visit++;
    tc_cone cone = {.root = root};
    size_t capacity = 16;
    cone.nodes = TC_NEW(p->arena, tc_expr, capacity);
    cone.nodes[cone.count++] = root;
    p->visited[root] = p->visit;
    for (size_t next = 0; next < cone.count; next++) {
        size_t operands = tc_operand_count(p->dag, cone.nodes[next]);
        if (cone.count + operands > capacity) {
            size_t wanted = (capacity + operands) * 2;
            cone.nodes = tc_arena_grow(p->arena, cone.nodes, cone.count, wanted, sizeof *cone.nodes);
            capacity = wanted;
        }
        for (size_t k = 0; k < operands; k++) {
            tc_expr operand = tc_operand(p->dag, cone.nodes[next], k);
            if (p->visited[operand] == p->visit)
                continue;
            p->visited[operand] = p->visit;
            cone.nodes[cone.count++] = operand;
        }
    }
    qsort(cone.nodes, cone.count, sizeof *cone.nodes, compare_nodes);
    return cone;
}

void tc_prover_enclose(tc_prover *p, const tc_cone *cone) {
    make_room(p);
    tc_interval_inputs inputs = {.coords = p->coords, .sums = p->sums};
    if (p->batch != NULL)
        inputs = p->batch->inputs;
    tc_enclose_nodes(p->dag, cone->nodes, cone->count, &inputs, p->enclosures);
}

/* ---- sums ---- */

bool tc_is_chain(const tc_dag *dag, tc_expr e) {
    const tc_node *n = &dag->nodes[e];
    if (!n->has_state)
        return false;
    if (n->op == TC_ADD || n->op == TC_SUB || n->op == TC_NEG)
        return true;
    if (n->op == TC_MUL)
        return !dag->nodes[n->a].has_state || !dag->nodes[n->b].has_state;
    return n->op == TC_DIV && !dag->nodes[n->b].has_state;
}

static tc_addend negated(tc_addend a, tc_expr node) {
    a.node = node;
    a.negative = !a.negative;
    a.scale = tc_ineg(a.scale);
    return a;
}

static tc_addend scaled(tc_prover *p, tc_addend a, tc_expr node, tc_expr factor, bool divide) {
    tc_interval range = p->enclosures[factor];
    a.node = node;
    a.scale = divide ? tc_idiv(a.scale, range) : tc_imul(a.scale, range);
    tc_expr base = a.coefficient == TC_NO_EXPR ? tc_const(p->dag, 1) : a.coefficient;
    a.coefficient = divide ? tc_div(p->dag, base, factor) : tc_mul(p->dag, base, factor);
    return a;
}

/* Buffers of the prover, reused: a family may have a million members to judge one by one. */
static void reserve(tc_prover *p, tc_addends *list, size_t count) {
    if (count <= list->capacity)
        return;
    size_t capacity = count * 2 + 16;
    list->items = tc_arena_grow(p->arena, list->items, list->count, capacity, sizeof *list->items);
    list->capacity = capacity;
}

static void push(tc_prover *p, tc_addends *list, tc_addend addend) {
    reserve(p, list, list->count + 1);
    list->items[list->count++] = addend;
}

static void split(tc_prover *p, tc_addend a) {
    const tc_node n = p->dag->nodes[a.node]; /* a copy: the pool may move */
    tc_addend first = a;
    if (n.op == TC_ADD || n.op == TC_SUB) {
        first.node = n.a;
        a.node = n.b;
        push(p, &p->stack, n.op == TC_SUB ? negated(a, n.b) : a);
        push(p, &p->stack, first);
    } else if (n.op == TC_NEG) {
        push(p, &p->stack, negated(a, n.a));
    } else if (n.op == TC_DIV) {
        push(p, &p->stack, scaled(p, a, n.a, n.b, true));
    } else {
        bool left = !p->dag->nodes[n.a].has_state;
        push(p, &p->stack, scaled(p, a, left ? n.b : n.a, left ? n.a : n.b, false));
    }
}

const tc_addend *tc_flatten(tc_prover *p, tc_expr e, size_t *count) {
    p->stack.count = p->addends.count = 0;
    push(p, &p->stack, (tc_addend){.node = e, .coefficient = TC_NO_EXPR, .scale = tc_point(1)});
    while (p->stack.count > 0) {
        tc_addend a = p->stack.items[--p->stack.count];
        if (tc_is_chain(p->dag, a.node))
            split(p, a);
        else
            push(p, &p->addends, a);
    }
    *count = p->addends.count;
    return p->addends.items;
}

tc_expr tc_rebuild(tc_prover *p, const tc_addend *addends, size_t count) {
    tc_expr total = tc_const(p->dag, 0);
    for (size_t i = 0; i < count; i++) {
        tc_expr term = addends[i].node;
        if (addends[i].coefficient != TC_NO_EXPR)
            term = tc_mul(p->dag, addends[i].coefficient, term);
        total = addends[i].negative ? tc_sub(p->dag, total, term) : tc_add(p->dag, total, term);
    }
    return total;
}

bool tc_addend_fits(const tc_prover *p, const tc_addend *a, tc_curvature want) {
    tc_curvature c = p->dag->nodes[a->node].has_state ? (tc_curvature)p->curvature[a->node] : TC_CONSTANT;
    if (tc_is_flat(c))
        return true;
    bool upright = a->scale.lo >= 0, flipped = a->scale.hi <= 0;
    if (want == TC_CONCAVE) {
        bool swap = upright;
        upright = flipped;
        flipped = swap;
    }
    return (upright && c == TC_CONVEX) || (flipped && c == TC_CONCAVE);
}

/* u v or a multiple of it: for two states never convex without their squares. It only decides what is tried first. */
static bool is_product(const tc_dag *dag, tc_expr e) {
    const tc_node *n = &dag->nodes[e];
    if (n->op == TC_NEG)
        return is_product(dag, n->a);
    if (n->op != TC_MUL)
        return false;
    bool first = dag->nodes[n->a].has_state, second = dag->nodes[n->b].has_state;
    return (first && second) || is_product(dag, first ? n->a : n->b);
}

static bool misfits_fit(tc_prover *p, const tc_addend *addends, size_t count, tc_curvature want) {
    size_t misfits = 0;
    for (size_t i = 0; i < count; i++) {
        if (!tc_addend_fits(p, &addends[i], want))
            p->group.items[misfits++] = addends[i];
    }
    return misfits == 0 || tc_prove_by_hessian(p, p->group.items, misfits, want);
}

static bool curved_fit(tc_prover *p, const tc_addend *addends, size_t count, tc_curvature want) {
    size_t curved = 0;
    for (size_t i = 0; i < count; i++) {
        tc_expr e = addends[i].node;
        if (p->dag->nodes[e].has_state && !tc_is_flat((tc_curvature)p->curvature[e]))
            p->group.items[curved++] = addends[i];
    }
    return tc_prove_by_hessian(p, p->group.items, curved, want);
}

/* A square fits alone, but a product may need it: in u^2 + u v + v^2 beside |u| or u^4. */
static bool squares_fit(tc_prover *p, const tc_addend *addends, size_t count, tc_curvature want) {
    size_t taken = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &p->dag->nodes[addends[i].node];
        bool fits = tc_addend_fits(p, &addends[i], want), square = fits && n->op == TC_POWI && n->u.exponent == 2;
        squares += square;
        if (!fits || square)
            p->group.items[taken++] = addends[i];
    }
    return squares > 0 && tc_prove_by_hessian(p, p->group.items, taken, want);
}

/* The addends that do not fit alone must together; else all curved ones together; else with squares alone. What is more
 * likely comes first: the Hessian of a covariance takes time. */
static bool group_fits(tc_prover *p, const tc_addend *addends, size_t count, tc_curvature want) {
    p->group.count = 0;
    reserve(p, &p->group, count + 1);
    size_t misfits = 0, products = 0, curved = 0;
    for (size_t i = 0; i < count; i++) {
        tc_expr e = addends[i].node;
        bool fits = tc_addend_fits(p, &addends[i], want);
        misfits += !fits;
        products += !fits && is_product(p->dag, e);
        curved += p->dag->nodes[e].has_state && !tc_is_flat((tc_curvature)p->curvature[e]);
    }
    if (curved <= misfits)
        return misfits_fit(p, addends, count, want);
    if (misfits > 0 && products == misfits)
        return curved_fit(p, addends, count, want) || squares_fit(p, addends, count, want) ||
               misfits_fit(p, addends, count, want);
    return misfits_fit(p, addends, count, want) || curved_fit(p, addends, count, want) ||
           squares_fit(p, addends, count, want);
}

/* ---- judgement ---- */

static void find_needed(tc_prover *p, const tc_cone *cone) {
    for (size_t i = 0; i < cone->count; i++)
        p->needed[cone->nodes[i]] = false;
    p->needed[cone->root] = true;
    for (size_t i = 0; i < cone->count; i++) {
        tc_expr e = cone->nodes[i];
        for (size_t k = 0; !tc_is_chain(p->dag, e) && k < tc_operand_count(p->dag, e); k++)
            p->needed[tc_operand(p->dag, e, k)] = true;
    }
}

static tc_curvature by_hessian(tc_prover *p, tc_expr e, tc_curvature want) {
    size_t count;
    const tc_addend *addends = tc_flatten(p, e, &count);
    make_room(p);
    if (group_fits(p, addends, count, want))
        return want;
    tc_curvature other = want == TC_CONVEX ? TC_CONCAVE : TC_CONVEX;
    return group_fits(p, addends, count, other) ? other : TC_UNKNOWN;
}

tc_curvature tc_prover_judge(tc_prover *p, const tc_cone *cone, tc_curvature want) {
    make_room(p);
    find_needed(p, cone);
    for (size_t i = 0; i < cone->count; i++) {
        tc_expr e = cone->nodes[i];
        tc_curvature c = tc_curvature_rule(p, e);
        p->curvature[e] = (uint8_t)c;
        if (c == TC_UNKNOWN && p->needed[e])
            p->curvature[e] = (uint8_t)by_hessian(p, e, want);
    }
    return (tc_curvature)p->curvature[cone->root];
}

/* ---- blame ---- */

static tc_expr blame_unknown(const tc_prover *p, tc_expr e, const char **why) {
    for (size_t k = 0; k < tc_operand_count(p->dag, e); k++) {
        tc_expr operand = tc_operand(p->dag, e, k);
        if (p->dag->nodes[operand].has_state && p->curvature[operand] == TC_UNKNOWN)
            return blame_unknown(p, operand, why);
    }
    *why = "is neither proved convex nor proved concave";
    return e;
}

tc_expr tc_prover_blame(const tc_prover *p, tc_expr root, tc_curvature want, const char **why) {
    tc_expr e = root;
    while (tc_is_chain(p->dag, e)) {
        const tc_node *n = &p->dag->nodes[e];
        bool first = p->dag->nodes[n->a].has_state;
        if (n->op == TC_ADD || n->op == TC_SUB) {
            /* the side that does not fit alone; the left one where both do not */
            tc_curvature right = n->op == TC_ADD ? want : want == TC_CONVEX ? TC_CONCAVE : TC_CONVEX;
            tc_curvature have = (tc_curvature)p->curvature[n->a];
            bool left_fits = !first || tc_is_flat(have) || have == want;
            e = left_fits ? n->b : n->a;
            want = left_fits ? right : want;
        } else if (n->op == TC_NEG) {
            e = n->a;
            want = want == TC_CONVEX ? TC_CONCAVE : TC_CONVEX;
        } else {
            tc_interval factor = p->enclosures[first ? n->b : n->a];
            if (factor.lo < 0 && factor.hi > 0) {
                *why = "has a factor whose sign is not certain";
                return e;
            }
            want = factor.hi <= 0 ? (want == TC_CONVEX ? TC_CONCAVE : TC_CONVEX) : want;
            e = first ? n->a : n->b;
        }
        if (!p->dag->nodes[e].has_state)
            break;
    }
    if (p->curvature[e] == TC_UNKNOWN)
        return blame_unknown(p, e, why);
    *why = want == TC_CONVEX ? "is concave where a convex function is needed"
                             : "is convex where a concave function is needed";
    return e;
}

/* ---- the rules of composition: one node, given its operands' curvature and ranges ---- */

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

/* a^k with k in a range: what all powers of it have in common. */
static tc_curvature power_among(tc_interval base, tc_interval k, tc_curvature a) {
    if (k.lo == 0 && k.hi == 0)
        return TC_AFFINE;
    if (k.lo == 1 && k.hi == 1)
        return a;
    if (tc_is_point(k) && k.lo == floor(k.lo) && fabs(k.lo) < 0x1p31)
        return compose(power_shape(base, (int64_t)k.lo), a);
    if (!(base.lo >= 0) || (k.lo < 0 && base.lo == 0))
        return TC_UNKNOWN;
    shape common = {.convex = k.lo >= 1 || k.hi <= 0, .concave = k.lo >= 0 && k.hi <= 1};
    common.rising = k.lo >= 0;
    common.falling = k.hi <= 0;
    return compose(common, a);
}

/* ---- squares of norms ---- */

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

/* ---- one node ---- */

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

/* Convex and rising in every argument. */
static tc_curvature convex_arguments(const tc_prover *p, tc_expr e) {
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
    case TC_POWD:
        return n->u.index > 0 ? TC_UNKNOWN : power_among(range, p->enclosures[tc_operand(p->dag, e, 1)], a);
    case TC_EXP:
        return compose((shape){.convex = true, .rising = true}, a);
    case TC_LOG:
        return range.lo > 0 ? compose((shape){.concave = true, .rising = true}, a) : TC_UNKNOWN;
    case TC_SQRT:
        return root(p, n, a);
    case TC_HUBER:
        return compose((shape){.convex = true, .rising = range.lo >= 0, .falling = range.hi <= 0}, a);
    case TC_ABS:
        return range.lo >= 0 ? a : range.hi <= 0 ? flip(a) : compose((shape){.convex = true}, a);
    case TC_LSE:
    case TC_MAX:
        return convex_arguments(p, e);
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
