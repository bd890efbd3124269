/* A gauge's first pass: filters, and totals of rows at r^. */
#include "engine/tacit/gauge_parts.h"

#include <string.h>

/* ---- one block -----------------------------------------------------------------------------------------------------
 */

static tc_gauge_bounds bounds_of(const tc_gauge_family *of, const tc_gauge_worker *worker, size_t component,
                                 size_t member, size_t count) {
    tc_coef lower = of->family->lower[component], upper = of->family->upper[component];
    tc_gauge_bounds bounds = {.lower = lower.value, .upper = upper.value};
    if (lower.column == NULL && upper.column == NULL)
        return bounds;
    for (size_t k = 0; k < count; k++) {
        worker->lower[k] = tc_coef_at(lower, member + k);
        worker->upper[k] = tc_coef_at(upper, member + k);
    }
    bounds.lowers = worker->lower;
    bounds.uppers = worker->upper;
    return bounds;
}

void tc_gauge_place(const tc_gauge *gauge, const tc_gauge_family *of, tc_gauge_worker *worker, size_t member,
                    size_t count) {
    for (size_t c = 0; c < of->family->dim; c++) {
        size_t at = c * of->family->count + member;
        tc_gauge_bounds bounds = bounds_of(of, worker, c, member, count);
        gauge->kernels->place(count, of->y + at, of->r + at, &bounds, worker->inside[c], worker->away[c]);
    }
}

void tc_gauge_find_rows(const tc_gauge_family *of, tc_gauge_worker *worker, unsigned pass, size_t member, size_t at,
                        size_t lanes) {
    for (size_t c = 0; c < of->family->dim; c++)
        worker->state[c] = worker->inside[c] + at;
    if (of->tape[pass] != NULL) {
        for (size_t d = 0; d < of->family->column_count; d++)
            worker->data[d] = of->family->columns[d].values + member + at;
        tc_inputs inputs = {.state = worker->state, .data = worker->data};
        tc_tape_eval(of->tape[pass], &inputs, lanes, worker->work, worker->output);
    }
    for (size_t i = 0; i < of->row_count; i++) {
        const tc_gauge_row *row = &of->rows[i];
        worker->rows[i] = row->from == TC_ROW_ONE     ? NULL
                          : row->from == TC_ROW_STATE ? worker->state[row->place[pass]]
                          : row->from == TC_ROW_TAPE  ? worker->output[row->place[pass]]
                                                      : row->values + member + at;
    }
}

static double *total_at(const tc_gauge_worker *worker, size_t number) {
    return worker->totals + number * TC_TOTAL_LANES;
}

static void add_slopes(const tc_gauge_kernels *kernels, const tc_gauge_family *of, const tc_gauge_worker *worker,
                       size_t at, size_t lanes) {
    for (size_t i = 0; i < of->slopes.count; i++) {
        const tc_gauge_use *use = &of->slopes.uses[i];
        const tc_gauge_row *is = &of->rows[use->row];
        const double *row = worker->rows[use->row], *away = worker->away[use->at] + at;
        const double *beyond = worker->is_beyond[use->at] ? worker->beyond[use->at] + at : NULL;
        double *shift = total_at(worker, of->shift_at + i), *rest = total_at(worker, of->rest_at + i);
        if (row == NULL)
            kernels->total(lanes, away, shift);
        else if (is->size_at == SIZE_MAX || is->size_by != i)
            kernels->total_product(lanes, row, away, shift);
        else
            kernels->total_slope(lanes, row, away, shift, total_at(worker, is->size_at),
                                 total_at(worker, is->size_at + 1));
        if (beyond != NULL && row == NULL)
            kernels->total(lanes, beyond, rest);
        else if (beyond != NULL)
            kernels->total_product(lanes, row, beyond, rest);
    }
}

static void add_bend(const tc_gauge_kernels *kernels, const double *row, const double *a, const double *b, size_t lanes,
                     double *total) {
    if (row == NULL)
        kernels->total_product(lanes, a, b, total);
    else
        kernels->total_triple(lanes, row, a, b, total);
}

static void add_bends(const tc_gauge_kernels *kernels, const tc_gauge_family *of, const tc_gauge_worker *worker,
                      size_t at, size_t lanes) {
    for (size_t i = 0; i < of->bends.count; i++) {
        const tc_gauge_use *use = &of->bends.uses[i];
        const tc_gauge_row *is = &of->rows[use->row];
        const double *row = worker->rows[use->row];
        uint32_t a = of->pairs[use->at].column, b = of->pairs[use->at].other;
        add_bend(kernels, row, worker->away[a] + at, worker->away[b] + at, lanes, total_at(worker, of->curve_at + i));
        if (worker->is_beyond[a] && worker->is_beyond[b])
            add_bend(kernels, row, worker->beyond[a] + at, worker->beyond[b] + at, lanes,
                     total_at(worker, of->rest_curve_at + i));
        if (is->trace_at != SIZE_MAX && is->trace_by == i)
            kernels->total(lanes, row, total_at(worker, is->trace_at));
    }
}

