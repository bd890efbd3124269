/* Every table entry of the lanes, against MPFR: bounds on whole segments (segment_error.h), in units of 2^-52, and the
 * sizes that docs/proofs/sampling.md counts with. */
#include "noise/sampler_inside.h"
#include "noise/segment_error.h"
#include "support/cmocka.h"

#include <math.h>
#include <mpfr.h>
#include <string.h>

static const double units = 0x1p52;

/* A copy of the tables, which a test may spoil. */
typedef struct lane_tables {
    double log_2, log_series[TC_LANE_LAPLACE_DEGREE], laplace[TC_LANE_SEGMENTS][2];
    double gaussian[TC_LANE_SEGMENTS][TC_LANE_GAUSSIAN_DEGREE + 1];
} lane_tables;

static lane_tables committed(void) {
    lane_tables tables = {.log_2 = tc_lane_log_2};
    memcpy(tables.log_series, tc_lane_log_series, sizeof tables.log_series);
    memcpy(tables.laplace, tc_lane_laplace_rows, sizeof tables.laplace);
    memcpy(tables.gaussian, tc_lane_gaussian_rows, sizeof tables.gaussian);
    return tables;
}

/* ---- Laplace ----------------------------------------------------------------------------------------------------- */

/* s (z0 + z1 t) + add */
static void multiply_and_add(series s, const mpfr_t z0, const mpfr_t z1, double add) {
    mpfr_t low;
    mpfr_init2(low, BITS);
    for (int i = TERMS - 1; i >= 0; i--) {
        mpfr_mul(s[i], s[i], z0, MPFR_RNDN);
        if (i > 0) {
            mpfr_mul(low, s[i - 1], z1, MPFR_RNDN);
            mpfr_add(s[i], s[i], low, MPFR_RNDN);
        }
    }
    mpfr_add_d(s[0], s[0], add, MPFR_RNDN);
    mpfr_clear(low);
}

/* ln M as the lanes compute it without rounding: ln 2 - c + z (series[0] + ...), z = M r - 1 = z0 + z1 t. */
static void expand_lanes(const lane_tables *tables, int segment, const mpfr_t low, const mpfr_t width, series s) {
    mpfr_t z0, z1;
    mpfr_inits2(BITS, z0, z1, (mpfr_ptr)NULL);
    mpfr_mul_d(z1, width, tables->laplace[segment][0], MPFR_RNDN);
    mpfr_div_2ui(z0, width, 1, MPFR_RNDN);
    mpfr_add(z0, z0, low, MPFR_RNDN);
    mpfr_mul_d(z0, z0, tables->laplace[segment][0], MPFR_RNDN);
    mpfr_sub_ui(z0, z0, 1, MPFR_RNDN);
    for (int i = 0; i < TERMS; i++)
        mpfr_set_zero(s[i], 1);
    for (int d = TC_LANE_LAPLACE_DEGREE; d-- > 0;)
        multiply_and_add(s, z0, z1, tables->log_series[d]);
    multiply_and_add(s, z0, z1, -tables->laplace[segment][1]);
    mpfr_const_log2(z0, MPFR_RNDN);
    mpfr_add(s[0], s[0], z0, MPFR_RNDN);
    mpfr_clears(z0, z1, (mpfr_ptr)NULL);
}

static double log_error(const lane_tables *tables, int segment) {
    mpfr_t low, width;
    series polynomial;
    series_init(polynomial);
    mpfr_inits2(BITS, low, width, (mpfr_ptr)NULL);
    mpfr_set_d(width, 1.0 / TC_LANE_SEGMENTS, MPFR_RNDN);
    mpfr_set_d(low, 1 + (double)segment / TC_LANE_SEGMENTS, MPFR_RNDN);
    expand_lanes(tables, segment, low, width, polynomial);
    double error = segment_error(expand_log, low, width, polynomial);
    mpfr_clears(low, width, (mpfr_ptr)NULL);
    series_clear(polynomial);
    return error * units;
}

/* Of the last octave, where log_2 is multiplied most. */
static double octave_error(const lane_tables *tables) {
    mpfr_t value;
    mpfr_init2(value, BITS);
    mpfr_const_log2(value, MPFR_RNDN);
    mpfr_sub_d(value, value, tables->log_2, MPFR_RNDN);
    double error = fabs(mpfr_get_d(value, MPFR_RNDA)) * (TC_LANE_LAPLACE_OCTAVES - 1);
    mpfr_clear(value);
    return error * units;
}

static double laplace_error(const lane_tables *tables) {
    double worst = 0;
    for (int i = 0; i < TC_LANE_SEGMENTS; i++)
        worst = fmax(worst, log_error(tables, i));
    return worst + octave_error(tables);
}

/* ---- Gaussian ---------------------------------------------------------------------------------------------------- */

