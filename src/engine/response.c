#include "engine/response.h"

#include "engine/response_parts.h"

#include <string.h>

bool tc_response_is_single_pass(const tc_response *response) { return response->single_pass; }

bool tc_response_has_sums(const tc_response *response, size_t family) { return response->families[family].has_sums; }

/* ---- prices --------------------------------------------------------------------------------------------------------
 */

static void set_weights(tc_response_family *of, const double *prices) {
    memset(of->weight_values, 0, of->weight_count * sizeof *of->weight_values);
    memset(of->base_values, 0, of->family->dim * sizeof *of->base_values);
    for (size_t i = 0; i < of->weight_term_count; i++) {
        const tc_weight_term *term = &of->weight_terms[i];
        of->weight_values[term->weight] += term->factor * prices[term->sum];
    }
    for (size_t i = 0; i < of->base_term_count; i++) {
        const tc_weight_term *term = &of->base_terms[i];
        of->base_values[term->weight] += term->factor * prices[term->sum];
    }
}

static void set_prices(tc_response *response, const double *mu) {
    memset(response->prices, 0, response->derivatives->input_count * sizeof *response->prices);
    for (size_t i = 0; i < response->price_term_count; i++) {
        const tc_price_term *term = &response->price_terms[i];
        response->prices[term->input] += mu[term->row] * response->outer[term->slot];
    }
    for (size_t f = 0; f < response->model->family_count; f++)
        if (response->families[f].has_sums)
            set_weights(&response->families[f], response->prices);
}

void tc_response_open(tc_response *response, const double *mu) {
    if (response->single_pass)
        set_prices(response, mu);
}

/* ---- one block -----------------------------------------------------------------------------------------------------
 */

typedef struct block {
    tc_response *response;
    tc_response_worker *worker;
    tc_response_family *of;
    size_t number; /* among all blocks */
    size_t first, count;
    const double *const *x;
} block;

static double clipped(double x, double lower, double upper) { return x < lower ? lower : x > upper ? upper : x; }

static const double *const *move_inside(const block *b, const double *const *x_hat) {
    const tc_family *family = b->of->family;
    double **inside = b->worker->inside;
    for (size_t c = 0; c < family->dim; c++) {
        tc_coef lower = family->lower[c], upper = family->upper[c];
        if (lower.column == NULL && upper.column == NULL)
            for (size_t k = 0; k < b->count; k++)
                inside[c][k] = clipped(x_hat[c][k], lower.value, upper.value);
        else
            for (size_t k = 0; k < b->count; k++)
                inside[c][k] = clipped(x_hat[c][k], tc_coef_at(lower, b->first + k), tc_coef_at(upper, b->first + k));
    }
    return (const double *const *)inside;
}

static block open_block(tc_response *response, size_t worker, size_t family, size_t number,
                        const double *const *x_hat) {
    tc_response_family *of = &response->families[family];
    size_t first = number * TC_RELEASE_BLOCK, left = of->family->count - first;
    block b = {.response = response,
               .worker = &response->workers[worker],
               .of = of,
               .number = of->first_block + number,
               .first = first,
               .count = left < TC_RELEASE_BLOCK ? left : TC_RELEASE_BLOCK,
               .x = x_hat};
    if (response->clips)
        b.x = move_inside(&b, x_hat);
    return b;
}

/* The atoms' rows for members at .. of the block, those of one pass evaluated. */
static void find_rows(const block *b, const tc_tape *tape, size_t at, size_t lanes) {
    bool second = tape != NULL && tape == b->of->second;
    const tc_family *family = b->of->family;
    tc_response_worker *worker = b->worker;
    for (size_t c = 0; c < family->dim; c++)
        worker->state[c] = b->x[c] + at;
    for (size_t d = 0; d < family->column_count; d++)
        worker->data[d] = family->columns[d].values + b->first + at;
    if (tape != NULL) {
        tc_inputs inputs = {.state = worker->state, .data = worker->data};
        tc_tape_eval(tape, &inputs, lanes, worker->work, worker->output);
    }
    for (size_t a = 0; a < b->of->atom_count; a++) {
        const tc_atom *atom = &b->of->atoms[a];
        worker->rows[a] = atom->from == TC_ATOM_STATE  ? worker->state[atom->index[0]]
                          : atom->from == TC_ATOM_DATA ? worker->data[atom->index[0]]
                                                       : worker->output[atom->index[second]];
    }
}

