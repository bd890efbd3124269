/* Placement STATES: the cloud's g and the agents' answers p = J' mu, from released states x-hat alone. Post-processing
 * of public numbers, so it costs nothing and may be done in floating point; the order of every sum is fixed.
 *
 * A constraint is Phi_j of sums over members and of single coordinates. So
 *     p_c of a member = sum over the family's bodies r of  price_r d body_r / d x_c   +   price of the coordinate
 * itself, with price of an input of Phi = sum_j mu_j Phi_{j,input}, rows added in increasing order.
 *
 * x-hat is taken as it is where all second derivatives of g are constant by structure (affine and quadratic g), what
 * the noise adds to g on the average is subtracted then (bias.h), and it is moved into the public box otherwise:
 * functions may be undefined outside. A rule of public structure alone.
 *
 * Where all slopes of Phi are constant by structure, prices are known before the states are, and one pass over the
 * members is enough: open, every block, close. Otherwise two: every block, close, every block again. The bits do not
 * depend on who does which block. */
#ifndef TC_ENGINE_RESPONSE_H
#define TC_ENGINE_RESPONSE_H

#include "release/release.h"

typedef struct tc_response tc_response;

/* workers: how many threads may call at once, each with a number of its own. */
tc_response *tc_response_new(tc_arena *arena, const tc_plan *plan, const tc_model *model,
                             const tc_derivatives *derivatives, size_t workers);

bool tc_response_is_single_pass(const tc_response *response);

/* A round with these multipliers begins. */
void tc_response_open(tc_response *response, const double *mu);

/* Block b of a family (release.h), x_hat[component][k], in this worker's hands from now on. The pass: the first or the
 * second. */
void tc_response_begin(tc_response *response, size_t worker, size_t family, size_t block, const double *const *x_hat,
                       bool second);
/* Its members at .. at + count - 1, all of them one after another from 0 on; at is a multiple of TC_RESPONSE_BITE, and
 * count is that too but for the last. First pass: their share of the sums, and in a single pass p[component][k], k from
 * at on, at p[component][0]. Second pass: p alone. */
enum { TC_RESPONSE_BITE = 256 };
void tc_response_bite(tc_response *response, size_t worker, size_t at, size_t count, double *const *p);
void tc_response_end(tc_response *response, size_t worker);

/* After every block: g(x-hat) into constraints. */
void tc_response_close(tc_response *response, const double *mu, double *constraints);
/* All at once on one thread, for small ensembles: constraints into released, p by coordinate. */
void tc_response_whole(tc_response *response, tc_released *released, const double *mu, double *p);

#endif
