/* The algorithm once more, slowly: agent by agent, entry by entry, in long double, straight from the paper's formulas.
 * It shares with the product the problem's derivatives, the long double evaluator, the plan and the sampler; the
 * lattices, the order of entries, the projections and both steps are written here again, from their descriptions. */
#ifndef TC_TESTS_SLOW_RUN_H
#define TC_TESTS_SLOW_RUN_H

#include "calculus/derivatives.h"
#include "calculus/tape/tape.h"
#include "noise/noise.h"
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

typedef long double slow_real;

typedef struct slow_run {
    tc_arena *arena;
    const tc_plan *plan;
    const tc_model *model;
    const tc_derivatives *derivatives;
    tc_random *random; /* a second source with the same seed; NULL without a mechanism */
    tc_random_worker *worker;
    double dual_radius;
    uint64_t k; /* rounds done */
    double *x, *mu;
    /* of the round */
    int64_t *noise;   /* by address */
    slow_real *point; /* where g and its Jacobian are taken */
    slow_real *g;
    slow_real *jacobian; /* [row * n + coordinate] */
} slow_run;

/* ---- values of expressions ----------------------------------------------------------------------------------------
 */

/* One root for one member of a family. */
static inline slow_real slow_member_value(const slow_run *run, size_t f, size_t member, tc_expr root,
                                          const slow_real *x) {
    const tc_family *family = &run->model->families[f];
    tc_mark mark = tc_arena_mark(run->arena);
    tc_tape *tape = tc_tape_new(run->arena, run->model->dag, &root, 1);
    slow_real *work = TC_NEW(run->arena, slow_real, tc_tape_work(tape)), value = 0, *out = &value;
    const slow_real **state = TC_NEW(run->arena, const slow_real *, family->dim);
    const double **data = TC_NEW(run->arena, const double *, family->column_count);
    for (size_t c = 0; c < family->dim; c++)
        state[c] = &x[tc_coord_of(family, member, c)];
    for (size_t d = 0; d < family->column_count; d++)
        data[d] = family->columns[d].values + member;
    tc_long_inputs inputs = {.state = state, .data = data};
    tc_tape_eval_long(tape, &inputs, 1, work, &out);
    tc_arena_rewind(run->arena, mark);
    return value;
}

static inline slow_real slow_outer_value(const slow_run *run, tc_expr root, const slow_real *sums, const slow_real *x) {
    tc_mark mark = tc_arena_mark(run->arena);
    tc_tape *tape = tc_tape_new(run->arena, run->model->dag, &root, 1);
    slow_real *work = TC_NEW(run->arena, slow_real, tc_tape_work(tape)), value = 0, *out = &value;
    tc_long_inputs inputs = {.coords = x, .sums = sums};
    tc_tape_eval_long(tape, &inputs, 1, work, &out);
    tc_arena_rewind(run->arena, mark);
    return value;
}

/* ---- g and its Jacobian at run->point -----------------------------------------------------------------------------
 */

/* rounds: terms of sums go to their lattices (placement OUTPUTS with noise). */
static inline void slow_sums(const slow_run *run, bool rounds, slow_real *sums) {
    const tc_model *model = run->model;
    for (size_t r = 0; r < model->sum_count; r++) {
        size_t f = model->sums[r].family;
        sums[r] = 0;
        for (size_t member = 0; member < model->families[f].count; member++) {
            slow_real term = slow_member_value(run, f, member, model->sums[r].body, run->point);
            slow_real step = rounds ? ldexpl(1, run->plan->sum_exponents[r]) : 0;
            sums[r] += rounds ? rintl(term / step) * step : term;
        }
    }
}

static inline void slow_evaluate(slow_run *run, bool rounds) {
    const tc_model *model = run->model;
    const tc_derivatives *d = run->derivatives;
    tc_mark mark = tc_arena_mark(run->arena);
    slow_real *sums = TC_NEW(run->arena, slow_real, model->sum_count);
    slow_sums(run, rounds, sums);
    for (size_t j = 0; j < model->constraint_count; j++)
        run->g[j] = slow_outer_value(run, model->constraints[j].outer, sums, run->point);
    memset(run->jacobian, 0, model->constraint_count * model->state_count * sizeof *run->jacobian);
    for (size_t i = 0; i < d->outer_first_count; i++) {
        const tc_outer_input *input = &d->inputs[d->outer_first[i].column];
        slow_real *row = run->jacobian + d->outer_first[i].row * model->state_count;
        slow_real outer = slow_outer_value(run, d->outer_first[i].value, sums, run->point);
        if (input->op == TC_COORD) {
            row[input->index] += outer;
            continue;
        }
        size_t f = model->sums[input->index].family;
        const tc_family_derivatives *of = &d->families[f];
        for (size_t b = 0; b < of->body_first_count; b++)
            for (size_t member = 0;
                 of->sums[of->body_first[b].row] == input->index && member < model->families[f].count; member++)
                row[tc_coord_of(&model->families[f], member, of->body_first[b].column)] +=
                    outer * slow_member_value(run, f, member, of->body_first[b].value, run->point);
    }
    tc_arena_rewind(run->arena, mark);
}

