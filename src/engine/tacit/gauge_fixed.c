/* Rows that no state moves: their part of what a gauge over states shows. */
#include "engine/tacit/gauge_build.h"

/* Totals of a row that no state moves. */
static void total_fixed(const tc_gauge_builder *b, tc_gauge_family *of, const tc_gauge_lists *lists, size_t number) {
    const tc_gauge_kernels *kernels = b->gauge->kernels;
    const tc_gauge_row *row = &of->rows[number];
    tc_tape *tape =
        row->from == TC_ROW_TAPE ? tc_tape_new(b->arena, b->gauge->model->dag, &lists->nodes[number - 1], 1) : NULL;
    double *work = TC_NEW(b->arena, double, tape == NULL ? 0 : tc_tape_work(tape)), room[TC_LANES], *out = room;
    double t[3][TC_TOTAL_LANES] = {{0}};
    const double **data = TC_NEW(b->arena, const double *, of->family->column_count);
    for (size_t k = 0; k < of->family->count; k += TC_LANES) {
        size_t lanes = of->family->count - k < TC_LANES ? of->family->count - k : TC_LANES;
        for (size_t d = 0; d < of->family->column_count; d++)
            data[d] = of->family->columns[d].values + k;
        if (tape != NULL)
            tc_tape_eval(tape, &(tc_inputs){.data = data}, lanes, work, &out);
        const double *values = tape != NULL ? room : row->values + k;
        kernels->total(lanes, values, t[0]);
        kernels->total_sizes(lanes, values, t[1], t[2]);
    }
    of->fixed_total[number] = tc_total_of_lanes(t[0]);
    of->fixed_size[number] = tc_total_of_lanes(t[1]);
    of->fixed_square[number] = tc_total_of_lanes(t[2]);
}

void tc_gauge_add_fixed(const tc_gauge_builder *b, tc_gauge_family *of, const tc_gauge_lists *lists) {
    tc_gauged *fixed = &b->gauge->fixed;
    of->fixed_total = TC_NEW(b->arena, double, of->row_count);
    of->fixed_size = TC_NEW(b->arena, double, of->row_count);
    of->fixed_square = TC_NEW(b->arena, double, of->row_count);
    of->fixed_total[0] = of->fixed_size[0] = of->fixed_square[0] = (double)of->family->count;
    for (size_t i = 1; i < of->row_count; i++)
        if (!of->rows[i].varies)
            total_fixed(b, of, lists, i);
    for (size_t i = 0; i < lists->value_count; i++)
        if (!of->rows[lists->values[i].row].varies)
            fixed->value[lists->values[i].input] += lists->values[i].factor * of->fixed_total[lists->values[i].row];
    for (size_t i = 0; i < lists->slope_count; i++) {
        const tc_gauge_raw *raw = &lists->slopes[i];
        if (of->rows[raw->row].varies)
            continue;
        fixed->norm1[raw->input] += fabs(raw->factor) * of->fixed_size[raw->row];
        fixed->norm2[raw->input] += raw->factor * raw->factor * of->fixed_square[raw->row];
        fixed->noise[raw->input] += of->variance * (raw->factor * raw->factor * of->fixed_square[raw->row]);
    }
    for (size_t i = 0; i < lists->bend_count; i++) {
        const tc_gauge_raw *raw = &lists->bends[i];
        if (!of->rows[raw->row].varies && of->pairs[raw->at].column == of->pairs[raw->at].other)
            fixed->trace[raw->input] += of->variance * (raw->factor * of->fixed_total[raw->row]);
    }
}
