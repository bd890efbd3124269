/* The loops that serve connections, side by side: the main loop and, with more threads, one more for each, with an
 * event base and a lane of the rounds (rounds/lane.h) of its own. TLS, frames and answers run in all of them at once.
 *
 * The main loop accepts, and gives each connection to the loop that has the fewest. It stays there for life. A loop has
 * a bell, a pipe, to be woken by the others. With one loop there is no thread and no bell. */
#ifndef TC_SERVE_LOOPS_H
#define TC_SERVE_LOOPS_H

#include "serve/rounds/rounds.h"

typedef struct tc_loops tc_loops;

/* As many as the rounds have lanes. base: of the main loop. settings: of each loop's connections; its owner is not
 * used, and its limits are for all together. NULL: no memory, or no descriptor for a bell. */
tc_loops *tc_loops_new(struct event_base *base, const tc_links_settings *settings, tc_rounds *rounds) TC_MUST_USE;
/* Starts the threads. False: the system gives none. */
bool tc_loops_start(tc_loops *loops) TC_MUST_USE;
/* Ends the threads and all connections. May be NULL. */
void tc_loops_free(tc_loops *loops);

/* ---- From the main loop's thread ---- */

/* The main loop's connections, and their share of time for the listener. */
tc_links *tc_loops_main(const tc_loops *loops);
/* Takes over a connected descriptor. */
void tc_loops_take(void *loops, int descriptor);
void tc_loops_set_tls(tc_loops *loops, SSL_CTX *tls); /* for new connections */
/* Of all loops. Frames and bytes are those up to the last round's answers: between rounds they would show when states
 * arrive. */
tc_links_figures tc_loops_count(const tc_loops *loops);

/* Closes all connections when their buffered bytes are sent, or after TC_LINK_PART_SECONDS. */
void tc_loops_part(tc_loops *loops);
/* Whether all are closed. */
bool tc_loops_have_parted(const tc_loops *loops);

#endif
