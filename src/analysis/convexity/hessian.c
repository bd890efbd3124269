/* Proof and refutation of convexity by interval Hessians. */
#include "analysis/convexity/curvature.h"
#include "analysis/convexity/eigen.h"
#include "analysis/convexity/psd.h"

#include <string.h>

enum { MOST_LEAVES = 400, BISECT_LEAVES = 4, MOST_BOXES = 600, TRIES = 40 };

static size_t place_of(const tc_expr *leaves, size_t count, tc_expr leaf) {
    for (size_t i = 0; i < count; i++) {
        if (leaves[i] == leaf)
            return i;
    }
    return SIZE_MAX;
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
    h->count = tc_gradient(p->arena, p->dag, root, op, &h->leaves, &h->gradient);
    if (h->count > MOST_LEAVES)
        return h;
    tc_expr zero = tc_const(p->dag, 0);
    tc_expr *roots = TC_NEW(p->arena, tc_expr, h->count * (h->count + 1) / 2 + h->count + 1);
    size_t next = 0;
    for (size_t i = 0; i < h->count; i++) {
        tc_expr *leaves, *partials;
        size_t found = tc_gradient(p->arena, p->dag, h->gradient[i], op, &leaves, &partials);
        for (size_t j = 0; j <= i; j++) {
            size_t at = place_of(leaves, found, h->leaves[j]);
            roots[next++] = at == SIZE_MAX ? zero : partials[at];
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

/* ---- refutation ------------------------------------------------------------------------------------------------- */

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
