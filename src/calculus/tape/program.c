/* The inside of a program.
 *
 * One file of registers: inputs, constants, results, each written once. Results are ordered by dependency (a level
 * holds what needs only the levels before it) and, in a level, by operation; so the instructions come in batches of one
 * operation that are independent of each other, and the result of the i-th instruction is register first + i. Instead
 * of one jump for each instruction there is one for each batch, and the processor works on several instructions at a
 * time. */
#include "calculus/tape/tape.h"

#include "base/search.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_SQUARE = 64 }; /* a tc_op beyond the others: TC_POWI with exponent 2 */

typedef struct op_batch {
    uint32_t op; /* tc_op or BATCH_SQUARE */
    uint32_t count;
} op_batch;

typedef struct op_operands { /* registers, but: */
    uint32_t a;              /* n-ary: where its words start: index, high and low; count; registers */
    uint32_t b;              /* TC_POWI: the exponent, an int32_t; TC_POWR: where its words start, a double */
} op_operands;

typedef struct input_copy { /* registers to .. to + count - 1 are inputs from .. from + count - 1 */
    uint32_t from, to, count;
} input_copy;

struct tc_program {
    input_copy *coords, *sums;
    size_t coords_count, sums_count;
    double *constants; /* registers first_constant .. */
    size_t first_constant, constant_count;
    op_batch *batches;
    size_t batch_count;
    op_operands *operands; /* of register first_result + i */
    size_t first_result, result_count;
    uint32_t *words; /* what does not fit into operands */
    size_t word_count, widest;
    uint32_t *roots; /* registers */
    size_t root_count;
};

/* ---- compilation -------------------------------------------------------------------------------------------------
 *
 * Every node that the roots need gets a sort key (leaves first, by what they read; then levels, and in a
 * level operations); its place in that order is its register. */

enum { KEY_COORDS, KEY_SUMS, KEY_CONSTANTS, KEY_RESULTS };
enum { OPERATIONS = 128 }; /* more than there are */

typedef struct item {
    uint64_t key;
    uint64_t input; /* leaves: which coordinate or sum; results: the node, so that the order is total */
    uint32_t at;    /* position among the reachable nodes */
} item;

typedef struct program_compiler {
    tc_arena *arena;
    const tc_model *model;
    const tc_dag *dag;
    const tc_expr *order; /* reachable nodes, increasing */
    size_t count;
    uint32_t *level;     /* by position; 0 for leaves */
    uint32_t *registers; /* by position */
    item *items;
    tc_program *program;
} program_compiler;

static size_t position_of(const program_compiler *c, tc_expr e) {
    size_t at;
    TC_SEARCH(at, 0, c->count, c->order[at] < e);
    return at;
}

static const tc_node *node_at(const program_compiler *c, size_t at) { return &c->dag->nodes[c->order[at]]; }

static uint32_t register_of(const program_compiler *c, tc_expr e) { return c->registers[position_of(c, e)]; }

static uint32_t fit(const program_compiler *c, uint64_t number) {
    if (number > UINT32_MAX)
        tc_raise(c->arena, TC_TOO_LARGE);
    return (uint32_t)number;
}

static uint32_t operation_of(const tc_node *n) {
    return n->op == TC_POWI && n->u.exponent == 2 ? (uint32_t)BATCH_SQUARE : n->op;
}

static void classify(program_compiler *c, size_t at) {
    const tc_node *n = node_at(c, at);
    item *it = &c->items[at];
    *it = (item){.key = KEY_CONSTANTS, .input = c->order[at], .at = (uint32_t)at};
    if (n->op == TC_COORD || n->op == TC_SUM) {
        it->key = n->op == TC_COORD ? KEY_COORDS : KEY_SUMS;
        it->input = fit(c, n->u.index);
    } else if (n->op == TC_STATE) {
        it->key = KEY_COORDS;
        it->input = fit(c, tc_coord_of(&c->model->families[n->family], 0, (size_t)n->u.index));
    } else if (n->op != TC_CONST && n->op != TC_DATA) {
        size_t operands = tc_operand_count(c->dag, c->order[at]);
        for (size_t i = 0; i < operands; i++) {
            uint32_t below = c->level[position_of(c, tc_operand(c->dag, c->order[at], i))];
            c->level[at] = below > c->level[at] ? below : c->level[at];
        }
        c->level[at]++;
        it->key = KEY_RESULTS + (uint64_t)c->level[at] * OPERATIONS + operation_of(n);
    }
}

