/* How accurate a run by a plan will be, from public facts alone: what noise leaves of doubt in each constraint, in the
 * constraint's own units. It is no part of the plan, and its hash does not cover it (docs/proofs/method.md, section 3).
 *
 * Method tacit averages states with weights k (k + 1), and released numbers with the same ones. So what the cloud
 * knows of g_j at the result is g_j there plus averaged noise. The doubt is the standard deviation of that noise:
 *
 *     doubt_j = sqrt(v(T) sum_c s2_c (dg_j/dx_c)^2),    v(T) = about 9 / (5 T)
 *
 * s2_c is the variance of one round's noise in what is released. For affine rows that is exact; for others it is of
 * first order, with the mean square of the slopes over the public boxes, and most_doubt has their largest. */
#ifndef TC_PLAN_ACCURACY_H
#define TC_PLAN_ACCURACY_H

#include "plan/plan.h"

typedef struct tc_row_accuracy { /* numbers are NAN where nothing can be said */
    const char *name;
    double limit;       /* the number that the file compares with */
    double doubt;       /* of the averaged noise: one standard deviation */
    double most_doubt;  /* the same, proved for slopes anywhere in the public boxes; infinite where nothing is proved */
    double round_doubt; /* of one round's noise */
    double local_doubt; /* if every agent added the noise to its own states, and nobody trusted the cloud */
    double range;       /* largest less least value over the public boxes, proved from above */
    double room;        /* the most that any point of the boxes leaves below the limit; NAN of an equality */
    double missing;     /* how far the result is over its limit on the average, since the run has not settled */
    double rounds_needed; /* with so many the error is at most twice this doubt: the plan's where it is reached;
                             INFINITY: more than were looked at */
    bool is_equality;
    bool is_unreached; /* too few rounds: what is missing makes the error more than twice the doubt */
    bool is_exact;     /* affine: the doubt does not depend on where the result lies */
    bool is_useless;   /* the doubt, with what is missing, exceeds the range or the room: what is released says nothing
                          about the constraint */
} tc_row_accuracy;

typedef struct tc_accuracy {
    tc_row_accuracy *rows;
    size_t count;
    double rounds;
    bool is_on_states;         /* the noise */
    size_t useless, unreached; /* rows */
    const char *reason;        /* why no doubt is known; NULL where it is */
} tc_accuracy;

/* Fewer rounds are too few for the method to settle. */
#define TC_FEW_ROUNDS 200
/* Without noise the result is about so many X / T away, or less: measured (docs/method.md). */
#define TC_OWN_ERROR 3.0

/* The variance of an average over T rounds with weights k (k + 1), of one round's variance. */
double tc_averaged_variance(double rounds);

/* The variance of one round's noise in each constraint, as predicted for the placement taken; NULL without noise. */
const double *tc_row_variances(const tc_plan *plan);

/* Of a plan without a problem; settling.h adds what is missing and the rounds that are needed. derivatives: those of
 * plan->model. */
tc_accuracy *tc_accuracy_make(tc_arena *arena, const tc_plan *plan, const tc_derivatives *derivatives,
                              const tc_monitor *monitor);

/* Whether so much that is missing makes the error more than twice the doubt. */
bool tc_is_missed(double doubt, double missing);

/* The doubt; where it is not reached the root of its square and that of what is missing. */
double tc_error_of(const tc_row_accuracy *row);

/* Whether so large a doubt makes a row useless. */
bool tc_drowns(const tc_row_accuracy *row, double doubt);

/* What a doubt is compared with: the size of the limit, or of the range where there is none or it is 0. */
double tc_accuracy_whole(const tc_row_accuracy *row);

/* Why nothing is said about states and multipliers. */
#define TC_NO_STATE_DOUBT                                                                                              \
    "how far states and multipliers end from the best ones depends on private objectives, which no public fact tells"

/* "constraints": all of them; "states" and "multipliers": null doubts, and why. */
void tc_accuracy_json(const tc_accuracy *accuracy, tc_json *json);
/* The worst few unless full. red: useless rows are red, by the terminal's codes. */
void tc_accuracy_text(const tc_accuracy *accuracy, tc_buffer *out, bool full, bool red);
/* What the local model would cost: noise at the source, so that the cloud need not be trusted. NULL: not known. */
const char *tc_local_sentence(tc_arena *arena, const tc_accuracy *accuracy, const tc_row_accuracy *row);
/* "not reached: about 83 of 800 (10 %) more is missing; about 3000 rounds are needed"; NULL where it is reached. */
const char *tc_unreached_text(tc_arena *arena, const tc_row_accuracy *row);
/* A few digits, without an exponent from 10 to 1e13. */
const char *tc_digits(tc_arena *arena, double value, int digits);
/* "142 of 2180 (6.5 %)" */
const char *tc_doubt_text(tc_arena *arena, double doubt, const tc_row_accuracy *row);

#endif
