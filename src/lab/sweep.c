#include "lab/sweep.h"

#include <math.h>

/* ---- what the runs say ---- */

static double box_diameter_squared(const tc_model *model) {
    double sum = 0;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t c = 0; c < family->dim; c++) {
            for (size_t k = 0; k < family->count; k++) {
                double width = tc_coef_at(family->upper[c], k) - tc_coef_at(family->lower[c], k);
                sum += width * width;
            }
        }
    }
    return sum;
}

static double squared_error(const tc_row *row) { return row->x_error * row->x_error + row->mu_error * row->mu_error; }

/* |sum over the runs of z - z_free|^2, of one part of z; NAN where states were not kept. */
static double summed_deviation(tc_arena *arena, const tc_sweep *sweep, const tc_sweep_point *point, bool of_x) {
    size_t count = of_x ? sweep->model->state_count : sweep->model->constraint_count;
    const double *origin = of_x ? sweep->without_noise->x : sweep->without_noise->mu;
    double *sum = TC_NEW(arena, double, count + 1), squares = 0;
    for (size_t s = 0; s < point->record_count; s++) {
        const tc_record *record = &point->records[s];
        const double *z = of_x ? record->x : record->mu;
        if (record->outcome != TC_ENGINE_DONE)
            continue;
        if (z == NULL)
            return NAN;
        for (size_t i = 0; i < count; i++)
            sum[i] += z[i] - origin[i];
    }
    for (size_t i = 0; i < count; i++)
        squares += sum[i] * sum[i];
    return squares;
}

/* penalty = |mean deviation|^2 + (n - 1)/n S^2 with S^2 the sample variance, and |mean deviation|^2 is too large by
 * S^2/n on average. */
static void part_penalty(tc_arena *arena, const tc_sweep *sweep, tc_sweep_point *point) {
    double n = (double)point->runs;
    point->bias = point->spread = NAN;
    if (point->runs < 2)
        return;
    tc_mark mark = tc_arena_mark(arena);
    double mean_squared =
        (summed_deviation(arena, sweep, point, true) + summed_deviation(arena, sweep, point, false)) / (n * n);
    tc_arena_rewind(arena, mark);
    point->spread = (point->penalty - mean_squared) * n / (n - 1);
    point->bias = point->penalty - point->spread;
}

/* The point's figures, and |z - z_free|^2 of its runs as a sample. */
static tc_sample judge_point(tc_arena *arena, const tc_sweep *sweep, tc_sweep_point *point, double room) {
    double *moved = TC_NEW(arena, double, point->record_count + 1);
    double *sorted = TC_NEW(arena, double, point->record_count + 1);
    double moved_x = 0, moved_mu = 0, errors = 0;
    const tc_row *quiet = tc_record_last(sweep->without_noise);
    for (size_t s = 0; s < point->record_count; s++) {
        const tc_record *record = &point->records[s];
        point->diverged += record->outcome == TC_ENGINE_DIVERGED;
        if (record->outcome != TC_ENGINE_DONE)
            continue;
        sorted[point->runs] = moved[point->runs] = record->moved_x + record->moved_mu;
        point->runs++;
        moved_x += record->moved_x;
        moved_mu += record->moved_mu;
        errors += squared_error(tc_record_last(record));
    }
    double n = (double)point->runs;
    tc_sample sample = {.x = log(point->epsilon), .values = moved, .count = point->runs};
    tc_sample_facts facts;
    tc_samples_judge(&sample, 1, &facts);
    point->at_end = tc_rows_summarise(arena, point->records, point->record_count, sweep->rounds);
    point->moved = tc_quantiles_of(sorted, point->runs);
    point->penalty = facts.mean;
    point->penalty_error = facts.deviation / sqrt(n);
    point->penalty_x = moved_x / n;
    point->penalty_mu = moved_mu / n;
    point->excess = quiet == NULL ? NAN : errors / n - squared_error(quiet);
    point->share_of_box = point->penalty_x / room;
    part_penalty(arena, sweep, point);
    return sample;
}

