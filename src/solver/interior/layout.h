/* How the interior-point method is laid out in memory; see interior.h. */
#ifndef TC_SOLVER_INTERIOR_LAYOUT_H
#define TC_SOLVER_INTERIOR_LAYOUT_H

#include "base/team.h"
#include "calculus/lift.h"
#include "calculus/tape/tape.h"
#include "solver/interior/interior.h"

typedef enum tc_goal {
    TC_GOAL_OBJECTIVE,
    TC_GOAL_MARGIN,
    TC_GOAL_FEASIBLE,
    TC_GOAL_NEAREST,
    TC_GOAL_QUADRATIC
} tc_goal;

/* A family evaluated through tapes, TC_LANES members at a time. */
typedef struct tc_group_tapes {
    /* bodies; first and second derivatives: the objective's, the bodies', the lifted kinks' (rows themselves, then
     * their derivatives) */
    tc_tape *values, *firsts, *seconds;
    const tc_first *objective_first; /* of the objective, or of what lifts it */
    const tc_second *objective_second;
    size_t objective_firsts, objective_seconds, most_outputs;
    size_t lift_rows, lift_firsts, lift_seconds; /* where those of the rows begin among the outputs */
    tc_tape *kinks;                              /* enclosed for bounds of the lifting variables */
    tc_interval *enclose_work, *ranges;
    const tc_interval **range_at;
    tc_interval **kink_at;
    tc_real *work, *states, *outputs;
    const tc_real **state_at;
    const double **data_at;
    tc_real **output_at;
} tc_group_tapes;

/* An iterate, or a direction. Per variable (member by member): x, distances to the bounds, their multipliers; per row:
 * slack and multiplier. In a direction `below` and `above` are unused: they move with x. */
typedef struct tc_iterate {
    tc_real *x, *below, *above, *z_below, *z_above;
    tc_real *slack, *y;
} tc_iterate;

/* The members of a family as blocks. A block has its states, then the variables that lift kinks of the objective, then
 * those that lift l1 balls. Its rows are those of the set, then those of lifted kinks. A group without family holds the
 * one variable t of TC_GOAL_MARGIN. */
typedef struct tc_group {
    const tc_family *family;
    const tc_family_derivatives *derivatives;
    size_t first_member, count;
    size_t states, kinks, dim, rows;
    const tc_lift *lift; /* NULL: no kinks */
    bool is_coupled;
    tc_set *set;
    tc_group_tapes tapes;
    size_t *row_count;      /* by member: rows in use */
    bool *is_diagonal;      /* by member: the Hessian is diagonal, and so is its factor */
    bool *is_equality;      /* by row */
    double *row_scale;      /* by row */
    tc_real *lower, *width; /* by variable */
    tc_real *weight,
        *center;         /* by variable: of the regularisation; lifting variables have a small weight and no centre */
    tc_real *kept;       /* by variable: x of the solution that tc_interior_keep remembers */
    uint32_t *component; /* by member: which component of the problem it belongs to */
    tc_iterate at, trial, step;
    tc_real *dual_residual, *row_residual;
    tc_real *miss_below, *miss_above, *miss_row; /* the error of complementarity, which the step corrects */
    tc_real *right_x, *right_y;                  /* right-hand sides of the Newton system */
    tc_real *gradients;                          /* of the bodies: body_first_count by member */
    tc_real *hessian;          /* dim * dim by member: Cholesky factor below, the matrix itself above ... */
    tc_real *hessian_diagonal; /* ... and its diagonal */
    tc_real *row_gradients, *row_solved, *row_factor; /* E, L^-1 E' (by row), factor of E H^-1 E' + D */
    size_t *coord_start; /* by member, where outer inputs are single coordinates; NULL else */
    uint32_t *coord_input, *coord_component;
} tc_group;

/* Agents that no chain of constraints connects share nothing but the step length: each connected component of the
 * problem has scales of its own. */
typedef struct tc_component {
    tc_real objective_scale; /* its f are multiplied by it */
    tc_real length;          /* a typical width of its variables */
    tc_real row_middle;      /* a typical scale of its constraints */
} tc_component;

