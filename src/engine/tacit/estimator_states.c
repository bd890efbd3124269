/* The structure of an estimator over states: which rows the bodies, slopes and curvatures of a family are made of. */
#include "engine/tacit/estimator_inside.h"

#include "base/machine.h"
#include "model/spread.h"

#include <math.h>
#include <stdlib.h>

/* ---- linear terms ------------------------------------------------------------------------------------------------ */

/* Expressions as linear terms: constants times nodes that are not linear in others ("atoms").
 *
 * Sums over members and weighted sums of slopes are linear, so they may be taken atom by atom: ten bodies that combine
 * two common nodes cost two sums over the members, not ten. */

typedef struct linear_term {
    double factor;
    tc_expr atom;
} linear_term;

typedef struct linear_terms {
    double constant;
    linear_term *terms; /* by atom, increasing; factors are not zero */
    size_t count;
} linear_terms;

typedef struct linear_scratch { /* for many roots of one DAG */
    tc_arena *arena;
    const tc_dag *dag;
    double *factors; /* by node; zero outside linear_terms_of */
    bool *listed;
    tc_expr *nodes; /* those under the open root */
    size_t count, capacity;
} linear_scratch;

static linear_scratch *new_linear_scratch(tc_arena *arena, const tc_dag *dag) {
    linear_scratch *made = TC_NEW(arena, linear_scratch, 1);
    *made = (linear_scratch){.arena = arena,
                             .dag = dag,
                             .factors = TC_NEW(arena, double, dag->count),
                             .listed = TC_NEW(arena, bool, dag->count)};
    return made;
}

typedef struct parts { /* node = by_a * a + by_b * b; nothing of the kind where both are 0 */
    double by_a, by_b;
} parts;

static double constant_of(const tc_dag *dag, tc_expr e) {
    return dag->nodes[e].op == TC_CONST ? dag->nodes[e].u.value : 0;
}

static parts parts_of(const tc_dag *dag, const tc_node *node) {
    double value;
    if (node->op == TC_ADD)
        return (parts){1, 1};
    if (node->op == TC_SUB)
        return (parts){1, -1};
    if (node->op == TC_NEG)
        return (parts){-1, 0};
    if (node->op == TC_MUL && (value = constant_of(dag, node->a)) != 0)
        return (parts){0, value};
    if (node->op == TC_MUL && (value = constant_of(dag, node->b)) != 0)
        return (parts){value, 0};
    if (node->op == TC_DIV && (value = constant_of(dag, node->b)) != 0 && isfinite(1 / value))
        return (parts){1 / value, 0};
    return (parts){0, 0};
}

static bool is_linear(parts p) { return p.by_a != 0 || p.by_b != 0; }

static void list(linear_scratch *scratch, tc_expr node) {
    if (scratch->listed[node])
        return;
    if (scratch->count == scratch->capacity) {
        size_t capacity = 2 * scratch->capacity + 64;
        scratch->nodes =
            tc_arena_grow(scratch->arena, scratch->nodes, scratch->count, capacity, sizeof *scratch->nodes);
        scratch->capacity = capacity;
    }
    scratch->listed[node] = true;
    scratch->nodes[scratch->count++] = node;
}

static int decreasing(const void *x, const void *y) {
    tc_expr a = *(const tc_expr *)x, b = *(const tc_expr *)y;
    return (a < b) - (a > b);
}

static void list_all(linear_scratch *scratch, tc_expr root) {
    scratch->count = 0;
    list(scratch, root);
    for (size_t i = 0; i < scratch->count; i++) {
        const tc_node *node = &scratch->dag->nodes[scratch->nodes[i]];
        parts p = parts_of(scratch->dag, node);
        if (p.by_a != 0)
            list(scratch, node->a);
        if (p.by_b != 0)
            list(scratch, node->b);
    }
    qsort(scratch->nodes, scratch->count, sizeof *scratch->nodes, decreasing);
}

