/* The cloud as a process: connections, journal, cloud half, pages and signals in one loop.
 *
 * SIGTERM and SIGINT end it cleanly: agents are told, and the journal has the run. A second signal does not wait for
 * agents. SIGHUP reads the certificates again, for new connections. */
#ifndef TC_SERVE_SERVER_H
#define TC_SERVE_SERVER_H

#include "serve/loops.h"

#include <stdio.h>

typedef struct tc_server_settings {
    const tc_model *model; /* the cloud's */
    const tc_derivatives *derivatives;
    const tc_plan *plan;
    const tc_tacit_facts *method;        /* NULL for the published method */
    const tc_tacit_facts *method_before; /* of a run that an earlier version began; NULL: it is the same */
    double dual_radius;
    bool needs_slater;
    const uint64_t *seed; /* NULL: noise from the system's random source */
    const char *listen;
    const char *keys;              /* the cloud's folder; NULL: plain text, on loopback */
    const char *state;             /* the journal's folder; NULL: none */
    const char *journal;           /* postgresql://...: the journal is there, and not in the folder; NULL: it is */
    const char *journal_key;       /* file with the key of a journal in a database; NULL: none */
    double lease;                  /* seconds, of a journal in a database; 0: the usual */
    bool standby;                  /* wait for the lease of another cloud */
    const char *http;              /* NULL: none */
    const char *const *http_hosts; /* more host names that the pages accept */
    size_t http_host_count;
    const char *const *disbelieved; /* agents whose claims beyond the journal are ignored */
    size_t disbelieved_count;
    tc_durability durability;
    size_t threads; /* of the process: for the release of large problems, and loops that serve connections. 0: all
                     * processors and one loop */
    tc_late_policy late;
    double tick; /* seconds between releases; 0: as soon as a round is complete */
    bool after_restore, new_run;
    double linger;                 /* seconds that the pages stay after the last round, for monitors */
    const char *trace, *port_file; /* NULL: none */
    const char *const *insecure;   /* sentences: why this is not for private data */
    size_t insecure_count;
    tc_logbook *log;
    const char *version; /* of the program */
    /* May be NULL. at_start is called before any agent is let in, also before a new journal is made, with run_id NULL.
     * before_first is called from the loop before this process releases its first round; it must not raise. run_id:
     * hexadecimal digits. begun: rounds of the run were released before. Anything but TC_OK ends the server;
     * TC_BAD_USAGE means that the run is not allowed and the callback has logged why. */
    tc_status (*at_start)(void *context, const char *run_id, bool begun);
    tc_status (*before_first)(void *context, const char *run_id, bool begun);
    void *context;
} tc_server_settings;

typedef struct tc_server_result {
    tc_run_end end;
    uint64_t rounds; /* number of the last round of the run */
    uint64_t rounds_here, epoch;
    double seconds;                                 /* from the first round of this process to the last */
    const char *run_id;                             /* NULL: stopped while it stood by */
    bool was_over;                                  /* the run was over before this process */
    bool was_told;                                  /* ... and every agent had the last answer */
    const double *multipliers, *answer_multipliers; /* NULL: no round yet */
    const tc_feasibility *feasibility;              /* NULL for none */
    const tc_tacit_facts *method; /* of the run; NULL for the published method, or while it stood by */
    const char *names;            /* agents that the end concerns; "" for none */
    const char *reason;           /* of a run that diverged; NULL: not known */
    uint64_t held;
    bool has_trace_failed;
    bool is_logged; /* the messages are in the log already */
} tc_server_result;

/* Runs until the run ends or a signal stops it. With a message: TC_BAD_USAGE (an address, the journal of another plan),
 * TC_CANNOT_READ and TC_CANNOT_WRITE (port, keys, journal, disk), TC_NO_RANDOM. TC_CANNOT_READ also if agents have seen
 * more than the journal has. Raises on its arena. */
tc_status tc_server_run(tc_arena *arena, const tc_server_settings *settings, tc_buffer *messages,
                        tc_server_result *result) TC_MUST_USE;

/* The first line of the file at settings.trace. */
#define TC_SERVER_TRACE_MARK "# tacit rounds 1"

/* ---- Shared by server.c, start.c, standby.c and files.c ---- */

enum { TC_SERVER_SIGNALS = 3 };

