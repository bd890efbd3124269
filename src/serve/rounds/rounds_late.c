/* Agents whose state has not come: the round waits, and says for whom; or their last state is used again. */
#include "serve/rounds/rounds_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_missing(const tc_rounds *r, const tc_seat *seat) { return seat->taken != r->open && !seat->is_held; }

static bool is_named(const tc_rounds *r, const tc_seat *seat, tc_naming naming) {
    switch (naming) {
    case TC_NAME_MISSING:
        return is_missing(r, seat);
    case TC_NAME_ABSENT:
        return !seat->was_there;
    case TC_NAME_REFUSED:
        return seat->said_no;
    case TC_NAME_UNTOLD:
        break;
    }
    return !seat->is_told;
}

const char *tc_rounds_names(tc_rounds *r, tc_naming naming) {
    size_t length = 0, left = 0;
    r->names[0] = '\0';
    for (size_t i = 0; i < r->enrolment->seat_count; i++) {
        const tc_seat *seat = &r->enrolment->seats[i];
        if (!is_named(r, seat, naming))
            continue;
        size_t more = strlen(seat->name) + 2;
        if (left > 0 || length + more + 32 > sizeof r->names) {
            left++;
            continue;
        }
        int wrote = snprintf(r->names + length, sizeof r->names - length, "%s%s", length > 0 ? ", " : "", seat->name);
        length += wrote > 0 ? (size_t)wrote : 0;
    }
    if (left > 0)
        (void)snprintf(r->names + length, sizeof r->names - length, " and %zu more", left);
    return r->names;
}

static void arm(tc_rounds *r, double at) {
    double wait = fmin(fmax(at - tc_serve_now(), 0), 1e6);
    struct timeval time = {.tv_sec = (time_t)wait, .tv_usec = (suseconds_t)(1e6 * (wait - floor(wait)))};
    if (event_add(&r->late, &time) != 0)
        tc_rounds_break(r, TC_RUN_FAILED, TC_NO_MEMORY);
}

void tc_late_open(tc_rounds *r) {
    r->opened_at = tc_serve_now();
    r->warn_after = r->settings.late.deadline;
    r->warn_at = r->opened_at + r->warn_after;
    arm(r, r->warn_at);
}

/* The last state stands in for those whose time is over; returns when that of the next is, INFINITY for none. */
static double hold(tc_rounds *r, double now) {
    double next = INFINITY;
    const tc_late_policy *policy = &r->settings.late;
    for (size_t i = 0; i < r->enrolment->seat_count; i++) {
        tc_seat *seat = &r->enrolment->seats[i];
        if (!is_missing(r, seat) || seat->taken == 0 || seat->holds >= policy->most_holds)
            continue;
        double limit = fmax(r->opened_at, seat->enrolled_at) + policy->deadline;
        if (limit > now) {
            next = fmin(next, limit);
            continue;
        }
        seat->is_held = true;
        r->held++;
        r->missing--;
        tc_report_agent(r->settings.reporter, TC_EVENT_HELD, seat->name);
    }
    return next;
}

void tc_late_on_time(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    tc_rounds *r = context;
    double now = tc_serve_now(), next = INFINITY;
    if (r->is_over || r->hub == NULL || r->end != TC_RUN_GOES_ON || r->stop_at > 0)
        return;
    if (r->settings.late.holds) /* with nobody there, rounds would be for nobody */
        next = r->enrolment->enrolled > 0 ? hold(r, now) : now + r->settings.late.deadline;
    if (r->missing == 0) {
        tc_rounds_complete(r);
        return;
    }
    if (now >= r->warn_at) {
        TC_LOG(r->settings.reporter->log, TC_EVENT_WAITING, tc_log_round(r->open), tc_log_count("missing", r->missing),
               tc_log_agents(tc_rounds_names(r, TC_NAME_MISSING)), tc_log_seconds("seconds", now - r->opened_at));
        r->warn_after *= 2;
        r->warn_at = r->opened_at + r->warn_after;
    }
    arm(r, fmin(next, r->warn_at));
}