/* Children have smaller numbers than parents: a node's factor is complete when its turn comes. */
static linear_terms linear_terms_of(linear_scratch *scratch, tc_expr root) {
    linear_terms made = {0};
    list_all(scratch, root);
    made.terms = TC_NEW(scratch->arena, linear_term, scratch->count);
    scratch->factors[root] = 1;
    for (size_t i = 0; i < scratch->count; i++) {
        tc_expr at = scratch->nodes[i];
        const tc_node *node = &scratch->dag->nodes[at];
        double factor = scratch->factors[at];
        parts p = parts_of(scratch->dag, node);
        scratch->factors[at] = 0;
        scratch->listed[at] = false;
        if (p.by_a != 0)
            scratch->factors[node->a] += factor * p.by_a;
        if (p.by_b != 0)
            scratch->factors[node->b] += factor * p.by_b;
        if (node->op == TC_CONST)
            made.constant += factor * node->u.value;
        else if (!is_linear(p) && factor != 0)
            made.terms[made.count++] = (linear_term){factor, at};
    }
    for (size_t i = 0; i < made.count / 2; i++) {
        linear_term kept = made.terms[i];
        made.terms[i] = made.terms[made.count - 1 - i];
        made.terms[made.count - 1 - i] = kept;
    }
    return made;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

typedef struct tc_estimator_builder {
    tc_arena *arena;
    tc_estimator *estimator;
    linear_scratch *scratch;
} tc_estimator_builder;

/* What the bodies of a family, their slopes and their curvatures are made of: row 0 is ONE, row i + 1 is nodes[i]. */
typedef struct tc_estimator_lists {
    tc_estimator_raw *values, *slopes, *bends; /* bends: at is column * dim + other */
    size_t value_count, slope_count, bend_count;
    tc_expr *nodes; /* increasing, without repetitions */
    size_t node_count;
} tc_estimator_lists;

#define NODE_ONE TC_NO_EXPR /* raw.row is a node until rows have numbers */

/* Takes constant factors off an expression. */
static tc_expr peel(const tc_dag *dag, tc_expr e, double *factor) {
    for (;;) {
        const tc_node *node = &dag->nodes[e];
        if (node->op == TC_NEG) {
            *factor = -*factor;
            e = node->a;
        } else if (node->op == TC_MUL && dag->nodes[node->a].op == TC_CONST) {
            *factor *= dag->nodes[node->a].u.value;
            e = node->b;
        } else if (node->op == TC_MUL && dag->nodes[node->b].op == TC_CONST) {
            *factor *= dag->nodes[node->b].u.value;
            e = node->a;
        } else if (node->op == TC_DIV && dag->nodes[node->b].op == TC_CONST) {
            *factor /= dag->nodes[node->b].u.value;
            e = node->a;
        } else {
            return e;
        }
    }
}

/* A derivative is not split into atoms, since |a + b| is not |a| + |b|; only constant factors are taken off. */
static tc_estimator_raw derivative(const tc_estimator_builder *b, uint32_t at, uint32_t input, tc_expr value) {
    linear_terms is = linear_terms_of(b->scratch, value);
    tc_estimator_raw made = {.at = at, .input = input, .factor = 1};
    if (is.count == 0) {
        made.row = NODE_ONE;
        made.factor = is.constant;
    } else if (is.count == 1 && is.constant == 0) {
        made.row = is.terms[0].atom;
        made.factor = is.terms[0].factor;
    } else {
        made.row = peel(b->estimator->model->dag, value, &made.factor);
    }
    return made;
}

static void collect_values(const tc_estimator_builder *b, const tc_family_derivatives *d, const tc_family *family,
                           tc_estimator_lists *lists) {
    size_t count = 0;
    linear_terms *bodies = TC_NEW(b->arena, linear_terms, d->body_count);
    for (size_t i = 0; i < d->body_count; i++) {
        bodies[i] = linear_terms_of(b->scratch, d->bodies[i]);
        count += bodies[i].count;
    }
    lists->values = TC_NEW(b->arena, tc_estimator_raw, count);
    for (size_t i = 0; i < d->body_count; i++) {
        b->estimator->fixed.value[d->sums[i]] += bodies[i].constant * (double)family->count;
        for (size_t t = 0; t < bodies[i].count; t++)
            lists->values[lists->value_count++] = (tc_estimator_raw){
                .row = bodies[i].terms[t].atom, .input = d->sums[i], .factor = bodies[i].terms[t].factor};
    }
}

static void collect(const tc_estimator_builder *b, const tc_family_derivatives *d, const tc_family *family,
                    tc_estimator_lists *lists) {
    collect_values(b, d, family, lists);
    lists->slopes = TC_NEW(b->arena, tc_estimator_raw, d->body_first_count);
    for (size_t i = 0; i < d->body_first_count; i++) {
        const tc_first *first = &d->body_first[i];
        lists->slopes[lists->slope_count++] = derivative(b, first->column, d->sums[first->row], first->value);
    }
    lists->bends = TC_NEW(b->arena, tc_estimator_raw, d->body_second_count);
    for (size_t i = 0; i < d->body_second_count; i++) {
        const tc_second *second = &d->body_second[i];
        uint32_t pair = second->column * (uint32_t)family->dim + second->other;
        lists->bends[lists->bend_count++] = derivative(b, pair, d->sums[second->row], second->value);
    }
}

static int increasing(const void *x, const void *y) {
    tc_expr a = *(const tc_expr *)x, b = *(const tc_expr *)y;
    return (a > b) - (a < b);
}

static size_t list_nodes(const tc_estimator_raw *raw, size_t count, tc_expr *nodes, size_t at) {
    for (size_t i = 0; i < count; i++)
        if (raw[i].row != NODE_ONE)
            nodes[at++] = raw[i].row;
    return at;
}

static void number_nodes(const tc_estimator_builder *b, tc_estimator_lists *lists) {
    size_t count = 0;
    lists->nodes = TC_NEW(b->arena, tc_expr, lists->value_count + lists->slope_count + lists->bend_count);
    count = list_nodes(lists->values, lists->value_count, lists->nodes, count);
    count = list_nodes(lists->slopes, lists->slope_count, lists->nodes, count);
    count = list_nodes(lists->bends, lists->bend_count, lists->nodes, count);
    if (count > 1)
        qsort(lists->nodes, count, sizeof *lists->nodes, increasing);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || lists->nodes[i] != lists->nodes[lists->node_count - 1])
            lists->nodes[lists->node_count++] = lists->nodes[i];
}

