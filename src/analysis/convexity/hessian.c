/* Proof and refutation of convexity by interval Hessians; when an interval matrix is semidefinite; when a function is
 * smooth. */
#include "analysis/convexity/curvature.h"
#include "analysis/lipschitz/norm.h"
#include "analysis/lipschitz/streams.h"

#include <string.h>

enum { MOST_LEAVES = 400, BISECT_LEAVES = 4, MOST_BOXES = 600, TRIES = 40, FEW = 16 };

/* likely: where it is if no leaf before it is missing. */
static size_t place_of(const tc_partial *partials, size_t count, tc_expr leaf, size_t likely) {
    if (likely < count && partials[likely].leaf == leaf)
        return likely;
    for (size_t i = 0; i < count; i++) {
        if (partials[i].leaf == leaf)
            return i;
    }
    return SIZE_MAX;
}

/* |u| and max have no derivatives: rules alone judge what is made of them. */
static bool has_kinks(tc_prover *p, tc_expr root) {
    tc_cone cone = tc_cone_of(p, root);
    for (size_t i = 0; i < cone.count; i++) {
        const tc_node *n = &p->dag->nodes[cone.nodes[i]];
        if (n->has_state && (n->op == TC_ABS || n->op == TC_MAX))
            return true;
    }
    return false;
}

tc_hessian *tc_hessian_of(tc_prover *p, tc_expr root) {
    for (tc_hessian *h = p->hessians; h != NULL; h = h->next) {
        if (h->root == root)
            return h;
    }
    tc_hessian *h = TC_NEW(p->arena, tc_hessian, 1);
    *h = (tc_hessian){.root = root, .next = p->hessians};
    p->hessians = h;
    tc_op op = p->batch != NULL ? TC_STATE : TC_SUM;
    if (has_kinks(p, root))
        return h;
    h->count = tc_gradient(p->arena, p->differentiator, root, op, &h->leaves, &h->gradient);
    if (h->count > MOST_LEAVES)
        return h;
    tc_expr zero = tc_const(p->dag, 0);
    tc_expr *roots = TC_NEW(p->arena, tc_expr, h->count * (h->count + 1) / 2 + h->count + 1);
    size_t next = 0;
    for (size_t i = 0; i < h->count; i++) {
        size_t found;
        const tc_partial *partials = tc_differentiate(p->differentiator, h->gradient[i], op, UINT64_MAX, &found);
        for (size_t j = 0; j <= i; j++) {
            size_t at = place_of(partials, found, h->leaves[j], j);
            roots[next++] = at == SIZE_MAX ? zero : partials[at].value;
        }
    }
    for (size_t i = 0; i < h->count; i++)
        roots[next++] = h->gradient[i];
    h->tape = tc_tape_new(p->arena, p->dag, roots, next);
    return h;
}

/* The range of a leaf at the place, to read or to change. */
static tc_interval *leaf_range(const tc_prover *p, tc_expr leaf) {
    const tc_node *n = &p->dag->nodes[leaf];
    if (n->op == TC_STATE)
        return &p->batch->state[n->u.index * TC_LANES];
    return n->op == TC_COORD ? &p->coords[n->u.index] : &p->sums[n->u.index];
}

typedef struct evaluation {
    tc_interval *matrix, *gradient; /* count x count; count */
    tc_interval *work, *values, **out;
} evaluation;

static evaluation new_evaluation(tc_prover *p, const tc_hessian *h) {
    size_t roots = tc_tape_root_count(h->tape), n = h->count;
    evaluation e = {.matrix = TC_NEW(p->arena, tc_interval, n * n + 1),
                    .gradient = TC_NEW(p->arena, tc_interval, n + 1),
                    .work = TC_NEW(p->arena, tc_interval, tc_tape_work(h->tape)),
                    .values = TC_NEW(p->arena, tc_interval, roots + 1),
                    .out = TC_NEW(p->arena, tc_interval *, roots + 1)};
    for (size_t i = 0; i < roots; i++)
        e.out[i] = &e.values[i];
    return e;
}

