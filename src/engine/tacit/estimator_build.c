/* Makes an estimator. The structure over forms is here: their Jacobian is constant, a row of numbers for each of its
 * entries. That over states is in estimator_states.c. */
#include "calculus/tape/tape.h"
#include "engine/tacit/estimator_inside.h"
#include "model/spread.h"

#include <stdlib.h>
#include <string.h>

/* ---- uses -------------------------------------------------------------------------------------------------------- */

static int compare_raw(const void *x, const void *y) {
    const tc_estimator_raw *a = x, *b = y;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->input > b->input) - (a->input < b->input);
}

tc_estimator_uses tc_estimator_gather(tc_arena *arena, tc_estimator_raw *raw, size_t count, size_t places) {
    tc_estimator_uses made = {.uses = TC_NEW(arena, tc_estimator_use, count),
                              .terms = TC_NEW(arena, tc_estimator_term, count)};
    if (count > 1)
        qsort(raw, count, sizeof *raw, compare_raw);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || raw[i].at != raw[i - 1].at || raw[i].row != raw[i - 1].row)
            made.uses[made.count++] = (tc_estimator_use){raw[i].at, raw[i].row};
        made.terms[made.term_count++] = (tc_estimator_term){(uint32_t)(made.count - 1), raw[i].input, raw[i].factor};
    }
    made.first = TC_NEW(arena, size_t, places + 1);
    for (size_t at = 0, i = 0; at <= places; at++) {
        while (i < made.count && made.uses[i].at < at)
            i++;
        made.first[at] = i;
    }
    made.weight = TC_NEW(arena, double, made.count);
    made.base = TC_NEW(arena, double, places);
    return made;
}

typedef struct forms_builder {
    tc_arena *arena;
    tc_estimator *estimator;
    const tc_released *constants;
    bool *is_coordinate; /* by form */
    double *half;        /* by form: half the width of its range over the box */
} forms_builder;

/* ---- forms: slopes ----------------------------------------------------------------------------------------------- */

static double half_width(const tc_family *family, size_t component, size_t member) {
    return (tc_coef_at(family->upper[component], member) - tc_coef_at(family->lower[component], member)) / 2;
}

static void add_norms(const forms_builder *b, const tc_family *family, size_t component, size_t member, size_t form,
                      double size, double square) {
    double scale = b->estimator->families[family - b->estimator->model->families].scale[component];
    b->estimator->fixed.norm1[form] += size;
    b->estimator->fixed.reach[form] += scale * size;
    b->estimator->fixed.norm2[form] += scale * scale * square;
    b->half[form] += size * half_width(family, component, member);
}

/* The norms of one form, with the slopes of all members in one component: in order, from rank to rank. */
static void add_all_norms(const forms_builder *b, const tc_family *family, const tc_shared_entry *entry,
                          const double *values) {
    const tc_measurement *fixed = &b->estimator->fixed;
    double *numbers[] = {&fixed->norm1[entry->row], &fixed->reach[entry->row], &fixed->norm2[entry->row],
                         &b->half[entry->row]};
    double carried[4];
    for (size_t i = 0; i < 4; i++)
        carried[i] = *numbers[i];
    tc_fold_begin(family, carried, sizeof carried);
    for (size_t i = 0; i < 4; i++)
        *numbers[i] = carried[i];
    for (size_t k = family->known_first; k < family->known_end; k++)
        add_norms(b, family, entry->component, k, entry->row, fabs(values[k]), values[k] * values[k]);
    for (size_t i = 0; i < 4; i++)
        carried[i] = *numbers[i];
    tc_fold_end(family, carried, sizeof carried);
    for (size_t i = 0; i < 4; i++)
        *numbers[i] = carried[i];
}

static void build_family(const forms_builder *b, size_t f) {
    const tc_family_entries *entries = &b->constants->layout->families[f];
    tc_estimator_family *of = &b->estimator->families[f];
    const tc_family *family = of->family;
    tc_estimator_raw *raw = TC_NEW(b->arena, tc_estimator_raw, entries->shared_count);
    of->has_rows = entries->shared_count > 0;
    of->rows = TC_NEW(b->arena, tc_estimator_row, entries->shared_count + 1);
    of->rows[of->row_count++] = (tc_estimator_row){.from = TC_ROW_ONE};
    of->reach_by_member = TC_NEW(b->arena, bool, family->dim);
    of->bend_by_member = TC_NEW(b->arena, bool, family->dim);
    for (size_t e = 0; e < entries->shared_count; e++) {
        const tc_shared_entry *entry = &entries->shared[e];
        const double *values = b->constants->jacobian + entries->first + e * family->count;
        double first;
        bool same = tc_all_equal(family, values, &first);
        if (entry->varies)
            tc_raise(b->arena, TC_INTERNAL); /* forms are linear */
        if (!same)
            of->rows[of->row_count] = (tc_estimator_row){.from = TC_ROW_COLUMN, .values = values};
        raw[e] = (tc_estimator_raw){.at = entry->component,
                                    .row = same ? 0 : (uint32_t)of->row_count++,
                                    .input = entry->row,
                                    .factor = same ? first : 1};
        of->reach_by_member[entry->component] |= !same;
        add_all_norms(b, family, entry, values);
    }
    of->slopes = tc_estimator_gather(b->arena, raw, entries->shared_count, family->dim);
    of->bends = tc_estimator_gather(b->arena, NULL, 0, 0);
}

