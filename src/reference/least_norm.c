/* A pull towards zero of weight a displaces the solution in proportion to a, or, where everything is polyhedral, not
 * at all once a is small. Where a is too small the pull drowns in rounding. Both show when two weights are compared:
 * the weight where they differ least is the one to trust, and the difference estimates the error. Components of the
 * problem are judged one by one.
 *
 * States and multipliers are pulled together first, which is enough for most problems. Where scales differ widely it
 * is not: what is weak for one is strong for another. But optimal states and optimal multipliers form a product set,
 * so each side may be searched while the other one is held. */
#include "reference/least_norm.h"

#include <math.h>
#include <string.h>

static tc_side new_side(tc_arena *arena, size_t count) {
    return (tc_side){.count = count,
                     .component = TC_NEW(arena, uint32_t, count),
                     .values = TC_NEW(arena, double, count),
                     .before = TC_NEW(arena, double, count),
                     .taken = TC_NEW(arena, double, count)};
}

static void add_components(tc_arena *arena, tc_side *side, size_t count) {
    side->unit = TC_NEW(arena, double, count);
    side->change = TC_NEW(arena, double, count);
    side->size = TC_NEW(arena, double, count);
    side->least_change = TC_NEW(arena, double, count);
}

tc_least_norm *tc_least_norm_new(tc_arena *arena, const tc_model *model, tc_interior *solver,
                                 const tc_interior_options *options) {
    tc_least_norm *search = TC_NEW(arena, tc_least_norm, 1);
    *search = (tc_least_norm){.solver = solver, .options = options};
    search->x = new_side(arena, model->state_count);
    search->mu = new_side(arena, model->constraint_count);
    search->component_count = tc_interior_components(solver, search->x.component, search->mu.component);
    add_components(arena, &search->x, search->component_count);
    add_components(arena, &search->mu, search->component_count);
    return search;
}

static double whole(const double *by_component, size_t count) {
    double sum = 0;
    for (size_t p = 0; p < count; p++)
        sum = hypot(sum, by_component[p]);
    return sum;
}

/* By component, how much the values have changed, and how large they are. Below 1e-8 of their unit they are zero. */
static void compare(tc_side *side, size_t components) {
    for (size_t p = 0; p < components; p++) {
        side->change[p] = 0;
        side->size[p] = isfinite(side->unit[p]) ? 1e-8 * side->unit[p] : 0;
    }
    for (size_t i = 0; i < side->count; i++) {
        uint32_t p = side->component[i];
        side->change[p] = hypot(side->change[p], side->values[i] - side->before[i]);
        side->size[p] = hypot(side->size[p], side->values[i]);
    }
}

static bool all_within(const double *change, const double *size, size_t components, double relative) {
    for (size_t p = 0; p < components; p++)
        if (!(change[p] <= relative * size[p]))
            return false;
    return true;
}

typedef void reader(const tc_interior *solver, double *values);

static void read_side(const tc_least_norm *search, tc_side *side, reader *read) {
    memcpy(side->before, side->values, side->count * sizeof *side->values);
    read(search->solver, side->values);
}

static void judge_side(const tc_least_norm *search, tc_side *side, bool felt) {
    compare(side, search->component_count);
    side->error = whole(side->change, search->component_count);
    side->is_settled = felt && all_within(side->change, side->size, search->component_count, 1e-7);
}

/* Near enough to the end, whether or not the last digits came. */
static bool is_usable(tc_interior_result result) { return result.gap <= 1e-22L && result.residual <= 1e-13L; }

enum { MOST_WEAKENINGS = 3 };

void tc_least_norm_approach(tc_least_norm *search) {
    tc_interior_result result = tc_interior_solve(search->solver, search->options);
    bool usable = is_usable(result), felt_x, felt_mu;
    search->iterations += result.iterations;
    search->interrupted = result.interrupted;
    tc_interior_units(search->solver, search->x.unit, search->mu.unit);
    read_side(search, &search->x, tc_interior_states);
    read_side(search, &search->mu, tc_interior_multipliers);
    search->x.error = search->mu.error = INFINITY;
    for (int step = 0; step < MOST_WEAKENINGS && !search->interrupted; step++) {
        result = tc_interior_weaken(search->solver, search->options, 0.1L);
        search->iterations += result.iterations;
        search->interrupted = result.interrupted;
        read_side(search, &search->x, tc_interior_states);
        read_side(search, &search->mu, tc_interior_multipliers);
        usable = usable && is_usable(result);
        tc_interior_felt(search->solver, fmaxl(result.gap, search->options->gap), &felt_x, &felt_mu);
        judge_side(search, &search->x, usable && felt_x);
        judge_side(search, &search->mu, usable && felt_mu);
        if (!usable || (search->x.is_settled && search->mu.is_settled))
            break;
    }
}

/* Where the values of a component changed least, they are taken. True once all have settled. */
static bool take_steadier(tc_side *side, size_t components) {
    compare(side, components);
    for (size_t i = 0; i < side->count; i++)
        if (side->change[side->component[i]] <= side->least_change[side->component[i]])
            side->taken[i] = side->values[i];
    for (size_t p = 0; p < components; p++)
        side->least_change[p] = fmin(side->least_change[p], side->change[p]);
    return all_within(side->least_change, side->size, components, 1e-9);
}

typedef tc_interior_result puller(tc_interior *solver, const tc_interior_options *options, tc_real strength);

static void search_side(tc_least_norm *search, tc_side *side, puller *pull, reader *read) {
    const tc_real strongest = 1e-3L, weakest = 1e-15L;
    bool has_before = false;
    for (size_t p = 0; p < search->component_count; p++)
        side->least_change[p] = INFINITY;
    for (tc_real strength = strongest; strength > 0.5L * weakest && !search->interrupted; strength *= 1e-2L) {
        tc_interior_result result = pull(search->solver, search->options, strength);
        search->iterations += result.iterations;
        search->interrupted = result.interrupted;
        if (!is_usable(result))
            continue;
        read_side(search, side, read);
        if (has_before && take_steadier(side, search->component_count))
            break;
        has_before = true;
    }
    side->error = whole(side->least_change, search->component_count);
}

void tc_least_norm_keep(tc_least_norm *search) {
    tc_interior_keep(search->solver);
    tc_interior_states(search->solver, search->x.taken);
    tc_interior_multipliers(search->solver, search->mu.taken);
}

void tc_least_norm_states(tc_least_norm *search) {
    search_side(search, &search->x, tc_interior_least_states, tc_interior_states);
}

void tc_least_norm_multipliers(tc_least_norm *search) {
    if (search->mu.count > 0)
        search_side(search, &search->mu, tc_interior_least_multipliers, tc_interior_multipliers);
}
