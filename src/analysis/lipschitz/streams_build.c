#include "analysis/lipschitz/streams.h"

#include <stdlib.h>

enum { READ_ONCE_LIMIT = 200 };
#define TIGHTEN_COST 200000000.0 /* tapes of single entries are made while entries * DAG nodes stay below this */

bool tc_read_once(const tc_dag *dag, tc_expr e) {
    tc_expr stack[READ_ONCE_LIMIT], seen[READ_ONCE_LIMIT];
    size_t depth = 0, seen_count = 0, visited = 0;
    stack[depth++] = e;
    while (depth > 0) {
        tc_expr next = stack[--depth];
        const tc_node *n = &dag->nodes[next];
        if (!n->has_state)
            continue;
        if (++visited >= READ_ONCE_LIMIT)
            return false;
        size_t operands = tc_operand_count(dag, next);
        if (operands == 0) {
            for (size_t i = 0; i < seen_count; i++) {
                if (seen[i] == next)
                    return false;
            }
            seen[seen_count++] = next;
        }
        if (n->op == TC_SOFTMAX || n->op == TC_LSE || depth + operands >= READ_ONCE_LIMIT)
            return false;
        for (size_t i = 0; i < operands; i++)
            stack[depth++] = tc_operand(dag, next, i);
    }
    return true;
}

/* ---- links from first to second derivatives --------------------------------------------------------------------- */

static size_t find_first(const tc_first *first, size_t count, uint32_t row, uint32_t column) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool before = first[middle].row < row || (first[middle].row == row && first[middle].column < column);
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && first[low].row == row && first[low].column == column ? low : SIZE_MAX;
}

static tc_links link_partials(tc_arena *arena, const tc_first *first, size_t first_count, const tc_second *second,
                              size_t second_count) {
    tc_links links = {TC_NEW(arena, size_t, first_count + 2), TC_NEW(arena, tc_link, 2 * second_count + 1)};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t s = 0; s < second_count; s++) {
            size_t a = find_first(first, first_count, second[s].row, second[s].column);
            size_t b = find_first(first, first_count, second[s].row, second[s].other);
            bool twice = second[s].column != second[s].other;
            if (pass == 0) {
                if (a != SIZE_MAX)
                    links.start[a + 2]++;
                if (twice && b != SIZE_MAX)
                    links.start[b + 2]++;
                continue;
            }
            if (a != SIZE_MAX)
                links.link[links.start[a + 1]++] = (tc_link){(uint32_t)s, second[s].other};
            if (twice && b != SIZE_MAX)
                links.link[links.start[b + 1]++] = (tc_link){(uint32_t)s, second[s].column};
        }
        for (size_t i = 0; pass == 0 && i < first_count; i++)
            links.start[i + 2] += links.start[i + 1];
    }
    return links;
}

/* ---- tapes ------------------------------------------------------------------------------------------------------ */

static tc_tape *tape_of_first(tc_arena *arena, const tc_dag *dag, const tc_first *first, size_t count) {
    tc_expr *roots = TC_NEW(arena, tc_expr, count + 1);
    for (size_t i = 0; i < count; i++)
        roots[i] = first[i].value;
    return tc_tape_new(arena, dag, roots, count);
}

static tc_tape *tape_of_second(tc_arena *arena, const tc_dag *dag, const tc_second *second, size_t count) {
    tc_expr *roots = TC_NEW(arena, tc_expr, count + 1);
    for (size_t i = 0; i < count; i++)
        roots[i] = second[i].value;
    return tc_tape_new(arena, dag, roots, count);
}