/* ---- forms: single coordinates ----------------------------------------------------------------------------------- */

static double shared_slope(const forms_builder *b, size_t f, const tc_single_entry *single) {
    const tc_family_entries *entries = &b->constants->layout->families[f];
    const tc_family *family = &b->estimator->model->families[f];
    for (size_t e = 0; e < entries->shared_count; e++)
        if (entries->shared[e].row == single->row && entries->shared[e].component == single->component) {
            double slope = b->constants->jacobian[entries->first + e * family->count + single->member];
            tc_from_member(family, single->member, &slope, sizeof slope);
            return slope;
        }
    return 0;
}

static void list_singles(const forms_builder *b) {
    tc_estimator *estimator = b->estimator;
    size_t count = 0;
    for (size_t f = 0; f < estimator->model->family_count; f++)
        count += b->constants->layout->families[f].single_count;
    estimator->singles = TC_NEW(b->arena, tc_estimator_single, count);
    for (size_t f = 0; f < estimator->model->family_count; f++) {
        const tc_family_entries *entries = &b->constants->layout->families[f];
        const tc_family *family = &estimator->model->families[f];
        for (size_t i = 0; i < entries->single_count; i++) {
            const tc_single_entry *s = &entries->singles[i];
            if (s->varies || s->shared != UINT32_MAX)
                tc_raise(b->arena, TC_INTERNAL);
            double slope = b->constants->jacobian[entries->first_single + i], shared = shared_slope(b, f, s);
            double reach = fabs(shared + slope) - fabs(shared);
            double square = (shared + slope) * (shared + slope) - shared * shared;
            double scale = estimator->families[f].scale[s->component];
            add_norms(b, family, s->component, s->member, s->row, reach, square);
            if (b->is_coordinate[s->row])
                estimator->scale[s->row] = scale;
            estimator->singles[estimator->single_count++] =
                (tc_estimator_single){.coordinate = tc_coord_of(family, s->member, s->component),
                                      .block = estimator->families[f].first_block + s->member / TC_RELEASE_BLOCK,
                                      .member = s->member,
                                      .family = (uint32_t)f,
                                      .component = s->component,
                                      .input = s->row,
                                      .bends = b->is_coordinate[s->row],
                                      .slope = slope,
                                      .reach = scale * reach};
        }
    }
}

/* ---- forms: ranges ----------------------------------------------------------------------------------------------- */

static double middle(const tc_family *family, size_t component, size_t member) {
    double lower = tc_coef_at(family->lower[component], member), upper = tc_coef_at(family->upper[component], member);
    return lower + (upper - lower) / 2;
}

static double middle_of(const tc_model *model, size_t coord) {
    const tc_family *family = tc_family_of_coord(model, coord);
    size_t place = coord - family->first_coord;
    return middle(family, place / family->count, place % family->count);
}

/* In order of members, from rank to rank. */
static void add_bodies(const forms_builder *b, size_t f, double *sums) {
    const tc_family_derivatives *d = &b->estimator->derivatives->families[f];
    const tc_family *family = &b->estimator->model->families[f];
    if (d->body_count == 0)
        return;
    tc_tape *tape = tc_tape_new(b->arena, b->estimator->model->dag, d->bodies, d->body_count);
    double *work = TC_NEW(b->arena, double, tc_tape_work(tape));
    double **out = TC_NEW(b->arena, double *, d->body_count);
    const double **state = TC_NEW(b->arena, const double *, family->dim),
                 **data = TC_NEW(b->arena, const double *, family->column_count);
    double *rows = TC_NEW(b->arena, double, family->dim *TC_LANES);
    for (size_t i = 0; i < d->body_count; i++)
        out[i] = TC_NEW(b->arena, double, TC_LANES);
    size_t bytes = b->estimator->model->sum_count * sizeof *sums;
    tc_fold_begin(family, sums, bytes);
    for (size_t k = family->known_first; k < family->known_end; k += TC_LANES) {
        size_t lanes = family->known_end - k < TC_LANES ? family->known_end - k : TC_LANES;
        for (size_t c = 0; c < family->dim; c++) {
            state[c] = rows + c * TC_LANES;
            for (size_t lane = 0; lane < lanes; lane++)
                rows[c * TC_LANES + lane] = middle(family, c, k + lane);
        }
        for (size_t i = 0; i < family->column_count; i++)
            data[i] = family->columns[i].values + k;
        tc_tape_eval(tape, &(tc_inputs){.state = state, .data = data}, lanes, work, out);
        for (size_t i = 0; i < d->body_count; i++)
            for (size_t lane = 0; lane < lanes; lane++)
                sums[d->sums[i]] += out[i][lane];
    }
    tc_fold_end(family, sums, bytes);
}

