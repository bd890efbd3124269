/* What can be said of a model's constraints from their structure alone, hence from public facts. */
#ifndef TC_CALCULUS_DEGREE_H
#define TC_CALCULUS_DEGREE_H

#include "calculus/derivatives.h"

/* Whether every constraint is affine or quadratic in the states: all second derivatives of g are constant by structure.
 * Sufficient, not necessary: what cancels in numbers only is not seen. */
bool tc_constraints_are_quadratic(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives);

#endif