static void evaluate(const tc_prover *p, const tc_hessian *h, evaluation *e) {
    tc_interval_inputs inputs = {.coords = p->coords, .sums = p->sums};
    if (p->batch != NULL)
        inputs = p->batch->inputs;
    tc_tape_enclose(h->tape, &inputs, 1, e->work, e->out);
    size_t next = 0, n = h->count;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            e->matrix[i * n + j] = e->matrix[j * n + i] = e->values[next++];
    }
    memcpy(e->gradient, e->values + next, n * sizeof *e->gradient);
}

/* Sums of curved bodies are allowed where the function rises in convex ones and falls in concave ones. */
static bool sums_compose(const tc_prover *p, const tc_hessian *h, const evaluation *e, tc_curvature want) {
    for (size_t i = 0; i < h->count; i++) {
        const tc_node *leaf = &p->dag->nodes[h->leaves[i]];
        if (leaf->op != TC_SUM || tc_is_flat(p->sum_curvature[leaf->u.index]))
            continue;
        tc_curvature body = p->sum_curvature[leaf->u.index];
        bool rising = e->gradient[i].lo >= 0, falling = e->gradient[i].hi <= 0;
        if (body == TC_UNKNOWN || !(body == want ? rising : falling))
            return false;
    }
    return true;
}

static bool holds_here(tc_prover *p, const tc_hessian *h, evaluation *e, tc_curvature want) {
    evaluate(p, h, e);
    return sums_compose(p, h, e, want) && tc_interval_psd(p->arena, e->matrix, h->count, want == TC_CONVEX ? 1 : -1);
}

typedef struct sub_box {
    tc_interval range[BISECT_LEAVES];
} sub_box;

/* Halves the box along its widest side (relative to the whole) until each piece is proved. */
static bool holds_by_bisection(tc_prover *p, const tc_hessian *h, evaluation *e, tc_curvature want) {
    size_t n = h->count, depth = 1, boxes = 0;
    sub_box *stack = TC_NEW(p->arena, sub_box, MOST_BOXES + 2), whole = {0};
    for (size_t i = 0; i < n; i++)
        whole.range[i] = *leaf_range(p, h->leaves[i]);
    stack[0] = whole;
    bool holds = true;
    while (depth > 0 && holds) {
        sub_box box = stack[--depth];
        for (size_t i = 0; i < n; i++)
            *leaf_range(p, h->leaves[i]) = box.range[i];
        if (holds_here(p, h, e, want))
            continue;
        size_t widest = 0;
        double share = 0;
        for (size_t i = 0; i < n; i++) {
            double width = whole.range[i].hi - whole.range[i].lo;
            double part = width > 0 ? (box.range[i].hi - box.range[i].lo) / width : 0;
            widest = part > share ? i : widest;
            share = part > share ? part : share;
        }
        double middle = box.range[widest].lo / 2 + box.range[widest].hi / 2;
        holds = ++boxes < MOST_BOXES && share > 1e-4 && middle > box.range[widest].lo && middle < box.range[widest].hi;
        if (holds) {
            stack[depth] = stack[depth + 1] = box;
            stack[depth++].range[widest].hi = middle;
            stack[depth++].range[widest].lo = middle;
        }
    }
    for (size_t i = 0; i < n; i++)
        *leaf_range(p, h->leaves[i]) = whole.range[i];
    return holds;
}

bool tc_prove_by_hessian(tc_prover *p, const tc_addend *addends, size_t count, tc_curvature want) {
    const tc_hessian *h = tc_hessian_of(p, tc_rebuild(p, addends, count));
    if (h->tape == NULL)
        return false;
    tc_mark mark = tc_arena_mark(p->arena);
    evaluation e = new_evaluation(p, h);
    bool holds = holds_here(p, h, &e, want);
    if (!holds && h->count <= BISECT_LEAVES)
        holds = holds_by_bisection(p, h, &e, want);
    tc_arena_rewind(p->arena, mark);
    return holds;
}

/* ---- refutation ---- */

