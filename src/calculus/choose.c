#include "calculus/choose.h"

#include "calculus/tape/tape.h"
#include "model/spread.h"

#include <math.h>
#include <stdlib.h>

typedef struct outlook { /* what is known of the objective's nodes, by number */
    tc_interval *enclosures;
    unsigned char *trend; /* whether the objective rises or falls with a node */
} outlook;

struct tc_choices {
    const tc_dag *dag;
    const tc_family *family;
    tc_expr *nodes; /* of the objective, in order */
    size_t node_count;
    tc_expr *open; /* |u|, norms and huber, in order */
    unsigned char *chosen;
    bool *is_affine; /* by open: of |u| and huber, whether u is */
    bool *is_raised; /* by open: a norm under powers that are smooth where the norm is not */
    size_t count;
    tc_interval *inputs; /* states, then data */
    const tc_interval **input_at;
    tc_interval *spare;
    outlook bare, hull, own; /* without data; over all members; of one */
    bool is_hull_known;
};

/* ---- ranges of states and data ----------------------------------------------------------------------------------- */

/* What holds without data: SIZE_MAX for a member. */
static const size_t NOBODY = SIZE_MAX;

static double low_of(tc_coef coef, size_t member) {
    return member == NOBODY && coef.column != NULL ? -INFINITY : tc_coef_at(coef, member);
}

static double high_of(tc_coef coef, size_t member) {
    return member == NOBODY && coef.column != NULL ? INFINITY : tc_coef_at(coef, member);
}

static tc_interval range_of(const tc_family *family, size_t member, size_t component) {
    tc_interval range = {low_of(family->lower[component], member), high_of(family->upper[component], member)};
    for (size_t p = 0; p < family->piece_count; p++) {
        const tc_set_piece *piece = &family->pieces[p];
        if (component < piece->first || component >= piece->first + piece->count)
            continue;
        if (piece->kind == TC_SET_BOX) {
            range.lo = fmax(range.lo, low_of(piece->center[component - piece->first], member));
            range.hi = fmin(range.hi, high_of(piece->upper[component - piece->first], member));
        } else if (piece->kind == TC_SET_BALL || piece->kind == TC_SET_BALL1) {
            double radius = high_of(piece->radius, member);
            tc_coef center = piece->center[component - piece->first];
            range.lo = fmax(range.lo, tc_add_down(low_of(center, member), -radius));
            range.hi = fmin(range.hi, tc_add_up(high_of(center, member), radius));
        } else if (piece->kind == TC_SET_SIMPLEX) {
            range.lo = fmax(range.lo, 0);
        }
    }
    return range.lo <= range.hi ? range : tc_whole_line(); /* an empty set is somebody else's to report */
}

static void load_member(const tc_family *family, size_t member, tc_interval *values) {
    for (size_t c = 0; c < family->dim; c++)
        values[c] = range_of(family, member, c);
    for (size_t d = 0; d < family->column_count; d++)
        values[family->dim + d] = member == NOBODY ? tc_whole_line() : tc_point(family->columns[d].values[member]);
}

static void load_hull(const tc_family *family, tc_interval *values, tc_interval *member) {
    size_t count = family->dim + family->column_count;
    tc_fold_begin(family, values, count * sizeof *values);
    for (size_t k = family->known_first; k < family->known_end; k++) {
        load_member(family, k, member);
        for (size_t i = 0; i < count; i++)
            values[i] = k == 0 ? member[i] : tc_hull(values[i], member[i]);
    }
    tc_fold_end(family, values, count * sizeof *values);
}

/* ---- how the objective moves with a node ------------------------------------------------------------------------- */

enum { RISES = 1, FALLS = 2, UNKNOWN = RISES | FALLS };

static unsigned opposite(unsigned trend) { return (trend & RISES ? FALLS : 0) | (trend & FALLS ? RISES : 0); }

