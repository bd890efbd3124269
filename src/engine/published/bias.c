#include "engine/published/bias.h"

#include "calculus/tape/program.h"
#include "calculus/tape/tape.h"

/* g_j = Phi_j(u), u the inner sums and single coordinates. With constant second derivatives,
 *     sum_c var_c d^2 g_j / d x_c^2 = sum_r Phi_{j,r} sum_c var_c u_{r,cc} + sum_{r,s} Phi_{j,rs} cov_rs,
 *     cov_rs = sum_c var_c u_{r,c} u_{s,c},
 * and every derivative that is needed is free of states (tc_constraints_are_quadratic), so no point is. */
typedef struct bias_work {
    tc_arena *arena;
    const tc_model *model;
    const tc_derivatives *d;
    double *variance;   /* by coordinate */
    double *curvature;  /* by input: sum_c var_c u_{r,cc} */
    double *covariance; /* by entry of outer_second */
} bias_work;

static bool is_free(const bias_work *w, tc_expr e) { return !w->model->dag->nodes[e].has_state; }

static void read_variances(bias_work *w, const tc_plan *plan) {
    w->variance = TC_NEW(w->arena, double, w->model->state_count);
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        if (channel->kind != TC_CHANNEL_STATES)
            continue;
        const tc_family *family = &w->model->families[channel->family];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = channel->first_member; k < channel->first_member + channel->member_count; k++)
                w->variance[tc_coord_of(family, k, c)] = channel->variance;
    }
}

/* Derivatives of a family's bodies that are free of states, for one block of members after another. */
typedef struct family_rows {
    tc_tape *tape;
    size_t first_count; /* then the second ones */
    size_t *place;      /* of body_first[i], then of body_second[i]: which row; SIZE_MAX where it is not free */
    double **rows;
    double *work;
    const double **data;
} family_rows;

static size_t add_root(const bias_work *w, tc_expr value, tc_expr *roots, size_t *count) {
    if (!is_free(w, value))
        return SIZE_MAX;
    roots[*count] = value;
    return (*count)++;
}

static family_rows compile(const bias_work *w, const tc_family_derivatives *of, const tc_family *family) {
    size_t all = of->body_first_count + of->body_second_count, count = 0;
    family_rows made = {.first_count = of->body_first_count, .place = TC_NEW(w->arena, size_t, all + 1)};
    tc_expr *roots = TC_NEW(w->arena, tc_expr, all + 1);
    for (size_t i = 0; i < of->body_first_count; i++)
        made.place[i] = add_root(w, of->body_first[i].value, roots, &count);
    for (size_t i = 0; i < of->body_second_count; i++)
        made.place[of->body_first_count + i] = add_root(w, of->body_second[i].value, roots, &count);
    if (count == 0)
        return made;
    made.tape = tc_tape_new(w->arena, w->model->dag, roots, count);
    made.work = TC_NEW(w->arena, double, tc_tape_work(made.tape));
    made.rows = TC_NEW(w->arena, double *, count);
    double *numbers = TC_NEW(w->arena, double, count *TC_LANES);
    for (size_t i = 0; i < count; i++)
        made.rows[i] = numbers + i * TC_LANES;
    made.data = TC_NEW(w->arena, const double *, family->column_count + 1);
    return made;
}

static void evaluate(const family_rows *rows, const tc_family *family, size_t first, size_t lanes) {
    for (size_t i = 0; i < family->column_count; i++)
        rows->data[i] = family->columns[i].values + first;
    tc_inputs inputs = {.data = rows->data};
    tc_tape_eval(rows->tape, &inputs, lanes, rows->work, rows->rows);
}

static double weighed(const bias_work *w, const tc_family *family, uint32_t component, size_t first, size_t lanes,
                      const double *a, const double *b) {
    const double *variance = w->variance + tc_coord_of(family, first, component);
    double sum = 0;
    for (size_t k = 0; k < lanes; k++)
        sum += variance[k] * a[k] * (b == NULL ? 1 : b[k]);
    return sum;
}

/* An input of Phi as a function of this family's members: body of a sum over them, or one coordinate of theirs. */
static size_t body_of(const tc_family_derivatives *of, const tc_outer_input *input) {
    for (size_t b = 0; input->op == TC_SUM && b < of->body_count; b++)
        if (of->sums[b] == input->index)
            return b;
    return SIZE_MAX;
}

static double sum_with_sum(const bias_work *w, const family_rows *rows, const tc_family *family,
                           const tc_family_derivatives *of, size_t a, size_t b, size_t first, size_t lanes) {
    double sum = 0;
    for (size_t i = 0; i < of->body_first_count; i++)
        for (size_t k = 0; of->body_first[i].row == a && k < of->body_first_count; k++)
            if (of->body_first[k].row == b && of->body_first[k].column == of->body_first[i].column)
                sum += weighed(w, family, of->body_first[i].column, first, lanes, rows->rows[rows->place[i]],
                               rows->rows[rows->place[k]]);
    return sum;
}

