#include "calculus/lift.h"

#include "calculus/tape/tape.h"

#include <math.h>

typedef struct lifter {
    tc_arena *arena;
    tc_dag *dag;
    const tc_family *family;
    tc_lift *lift;
    tc_expr *nodes; /* of the objective, in order */
    size_t count;
    tc_expr *made;           /* by node: what takes its place */
    bool *is_inner;          /* by node: a kink whose value only a larger TC_MAX asks for */
    unsigned char *trend;    /* by node: whether the objective rises or falls with it; NULL: huber is not lifted */
    tc_interval *enclosures; /* by node: over the boxes of all members */
    size_t row_capacity, kink_capacity;
} lifter;

/* ---- where kinks are ----------------------------------------------------------------------------------------------
 */

static tc_interval range_of(const tc_family *family, size_t member, size_t component) {
    tc_interval range = {tc_coef_at(family->lower[component], member), tc_coef_at(family->upper[component], member)};
    for (size_t p = 0; p < family->piece_count; p++) {
        const tc_set_piece *piece = &family->pieces[p];
        if (component < piece->first || component >= piece->first + piece->count)
            continue;
        if (piece->kind == TC_SET_BOX) {
            range.lo = fmax(range.lo, tc_coef_at(piece->center[component - piece->first], member));
            range.hi = fmin(range.hi, tc_coef_at(piece->upper[component - piece->first], member));
        } else if (piece->kind == TC_SET_BALL || piece->kind == TC_SET_BALL1) {
            double radius = tc_coef_at(piece->radius, member);
            double center = tc_coef_at(piece->center[component - piece->first], member);
            range.lo = fmax(range.lo, tc_add_down(center, -radius));
            range.hi = fmin(range.hi, tc_add_up(center, radius));
        } else if (piece->kind == TC_SET_SIMPLEX) {
            range.lo = fmax(range.lo, 0);
        }
    }
    return range.lo <= range.hi ? range : tc_whole_line(); /* an empty set is somebody else's to report */
}

typedef struct member_inputs {
    tc_interval *values; /* states, then data */
    const tc_interval **at;
} member_inputs;

static member_inputs new_inputs(tc_arena *arena, const tc_family *family) {
    size_t count = family->dim + family->column_count;
    member_inputs in = {TC_NEW(arena, tc_interval, count + 1), TC_NEW(arena, const tc_interval *, count + 1)};
    for (size_t i = 0; i < count; i++)
        in.at[i] = &in.values[i];
    return in;
}

static void load_member(const tc_family *family, size_t member, tc_interval *values) {
    for (size_t c = 0; c < family->dim; c++)
        values[c] = range_of(family, member, c);
    for (size_t d = 0; d < family->column_count; d++)
        values[family->dim + d] = tc_point(family->columns[d].values[member]);
}

static void load_hull(const tc_family *family, tc_interval *values, tc_interval *member) {
    size_t count = family->dim + family->column_count;
    load_member(family, 0, values);
    for (size_t k = 1; k < family->count; k++) {
        load_member(family, k, member);
        for (size_t i = 0; i < count; i++)
            values[i] = tc_hull(values[i], member[i]);
    }
}

static void enclose(const lifter *l, const member_inputs *in) {
    tc_interval_inputs inputs = {.state = in->at, .data = in->at + l->family->dim};
    tc_enclose_nodes(l->dag, l->nodes, l->count, &inputs, l->enclosures);
}

/* Whether every use of a norm is a power that is smooth where the norm is not. */
static bool is_raised(const lifter *l, tc_expr norm) {
    if (norm == l->nodes[l->count - 1])
        return false;
    for (size_t i = 0; i < l->count; i++) {
        const tc_node *n = &l->dag->nodes[l->nodes[i]];
        bool power = (n->op == TC_POWI && n->u.exponent >= 2) || (n->op == TC_POWR && n->u.value >= 3);
        for (size_t k = 0; !power && k < tc_operand_count(l->dag, l->nodes[i]); k++)
            if (tc_operand(l->dag, l->nodes[i], k) == norm)
                return false;
    }
    return true;
}

