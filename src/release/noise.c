/* The noise of a round, channel by channel. Small channels are drawn together, since each call of the cipher and of the
 * sampler has a fixed cost. Values depend on addresses alone, so they stay the same. */
#include "noise/secret.h"
#include "release/inside.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

enum { SMALL = 256 }; /* entries of a channel that is drawn with its neighbours */

/* The end of the channels from i on that one call draws: small ones that follow each other without a gap. */
static size_t end_of_draw(const tc_plan *plan, size_t i) {
    size_t end = i + 1;
    while (end < plan->channel_count && plan->channels[end - 1].entries <= SMALL &&
           plan->channels[end].entries <= SMALL &&
           plan->channels[end].first_entry == plan->channels[end - 1].first_entry + plan->channels[end - 1].entries)
        end++;
    return end;
}

static tc_noise_draw make_draw(tc_arena *arena, const tc_plan *plan, const tc_noise_scale *scales, size_t i,
                               size_t end) {
    const tc_channel *last = &plan->channels[end - 1];
    uint64_t first = plan->channels[i].first_entry;
    tc_noise_draw draw = {first, (size_t)(last->first_entry + last->entries - first), &scales[i],
                          end > i + 1 || plan->is_last, NULL};
    if (!draw.each)
        return draw;
    int64_t *bounds = TC_NEW(arena, int64_t, draw.count);
    tc_noise_scale *each = TC_NEW(arena, tc_noise_scale, draw.count);
    for (size_t c = i; c < end; c++)
        for (size_t e = 0; e < plan->channels[c].entries; e++) {
            each[plan->channels[c].first_entry - first + e] = scales[c];
            bounds[plan->channels[c].first_entry - first + e] = plan->channels[c].bound;
        }
    draw.scales = each;
    draw.bounds = plan->is_last ? bounds : NULL;
    return draw;
}

bool tc_release_plan_noise(tc_arena *arena, tc_release *release) {
    const tc_plan *plan = release->plan;
    if (plan->mechanism == TC_MECHANISM_NONE)
        return true;
    tc_noise_scale *scales = TC_NEW(arena, tc_noise_scale, plan->channel_count);
    release->draws = TC_NEW(arena, tc_noise_draw, plan->channel_count);
    for (size_t i = 0; i < plan->channel_count; i++)
        if (tc_noise_scale_from(plan->channels[i].lattice_scale, &scales[i]))
            release->channels[i].scale = scales[i];
        else
            return false;
    for (size_t i = 0; i < plan->channel_count;) {
        size_t end = end_of_draw(plan, i);
        release->draws[release->draw_count++] = make_draw(arena, plan, scales, i, end);
        i = end;
    }
    return true;
}

static tc_noise_law law_of(const tc_release *release) {
    return release->plan->mechanism == TC_MECHANISM_GAUSSIAN ? TC_GAUSSIAN : TC_LAPLACE;
}

static tc_status draw_entries(const tc_release *release, tc_random_worker *random, const tc_noise_draw *draw,
                              int64_t *to) {
    if (draw->bounds != NULL)
        return tc_noise_fill_within(random, law_of(release), draw->scales, draw->bounds, draw->first, draw->count, to);
    return draw->each ? tc_noise_fill_each(random, law_of(release), draw->scales, draw->first, draw->count, to)
                      : tc_noise_fill(random, law_of(release), draw->scales, draw->first, draw->count, to);
}

tc_status tc_release_draw(const tc_release *release, int64_t *noise) {
    tc_random_worker *random = release->workers[0].random;
    tc_status status = TC_OK;
    for (size_t i = 0; status == TC_OK && i < release->draw_count; i++)
        status = draw_entries(release, random, &release->draws[i], noise + release->draws[i].first);
    return status;
}

/* The end of the pieces from i on that are drawn together, and how many entries they have. A single piece always fits
 * (TC_NOISE_ROOM); others join while there is room. */
