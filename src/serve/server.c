/* The server's life: its loop, signals, every second, the end. The service manager gets words without figures: every
 * user of the machine can read them. */
#include "serve/server.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static const char *words_of(tc_serve_phase phase) {
    static const char *const words[] = {[TC_PHASE_ENROLLING] = "waiting for agents",
                                        [TC_PHASE_RUNNING] = "running",
                                        [TC_PHASE_STOPPING] = "stopping",
                                        [TC_PHASE_DONE] = "the run is done",
                                        [TC_PHASE_STANDBY] = "standing by",
                                        [TC_PHASE_DATABASE] = "waiting for the database",
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

/* why: NULL if the certificates were read. */
static void notify_reloaded(tc_server *s, const char *why) {
    char text[640];
    s->figures.has_reload_failed = why != NULL;
    if (why != NULL)
        (void)snprintf(text, sizeof text, "%s; the new certificates are not usable, the old ones stay: %s",
                       words_of(s->figures.phase), why);
    tc_notify_ready(why != NULL ? text : words_of(s->figures.phase));
}

/* ---- signals and the tick ---- */

static const double STOP_SECONDS = 10;  /* for telling the agents */
static const double RELOAD_SECONDS = 1; /* at least, between two readings of the keys */

static const int SIGNALS[TC_SERVER_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
static volatile sig_atomic_t heard[TC_SERVER_SIGNALS]; /* global, since a signal handler has no context */

static void hear(int number) {
    for (size_t i = 0; i < TC_SERVER_SIGNALS; i++)
        if (SIGNALS[i] == number)
            heard[i] = 1;
}

/* These handlers are active before and after libevent's own. So a signal during the start is remembered, and one while
 * the summary is written does not interrupt it; a second one ends the process. */
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = hear};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < TC_SERVER_SIGNALS; i++) {
        heard[i] = 0;
        action.sa_flags = (int)((unsigned)SA_RESTART | (SIGNALS[i] == SIGHUP ? 0U : (unsigned)SA_RESETHAND));
        (void)sigaction(SIGNALS[i], &action, NULL);
    }
}

/* libevent tells of a signal when its loop comes round, which a database that hangs can hold up. So ours hears it
 * first.
 */
static struct sigaction libevents[TC_SERVER_SIGNALS];

static void hear_first(int number) {
    hear(number);
    for (size_t i = 0; i < TC_SERVER_SIGNALS; i++)
        if (SIGNALS[i] == number)
            libevents[i].sa_handler(number);
}

static void go_before_libevent(size_t i) {
    (void)sigaction(SIGNALS[i], NULL, &libevents[i]);
    struct sigaction action = libevents[i];
    action.sa_handler = hear_first;
    (void)sigaction(SIGNALS[i], &action, NULL);
}

bool tc_server_is_told(void) { return heard[0] || heard[1]; }

bool tc_server_is_stopped(tc_server *s) {
    if (s->stops == 0 && tc_server_is_told())
        (void)event_base_loop(s->base, EVLOOP_NONBLOCK); /* calls on_stop */
    return s->stops > 0;
}

static void on_stop(evutil_socket_t number, short what, void *context) {
    (void)number;
    (void)what;
    tc_server *s = context;
    s->stops++;
    tc_notify_stopping();
    if (s->rounds == NULL) { /* it stands by */
        s->figures.phase = TC_PHASE_STOPPING;
        tc_log_write(s->settings->log, TC_EVENT_STOPPING, NULL, 0);
        (void)event_base_loopbreak(s->base);
        return;
    }
    TC_LOG(s->settings->log, TC_EVENT_STOPPING, tc_log_round(tc_rounds_last(s->rounds)));
    tc_rounds_stop(s->rounds, STOP_SECONDS);
}

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

/* Several signals within a second count as one, so a storm of them costs one reading of the keys each second. */
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
        notify_reloaded(s, why);
        return;
    }
    SSL_CTX_free(s->tls);
    s->tls = fresh;
    s->expiry_told = 0;
    if (s->loops != NULL)
        tc_loops_set_tls(s->loops, fresh);
    TC_LOG(s->settings->log, TC_EVENT_RELOADED, tc_log_text("keys", s->settings->keys));
    notify_reloaded(s, NULL);
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
        go_before_libevent(i);
        if (heard[i])
            event_active(s->signals[i], EV_SIGNAL, 1);
    }
    return s->tick == NULL || event_add(s->tick, &second) != 0 ? TC_NO_MEMORY : TC_OK;
}

/* ---- the end ---- */

