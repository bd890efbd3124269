/* The operator's log: one line for each thing that happens, as text or as JSON.
 *
 * One list has all events with level and text; docs/operations.md explains them. Fields are made by the functions below
 * only, and none of them takes a state, an array, a frame or bytes. So no private value can get into the log. Agents'
 * names are the operator's own. */
#ifndef TC_SERVE_LOG_H
#define TC_SERVE_LOG_H

#include "base/arena.h"
#include "net/message.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define TC_LOG_LEVELS(X)                                                                                               \
    X(TC_LOG_DEBUG, "debug")                                                                                           \
    X(TC_LOG_INFO, "info")                                                                                             \
    X(TC_LOG_WARNING, "warning")                                                                                       \
    X(TC_LOG_ERROR, "error")
typedef enum tc_log_level {
#define X(code, name) code,
    TC_LOG_LEVELS(X)
#undef X
} tc_log_level;
extern const char *const tc_log_level_names[]; /* NULL at the end */

/* code, level, name ("event" in JSON; stable), text. */
#define TC_LOG_EVENTS(X)                                                                                               \
    X(TC_EVENT_STARTED, TC_LOG_INFO, "started", "the cloud has started")                                               \
    X(TC_EVENT_BEGUN, TC_LOG_INFO, "begun", "a new run was begun")                                                     \
    X(TC_EVENT_RESUMED, TC_LOG_INFO, "resumed", "a run goes on from its journal")                                      \
    X(TC_EVENT_LISTENING, TC_LOG_INFO, "listening", "waiting for agents")                                              \
    X(TC_EVENT_HTTP, TC_LOG_INFO, "http", "status and metrics are served")                                             \
    X(TC_EVENT_HTTP_OPEN, TC_LOG_WARNING, "http-open", "status and metrics can be read from other machines")           \
    X(TC_EVENT_INSECURE, TC_LOG_WARNING, "insecure", "not for private data")                                           \
    X(TC_EVENT_READABLE, TC_LOG_WARNING, "readable", "this journal was begun without a key: the database can read it") \
    X(TC_EVENT_ENROLLED, TC_LOG_INFO, "enrolled", "an agent has enrolled")                                             \
    X(TC_EVENT_COMPLETE, TC_LOG_INFO, "complete", "all agents have enrolled: rounds begin")                            \
    X(TC_EVENT_LEFT, TC_LOG_INFO, "left", "an agent's connection has ended")                                           \
    X(TC_EVENT_TOLD, TC_LOG_DEBUG, "told", "an agent got the last answer and left")                                    \
    X(TC_EVENT_TURNED_AWAY, TC_LOG_WARNING, "turned-away", "an agent was told which run this is, and left")            \
    X(TC_EVENT_REPLACED, TC_LOG_WARNING, "replaced", "a newer connection speaks for an agent")                         \
    X(TC_EVENT_REFUSED, TC_LOG_WARNING, "refused", "an agent or its message was refused")                              \
    X(TC_EVENT_CONNECTION_REFUSED, TC_LOG_WARNING, "connection-refused", "a connection was refused")                   \
    X(TC_EVENT_WAITING, TC_LOG_WARNING, "waiting", "a round waits for agents")                                         \
    X(TC_EVENT_NOT_CERTAIN, TC_LOG_ERROR, "not-certain",                                                               \
      "the last round was given up: the result is not certain to satisfy the constraints")                             \
    X(TC_EVENT_HELD, TC_LOG_WARNING, "held", "an agent's last state was used again")                                   \
    X(TC_EVENT_PROGRESS, TC_LOG_INFO, "progress", "rounds done")                                                       \
    X(TC_EVENT_RELOADED, TC_LOG_INFO, "reloaded", "certificates were read again")                                      \
    X(TC_EVENT_NOT_RELOADED, TC_LOG_ERROR, "not-reloaded", "the new certificates are not usable: the old ones stay")   \
    X(TC_EVENT_EXPIRING, TC_LOG_WARNING, "expiring", "the cloud's certificate expires soon")                           \
    X(TC_EVENT_STOPPING, TC_LOG_INFO, "stopping", "asked to stop")                                                     \
    X(TC_EVENT_STOPPED, TC_LOG_INFO, "stopped", "stopped; the run can go on from its journal")                         \
    X(TC_EVENT_DONE, TC_LOG_INFO, "done", "the run is done")                                                           \
    X(TC_EVENT_DIVERGED, TC_LOG_ERROR, "diverged", "the run diverged")                                                 \
    X(TC_EVENT_JOURNAL_FAILED, TC_LOG_ERROR, "journal-failed", "the journal cannot be written: nothing was released")  \
    X(TC_EVENT_FENCED, TC_LOG_ERROR, "fenced", "another cloud has taken this run over: nothing more is released here") \
    X(TC_EVENT_STANDBY, TC_LOG_INFO, "standby", "another cloud has the run: standing by")                              \
    X(TC_EVENT_NOT_TAKEN_OVER, TC_LOG_WARNING, "not-taken-over", "the run cannot be taken over yet: trying again")     \
    X(TC_EVENT_TAKEN_OVER, TC_LOG_WARNING, "taken-over", "the lease of the other cloud has ended: this one goes on")   \
    X(TC_EVENT_DAMAGED_LOG, TC_LOG_WARNING, "damaged-log",                                                             \
      "a part of the journal's log is not believed: rounds may be missing, which agents will notice")                  \
    X(TC_EVENT_TRACE_FAILED, TC_LOG_ERROR, "trace-failed", "the trace cannot be written: the run goes on without it")  \
    X(TC_EVENT_ROLLED_BACK, TC_LOG_ERROR, "rolled-back", "agents have seen later rounds than this journal")            \
    X(TC_EVENT_CLAIM_REFUSED, TC_LOG_WARNING, "claim-refused",                                                         \
      "an agent claims to have seen more than this cloud has released: it is refused, and the run goes on")            \
    X(TC_EVENT_DISBELIEVING, TC_LOG_WARNING, "disbelieving", "what an agent claims to have seen will be ignored")      \
    X(TC_EVENT_DISBELIEVED, TC_LOG_WARNING, "disbelieved",                                                             \
      "an agent claims to have seen more than the journal, and was overruled")                                         \
    X(TC_EVENT_CONNECTION_FAILED, TC_LOG_WARNING, "connection-failed", "a connection failed")                          \
    X(TC_EVENT_CONNECTION_ENDED, TC_LOG_DEBUG, "connection-ended", "a connection without an agent has ended")          \
    X(TC_EVENT_LEFT_OUT, TC_LOG_WARNING, "left-out", "too much happened at once: lines were left out")                 \
    X(TC_EVENT_RESTORING, TC_LOG_WARNING, "restoring",                                                                 \
      "agents are asked what they have seen before anything is released")                                              \
    X(TC_EVENT_RESTORED, TC_LOG_WARNING, "restored", "the run goes on after all rounds that agents have seen")         \
    X(TC_EVENT_MOVED, TC_LOG_WARNING, "moved", "the journal of the run before was moved aside")                        \
    X(TC_EVENT_OVER, TC_LOG_WARNING, "over", "this run is over: agents get its last answer")                           \
    X(TC_EVENT_ALL_TOLD, TC_LOG_INFO, "all-told", "this run is over, and every agent has had its last answer")         \
    X(TC_EVENT_UNTOLD, TC_LOG_WARNING, "untold",                                                                       \
      "some agents may not have the last answer: the same command sends it to them")                                   \
    X(TC_EVENT_NOT_HELD, TC_LOG_WARNING, "slater",                                                                     \
      "the public Slater point does not lie in the sets of agents: the run waits for them to come with others")        \
    X(TC_EVENT_FEW_FILES, TC_LOG_WARNING, "few-files", "fewer files may be open than agents and newcomers need")       \
    X(TC_EVENT_NEW_LEDGER, TC_LOG_WARNING, "new-ledger",                                                               \
      "there was no ledger: what was spent elsewhere is not counted")                                                  \
    X(TC_EVENT_NAME_ONLY, TC_LOG_WARNING, "name-only", "what is promised is private in name only")                     \
    X(TC_EVENT_UNPAID, TC_LOG_ERROR, "unpaid", "the price of the run is not in the ledger: nothing was released")      \
    X(TC_EVENT_NOTE, TC_LOG_WARNING, "note", "a note")                                                                 \
    X(TC_EVENT_FAILED, TC_LOG_ERROR, "failed", "the cloud cannot go on")

