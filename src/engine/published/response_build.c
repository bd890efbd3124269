/* The structure of a response: which rows are summed, with which factors they come back in the answers. */
#include "calculus/derivatives.h"
#include "engine/published/bias.h"
#include "engine/tacit/estimator_inside.h"
#include "engine/published/response_parts.h"

#include <stdlib.h>
#include <string.h>

static bool varies(const tc_model *model, tc_expr e) { return model->dag->nodes[e].has_state; }

/* ---- one family ----------------------------------------------------------------------------------------------------
 */

typedef struct builder {
    tc_arena *arena;
    tc_response *response;
    tc_linear_scratch *combiner;
    size_t work, outputs, atoms, summed, dim, columns; /* the most that a worker needs */
} builder;

static void enlarge(size_t *most, size_t wanted) { *most = wanted > *most ? wanted : *most; }

typedef struct collected { /* terms before atoms have numbers */
    uint32_t row, component;
    tc_linear_terms is;
} collected;

typedef struct family_plan {
    collected *bodies, *slopes;
    size_t body_count, slope_count;
    tc_expr *atoms;   /* increasing, without repetitions */
    bool *is_summed;  /* by atom */
    bool *is_weighed; /* by atom */
    size_t atom_count;
} family_plan;

static int increasing(const void *x, const void *y) {
    tc_expr a = *(const tc_expr *)x, b = *(const tc_expr *)y;
    return (a > b) - (a < b);
}

static uint32_t atom_of(const family_plan *plan, tc_expr node) {
    const tc_expr *found = bsearch(&node, plan->atoms, plan->atom_count, sizeof node, increasing);
    return found == NULL ? 0 : (uint32_t)(found - plan->atoms);
}

static void collect(const builder *b, const tc_family_derivatives *d, family_plan *plan) {
    size_t terms = 0, count = 0;
    plan->bodies = TC_NEW(b->arena, collected, d->body_count);
    plan->slopes = TC_NEW(b->arena, collected, d->body_first_count);
    for (; plan->body_count < d->body_count; plan->body_count++) {
        collected *body = &plan->bodies[plan->body_count];
        *body = (collected){d->sums[plan->body_count], 0, tc_linear_terms_of(b->combiner, d->bodies[plan->body_count])};
        terms += body->is.count;
    }
    for (; plan->slope_count < d->body_first_count; plan->slope_count++) {
        const tc_first *first = &d->body_first[plan->slope_count];
        collected *slope = &plan->slopes[plan->slope_count];
        *slope = (collected){d->sums[first->row], first->column, tc_linear_terms_of(b->combiner, first->value)};
        terms += slope->is.count;
    }
    plan->atoms = TC_NEW(b->arena, tc_expr, terms);
    for (size_t i = 0; i < plan->body_count; i++)
        for (size_t t = 0; t < plan->bodies[i].is.count; t++)
            plan->atoms[count++] = plan->bodies[i].is.terms[t].atom;
    for (size_t i = 0; i < plan->slope_count; i++)
        for (size_t t = 0; t < plan->slopes[i].is.count; t++)
            plan->atoms[count++] = plan->slopes[i].is.terms[t].atom;
    qsort(plan->atoms, count, sizeof *plan->atoms, increasing);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || plan->atoms[i] != plan->atoms[plan->atom_count - 1])
            plan->atoms[plan->atom_count++] = plan->atoms[i];
    plan->is_summed = TC_NEW(b->arena, bool, plan->atom_count);
    plan->is_weighed = TC_NEW(b->arena, bool, plan->atom_count);
}

/* The total over all members of an atom that no state moves; the same order as in a round. */
static double fixed_total(const builder *b, const tc_family *family, tc_expr atom) {
    tc_tape *tape = tc_tape_new(b->arena, b->response->model->dag, &atom, 1);
    double *work = TC_NEW(b->arena, double, tc_tape_work(tape)), row[TC_LANES], *out = row, total = 0;
    const double **data = TC_NEW(b->arena, const double *, family->column_count);
    for (size_t k = 0; k < family->count; k += TC_LANES) {
        size_t lanes = family->count - k < TC_LANES ? family->count - k : TC_LANES;
        for (size_t d = 0; d < family->column_count; d++)
            data[d] = family->columns[d].values + k;
        tc_tape_eval(tape, &(tc_inputs){.data = data}, lanes, work, &out);
        for (size_t lane = 0; lane < lanes; lane++)
            total += row[lane];
    }
    return total;
}

