/* How long computations report progress and learn that they shall stop. */
#ifndef TC_BASE_MONITOR_H
#define TC_BASE_MONITOR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tc_monitor {
    bool (*interrupted)(void *context);                                 /* NULL: never */
    void (*progress)(void *context, const char *what, double fraction); /* NULL: nobody listens; fraction 0 to 1 */
    void *context;
} tc_monitor;

static inline bool tc_interrupted(const tc_monitor *monitor) {
    return monitor != NULL && monitor->interrupted != NULL && monitor->interrupted(monitor->context);
}

static inline void tc_progress(const tc_monitor *monitor, const char *what, double fraction) {
    if (monitor != NULL && monitor->progress != NULL)
        monitor->progress(monitor->context, what, fraction);
}

#endif
