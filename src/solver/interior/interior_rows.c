/* The parts of a set as scaled rows: a half-space, hyperplane, ball or ellipsoid is one row; an l1 ball around c is
 * |x_j - c_j| <= t_j (two rows each) and sum t <= radius, with t the block's lifting variables. */
#include "solver/interior/interior_parts.h"

#include <math.h>

static size_t rows_of_part(const tc_set_part *part) { return part->kind == TC_SET_BALL1 ? 2 * part->count + 1 : 1; }

static tc_real scale_of_part(const tc_set_part *part) {
    tc_real size = 0;
    switch (part->kind) {
    case TC_SET_HALFSPACE:
    case TC_SET_HYPERPLANE:
        for (size_t c = 0; c < part->count; c++)
            size += (tc_real)part->center[c] * (tc_real)part->center[c];
        return 1 / sqrtl(size);
    case TC_SET_BALL:
        return 1 / (2 * (tc_real)part->radius);
    case TC_SET_ELLIPSOID:
        for (size_t c = 0; c < part->count; c++)
            size = fmaxl(size, (tc_real)part->matrix[c * part->count + c]);
        return 1 / (2 * sqrtl(size * (tc_real)part->radius));
    case TC_SET_BALL1:
    case TC_SET_BOX:
    case TC_SET_SIMPLEX:
        break;
    }
    return 1;
}

size_t tc_rows_prepare(const tc_group *group, size_t member, tc_real *lift_lower, tc_real *lift_upper) {
    size_t row = 0, lift = 0;
    for (size_t p = 0; p < group->set->part_count; p++) {
        const tc_set_part *part = &group->set->parts[p];
        for (size_t r = 0; r < rows_of_part(part); r++, row++) {
            group->is_equality[member * group->rows + row] = part->kind == TC_SET_HYPERPLANE;
            group->row_scale[member * group->rows + row] = (double)scale_of_part(part);
        }
        for (size_t c = 0; part->kind == TC_SET_BALL1 && c < part->count; c++, lift++) {
            lift_lower[lift] = 0;
            lift_upper[lift] = part->radius;
        }
    }
    for (; lift < group->dim - group->states; lift++)
        lift_lower[lift] = lift_upper[lift] = 0; /* of a part that was dropped */
    return row;
}

static tc_real evaluate_linear(const tc_set_part *part, tc_real scale, const tc_real *x, tc_real *gradient) {
    tc_real sum = -(tc_real)part->radius;
    for (size_t c = 0; c < part->count; c++) {
        sum += (tc_real)part->center[c] * x[c];
        gradient[c] = scale * (tc_real)part->center[c];
    }
    return scale * sum;
}

static tc_real evaluate_ball(const tc_set_part *part, tc_real scale, const tc_real *x, tc_real *gradient) {
    tc_real sum = -(tc_real)part->radius * (tc_real)part->radius;
    for (size_t c = 0; c < part->count; c++) {
        tc_real d = x[c] - (tc_real)part->center[c];
        sum += d * d;
        gradient[c] = 2 * scale * d;
    }
    return scale * sum;
}

static tc_real evaluate_ellipsoid(const tc_set_part *part, tc_real scale, const tc_real *x, tc_real *gradient) {
    tc_real sum = -(tc_real)part->radius;
    for (size_t c = 0; c < part->count; c++) {
        tc_real image = 0;
        for (size_t d = 0; d < part->count; d++)
            image += (tc_real)part->matrix[c * part->count + d] * (x[d] - (tc_real)part->center[d]);
        sum += (x[c] - (tc_real)part->center[c]) * image;
        gradient[c] = 2 * scale * image;
    }
    return scale * sum;
}

static void evaluate_ball1(const tc_set_part *part, size_t dim, size_t lift, const tc_real *x, tc_real *h,
                           tc_real *gradients) {
    tc_real sum = -(tc_real)part->radius;
    for (size_t c = 0; c < part->count; c++) {
        tc_real d = x[part->first + c] - (tc_real)part->center[c], t = x[lift + c];
        h[2 * c] = d - t;
        h[2 * c + 1] = -d - t;
        sum += t;
        gradients[2 * c * dim + part->first + c] = 1;
        gradients[(2 * c + 1) * dim + part->first + c] = -1;
        gradients[2 * c * dim + lift + c] = gradients[(2 * c + 1) * dim + lift + c] = -1;
        gradients[2 * part->count * dim + lift + c] = 1;
    }
    h[2 * part->count] = sum;
}

void tc_rows_evaluate(const tc_group *group, size_t member, const tc_real *x, tc_real *h, tc_real *gradients) {
    const double *scales = group->row_scale + member * group->rows;
    size_t row = 0, lift = group->states;
    for (size_t e = 0; e < group->row_count[member] * group->dim; e++)
        gradients[e] = 0;
    for (size_t p = 0; p < group->set->part_count; p++) {
        const tc_set_part *part = &group->set->parts[p];
        tc_real *gradient = gradients + row * group->dim, scale = scales[row];
        if (part->kind == TC_SET_BALL) {
            h[row] = evaluate_ball(part, scale, x + part->first, gradient + part->first);
        } else if (part->kind == TC_SET_ELLIPSOID) {
            h[row] = evaluate_ellipsoid(part, scale, x + part->first, gradient + part->first);
        } else if (part->kind == TC_SET_BALL1) {
            evaluate_ball1(part, group->dim, lift, x, h + row, gradient);
            lift += part->count;
        } else {
            h[row] = evaluate_linear(part, scale, x + part->first, gradient + part->first);
        }
        row += rows_of_part(part);
    }
}

void tc_rows_hessian(const tc_group *group, size_t member, const tc_real *y, tc_real *hessian) {
    const double *scales = group->row_scale + member * group->rows;
    size_t row = 0;
    for (size_t p = 0; p < group->set->part_count; p++) {
        const tc_set_part *part = &group->set->parts[p];
        tc_real factor = 2 * y[row] * (tc_real)scales[row];
        for (size_t c = 0; c < part->count; c++) {
            tc_real *line = hessian + (part->first + c) * group->dim + part->first;
            if (part->kind == TC_SET_BALL)
                line[c] += factor;
            else if (part->kind == TC_SET_ELLIPSOID)
                for (size_t d = 0; d < part->count; d++)
                    line[d] += factor * (tc_real)part->matrix[c * part->count + d];
        }
        row += rows_of_part(part);
    }
}