static void add_row(double *restrict totals, const double *restrict row, size_t lanes) {
    size_t whole = lanes - lanes % TC_SUM_LANES;
    for (size_t k = 0; k < whole; k += TC_SUM_LANES)
        for (size_t i = 0; i < TC_SUM_LANES; i++)
            totals[i] += row[k + i];
    for (size_t k = whole; k < lanes; k++)
        totals[k - whole] += row[k];
}

static void add_rows(const block *b, size_t lanes) {
    for (size_t s = 0; s < b->of->summed_count; s++)
        add_row(b->worker->totals + s * TC_SUM_LANES, b->worker->rows[b->of->summed[s]], lanes);
}

static void keep_totals(const block *b) {
    size_t number = b->number - b->of->first_block;
    double *partial = b->response->partials + b->of->first_partial + number * b->of->summed_count;
    for (size_t s = 0; s < b->of->summed_count; s++) {
        const double *t = b->worker->totals + s * TC_SUM_LANES;
        partial[s] = ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
    }
}

static void fill(double *restrict out, double value, size_t lanes) {
    for (size_t k = 0; k < lanes; k++)
        out[k] = value;
}

static void begin_row(double *restrict out, double base, double weight, const double *restrict row, size_t lanes) {
    for (size_t k = 0; k < lanes; k++)
        out[k] = base + weight * row[k];
}

static void continue_row(double *restrict out, double weight, const double *restrict row, size_t lanes) {
    for (size_t k = 0; k < lanes; k++)
        out[k] += weight * row[k];
}

static void answer_rows(const block *b, size_t at, size_t lanes, double *const *p) {
    const tc_response_family *of = b->of;
    for (size_t c = 0; c < of->family->dim; c++) {
        size_t w = of->first_weight[c], end = of->first_weight[c + 1];
        double base = of->base_values[c];
        if (w == end) {
            fill(p[c] + at, base, lanes);
            continue;
        }
        begin_row(p[c] + at, base, of->weight_values[w], b->worker->rows[of->weights[w].atom], lanes);
        for (w++; w < end; w++)
            continue_row(p[c] + at, of->weight_values[w], b->worker->rows[of->weights[w].atom], lanes);
    }
}

/* Members in bites: as many as a tape takes at once, or all where there is no tape. */
static void run_block(const block *b, const tc_tape *tape, bool adds, double *const *p) {
    size_t bite = tape != NULL ? TC_LANES : b->count;
    if (adds)
        memset(b->worker->totals, 0, b->of->summed_count * TC_SUM_LANES * sizeof *b->worker->totals);
    for (size_t at = 0; at < b->count; at += bite) {
        size_t lanes = b->count - at < bite ? b->count - at : bite;
        find_rows(b, tape, at, lanes);
        if (adds)
            add_rows(b, lanes);
        if (p != NULL)
            answer_rows(b, at, lanes, p);
    }
    if (adds)
        keep_totals(b);
}

static void answer_singles(const block *b, double *const *p) {
    const tc_response *response = b->response;
    for (size_t i = response->block_singles[b->number]; i < response->block_singles[b->number + 1]; i++) {
        const tc_response_single *single = &response->singles[i];
        p[single->component][single->member - b->first] += response->prices[single->input];
    }
}

static void answer(const block *b, const tc_tape *tape, bool adds, double *const *p) {
    if (b->of->has_sums)
        run_block(b, tape, adds, p);
    else
        for (size_t c = 0; c < b->of->family->dim; c++)
            fill(p[c], 0, b->count);
    answer_singles(b, p);
}