/* At most TC_GAUGE_BITE members; x_hat from the first of them on. */
static void take_bite(const tc_gauge *gauge, const tc_gauge_family *of, tc_gauge_worker *worker, size_t member,
                      size_t count) {
    const tc_gauge_kernels *kernels = gauge->kernels;
    tc_gauge_place(gauge, of, worker, member, count);
    for (size_t c = 0; c < of->family->dim; c++)
        worker->is_beyond[c] =
            kernels->rest(count, of->r + c * of->family->count + member, worker->inside[c], worker->beyond[c]);
    size_t step = of->tape[0] != NULL ? TC_LANES : count; /* a tape takes so many at once */
    for (size_t at = 0; at < count; at += step) {
        size_t lanes = count - at < step ? count - at : step;
        tc_gauge_find_rows(of, worker, 0, member, at, lanes);
        for (size_t i = 0; i < of->summed_count; i++)
            kernels->total(lanes, worker->rows[of->summed[i]], total_at(worker, i));
        add_slopes(kernels, of, worker, at, lanes);
        add_bends(kernels, of, worker, at, lanes);
    }
}

/* x_hat NULL: the filters stay as they are. */
static void take_rows(const tc_gauge *gauge, tc_gauge_family *of, tc_gauge_worker *worker, size_t block,
                      const double *const *x_hat) {
    size_t first = block * TC_RELEASE_BLOCK, left = of->family->count - first;
    size_t count = left < TC_RELEASE_BLOCK ? left : TC_RELEASE_BLOCK;
    memset(worker->totals, 0, of->total_count * TC_TOTAL_LANES * sizeof *worker->totals);
    for (size_t at = 0; at < count; at += TC_GAUGE_BITE) {
        size_t bite = count - at < TC_GAUGE_BITE ? count - at : TC_GAUGE_BITE;
        for (size_t c = 0; x_hat != NULL && c < of->family->dim; c++) {
            size_t place = c * of->family->count + first + at;
            gauge->kernels->filter(bite, gauge->gains.fast, gauge->gains.slow, x_hat[c] + at, of->y + place,
                                   of->r + place);
        }
        take_bite(gauge, of, worker, first + at, bite);
    }
    double *partial = of->partials + block * of->total_count;
    for (size_t i = 0; i < of->total_count; i++) {
        const double *t = total_at(worker, i);
        partial[i] = tc_total_of_lanes(t);
    }
}

/* ---- what is observed one by one -----------------------------------------------------------------------------------
 */

static inline void show(tc_gauge *gauge, size_t i, double y, double r) {
    double lower = gauge->lower[i], upper = gauge->upper[i];
    double inside = r < lower ? lower : r > upper ? upper : r;
    size_t input = gauge->first_observed + i;
    gauge->gauged.value[input] = inside;
    gauge->gauged.shift[input] = y - inside;
    gauge->gauged.rest[input] = r - inside;
}

static inline void observe(tc_gauge *gauge, size_t i, double observed) {
    double y = gauge->y[i] + gauge->gains.fast * (observed - gauge->y[i]);
    double r = gauge->r[i] + gauge->gains.slow * (observed - gauge->r[i]);
    gauge->y[i] = y;
    gauge->r[i] = r;
    show(gauge, i, y, r);
}

void tc_gauge_take(tc_gauge *gauge, size_t worker, size_t family, size_t block, const double *const *x_hat) {
    tc_gauge_family *of = &gauge->families[family];
    size_t number = of->first_block + block, first = block * TC_RELEASE_BLOCK;
    if (of->has_rows)
        take_rows(gauge, of, &gauge->workers[worker], block, x_hat);
    for (size_t i = gauge->block_singles[number]; i < gauge->block_singles[number + 1]; i++) {
        const tc_gauge_single *s = &gauge->singles[i];
        observe(gauge, s->input - gauge->first_observed, x_hat[s->component][s->member - first]);
    }
}

void tc_gauge_take_forms(tc_gauge *gauge, const double *forms) {
    for (size_t i = 0; i < gauge->observed_count; i++)
        observe(gauge, i, forms[i]);
}

void tc_gauge_take_whole(tc_gauge *gauge, const double *x_hat) {
    for (size_t i = 0; i < gauge->observed_count; i++)
        observe(gauge, i, x_hat[gauge->observed[i]]);
    for (size_t f = 0; f < gauge->model->family_count && gauge->any_rows; f++) {
        tc_gauge_family *of = &gauge->families[f];
        for (size_t block = 0; of->has_rows && block < of->block_count; block++) {
            for (size_t c = 0; c < of->family->dim; c++)
                gauge->whole_states[c] = x_hat + tc_coord_of(of->family, block * TC_RELEASE_BLOCK, c);
            take_rows(gauge, of, &gauge->workers[0], block, gauge->whole_states);
        }
    }
}

