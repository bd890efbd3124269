/* A release inside; for src/privacy/release*.c. */
#ifndef TC_PRIVACY_RELEASE_PARTS_H
#define TC_PRIVACY_RELEASE_PARTS_H

#include "privacy/release.h"
#include "privacy/release_evaluate.h"
#include "privacy/release_lattice.h"
#include "privacy/release_private.h"

typedef struct tc_noise_run { /* entries drawn by one call */
    uint64_t first;
    size_t count;
    const tc_noise_scale *scales; /* one for all, or one for each */
    bool each;
} tc_noise_run;

struct tc_release {
    const tc_plan *plan;
    const tc_model *model;
    const tc_derivatives *derivatives;
    tc_entries *entries;
    tc_segment *segments;
    size_t segment_count;
    tc_evaluator *evaluator;
    size_t block;
    tc_random *random;
    tc_random_worker *worker;
    tc_noise_run *runs; /* none without a mechanism */
    size_t run_count;
    uint64_t next_round;
    uint64_t prepared; /* the round whose noise is there; 0 for none */
    int64_t *noise;    /* by address; wiped when used */
    tc_private_values *values;
    int64_t *sums, *partial; /* scratch: integer sums */
    double *sum_values;
    double *coords; /* scratch: the coordinates that constraints name; NULL for none */
};

/* A plan that this release can obey: NULL, or what is wrong with it. */
const char *tc_release_check_plan(tc_arena *arena, const tc_plan *plan, const tc_model *model);
const char *tc_release_check_cover(tc_arena *arena, const tc_release *release);
/* By enclosures over the public box: no integer sum and no entry can leave 64 bits. */
const char *tc_release_check_range(tc_arena *arena, const tc_release *release);

/* How noise is drawn; false where a scale is out of the sampler's range. Then: all of the open round's into noise. */
bool tc_release_plan_noise(tc_arena *arena, tc_release *release) TC_MUST_USE;
tc_status tc_release_draw(tc_release *release) TC_MUST_USE;

/* F(x) on its lattices, before noise: into release->values. */
void tc_release_values(tc_release *release, const tc_private_states *states);

/* Public constants of the Jacobian into jacobian[]. */
void tc_release_constants(tc_arena *arena, tc_release *release, double *jacobian);

#endif