/* Nothing moves with what is multiplied by 0: what holds for many members holds for each. */
static unsigned by_sign(tc_interval factor, unsigned trend) {
    if (factor.lo == 0 && factor.hi == 0)
        return 0;
    return factor.lo >= 0 ? trend : factor.hi <= 0 ? opposite(trend) : UNKNOWN;
}

/* With operand k of a node, by how it moves with the node. A lifted kink has to stay convex: functions that rise pass a
 * trend on where they bend the right way. */
static unsigned trend_below(const tc_choices *l, const outlook *v, tc_expr e, size_t k) {
    const tc_node *n = &l->dag->nodes[e];
    unsigned trend = v->trend[e];
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
        return by_sign(v->enclosures[factor], trend);
    case TC_EXP:
    case TC_LSE:
        return (trend & FALLS) == 0 ? trend : UNKNOWN;
    case TC_LOG:
    case TC_SQRT:
        return (trend & RISES) == 0 ? trend : UNKNOWN;
    case TC_POWI:
        return (trend & FALLS) == 0 && n->u.exponent > 0 && v->enclosures[n->a].lo >= 0 ? trend : UNKNOWN;
    case TC_POWR:
        return (trend & FALLS) == 0 && n->u.value >= 1 && v->enclosures[n->a].lo >= 0 ? trend : UNKNOWN;
    default:
        return UNKNOWN;
    }
}

static void find_trends(const tc_choices *l, outlook *v) {
    for (size_t i = 0; i < l->node_count; i++)
        v->trend[l->nodes[i]] = 0;
    v->trend[l->nodes[l->node_count - 1]] = RISES;
    for (size_t i = l->node_count; i-- > 0;)
        for (size_t k = 0; k < tc_operand_count(l->dag, l->nodes[i]); k++)
            v->trend[tc_operand(l->dag, l->nodes[i], k)] |= (unsigned char)trend_below(l, v, l->nodes[i], k);
}

/* From the ranges in inputs. */
static void look(const tc_choices *l, outlook *v) {
    tc_interval_inputs inputs = {.state = l->input_at, .data = l->input_at + l->family->dim};
    tc_enclose_nodes(l->dag, l->nodes, l->node_count, &inputs, v->enclosures);
    find_trends(l, v);
}

/* ---- what there is to choose about ------------------------------------------------------------------------------- */

/* Whether every use of a norm is a power that is smooth where the norm is not. */
static bool is_raised(const tc_choices *l, tc_expr norm) {
    if (norm == l->nodes[l->node_count - 1])
        return false;
    for (size_t i = 0; i < l->node_count; i++) {
        const tc_node *n = &l->dag->nodes[l->nodes[i]];
        bool power = (n->op == TC_POWI && n->u.exponent >= 2) || (n->op == TC_POWR && n->u.value >= 3);
        for (size_t k = 0; !power && k < tc_operand_count(l->dag, l->nodes[i]); k++)
            if (tc_operand(l->dag, l->nodes[i], k) == norm)
                return false;
    }
    return true;
}

bool tc_is_affine_in_states(tc_arena *arena, const tc_dag *dag, tc_expr root) {
    tc_mark mark = tc_arena_mark(arena);
    size_t count;
    const tc_expr *nodes = tc_reachable(arena, dag, &root, 1, &count);
    bool affine = true;
    for (size_t i = 0; i < count && affine; i++) {
        const tc_node *n = &dag->nodes[nodes[i]];
        bool sums = n->op == TC_ADD || n->op == TC_SUB || n->op == TC_NEG || n->op == TC_STATE;
        bool scales = (n->op == TC_MUL && !(dag->nodes[n->a].has_state && dag->nodes[n->b].has_state)) ||
                      (n->op == TC_DIV && !dag->nodes[n->b].has_state);
        affine = !n->has_state || sums || scales;
    }
    tc_arena_rewind(arena, mark);
    return affine;
}

