/* Which way a family's steps are taken, and what they need. */
#include "engine/proximal/proximal_parts.h"

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static bool is_diagonal(const tc_family_derivatives *d) {
    for (size_t i = 0; i < d->objective_second_count; i++)
        if (d->objective_second[i].column != d->objective_second[i].other)
            return false;
    return true;
}

static bool is_constant(const tc_dag *dag, const tc_family_derivatives *d) {
    for (size_t i = 0; i < d->objective_second_count; i++)
        if (tc_node_of(dag, d->objective_second[i].value)->has_state)
            return false;
    return true;
}

/* By component: its second derivative, TC_NO_EXPR for zero. */
static tc_expr *diagonal_of(tc_arena *arena, const tc_family *family, const tc_family_derivatives *d) {
    tc_expr *diagonal = TC_NEW(arena, tc_expr, family->dim);
    for (size_t c = 0; c < family->dim; c++)
        diagonal[c] = TC_NO_EXPR;
    for (size_t i = 0; i < d->objective_second_count; i++)
        if (d->objective_second[i].column == d->objective_second[i].other)
            diagonal[d->objective_second[i].column] = d->objective_second[i].value;
    return diagonal;
}

static bool all_alike(const tc_expr *diagonal, size_t first, size_t count) {
    for (size_t c = first + 1; c < first + count; c++)
        if (diagonal[c] != diagonal[first])
            return false;
    return true;
}

static bool is_linear(tc_set_kind kind) { return kind == TC_SET_HALFSPACE || kind == TC_SET_HYPERPLANE; }

static tc_proximal_way newton_way(const tc_projector *projector) {
    bool is_simple =
        projector->form == TC_PROJECTOR_BOX || (projector->form == TC_PROJECTOR_CUTS && projector->cut_count == 1 &&
                                                projector->cuts[0].cut.kind != TC_SET_BALL1);
    return is_simple ? TC_PROXIMAL_NEWTON : TC_PROXIMAL_ALONE;
}

/* Constant curvature: a projection in the usual sense, in scaled components, or neither. */
static tc_proximal_way quadratic_way(const tc_projector *projector, const tc_expr *diagonal) {
    if (projector->form == TC_PROJECTOR_BOX || all_alike(diagonal, 0, projector->family->dim))
        return TC_PROXIMAL_ROWS;
    if (projector->form == TC_PROJECTOR_MEMBERS)
        return TC_PROXIMAL_ALONE;
    tc_proximal_way way = TC_PROXIMAL_ROWS;
    for (size_t i = 0; i < projector->cut_count; i++) {
        const tc_projector_cut *cut = &projector->cuts[i];
        if (all_alike(diagonal, cut->first, cut->cut.count))
            continue;
        if (!is_linear(cut->cut.kind))
            return newton_way(projector);
        way = TC_PROXIMAL_WEIGHTED;
    }
    return way;
}

static void find_curvatures(tc_arena *arena, const tc_dag *dag, tc_proximal_family *made, const tc_expr *diagonal) {
    size_t dim = made->of->family->dim, count = 0;
    tc_expr *roots = TC_NEW(arena, tc_expr, dim);
    for (size_t c = 0; c < dim; c++) {
        made->curvatures[c] = (tc_curvature){.row = TC_NO_ROW};
        if (diagonal[c] == TC_NO_EXPR)
            continue;
        if (tc_node_of(dag, diagonal[c])->op == TC_CONST) {
            made->curvatures[c].value = tc_node_of(dag, diagonal[c])->u.value;
        } else {
            made->curvatures[c].row = (int32_t)count;
            roots[count++] = diagonal[c];
        }
    }
    if (count > 0)
        made->seconds = tc_tape_new(arena, dag, roots, count);
}

/* Second derivatives of huber jump. */
static bool is_smooth(tc_arena *arena, const tc_dag *dag, const tc_expr *roots, size_t count) {
    tc_mark mark = tc_arena_mark(arena);
    size_t node_count;
    tc_expr *nodes = tc_reachable(arena, dag, roots, count, &node_count);
    bool jumps = false;
    for (size_t i = 0; i < node_count; i++)
        jumps = jumps || tc_node_of(dag, nodes[i])->op == TC_INSIDE || tc_node_of(dag, nodes[i])->op == TC_CLAMP;
    tc_arena_rewind(arena, mark);
    return !jumps;
}

