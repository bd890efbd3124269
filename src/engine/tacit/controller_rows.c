#include "engine/tacit/controller_inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- structure --------------------------------------------------------------------------------------------------- */

static void list_identity(tc_arena *arena, tc_controller_rows *rows) {
    size_t m = rows->count;
    rows->first = TC_NEW(arena, double, m);
    rows->first_input = TC_NEW(arena, uint32_t, m);
    rows->first_start = TC_NEW(arena, size_t, m + 1);
    rows->second_start = TC_NEW(arena, size_t, m + 1);
    rows->value = TC_NEW(arena, double, m);
    for (size_t j = 0; j < m; j++) {
        rows->first[j] = rows->inverse_S[j];
        rows->first_input[j] = (uint32_t)j;
        rows->first_start[j + 1] = j + 1;
    }
}

static int compare_pairs(const void *x, const void *y) {
    const struct tc_input_pair *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

static void list_pairs(tc_arena *arena, tc_controller_rows *rows, const tc_derivatives *derivatives) {
    size_t count = derivatives->outer_second_count;
    rows->pairs = TC_NEW(arena, struct tc_input_pair, count);
    rows->second_pair = TC_NEW(arena, uint32_t, count);
    for (size_t e = 0; e < count; e++) {
        const tc_second *second = &derivatives->outer_second[e];
        bool within =
            derivatives->inputs[second->column].op == TC_COORD && derivatives->inputs[second->other].op == TC_COORD;
        rows->pairs[e] = (struct tc_input_pair){.a = second->column, .b = second->other, .within = within};
    }
    if (count > 0)
        qsort(rows->pairs, count, sizeof *rows->pairs, compare_pairs);
    for (size_t e = 0; e < count; e++)
        if (e == 0 || compare_pairs(&rows->pairs[e], &rows->pairs[rows->pair_count - 1]) != 0)
            rows->pairs[rows->pair_count++] = rows->pairs[e];
    for (size_t e = 0; e < count; e++) {
        const tc_second *second = &derivatives->outer_second[e];
        const struct tc_input_pair key = {.a = second->column, .b = second->other};
        const struct tc_input_pair *found =
            bsearch(&key, rows->pairs, rows->pair_count, sizeof *rows->pairs, compare_pairs);
        rows->second_pair[e] = (uint32_t)(found - rows->pairs);
    }
    rows->bent = TC_NEW(arena, double, rows->pair_count);
}

/* Entries are sorted by row. */
static void list_entries(tc_arena *arena, tc_controller_rows *rows, const tc_derivatives *derivatives) {
    size_t firsts = derivatives->outer_first_count, seconds = derivatives->outer_second_count;
    rows->first_input = TC_NEW(arena, uint32_t, firsts);
    rows->first_start = TC_NEW(arena, size_t, rows->count + 1);
    rows->second_start = TC_NEW(arena, size_t, rows->count + 1);
    for (size_t e = 0; e < firsts; e++)
        rows->first_input[e] = derivatives->outer_first[e].column;
    for (size_t j = 0, e = 0, s = 0; j <= rows->count; j++) {
        while (e < firsts && derivatives->outer_first[e].row < j)
            e++;
        while (s < seconds && derivatives->outer_second[s].row < j)
            s++;
        rows->first_start[j] = e;
        rows->second_start[j] = s;
    }
}

static void compile(tc_arena *arena, tc_controller_rows *rows, const tc_model *model,
                    const tc_derivatives *derivatives) {
    size_t m = rows->count, firsts = derivatives->outer_first_count, seconds = derivatives->outer_second_count;
    tc_expr *roots = TC_NEW(arena, tc_expr, m + firsts + seconds);
    for (size_t j = 0; j < m; j++)
        roots[j] = model->constraints[j].outer;
    for (size_t e = 0; e < firsts; e++)
        roots[m + e] = derivatives->outer_first[e].value;
    for (size_t e = 0; e < seconds; e++)
        roots[m + firsts + e] = derivatives->outer_second[e].value;
    rows->program = tc_program_new(arena, model, roots, m + firsts + seconds);
    rows->work = TC_NEW(arena, double, tc_program_work(rows->program));
    tc_program_prepare(rows->program, rows->work);
    rows->out = TC_NEW(arena, double, m + firsts + seconds);
    rows->value = rows->out;
    rows->first = rows->out + m;
    rows->second = rows->first + firsts;
}

static void place_inputs(tc_arena *arena, tc_controller_rows *rows, const tc_model *model,
                         const tc_derivatives *derivatives) {
    while (rows->sum_count < derivatives->input_count && derivatives->inputs[rows->sum_count].op == TC_SUM)
        rows->sum_count++;
    rows->sum_inputs = derivatives->inputs;
    rows->coord_inputs = derivatives->inputs + rows->sum_count;
    rows->coord_count = derivatives->input_count - rows->sum_count;
    rows->sums = TC_NEW(arena, double, model->sum_count);
    rows->coords = TC_NEW(arena, double, rows->coord_count > 0 ? model->state_count : 0);
}

void tc_controller_rows_new(tc_arena *arena, tc_controller_rows *rows, const tc_plan *plan, const tc_model *model,
                            const tc_derivatives *derivatives, const double *inverse_S) {
    size_t m = model->constraint_count;
    bool identity = plan->placement == TC_PLACEMENT_OUTPUTS;
    *rows = (tc_controller_rows){.count = m,
                                 .inputs = identity ? m : derivatives->input_count,
                                 .inverse_S = inverse_S,
                                 .g_hat = TC_NEW(arena, double, m),
                                 .reach = TC_NEW(arena, double, m),
                                 .rho = TC_NEW(arena, double, m),
                                 .noise = TC_NEW(arena, double, m)};
    if (identity) {
        list_identity(arena, rows);
        return;
    }
    list_entries(arena, rows, derivatives);
    list_pairs(arena, rows, derivatives);
    place_inputs(arena, rows, model, derivatives);
    compile(arena, rows, model, derivatives);
}

/* ---- a round ----------------------------------------------------------------------------------------------------- */

void tc_controller_rows_evaluate(tc_controller_rows *rows, const tc_measurement *measurement) {
    if (rows->program == NULL) {
        for (size_t j = 0; j < rows->count; j++)
            rows->value[j] = rows->inverse_S[j] * measurement->value[j];
        return;
    }
    for (size_t s = 0; s < rows->sum_count; s++)
        rows->sums[rows->sum_inputs[s].index] = measurement->value[s];
    for (size_t c = 0; c < rows->coord_count; c++)
        rows->coords[rows->coord_inputs[c].index] = measurement->value[rows->sum_count + c];
    tc_program_eval(rows->program, rows->coords, rows->sums, rows->work, rows->out);
    for (size_t j = 0; j < rows->count; j++) {
        rows->value[j] *= rows->inverse_S[j];
        for (size_t e = rows->first_start[j]; e < rows->first_start[j + 1]; e++)
            rows->first[e] *= rows->inverse_S[j];
        for (size_t e = rows->second_start[j]; e < rows->second_start[j + 1]; e++)
            rows->second[e] *= rows->inverse_S[j];
    }
}

/* g^ = g(r^) + g'(r^)(y - r^) + (y - r^)' g''(r^) (y - r^)/2 - (what the noise in y adds on the average), which for
 * g_j = Phi_j(z) and A, C, tr, G2 of the inputs (estimator.h) is
 *
 *     g^_j = Phi_j + Phi_j' (A + (C - vy tr)/2) + (A' Phi_j'' A - vy sum_s Phi_j,ss G2_s)/2,
 *
 * as if inputs had no coordinates in common. */
static void measure_row(tc_controller_rows *rows, const tc_measurement *measurement, double vy, size_t j) {
    double g_hat = rows->value[j], reach = 0, noise = 0, curved = 0;
    for (size_t e = rows->first_start[j]; e < rows->first_start[j + 1]; e++) {
        uint32_t s = rows->first_input[e];
        double slope = rows->first[e];
        g_hat += slope * (measurement->shift[s] + (measurement->curve[s] - vy * measurement->trace[s]) / 2);
        reach += fabs(slope) * measurement->reach[s];
        noise += slope * slope * measurement->noise[s];
    }
    for (size_t e = rows->second_start[j]; e < rows->second_start[j + 1]; e++) {
        const struct tc_input_pair *pair = &rows->pairs[rows->second_pair[e]];
        double product = measurement->shift[pair->a] * measurement->shift[pair->b];
        curved += rows->second[e] * (pair->a == pair->b ? product - vy * measurement->noise[pair->a] : 2 * product);
    }
    rows->g_hat[j] = g_hat + curved / 2;
    rows->reach[j] = reach;
    rows->noise[j] = noise;
}

size_t tc_controller_rows_measure(tc_controller_rows *rows, const tc_measurement *measurement, double vy) {
    rows->most_reach = 0;
    for (size_t j = 0; j < rows->count; j++) {
        measure_row(rows, measurement, vy, j);
        if (!isfinite(rows->g_hat[j]) || !isfinite(rows->reach[j]) || !isfinite(rows->noise[j]))
            return j;
        rows->most_reach = fmax(rows->most_reach, rows->reach[j]);
    }
    return TC_ALL_FINITE;
}

void tc_controller_rows_stride(tc_controller_rows *rows, double most) {
    rows->total_noise = 0;
    for (size_t j = 0; j < rows->count; j++) {
        bool is_flat = !(most * rows->reach[j] > rows->most_reach);
        rows->rho[j] = is_flat ? most : rows->most_reach / rows->reach[j];
        rows->total_noise += rows->rho[j] * rows->noise[j];
    }
}

tc_controller_bends tc_controller_rows_bend(tc_controller_rows *rows, const tc_measurement *measurement,
                                            const double *mu) {
    tc_controller_bends found = {0};
    if (rows->pair_count == 0)
        return found;
    memset(rows->bent, 0, rows->pair_count * sizeof *rows->bent);
    for (size_t j = 0; j < rows->count; j++)
        for (size_t e = rows->second_start[j]; mu[j] != 0 && e < rows->second_start[j + 1]; e++)
            rows->bent[rows->second_pair[e]] += mu[j] * rows->second[e];
    for (size_t i = 0; i < rows->pair_count; i++) {
        uint32_t a = rows->pairs[i].a, b = rows->pairs[i].b;
        double bent = rows->bent[i];
        if (rows->pairs[i].within)
            continue;
        if (a == b) {
            found.curvature += fmax(0, bent) * measurement->norm2[a];
            found.noise += bent * bent * measurement->norm2[a] * measurement->noise[a];
        } else {
            found.curvature += 2 * fabs(bent) * sqrt(measurement->norm2[a] * measurement->norm2[b]);
            found.noise +=
                bent * bent *
                (measurement->norm2[a] * measurement->noise[b] + measurement->norm2[b] * measurement->noise[a]);
        }
    }
    return found;
}

static void add_bends(const tc_controller_rows *rows, const tc_measurement *measurement,
                      const tc_controller_input *inputs, tc_tariff *tariff) {
    for (size_t i = 0; i < rows->pair_count; i++) {
        uint32_t a = rows->pairs[i].a, b = rows->pairs[i].b;
        double bent = rows->bent[i];
        tariff->price[a] += bent * measurement->shift[b];
        if (a != b)
            tariff->price[b] += bent * measurement->shift[a];
        if (!rows->pairs[i].within)
            continue;
        double scale_a = inputs[a].scale, scale_b = inputs[b].scale, scaled = scale_a * scale_b * bent;
        tariff->bend[a] += a == b ? scaled : fabs(scaled);
        tariff->bend_noise[a] += scale_a * scale_a * (bent * bent * inputs[b].variance);
        if (a != b) {
            tariff->bend[b] += fabs(scaled);
            tariff->bend_noise[b] += scale_b * scale_b * (bent * bent * inputs[a].variance);
        }
    }
}

void tc_controller_rows_tariff(const tc_controller_rows *rows, const tc_measurement *measurement, const double *mu,
                               const double *mu_led, const tc_controller_input *inputs, tc_tariff *tariff) {
    double *const all[] = {tariff->price, tariff->curvature, tariff->reach, tariff->bend, tariff->bend_noise};
    for (size_t i = 0; rows->inputs > 0 && i < sizeof all / sizeof *all; i++)
        memset(all[i], 0, rows->inputs * sizeof *all[i]);
    for (size_t j = 0; j < rows->count; j++)
        for (size_t e = rows->first_start[j]; e < rows->first_start[j + 1]; e++) {
            uint32_t s = rows->first_input[e];
            tariff->price[s] += mu_led[j] * rows->first[e];
            tariff->curvature[s] += mu[j] * rows->first[e];
            tariff->reach[s] += fabs(rows->first[e]);
        }
    add_bends(rows, measurement, inputs, tariff);
}
