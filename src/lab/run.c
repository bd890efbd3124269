/* Runs, one or many at a time. */
#include "lab/lab.h"
#include "lab/records.h"

#include "base/machine.h"
#include "base/ranks/ranks.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Nanoseconds since 1970, later than any that this process had: threads may ask at the same time, and clocks are set
 * back. */
static int64_t new_moment(void) {
    static _Atomic int64_t last;
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t moment = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, before = atomic_load(&last), next;
    do
        next = moment > before ? moment : before + 1;
    while (!atomic_compare_exchange_weak(&last, &before, next));
    return next;
}

const char *tc_lab_run_id(tc_arena *arena) {
    int64_t moment = new_moment();
    time_t seconds = (time_t)(moment / 1000000000);
    struct tm parts;
    char text[32] = "";
    if (gmtime_r(&seconds, &parts) != NULL)
        (void)strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
    char *id = tc_arena_format(arena, "run-%s-%ld-%09ld", text, (long)getpid(), (long)(moment % 1000000000));
    char shared[96] = "";
    if (!tc_ranks_several())
        return id;
    (void)snprintf(shared, sizeof shared, "%s", id);
    tc_ranks_broadcast(shared, sizeof shared, 0);
    return tc_arena_copy(arena, shared, strlen(shared));
}

/* ---- progress ---- */

/* Of one run, or of many at once. */
typedef struct run_pace {
    const tc_monitor *monitor;
    const char *what; /* before the pace; NULL: nothing */
    uint64_t total;   /* rounds of all runs */
    _Atomic uint64_t done;
    double began; /* on the clock of tc_seconds */
    double last_report;
} run_pace;

static const double REPORT_SECONDS = 0.1; /* between reports */

static void pace_begin(run_pace *pace, const tc_monitor *monitor, const char *what, uint64_t total) {
    pace->monitor = monitor;
    pace->what = what;
    pace->total = total;
    atomic_init(&pace->done, 0);
    pace->began = tc_seconds();
    pace->last_report = pace->began;
}

/* By any thread; the thread that began reports. */
static void pace_add(run_pace *pace, uint64_t rounds) {
    (void)atomic_fetch_add_explicit(&pace->done, rounds, memory_order_relaxed);
}

/* 1234567 as 1,234,567. */
static void with_commas(char text[32], double value) {
    char digits[32];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%.0f", fmin(value, 1e15)), written = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[written++] = ',';
        text[written++] = digits[i];
    }
    text[written] = '\0';
}

static void duration(char text[32], double seconds) {
    if (!(seconds < 360000))
        (void)snprintf(text, 32, "days");
    else if (seconds >= 3600)
        (void)snprintf(text, 32, "%d h %02d min", (int)(seconds / 3600), (int)(seconds / 60) % 60);
    else if (seconds >= 60)
        (void)snprintf(text, 32, "%d min %02d s", (int)(seconds / 60), (int)seconds % 60);
    else
        (void)snprintf(text, 32, "%.0f s", ceil(seconds));
}

void tc_pace_text(char text[64], double rounds_per_second, double seconds_left) {
    char rate[32], left[32];
    if (rounds_per_second >= 10)
        with_commas(rate, rounds_per_second);
    else
        (void)snprintf(rate, sizeof rate, "%.2g", rounds_per_second);
    duration(left, seconds_left);
    (void)snprintf(text, 64, "%.20s rounds/s, %.20s left", rate, left);
}

static void pace_report(run_pace *pace) {
    double now = tc_seconds();
    if (pace->monitor == NULL || pace->monitor->progress == NULL || now - pace->last_report < REPORT_SECONDS)
        return;
    pace->last_report = now;
    double done = (double)atomic_load_explicit(&pace->done, memory_order_relaxed);
    double rate = done / (now - pace->began);
    char text[64], line[128];
    tc_pace_text(text, rate, ((double)pace->total - done) / rate);
    (void)snprintf(line, sizeof line, "%.40s%s%s", pace->what == NULL ? "" : pace->what, pace->what == NULL ? "" : ": ",
                   text);
    tc_progress(pace->monitor, line, done / (double)pace->total);
}

/* ---- one run ---- */

typedef struct single_run {
    const tc_experiment *experiment;
    tc_record *record;
    tc_random *random, *last_random;
    tc_team *team; /* NULL: this thread alone */
    const tc_monitor *monitor;
    run_pace *pace;
    bool reports;    /* this thread reports progress to the monitor */
    bool tells_rows; /* calls on_row: a single run */
} single_run;

/* An array of `rows` numbers for each member, from `first` on: those of a member are side by side, or by row. Rank 0,
 * which prints, gets all of it; so does every rank where all know the whole family. */
