#include "plan/sensitivity/sensitivity.h"
#include "model/spread.h"

#include <stdio.h>

enum { TINY_LETTERS = 64 }; /* of tc_sized.tiny */

typedef struct family_facts {
    tc_sized *data;   /* by column: a value that encloses all members' */
    tc_sized *terms;  /* by body */
    tc_sized *slopes; /* by body_first */
} family_facts;

struct tc_even {
    tc_arena *arena;
    const tc_model *model;
    const tc_derivatives *derivatives;
    const tc_entries *entries;
    tc_even_tapes tapes;
    family_facts *families;
    tc_sized *work, *outer, *sums, *coords;
    tc_sized **out; /* rows of results, for the family with the most */
    tc_sized **outer_out;
    tc_sized *rows, *state, *data; /* [index * TC_LANES + lane] */
    const tc_sized **state_at, **data_at;
};

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* For other ranks: what is tiny goes as its letters. */
static void put_sizes(tc_arena *arena, tc_sized *sizes, size_t count, tc_parcel *parcel) {
    for (size_t i = 0; i < count; i++) {
        char tiny[TINY_LETTERS] = "";
        if (sizes[i].tiny != NULL)
            (void)snprintf(tiny, sizeof tiny, "%s", sizes[i].tiny);
        tc_put(parcel, &sizes[i].range, sizeof sizes[i].range);
        tc_put(parcel, &sizes[i].least, sizeof sizes[i].least);
        tc_put(parcel, &sizes[i].grain, sizeof sizes[i].grain);
        tc_put(parcel, tiny, sizeof tiny);
        if (parcel->unpacks)
            sizes[i].tiny = tiny[0] == '\0' ? NULL : tc_arena_format(arena, "%s", tiny);
    }
}

typedef struct data_hull {
    tc_arena *arena;
    tc_sized *data;
    size_t count;
    bool has_any;
} data_hull;

static void pack_hull(void *context, tc_parcel *parcel) {
    data_hull *hull = context;
    tc_put(parcel, &hull->has_any, sizeof hull->has_any);
    put_sizes(hull->arena, hull->data, hull->count, parcel);
}

/* Of what this rank knows, and then of all ranks. */
static tc_sized *measure_data(tc_arena *arena, const tc_family *family) {
    size_t first = family->known_first, end = family->known_end, count = family->column_count;
    tc_sized *here = TC_NEW(arena, tc_sized, count + 1);
    data_hull all = {.arena = arena, .data = TC_NEW(arena, tc_sized, count + 1), .count = count};
    for (size_t d = 0; d < count && first < end; d++) {
        here[d] = tc_sized_constant(family->columns[d].values[first]);
        for (size_t k = first + 1; k < end; k++)
            here[d] = tc_sized_hull(here[d], tc_sized_constant(family->columns[d].values[k]));
    }
    if (!family->is_spread)
        return here;
    tc_carry(arena, family, pack_hull, &all, true);
    for (size_t d = 0; d < count && first < end; d++)
        all.data[d] = all.has_any ? tc_sized_hull(all.data[d], here[d]) : here[d];
    all.has_any = all.has_any || first < end;
    tc_carry(arena, family, pack_hull, &all, false);
    return all.data;
}

static const tc_sized **rows_of(tc_arena *arena, size_t count, const tc_sized *rows) {
    const tc_sized **made = TC_NEW(arena, const tc_sized *, count + 1);
    for (size_t i = 0; i < count; i++)
        made[i] = rows + i * TC_LANES;
    return made;
}

static void make_room(tc_even *e) {
    const tc_model *model = e->model;
    size_t work = tc_tape_work(e->tapes.outer), outer = tc_tape_root_count(e->tapes.outer);
    size_t roots = 0, dim = 0, columns = 0;
    bool has_coords = false;
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_tape *both[] = {e->tapes.bodies[f], e->tapes.slopes[f]};
        for (size_t i = 0; i < 2; i++) {
            work = larger(work, both[i] == NULL ? 0 : tc_tape_work(both[i]));
            roots = larger(roots, both[i] == NULL ? 0 : tc_tape_root_count(both[i]));
        }
        dim = larger(dim, model->families[f].dim);
        columns = larger(columns, model->families[f].column_count);
    }
    e->work = TC_NEW(e->arena, tc_sized, work + 1);
    e->rows = TC_NEW(e->arena, tc_sized, roots * TC_LANES + 1);
    e->out = TC_NEW(e->arena, tc_sized *, roots + 1);
    for (size_t i = 0; i < roots; i++)
        e->out[i] = e->rows + i * TC_LANES;
    e->state = TC_NEW(e->arena, tc_sized, dim * TC_LANES + 1);
    e->data = TC_NEW(e->arena, tc_sized, columns * TC_LANES + 1);
    e->state_at = rows_of(e->arena, dim, e->state);
    e->data_at = rows_of(e->arena, columns, e->data);
    e->outer = TC_NEW(e->arena, tc_sized, outer + 1);
    e->outer_out = TC_NEW(e->arena, tc_sized *, outer + 1);
    for (size_t i = 0; i < outer; i++)
        e->outer_out[i] = &e->outer[i];
    e->sums = TC_NEW(e->arena, tc_sized, model->sum_count + 1);
    for (size_t i = 0; i < e->derivatives->input_count; i++)
        has_coords = has_coords || e->derivatives->inputs[i].op == TC_COORD;
    e->coords = has_coords ? TC_NEW(e->arena, tc_sized, model->state_count) : NULL;
}

