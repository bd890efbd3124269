#include "engine/published/response.h"

#include "engine/published/response_parts.h"

#include <string.h>

bool tc_response_is_single_pass(const tc_response *response) { return response->single_pass; }

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

static double clipped(double x, double lower, double upper) { return x < lower ? lower : x > upper ? upper : x; }

static const double *const *move_inside(const tc_response_worker *worker, const double *const *x_hat, size_t count) {
    const tc_family *family = worker->of->family;
    double **inside = worker->inside;
    for (size_t c = 0; c < family->dim; c++) {
        tc_coef lower = family->lower[c], upper = family->upper[c];
        if (lower.column == NULL && upper.column == NULL)
            for (size_t k = 0; k < count; k++)
                inside[c][k] = clipped(x_hat[c][k], lower.value, upper.value);
        else
            for (size_t k = 0; k < count; k++)
                inside[c][k] =
                    clipped(x_hat[c][k], tc_coef_at(lower, worker->first + k), tc_coef_at(upper, worker->first + k));
    }
    return (const double *const *)inside;
}

/* The coordinates that constraints name. */
static void keep_coords(tc_response *response, const tc_response_worker *worker) {
    for (size_t i = response->block_singles[worker->number]; i < response->block_singles[worker->number + 1]; i++) {
        const tc_response_single *single = &response->singles[i];
        response->coords[single->coordinate] = worker->x[single->component][single->member - worker->first];
    }
}

void tc_response_begin(tc_response *response, size_t number, size_t family, size_t block, const double *const *x_hat,
                       bool second) {
    tc_response_worker *worker = &response->workers[number];
    tc_response_family *of = &response->families[family];
    size_t left = of->family->count - block * TC_RELEASE_BLOCK;
    worker->of = of;
    worker->number = of->first_block + block;
    worker->first = block * TC_RELEASE_BLOCK;
    worker->second = second;
    worker->single = response->block_singles[worker->number];
    worker->x = x_hat;
    if (response->clips)
        worker->x = move_inside(worker, x_hat, left < TC_RELEASE_BLOCK ? left : TC_RELEASE_BLOCK);
    if (second)
        return;
    keep_coords(response, worker);
    memset(worker->totals, 0, of->summed_count * TC_SUM_LANES * sizeof *worker->totals);
}

/* The atoms' rows for members at .. of the block, those of the pass evaluated. */
static void find_rows(const tc_response_worker *worker, const tc_tape *tape, size_t at, size_t lanes) {
    const tc_response_family *of = worker->of;
    const tc_family *family = of->family;
    for (size_t c = 0; c < family->dim; c++)
        worker->state[c] = worker->x[c] + at;
    for (size_t d = 0; d < family->column_count; d++)
        worker->data[d] = family->columns[d].values + worker->first + at;
    if (tape != NULL) {
        tc_inputs inputs = {.state = worker->state, .data = worker->data};
        tc_tape_eval(tape, &inputs, lanes, worker->work, worker->output);
    }
    for (size_t a = 0; a < of->atom_count; a++) {
        const tc_atom *atom = &of->atoms[a];
        worker->rows[a] = atom->from == TC_ATOM_STATE  ? worker->state[atom->index[0]]
                          : atom->from == TC_ATOM_DATA ? worker->data[atom->index[0]]
                                                       : worker->output[atom->index[worker->second]];
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

static void add_rows(const tc_response_worker *worker, size_t lanes) {
    for (size_t s = 0; s < worker->of->summed_count; s++)
        add_row(worker->totals + s * TC_SUM_LANES, worker->rows[worker->of->summed[s]], lanes);
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

static void answer_rows(const tc_response_worker *worker, size_t at, size_t lanes, double *const *p) {
    const tc_response_family *of = worker->of;
    for (size_t c = 0; c < of->family->dim; c++) {
        size_t w = of->first_weight[c], end = of->first_weight[c + 1];
        double base = of->base_values[c];
        if (w == end) {
            fill(p[c] + at, base, lanes);
            continue;
        }
        begin_row(p[c] + at, base, of->weight_values[w], worker->rows[of->weights[w].atom], lanes);
        for (w++; w < end; w++)
            continue_row(p[c] + at, of->weight_values[w], worker->rows[of->weights[w].atom], lanes);
    }
}

static void answer_singles(const tc_response *response, tc_response_worker *worker, size_t at, size_t count,
                           double *const *p) {
    size_t end = response->block_singles[worker->number + 1], begin = worker->first + at;
    for (; worker->single < end && response->singles[worker->single].member < begin + count; worker->single++) {
        const tc_response_single *single = &response->singles[worker->single];
        p[single->component][single->member - begin] += response->prices[single->input];
    }
}

void tc_response_bite(tc_response *response, size_t number, size_t at, size_t count, double *const *p) {
    tc_response_worker *worker = &response->workers[number];
    const tc_response_family *of = worker->of;
    const tc_tape *tape = worker->second ? of->second : of->first;
    bool answers = worker->second || response->single_pass;
    size_t step = tape != NULL ? TC_LANES : count; /* a tape takes so many at once */
    for (size_t k = 0; of->has_sums && k < count; k += step) {
        size_t lanes = count - k < step ? count - k : step;
        find_rows(worker, tape, at + k, lanes);
        if (!worker->second)
            add_rows(worker, lanes);
        if (answers)
            answer_rows(worker, k, lanes, p);
    }
    for (size_t c = 0; answers && !of->has_sums && c < of->family->dim; c++)
        fill(p[c], 0, count);
    if (answers)
        answer_singles(response, worker, at, count, p);
}

void tc_response_end(tc_response *response, size_t number) {
    const tc_response_worker *worker = &response->workers[number];
    const tc_response_family *of = worker->of;
    double *partial = response->partials + of->first_partial + (worker->number - of->first_block) * of->summed_count;
    for (size_t s = 0; !worker->second && s < of->summed_count; s++) {
        const double *t = worker->totals + s * TC_SUM_LANES;
        partial[s] = ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
    }
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
    for (size_t j = 0; j < response->model->constraint_count; j++)
        constraints[j] -= response->bias[j];
    if (!response->single_pass)
        set_prices(response, mu);
}

/* ---- all at once ---------------------------------------------------------------------------------------------------
 */

static void run_sums(tc_response *response, const double *states, double *p, bool second) {
    for (size_t f = 0; f < response->model->family_count; f++) {
        const tc_response_family *of = &response->families[f];
        for (size_t k = 0; of->has_sums && k < of->family->count; k += TC_RESPONSE_BITE) {
            size_t block = k / TC_RELEASE_BLOCK, at = k % TC_RELEASE_BLOCK, left = of->family->count - k;
            size_t count = left < TC_RESPONSE_BITE ? left : TC_RESPONSE_BITE;
            for (size_t c = 0; c < of->family->dim; c++) {
                response->whole_states[c] = states + tc_coord_of(of->family, k - at, c);
                response->whole_answers[c] = p + tc_coord_of(of->family, k, c);
            }
            if (at == 0)
                tc_response_begin(response, 0, f, block, response->whole_states, second);
            tc_response_bite(response, 0, at, count, response->whole_answers);
            if (at + count == TC_RELEASE_BLOCK || count == left)
                tc_response_end(response, 0);
        }
    }
}

/* Families without sums have nothing but their single coordinates, so they are not gone through. */
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
    for (size_t i = 0; i < response->single_count; i++) {
        const tc_response_single *single = &response->singles[i];
        if (!response->families[single->family].has_sums)
            p[single->coordinate] = response->prices[single->input];
    }
}
