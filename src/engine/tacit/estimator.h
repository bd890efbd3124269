/* The estimator of the method `tacit` (docs/method.md): filters over released numbers, and g with its derivatives
 * there. Post-processing of public numbers; the order of every sum is fixed, so no bit depends on the threads.
 *
 * It observes the states, or linear forms of them (placement FORMS; OUTPUTS if g is affine: then the forms are the
 * constraints). o(k) is the observation of round k:
 *
 *     y += beta (o - y)             fast: follows x; never clipped, so that it stays unbiased
 *     r += 3/(k+2) (o - r)          slow: settles where x settles; r^ is r moved into the box (the form's range)
 *
 * A constraint is g_j = Phi_j(z) of *inputs* z: sums over members and single coordinates (derivatives->inputs); for
 * OUTPUTS the inputs are the constraints themselves and Phi the identity. Every input is described at r^, by its value,
 * slopes and curvatures there. */
#ifndef TC_ENGINE_TACIT_ESTIMATOR_H
#define TC_ENGINE_TACIT_ESTIMATOR_H

#include "engine/snapshot.h"
#include "plan/scales.h"
#include "release/release.h"

typedef struct tc_estimator tc_estimator;

typedef struct tc_gains { /* of one round */
    double beta;
    double slow; /* 3/(k+2) */
} tc_gains;

/* By input; for a body b of one member, dy = y - r^, s2_c the variance of the noise of a coordinate, s_c its scale. */
typedef struct tc_measurement {
    size_t count;
    double *value;      /* z  = sum b(r^) */
    double *shift;      /* A  = sum b'(r^) . dy */
    double *curve;      /* C  = sum dy' b''(r^) dy */
    double *trace;      /* tr = sum_c s2_c b''_cc */
    double *noise;      /* G2 = sum_c s2_c b'_c^2 */
    double *norm1;      /* n1 = sum_c |b'_c| */
    double *reach;      /* sum_c s_c |b'_c| */
    double *norm2;      /* n2 = sum_c s_c^2 b'_c^2 */
    double *rest;       /* as shift, with r - r^ for dy */
    double *rest_curve; /* as curve, with r - r^ for dy */
} tc_measurement;

/* By input: what prices p_i are made of. mu = mu(k+1); Phi's derivatives at z. */
typedef struct tc_tariff {
    double *price;      /* sum_j mu_led_j Phi_j,s + sum_t (sum_j mu_j Phi_j,st) A_t */
    double *curvature;  /* sum_j mu_j Phi_j,s */
    double *reach;      /* sum_j |Phi_j,s| */
    double *bend;       /* of coordinates: row sum of s_s (sum_j mu_j Phi_j,st) s_t among coordinates, off-diagonals by
                         * size */
    double *bend_noise; /* of coordinates: sum over coordinates t of s_s^2 (sum_j mu_j Phi_j,st)^2 s2_t */
} tc_tariff;

/* Over all coordinates c, by scaled states x_c / s_c; s over the inputs that depend on c. */
typedef struct tc_columns {
    double reach;     /* for N: max_c s_c sum_s reach_s |b'_sc|, the largest 1-norm of a column of the Jacobian */
    double curvature; /* for L: max_c of the row sum of s_c (sum_s curvature_s b_s,cc') s_c' (off-diagonals by size) +
                       * bend, or 0 */
    double noise;     /* sum_cc' s_c^2 (sum_s curvature_s b_s,cc')^2 s2_c' + sum_c bend_noise */
} tc_columns;

/* workers: how many threads may call at once, each with a number of its own. */
tc_estimator *tc_estimator_new(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                               const tc_derivatives *derivatives, const tc_released *constants, tc_state_scales scales,
                               size_t workers);
size_t tc_estimator_inputs(const tc_estimator *estimator);
/* Variance of the noise of an input that is a coordinate or a form; 0 for a sum of states' bodies. */
double tc_estimator_input_variance(const tc_estimator *estimator, size_t input);
/* The scale of an input that is a coordinate; 1 for others. */
double tc_estimator_input_scale(const tc_estimator *estimator, size_t input);

/* A round begins. */
void tc_estimator_open(tc_estimator *estimator, tc_gains gains);
/* STATES, first pass: block b of a family (release.h), x_hat[component][k]. */
void tc_estimator_take(tc_estimator *estimator, size_t worker, size_t family, size_t block, const double *const *x_hat);
/* FORMS and OUTPUTS: the released forms, all at once. */
void tc_estimator_take_forms(tc_estimator *estimator, const double *forms);
/* After every block. The result is the estimator's and good until the next open. */
const tc_measurement *tc_estimator_close(tc_estimator *estimator);

/* Second pass. tc_estimator_tariff gives room for the tariff; fill it, then for all members of every block, in any
 * order: p[component][k] of members at .. at + count - 1 of the block (at and count multiples of TC_ESTIMATOR_BITE, but
 * for the last count; p[component][0] is that of member at). With p NULL, columns alone. */
enum { TC_ESTIMATOR_BITE = 256 };
tc_tariff *tc_estimator_tariff(tc_estimator *estimator);
void tc_estimator_price(tc_estimator *estimator); /* the tariff is complete: a second pass begins */
void tc_estimator_answer(tc_estimator *estimator, size_t worker, size_t family, size_t block, size_t at, size_t count,
                         double *const *p);
/* After every block of a second pass. */
tc_columns tc_estimator_columns(tc_estimator *estimator);

/* What later rounds depend on: the filters. After a load, tc_estimator_review shows what the last close showed; a
 * second pass needs a round of its own. */
void tc_estimator_snapshot(tc_estimator *estimator, tc_snapshot *snapshot);
const tc_measurement *tc_estimator_review(tc_estimator *estimator);

/* Small ensembles, one thread, x-hat and p by coordinate: the same bits. p may be NULL. */
void tc_estimator_take_whole(tc_estimator *estimator, const double *x_hat);
void tc_estimator_answer_whole(tc_estimator *estimator, double *p);

#endif
