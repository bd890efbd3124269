#include "serve/loops.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_ARRIVED = 256 }; /* connections on their way to a loop */

typedef struct loop {
    struct event_base *base;
    tc_links *links;
    tc_lane *lane;
    struct loop *main;
    int bell[2]; /* a pipe; -1: none */
    struct event rung;
    atomic_bool is_rung; /* a byte is in the pipe, or about to be */
    atomic_bool must_part, has_parted, must_end;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex; /* guards what follows */
    int arrived[MOST_ARRIVED];
    size_t arrived_count;
    SSL_CTX *tls; /* for new connections; NULL: no news */
} loop;

struct tc_loops {
    tc_holders *holders;
    size_t count;
    loop all[];
};

/* ---- bells ---- */

/* One byte, however often it is rung before the loop looks. */
static void ring(void *context) {
    loop *of = context;
    if (atomic_exchange(&of->is_rung, true))
        return;
    while (write(of->bell[1], "", 1) < 0 && errno == EINTR) {
    }
}

static void answered(void *context) {
    const loop *of = context;
    tc_links_set_busy(of->links);
}

/* What others have left for this loop. Taking connections in is paid from the newcomers' share of its time. */
static void take_in(loop *of) {
    int arrived[MOST_ARRIVED];
    (void)pthread_mutex_lock(&of->mutex);
    size_t count = of->arrived_count;
    SSL_CTX *tls = of->tls;
    for (size_t i = 0; i < count; i++)
        arrived[i] = of->arrived[i];
    of->arrived_count = 0;
    of->tls = NULL;
    (void)pthread_mutex_unlock(&of->mutex);
    if (tls != NULL) {
        tc_links_share_tls(of->links, tls);
        SSL_CTX_free(tls);
    }
    if (count == 0)
        return;
    double began = tc_door_begin();
    for (size_t i = 0; i < count; i++)
        tc_links_take(of->links, arrived[i]);
    tc_door_end(of->links, began);
}

static void on_bell(evutil_socket_t descriptor, short what, void *context) {
    loop *of = context;
    char bytes[64];
    (void)what;
    while (read(descriptor, bytes, sizeof bytes) > 0) {
    }
    (void)atomic_exchange(&of->is_rung, false); /* before looking: whoever comes later rings again */
    take_in(of);
    tc_lane_turn(of->lane);
    if (of != of->main && (atomic_load(&of->must_part) || atomic_load(&of->must_end)))
        (void)event_base_loopbreak(of->base);
}

static bool hang_bell(loop *of) {
    if (pipe(of->bell) != 0) {
        of->bell[0] = of->bell[1] = -1;
        return false;
    }
    for (size_t i = 0; i < 2; i++)
        if (fcntl(of->bell[i], F_SETFL, O_NONBLOCK) != 0 || fcntl(of->bell[i], F_SETFD, FD_CLOEXEC) != 0)
            return false;
    of->lane->ring = ring;
    return event_assign(&of->rung, of->base, of->bell[0], EV_READ | EV_PERSIST, on_bell, of) == 0 &&
           event_add(&of->rung, NULL) == 0;
}

/* ---- a loop's life ---- */

static void close_open(const loop *of) {
    while (!tc_ring_is_empty(&of->links->open))
        tc_link_close((tc_link *)(void *)of->links->open.after);
}

/* Until it is told to part; then until all connections are closed. */
static void *serve(void *context) {
    loop *of = context;
    while (!atomic_load(&of->must_part) && !atomic_load(&of->must_end))
        if (event_base_dispatch(of->base) < 0)
            break;
    double until = tc_serve_now() + TC_LINK_PART_SECONDS + 0.5;
    if (!atomic_load(&of->must_end))
        close_open(of);
    while (!tc_ring_is_empty(&of->links->parting) && tc_serve_now() < until && !atomic_load(&of->must_end))
        if (event_base_loop(of->base, EVLOOP_ONCE) < 0)
            break;
    atomic_store(&of->has_parted, true);
    ring(of->main);
    return NULL;
}

static size_t share_of(size_t limit, size_t usual, size_t count) {
    size_t share = (limit == 0 ? usual : limit) / count;
    return share < 1 ? 1 : share;
}

static bool fill_in(tc_loops *loops, const tc_links_settings *settings, tc_rounds *rounds, size_t i) {
    loop *of = &loops->all[i];
    size_t count = rounds->lanes->count;
    tc_links_settings own = *settings;
    own.holders = loops->holders;
    own.owner = tc_rounds_owner(rounds, i);
    own.most_silent = share_of(settings->most_silent, TC_LINKS_SILENT, count);
    own.most_shaking = share_of(settings->most_shaking, TC_LINKS_SHAKING, count);
    of->lane = &rounds->lanes[i];
    of->lane->loop = of;
    of->lane->answered = answered;
    if (pthread_mutex_init(&of->mutex, NULL) != 0)
        return false;
    if (of->base == NULL)
        of->base = event_base_new();
    of->links = of->base == NULL ? NULL : tc_links_new(of->base, &own);
    return of->links != NULL && (count == 1 || hang_bell(of));
}

