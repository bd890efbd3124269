/* What happens to agents, counted and told to the operator's log: as often as anybody may make it happen, the log grows
 * by a few lines a second at most, and says how many it left out. */
#ifndef TC_SERVE_REPORTER_H
#define TC_SERVE_REPORTER_H

#include "serve/pages/figures.h"
#include "serve/log.h"

typedef struct tc_reporter {
    tc_logbook *log;
    tc_figures *figures;
    double room, filled_at; /* lines that may be written now, and when that was reckoned */
    uint64_t left_out;
} tc_reporter;

/* Whether there is room for one more line; counted as left out where there is not. */
bool tc_reporter_has_room(tc_reporter *reporter);

void tc_report_agent(tc_reporter *reporter, tc_log_event event, const char *agent);
/* An agent, or what it said, is refused; agent NULL: a connection. Counted, but for what an agent says of the Slater
 * point: that is private, and a counter would show it to readers of the pages. The log has where it comes from and whom
 * its certificate names; and why, where that says more than the code does. */
void tc_report_refusal(tc_reporter *reporter, const tc_link *link, const char *agent, tc_refusal_code code,
                       const char *why);
/* A connection ended by itself. */
void tc_report_end(tc_reporter *reporter, const tc_link *link, tc_link_end end, const char *why);
/* It has heard which run this is, and asked for no seat. Counted in any case. */
void tc_report_turned_away(tc_reporter *reporter, const tc_link *link, const char *why);
/* Tells of lines that were left out, now that there is room. */
void tc_reporter_tick(tc_reporter *reporter);

#endif
