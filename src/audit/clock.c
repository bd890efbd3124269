/* A file of its own: tests of what time does link another. */
#include "audit/inside.h"

#include <time.h>

double tc_audit_clock(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
