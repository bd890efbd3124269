#include "engine/proximal/proximal.h"

#include "engine/proximal/inside.h"

#include "calculus/lift.h"
#include "base/simd.h"

#include <math.h>
#include <string.h>

/* ---- making ------------------------------------------------------------------------------------------------------ */

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

/* Whether these components get the same divisors. */
static bool all_alike(const tc_proximal_family *made, const tc_expr *diagonal, size_t first, size_t count) {
    for (size_t c = first + 1; c < first + count; c++)
        if (diagonal[c] != diagonal[first] || made->stretch[c] != made->stretch[first])
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
static tc_proximal_way quadratic_way(const tc_proximal_family *made, const tc_expr *diagonal) {
    const tc_projector *projector = made->of->projector;
    if (projector->form == TC_PROJECTOR_BOX || all_alike(made, diagonal, 0, projector->family->dim))
        return TC_PROXIMAL_ROWS;
    if (projector->form == TC_PROJECTOR_MEMBERS)
        return TC_PROXIMAL_ALONE;
    tc_proximal_way way = TC_PROXIMAL_ROWS;
    for (size_t i = 0; i < projector->cut_count; i++) {
        const tc_projector_cut *cut = &projector->cuts[i];
        if (all_alike(made, diagonal, cut->first, cut->cut.count))
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
        made->curvatures[c] = (tc_fixed_curvature){.row = TC_NO_ROW};
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

static void find_derivatives(tc_arena *arena, const tc_model *model, tc_proximal_family *made) {
    const tc_dag *dag = model->dag;
    const tc_family_derivatives *d = made->derivatives;
    size_t firsts = d->objective_first_count, count = firsts + d->objective_second_count;
    tc_expr *roots = TC_NEW(arena, tc_expr, count);
    bool is_line = made->way == TC_PROXIMAL_LINES;
    for (size_t c = 0; c < made->of->family->dim && is_line; c++)
        made->curvatures[c] = (tc_fixed_curvature){.row = TC_NO_ROW};
    for (size_t i = 0; i < firsts; i++)
        roots[i] = d->objective_first[i].value;
    for (size_t i = 0; i < d->objective_second_count; i++) {
        roots[firsts + i] = d->objective_second[i].value;
        if (is_line)
            made->curvatures[d->objective_second[i].column].row = (int32_t)(firsts + i);
    }
    made->both = tc_tape_new(arena, dag, roots, count);
    if (made->members == NULL && made->of->family->count == 1 && model->state_count <= TC_MOST_POINT)
        made->both_at_point = tc_program_new(arena, model, roots, count);
    made->is_smooth = is_smooth(arena, dag, roots, count);
    made->second_at = TC_NEW(arena, size_t, d->objective_second_count);
    for (size_t i = 0; i < d->objective_second_count; i++) {
        size_t row = d->objective_second[i].column, column = d->objective_second[i].other;
        size_t last = larger(row, column), first = row + column - last;
        made->second_at[i] = made->is_diagonal ? row : last * made->of->family->dim + first;
    }
}

static void new_interior(tc_arena *arena, const tc_proximal_family *family, tc_proximal_interior *made) {
    size_t dim = family->of->family->dim, roots = tc_tape_root_count(family->both);
    tc_real *out = TC_NEW(arena, tc_real, roots);
    *made = (tc_proximal_interior){.set = tc_set_new(arena, family->of->family),
                                   .tape = TC_NEW(arena, tc_real, tc_tape_work(family->both)),
                                   .out_at = TC_NEW(arena, tc_real *, roots),
                                   .reals = TC_NEW(arena, tc_real, dim * (dim + 8)),
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

static void find_stretch(tc_arena *arena, tc_state_scales scales, size_t family, tc_proximal_family *made) {
    size_t dim = made->of->family->dim;
    double *stretch = TC_NEW(arena, double, dim);
    made->least_stretch = INFINITY;
    for (size_t c = 0; c < dim; c++) {
        double scale = tc_scale_of(scales, family, c);
        stretch[c] = 1 / (scale * scale);
        made->least_stretch = fmin(made->least_stretch, stretch[c]);
    }
    made->stretch = stretch;
}

static void choose_way(tc_arena *arena, const tc_proximal *proximal, tc_proximal_family *made) {
    const tc_model *model = proximal->agents->model;
    if (made->derivatives->lift != NULL) {
        tc_kinks_new(arena, model, proximal->agents->workers, made);
        return;
    }
    made->is_diagonal = is_diagonal(made->derivatives);
    made->has_even_bounds = has_even_bounds(made->of->projector);
    made->curvatures = TC_NEW(arena, tc_fixed_curvature, made->of->family->dim);
    made->way = newton_way(made->of->projector);
    tc_expr *diagonal = diagonal_of(arena, made->of->family, made->derivatives);
    made->is_quadratic = is_constant(model->dag, made->derivatives);
    if (made->is_diagonal && made->is_quadratic)
        made->way = quadratic_way(made, diagonal);
    else if (made->is_diagonal && made->of->projector->form == TC_PROJECTOR_BOX)
        made->way = TC_PROXIMAL_LINES;
    if (made->way == TC_PROXIMAL_ROWS || made->way == TC_PROXIMAL_WEIGHTED)
        find_curvatures(arena, model->dag, made, diagonal);
    if (made->way == TC_PROXIMAL_ROWS && made->of->projector->form == TC_PROJECTOR_BOX)
        return;
    find_derivatives(arena, model, made);
    if (made->way == TC_PROXIMAL_LINES)
        return;
    /* For members on which Newton's method fails. Made for any number of families, since an agent alone on its
     * device has it too. */
    made->interiors = TC_NEW(arena, tc_proximal_interior, proximal->agents->workers);
    for (size_t w = 0; w < proximal->agents->workers; w++)
        new_interior(arena, made, &made->interiors[w]);
    if (made->derivatives->bends == NULL)
        return;
    tc_family_derivatives *lifted = TC_NEW(arena, tc_family_derivatives, 1);
    *lifted = tc_family_without_bends(made->derivatives);
    made->lifted = TC_NEW(arena, tc_interior *, proximal->agents->workers);
    for (size_t w = 0; w < proximal->agents->workers; w++)
        made->lifted[w] = tc_interior_agent(arena, model, lifted, made->of->family);
}

typedef struct work_sizes {
    size_t dim, newton_dim, columns, tape, roots, scratch, gathered, point, program;
} work_sizes;

static void count_in(const tc_proximal_family *of, work_sizes *most) {
    size_t dim = of->of->family->dim;
    most->dim = larger(most->dim, dim);
    most->columns = larger(most->columns, of->of->family->column_count);
    most->roots = larger(most->roots, dim);
    most->tape = larger(most->tape, tc_tape_work_of(of->of->gradient, tc_tape_lanes(of->of->gradient)));
    const tc_tape *tapes[] = {of->seconds, of->both};
    for (size_t t = 0; t < 2; t++)
        if (tapes[t] != NULL) {
            most->tape = larger(most->tape, tc_tape_work(tapes[t]));
            most->roots = larger(most->roots, tc_tape_root_count(tapes[t]));
        }
    if (of->both != NULL && of->way != TC_PROXIMAL_LINES)
        most->newton_dim = larger(most->newton_dim, dim);
    if (of->way == TC_PROXIMAL_NEWTON)
        most->scratch = larger(most->scratch, tc_newton_scratch(dim, of->is_diagonal));
    if (of->members != NULL)
        most->gathered = larger(most->gathered, dim);
    if (of->both_at_point != NULL) {
        most->point = larger(most->point, of->of->family->first_coord + dim);
        most->program = larger(most->program, tc_program_work(of->both_at_point));
    }
}

static work_sizes find_sizes(const tc_proximal *proximal) {
    work_sizes most = {.dim = 1, .newton_dim = 1, .columns = 1, .tape = 1, .roots = 1};
    for (size_t f = 0; f < proximal->agents->model->family_count; f++)
        for (size_t g = 0; g < proximal->families[f].count; g++)
            count_in(&proximal->families[f].at[g], &most);
    return most;
}

static void new_work(tc_arena *arena, const work_sizes *most, tc_proximal_work *work) {
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
    work->slopes_at = TC_NEW(arena, double *, most->dim);
    for (size_t c = 0; c < most->dim; c++)
        work->slopes_at[c] = TC_NEW(arena, double, TC_MOST_LANES);
    work->data = TC_NEW(arena, double, most->columns *TC_LANES);
    work->inverse = TC_NEW(arena, double, most->dim);
    work->weight = TC_NEW(arena, double, most->dim);
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
    work->point = TC_NEW(arena, double, most->point);
    work->program = TC_NEW(arena, double, most->program);
    work->values = TC_NEW(arena, double, most->roots);
    work->gathered = TC_NEW(arena, double, 2 * most->gathered * TC_LANES);
    work->gathered_at = TC_NEW(arena, const double *, 2 * most->gathered);
    for (size_t r = 0; r < 2 * most->gathered; r++)
        work->gathered_at[r] = work->gathered + r * TC_LANES;
}

tc_proximal *tc_proximal_new(tc_arena *arena, tc_agents *agents, const tc_derivatives *derivatives,
                             tc_state_scales scales) {
    tc_proximal *proximal = TC_NEW(arena, tc_proximal, 1);
    proximal->agents = agents;
    proximal->families = TC_NEW(arena, tc_proximal_groups, agents->model->family_count);
    size_t memory = TC_MOST_KEPT;
    for (size_t f = 0; f < agents->model->family_count; f++) {
        proximal->families[f] = tc_proximal_group(arena, agents, f, &derivatives->families[f], &memory);
        for (size_t g = 0; g < proximal->families[f].count; g++) {
            find_stretch(arena, scales, f, &proximal->families[f].at[g]);
            choose_way(arena, proximal, &proximal->families[f].at[g]);
        }
    }
    work_sizes most = find_sizes(proximal);
    proximal->most_dim = most.dim;
    proximal->works = TC_NEW(arena, tc_proximal_work, agents->workers);
    proximal->p_at = TC_NEW(arena, const double *, agents->workers *most.dim);
    proximal->x_at = TC_NEW(arena, const double *, agents->workers *most.dim);
    proximal->next_at = TC_NEW(arena, double *, agents->workers *most.dim);
    for (size_t w = 0; w < agents->workers; w++)
        new_work(arena, &most, &proximal->works[w]);
    proximal->formulas = tc_proximal_formulas_new(arena, proximal);
    return proximal;
}

/* ---- what the ways share ----------------------------------------------------------------------------------------- */

static bool all_finite(const double *row, size_t count) {
    tc_pack zero = tc_pack_of(0),
            other = zero; /* NaN as soon as a number is not finite; two sums, which do not wait for each other */
    size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        zero += tc_pack_load(row + k) * tc_pack_of(0);
        other += tc_pack_load(row + k + 2) * tc_pack_of(0);
    }
    for (; k < count; k++)
        zero += tc_pack_of(row[k] * 0);
    zero += other;
    return zero[0] == 0 && zero[1] == 0;
}

size_t tc_proximal_begin(const tc_proximal_block *b) {
    const tc_agents_family *of = b->family->of;
    tc_proximal_work *work = b->work;
    bool is_finite = true;
    for (size_t k = 0; k < b->count; k++)
        work->who[k] = k;
    for (size_t d = 0; d < of->family->column_count; d++)
        work->data_at[d] = of->data[d] + b->first;
    for (size_t c = 0; c < of->family->dim; c++) {
        is_finite = all_finite(b->p[c] + b->at, b->count) && all_finite(b->x[c] + b->at, b->count) && is_finite;
    }
    for (size_t k = 0; k < b->count && !is_finite; k++)
        for (size_t c = 0; c < of->family->dim; c++)
            if (!isfinite(b->p[c][b->at + k]) || !isfinite(b->x[c][b->at + k]))
                return b->first + k;
    return TC_ALL_FINITE;
}

void tc_proximal_load(tc_coef numbers, const tc_proximal_block *b, double *row) {
    if (numbers.column != NULL) {
        memcpy(row, numbers.column + b->first, b->count * sizeof *row);
        return;
    }
    for (size_t k = 0; k < b->count; k++)
        row[k] = numbers.value;
}

/* Families of one share the work of programs, so constants are written anew. */
static void evaluate_point(const tc_proximal_block *b, const double *rows) {
    const tc_program *program = b->family->both_at_point;
    const tc_family *family = b->family->of->family;
    tc_proximal_work *work = b->work;
    for (size_t c = 0; c < family->dim; c++)
        work->point[family->first_coord + c] = rows[c * TC_LANES];
    tc_program_prepare(program, work->program);
    tc_program_eval(program, work->point, NULL, work->program, work->values);
    for (size_t r = 0; r < tc_tape_root_count(b->family->both); r++)
        work->out_at[r][0] = work->values[r];
}

void tc_proximal_evaluate(const tc_proximal_block *b, const tc_tape *tape, const double *rows, size_t count) {
    tc_proximal_work *work = b->work;
    if (tape == b->family->both && b->family->both_at_point != NULL) {
        evaluate_point(b, rows);
        return;
    }
    for (size_t c = 0; c < b->family->of->family->dim; c++)
        work->state_at[c] = rows + c * TC_LANES;
    const tc_inputs inputs = {.state = work->state_at, .data = work->data_at};
    if (count < b->count) /* lanes have moved to rows of our own: whole packs, which take less time than parts */
        count = (count + TC_PROXIMAL_PACK - 1) / TC_PROXIMAL_PACK * TC_PROXIMAL_PACK;
    tc_tape_eval(tape, &inputs, count, work->tape, work->out_at);
}

/* Of ones and zeros. */
static size_t count_ones(const double *row, size_t count) {
    tc_pack sum = tc_pack_of(0), other = sum;
    size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        sum += tc_pack_load(row + k);
        other += tc_pack_load(row + k + 2);
    }
    sum += other;
    double all = sum[0] + sum[1];
    for (; k < count; k++)
        all += row[k];
    return (size_t)all;
}

size_t tc_proximal_busy(const tc_proximal_block *b, size_t left, size_t *places) {
    const double *busy = b->work->busy;
    if (3 * count_ones(busy, left) > 2 * left)
        return left;
    size_t on = 0;
    for (size_t k = 0; k < left; k++) {
        places[on] = k;
        on += busy[k] != 0;
    }
    return on;
}

void tc_proximal_write(const tc_proximal_block *b, size_t count) {
    tc_proximal_work *work = b->work;
    for (size_t c = 0; c < b->family->of->family->dim; c++)
        for (size_t k = 0; k < count; k++)
            work->result[c * TC_LANES + work->who[k]] = work->x[c * TC_LANES + k];
}

static void squeeze_row(double *to, const double *from, size_t count, const size_t *places) {
    for (size_t k = 0; k < count; k++) /* places increase: nothing is overwritten before it is read */
        to[k] = from[places[k]];
}

void tc_proximal_squeeze(const tc_proximal_block *b, size_t count, const size_t *places, double *const *rows,
                         size_t row_count) {
    tc_proximal_work *work = b->work;
    const tc_family *family = b->family->of->family;
    for (size_t r = 0; r < row_count; r++)
        for (size_t c = 0; c < family->dim; c++)
            squeeze_row(rows[r] + c * TC_LANES, rows[r] + c * TC_LANES, count, places);
    for (size_t d = 0; d < family->column_count; d++) {
        squeeze_row(work->data + d * TC_LANES, work->data_at[d], count, places);
        work->data_at[d] = work->data + d * TC_LANES;
    }
    for (size_t k = 0; k < count; k++)
        work->who[k] = work->who[places[k]];
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static size_t step_block(const tc_proximal_block *b) {
    switch (b->family->way) {
    case TC_PROXIMAL_ROWS:
    case TC_PROXIMAL_WEIGHTED:
        return tc_proximal_rows(b);
    case TC_PROXIMAL_LINES:
        return tc_proximal_lines(b);
    case TC_PROXIMAL_NEWTON:
        return tc_proximal_newton(b);
    case TC_PROXIMAL_KINKS:
        return tc_proximal_kinks(b);
    case TC_PROXIMAL_ALONE:
        break;
    }
    size_t failed = tc_proximal_begin(b);
    for (size_t lane = 0; lane < b->count && failed == TC_ALL_FINITE; lane++)
        failed = tc_proximal_alone(b, lane);
    return failed;
}

static size_t step_all(tc_proximal_block *b, size_t first, size_t count, double *const *next) {
    if (tc_proximal_boxes(b, first, count, next))
        return TC_ALL_FINITE;
    for (size_t at = 0; at < count; at += TC_LANES) {
        b->at = at;
        b->first = first + at;
        b->count = count - at < TC_LANES ? count - at : TC_LANES;
        size_t member = step_block(b);
        if (member != TC_ALL_FINITE)
            return member;
        for (size_t c = 0; c < b->family->of->family->dim; c++)
            memcpy(next[c] + at, b->work->result + c * TC_LANES, b->count * sizeof(double));
    }
    return TC_ALL_FINITE;
}

/* How many of the group's members come before this one of the family. */
static size_t place_of(const tc_proximal_family *of, size_t member) {
    size_t low = 0, high = of->of->family->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of->members[middle] < member)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of members first .. first + count - 1 those of the group, whose numbers are brought together. */
static size_t step_group(tc_proximal_block *b, size_t first, size_t count, double *const *next) {
    const tc_proximal_family *of = b->family;
    const double *const *p = b->p, *const *x = b->x;
    size_t dim = of->of->family->dim, end = place_of(of, first + count);
    b->at = 0;
    b->p = b->work->gathered_at;
    b->x = b->work->gathered_at + dim;
    for (b->first = place_of(of, first); b->first < end; b->first += b->count) {
        const size_t *members = of->members + b->first;
        b->count = end - b->first < TC_LANES ? end - b->first : TC_LANES;
        for (size_t c = 0; c < dim; c++) {
            double *to = b->work->gathered + c * TC_LANES;
            for (size_t k = 0; k < b->count; k++) {
                to[k] = p[c][members[k] - first];
                to[dim * TC_LANES + k] = x[c][members[k] - first];
            }
        }
        size_t failed = step_block(b);
        if (failed != TC_ALL_FINITE)
            return of->members[failed];
        for (size_t c = 0; c < dim; c++)
            for (size_t k = 0; k < b->count; k++)
                next[c][members[k] - first] = b->work->result[c * TC_LANES + k];
    }
    return TC_ALL_FINITE;
}

size_t tc_proximal_next(tc_proximal *proximal, size_t worker, size_t family, size_t first, size_t count,
                        const double *const *p, tc_answer_scalars scalars, const double *const *x,
                        double *const *next) {
    const tc_proximal_groups *groups = &proximal->families[family];
    size_t failed = TC_ALL_FINITE;
    for (size_t g = 0; g < groups->count; g++) {
        const tc_proximal_family *of = &groups->at[g];
        tc_proximal_block b = {.family = of,
                               .work = &proximal->works[worker],
                               .worker = worker,
                               .p = p,
                               .x = x,
                               .step = scalars.step,
                               .inverse = 1 / scalars.step,
                               .regularization = scalars.regularization};
        size_t member = of->members == NULL ? step_all(&b, first, count, next) : step_group(&b, first, count, next);
        failed = member < failed ? member : failed;
    }
    return failed;
}

size_t tc_proximal_next_singles(tc_proximal *proximal, size_t worker, const double *p, tc_answer_scalars scalars,
                                const double *x, double *next) {
    const tc_model *model = proximal->agents->model;
    const double **p_at = proximal->p_at + worker * proximal->most_dim;
    const double **x_at = proximal->x_at + worker * proximal->most_dim;
    double **next_at = proximal->next_at + worker * proximal->most_dim;
    bool has_formulas = tc_proximal_formulas_step(proximal->formulas, worker, p, scalars, x, next);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        if (family->count != 1 || (has_formulas && tc_proximal_has_formula(proximal->formulas, f)))
            continue;
        for (size_t c = 0; c < family->dim; c++) {
            p_at[c] = p + family->first_coord + c;
            x_at[c] = x + family->first_coord + c;
            next_at[c] = next + family->first_coord + c;
        }
        if (tc_proximal_next(proximal, worker, f, 0, 1, p_at, scalars, x_at, next_at) != TC_ALL_FINITE)
            return f;
    }
    return TC_ALL_FINITE;
}

uint64_t tc_proximal_inaccurate(const tc_proximal *proximal) {
    uint64_t sum = 0;
    for (size_t w = 0; w < proximal->agents->workers; w++)
        sum += proximal->works[w].inaccurate;
    return sum;
}