typedef enum tc_log_event {
#define X(code, level, name, text) code,
    TC_LOG_EVENTS(X)
#undef X
} tc_log_event;

typedef struct tc_log_field { /* made by the functions below alone */
    const char *key;
    enum { TC_FIELD_COUNT, TC_FIELD_SECONDS, TC_FIELD_TEXT, TC_FIELD_NAMES } type;
    uint64_t count;
    double seconds;
    const char *text;
    size_t length;
} tc_log_field;

tc_log_field tc_log_count(const char *key, uint64_t count);
tc_log_field tc_log_round(uint64_t round); /* key "round" */
tc_log_field tc_log_seconds(const char *key, double seconds);
tc_log_field tc_log_agent(const char *name);       /* key "agent" */
tc_log_field tc_log_agents(const char *names);     /* key "agents": "a3, a7 and 12 more" */
tc_log_field tc_log_refusal(tc_refusal_code code); /* key "reason" */
tc_log_field tc_log_why(const char *sentence);     /* key "why": a text of the program, the system or OpenSSL */
tc_log_field tc_log_text(const char *key,
                         const char *text); /* an address, a path, an id; unprintable bytes are escaped */

typedef struct tc_logbook tc_logbook; /* tc_log is a logarithm, see model/expr.h */

/* Leaves out lines below the level. Text: "2026-11-16T07:14:50.123Z info enrolled: an agent has enrolled agent=a3"; a
 * value with blanks or other unusual characters is written as a JSON string. JSON: one object a line with time, level,
 * event, message and the fields. A line is written at once and whole. The log never waits for its reader: it buffers
 * what the reader does not take, then drops lines, and the next line that gets through says in `lost` how many are
 * missing. For systemd's journal each line begins with its priority ("<4>"), which the journal removes. A log of NULL
 * writes nothing. Keys are texts of the program. May be called from any
 * thread. */
