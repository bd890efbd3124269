#include "calculus/derivatives.h"

#include "base/search.h"
#include "calculus/lift.h"

#include <stdlib.h>

/* A growing list of derivatives in the result's arena. */
typedef struct lists {
    tc_arena *arena;
    tc_differentiator *differentiator;
    tc_dag *dag;
    tc_op op;
    const tc_derivatives *outer; /* maps ranks to columns for outer expressions; NULL for bodies */
    size_t sum_count;
    tc_first *first;
    size_t first_count, first_capacity;
    tc_second *second;
    size_t second_count, second_capacity;
} lists;

static uint32_t column_of(const lists *l, const tc_partial *partial) {
    const tc_node *leaf = &l->dag->nodes[partial->leaf];
    if (leaf->op != TC_COORD)
        return (uint32_t)leaf->u.index;
    size_t at;
    TC_SEARCH(at, l->sum_count, l->outer->input_count, l->outer->inputs[at].index < leaf->u.index);
    return (uint32_t)at;
}

static void add_first(lists *l, tc_first entry) {
    if (l->first_count == l->first_capacity) {
        size_t capacity = l->first_capacity * 2 + 16;
        l->first = tc_arena_grow(l->arena, l->first, l->first_count, capacity, sizeof *l->first);
        l->first_capacity = capacity;
    }
    l->first[l->first_count++] = entry;
}

static void add_second(lists *l, tc_second entry) {
    if (l->second_count >= l->dag->limit)
        tc_raise(l->arena, TC_TOO_LARGE);
    if (l->second_count == l->second_capacity) {
        size_t capacity = l->second_capacity * 2 + 16;
        l->second = tc_arena_grow(l->arena, l->second, l->second_count, capacity, sizeof *l->second);
        l->second_capacity = capacity;
    }
    l->second[l->second_count++] = entry;
}

/* The gradient of one root, then of each of its entries the part up to the diagonal. */
static void derive_root(lists *l, uint32_t row, tc_expr root) {
    size_t begin = l->first_count, count;
    const tc_partial *partials = tc_differentiate(l->differentiator, root, l->op, UINT64_MAX, &count);
    uint64_t *ranks = TC_NEW(l->arena, uint64_t, count);
    for (size_t i = 0; i < count; i++) {
        ranks[i] = partials[i].rank;
        add_first(l, (tc_first){.row = row, .column = column_of(l, &partials[i]), .value = partials[i].value});
    }
    for (size_t i = 0; i < count; i++) {
        tc_first first = l->first[begin + i];
        size_t others;
        partials = tc_differentiate(l->differentiator, first.value, l->op, ranks[i], &others);
        for (size_t k = 0; k < others; k++)
            add_second(l, (tc_second){.row = row,
                                      .column = first.column,
                                      .other = column_of(l, &partials[k]),
                                      .value = partials[k].value});
    }
}

static lists new_lists(tc_arena *arena, const tc_model *model, tc_differentiator *differentiator, tc_op op,
                       const tc_derivatives *outer) {
    return (lists){.arena = arena,
                   .differentiator = differentiator,
                   .dag = model->dag,
                   .op = op,
                   .outer = outer,
                   .sum_count = model->sum_count};
}

static void derive_lift(lists *l, tc_lift *lift) {
    derive_root(l, 0, lift->objective);
    lift->first = l->first;
    lift->first_count = l->first_count;
    lift->second = l->second;
    lift->second_count = l->second_count;
    l->first = NULL;
    l->second = NULL;
    l->first_count = l->second_count = l->first_capacity = l->second_capacity = 0;
    for (size_t j = 0; j < lift->row_count; j++)
        derive_root(l, (uint32_t)j, lift->rows[j]);
    lift->row_first = l->first;
    lift->row_first_count = l->first_count;
    lift->row_second = l->second;
    lift->row_second_count = l->second_count;
}

/* What an objective may have that derivatives do not show. */
typedef struct objective_breaks {
    bool kinks, bends;
} objective_breaks;

static void derive_objective(tc_arena *arena, const tc_model *model, tc_differentiator *differentiator,
                             const tc_family *family, const tc_choices *choices, objective_breaks breaks,
                             tc_family_derivatives *result) {
    lists l = new_lists(arena, model, differentiator, TC_STATE, NULL);
    tc_expr root = family->objective;
    tc_lift *lift = breaks.kinks ? tc_lift_new(arena, model, family, choices, false) : NULL;
    if (lift != NULL && lift->count > 0) {
        if (breaks.bends)
            lift = tc_lift_new(arena, model, family, choices, true);
        derive_lift(&l, lift);
        result->lift = lift;
        return;
    }
    if (lift != NULL)
        root = lift->objective;
    derive_root(&l, 0, root);
    result->objective_first = l.first;
    result->objective_first_count = l.first_count;
    result->objective_second = l.second;
    result->objective_second_count = l.second_count;
    tc_lift *bends = breaks.bends ? tc_lift_new(arena, model, family, choices, true) : NULL;
    if (bends != NULL && bends->count > 0) {
        l = new_lists(arena, model, differentiator, TC_STATE, NULL);
        derive_lift(&l, bends);
        result->bends = bends;
    }
}

