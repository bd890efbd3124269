/* From released entries of the Jacobian to answers, p_i = J^_i' mu. Nothing here takes a private type.
 *
 * In an answer, entries that all members of a family share come first and those of single coordinates after them, each
 * by increasing rows; a row whose multiplier is zero adds nothing. */
#ifndef TC_ENGINE_PUBLISHED_JACOBIAN_H
#define TC_ENGINE_PUBLISHED_JACOBIAN_H

#include "release/release.h"

typedef struct tc_jacobian tc_jacobian;

/* constants: what tc_released_new made, with the constants of the Jacobian in place. It is read now and kept.
 * is_small: for tc_jacobian_answer_whole. */
tc_jacobian *tc_jacobian_new(tc_arena *arena, const tc_model *model, const tc_released *constants, bool is_small);

/* Whether entries of this family are released anew in each round. */
bool tc_jacobian_has_noise(const tc_jacobian *jacobian, size_t family);
/* Whether entries that this family's members share are among them: then tc_jacobian_answer reads them. */
bool tc_jacobian_is_read(const tc_jacobian *jacobian, size_t family);

/* The answers to one block (release.h): p[component][k]. entries[e][k] as from tc_release_entries; released: single
 * entries. */
void tc_jacobian_answer(const tc_jacobian *jacobian, const tc_released *released, size_t family, size_t block,
                        const double *const *entries, const double *mu, double *const *p);
/* The same answers for all agents of a small ensemble: p by coordinate. */
void tc_jacobian_answer_whole(const tc_jacobian *jacobian, const tc_released *released, const double *mu, double *p);

#endif
