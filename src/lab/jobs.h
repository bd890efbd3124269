/* Many simulated runs at once, each on one thread. */
#ifndef TC_LAB_JOBS_H
#define TC_LAB_JOBS_H

#include "lab/lab.h"

typedef struct tc_job {
    const tc_experiment *experiment;
    uint64_t seed;
    bool keep_states;
    tc_record *record; /* zeroed, and so it stays where the run was not begun */
} tc_job;

/* Begun in order, each taking memory then. The first failure, with its sentence in *why, ends all. threads: 0 for all.
 */
tc_status tc_jobs_run(tc_arena *arena, const tc_job *jobs, size_t count, size_t threads, const tc_monitor *monitor,
                      const char **why) TC_MUST_USE;

/* Moves the records of runs that were begun to the front; returns how many they are. */
size_t tc_records_begun(tc_record *records, size_t count);

#endif
