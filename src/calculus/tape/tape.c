#include "calculus/tape/tape_code.h"

#include "base/search.h"

/* Compilation: nodes in increasing order, one instruction each; a linear scan gives slots and takes them back after
 * the last use. An instruction's target is chosen before its operands' slots are freed, so that the two never overlap
 * and evaluators may use restrict. */

#define NOT_YET UINT32_MAX

typedef struct tape_compiler {
    const tc_dag *dag;
    tc_tape *tape;
    const tc_expr *order;
    size_t count;
    uint32_t *position;    /* by node from order[0]: its position in order; NULL where nodes are too far apart */
    tc_tape_place *places; /* by position in order */
    uint32_t *last_use;    /* by position: the position of the last instruction that reads it */
    uint32_t *free_slots;
    size_t free_count;
    tc_expr last_norm; /* the last norm or derivative of one; TC_NO_EXPR before the first */
} tape_compiler;

enum { FAR_APART = 8 }; /* nodes of the graph for each one in order, beyond which they are searched for */

static void number_nodes(tape_compiler *c, tc_arena *arena) {
    size_t span = c->order[c->count - 1] - c->order[0] + (size_t)1;
    if (span / FAR_APART > c->count)
        return;
    c->position = TC_NEW(arena, uint32_t, span);
    for (size_t at = 0; at < c->count; at++)
        c->position[c->order[at] - c->order[0]] = (uint32_t)at;
}

static size_t position_of(const tape_compiler *c, tc_expr e) {
    if (c->position != NULL)
        return c->position[e - c->order[0]];
    size_t at;
    TC_SEARCH(at, 0, c->count, c->order[at] < e);
    return at;
}

static bool is_leaf(const tc_dag *dag, tc_expr e) {
    tc_op op = (tc_op)dag->nodes[e].op;
    return op == TC_CONST || op == TC_DATA || op == TC_STATE || op == TC_COORD || op == TC_SUM;
}

static bool is_nary(const tc_dag *dag, tc_expr e) { return tc_is_nary(dag->nodes[e].op); }

static tc_tape_place leaf_place(tape_compiler *c, tc_arena *arena, tc_expr e) {
    const tc_node *n = &c->dag->nodes[e];
    if (n->op == TC_CONST) {
        c->tape->constants[c->tape->constant_count] = n->u.value;
        return (tc_tape_place){TC_IN_CONSTANTS, (uint32_t)c->tape->constant_count++};
    }
    if (n->u.index > UINT32_MAX)
        tc_raise(arena, TC_TOO_LARGE);
    uint32_t kind = n->op == TC_STATE  ? TC_IN_STATE
                    : n->op == TC_DATA ? TC_IN_DATA
                    : n->op == TC_SUM  ? TC_IN_SUMS
                                       : TC_IN_COORDS;
    return (tc_tape_place){kind, (uint32_t)n->u.index};
}

static void find_last_uses(tape_compiler *c) {
    for (size_t at = 0; at < c->count; at++) {
        size_t operands = tc_operand_count(c->dag, c->order[at]);
        for (size_t i = 0; i < operands; i++)
            c->last_use[position_of(c, tc_operand(c->dag, c->order[at], i))] = (uint32_t)at;
    }
}

static tc_tape_place new_slot(tape_compiler *c) {
    uint32_t slot = c->free_count > 0 ? c->free_slots[--c->free_count] : (uint32_t)c->tape->slot_count++;
    return (tc_tape_place){TC_IN_SLOT, slot};
}

static void release_slots(tape_compiler *c, size_t at) {
    size_t operands = tc_operand_count(c->dag, c->order[at]);
    for (size_t i = 0; i < operands; i++) {
        size_t operand = position_of(c, tc_operand(c->dag, c->order[at], i));
        if (c->places[operand].kind == TC_IN_SLOT && c->last_use[operand] == at) {
            c->free_slots[c->free_count++] = c->places[operand].index;
            c->last_use[operand] = NOT_YET; /* an operand used twice is freed once */
        }
    }
}

/* Whether the node is a norm or a derivative of one, of the same vector as the last one: its root is known. */
static bool shares_norm(tape_compiler *c, tc_expr e) {
    unsigned op = c->dag->nodes[e].op;
    if (op != TC_NORM && op != TC_DIRECTION && op != TC_BEND)
        return false;
    tc_expr last = c->last_norm;
    c->last_norm = e;
    bool is_same = last != TC_NO_EXPR && c->dag->nodes[last].b == c->dag->nodes[e].b;
    for (size_t i = 0; is_same && i < c->dag->nodes[e].b; i++)
        is_same = tc_operand(c->dag, last, i) == tc_operand(c->dag, e, i);
    return is_same;
}

