/* Noise drawn ahead, on a thread of its own.
 *
 * A ring of places in secret memory, one for a round. The thread fills them in the order of rounds, with the random
 * source to itself: opening a round's key destroys the one before, so what is left of a round that was drawn is its
 * noise alone. The release takes places in the same order, and gives each back wiped. The thread begins to fill when
 * half of the places are free, so that when it works has little to do with any one round, and waking it costs the
 * release next to nothing. docs/proofs/time.md, "Draws". */
#include "release/release_parts.h"
#include "noise/secret.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

struct tc_ahead {
    tc_release *release;
    int64_t *noise; /* [place * entries]; round k is in place k mod places */
    int64_t *own;   /* the release's own, which is not used meanwhile */
    size_t places, entries;
    uint64_t last; /* round */
    pid_t owner;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t drawn, freed;
    uint64_t drawn_to, taken_to; /* rounds before these are drawn; are used up and wiped */
    tc_status status;            /* of the first round that could not be drawn */
    bool is_ending, is_awaited;
};

static int64_t *place_of(const tc_ahead *a, uint64_t round) {
    return a->noise + (size_t)(round % a->places) * a->entries;
}

static bool has_room(const tc_ahead *a) { return a->drawn_to - a->taken_to < a->places && a->drawn_to <= a->last; }
static bool is_worth_it(const tc_ahead *a) { return has_room(a) && a->drawn_to - a->taken_to <= a->places / 2; }

/* ---- the thread ---- */

static tc_status draw(const tc_ahead *a, uint64_t round) {
    int64_t *noise = place_of(a, round);
    tc_status status = tc_random_open_round(a->release->random, round);
    if (status == TC_OK)
        status = tc_release_draw(a->release, noise);
    if (status != TC_OK)
        tc_secret_wipe(noise, a->entries * sizeof *noise);
    return status;
}

/* With the mutex held, but for the drawing itself. */
static void fill(tc_ahead *a) {
    while (has_room(a) && !a->is_ending && a->status == TC_OK) {
        uint64_t round = a->drawn_to;
        (void)pthread_mutex_unlock(&a->mutex);
        tc_status status = draw(a, round);
        (void)pthread_mutex_lock(&a->mutex);
        a->status = status;
        if (status == TC_OK)
            a->drawn_to++;
        if (a->is_awaited)
            (void)pthread_cond_signal(&a->drawn);
    }
}

static void *keep_ahead(void *what) {
    tc_ahead *a = what;
    (void)pthread_mutex_lock(&a->mutex);
    while (!a->is_ending) {
        if (is_worth_it(a) && a->status == TC_OK)
            fill(a);
        else
            (void)pthread_cond_wait(&a->freed, &a->mutex);
    }
    (void)pthread_mutex_unlock(&a->mutex);
    return NULL;
}

/* Signals are for the others. */
static bool start(tc_ahead *a) {
    sigset_t all, before;
    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_BLOCK, &all, &before) != 0)
        return false;
    bool started = pthread_create(&a->thread, NULL, keep_ahead, a) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* A forked child has no such thread. */
static void stop(void *what) {
    tc_ahead *a = what;
    a->release->noise = a->own;
    a->release->prepared = 0;
    if (getpid() != a->owner)
        return;
    (void)pthread_mutex_lock(&a->mutex);
    a->is_ending = true;
    (void)pthread_cond_signal(&a->freed);
    (void)pthread_mutex_unlock(&a->mutex);
    (void)pthread_join(a->thread, NULL);
    (void)pthread_cond_destroy(&a->drawn);
    (void)pthread_cond_destroy(&a->freed);
    (void)pthread_mutex_destroy(&a->mutex);
}

/* ---- making one ---- */

/* Where fewer rounds can be locked in memory than asked for, and still a few: those. */
static size_t choose_places(size_t entries, size_t most_bytes, double rounds) {
    enum { A_FEW = 8 };
    size_t bytes = entries * sizeof(int64_t), places = most_bytes / bytes;
    places = places > TC_MOST_AHEAD ? TC_MOST_AHEAD : places;
    places = (double)places > rounds ? (size_t)rounds : places;
    places = places < 2 ? 2 : places;
    for (size_t fewer = places; fewer >= A_FEW; fewer /= 2)
        if (tc_secret_can_lock(fewer * bytes))
            return fewer;
    return places;
}

tc_status tc_release_draw_ahead(tc_arena *arena, tc_release *release, size_t most_bytes) {
    size_t entries = (size_t)release->plan->entry_count;
    if (!tc_release_has_noise(release) || entries == 0)
        return TC_OK;
    if (release->phase != TC_ROUND_CLOSED || release->ahead != NULL || release->prepared != 0)
        return TC_BAD_USAGE;
    tc_ahead *a = TC_NEW(arena, tc_ahead, 1);
    *a = (tc_ahead){.release = release,
                    .own = release->noise,
                    .entries = entries,
                    .places =
                        choose_places(entries, most_bytes > 0 ? most_bytes : TC_AHEAD_BYTES, release->plan->rounds),
                    .last = (uint64_t)release->plan->rounds,
                    .owner = getpid(),
                    .drawn_to = release->next_round,
                    .taken_to = release->next_round};
    tc_random_worker_fetches(release->workers[0].random, NULL); /* that is of the thread that releases */
    tc_secret memory = tc_secret_sized(arena, a->places * entries * sizeof *a->noise);
    a->noise = (int64_t *)(void *)memory.bytes;
    if (pthread_mutex_init(&a->mutex, NULL) != 0 || pthread_cond_init(&a->drawn, NULL) != 0 ||
        pthread_cond_init(&a->freed, NULL) != 0 || !start(a))
        return TC_NO_MEMORY;
    release->ahead = a;
    tc_arena_on_free(arena, stop, a);
    return TC_OK;
}

size_t tc_release_rounds_ahead(const tc_release *release) {
    return release->ahead == NULL ? 0 : release->ahead->places;
}

/* ---- the release's side ---- */

tc_status tc_ahead_check(const tc_release *release, uint64_t round) {
    tc_ahead *a = release->ahead;
    (void)pthread_mutex_lock(&a->mutex);
    tc_status status = round < a->drawn_to ? TC_OK : a->status;
    (void)pthread_mutex_unlock(&a->mutex);
    return status;
}

tc_status tc_ahead_take(tc_release *release, uint64_t round) {
    tc_ahead *a = release->ahead;
    (void)pthread_mutex_lock(&a->mutex);
    a->is_awaited = true;
    while (round >= a->drawn_to && a->status == TC_OK)
        (void)pthread_cond_wait(&a->drawn, &a->mutex);
    a->is_awaited = false;
    tc_status status = round < a->drawn_to ? TC_OK : a->status;
    (void)pthread_mutex_unlock(&a->mutex);
    if (status == TC_OK) {
        release->noise = place_of(a, round);
        release->prepared = round;
    }
    return status;
}

void tc_ahead_give_back(tc_release *release, uint64_t round) {
    tc_ahead *a = release->ahead;
    release->noise = a->own;
    (void)pthread_mutex_lock(&a->mutex);
    a->taken_to = round + 1;
    if (is_worth_it(a))
        (void)pthread_cond_signal(&a->freed);
    (void)pthread_mutex_unlock(&a->mutex);
}
