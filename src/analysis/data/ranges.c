/* Enclosures over boxes and ranges, and derivatives along a move of the data: forward mode on intervals. */
#include "analysis/data/inside.h"
#include "model/spread.h"

/* Over all members, in order, from rank to rank. */
static tc_interval hull_of(const tc_family *family, tc_coef low, tc_coef high) {
    bool varies = low.column != NULL || high.column != NULL;
    tc_interval hull = {INFINITY, -INFINITY};
    if (varies)
        tc_fold_begin(family, &hull, sizeof hull);
    for (size_t k = tc_first_known(family, varies); k < tc_end_known(family, varies); k++) {
        tc_interval own = {tc_coef_at(low, k), tc_coef_at(high, k)};
        hull = k == 0 ? own : tc_hull(hull, own);
    }
    if (varies)
        tc_fold_end(family, &hull, sizeof hull);
    return hull;
}

tc_ranged *tc_ranged_new(tc_arena *arena, tc_model *model) {
    tc_ranged *r = TC_NEW(arena, tc_ranged, 1);
    *r = (tc_ranged){.arena = arena, .model = model, .dag = model->dag, .prover = tc_prover_new(arena, model)};
    return r;
}

void tc_ranged_take(tc_ranged *r, tc_family *family, const tc_family_derivatives *derivatives) {
    r->family = family;
    r->derivatives = derivatives;
    r->is_computed = false;
    r->batch = tc_batch_new(r->arena, family);
    tc_batch_load_hull(r->batch);
    r->by = TC_NEW(r->arena, double, family->column_count + 1);
    /* A private number decides nothing here: only its range does. */
    for (size_t d = 0; d < family->column_count; d++) {
        if (family->columns[d].is_private)
            r->batch->data[d * TC_LANES] = tc_whole_line();
    }
    for (size_t d = 0; d < family->datum_count; d++) {
        const tc_datum *datum = &family->data[d];
        for (size_t i = 0; i < datum->count; i++)
            r->batch->data[datum->columns[i] * TC_LANES] = hull_of(family, datum->lower[i], datum->upper[i]);
    }
}

void tc_ranged_move(tc_ranged *r, const tc_datum *datum) {
    for (size_t d = 0; d < r->family->column_count; d++)
        r->by[d] = 0;
    for (size_t i = 0; datum != NULL && datum->by != NULL && i < datum->count; i++) {
        tc_interval range = r->batch->data[datum->columns[i] * TC_LANES];
        double by = hull_of(r->family, datum->by[i], datum->by[i]).hi;
        r->by[datum->columns[i]] = fmin(by, tc_add_up(range.hi, -range.lo));
    }
    /* A maximum, an exponent or a choice among numbers is a column of its own: it moves too, nobody knows how far. Such
     * columns stand behind those that they were computed from. */
    r->is_computed = false;
    for (size_t d = 0; d < r->family->column_count; d++) {
        const tc_column *column = &r->family->columns[d];
        for (size_t i = 0; i < column->made_of_count && r->by[d] == 0; i++)
            r->by[d] = tc_ranged_moves(r, column->made_of[i]) ? (double)INFINITY : 0;
        r->is_computed = r->is_computed || isinf(r->by[d]);
    }
}

/* ---- slopes ------------------------------------------------------------------------------------------------------ */

static bool is_zero(tc_interval a) { return a.lo == 0 && a.hi == 0; }

/* Zero times anything is zero: what does not move has no slope, even where a value is not bounded. */
static tc_interval times(tc_interval a, tc_interval b) {
    return is_zero(a) || is_zero(b) ? tc_point(0) : tc_imul(a, b);
}

