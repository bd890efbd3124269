/* The pages /healthz, /status and /metrics for the operator, served by the cloud's own loop. They read the figures
 * only. A client gets a small, bounded share of the cloud's time, memory and descriptors. */
#ifndef TC_SERVE_PAGES_PAGES_H
#define TC_SERVE_PAGES_PAGES_H

#include "engine/tacit/facts.h"
#include "serve/link/link.h"
#include "serve/log.h"

#include <event2/event.h>
#include <event2/event_struct.h>

/* ---- The figures ----
 *
 * Released or operational only. Nothing tells anything about a single agent: no lateness, no clamps, no MACs. */

enum { TC_COMMIT_BUCKETS = 12, TC_REFUSAL_KINDS = 16 };
/* Upper ends in seconds of the histogram of commits; the last bucket has no end. */
extern const double tc_commit_bounds[TC_COMMIT_BUCKETS - 1];

#define TC_PHASES(X)                                                                                                   \
    X(TC_PHASE_ENROLLING, "enrolling") /* not every agent has enrolled yet */                                          \
    X(TC_PHASE_RUNNING, "running")                                                                                     \
    X(TC_PHASE_STOPPING, "stopping")                                                                                   \
    X(TC_PHASE_DONE, "done")                                                                                           \
    X(TC_PHASE_STANDBY, "standby") /* another cloud has the run */                                                     \
    X(TC_PHASE_DATABASE, "waiting-for-database")                                                                       \
    X(TC_PHASE_FAILED, "failed")
typedef enum tc_serve_phase {
#define X(code, name) code,
    TC_PHASES(X)
#undef X
} tc_serve_phase;
const char *tc_serve_phase_name(tc_serve_phase phase);

typedef struct tc_figures {
    tc_serve_phase phase;
    bool is_private;                /* deserves the word (plan/account/price.c) */
    bool is_priced;                 /* epsilon and delta are valid */
    bool is_insecure;               /* plain text, noise from a seed, or none */
    const char *run_id, *plan_hash; /* hexadecimal digits */
    const char *method, *mechanism;
    const char *unit, *norm; /* what is hidden, as tc_promised_unit says it */
    double hidden_every_round;
    double epsilon, delta;         /* of the observer who pays most, over the whole run */
    uint64_t epoch, round, rounds; /* round: the last that was answered */
    uint64_t agents, enrolled;     /* agents of the file; those enrolled now */
    double rounds_per_second;      /* recent average; unknown if last_round is 0 */
    double started, last_round; /* seconds of CLOCK_REALTIME; last_round: to a second, 0 before this process's first */
    const double *multipliers;  /* released, m; NULL before the first round */
    const double *answer_multipliers;
    size_t multiplier_count;
    const char *const *constraint_names;
    const char *const *equalities; /* the names of those that are equalities */
    size_t equality_count;
    const tc_feasibility *feasibility;   /* NULL: none */
    uint64_t refusals[TC_REFUSAL_KINDS]; /* by tc_refusal_code */
    uint64_t turned_away;                /* connections that left after the welcome */
    uint64_t held;                       /* states used again, of all agents together */
    uint64_t answers, answers_again;     /* sent; sent again */
    uint64_t commits[TC_COMMIT_BUCKETS];
    double commit_seconds;
    bool has_reload_failed; /* of the certificates, the last time */
    bool has_trace_failed;
    uint64_t log_lost;         /* lines of the log that were dropped */
    const char *version;       /* of the program */
    double certificate_expiry; /* seconds of CLOCK_REALTIME; 0 in plain text */
    tc_links_figures links;
} tc_figures;

void tc_figures_commit(tc_figures *figures, double seconds); /* counts a commit of these seconds */

/* ---- The pages ---- */

typedef struct tc_http tc_http;

/* address as in link.h. refresh is called with context before the figures are read. TC_BAD_USAGE,
 * TC_CANNOT_READ, with a message. */
tc_status tc_http_new(struct event_base *base, const char *address, const tc_figures *figures,
                      void (*refresh)(void *context), void *context, tc_buffer *messages, tc_http **http) TC_MUST_USE;
/* Serves whoever is there, and waits for nobody: for a loop that stands still meanwhile. */
void tc_http_turn(tc_http *http);
void tc_http_free(tc_http *http);
unsigned tc_http_port(const tc_http *http);
/* Logs the address of the pages, and a warning if other machines can reach them. */
void tc_http_announce(const tc_http *http, const char *address, tc_logbook *log);
/* More host names to respond to; they must outlive it. The machine's addresses and name, localhost and the name in its
 * address are always accepted. */
void tc_http_allow(tc_http *http, const char *const *names, size_t count);
/* For tests: seconds that a connection may last; default 10. */
void tc_http_set_patience(tc_http *http, double seconds);

/* The contents of the pages: JSON, and Prometheus' text format. */
void tc_status_json(tc_buffer *out, const tc_figures *figures, double now);
void tc_metrics_text(tc_buffer *out, const tc_figures *figures);
/* The code and line of /healthz: 503 if the cloud has failed, else 200, also while it waits or stops. */
unsigned tc_health(const tc_figures *figures, const char **line);

/* ---- Shared by http.c, which moves bytes, and request.c, which knows what they mean ---- */

enum {
    TC_HTTP_CLIENTS = 32,   /* connections at a time; the oldest is closed */
    TC_HTTP_REQUEST = 4096, /* bytes of a request's line and headers */
};

typedef struct tc_http_client {
    tc_http *http;
    int descriptor; /* -1: none */
    uint64_t number;
    enum { TC_HTTP_READING, TC_HTTP_WRITING, TC_HTTP_ENDING } doing;
    struct event ready, deadline;
    char request[TC_HTTP_REQUEST];
    size_t length;
    tc_arena *arena;      /* of the response, while there is one */
    const char *response; /* NULL: out of memory */
    size_t response_length, sent, unread;
} tc_http_client;

struct tc_http {
    struct event_base *base;
    int descriptor;
    bool is_loopback;
    double patience; /* seconds */
    const tc_figures *figures;
    void (*refresh)(void *context);
    void *context;
    char machine[256], given[256]; /* accepted host names; "" for none */
    const char *const *hosts;      /* more of them */
    size_t host_count;
    struct event arriving, again;
    uint64_t arrived;
    tc_http_client clients[TC_HTTP_CLIENTS];
};

/* Whether the request is complete, or can be refused already. */
bool tc_http_is_whole(const tc_http_client *client);
/* Finds the host names that are always accepted. */
void tc_http_know_names(tc_http *http, const char *address);
/* Makes the response. */
void tc_http_respond(tc_http_client *client);

#endif
