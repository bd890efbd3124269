#include "calculus/lift.h"

typedef struct lifter {
    tc_arena *arena;
    tc_dag *dag;
    const tc_family *family;
    const tc_choices *choices;
    bool with_bends;
    tc_lift *lift;
    tc_expr *nodes; /* of the objective, in order */
    size_t count;
    tc_expr *made;  /* by node: what takes its place */
    bool *is_inner; /* by node: a kink whose value only a larger TC_MAX asks for */
    size_t row_capacity, kink_capacity;
} lifter;

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
    tc_expr u = l->made[l->dag->nodes[absolute].a];
    tc_choice choice = tc_choice_of(l->choices, absolute);
    if (choice == TC_CHOICE_POSITIVE)
        return u;
    return choice == TC_CHOICE_NEGATIVE ? tc_neg(l->dag, u) : TC_NO_EXPR;
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
            add_row(l, (uint32_t)l->lift->count - 1, tc_is_affine_in_states(l->arena, dag, u), tc_sub(dag, u, s));
        }
        squares = tc_add(dag, squares, tc_pow(dag, s, 2));
    }
    return tc_mul(dag, tc_const(dag, 0.5), tc_add(dag, tc_div(dag, squares, t), t));
}

static bool is_bend(const lifter *l, tc_expr e) {
    return l->with_bends && l->dag->nodes[e].op == TC_HUBER && tc_choice_of(l->choices, e) == TC_CHOICE_LIFTED;
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

static tc_expr made_of(lifter *l, tc_expr e) {
    unsigned op = l->dag->nodes[e].op;
    if (!l->dag->nodes[e].has_state)
        return e;
    if (op == TC_NORM && tc_choice_of(l->choices, e) == TC_CHOICE_LIFTED)
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

tc_lift *tc_lift_new(tc_arena *arena, const tc_model *model, const tc_family *family, const tc_choices *choices,
                     bool with_bends) {
    tc_lift *lift = TC_NEW(arena, tc_lift, 1);
    lifter l = {.arena = arena,
                .dag = model->dag,
                .family = family,
                .choices = choices,
                .with_bends = with_bends,
                .lift = lift};
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
    find_inner(&l);
    tc_span origin = l.dag->origin;
    uint32_t realm = l.dag->realm;
    l.dag->realm = l.dag->nodes[family->objective].realm;
    for (size_t i = 0; i < l.count; i++) {
        l.dag->origin = l.dag->spans[l.nodes[i]];
        l.made[l.nodes[i]] = made_of(&l, l.nodes[i]);
    }
    l.dag->origin = origin;
    l.dag->realm = realm;
    lift->objective = l.made[family->objective];
    return lift;
}

tc_family_derivatives tc_family_without_bends(const tc_family_derivatives *of) {
    tc_family_derivatives without = *of;
    without.lift = of->bends;
    without.objective_first_count = without.objective_second_count = 0;
    return without;
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
        const tc_family_derivatives *of = &derivatives->families[f];
        result->families[f] = of->bends != NULL ? tc_family_without_bends(of) : *of;
    }
    return result;
}