static outlook new_outlook(tc_arena *arena, size_t places) {
    return (outlook){.enclosures = TC_NEW(arena, tc_interval, places), .trend = TC_NEW(arena, unsigned char, places)};
}

static bool is_open(const tc_dag *dag, tc_expr e) {
    unsigned op = dag->nodes[e].op;
    return dag->nodes[e].has_state && (op == TC_ABS || op == TC_NORM || op == TC_HUBER);
}

tc_choices *tc_choices_new(tc_arena *arena, const tc_model *model, const tc_family *family) {
    tc_choices *l = TC_NEW(arena, tc_choices, 1);
    *l = (tc_choices){.dag = model->dag, .family = family};
    l->nodes = tc_reachable(arena, l->dag, &family->objective, 1, &l->node_count);
    for (size_t i = 0; i < l->node_count; i++)
        l->count += is_open(l->dag, l->nodes[i]);
    if (l->count == 0 || family->count == 0)
        return NULL;
    size_t inputs = family->dim + family->column_count, places = (size_t)l->nodes[l->node_count - 1] + 1, at = 0;
    l->open = TC_NEW(arena, tc_expr, l->count);
    l->chosen = TC_NEW(arena, unsigned char, l->count);
    l->is_affine = TC_NEW(arena, bool, l->count);
    l->is_raised = TC_NEW(arena, bool, l->count);
    for (size_t i = 0; i < l->node_count; i++)
        if (is_open(l->dag, l->nodes[i]))
            l->open[at++] = l->nodes[i];
    for (size_t i = 0; i < l->count; i++) {
        bool is_norm = l->dag->nodes[l->open[i]].op == TC_NORM;
        l->is_affine[i] = !is_norm && tc_is_affine_in_states(arena, l->dag, l->dag->nodes[l->open[i]].a);
        l->is_raised[i] = is_norm && is_raised(l, l->open[i]);
    }
    l->inputs = TC_NEW(arena, tc_interval, inputs);
    l->spare = TC_NEW(arena, tc_interval, inputs);
    l->input_at = TC_NEW(arena, const tc_interval *, inputs + 1);
    for (size_t i = 0; i < inputs; i++)
        l->input_at[i] = &l->inputs[i];
    l->bare = new_outlook(arena, places);
    l->hull = new_outlook(arena, places);
    l->own = new_outlook(arena, places);
    load_member(family, NOBODY, l->inputs);
    look(l, &l->bare);
    return l;
}

size_t tc_choices_count(const tc_choices *l) { return l->count; }
unsigned char *tc_chosen(const tc_choices *l) { return l->chosen; }

static int by_number(const void *x, const void *y) {
    const tc_expr *a = x, *b = y;
    return *a < *b ? -1 : *a > *b;
}