/* Where the coordinate is one of these members'. */
static double sum_with_coordinate(const bias_work *w, const family_rows *rows, const tc_family *family,
                                  const tc_family_derivatives *of, size_t a, uint64_t coordinate, size_t first,
                                  size_t lanes) {
    if (coordinate < family->first_coord || coordinate >= family->first_coord + family->dim * family->count)
        return 0;
    size_t offset = (size_t)coordinate - family->first_coord, component = offset / family->count,
           member = offset % family->count;
    if (member < first || member >= first + lanes)
        return 0;
    for (size_t i = 0; i < of->body_first_count; i++)
        if (of->body_first[i].row == a && of->body_first[i].column == component)
            return w->variance[coordinate] * rows->rows[rows->place[i]][member - first];
    return 0;
}

static void add_covariances(const bias_work *w, const family_rows *rows, const tc_family *family,
                            const tc_family_derivatives *of, size_t first, size_t lanes) {
    for (size_t i = 0; i < w->d->outer_second_count; i++) {
        const tc_outer_input *column = &w->d->inputs[w->d->outer_second[i].column],
                             *other = &w->d->inputs[w->d->outer_second[i].other];
        size_t a = body_of(of, column), b = body_of(of, other);
        if (a != SIZE_MAX && b != SIZE_MAX)
            w->covariance[i] += sum_with_sum(w, rows, family, of, a, b, first, lanes);
        else if (a != SIZE_MAX && other->op == TC_COORD)
            w->covariance[i] += sum_with_coordinate(w, rows, family, of, a, other->index, first, lanes);
        else if (b != SIZE_MAX && column->op == TC_COORD)
            w->covariance[i] += sum_with_coordinate(w, rows, family, of, b, column->index, first, lanes);
    }
}

static void add_family(const bias_work *w, size_t f) {
    const tc_family *family = &w->model->families[f];
    const tc_family_derivatives *of = &w->d->families[f];
    family_rows rows = compile(w, of, family);
    for (size_t first = 0; rows.tape != NULL && first < family->count; first += TC_LANES) {
        size_t lanes = family->count - first < TC_LANES ? family->count - first : TC_LANES;
        evaluate(&rows, family, first, lanes);
        for (size_t i = 0; i < of->body_second_count; i++) {
            const tc_second *second = &of->body_second[i];
            size_t place = rows.place[rows.first_count + i];
            if (second->column == second->other && place != SIZE_MAX)
                w->curvature[of->sums[second->row]] +=
                    weighed(w, family, second->column, first, lanes, rows.rows[place], NULL);
        }
        add_covariances(w, &rows, family, of, first, lanes);
    }
}

static void add_coordinates(const bias_work *w) {
    for (size_t i = 0; i < w->d->outer_second_count; i++) {
        const tc_second *second = &w->d->outer_second[i];
        if (second->column == second->other && w->d->inputs[second->column].op == TC_COORD)
            w->covariance[i] = w->variance[w->d->inputs[second->column].index];
    }
}

/* Phi_{j,r}, then Phi_{j,rs}. Slopes that vary have affine bodies behind them, hence no curvature to weigh: 0. */
static double *outer_values(const bias_work *w) {
    size_t firsts = w->d->outer_first_count, all = firsts + w->d->outer_second_count, count = 0;
    tc_expr *roots = TC_NEW(w->arena, tc_expr, all + 1);
    size_t *place = TC_NEW(w->arena, size_t, all + 1);
    for (size_t i = 0; i < all; i++)
        place[i] =
            add_root(w, i < firsts ? w->d->outer_first[i].value : w->d->outer_second[i - firsts].value, roots, &count);
    tc_program *program = tc_program_new(w->arena, w->model, roots, count);
    double *work = TC_NEW(w->arena, double, tc_program_work(program) + 1), *out = TC_NEW(w->arena, double, count + 1),
           *values = TC_NEW(w->arena, double, all + 1);
    tc_program_prepare(program, work);
    tc_program_eval(program, NULL, NULL, work, out);
    for (size_t i = 0; i < all; i++)
        values[i] = place[i] == SIZE_MAX ? 0 : out[place[i]];
    return values;
}

void tc_state_noise_bias(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *d,
                         double *bias) {
    bias_work w = {.arena = arena,
                   .model = model,
                   .d = d,
                   .curvature = TC_NEW(arena, double, d->input_count + 1),
                   .covariance = TC_NEW(arena, double, d->outer_second_count + 1)};
    read_variances(&w, plan);
    for (size_t f = 0; f < model->family_count; f++)
        if (d->families[f].body_count > 0)
            add_family(&w, f);
    add_coordinates(&w);
    const double *values = outer_values(&w);
    for (size_t j = 0; j < model->constraint_count; j++)
        bias[j] = 0;
    for (size_t i = 0; i < d->outer_first_count; i++) /* inputs: all sums first, in the model's order */
        bias[d->outer_first[i].row] += values[i] * w.curvature[d->outer_first[i].column] / 2;
    for (size_t i = 0; i < d->outer_second_count; i++) {
        const tc_second *second = &d->outer_second[i];
        double times = second->column == second->other ? 0.5 : 1;
        bias[second->row] += times * values[d->outer_first_count + i] * w.covariance[i];
    }
}
