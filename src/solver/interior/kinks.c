/* Lifted kinks of objectives as variables and rows of the blocks; see calculus/lift.h. */
#include "solver/interior/layout.h"

#include <math.h>

/* ---- bounds and scales ---- */

/* The range of a kink over the box, with room on both sides: its rows bound it, not the range. A norm's t stays a
 * little above 0: so near to its tip the norm is replaced by a parabola, which moves no solution further than that. */
void tc_kinks_bound(const tc_group *group, size_t member, tc_real *lower, tc_real *upper) {
    const tc_group_tapes *tapes = &group->tapes;
    size_t columns = group->family->column_count;
    for (size_t c = 0; c < group->states; c++)
        tapes->ranges[c] = (tc_interval){group->set->lower[c], group->set->upper[c]};
    for (size_t d = 0; d < columns; d++)
        tapes->ranges[group->states + d] = tc_point(group->family->columns[d].values[group->first_member + member]);
    tc_interval_inputs inputs = {.state = tapes->range_at, .data = tapes->range_at + group->states};
    tc_tape_enclose(tapes->kinks, &inputs, 1, tapes->enclose_work, tapes->kink_at);
    for (size_t t = 0; t < group->kinks; t++) {
        tc_real lo = tapes->kink_at[t]->lo, hi = tapes->kink_at[t]->hi, room = 0.25L * (hi - lo);
        if (room == 0)
            room = hi != 0 ? 0.25L * fabsl(hi) : 1;
        lower[t] = group->lift->norm[t] == t ? 1e-11L * (hi + room) : lo - room;
        upper[t] = hi + room;
    }
}

/* Rows are in the unit of the states. */
size_t tc_kinks_prepare(const tc_group *group, size_t member, size_t row, const tc_real *lower, const tc_real *upper) {
    tc_real width = 0;
    for (size_t c = 0; c < group->states; c++)
        width = fmaxl(width, (tc_real)group->set->upper[c] - (tc_real)group->set->lower[c]);
    for (size_t j = 0; j < group->lift->row_count; j++, row++) {
        tc_real size = upper[group->lift->row_kink[j]] - lower[group->lift->row_kink[j]];
        group->is_equality[member * group->rows + row] = group->lift->row_is_equality[j];
        group->row_scale[member * group->rows + row] = width > 0 ? (double)(width / size) : 1;
    }
    return row;
}

/* ---- rows, from the tapes ---- */

void tc_kinks_evaluate(const tc_group *group, size_t member, size_t lane, tc_real *h, tc_real *gradients) {
    const tc_group_tapes *tapes = &group->tapes;
    size_t begin = group->row_count[member] - group->lift->row_count;
    const double *scales = group->row_scale + member * group->rows + begin;
    for (size_t j = 0; j < group->lift->row_count; j++)
        h[begin + j] = scales[j] * tapes->output_at[tapes->lift_rows + j][lane];
    for (size_t i = 0; i < group->lift->row_first_count; i++) {
        const tc_first *first = &group->lift->row_first[i];
        gradients[(begin + first->row) * group->dim + first->column] =
            scales[first->row] * tapes->output_at[tapes->lift_firsts + i][lane];
    }
}

/* Into the lower triangle. */
void tc_kinks_hessian(const tc_group *group, size_t member, size_t lane, const tc_real *y, tc_real *hessian) {
    const tc_group_tapes *tapes = &group->tapes;
    size_t begin = group->row_count[member] - group->lift->row_count;
    const double *scales = group->row_scale + member * group->rows + begin;
    for (size_t i = 0; i < group->lift->row_second_count; i++) {
        const tc_second *second = &group->lift->row_second[i];
        hessian[second->column * group->dim + second->other] +=
            y[begin + second->row] * scales[second->row] * tapes->output_at[tapes->lift_seconds + i][lane];
    }
}
