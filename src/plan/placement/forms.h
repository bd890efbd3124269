/* Placement FORMS: noise on the inputs of the constraints, where these are linear in the states.
 *
 * g = Phi(u), u = (inner sums, single coordinates): the outer inputs. Where every body is affine by structure, u is an
 * affine function of the states, with public coefficients. Only its noisy values have to leave the cloud: g and its
 * Jacobian follow from them. The *forms* of a model are a model whose constraints are the inputs, with the same agents,
 * states, sums and DAG. On it noise on forms is noise on outputs, so one piece of code prices, scales, releases and
 * audits both (docs/proofs/placement.md, section 6). */
#ifndef TC_PLAN_PLACEMENT_FORMS_H
#define TC_PLAN_PLACEMENT_FORMS_H

#include "calculus/derivatives.h"

typedef struct tc_forms {
    tc_model *model;             /* constraint r is outer input r; 0 where no constraint depends on it */
    tc_derivatives *derivatives; /* its Jacobian is constant by structure */
} tc_forms;

/* NULL where there are forms, or why not: which family's sum has a body that is not affine. */
const char *tc_forms_problem(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives);
/* Only where tc_forms_problem has none. May add a node to the model's DAG. */
tc_forms *tc_forms_new(tc_arena *arena, tc_model *model, const tc_derivatives *derivatives);

/* Whether g is affine by structure: then its rows are forms themselves. */
bool tc_is_affine(const tc_model *model, const tc_derivatives *derivatives);

#endif