/* The forms in the middle of the box. */
static double *evaluate_middle(const forms_builder *b) {
    const tc_model *model = b->estimator->model;
    double *x = TC_NEW(b->arena, double, model->state_count), *sums = TC_NEW(b->arena, double, model->sum_count);
    double *values = TC_NEW(b->arena, double, model->constraint_count);
    tc_expr *roots = TC_NEW(b->arena, tc_expr, model->constraint_count);
    for (size_t f = 0; f < model->family_count; f++)
        add_bodies(b, f, sums);
    for (size_t i = 0; i < model->dag->count; i++) { /* coordinates that constraints name */
        if (model->dag->nodes[i].op == TC_COORD)
            x[model->dag->nodes[i].u.index] = middle_of(model, (size_t)model->dag->nodes[i].u.index);
    }
    for (size_t j = 0; j < model->constraint_count; j++)
        roots[j] = model->constraints[j].outer;
    tc_program *program = tc_program_new(b->arena, model, roots, model->constraint_count);
    double *work = TC_NEW(b->arena, double, tc_program_work(program));
    tc_program_prepare(program, work);
    tc_program_eval(program, x, sums, work, values);
    return values;
}

/* A form is affine, so its range over the box is symmetric about the middle. Rounding must not widen it: beyond it,
 * outer functions may be undefined. */
static void find_ranges(const forms_builder *b) {
    tc_estimator *estimator = b->estimator;
    const double *values = evaluate_middle(b);
    for (size_t j = 0; j < estimator->observed_count; j++) {
        double unsure = 0x1p-46 * (fabs(values[j]) + b->half[j]);
        double half = b->half[j] > unsure ? b->half[j] - unsure : 0;
        estimator->lower[j] = values[j] - half;
        estimator->upper[j] = values[j] + half;
    }
    for (size_t i = 0; i < estimator->single_count; i++) {
        const tc_estimator_single *s = &estimator->singles[i];
        const tc_family *family = &estimator->model->families[s->family];
        if (!s->bends)
            continue;
        estimator->lower[s->input] = tc_coef_at(family->lower[s->component], s->member);
        estimator->upper[s->input] = tc_coef_at(family->upper[s->component], s->member);
    }
}

static void read_variances(const forms_builder *b, const tc_plan *plan) {
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        bool speaks_of_forms = channel->kind == TC_CHANNEL_CONSTRAINTS;
        for (uint32_t j = 0; speaks_of_forms && plan->mechanism != TC_MECHANISM_NONE && j < channel->row_count; j++)
            b->estimator->variance[channel->first_row + j] = b->estimator->fixed.noise[channel->first_row + j] =
                channel->variance;
    }
}

static void build_forms(tc_arena *arena, tc_estimator *estimator, const tc_plan *plan, const tc_released *constants) {
    size_t count = estimator->observed_count;
    forms_builder b = {.arena = arena,
                       .estimator = estimator,
                       .constants = constants,
                       .is_coordinate = TC_NEW(arena, bool, count),
                       .half = TC_NEW(arena, double, count)};
    for (size_t j = 0; j < count; j++)
        b.is_coordinate[j] = plan->placement == TC_PLACEMENT_FORMS &&
                             estimator->model->dag->nodes[estimator->model->constraints[j].outer].op == TC_COORD;
    for (size_t f = 0; f < estimator->model->family_count; f++)
        build_family(&b, f);
    list_singles(&b);
    find_ranges(&b);
    read_variances(&b, plan);
}

/* ---- what every estimator has ------------------------------------------------------------------------------------ */

static int compare_singles(const void *x, const void *y) {
    const tc_estimator_single *a = x, *b = y;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    return (a->input > b->input) - (a->input < b->input);
}