static bool is_kink(unsigned op) { return op == TC_ABS || op == TC_MAX; }

/* Marks kinks whose value only a TC_MAX asks for: their arguments become its own. */
static void find_inner(lifter *l) {
    for (size_t i = 0; i < l->count; i++)
        l->is_inner[l->nodes[i]] = is_kink(l->dag->nodes[l->nodes[i]].op);
    l->is_inner[l->nodes[l->count - 1]] = false;
    for (size_t i = 0; i < l->count; i++)
        for (size_t k = 0; k < tc_operand_count(l->dag, l->nodes[i]); k++)
            if (l->dag->nodes[l->nodes[i]].op != TC_MAX)
                l->is_inner[tc_operand(l->dag, l->nodes[i], k)] = false;
}

/* By node: whether a norm can be 0 for some member. */
static bool *find_norms(lifter *l, const member_inputs *in) {
    bool *can_be_zero = NULL;
    size_t open = 0;
    for (size_t i = 0; i < l->count; i++) {
        tc_expr e = l->nodes[i];
        if (l->dag->nodes[e].op != TC_NORM || l->enclosures[e].lo > 0 || is_raised(l, e))
            continue;
        if (can_be_zero == NULL)
            can_be_zero = TC_NEW(l->arena, bool, (size_t)l->nodes[l->count - 1] + 1);
        open++;
    }
    for (size_t k = 0; k < l->family->count && open > 0; k++) { /* what the hull leaves open, member by member */
        load_member(l->family, k, in->values);
        enclose(l, in);
        open = 0;
        for (size_t i = 0; i < l->count; i++) {
            tc_expr e = l->nodes[i];
            if (l->dag->nodes[e].op != TC_NORM || can_be_zero[e] || is_raised(l, e))
                continue;
            can_be_zero[e] = !(l->enclosures[e].lo > 0);
            open += !can_be_zero[e];
        }
    }
    return can_be_zero;
}

/* ---- where huber is to be lifted ---- */

enum { RISES = 1, FALLS = 2, UNKNOWN = RISES | FALLS };

static unsigned opposite(unsigned trend) { return (trend & RISES ? FALLS : 0) | (trend & FALLS ? RISES : 0); }

/* How the objective moves with operand k of a node, by how it moves with the node. */
static unsigned trend_below(const lifter *l, tc_expr e, size_t k) {
    const tc_node *n = &l->dag->nodes[e];
    unsigned trend = l->trend[e];
    tc_expr factor = k == 0 ? n->b : n->a;
    switch (n->op) {
    case TC_ADD:
    case TC_MAX:
        return trend;
    case TC_SUB:
        return k == 0 ? trend : opposite(trend);
    case TC_NEG:
        return opposite(trend);
    case TC_MUL:
    case TC_DIV:
        if (l->dag->nodes[factor].has_state || (n->op == TC_DIV && k == 1))
            return UNKNOWN;
        return l->enclosures[factor].lo >= 0 ? trend : l->enclosures[factor].hi <= 0 ? opposite(trend) : UNKNOWN;
    default:
        return UNKNOWN;
    }
}

static void find_trends(lifter *l) {
    l->trend = TC_NEW(l->arena, unsigned char, (size_t)l->nodes[l->count - 1] + 1);
    l->trend[l->nodes[l->count - 1]] = RISES;
    for (size_t i = l->count; i-- > 0;)
        for (size_t k = 0; k < tc_operand_count(l->dag, l->nodes[i]); k++)
            l->trend[tc_operand(l->dag, l->nodes[i], k)] |= (unsigned char)trend_below(l, l->nodes[i], k);
}

/* ---- the same function without kinks ------------------------------------------------------------------------------
 */

