#include "serve/rounds/reporter.h"

#include "serve/clock.h"

#include <string.h>

/* A start of a thousand agents is told agent by agent. Half of the room is for lines that name an agent: whoever knocks
 * without a name, as often as he likes, does not hide that an agent was replaced. */
static const double MOST_AT_ONCE = 1000, LINES_A_SECOND = 20, FOR_AGENTS = 500;

static void fill(tc_reporter *reporter) {
    double now = tc_serve_now();
    if (reporter->filled_at <= 0)
        reporter->room = MOST_AT_ONCE;
    else
        reporter->room += LINES_A_SECOND * (now - reporter->filled_at);
    reporter->room = reporter->room < MOST_AT_ONCE ? reporter->room : MOST_AT_ONCE;
    reporter->filled_at = now;
}

static bool has_room(tc_reporter *reporter, double reserved) {
    fill(reporter);
    if (reporter->room < 1 + reserved) {
        reporter->left_out++;
        return false;
    }
    reporter->room -= 1;
    return true;
}

bool tc_reporter_has_room(tc_reporter *reporter) { return has_room(reporter, 0); }

void tc_report_agent(tc_reporter *reporter, tc_log_event event, const char *agent) {
    if (tc_log_takes(reporter->log, event) && tc_reporter_has_room(reporter))
        TC_LOG(reporter->log, event, tc_log_agent(agent));
}

/* Behind the fields of the line: by these the operator finds the device. Keys of what is not known are left out. */
static void write_with_peer(tc_reporter *reporter, tc_log_event event, const tc_link *link, tc_log_field fields[5],
                            size_t count) {
    char address[TC_PEER_TEXT], names[TC_PEER_NAMES];
    const char *from = tc_link_peer(link, address), *named = tc_link_names(link, names);
    if (from != NULL)
        fields[count++] = tc_log_text("address", from);
    if (named != NULL)
        fields[count++] = tc_log_text("certificate", named);
    tc_log_write(reporter->log, event, fields, count);
}

void tc_report_refusal(tc_reporter *reporter, const tc_link *link, const char *agent, tc_refusal_code code,
                       const char *why) {
    bool is_counted = code != TC_REFUSED_SLATER; /* an agent's no is for the log alone, not for the pages' readers */
    const char *meaning = tc_refusal_text(code);
    tc_log_field fields[5];
    size_t count = 0;
    if (reporter->figures != NULL && (unsigned)code < TC_REFUSAL_KINDS && is_counted)
        reporter->figures->refusals[code]++;
    if (!has_room(reporter, agent == NULL ? FOR_AGENTS : 0))
        return;
    if (agent != NULL)
        fields[count++] = tc_log_agent(agent);
    fields[count++] = tc_log_refusal(code);
    if (why != NULL && (meaning == NULL || strcmp(why, meaning) != 0)) /* it says more than the reason does */
        fields[count++] = tc_log_why(why);
    write_with_peer(reporter, agent == NULL ? TC_EVENT_CONNECTION_REFUSED : TC_EVENT_REFUSED, link, fields, count);
}

void tc_report_end(tc_reporter *reporter, const tc_link *link, tc_link_end end, const char *why) {
    bool is_refused = end == TC_LINK_REFUSED || end == TC_LINK_BROKEN;
    tc_log_event event = is_refused ? TC_EVENT_CONNECTION_FAILED : TC_EVENT_CONNECTION_ENDED;
    tc_log_field fields[5] = {tc_log_text("end", tc_link_end_name(end)), tc_log_why(why)};
    if (tc_log_takes(reporter->log, event) && has_room(reporter, FOR_AGENTS))
        write_with_peer(reporter, event, link, fields, 2);
}

void tc_report_turned_away(tc_reporter *reporter, const tc_link *link, const char *why) {
    tc_log_field fields[5] = {tc_log_why(why)};
    if (reporter->figures != NULL)
        reporter->figures->turned_away++;
    if (has_room(reporter, FOR_AGENTS))
        write_with_peer(reporter, TC_EVENT_TURNED_AWAY, link, fields, 1);
}

void tc_reporter_tick(tc_reporter *reporter) {
    fill(reporter);
    if (reporter->left_out == 0 || reporter->room < 2)
        return;
    TC_LOG(reporter->log, TC_EVENT_LEFT_OUT, tc_log_count("lines", reporter->left_out));
    reporter->left_out = 0;
    reporter->room -= 1;
}
