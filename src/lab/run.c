#include "lab/one.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

double tc_lab_seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *tc_lab_run_id(tc_arena *arena) {
    struct timespec now;
    struct tm parts;
    char text[32] = "";
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &parts) != NULL)
        (void)strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
    return tc_arena_format(arena, "run-%s-%ld-%09ld", text, (long)getpid(), now.tv_nsec);
}

static tc_status random_source(tc_arena *arena, const tc_experiment *experiment, const uint64_t *seed,
                               tc_random **random) {
    const char *id = seed != NULL                 ? "simulation" /* a seed repeats a run */
                     : experiment->run_id != NULL ? experiment->run_id
                                                  : tc_lab_run_id(arena);
    tc_run_identity identity = {.run_id = id, .run_id_length = strlen(id)};
    memcpy(identity.plan_hash, experiment->plan->hash, sizeof identity.plan_hash);
    return seed == NULL ? tc_random_new(arena, &identity, random)
                        : tc_random_new_simulation(arena, &identity, *seed, random);
}

tc_status tc_lab_run(tc_arena *arena, const tc_experiment *experiment, const uint64_t *seed, const tc_monitor *monitor,
                     tc_record **record, const char **why) {
    tc_pace pace;
    *record = TC_NEW(arena, tc_record, 1);
    tc_record_init(arena, experiment, true, *record);
    (*record)->seeded = seed != NULL;
    (*record)->seed = seed == NULL ? 0 : *seed;
    tc_one one = {.experiment = experiment,
                  .record = *record,
                  .monitor = monitor,
                  .pace = &pace,
                  .reports = true,
                  .tells_rows = true};
    tc_status status = random_source(arena, experiment, seed, &one.random);
    if (status != TC_OK)
        return status;
    if (experiment->threads != 1)
        one.team = tc_team_new(arena, experiment->threads);
    tc_pace_begin(&pace, monitor, experiment->rounds);
    return tc_one_run(arena, &one, why);
}
