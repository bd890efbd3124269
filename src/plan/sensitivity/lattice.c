#include "plan/sensitivity/sensitivity.h"
#include "model/spread.h"

#include "base/search.h"
#include "calculus/tape/tape.h"
#include "noise/sampler.h"

#include <string.h>

#define UNIT 0x1p-53 /* half a unit in the last place of a result in [1, 2) */

int tc_exponent_below(double x) {
    int exponent;
    (void)frexp(x, &exponent);
    return exponent - 1;
}

/* ---- errors that do not depend on the choice --------------------------------------------------------------------- */

/* One lane for all members: hulls of boxes and data, so the bounds hold for each. */
static void family_errors(tc_lattices *t, size_t family) {
    tc_family_stream *f = &t->streams->families[family];
    const tc_family_derivatives *d = f->derivatives;
    size_t work = tc_tape_work(f->values_tape) > tc_tape_work(f->first_tape) ? tc_tape_work(f->values_tape)
                                                                             : tc_tape_work(f->first_tape);
    size_t most = d->body_count > d->body_first_count ? d->body_count : d->body_first_count;
    tc_batch_load_hull(f->batch);
    tc_rounded *state = TC_NEW(t->arena, tc_rounded, f->family->dim + f->family->column_count + 1);
    const tc_rounded **at = TC_NEW(t->arena, const tc_rounded *, f->family->dim + f->family->column_count + 1);
    for (size_t c = 0; c < f->family->dim; c++) {
        state[c] = tc_rounded_exactly(f->batch->state[c * TC_LANES]);
        at[c] = &state[c];
    }
    for (size_t i = 0; i < f->family->column_count; i++) {
        state[f->family->dim + i] = tc_rounded_exactly(f->batch->data[i * TC_LANES]);
        at[f->family->dim + i] = &state[f->family->dim + i];
    }
    tc_rounding_inputs inputs = {.state = at, .data = at + f->family->dim};
    tc_rounded *scratch = TC_NEW(t->arena, tc_rounded, work), *result = TC_NEW(t->arena, tc_rounded, most + 1);
    tc_rounded **out = TC_NEW(t->arena, tc_rounded *, most + 1);
    for (size_t i = 0; i < most; i++)
        out[i] = &result[i];
    tc_tape_rounding(f->values_tape, &inputs, 1, scratch, out);
    for (size_t b = 0; b < d->body_count; b++) {
        t->term_error[d->sums[b]] = result[b].error;
        t->term_size[d->sums[b]] = tc_magnitude(result[b].computed);
    }
    tc_tape_rounding(f->first_tape, &inputs, 1, scratch, out);
    for (size_t e = 0; e < d->body_first_count; e++) {
        t->slope_error[t->first_slope[family] + e] = result[e].error;
        t->slope_size[t->first_slope[family] + e] =
            fmax(tc_magnitude(result[e].computed), tc_magnitude(result[e].exact));
    }
}

static tc_even *even_of(const tc_lattices *t) {
    const tc_model *model = t->streams->model;
    const tc_tape **bodies = TC_NEW(t->arena, const tc_tape *, model->family_count + 1);
    const tc_tape **slopes = TC_NEW(t->arena, const tc_tape *, model->family_count + 1);
    for (size_t f = 0; f < model->family_count; f++) {
        bool has_bodies = t->streams->derivatives->families[f].body_count > 0;
        bodies[f] = has_bodies ? t->streams->families[f].values_tape : NULL;
        slopes[f] = has_bodies ? t->streams->families[f].first_tape : NULL;
    }
    tc_even_tapes tapes = {.bodies = bodies, .slopes = slopes, .outer = t->outer};
    return tc_even_new(t->arena, model, t->streams->derivatives, t->entries, tapes);
}

