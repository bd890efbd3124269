/* The caller waits only for threads that took a part. A thread that wakes late finds no part left and sleeps again, so
 * a piece of work never takes longer than the caller alone would need.
 *
 * One number, the ticket, holds the number of the job (high bits) and how many parts are not taken yet (low bits).
 * Taking a part is one compare-and-swap on it. A thread that has taken a part may read the job's description, since the
 * caller changes it only when all parts are finished. */
#include "base/team.h"

#include "base/machine.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum {
    PART_BITS = 24,
    MOST_PARTS = (1 << PART_BITS) - 1,
    SPINS = 4000,          /* some tens of microseconds: as long as between two rounds, and cheap */
    LINE = 64,             /* of the cache */
    LOOK_EVERY = 33000000, /* nanoseconds */
};

typedef struct member {
    struct tc_team *team;
    size_t worker;
    pthread_t thread;
} member;

struct tc_team {
    size_t size; /* the caller included */
    member *members;
    pid_t owner;
    unsigned spins;
    /* the job's description */
    void (*part)(void *context, size_t worker, size_t i);
    void *context;
    size_t first, parts;         /* of the caller's parts, those from first on */
    void (*look)(void *context); /* NULL: the caller just waits */
    void *look_context;

    pthread_mutex_t mutex;
    pthread_cond_t called, finished_all;
    atomic_size_t asleep;
    atomic_bool caller_waits, ending;
    _Alignas(LINE) _Atomic uint64_t ticket;
    _Alignas(LINE) atomic_size_t finished;
};