tc_logbook *tc_log_new(tc_arena *arena, FILE *out, bool as_json, tc_log_level least);
bool tc_log_takes(const tc_logbook *log, tc_log_event event); /* whether its level is high enough */
void tc_log_write(tc_logbook *log, tc_log_event event, const tc_log_field *fields, size_t count);
/* Other words of a command, one line or several: as they are, or in JSON as the event's `why`. Text is written at any
 * level. */
void tc_log_say(tc_logbook *log, tc_log_event event, const char *text);
uint64_t tc_log_lost(tc_logbook *log); /* lines dropped since the start */
/* Writes buffered lines, and waits up to these seconds for the reader. */
void tc_log_flush(tc_logbook *log, double seconds);
#define TC_LOG(log, event, ...)                                                                                        \
    tc_log_write(log, event, (const tc_log_field[]){__VA_ARGS__},                                                      \
                 sizeof((const tc_log_field[]){__VA_ARGS__}) / sizeof(tc_log_field))

/* Whether systemd's journal reads it ($JOURNAL_STREAM): it takes "<4>" at the beginning of a line as its priority. */
bool tc_stream_is_journal(FILE *stream);

/* ---- The service manager ----
 *
 * sd_notify(3) without its library: one datagram to $NOTIFY_SOCKET for each call. Does nothing without that variable,
 * and never waits or fails. Every user of the machine can read the text, so it has no figures. */

/* The process is ready. status: a few words, or NULL to keep the last ones. */
void tc_notify_ready(const char *status);
void tc_notify_status(const char *status);
/* Certificates are being read again; tc_notify_ready ends this. */
void tc_notify_reloading(void);
void tc_notify_stopping(void);

/* A sign of life, for the watchdog: call it from the loop at least every tc_notify_watchdog_seconds; 0: no watchdog. */
double tc_notify_watchdog_seconds(void);
void tc_notify_alive(void);

/* ---- Clocks ---- */

static inline double tc_seconds_of(clockid_t clock) {
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of a clock that is never set back. */
static inline double tc_serve_now(void) { return tc_seconds_of(CLOCK_MONOTONIC); }
/* Seconds of processor time that this thread has used. */
static inline double tc_serve_worked(void) { return tc_seconds_of(CLOCK_THREAD_CPUTIME_ID); }
/* Seconds since 1970. */
static inline double tc_serve_date(void) { return tc_seconds_of(CLOCK_REALTIME); }

#endif