typedef struct tc_server {
    tc_arena *arena;
    const tc_server_settings *settings;
    tc_buffer *messages;
    const tc_tacit_facts *method; /* of the journal's run: one of the two of the settings */
    tc_figures figures;           /* written under the lock of the rounds */
    tc_figures shown;             /* what the pages read: a copy */
    tc_reporter reporter;
    struct event_base *base;
    SSL_CTX *tls;
    tc_journal_key *journal_key; /* NULL: none */
    tc_journal *journal;
    tc_epoch epoch;
    tc_team *team;
    tc_random *random;
    tc_cloud_half *half;
    tc_rounds *rounds;
    tc_loops *loops;
    tc_listener *listener;
    tc_http *http;
    struct event *signals[TC_SERVER_SIGNALS], *tick, *reload, *renewal;
    double reloaded_at;
    FILE *trace;
    bool has_trace_failed, was_over, was_told;
    bool was_forbidden;   /* at_start or before_first said no, and why */
    unsigned stops;       /* signals to stop */
    double stop_heard_at; /* while the database was waited for; 0: not */
    const char *run_id;   /* hexadecimal digits */
    const char *state;    /* settings.state with its links followed */
    const char *place;    /* of the journal, in messages */
    char waited_for[320]; /* the cloud whose lease has ended; "" for none */
    bool has_reached;     /* the database, once */
    bool has_seen_run;    /* there, with --standby */
    char hindrance[512];  /* why it could not go on with the run, the last time */
    bool has_announced_pages;
    uint64_t done, ticked_done; /* rounds of this process */
    double first_at, last_at, ticked_at, told_at;
    time_t expiry_told;
    tc_serve_phase notified; /* the phase that the service manager knows */
    bool is_watched;         /* by the service manager's watchdog */
} tc_server;

void tc_server_fill_figures(tc_server *server);
tc_status tc_server_start(tc_server *server) TC_MUST_USE;
/* After a failed start: logs why, and removes a journal that nobody has seen, so that the folder can be used for
 * another run. */
void tc_server_give_up(tc_server *server, tc_status status, tc_server_result *result);

/* For the service manager (log.h). */
void tc_server_notify_ready(tc_server *server);
void tc_server_notify_tick(tc_server *server);
tc_status tc_server_set_events(tc_server *server) TC_MUST_USE;
/* Whether a signal to stop has come, also while the loop stands still. */
bool tc_server_is_told(void);
/* The same outside of the loop, which then deals with it. */
bool tc_server_is_stopped(tc_server *server);

tc_journal_settings tc_server_journal(tc_server *server, const unsigned char *terms);

typedef struct tc_server_look { /* at the journal, without opening it */
    tc_status status;
    tc_journal_seen seen; /* without the holder */
    char holder[320], why[512];
} tc_server_look;

/* Can be repeated for ever: it keeps nothing. */
tc_server_look tc_server_look_at_journal(tc_server *server);

/* A journal in a database: waits until no other cloud has its lease, or until a signal stops the server. */
tc_status tc_server_stand_by(tc_server *server) TC_MUST_USE;
/* Logs why it did not go on with the run, and waits a moment. */
tc_status tc_server_not_taken_over(tc_server *server, const char *why) TC_MUST_USE;
/* At the end. Logs why it is still there. */
void tc_server_give_lease_up(tc_server *server);
tc_status tc_server_keep_lease(tc_server *server) TC_MUST_USE;
void tc_server_announce_pages(tc_server *server);

/* SHA-256 of the problem file, its data, and the options that affect rounds but not noise. False: OpenSSL failed. */
bool tc_server_terms(const tc_server_settings *settings, const tc_tacit_facts *method,
                     unsigned char terms[TC_HASH]) TC_MUST_USE;

/* Makes the cloud half for this round, from the journal's snapshot. */
tc_status tc_server_make_cloud_half(tc_server *server, uint64_t first_round) TC_MUST_USE;

/* One line of released figures for each round. A resumed run continues its file. */
tc_status tc_server_trace_open(tc_server *server) TC_MUST_USE;
void tc_server_trace_row(tc_server *server, uint64_t round, tc_answer_scalars scalars);
/* False: rows are missing, and a message says so. */
bool tc_server_trace_close(tc_server *server) TC_MUST_USE;

/* "LISTENPORT HTTPPORT", replaced as a whole. */
tc_status tc_server_write_ports(tc_server *server) TC_MUST_USE;

/* Updates the figures. */
void tc_server_refresh(void *server);
void tc_server_tick(tc_server *server);         /* once a second */
void tc_server_check_expiry(tc_server *server); /* warns once a day if the certificate expires soon */

#endif