static tc_local_slope judge_pair(tc_arena *arena, const tc_sample *pair, size_t pairs) {
    double confidence = 1 - (1 - TC_SWEEP_CONFIDENCE) / (double)pairs;
    tc_local_slope local = {.slope = tc_slope_fit(arena, pair, 2, confidence, TC_SWEEP_RESAMPLES)};
    local.bend = isnan(local.slope.low)  ? TC_BEND_UNKNOWN
                 : local.slope.low > -2  ? TC_BEND_FLATTER
                 : local.slope.high < -2 ? TC_BEND_STEEPER
                                         : TC_BEND_NONE;
    return local;
}

static void find_agreement(tc_arena *arena, tc_sweep *sweep, const tc_sample *samples) {
    sweep->agreeing_first = sweep->agreeing_last = 0;
    for (size_t first = 0, last; first + 1 < sweep->point_count; first = last + 1) {
        for (last = first; last + 1 < sweep->point_count && sweep->local[last].bend == TC_BEND_NONE;)
            last++;
        if (last - first > sweep->agreeing_last - sweep->agreeing_first) {
            sweep->agreeing_first = first;
            sweep->agreeing_last = last;
        }
    }
    sweep->agreeing =
        tc_slope_fit(arena, samples + sweep->agreeing_first, sweep->agreeing_last - sweep->agreeing_first + 1,
                     TC_SWEEP_CONFIDENCE, TC_SWEEP_RESAMPLES);
}

/* Whether a pair of neighbours excludes the slope of all points; their intervals hold together. */
static bool contradicts(const tc_sweep *sweep) {
    bool found = false;
    for (size_t e = 0; e + 1 < sweep->point_count && sweep->point_count > 2; e++) {
        const tc_slope *local = &sweep->local[e].slope;
        found = found || local->low > sweep->slope.slope || local->high < sweep->slope.slope;
    }
    return found;
}

/* ---- the verdict, in sentences ---- */

static void say(tc_sweep *sweep, const char *sentence) { sweep->verdict[sweep->verdict_count++] = sentence; }

static double percent_bias(const tc_sweep_point *point) { return 100 * fmax(0, point->bias) / point->penalty; }

static const char *why_flatter(tc_arena *arena, const tc_sweep_point *low) {
    double percent = 100 * low->share_of_box;
    if (percent >= 1)
        return tc_arena_format(arena,
                               "At %.4g noise has moved x by %.2g %% of the squared diameter of the public box, which "
                               "is bounded: projections cut large noise off.",
                               low->epsilon, percent);
    return tc_arena_format(arena,
                           "At %.4g noise has moved x by no more than %.2g %% of the squared diameter of the public "
                           "box, so it is not the box's size that bounds it; the projection onto mu >= 0, or sets "
                           "smaller than the box, can.",
                           low->epsilon, percent);
}

static const char *why_steeper(tc_arena *arena, const tc_sweep_point *low, const tc_sweep_point *high) {
    const char *law = "A bias that grows with the variance of the noise does that, since its square goes like "
                      "epsilon^-4, and so does noise that multiplies multipliers which noise has made large.";
    if (isnan(low->bias) || isnan(high->bias))
        return law;
    return tc_arena_format(arena,
                           "The mean of the runs is off, by %.0f %% of the penalty at %.4g and %.0f %% at %.4g. %s",
                           percent_bias(low), low->epsilon, percent_bias(high), high->epsilon, law);
}