static void gather_family(const tc_family *family, size_t number, double *first, size_t rows, bool side_by_side) {
    size_t ranks = tc_ranks_count(), stride = side_by_side ? rows : 1;
    void (*gather)(void *, size_t, size_t) = family->is_spread ? tc_ranks_bring : tc_ranks_broadcast;
    for (size_t r = 0; ranks > 1 && r < ranks; r++) {
        size_t begin = 0, end = 0;
        tc_family_held_by(family, number, r, ranks, &begin, &end);
        for (size_t row = 0; row < (side_by_side ? 1 : rows); row++)
            gather(first + row * family->count + begin * stride, (end - begin) * stride * sizeof *first, r);
    }
}

static void copy_states(const tc_model *model, const double *x, double *states) {
    for (size_t f = 0; f < model->family_count; f++) {
        const tc_family *family = &model->families[f];
        for (size_t k = family->held_first; k < family->held_end; k++) {
            for (size_t c = 0; c < family->dim; c++)
                states[k * family->dim + c] = x[tc_coord_of(family, k, c)];
        }
        gather_family(family, f, states, family->dim, true);
        states += family->count * family->dim;
    }
}

static void add_row(const single_run *one, const tc_engine *engine, tc_measure *measure) {
    tc_record *record = one->record;
    tc_row *row = &record->rows[record->row_count++];
    row->k = tc_engine_rounds(engine);
    tc_measure_row(measure, tc_engine_result_states(engine), tc_engine_result_multipliers(engine), row);
    if (row->states != NULL)
        copy_states(one->experiment->model, tc_engine_result_states(engine), row->states);
    if (one->tells_rows && one->experiment->on_row != NULL)
        one->experiment->on_row(one->experiment->context, record, row);
}

/* Rounds between two looks at progress and Ctrl-C: about a thirtieth of a second. */
static uint64_t chunk_for(uint64_t chunk, double seconds) {
    if (seconds < 0.015)
        return chunk < UINT64_C(1) << 40 ? 2 * chunk : chunk;
    return seconds > 0.06 && chunk > 1 ? chunk / 2 : chunk;
}

/* All ranks stop where one is asked to. */
static bool is_stopped(const single_run *one) {
    uint64_t stops = tc_interrupted(one->monitor);
    tc_ranks_sum(&stops, 1);
    return stops > 0 || (tc_ranks_several() && tc_interrupted(one->monitor)); /* ranks heard of it just now */
}

/* Goes on to round `target`; *seconds: how long that took. */
static tc_status advance(const single_run *one, tc_engine *engine, uint64_t target, double *seconds) {
    uint64_t before = tc_engine_rounds(engine);
    double began = tc_seconds();
    tc_status status = tc_engine_advance(engine, target, one->monitor, &one->record->outcome);
    *seconds = tc_seconds() - began;
    tc_ranks_broadcast(seconds, sizeof *seconds, 0); /* the next target depends on it */
    one->record->seconds += *seconds;
    one->record->rounds = tc_engine_rounds(engine);
    pace_add(one->pace, one->record->rounds - before);
    if (one->reports)
        pace_report(one->pace);
    return status;
}

static tc_status go(const single_run *one, tc_engine *engine, tc_measure *measure) {
    const uint64_t rounds = one->experiment->rounds, *next = one->experiment->grid;
    const uint64_t *const grid_end = next + one->experiment->grid_count;
    tc_record *record = one->record;
    uint64_t chunk = 1;
    record->outcome = TC_ENGINE_DONE;
    for (;;) {
        uint64_t done = record->rounds;
        if (next < grid_end && *next == done) {
            add_row(one, engine, measure);
            next++;
        }
        if (done >= rounds || record->outcome != TC_ENGINE_DONE)
            return TC_OK;
        if (is_stopped(one)) { /* the engine looks seldom if rounds are short */
            record->outcome = TC_ENGINE_INTERRUPTED;
            return TC_OK;
        }
        double seconds = 0;
        uint64_t target = rounds - done > chunk ? done + chunk : rounds;
        if (next < grid_end && *next < target)
            target = *next;
        tc_status status = advance(one, engine, target, &seconds);
        if (status != TC_OK)
            return status;
        if (target == done + chunk || seconds > 0.06)
            chunk = chunk_for(chunk, seconds);
    }
}

/* Copies, since the record outlives the engine. */
static void keep_feasibility(const tc_feasibility *found, size_t m, tc_record *record) {
    if (found == NULL)
        return;
    record->feasibility = *found;
    record->feasibility.bounds = record->bounds;
    memcpy(record->bounds, found->bounds, m * sizeof *found->bounds);
}