tc_even *tc_even_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                     const tc_entries *entries, tc_even_tapes tapes) {
    tc_even *e = TC_NEW(arena, tc_even, 1);
    *e = (tc_even){.arena = arena, .model = model, .derivatives = derivatives, .entries = entries, .tapes = tapes};
    e->families = TC_NEW(arena, family_facts, model->family_count + 1);
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family_derivatives *d = &derivatives->families[f];
        e->families[f] = (family_facts){.data = measure_data(arena, &model->families[f]),
                                        .terms = TC_NEW(arena, tc_sized, d->body_count + 1),
                                        .slopes = TC_NEW(arena, tc_sized, d->body_first_count + 1)};
    }
    make_room(e);
    return e;
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

static void measure_tape(tc_even *e, const tc_tape *tape, size_t lanes, bool first, tc_sized *all) {
    tc_sized_inputs inputs = {.state = e->state_at, .data = e->data_at};
    if (tape == NULL)
        return;
    tc_tape_sizes(tape, &inputs, lanes, e->work, e->out);
    for (size_t i = 0; i < tc_tape_root_count(tape); i++)
        for (size_t lane = 0; lane < lanes; lane++)
            all[i] = first && lane == 0 ? e->out[i][0] : tc_sized_hull(all[i], e->out[i][lane]);
}

static void measure_tapes(tc_even *e, size_t f, size_t lanes, bool first) {
    measure_tape(e, e->tapes.bodies[f], lanes, first, e->families[f].terms);
    measure_tape(e, e->tapes.slopes[f], lanes, first, e->families[f].slopes);
}

static bool is_any_tiny(const tc_sized *sizes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (sizes[i].tiny != NULL)
            return true;
    return false;
}

/* One lane that stands for all: hulls of boxes and of data. */
static void measure_all_at_once(tc_even *e, size_t f, int exponent) {
    const tc_family *family = &e->model->families[f];
    for (size_t c = 0; c < family->dim; c++) {
        bool varies = family->lower[c].column != NULL || family->upper[c].column != NULL;
        tc_interval range = {INFINITY, -INFINITY};
        if (varies)
            tc_fold_begin(family, &range, sizeof range);
        for (size_t k = tc_first_known(family, varies); k < tc_end_known(family, varies); k++)
            range = k == 0 ? tc_public_range(family, 0, c) : tc_hull(range, tc_public_range(family, k, c));
        if (varies)
            tc_fold_end(family, &range, sizeof range);
        e->state[c * TC_LANES] = tc_sized_multiple(range, exponent);
    }
    for (size_t d = 0; d < family->column_count; d++)
        e->data[d * TC_LANES] = e->families[f].data[d];
    measure_tapes(e, f, 1, true);
}

typedef struct sized_family {
    tc_even *even;
    size_t family;
} sized_family;

static void pack_sizes(void *context, tc_parcel *parcel) {
    const sized_family *m = context;
    const tc_family_derivatives *d = &m->even->derivatives->families[m->family];
    put_sizes(m->even->arena, m->even->families[m->family].terms, d->body_count, parcel);
    put_sizes(m->even->arena, m->even->families[m->family].slopes, d->body_first_count, parcel);
}

static void measure_each(tc_even *e, size_t f, int exponent) {
    const tc_family *family = &e->model->families[f];
    sized_family all = {e, f};
    tc_carry(e->arena, family, pack_sizes, &all, true);
    for (size_t k = family->known_first; k < family->known_end; k += TC_LANES) {
        size_t lanes = family->known_end - k < TC_LANES ? family->known_end - k : TC_LANES;
        for (size_t lane = 0; lane < lanes; lane++) {
            for (size_t c = 0; c < family->dim; c++)
                e->state[c * TC_LANES + lane] = tc_sized_multiple(tc_public_range(family, k + lane, c), exponent);
            for (size_t d = 0; d < family->column_count; d++)
                e->data[d * TC_LANES + lane] = tc_sized_constant(family->columns[d].values[k + lane]);
        }
        measure_tapes(e, f, lanes, k == 0);
    }
    tc_carry(e->arena, family, pack_sizes, &all, false);
}

static void measure_family(tc_even *e, size_t f, int exponent) {
    const tc_family_derivatives *d = &e->derivatives->families[f];
    measure_all_at_once(e, f, exponent);
    if (is_any_tiny(e->families[f].terms, d->body_count) || is_any_tiny(e->families[f].slopes, d->body_first_count))
        measure_each(e, f, exponent);
}