/* ---- after every block ---------------------------------------------------------------------------------------------
 */

static void close_family(tc_gauge *gauge, tc_gauge_family *of) {
    tc_gauged *g = &gauge->gauged;
    double *total = of->partials;
    for (size_t b = 1; b < of->block_count; b++) /* in the order of the blocks, into the first one's place */
        for (size_t i = 0; i < of->total_count; i++)
            total[i] += total[b * of->total_count + i];
    for (size_t i = 0; i < of->value_count; i++)
        g->value[of->values[i].input] += of->values[i].factor * total[of->values[i].use];
    for (size_t i = 0; i < of->slopes.term_count; i++) {
        const tc_gauge_term *term = &of->slopes.terms[i];
        const tc_gauge_row *row = &of->rows[of->slopes.uses[term->use].row];
        g->shift[term->input] += term->factor * total[of->shift_at + term->use];
        g->rest[term->input] += term->factor * total[of->rest_at + term->use];
        if (row->size_at == SIZE_MAX)
            continue;
        double square = term->factor * term->factor * total[row->size_at + 1];
        g->norm1[term->input] += fabs(term->factor) * total[row->size_at];
        g->norm2[term->input] += square;
        g->noise[term->input] += of->variance * square;
    }
    for (size_t i = 0; i < of->bends.term_count; i++) {
        const tc_gauge_term *term = &of->bends.terms[i];
        const tc_gauge_use *use = &of->bends.uses[term->use];
        bool diagonal = of->pairs[use->at].column == of->pairs[use->at].other;
        double factor = diagonal ? term->factor : 2 * term->factor;
        g->curve[term->input] += factor * total[of->curve_at + term->use];
        g->rest_curve[term->input] += factor * total[of->rest_curve_at + term->use];
        if (diagonal && of->rows[use->row].trace_at != SIZE_MAX)
            g->trace[term->input] += of->variance * (factor * total[of->rows[use->row].trace_at]);
    }
}

static void reset(double *to, const double *from, size_t count) { memcpy(to, from, count * sizeof *to); }

const tc_gauged *tc_gauge_close(tc_gauge *gauge) {
    size_t sums = gauge->takes_forms ? 0 : gauge->first_observed;
    if (sums == 0 || !gauge->any_rows)
        return &gauge->gauged;
    reset(gauge->gauged.value, gauge->fixed.value, sums);
    reset(gauge->gauged.shift, gauge->fixed.shift, sums);
    reset(gauge->gauged.curve, gauge->fixed.curve, sums);
    reset(gauge->gauged.trace, gauge->fixed.trace, sums);
    reset(gauge->gauged.noise, gauge->fixed.noise, sums);
    reset(gauge->gauged.norm1, gauge->fixed.norm1, sums);
    reset(gauge->gauged.norm2, gauge->fixed.norm2, sums);
    reset(gauge->gauged.rest, gauge->fixed.rest, sums);
    reset(gauge->gauged.rest_curve, gauge->fixed.rest_curve, sums);
    for (size_t f = 0; f < gauge->model->family_count; f++)
        if (gauge->families[f].has_rows)
            close_family(gauge, &gauge->families[f]);
    return &gauge->gauged;
}

/* ---- between two runs ----------------------------------------------------------------------------------------------
 */

void tc_gauge_memory(tc_gauge *gauge, tc_snapshot *memory) {
    tc_snapshot_numbers(memory, gauge->y, gauge->observed_count);
    tc_snapshot_numbers(memory, gauge->r, gauge->observed_count);
    for (size_t f = 0; f < gauge->model->family_count; f++) {
        tc_gauge_family *of = &gauge->families[f];
        if (of->y == NULL)
            continue;
        tc_snapshot_numbers(memory, of->y, of->family->dim * of->family->count);
        tc_snapshot_numbers(memory, of->r, of->family->dim * of->family->count);
    }
}

const tc_gauged *tc_gauge_review(tc_gauge *gauge) {
    for (size_t i = 0; i < gauge->observed_count; i++)
        show(gauge, i, gauge->y[i], gauge->r[i]);
    for (size_t f = 0; !gauge->takes_forms && f < gauge->model->family_count; f++) {
        tc_gauge_family *of = &gauge->families[f];
        for (size_t block = 0; of->has_rows && block < of->block_count; block++)
            take_rows(gauge, of, &gauge->workers[0], block, NULL);
    }
    return tc_gauge_close(gauge);
}
