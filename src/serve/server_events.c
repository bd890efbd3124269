/* What happens to a server from outside while it runs: signals, and a second that has gone by. */
#include "serve/server_parts.h"

#include "net/tls/tls.h"
#include "serve/notify.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

static const double STOP_SECONDS = 10, RELOAD_SECONDS = 1; /* the least between two readings of the keys */

/* ---- signals that come before the loop, and after it ---- */

static const int SIGNALS[TC_SERVER_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
static volatile sig_atomic_t heard[TC_SERVER_SIGNALS]; /* a handler has no other way to say whom it speaks to */

static void hear(int number) {
    for (size_t i = 0; i < TC_SERVER_SIGNALS; i++)
        if (SIGNALS[i] == number)
            heard[i] = 1;
}

/* libevent puts its own handlers in their place, and these back when its events are freed. So a signal at the start is
 * remembered, and one that comes while the summary is written does not cut it short; the second of that kind ends the
 * process. */
void tc_server_catch_signals(void) {
    struct sigaction action = {.sa_handler = hear};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < TC_SERVER_SIGNALS; i++) {
        heard[i] = 0;
        action.sa_flags = (int)((unsigned)SA_RESTART | (SIGNALS[i] == SIGHUP ? 0U : (unsigned)SA_RESETHAND));
        (void)sigaction(SIGNALS[i], &action, NULL);
    }
}

/* ---- in the loop ---- */

static void on_stop(evutil_socket_t number, short what, void *context) {
    (void)number;
    (void)what;
    tc_server *s = context;
    s->stops++;
    tc_notify_stopping();
    TC_LOG(s->settings->log, TC_EVENT_STOPPING, tc_log_round(tc_rounds_last(s->rounds)));
    tc_rounds_stop(s->rounds, STOP_SECONDS);
}

/* In an arena of its own, which goes afterwards. */
static tc_status read_keys(const char *folder, SSL_CTX **context, char *why, size_t room) {
    tc_arena *arena = tc_arena_new(0);
    if (arena == NULL)
        return TC_NO_MEMORY;
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    why[0] = '\0';
    if (status == TC_OK) {
        tc_buffer messages = tc_buffer_new(arena, 1 << 16);
        status = tc_tls_cloud(arena, folder, &messages, context);
        (void)snprintf(why, room, "%s", tc_buffer_text(&messages));
        why[strcspn(why, "\n")] = '\0';
    }
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return status;
}

/* Signals that come while one waits for its turn are one: a storm of them costs a reading a second. */
static void on_hangup(evutil_socket_t number, short what, void *context) {
    (void)number;
    (void)what;
    tc_server *s = context;
    double wait = s->reloaded_at > 0 ? s->reloaded_at + RELOAD_SECONDS - tc_serve_now() : 0;
    struct timeval time = {.tv_usec = wait > 0 ? (suseconds_t)(1e6 * fmin(wait, 0.999999)) : 0};
    if (s->tls != NULL && !evtimer_pending(s->reload, NULL) && event_add(s->reload, &time) != 0)
        event_active(s->reload, EV_TIMEOUT, 0);
}

static void on_reload(evutil_socket_t number, short what, void *context) {
    (void)number;
    (void)what;
    tc_server *s = context;
    SSL_CTX *fresh = NULL;
    char why[512];
    tc_notify_reloading();
    s->reloaded_at = tc_serve_now();
    if (read_keys(s->settings->keys, &fresh, why, sizeof why) != TC_OK) {
        TC_LOG(s->settings->log, TC_EVENT_NOT_RELOADED, tc_log_why(why));
        tc_server_notify_reloaded(s, why);
        return;
    }
    SSL_CTX_free(s->tls);
    s->tls = fresh;
    s->expiry_told = 0;
    tc_links_set_tls(s->links, fresh);
    TC_LOG(s->settings->log, TC_EVENT_RELOADED, tc_log_text("keys", s->settings->keys));
    tc_server_notify_reloaded(s, NULL);
    tc_server_check_expiry(s);
}

static void on_tick(evutil_socket_t number, short what, void *context) {
    (void)number;
    (void)what;
    tc_server_tick(context);
}

tc_status tc_server_set_events(tc_server *s) {
    static const struct timeval second = {.tv_sec = 1};
    s->tick = event_new(s->base, -1, EV_PERSIST, on_tick, s);
    s->reload = event_new(s->base, -1, 0, on_reload, s);
    if (s->reload == NULL)
        return TC_NO_MEMORY;
    for (size_t i = 0; i < TC_SERVER_SIGNALS; i++) {
        s->signals[i] = evsignal_new(s->base, SIGNALS[i], SIGNALS[i] == SIGHUP ? on_hangup : on_stop, s);
        if (s->signals[i] == NULL || event_add(s->signals[i], NULL) != 0)
            return TC_NO_MEMORY;
        if (heard[i])
            event_active(s->signals[i], EV_SIGNAL, 1);
    }
    return s->tick == NULL || event_add(s->tick, &second) != 0 ? TC_NO_MEMORY : TC_OK;
}