void tc_response_block(tc_response *response, size_t worker, size_t family, size_t number, const double *const *x_hat,
                       double *const *p) {
    block b = open_block(response, worker, family, number, x_hat);
    for (size_t i = response->block_singles[b.number]; i < response->block_singles[b.number + 1]; i++) {
        const tc_response_single *single = &response->singles[i];
        response->coords[single->coordinate] = b.x[single->component][single->member - b.first];
    }
    if (response->single_pass)
        answer(&b, b.of->first, true, p);
    else if (b.of->has_sums)
        run_block(&b, b.of->first, true, NULL);
}

void tc_response_answers(tc_response *response, size_t worker, size_t family, size_t number, const double *const *x_hat,
                         double *const *p) {
    block b = open_block(response, worker, family, number, x_hat);
    answer(&b, b.of->second, false, p);
}

/* ---- what comes after the sums -------------------------------------------------------------------------------------
 */

static void add_sums(tc_response *response) {
    if (response->model->sum_count > 0)
        memcpy(response->sums, response->constants, response->model->sum_count * sizeof *response->sums);
    for (size_t f = 0; f < response->model->family_count; f++) {
        tc_response_family *of = &response->families[f];
        size_t end = f + 1 < response->model->family_count ? of[1].first_block : response->block_count;
        if (!of->has_sums)
            continue;
        double *total = response->partials + of->first_partial;
        for (size_t b = 1; b < end - of->first_block; b++) /* in the order of the blocks, into the first one's place */
            for (size_t s = 0; s < of->summed_count; s++)
                total[s] += total[b * of->summed_count + s];
        for (size_t i = 0; i < of->sum_term_count; i++) {
            const tc_sum_term *term = &of->sum_terms[i];
            response->sums[term->sum] += term->factor * total[term->summed];
        }
    }
}

void tc_response_close(tc_response *response, const double *mu, double *constraints) {
    add_sums(response);
    tc_program_eval(response->program, response->coords, response->sums, response->program_work, response->outer);
    if (response->model->constraint_count > 0)
        memcpy(constraints, response->outer, response->model->constraint_count * sizeof *constraints);
    if (!response->single_pass)
        set_prices(response, mu);
}

/* ---- all at once ---------------------------------------------------------------------------------------------------
 */

static void run_sums(tc_response *response, const double *states, double *p, bool second) {
    for (size_t f = 0; f < response->model->family_count; f++) {
        const tc_response_family *of = &response->families[f];
        for (size_t first = 0, number = 0; of->has_sums && first < of->family->count;
             first += TC_RELEASE_BLOCK, number++) {
            for (size_t c = 0; c < of->family->dim; c++) {
                response->whole_states[c] = states + tc_coord_of(of->family, first, c);
                response->whole_answers[c] = p + tc_coord_of(of->family, first, c);
            }
            block b = open_block(response, 0, f, number, response->whole_states);
            run_block(&b, second ? of->second : of->first, !second,
                      second || response->single_pass ? response->whole_answers : NULL);
        }
    }
}

void tc_response_whole(tc_response *response, tc_released *released, const double *mu, double *p) {
    tc_response_open(response, mu);
    memset(p, 0, response->model->state_count * sizeof *p);
    for (size_t i = 0; i < response->single_count; i++) {
        const tc_response_single *single = &response->singles[i];
        double x = released->states[single->coordinate];
        response->coords[single->coordinate] = response->clips ? clipped(x, single->lower, single->upper) : x;
    }
    run_sums(response, released->states, p, false);
    tc_response_close(response, mu, released->constraints);
    if (!response->single_pass)
        run_sums(response, released->states, p, true);
    for (size_t i = 0; i < response->single_count; i++)
        p[response->singles[i].coordinate] += response->prices[response->singles[i].input];
}