static void sort_singles(tc_arena *arena, tc_estimator *estimator) {
    if (estimator->single_count > 1)
        qsort(estimator->singles, estimator->single_count, sizeof *estimator->singles, compare_singles);
    estimator->block_singles = TC_NEW(arena, size_t, estimator->block_count + 1);
    for (size_t block = 0, i = 0; block <= estimator->block_count; block++) {
        while (i < estimator->single_count && estimator->singles[i].block < block)
            i++;
        estimator->block_singles[block] = i;
    }
    estimator->lone = TC_NEW(arena, tc_estimator_single, estimator->single_count);
    for (size_t i = 0; i < estimator->single_count; i++)
        if (!estimator->families[estimator->singles[i].family].has_rows)
            estimator->lone[estimator->lone_count++] = estimator->singles[i];
}

static void number_blocks(tc_arena *arena, tc_estimator *estimator, tc_state_scales scales) {
    estimator->families = TC_NEW(arena, tc_estimator_family, estimator->model->family_count);
    for (size_t f = 0; f < estimator->model->family_count; f++) {
        tc_estimator_family *of = &estimator->families[f];
        of->family = &estimator->model->families[f];
        of->first_block = estimator->block_count;
        of->first_bite = estimator->bite_count;
        of->block_count = (of->family->count + TC_RELEASE_BLOCK - 1) / TC_RELEASE_BLOCK;
        of->scale = TC_NEW(arena, double, of->family->dim);
        for (size_t c = 0; c < of->family->dim; c++)
            of->scale[c] = tc_scale_of(scales, f, c);
        estimator->block_count += of->block_count;
        estimator->bite_count += (of->family->count + TC_ESTIMATOR_BITE - 1) / TC_ESTIMATOR_BITE;
    }
    estimator->bite_columns = TC_NEW(arena, tc_columns, estimator->bite_count);
}

static tc_measurement new_measurement(tc_arena *arena, size_t count) {
    return (tc_measurement){.count = count,
                            .value = TC_NEW(arena, double, count),
                            .shift = TC_NEW(arena, double, count),
                            .curve = TC_NEW(arena, double, count),
                            .trace = TC_NEW(arena, double, count),
                            .noise = TC_NEW(arena, double, count),
                            .norm1 = TC_NEW(arena, double, count),
                            .reach = TC_NEW(arena, double, count),
                            .norm2 = TC_NEW(arena, double, count),
                            .rest = TC_NEW(arena, double, count),
                            .rest_curve = TC_NEW(arena, double, count)};
}

static void make_arrays(tc_arena *arena, tc_estimator *estimator, size_t inputs, size_t observed) {
    estimator->measurement = new_measurement(arena, inputs);
    estimator->fixed = new_measurement(arena, inputs);
    estimator->tariff = (tc_tariff){.price = TC_NEW(arena, double, inputs),
                                    .curvature = TC_NEW(arena, double, inputs),
                                    .reach = TC_NEW(arena, double, inputs),
                                    .bend = TC_NEW(arena, double, inputs),
                                    .bend_noise = TC_NEW(arena, double, inputs)};
    estimator->variance = TC_NEW(arena, double, inputs);
    estimator->scale = TC_NEW(arena, double, inputs);
    estimator->last_reach = TC_NEW(arena, double, inputs);
    for (size_t i = 0; i < inputs; i++)
        estimator->last_reach[i] = (double)NAN;
    for (size_t i = 0; i < inputs; i++)
        estimator->scale[i] = 1;
    estimator->lower = TC_NEW(arena, double, observed);
    estimator->upper = TC_NEW(arena, double, observed);
    estimator->y = TC_NEW(arena, double, observed);
    estimator->r = TC_NEW(arena, double, observed);
}

static double **rows_of(tc_arena *arena, size_t rows, size_t length) {
    double **made = TC_NEW(arena, double *, rows), *numbers = TC_NEW(arena, double, rows *length);
    for (size_t i = 0; i < rows; i++)
        made[i] = numbers + i * length;
    return made;
}

typedef struct room { /* the most that a worker needs */
    size_t dim, columns, rows, totals, work, outputs;
} room;

static void enlarge(size_t *most, size_t wanted) { *most = wanted > *most ? wanted : *most; }

static room room_for(const tc_estimator *estimator) {
    room most = {0};
    for (size_t f = 0; f < estimator->model->family_count; f++) {
        const tc_estimator_family *of = &estimator->families[f];
        if (!of->has_rows)
            continue;
        enlarge(&most.dim, of->family->dim);
        enlarge(&most.columns, of->family->column_count);
        enlarge(&most.rows, of->row_count);
        enlarge(&most.totals, of->total_count);
        for (size_t pass = 0; pass < 2; pass++)
            if (of->tape[pass] != NULL) {
                enlarge(&most.work, tc_tape_work_of(of->tape[pass], TC_ESTIMATOR_BITE));
                enlarge(&most.outputs, tc_tape_root_count(of->tape[pass]));
            }
    }
    return most;
}