tc_lattices *tc_lattices_new(tc_arena *arena, tc_streams *streams, const tc_entries *entries) {
    const tc_model *model = streams->model;
    const tc_derivatives *d = streams->derivatives;
    tc_lattices *t = TC_NEW(arena, tc_lattices, 1);
    *t = (tc_lattices){.arena = arena, .streams = streams, .entries = entries};
    t->term_error = TC_NEW(arena, double, model->sum_count + 1);
    t->term_size = TC_NEW(arena, double, model->sum_count + 1);
    t->sums = TC_NEW(arena, tc_interval, model->sum_count + 1);
    t->first_slope = TC_NEW(arena, size_t, model->family_count + 1);
    for (size_t f = 0; f < model->family_count; f++)
        t->first_slope[f + 1] = t->first_slope[f] + d->families[f].body_first_count;
    t->slope_error = TC_NEW(arena, double, t->first_slope[model->family_count] + 1);
    t->slope_size = TC_NEW(arena, double, t->first_slope[model->family_count] + 1);
    tc_streams_sums(streams, NULL, t->sums);
    for (size_t f = 0; f < model->family_count; f++) {
        if (d->families[f].body_count > 0)
            family_errors(t, f);
    }
    size_t count = model->constraint_count + d->outer_first_count;
    tc_expr *roots = TC_NEW(arena, tc_expr, count + 1);
    for (size_t j = 0; j < model->constraint_count; j++)
        roots[j] = model->constraints[j].outer;
    for (size_t o = 0; o < d->outer_first_count; o++)
        roots[model->constraint_count + o] = d->outer_first[o].value;
    t->outer = tc_tape_new(arena, model->dag, roots, count);
    t->even = even_of(t);
    return t;
}

/* ---- outer functions --------------------------------------------------------------------------------------------- */

/* Their errors where sums come as integers times 2^exponent, turned into doubles. */
static tc_rounded *outer_errors(tc_lattices *t, const tc_lattice_choice *choice) {
    const tc_model *model = t->streams->model;
    const tc_derivatives *d = t->streams->derivatives;
    size_t count = model->constraint_count + d->outer_first_count;
    tc_rounded *sums = TC_NEW(t->arena, tc_rounded, model->sum_count + 1);
    tc_rounded *coords = t->streams->has_coords ? TC_NEW(t->arena, tc_rounded, model->state_count) : NULL;
    for (size_t r = 0; r < model->sum_count; r++) {
        double spread = choice->lattice.sum_spread[r];
        tc_interval reached = tc_iadd(t->sums[r], (tc_interval){-spread, spread});
        bool exact = tc_magnitude(reached) <= ldexp(1, choice->sum_exponents[r] + 53);
        sums[r] = tc_rounded_within(reached, exact ? 0 : tc_mul_up(tc_magnitude(reached), UNIT));
    }
    for (size_t i = 0; i < d->input_count; i++) {
        if (d->inputs[i].op == TC_COORD)
            coords[d->inputs[i].index] = tc_rounded_exactly(tc_coord_range(model, d->inputs[i].index));
    }
    tc_rounded *result = TC_NEW(t->arena, tc_rounded, count + 1), **out = TC_NEW(t->arena, tc_rounded *, count + 1);
    for (size_t i = 0; i < count; i++)
        out[i] = &result[i];
    tc_rounding_inputs inputs = {.coords = coords, .sums = sums};
    tc_tape_rounding(t->outer, &inputs, 1, TC_NEW(t->arena, tc_rounded, tc_tape_work(t->outer)), out);
    return result;
}

static double size_of(tc_rounded x) { return fmax(tc_magnitude(x.exact), tc_magnitude(x.computed)); }

/* An entry ((0 + Phi a) + Phi a + ...) + single: |error| <= sum of the products' errors and (terms + 2) roundings. */
static void entry_error(const tc_lattices *t, size_t family, const tc_shared_entry *entry, const tc_rounded *slopes,
                        double *error, double *size) {
    const tc_entry_term *terms = t->entries->families[family].terms + entry->first_term;
    double carried = 0, total = 0;
    for (size_t i = 0; i < entry->term_count; i++) {
        tc_rounded phi = slopes[terms[i].outer];
        double slope = t->slope_size[t->first_slope[family] + terms[i].first];
        double off = t->slope_error[t->first_slope[family] + terms[i].first];
        carried = tc_add_up(carried, tc_add_up(tc_mul_up(size_of(phi), off), tc_mul_up(phi.error, slope)));
        total = tc_add_up(total, tc_mul_up(size_of(phi), slope));
    }
    *size = total;
    *error = carried;
}