static void log_end(tc_server *s, tc_run_end end, tc_status status, const char *names) {
    tc_logbook *log = s->settings->log;
    uint64_t last = tc_rounds_last(s->rounds);
    bool is_explained = status == TC_CANNOT_WRITE && tc_journal_is_broken(s->journal); /* in the messages */
    if (status != TC_OK && (s->was_forbidden || is_explained))
        return;
    if (status != TC_OK)
        TC_LOG(log, TC_EVENT_FAILED, tc_log_round(last), tc_log_why(tc_status_text(status)));
    else if (end == TC_RUN_STOPPED)
        TC_LOG(log, TC_EVENT_STOPPED, tc_log_round(last));
    else if (end == TC_RUN_DONE)
        TC_LOG(log, TC_EVENT_DONE, tc_log_round(last));
    if (names[0] != '\0' && (end == TC_RUN_DONE || end == TC_RUN_DIVERGED))
        TC_LOG(log, TC_EVENT_UNTOLD, tc_log_agents(names));
}

static tc_status explain_rollback(tc_server *s) {
    const tc_rollback *seen = tc_rounds_rollback(s->rounds);
    uint64_t last = tc_rounds_last(s->rounds);
    tc_buffer_printf(s->messages, "nothing was released: the agent %s ", seen->agent);
    if (seen->round > last)
        tc_buffer_printf(s->messages, "has had the answer of round %llu, and the journal in '%s' ends with round %llu",
                         (unsigned long long)seen->round, s->place, (unsigned long long)last);
    else
        tc_buffer_printf(s->messages, "has served epoch %llu of this run, and the journal in '%s' is in epoch %llu",
                         (unsigned long long)seen->epoch, s->place, (unsigned long long)s->epoch.number);
    tc_buffer_puts(s->messages,
                   ". It is an old copy, or another cloud runs from a copy of it. Stop that cloud and start "
                   "from the newest journal; if that is lost, --after-restore goes on after the last "
                   "round that any agent has seen. If you know that this agent's claim is false, --disbelieve NAME "
                   "overrules it, for one start; if it is true after all, rounds are then released a second time\n");
    return TC_CANNOT_READ;
}

static void explain_failure(tc_server *s) {
    bool is_end = tc_rounds_last(s->rounds) >= s->figures.rounds;
    const char *what = is_end ? "All rounds are released; the same command ends the run"
                              : "The round was not released; the run goes on from the round before";
    tc_buffer_printf(s->messages, "the journal in '%s' cannot be written: %s. ", s->place,
                     tc_journal_trouble(s->journal));
    if (tc_journal_is_lost(s->journal))
        tc_buffer_puts(s->messages, "This cloud releases nothing more; the run goes on there. To wait in case that one "
                                    "dies, start with --standby\n");
    else if (s->settings->journal != NULL)
        tc_buffer_printf(s->messages, "%s when the database is back\n",
                         is_end
                             ? what
                             : "The round was not answered, and whether the database has it shows at the next start: "
                               "the same command goes on");
    else
        tc_buffer_printf(s->messages, "%s when there is room again\n", what);
}

/* Fills in the result and logs it. */
static tc_status sum_up(tc_server *s, tc_status status, tc_server_result *result) {
    tc_run_end end = tc_rounds_end(s->rounds);
    bool is_named = end == TC_RUN_DONE || end == TC_RUN_DIVERGED;
    const char *names = is_named ? tc_rounds_names(s->rounds, TC_NAME_UNTOLD) : "";
    if (status == TC_OK && end == TC_RUN_FAILED)
        status = tc_rounds_status(s->rounds);
    if (status == TC_CANNOT_WRITE && tc_journal_is_broken(s->journal))
        explain_failure(s);
    log_end(s, end, status, names);
    *result = (tc_server_result){.end = end,
                                 .rounds = tc_rounds_last(s->rounds),
                                 .rounds_here = s->done,
                                 .epoch = s->epoch.number,
                                 .seconds = s->last_at > 0 ? s->last_at - s->first_at : 0,
                                 .run_id = s->run_id,
                                 .was_over = s->was_over,
                                 .was_told = s->was_told,
                                 .names = tc_arena_copy(s->arena, names, strlen(names)),
                                 .reason = s->half == NULL ? NULL : tc_cloud_half_reason(s->half),
                                 .held = s->figures.held};
    tc_server_refresh(s);
    result->multipliers = s->figures.multipliers;
    result->answer_multipliers = s->figures.answer_multipliers;
    result->feasibility = s->figures.feasibility;
    result->method = s->method;
    return end == TC_RUN_ROLLED_BACK && status == TC_OK ? explain_rollback(s) : status;
}

static tc_status judge(tc_server *s, tc_status status, tc_server_result *result) {
    tc_rounds_lock(s->rounds);
    status = sum_up(s, status, result);
    tc_rounds_unlock(s->rounds);
    return status;
}

/* ---- the loop ---- */

/* For what libevent would write to standard error. */
static tc_logbook *library_log;

static void on_library_word(int severity, const char *text) {
    if (severity >= EVENT_LOG_WARN)
        TC_LOG(library_log, severity == EVENT_LOG_ERR ? TC_EVENT_FAILED : TC_EVENT_NOTE, tc_log_why(text));
}

/* Where libevent lacks a descriptor, it would end the process with 1, as if the run could not go on. */
static void on_library_end(int code) {
    (void)code;
    tc_log_flush(library_log, 1);
    _exit(tc_status_exit_code(TC_CANNOT_READ));
}

