#include "lab/baseline.h"

#include "base/ranks/ranks.h"

#include <math.h>

/* ---- the problem without constraints ---- */

typedef struct lone_problem {
    tc_model model;
    tc_derivatives derivatives;
} lone_problem;

/* Shares all that is about agents alone. */
static void leave_alone(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives, lone_problem *lone) {
    *lone = (lone_problem){.model = *model};
    lone->model.constraint_count = lone->model.sum_count = 0;
    lone->derivatives.families = TC_NEW(arena, tc_family_derivatives, model->family_count + 1);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_derivatives *of = &derivatives->families[f];
        lone->derivatives.families[f] = (tc_family_derivatives){.lift = of->lift,
                                                                .bends = of->bends,
                                                                .objective_first = of->objective_first,
                                                                .objective_second = of->objective_second,
                                                                .objective_first_count = of->objective_first_count,
                                                                .objective_second_count = of->objective_second_count};
    }
}

size_t tc_worst_row(const tc_model *model, const double *constraints) {
    size_t worst = model->constraint_count;
    double most = 0;
    for (size_t j = 0; j < model->constraint_count; j++) {
        double violation = model->constraints[j].is_equality ? fabs(constraints[j]) : constraints[j];
        if (violation > most) {
            most = violation;
            worst = j;
        }
    }
    return worst;
}

static const tc_baseline *measured(tc_arena *arena, const tc_model *model, const tc_reference *reference,
                                   const double *x) {
    tc_baseline *baseline = TC_NEW(arena, tc_baseline, 1);
    baseline->row.constraints = TC_NEW(arena, double, model->constraint_count + 1);
    baseline->row.multipliers = TC_NEW(arena, double, model->constraint_count + 1);
    tc_mark mark = tc_arena_mark(arena);
    const double *no_prices = TC_NEW(arena, double, model->constraint_count + 1);
    tc_measure_row(tc_measure_new(arena, model, reference), x, no_prices, &baseline->row);
    tc_arena_rewind(arena, mark);
    baseline->worst = tc_worst_row(model, baseline->row.constraints);
    return baseline;
}

const tc_baseline *tc_baseline_of_zero_prices(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                              const tc_reference *reference, double tolerance, size_t threads,
                                              const tc_monitor *monitor) {
    lone_problem lone;
    leave_alone(arena, model, derivatives, &lone);
    const tc_reference *found = tc_reference_solve(arena, &lone.model, &lone.derivatives, tolerance, threads, monitor);
    if (found->outcome == TC_SOLVE_INTERRUPTED || found->outcome == TC_INFEASIBLE_SUSPECTED)
        return NULL;
    return measured(arena, model, reference, found->x);
}

const tc_baseline *tc_baseline_of_slater(tc_arena *arena, const tc_model *model, const tc_reference *reference) {
    double *x = TC_NEW(arena, double, model->state_count + 1);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        if (!family->has_slater)
            return NULL;
        for (size_t k = 0; k < family->count; k++) {
            for (size_t c = 0; c < family->dim; c++)
                x[tc_coord_of(family, k, c)] = tc_coef_at(family->slater[c], k);
        }
    }
    return measured(arena, model, reference, x);
}

/* ---- better than nothing ---- */

static const double WORTH_IT = 0.9;

bool tc_baseline_dominates(const tc_baseline *baseline, const tc_model *model, double x_error, double max_violation) {
    double largest = 0;
    if (baseline == NULL || isnan(baseline->row.x_error) || isnan(x_error) || isnan(max_violation))
        return false;
    for (size_t j = 0; j < model->constraint_count; j++)
        largest = fmax(largest, fabs(baseline->row.constraints[j]));
    double violation = baseline->row.max_violation <= 1e-6 * largest ? 0 : baseline->row.max_violation;
    return WORTH_IT * baseline->row.x_error <= x_error && WORTH_IT * violation <= max_violation;
}

tc_tally tc_baseline_tally(const tc_baseline *baseline, const tc_model *model, const tc_record *records, size_t count) {
    tc_tally tally = {0};
    for (size_t i = 0; i < count; i++) {
        const tc_row *last = tc_record_last(&records[i]);
        if (last == NULL)
            continue;
        tally.runs++;
        tally.dominated += tc_baseline_dominates(baseline, model, last->x_error, last->max_violation);
    }
    return tally;
}

/* ---- has it arrived? ---- */

static double share(double error, double size, double from_start) {
    double whole = fmax(size, from_start);
    return whole > 0 ? error / whole : 0;
}

static double norm_of(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i] * values[i];
    return sqrt(sum);
}

tc_arrival tc_arrival_of(tc_arena *arena, const tc_experiment *experiment, const tc_record *record) {
    const tc_model *model = experiment->model;
    const tc_reference *reference = experiment->reference;
    const tc_row *first = tc_record_row(record, 0), *last = tc_record_last(record);
    tc_arrival arrival = {.x = NAN, .mu = NAN, .residual = NAN};
    if (last == NULL)
        return arrival;
    if (reference != NULL) {
        arrival.x = share(last->x_error, reference->norm_x, first == NULL ? 0 : first->x_error);
        arrival.mu = share(last->mu_error, reference->norm_mu, first == NULL ? 0 : first->mu_error);
        arrival.arrived = arrival.x <= TC_ARRIVED && arrival.mu <= TC_ARRIVED;
        return arrival;
    }
    if (record->x == NULL)
        return arrival;
    tc_mark mark = tc_arena_mark(arena);
    tc_certificate found = tc_judge_point(tc_judge_new(arena, model, experiment->derivatives), record->x, record->mu);
    tc_arena_rewind(arena, mark);
    double size = hypot(norm_of(record->x, model->state_count), norm_of(record->mu, model->constraint_count));
    tc_ranks_broadcast(&size, sizeof size, 0); /* which has all states */
    arrival.residual = found.residual / (1 + size);
    arrival.arrived = arrival.residual <= TC_ARRIVED;
    return arrival;
}