static double chosen(tc_interval range, int attempt, uint64_t *random) {
    if (attempt == 1)
        return range.lo;
    if (attempt == 2)
        return range.hi;
    double share = 0.5;
    if (attempt > 2) {
        *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        share = (double)(*random >> 11) * 0x1p-53;
    }
    double x = range.lo + share * (range.hi - range.lo);
    x = fabs(x) > 1e-3 * (range.hi - range.lo) ? x : 0;
    return x < range.lo ? range.lo : x > range.hi ? range.hi : x;
}

/* A direction of the wrong sign at the point where the leaves now are; its second derivative, rounded towards zero. */
static double wrong_direction(tc_prover *p, const tc_hessian *h, evaluation *e, int sign, double *direction) {
    size_t n = h->count;
    evaluate(p, h, e);
    double *m = TC_NEW(p->arena, double, n *n);
    double top = 0;
    for (size_t i = 0; i < n * n; i++) {
        if (!tc_is_finite(e->matrix[i]))
            return 0;
        m[i] = -sign * (e->matrix[i].lo / 2 + e->matrix[i].hi / 2);
    }
    if (!(tc_largest_eigen(p->arena, tc_apply_dense, m, n, direction) > 0))
        return 0;
    for (size_t i = 0; i < n; i++)
        top = fmax(top, fabs(direction[i]));
    for (size_t i = 0; i < n; i++) /* short numbers, for people */
        direction[i] = nearbyint(direction[i] / top * 1024) / 1024;
    tc_interval form = tc_point(0);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            form =
                tc_iadd(form, tc_imul(tc_imul(tc_point(direction[i]), tc_point(direction[j])), e->matrix[i * n + j]));
    }
    return sign > 0 ? (form.hi < 0 ? form.hi : 0) : (form.lo > 0 ? form.lo : 0);
}

tc_counterexample tc_refute(tc_prover *p, tc_expr root, tc_curvature want) {
    const tc_hessian *h = tc_hessian_of(p, root);
    tc_counterexample result = {.hessian = h};
    if (h->tape == NULL || h->count == 0)
        return result;
    result.point = TC_NEW(p->arena, double, h->count);
    result.direction = TC_NEW(p->arena, double, h->count);
    tc_mark mark = tc_arena_mark(p->arena);
    evaluation e = new_evaluation(p, h);
    tc_interval *whole = TC_NEW(p->arena, tc_interval, h->count);
    for (size_t i = 0; i < h->count; i++)
        whole[i] = *leaf_range(p, h->leaves[i]);
    uint64_t random = 1;
    for (int attempt = 0; attempt < TRIES && !result.found; attempt++) {
        for (size_t i = 0; i < h->count; i++) {
            if (p->dag->nodes[h->leaves[i]].op == TC_SUM)
                continue;
            result.point[i] = chosen(whole[i], attempt, &random);
            *leaf_range(p, h->leaves[i]) = tc_point(result.point[i]);
        }
        tc_mark inner = tc_arena_mark(p->arena);
        result.value = wrong_direction(p, h, &e, want == TC_CONVEX ? 1 : -1, result.direction);
        result.found = result.value != 0;
        tc_arena_rewind(p->arena, inner);
    }
    for (size_t i = 0; i < h->count; i++)
        *leaf_range(p, h->leaves[i]) = whole[i];
    tc_arena_rewind(p->arena, mark);
    return result;
}

/* ---- semidefinite interval matrices ---- */

static bool is_zero(tc_interval a) { return a.lo == 0 && a.hi == 0; }

/* Each diagonal entry at least the sum of its row's other magnitudes. Sums are exact where they can be, so that a
 * graph Laplacian, which is only just semidefinite, passes. */
static bool diagonally_dominant(const tc_interval *h, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum = j == i ? sum : tc_add_up(sum, tc_magnitude(h[i * n + j]));
        if (!(h[i * n + i].lo >= sum))
            return false;
    }
    return true;
}

/* LDL' in interval arithmetic, in the given order; destroys h. A pivot that is exactly zero is fine if its column is.
 */