static int compare_items(const void *left, const void *right) {
    const item *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->input != b->input)
        return a->input < b->input ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void measure(program_compiler *c) {
    tc_program *p = c->program;
    for (size_t i = 0; i < c->count; i++) {
        const tc_node *n = node_at(c, c->items[i].at);
        p->first_constant += c->items[i].key < KEY_CONSTANTS;
        p->constant_count += c->items[i].key == KEY_CONSTANTS;
        if (tc_is_nary(n->op)) {
            p->word_count += 3 + (size_t)n->b;
            p->widest = n->b > p->widest ? n->b : p->widest;
        }
        p->word_count += n->op == TC_POWR ? 2 : 0;
    }
    p->first_result = p->first_constant + p->constant_count;
    p->result_count = c->count - p->first_result;
    (void)fit(c, p->word_count);
}

static void arrange(program_compiler *c) {
    c->level = TC_NEW(c->arena, uint32_t, c->count);
    c->registers = TC_NEW(c->arena, uint32_t, c->count);
    c->items = TC_NEW(c->arena, item, c->count);
    for (size_t at = 0; at < c->count; at++)
        classify(c, at);
    qsort(c->items, c->count, sizeof *c->items, compare_items);
    for (size_t i = 0; i < c->count; i++)
        c->registers[c->items[i].at] = (uint32_t)i;
}

/* Inputs that follow each other are copied together. */
static void add_input(input_copy *pieces, size_t *count, uint64_t from, size_t to) {
    input_copy *last = *count > 0 ? &pieces[*count - 1] : NULL;
    if (last != NULL && last->from + (uint64_t)last->count == from && last->to + (size_t)last->count == to)
        last->count++;
    else
        pieces[(*count)++] = (input_copy){(uint32_t)from, (uint32_t)to, 1};
}

static double constant_of(const program_compiler *c, const tc_node *n) {
    return n->op == TC_CONST ? n->u.value : c->model->families[n->family].columns[n->u.index].values[0];
}

static op_operands nary_operands(program_compiler *c, tc_expr e) {
    const tc_node *n = &c->dag->nodes[e];
    tc_program *p = c->program;
    op_operands operands = {(uint32_t)p->word_count, 0};
    uint32_t *words = p->words + p->word_count;
    words[0] = (uint32_t)(n->u.index >> 32);
    words[1] = (uint32_t)(n->u.index & UINT32_MAX);
    words[2] = n->b;
    for (size_t i = 0; i < n->b; i++)
        words[3 + i] = register_of(c, tc_operand(c->dag, e, i));
    p->word_count += 3 + (size_t)n->b;
    return operands;
}

static op_operands operands_of(program_compiler *c, tc_expr e) {
    const tc_node *n = &c->dag->nodes[e];
    if (tc_is_nary(n->op))
        return nary_operands(c, e);
    uint32_t a = register_of(c, n->a);
    if (n->op == TC_POWR) {
        memcpy(c->program->words + c->program->word_count, &n->u.value, sizeof n->u.value);
        c->program->word_count += 2;
        return (op_operands){a, (uint32_t)c->program->word_count - 2};
    }
    if (n->op == TC_POWI) /* below 2^31 in size: tc_pow */
        return (op_operands){a, (uint32_t)(int32_t)n->u.exponent};
    return (op_operands){a, tc_operand_count(c->dag, e) > 1 ? register_of(c, n->b) : a};
}

