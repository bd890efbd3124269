/* The structure of a gauge over forms: their Jacobian is constant, and a row of numbers for each of its entries. */
#include "calculus/tape/program.h"
#include "engine/tacit/gauge_parts.h"

#include <string.h>

typedef struct builder {
    tc_arena *arena;
    tc_gauge *gauge;
    const tc_released *constants;
    bool *is_coordinate; /* by form */
    double *reach;       /* by form: half of what the box lets it move */
} builder;

/* ---- slopes --------------------------------------------------------------------------------------------------------
 */

static bool are_equal(const double *values, size_t count) {
    for (size_t k = 1; k < count; k++)
        if (values[k] != values[0])
            return false;
    return true;
}

static double half_width(const tc_family *family, size_t component, size_t member) {
    return (tc_coef_at(family->upper[component], member) - tc_coef_at(family->lower[component], member)) / 2;
}

static void add_norms(const builder *b, const tc_family *family, size_t component, size_t member, size_t form,
                      double size, double square) {
    b->gauge->fixed.norm1[form] += size;
    b->gauge->fixed.norm2[form] += square;
    b->reach[form] += size * half_width(family, component, member);
}

static void build_family(const builder *b, size_t f) {
    const tc_family_entries *entries = &b->constants->layout->families[f];
    tc_gauge_family *of = &b->gauge->families[f];
    const tc_family *family = of->family;
    tc_gauge_raw *raw = TC_NEW(b->arena, tc_gauge_raw, entries->shared_count);
    of->has_rows = entries->shared_count > 0;
    of->rows = TC_NEW(b->arena, tc_gauge_row, entries->shared_count + 1);
    of->rows[of->row_count++] = (tc_gauge_row){.from = TC_ROW_ONE};
    of->reach_by_member = TC_NEW(b->arena, bool, family->dim);
    of->bend_by_member = TC_NEW(b->arena, bool, family->dim);
    for (size_t e = 0; e < entries->shared_count; e++) {
        const tc_shared_entry *entry = &entries->shared[e];
        const double *values = b->constants->jacobian + entries->first + e * family->count;
        bool same = are_equal(values, family->count);
        if (entry->varies)
            tc_raise(b->arena, TC_INTERNAL); /* forms are linear */
        if (!same)
            of->rows[of->row_count] = (tc_gauge_row){.from = TC_ROW_COLUMN, .values = values};
        raw[e] = (tc_gauge_raw){.at = entry->component,
                                .row = same ? 0 : (uint32_t)of->row_count++,
                                .input = entry->row,
                                .factor = same ? values[0] : 1};
        of->reach_by_member[entry->component] |= !same;
        for (size_t k = 0; k < family->count; k++)
            add_norms(b, family, entry->component, k, entry->row, fabs(values[k]), values[k] * values[k]);
    }
    of->slopes = tc_gauge_gather(b->arena, raw, entries->shared_count, family->dim);
    of->bends = tc_gauge_gather(b->arena, NULL, 0, 0);
}

/* ---- single coordinates --------------------------------------------------------------------------------------------
 */

static double shared_slope(const builder *b, size_t f, const tc_single_entry *single) {
    const tc_family_entries *entries = &b->constants->layout->families[f];
    for (size_t e = 0; e < entries->shared_count; e++)
        if (entries->shared[e].row == single->row && entries->shared[e].component == single->component)
            return b->constants->jacobian[entries->first + e * b->gauge->model->families[f].count + single->member];
    return 0;
}

static void list_singles(const builder *b) {
    tc_gauge *gauge = b->gauge;
    size_t count = 0;
    for (size_t f = 0; f < gauge->model->family_count; f++)
        count += b->constants->layout->families[f].single_count;
    gauge->singles = TC_NEW(b->arena, tc_gauge_single, count);
    for (size_t f = 0; f < gauge->model->family_count; f++) {
        const tc_family_entries *entries = &b->constants->layout->families[f];
        const tc_family *family = &gauge->model->families[f];
        for (size_t i = 0; i < entries->single_count; i++) {
            const tc_single_entry *s = &entries->singles[i];
            if (s->varies || s->shared != UINT32_MAX)
                tc_raise(b->arena, TC_INTERNAL);
            double slope = b->constants->jacobian[entries->first_single + i], shared = shared_slope(b, f, s);
            double reach = fabs(shared + slope) - fabs(shared);
            double square = (shared + slope) * (shared + slope) - shared * shared;
            add_norms(b, family, s->component, s->member, s->row, reach, square);
            gauge->singles[gauge->single_count++] =
                (tc_gauge_single){.coordinate = tc_coord_of(family, s->member, s->component),
                                  .block = gauge->families[f].first_block + s->member / TC_RELEASE_BLOCK,
                                  .member = s->member,
                                  .family = (uint32_t)f,
                                  .component = s->component,
                                  .input = s->row,
                                  .bends = b->is_coordinate[s->row],
                                  .slope = slope,
                                  .reach = reach};
        }
    }
}