/* Of half an octave. */
static double quantile_error(const lane_tables *tables, int octave, int half) {
    const double start = ldexp(1, -octave - 1);
    const double *row = tables->gaussian[(1023 + 63 - octave) % 8 * 2 + half];
    mpfr_t low, width;
    series polynomial;
    series_init(polynomial);
    mpfr_inits2(BITS, low, width, (mpfr_ptr)NULL);
    mpfr_set_d(width, start / 2, MPFR_RNDN);
    mpfr_set_d(low, start * (1 + 0.5 * half), MPFR_RNDN);
    for (int d = 0; d < TERMS; d++) { /* M is in the middle at t = 0, and moves by t / 2 */
        mpfr_set_d(polynomial[d], d <= TC_LANE_GAUSSIAN_DEGREE ? row[d] : 0, MPFR_RNDN);
        mpfr_div_2ui(polynomial[d], polynomial[d], (unsigned long)d, MPFR_RNDN);
    }
    double error = segment_error(expand_quantile, low, width, polynomial);
    mpfr_clears(low, width, (mpfr_ptr)NULL);
    series_clear(polynomial);
    return error * units;
}

static double gaussian_error(const lane_tables *tables) {
    double worst = 0;
    for (int octave = 0; octave < TC_LANE_GAUSSIAN_OCTAVES; octave++)
        for (int half = 0; half < 2; half++)
            worst = fmax(worst, quantile_error(tables, octave, half));
    return worst;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static const double most_laplace = 1.5, most_gaussian = 4.5; /* as the proof counts */

static void the_tables_keep_their_bounds(void **state) {
    (void)state;
    lane_tables tables = committed();
    double laplace = laplace_error(&tables), gaussian = gaussian_error(&tables);
    print_message("at most %.3f (Laplace) and %.3f (Gaussian) units from the truth\n", laplace, gaussian);
    assert_true(laplace > 1 && laplace < most_laplace); /* far less would mean a wrong test */
    assert_true(gaussian > 1 && gaussian < most_gaussian);
}

/* Any one number is changed by what moves the result by some units at the end of a segment. */
static void a_wrong_number_is_noticed(void **state) {
    (void)state;
    for (int d = 0; d < TC_LANE_LAPLACE_DEGREE; d++) {
        lane_tables tables = committed();
        tables.log_series[d] += 4 / units * pow(33, d + 1);
        assert_true(laplace_error(&tables) > most_laplace);
    }
    lane_tables octaves = committed();
    octaves.log_2 += 4 / units / (TC_LANE_LAPLACE_OCTAVES - 1);
    assert_true(laplace_error(&octaves) > most_laplace);
    for (int i = 0; i < TC_LANE_SEGMENTS; i++)
        for (int d = 0; d < 2; d++) {
            lane_tables tables = committed();
            tables.laplace[i][d] += 4 / units;
            assert_true(laplace_error(&tables) > most_laplace);
        }
    for (int i = 0; i < TC_LANE_SEGMENTS; i++)
        for (int d = 0; d <= TC_LANE_GAUSSIAN_DEGREE; d++) {
            lane_tables tables = committed();
            tables.gaussian[i][d] += 9 / units * pow(4, d);
            assert_true(gaussian_error(&tables) > most_gaussian);
        }
}

/* Rows and columns are the same numbers; each width reads one of them. */
static void both_layouts_are_the_same(void **state) {
    (void)state;
    for (int i = 0; i < TC_LANE_SEGMENTS; i++) {
        for (int d = 0; d < 2; d++)
            assert_true(tc_lane_laplace_rows[i][d] == tc_lane_laplace_columns[d][i]);
        for (int d = 0; d <= TC_LANE_GAUSSIAN_DEGREE; d++)
            assert_true(tc_lane_gaussian_rows[i][d] == tc_lane_gaussian_columns[d][i]);
    }
}

/* The largest value that a Horner sum from coefficient d on may have, |z| <= reach. */
static double most_sum(const double *coefficients, int degree, int d, double reach) {
    double sum = 0;
    for (int i = degree; i >= d; i--)
        sum = fabs(coefficients[i]) + reach * sum;
    return sum;
}

/* What the proof's rounding errors rest on; a little less, for the rounding of this test and of the sums themselves. */
static void intermediate_results_have_the_sizes_of_the_proof(void **state) {
    (void)state;
    for (int i = 0; i < TC_LANE_SEGMENTS; i++) {
        double r = tc_lane_laplace_rows[i][0], c = tc_lane_laplace_rows[i][1];
        assert_true(r > 0.5 && r < 1);
        assert_true(fabs((1 + i / 16.0) * r - 1) < 0.031 && fabs((1 + (i + 1) / 16.0) * r - 1) < 0.031);
        assert_true(c > 0 && c + (TC_LANE_LAPLACE_OCTAVES - 1) * tc_lane_log_2 < 7.9);
        for (int d = 0; d <= TC_LANE_GAUSSIAN_DEGREE; d++)
            assert_true(most_sum(tc_lane_gaussian_rows[i], TC_LANE_GAUSSIAN_DEGREE, d, 0.25) < (d == 0 ? 3.99 : 0.99));
    }
    double slope = 0; /* of z (series[0] + ...) */
    for (int d = 0; d < TC_LANE_LAPLACE_DEGREE; d++) {
        assert_true(most_sum(tc_lane_log_series, TC_LANE_LAPLACE_DEGREE - 1, d, 1.0 / 32) < (d == 0 ? 1.03 : 0.99));
        slope += (d + 1) * fabs(tc_lane_log_series[d]) * ldexp(1, -5 * d);
    }
    assert_true(slope < 1.04);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_keep_their_bounds),
        cmocka_unit_test(a_wrong_number_is_noticed),
        cmocka_unit_test(both_layouts_are_the_same),
        cmocka_unit_test(intermediate_results_have_the_sizes_of_the_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