/* g = Phi(u) and what couples the blocks. Everything is scaled: row j of g by row_scale[j]. */
typedef struct tc_coupling {
    const tc_model *model;
    const tc_derivatives *derivatives;
    size_t m, q;    /* constraints, inputs (one more for t) */
    bool is_curved; /* second outer derivatives exist: the system is in (w, mu), else in mu alone */
    tc_tape *values, *firsts, *seconds;
    tc_real *work, *coords, *outputs;
    tc_real **output_at;
    tc_real *inputs; /* u */
    tc_real *first;  /* values of derivatives->outer_first, scaled; then -row_scale for t, by inequality */
    tc_real *second;
    uint32_t *column_start; /* outer_first by input: places in `first` */
    uint32_t *column_entry;
    uint32_t *entry_row, *entry_column;
    size_t entry_count;
    tc_real *row_scale, *weight, *center, *kept;
    uint32_t *component; /* by constraint */
    tc_real *g, *mu, *slack, *trial_mu, *trial_slack;
    tc_real *residual, *miss, *right;
    tc_real *step_mu, *step_slack;
    tc_real *input_size; /* while scales are found: each input's largest derivative times its variable's width */
    tc_real *prices;     /* A' mu, by input */
    tc_real *step_prices, *moved; /* v = C w + A' dmu and w = U dx, by input */
    tc_real *matrix;              /* the dense system, factored */
    tc_real *schur;               /* curved: S = U K^-1 U' */
    size_t *schur_start;          /* curved: places of entries of S that are not 0, by row */
    uint32_t *schur_column;
    size_t *order;
    tc_real *unknown, *scratch, *unit; /* q + m */
} tc_coupling;

/* Scratch of one block, for one thread. */
typedef struct tc_block_scratch {
    tc_real *x, *y;
    size_t couple_lanes, couple_slots; /* how many blocks at once, and the most slots of one */
    tc_real *couple, *couple_rows;     /* vectors that couple a block, by lane and slot; the same seen by its rows */
    uint32_t *couple_name;             /* constraint or input, by slot */
    uint32_t *couple_slot;             /* and back; UINT32_MAX: none */
    size_t *couple_first, *couple_end; /* range of the non-zero entries of a vector, by slot */
    size_t couple_count;
} tc_block_scratch;

struct tc_interior {
    tc_arena *arena;
    struct tc_parts *parts; /* of passes over members (passes.c); NULL: one part, the caller's thread alone */
    tc_goal goal;
    tc_group *groups;
    size_t group_count;
    tc_coupling *coupling; /* NULL: none */
    tc_component *components;
    size_t component_count;
    tc_real regularization;
    bool is_least_norm; /* the regularisation is centred at zero; else in the middle of the boxes */
    tc_real shift_reach, shift_weight, shift_bound; /* of the variable t: its unit, its added curvature, its limit */
    tc_real give;                                   /* TC_GOAL_FEASIBLE */
    const double *target;                           /* TC_GOAL_NEAREST */
    const tc_quadratic *quadratic;                  /* TC_GOAL_QUADRATIC */
    const tc_real *near_weight; /* TC_GOAL_OBJECTIVE: sum_c (near_weight_c / 2) (x - near_center)_c^2 ... */
    const tc_real *near_center; /* ... is added; NULL: nothing */
    tc_real steepest;           /* the largest |dual residual| times width at the last evaluation */
    bool has_kinks;             /* lifted ones */
    bool has_bends;             /* lifted ones: huber */
    bool is_careful;            /* long steps have not led on: shorter ones, centred */
    bool is_measuring;          /* scales are being found */
    tc_real residual, gap;      /* at the last evaluation */
    tc_real rounding;           /* what rounding of sums alone may leave of the residual there */
    tc_real sum_rounding;       /* of a sum over members, relative; 0: one part, it is small */
    size_t pairs;
    tc_real *component_steepest; /* while scales are found, by component; and how many widths were counted */
    size_t *component_counts;
    tc_real longest, sum; /* of a pass: the longest step; a sum over members */
    tc_block_scratch scratch;
};

static inline const tc_component *tc_component_of(const tc_interior *solver, const tc_group *group, size_t member) {
    return &solver->components[group->component[member]];
}

/* A multiplier of either sign, and no slack. */
static inline bool tc_is_free(const tc_coupling *coupling, size_t j) {
    return coupling->model->constraints[j].is_equality;
}

/* passes.c. A pass goes through all members. One part of them after the other, or, where there is a team, several at
 * once: then `solver` and `group` are a thread's own, with the same members and their own scratch and sums. What a
 * pass sums up is kept for each part and added in the order of the parts, so no bit depends on the number of threads.
 */