static double rounding_of(double total, double terms) { /* gamma_(2 terms + 2) |.|, and underflow of the products */
    double relative = tc_mul_up(tc_add_up(tc_mul_up(2, terms), 3), tc_mul_up(UNIT, 1 + 0x1p-20));
    return tc_add_up(tc_mul_up(total, relative), tc_mul_up(terms, 0x1p-1074));
}

/* The first single entry (they are sorted by row, then component) that is not before this one. */
static size_t first_single(const tc_family_entries *of, uint32_t row, uint32_t component) {
    const tc_single_entry *singles = of->singles;
    size_t at;
    TC_SEARCH(at, 0, of->single_count,
              singles[at].row < row || (singles[at].row == row && singles[at].component < component));
    return at;
}

static size_t first_shared(const tc_family_entries *of, uint32_t row) {
    size_t at;
    TC_SEARCH(at, 0, of->shared_count, of->shared[at].row < row);
    return at;
}

/* The largest error and size of the entries of a Jacobian channel. */
static void channel_error(const tc_lattices *t, const tc_channel *channel, const tc_rounded *slopes, double *error,
                          double *size) {
    const tc_family_entries *of = &t->entries->families[channel->family];
    *error = *size = 0;
    for (size_t e = first_shared(of, channel->first_row); e < of->shared_count; e++) {
        const tc_shared_entry *entry = &of->shared[e];
        if (entry->row - channel->first_row >= channel->row_count)
            break;
        if (!entry->noised)
            continue;
        double off, total, single = 0, single_error = 0;
        entry_error(t, channel->family, entry, slopes, &off, &total);
        for (size_t i = first_single(of, entry->row, entry->component); i < of->single_count; i++) {
            if (of->singles[i].row != entry->row || of->singles[i].component != entry->component)
                break;
            single = fmax(single, size_of(slopes[of->singles[i].outer]));
            single_error = fmax(single_error, slopes[of->singles[i].outer].error);
        }
        total = tc_add_up(total, single);
        off = tc_add_up(tc_add_up(off, single_error), rounding_of(total, (double)entry->term_count + 1));
        *error = fmax(*error, off);
        *size = fmax(*size, tc_add_up(total, off));
    }
    for (size_t i = first_single(of, channel->first_row, 0); i < of->single_count; i++) {
        const tc_single_entry *single = &of->singles[i];
        if (single->row - channel->first_row >= channel->row_count)
            break;
        if (!single->noised)
            continue;
        *error = fmax(*error, slopes[single->outer].error);
        *size = fmax(*size, size_of(slopes[single->outer]));
    }
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

/* Whether a sum has a power whose exponent differs between members: its rounding errors have no bound here, where one
 * bound is for all members (see power_of_data in calculus/tape/rounding.c). */
static bool has_uneven_powers(const tc_lattices *t, size_t sum) {
    const tc_dag *dag = t->streams->model->dag;
    tc_mark mark = tc_arena_mark(t->arena);
    size_t count;
    const tc_expr *nodes = tc_reachable(t->arena, dag, &t->streams->model->sums[sum].body, 1, &count);
    bool found = false;
    for (size_t i = 0; i < count && !found; i++)
        found = dag->nodes[nodes[i]].op == TC_POWD && dag->nodes[tc_operand(dag, nodes[i], 1)].op == TC_DATA;
    tc_arena_rewind(t->arena, mark);
    return found;
}

static const char *why_inexact(const tc_lattices *t, size_t sum) {
    const tc_model *model = t->streams->model;
    if (isfinite(t->term_error[sum]) || !has_uneven_powers(t, sum))
        return "the terms of a sum over agents cannot be computed as exactly as the lattice is fine";
    return tc_arena_format(t->arena,
                           "a sum over '%s' has a power whose exponent differs between members, and what rounding does "
                           "to it is bounded for equal exponents alone; --method tacit takes it, with noise on states; "
                           "else write a family for each exponent",
                           model->families[model->sums[sum].family].name);
}

/* The step of each sum r: the least over rows j of the rounding that row j bears, divided by |Phi_{j,r}|. */
static void choose_sums(tc_lattices *t, const tc_lattice_wish *wish, const tc_channel_map *map, double unit,
                        tc_lattice_choice *choice) {
    const tc_model *model = t->streams->model;
    const tc_derivatives *d = t->streams->derivatives;
    double *room = TC_NEW(t->arena, double, model->sum_count + 1),
           *in_row = TC_NEW(t->arena, double, model->constraint_count + 1);
    for (size_t r = 0; r < model->sum_count; r++)
        room[r] = INFINITY;
    for (size_t o = 0; o < d->outer_first_count; o++)
        in_row[d->outer_first[o].row] += d->inputs[d->outer_first[o].column].op == TC_SUM;
    for (size_t o = 0; o < d->outer_first_count; o++) {
        const tc_outer_input *input = &d->inputs[d->outer_first[o].column];
        uint32_t row = d->outer_first[o].row, channel = map->of_row[row];
        double weight = tc_magnitude(t->streams->first[o]);
        if (input->op != TC_SUM || channel == UINT32_MAX || !(weight > 0))
            continue;
        double bears = unit * wish->slope[channel] / (in_row[row] * weight);
        room[input->index] = fmin(room[input->index], bears);
    }
    for (size_t r = 0; r < model->sum_count; r++) {
        bool used = isfinite(room[r]) && room[r] > 0;
        choice->sum_exponents[r] = used ? tc_exponent_below(room[r]) : -20;
        double zeta = ldexp(1, choice->sum_exponents[r]),
               members = (double)model->families[model->sums[r].family].count;
        choice->lattice.sum_extra[r] = tc_add_up(tc_mul_up(2, t->term_error[r]), zeta);
        choice->lattice.sum_spread[r] = tc_mul_up(members, tc_add_up(t->term_error[r], zeta / 2));
        double units = tc_mul_up(members, tc_add_up(tc_div_up(t->term_size[r], zeta), 1));
        if (used && !(2 * t->term_error[r] <= zeta))
            choice->problem = why_inexact(t, r);
        else if (!(units < TC_MOST_UNITS))
            choice->problem = "an integer sum over agents could exceed 64 bits";
    }
}

/* Sums as they are computed: exact ones, and what rounding can do to them. */
static const char *find_uneven(tc_lattices *t, const tc_channel *channels, size_t count,
                               const tc_lattice_choice *choice, int state_exponent) {
    const tc_model *model = t->streams->model;
    tc_interval *sums = TC_NEW(t->arena, tc_interval, model->sum_count + 1);
    tc_even_lattices lattices = {.state_exponent = state_exponent,
                                 .sum_exponents = choice->sum_exponents,
                                 .most_step_exponent = count > 0 ? channels[0].step_exponent : 0,
                                 .sums = sums};
    for (size_t r = 0; r < model->sum_count; r++) {
        double spread = choice->lattice.sum_spread[r];
        sums[r] = tc_iadd(t->sums[r], (tc_interval){-spread, spread});
    }
    for (size_t i = 1; i < count; i++)
        if (channels[i].step_exponent > lattices.most_step_exponent)
            lattices.most_step_exponent = channels[i].step_exponent;
    return tc_even_problem(t->even, &lattices);
}

void tc_lattice_choose(tc_lattices *t, const tc_lattice_wish *wish, const tc_channel_map *map, tc_channel *channels,
                       size_t count, tc_lattice_choice *choice) {
    const tc_model *model = t->streams->model;
    double step = ldexp(1, wish->state_exponent);
    double unit = wish->share * (wish->whole_agents ? 1 : step) / (4 * fmax(wish->most_moved, 1));
    *choice = (tc_lattice_choice){.lattice = {.step = step}};
    choice->sum_exponents = TC_NEW(t->arena, int, model->sum_count + 1);
    choice->lattice.sum_extra = TC_NEW(t->arena, double, model->sum_count + 1);
    choice->lattice.sum_spread = TC_NEW(t->arena, double, model->sum_count + 1);
    choice->lattice.row_extra = TC_NEW(t->arena, double, model->constraint_count + 1);
    choice->lattice.channel_extra = TC_NEW(t->arena, double, count + 1);
    choose_sums(t, wish, map, unit, choice);
    if (choice->problem != NULL)
        return;
    const tc_rounded *outer = outer_errors(t, choice), *slopes = outer + model->constraint_count;
    for (size_t i = 0; i < count; i++) {
        tc_channel *channel = &channels[i];
        double error = 0, size = 0;
        channel->step_exponent = wish->slope[i] > 0 ? tc_exponent_below(unit * wish->slope[i]) : wish->state_exponent;
        double zeta = ldexp(1, channel->step_exponent);
        if (channel->kind == TC_CHANNEL_JACOBIAN) {
            channel_error(t, channel, slopes, &error, &size);
            choice->lattice.channel_extra[i] = tc_add_up(tc_mul_up(2, error), zeta);
        }
        for (uint32_t j = channel->first_row;
             channel->kind == TC_CHANNEL_CONSTRAINTS && j < channel->first_row + channel->row_count; j++) {
            choice->lattice.row_extra[j] = tc_add_up(tc_mul_up(2, outer[j].error), zeta);
            error = fmax(error, outer[j].error);
            size = fmax(size, size_of(outer[j]));
        }
        if (!(2 * error <= zeta))
            choice->problem = "an entry cannot be computed as exactly as its lattice is fine";
        else if (!(tc_add_up(tc_div_up(size, zeta), 1) < TC_MOST_UNITS))
            choice->problem = "an entry could exceed 64 bits on its lattice";
    }
    if (choice->problem == NULL)
        choice->problem = find_uneven(t, channels, count, choice, wish->state_exponent);
}

typedef enum state_fault { FINE, TOO_WIDE, TOO_NARROW } state_fault;

/* Of the first member with a fault, in order: of the first rank that has one. */
static state_fault find_state_fault(const tc_family *family, size_t c, int exponent) {
    bool varies = family->lower[c].column != NULL || family->upper[c].column != NULL;
    state_fault fault = FINE;
    for (size_t k = tc_first_known(family, varies); fault == FINE && k < tc_end_known(family, varies); k++) {
        double lower = ldexp(tc_coef_at(family->lower[c], k), -exponent);
        double upper = ldexp(tc_coef_at(family->upper[c], k), -exponent);
        if (!(lower >= -0x1p53 && upper <= 0x1p53))
            fault = TOO_WIDE;
        else if (!(ceil(lower) <= floor(upper)))
            fault = TOO_NARROW;
    }
    if (varies && family->is_spread) {
        size_t rank = tc_first_rank(family, fault != FINE);
        if (rank != SIZE_MAX)
            tc_from_rank(family, rank, &fault, sizeof fault);
    }
    return fault;
}

const char *tc_lattice_check_states(const tc_model *model, int state_exponent) {
    state_fault fault = FINE;
    for (size_t f = 0; f < model->family_count; f++)
        for (size_t c = 0; fault == FINE && c < model->families[f].dim; c++)
            fault = find_state_fault(&model->families[f], c, state_exponent);
    return fault == TOO_WIDE     ? "a public box is too wide for the lattice of the states"
           : fault == TOO_NARROW ? "a public box is so narrow that it holds no point of the lattice of the states"
                                 : NULL;
}
