#include "serve/clock.h"

#include <time.h>

static double seconds_of(clockid_t clock) {
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double tc_serve_now(void) { return seconds_of(CLOCK_MONOTONIC); }
double tc_serve_worked(void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
double tc_serve_date(void) { return seconds_of(CLOCK_REALTIME); }
