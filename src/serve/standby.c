/* The lease of a journal in a database: waiting for it, and keeping it. While a cloud stands by it listens to no agent;
 * its pages say so. */
#include "serve/server.h"

#include <math.h>
#include <string.h>
#include <sys/time.h>

static const double STOP_PATIENCE = 2; /* seconds: of the database after a signal, and again for the lease */

/* Pages go on while the database is waited for, on the same thread: within a commit too, whose round they do not show
 * (tc_server_refresh). */
static void show_pages(tc_server *s) {
    if (s->http == NULL)
        return;
    tc_rounds_lock(s->rounds);
    tc_serve_phase phase = s->figures.phase;
    s->figures.phase = TC_PHASE_DATABASE;
    tc_http_turn(s->http);
    s->figures.phase = phase;
    tc_rounds_unlock(s->rounds);
}

static bool on_wait(void *context) {
    tc_server *s = context;
    show_pages(s);
    if (!tc_server_is_told())
        return false;
    s->stop_heard_at = s->stop_heard_at > 0 ? s->stop_heard_at : tc_serve_now();
    return tc_serve_now() > s->stop_heard_at + STOP_PATIENCE;
}

tc_journal_settings tc_server_journal(tc_server *s, const unsigned char *terms) {
    const tc_server_settings *of = s->settings;
    return (tc_journal_settings){.folder = s->state,
                                 .address = of->journal,
                                 .key = s->journal_key,
                                 .lease = of->lease,
                                 .meanwhile = on_wait,
                                 .context = s,
                                 .durability = of->durability,
                                 .terms = terms};
}

/* ---- waiting ---- */

/* In an arena of its own, since it is done again and again. */
tc_server_look tc_server_look_at_journal(tc_server *s) {
    tc_server_look found = {.status = TC_NO_MEMORY, .why = "memory is out"};
    tc_arena *arena = tc_arena_new(0);
    if (arena == NULL)
        return found;
    tc_escape escape;
    found.status = TC_TRY(arena, &escape);
    if (found.status == TC_OK) {
        tc_buffer messages = tc_buffer_new(arena, 1 << 16);
        tc_journal_settings settings = tc_server_journal(s, NULL);
        found.status = tc_journal_look(arena, &settings, &messages, &found.seen);
        (void)snprintf(found.why, sizeof found.why, "%s", tc_buffer_text(&messages));
        found.why[strcspn(found.why, "\n")] = '\0';
        (void)snprintf(found.holder, sizeof found.holder, "%s", found.seen.holder);
        found.seen.holder = NULL;
    }
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return found;
}

static void wake(evutil_socket_t number, short what, void *context) {
    (void)number;
    (void)what;
    (void)event_base_loopbreak(context);
}

/* Signals and pages go on meanwhile. */
static tc_status pause_for(tc_server *s, double seconds) {
    struct timeval time = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)(1e6 * (seconds - floor(seconds)))};
    struct event *timer = evtimer_new(s->base, wake, s->base);
    if (timer == NULL || event_add(timer, &time) != 0) {
        if (timer != NULL)
            event_free(timer);
        return TC_NO_MEMORY;
    }
    int code = event_base_dispatch(s->base);
    event_free(timer);
    return code < 0 ? TC_INTERNAL : TC_OK;
}

/* Each reason once. */
static void say_hindrance(tc_server *s, const char *why) {
    char line[sizeof s->hindrance];
    (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(why, "\n"), why);
    if (strcmp(line, s->hindrance) != 0)
        TC_LOG(s->settings->log, TC_EVENT_NOT_TAKEN_OVER, tc_log_why(line));
    memcpy(s->hindrance, line, sizeof line);
}

static void say(tc_server *s, const tc_server_look *found, const tc_server_look *before) {
    if (found->status != TC_OK)
        say_hindrance(s, found->why);
    if (found->status == TC_OK && (before->status != TC_OK || strcmp(found->holder, before->holder) != 0))
        TC_LOG(s->settings->log, TC_EVENT_STANDBY, tc_log_text("holder", found->holder),
               tc_log_seconds("seconds", found->seen.seconds));
}

static void begin_waiting(tc_server *s) {
    s->figures.phase = TC_PHASE_STANDBY;
    if (s->settings->standby)
        tc_server_announce_pages(s);
    tc_server_notify_ready(s);
}

static bool is_one_of(const unsigned char seen[TC_HASH], const unsigned char *mine, const unsigned char *also) {
    static const unsigned char unknown[TC_HASH];
    return memcmp(seen, unknown, TC_HASH) == 0 || memcmp(seen, mine, TC_HASH) == 0 ||
           (also != NULL && memcmp(seen, also, TC_HASH) == 0);
}

