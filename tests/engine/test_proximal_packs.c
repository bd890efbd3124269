/* Newton's steps for packs of two lanes, of four and of eight: the same bits. */
#include "engine/proximal/inside.h"

#include "base/simd.h"
#include "support/cmocka.h"
#include "support/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIM = 5, ROWS = MOST_DIM * TC_LANES, ROUNDS = 4 };

static void fill(uint64_t *seed, double *row, size_t count, double low, double high) {
    for (size_t i = 0; i < count; i++)
        row[i] = uniform(seed, low, high);
}

/* ---- lines ---------------------------------------------------------------------------------------------------------
 */

typedef struct lines {
    double f1[TC_LANES], f2[TC_LANES], p[TC_LANES], old[TC_LANES], lower[TC_LANES], upper[TC_LANES], unit[TC_LANES];
    double x[TC_LANES], low[TC_LANES], high[TC_LANES], last[TC_LANES], busy[TC_LANES];
} lines;

static lines new_lines(uint64_t *seed) {
    lines made;
    fill(seed, made.p, TC_LANES, -3, 3);
    fill(seed, made.old, TC_LANES, -1, 1);
    for (size_t k = 0; k < TC_LANES; k++) {
        made.lower[k] = -1;
        made.upper[k] = 1 + (double)(k % 3);
        made.unit[k] = 1e-12;
        made.x[k] = made.old[k];
        made.low[k] = made.last[k] = -INFINITY;
        made.high[k] = INFINITY;
        made.busy[k] = 0;
    }
    return made;
}

static tc_line_rows rows_of_lines(lines *of) {
    return (tc_line_rows){of->f1,   of->f2, of->p,   of->old,  of->lower, of->upper,
                          of->unit, of->x,  of->low, of->high, of->last,  of->busy};
}

/* The derivatives of x^4 times a number of the lane. */
static void evaluate_lines(lines *of) {
    for (size_t k = 0; k < TC_LANES; k++) {
        double w = 0.1 * (double)(k % 7);
        of->f1[k] = 4 * w * of->x[k] * of->x[k] * of->x[k];
        of->f2[k] = 12 * w * of->x[k] * of->x[k];
    }
}

typedef bool line_advance(const tc_line_rows *r, size_t count, const tc_line_numbers *n);

static void lines_have_the_same_bits_as_in_packs_of_two(line_advance *advance) {
    uint64_t seed = 1;
    for (int sample = 0; sample < 40; sample++) {
        AT_CASE(sample);
        lines narrow = new_lines(&seed), wide = narrow;
        const tc_line_numbers n = {2, 0.1, 2.1, sample % 3 == 0, sample % 2 == 0};
        const tc_line_rows two = rows_of_lines(&narrow), more = rows_of_lines(&wide);
        for (int round = 0; round < ROUNDS; round++) {
            evaluate_lines(&narrow);
            evaluate_lines(&wide);
            assert_true(tc_line_advance_narrow(&two, TC_LANES, &n));
            assert_true(advance(&more, TC_LANES, &n));
            assert_memory_equal(&narrow, &wide, sizeof narrow);
        }
    }
}

static void lines_have_the_same_bits_in_packs_of_two_and_four(void **state) {
    (void)state;
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDE()) {
        lines_have_the_same_bits_as_in_packs_of_two(tc_line_advance_wide);
        return;
    }
#endif
    skip();
}

static void lines_have_the_same_bits_in_packs_of_two_and_eight(void **state) {
    (void)state;
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDEST()) {
        lines_have_the_same_bits_as_in_packs_of_two(tc_line_advance_widest);
        return;
    }
#endif
    skip();
}

/* ---- Newton --------------------------------------------------------------------------------------------------------
 */

typedef struct crowd {
    double f1[ROWS], f2[MOST_DIM * ROWS];
    double p[ROWS], old[ROWS], lower[ROWS], upper[ROWS], center[ROWS], unit[ROWS], x[ROWS], trial[ROWS], move[ROWS];
    double t[TC_LANES], along[TC_LANES], length[TC_LANES], last[TC_LANES], busy[TC_LANES], hard[TC_LANES];
    double radius[TC_LANES], floor[TC_LANES];
} crowd;

typedef struct view { /* of a crowd, with scratch memory */
    const double *f1[MOST_DIM], *f2[MOST_DIM * MOST_DIM];
    double scratch[(2 * MOST_DIM + 9) * MOST_DIM * TC_PROXIMAL_PACK];
} view;

static void fill_crowd(uint64_t *seed, crowd *made) {
    memset(made, 0, sizeof *made);
    fill(seed, made->p, ROWS, -3, 3);
    fill(seed, made->old, ROWS, -0.9, 0.9);
    fill(seed, made->center, ROWS, -0.2, 0.2);
    fill(seed, made->radius, TC_LANES, 0.3, 2);
    fill(seed, made->floor, TC_LANES, -0.2, 0.2);
    memcpy(made->x, made->old, sizeof made->x);
    memcpy(made->trial, made->old, sizeof made->trial);
    for (size_t i = 0; i < ROWS; i++) {
        made->lower[i] = -1;
        made->upper[i] = 1;
        made->unit[i] = 0.5e12;
    }
    for (size_t k = 0; k < TC_LANES; k++)
        made->busy[k] = k % 5 != 4;
}

