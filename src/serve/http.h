/* /healthz, /status and /metrics, for the operator: on loopback unless told otherwise, in the cloud's own loop. Reads
 * figures and nothing else. */
#ifndef TC_SERVE_HTTP_H
#define TC_SERVE_HTTP_H

#include "base/buffer.h"
#include "serve/figures.h"

#include <event2/event.h>

typedef struct tc_http tc_http;

/* address as in listener.h. refresh is called before figures are read, with the caller's context. TC_BAD_USAGE,
 * TC_CANNOT_READ, with a message. */
tc_status tc_http_new(struct event_base *base, const char *address, const tc_figures *figures,
                      void (*refresh)(void *context), void *context, tc_buffer *messages, tc_http **http) TC_MUST_USE;
void tc_http_free(tc_http *http);
unsigned tc_http_port(const tc_http *http);

/* What the pages say, for tests: JSON, and Prometheus' text format. */
void tc_status_json(tc_buffer *out, const tc_figures *figures, double now);
void tc_metrics_text(tc_buffer *out, const tc_figures *figures);
/* 200 or 503, and a line that says why. */
unsigned tc_health(const tc_figures *figures, const char **line);

#endif
