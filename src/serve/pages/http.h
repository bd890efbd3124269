/* /healthz, /status and /metrics, for the operator: on loopback unless told otherwise, in the cloud's own loop. Reads
 * figures and nothing else. Whoever reaches the port can take a small and bounded share of the cloud's time, memory and
 * descriptors, and no more. */
#ifndef TC_SERVE_HTTP_H
#define TC_SERVE_HTTP_H

#include "base/buffer.h"
#include "serve/pages/figures.h"
#include "serve/log.h"

#include <event2/event.h>

typedef struct tc_http tc_http;

/* address as in listener.h. refresh is called before figures are read, with the caller's context. TC_BAD_USAGE,
 * TC_CANNOT_READ, with a message. */
tc_status tc_http_new(struct event_base *base, const char *address, const tc_figures *figures,
                      void (*refresh)(void *context), void *context, tc_buffer *messages, tc_http **http) TC_MUST_USE;
void tc_http_free(tc_http *http);
unsigned tc_http_port(const tc_http *http);
/* Logs where the pages are, and a warning where other machines can reach them. */
void tc_http_announce(const tc_http *http, const char *address, tc_logbook *log);
/* More names by which the pages may be asked for; they must outlive it. Its own addresses, localhost, the machine's
 * name and the one in its address always are. */
void tc_http_allow(tc_http *http, const char *const *names, size_t count);
/* Seconds a connection may live; 10 unless told. For tests. */
void tc_http_set_patience(tc_http *http, double seconds);

/* What the pages say, for tests: JSON, and Prometheus' text format. */
void tc_status_json(tc_buffer *out, const tc_figures *figures, double now);
void tc_metrics_text(tc_buffer *out, const tc_figures *figures);
/* 200 while the cloud does what it should, waiting and stopping included, 503 when it failed; and a line that says
 * which. */
unsigned tc_health(const tc_figures *figures, const char **line);

#endif