static void conclude(const single_run *one, const tc_engine *engine, tc_measure *measure) {
    const tc_experiment *experiment = one->experiment;
    const tc_model *model = experiment->model;
    tc_record *record = one->record;
    const double *x = tc_engine_result_states(engine), *mu = tc_engine_result_multipliers(engine);
    const tc_row *last = tc_record_last(record);
    if (last == NULL || last->k != record->rounds)
        add_row(one, engine, measure);
    if (record->x != NULL) {
        tc_copy_held(model, record->x, x);
        for (size_t f = 0; f < model->family_count; f++)
            gather_family(&model->families[f], f, record->x + model->families[f].first_coord, model->families[f].dim,
                          false);
    }
    if (model->constraint_count > 0)
        memcpy(record->mu, mu, model->constraint_count * sizeof *mu);
    if (model->constraint_count > 0)
        keep_feasibility(tc_engine_feasibility(engine), model->constraint_count, record);
    if (experiment->origin_x != NULL) {
        record->moved_x = tc_squared_distance(x, experiment->origin_x, model->state_count);
        record->moved_mu = tc_squared_distance(mu, experiment->origin_mu, model->constraint_count);
    }
}

/* Copies, since the record outlives the engine. */
static void keep_reason(tc_record *record, const char *reason) {
    record->reason = reason == NULL ? NULL : record->reason_room;
    if (reason != NULL)
        (void)snprintf(record->reason_room, TC_REASON_SIZE, "%s", reason);
}

/* arena: for what the run needs while it goes; the record is initialised. */
static tc_status run_one(tc_arena *arena, single_run *one, const char **why) {
    const tc_experiment *experiment = one->experiment;
    tc_engine_settings settings = {.dual_radius = experiment->dual_radius,
                                   .team = one->team,
                                   .facts = experiment->method,
                                   .last_random = one->last_random};
    tc_engine *engine = NULL;
    tc_status status = tc_engine_new(arena, experiment->plan, experiment->model, experiment->derivatives, one->random,
                                     &settings, &engine, why);
    if (status != TC_OK)
        return status;
    tc_measure *measure = tc_measure_new(arena, experiment->model, experiment->reference);
    status = go(one, engine, measure);
    if (status == TC_BAD_USAGE)
        *why = tc_arena_format(arena, "the plan is for %.0f rounds, and does not reach round %.0f",
                               experiment->plan->rounds, (double)experiment->rounds);
    if (status != TC_OK)
        return status;
    conclude(one, engine, measure);
    keep_reason(one->record,
                one->record->outcome == TC_ENGINE_INTERRUPTED ? "stopped on request" : tc_engine_reason(engine));
    return TC_OK;
}

/* ---- a single run ---- */

/* A second source, for a last round: the plan of that round has a hash of its own. */
static tc_status one_source(tc_arena *arena, const tc_plan *plan, const char *id, const uint64_t *seed,
                            tc_random **random) {
    tc_run_identity identity = {.run_id = id, .run_id_length = strlen(id)};
    memcpy(identity.plan_hash, plan->hash, sizeof identity.plan_hash);
    return seed == NULL ? tc_random_new(arena, &identity, random)
                        : tc_random_new_simulation(arena, &identity, *seed, random);
}

static tc_status random_sources(tc_arena *arena, single_run *one, const uint64_t *seed) {
    const tc_experiment *experiment = one->experiment;
    const char *id = seed != NULL                 ? "simulation" /* a seed repeats a run */
                     : experiment->run_id != NULL ? experiment->run_id
                                                  : tc_lab_run_id(arena);
    const tc_last_round *last = experiment->plan->last;
    tc_status status = one_source(arena, experiment->plan, id, seed, &one->random);
    return status == TC_OK && last != NULL ? one_source(arena, last->plan, id, seed, &one->last_random) : status;
}

static tc_status run_in(tc_arena *arena, single_run *one, const uint64_t *seed, char why[TC_REASON_SIZE]) {
    const tc_experiment *experiment = one->experiment;
    const char *text = NULL;
    tc_status status = random_sources(arena, one, seed);
    if (status != TC_OK)
        return status;
    if (experiment->threads != 1)
        one->team = tc_team_new(arena, experiment->threads);
    status = run_one(arena, one, &text);
    if (text != NULL)
        (void)snprintf(why, TC_REASON_SIZE, "%s", text);
    return status;
}

/* In an arena of its own: engine, threads and the noise's key end with the run. */
static tc_status run_apart(single_run *one, const uint64_t *seed, char why[TC_REASON_SIZE]) {
    tc_escape escape;
    tc_arena *arena = tc_arena_new(0);
    if (arena == NULL)
        return TC_NO_MEMORY;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        status = run_in(arena, one, seed, why);
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return status;
}

