/* The controller inside: the round in controller.c, constraints and prices in controller_rows.c, margins in margin.c.
 * Rows are scaled: g_j / S_j, mu_j S_j. */
#ifndef TC_ENGINE_TACIT_CONTROLLER_INSIDE_H
#define TC_ENGINE_TACIT_CONTROLLER_INSIDE_H

#include "calculus/tape/tape.h"
#include "engine/tacit/controller.h"

/* All that later rounds depend on, besides the filters: tc_controller_snapshot has this, and the six arrays of m
 * numbers of `kept`, one after another. */
typedef struct tc_controller_state {
    uint64_t round;        /* k: the last one that was opened */
    uint64_t origin;       /* k0: d counts the noise of the rounds after it */
    uint64_t epoch_length; /* in rounds */
    uint64_t epoch_end;    /* the round that ends it */
    uint64_t epoch_rounds; /* so far */
    double omega;          /* size of multipliers / size of states */
    double beta;           /* of the next round */
    double vy;             /* variance of the noise in y, over that of one round's noise */
    double last_size;      /* |mean of mu|^2 over the epoch before */
} tc_controller_state;

typedef struct tc_controller_kept { /* m each */
    double *mu;                     /* mu(k+1) */
    double *mu_average;             /* with weights k (k+1), in the file's units: the result */
    double *epoch_mu;               /* mean of mu_j / sqrt(rho_j) over this epoch */
    double *epoch_noise;            /* variance that noise added to mu_j / sqrt(rho_j) in it */
    double *epoch_g_hat;            /* mean of g^_j + M_j over it */
    double *margin;                 /* M_j, in the file's units */
} tc_controller_kept;

/* Constraints: g_j = Phi_j of the inputs z (estimator.h). Phi_j and its derivatives at z(r^), over S_j. */
typedef struct tc_controller_rows {
    size_t count, inputs;    /* m, and what Phi depends on */
    const double *inverse_S; /* 1 / S_j */
    tc_program *program;     /* NULL: constraints are the inputs themselves */
    double *work, *out;      /* of the program: out has values, first and second derivatives one after another */
    double *coords, *sums;   /* z, where the program looks for it */
    size_t coord_count;      /* inputs that are coordinates, and which; they come after the sums */
    const tc_outer_input *coord_inputs;
    size_t sum_count;
    const tc_outer_input *sum_inputs;
    double *value;          /* g_j(r^), m */
    double *first, *second; /* Phi_js, Phi_jst, by entry */
    uint32_t *first_input;
    uint32_t *second_pair;
    size_t *first_start, *second_start; /* by row, and one more */
    struct tc_input_pair {              /* distinct inputs that some Phi_j mixes, or one twice */
        uint32_t a, b;
        bool within; /* both are coordinates: the estimator knows of them (tc_tariff.bend) */
    } * pairs;
    size_t pair_count;
    double *bent;      /* by pair: sum_j mu_j Phi_j,ab */
    double *g_hat;     /* g^_j, m */
    double *reach;     /* |J_j|_1, by scaled states: sum_s |Phi_js| reach_s */
    double *noise;     /* sum_s Phi_js^2 G2_s: variance of g_j at the noise of one round */
    double *rho;       /* the dual step of row j over that of the row with the largest reach; 1 without --margin auto */
    double most_reach; /* max_j |J_j|_1 */
    double total_noise; /* sum_j rho_j noise_j */
} tc_controller_rows;

typedef struct tc_controller_input { /* as the estimator tells */
    double variance, scale;
} tc_controller_input;

typedef struct tc_margin tc_margin;

struct tc_controller {
    const tc_tacit_facts *facts;
    const tc_constraint *constraints; /* m */
    tc_estimator *estimator;
    unsigned without;
    bool hides_every_round; /* the unit of privacy: noise grows with the number of rounds */
    double X;               /* size of the box */
    double R;               /* R': multipliers stay in M' = { |mu|_1 <= R', mu_j >= 0 but of equalities } */
    double *S;              /* S_j */
    double *inverse_S;      /* 1 / S_j */
    double *pull_weight;    /* w_j: keeps the pull on mu_j S_j what it is on mu_j */
    double least_omega;     /* longer steps of agents would lose the pull in rounding */
    tc_controller_state state;
    tc_controller_kept kept;
    tc_controller_rows rows;
    double *moved, *work; /* m: scratch */
    double *mu_led;       /* m */
    double *multipliers;  /* mu(k+1) in the file's units */
    double *shared;       /* m: the result, shared among rows that say the same */
    double d;             /* of this round */
    tc_controller_input *inputs;
    tc_margin *margin;
    const tc_measurement *measurement; /* of the last whole step */
};

