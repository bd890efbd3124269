/* What happens to a server from outside while it runs: signals, and a second that has gone by. */
#include "serve/server_parts.h"

#include "net/tls.h"
#include "serve/notify.h"

#include <signal.h>
#include <string.h>

static const double STOP_SECONDS = 10;

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

static void on_reload(evutil_socket_t number, short what, void *context) {
    (void)number;
    (void)what;
    tc_server *s = context;
    SSL_CTX *fresh = NULL;
    char why[512];
    if (s->tls == NULL)
        return;
    tc_notify_reloading();
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
    s->signals[0] = evsignal_new(s->base, SIGTERM, on_stop, s);
    s->signals[1] = evsignal_new(s->base, SIGINT, on_stop, s);
    s->signals[2] = evsignal_new(s->base, SIGHUP, on_reload, s);
    s->tick = event_new(s->base, -1, EV_PERSIST, on_tick, s);
    for (size_t i = 0; i < 3; i++)
        if (s->signals[i] == NULL || event_add(s->signals[i], NULL) != 0)
            return TC_NO_MEMORY;
    return s->tick == NULL || event_add(s->tick, &second) != 0 ? TC_NO_MEMORY : TC_OK;
}
