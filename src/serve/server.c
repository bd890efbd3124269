#include "serve/notify.h"
#include "serve/server_parts.h"

#include <signal.h>

/* What libevent would write to standard error by itself. */
static tc_logbook *library_log;

static void on_library_word(int severity, const char *text) {
    if (severity >= EVENT_LOG_WARN)
        TC_LOG(library_log, TC_EVENT_NOTE, tc_log_why(text));
}

/* After a restore: agents say what they have seen before there is a hub. */
static tc_status survey(tc_server *s) {
    TC_LOG(s->settings->log, TC_EVENT_RESTORING, tc_log_round(tc_rounds_last(s->rounds)));
    while (tc_rounds_end(s->rounds) == TC_RUN_GOES_ON && !tc_rounds_is_surveyed(s->rounds))
        if (event_base_dispatch(s->base) < 0)
            return TC_INTERNAL;
    if (tc_rounds_end(s->rounds) != TC_RUN_GOES_ON)
        return TC_OK;
    uint64_t first = tc_rounds_first(s->rounds);
    TC_LOG(s->settings->log, TC_EVENT_RESTORED, tc_log_round(first));
    if (first <= s->figures.rounds)
        return tc_server_make_hub(s, first);
    tc_buffer_printf(s->messages,
                     "rounds up to %llu may have been released, and the run has %llu: none is left, and the last "
                     "answers are lost; --new-run begins another. Where the agent that says so is known to be wrong "
                     "(`enrolled` in the log has what each answered), --disbelieve NAME overrules it\n",
                     (unsigned long long)(first - 1), (unsigned long long)s->figures.rounds);
    return TC_CANNOT_READ;
}

/* An agent that has lost what it had is for a person to say. */
static void begin_over(tc_server *s, tc_end_reason reason) {
    s->was_told = tc_journal_is_told(s->journal) && !s->settings->after_restore;
    TC_LOG(s->settings->log, s->was_told ? TC_EVENT_ALL_TOLD : TC_EVENT_OVER, tc_log_round(tc_rounds_last(s->rounds)));
    if (s->was_told)
        tc_rounds_end_told(s->rounds, reason);
    else
        tc_rounds_begin_over(s->rounds, reason);
}

static tc_status loop(tc_server *s) {
    unsigned finished = tc_journal_finished(s->journal);
    tc_status status = TC_OK;
    if (finished == 0 && s->hub == NULL)
        status = survey(s);
    if (status != TC_OK || tc_rounds_end(s->rounds) != TC_RUN_GOES_ON)
        return status;
    if (finished == 0 && tc_rounds_first(s->rounds) > s->figures.rounds) { /* it died between the last round and this */
        finished = TC_END_DONE;
        status = tc_journal_finish(s->journal, finished);
    }
    if (status != TC_OK)
        return status;
    if (finished != 0) {
        s->was_over = true;
        begin_over(s, finished == TC_END_DIVERGED ? TC_END_DIVERGED : TC_END_DONE);
    } else {
        status = tc_rounds_begin(s->rounds, s->hub);
    }
    while (status == TC_OK && tc_rounds_end(s->rounds) == TC_RUN_GOES_ON)
        status = event_base_dispatch(s->base) < 0 ? TC_INTERNAL : TC_OK;
    return status;
}

/* What was said last is on its way: those who hear it close. Who asks a second time does not want to wait for that. */
static void part(tc_server *s) {
    double until = tc_serve_now() + TC_LINK_PART_SECONDS + 0.5;
    if (tc_rounds_end(s->rounds) == TC_RUN_REFUSED)
        tc_rounds_tell_refused(s->rounds);
    tc_listener_free(s->listener);
    s->listener = NULL;
    while (!tc_ring_is_empty(&s->links->open))
        tc_link_close((tc_link *)(void *)s->links->open.after);
    while (!tc_ring_is_empty(&s->links->parting) && tc_serve_now() < until && s->stops < 2)
        if (event_base_loop(s->base, EVLOOP_ONCE) < 0)
            return;
}

/* The pages stay for a while: a monitor that looks every minute shall see how the run ended. */
static void linger(tc_server *s) {
    double until = tc_serve_now() + s->settings->linger;
    unsigned stops = s->stops;
    if (s->http == NULL || tc_rounds_end(s->rounds) != TC_RUN_DONE || stops > 0 || s->was_told)
        return;
    while (tc_serve_now() < until && s->stops == stops)
        if (event_base_loop(s->base, EVLOOP_ONCE) < 0)
            return;
}

static void stop(tc_server *s) {
    tc_http_free(s->http);
    tc_listener_free(s->listener);
    tc_links_free(s->links);
    if (s->rounds != NULL)
        tc_rounds_free(s->rounds);
    for (size_t i = 0; i < TC_SERVER_SIGNALS; i++)
        if (s->signals[i] != NULL)
            event_free(s->signals[i]);
    if (s->tick != NULL)
        event_free(s->tick);
    if (s->reload != NULL)
        event_free(s->reload);
    if (s->base != NULL)
        event_base_free(s->base);
    SSL_CTX_free(s->tls);
}

tc_status tc_server_run(tc_arena *arena, const tc_server_settings *settings, tc_buffer *messages,
                        tc_server_result *result) {
    tc_server *s = TC_NEW(arena, tc_server, 1);
    *s = (tc_server){.arena = arena, .settings = settings, .messages = messages};
    *result = (tc_server_result){.names = ""};
    tc_server_catch_signals();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a failing write, with a message */
    library_log = settings->log;
    event_set_log_callback(on_library_word);
    s->told_at = tc_serve_now();
    tc_server_fill_figures(s);
    tc_status status = tc_server_start(s);
    if (status == TC_OK) {
        status = loop(s);
        status = tc_server_judge(s, status, result);
        part(s);
        if (status == TC_OK)
            linger(s);
    } else {
        tc_server_give_up(s, status, result);
    }
    tc_notify_stopping();
    tc_status traced = tc_server_trace_close(s);
    stop(s);
    event_set_log_callback(NULL);
    return status != TC_OK ? status : traced;
}
