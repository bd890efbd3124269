#include "engine/tacit/gauge_parts.h"

#include <stdlib.h>
#include <string.h>

size_t tc_gauge_inputs(const tc_gauge *gauge) { return gauge->gauged.count; }

double tc_gauge_input_variance(const tc_gauge *gauge, size_t input) { return gauge->variance[input]; }

void tc_gauge_open(tc_gauge *gauge, tc_gains gains) { gauge->gains = gains; }

/* ---- making one ----------------------------------------------------------------------------------------------------
 */

static int compare_raw(const void *x, const void *y) {
    const tc_gauge_raw *a = x, *b = y;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->input > b->input) - (a->input < b->input);
}

tc_gauge_uses tc_gauge_gather(tc_arena *arena, tc_gauge_raw *raw, size_t count, size_t places) {
    tc_gauge_uses made = {.uses = TC_NEW(arena, tc_gauge_use, count), .terms = TC_NEW(arena, tc_gauge_term, count)};
    if (count > 1)
        qsort(raw, count, sizeof *raw, compare_raw);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || raw[i].at != raw[i - 1].at || raw[i].row != raw[i - 1].row)
            made.uses[made.count++] = (tc_gauge_use){raw[i].at, raw[i].row};
        made.terms[made.term_count++] = (tc_gauge_term){(uint32_t)(made.count - 1), raw[i].input, raw[i].factor};
    }
    made.first = TC_NEW(arena, size_t, places + 1);
    for (size_t at = 0, i = 0; at <= places; at++) {
        while (i < made.count && made.uses[i].at < at)
            i++;
        made.first[at] = i;
    }
    made.weight = TC_NEW(arena, double, made.count);
    made.base = TC_NEW(arena, double, places);
    return made;
}

static int compare_singles(const void *x, const void *y) {
    const tc_gauge_single *a = x, *b = y;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    if (a->component != b->component)
        return a->component < b->component ? -1 : 1;
    return (a->input > b->input) - (a->input < b->input);
}

static void sort_singles(tc_arena *arena, tc_gauge *gauge) {
    if (gauge->single_count > 1)
        qsort(gauge->singles, gauge->single_count, sizeof *gauge->singles, compare_singles);
    gauge->block_singles = TC_NEW(arena, size_t, gauge->block_count + 1);
    for (size_t block = 0, i = 0; block <= gauge->block_count; block++) {
        while (i < gauge->single_count && gauge->singles[i].block < block)
            i++;
        gauge->block_singles[block] = i;
    }
    gauge->lone = TC_NEW(arena, tc_gauge_single, gauge->single_count);
    for (size_t i = 0; i < gauge->single_count; i++)
        if (!gauge->families[gauge->singles[i].family].has_rows)
            gauge->lone[gauge->lone_count++] = gauge->singles[i];
}

static void number_blocks(tc_arena *arena, tc_gauge *gauge) {
    gauge->families = TC_NEW(arena, tc_gauge_family, gauge->model->family_count);
    for (size_t f = 0; f < gauge->model->family_count; f++) {
        tc_gauge_family *of = &gauge->families[f];
        of->family = &gauge->model->families[f];
        of->first_block = gauge->block_count;
        of->first_bite = gauge->bite_count;
        of->block_count = (of->family->count + TC_RELEASE_BLOCK - 1) / TC_RELEASE_BLOCK;
        gauge->block_count += of->block_count;
        gauge->bite_count += (of->family->count + TC_GAUGE_BITE - 1) / TC_GAUGE_BITE;
    }
    gauge->facts = TC_NEW(arena, tc_gauge_facts, gauge->bite_count);
}

static tc_gauged new_gauged(tc_arena *arena, size_t count) {
    return (tc_gauged){.count = count,
                       .value = TC_NEW(arena, double, count),
                       .shift = TC_NEW(arena, double, count),
                       .curve = TC_NEW(arena, double, count),
                       .trace = TC_NEW(arena, double, count),
                       .noise = TC_NEW(arena, double, count),
                       .norm1 = TC_NEW(arena, double, count),
                       .norm2 = TC_NEW(arena, double, count),
                       .rest = TC_NEW(arena, double, count),
                       .rest_curve = TC_NEW(arena, double, count)};
}

/* Arrays that every gauge has, whatever it observes. */
static void make_arrays(tc_arena *arena, tc_gauge *gauge, size_t inputs, size_t observed) {
    gauge->gauged = new_gauged(arena, inputs);
    gauge->fixed = new_gauged(arena, inputs);
    gauge->tariff = (tc_tariff){.price = TC_NEW(arena, double, inputs),
                                .curvature = TC_NEW(arena, double, inputs),
                                .reach = TC_NEW(arena, double, inputs),
                                .bend = TC_NEW(arena, double, inputs),
                                .bend_noise = TC_NEW(arena, double, inputs)};
    gauge->variance = TC_NEW(arena, double, inputs);
    gauge->last_reach = TC_NEW(arena, double, inputs);
    for (size_t i = 0; i < inputs; i++)
        gauge->last_reach[i] = (double)NAN;
    gauge->lower = TC_NEW(arena, double, observed);
    gauge->upper = TC_NEW(arena, double, observed);
    gauge->y = TC_NEW(arena, double, observed);
    gauge->r = TC_NEW(arena, double, observed);
}

