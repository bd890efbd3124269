/* Facts of runs and sweeps, one by one. */
#include "api/runs/run.h"
#include "api/solution.h"
#include "base/sized.h"

#include <math.h>
#include <stddef.h>

tacit_row tc_row_facts(const tc_model *model, const tc_row *row) {
    return (tacit_row){.size = sizeof(tacit_row),
                       .k = row->k,
                       .x_error = row->x_error,
                       .mu_error = row->mu_error,
                       .objective = row->objective,
                       .max_violation = row->max_violation,
                       .g = row->constraints,
                       .mu = row->multipliers,
                       .constraints = model->constraint_count,
                       .x = row->states,
                       .states = row->states == NULL ? 0 : model->state_count};
}

/* ---- runs ---- */

static const tc_sweep *sweep_of(const tacit_result *result) {
    return result == NULL || result->of.sweep == NULL ? NULL : result->of.sweep->sweep;
}

/* Run number `run`, and its epsilon; of a sweep by epsilon and then by seed. NULL where there is none. */
static const tc_record *record_of(const tacit_result *result, size_t run, double *epsilon) {
    const tc_run_output *output = result == NULL ? NULL : result->of.run;
    const tc_sweep *sweep = sweep_of(result);
    *epsilon = NAN;
    if (output != NULL && run < output->record_count) {
        *epsilon = output->plan->epsilon;
        return &output->records[run];
    }
    for (size_t e = 0; sweep != NULL && e < sweep->point_count; e++) {
        const tc_sweep_point *point = &sweep->points[e];
        *epsilon = point->epsilon;
        if (run < point->record_count)
            return &point->records[run];
        run -= point->record_count;
    }
    return NULL;
}

size_t tacit_result_runs(const tacit_result *result) {
    const tc_run_output *output = result == NULL ? NULL : result->of.run;
    const tc_sweep *sweep = sweep_of(result);
    size_t count = output == NULL ? 0 : output->record_count;
    for (size_t e = 0; sweep != NULL && e < sweep->point_count; e++)
        count += sweep->points[e].record_count;
    return count;
}

static bool has_states(const tc_record *record) { return record->x != NULL && record->row_count > 0; }