static tc_tape **single_tapes(tc_arena *arena, const tc_dag *dag, const tc_first *first, size_t count) {
    tc_tape **tapes = TC_NEW(arena, tc_tape *, count + 1);
    double cost = 0;
    for (size_t i = 0; i < count; i++) {
        if (!dag->nodes[first[i].value].has_state || tc_read_once(dag, first[i].value))
            continue;
        cost += (double)dag->count;
        if (cost > TIGHTEN_COST)
            break;
        tapes[i] = tc_tape_new(arena, dag, &first[i].value, 1);
    }
    return tapes;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static size_t largest_work(tc_tape *const *tapes, size_t count, size_t least) {
    for (size_t i = 0; i < count; i++)
        least = tapes[i] != NULL ? larger(least, tc_tape_work(tapes[i])) : least;
    return least;
}

static tc_interval **lanes_of(tc_arena *arena, tc_interval *values, size_t count, size_t lanes) {
    tc_interval **out = TC_NEW(arena, tc_interval *, count + 1);
    for (size_t i = 0; i < count; i++)
        out[i] = values + i * lanes;
    return out;
}

/* ---- one family ------------------------------------------------------------------------------------------------- */

static bool bodies_alike(const tc_dag *dag, const tc_family_derivatives *d) {
    for (size_t b = 0; b < d->body_count; b++) {
        if (dag->nodes[d->bodies[b]].has_data)
            return false;
    }
    return true;
}

static int compare_terms(const void *x, const void *y) {
    const tc_term *a = x, *b = y;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static void build_terms(tc_streams *s, tc_family_stream *f) {
    const tc_family_derivatives *d = f->derivatives;
    for (int pass = 0; pass < 2; pass++) {
        size_t count = 0;
        for (size_t i = 0; i < d->body_first_count; i++) {
            uint32_t input = d->sums[d->body_first[i].row];
            for (size_t k = s->input_start[input]; k < s->input_start[input + 1]; k++, count++) {
                if (pass == 1)
                    f->terms[count] = (tc_term){.component = d->body_first[i].column,
                                                .row = s->derivatives->outer_first[s->by_input[k]].row,
                                                .first = (uint32_t)i,
                                                .outer = s->by_input[k]};
            }
        }
        f->term_count = count;
        if (pass == 0)
            f->terms = TC_NEW(s->arena, tc_term, count + 1);
    }
    qsort(f->terms, f->term_count, sizeof *f->terms, compare_terms);
    f->term_start = TC_NEW(s->arena, size_t, f->family->dim + 1);
    for (size_t t = 0; t < f->term_count; t++)
        f->term_start[f->terms[t].component + 1]++;
    for (size_t c = 0; c < f->family->dim; c++)
        f->term_start[c + 1] += f->term_start[c];
}

static int compare_singled(const void *x, const void *y) {
    const tc_singled *a = x, *b = y;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    return a->component < b->component ? -1 : a->component > b->component;
}

static void build_singled(tc_streams *s) {
    const tc_derivatives *d = s->derivatives;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < d->input_count; i++) {
            if (d->inputs[i].op != TC_COORD)
                continue;
            const tc_family *family = tc_family_of_coord(s->model, d->inputs[i].index);
            tc_family_stream *f = &s->families[family - s->model->families];
            size_t offset = d->inputs[i].index - family->first_coord;
            if (pass == 1)
                f->singled[f->singled_count] = (tc_singled){.member = offset % family->count,
                                                            .component = (uint32_t)(offset / family->count),
                                                            .input = (uint32_t)i};
            f->singled_count++;
        }
        for (size_t k = 0; pass == 0 && k < s->model->family_count; k++) {
            s->families[k].singled = TC_NEW(s->arena, tc_singled, s->families[k].singled_count + 1);
            s->families[k].singled_count = 0;
        }
    }
    for (size_t k = 0; k < s->model->family_count; k++) {
        tc_family_stream *f = &s->families[k];
        qsort(f->singled, f->singled_count, sizeof *f->singled, compare_singled);
        for (size_t i = 0; i < f->singled_count; i++)
            f->singled_members += i == 0 || f->singled[i].member != f->singled[i - 1].member;
    }
}