void tc_controller_rows_new(tc_arena *arena, tc_controller_rows *rows, const tc_plan *plan, const tc_model *model,
                            const tc_derivatives *derivatives, const double *inverse_S);
/* Phi and its derivatives at z(r^). */
void tc_controller_rows_evaluate(tc_controller_rows *rows, const tc_measurement *measurement);
/* g^ without margins, reach and noise. vy: 0 where noise is not corrected for. Returns TC_ALL_FINITE or a row that is
 * not finite. */
size_t tc_controller_rows_measure(tc_controller_rows *rows, const tc_measurement *measurement, double vy);

/* rho_j = min(most, max_l reach_l / reach_j), and total_noise with it. */
void tc_controller_rows_stride(tc_controller_rows *rows, double most);

/* What curved Phi add to L, the largest eigenvalue of sum_j mu_j g_j'', and to the noise of the prices, beyond what the
 * estimator finds by column. */
typedef struct tc_controller_bends {
    double curvature, noise;
} tc_controller_bends;
tc_controller_bends tc_controller_rows_bend(tc_controller_rows *rows, const tc_measurement *measurement,
                                            const double *mu);

/* Prices of inputs. After tc_controller_rows_bend with the same mu. */
void tc_controller_rows_tariff(const tc_controller_rows *rows, const tc_measurement *measurement, const double *mu,
                               const double *mu_led, const tc_controller_input *inputs, tc_tariff *tariff);

/* ---- the round in parts, for settling.c -------------------------------------------------------------------------- */

typedef struct tc_loop_gains { /* what steps are made of in a round */
    double N;                  /* N^2 = max_c |J_.c|_1 max_j |J_j.|_1, which bounds |J|^2 */
    double L;                  /* bounds the curvature of mu'g */
    double price_noise;
} tc_loop_gains;

typedef struct tc_loop_steps {
    double primal, dual;
    double pull;  /* regularization times primal */
    double theta; /* lead */
} tc_loop_steps;

/* From gains and rows.noise, rows.total_noise: steps, then with rows.g_hat mu(k+1), mu_led and the next beta, then,
 * once prices are made, the epoch's end. tc_controller_open comes first. */
tc_loop_steps tc_controller_steps(tc_controller *controller, const tc_loop_gains *gains);
void tc_controller_climb(tc_controller *controller, const tc_loop_steps *steps);
void tc_controller_balance(tc_controller *controller, double dual);

/* Without an estimator, constraints and margins: whoever has it sets g_hat, noise and total_noise of its rows. */
tc_controller *tc_controller_of_rows(tc_arena *arena, const tc_tacit_facts *facts, const tc_plan *plan,
                                     const tc_model *model);

/* ---- feasibility (margin.c) -------------------------------------------------------------------------------------- */

tc_margin *tc_margin_new(tc_arena *arena, const tc_tacit_facts *facts, const tc_plan *plan, const tc_model *model,
                         const tc_derivatives *derivatives);

/* Round k, after tc_controller_rows_measure: the margins M_j, in the file's units. Only for --margin auto. */
void tc_margin_set(const tc_margin *margin, const tc_controller_rows *rows, const tc_measurement *measurement,
                   uint64_t k, double *margins);

/* u_j after round k, the rows and the estimator as they were then. */
/* As method.h's certify. */
const tc_feasibility *tc_margin_certify(tc_margin *margin, const double *upper, const double *allowance);
const tc_feasibility *tc_margin_judge(tc_margin *margin, const tc_controller_rows *rows,
                                      const tc_measurement *measurement, uint64_t k);

/* The least t in [0, 1], but for rounding, with (1 - t) u <= t slack. None between 1 - 2^-40 and 1. */
double tc_margin_least_move(double u, double slack);

/* An upper bound of the z with P(noise > z sd) = tail, for the average of k rounds' noise of any coordinates. */
double tc_margin_quantile(tc_mechanism mechanism, double tail, double k);

#endif
