/* With u the inputs of g_j = Phi_j(u) and A = du/dx,
 *     H_j = A' Phi_j'' A  +  (block of each member k)  sum_r Phi_{j,r} (Hessian of body r at x_k). */
#include "theory/bound_hessians.h"

#include "analysis/lipschitz/norm.h"

typedef struct gradient_size { /* of one input of the outer functions: |du_r/dx|, plain and weighted by variances */
    double plain, weighted;
} gradient_size;

typedef struct work {
    tc_streams *streams;
    tc_arena *arena;
    tc_bound_variance variance;
    const void *context;
    gradient_size *inputs;
    tc_bound_hessian *rows;    /* of the outer part */
    tc_bound_hessian *blocks;  /* of the members' part */
    tc_interval *block;        /* dim * dim */
    uint32_t *body_of_sum;     /* the number of a sum among the bodies of its family */
    uint32_t *number, *listed; /* of the inputs of one row, and back */
    double *sums_of_family;
} work;

static double variance_of(const work *w, const tc_family *family, size_t member) {
    return w->variance == NULL ? 0 : w->variance(w->context, family, member);
}

static void add_product(double *sum, double a, double b) { *sum = tc_add_up(*sum, tc_mul_up(a, b)); }

/* ---- |du_r/dx| ---- */

static void measure_coordinates(work *w) {
    const tc_derivatives *d = w->streams->derivatives;
    const tc_model *model = w->streams->model;
    for (size_t i = 0; i < d->input_count; i++) {
        if (d->inputs[i].op != TC_COORD)
            continue;
        const tc_family *family = tc_family_of_coord(model, d->inputs[i].index);
        size_t member = (d->inputs[i].index - family->first_coord) % family->count;
        w->inputs[i] = (gradient_size){1, tc_sqrt_up(variance_of(w, family, member))};
    }
}

/* Squares are summed first; all sums come first among the inputs, in the model's order. */
static void measure_sums(work *w) {
    tc_streams *s = w->streams;
    for (size_t f = 0; f < s->model->family_count; f++) {
        tc_family_stream *stream = &s->families[f];
        const tc_family_derivatives *d = stream->derivatives;
        size_t cursor = 0;
        while (d->body_first_count > 0 && tc_streams_next(s, f, &cursor, true, NULL, false))
            for (size_t l = 0; l < stream->batch->lanes; l++) {
                double variance = variance_of(w, stream->family, stream->batch->members[l]);
                for (size_t i = 0; i < d->body_first_count; i++) {
                    double size = tc_magnitude(stream->first[i * TC_LANES + l]);
                    double square = tc_mul_up(tc_mul_up(size, size), stream->batch->weight[l]);
                    gradient_size *input = &w->inputs[d->sums[d->body_first[i].row]];
                    input->plain = tc_add_up(input->plain, square);
                    add_product(&input->weighted, square, variance);
                }
            }
    }
    for (size_t r = 0; r < s->model->sum_count; r++)
        w->inputs[r] = (gradient_size){tc_sqrt_up(w->inputs[r].plain), tc_sqrt_up(w->inputs[r].weighted)};
}

/* ---- A' Phi'' A ---- */

/* The inputs that second derivatives first .. end - 1 speak of, numbered in order of appearance. */
static size_t number_inputs(work *w, size_t first, size_t end) {
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
static double overlap(work *w, size_t count) {
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
static double scaled_norm(work *w, size_t first, size_t end, size_t n) {
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
        tc_interval size = tc_imul(tc_point(w->inputs[column].plain), tc_point(w->inputs[other].plain));
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

static void measure_outer(work *w, size_t first, size_t end) {
    const tc_derivatives *d = w->streams->derivatives;
    tc_bound_hessian *row = &w->rows[d->outer_second[first].row];
    size_t count = number_inputs(w, first, end);
    double apart = overlap(w, count), squared = tc_mul_up(apart, apart);
    row->norm = tc_mul_up(apart, scaled_norm(w, first, end, count));
    for (size_t k = first; k < end; k++) {
        uint32_t a = d->outer_second[k].column, b = d->outer_second[k].other;
        const gradient_size *u = &w->inputs[a], *v = &w->inputs[b];
        double size = tc_magnitude(w->streams->second[k]), square = tc_mul_up(size, size);
        double one = tc_mul_up(u->plain, v->weighted), other = tc_mul_up(v->plain, u->weighted);
        double both = tc_mul_up(u->weighted, v->weighted);
        double times = a != b ? 2 : 1;
        add_product(&row->spread, square, tc_mul_up(one, one));
        if (a != b)
            add_product(&row->spread, square, tc_mul_up(other, other));
        add_product(&row->spread_both, square, tc_mul_up(times, tc_mul_up(both, both)));
    }
    row->spread = tc_mul_up(squared, row->spread);
    row->spread_both = tc_mul_up(squared, row->spread_both);
}

/* ---- the members' blocks ---- */

static double block_norm(work *w, size_t dim, double enough) {
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
static bool build_block(work *w, const tc_family_stream *f, size_t family, size_t lane, size_t first, size_t end) {
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

static void measure_block(work *w, const tc_family_stream *f, size_t lane, tc_bound_hessian *row) {
    size_t dim = f->family->dim;
    double variance = variance_of(w, f->family, f->batch->members[lane]), weight = f->batch->weight[lane];
    row->norm = fmax(row->norm, block_norm(w, dim, row->norm));
    if (variance == 0)
        return;
    double squares = 0;
    for (size_t i = 0; i < dim * dim; i++)
        add_product(&squares, tc_magnitude(w->block[i]), tc_magnitude(w->block[i]));
    double spread = tc_mul_up(weight, tc_mul_up(squares, variance));
    row->spread = tc_add_up(row->spread, spread);
    add_product(&row->spread_both, spread, variance);
}

static void measure_blocks(work *w, size_t family) {
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
                measure_block(w, f, l, &w->blocks[row]);
        }
}

/* ---- together ---- */

/* (sqrt a + sqrt b)^2: the triangle inequality of a Frobenius norm. */
static double joined(double a, double b) {
    if (a == 0 || b == 0)
        return a == 0 ? b : a;
    double root = tc_add_up(tc_sqrt_up(a), tc_sqrt_up(b));
    return tc_mul_up(root, root);
}

tc_bound_hessian *tc_bound_hessians(tc_streams *streams, tc_bound_variance variance, const void *context) {
    const tc_model *model = streams->model;
    const tc_derivatives *d = streams->derivatives;
    work w = {.streams = streams, .arena = streams->arena, .variance = variance, .context = context};
    w.inputs = TC_NEW(w.arena, gradient_size, d->input_count + 1);
    w.rows = TC_NEW(w.arena, tc_bound_hessian, model->constraint_count + 1);
    w.blocks = TC_NEW(w.arena, tc_bound_hessian, model->constraint_count + 1);
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
    for (size_t j = 0; j < model->constraint_count; j++) {
        const tc_bound_hessian *a = &w.rows[j], *b = &w.blocks[j];
        w.rows[j] = (tc_bound_hessian){.norm = tc_add_up(a->norm, b->norm),
                                       .spread = joined(a->spread, b->spread),
                                       .spread_both = joined(a->spread_both, b->spread_both)};
    }
    return w.rows;
}
