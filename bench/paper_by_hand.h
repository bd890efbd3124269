/* The paper's problem typed in as C, for this problem and no other: what the engine is measured against. */
#ifndef TC_BENCH_PAPER_BY_HAND_H
#define TC_BENCH_PAPER_BY_HAND_H

#include "noise/noise.h"

enum {
    PAPER_AGENTS = 10,
    PAPER_STATES = 2 * PAPER_AGENTS,
    PAPER_CONSTRAINTS = 6,
    PAPER_BLOCK = 2 * PAPER_CONSTRAINTS, /* entries of the Jacobian for one agent, by row */
    PAPER_ENTRIES = PAPER_CONSTRAINTS + PAPER_AGENTS * PAPER_BLOCK,
};

typedef struct paper_noise {
    tc_noise_law law;
    tc_noise_scale scales[PAPER_ENTRIES];
    double state_step;                  /* h */
    double constraint_step;             /* zeta of g ... */
    double jacobian_step[PAPER_AGENTS]; /* ... and of each block */
} paper_noise;

typedef void paper_schedule(uint64_t k, double *step, double *regularization);

/* From x = 0, mu = 0. schedule: NULL for pow of the C library. False where there is no random source. */
bool paper_by_hand(const paper_noise *noise, tc_random *random, tc_random_worker *worker, double dual_radius,
                   uint64_t rounds, paper_schedule *schedule, double x[PAPER_STATES], double mu[PAPER_CONSTRAINTS]);

#endif
