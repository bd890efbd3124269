#ifndef TC_SERVE_CLOCK_H
#define TC_SERVE_CLOCK_H

#include <time.h>

static inline double tc_seconds_of(clockid_t clock) {
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of a clock that is never set back. */
static inline double tc_serve_now(void) { return tc_seconds_of(CLOCK_MONOTONIC); }
/* Seconds of processor time that this thread has used. */
static inline double tc_serve_worked(void) { return tc_seconds_of(CLOCK_THREAD_CPUTIME_ID); }
/* Seconds since 1970. */
static inline double tc_serve_date(void) { return tc_seconds_of(CLOCK_REALTIME); }

#endif
