/* Objectives that depend on protected data: rules 1 and 2 of docs/proofs/data.md.
 *
 * Rule 1, any set: |x' - x|_2 <= sup |d grad f| / m, f with curvature of at least m everywhere.
 * Rule 2, bounds alone and f a sum of functions of one state: |x'_c - x_c| <= sup |d f_c'| / f_c'', or the shift of
 * f_c(x_c - e) where the datum is in e alone.
 *
 * The quotient is bounded, not its two parts: in weight * sumsq(p - pref) the weight cancels. So f is taken as a sum of
 * products, and each factor that is free of states and positive is tried as a divisor of all of f. */
#include "analysis/convexity/curvature.h"
#include "analysis/data/inside.h"

enum { MOST_FACTORS = 6, MOST_DIVISORS = 8, HALVINGS = 40 };
#define REALM_OF_DATA (UINT32_MAX - 1) /* so that nodes made here number no others anew */

/* ---- f as a sum of products -------------------------------------------------------------------------------------- */

typedef struct term {
    tc_expr node; /* with states */
    tc_expr factors[MOST_FACTORS];
    size_t count;
    bool negative;
} term;

typedef struct terms {
    term *items;
    size_t count;
} terms;

static void add_factor(tc_ranged *r, term *t, tc_expr factor) {
    const tc_node *n = &r->dag->nodes[factor];
    if (n->op == TC_MUL && t->count + 2 <= MOST_FACTORS) {
        add_factor(r, t, n->a);
        add_factor(r, t, r->dag->nodes[factor].b);
    } else if (t->count < MOST_FACTORS) {
        t->factors[t->count++] = factor;
    } else {
        t->factors[MOST_FACTORS - 1] = tc_mul(r->dag, t->factors[MOST_FACTORS - 1], factor);
    }
}

static terms terms_of(tc_ranged *r, tc_expr root) {
    terms found = {0}, stack = {0};
    tc_dag *dag = r->dag;
    term first = {.node = root};
    TC_PUSH(r->arena, stack.items, stack.count, first);
    while (stack.count > 0) {
        term t = stack.items[--stack.count], other;
        tc_node n = dag->nodes[t.node];
        bool a = tc_operand_count(dag, t.node) > 0 && dag->nodes[tc_operand(dag, t.node, 0)].has_state;
        bool b = tc_operand_count(dag, t.node) > 1 && dag->nodes[tc_operand(dag, t.node, 1)].has_state;
        if (!n.has_state)
            continue; /* no effect on the minimiser */
        other = t;
        if (n.op == TC_ADD || n.op == TC_SUB) {
            t.node = n.a;
            other.node = n.b;
            other.negative = t.negative != (n.op == TC_SUB);
            TC_PUSH(r->arena, stack.items, stack.count, other);
            TC_PUSH(r->arena, stack.items, stack.count, t);
        } else if (n.op == TC_NEG) {
            t.node = n.a;
            t.negative = !t.negative;
            TC_PUSH(r->arena, stack.items, stack.count, t);
        } else if (n.op == TC_MUL && a != b) {
            t.node = a ? n.a : n.b;
            add_factor(r, &t, a ? n.b : n.a);
            TC_PUSH(r->arena, stack.items, stack.count, t);
        } else if (n.op == TC_DIV && a && !b) {
            t.node = n.a;
            add_factor(r, &t, tc_div(dag, tc_const(dag, 1), n.b));
            TC_PUSH(r->arena, stack.items, stack.count, t);
        } else {
            TC_PUSH(r->arena, found.items, found.count, t);
        }
    }
    return found;
}

/* f / divisor; TC_NO_EXPR divides by one. */
static tc_expr divided(tc_ranged *r, const terms *all, tc_expr divisor) {
    tc_dag *dag = r->dag;
    tc_expr sum = tc_const(dag, 0);
    for (size_t i = 0; i < all->count; i++) {
        const term *t = &all->items[i];
        tc_expr product = t->node, factor = tc_const(dag, 1);
        bool cancelled = divisor == TC_NO_EXPR;
        for (size_t k = 0; k < t->count; k++) {
            if (!cancelled && t->factors[k] == divisor)
                cancelled = true;
            else
                factor = tc_mul(dag, factor, t->factors[k]);
        }
        if (!cancelled)
            factor = tc_div(dag, factor, divisor);
        product = tc_mul(dag, factor, product);
        sum = t->negative ? tc_sub(dag, sum, product) : tc_add(dag, sum, product);
    }
    return sum;
}