/* States as fact only what the figures show, and names what can cause it. */
static const char *about_stretch(tc_arena *arena, const tc_sweep *sweep, size_t first, size_t last) {
    const tc_sweep_point *low = &sweep->points[first], *high = &sweep->points[last];
    const char *where = tc_arena_format(arena, "From epsilon %.4g to %.4g", low->epsilon, high->epsilon);
    switch (sweep->local[first].bend) {
    case TC_BEND_NONE:
        if (first != sweep->agreeing_first || last != sweep->agreeing_last)
            return tc_arena_format(arena, "%s the points agree with epsilon^-2.", where);
        return tc_arena_format(arena,
                               tc_slope_allows(&sweep->agreeing, -2)
                                   ? "%s the points agree with epsilon^-2: by themselves they go like epsilon^%.3f, "
                                     "interval %.3f to %.3f."
                                   : "%s no two neighbours contradict epsilon^-2, but together the points do: they go "
                                     "like epsilon^%.3f, interval %.3f to %.3f.",
                               where, sweep->agreeing.slope, sweep->agreeing.low, sweep->agreeing.high);
    case TC_BEND_FLATTER:
        return tc_arena_format(arena, "%s the penalty falls more slowly than epsilon^-2. %s", where,
                               why_flatter(arena, low));
    case TC_BEND_STEEPER:
        return tc_arena_format(arena, "%s the penalty falls faster than epsilon^-2. %s", where,
                               why_steeper(arena, low, high));
    case TC_BEND_UNKNOWN:
        return tc_arena_format(arena, "%s there are too few runs to say.", where);
    }
    return "";
}

static void about_claim(tc_arena *arena, tc_sweep *sweep) {
    const tc_slope *slope = &sweep->slope;
    if (isnan(slope->slope)) {
        say(sweep, "No slope can be fitted: fewer than two epsilons have runs that noise has moved.");
        return;
    }
    if (sweep->bent) {
        say(sweep, tc_arena_format(arena,
                                   "Over all points the penalty goes like epsilon^%.3f on average; no interval: the "
                                   "points are not on a line, and so not in agreement with the claim of epsilon^-2 "
                                   "everywhere.",
                                   slope->slope));
        return;
    }
    if (isnan(slope->low)) {
        say(sweep, tc_arena_format(arena,
                                   "Over all points the penalty goes like epsilon^%.3f. One run for each epsilon says "
                                   "nothing about how sure that is: ask for more seeds.",
                                   slope->slope));
        return;
    }
    bool agrees = tc_slope_allows(slope, -2), bends = false;
    for (size_t e = 0; e + 1 < sweep->point_count; e++)
        bends = bends || sweep->local[e].bend == TC_BEND_FLATTER || sweep->local[e].bend == TC_BEND_STEEPER;
    say(sweep,
        tc_arena_format(arena, "Over all points the penalty goes like epsilon^%.3f, 95 %% interval %.3f to %.3f: %s.",
                        slope->slope, slope->low, slope->high,
                        !agrees ? "not in agreement with the claim of epsilon^-2"
                        : bends ? "on average in agreement with the claim of epsilon^-2, but not everywhere"
                                : "in agreement with the claim of epsilon^-2"));
}

/* A bootstrap knows no values but the few it has. */
static void about_seeds(tc_arena *arena, tc_sweep *sweep) {
    enum { FEW = 10 };
    if (sweep->seeds > 1 && sweep->seeds < FEW)
        say(sweep,
            tc_arena_format(arena, "Intervals from %zu seeds are rough: ask for %d or more.", sweep->seeds, FEW));
}

static void about_losses(tc_arena *arena, tc_sweep *sweep) {
    size_t diverged = 0, missing = 0;
    for (size_t e = 0; e < sweep->point_count; e++) {
        diverged += sweep->points[e].diverged;
        missing += sweep->seeds - sweep->points[e].runs - sweep->points[e].diverged;
    }
    if (diverged > 0)
        say(sweep,
            tc_arena_format(arena, "%zu of %zu runs diverged and are left out: the penalty is larger than shown.",
                            diverged, sweep->seeds * sweep->point_count));
    if (missing > 0)
        say(sweep, tc_arena_format(arena, "%zu of %zu runs were stopped and are left out.", missing,
                                   sweep->seeds * sweep->point_count));
}

static void say_all(tc_arena *arena, tc_sweep *sweep) {
    size_t pairs = sweep->point_count > 0 ? sweep->point_count - 1 : 0;
    sweep->verdict = TC_NEW(arena, const char *, pairs + 5);
    sweep->verdict_count = 0;
    if (sweep->without_noise->outcome == TC_ENGINE_DIVERGED) {
        say(sweep, tc_arena_format(arena, "Even without noise the run diverged (%s): smaller steps are needed.",
                                   sweep->without_noise->reason));
        return;
    }
    about_claim(arena, sweep);
    for (size_t first = 0, last; first < pairs; first = last) {
        for (last = first + 1; last < pairs && sweep->local[last].bend == sweep->local[first].bend; last++)
            continue;
        if (sweep->local[first].bend != TC_BEND_UNKNOWN || pairs > 1)
            say(sweep, about_stretch(arena, sweep, first, last));
    }
    about_seeds(arena, sweep);
    about_losses(arena, sweep);
}