static void build_sums(const builder *b, family_plan *plan, tc_response_family *of) {
    const tc_model *model = b->response->model;
    size_t terms = 0;
    double *fixed = TC_NEW(b->arena, double, plan->atom_count);
    uint32_t *place = TC_NEW(b->arena, uint32_t, plan->atom_count);
    bool *seen = TC_NEW(b->arena, bool, plan->atom_count);
    of->summed = TC_NEW(b->arena, uint32_t, plan->atom_count);
    for (size_t i = 0; i < plan->body_count; i++)
        for (size_t t = 0; t < plan->bodies[i].is.count; t++, terms++) {
            uint32_t atom = atom_of(plan, plan->bodies[i].is.terms[t].atom);
            if (!seen[atom] && varies(model, plan->atoms[atom]))
                plan->is_summed[atom] = true;
            else if (!seen[atom])
                fixed[atom] = fixed_total(b, of->family, plan->atoms[atom]);
            seen[atom] = true;
        }
    for (uint32_t a = 0; a < plan->atom_count; a++)
        if (plan->is_summed[a]) {
            place[a] = (uint32_t)of->summed_count;
            of->summed[of->summed_count++] = a;
        }
    of->sum_terms = TC_NEW(b->arena, tc_sum_term, terms);
    for (size_t i = 0; i < plan->body_count; i++) {
        const collected *body = &plan->bodies[i];
        double *constant = &b->response->constants[body->row];
        *constant += body->is.constant * (double)of->family->count;
        for (size_t t = 0; t < body->is.count; t++) {
            uint32_t atom = atom_of(plan, body->is.terms[t].atom);
            if (plan->is_summed[atom])
                of->sum_terms[of->sum_term_count++] = (tc_sum_term){body->row, place[atom], body->is.terms[t].factor};
            else
                *constant += body->is.terms[t].factor * fixed[atom];
        }
    }
}

static int compare_weights(const void *x, const void *y) {
    const tc_weight *a = x, *b = y;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    return (a->atom > b->atom) - (a->atom < b->atom);
}

static void list_weights(const builder *b, family_plan *plan, tc_response_family *of, size_t terms) {
    size_t count = 0;
    of->weights = TC_NEW(b->arena, tc_weight, terms);
    for (size_t i = 0; i < plan->slope_count; i++)
        for (size_t t = 0; t < plan->slopes[i].is.count; t++) {
            uint32_t atom = atom_of(plan, plan->slopes[i].is.terms[t].atom);
            plan->is_weighed[atom] = true;
            of->weights[count++] = (tc_weight){plan->slopes[i].component, atom};
        }
    qsort(of->weights, count, sizeof *of->weights, compare_weights);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || compare_weights(&of->weights[i], &of->weights[of->weight_count - 1]) != 0)
            of->weights[of->weight_count++] = of->weights[i];
    of->first_weight = TC_NEW(b->arena, size_t, of->family->dim + 1);
    for (size_t c = 0, w = 0; c <= of->family->dim; c++) {
        while (w < of->weight_count && of->weights[w].component < c)
            w++;
        of->first_weight[c] = w;
    }
}

static void build_weights(const builder *b, family_plan *plan, tc_response_family *of) {
    size_t terms = 0;
    for (size_t i = 0; i < plan->slope_count; i++)
        terms += plan->slopes[i].is.count;
    list_weights(b, plan, of, terms);
    of->weight_terms = TC_NEW(b->arena, tc_weight_term, terms);
    of->base_terms = TC_NEW(b->arena, tc_weight_term, plan->slope_count);
    for (size_t i = 0; i < plan->slope_count; i++) {
        const collected *slope = &plan->slopes[i];
        if (slope->is.constant != 0)
            of->base_terms[of->base_term_count++] = (tc_weight_term){slope->component, slope->row, slope->is.constant};
        for (size_t t = 0; t < slope->is.count; t++) {
            tc_weight key = {slope->component, atom_of(plan, slope->is.terms[t].atom)};
            const tc_weight *at = bsearch(&key, of->weights, of->weight_count, sizeof key, compare_weights);
            if (at == NULL) /* list_weights made one for every term */
                tc_raise(b->arena, TC_INTERNAL);
            of->weight_terms[of->weight_term_count++] =
                (tc_weight_term){(uint32_t)(at - of->weights), slope->row, slope->is.terms[t].factor};
        }
    }
    of->weight_values = TC_NEW(b->arena, double, of->weight_count);
    of->base_values = TC_NEW(b->arena, double, of->family->dim);
}