static size_t divisors_of(tc_ranged *r, const terms *all, tc_expr divisors[MOST_DIVISORS]) {
    size_t count = 0;
    divisors[count++] = TC_NO_EXPR;
    for (size_t i = 0; i < all->count; i++) {
        for (size_t k = 0; k < all->items[i].count; k++) {
            tc_expr factor = all->items[i].factors[k];
            bool known = !r->dag->nodes[factor].has_data || count == MOST_DIVISORS;
            for (size_t d = 1; d < count && !known; d++)
                known = divisors[d] == factor;
            if (!known && tc_ranged_value(r, factor).lo > 0)
                divisors[count++] = factor;
        }
    }
    return count;
}

/* ---- structure --------------------------------------------------------------------------------------------------- */

/* The one state under a node; SIZE_MAX for none, SIZE_MAX - 1 for several. */
static size_t only_state(tc_ranged *r, tc_expr node) {
    size_t count, only = SIZE_MAX;
    const tc_expr *nodes = tc_reachable(r->arena, r->dag, &node, 1, &count);
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &r->dag->nodes[nodes[i]];
        if (n->op != TC_STATE)
            continue;
        if (only != SIZE_MAX && only != n->u.index)
            return SIZE_MAX - 1;
        only = (size_t)n->u.index;
    }
    return only;
}

bool tc_objective_is_separable(tc_ranged *r) {
    terms all = terms_of(r, r->family->objective);
    for (size_t i = 0; i < all.count; i++) {
        if (only_state(r, all.items[i].node) == SIZE_MAX - 1)
            return false;
    }
    return true;
}

/* ---- rule 2: f_c(x_c - e), whatever f_c is ------------------------------------------------------------------------
 */

/* How a node uses a state: as x_c - e or e - x_c, as x_c + e, or in another way (e is TC_NO_EXPR). */
typedef struct state_use {
    tc_expr e;
    bool is_sum;
} state_use;

static state_use use_of(const tc_dag *dag, tc_expr node, size_t operand) {
    const tc_node *n = &dag->nodes[node];
    state_use none = {.e = TC_NO_EXPR};
    if (n->op != TC_ADD && n->op != TC_SUB)
        return none;
    tc_expr other = tc_operand(dag, node, 1 - operand);
    return dag->nodes[other].has_state ? none : (state_use){other, n->op == TC_ADD};
}

/* Whether a number that moves is used in another way than as the partner of a state. */
static bool has_loose_data(tc_ranged *r, tc_expr node) {
    const tc_dag *dag = r->dag;
    for (size_t k = 0; k < tc_operand_count(dag, node); k++) {
        tc_expr operand = tc_operand(dag, node, k);
        bool pair = dag->nodes[node].op == TC_ADD || dag->nodes[node].op == TC_SUB;
        if (!dag->nodes[operand].has_state && tc_ranged_moves(r, operand) &&
            !(pair && dag->nodes[tc_operand(dag, node, 1 - k)].op == TC_STATE))
            return true;
    }
    return false;
}

/* Whether the datum only shifts the functions of single states; by[c] receives how far. */
static bool is_shifted(tc_ranged *r, double *by) {
    const tc_dag *dag = r->dag;
    size_t count;
    tc_expr root = r->family->objective;
    state_use *moving = TC_NEW(r->arena, state_use, r->family->dim + 1);
    for (size_t c = 0; c < r->family->dim; c++)
        moving[c].e = TC_NO_EXPR;
    const tc_expr *nodes = tc_reachable(r->arena, dag, &root, 1, &count);
    if (dag->nodes[root].op == TC_STATE)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            if (!dag->nodes[nodes[i]].has_state)
                continue;
            if (pass == 0 && has_loose_data(r, nodes[i]))
                return false;
            for (size_t k = 0; k < tc_operand_count(dag, nodes[i]); k++) {
                const tc_node *of = &dag->nodes[tc_operand(dag, nodes[i], k)];
                if (of->op != TC_STATE)
                    continue;
                state_use use = use_of(dag, nodes[i], k), *known = &moving[of->u.index];
                if (pass == 0 && use.e != TC_NO_EXPR && tc_ranged_moves(r, use.e))
                    *known = use;
                if (pass == 1 && known->e != TC_NO_EXPR && (known->e != use.e || known->is_sum != use.is_sum))
                    return false;
            }
        }
    }
    for (size_t c = 0; c < r->family->dim; c++)
        by[c] = moving[c].e == TC_NO_EXPR ? 0 : tc_ranged_slope(r, moving[c].e);
    return true;
}