static void emit(program_compiler *c, size_t i) {
    tc_program *p = c->program;
    const item *it = &c->items[i];
    const tc_node *n = node_at(c, it->at);
    if (it->key == KEY_COORDS) {
        add_input(p->coords, &p->coords_count, it->input, i);
    } else if (it->key == KEY_SUMS) {
        add_input(p->sums, &p->sums_count, it->input, i);
    } else if (it->key == KEY_CONSTANTS) {
        p->constants[i - p->first_constant] = constant_of(c, n);
    } else {
        if (i == p->first_result || c->items[i - 1].key != it->key)
            p->batches[p->batch_count++] = (op_batch){operation_of(n), 0};
        p->batches[p->batch_count - 1].count++;
        p->operands[i - p->first_result] = operands_of(c, c->order[it->at]);
    }
}

static size_t count_runs(const program_compiler *c) {
    size_t count = 0, first = c->program->first_result;
    for (size_t i = first; i < c->count; i++)
        count += i == first || c->items[i - 1].key != c->items[i].key;
    return count;
}

tc_program *tc_program_new(tc_arena *arena, const tc_model *model, const tc_expr *roots, size_t root_count) {
    tc_program *p = TC_NEW(arena, tc_program, 1);
    p->root_count = root_count;
    if (root_count == 0)
        return p;
    /* Once to learn the sizes, once to fill: the scratch memory between can then be given back. */
    program_compiler c = {.arena = arena, .model = model, .dag = model->dag, .program = p};
    tc_mark mark = tc_arena_mark(arena);
    c.order = tc_reachable(arena, c.dag, roots, root_count, &c.count);
    (void)fit(&c, c.count);
    arrange(&c);
    measure(&c);
    size_t batch_count = count_runs(&c);
    tc_arena_rewind(arena, mark);
    p->coords = TC_NEW(arena, input_copy, p->first_constant);
    p->sums = TC_NEW(arena, input_copy, p->first_constant);
    p->constants = TC_NEW(arena, double, p->constant_count);
    p->batches = TC_NEW(arena, op_batch, batch_count);
    p->operands = TC_NEW(arena, op_operands, p->result_count);
    p->words = TC_NEW(arena, uint32_t, p->word_count);
    p->roots = TC_NEW(arena, uint32_t, root_count);
    p->word_count = 0;
    mark = tc_arena_mark(arena);
    c.order = tc_reachable(arena, c.dag, roots, root_count, &c.count);
    arrange(&c);
    for (size_t i = 0; i < c.count; i++)
        emit(&c, i);
    for (size_t i = 0; i < root_count; i++)
        p->roots[i] = register_of(&c, roots[i]);
    tc_arena_rewind(arena, mark);
    return p;
}

size_t tc_program_work(const tc_program *program) {
    return program->first_result + program->result_count + program->widest + 1;
}

void tc_program_constants(const tc_program *program, size_t *first, size_t *count) {
    *first = program->first_constant;
    *count = program->constant_count;
}