static inline void pause_a_little(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static uint64_t job_of(uint64_t ticket) { return ticket >> PART_BITS; }
static size_t left_of(uint64_t ticket) { return (size_t)(ticket & MOST_PARTS); }

static bool take_part(tc_team *team, uint64_t job, size_t *part) {
    uint64_t ticket = atomic_load(&team->ticket);
    while (job_of(ticket) == job && left_of(ticket) > 0)
        if (atomic_compare_exchange_weak(&team->ticket, &ticket, ticket - 1)) {
            *part = team->parts - left_of(ticket);
            return true;
        }
    return false;
}

static void work(tc_team *team, size_t worker, uint64_t job) {
    size_t part = 0;
    while (take_part(team, job, &part)) {
        size_t parts = team->parts;
        team->part(team->context, worker, team->first + part);
        if (atomic_fetch_add(&team->finished, 1) + 1 == parts && atomic_load(&team->caller_waits)) {
            (void)pthread_mutex_lock(&team->mutex);
            (void)pthread_cond_signal(&team->finished_all);
            (void)pthread_mutex_unlock(&team->mutex);
        }
    }
}

/* Waits until there is another job than the last one. Sleepers count themselves before they look again, and the caller
 * looks at the count after it has changed the ticket: one of the two sees the other. */
static uint64_t wait_for_job(tc_team *team, uint64_t last) {
    for (unsigned i = 0; i < team->spins; i++) {
        uint64_t job = job_of(atomic_load_explicit(&team->ticket, memory_order_acquire));
        if (job != last)
            return job;
        pause_a_little();
    }
    (void)pthread_mutex_lock(&team->mutex);
    (void)atomic_fetch_add(&team->asleep, 1);
    uint64_t job = job_of(atomic_load(&team->ticket));
    while (job == last) {
        (void)pthread_cond_wait(&team->called, &team->mutex);
        job = job_of(atomic_load(&team->ticket));
    }
    (void)atomic_fetch_sub(&team->asleep, 1);
    (void)pthread_mutex_unlock(&team->mutex);
    return job;
}

static void *serve(void *what) {
    const member *self = what;
    uint64_t job = 0;
    (void)tc_locale_begin(); /* to the thread's end */
    for (;;) {
        job = wait_for_job(self->team, job);
        if (atomic_load(&self->team->ending))
            return NULL;
        work(self->team, self->worker, job);
    }
}

/* Opens a job of this many parts. */
static uint64_t call_all(tc_team *team, size_t parts) {
    uint64_t job = job_of(atomic_load_explicit(&team->ticket, memory_order_relaxed)) + 1;
    atomic_store_explicit(&team->finished, 0, memory_order_relaxed);
    team->parts = parts;
    atomic_store(&team->ticket, job << PART_BITS | parts);
    if (atomic_load(&team->asleep) > 0) {
        (void)pthread_mutex_lock(&team->mutex);
        (void)pthread_cond_broadcast(&team->called);
        (void)pthread_mutex_unlock(&team->mutex);
    }
    return job;
}

/* Until all parts are finished or it is time to look; the mutex is held. */
static void wait_a_while(tc_team *team) {
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_EVERY;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    if (pthread_cond_timedwait(&team->finished_all, &team->mutex, &until) != ETIMEDOUT)
        return;
    (void)pthread_mutex_unlock(&team->mutex);
    team->look(team->look_context);
    (void)pthread_mutex_lock(&team->mutex);
}

static void wait_until_finished(tc_team *team, size_t parts) {
    for (unsigned i = 0; i < team->spins; i++) {
        if (atomic_load_explicit(&team->finished, memory_order_acquire) == parts)
            return;
        pause_a_little();
    }
    (void)pthread_mutex_lock(&team->mutex);
    atomic_store(&team->caller_waits, true);
    while (atomic_load(&team->finished) != parts)
        if (team->look != NULL)
            wait_a_while(team);
        else
            (void)pthread_cond_wait(&team->finished_all, &team->mutex);
    atomic_store(&team->caller_waits, false);
    (void)pthread_mutex_unlock(&team->mutex);
}

void tc_team_run(tc_team *team, size_t parts, void (*part)(void *context, size_t worker, size_t i), void *context) {
    if (team->size == 1 || parts <= 1) {
        for (size_t i = 0; i < parts; i++)
            part(context, 0, i);
        return;
    }
    team->part = part;
    team->context = context;
    for (team->first = 0; team->first < parts;) {
        size_t now = parts - team->first < MOST_PARTS ? parts - team->first : MOST_PARTS;
        work(team, 0, call_all(team, now));
        wait_until_finished(team, now);
        team->first += now;
    }
}

/* A forked child has no threads to end. */
static void end_team(void *what) {
    tc_team *team = what;
    if (getpid() != team->owner)
        return;
    atomic_store(&team->ending, true);
    (void)call_all(team, 0);
    for (size_t i = 1; i < team->size; i++)
        (void)pthread_join(team->members[i].thread, NULL);
    (void)pthread_cond_destroy(&team->called);
    (void)pthread_cond_destroy(&team->finished_all);
    (void)pthread_mutex_destroy(&team->mutex);
}

/* The new threads block all signals: the caller's thread handles them. */
static void start_threads(tc_team *team, size_t wanted) {
    sigset_t all, before;
    (void)sigfillset(&all);
    bool blocked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
    for (; team->size < wanted; team->size++) {
        member *next = &team->members[team->size];
        *next = (member){.team = team, .worker = team->size};
        if (pthread_create(&next->thread, NULL, serve, next) != 0)
            break;
    }
    if (blocked)
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

tc_team *tc_team_new(tc_arena *arena, size_t size) {
    size_t processors = tc_processors();
    size_t wanted = size == 0 ? processors : size;
    tc_team *team = TC_NEW(arena, tc_team, 1);
    team->members = TC_NEW(arena, member, wanted);
    team->size = 1;
    team->owner = getpid();
    team->spins = wanted <= processors ? SPINS : 0;
    if (wanted == 1 || pthread_mutex_init(&team->mutex, NULL) != 0)
        return team;
    if (pthread_cond_init(&team->called, NULL) != 0 || pthread_cond_init(&team->finished_all, NULL) != 0)
        return team;
    tc_arena_on_free(arena, end_team, team);
    start_threads(team, wanted);
    return team;
}

void tc_team_look(tc_team *team, void (*look)(void *context), void *context) {
    team->look = look;
    team->look_context = context;
}

size_t tc_team_size(const tc_team *team) { return team->size; }

static tc_status new_within(tc_arena *own, size_t size, tc_team **team) {
    tc_escape escape;
    tc_status status = TC_TRY(own, &escape);
    if (status == TC_OK)
        *team = tc_team_new(own, size);
    tc_escape_end(own, &escape);
    return status;
}

static tc_status work_within(tc_arena *arena, void (*job)(void *context, tc_team *team), void *context, tc_team *team) {
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status == TC_OK)
        job(context, team);
    tc_escape_end(arena, &escape);
    return status;
}

void tc_team_with(tc_arena *arena, size_t size, void (*job)(void *context, tc_team *team), void *context) {
    tc_team *team = NULL;
    tc_arena *own = tc_arena_new(0);
    if (own == NULL)
        tc_raise(arena, TC_NO_MEMORY);
    tc_status status = new_within(own, size, &team);
    if (status == TC_OK)
        status = work_within(arena, job, context, team);
    tc_arena_free(own);
    if (status != TC_OK)
        tc_raise(arena, status);
}
