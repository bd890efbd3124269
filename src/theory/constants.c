/* The constants of the convergence theorem: L_G, M_xi, D_z and K_w, all of them upper bounds. docs/proofs/bound.md,
 * sections 2 and 6. */
#include "theory/bound.h"

#include "analysis/lipschitz/norm.h"
#include "analysis/lipschitz/streams.h"
#include "calculus/interval/interval.h"
#include "solver/project/set.h"

/* ---- second derivatives of the constraints over the public box ---- */

/* With u the inputs of g_j = Phi_j(u) and A = du/dx,
 *     H_j = A' Phi_j'' A  +  (block of each member k)  sum_r Phi_{j,r} (Hessian of body r at x_k). */
typedef struct hessian_work {
    tc_streams *streams;
    tc_arena *arena;
    double *inputs;            /* |du_r/dx| of the inputs of the outer functions */
    double *rows;              /* |H_j|_2 of the outer part, at most */
    double *blocks;            /* and of the members' part */
    tc_interval *block;        /* dim * dim */
    uint32_t *body_of_sum;     /* the number of a sum among the bodies of its family */
    uint32_t *number, *listed; /* of the inputs of one row, and back */
    double *sums_of_family;
} hessian_work;

static void add_product(double *sum, double a, double b) { *sum = tc_add_up(*sum, tc_mul_up(a, b)); }

/* ---- |du_r/dx| ---- */

static void measure_coordinates(hessian_work *w) {
    const tc_derivatives *d = w->streams->derivatives;
    for (size_t i = 0; i < d->input_count; i++)
        if (d->inputs[i].op == TC_COORD)
            w->inputs[i] = 1;
}

/* Squares are summed first; all sums come first among the inputs, in the model's order. */
static void measure_sums(hessian_work *w) {
    tc_streams *s = w->streams;
    for (size_t f = 0; f < s->model->family_count; f++) {
        tc_family_stream *stream = &s->families[f];
        const tc_family_derivatives *d = stream->derivatives;
        size_t cursor = 0;
        while (d->body_first_count > 0 && tc_streams_next(s, f, &cursor, true, NULL, false))
            for (size_t l = 0; l < stream->batch->lanes; l++)
                for (size_t i = 0; i < d->body_first_count; i++) {
                    double size = tc_magnitude(stream->first[i * TC_LANES + l]);
                    add_product(&w->inputs[d->sums[d->body_first[i].row]], tc_mul_up(size, size),
                                stream->batch->weight[l]);
                }
    }
    for (size_t r = 0; r < s->model->sum_count; r++)
        w->inputs[r] = tc_sqrt_up(w->inputs[r]);
}

/* ---- A' Phi'' A ---- */

/* The inputs that second derivatives first .. end - 1 speak of, numbered in order of appearance. */
static size_t number_inputs(hessian_work *w, size_t first, size_t end) {
    const tc_derivatives *d = w->streams->derivatives;
    size_t count = 0;
    for (size_t k = first; k < end; k++) {
        w->number[d->outer_second[k].column] = UINT32_MAX;
        w->number[d->outer_second[k].other] = UINT32_MAX;
    }
    for (size_t k = first; k < end; k++) {
        const uint32_t pair[2] = {d->outer_second[k].column, d->outer_second[k].other};
        for (size_t side = 0; side < 2; side++)
            if (w->number[pair[side]] == UINT32_MAX) {
                w->listed[count] = pair[side];
                w->number[pair[side]] = (uint32_t)count++;
            }
    }
    return count;
}

/* |A|_2^2 <= this, once the rows of A have length 1: coordinates are orthonormal, sums of different families
 * orthogonal, and q unit vectors have at most q. */
static double overlap(hessian_work *w, size_t count) {
    const tc_derivatives *d = w->streams->derivatives;
    const tc_model *model = w->streams->model;
    double coordinates = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        const tc_outer_input *input = &d->inputs[w->listed[i]];
        if (input->op == TC_COORD) {
            coordinates = 1;
            continue;
        }
        double *sums = &w->sums_of_family[model->sums[input->index].family];
        most = fmax(most, *sums += 1);
    }
    for (size_t i = 0; i < count; i++)
        if (d->inputs[w->listed[i]].op == TC_SUM)
            w->sums_of_family[model->sums[d->inputs[w->listed[i]].index].family] = 0;
    return coordinates + most;
}