/* Row 0 is ONE. */
static void number_rows(const tc_estimator_lists *lists, tc_estimator_raw *raw, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const tc_expr *found = raw[i].row == NODE_ONE ? NULL
                                                      : bsearch(&raw[i].row, lists->nodes, lists->node_count,
                                                                sizeof *lists->nodes, increasing);
        raw[i].row = found == NULL ? 0 : (uint32_t)(found - lists->nodes) + 1;
    }
}

static tc_estimator_lists list_expressions(const tc_estimator_builder *b, const tc_family_derivatives *d,
                                           const tc_family *family) {
    tc_estimator_lists made = {0};
    collect(b, d, family, &made);
    number_nodes(b, &made);
    number_rows(&made, made.values, made.value_count);
    number_rows(&made, made.slopes, made.slope_count);
    number_rows(&made, made.bends, made.bend_count);
    return made;
}

/* ---- rows that no state moves ------------------------------------------------------------------------------------ */

/* Totals of a row that no state moves. */
static void total_fixed(const tc_estimator_builder *b, tc_estimator_family *of, const tc_estimator_lists *lists,
                        size_t number) {
    const tc_estimator_kernels *kernels = b->estimator->kernels;
    const tc_estimator_row *row = &of->rows[number];
    tc_tape *tape =
        row->from == TC_ROW_TAPE ? tc_tape_new(b->arena, b->estimator->model->dag, &lists->nodes[number - 1], 1) : NULL;
    double *work = TC_NEW(b->arena, double, tape == NULL ? 0 : tc_tape_work(tape)), room[TC_LANES], *out = room;
    double t[3][TC_TOTAL_LANES] = {{0}};
    const double **data = TC_NEW(b->arena, const double *, of->family->column_count);
    tc_fold_begin(of->family, t, sizeof t);
    for (size_t k = of->family->known_first; k < of->family->known_end; k += TC_LANES) {
        size_t lanes = of->family->known_end - k < TC_LANES ? of->family->known_end - k : TC_LANES;
        for (size_t d = 0; d < of->family->column_count; d++)
            data[d] = of->family->columns[d].values + k;
        if (tape != NULL)
            tc_tape_eval(tape, &(tc_inputs){.data = data}, lanes, work, &out);
        const double *values = tape != NULL ? room : row->values + k;
        kernels->total(lanes, values, t[0]);
        kernels->total_sizes(lanes, values, t[1], t[2]);
    }
    tc_fold_end(of->family, t, sizeof t);
    of->fixed_total[number] = tc_total_of_lanes(t[0]);
    of->fixed_size[number] = tc_total_of_lanes(t[1]);
    of->fixed_square[number] = tc_total_of_lanes(t[2]);
}