static double **rows_of(tc_arena *arena, size_t rows, size_t length) {
    double **made = TC_NEW(arena, double *, rows), *numbers = TC_NEW(arena, double, rows *length);
    for (size_t i = 0; i < rows; i++)
        made[i] = numbers + i * length;
    return made;
}

typedef struct room { /* the most that a worker needs */
    size_t dim, columns, rows, totals, work, outputs;
} room;

static void enlarge(size_t *most, size_t wanted) { *most = wanted > *most ? wanted : *most; }

static room room_for(const tc_gauge *gauge) {
    room most = {0};
    for (size_t f = 0; f < gauge->model->family_count; f++) {
        const tc_gauge_family *of = &gauge->families[f];
        if (!of->has_rows)
            continue;
        enlarge(&most.dim, of->family->dim);
        enlarge(&most.columns, of->family->column_count);
        enlarge(&most.rows, of->row_count);
        enlarge(&most.totals, of->total_count);
        for (size_t pass = 0; pass < 2; pass++)
            if (of->tape[pass] != NULL) {
                enlarge(&most.work, tc_tape_work(of->tape[pass]));
                enlarge(&most.outputs, tc_tape_root_count(of->tape[pass]));
            }
    }
    return most;
}

static tc_gauge_worker new_worker(tc_arena *arena, const room *most, size_t dim) {
    return (tc_gauge_worker){.inside = rows_of(arena, most->dim, TC_GAUGE_BITE),
                             .away = rows_of(arena, most->dim, TC_GAUGE_BITE),
                             .beyond = rows_of(arena, most->dim, TC_GAUGE_BITE),
                             .is_beyond = TC_NEW(arena, bool, most->dim),
                             .lower = TC_NEW(arena, double, TC_GAUGE_BITE),
                             .upper = TC_NEW(arena, double, TC_GAUGE_BITE),
                             .work = TC_NEW(arena, double, most->work),
                             .output = rows_of(arena, most->outputs, TC_LANES),
                             .state = TC_NEW(arena, const double *, most->dim),
                             .data = TC_NEW(arena, const double *, most->columns),
                             .rows = TC_NEW(arena, const double *, most->rows),
                             .totals = TC_NEW(arena, double, most->totals *TC_TOTAL_LANES),
                             .reach = rows_of(arena, most->dim, TC_GAUGE_BITE),
                             .bend = rows_of(arena, most->dim, TC_GAUGE_BITE),
                             .reach_is_row = TC_NEW(arena, bool, most->dim),
                             .bend_is_row = TC_NEW(arena, bool, most->dim),
                             .hessian = TC_NEW(arena, double, TC_GAUGE_BITE),
                             .answers = TC_NEW(arena, double *, dim)};
}

static void finish(tc_arena *arena, tc_gauge *gauge, size_t workers) {
    size_t dim = 0;
    for (size_t f = 0; f < gauge->model->family_count; f++) {
        tc_gauge_family *of = &gauge->families[f];
        gauge->any_rows = gauge->any_rows || of->has_rows;
        enlarge(&dim, of->family->dim);
        if (!of->has_rows)
            continue;
        of->reach = TC_NEW(arena, double, of->slopes.count);
        of->reach_base = TC_NEW(arena, double, of->family->dim);
        of->bend_base = TC_NEW(arena, double, of->family->dim);
    }
    sort_singles(arena, gauge);
    room most = room_for(gauge);
    gauge->workers = TC_NEW(arena, tc_gauge_worker, workers);
    for (size_t w = 0; w < workers; w++)
        gauge->workers[w] = new_worker(arena, &most, dim);
    gauge->whole_states = TC_NEW(arena, const double *, dim);
    gauge->whole_answers = TC_NEW(arena, double *, dim);
}

static void copy_fixed(tc_gauge *gauge) {
    size_t size = gauge->gauged.count * sizeof(double);
    if (size == 0)
        return;
    memcpy(gauge->gauged.value, gauge->fixed.value, size);
    memcpy(gauge->gauged.noise, gauge->fixed.noise, size);
    memcpy(gauge->gauged.norm1, gauge->fixed.norm1, size);
    memcpy(gauge->gauged.norm2, gauge->fixed.norm2, size);
}

tc_gauge *tc_gauge_new(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                       const tc_released *constants, size_t workers) {
    tc_gauge *made = TC_NEW(arena, tc_gauge, 1);
    bool forms = plan->placement != TC_PLACEMENT_STATES;
    bool derived = plan->placement == TC_PLACEMENT_FORMS;
    *made = (tc_gauge){.model = derived ? plan->measured : model,
                       .derivatives = derived ? plan->measured_derivatives : derivatives,
                       .kernels = tc_gauge_kernels_here(),
                       .takes_forms = forms};
    number_blocks(arena, made);
    if (forms) {
        made->observed_count = made->model->constraint_count;
        make_arrays(arena, made, made->observed_count, made->observed_count);
        tc_gauge_build_forms(arena, made, plan, constants);
    } else {
        make_arrays(arena, made, derivatives->input_count, derivatives->input_count - model->sum_count);
        tc_gauge_build_states(arena, made, plan);
    }
    finish(arena, made, workers);
    copy_fixed(made);
    return made;
}