static tc_interval slope_of_many(const tc_ranged *r, const tc_node *n) {
    const tc_expr *arguments = r->dag->arguments + n->a;
    tc_interval all = tc_point(0);
    bool moves = false;
    for (size_t i = 0; i < n->b; i++)
        moves = moves || !is_zero(r->slope[arguments[i]]);
    if (!moves)
        return tc_point(0);
    if (n->op == TC_LSE || n->op == TC_NORM) { /* weights >= 0 that sum to 1; directions of length 1 */
        double squares = 0;
        all = r->slope[arguments[0]];
        for (size_t i = 0; i < n->b; i++) {
            double size = tc_magnitude(r->slope[arguments[i]]);
            all = tc_hull(all, r->slope[arguments[i]]);
            squares = tc_add_up(squares, tc_mul_up(size, size));
        }
        double length = tc_sqrt_up(squares);
        return n->op == TC_LSE ? all : (tc_interval){-length, length};
    }
    if (n->op == TC_POWD && is_zero(r->slope[arguments[1]]))
        return times(tc_ipowd(r->value[arguments[0]], r->value[arguments[1]], (size_t)n->u.index + 1),
                     r->slope[arguments[0]]);
    return tc_whole_line();
}

/* The derivative of a node from the values and derivatives of its operands. */
static tc_interval slope_of(const tc_ranged *r, tc_expr e) {
    const tc_node *n = &r->dag->nodes[e];
    if (tc_is_nary(n->op))
        return slope_of_many(r, n);
    size_t operands = tc_operand_count(r->dag, e);
    tc_interval v = r->value[e], a = tc_point(0), b = a, da = a, db = a;
    if (operands > 0) {
        a = r->value[n->a];
        da = r->slope[n->a];
    }
    if (operands > 1) {
        b = r->value[n->b];
        db = r->slope[n->b];
    }
    if (operands > 0 && is_zero(da) && is_zero(db))
        return tc_point(0);
    switch ((tc_op)n->op) {
    case TC_DATA:
        return (tc_interval){-r->by[n->u.index], r->by[n->u.index]};
    case TC_CONST:
    case TC_STATE:
    case TC_COORD:
    case TC_SUM:
        return tc_point(0);
    case TC_ADD:
        return tc_iadd(da, db);
    case TC_SUB:
        return tc_isub(da, db);
    case TC_NEG:
        return tc_ineg(da);
    case TC_MUL:
        return tc_iadd(times(da, b), times(a, db));
    case TC_DIV:
        return tc_idiv(tc_isub(da, times(v, db)), b);
    case TC_POWI:
        return times(tc_imul(tc_point((double)n->u.exponent), tc_ipowi(a, n->u.exponent - 1)), da);
    case TC_POWR:
        return times(tc_imul(tc_point(n->u.value), tc_idiv(v, a)), da);
    case TC_EXP:
        return times(v, da);
    case TC_LOG:
        return tc_idiv(da, a);
    case TC_SQRT:
        return tc_idiv(da, tc_iadd(v, v));
    case TC_HUBER:
        return is_zero(db) ? times(tc_iclamp(a, b), da) : tc_whole_line();
    case TC_CLAMP:
        return is_zero(db) ? tc_hull(tc_point(0), da) : tc_whole_line();
    case TC_ABS:
        return tc_hull(da, tc_ineg(da));
    case TC_MAX:
        return tc_hull(da, db);
    case TC_INSIDE:
    case TC_HUMP:
    case TC_PAIR:
    case TC_LSE:
    case TC_SOFTMAX:
    case TC_NORM:
    case TC_DIRECTION:
    case TC_BEND:
    case TC_POWD:
        break;
    }
    return tc_whole_line();
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static tc_expr *enclose(tc_ranged *r, tc_expr root, size_t *count) {
    tc_expr *nodes = tc_reachable(r->arena, r->dag, &root, 1, count);
    if (r->capacity < r->dag->count) {
        r->capacity = r->dag->count * 2;
        r->value = TC_NEW(r->arena, tc_interval, r->capacity);
        r->slope = TC_NEW(r->arena, tc_interval, r->capacity);
    }
    tc_enclose_nodes(r->dag, nodes, *count, &r->batch->inputs, r->value);
    return nodes;
}

tc_interval tc_ranged_value(tc_ranged *r, tc_expr e) {
    size_t count;
    (void)enclose(r, e, &count);
    return r->value[e];
}

double tc_ranged_slope(tc_ranged *r, tc_expr e) {
    size_t count;
    const tc_expr *nodes = enclose(r, e, &count);
    for (size_t i = 0; i < count; i++)
        r->slope[nodes[i]] = slope_of(r, nodes[i]);
    return tc_magnitude(r->slope[e]);
}

bool tc_ranged_moves(tc_ranged *r, tc_expr e) {
    size_t count;
    const tc_expr *nodes = tc_reachable(r->arena, r->dag, &e, 1, &count);
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &r->dag->nodes[nodes[i]];
        if (n->op == TC_DATA && r->by[n->u.index] > 0)
            return true;
    }
    return false;
}