/* The spectral norm of D Phi'' D, D the lengths of the inputs' gradients. */
static double scaled_norm(hessian_work *w, size_t first, size_t end, size_t n) {
    const tc_derivatives *d = w->streams->derivatives;
    tc_mark mark = tc_arena_mark(w->arena);
    size_t *start = TC_NEW(w->arena, size_t, n + 2);
    uint32_t *row = TC_NEW(w->arena, uint32_t, 2 * (end - first) + 1);
    tc_interval *value = TC_NEW(w->arena, tc_interval, 2 * (end - first) + 1);
    for (size_t k = first; k < end; k++) {
        uint32_t a = w->number[d->outer_second[k].column], b = w->number[d->outer_second[k].other];
        start[a + 2]++;
        start[b + 2] += a != b;
    }
    for (size_t c = 0; c < n; c++)
        start[c + 2] += start[c + 1];
    for (size_t k = first; k < end; k++) {
        uint32_t column = d->outer_second[k].column, other = d->outer_second[k].other;
        uint32_t a = w->number[column], b = w->number[other];
        tc_interval size = tc_imul(tc_point(w->inputs[column]), tc_point(w->inputs[other]));
        tc_interval entry = tc_imul(w->streams->second[k], size);
        size_t at = start[a + 1]++;
        row[at] = b;
        value[at] = entry;
        if (a != b) {
            at = start[b + 1]++;
            row[at] = a;
            value[at] = entry;
        }
    }
    tc_sparse matrix = {.rows = n, .columns = n, .start = start, .row = row, .value = value};
    double norm = tc_sparse_upper(w->arena, &matrix);
    tc_arena_rewind(w->arena, mark);
    return norm;
}

static void measure_outer(hessian_work *w, size_t first, size_t end) {
    size_t count = number_inputs(w, first, end);
    double apart = overlap(w, count);
    w->rows[w->streams->derivatives->outer_second[first].row] = tc_mul_up(apart, scaled_norm(w, first, end, count));
}

/* ---- the members' blocks ---- */

static double block_norm(hessian_work *w, size_t dim, double enough) {
    tc_mark mark = tc_arena_mark(w->arena);
    size_t *start = TC_NEW(w->arena, size_t, dim + 1);
    uint32_t *row = TC_NEW(w->arena, uint32_t, dim * dim + 1);
    double squares = 0;
    for (size_t c = 0; c <= dim; c++)
        start[c] = c * dim;
    for (size_t i = 0; i < dim * dim; i++) {
        row[i] = (uint32_t)(i % dim);
        add_product(&squares, tc_magnitude(w->block[i]), tc_magnitude(w->block[i]));
    }
    tc_sparse matrix = {.rows = dim, .columns = dim, .start = start, .row = row, .value = w->block};
    double bound = fmin(tc_sqrt_up(squares), tc_sparse_upper1(&matrix));
    if (bound > enough && isfinite(bound))
        bound = fmin(bound, tc_sparse_upper(w->arena, &matrix));
    tc_arena_rewind(w->arena, mark);
    return bound;
}

/* The block of row j, from the outer slopes first .. end - 1 of that row. False where it is zero by structure. */
static bool build_block(hessian_work *w, const tc_family_stream *f, size_t family, size_t lane, size_t first,
                        size_t end) {
    const tc_derivatives *d = w->streams->derivatives;
    const tc_family_derivatives *of = f->derivatives;
    size_t dim = f->family->dim;
    bool any = false;
    for (size_t i = 0; i < dim * dim; i++)
        w->block[i] = tc_point(0);
    for (size_t o = first; o < end; o++) {
        const tc_outer_input *input = &d->inputs[d->outer_first[o].column];
        if (input->op != TC_SUM || w->streams->model->sums[input->index].family != family)
            continue;
        for (size_t k = 0; k < of->body_second_count; k++) {
            const tc_second *second = &of->body_second[k];
            if (second->row != w->body_of_sum[input->index])
                continue;
            tc_interval value = tc_imul(w->streams->first[o], f->second[k * TC_LANES + lane]);
            tc_interval *at = &w->block[second->column * dim + second->other];
            *at = tc_iadd(*at, value);
            w->block[second->other * dim + second->column] = *at;
            any = true;
        }
    }
    return any;
}

static void measure_blocks(hessian_work *w, size_t family) {
    tc_streams *s = w->streams;
    const tc_derivatives *d = s->derivatives;
    tc_family_stream *f = &s->families[family];
    size_t cursor = 0;
    if (f->derivatives->body_second_count == 0)
        return;
    w->block = TC_NEW(w->arena, tc_interval, f->family->dim * f->family->dim);
    while (tc_streams_next(s, family, &cursor, true, NULL, true) && !tc_interrupted(s->monitor))
        for (size_t first = 0, end; first < d->outer_first_count; first = end) {
            uint32_t row = d->outer_first[first].row;
            for (end = first; end < d->outer_first_count && d->outer_first[end].row == row;)
                end++;
            for (size_t l = 0; l < f->batch->lanes && build_block(w, f, family, l, first, end); l++)
                w->blocks[row] = fmax(w->blocks[row], block_norm(w, f->family->dim, w->blocks[row]));
        }
}

