/* Many simulated runs at once, each on one thread. */
#ifndef TC_LAB_JOBS_H
#define TC_LAB_JOBS_H

#include "lab/lab.h"

typedef struct tc_job {
    const tc_experiment *experiment;
    uint64_t seed;
    tc_record *record; /* of tc_record_init */
} tc_job;

/* Begun in order. The first failure, with its sentence in *why, ends all. After an interrupt, records of runs that were
 * not begun have rounds 0 and no rows. threads: 0 for all. */
tc_status tc_jobs_run(tc_arena *arena, const tc_job *jobs, size_t count, size_t threads, const tc_monitor *monitor,
                      const char **why) TC_MUST_USE;

#endif