const char *tc_ranged_missing(tc_ranged *r, tc_expr e) {
    size_t count;
    const tc_expr *nodes = tc_reachable(r->arena, r->dag, &e, 1, &count);
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &r->dag->nodes[nodes[i]];
        if (n->op != TC_DATA || tc_is_finite(r->batch->data[n->u.index * TC_LANES]))
            continue;
        const char *name = r->family->columns[n->u.index].name;
        return name != NULL ? name : "a number that is computed from private data";
    }
    return NULL;
}

/* ---- numbers of sets --------------------------------------------------------------------------------------------- */

/* Whether a tape computes it just as model/elaborate/names.c does, by operations that are rounded correctly. */
static bool is_plain(tc_ranged *r, tc_expr e) {
    size_t count;
    const tc_expr *nodes = tc_reachable(r->arena, r->dag, &e, 1, &count);
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &r->dag->nodes[nodes[i]];
        bool plain = n->op == TC_CONST || n->op == TC_DATA || n->op == TC_ADD || n->op == TC_SUB || n->op == TC_MUL ||
                     n->op == TC_DIV || n->op == TC_NEG || n->op == TC_SQRT || (n->op == TC_POWI && n->u.exponent == 2);
        if (!plain)
            return false;
    }
    return true;
}

/* Sets are made of doubles that are computed when a problem is read: where these lie, and how far from the exact
 * numbers. Powers, exponentials and logarithms are then the C library's, about as good as a tape's: twice its bound. */
static tc_rounded computed_of(tc_ranged *r, tc_expr e) {
    size_t count = r->family->column_count;
    tc_rounded *inputs = TC_NEW(r->arena, tc_rounded, count + 1), found, *found_at = &found;
    const tc_rounded **data = TC_NEW(r->arena, const tc_rounded *, count + 1);
    for (size_t d = 0; d < count; d++) {
        inputs[d] = tc_rounded_exactly(r->batch->data[d * TC_LANES]);
        data[d] = &inputs[d];
    }
    if (r->dag->nodes[e].op == TC_DATA)
        return inputs[r->dag->nodes[e].u.index];
    const tc_tape *tape = tc_tape_new(r->arena, r->dag, &e, 1);
    const tc_rounding_inputs all = {.data = data};
    tc_tape_rounding(tape, &all, 1, TC_NEW(r->arena, tc_rounded, tc_tape_work(tape) + 1), &found_at);
    return is_plain(r, e) ? found : tc_rounded_within(found.exact, tc_mul_up(2, found.error));
}

tc_interval tc_ranged_coef(tc_ranged *r, tc_coef coef) {
    if (coef.column == NULL)
        return tc_point(coef.value);
    return coef.made_of > 0 ? computed_of(r, coef.made_of - 1).computed : tc_whole_line();
}

double tc_ranged_coef_slope(tc_ranged *r, tc_coef coef) {
    if (!tc_ranged_coef_moves(r, coef))
        return 0; /* the same double in both worlds */
    if (coef.made_of == 0)
        return INFINITY;
    double error = computed_of(r, coef.made_of - 1).error;
    return tc_add_up(tc_ranged_slope(r, coef.made_of - 1), tc_mul_up(2, error));
}

bool tc_ranged_coef_moves(tc_ranged *r, tc_coef coef) {
    return coef.column != NULL && (coef.made_of == 0 || tc_ranged_moves(r, coef.made_of - 1));
}

/* A start that the file leaves out is zero moved into the box, made of no data. */
bool tc_ranged_start_moves(tc_ranged *r, size_t component) {
    tc_coef start = r->family->start[component];
    return start.made_of > 0 && tc_ranged_coef_moves(r, start);
}