void tc_sweep_judge(tc_arena *arena, tc_sweep *sweep) {
    size_t count = sweep->point_count, pairs = count > 0 ? count - 1 : 0;
    double room = box_diameter_squared(sweep->model);
    tc_sample *samples = TC_NEW(arena, tc_sample, count + 1);
    for (size_t e = 0; e < count; e++)
        samples[e] = judge_point(arena, sweep, &sweep->points[e], room);
    sweep->slope = tc_slope_fit(arena, samples, count, TC_SWEEP_CONFIDENCE, TC_SWEEP_RESAMPLES);
    sweep->local = TC_NEW(arena, tc_local_slope, pairs + 1);
    for (size_t e = 0; e < pairs; e++)
        sweep->local[e] = judge_pair(arena, &samples[e], pairs);
    /* Points that are not on a line have no slope, and so no interval of it. */
    sweep->bent = contradicts(sweep);
    if (sweep->bent)
        sweep->slope.low = sweep->slope.high = NAN;
    find_agreement(arena, sweep, samples);
    say_all(arena, sweep);
}

/* ---- what a result is worth ---- */

/* "0.1, 0.5 and 1" */
static const char *list_of(tc_arena *arena, const tc_sweep *sweep, const bool *chosen) {
    tc_buffer out = tc_buffer_new(arena, 32 * (sweep->point_count + 1));
    size_t left = 0;
    for (size_t e = 0; e < sweep->point_count; e++)
        left += chosen[e];
    for (size_t e = 0; e < sweep->point_count; e++) {
        if (chosen[e])
            tc_buffer_printf(&out, "%.4g%s", sweep->points[e].epsilon, --left > 1 ? ", " : left == 1 ? " and " : "");
    }
    return tc_buffer_text(&out);
}

static const char *about_lost(tc_arena *arena, const tc_sweep *sweep, const bool *lost, const tc_baseline *zero) {
    return tc_arena_format(arena,
                           "Worthless at epsilon %s: half of the runs or more are no better than doing nothing (zero "
                           "prices: x error %.4g, largest violation %.4g).",
                           list_of(arena, sweep, lost), zero->row.x_error, zero->row.max_violation);
}

static const char *about_free(tc_arena *arena, const tc_sweep *sweep, const bool *free) {
    size_t least = 0;
    while (!free[least])
        least++;
    return tc_arena_format(arena,
                           "More privacy is free at epsilon %s: noise moves x by less (%.3g at %.4g, root mean square) "
                           "than the method's own error without noise, %.4g. There only more rounds come closer.",
                           list_of(arena, sweep, free), sqrt(sweep->points[least].penalty_x),
                           sweep->points[least].epsilon, tc_record_last(sweep->without_noise)->x_error);
}

void tc_sweep_weigh(tc_arena *arena, tc_sweep *sweep, const tc_baseline *zero, const tc_baseline *slater) {
    const tc_row *quiet = tc_record_last(sweep->without_noise);
    size_t count = sweep->point_count, lost_count = 0, free_count = 0, runs = 0;
    bool *lost = TC_NEW(arena, bool, count + 1), *free = TC_NEW(arena, bool, count + 1);
    if (zero == NULL || quiet == NULL || isnan(quiet->x_error))
        return;
    for (size_t e = 0; e < count; e++) {
        tc_sweep_point *point = &sweep->points[e];
        tc_tally by_zero = tc_baseline_tally(zero, sweep->model, point->records, point->record_count);
        tc_tally by_slater = {0};
        if (slater != NULL)
            by_slater = tc_baseline_tally(slater, sweep->model, point->records, point->record_count);
        point->is_lost = lost[e] = tc_tally_is_lost(by_zero) || tc_tally_is_lost(by_slater);
        point->is_free = free[e] = !lost[e] && point->runs > 0 && sqrt(point->penalty_x) <= quiet->x_error;
        lost_count += lost[e];
        free_count += free[e];
        runs += point->runs;
    }
    if (runs == 0)
        return;
    if (lost_count > 0)
        sweep->worth[sweep->worth_count++] = about_lost(arena, sweep, lost, zero);
    if (free_count > 0)
        sweep->worth[sweep->worth_count++] = about_free(arena, sweep, free);
    if (sweep->worth_count == 0)
        sweep->worth[sweep->worth_count++] =
            "At every epsilon the result is better than doing nothing, and noise moves x "
            "by more than the method's own error: less privacy comes closer.";
}