static void emit(tape_compiler *c, size_t at) {
    tc_expr e = c->order[at];
    const tc_node *n = &c->dag->nodes[e];
    tc_instruction *instruction = &c->tape->code[c->tape->code_count++];
    if (c->places[at].kind == NOT_YET)
        c->places[at] = new_slot(c);
    *instruction = (tc_instruction){.op = n->op, .target = c->places[at]};
    instruction->u.index = n->u.index;
    if (is_nary(c->dag, e)) {
        instruction->a.index = (uint32_t)c->tape->argument_count;
        instruction->b.index = n->b;
        instruction->shares = shares_norm(c, e);
        for (size_t i = 0; i < n->b; i++)
            c->tape->arguments[c->tape->argument_count++] = c->places[position_of(c, tc_operand(c->dag, e, i))];
    } else {
        instruction->a = c->places[position_of(c, n->a)];
        instruction->b = tc_operand_count(c->dag, e) > 1 ? c->places[position_of(c, n->b)] : instruction->a;
    }
    release_slots(c, at);
}

/* A root that is a leaf, or equal to an earlier root, is copied. */
static void emit_copies(tape_compiler *c, const tc_expr *roots, size_t root_count) {
    for (size_t i = 0; i < root_count; i++) {
        tc_tape_place from = c->places[position_of(c, roots[i])];
        if (from.kind == TC_IN_OUTPUT && from.index == i)
            continue;
        c->tape->code[c->tape->code_count++] =
            (tc_instruction){.op = TC_CONST, .target = {TC_IN_OUTPUT, (uint32_t)i}, .a = from, .b = from};
    }
}

static void measure(tc_tape *tape, const tc_dag *dag, const tc_expr *order, size_t count) {
    for (size_t at = 0; at < count; at++) {
        if (dag->nodes[order[at]].op == TC_CONST)
            tape->constant_count++;
        if (!is_leaf(dag, order[at]))
            tape->code_count++;
        if (is_nary(dag, order[at])) {
            size_t width = dag->nodes[order[at]].b;
            tape->argument_count += width;
            tape->widest = width > tape->widest ? width : tape->widest;
        }
    }
}

static void compile(tape_compiler *c, tc_arena *arena, const tc_expr *roots, size_t root_count) {
    number_nodes(c, arena);
    c->places = TC_NEW(arena, tc_tape_place, c->count);
    c->last_use = TC_NEW(arena, uint32_t, c->count);
    c->free_slots = TC_NEW(arena, uint32_t, c->count);
    for (size_t at = 0; at < c->count; at++)
        c->places[at].kind = NOT_YET;
    for (size_t i = root_count; i-- > 0;) {
        size_t at = position_of(c, roots[i]);
        if (!is_leaf(c->dag, roots[i]))
            c->places[at] = (tc_tape_place){TC_IN_OUTPUT, (uint32_t)i};
    }
    find_last_uses(c);
    for (size_t at = 0; at < c->count; at++) {
        if (is_leaf(c->dag, c->order[at]))
            c->places[at] = leaf_place(c, arena, c->order[at]);
        else
            emit(c, at);
    }
    emit_copies(c, roots, root_count);
}

tc_tape *tc_tape_new(tc_arena *arena, const tc_dag *dag, const tc_expr *roots, size_t root_count) {
    tc_tape *tape = TC_NEW(arena, tc_tape, 1);
    tape->root_count = root_count;
    if (root_count == 0)
        return tape;
    /* Once to learn the sizes, once to fill: the scratch memory between can then be given back. */
    tc_mark mark = tc_arena_mark(arena);
    tape_compiler c = {.dag = dag, .tape = tape, .last_norm = TC_NO_EXPR};
    c.order = tc_reachable(arena, dag, roots, root_count, &c.count);
    measure(tape, dag, c.order, c.count);
    tc_arena_rewind(arena, mark);
    tape->code = TC_NEW(arena, tc_instruction, tape->code_count + root_count);
    tape->arguments = TC_NEW(arena, tc_tape_place, tape->argument_count);
    tape->constants = TC_NEW(arena, double, tape->constant_count);
    tape->code_count = tape->argument_count = tape->constant_count = 0;
    mark = tc_arena_mark(arena);
    c.order = tc_reachable(arena, dag, roots, root_count, &c.count);
    compile(&c, arena, roots, root_count);
    tc_arena_rewind(arena, mark);
    return tape;
}

size_t tc_tape_root_count(const tc_tape *tape) { return tape->root_count; }

size_t tc_tape_length(const tc_tape *tape) { return tape->code_count + tape->argument_count; }

size_t tc_tape_work_of(const tc_tape *tape, size_t lanes) { return tape->slot_count * lanes + tape->widest + 1; }

size_t tc_tape_work(const tc_tape *tape) { return tc_tape_work_of(tape, TC_LANES); }

size_t tc_tape_lanes(const tc_tape *tape) {
    enum { NEAR = 2048 }; /* doubles: a third of the nearest cache, besides which there are inputs */
    size_t rows = tape->slot_count + tape->root_count;
    return rows * TC_MOST_LANES <= NEAR ? TC_MOST_LANES : TC_LANES;
}