static tc_estimator_worker new_worker(tc_arena *arena, const room *most, size_t dim) {
    return (tc_estimator_worker){.r_hat = rows_of(arena, most->dim, TC_ESTIMATOR_BITE),
                                 .dy = rows_of(arena, most->dim, TC_ESTIMATOR_BITE),
                                 .dr = rows_of(arena, most->dim, TC_ESTIMATOR_BITE),
                                 .has_dr = TC_NEW(arena, bool, most->dim),
                                 .lower = TC_NEW(arena, double, TC_ESTIMATOR_BITE),
                                 .upper = TC_NEW(arena, double, TC_ESTIMATOR_BITE),
                                 .work = TC_NEW(arena, double, most->work),
                                 .output = rows_of(arena, most->outputs, TC_ESTIMATOR_BITE),
                                 .state = TC_NEW(arena, const double *, most->dim),
                                 .data = TC_NEW(arena, const double *, most->columns),
                                 .rows = TC_NEW(arena, const double *, most->rows),
                                 .totals = TC_NEW(arena, double, most->totals *TC_TOTAL_LANES),
                                 .reach = rows_of(arena, most->dim, TC_ESTIMATOR_BITE),
                                 .bend = rows_of(arena, most->dim, TC_ESTIMATOR_BITE),
                                 .reach_is_row = TC_NEW(arena, bool, most->dim),
                                 .bend_is_row = TC_NEW(arena, bool, most->dim),
                                 .hessian = TC_NEW(arena, double, TC_ESTIMATOR_BITE),
                                 .answers = TC_NEW(arena, double *, dim)};
}

static void finish(tc_arena *arena, tc_estimator *estimator, size_t workers) {
    size_t dim = 0;
    for (size_t f = 0; f < estimator->model->family_count; f++) {
        tc_estimator_family *of = &estimator->families[f];
        estimator->any_rows = estimator->any_rows || of->has_rows;
        enlarge(&dim, of->family->dim);
        if (!of->has_rows)
            continue;
        of->reach = TC_NEW(arena, double, of->slopes.count);
        of->reach_base = TC_NEW(arena, double, of->family->dim);
        of->bend_base = TC_NEW(arena, double, of->family->dim);
    }
    sort_singles(arena, estimator);
    room most = room_for(estimator);
    estimator->workers = TC_NEW(arena, tc_estimator_worker, workers);
    for (size_t w = 0; w < workers; w++)
        estimator->workers[w] = new_worker(arena, &most, dim);
    estimator->whole_states = TC_NEW(arena, const double *, dim);
    estimator->whole_answers = TC_NEW(arena, double *, dim);
}

static void copy_fixed(tc_estimator *estimator) {
    size_t size = estimator->measurement.count * sizeof(double);
    if (size == 0)
        return;
    memcpy(estimator->measurement.value, estimator->fixed.value, size);
    memcpy(estimator->measurement.noise, estimator->fixed.noise, size);
    memcpy(estimator->measurement.norm1, estimator->fixed.norm1, size);
    memcpy(estimator->measurement.reach, estimator->fixed.reach, size);
    memcpy(estimator->measurement.norm2, estimator->fixed.norm2, size);
}

tc_estimator *tc_estimator_new(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                               const tc_derivatives *derivatives, const tc_released *constants, tc_state_scales scales,
                               size_t workers) {
    tc_estimator *made = TC_NEW(arena, tc_estimator, 1);
    bool forms = plan->placement != TC_PLACEMENT_STATES;
    bool derived = plan->placement == TC_PLACEMENT_FORMS;
    *made = (tc_estimator){.model = derived ? plan->measured : model,
                           .derivatives = derived ? plan->measured_derivatives : derivatives,
                           .kernels = tc_estimator_kernels_here(),
                           .takes_forms = forms};
    number_blocks(arena, made, scales);
    if (forms) {
        made->observed_count = made->model->constraint_count;
        make_arrays(arena, made, made->observed_count, made->observed_count);
        build_forms(arena, made, plan, constants);
    } else {
        make_arrays(arena, made, derivatives->input_count, derivatives->input_count - model->sum_count);
        tc_estimator_build_states(arena, made, plan);
    }
    finish(arena, made, workers);
    copy_fixed(made);
    tc_estimator_share_new(arena, made);
    return made;
}
