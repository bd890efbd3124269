/* What the method `tacit` (docs/method.md) takes from the cloud's file before the first round: scales, radius and
 * weights. A function of public facts alone, the same from the whole file and from the cloud's. */
#ifndef TC_ENGINE_TACIT_FACTS_H
#define TC_ENGINE_TACIT_FACTS_H

#include "plan/plan.h"
#include "plan/scales.h"

typedef enum tc_margin_kind { TC_MARGIN_NONE, TC_MARGIN_GIVEN, TC_MARGIN_AUTO } tc_margin_kind;

/* P where --margin does not say. */
#define TC_FEASIBLE_PROBABILITY 0.95

typedef struct tc_margin_wish { /* --margin */
    tc_margin_kind kind;
    double amount;      /* GIVEN: constraints become g_j + amount <= 0 */
    double probability; /* AUTO: that the result satisfies all constraints */
    bool stays;         /* as in a run that an earlier version began: no move (AUTO), and states are not scaled */
} tc_margin_wish;

typedef struct tc_multiples { /* groups of rows g_j = c_j h: rows[ends[i - 1]] .. rows[ends[i] - 1] for group i */
    size_t *rows;
    double *factors; /* c_j, the largest of a group 1 or -1 */
    size_t *ends;
    size_t count, groups; /* of rows in all, and of groups */
} tc_multiples;

typedef struct tc_tacit_facts {
    double rounds;          /* T */
    tc_state_scales scales; /* s_c: X, S_j and what the loop is steered by are of states x_c / s_c; NULL: all are 1 */
    double box_length;      /* X */
    double *row_scale;      /* S_j; below and in controller.h constraints are g_j / S_j, multipliers mu_j S_j */
    double *weight;         /* w_j: of the pull on mu_j S_j, so that the norm that is pulled down is that of mu */
    double radius;          /* R': M' = { |mu|_1 <= R', mu_j >= 0 where row j is an inequality } */
    double *slack;      /* -g_j(xbar) at the public Slater point, in units of g_j; NAN of equalities, or without one */
    double *slater_off; /* by equality: |g_j| at that point is at most this; 0 of inequalities */
    bool *is_constant;  /* by row: no state has an effect on it. mu_j = 0, and S_j = 1 counts nowhere */
    tc_multiples same;  /* rows that say the same in other units */
    bool certain;       /* --feasible always: a last round follows, and the move is its answer (engine/last.c) */
    bool moves;         /* the last answer moves the result towards that point (margin.c) */
    /* --feasible always, NAN otherwise: the move is at most most_move where the average satisfies all inequalities;
     * usual_move where a row is at its limit and its noise is 0 (docs/proofs/ending.md, section 5). */
    double most_move, usual_move;
    tc_margin_wish margin;
    const char **warnings; /* where the method is not expected to do well */
    size_t warning_count;
} tc_tacit_facts;

/* Constraints at the result x: g_j(x) <= bounds[j], of equalities |g_j(x)| <= bounds[j], for all j at once, with this
 * probability over the noise. From released data alone; margin.c says how. */
typedef struct tc_feasibility {
    double probability;
    bool shown;           /* no bound of an inequality is above 0 */
    bool is_exact;        /* all constraints are affine by structure; otherwise of second order in the averaged noise */
    bool is_certain;      /* from the last round of --feasible always: the bounds hold whatever the noise was */
    double move;          /* t: the result is moved this part of the way to the Slater point; NAN: it is the average */
    const double *bounds; /* m, in the units of the file */
} tc_feasibility;

/* dual_radius: R, as the run uses it. *why and NULL where the margin leaves no room within the Slater point's slack. */
tc_tacit_facts *tc_tacit_facts_make(tc_arena *arena, const tc_plan *plan, tc_model *model,
                                    const tc_derivatives *derivatives, double dual_radius, tc_margin_wish margin,
                                    const char **why);

/* most_move and usual_move, of rows that are not constant (margin.c). */
void tc_predict_move(tc_arena *arena, const tc_plan *plan, const tc_model *model, tc_tacit_facts *facts);

/* NULL, or that two rows are a band narrower than noise, which should be an equality (related_rows.c). in_band: by row,
 * set where it is a side of one. */
const char *tc_band_warning(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                            const tc_derivatives *derivatives, bool *in_band);

/* From row_scale, box_length and is_constant of the facts, and values of g (related_rows.c). */
tc_multiples tc_find_multiples(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                               const tc_tacit_facts *facts);

#endif