tc_choice tc_choice_of(const tc_choices *l, tc_expr e) {
    if (l == NULL)
        return TC_CHOICE_KEPT;
    const tc_expr *found = bsearch(&e, l->open, l->count, sizeof e, by_number);
    return found != NULL ? (tc_choice)l->chosen[found - l->open] : TC_CHOICE_KEPT;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static unsigned op_of(const tc_choices *l, size_t i) { return l->dag->nodes[l->open[i]].op; }
static bool rises(const tc_choices *l, const outlook *v, size_t i) { return (v->trend[l->open[i]] & FALLS) == 0; }

static tc_choice sign_of(const tc_choices *l, const outlook *v, size_t i) {
    tc_interval u = v->enclosures[l->dag->nodes[l->open[i]].a];
    return u.lo >= 0 ? TC_CHOICE_POSITIVE : u.hi <= 0 ? TC_CHOICE_NEGATIVE : TC_CHOICE_LIFTED;
}

static bool can_be_zero(const tc_choices *l, const outlook *v, size_t i) {
    return op_of(l, i) == TC_NORM && !l->is_raised[i] && !(v->enclosures[l->open[i]].lo > 0);
}

static tc_choice bend_of(const tc_choices *l, const outlook *v, size_t i) {
    return l->is_affine[i] && rises(l, v, i) ? TC_CHOICE_LIFTED : TC_CHOICE_KEPT;
}

static void find_hull(tc_choices *l) {
    if (l->is_hull_known)
        return;
    l->is_hull_known = true;
    load_hull(l->family, l->inputs, l->spare);
    look(l, &l->hull);
}

static void look_at_member(tc_choices *l, size_t member) {
    load_member(l->family, member, l->inputs);
    look(l, &l->own);
}

/* What the hull leaves open about norms is decided member by member. */
void tc_choose_for_all(tc_choices *l) {
    size_t open = 0;
    find_hull(l);
    for (size_t i = 0; i < l->count; i++) {
        unsigned op = op_of(l, i);
        tc_choice choice = op == TC_HUBER ? bend_of(l, &l->hull, i) : TC_CHOICE_KEPT;
        l->chosen[i] = (unsigned char)(op == TC_ABS ? sign_of(l, &l->hull, i) : choice);
        open += can_be_zero(l, &l->hull, i);
    }
    if (open == 0)
        return;
    for (size_t k = l->family->known_first; k < l->family->known_end && open > 0; k++) {
        look_at_member(l, k);
        for (size_t i = 0; i < l->count; i++)
            if (op_of(l, i) == TC_NORM && l->chosen[i] == TC_CHOICE_KEPT && can_be_zero(l, &l->own, i)) {
                l->chosen[i] = TC_CHOICE_LIFTED;
                open--;
            }
    }
    for (size_t i = 0; i < l->count; i++)
        if (op_of(l, i) == TC_NORM && tc_for_some(l->family, l->chosen[i] == TC_CHOICE_LIFTED))
            l->chosen[i] = TC_CHOICE_LIFTED;
}

/* |u| that the objective rises with is lifted even where the member knows its sign: signs would tell members apart, and
 * a variable does no harm. So for norms: all, or none. */
static tc_choice absolute_of(const tc_choices *l, size_t i) {
    if (sign_of(l, &l->bare, i) != TC_CHOICE_LIFTED)
        return sign_of(l, &l->bare, i);
    return l->is_affine[i] && rises(l, &l->own, i) ? TC_CHOICE_LIFTED : sign_of(l, &l->own, i);
}

static bool is_alike(const tc_choices *l, size_t i) {
    if (op_of(l, i) == TC_NORM)
        return !can_be_zero(l, &l->hull, i);
    if (op_of(l, i) == TC_ABS && sign_of(l, &l->bare, i) != TC_CHOICE_LIFTED)
        return true;
    if (l->is_affine[i])
        return rises(l, &l->hull, i);
    return op_of(l, i) == TC_HUBER || sign_of(l, &l->hull, i) != TC_CHOICE_LIFTED;
}

bool tc_choice_is_bend(const tc_choices *l, size_t i) { return op_of(l, i) == TC_HUBER; }

bool tc_all_choose_alike(tc_choices *l) {
    bool alike = true;
    find_hull(l);
    for (size_t i = 0; i < l->count; i++)
        alike = alike && is_alike(l, i);
    return alike;
}

void tc_choose_for_member(tc_choices *l, size_t member) {
    bool any_zero = false;
    look_at_member(l, member);
    for (size_t i = 0; i < l->count; i++)
        any_zero = any_zero || can_be_zero(l, &l->own, i);
    for (size_t i = 0; i < l->count; i++) {
        bool is_zero = can_be_zero(l, &l->bare, i) && (can_be_zero(l, &l->own, i) || rises(l, &l->own, i));
        tc_choice choice = any_zero && is_zero ? TC_CHOICE_LIFTED : TC_CHOICE_KEPT;
        if (op_of(l, i) != TC_NORM)
            choice = op_of(l, i) == TC_ABS ? absolute_of(l, i) : bend_of(l, &l->own, i);
        l->chosen[i] = (unsigned char)choice;
    }
}