/* ---- quotients --------------------------------------------------------------------------------------------------- */

typedef struct quotient { /* of one divisor */
    size_t dim;
    double *moved;       /* by component: sup |d (grad f)_c| / divisor */
    tc_interval *second; /* the Hessian of f / divisor: dim^2, both triangles */
    bool is_diagonal;
} quotient;

/* d (w h_x) / w = d h_x + h_x (d w) / w */
static double moved_by(tc_ranged *r, tc_expr gradient, tc_expr divisor) {
    double own = tc_ranged_moves(r, gradient) ? tc_ranged_slope(r, gradient) : 0;
    if (divisor == TC_NO_EXPR || !tc_ranged_moves(r, divisor))
        return own;
    double rate = tc_div_up(tc_ranged_slope(r, divisor), tc_ranged_value(r, divisor).lo);
    return tc_add_up(own, tc_mul_up(tc_magnitude(tc_ranged_value(r, gradient)), rate));
}

static quotient quotient_of(tc_ranged *r, const terms *all, tc_expr divisor) {
    size_t dim = r->family->dim;
    quotient q = {.dim = dim,
                  .moved = TC_NEW(r->arena, double, dim + 1),
                  .second = TC_NEW(r->arena, tc_interval, dim * dim + 1),
                  .is_diagonal = true};
    tc_expr h = divided(r, all, divisor), *leaves, *partials, *inner, *seconds;
    size_t count = tc_gradient(r->arena, r->prover->differentiator, h, TC_STATE, &leaves, &partials);
    for (size_t i = 0; i < count; i++) {
        size_t c = (size_t)r->dag->nodes[leaves[i]].u.index;
        q.moved[c] = moved_by(r, partials[i], divisor);
        size_t more = tc_gradient(r->arena, r->prover->differentiator, partials[i], TC_STATE, &inner, &seconds);
        for (size_t k = 0; k < more; k++) {
            size_t d = (size_t)r->dag->nodes[inner[k]].u.index;
            q.is_diagonal = q.is_diagonal && c == d;
            q.second[c * dim + d] = tc_ranged_value(r, seconds[k]);
        }
    }
    return q;
}

/* A proved lower bound of the smallest eigenvalue over boxes and ranges; 0 where none above it is proved. */
static double least_curvature(tc_ranged *r, const quotient *q) {
    double least = (double)INFINITY, most = (double)INFINITY;
    for (size_t c = 0; c < q->dim; c++)
        most = fmin(most, q->second[c * q->dim + c].lo);
    if (q->is_diagonal || !(most > 0 && isfinite(most)))
        return fmax(most, 0);
    tc_interval *less = TC_NEW(r->arena, tc_interval, q->dim * q->dim);
    least = 0;
    double high = most;
    for (int i = 0; i < HALVINGS && high - least > 1e-9 * most; i++) {
        double middle = i == 0 ? most * (1 - 1e-9) : (least + high) / 2;
        for (size_t k = 0; k < q->dim * q->dim; k++) {
            less[k] = tc_meet(q->second[k], q->second[k % q->dim * q->dim + k / q->dim]);
            if (k % q->dim == k / q->dim)
                less[k] = tc_isub(less[k], tc_point(middle));
        }
        if (tc_interval_psd(r->arena, less, q->dim, 1))
            least = middle;
        else
            high = middle;
    }
    return least;
}

static void take_smaller(double distances[2], double sum, double length) {
    distances[0] = fmin(distances[0], sum);
    distances[1] = fmin(distances[1], length);
}