/* ---- which entries get noise, in which order -----------------------------------------------------------------------
 */

typedef enum slow_kind { SLOW_ABSENT, SLOW_FIXED, SLOW_VARIES } slow_kind;

/* The part of the entry that every member of the family has. */
static inline slow_kind slow_shared(const slow_run *run, uint32_t row, size_t f, uint32_t component) {
    const tc_derivatives *d = run->derivatives;
    const tc_family_derivatives *of = &d->families[f];
    slow_kind kind = SLOW_ABSENT;
    for (size_t i = 0; i < d->outer_first_count; i++) {
        const tc_outer_input *input = &d->inputs[d->outer_first[i].column];
        if (d->outer_first[i].row != row || input->op != TC_SUM || run->model->sums[input->index].family != f)
            continue;
        for (size_t b = 0; b < of->body_first_count; b++) {
            if (of->sums[of->body_first[b].row] != input->index || of->body_first[b].column != component)
                continue;
            bool varies = run->model->dag->nodes[d->outer_first[i].value].has_state ||
                          run->model->dag->nodes[of->body_first[b].value].has_state;
            kind = varies || kind == SLOW_VARIES ? SLOW_VARIES : SLOW_FIXED;
        }
    }
    return kind;
}

static inline slow_kind slow_single(const slow_run *run, uint32_t row, size_t coordinate) {
    const tc_derivatives *d = run->derivatives;
    for (size_t i = 0; i < d->outer_first_count; i++) {
        const tc_outer_input *input = &d->inputs[d->outer_first[i].column];
        if (d->outer_first[i].row == row && input->op == TC_COORD && input->index == coordinate)
            return run->model->dag->nodes[d->outer_first[i].value].has_state ? SLOW_VARIES : SLOW_FIXED;
    }
    return SLOW_ABSENT;
}

static inline slow_real slow_noisy(const tc_channel *channel, slow_real value, int64_t noise) {
    slow_real step = ldexpl(1, channel->step_exponent);
    return (rintl(value / step) + (slow_real)noise) * step;
}

/* The entries of a Jacobian channel: first those that all members share, by row, component and member, then the single
 * ones, by row, component and member. An entry with both parts gets one noise, on their sum: among the shared ones
 * where that part varies. */
static inline void slow_add_jacobian(slow_run *run, const tc_channel *channel) {
    const tc_family *family = &run->model->families[channel->family];
    uint64_t address = channel->first_entry;
    size_t end = channel->first_member + channel->member_count;
    for (int single = 0; single < 2; single++)
        for (uint32_t row = channel->first_row; row < channel->first_row + channel->row_count; row++)
            for (uint32_t c = 0; c < family->dim; c++) {
                bool shared = channel->every_entry || slow_shared(run, row, channel->family, c) == SLOW_VARIES;
                for (size_t member = channel->first_member; member < end; member++) {
                    size_t coordinate = tc_coord_of(family, member, c);
                    slow_real *entry = &run->jacobian[row * run->model->state_count + coordinate];
                    bool here = single == 0 ? shared : !shared && slow_single(run, row, coordinate) == SLOW_VARIES;
                    if (here) /* a constant part added before or after rounding: less than a step apart */
                        *entry = slow_noisy(channel, *entry, run->noise[address++]);
                }
            }
    if (address != channel->first_entry + channel->entries)
        abort();
}

static inline void slow_draw(slow_run *run) {
    const tc_plan *plan = run->plan;
    tc_noise_law law = plan->mechanism == TC_MECHANISM_GAUSSIAN ? TC_GAUSSIAN : TC_LAPLACE;
    if (run->random == NULL)
        return;
    if (tc_random_open_round(run->random, run->k + 1) != TC_OK)
        abort();
    for (size_t i = 0; i < plan->channel_count; i++) {
        const tc_channel *channel = &plan->channels[i];
        tc_noise_scale scale;
        if (!tc_noise_scale_from(channel->lattice_scale, &scale) ||
            tc_noise_fill(run->worker, law, &scale, channel->first_entry, (size_t)channel->entries,
                          run->noise + channel->first_entry) != TC_OK)
            abort();
    }
}