static void measure_outer(tc_even *e, const tc_even_lattices *l) {
    const tc_model *model = e->model;
    for (size_t r = 0; r < model->sum_count; r++)
        e->sums[r] = tc_sized_multiple(l->sums[r], l->sum_exponents[r]);
    for (size_t i = 0; i < e->derivatives->input_count; i++) {
        size_t coord = e->derivatives->inputs[i].index;
        if (e->derivatives->inputs[i].op == TC_COORD)
            e->coords[coord] = tc_sized_multiple(tc_coord_range(model, coord), l->state_exponent);
    }
    tc_sized_inputs inputs = {.coords = e->coords, .sums = e->sums};
    tc_tape_sizes(e->tapes.outer, &inputs, 1, e->work, e->outer_out);
}

/* ---- the sentence ------------------------------------------------------------------------------------------------ */

static const char *say(const tc_even *e, size_t row, const char *what) {
    return tc_arena_format(e->arena,
                           "constraint %s: %s can come below 2.3e-308 there. Arithmetic with so small numbers takes "
                           "longer, and the time of a release would depend on states: narrow the public boxes, or "
                           "write the constraint without numbers so small",
                           e->model->constraints[row].name, what);
}

/* The first constraint that needs the sum. */
static size_t row_of_sum(const tc_even *e, size_t sum) {
    const tc_derivatives *d = e->derivatives;
    for (size_t i = 0; i < d->outer_first_count; i++) {
        const tc_outer_input *input = &d->inputs[d->outer_first[i].column];
        if (input->op == TC_SUM && input->index == sum)
            return d->outer_first[i].row;
    }
    return 0;
}

/* Whether the number over 2^exponent can be subnormal: NULL if not, else which number can. */
static const char *find_tiny(tc_sized size, int exponent, const char *what) {
    if (size.tiny != NULL)
        return size.tiny;
    return size.least != TC_ALWAYS_ZERO && size.least - exponent < TC_LEAST_NORMAL ? what : NULL;
}

static const char *check_family(const tc_even *e, size_t f, const tc_even_lattices *l) {
    const tc_family_derivatives *d = &e->derivatives->families[f];
    for (size_t b = 0; b < d->body_count; b++) {
        const char *what = find_tiny(e->families[f].terms[b], l->sum_exponents[d->sums[b]], "a term");
        if (what != NULL)
            return say(e, row_of_sum(e, d->sums[b]), what);
    }
    return NULL;
}

static bool is_before(const tc_single_entry *single, const tc_shared_entry *shared) {
    return single->row < shared->row || (single->row == shared->row && single->component < shared->component);
}

/* A shared entry with and without single parts; both are sorted alike, and *single is the first not before it. */
static tc_sized entry_of(const tc_even *e, size_t f, const tc_shared_entry *shared, size_t *single) {
    const tc_family_entries *entries = &e->entries->families[f];
    const tc_sized *slopes = e->outer + e->model->constraint_count;
    tc_sized value = tc_sized_constant(0);
    for (size_t t = 0; t < shared->term_count; t++) {
        tc_entry_term term = entries->terms[shared->first_term + t];
        value = tc_sized_add(value, tc_sized_multiply(slopes[term.outer], e->families[f].slopes[term.first]));
    }
    tc_sized all = value;
    while (*single < entries->single_count && is_before(&entries->singles[*single], shared))
        ++*single;
    for (size_t s = *single; s < entries->single_count && entries->singles[s].row == shared->row &&
                             entries->singles[s].component == shared->component;
         s++)
        all = tc_sized_hull(all, tc_sized_add(value, slopes[entries->singles[s].outer]));
    return all;
}

static const char *check_entries(const tc_even *e, size_t f, const tc_even_lattices *l) {
    const tc_family_entries *entries = &e->entries->families[f];
    size_t single = 0;
    for (size_t i = 0; i < entries->shared_count; i++) {
        if (!entries->shared[i].noised)
            continue;
        const char *what =
            find_tiny(entry_of(e, f, &entries->shared[i], &single), l->most_step_exponent, "an entry of its Jacobian");
        if (what != NULL)
            return say(e, entries->shared[i].row, what);
    }
    return NULL;
}

static const char *check_outer(const tc_even *e, const tc_even_lattices *l) {
    size_t m = e->model->constraint_count;
    for (size_t i = 0; i < tc_tape_root_count(e->tapes.outer); i++) {
        const char *what = find_tiny(e->outer[i], l->most_step_exponent, i < m ? "its value" : "a derivative");
        if (what != NULL)
            return say(e, i < m ? i : e->derivatives->outer_first[i - m].row, what);
    }
    return NULL;
}

const char *tc_even_problem(tc_even *e, const tc_even_lattices *l) {
    const char *problem = NULL;
    if (l->state_exponent < TC_LEAST_NORMAL)
        return "the public boxes are so narrow that states come below 2.3e-308. Arithmetic with so small numbers takes "
               "longer, and the time of a release would depend on states: choose larger units";
    for (size_t f = 0; problem == NULL && f < e->model->family_count; f++) {
        measure_family(e, f, l->state_exponent);
        problem = check_family(e, f, l);
    }
    if (problem != NULL || e->model->constraint_count == 0)
        return problem;
    measure_outer(e, l);
    problem = check_outer(e, l);
    for (size_t f = 0; problem == NULL && f < e->model->family_count; f++)
        problem = check_entries(e, f, l);
    return problem;
}