tacit_status tacit_result_run(const tacit_result *result, size_t run, tacit_run_facts *facts) {
    double epsilon;
    const tc_record *record = record_of(result, run, &epsilon);
    if (record == NULL || facts == NULL)
        return TACIT_BAD_USAGE;
    const tc_run_output *words = result->of.run;
    const tacit_run_facts all = {.is_seeded = record->seeded,
                                 .seed = record->seed,
                                 .epsilon = epsilon,
                                 .outcome = tc_engine_outcome_name(record->outcome),
                                 .reason = record->reason,
                                 .rounds = record->rounds,
                                 .seconds = record->seconds,
                                 .rows = record->row_count,
                                 .mu = record->mu,
                                 .constraints = result->model->constraint_count,
                                 .has_states = has_states(record),
                                 .feasible_probability = record->feasibility.probability,
                                 .feasible_shown = record->feasibility.shown,
                                 .feasible_bounds = record->feasibility.bounds,
                                 .feasibility = words == NULL ? NULL : words->released_words[run],
                                 .true_feasibility = words == NULL ? NULL : words->true_words[run],
                                 .feasible_certain = record->feasibility.is_certain,
                                 .feasible_move =
                                     record->feasibility.probability > 0 ? record->feasibility.move : (double)NAN};
    return tc_fill_sized(facts, offsetof(tacit_run_facts, feasibility), &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

tacit_status tacit_result_row(const tacit_result *result, size_t run, size_t row, tacit_row *facts) {
    double epsilon;
    const tc_record *record = record_of(result, run, &epsilon);
    if (record == NULL || row >= record->row_count || facts == NULL)
        return TACIT_BAD_USAGE;
    const tacit_row all = tc_row_facts(result->model, &record->rows[row]);
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

/* The states, by coordinate; NULL where there are none. */
static const double *states_of(const tacit_result *result, size_t run) {
    double epsilon;
    const tc_solution *solution = result == NULL ? NULL : result->of.solve;
    const tc_record *record = record_of(result, run, &epsilon);
    if (solution != NULL)
        return run > 0 || tc_solution_lacks_points(solution) ? NULL : solution->reference->x;
    return record == NULL || !has_states(record) ? NULL : record->x;
}

tacit_status tacit_result_x(const tacit_result *result, size_t run, size_t family, double *x, size_t room) {
    const double *states = states_of(result, run);
    if (states == NULL || x == NULL || family >= result->model->family_count)
        return TACIT_BAD_USAGE;
    const tc_family *of = &result->model->families[family];
    if (room < of->count * of->dim)
        return TACIT_BAD_USAGE;
    for (size_t k = 0; k < of->count; k++) {
        for (size_t c = 0; c < of->dim; c++)
            x[k * of->dim + c] = states[tc_coord_of(of, k, c)];
    }
    return TACIT_OK;
}

/* ---- what they are compared with ---- */

static tacit_measures measures_of(const tc_model *model, const tc_row *row, bool has_mu) {
    if (row == NULL)
        return (tacit_measures){.x_error = NAN, .mu_error = NAN, .objective = NAN, .max_violation = NAN};
    size_t worst = tc_worst_row(model, row->constraints);
    return (tacit_measures){.is_known = 1,
                            .x_error = row->x_error,
                            .mu_error = has_mu ? row->mu_error : NAN,
                            .objective = row->objective,
                            .max_violation = row->max_violation,
                            .worst = worst == model->constraint_count ? NULL : model->constraints[worst].name};
}

tacit_status tacit_result_comparison(const tacit_result *result, tacit_comparison *facts) {
    const tc_comparison *made = result == NULL             ? NULL
                                : result->of.run != NULL   ? &result->of.run->comparison
                                : result->of.sweep != NULL ? &result->of.sweep->comparison
                                                           : NULL;
    if (made == NULL || facts == NULL)
        return TACIT_BAD_USAGE;
    const tc_model *model = result->model;
    const tacit_comparison all = {
        .is_judged = made->judged,
        .no_better_than_nothing = made->lost,
        .verdict = made->verdict,
        .error_parts = made->parts,
        .baseline = measures_of(model, made->zero == NULL ? NULL : &made->zero->row, false),
        .slater_baseline = measures_of(model, made->slater == NULL ? NULL : &made->slater->row, false),
        .noise_free = measures_of(model, made->noise_free == NULL ? NULL : tc_record_last(made->noise_free), true),
        .is_converged = made->noise_free != NULL && made->arrival.arrived,
        .noise_free_missing = made->missing};
    return tc_fill_sized(facts, sizeof all, &all, sizeof all) ? TACIT_OK : TACIT_BAD_USAGE;
}

/* ---- sweeps ---- */

size_t tacit_result_points(const tacit_result *result) {
    const tc_sweep *sweep = sweep_of(result);
    return sweep == NULL ? 0 : sweep->point_count;
}

tacit_status tacit_result_point(const tacit_result *result, size_t point, tacit_sweep_point *facts) {
    const tc_sweep *sweep = sweep_of(result);
    if (sweep == NULL || facts == NULL || point >= sweep->point_count)
        return TACIT_BAD_USAGE;
    const tc_sweep_point *from = &sweep->points[point];
    tc_row medians = tc_row_medians(&from->at_end);
    const tacit_sweep_point all = {.epsilon = from->epsilon,
                                   .runs = from->runs,
                                   .diverged = from->diverged,
                                   .penalty = from->penalty,
                                   .penalty_error = from->penalty_error,
                                   .bias = from->bias,
                                   .spread = from->spread,
                                   .x_error = medians.x_error,
                                   .mu_error = medians.mu_error,
                                   .objective = medians.objective,
                                   .max_violation = medians.max_violation,
                                   .no_better_than_nothing = from->is_lost,
                                   .privacy_is_free = from->is_free};
    return tc_fill_sized(facts, offsetof(tacit_sweep_point, no_better_than_nothing), &all, sizeof all)
               ? TACIT_OK
               : TACIT_BAD_USAGE;
}

tacit_status tacit_result_slope(const tacit_result *result, double *slope, double *low, double *high) {
    const tc_sweep *sweep = sweep_of(result);
    if (sweep == NULL || slope == NULL || low == NULL || high == NULL)
        return TACIT_BAD_USAGE;
    *slope = sweep->slope.slope;
    *low = sweep->bent ? NAN : sweep->slope.low;
    *high = sweep->bent ? NAN : sweep->slope.high;
    return TACIT_OK;
}
