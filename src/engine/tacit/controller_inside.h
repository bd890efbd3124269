/* The controller inside: rounds in controller.c, constraints and tariff in pilot_rows.c, the primal weight in
 * pilot_epoch.c. Everything is in scaled rows: g_j / S_j, mu_j S_j. */
#ifndef TC_ENGINE_TACIT_CONTROLLER_INSIDE_H
#define TC_ENGINE_TACIT_CONTROLLER_INSIDE_H

#include "calculus/tape/program.h"
#include "engine/tacit/controller.h"

/* All that later rounds depend on, besides what the estimator keeps: tc_controller_snapshot has this, and the six
 * arrays of m numbers behind `kept`, one after another. */
typedef struct tc_controller_state {
    uint64_t round;   /* k: the last one that was opened */
    uint64_t origin;  /* k0: the noise that counts began after it */
    uint64_t length;  /* of this epoch, in rounds */
    uint64_t next;    /* the round that ends it */
    uint64_t count;   /* rounds of it so far */
    double omega;     /* the primal weight: size of multipliers / size of states */
    double fast;      /* beta: the gain of the fast filter, of the next round */
    double variance;  /* vy: of the fast filter's noise, per variance of one round's */
    double last_size; /* |mean of mu|^2 over the epoch before */
} tc_controller_state;

typedef struct tc_controller_kept { /* m each */
    double *mu;                     /* mu(k+1) */
    double *answer;                 /* average of mu, in the file's units */
    double *epoch_mean;             /* of mu_j / sqrt(rho_j) over this epoch */
    double *epoch_noise;            /* variance that noise added to that in it */
    double *epoch_measured;         /* mean of the measured constraints, with margins, over it */
    double *margin;                 /* M_j, in the file's units */
} tc_controller_kept;

/* Phi_j and its derivatives at z, over S_j. */
typedef struct tc_controller_rows {
    size_t count, inputs;  /* m, and what Phi depends on */
    const double *inverse; /* 1 / S_j */
    tc_program *program;   /* NULL: constraints are the inputs themselves */
    double *work, *out;    /* of the program: out has values, first and second derivatives one after another */
    double *coords, *sums; /* z, where the program looks for it */
    size_t coord_count;    /* inputs that are coordinates, and which; they come after the sums */
    const tc_outer_input *coord_inputs;
    size_t sum_count;
    const tc_outer_input *sum_inputs;
    double *value;          /* m */
    double *first, *second; /* by entry */
    uint32_t *first_input;
    uint32_t *second_pair;
    size_t *first_start, *second_start; /* by row, and one more */
    struct tc_controller_pair {         /* distinct inputs that some Phi_j mixes, or one twice */
        uint32_t a, b;
        bool within; /* both are coordinates: the estimator knows of them (tc_tariff.bend) */
    } * pairs;
    size_t pair_count;
    double *bent;       /* by pair: sum_j mu_j Phi_{j,ab} */
    double *measured;   /* gh_j, m */
    double *reach;      /* rs_j = sum_s |Phi_js| n1_s */
    double *noise;      /* vr_j = sum_s Phi_js^2 G2_s: variance of g_j at noise of one round */
    double *stride;     /* rho_j: the dual step of row j, over that of the row with the largest reach */
    double most_reach;  /* max rs_j */
    double total_noise; /* Vg = sum_j rho_j vr_j */
} tc_controller_rows;

typedef struct tc_margin tc_margin;

struct tc_controller {
    const tc_tacit_facts *facts;
    tc_estimator *estimator;
    unsigned without;
    double length;      /* X */
    double radius;      /* R' */
    double least_omega; /* below it nothing falls: agents' steps would be so long that the pull is lost in rounding */
    double *scale;      /* S_j */
    double *inverse;    /* 1 / S_j */
    double *weight;     /* sw_j */
    tc_controller_state state;
    tc_controller_kept kept;
    tc_controller_rows rows;
    double *moved, *work, *led; /* m: scratch; mb, the multipliers with their lead */
    double *multipliers;        /* mu(k+1) in the file's units */
    double decay;               /* d of this round */
    double *input_variance;     /* by input */
    tc_margin *margin;
    const tc_measurement *measurement; /* of the last whole step */
};

void tc_controller_rows_new(tc_arena *arena, tc_controller_rows *rows, const tc_plan *plan, const tc_model *model,
                            const tc_derivatives *derivatives, const double *inverse);
/* Phi and its derivatives. */
void tc_controller_rows_evaluate(tc_controller_rows *rows, const tc_measurement *measurement);
/* gh, without margins; and what noise and steps do to it. vy: 0 where noise is not corrected for. Returns TC_ALL_FINITE
 * or a row that is not finite. */
size_t tc_controller_rows_measure(tc_controller_rows *rows, const tc_measurement *measurement, double vy);

/* rho_j = min(most, max_l rs_l / rs_j), and Vg with it. */
void tc_controller_rows_stride(tc_controller_rows *rows, double most);

/* What curved Phi add to the largest eigenvalue of sum_j mu_j g_j'' and to the noise of the prices, beyond what the
 * estimator finds by column. */
typedef struct tc_controller_bends {
    double curvature, noise;
} tc_controller_bends;
tc_controller_bends tc_controller_rows_bend(tc_controller_rows *rows, const tc_measurement *measurement,
                                            const double *mu);

/* mu: mn; led: mb. After tc_controller_rows_bend with the same mu. */
void tc_controller_rows_tariff(const tc_controller_rows *rows, const tc_measurement *measurement, const double *mu,
                               const double *led, const double *input_variance, tc_tariff *tariff);

/* Counts the round; at the end of an epoch, a new omega, and where that falls for want of violations, smaller mu. */
void tc_controller_epoch(tc_controller *controller, double dual_step);

/* ---- feasibility (margin.c) ----------------------------------------------------------------------------------------
 */

tc_margin *tc_margin_new(tc_arena *arena, const tc_tacit_facts *facts, const tc_plan *plan, const tc_model *model,
                         const tc_derivatives *derivatives);

/* Round k, after tc_controller_rows_measure: the margins M_j, in the file's units. Only for --margin auto. */
void tc_margin_set(const tc_margin *margin, const tc_controller_rows *rows, const tc_measurement *measurement,
                   uint64_t k, double *margins);

/* u_j after round k, the rows and the estimator as they were then. */
const tc_feasibility *tc_margin_judge(tc_margin *margin, const tc_controller_rows *rows,
                                      const tc_measurement *measurement, uint64_t k);

/* An upper bound of the z with P(noise > z sd) = tail, for the average of k rounds' noise of whatever coordinates. */
double tc_margin_quantile(tc_mechanism mechanism, double tail, double k);

#endif