/* ---- both parts of H_j together ---- */

/* sup |H_j|_2 for every constraint. streams must have its outer derivatives over the box. */
static double *measure_hessians(tc_streams *streams) {
    const tc_model *model = streams->model;
    const tc_derivatives *d = streams->derivatives;
    hessian_work w = {.streams = streams, .arena = streams->arena};
    w.inputs = TC_NEW(w.arena, double, d->input_count + 1);
    w.rows = TC_NEW(w.arena, double, model->constraint_count + 1);
    w.blocks = TC_NEW(w.arena, double, model->constraint_count + 1);
    w.body_of_sum = TC_NEW(w.arena, uint32_t, model->sum_count + 1);
    w.number = TC_NEW(w.arena, uint32_t, d->input_count + 1);
    w.listed = TC_NEW(w.arena, uint32_t, d->input_count + 1);
    w.sums_of_family = TC_NEW(w.arena, double, model->family_count + 1);
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t b = 0; b < d->families[f].body_count; b++)
            w.body_of_sum[d->families[f].sums[b]] = (uint32_t)b;
    measure_coordinates(&w);
    measure_sums(&w);
    for (size_t first = 0, end; first < d->outer_second_count; first = end) {
        for (end = first; end < d->outer_second_count && d->outer_second[end].row == d->outer_second[first].row;)
            end++;
        measure_outer(&w, first, end);
    }
    for (size_t f = 0; f < model->family_count; f++)
        measure_blocks(&w, f);
    for (size_t j = 0; j < model->constraint_count; j++)
        w.rows[j] = tc_add_up(w.rows[j], w.blocks[j]);
    return w.rows;
}

/* ---- K_w: the noise in one round's direction, in mean square ---- */

/* Allows for rounding in plan and sampler when they turn a scale into a variance or into units of the lattice. */
static const double slack = 1 + 0x1p-30;

/* The noise is real noise of this variance rounded to the lattice: at most half a step more in the mean square norm. */
static double channel_variance(const tc_channel *channel) {
    if (channel->variance == 0)
        return 0;
    double sigma = tc_sqrt_up(tc_mul_up(channel->variance, slack));
    double root = tc_add_up(sigma, ldexp(1, channel->step_exponent - 1));
    return tc_mul_up(root, root);
}

/* paper: eq:trade2
 * E|W'mu|^2 = sum_j mu_j^2 V_j, V_j the variances of row j together: over M at most R^2 max_j V_j. Noise on a constant
 * row moves nothing: its multiplier is 0. */
static void measure_outputs(tc_arena *arena, const tc_plan *plan, const bool *constant_rows, tc_bound_constants *c) {
    size_t m = plan->model->constraint_count;
    double *rows = TC_NEW(arena, double, m + 1), worst = 0, constraints = 0;
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        double variance = channel_variance(channel), entries = (double)channel->entries;
        if (channel->kind == TC_CHANNEL_CONSTRAINTS) {
            double moving = (double)tc_moving_count(constant_rows + channel->first_row, channel->row_count);
            constraints = tc_add_up(constraints, tc_mul_up(moving, variance));
        }
        for (size_t j = 0; j < channel->row_count && channel->kind == TC_CHANNEL_JACOBIAN; j++) {
            double share = tc_div_up(entries, channel->row_count); /* every row of a channel has as many entries */
            rows[channel->first_row + j] = tc_add_up(rows[channel->first_row + j], tc_mul_up(share, variance));
        }
    }
    for (size_t j = 0; j < m; j++)
        worst = constant_rows[j] ? worst : fmax(worst, rows[j]);
    c->price_noise = worst == 0 ? 0 : tc_mul_up(tc_mul_up(c->dual_radius, c->dual_radius), worst);
    c->constraint_noise = constraints;
}

/* paper: Theorem 3
 * E|w(k)|^2 <= K_w. The published method has noise on outputs alone. */
static void measure_noise(tc_arena *arena, const tc_plan *plan, const bool *constant_rows, tc_bound_constants *c) {
    if (plan->mechanism == TC_MECHANISM_NONE)
        return;
    measure_outputs(arena, plan, constant_rows, c);
    c->noise = tc_add_up(c->price_noise, c->constraint_noise);
}

/* ---- L_G, M_xi and D_z ---- */

typedef struct box_extent { /* of a box around X: sums of squares */
    double widths, reaches;
} box_extent;

static void add_range(box_extent *e, double low, double high) {
    double width = tc_add_up(high, -low), reach = fmax(fabs(low), fabs(high));
    e->widths = tc_add_up(e->widths, tc_mul_up(width, width));
    e->reaches = tc_add_up(e->reaches, tc_mul_up(reach, reach));
}