/* NULL: it is the run of these options. */
static const char *find_other_run(const tc_server *s, const tc_journal_seen *seen) {
    const tc_server_settings *of = s->settings;
    unsigned char terms[TC_HASH], before[TC_HASH];
    if (!is_one_of(seen->plan_hash, of->plan->hash, NULL))
        return "belongs to a run of another plan: start with the file and the options of that run, or choose another "
               "database";
    if (!tc_server_terms(of, of->method, terms) || !tc_server_terms(of, of->method_before, before))
        return "cannot be compared with the options";
    return is_one_of(seen->terms, terms, of->method_before != NULL ? before : NULL)
               ? NULL
               : "belongs to a run of another file, seed, margin or schedule, or a data file has changed: start with "
                 "the file and the options of that run, or choose another database";
}

/* A cloud with other options could never go on with the run: better to know it now than when it is needed. */
static bool is_ours(tc_server *s, const tc_server_look *found) {
    const char *why = !s->settings->standby ? NULL
                      : found->seen.key_trouble != NULL
                          ? tc_arena_format(s->arena, "cannot be used: %s", found->seen.key_trouble)
                      : !found->seen.may_write ? "cannot be used: its user may not write there"
                                               : find_other_run(s, &found->seen);
    if (why != NULL)
        tc_buffer_printf(s->messages, "the journal '%s' %s\n", s->place, why);
    return why == NULL;
}

/* The database must be reached once: then the address is right, and a database that fails later is waited for.
 * Without --standby the lease may be that of a process that has died: it is waited for once. If it is renewed, the
 * other process lives, and opening the journal says so. */
tc_status tc_server_stand_by(tc_server *s) {
    tc_server_look before = {.status = TC_INTERNAL};
    double lease = s->settings->lease > 0 ? s->settings->lease : TC_JOURNAL_LEASE;
    double often = fmin(lease / 4, 1), until = 0; /* a lease may be given up at any time */
    if (s->stops == 0)
        s->figures.phase = TC_PHASE_ENROLLING;
    while (!tc_server_is_stopped(s)) {
        tc_server_look found = tc_server_look_at_journal(s);
        if (tc_server_is_told())
            continue;
        bool is_reached = found.status == TC_OK;
        s->has_seen_run = s->has_seen_run || (s->settings->standby && is_reached && found.seen.exists);
        if (is_reached && !found.seen.is_held)
            break;
        if (!is_reached && !(s->settings->standby && s->has_reached)) {
            tc_buffer_printf(s->messages, "%s\n", found.why);
            return found.status;
        }
        if (is_reached && !is_ours(s, &found))
            return TC_BAD_USAGE;
        s->has_reached = true;
        double now = tc_serve_now();
        until = until > 0 ? until : now + found.seen.seconds;
        if (!s->settings->standby && now > until)
            break;
        if (s->figures.phase != TC_PHASE_STANDBY)
            begin_waiting(s);
        say(s, &found, &before);
        before = found;
        tc_status status = pause_for(s, is_reached ? fmin(often, found.seen.seconds + 0.01) : often);
        if (status != TC_OK)
            return status;
    }
    if (s->figures.phase == TC_PHASE_STANDBY && s->stops == 0)
        s->figures.phase = TC_PHASE_ENROLLING;
    if (before.holder[0] != '\0')
        (void)snprintf(s->waited_for, sizeof s->waited_for, "%s", before.holder);
    return TC_OK;
}

tc_status tc_server_not_taken_over(tc_server *s, const char *why) {
    if (s->figures.phase != TC_PHASE_STANDBY)
        begin_waiting(s);
    say_hindrance(s, why);
    return pause_for(s, 1);
}

/* ---- keeping ---- */

static void on_renew(evutil_socket_t number, short what, void *context) {
    (void)number;
    (void)what;
    tc_server *s = context;
    if (tc_journal_renew(s->journal) != TC_OK && !tc_server_is_told()) /* told: it stops, and releases nothing more */
        tc_rounds_journal_failed(s->rounds);
}

tc_status tc_server_keep_lease(tc_server *s) {
    double each = tc_journal_lease(s->journal) / 3;
    struct timeval time = {.tv_sec = (time_t)each, .tv_usec = (suseconds_t)(1e6 * (each - floor(each)))};
    if (!(each > 0))
        return TC_OK;
    s->renewal = event_new(s->base, -1, EV_PERSIST, on_renew, s);
    return s->renewal == NULL || event_add(s->renewal, &time) != 0 ? TC_NO_MEMORY : TC_OK;
}

/* It has its own time, since what came before may have used up the other. */
void tc_server_give_lease_up(tc_server *s) {
    s->stop_heard_at = 0;
    if (tc_journal_give_up(s->journal))
        return;
    char why[600];
    (void)snprintf(why, sizeof why, "the lease could not be given up (%s): other clouds wait until it ends",
                   tc_journal_trouble(s->journal));
    TC_LOG(s->settings->log, TC_EVENT_NOTE, tc_log_why(why));
}