/* ---- ranges --------------------------------------------------------------------------------------------------------
 */

static double middle(const tc_family *family, size_t component, size_t member) {
    double lower = tc_coef_at(family->lower[component], member), upper = tc_coef_at(family->upper[component], member);
    return lower + (upper - lower) / 2;
}

static void add_bodies(const builder *b, size_t f, const double *x, double *sums) {
    const tc_family_derivatives *d = &b->gauge->derivatives->families[f];
    const tc_family *family = &b->gauge->model->families[f];
    if (d->body_count == 0)
        return;
    tc_tape *tape = tc_tape_new(b->arena, b->gauge->model->dag, d->bodies, d->body_count);
    double *work = TC_NEW(b->arena, double, tc_tape_work(tape));
    double **out = TC_NEW(b->arena, double *, d->body_count);
    const double **state = TC_NEW(b->arena, const double *, family->dim),
                 **data = TC_NEW(b->arena, const double *, family->column_count);
    for (size_t i = 0; i < d->body_count; i++)
        out[i] = TC_NEW(b->arena, double, TC_LANES);
    for (size_t k = 0; k < family->count; k += TC_LANES) {
        size_t lanes = family->count - k < TC_LANES ? family->count - k : TC_LANES;
        for (size_t c = 0; c < family->dim; c++)
            state[c] = x + tc_coord_of(family, k, c);
        for (size_t i = 0; i < family->column_count; i++)
            data[i] = family->columns[i].values + k;
        tc_tape_eval(tape, &(tc_inputs){.state = state, .data = data}, lanes, work, out);
        for (size_t i = 0; i < d->body_count; i++)
            for (size_t lane = 0; lane < lanes; lane++)
                sums[d->sums[i]] += out[i][lane];
    }
}

/* The forms in the middle of the box. */
static double *evaluate_middle(const builder *b) {
    const tc_model *model = b->gauge->model;
    double *x = TC_NEW(b->arena, double, model->state_count), *sums = TC_NEW(b->arena, double, model->sum_count);
    double *values = TC_NEW(b->arena, double, model->constraint_count);
    tc_expr *roots = TC_NEW(b->arena, tc_expr, model->constraint_count);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++)
            for (size_t k = 0; k < family->count; k++)
                x[tc_coord_of(family, k, c)] = middle(family, c, k);
        add_bodies(b, f, x, sums);
    }
    for (size_t j = 0; j < model->constraint_count; j++)
        roots[j] = model->constraints[j].outer;
    tc_program *program = tc_program_new(b->arena, model, roots, model->constraint_count);
    double *work = TC_NEW(b->arena, double, tc_program_work(program));
    tc_program_prepare(program, work);
    tc_program_eval(program, x, sums, work, values);
    return values;
}

/* A form is affine: its range over the box lies evenly about the middle. Rounding must not lead out of it, where outer
 * functions may be undefined. */
static void find_ranges(const builder *b) {
    tc_gauge *gauge = b->gauge;
    const double *values = evaluate_middle(b);
    for (size_t j = 0; j < gauge->observed_count; j++) {
        double unsure = 0x1p-46 * (fabs(values[j]) + b->reach[j]);
        double half = b->reach[j] > unsure ? b->reach[j] - unsure : 0;
        gauge->lower[j] = values[j] - half;
        gauge->upper[j] = values[j] + half;
    }
    for (size_t i = 0; i < gauge->single_count; i++) {
        const tc_gauge_single *s = &gauge->singles[i];
        const tc_family *family = &gauge->model->families[s->family];
        if (!s->bends)
            continue;
        gauge->lower[s->input] = tc_coef_at(family->lower[s->component], s->member);
        gauge->upper[s->input] = tc_coef_at(family->upper[s->component], s->member);
    }
}

static void read_variances(const builder *b, const tc_plan *plan) {
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        bool speaks_of_forms = channel->kind == TC_CHANNEL_CONSTRAINTS;
        for (uint32_t j = 0; speaks_of_forms && plan->mechanism != TC_MECHANISM_NONE && j < channel->row_count; j++)
            b->gauge->variance[channel->first_row + j] = b->gauge->fixed.noise[channel->first_row + j] =
                channel->variance;
    }
}

void tc_gauge_build_forms(tc_arena *arena, tc_gauge *gauge, const tc_plan *plan, const tc_released *constants) {
    size_t count = gauge->observed_count;
    builder b = {.arena = arena,
                 .gauge = gauge,
                 .constants = constants,
                 .is_coordinate = TC_NEW(arena, bool, count),
                 .reach = TC_NEW(arena, double, count)};
    for (size_t j = 0; j < count; j++)
        b.is_coordinate[j] = plan->placement == TC_PLACEMENT_FORMS &&
                             gauge->model->dag->nodes[gauge->model->constraints[j].outer].op == TC_COORD;
    for (size_t f = 0; f < gauge->model->family_count; f++)
        build_family(&b, f);
    list_singles(&b);
    find_ranges(&b);
    read_variances(&b, plan);
}
