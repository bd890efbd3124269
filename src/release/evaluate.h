/* g and its Jacobian at a point, in double: sums over members first, then the outer functions of them.
 *
 * plan.c bounds the error of exactly these operations (docs/proofs/release.md, "What is computed"):
 *   term     t_rk = fl(body_r(x_k)) by tc_tape_eval, then rounded to the sum's lattice, ties to even
 *   sum      s_r = 2^exponent * fl(sum of integers): exact below 2^53 units
 *   outer    fl(Phi_j(s, x)) and fl(Phi_{j,.}(s, x)) by tc_program_eval, which has the tape's bits
 *   entry    ((0 + fl(Phi_{j,r} d body_r)) + ...) in the order of tc_shared_entry, then + Phi_{j,coordinate}
 * This code serves both sides: the release evaluates private numbers and keeps the results private;
 * tc_released_evaluate evaluates released ones. */
#ifndef TC_RELEASE_EVALUATE_H
#define TC_RELEASE_EVALUATE_H

#include "calculus/tape/tape.h"
#include "plan/entries.h"

typedef struct tc_family_evaluator {
    tc_tape *bodies, *slopes;     /* body_r; d body_r / d x_c in the order of body_first. NULL where there are none */
    double **terms, **slope_rows; /* [index][lane]: results, until the next family's are computed */
    const double **state, **data; /* inputs */
} tc_family_evaluator;

typedef struct tc_evaluator { /* for one thread */
    const tc_model *model;
    const tc_derivatives *derivatives;
    const tc_entries *entries;
    tc_family_evaluator *families;
    tc_tape *outer; /* one lane: Phi_j, then the partial derivatives in the order of outer_first */
    tc_program *outer_program;
    double *work, *outer_work, *outer_values;
    double *terms, *slopes; /* the families' rows are parts of these */
    size_t work_count, term_count, slope_count;
    bool has_members, has_outer; /* evaluated since the last wipe */
} tc_evaluator;

tc_evaluator *tc_evaluator_new(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                               const tc_entries *entries);
/* The same for another thread: tapes are shared, scratch and results are not. */
tc_evaluator *tc_evaluator_share(tc_arena *arena, const tc_evaluator *evaluator);

/* The bodies, or their derivatives, of members first .. first + lanes - 1; state[c][lane]. At most TC_LANES. */
void tc_evaluate_terms(tc_evaluator *evaluator, size_t family, size_t first, size_t lanes, const double *const *state);
void tc_evaluate_slopes(tc_evaluator *evaluator, size_t family, size_t first, size_t lanes, const double *const *state);

/* Phi and its derivatives into outer_values. coords: the coordinates that constraints name, in the model's numbering.
 */
void tc_evaluate_outer(tc_evaluator *evaluator, const double *sums, const double *coords);
static inline const double *tc_outer_slopes(const tc_evaluator *evaluator) {
    return evaluator->outer_values + evaluator->model->constraint_count;
}

/* Wipes the results and scratch of evaluations. */
void tc_evaluator_wipe(tc_evaluator *evaluator);
/* Wipes the scratch of a program except its constants. */
void tc_program_wipe(const tc_program *program, double *work);

/* A shared entry of the members last evaluated by tc_evaluate_slopes, without folded single parts. outer: the outer
 * slopes, which may be another evaluator's. */
void tc_evaluate_shared_at(const tc_evaluator *evaluator, const double *outer, size_t family,
                           const tc_shared_entry *entry, size_t lanes, double *out);
static inline void tc_evaluate_shared(const tc_evaluator *evaluator, size_t family, const tc_shared_entry *entry,
                                      size_t lanes, double *out) {
    tc_evaluate_shared_at(evaluator, tc_outer_slopes(evaluator), family, entry, lanes, out);
}

#endif
