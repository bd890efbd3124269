/* Inside the lab: many simulated runs at once, and how fast their rounds go by. */
#ifndef TC_LAB_RUNS_H
#define TC_LAB_RUNS_H

#include "lab/lab.h"

/* "12,345 rounds/s, 3 s left"; at most 63 characters. */
void tc_pace_text(char text[64], double rounds_per_second, double seconds_left);

typedef struct tc_job {
    const tc_experiment *experiment;
    uint64_t seed;
    bool keep_states;
    tc_record *record; /* zeroed; stays so if the run is not begun */
} tc_job;

/* Begins the jobs in order; a job takes memory when it begins. The first failure, with its sentence in *why, ends all.
 * threads: 0 for all. */
tc_status tc_jobs_run(tc_arena *arena, const tc_job *jobs, size_t count, size_t threads, const tc_monitor *monitor,
                      const char **why) TC_MUST_USE;

/* Moves the records of runs that were begun to the front; returns how many they are. */
size_t tc_records_begun(tc_record *records, size_t count);

#endif