static bool factors(tc_interval *h, size_t n) {
    for (size_t k = 0; k < n; k++) {
        tc_interval pivot = h[k * n + k];
        bool empty = true;
        for (size_t i = k + 1; i < n; i++)
            empty = empty && is_zero(h[i * n + k]);
        if (!(pivot.lo >= 0))
            return false;
        if (empty)
            continue;
        if (!(pivot.lo > 0))
            return false;
        for (size_t i = k + 1; i < n; i++) {
            if (is_zero(h[i * n + k]))
                continue;
            tc_interval ratio = tc_idiv(h[i * n + k], pivot);
            for (size_t j = k + 1; j < i; j++)
                h[i * n + j] = tc_isub(h[i * n + j], tc_imul(ratio, h[j * n + k]));
            /* h_ik^2 / pivot, as a square, so that it is not negative */
            h[i * n + i] = tc_isub(h[i * n + i], tc_idiv(tc_isquare(h[i * n + k]), pivot));
        }
    }
    return true;
}

/* midpoint - |radius|_2 I is positive definite: Cholesky with a bound of its error. */
static bool midpoint_positive(tc_arena *arena, const tc_interval *h, size_t n) {
    double *middle = TC_NEW(arena, double, n *n), *radius = TC_NEW(arena, double, n *n);
    for (size_t i = 0; i < n * n; i++) {
        if (!tc_is_finite(h[i]))
            return false;
        middle[i] = h[i].lo / 2 + h[i].hi / 2;
        radius[i] = tc_is_point(h[i]) ? 0 : fmax(tc_add_up(h[i].hi, -middle[i]), tc_add_up(middle[i], -h[i].lo));
    }
    return tc_certainly_positive(arena, middle, n, tc_perron_upper(arena, radius, n));
}

static bool connected_psd(tc_arena *arena, const tc_interval *h, size_t n) {
    if (n == 1)
        return h[0].lo >= 0;
    if (diagonally_dominant(h, n))
        return true;
    /* either is a proof; intervals also prove what is only just semidefinite, and take longer */
    if (n > FEW && midpoint_positive(arena, h, n))
        return true;
    tc_interval *copy = TC_NEW(arena, tc_interval, n * n);
    memcpy(copy, h, n * n * sizeof *h);
    return factors(copy, n) || (n <= FEW && midpoint_positive(arena, h, n));
}

bool tc_interval_psd(tc_arena *arena, const tc_interval *h, size_t n, int sign) {
    tc_mark mark = tc_arena_mark(arena);
    bool *seen = TC_NEW(arena, bool, n + 1), holds = true;
    size_t *members = TC_NEW(arena, size_t, n + 1);
    for (size_t seed = 0; seed < n && holds; seed++) {
        if (seen[seed])
            continue;
        size_t count = 0;
        members[count++] = seed;
        seen[seed] = true;
        for (size_t next = 0; next < count; next++) {
            for (size_t j = 0; j < n; j++) {
                if (!seen[j] && !is_zero(h[members[next] * n + j])) {
                    seen[j] = true;
                    members[count++] = j;
                }
            }
        }
        tc_mark inner = tc_arena_mark(arena);
        tc_interval *block = TC_NEW(arena, tc_interval, count * count);
        for (size_t i = 0; i < count; i++) {
            for (size_t j = 0; j < count; j++) {
                tc_interval entry = h[members[i] * n + members[j]];
                block[i * count + j] = sign < 0 ? tc_ineg(entry) : entry;
            }
        }
        holds = connected_psd(arena, block, count);
        tc_arena_rewind(arena, inner);
    }
    tc_arena_rewind(arena, mark);
    return holds;
}

/* ---- smoothness ---- */

static const char *const tighten = "A tighter public box for the states in it would help.";
static const char *const smoothing = "Smooth it with a small constant d: sqrt(sumsq(v) + d^2) instead of norm(v).";