/* ---- what the cloud sees -------------------------------------------------------------------------------------------
 */

static inline void slow_to_lattice(slow_run *run) {
    slow_real step = ldexpl(1, run->plan->state_exponent);
    for (size_t f = 0; f < run->model->family_count; f++) {
        const tc_family *family = &run->model->families[f];
        for (size_t member = 0; member < family->count; member++)
            for (size_t c = 0; c < family->dim; c++) {
                size_t i = tc_coord_of(family, member, c);
                slow_real units = rintl((slow_real)run->x[i] / step);
                slow_real least = ceill((slow_real)tc_coef_at(family->lower[c], member) / step);
                slow_real most = floorl((slow_real)tc_coef_at(family->upper[c], member) / step);
                run->point[i] = step * (units < least ? least : units > most ? most : units);
            }
    }
}

static inline void slow_release_outputs(slow_run *run) {
    bool noisy = run->random != NULL;
    slow_evaluate(run, noisy);
    for (size_t i = 0; noisy && i < run->plan->channel_count; i++) {
        const tc_channel *channel = &run->plan->channels[i];
        if (channel->kind == TC_CHANNEL_CONSTRAINTS)
            for (uint32_t j = 0; j < channel->row_count; j++)
                run->g[channel->first_row + j] =
                    slow_noisy(channel, run->g[channel->first_row + j], run->noise[channel->first_entry + j]);
        else
            slow_add_jacobian(run, channel);
    }
}

/* ---- projections ---------------------------------------------------------------------------------------------------
 */

static inline slow_real slow_clip(slow_real x, slow_real lower, slow_real upper) {
    return x < lower ? lower : x > upper ? upper : x;
}

/* x(t) of one piece in a box: the nearest point is x(0) where that is inside, else x(t) for the t with equality. */
static inline slow_real slow_excess(const tc_family *family, const tc_set_piece *piece, size_t member, slow_real t,
                                    const slow_real *v, slow_real *x) {
    slow_real sum = 0, radius = tc_coef_at(piece->radius, member);
    for (size_t c = 0; c < family->dim; c++) {
        slow_real lower = tc_coef_at(family->lower[c], member), upper = tc_coef_at(family->upper[c], member),
                  moved = v[c];
        slow_real center = 0;
        bool inside = c >= piece->first && c < piece->first + piece->count;
        if (inside)
            center = tc_coef_at(piece->center[c - piece->first], member);
        if (inside && piece->kind == TC_SET_HALFSPACE)
            moved = v[c] - t * center;
        if (inside && piece->kind == TC_SET_BALL)
            moved = (v[c] + t * center) / (1 + t);
        x[c] = slow_clip(moved, lower, upper);
        if (inside)
            sum += piece->kind == TC_SET_BALL ? (x[c] - center) * (x[c] - center) : x[c] * center;
    }
    return piece->kind == TC_SET_BALL ? sum - radius * radius : sum - radius;
}

/* A box, or a box with one half-space or ball: what the examples have. */
static inline void slow_project(const slow_run *run, size_t f, size_t member, const slow_real *v, double *x) {
    const tc_family *family = &run->model->families[f];
    slow_real point[64];
    if (family->piece_count > 1 || family->dim > 64)
        abort();
    for (size_t c = 0; c < family->dim; c++)
        point[c] = slow_clip(v[c], tc_coef_at(family->lower[c], member), tc_coef_at(family->upper[c], member));
    if (family->piece_count == 1) {
        const tc_set_piece *piece = &family->pieces[0];
        if (piece->kind != TC_SET_HALFSPACE && piece->kind != TC_SET_BALL)
            abort();
        slow_real low = 0, high = 1;
        while (slow_excess(family, piece, member, high, v, point) > 0 && high < 1e30L)
            high *= 2;
        if (slow_excess(family, piece, member, 0, v, point) <= 0)
            high = 0;
        for (int i = 0; i < 200 && high > low; i++) {
            slow_real middle = (low + high) / 2;
            if (slow_excess(family, piece, member, middle, v, point) > 0)
                low = middle;
            else
                high = middle;
        }
        (void)slow_excess(family, piece, member, high, v, point);
    }
    for (size_t c = 0; c < family->dim; c++)
        x[tc_coord_of(family, member, c)] = (double)point[c];
}

/* The size that a row's multiplier may have: its own of an equality, that above zero otherwise. */
static inline slow_real slow_size(const slow_run *run, const slow_real *v, size_t j) {
    return v[j] > 0 ? v[j] : run->model->constraints[j].is_equality ? -v[j] : 0;
}