/* ---- running it ---- */

static tc_status run_all(tc_arena *arena, tc_sweep *sweep, const tc_experiment *base, const tc_monitor *monitor,
                         const char **why) {
    size_t count = sweep->point_count * sweep->seeds;
    bool keep = base->keep_states || count <= TC_SWEEP_KEPT / (sweep->model->state_count + 1);
    tc_job *jobs = TC_NEW(arena, tc_job, count + 1);
    tc_experiment *experiments = TC_NEW(arena, tc_experiment, sweep->point_count + 1);
    for (size_t e = 0; e < sweep->point_count; e++) {
        experiments[e] = *base;
        experiments[e].plan = sweep->points[e].plan;
        experiments[e].method = sweep->points[e].method;
        experiments[e].origin_x = sweep->without_noise->x;
        experiments[e].origin_mu = sweep->without_noise->mu;
        sweep->points[e].records = TC_NEW(arena, tc_record, sweep->seeds + 1);
    }
    /* One seed of every epsilon before the next seed: an interrupt leaves fewer seeds, not fewer epsilons. */
    for (size_t i = 0; i < count; i++) {
        size_t e = i % sweep->point_count, s = i / sweep->point_count;
        tc_record *record = &sweep->points[e].records[s];
        jobs[i] = (tc_job){
            .experiment = &experiments[e], .seed = sweep->first_seed + s, .keep_states = keep, .record = record};
    }
    tc_status status = tc_jobs_run(arena, jobs, count, base->threads, monitor, why);
    for (size_t e = 0; e < sweep->point_count; e++)
        sweep->points[e].record_count = tc_records_begun(sweep->points[e].records, sweep->seeds);
    return status;
}

tc_status tc_sweep_run(tc_arena *arena, const tc_experiment *base, const tc_plan *noise_free,
                       const tc_plan *const *plans, const tc_tacit_facts *const *methods, const double *epsilons,
                       size_t epsilon_count, uint64_t first_seed, size_t seeds, const tc_monitor *monitor,
                       tc_sweep **result, const char **why) {
    tc_sweep *sweep = TC_NEW(arena, tc_sweep, 1);
    tc_record *without_noise = NULL;
    tc_experiment quiet = *base;
    *result = sweep;
    sweep->model = base->model;
    sweep->seeds = seeds;
    sweep->first_seed = first_seed;
    sweep->rounds = base->rounds;
    sweep->points = TC_NEW(arena, tc_sweep_point, epsilon_count + 1);
    sweep->point_count = epsilon_count;
    for (size_t e = 0; e < epsilon_count; e++)
        sweep->points[e] =
            (tc_sweep_point){.epsilon = epsilons[e], .plan = plans[e], .method = methods == NULL ? NULL : methods[e]};
    quiet.plan = noise_free;
    quiet.on_row = NULL;
    tc_status status = tc_lab_run(arena, &quiet, &(uint64_t){0}, monitor, &without_noise, why);
    if (status != TC_OK)
        return status;
    sweep->without_noise = without_noise;
    /* Penalties are measured from this run. Where it did not end well, its record says why. */
    if (without_noise->outcome == TC_ENGINE_DONE)
        status = run_all(arena, sweep, base, monitor, why);
    if (status != TC_OK)
        return status;
    sweep->interrupted = tc_interrupted(monitor);
    tc_sweep_judge(arena, sweep);
    return TC_OK;
}