static void add_fixed(const tc_estimator_builder *b, tc_estimator_family *of, const tc_estimator_lists *lists) {
    tc_measurement *fixed = &b->estimator->fixed;
    of->fixed_total = TC_NEW(b->arena, double, of->row_count);
    of->fixed_size = TC_NEW(b->arena, double, of->row_count);
    of->fixed_square = TC_NEW(b->arena, double, of->row_count);
    of->fixed_total[0] = of->fixed_size[0] = of->fixed_square[0] = (double)of->family->count;
    for (size_t i = 1; i < of->row_count; i++)
        if (!of->rows[i].varies)
            total_fixed(b, of, lists, i);
    for (size_t i = 0; i < lists->value_count; i++)
        if (!of->rows[lists->values[i].row].varies)
            fixed->value[lists->values[i].input] += lists->values[i].factor * of->fixed_total[lists->values[i].row];
    for (size_t i = 0; i < lists->slope_count; i++) {
        const tc_estimator_raw *raw = &lists->slopes[i];
        if (of->rows[raw->row].varies)
            continue;
        double scale = of->scale[raw->at], size = fabs(raw->factor) * of->fixed_size[raw->row];
        double square = raw->factor * raw->factor * of->fixed_square[raw->row];
        fixed->norm1[raw->input] += size;
        fixed->reach[raw->input] += scale * size;
        fixed->norm2[raw->input] += scale * scale * square;
        fixed->noise[raw->input] += of->variance * square;
    }
    for (size_t i = 0; i < lists->bend_count; i++) {
        const tc_estimator_raw *raw = &lists->bends[i];
        if (!of->rows[raw->row].varies && of->pairs[raw->at].column == of->pairs[raw->at].other)
            fixed->trace[raw->input] += of->variance * (raw->factor * of->fixed_total[raw->row]);
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const tc_node *node_of(const tc_estimator_builder *b, tc_expr e) { return &b->estimator->model->dag->nodes[e]; }

static void make_rows(const tc_estimator_builder *b, const tc_estimator_lists *lists, tc_estimator_family *of) {
    of->row_count = lists->node_count + 1;
    of->rows = TC_NEW(b->arena, tc_estimator_row, of->row_count);
    for (size_t i = 0; i < of->row_count; i++) {
        const tc_node *node = i == 0 ? NULL : node_of(b, lists->nodes[i - 1]);
        tc_estimator_row *row = &of->rows[i];
        *row = (tc_estimator_row){.from = TC_ROW_ONE, .size_at = SIZE_MAX, .trace_at = SIZE_MAX};
        if (node == NULL)
            continue;
        row->varies = node->has_state;
        row->from = node->op == TC_STATE ? TC_ROW_STATE : node->op == TC_DATA ? TC_ROW_COLUMN : TC_ROW_TAPE;
        if (node->op == TC_STATE)
            row->place[0] = row->place[1] = (size_t)node->u.index;
        if (node->op == TC_DATA)
            row->values = of->family->columns[node->u.index].values;
    }
}

/* ---- what the sums are made of ----------------------------------------------------------------------------------- */

static void make_values(const tc_estimator_builder *b, const tc_estimator_lists *lists, tc_estimator_family *of) {
    uint32_t *place = TC_NEW(b->arena, uint32_t, of->row_count);
    bool *seen = TC_NEW(b->arena, bool, of->row_count);
    of->summed = TC_NEW(b->arena, uint32_t, of->row_count);
    of->values = TC_NEW(b->arena, tc_estimator_term, lists->value_count);
    for (size_t i = 0; i < lists->value_count; i++) {
        const tc_estimator_raw *raw = &lists->values[i];
        if (!of->rows[raw->row].varies)
            continue;
        if (!seen[raw->row]) {
            seen[raw->row] = true;
            place[raw->row] = (uint32_t)of->summed_count;
            of->summed[of->summed_count++] = raw->row;
        }
        of->values[of->value_count++] = (tc_estimator_term){place[raw->row], raw->input, raw->factor};
    }
}

/* Pairs get numbers; at becomes one. */
static void make_pairs(const tc_estimator_builder *b, tc_estimator_lists *lists, tc_estimator_family *of) {
    uint32_t *pairs = TC_NEW(b->arena, uint32_t, lists->bend_count), dim = (uint32_t)of->family->dim;
    for (size_t i = 0; i < lists->bend_count; i++)
        pairs[i] = lists->bends[i].at;
    if (lists->bend_count > 1)
        qsort(pairs, lists->bend_count, sizeof *pairs, increasing);
    for (size_t i = 0; i < lists->bend_count; i++)
        if (i == 0 || pairs[i] != pairs[of->pair_count - 1])
            pairs[of->pair_count++] = pairs[i];
    of->pairs = TC_NEW(b->arena, tc_estimator_pair, of->pair_count);
    for (size_t i = 0; i < of->pair_count; i++)
        of->pairs[i] = (tc_estimator_pair){pairs[i] / dim, pairs[i] % dim};
    for (size_t i = 0; i < lists->bend_count; i++) {
        const uint32_t *found = bsearch(&lists->bends[i].at, pairs, of->pair_count, sizeof *pairs, increasing);
        if (found == NULL)
            tc_raise(b->arena, TC_INTERNAL);
        lists->bends[i].at = (uint32_t)(found - pairs);
    }
}

static void place_totals(tc_estimator_family *of) {
    size_t at = of->summed_count;
    of->shift_at = at;
    of->rest_at = at += of->slopes.count;
    of->curve_at = at += of->slopes.count;
    of->rest_curve_at = at += of->bends.count;
    at += of->bends.count;
    for (size_t i = 0; i < of->slopes.count; i++) {
        tc_estimator_row *row = &of->rows[of->slopes.uses[i].row];
        if (row->varies && row->size_at == SIZE_MAX) {
            row->size_at = at;
            row->size_by = i;
            at += 2;
        }
    }
    for (size_t i = 0; i < of->bends.count; i++) {
        tc_estimator_row *row = &of->rows[of->bends.uses[i].row];
        const tc_estimator_pair *pair = &of->pairs[of->bends.uses[i].at];
        if (row->varies && pair->column == pair->other && row->trace_at == SIZE_MAX) {
            row->trace_at = at++;
            row->trace_by = i;
        }
    }
    of->total_count = at;
}

static tc_tape *make_tape(const tc_estimator_builder *b, const tc_estimator_lists *lists, tc_estimator_family *of,
                          unsigned pass) {
    bool *wanted = TC_NEW(b->arena, bool, of->row_count);
    tc_expr *roots = TC_NEW(b->arena, tc_expr, of->row_count);
    size_t count = 0;
    for (size_t i = 0; pass == 0 && i < of->summed_count; i++)
        wanted[of->summed[i]] = true;
    for (size_t i = 0; i < of->slopes.count; i++)
        wanted[of->slopes.uses[i].row] = true;
    for (size_t i = 0; i < of->bends.count; i++)
        wanted[of->bends.uses[i].row] = true;
    for (size_t i = 1; i < of->row_count; i++)
        if (wanted[i] && of->rows[i].from == TC_ROW_TAPE) {
            of->rows[i].place[pass] = count;
            roots[count++] = lists->nodes[i - 1];
        }
    return count == 0 ? NULL : tc_tape_new(b->arena, b->estimator->model->dag, roots, count);
}

/* ---- a family ---------------------------------------------------------------------------------------------------- */

static void mark_rows(const tc_estimator_builder *b, tc_estimator_family *of) {
    size_t dim = of->family->dim;
    of->reach_by_member = TC_NEW(b->arena, bool, dim);
    of->bend_by_member = TC_NEW(b->arena, bool, dim);
    of->pair_is_row = TC_NEW(b->arena, bool, of->pair_count);
    for (size_t i = 0; i < of->slopes.count; i++) {
        const tc_estimator_use *use = &of->slopes.uses[i];
        of->reach_by_member[use->at] |= use->row != 0;
        of->slopes_vary |= of->rows[use->row].varies;
    }
    for (size_t i = 0; i < of->bends.count; i++) {
        const tc_estimator_use *use = &of->bends.uses[i];
        of->pair_is_row[use->at] |= use->row != 0;
        of->bend_by_member[of->pairs[use->at].column] |= use->row != 0;
        of->bend_by_member[of->pairs[use->at].other] |= use->row != 0;
    }
}

static void build_family(const tc_estimator_builder *b, size_t f) {
    tc_estimator *estimator = b->estimator;
    tc_estimator_family *of = &estimator->families[f];
    const tc_family_derivatives *d = &estimator->derivatives->families[f];
    if (d->body_count == 0)
        return;
    of->has_rows = d->body_first_count > 0; /* a sum of data alone never changes */
    if (of->family->dim >= UINT16_MAX)
        tc_raise(b->arena, TC_TOO_LARGE);
    tc_estimator_lists lists = list_expressions(b, d, of->family);
    make_rows(b, &lists, of);
    make_values(b, &lists, of);
    make_pairs(b, &lists, of);
    of->slopes = tc_estimator_gather(b->arena, lists.slopes, lists.slope_count, of->family->dim);
    of->bends = tc_estimator_gather(b->arena, lists.bends, lists.bend_count, of->pair_count);
    place_totals(of);
    mark_rows(b, of);
    of->tape[0] = make_tape(b, &lists, of, 0);
    of->tape[1] = make_tape(b, &lists, of, 1);
    add_fixed(b, of, &lists);
    if (!of->has_rows)
        return;
    size_t count = of->family->dim * of->family->count;
    of->y = TC_NEW(b->arena, double, count);
    of->r = TC_NEW(b->arena, double, count);
    tc_prefer_large_pages(of->y, count * sizeof *of->y);
    tc_prefer_large_pages(of->r, count * sizeof *of->r);
    of->partials = TC_NEW(b->arena, double, of->block_count * of->total_count);
}

/* ---- single coordinates ------------------------------------------------------------------------------------------ */

static void list_singles(const tc_estimator_builder *b, const double *variance) {
    tc_estimator *estimator = b->estimator;
    const tc_derivatives *d = estimator->derivatives;
    size_t first = estimator->model->sum_count, count = d->input_count - first;
    estimator->first_observed = first;
    estimator->observed_count = estimator->single_count = count;
    estimator->observed = TC_NEW(b->arena, size_t, count);
    estimator->singles = TC_NEW(b->arena, tc_estimator_single, count);
    for (size_t i = 0; i < count; i++) {
        size_t coordinate = (size_t)d->inputs[first + i].index;
        const tc_family *family = tc_family_of_coord(estimator->model, coordinate);
        size_t offset = coordinate - family->first_coord, member = offset % family->count;
        size_t component = offset / family->count, f = (size_t)(family - estimator->model->families);
        estimator->observed[i] = coordinate;
        estimator->lower[i] = tc_coef_at(family->lower[component], member);
        estimator->upper[i] = tc_coef_at(family->upper[component], member);
        estimator->variance[first + i] = estimator->fixed.noise[first + i] = variance[coordinate];
        double scale = estimator->scale[first + i] = estimator->families[f].scale[component];
        estimator->fixed.norm1[first + i] = 1;
        estimator->fixed.reach[first + i] = scale;
        estimator->fixed.norm2[first + i] = scale * scale;
        estimator->singles[i] =
            (tc_estimator_single){.coordinate = coordinate,
                                  .block = estimator->families[f].first_block + member / TC_RELEASE_BLOCK,
                                  .member = member,
                                  .family = (uint32_t)f,
                                  .component = (uint32_t)component,
                                  .input = (uint32_t)(first + i),
                                  .bends = true,
                                  .slope = 1,
                                  .reach = scale};
    }
}

/* By coordinate: the variance of its noise. Scratch. */
static double *read_variances(const tc_estimator_builder *b, const tc_plan *plan) {
    const tc_model *model = b->estimator->model;
    const tc_family_derivatives *derivatives = b->estimator->derivatives->families;
    double *variance = TC_NEW(b->arena, double, model->state_count);
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        if (channel->kind != TC_CHANNEL_STATES || plan->mechanism == TC_MECHANISM_NONE)
            continue;
        const tc_family *family = &model->families[channel->family];
        if (channel->member_count == family->count)
            b->estimator->families[channel->family].variance = channel->variance;
        else if (derivatives[channel->family].body_first_count > 0)
            tc_raise(b->arena, TC_INTERNAL); /* a sum depends on all members alike: one channel has them */
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = channel->first_member; k < channel->first_member + channel->member_count; k++)
                variance[tc_coord_of(family, k, c)] = channel->variance;
    }
    return variance;
}

void tc_estimator_build_states(tc_arena *arena, tc_estimator *estimator, const tc_plan *plan) {
    tc_estimator_builder b = {
        .arena = arena, .estimator = estimator, .scratch = new_linear_scratch(arena, estimator->model->dag)};
    const double *variance = read_variances(&b, plan);
    for (size_t f = 0; f < estimator->model->family_count; f++)
        build_family(&b, f);
    list_singles(&b, variance);
}