static tc_flaw check_root(const tc_prover *p, tc_expr e) {
    const tc_node *n = &p->dag->nodes[e];
    double least = p->enclosures[n->a].lo;
    tc_flaw flaw = {.node = e, .argument = n->a, .needs = "needs an argument above 0", .helps = tighten};
    if (least > 0 || (least == 0 && !n->has_state))
        flaw.node = TC_NO_EXPR;
    if (least == 0) {
        flaw.needs = "has no derivative where its argument is 0, at the edge of the box";
        flaw.helps = "A public box that keeps it above 0 would help, or sqrt(u + d) with a small constant d.";
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

/* An exponent in a range: over all members, or of one. */
static tc_flaw check_power_of_data(const tc_prover *p, tc_expr e) {
    tc_expr argument = tc_operand(p->dag, e, 0);
    tc_interval base = p->enclosures[argument], k = p->enclosures[tc_operand(p->dag, e, 1)];
    tc_flaw flaw = {.node = e, .argument = argument, .helps = tighten};
    bool is_whole = tc_is_point(k) && k.lo == floor(k.lo), never_zero = base.lo > 0 || base.hi < 0;
    bool fine = is_whole ? k.lo >= 0 || never_zero : base.lo > 0 || (base.lo >= 0 && k.lo >= 2);
    flaw.needs = is_whole       ? "needs a base that is never 0"
                 : base.lo >= 0 ? "has derivatives without bound where its base is 0"
                                : "needs a base above 0, for its exponent is not a whole number";
    flaw.node = fine ? TC_NO_EXPR : e;
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
    tc_flaw flaw = {.node = e, .argument = e, .is_kink = true, .needs = "has a kink where it is 0", .helps = smoothing};
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
    case TC_POWD:
        return check_power_of_data(p, e);
    case TC_ABS:
        if (!(p->enclosures[n->a].lo >= 0 || p->enclosures[n->a].hi <= 0))
            return (tc_flaw){.node = e,
                             .argument = n->a,
                             .is_kink = true,
                             .needs = "has a kink where its argument is 0",
                             .helps = ""};
        break;
    case TC_MAX:
        return (tc_flaw){
            .node = e, .argument = e, .is_kink = true, .needs = "has kinks where arguments are equal", .helps = ""};
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

/* The ends are exact up to rounding, so an end that is almost zero decides nothing. */
static bool is_certain(const tc_prover *p, tc_expr argument) {
    tc_interval range = p->enclosures[argument];
    double tiny = 1e-12 * tc_magnitude(range);
    return tc_read_once(p->dag, argument) && (range.lo == 0 || fabs(range.lo) > tiny) &&
           (range.hi == 0 || fabs(range.hi) > tiny);
}

/* Where max(u, v) has a kink for certain: one of them is a constant within the range of the other. */
static bool is_certain_max(const tc_prover *p, const tc_node *n) {
    tc_expr constant = p->dag->nodes[n->a].has_state ? n->b : n->a, other = n->a + n->b - constant;
    tc_interval level = p->enclosures[constant], range = p->enclosures[other];
    return !p->dag->nodes[constant].has_state && is_certain(p, other) && range.lo < level.lo && level.hi < range.hi;
}

tc_flaw tc_find_flaw(const tc_prover *p, const tc_cone *cone, tc_flaw_kinds kinds) {
    for (size_t i = 0; i < cone->count; i++) {
        const tc_node *n = &p->dag->nodes[cone->nodes[i]];
        tc_flaw flaw = check_node(p, cone, cone->nodes[i]);
        if (flaw.node == TC_NO_EXPR || !n->has_state ||
            (flaw.is_kink ? kinds == TC_FLAWS_OF_DOMAIN : kinds == TC_FLAWS_OF_KINKS))
            continue;
        flaw.certain = n->op == TC_MAX ? is_certain_max(p, n) : is_certain(p, flaw.argument);
        return flaw;
    }
    if (kinds != TC_FLAWS_OF_KINKS && !tc_is_finite(p->enclosures[cone->root]))
        return (tc_flaw){
            .node = cone->root, .argument = cone->root, .needs = "overflows: it has no finite bound", .helps = tighten};
    return (tc_flaw){.node = TC_NO_EXPR};
}