/* Sizes become max(size - t, 0), with the least t >= 0 that keeps their sum within the radius. */
static inline void slow_project_multipliers(const slow_run *run, const slow_real *v, double *mu) {
    size_t m = run->model->constraint_count;
    slow_real low = 0, high = 0, sum = 0;
    for (size_t j = 0; j < m; j++) {
        slow_real size = slow_size(run, v, j);
        sum += size;
        high = size > high ? size : high;
    }
    if (sum <= (slow_real)run->dual_radius)
        high = 0;
    for (int i = 0; i < 200 && high > low; i++) {
        slow_real middle = (low + high) / 2;
        sum = 0;
        for (size_t j = 0; j < m; j++)
            sum += slow_size(run, v, j) > middle ? slow_size(run, v, j) - middle : 0;
        if (sum > (slow_real)run->dual_radius)
            low = middle;
        else
            high = middle;
    }
    for (size_t j = 0; j < m; j++)
        mu[j] = slow_size(run, v, j) <= high ? 0 : v[j] > 0 ? (double)(v[j] - high) : (double)(v[j] + high);
}

/* ---- rounds --------------------------------------------------------------------------------------------------------
 */

static inline slow_run slow_new(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                                const tc_derivatives *derivatives, tc_random *random, double dual_radius) {
    size_t n = model->state_count, m = model->constraint_count;
    slow_run run = {.arena = arena,
                    .plan = plan,
                    .model = model,
                    .derivatives = derivatives,
                    .random = plan->mechanism == TC_MECHANISM_NONE ? NULL : random,
                    .dual_radius = dual_radius,
                    .x = TC_NEW(arena, double, n),
                    .mu = TC_NEW(arena, double, m),
                    .noise = TC_NEW(arena, int64_t, (size_t)plan->entry_count),
                    .point = TC_NEW(arena, slow_real, n),
                    .g = TC_NEW(arena, slow_real, m),
                    .jacobian = TC_NEW(arena, slow_real, m * n)};
    if (run.random != NULL && tc_random_worker_new(arena, random, &run.worker) != TC_OK)
        abort();
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t member = 0; member < model->families[f].count; member++) {
            slow_real start[64];
            for (size_t c = 0; c < model->families[f].dim; c++)
                start[c] = model->families[f].has_start ? tc_coef_at(model->families[f].start[c], member) : 0;
            slow_project(&run, f, member, start, run.x);
        }
    for (size_t j = 0; j < m; j++)
        run.g[j] = model->start_multipliers[j];
    slow_project_multipliers(&run, run.g, run.mu);
    return run;
}

/* grad f_i, component c. */
static inline slow_real slow_slope(const slow_run *run, size_t f, size_t member, size_t c, const slow_real *x) {
    const tc_family_derivatives *d = &run->derivatives->families[f];
    for (size_t i = 0; i < d->objective_first_count; i++)
        if (d->objective_first[i].column == c)
            return slow_member_value(run, f, member, d->objective_first[i].value, x);
    return 0;
}

static inline void slow_round(slow_run *run) {
    const tc_model *model = run->model;
    size_t n = model->state_count, m = model->constraint_count;
    slow_real k = (slow_real)(run->k + 1);
    slow_real step = (slow_real)model->schedule.step * powl(k, -(slow_real)model->schedule.step_decay);
    slow_real regularization =
        (slow_real)model->schedule.regularization * powl(k, -(slow_real)model->schedule.regularization_decay);
    slow_draw(run);
    slow_to_lattice(run);
    slow_release_outputs(run);
    tc_mark mark = tc_arena_mark(run->arena);
    slow_real *x = TC_NEW(run->arena, slow_real, n), *moved = TC_NEW(run->arena, slow_real, m), v[64];
    for (size_t i = 0; i < n; i++)
        x[i] = run->x[i];
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t member = 0; member < model->families[f].count; member++) {
            for (size_t c = 0; c < model->families[f].dim; c++) {
                size_t i = tc_coord_of(&model->families[f], member, c);
                slow_real p = 0;
                for (size_t j = 0; j < m; j++)
                    p += run->jacobian[j * n + i] * (slow_real)run->mu[j];
                v[c] = x[i] - step * (slow_slope(run, f, member, c, x) + p + regularization * x[i]);
            }
            slow_project(run, f, member, v, run->x);
        }
    for (size_t j = 0; j < m; j++)
        moved[j] = (slow_real)run->mu[j] + step * (run->g[j] - regularization * (slow_real)run->mu[j]);
    slow_project_multipliers(run, moved, run->mu);
    run->k++;
    tc_arena_rewind(run->arena, mark);
}

#endif