static void add_row(lifter *l, uint32_t kink, bool is_equality, tc_expr row) {
    tc_lift *lift = l->lift;
    if (lift->row_count == l->row_capacity) {
        size_t capacity = l->row_capacity * 2 + 8;
        lift->rows = tc_arena_grow(l->arena, lift->rows, lift->row_count, capacity, sizeof *lift->rows);
        lift->row_kink = tc_arena_grow(l->arena, lift->row_kink, lift->row_count, capacity, sizeof *lift->row_kink);
        lift->row_is_equality =
            tc_arena_grow(l->arena, lift->row_is_equality, lift->row_count, capacity, sizeof *lift->row_is_equality);
        l->row_capacity = capacity;
    }
    lift->row_is_equality[lift->row_count] = is_equality;
    lift->row_kink[lift->row_count] = kink;
    lift->rows[lift->row_count++] = row;
}

static tc_expr new_kink(lifter *l, tc_expr e, uint32_t norm) {
    tc_lift *lift = l->lift;
    if (lift->count == l->kink_capacity) {
        size_t capacity = l->kink_capacity * 2 + 8;
        lift->kinks = tc_arena_grow(l->arena, lift->kinks, lift->count, capacity, sizeof *lift->kinks);
        lift->norm = tc_arena_grow(l->arena, lift->norm, lift->count, capacity, sizeof *lift->norm);
        l->kink_capacity = capacity;
    }
    lift->kinks[lift->count] = e;
    lift->norm[lift->count] = norm;
    return tc_state(l->dag, (uint32_t)l->dag->nodes[e].family, l->family->dim + lift->count++);
}

/* u or -u where the sign of u is known; else TC_NO_EXPR. */
static tc_expr without_kink(const lifter *l, tc_expr absolute) {
    tc_expr u = l->dag->nodes[absolute].a;
    if (l->enclosures[u].lo >= 0)
        return l->made[u];
    return l->enclosures[u].hi <= 0 ? tc_neg(l->dag, l->made[u]) : TC_NO_EXPR;
}

/* u <= t for all that e is the largest of. */
static void add_rows_below(lifter *l, uint32_t kink, tc_expr t, tc_expr e) {
    const tc_node n = l->dag->nodes[e]; /* a copy: the pool may move */
    bool opens = l->is_inner[e] || l->lift->kinks[kink] == e;
    if (opens && n.op == TC_MAX) {
        add_rows_below(l, kink, t, n.a);
        add_rows_below(l, kink, t, n.b);
    } else if (opens && n.op == TC_ABS && without_kink(l, e) == TC_NO_EXPR) {
        add_row(l, kink, false, tc_sub(l->dag, l->made[n.a], t));
        add_row(l, kink, false, tc_sub(l->dag, tc_neg(l->dag, l->made[n.a]), t));
    } else {
        add_row(l, kink, false, tc_sub(l->dag, opens && n.op == TC_ABS ? without_kink(l, e) : l->made[e], t));
    }
}

static bool is_affine(const lifter *l, tc_expr root) {
    const tc_dag *dag = l->dag;
    tc_mark mark = tc_arena_mark(l->arena);
    size_t count;
    const tc_expr *nodes = tc_reachable(l->arena, dag, &root, 1, &count);
    bool affine = true;
    for (size_t i = 0; i < count && affine; i++) {
        const tc_node *n = &dag->nodes[nodes[i]];
        bool sums = n->op == TC_ADD || n->op == TC_SUB || n->op == TC_NEG || n->op == TC_STATE;
        bool scales = (n->op == TC_MUL && !(dag->nodes[n->a].has_state && dag->nodes[n->b].has_state)) ||
                      (n->op == TC_DIV && !dag->nodes[n->b].has_state);
        affine = !n->has_state || sums || scales;
    }
    tc_arena_rewind(l->arena, mark);
    return affine;
}

/* A function that is not affine is not negative where the norm is convex: the norm rises with it, and a row suffices.
 */