static void find_derivatives(tc_arena *arena, const tc_dag *dag, tc_proximal_family *made) {
    const tc_family_derivatives *d = made->derivatives;
    size_t firsts = d->objective_first_count, count = firsts + d->objective_second_count;
    tc_expr *roots = TC_NEW(arena, tc_expr, count);
    bool is_line = made->way == TC_PROXIMAL_LINES;
    for (size_t c = 0; c < made->of->family->dim && is_line; c++)
        made->curvatures[c] = (tc_curvature){.row = TC_NO_ROW};
    for (size_t i = 0; i < firsts; i++)
        roots[i] = d->objective_first[i].value;
    for (size_t i = 0; i < d->objective_second_count; i++) {
        roots[firsts + i] = d->objective_second[i].value;
        if (is_line)
            made->curvatures[d->objective_second[i].column].row = (int32_t)(firsts + i);
    }
    made->both = tc_tape_new(arena, dag, roots, count);
    made->is_smooth = is_smooth(arena, dag, roots, count);
    made->second_at = TC_NEW(arena, size_t, d->objective_second_count);
    for (size_t i = 0; i < d->objective_second_count; i++) {
        size_t row = d->objective_second[i].column, column = d->objective_second[i].other;
        size_t last = larger(row, column), first = row + column - last;
        made->second_at[i] = made->is_diagonal ? row : last * made->of->family->dim + first;
    }
}

static void new_inside(tc_arena *arena, const tc_proximal_family *family, tc_proximal_inside *made) {
    size_t dim = family->of->family->dim, roots = tc_tape_root_count(family->both);
    tc_real *out = TC_NEW(arena, tc_real, roots);
    *made = (tc_proximal_inside){.set = tc_set_new(arena, family->of->family),
                                 .tape = TC_NEW(arena, tc_real, tc_tape_work(family->both)),
                                 .out_at = TC_NEW(arena, tc_real *, roots),
                                 .reals = TC_NEW(arena, tc_real, dim * (dim + 6)),
                                 .state_at = TC_NEW(arena, const tc_real *, dim),
                                 .point = TC_NEW(arena, double, dim)};
    made->interior = tc_interior_quadratic(arena, made->set);
    for (size_t r = 0; r < roots; r++)
        made->out_at[r] = out + r;
}

static bool has_even_bounds(const tc_projector *projector) {
    for (size_t c = 0; c < projector->family->dim && projector->form != TC_PROJECTOR_MEMBERS; c++)
        if (projector->lower[c].column != NULL || projector->upper[c].column != NULL)
            return false;
    return true;
}

static void new_family(tc_arena *arena, tc_proximal *proximal, const tc_derivatives *derivatives, size_t f) {
    tc_proximal_family *made = &proximal->families[f];
    const tc_model *model = proximal->agents->model;
    made->of = &proximal->agents->families[f];
    made->derivatives = &derivatives->families[f];
    made->is_diagonal = is_diagonal(made->derivatives);
    made->has_even_bounds = has_even_bounds(made->of->projector);
    made->curvatures = TC_NEW(arena, tc_curvature, made->of->family->dim);
    made->way = newton_way(made->of->projector);
    tc_expr *diagonal = diagonal_of(arena, made->of->family, made->derivatives);
    made->is_quadratic = is_constant(model->dag, made->derivatives);
    if (made->is_diagonal && made->is_quadratic)
        made->way = quadratic_way(made->of->projector, diagonal);
    else if (made->is_diagonal && made->of->projector->form == TC_PROJECTOR_BOX)
        made->way = TC_PROXIMAL_LINES;
    if (made->way == TC_PROXIMAL_ROWS || made->way == TC_PROXIMAL_WEIGHTED)
        find_curvatures(arena, model->dag, made, diagonal);
    if (made->way == TC_PROXIMAL_ROWS && made->of->projector->form == TC_PROJECTOR_BOX)
        return;
    find_derivatives(arena, model->dag, made);
    if (made->way == TC_PROXIMAL_LINES)
        return;
    /* For what resists Newton's method too, however many families there are: an agent alone on its device has it. */
    made->insides = TC_NEW(arena, tc_proximal_inside, proximal->agents->workers);
    for (size_t w = 0; w < proximal->agents->workers; w++)
        new_inside(arena, made, &made->insides[w]);
}