/* Evaluated in the first pass: what is summed, and in a single pass everything. */
static tc_tape *build_tape(builder *b, const family_plan *plan, tc_response_family *of, bool second) {
    const tc_dag *dag = b->response->model->dag;
    tc_expr *roots = TC_NEW(b->arena, tc_expr, plan->atom_count);
    size_t count = 0;
    for (size_t a = 0; a < plan->atom_count; a++) {
        const tc_node *node = &dag->nodes[plan->atoms[a]];
        bool wanted =
            second ? plan->is_weighed[a] : plan->is_summed[a] || (b->response->single_pass && plan->is_weighed[a]);
        if (node->op == TC_STATE || node->op == TC_DATA)
            of->atoms[a] = (tc_atom){node->op == TC_STATE ? TC_ATOM_STATE : TC_ATOM_DATA, {(size_t)node->u.index}};
        else if (wanted) {
            of->atoms[a].from = TC_ATOM_TAPE;
            of->atoms[a].index[second] = count;
            roots[count++] = plan->atoms[a];
        }
    }
    if (count == 0)
        return NULL;
    tc_tape *tape = tc_tape_new(b->arena, dag, roots, count);
    enlarge(&b->work, tc_tape_work(tape));
    enlarge(&b->outputs, count);
    return tape;
}

static void build_family(builder *b, size_t f) {
    tc_response *response = b->response;
    const tc_family_derivatives *d = &response->derivatives->families[f];
    tc_response_family *of = &response->families[f];
    family_plan plan = {0};
    of->has_sums = d->body_count > 0;
    enlarge(&b->dim, of->family->dim);
    if (!of->has_sums)
        return;
    collect(b, d, &plan);
    build_sums(b, &plan, of);
    build_weights(b, &plan, of);
    of->atom_count = plan.atom_count;
    of->atoms = TC_NEW(b->arena, tc_atom, plan.atom_count);
    of->first = build_tape(b, &plan, of, false);
    if (!response->single_pass)
        of->second = build_tape(b, &plan, of, true);
    enlarge(&b->atoms, of->atom_count);
    enlarge(&b->summed, of->summed_count);
    enlarge(&b->columns, of->family->column_count);
}

/* ---- the whole -----------------------------------------------------------------------------------------------------
 */

static void number_blocks(builder *b) {
    tc_response *response = b->response;
    size_t partials = 0;
    for (size_t f = 0; f < response->model->family_count; f++) {
        tc_response_family *of = &response->families[f];
        size_t blocks = (of->family->count + TC_RELEASE_BLOCK - 1) / TC_RELEASE_BLOCK;
        of->first_block = response->block_count;
        of->first_partial = partials;
        response->block_count += blocks;
        partials += blocks * of->summed_count;
    }
    response->partials = TC_NEW(b->arena, double, partials);
}

static int compare_singles(const void *x, const void *y) {
    const tc_response_single *a = x, *b = y;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    return (a->coordinate > b->coordinate) - (a->coordinate < b->coordinate);
}

static void list_singles(builder *b) {
    tc_response *response = b->response;
    const tc_derivatives *d = response->derivatives;
    response->singles = TC_NEW(b->arena, tc_response_single, d->input_count);
    for (uint32_t i = 0; i < d->input_count; i++) {
        if (d->inputs[i].op != TC_COORD)
            continue;
        const tc_family *family = tc_family_of_coord(response->model, d->inputs[i].index);
        size_t offset = d->inputs[i].index - family->first_coord, member = offset % family->count;
        uint32_t component = (uint32_t)(offset / family->count);
        const tc_response_family *of = &response->families[family - response->model->families];
        response->singles[response->single_count++] =
            (tc_response_single){.coordinate = d->inputs[i].index,
                                 .block = of->first_block + member / TC_RELEASE_BLOCK,
                                 .member = member,
                                 .family = (uint32_t)(family - response->model->families),
                                 .component = component,
                                 .input = i,
                                 .lower = tc_coef_at(family->lower[component], member),
                                 .upper = tc_coef_at(family->upper[component], member)};
    }
    qsort(response->singles, response->single_count, sizeof *response->singles, compare_singles);
    response->block_singles = TC_NEW(b->arena, size_t, response->block_count + 1);
    for (size_t block = 0, i = 0; block <= response->block_count; block++) {
        while (i < response->single_count && response->singles[i].block < block)
            i++;
        response->block_singles[block] = i;
    }
    if (response->single_count > 0)
        response->coords = TC_NEW(b->arena, double, response->model->state_count);
}

