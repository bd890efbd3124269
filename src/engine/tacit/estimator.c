/* The estimator's round: filters and totals at r^ in a first pass over the members, prices of states in a second. */
#include "engine/tacit/estimator_inside.h"

#include "base/search.h"

#include <string.h>

size_t tc_estimator_inputs(const tc_estimator *estimator) { return estimator->measurement.count; }

double tc_estimator_input_variance(const tc_estimator *estimator, size_t input) { return estimator->variance[input]; }
double tc_estimator_input_scale(const tc_estimator *estimator, size_t input) { return estimator->scale[input]; }

void tc_estimator_open(tc_estimator *estimator, tc_gains gains) { estimator->gains = gains; }

/* ---- first pass: one block -----------------------------------------------------------------------------------------
 *
 *     y += beta (o - y),    r += 3/(k+2) (o - r),    r^ = r moved into the box,    dy = y - r^
 *
 * then totals over members, at r^, of bodies, of their slopes times dy and r - r^, and of their curvatures. */

static tc_estimator_bounds bounds_of(const tc_estimator_family *of, const tc_estimator_worker *worker, size_t component,
                                     size_t member, size_t count) {
    tc_coef lower = of->family->lower[component], upper = of->family->upper[component];
    tc_estimator_bounds bounds = {.lower = lower.value, .upper = upper.value};
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

static void place(const tc_estimator *estimator, const tc_estimator_family *of, tc_estimator_worker *worker,
                  size_t member, size_t count) {
    for (size_t c = 0; c < of->family->dim; c++) {
        size_t at = c * of->family->count + member;
        tc_estimator_bounds bounds = bounds_of(of, worker, c, member, count);
        estimator->kernels->place(count, of->y + at, of->r + at, &bounds, worker->r_hat[c], worker->dy[c]);
    }
}

static void find_rows(const tc_estimator_family *of, tc_estimator_worker *worker, unsigned pass, size_t member,
                      size_t at, size_t lanes) {
    for (size_t c = 0; c < of->family->dim; c++)
        worker->state[c] = worker->r_hat[c] + at;
    if (of->tape[pass] != NULL) {
        for (size_t d = 0; d < of->family->column_count; d++)
            worker->data[d] = of->family->columns[d].values + member + at;
        tc_inputs inputs = {.state = worker->state, .data = worker->data};
        tc_tape_eval(of->tape[pass], &inputs, lanes, worker->work, worker->output);
    }
    for (size_t i = 0; i < of->row_count; i++) {
        const tc_estimator_row *row = &of->rows[i];
        worker->rows[i] = row->from == TC_ROW_ONE     ? NULL
                          : row->from == TC_ROW_STATE ? worker->state[row->place[pass]]
                          : row->from == TC_ROW_TAPE  ? worker->output[row->place[pass]]
                                                      : row->values + member + at;
    }
}

static double *total_at(const tc_estimator_worker *worker, size_t number) {
    return worker->totals + number * TC_TOTAL_LANES;
}

static void add_slopes(const tc_estimator_kernels *kernels, const tc_estimator_family *of,
                       const tc_estimator_worker *worker, size_t at, size_t lanes) {
    for (size_t i = 0; i < of->slopes.count; i++) {
        const tc_estimator_use *use = &of->slopes.uses[i];
        const tc_estimator_row *is = &of->rows[use->row];
        const double *row = worker->rows[use->row], *dy = worker->dy[use->at] + at;
        const double *dr = worker->has_dr[use->at] ? worker->dr[use->at] + at : NULL;
        double *shift = total_at(worker, of->shift_at + i), *rest = total_at(worker, of->rest_at + i);
        if (row == NULL)
            kernels->total(lanes, dy, shift);
        else if (is->size_at == SIZE_MAX || is->size_by != i)
            kernels->total_product(lanes, row, dy, shift);
        else
            kernels->total_slope(lanes, row, dy, shift, total_at(worker, is->size_at),
                                 total_at(worker, is->size_at + 1));
        if (dr != NULL && row == NULL)
            kernels->total(lanes, dr, rest);
        else if (dr != NULL)
            kernels->total_product(lanes, row, dr, rest);
    }
}

static void add_bend(const tc_estimator_kernels *kernels, const double *row, const double *a, const double *b,
                     size_t lanes, double *total) {
    if (row == NULL)
        kernels->total_product(lanes, a, b, total);
    else
        kernels->total_triple(lanes, row, a, b, total);
}

static void add_bends(const tc_estimator_kernels *kernels, const tc_estimator_family *of,
                      const tc_estimator_worker *worker, size_t at, size_t lanes) {
    for (size_t i = 0; i < of->bends.count; i++) {
        const tc_estimator_use *use = &of->bends.uses[i];
        const tc_estimator_row *is = &of->rows[use->row];
        const double *row = worker->rows[use->row];
        uint32_t a = of->pairs[use->at].column, b = of->pairs[use->at].other;
        add_bend(kernels, row, worker->dy[a] + at, worker->dy[b] + at, lanes, total_at(worker, of->curve_at + i));
        if (worker->has_dr[a] && worker->has_dr[b])
            add_bend(kernels, row, worker->dr[a] + at, worker->dr[b] + at, lanes,
                     total_at(worker, of->rest_curve_at + i));
        if (is->trace_at != SIZE_MAX && is->trace_by == i)
            kernels->total(lanes, row, total_at(worker, is->trace_at));
    }
}

/* x_hat NULL: the filters stay as they are. */
static void filter(const tc_estimator *estimator, const tc_estimator_family *of, tc_estimator_worker *worker,
                   size_t member, size_t count, const double *const *x_hat, size_t at) {
    if (x_hat == NULL)
        place(estimator, of, worker, member, count);
    for (size_t c = 0; c < of->family->dim; c++) {
        size_t first = c * of->family->count + member;
        const tc_estimator_filter to = {of->y + first, of->r + first, worker->r_hat[c], worker->dy[c], worker->dr[c]};
        if (x_hat == NULL) {
            worker->has_dr[c] = estimator->kernels->rest(count, to.r, to.r_hat, to.dr);
            continue;
        }
        tc_estimator_bounds bounds = bounds_of(of, worker, c, member, count);
        worker->has_dr[c] = estimator->kernels->filter(count, estimator->gains.beta, estimator->gains.slow,
                                                       x_hat[c] + at, &bounds, &to);
    }
}

/* At most TC_ESTIMATOR_BITE members, whose filters are done. */
static void take_bite(const tc_estimator *estimator, const tc_estimator_family *of, tc_estimator_worker *worker,
                      size_t member, size_t count) {
    const tc_estimator_kernels *kernels = estimator->kernels;
    size_t most = of->tape[0] != NULL ? tc_tape_lanes(of->tape[0]) : count; /* what a tape takes at once */
    for (size_t at = 0; at < count; at += most) {
        size_t lanes = count - at < most ? count - at : most;
        find_rows(of, worker, 0, member, at, lanes);
        for (size_t i = 0; i < of->summed_count; i++)
            kernels->total(lanes, worker->rows[of->summed[i]], total_at(worker, i));
        add_slopes(kernels, of, worker, at, lanes);
        add_bends(kernels, of, worker, at, lanes);
    }
}

/* x_hat NULL: without the filters. */
static void take_rows(const tc_estimator *estimator, tc_estimator_family *of, tc_estimator_worker *worker, size_t block,
                      const double *const *x_hat) {
    size_t first = block * TC_RELEASE_BLOCK, left = of->family->count - first;
    size_t count = left < TC_RELEASE_BLOCK ? left : TC_RELEASE_BLOCK;
    memset(worker->totals, 0, of->total_count * TC_TOTAL_LANES * sizeof *worker->totals);
    for (size_t at = 0; at < count; at += TC_ESTIMATOR_BITE) {
        size_t bite = count - at < TC_ESTIMATOR_BITE ? count - at : TC_ESTIMATOR_BITE;
        filter(estimator, of, worker, first + at, bite, x_hat, at);
        take_bite(estimator, of, worker, first + at, bite);
    }
    double *partial = of->partials + block * of->total_count;
    for (size_t i = 0; i < of->total_count; i++) {
        const double *t = total_at(worker, i);
        partial[i] = tc_total_of_lanes(t);
    }
}

/* ---- first pass: what is observed one by one --------------------------------------------------------------------- */

static inline void show(tc_estimator *estimator, size_t i) {
    double lower = estimator->lower[i], upper = estimator->upper[i], y = estimator->y[i], r = estimator->r[i];
    double r_hat = r < lower ? lower : r > upper ? upper : r;
    size_t input = estimator->first_observed + i;
    estimator->measurement.value[input] = r_hat;
    estimator->measurement.shift[input] = y - r_hat;
    estimator->measurement.rest[input] = r - r_hat;
}

static inline void observe(tc_estimator *estimator, size_t i, double observed) {
    estimator->y[i] += estimator->gains.beta * (observed - estimator->y[i]);
    estimator->r[i] += estimator->gains.slow * (observed - estimator->r[i]);
}

void tc_estimator_take(tc_estimator *estimator, size_t worker, size_t family, size_t block,
                       const double *const *x_hat) {
    tc_estimator_family *of = &estimator->families[family];
    size_t number = of->first_block + block, first = block * TC_RELEASE_BLOCK;
    if (of->has_rows)
        take_rows(estimator, of, &estimator->workers[worker], block, x_hat);
    for (size_t i = estimator->block_singles[number]; i < estimator->block_singles[number + 1]; i++) {
        const tc_estimator_single *s = &estimator->singles[i];
        observe(estimator, s->input - estimator->first_observed, x_hat[s->component][s->member - first]);
    }
}

void tc_estimator_take_forms(tc_estimator *estimator, const double *forms) {
    for (size_t i = 0; i < estimator->observed_count; i++)
        observe(estimator, i, forms[i]);
}

void tc_estimator_take_whole(tc_estimator *estimator, const double *x_hat) {
    for (size_t i = 0; i < estimator->observed_count; i++)
        observe(estimator, i, x_hat[estimator->observed[i]]);
    for (size_t f = 0; f < estimator->model->family_count && estimator->any_rows; f++) {
        tc_estimator_family *of = &estimator->families[f];
        for (size_t block = 0; of->has_rows && block < of->block_count; block++) {
            for (size_t c = 0; c < of->family->dim; c++)
                estimator->whole_states[c] = x_hat + tc_coord_of(of->family, block * TC_RELEASE_BLOCK, c);
            take_rows(estimator, of, &estimator->workers[0], block, estimator->whole_states);
        }
    }
}

/* ---- after every block: the measurement -------------------------------------------------------------------------- */

static void close_family(tc_estimator *estimator, tc_estimator_family *of) {
    tc_measurement *g = &estimator->measurement;
    double *total = of->partials;
    for (size_t b = 1; b < of->block_count; b++) /* in the order of the blocks, into the first one's place */
        for (size_t i = 0; i < of->total_count; i++)
            total[i] += total[b * of->total_count + i];
    for (size_t i = 0; i < of->value_count; i++)
        g->value[of->values[i].input] += of->values[i].factor * total[of->values[i].use];
    for (size_t i = 0; i < of->slopes.term_count; i++) {
        const tc_estimator_term *term = &of->slopes.terms[i];
        const tc_estimator_use *use = &of->slopes.uses[term->use];
        const tc_estimator_row *row = &of->rows[use->row];
        double scale = of->scale[use->at];
        g->shift[term->input] += term->factor * total[of->shift_at + term->use];
        g->rest[term->input] += term->factor * total[of->rest_at + term->use];
        if (row->size_at == SIZE_MAX)
            continue;
        double size = fabs(term->factor) * total[row->size_at];
        double square = term->factor * term->factor * total[row->size_at + 1];
        g->norm1[term->input] += size;
        g->reach[term->input] += scale * size;
        g->norm2[term->input] += scale * scale * square;
        g->noise[term->input] += of->variance * square;
    }
    for (size_t i = 0; i < of->bends.term_count; i++) {
        const tc_estimator_term *term = &of->bends.terms[i];
        const tc_estimator_use *use = &of->bends.uses[term->use];
        bool diagonal = of->pairs[use->at].column == of->pairs[use->at].other;
        double factor = diagonal ? term->factor : 2 * term->factor;
        g->curve[term->input] += factor * total[of->curve_at + term->use];
        g->rest_curve[term->input] += factor * total[of->rest_curve_at + term->use];
        if (diagonal && of->rows[use->row].trace_at != SIZE_MAX)
            g->trace[term->input] += of->variance * (factor * total[of->rows[use->row].trace_at]);
    }
}

static void reset(double *to, const double *from, size_t count) { memcpy(to, from, count * sizeof *to); }

const tc_measurement *tc_estimator_close(tc_estimator *estimator) {
    size_t sums = estimator->takes_forms ? 0 : estimator->first_observed;
    tc_estimator_share_totals(estimator);
    for (size_t i = 0; i < estimator->observed_count; i++)
        show(estimator, i);
    if (sums == 0 || !estimator->any_rows)
        return &estimator->measurement;
    reset(estimator->measurement.value, estimator->fixed.value, sums);
    reset(estimator->measurement.shift, estimator->fixed.shift, sums);
    reset(estimator->measurement.curve, estimator->fixed.curve, sums);
    reset(estimator->measurement.trace, estimator->fixed.trace, sums);
    reset(estimator->measurement.noise, estimator->fixed.noise, sums);
    reset(estimator->measurement.norm1, estimator->fixed.norm1, sums);
    reset(estimator->measurement.reach, estimator->fixed.reach, sums);
    reset(estimator->measurement.norm2, estimator->fixed.norm2, sums);
    reset(estimator->measurement.rest, estimator->fixed.rest, sums);
    reset(estimator->measurement.rest_curve, estimator->fixed.rest_curve, sums);
    for (size_t f = 0; f < estimator->model->family_count; f++)
        if (estimator->families[f].has_rows)
            close_family(estimator, &estimator->families[f]);
    return &estimator->measurement;
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

void tc_estimator_snapshot(tc_estimator *estimator, tc_snapshot *snapshot) {
    tc_snapshot_numbers(snapshot, estimator->y, estimator->observed_count);
    tc_snapshot_numbers(snapshot, estimator->r, estimator->observed_count);
    for (size_t f = 0; f < estimator->model->family_count; f++) {
        tc_estimator_family *of = &estimator->families[f];
        if (of->y == NULL)
            continue;
        tc_snapshot_numbers(snapshot, of->y, of->family->dim * of->family->count);
        tc_snapshot_numbers(snapshot, of->r, of->family->dim * of->family->count);
    }
}

const tc_measurement *tc_estimator_review(tc_estimator *estimator) {
    for (size_t f = 0; !estimator->takes_forms && f < estimator->model->family_count; f++) {
        tc_estimator_family *of = &estimator->families[f];
        for (size_t block = 0; of->has_rows && block < of->block_count; block++)
            take_rows(estimator, of, &estimator->workers[0], block, NULL);
    }
    return tc_estimator_close(estimator);
}

tc_tariff *tc_estimator_tariff(tc_estimator *estimator) { return &estimator->tariff; }

/* ---- second pass: the tariff is complete ------------------------------------------------------------------------- */

static void weigh_slopes(const tc_tariff *tariff, tc_estimator_family *of) {
    const tc_estimator_uses *slopes = &of->slopes;
    memset(slopes->weight, 0, slopes->count * sizeof *slopes->weight);
    memset(of->reach, 0, slopes->count * sizeof *of->reach);
    for (size_t i = 0; i < slopes->term_count; i++) {
        const tc_estimator_term *term = &slopes->terms[i];
        slopes->weight[term->use] += term->factor * tariff->price[term->input];
        of->reach[term->use] += of->scale[slopes->uses[term->use].at] * fabs(term->factor) * tariff->reach[term->input];
    }
    for (size_t c = 0; c < of->family->dim; c++) {
        size_t first = slopes->first[c];
        bool has_one = first < slopes->first[c + 1] && slopes->uses[first].row == 0;
        slopes->base[c] = has_one ? slopes->weight[first] : 0;
        of->reach_base[c] = has_one ? of->reach[first] : 0;
    }
}

static void weigh_bends(const tc_tariff *tariff, tc_estimator_family *of) {
    const tc_estimator_uses *bends = &of->bends;
    of->bends_now = false;
    of->bend_noise = 0;
    memset(bends->weight, 0, bends->count * sizeof *bends->weight);
    memset(of->bend_base, 0, of->family->dim * sizeof *of->bend_base);
    for (size_t i = 0; i < bends->term_count; i++)
        bends->weight[bends->terms[i].use] += bends->terms[i].factor * tariff->curvature[bends->terms[i].input];
    for (size_t i = 0; i < bends->count; i++)
        of->bends_now = of->bends_now || bends->weight[i] != 0;
    for (size_t i = 0; i < of->pair_count; i++) {
        const tc_estimator_pair *pair = &of->pairs[i];
        double number = bends->uses[bends->first[i]].row == 0 ? bends->weight[bends->first[i]] : 0;
        double scale = of->scale[pair->column], other = of->scale[pair->other];
        bends->base[i] = number;
        if (of->pair_is_row[i])
            continue;
        if (pair->column == pair->other) {
            of->bend_base[pair->column] += scale * scale * number;
            of->bend_noise += scale * scale * (number * number * of->variance);
        } else {
            of->bend_base[pair->column] += scale * other * fabs(number);
            of->bend_base[pair->other] += scale * other * fabs(number);
            of->bend_noise += (scale * scale + other * other) * (number * number * of->variance);
        }
    }
}

static double larger(double a, double b) { return a > b ? a : b; }

/* Families without rows: their coordinates depend on the tariff alone. */
static void look_at_lone(tc_estimator *estimator) {
    const tc_tariff *tariff = &estimator->tariff;
    double most_reach = 0, most_bend = 0, noise = 0;
    for (size_t i = 0; i < estimator->lone_count;) {
        size_t coordinate = estimator->lone[i].coordinate;
        double reach = 0, bend = 0;
        for (; i < estimator->lone_count && estimator->lone[i].coordinate == coordinate; i++) {
            const tc_estimator_single *s = &estimator->lone[i];
            reach += s->reach * tariff->reach[s->input];
            bend += s->bends ? tariff->bend[s->input] : 0;
            noise += s->bends ? tariff->bend_noise[s->input] : 0;
        }
        most_reach = larger(reach, most_reach);
        most_bend = larger(bend, most_bend);
    }
    estimator->lone_columns = (tc_columns){most_reach, most_bend, noise};
}

void tc_estimator_price(tc_estimator *estimator) {
    look_at_lone(estimator);
    if (!estimator->any_rows)
        return;
    estimator->same_reach = memcmp(estimator->last_reach, estimator->tariff.reach,
                                   estimator->measurement.count * sizeof *estimator->last_reach) == 0;
    memcpy(estimator->last_reach, estimator->tariff.reach,
           estimator->measurement.count * sizeof *estimator->last_reach);
    for (size_t f = 0; f < estimator->model->family_count; f++)
        if (estimator->families[f].has_rows) {
            weigh_slopes(&estimator->tariff, &estimator->families[f]);
            weigh_bends(&estimator->tariff, &estimator->families[f]);
        }
}

/* ---- second pass: prices -------------------------------------------------------------------------------------------
 *
 *     p_c = sum_s price_s b'_sc(r^) + (sum_s curvature_s b''_s(r^) dy)_c,    s over the inputs that depend on c */

typedef struct bite {
    const tc_estimator *estimator;
    const tc_estimator_family *of;
    tc_estimator_worker *worker;
    size_t member, count;
    const tc_estimator_single *singles, *singles_end; /* its own */
    bool reaches;                                     /* otherwise its reach is that of the pass before */
    double *const *p;
    tc_columns columns;
} bite;

/* The first single of the block whose member is not below. */
static const tc_estimator_single *single_from(const tc_estimator *estimator, size_t block, size_t member) {
    size_t at;
    TC_SEARCH(at, estimator->block_singles[block], estimator->block_singles[block + 1],
              estimator->singles[at].member < member);
    return estimator->singles + at;
}

/* A component has one number for all members, instead of a row, where nothing tells them apart. */
static void prepare_columns(const bite *b) {
    const tc_estimator_family *of = b->of;
    tc_estimator_worker *worker = b->worker;
    for (size_t c = 0; c < of->family->dim; c++) {
        worker->reach_is_row[c] = of->reach_by_member[c];
        worker->bend_is_row[c] = of->bend_by_member[c] && of->bends_now;
    }
    for (const tc_estimator_single *s = b->singles; s < b->singles_end; s++) {
        worker->reach_is_row[s->component] = true;
        worker->bend_is_row[s->component] |= s->bends;
    }
    for (size_t c = 0; c < of->family->dim; c++) {
        if (b->reaches && worker->reach_is_row[c])
            b->estimator->kernels->fill(b->count, of->reach_base[c], worker->reach[c]);
        if (worker->bend_is_row[c])
            b->estimator->kernels->fill(b->count, of->bend_base[c], worker->bend[c]);
        if (b->p != NULL)
            b->estimator->kernels->fill(b->count, of->slopes.base[c], b->p[c]);
    }
}

static void answer_slopes(const bite *b, size_t at, size_t lanes) {
    const tc_estimator_kernels *kernels = b->estimator->kernels;
    const tc_estimator_uses *slopes = &b->of->slopes;
    for (size_t i = 0; i < slopes->count; i++) {
        const tc_estimator_use *use = &slopes->uses[i];
        const double *row = b->worker->rows[use->row];
        double weight = slopes->weight[i], size_weight = b->of->reach[i];
        bool prices = b->p != NULL && weight != 0, reaches = b->reaches && size_weight != 0;
        if (row == NULL)
            continue;
        double *reach = b->worker->reach[use->at] + at;
        if (prices && reaches)
            kernels->add_both(lanes, weight, size_weight, row, b->p[use->at] + at, reach);
        else if (prices)
            kernels->add(lanes, weight, row, b->p[use->at] + at);
        else if (reaches)
            kernels->add_size(lanes, size_weight, row, reach);
    }
}

static const double *hessian_row(const bite *b, size_t pair, size_t lanes) {
    const tc_estimator_uses *bends = &b->of->bends;
    double *hessian = b->worker->hessian;
    b->estimator->kernels->fill(lanes, bends->base[pair], hessian);
    for (size_t i = bends->first[pair]; i < bends->first[pair + 1]; i++)
        if (bends->uses[i].row != 0 && bends->weight[i] != 0)
            b->estimator->kernels->add(lanes, bends->weight[i], b->worker->rows[bends->uses[i].row], hessian);
    return hessian;
}

static void answer_pair(bite *b, size_t number, size_t at, size_t lanes) {
    const tc_estimator_kernels *kernels = b->estimator->kernels;
    uint32_t a = b->of->pairs[number].column, other = b->of->pairs[number].other;
    const double *dy_a = b->worker->dy[a] + at, *dy_other = b->worker->dy[other] + at;
    if (!b->of->pair_is_row[number]) {
        double h = b->of->bends.base[number];
        if (h != 0 && b->p != NULL)
            kernels->add(lanes, h, dy_other, b->p[a] + at);
        if (h != 0 && b->p != NULL && a != other)
            kernels->add(lanes, h, dy_a, b->p[other] + at);
        return;
    }
    const double *h = hessian_row(b, number, lanes);
    double scale_a = b->of->scale[a], scale_other = b->of->scale[other], scales = scale_a * scale_other;
    double squares = a == other ? scales : scale_a * scale_a + scale_other * scale_other;
    size_t part = b->of->tape[1] != NULL ? TC_LANES : lanes; /* bits depend on it */
    for (size_t k = 0; k < lanes; k += part)
        b->columns.noise += squares * (b->of->variance * kernels->squares(lanes - k < part ? lanes - k : part, h + k));
    if (b->p != NULL)
        kernels->add_product(lanes, h, dy_other, b->p[a] + at);
    if (a == other) {
        kernels->add(lanes, scales, h, b->worker->bend[a] + at);
        return;
    }
    if (b->p != NULL)
        kernels->add_product(lanes, h, dy_a, b->p[other] + at);
    kernels->add_size(lanes, scales, h, b->worker->bend[a] + at);
    kernels->add_size(lanes, scales, h, b->worker->bend[other] + at);
}

static void answer_rows(bite *b) {
    const tc_estimator_family *of = b->of;
    bool bends = of->bends_now;
    bool points = of->slopes_vary || bends;
    if (of->row_count == 1 && !bends)
        return; /* all is in the numbers of prepare_columns */
    if (points)
        place(b->estimator, of, b->worker, b->member, b->count);
    size_t step = of->tape[1] != NULL ? tc_tape_lanes(of->tape[1]) : b->count;
    for (size_t at = 0; at < b->count; at += step) {
        size_t lanes = b->count - at < step ? b->count - at : step;
        find_rows(of, b->worker, 1, b->member, at, lanes);
        answer_slopes(b, at, lanes);
        for (size_t i = 0; bends && i < of->pair_count; i++)
            answer_pair(b, i, at, lanes);
    }
}

static void answer_singles(const bite *b) {
    const tc_tariff *tariff = &b->estimator->tariff;
    for (const tc_estimator_single *s = b->singles; s < b->singles_end; s++) {
        size_t k = s->member - b->member;
        if (b->p != NULL)
            b->p[s->component][k] += s->slope * tariff->price[s->input];
        if (b->of->has_rows && b->reaches)
            b->worker->reach[s->component][k] += s->reach * tariff->reach[s->input];
        if (b->of->has_rows && s->bends)
            b->worker->bend[s->component][k] += tariff->bend[s->input];
    }
}

static void look_at_columns(bite *b) {
    const tc_estimator_kernels *kernels = b->estimator->kernels;
    const tc_estimator_family *of = b->of;
    const tc_tariff *tariff = &b->estimator->tariff;
    for (size_t c = 0; c < of->family->dim; c++) {
        if (b->reaches)
            b->columns.reach = b->worker->reach_is_row[c]
                                   ? kernels->most(b->count, b->worker->reach[c], b->columns.reach)
                                   : larger(of->reach_base[c], b->columns.reach);
        b->columns.curvature = b->worker->bend_is_row[c]
                                   ? kernels->most(b->count, b->worker->bend[c], b->columns.curvature)
                                   : larger(of->bend_base[c], b->columns.curvature);
    }
    b->columns.noise += of->bend_noise * (double)b->count;
    for (const tc_estimator_single *s = b->singles; s < b->singles_end; s++)
        b->columns.noise += s->bends ? tariff->bend_noise[s->input] : 0;
}

static void answer_bite(tc_estimator *estimator, size_t worker, const tc_estimator_family *of, size_t member,
                        size_t count, double *const *p) {
    size_t block = of->first_block + member / TC_RELEASE_BLOCK;
    tc_columns *columns = &estimator->bite_columns[of->first_bite + member / TC_ESTIMATOR_BITE];
    bite b = {.estimator = estimator,
              .of = of,
              .worker = &estimator->workers[worker],
              .member = member,
              .count = count,
              .singles = single_from(estimator, block, member),
              .singles_end = single_from(estimator, block, member + count),
              .reaches = !(estimator->same_reach && !of->slopes_vary),
              .p = p};
    if (!of->has_rows) {
        for (size_t c = 0; p != NULL && c < of->family->dim; c++)
            estimator->kernels->fill(count, 0, p[c]);
        answer_singles(&b);
        return;
    }
    if (!b.reaches)
        b.columns.reach = columns->reach;
    prepare_columns(&b);
    answer_rows(&b);
    answer_singles(&b);
    look_at_columns(&b);
    *columns = b.columns;
}

void tc_estimator_answer(tc_estimator *estimator, size_t worker, size_t family, size_t block, size_t at, size_t count,
                         double *const *p) {
    const tc_estimator_family *of = &estimator->families[family];
    double **moved = estimator->workers[worker].answers;
    for (size_t k = 0; k < count; k += TC_ESTIMATOR_BITE) {
        size_t lanes = count - k < TC_ESTIMATOR_BITE ? count - k : TC_ESTIMATOR_BITE;
        for (size_t c = 0; p != NULL && c < of->family->dim; c++)
            moved[c] = p[c] + k;
        answer_bite(estimator, worker, of, block * TC_RELEASE_BLOCK + at + k, lanes, p == NULL ? NULL : moved);
    }
}

tc_columns tc_estimator_columns(tc_estimator *estimator) {
    tc_columns found = estimator->lone_columns;
    for (size_t i = 0; estimator->any_rows && i < estimator->bite_count; i++) {
        found.reach = larger(estimator->bite_columns[i].reach, found.reach);
        found.curvature = larger(estimator->bite_columns[i].curvature, found.curvature);
    }
    tc_estimator_share_columns(estimator, &found);
    for (size_t i = 0; estimator->any_rows && i < estimator->bite_count; i++)
        found.noise += estimator->bite_columns[i].noise;
    return found;
}

/* Skips families without rows: they have single coordinates alone. */
void tc_estimator_answer_whole(tc_estimator *estimator, double *p) {
    const double *price = estimator->tariff.price;
    if (p != NULL)
        memset(p, 0, estimator->model->state_count * sizeof *p);
    for (size_t i = 0; p != NULL && i < estimator->lone_count; i++)
        p[estimator->lone[i].coordinate] += estimator->lone[i].slope * price[estimator->lone[i].input];
    for (size_t f = 0; f < estimator->model->family_count && estimator->any_rows; f++) {
        const tc_estimator_family *of = &estimator->families[f];
        for (size_t k = 0; of->has_rows && k < of->family->count; k += TC_ESTIMATOR_BITE) {
            size_t left = of->family->count - k, count = left < TC_ESTIMATOR_BITE ? left : TC_ESTIMATOR_BITE;
            for (size_t c = 0; p != NULL && c < of->family->dim; c++)
                estimator->whole_answers[c] = p + tc_coord_of(of->family, k, c);
            answer_bite(estimator, 0, of, k, count, p == NULL ? NULL : estimator->whole_answers);
        }
    }
}