tc_status tc_lab_run(tc_arena *arena, const tc_experiment *experiment, const uint64_t *seed, const tc_monitor *monitor,
                     tc_record **record, const char **why) {
    run_pace pace;
    char text[TC_REASON_SIZE] = "";
    *record = TC_NEW(arena, tc_record, 1);
    tc_record_init(arena, experiment, true, *record);
    (*record)->seeded = seed != NULL;
    (*record)->seed = seed == NULL ? 0 : *seed;
    single_run one = {.experiment = experiment,
                      .record = *record,
                      .monitor = monitor,
                      .pace = &pace,
                      .reports = true,
                      .tells_rows = true};
    pace_begin(&pace, monitor, experiment->what, experiment->rounds);
    tc_status status = run_apart(&one, seed, text);
    if (text[0] != '\0')
        *why = tc_arena_copy(arena, text, strlen(text));
    return status;
}

/* ---- many runs ---- */

typedef struct crowd {
    const tc_job *jobs;
    size_t first, step;  /* this rank does jobs first, first + step, ... */
    tc_status *statuses; /* by job */
    tc_arena **keeping;  /* by worker: for the records, which outlive the runs */
    const tc_monitor *monitor;
    run_pace pace;
    atomic_bool failed;
    atomic_flag why_taken; /* the first to fail says why */
    char why[TC_REASON_SIZE];
} crowd;

static bool stopped(void *context) {
    crowd *all = context;
    return atomic_load_explicit(&all->failed, memory_order_relaxed) || tc_interrupted(all->monitor);
}

static tc_status simulate(tc_arena *arena, crowd *all, const tc_job *job, size_t worker) {
    const tc_experiment *experiment = job->experiment;
    const tc_monitor monitor = {.interrupted = stopped, .context = all};
    single_run one = {.experiment = experiment,
                      .record = job->record,
                      .monitor = &monitor,
                      .pace = &all->pace,
                      .reports = worker == 0};
    const char *why = NULL;
    tc_status status = random_sources(arena, &one, &job->seed);
    if (status == TC_OK)
        status = run_one(arena, &one, &why);
    if (status != TC_OK && why != NULL && !atomic_flag_test_and_set(&all->why_taken))
        (void)snprintf(all->why, sizeof all->why, "%s", why);
    return status;
}

/* Leaves the record as it is if there is no memory for it. */
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

static void run_job(void *context, size_t worker, size_t number) {
    crowd *all = context;
    size_t i = all->first + number * all->step;
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

/* What the calling thread does while others still run. */
static void look(void *context) {
    crowd *all = context;
    if (!stopped(all))
        pace_report(&all->pace);
}

/* The threads end with the work. */
static tc_status run_on_team(crowd *all, size_t workers, size_t count) {
    tc_escape escape;
    tc_arena *arena = tc_arena_new(0);
    if (arena == NULL)
        return TC_NO_MEMORY;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK) {
        tc_team *team = tc_team_new(arena, workers);
        tc_team_look(team, look, all);
        tc_team_run(team, count, run_job, all);
    }
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return status;
}

/* The records of all ranks, in the order of the jobs. */
static tc_status share_records(tc_arena *arena, crowd *all, size_t count) {
    if (!tc_ranks_join())
        return TC_INTERRUPTED;
    for (size_t i = 0; tc_ranks_several() && i < count; i++) {
        tc_record_share(arena, &all->jobs[i], i % all->step, &all->statuses[i]);
        if (all->statuses[i] == TC_OK)
            continue;
        tc_ranks_broadcast(all->why, sizeof all->why, i % all->step);
        break;
    }
    tc_ranks_part();
    return TC_OK;
}

/* Of several ranks, each works alone before and after. */
tc_status tc_jobs_run(tc_arena *arena, const tc_job *jobs, size_t count, size_t threads, const tc_monitor *monitor,
                      const char **why) {
    crowd *all = TC_NEW(arena, crowd, 1);
    uint64_t total = 0;
    if (!tc_ranks_join())
        return TC_INTERRUPTED;
    all->first = tc_ranks_mine();
    all->step = tc_ranks_count();
    tc_ranks_part();
    size_t mine = count > all->first ? (count - all->first + all->step - 1) / all->step : 0;
    all->jobs = jobs;
    all->statuses = TC_NEW(arena, tc_status, count + 1);
    all->monitor = monitor;
    atomic_init(&all->failed, false);
    atomic_flag_clear(&all->why_taken);
    for (size_t i = all->first; i < count; i += all->step)
        total += jobs[i].experiment->rounds;
    pace_begin(&all->pace, monitor, NULL, total);
    size_t size = threads == 0 ? tc_processors() : threads;
    size_t workers = size < mine ? size : mine > 0 ? mine : 1;
    all->keeping = arenas_for_workers(arena, workers);
    tc_status status = run_on_team(all, workers, mine);
    if (status == TC_OK)
        status = share_records(arena, all, count);
    for (size_t i = 0; i < count && status == TC_OK; i++) {
        if (all->statuses[i] == TC_OK)
            continue;
        *why = all->why[0] == '\0' ? NULL : all->why;
        return all->statuses[i];
    }
    return status;
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