/* Phi and its slopes that vary are evaluated in every round, the others once. */
static void build_outer(builder *b) {
    tc_response *response = b->response;
    const tc_model *model = response->model;
    const tc_derivatives *d = response->derivatives;
    size_t m = model->constraint_count, count = m, all = m + d->outer_first_count, fixed = 0;
    tc_expr *roots = TC_NEW(b->arena, tc_expr, all), *fixed_roots = TC_NEW(b->arena, tc_expr, all);
    response->price_terms = TC_NEW(b->arena, tc_price_term, d->outer_first_count);
    response->price_term_count = d->outer_first_count;
    for (size_t j = 0; j < m; j++)
        roots[j] = model->constraints[j].outer;
    for (size_t i = 0; i < d->outer_first_count; i++) {
        const tc_first *first = &d->outer_first[i];
        bool is_fixed = !varies(model, first->value);
        response->price_terms[i] = (tc_price_term){first->row, first->column, is_fixed ? all - ++fixed : count};
        if (is_fixed)
            fixed_roots[fixed - 1] = first->value;
        else
            roots[count++] = first->value;
    }
    response->program = tc_program_new(b->arena, model, roots, count);
    response->program_work = TC_NEW(b->arena, double, tc_program_work(response->program));
    tc_program_prepare(response->program, response->program_work);
    response->outer = TC_NEW(b->arena, double, all);
    response->prices = TC_NEW(b->arena, double, d->input_count);
    tc_program *once = tc_program_new(b->arena, model, fixed_roots, fixed);
    double *work = TC_NEW(b->arena, double, tc_program_work(once)), *values = TC_NEW(b->arena, double, fixed);
    tc_program_prepare(once, work);
    tc_program_eval(once, NULL, NULL, work, values);
    for (size_t i = 0; i < fixed; i++)
        response->outer[all - 1 - i] = values[i];
}

static double **rows_of(tc_arena *arena, size_t rows, size_t length) {
    double **made = TC_NEW(arena, double *, rows), *numbers = TC_NEW(arena, double, rows *length);
    for (size_t i = 0; i < rows; i++)
        made[i] = numbers + i * length;
    return made;
}

static tc_response_worker build_worker(const builder *b) {
    return (tc_response_worker){.work = TC_NEW(b->arena, double, b->work),
                                .output = rows_of(b->arena, b->outputs, TC_LANES),
                                .state = TC_NEW(b->arena, const double *, b->dim),
                                .data = TC_NEW(b->arena, const double *, b->columns),
                                .rows = TC_NEW(b->arena, const double *, b->atoms),
                                .inside = b->response->clips ? rows_of(b->arena, b->dim, TC_RELEASE_BLOCK) : NULL,
                                .totals = TC_NEW(b->arena, double, b->summed *TC_SUM_LANES)};
}

tc_response *tc_response_new(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                             const tc_derivatives *derivatives, size_t workers) {
    tc_response *made = TC_NEW(arena, tc_response, 1);
    *made = (tc_response){.model = model, .derivatives = derivatives, .single_pass = true};
    builder b = {.arena = arena, .response = made, .combiner = tc_linear_scratch_new(arena, model->dag)};
    for (size_t i = 0; i < derivatives->outer_first_count; i++)
        made->single_pass = made->single_pass && !varies(model, derivatives->outer_first[i].value);
    made->clips = !tc_constraints_are_quadratic(arena, model, derivatives);
    made->bias = TC_NEW(arena, double, model->constraint_count);
    if (!made->clips)
        tc_state_noise_bias(arena, plan, model, derivatives, made->bias);
    made->constants = TC_NEW(arena, double, model->sum_count);
    made->sums = TC_NEW(arena, double, model->sum_count);
    made->families = TC_NEW(arena, tc_response_family, model->family_count);
    for (size_t f = 0; f < model->family_count; f++) {
        made->families[f].family = &model->families[f];
        build_family(&b, f);
    }
    number_blocks(&b);
    list_singles(&b);
    build_outer(&b);
    made->workers = TC_NEW(arena, tc_response_worker, workers);
    for (size_t w = 0; w < workers; w++)
        made->workers[w] = build_worker(&b);
    made->whole_states = TC_NEW(arena, const double *, b.dim);
    made->whole_answers = TC_NEW(arena, double *, b.dim);
    return made;
}
