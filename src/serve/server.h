/* The cloud as a process: links, listener, journal, hub, pages and signals in one loop.
 *
 * SIGTERM and SIGINT end it cleanly: agents hear that it stops, and the journal has the run. A second one does not wait
 * for them. SIGHUP reads the certificates again, for connections from then on. */
#ifndef TC_SERVE_SERVER_H
#define TC_SERVE_SERVER_H

#include "serve/rounds/rounds.h"

typedef struct tc_server_settings {
    const tc_model *model; /* the cloud's */
    const tc_derivatives *derivatives;
    const tc_plan *plan;
    const tc_tacit_facts *method; /* NULL for the published method */
    double dual_radius;
    bool needs_slater;
    const uint64_t *seed; /* NULL: noise from the system's random source */
    const char *listen;
    const char *keys;              /* the cloud's folder; NULL: plain text, on loopback */
    const char *state;             /* the journal's folder */
    const char *http;              /* NULL: none */
    const char *const *http_hosts; /* names that the pages answer to, besides their own */
    size_t http_host_count;
    const char *const *disbelieved; /* agents whose claims to have seen more than the journal do not count */
    size_t disbelieved_count;
    tc_durability durability;
    size_t threads; /* 0: all processors */
    tc_late_policy late;
    double tick; /* seconds between the times at which answers leave; 0: as soon as a round is complete */
    bool after_restore, new_run;
    double linger;                 /* seconds that the pages stay when all rounds are done, so that a monitor sees it */
    const char *trace, *port_file; /* NULL: none */
    const char *const *insecure;   /* sentences: why this is not for private data */
    size_t insecure_count;
    tc_logbook *log;
    const char *version; /* of the program */
    /* At the start, before anybody is let in, and before the first round of the process is released; with the run's id
     * in hexadecimal digits, and whether rounds of the run were released before. Anything but TC_OK ends it, and
     * TC_BAD_USAGE says that the run may not be, of which the log has been told. May be NULL. The first is also called
     * before a new journal is made, with NULL for a run that has no id yet. The second is called from the loop, and may
     * not raise. */
    tc_status (*at_start)(void *context, const char *run_id, bool begun);
    tc_status (*before_first)(void *context, const char *run_id, bool begun);
    void *context;
} tc_server_settings;

typedef struct tc_server_result {
    tc_run_end end;
    uint64_t rounds; /* the number of the last one, those before a restart and those that a restore lost among them */
    uint64_t rounds_here, epoch;
    double seconds; /* from the first round of this process to the last */
    const char *run_id;
    bool was_over;                                  /* before this start */
    bool was_told;                                  /* and every agent had its last answer */
    const double *multipliers, *answer_multipliers; /* NULL where there was no round */
    const tc_feasibility *feasibility;              /* NULL for none */
    const char *names;                              /* agents that the end is about; "" for none */
    const char *reason;                             /* of a run that diverged; NULL where it is not known */
    uint64_t held;
    bool is_logged; /* the log has what the messages say */
} tc_server_result;

/* Until the run ends or somebody stops it. With a message: TC_BAD_USAGE (an address, the journal of another plan),
 * TC_CANNOT_READ and TC_CANNOT_WRITE (port, keys, journal, disk), TC_NO_RANDOM. TC_CANNOT_READ also where agents have
 * seen more than the journal. Raises on its arena. */
tc_status tc_server_run(tc_arena *arena, const tc_server_settings *settings, tc_buffer *messages,
                        tc_server_result *result) TC_MUST_USE;

/* The file at settings.trace begins so. */
#define TC_SERVER_TRACE_MARK "# tacit rounds 1"

#endif
