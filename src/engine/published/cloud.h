/* The cloud's half of a round, from released numbers alone:
 *
 *     p_i       = J-hat_i' mu(k)
 *     mu(k+1)   = Proj_M[ mu(k) + gamma_k (g-hat(k) - alpha_k mu(k)) ],     M = { mu >= 0, |mu|_1 <= R }
 *
 * Nothing here takes a private type. In what an agent is answered, entries that all members of a family share come
 * first and those of single coordinates after them, each by increasing rows; a row whose multiplier is zero adds
 * nothing. */
#ifndef TC_ENGINE_CLOUD_H
#define TC_ENGINE_CLOUD_H

#include "engine/agents.h"
#include "release/release.h"

typedef struct tc_cloud tc_cloud;

/* constants: what tc_released_new made, with the constants of the Jacobian in place. It is read now and kept. */
tc_cloud *tc_cloud_new(tc_arena *arena, const tc_model *model, const tc_released *constants, double dual_radius);

/* mu(1): the nearest point of M. */
void tc_cloud_start(tc_cloud *cloud, const double *start, double *mu);

/* Returns TC_ALL_FINITE, or a row of g-hat that is not; next is then worth nothing. */
size_t tc_cloud_step(tc_cloud *cloud, const tc_released *released, tc_answer_scalars scalars, const double *mu,
                     double *next);

/* Placement OUTPUTS: the answers to one block (release.h). entries[e][k] as from tc_release_entries, read only where
 * tc_cloud_reads says so; p[component][k]. released: single entries. */
void tc_cloud_answer(const tc_cloud *cloud, const tc_released *released, size_t family, size_t block,
                     const double *const *entries, const double *mu, double *const *p);
/* Whether entries that this family's members share are released anew in each round. */
bool tc_cloud_reads(const tc_cloud *cloud, size_t family);

/* The same answers for all agents of a small ensemble, from one flat list of entries: p by coordinate. */
typedef struct tc_flat tc_flat;
tc_flat *tc_flat_new(tc_arena *arena, const tc_model *model, const tc_entries *layout);
void tc_flat_answer(const tc_flat *flat, const tc_released *released, const double *mu, double *p);

#endif