tc_family_derivatives tc_derive_objective(tc_arena *arena, const tc_model *model, const tc_family *family,
                                          const tc_choices *choices) {
    tc_family_derivatives result = {0};
    derive_objective(arena, model, tc_differentiator_new(arena, model->dag), family, choices,
                     (objective_breaks){.kinks = true, .bends = true}, &result);
    return result;
}

static void derive_family(tc_arena *arena, const tc_model *model, tc_differentiator *differentiator, size_t family,
                          objective_breaks breaks, tc_family_derivatives *result) {
    const tc_family *of = &model->families[family];
    bool has_choice = of->objective != TC_NO_EXPR && (breaks.kinks || breaks.bends);
    tc_choices *choices = has_choice ? tc_choices_new(arena, model, of) : NULL;
    if (choices != NULL)
        tc_choose_for_all(choices);
    if (of->objective != TC_NO_EXPR)
        derive_objective(arena, model, differentiator, of, choices, breaks, result);
    lists l = new_lists(arena, model, differentiator, TC_STATE, NULL);
    for (size_t b = 0; b < result->body_count; b++)
        derive_root(&l, (uint32_t)b, result->bodies[b]);
    result->body_first = l.first;
    result->body_first_count = l.first_count;
    result->body_second = l.second;
    result->body_second_count = l.second_count;
}

/* Which sums run over which family. */
static void assign_bodies(tc_arena *arena, const tc_model *model, tc_family_derivatives *families) {
    for (size_t r = 0; r < model->sum_count; r++)
        families[model->sums[r].family].body_count++;
    for (size_t f = 0; f < model->family_count; f++) {
        families[f].sums = TC_NEW(arena, uint32_t, families[f].body_count);
        families[f].bodies = TC_NEW(arena, tc_expr, families[f].body_count);
        families[f].body_count = 0;
    }
    for (size_t r = 0; r < model->sum_count; r++) {
        tc_family_derivatives *family = &families[model->sums[r].family];
        family->sums[family->body_count] = (uint32_t)r;
        family->bodies[family->body_count++] = model->sums[r].body;
    }
}

