/* The server's struct, shared by server.c, start.c and files.c. */
#ifndef TC_SERVE_PROCESS_H
#define TC_SERVE_PROCESS_H

#include "serve/link/listener.h"
#include "serve/pages/http.h"
#include "serve/server.h"

#include <stdio.h>

enum { TC_SERVER_SIGNALS = 3 };

typedef struct tc_server {
    tc_arena *arena;
    const tc_server_settings *settings;
    tc_buffer *messages;
    tc_figures figures;
    tc_reporter reporter;
    struct event_base *base;
    SSL_CTX *tls;
    tc_journal *journal;
    tc_epoch epoch;
    tc_team *team;
    tc_random *random;
    tc_cloud_half *half;
    tc_rounds *rounds;
    tc_links *links;
    tc_listener *listener;
    tc_http *http;
    struct event *signals[TC_SERVER_SIGNALS], *tick, *reload;
    double reloaded_at;
    FILE *trace;
    bool has_trace_failed, was_over, was_told;
    bool was_forbidden;         /* at_start or before_first said no, and why */
    unsigned stops;             /* signals to stop */
    const char *run_id;         /* hexadecimal digits */
    const char *state;          /* settings.state with its links followed */
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

/* For the service manager (notify.h). why: NULL if the certificates were read. */
void tc_server_notify_ready(tc_server *server);
void tc_server_notify_tick(tc_server *server);
void tc_server_notify_reloaded(tc_server *server, const char *why);

void tc_server_catch_signals(void);
tc_status tc_server_set_events(tc_server *server) TC_MUST_USE;

/* Fills in the result and logs it. */
tc_status tc_server_judge(tc_server *server, tc_status status, tc_server_result *result) TC_MUST_USE;

bool tc_server_has_journal(tc_server *server); /* of any run */
/* Renames the journal of another run. Refused while a process has it open. */
tc_status tc_server_move_aside(tc_server *server) TC_MUST_USE;

/* SHA-256 of the problem file, its data, and the options that affect rounds but not noise. False: OpenSSL failed.
 */
bool tc_server_terms(const tc_server_settings *settings, unsigned char terms[TC_HASH]) TC_MUST_USE;

/* Makes the cloud half for this round, from the journal's snapshot. */
tc_status tc_server_make_cloud_half(tc_server *server, uint64_t first_round) TC_MUST_USE;

/* One line of released figures for each round. A resumed run continues its file. */
tc_status tc_server_trace_open(tc_server *server) TC_MUST_USE;
void tc_server_trace_row(tc_server *server, uint64_t round, tc_answer_scalars scalars);
tc_status tc_server_trace_close(tc_server *server) TC_MUST_USE;

/* "LISTENPORT HTTPPORT", replaced as a whole. */
tc_status tc_server_write_ports(tc_server *server) TC_MUST_USE;

/* Updates the figures. */
void tc_server_refresh(void *server);
void tc_server_count_traffic(tc_server *server); /* a round has been answered */
void tc_server_tick(tc_server *server);
void tc_server_check_expiry(tc_server *server);

#endif