tc_loops *tc_loops_new(struct event_base *base, const tc_links_settings *settings, tc_rounds *rounds) {
    size_t count = rounds->lanes->count;
    tc_loops *made = calloc(1, sizeof *made + count * sizeof *made->all);
    if (made == NULL)
        return NULL;
    made->all[0].base = base;
    made->holders = tc_holders_new();
    for (size_t i = 0; i < count; i++) {
        made->count = i + 1;
        made->all[i].main = &made->all[0];
        made->all[i].bell[0] = made->all[i].bell[1] = -1;
        if (made->holders == NULL || !fill_in(made, settings, rounds, i)) {
            tc_loops_free(made);
            return NULL;
        }
    }
    return made;
}

/* Signals are for the main loop's thread. */
bool tc_loops_start(tc_loops *loops) {
    sigset_t every, before;
    bool good = true;
    (void)sigfillset(&every);
    (void)pthread_sigmask(SIG_SETMASK, &every, &before);
    for (size_t i = 1; good && i < loops->count; i++)
        good = loops->all[i].has_thread = pthread_create(&loops->all[i].thread, NULL, serve, &loops->all[i]) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return good;
}

static void end_thread(loop *of) {
    atomic_store(&of->must_end, true);
    ring(of);
    (void)pthread_join(of->thread, NULL);
    of->has_thread = false;
}

/* When all threads have ended, this one may touch their connections. */
static void free_loop(loop *of) {
    tc_links_free(of->links);
    for (size_t i = 0; i < of->arrived_count; i++)
        (void)close(of->arrived[i]);
    SSL_CTX_free(of->tls);
    if (of->bell[0] >= 0 && event_initialized(&of->rung))
        (void)event_del(&of->rung);
    for (size_t i = 0; i < 2; i++)
        if (of->bell[i] >= 0)
            (void)close(of->bell[i]);
    if (of != of->main && of->base != NULL)
        event_base_free(of->base);
    (void)pthread_mutex_destroy(&of->mutex);
}

void tc_loops_free(tc_loops *loops) {
    if (loops == NULL)
        return;
    for (size_t i = 1; i < loops->count; i++)
        if (loops->all[i].has_thread)
            end_thread(&loops->all[i]);
    for (size_t i = loops->count; i > 0; i--) /* the main loop last: the others' connections ring its bell */
        free_loop(&loops->all[i - 1]);
    tc_holders_free(loops->holders);
    free(loops);
}

/* ---- from the main loop's thread ---- */

tc_links *tc_loops_main(const tc_loops *loops) { return loops->all[0].links; }

static size_t load_of(loop *of) {
    tc_links_figures figures = tc_links_count(of->links);
    (void)pthread_mutex_lock(&of->mutex);
    size_t load = figures.silent + figures.shaking + figures.open + of->arrived_count;
    (void)pthread_mutex_unlock(&of->mutex);
    return load;
}

static bool hand_over(loop *of, int descriptor) {
    (void)pthread_mutex_lock(&of->mutex);
    bool has_room = of->arrived_count < MOST_ARRIVED;
    if (has_room)
        of->arrived[of->arrived_count++] = descriptor;
    (void)pthread_mutex_unlock(&of->mutex);
    if (has_room)
        ring(of);
    return has_room;
}

void tc_loops_take(void *context, int descriptor) {
    tc_loops *loops = context;
    loop *emptiest = &loops->all[0];
    size_t least = loops->count == 1 ? 0 : load_of(emptiest);
    for (size_t i = 1; i < loops->count; i++) {
        size_t load = load_of(&loops->all[i]);
        if (load >= least)
            continue;
        least = load;
        emptiest = &loops->all[i];
    }
    if (emptiest == emptiest->main)
        tc_links_take(emptiest->links, descriptor);
    else if (!hand_over(emptiest, descriptor))
        (void)close(descriptor);
}

void tc_loops_set_tls(tc_loops *loops, SSL_CTX *tls) {
    tc_links_set_tls(loops->all[0].links, tls);
    for (size_t i = 1; i < loops->count; i++) {
        loop *of = &loops->all[i];
        if (SSL_CTX_up_ref(tls) != 1)
            continue;
        (void)pthread_mutex_lock(&of->mutex);
        SSL_CTX_free(of->tls);
        of->tls = tls;
        (void)pthread_mutex_unlock(&of->mutex);
        ring(of);
    }
}

tc_links_figures tc_loops_count(const tc_loops *loops) {
    tc_links_figures all = {0};
    for (size_t i = 0; i < loops->count; i++) {
        tc_links_figures one = tc_links_count(loops->all[i].links), traffic = tc_links_traffic(loops->all[i].links);
        all.silent += one.silent;
        all.shaking += one.shaking;
        all.open += one.open;
        all.accepted += one.accepted;
        all.opened += one.opened;
        all.failed += one.failed;
        all.frames += traffic.frames;
        all.bytes_in += traffic.bytes_in;
        all.bytes_out += traffic.bytes_out;
    }
    return all;
}

void tc_loops_part(tc_loops *loops) {
    for (size_t i = 1; i < loops->count; i++) {
        atomic_store(&loops->all[i].must_part, true);
        ring(&loops->all[i]);
    }
    close_open(&loops->all[0]);
}

bool tc_loops_have_parted(const tc_loops *loops) {
    bool have = tc_ring_is_empty(&loops->all[0].links->parting);
    for (size_t i = 1; i < loops->count; i++)
        have = have && (!loops->all[i].has_thread || atomic_load(&loops->all[i].has_parted));
    return have;
}
