/* What the service manager hears of the cloud: that it is up, what it is at, that it lives. Words alone: who asks it is
 * any user of the machine. */
#include "serve/notify.h"
#include "serve/server_parts.h"

static const char *words_of(tc_phase phase) {
    static const char *const words[] = {[TC_PHASE_ENROLLING] = "waiting for agents",
                                        [TC_PHASE_RUNNING] = "running",
                                        [TC_PHASE_STOPPING] = "stopping",
                                        [TC_PHASE_DONE] = "all rounds are done",
                                        [TC_PHASE_FAILED] = "failed"};
    return words[phase];
}

void tc_server_notify_ready(tc_server *s) {
    s->notified = s->figures.phase;
    s->is_watched = tc_notify_watchdog_seconds() > 0;
    tc_notify_ready(words_of(s->notified));
}

void tc_server_notify_tick(tc_server *s) {
    if (s->is_watched)
        tc_notify_alive();
    if (s->notified == s->figures.phase)
        return;
    s->notified = s->figures.phase;
    tc_notify_status(words_of(s->notified));
}

void tc_server_notify_reloaded(tc_server *s, const char *why) {
    char text[640];
    s->figures.has_reload_failed = why != NULL;
    if (why != NULL)
        (void)snprintf(text, sizeof text, "%s; the new certificates are not usable, the old ones stay: %s",
                       words_of(s->figures.phase), why);
    tc_notify_ready(why != NULL ? text : words_of(s->figures.phase));
}