/* The second state is scaled by 1/4. */
static const double INVERSE[MOST_DIM] = {2, 32, 2, 2, 2}, WEIGHT[MOST_DIM] = {2.1, 32.1, 2.1, 2.1, 2.1};

static tc_newton_rows rows_of(crowd *of, view *v, size_t dim, bool is_diagonal, tc_newton_part part) {
    for (size_t c = 0; c < dim; c++)
        v->f1[c] = of->f1 + c * TC_LANES;
    for (size_t i = 0; i < (is_diagonal ? dim : dim * dim); i++)
        v->f2[i] = of->f2 + i * TC_LANES;
    return (tc_newton_rows){.dim = dim,
                            .is_diagonal = is_diagonal,
                            .is_smooth = true,
                            .part = part,
                            .part_count = part == TC_NEWTON_BOX ? 0 : dim,
                            .f1 = v->f1,
                            .f2 = v->f2,
                            .inverse = INVERSE,
                            .weight = WEIGHT,
                            .regularization = 0.1,
                            .least_weight = 2.1,
                            .p = of->p,
                            .old = of->old,
                            .lower = of->lower,
                            .upper = of->upper,
                            .center = of->center,
                            .unit = of->unit,
                            .x = of->x,
                            .trial = of->trial,
                            .move = of->move,
                            .t = of->t,
                            .along = of->along,
                            .length = of->length,
                            .last = of->last,
                            .busy = of->busy,
                            .hard = of->hard,
                            .radius = of->radius,
                            .floor = of->floor,
                            .scratch = v->scratch};
}

/* The derivatives of |x|^4 / 4 at trial points, or of the sum of fourth powers. */
static void evaluate(crowd *of, size_t dim, bool is_diagonal) {
    for (size_t k = 0; k < TC_LANES; k++) {
        double square = 0;
        for (size_t c = 0; c < dim; c++)
            square += of->trial[c * TC_LANES + k] * of->trial[c * TC_LANES + k];
        for (size_t c = 0; c < dim; c++) {
            double x = of->trial[c * TC_LANES + k];
            of->f1[c * TC_LANES + k] = (is_diagonal ? x * x : square) * x;
            if (is_diagonal)
                of->f2[c * TC_LANES + k] = 3 * x * x;
            for (size_t d = 0; d <= c && !is_diagonal; d++)
                of->f2[(c * dim + d) * TC_LANES + k] = 2 * x * of->trial[d * TC_LANES + k] + (c == d ? square : 0);
        }
    }
}

/* Of lanes that have ended, only x is a result. */
static void forget_ended(crowd *of, size_t dim) {
    for (size_t k = 0; k < TC_LANES; k++) {
        if (of->busy[k] != 0)
            continue;
        of->along[k] = of->length[k] = of->last[k] = 0;
        for (size_t c = 0; c < dim; c++)
            of->trial[c * TC_LANES + k] = of->move[c * TC_LANES + k] = 0;
    }
}

typedef void newton_advance(const tc_newton_rows *r, size_t count, double most_along);

static void compare(newton_advance *advance, uint64_t *seed, size_t dim, bool is_diagonal, tc_newton_part part) {
    static crowd narrow, wide;
    static view narrow_view, wide_view;
    fill_crowd(seed, &narrow);
    wide = narrow;
    tc_newton_rows two = rows_of(&narrow, &narrow_view, dim, is_diagonal, part);
    tc_newton_rows more = rows_of(&wide, &wide_view, dim, is_diagonal, part);
    two.is_quadratic = more.is_quadratic = dim % 2 == 1; /* not true, but both must act alike */
    for (int round = 0; round < ROUNDS; round++) {
        evaluate(&narrow, dim, is_diagonal);
        evaluate(&wide, dim, is_diagonal);
        tc_newton_advance_narrow(&two, TC_LANES, 0.3);
        advance(&more, TC_LANES, 0.3);
        forget_ended(&narrow, dim);
        forget_ended(&wide, dim);
        assert_memory_equal(&narrow, &wide, sizeof narrow);
    }
}

static void newton_has_the_same_bits_as_in_packs_of_two(newton_advance *advance) {
    uint64_t seed = 2;
    for (int sample = 0; sample < 10; sample++)
        for (size_t dim = 1; dim <= MOST_DIM; dim++)
            for (int part = TC_NEWTON_BOX; part <= TC_NEWTON_BALL; part++) {
                AT_CASE(part);
                compare(advance, &seed, dim, false, (tc_newton_part)part);
                compare(advance, &seed, dim, true, (tc_newton_part)part);
            }
}

static void newton_has_the_same_bits_in_packs_of_two_and_four(void **state) {
    (void)state;
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDE()) {
        newton_has_the_same_bits_as_in_packs_of_two(tc_newton_advance_wide);
        return;
    }
#endif
    skip();
}

static void newton_has_the_same_bits_in_packs_of_two_and_eight(void **state) {
    (void)state;
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDEST()) {
        newton_has_the_same_bits_as_in_packs_of_two(tc_newton_advance_widest);
        return;
    }
#endif
    skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_the_same_bits_in_packs_of_two_and_four),
        cmocka_unit_test(lines_have_the_same_bits_in_packs_of_two_and_eight),
        cmocka_unit_test(newton_has_the_same_bits_in_packs_of_two_and_four),
        cmocka_unit_test(newton_has_the_same_bits_in_packs_of_two_and_eight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