/* X_i lies in the public box, and in the box around its private set. */
static void add_family(tc_arena *arena, const tc_family *family, box_extent *e) {
    tc_set *set = family->piece_count > 0 ? tc_set_new(arena, family) : NULL;
    double *low = TC_NEW(arena, double, family->dim + 1), *high = TC_NEW(arena, double, family->dim + 1);
    for (size_t k = 0; k < family->count; k++) {
        bool inner = false;
        if (set != NULL) {
            tc_set_load(set, k);
            inner = !set->is_empty;
            if (inner)
                tc_set_bounds(set, low, high);
        }
        for (size_t c = 0; c < family->dim; c++) {
            double lower = tc_coef_at(family->lower[c], k), upper = tc_coef_at(family->upper[c], k);
            add_range(e, inner ? fmax(lower, low[c]) : lower, inner ? fmin(upper, high[c]) : upper);
        }
    }
}

/* M = {|mu|_1 <= R, mu_j >= 0 but for equalities}: no longer than R from 0. Two vertices R e_i, R e_j are sqrt(2) R
 * apart; the vertices R e_j and -R e_j of an equality, 2 R. */
static void measure_sets(tc_arena *arena, const tc_model *model, const bool *constant_rows, tc_bound_constants *c) {
    box_extent e = {0, 0};
    size_t moving = tc_moving_count(constant_rows, model->constraint_count);
    for (size_t f = 0; f < model->family_count; f++)
        add_family(arena, &model->families[f], &e);
    double square = tc_mul_up(c->dual_radius, c->dual_radius);
    double apart = tc_equality_count(model) > 0 ? 4 : moving > 1 ? 2 : 1; /* squared, in units of R */
    c->reach = tc_sqrt_up(tc_add_up(e.reaches, square));
    c->diameter = tc_sqrt_up(tc_add_up(e.widths, tc_mul_up(apart, square)));
}

/* The norm of [h s; s 0]: G's derivative [H J'; -J 0] has blocks no longer than that. */
static double joint_norm(double h, double s) {
    double root = tc_sqrt_up(tc_add_up(tc_mul_up(h, h), tc_mul_up(4, tc_mul_up(s, s))));
    return tc_mul_up(0.5, tc_add_up(h, root));
}

/* Where the theorem's own assumptions are missing, the first of them. */
static const char *missing(const tc_analysis *analysis, const tc_bound_constants *c) {
    if (analysis->constraints.verdict != TC_HOLDS)
        return "the constraints are not proved to be convex and smooth (`tacit check` says where)";
    if (analysis->objectives.verdict != TC_HOLDS)
        return "the objectives are not proved to be convex and smooth (`tacit check` says where)";
    if (analysis->smoothness.verdict != TC_HOLDS)
        return "the objectives have kinks (`tacit check --method published` says where)";
    if (analysis->sets.verdict != TC_HOLDS)
        return "some agent's set is not proved to be non-empty, compact and convex (`tacit check` says which)";
    if (!isfinite(c->dual_radius))
        return "there is no dual radius (`tacit check` says why)";
    return NULL;
}

tc_bound_constants tc_bound_measure(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                    const tc_analysis *analysis, const tc_plan *plan, double dual_radius,
                                    const tc_monitor *monitor) {
    bool alone = model->constraint_count == 0;
    tc_bound_constants c = {.dual_radius = alone ? 0 : dual_radius, .slope = alone ? 0 : analysis->g[1].upper};
    if (isnan(c.dual_radius))
        c.dual_radius = HUGE_VAL;
    for (size_t i = 0; i < analysis->agent_rows; i++)
        c.objective_curvature = fmax(c.objective_curvature, analysis->agents[i].objective.upper);
    tc_streams *streams = tc_streams_new(arena, model, derivatives, monitor);
    tc_streams_outer_box(streams);
    const double *hessians = measure_hessians(streams);
    for (size_t j = 0; j < model->constraint_count; j++)
        c.constraint_curvature = fmax(c.constraint_curvature, hessians[j]);
    double pulled = c.constraint_curvature == 0 ? 0 : tc_mul_up(c.dual_radius, c.constraint_curvature);
    c.curvature = tc_add_up(c.objective_curvature, pulled);
    c.lipschitz = joint_norm(c.curvature, c.slope);
    const bool *constant_rows = tc_constant_rows(arena, model, derivatives);
    measure_sets(arena, model, constant_rows, &c);
    measure_noise(arena, plan, constant_rows, &c);
    const char *lacking = missing(analysis, &c);
    if (lacking != NULL)
        c.problem = lacking;
    return c;
}