/* After a restore: asks the agents what they have seen, before the cloud half is made. */
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
        return tc_server_make_cloud_half(s, first);
    tc_buffer_printf(s->messages,
                     "rounds up to %llu may have been released, and the run has %llu: none is left, and the last "
                     "answers are lost; --new-run begins another. If you know that the agent that says so is wrong "
                     "(`enrolled` in the log has what each said), --disbelieve NAME overrules it\n",
                     (unsigned long long)(first - 1), (unsigned long long)s->figures.rounds);
    return TC_CANNOT_READ;
}

/* If the journal says that all agents have the last answer, only --after-restore sends it again. */
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
    if (finished == 0 && s->half == NULL)
        status = survey(s);
    if (status != TC_OK || tc_rounds_end(s->rounds) != TC_RUN_GOES_ON)
        return status;
    if (finished == 0 &&
        tc_rounds_first(s->rounds) > s->figures.rounds) { /* it crashed between the last commit and this one */
        finished = TC_END_DONE;
        status = tc_journal_finish(s->journal, finished);
    }
    if (status != TC_OK)
        return status;
    if (finished != 0) {
        s->was_over = true;
        begin_over(s, finished == TC_END_DIVERGED ? TC_END_DIVERGED : TC_END_DONE);
    } else {
        status = tc_rounds_begin(s->rounds, s->half);
    }
    while (status == TC_OK && tc_rounds_end(s->rounds) == TC_RUN_GOES_ON)
        status = event_base_dispatch(s->base) < 0 ? TC_INTERNAL : TC_OK;
    return status;
}

/* Waits until the last messages are sent and the agents close. A second signal skips the wait. */
static void part(tc_server *s) {
    double until = tc_serve_now() + TC_LINK_PART_SECONDS + 0.5;
    tc_listener_free(s->listener);
    s->listener = NULL;
    tc_loops_part(s->loops);
    while (!tc_loops_have_parted(s->loops) && tc_serve_now() < until && s->stops < 2)
        if (event_base_loop(s->base, EVLOOP_ONCE) < 0)
            return;
}

/* Keeps the pages for a while, so that a monitor sees how the run ended. */
static void linger(tc_server *s) {
    double until = tc_serve_now() + s->settings->linger;
    unsigned stops = s->stops;
    if (s->http == NULL || tc_rounds_end(s->rounds) != TC_RUN_DONE || stops > 0 || s->was_told)
        return;
    while (tc_serve_now() < until && s->stops == stops)
        if (event_base_loop(s->base, EVLOOP_ONCE) < 0)
            return;
}

/* Stopped while it stood by: nothing was done. */
static void end_standby(tc_server *s, tc_server_result *result) {
    tc_log_write(s->settings->log, TC_EVENT_STOPPED, NULL, 0);
    result->end = TC_RUN_STOPPED;
}

static void stop(tc_server *s) {
    tc_http_free(s->http);
    s->http = NULL; /* the journal is closed later */
    tc_listener_free(s->listener);
    tc_loops_free(s->loops);
    if (s->rounds != NULL)
        tc_rounds_free(s->rounds);
    for (size_t i = 0; i < TC_SERVER_SIGNALS; i++)
        if (s->signals[i] != NULL)
            event_free(s->signals[i]);
    if (s->tick != NULL)
        event_free(s->tick);
    if (s->reload != NULL)
        event_free(s->reload);
    if (s->renewal != NULL)
        event_free(s->renewal);
    if (s->base != NULL)
        event_base_free(s->base);
    SSL_CTX_free(s->tls);
}

tc_status tc_server_run(tc_arena *arena, const tc_server_settings *settings, tc_buffer *messages,
                        tc_server_result *result) {
    tc_server *s = TC_NEW(arena, tc_server, 1);
    *s = (tc_server){.arena = arena, .settings = settings, .messages = messages};
    *result = (tc_server_result){.names = ""};
    catch_signals();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file at its size limit then fails to write, with a message */
    library_log = settings->log;
    event_set_log_callback(on_library_word);
    event_set_fatal_callback(on_library_end);
    s->told_at = tc_serve_now();
    tc_server_fill_figures(s);
    tc_status status = tc_server_start(s);
    if (status == TC_OK && s->rounds == NULL) {
        end_standby(s, result);
    } else if (status == TC_OK) {
        status = loop(s);
        status = judge(s, status, result);
        part(s);
        if (status == TC_OK)
            linger(s);
    } else {
        tc_server_give_up(s, status, result);
    }
    tc_notify_stopping();
    result->has_trace_failed = !tc_server_trace_close(s);
    stop(s);
    if (s->journal != NULL && (status == TC_OK || !tc_journal_is_broken(s->journal))) /* else why is said already */
        tc_server_give_lease_up(s);
    event_set_log_callback(NULL);
    event_set_fatal_callback(NULL);
    return status;
}
