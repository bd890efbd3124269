/* The grounds of a plan, as a file that others can check without this program: docs/certificate.md defines its form,
 * and examples/verify/verify_plan.py checks it.
 *
 * The file has the plan's canonical text, whose SHA-256 is the plan's hash; what every observer sees; and the public
 * model: boxes, terms of sums, constraints and, where slopes are released, the slopes as the cloud computes them. The
 * whole problem and the cloud's file give the same bytes. */
#ifndef TC_PLAN_CERTIFICATE_H
#define TC_PLAN_CERTIFICATE_H

#include "plan/plan.h"

#define TC_CERTIFICATE_MARK "{\"format\": \"tacit certificate 1\"," /* its first line */

/* Why there is nothing to certify: no plan, or one that promises nothing. NULL where there is something. */
const char *tc_certificate_problem(const tc_plan *plan);

/* Only where there is no problem. derivatives: those of plan->model. */
void tc_certificate_text(tc_arena *arena, const tc_plan *plan, const tc_derivatives *derivatives, tc_buffer *out);

#endif