static void build_family(tc_streams *s, size_t index) {
    tc_arena *arena = s->arena;
    const tc_dag *dag = s->model->dag;
    tc_family_stream *f = &s->families[index];
    const tc_family_derivatives *d = &s->derivatives->families[index];
    f->family = &s->model->families[index];
    f->derivatives = d;
    f->alike = bodies_alike(dag, d) && tc_same_boxes(f->family);
    f->values_tape = tc_tape_new(arena, dag, d->bodies, d->body_count);
    f->first_tape = tape_of_first(arena, dag, d->body_first, d->body_first_count);
    f->second_tape = tape_of_second(arena, dag, d->body_second, d->body_second_count);
    f->single = single_tapes(arena, dag, d->body_first, d->body_first_count);
    f->partials = link_partials(arena, d->body_first, d->body_first_count, d->body_second, d->body_second_count);
    build_terms(s, f);
    f->batch = tc_batch_new(arena, f->family);
    size_t work =
        larger(tc_tape_work(f->values_tape), larger(tc_tape_work(f->first_tape), tc_tape_work(f->second_tape)));
    f->work = TC_NEW(arena, tc_interval, largest_work(f->single, d->body_first_count, work));
    f->values = TC_NEW(arena, tc_interval, d->body_count * TC_LANES);
    f->first = TC_NEW(arena, tc_interval, d->body_first_count * TC_LANES);
    f->second = TC_NEW(arena, tc_interval, d->body_second_count * TC_LANES);
    f->values_out = lanes_of(arena, f->values, d->body_count, TC_LANES);
    f->first_out = lanes_of(arena, f->first, d->body_first_count, TC_LANES);
    f->second_out = lanes_of(arena, f->second, d->body_second_count, TC_LANES);
}

/* ---- the outer functions ---------------------------------------------------------------------------------------- */

static void index_inputs(tc_streams *s) {
    const tc_derivatives *d = s->derivatives;
    s->input_start = TC_NEW(s->arena, size_t, d->input_count + 2);
    s->by_input = TC_NEW(s->arena, uint32_t, d->outer_first_count + 1);
    for (size_t i = 0; i < d->outer_first_count; i++)
        s->input_start[d->outer_first[i].column + 2]++;
    for (size_t i = 0; i < d->input_count; i++)
        s->input_start[i + 2] += s->input_start[i + 1];
    for (size_t i = 0; i < d->outer_first_count; i++)
        s->by_input[s->input_start[d->outer_first[i].column + 1]++] = (uint32_t)i;
}

static void build_outer(tc_streams *s) {
    tc_arena *arena = s->arena;
    const tc_derivatives *d = s->derivatives;
    const tc_dag *dag = s->model->dag;
    s->curved = d->outer_second_count > 0;
    for (size_t i = 0; i < d->input_count; i++)
        s->has_coords = s->has_coords || d->inputs[i].op == TC_COORD;
    s->first_tape = tape_of_first(arena, dag, d->outer_first, d->outer_first_count);
    s->second_tape = tape_of_second(arena, dag, d->outer_second, d->outer_second_count);
    s->single = single_tapes(arena, dag, d->outer_first, d->outer_first_count);
    s->partials = link_partials(arena, d->outer_first, d->outer_first_count, d->outer_second, d->outer_second_count);
    size_t work = larger(tc_tape_work(s->first_tape), tc_tape_work(s->second_tape));
    s->work = TC_NEW(arena, tc_interval, largest_work(s->single, d->outer_first_count, work));
    s->sums = TC_NEW(arena, tc_interval, s->model->sum_count + 1);
    s->coords = s->has_coords ? TC_NEW(arena, tc_interval, s->model->state_count) : NULL;
    s->first = TC_NEW(arena, tc_interval, d->outer_first_count + 1);
    s->second = TC_NEW(arena, tc_interval, d->outer_second_count + 1);
    s->first_out = lanes_of(arena, s->first, d->outer_first_count, 1);
    s->second_out = lanes_of(arena, s->second, d->outer_second_count, 1);
    size_t rows = s->model->constraint_count + 1;
    s->column_rows = TC_NEW(arena, uint32_t, rows);
    s->column_values = TC_NEW(arena, tc_interval, rows);
    s->stamp = TC_NEW(arena, uint32_t, rows);
    s->slot = TC_NEW(arena, uint32_t, rows);
}

tc_streams *tc_streams_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                           const tc_monitor *monitor) {
    tc_streams *s = TC_NEW(arena, tc_streams, 1);
    s->arena = arena;
    s->model = model;
    s->derivatives = derivatives;
    s->monitor = monitor;
    s->families = TC_NEW(arena, tc_family_stream, model->family_count + 1);
    index_inputs(s);
    for (size_t k = 0; k < model->family_count; k++)
        build_family(s, k);
    build_singled(s);
    build_outer(s);
    return s;
}