/* Rule 1: the l2 distance, and in l1 by the number of states. */
static void take_whole(tc_ranged *r, const quotient *q, double distances[2]) {
    double squares = 0, least = least_curvature(r, q);
    for (size_t c = 0; c < q->dim; c++)
        squares = tc_add_up(squares, tc_mul_up(q->moved[c], q->moved[c]));
    if (!(least > 0))
        return;
    double length = tc_div_up(tc_sqrt_up(squares), least);
    take_smaller(distances, tc_mul_up(length, tc_sqrt_up((double)q->dim)), length);
}

static void take_components(const double *moved, size_t dim, double distances[2]) {
    double sum = 0, squares = 0;
    for (size_t c = 0; c < dim; c++) {
        sum = tc_add_up(sum, moved[c]);
        squares = tc_add_up(squares, tc_mul_up(moved[c], moved[c]));
    }
    take_smaller(distances, sum, tc_sqrt_up(squares));
}

/* Rule 2, by curvature. */
static void take_single(tc_ranged *r, const quotient *q, double distances[2]) {
    double *moved = TC_NEW(r->arena, double, q->dim + 1);
    for (size_t c = 0; c < q->dim; c++) {
        double curvature = q->second[c * q->dim + c].lo;
        moved[c] = q->moved[c] == 0 ? 0 : curvature > 0 ? tc_div_up(q->moved[c], curvature) : (double)INFINITY;
    }
    take_components(moved, q->dim, distances);
}

const char *tc_objective_distances(tc_ranged *r, const tc_set_form *form, double distances[2]) {
    tc_expr root = r->family->objective;
    distances[0] = distances[1] = INFINITY;
    const char *missing = tc_ranged_missing(r, root);
    bool bounds_alone = form->rows == 0 && !form->has_curved && tc_objective_is_separable(r);
    double *by = TC_NEW(r->arena, double, r->family->dim + 1);
    if (bounds_alone && is_shifted(r, by))
        take_components(by, r->family->dim, distances);
    if (missing != NULL && !isfinite(distances[1]))
        return tc_arena_format(r->arena, "%s, which the objective has too, has no range", missing);
    if (r->derivatives->lift != NULL)
        return isfinite(distances[1]) ? NULL : "the objective has a kink that it does not shift as a whole";
    uint32_t realm = r->dag->realm;
    r->dag->realm = REALM_OF_DATA;
    terms all = terms_of(r, root);
    tc_expr divisors[MOST_DIVISORS];
    size_t count = divisors_of(r, &all, divisors);
    for (size_t d = 0; d < count; d++) {
        quotient q = quotient_of(r, &all, divisors[d]);
        take_whole(r, &q, distances);
        if (bounds_alone && q.is_diagonal)
            take_single(r, &q, distances);
    }
    r->dag->realm = realm;
    return isfinite(distances[1]) ? NULL
                                  : "the objective is not proved to be strongly convex over the boxes and ranges, or "
                                    "its slopes move too far";
}

/* ---- gaps -------------------------------------------------------------------------------------------------------- */

/* By convexity f(y) - f(x) <= grad f(y) . (y - x). */
static double gap_by_slopes(tc_ranged *r, const tc_interval *box) {
    const tc_family_derivatives *d = r->derivatives;
    double gap = d->lift != NULL ? (double)INFINITY : 0;
    for (size_t i = 0; i < d->objective_first_count; i++) {
        size_t c = d->objective_first[i].column;
        tc_interval way = tc_isub(r->batch->state[c * TC_LANES], box[c]);
        gap = tc_add_up(gap, fmax(0, tc_imul(tc_ranged_value(r, d->objective_first[i].value), way).hi));
    }
    return gap;
}

double tc_ranged_gap(tc_ranged *r) {
    const tc_family *family = r->family;
    tc_interval *box = TC_NEW(r->arena, tc_interval, family->dim + 1);
    double lowest = tc_ranged_value(r, family->objective).lo;
    for (size_t c = 0; c < family->dim; c++) {
        box[c] = r->batch->state[c * TC_LANES];
        r->batch->state[c * TC_LANES] = tc_ranged_slater(r, c);
    }
    double gap = tc_add_up(tc_ranged_value(r, family->objective).hi, -lowest);
    gap = fmin(isnan(gap) ? (double)INFINITY : gap, gap_by_slopes(r, box));
    for (size_t c = 0; c < family->dim; c++)
        r->batch->state[c * TC_LANES] = box[c];
    return gap;
}