void tc_program_prepare(const tc_program *program, double *work) {
    for (size_t i = 0; i < program->constant_count; i++)
        work[program->first_constant + i] = program->constants[i];
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

#include "calculus/tape/evaluate_float.inc.h"
#include "calculus/tape/evaluate.inc.h"

/* One batch: the instructions do not read each other's results. */
#define EACH(formula)                                                                                                  \
    for (size_t i = 0; i < count; i++) {                                                                               \
        double x = work[operands[i].a], y = work[operands[i].b];                                                       \
        r[i] = (formula);                                                                                              \
    }                                                                                                                  \
    break
/* The same two at a time, for operations that take no longer than the loop around them. */
#define EACH_TWO(formula)                                                                                              \
    if (count % 2 != 0) {                                                                                              \
        double x = work[operands[0].a], y = work[operands[0].b];                                                       \
        r[0] = (formula);                                                                                              \
    }                                                                                                                  \
    for (size_t i = count % 2; i < count; i += 2) {                                                                    \
        double x = work[operands[i].a], y = work[operands[i].b], first = (formula);                                    \
        x = work[operands[i + 1].a], y = work[operands[i + 1].b];                                                      \
        r[i] = first;                                                                                                  \
        r[i + 1] = (formula);                                                                                          \
    }                                                                                                                  \
    break
#define EACH_ALONE(formula)                                                                                            \
    for (size_t i = 0; i < count; i++) {                                                                               \
        double x = work[operands[i].a];                                                                                \
        r[i] = (formula);                                                                                              \
    }                                                                                                                  \
    break

static void evaluate_nary(const tc_program *program, const op_batch *batch, const op_operands *operands,
                          const double *work, double *restrict r, double *restrict gathered) {
    for (size_t i = 0; i < batch->count; i++) {
        const uint32_t *words = program->words + operands[i].a;
        for (size_t j = 0; j < words[2]; j++)
            gathered[j] = work[words[3 + j]];
        r[i] = apply_nary(batch->op, gathered, words[2], (uint64_t)words[0] << 32 | words[1]);
    }
}

static double real_at(const tc_program *program, uint32_t word) {
    double value;
    memcpy(&value, program->words + word, sizeof value);
    return value;
}

static void evaluate_rare(const tc_program *program, const op_batch *batch, const op_operands *operands,
                          const double *work, double *restrict r) {
    size_t count = batch->count;
    switch (batch->op) {
    case TC_POWI:
        EACH_ALONE(POWER_WHOLE(x, (int32_t)operands[i].b));
    case TC_POWR:
        EACH_ALONE(POWER_REAL(x, real_at(program, operands[i].b)));
    case TC_EXP:
        EACH_ALONE(EXP(x));
    case TC_LOG:
        EACH_ALONE(LOG(x));
    case TC_SQRT:
        EACH_ALONE(SQRT(x));
    case TC_HUBER:
        EACH(HUBER(x, y));
    case TC_CLAMP:
        EACH(CLAMP(x, y));
    case TC_INSIDE:
        EACH(INSIDE(x, y));
    case TC_HUMP:
        EACH_ALONE(HUMP(x));
    case TC_PAIR:
        EACH(PAIR(x, y));
    case TC_ABS:
        EACH_ALONE(ABS(x));
    case TC_MAX:
        EACH(MAX(x, y));
    default:
        break; /* evaluate_nary */
    }
}

static void gather(const input_copy *pieces, size_t count, const double *from, double *work) {
    for (size_t i = 0; i < count; i++) {
        const double *source = from + pieces[i].from;
        double *target = work + pieces[i].to;
        for (size_t j = 0; j < pieces[i].count; j++)
            target[j] = source[j];
    }
}

void tc_program_eval(const tc_program *program, const double *coords, const double *sums, double *work, double *out) {
    gather(program->coords, program->coords_count, coords, work);
    gather(program->sums, program->sums_count, sums, work);
    const op_operands *operands = program->operands;
    double *results = work + program->first_result;
    for (const op_batch *batch = program->batches, *end = batch + program->batch_count; batch < end; batch++) {
        size_t count = batch->count;
        double *restrict r = results; /* what it writes, no instruction of this batch reads */
        switch (batch->op) {
        case TC_ADD:
            EACH_TWO(ADD(x, y));
        case TC_SUB:
            EACH_TWO(SUB(x, y));
        case TC_MUL:
            EACH_TWO(MUL(x, y));
        case TC_DIV:
            EACH(DIV(x, y));
        case TC_NEG:
            EACH_ALONE(NEGATE(x));
        case BATCH_SQUARE:
            EACH_ALONE(SQUARE(x));
        default:
            if (tc_is_nary(batch->op))
                evaluate_nary(program, batch, operands, work, r, work + program->first_result + program->result_count);
            else
                evaluate_rare(program, batch, operands, work, r);
        }
        operands += count;
        results += count;
    }
    for (size_t i = 0; i < program->root_count; i++)
        out[i] = work[program->roots[i]];
}
