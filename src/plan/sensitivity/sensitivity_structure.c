/* States that cancel. (x + 1) - x has derivative zero by structure, yet its floating-point value wobbles with x. Bounds
 * from derivatives would let that wobble out without noise, so such expressions are refused (docs/proofs/lattice.md,
 * section 2): every state that is read must have a derivative. */
#include "plan/sensitivity/sensitivity.h"

typedef struct reading {
    const tc_dag *dag;
    uint32_t *stamp, now;
    tc_expr *stack;
    uint32_t *input_of; /* by node: the outer input it is */
} reading;

/* Calls found for every leaf that carries a state below root; stops with false where found says so. */
typedef bool (*leaf_check)(const void *context, const tc_node *leaf, tc_expr number);

static bool each_leaf(reading *r, tc_expr root, leaf_check found, const void *context) {
    size_t depth = 0;
    r->now++;
    r->stack[depth++] = root;
    r->stamp[root] = r->now;
    while (depth > 0) {
        tc_expr at = r->stack[--depth];
        const tc_node *node = tc_node_of(r->dag, at);
        if (!node->has_state)
            continue;
        size_t operands = tc_operand_count(r->dag, at);
        if (operands == 0 && !found(context, node, at))
            return false;
        for (size_t i = 0; i < operands; i++) {
            tc_expr next = tc_operand(r->dag, at, i);
            if (r->stamp[next] != r->now) {
                r->stamp[next] = r->now;
                r->stack[depth++] = next;
            }
        }
    }
    return true;
}

typedef struct wanted {
    const tc_first *first; /* entries of one row */
    size_t count;
    const tc_partial_link *links; /* second derivatives of one first derivative */
    size_t link_count;
    const reading *reading;
    bool outer;
} wanted;

static bool has_derivative(const void *context, const tc_node *leaf, tc_expr number) {
    const wanted *w = context;
    uint32_t variable = w->outer ? w->reading->input_of[number] : (uint32_t)leaf->u.index;
    for (size_t i = 0; i < w->count; i++) {
        if (w->first[i].column == variable)
            return true;
    }
    for (size_t i = 0; i < w->link_count; i++) {
        if (w->links[i].other == variable)
            return true;
    }
    return false;
}

/* Entries of one row in a list sorted by row. */
static void find_row(const tc_first *first, size_t count, uint32_t row, wanted *w) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (first[middle].row < row)
            low = middle + 1;
        else
            high = middle;
    }
    w->first = count > 0 ? first + low : NULL;
    for (w->count = 0; low + w->count < count && first[low + w->count].row == row;)
        w->count++;
}

static bool family_reads_well(reading *r, const tc_family_stream *f) {
    const tc_family_derivatives *d = f->derivatives;
    for (uint32_t b = 0; b < d->body_count; b++) {
        wanted w = {.reading = r};
        find_row(d->body_first, d->body_first_count, b, &w);
        if (!each_leaf(r, d->bodies[b], has_derivative, &w))
            return false;
    }
    for (size_t e = 0; e < d->body_first_count; e++) {
        wanted w = {.reading = r,
                    .links = f->partials.link + f->partials.start[e],
                    .link_count = f->partials.start[e + 1] - f->partials.start[e]};
        if (!each_leaf(r, d->body_first[e].value, has_derivative, &w))
            return false;
    }
    return true;
}

bool tc_sensitivity_sees_all(tc_sensitivity *s) {
    tc_streams *streams = s->streams;
    const tc_derivatives *d = streams->derivatives;
    const tc_model *model = streams->model;
    size_t nodes = model->dag->count;
    tc_mark mark = tc_arena_mark(s->arena);
    reading r = {.dag = model->dag,
                 .stamp = TC_NEW(s->arena, uint32_t, nodes + 1),
                 .stack = TC_NEW(s->arena, tc_expr, nodes + 1),
                 .input_of = TC_NEW(s->arena, uint32_t, nodes + 1)};
    for (size_t i = 0; i < d->input_count; i++)
        r.input_of[d->inputs[i].leaf] = (uint32_t)i;
    bool good = true;
    for (size_t f = 0; good && f < model->family_count; f++)
        good = family_reads_well(&r, &streams->families[f]);
    for (uint32_t j = 0; good && j < model->constraint_count; j++) {
        wanted w = {.reading = &r, .outer = true};
        find_row(d->outer_first, d->outer_first_count, j, &w);
        good = each_leaf(&r, model->constraints[j].outer, has_derivative, &w);
    }
    for (size_t o = 0; good && o < d->outer_first_count; o++) {
        wanted w = {.reading = &r,
                    .outer = true,
                    .links = streams->partials.link + streams->partials.start[o],
                    .link_count = streams->partials.start[o + 1] - streams->partials.start[o]};
        good = each_leaf(&r, d->outer_first[o].value, has_derivative, &w);
    }
    tc_arena_rewind(s->arena, mark);
    return good;
}
