/* Where the log's lines go: a file, a pipe, a terminal or a socket, whose reader may be slow, stuck or gone. Nothing
 * here waits for it. What it does not take at once is kept, up to a limit; beyond that lines are dropped and counted.
 */
#ifndef TC_SERVE_LOG_SINK_H
#define TC_SERVE_LOG_SINK_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TC_LOG_KEPT = 64 * 1024 }; /* bytes that are kept for a reader that does not read */

typedef struct tc_log_sink tc_log_sink;

/* Closed with the arena. The stream stays the caller's, and how it is opened does not change: others may share it. */
tc_log_sink *tc_log_sink_new(tc_arena *arena, FILE *out);

/* One line with its end, behind those that are kept. False: it was dropped. A line is one call of the system, so that
 * readers never meet half of one. errno stays what it was. */
bool tc_log_sink_put(tc_log_sink *sink, const char *line, size_t length);
/* Gives the reader what is kept, and waits up to so many seconds for it to be taken. */
void tc_log_sink_flush(tc_log_sink *sink, double seconds);

bool tc_log_sink_is_empty(const tc_log_sink *sink); /* nothing is kept */
uint64_t tc_log_sink_lost(const tc_log_sink *sink); /* lines dropped, since the beginning */
/* How often lines that were accepted had to be dropped after all, since the reader was gone. */
uint64_t tc_log_sink_breaks(const tc_log_sink *sink);

/* Whether systemd's journal reads it ($JOURNAL_STREAM): it takes "<4>" at the beginning of a line as its priority. */
bool tc_stream_is_journal(FILE *stream);
bool tc_log_sink_is_journal(const tc_log_sink *sink);

#endif