static tc_expr lift_norm(lifter *l, tc_expr e) {
    tc_dag *dag = l->dag;
    uint32_t kink = (uint32_t)l->lift->count;
    tc_expr t = new_kink(l, e, kink), squares = tc_const(dag, 0);
    for (size_t i = 0; i < tc_operand_count(dag, e); i++) {
        tc_expr u = l->made[tc_operand(dag, e, i)], s = u;
        if (dag->nodes[u].has_state) {
            s = new_kink(l, tc_operand(dag, e, i), kink);
            add_row(l, (uint32_t)l->lift->count - 1, is_affine(l, u), tc_sub(dag, u, s));
        }
        squares = tc_add(dag, squares, tc_pow(dag, s, 2));
    }
    return tc_mul(dag, tc_const(dag, 0.5), tc_add(dag, tc_div(dag, squares, t), t));
}

/* Whether the lifted form of this huber holds; the same for a member alone, on its device. */
static bool is_bend(const lifter *l, tc_expr e) {
    const tc_node *n = &l->dag->nodes[e];
    return l->trend != NULL && n->op == TC_HUBER && l->trend[e] == RISES && is_affine(l, n->a);
}

/* s stays within d, so that it keeps its digits where d is small. */
static tc_expr lift_huber(lifter *l, tc_expr e) {
    tc_dag *dag = l->dag;
    tc_expr u = dag->nodes[e].a, d = dag->nodes[e].b;
    tc_expr s = new_kink(l, tc_clamp(dag, u, d), UINT32_MAX);
    tc_expr t = new_kink(l, tc_abs(dag, u), UINT32_MAX), rest = tc_sub(dag, u, s);
    uint32_t kink = (uint32_t)l->lift->count - 1;
    add_row(l, kink, false, tc_sub(dag, rest, t));
    add_row(l, kink, false, tc_sub(dag, tc_neg(dag, rest), t));
    return tc_add(dag, tc_mul(dag, tc_const(dag, 0.5), tc_pow(dag, s, 2)), tc_mul(dag, d, t));
}

static tc_expr rebuild_nary(lifter *l, tc_expr e) {
    size_t count = tc_operand_count(l->dag, e);
    tc_expr *arguments = TC_NEW(l->arena, tc_expr, count);
    for (size_t i = 0; i < count; i++)
        arguments[i] = l->made[tc_operand(l->dag, e, i)];
    if (l->dag->nodes[e].op == TC_POWD)
        return tc_powd(l->dag, arguments[0], arguments[1]);
    return l->dag->nodes[e].op == TC_NORM ? tc_norm(l->dag, arguments, count) : tc_lse(l->dag, arguments, count);
}

static tc_expr rebuild(lifter *l, tc_expr e) {
    tc_dag *dag = l->dag;
    const tc_node n = dag->nodes[e];
    tc_expr a = tc_is_nary(n.op) ? e : l->made[n.a];
    switch ((tc_op)n.op) {
    case TC_ADD:
        return tc_add(dag, a, l->made[n.b]);
    case TC_SUB:
        return tc_sub(dag, a, l->made[n.b]);
    case TC_MUL:
        return tc_mul(dag, a, l->made[n.b]);
    case TC_DIV:
        return tc_div(dag, a, l->made[n.b]);
    case TC_NEG:
        return tc_neg(dag, a);
    case TC_POWI:
        return tc_pow(dag, a, (double)n.u.exponent);
    case TC_POWR:
        return tc_pow(dag, a, n.u.value);
    case TC_EXP:
        return tc_exp(dag, a);
    case TC_LOG:
        return tc_log(dag, a);
    case TC_SQRT:
        return tc_sqrt(dag, a);
    case TC_HUBER:
        return tc_huber(dag, a, l->made[n.b]);
    case TC_LSE:
    case TC_NORM:
    case TC_POWD:
        return rebuild_nary(l, e);
    case TC_CONST:
    case TC_DATA:
    case TC_STATE:
    case TC_COORD:
    case TC_SUM:
    case TC_ABS:
    case TC_MAX:
    case TC_CLAMP: /* derivatives are in no objective */
    case TC_INSIDE:
    case TC_SOFTMAX:
    case TC_HUMP:
    case TC_PAIR:
    case TC_DIRECTION:
    case TC_BEND:
        break;
    }
    return e;
}

