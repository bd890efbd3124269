#include "lab/jobs.h"

#include "lab/one.h"
#include "base/machine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef struct crowd {
    const tc_job *jobs;
    tc_status *statuses; /* by job */
    tc_arena **keeping;  /* by worker: for records, which outlive the runs */
    const tc_monitor *monitor;
    tc_pace pace;
    atomic_bool failed;
    atomic_flag why_taken; /* the first to fail says why */
    char why[TC_REASON_SIZE];
} crowd;

static bool stopped(void *context) {
    crowd *all = context;
    return atomic_load_explicit(&all->failed, memory_order_relaxed) || tc_interrupted(all->monitor);
}

static tc_status simulate(tc_arena *arena, crowd *all, const tc_job *job, size_t worker) {
    static const char run_id[] = "simulation";
    const tc_experiment *experiment = job->experiment;
    const tc_monitor monitor = {.interrupted = stopped, .context = all};
    tc_run_identity identity = {.run_id = run_id, .run_id_length = sizeof run_id - 1};
    tc_one one = {.experiment = experiment,
                  .record = job->record,
                  .monitor = &monitor,
                  .pace = &all->pace,
                  .reports = worker == 0};
    const char *why = NULL;
    memcpy(identity.plan_hash, experiment->plan->hash, sizeof identity.plan_hash);
    tc_status status = tc_random_new_simulation(arena, &identity, job->seed, &one.random);
    if (status == TC_OK)
        status = tc_one_run(arena, &one, &why);
    if (status != TC_OK && why != NULL && !atomic_flag_test_and_set(&all->why_taken))
        (void)snprintf(all->why, sizeof all->why, "%s", why);
    return status;
}

/* The record stays as it is where there is no memory for it. */
static tc_status begin(tc_arena *keeping, const tc_job *job) {
    tc_escape escape;
    tc_status status = TC_TRY(keeping, &escape);
    if (status == TC_OK) {
        tc_record_init(keeping, job->experiment, job->keep_states, job->record);
        job->record->seeded = true;
        job->record->seed = job->seed;
    }
    tc_escape_end(keeping, &escape);
    return status;
}

static tc_status simulate_apart(tc_arena *arena, crowd *all, const tc_job *job, size_t worker) {
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = simulate(arena, all, job, worker);
    tc_escape_end(arena, &escape);
    return status;
}

static void run_job(void *context, size_t worker, size_t i) {
    crowd *all = context;
    if (stopped(all))
        return;
    tc_arena *arena = tc_arena_new(0);
    all->statuses[i] = arena == NULL ? TC_NO_MEMORY : begin(all->keeping[worker], &all->jobs[i]);
    if (all->statuses[i] == TC_OK)
        all->statuses[i] = simulate_apart(arena, all, &all->jobs[i], worker);
    if (all->statuses[i] != TC_OK)
        atomic_store(&all->failed, true);
    if (arena != NULL)
        tc_arena_free(arena);
}

static void release(void *what) { tc_arena_free(what); }

static tc_arena **arenas_for_workers(tc_arena *arena, size_t count) {
    tc_arena **all = TC_NEW(arena, tc_arena *, count);
    for (size_t i = 0; i < count; i++) {
        all[i] = tc_arena_new(0);
        if (all[i] == NULL)
            tc_raise(arena, TC_NO_MEMORY);
        tc_arena_on_free(arena, release, all[i]);
    }
    return all;
}

tc_status tc_jobs_run(tc_arena *arena, const tc_job *jobs, size_t count, size_t threads, const tc_monitor *monitor,
                      const char **why) {
    crowd *all = TC_NEW(arena, crowd, 1);
    uint64_t total = 0;
    all->jobs = jobs;
    all->statuses = TC_NEW(arena, tc_status, count + 1);
    all->monitor = monitor;
    atomic_init(&all->failed, false);
    atomic_flag_clear(&all->why_taken);
    for (size_t i = 0; i < count; i++) {
        total += jobs[i].experiment->rounds;
    }
    tc_pace_begin(&all->pace, monitor, total);
    size_t size = threads == 0 ? tc_processors() : threads;
    tc_team *team = tc_team_new(arena, size < count ? size : count);
    all->keeping = arenas_for_workers(arena, tc_team_size(team));
    tc_team_run(team, count, run_job, all);
    for (size_t i = 0; i < count; i++) {
        if (all->statuses[i] == TC_OK)
            continue;
        *why = all->why[0] == '\0' ? NULL : all->why;
        return all->statuses[i];
    }
    return TC_OK;
}

size_t tc_records_begun(tc_record *records, size_t count) {
    size_t begun = 0;
    for (size_t i = 0; i < count; i++) {
        if (records[i].rows == NULL)
            continue;
        if (begun != i)
            records[begun] = records[i];
        begun++;
    }
    return begun;
}

tc_status tc_lab_run_many(tc_arena *arena, const tc_experiment *experiment, uint64_t first, size_t count,
                          const tc_monitor *monitor, tc_record **records, size_t *begun, const char **why) {
    tc_job *jobs = TC_NEW(arena, tc_job, count + 1);
    *records = TC_NEW(arena, tc_record, count + 1);
    for (size_t i = 0; i < count; i++) {
        jobs[i] = (tc_job){.experiment = experiment,
                           .seed = first + i,
                           .keep_states = experiment->keep_states || i == 0,
                           .record = &(*records)[i]};
    }
    tc_status status = tc_jobs_run(arena, jobs, count, experiment->threads, monitor, why);
    *begun = tc_records_begun(*records, count);
    return status;
}