typedef struct sizes {
    size_t dim, newton_dim, columns, tape, roots, scratch;
} sizes;

static sizes find_sizes(const tc_proximal *proximal) {
    sizes most = {.dim = 1, .newton_dim = 1, .columns = 1, .tape = 1, .roots = 1};
    for (size_t f = 0; f < proximal->agents->model->family_count; f++) {
        const tc_proximal_family *of = &proximal->families[f];
        size_t dim = of->of->family->dim;
        most.dim = larger(most.dim, dim);
        most.columns = larger(most.columns, of->of->family->column_count);
        most.roots = larger(most.roots, dim);
        most.tape = larger(most.tape, tc_tape_work(of->of->gradient));
        const tc_tape *tapes[] = {of->seconds, of->both};
        for (size_t t = 0; t < 2; t++)
            if (tapes[t] != NULL) {
                most.tape = larger(most.tape, tc_tape_work(tapes[t]));
                most.roots = larger(most.roots, tc_tape_root_count(tapes[t]));
            }
        if (of->both != NULL && of->way != TC_PROXIMAL_LINES)
            most.newton_dim = larger(most.newton_dim, dim);
        if (of->way == TC_PROXIMAL_NEWTON)
            most.scratch = larger(most.scratch, tc_newton_scratch(dim, of->is_diagonal));
    }
    return most;
}

static void new_work(tc_arena *arena, const sizes *most, tc_proximal_work *work) {
    size_t rows = most->dim * TC_LANES, n = most->newton_dim;
    double *out = TC_NEW(arena, double, most->roots *TC_LANES);
    double **all[] = {&work->x, &work->trial, &work->move, &work->lower, &work->upper,  &work->center, &work->old,
                      &work->p, &work->unit,  &work->low,  &work->high,  &work->result, &work->roots};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = TC_NEW(arena, double, rows);
    work->tape = TC_NEW(arena, double, most->tape);
    work->state_at = TC_NEW(arena, const double *, most->dim);
    work->data_at = TC_NEW(arena, const double *, most->columns);
    work->out_at = TC_NEW(arena, double *, most->roots);
    for (size_t r = 0; r < most->roots; r++)
        work->out_at[r] = out + r * TC_LANES;
    work->data = TC_NEW(arena, double, most->columns *TC_LANES);
    work->f1 = TC_NEW(arena, const double *, most->dim);
    work->f2 = TC_NEW(arena, const double *, n *n);
    work->scratch = TC_NEW(arena, double, most->scratch);
    work->coefs = TC_NEW(arena, tc_coef, 3 * most->dim);
    work->hessian = TC_NEW(arena, double, n *n);
    work->factor = TC_NEW(arena, double, n *n);
    work->slope = TC_NEW(arena, double, n);
    work->pull = TC_NEW(arena, double, n);
    work->side = TC_NEW(arena, double, n);
    work->free = TC_NEW(arena, size_t, n);
    work->holds = TC_NEW(arena, int8_t, n);
    work->response = TC_NEW(arena, double, n);
    work->noise = TC_NEW(arena, double, n);
}

tc_proximal *tc_proximal_new(tc_arena *arena, tc_agents *agents, const tc_derivatives *derivatives) {
    tc_proximal *proximal = TC_NEW(arena, tc_proximal, 1);
    proximal->agents = agents;
    proximal->families = TC_NEW(arena, tc_proximal_family, agents->model->family_count);
    for (size_t f = 0; f < agents->model->family_count; f++)
        new_family(arena, proximal, derivatives, f);
    sizes most = find_sizes(proximal);
    proximal->most_dim = most.dim;
    proximal->works = TC_NEW(arena, tc_proximal_work, agents->workers);
    proximal->p_at = TC_NEW(arena, const double *, agents->workers *most.dim);
    proximal->x_at = TC_NEW(arena, const double *, agents->workers *most.dim);
    proximal->next_at = TC_NEW(arena, double *, agents->workers *most.dim);
    for (size_t w = 0; w < agents->workers; w++)
        new_work(arena, &most, &proximal->works[w]);
    return proximal;
}