static size_t end_of_group(const tc_piece *pieces, size_t i, size_t count, size_t *entries) {
    size_t end = i + 1;
    *entries = pieces[i].count;
    while (end < count && pieces[end].address == pieces[i].address + *entries &&
           (pieces[end].channel == pieces[i].channel || (pieces[end].count <= SMALL && pieces[i].count <= SMALL)) &&
           *entries + pieces[end].count <= TC_NOISE_ROOM)
        *entries += pieces[end++].count;
    return end;
}

/* Drawn ahead, or now. */
static tc_status noise_of_group(tc_release_worker *worker, const tc_piece *pieces, size_t count, size_t entries,
                                const int64_t **noise) {
    tc_release *release = worker->release;
    uint64_t first = pieces[0].address;
    if (release->prepared == release->round) {
        *noise = release->noise + first;
        return TC_OK;
    }
    if (release->plan->is_last) /* bounded noise is drawn as a whole, by tc_release_prepare */
        return TC_BAD_USAGE;
    const tc_noise_scale *scales = &release->channels[pieces[0].channel].scale;
    bool each = false;
    for (size_t i = 1; i < count; i++)
        each = each || pieces[i].channel != pieces[0].channel;
    if (each)
        for (size_t i = 0, at = 0; i < count; i++)
            for (size_t k = 0; k < pieces[i].count; k++)
                worker->scales[at++] = release->channels[pieces[i].channel].scale;
    *noise = worker->noise;
    worker->drawn = entries > worker->drawn ? entries : worker->drawn;
    return each ? tc_noise_fill_each(worker->random, law_of(release), worker->scales, first, entries, worker->noise)
                : tc_noise_fill(worker->random, law_of(release), scales, first, entries, worker->noise);
}

tc_status tc_release_pieces(tc_release_worker *worker, const tc_piece *pieces, size_t count, const int64_t *units,
                            size_t stride, double *const *out) {
    for (size_t i = 0; i < count;) {
        size_t entries = 0, end = end_of_group(pieces, i, count, &entries);
        const int64_t *noise = NULL;
        tc_status status = noise_of_group(worker, pieces + i, end - i, entries, &noise);
        if (status != TC_OK)
            return status;
        for (; i < end; noise += pieces[i].count, i++) {
            const tc_channel_run run = {&worker->release->channels[pieces[i].channel], pieces[i].count,
                                        pieces[i].offset};
            tc_release_add_noise(&run, 1, units + pieces[i].row * stride + pieces[i].offset, noise, out[pieces[i].row]);
        }
    }
    return TC_OK;
}

/* ---- drawing ahead ----------------------------------------------------------------------------------------------- */

/* Noise drawn ahead, on a thread of its own.
 *
 * A ring of places in secret memory, one for a round. The thread fills them in the order of rounds; nobody else uses
 * the random source. Opening a round's key destroys the one before, so only the noise of a drawn round remains. The
 * release takes places in the same order and gives each back wiped. The thread begins to fill when half of the places
 * are free: then its working times tell little about any one round, and waking it costs the release next to nothing.
 * docs/proofs/time.md, "Draws". */

struct tc_ahead {
    tc_release *release;
    int64_t *noise; /* [place * entries]; round k is in place k mod places */
    int64_t *own;   /* the release's own array, unused meanwhile */
    size_t places, entries;
    uint64_t last; /* round */
    pid_t owner;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t drawn, freed;
    uint64_t drawn_to, taken_to; /* earlier rounds are drawn; are used and wiped */
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

/* Call with the mutex held; releases it while drawing. */
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

/* The thread blocks all signals, so other threads handle them. */
static bool start(tc_ahead *a) {
    sigset_t all, before;
    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_BLOCK, &all, &before) != 0)
        return false;
    bool started = pthread_create(&a->thread, NULL, keep_ahead, a) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* A forked child has no such thread to stop. */
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

/* Halves the rounds until they can be locked in memory; keeps all of them if not even a few can. */
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
    tc_random_worker_fetches(release->workers[0].random, NULL); /* its list belongs to the releasing thread */
    tc_secret_memory memory = tc_secret_sized(arena, a->places * entries * sizeof *a->noise);
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