static int by_index(const void *x, const void *y) {
    const tc_outer_input *a = x, *b = y;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void find_inputs(tc_arena *arena, const tc_model *model, tc_derivatives *result) {
    tc_expr *roots = TC_NEW(arena, tc_expr, model->constraint_count);
    for (size_t j = 0; j < model->constraint_count; j++)
        roots[j] = model->constraints[j].outer;
    size_t count, coords = 0;
    const tc_expr *order = tc_reachable(arena, model->dag, roots, model->constraint_count, &count);
    for (size_t i = 0; i < count; i++)
        coords += model->dag->nodes[order[i]].op == TC_COORD;
    result->inputs = TC_NEW(arena, tc_outer_input, model->sum_count + coords);
    for (size_t r = 0; r < model->sum_count; r++)
        result->inputs[r] = (tc_outer_input){.op = TC_SUM, .index = r, .leaf = tc_sum(model->dag, r)};
    result->input_count = model->sum_count;
    for (size_t i = 0; i < count; i++) {
        const tc_node *n = &model->dag->nodes[order[i]];
        if (n->op == TC_COORD)
            result->inputs[result->input_count++] =
                (tc_outer_input){.op = TC_COORD, .index = n->u.index, .leaf = order[i]};
    }
    if (coords > 1)
        qsort(result->inputs + model->sum_count, coords, sizeof *result->inputs, by_index);
}

/* By family: whether something with a kink or a bend is made of its states; one walk for all of them. */
static objective_breaks *find_breaks(tc_arena *arena, const tc_model *model) {
    objective_breaks *found = TC_NEW(arena, objective_breaks, model->family_count + 1);
    for (size_t e = 0; e < model->dag->count; e++) {
        const tc_node *n = &model->dag->nodes[e];
        bool kinks = n->op == TC_ABS || n->op == TC_MAX || n->op == TC_NORM;
        if (!n->has_state || n->family >= model->family_count)
            continue;
        found[n->family].kinks = found[n->family].kinks || kinks;
        found[n->family].bends = found[n->family].bends || n->op == TC_HUBER;
    }
    return found;
}

tc_derivatives *tc_derive(tc_arena *arena, tc_model *model) {
    tc_derivatives *result = TC_NEW(arena, tc_derivatives, 1);
    tc_differentiator *differentiator = tc_differentiator_new(arena, model->dag);
    result->families = TC_NEW(arena, tc_family_derivatives, model->family_count);
    assign_bodies(arena, model, result->families);
    const objective_breaks *breaks = find_breaks(arena, model);
    for (size_t f = 0; f < model->family_count; f++)
        derive_family(arena, model, differentiator, f, breaks[f], &result->families[f]);

    find_inputs(arena, model, result);
    lists l = new_lists(arena, model, differentiator, TC_SUM, result);
    for (size_t j = 0; j < model->constraint_count; j++)
        derive_root(&l, (uint32_t)j, model->constraints[j].outer);
    result->outer_first = l.first;
    result->outer_first_count = l.first_count;
    result->outer_second = l.second;
    result->outer_second_count = l.second_count;
    return result;
}

/* ---- constant rows ----------------------------------------------------------------------------------------------- */

bool *tc_constant_rows(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives) {
    bool *constant = TC_NEW(arena, bool, model->constraint_count + 1);
    for (size_t j = 0; j < model->constraint_count; j++)
        constant[j] = true;
    for (size_t i = 0; i < derivatives->outer_first_count; i++)
        constant[derivatives->outer_first[i].row] = false;
    return constant;
}

size_t tc_moving_count(const bool *constant_rows, size_t count) {
    size_t moving = 0;
    for (size_t j = 0; j < count; j++)
        moving += !constant_rows[j];
    return moving;
}

tc_moving *tc_moving_rows(tc_arena *arena, const tc_model *model, const tc_derivatives *d) {
    const bool *constant = tc_constant_rows(arena, model, d);
    size_t moving = tc_moving_count(constant, model->constraint_count), at = 0;
    if (moving == model->constraint_count)
        return NULL;
    tc_moving *made = TC_NEW(arena, tc_moving, 1);
    uint32_t *number = TC_NEW(arena, uint32_t, model->constraint_count + 1);
    *made = (tc_moving){.model = *model, .derivatives = *d, .row = TC_NEW(arena, size_t, moving + 1)};
    made->model.constraint_count = moving;
    made->model.constraints = TC_NEW(arena, tc_constraint, moving + 1);
    made->model.start_multipliers = TC_NEW(arena, double, moving + 1);
    for (size_t j = 0; j < model->constraint_count; j++) {
        if (constant[j])
            continue;
        number[j] = (uint32_t)at;
        made->row[at] = j;
        made->model.constraints[at] = model->constraints[j];
        made->model.start_multipliers[at++] = model->start_multipliers[j];
    }
    made->derivatives.outer_first = TC_NEW(arena, tc_first, d->outer_first_count + 1);
    made->derivatives.outer_second = TC_NEW(arena, tc_second, d->outer_second_count + 1);
    for (size_t i = 0; i < d->outer_first_count; i++) {
        made->derivatives.outer_first[i] = d->outer_first[i];
        made->derivatives.outer_first[i].row = number[d->outer_first[i].row];
    }
    for (size_t i = 0; i < d->outer_second_count; i++) {
        made->derivatives.outer_second[i] = d->outer_second[i];
        made->derivatives.outer_second[i].row = number[d->outer_second[i].row];
    }
    return made;
}

bool *tc_moving_spread(tc_arena *arena, const tc_moving *moving, const tc_model *whole, const bool *marks) {
    bool *spread = TC_NEW(arena, bool, whole->constraint_count + 1);
    for (size_t j = 0; j < moving->model.constraint_count; j++)
        spread[moving->row[j]] = marks[j];
    return spread;
}

/* ---- degrees ----------------------------------------------------------------------------------------------------- */

static bool varies(const tc_model *model, tc_expr e) { return model->dag->nodes[e].has_state; }

/* Whether each input of Phi is affine in the states; false where one is not even quadratic. */
static bool find_degrees(const tc_model *model, const tc_derivatives *d, bool *affine) {
    for (size_t i = 0; i < d->input_count; i++)
        affine[i] = true;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_derivatives *of = &d->families[f];
        for (size_t i = 0; i < of->body_second_count; i++) {
            if (varies(model, of->body_second[i].value))
                return false;
            affine[of->sums[of->body_second[i].row]] = false;
        }
        for (size_t i = 0; i < of->body_first_count; i++)
            if (varies(model, of->body_first[i].value))
                affine[of->sums[of->body_first[i].row]] = false;
    }
    return true;
}

/* g_j = Phi_j(u): d^2 g_j = sum_{r,s} Phi_{j,rs} du_r du_s + sum_r Phi_{j,r} d^2 u_r. */
bool tc_constraints_are_quadratic(tc_arena *arena, const tc_model *model, const tc_derivatives *d) {
    bool *affine = TC_NEW(arena, bool, d->input_count);
    if (!find_degrees(model, d, affine))
        return false;
    for (size_t i = 0; i < d->outer_second_count; i++)
        if (varies(model, d->outer_second[i].value) || !affine[d->outer_second[i].column] ||
            !affine[d->outer_second[i].other])
            return false;
    for (size_t i = 0; i < d->outer_first_count; i++)
        if (varies(model, d->outer_first[i].value) && !affine[d->outer_first[i].column])
            return false;
    return true;
}