typedef void tc_pass(tc_interior *solver, tc_group *group, size_t first, size_t end, const void *context);
typedef enum tc_pass_sum {
    TC_SUMS_NOTHING,
    TC_SUMS_RESIDUALS, /* residual, steepest, gap and pairs; input_size of the coupling, the largest */
    TC_SUMS_INPUTS,    /* inputs of the coupling */
    TC_SUMS_MOVED,     /* moved of the coupling, and longest: the least */
    TC_SUMS_SCHUR,     /* schur of the coupling, the lower triangle */
    TC_SUMS_ONE        /* sum */
} tc_pass_sum;
void tc_pass_run(tc_interior *solver, tc_pass_sum sums, tc_pass *pass, const void *context);
/* The members' trial points and accepted points change places. */
void tc_exchange_trial(tc_interior *solver);
/* After the groups and the coupling are made. */
void tc_parts_init(tc_interior *solver, tc_team *team);
/* build.c: what one thread needs of its own to evaluate a group, and to solve a block. */
void tc_group_own(tc_arena *arena, tc_group *group);
tc_block_scratch tc_scratch_new(const tc_interior *solver);

/* build.c. The trial x at a fraction of the boxes, all multipliers zero. */
void tc_group_place(tc_interior *solver, tc_group *group, size_t first, size_t end, tc_real where);
void tc_group_load(const tc_group *group, size_t member); /* its set */

/* weights.c: the scales; then the first point, accepted and evaluated. */
bool tc_find_scales(tc_interior *solver);
bool tc_start(tc_interior *solver);
/* Tikhonov's regularisation, as strong as the solver was made with. */
void tc_regularize(tc_interior *solver);
void tc_weigh_least_states(tc_interior *solver, tc_real strength);
void tc_weigh_least_multipliers(tc_interior *solver, tc_real strength);
void tc_weigh_near(tc_interior *solver, const double *x, const double *mu);

/* evaluate.c: residuals and gap at the trial point. False where something is not finite. */
bool tc_evaluate(tc_interior *solver);
/* The same at trial = at + length * step. */
bool tc_evaluate_step(tc_interior *solver, tc_real length);
/* The Hessians of lanes members from first on. */
void tc_evaluate_hessians(tc_interior *solver, tc_group *group, size_t first, size_t lanes);
/* The parts of the loaded set become rows h(x) <= 0 or == 0. Returns how many. */
size_t tc_rows_prepare(const tc_group *group, size_t member, tc_real *lift_lower, tc_real *lift_upper);

/* kinks.c: the variables and rows of lifted kinks (calculus/lift.h). Bounds of the variables; then the scales of the
 * rows, after `row` others, and their number together; values and gradients of all rows; Hessians. */
void tc_kinks_bound(const tc_group *group, size_t member, tc_real *lower, tc_real *upper);
size_t tc_kinks_prepare(const tc_group *group, size_t member, size_t row, const tc_real *lower, const tc_real *upper);
void tc_kinks_evaluate(const tc_group *group, size_t member, size_t lane, tc_real *h, tc_real *gradients);
void tc_kinks_hessian(const tc_group *group, size_t member, size_t lane, const tc_real *y, tc_real *hessian);

/* newton.c: one block, [H E'; E -D] (x, y) = (x, y) ... */
void tc_block_factor(tc_group *group, size_t member);
void tc_block_solve(const tc_group *group, size_t member, tc_real *x, tc_real *y);
void tc_blocks_couple(tc_interior *solver, const tc_group *group, size_t first, size_t end);
/* inputs += U x;  x -= U' prices */
void tc_block_to_inputs(const tc_group *group, size_t member, const tc_real *x, tc_real *inputs);
void tc_block_from_inputs(const tc_group *group, size_t member, const tc_real *prices, tc_real *x);
/* ... and the dense system that couples the blocks. */
void tc_coupling_begin(tc_coupling *coupling);
void tc_coupling_factor(tc_coupling *coupling);
/* With w0 in moved and b in right: adds to step_mu, and leaves v in step_prices. */
void tc_coupling_solve(tc_coupling *coupling);
/* step_prices = C moved + A' step_mu; right -= A moved - D step_mu. */
void tc_coupling_apply(tc_coupling *coupling);

/* loop.c: trial = at + length * step, of members first .. end - 1; at = trial of all, which
 * stays there. */
void tc_move_members(tc_group *group, size_t first, size_t end, tc_real length);
void tc_accept(tc_interior *solver);

#endif