static tc_expr made_of(lifter *l, tc_expr e, const bool *can_be_zero) {
    unsigned op = l->dag->nodes[e].op;
    if (!l->dag->nodes[e].has_state)
        return e;
    if (op == TC_NORM && can_be_zero != NULL && can_be_zero[e])
        return lift_norm(l, e);
    if (op == TC_ABS && without_kink(l, e) != TC_NO_EXPR)
        return without_kink(l, e);
    if (is_bend(l, e))
        return lift_huber(l, e);
    if (is_kink(op)) {
        if (l->is_inner[e])
            return e; /* of no use */
        tc_expr t = new_kink(l, e, UINT32_MAX);
        add_rows_below(l, (uint32_t)l->lift->count - 1, t, e);
        return t;
    }
    bool changed = false;
    for (size_t i = 0; i < tc_operand_count(l->dag, e); i++)
        changed = changed || l->made[tc_operand(l->dag, e, i)] != tc_operand(l->dag, e, i);
    return changed ? rebuild(l, e) : e;
}

tc_lift *tc_lift_new(tc_arena *arena, const tc_model *model, const tc_family *family, bool with_bends) {
    tc_lift *lift = TC_NEW(arena, tc_lift, 1);
    lifter l = {.arena = arena, .dag = model->dag, .family = family, .lift = lift};
    lift->objective = family->objective;
    l.nodes = tc_reachable(arena, l.dag, &family->objective, 1, &l.count);
    bool has_any = false;
    for (size_t i = 0; i < l.count; i++) {
        unsigned op = l.dag->nodes[l.nodes[i]].op;
        has_any = has_any || is_kink(op) || op == TC_NORM || (with_bends && op == TC_HUBER);
    }
    if (!has_any || family->count == 0)
        return lift;
    size_t places = (size_t)l.nodes[l.count - 1] + 1;
    l.made = TC_NEW(arena, tc_expr, places);
    l.is_inner = TC_NEW(arena, bool, places);
    l.enclosures = TC_NEW(arena, tc_interval, places);
    member_inputs hull = new_inputs(arena, family), one = new_inputs(arena, family);
    load_hull(family, hull.values, one.values);
    enclose(&l, &hull);
    find_inner(&l);
    const bool *can_be_zero = find_norms(&l, &one);
    enclose(&l, &hull);
    if (with_bends)
        find_trends(&l);
    tc_span origin = l.dag->origin;
    uint32_t realm = l.dag->realm;
    l.dag->realm = l.dag->nodes[family->objective].realm;
    for (size_t i = 0; i < l.count; i++) {
        l.dag->origin = l.dag->spans[l.nodes[i]];
        l.made[l.nodes[i]] = made_of(&l, l.nodes[i], can_be_zero);
    }
    l.dag->origin = origin;
    l.dag->realm = realm;
    lift->objective = l.made[family->objective];
    return lift;
}

const tc_derivatives *tc_without_bends(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives) {
    bool has_any = false;
    for (size_t f = 0; f < model->family_count; f++)
        has_any = has_any || derivatives->families[f].bends != NULL;
    if (!has_any)
        return NULL;
    tc_derivatives *result = TC_NEW(arena, tc_derivatives, 1);
    *result = *derivatives;
    result->families = TC_NEW(arena, tc_family_derivatives, model->family_count);
    for (size_t f = 0; f < model->family_count; f++) {
        tc_family_derivatives *family = &result->families[f];
        *family = derivatives->families[f];
        if (family->bends == NULL)
            continue;
        family->lift = family->bends;
        family->objective_first_count = family->objective_second_count = 0;
    }
    return result;
}
