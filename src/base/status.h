/* Errors: why something could not be done. An outcome ("Slater's condition fails") is never a status. And the monitor
 * of long computations. */
#ifndef TC_BASE_STATUS_H
#define TC_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

/* Attributes beyond C17. */
#define TC_MUST_USE __attribute__((warn_unused_result))
#define TC_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#define TC_NORETURN __attribute__((noreturn))

/* One list for code, message and the exit code of the command that meets it (2: the command or a file is wrong,
 * 3: the environment failed). */
#define TC_STATUS_LIST(X)                                                                                              \
    X(TC_OK, 0, "done")                                                                                                \
    X(TC_NO_MEMORY, 3, "out of memory")                                                                                \
    X(TC_TOO_LARGE, 2, "the problem is larger than this program's limits")                                             \
    X(TC_BAD_PROBLEM, 2, "a file has errors")                                                                          \
    X(TC_BAD_USAGE, 2, "an argument or option is wrong")                                                               \
    X(TC_CANNOT_READ, 3, "a file cannot be read")                                                                      \
    X(TC_CANNOT_WRITE, 3, "a file cannot be written")                                                                  \
    X(TC_INTERRUPTED, 3, "interrupted")                                                                                \
    X(TC_INTERNAL, 3, "internal error: please report it")                                                              \
    X(TC_NO_RANDOM, 3, "the random source failed, or refused a use that would not be safe")                            \
    X(TC_BAD_ARITHMETIC, 3, "arithmetic does not round to nearest, or treats the smallest numbers as zero")            \
    X(TC_BUSY, 3, "the problem is in use, by another thread or by the function that made this call")                   \
    X(TC_CALLBACK_FAILED, 3, "a callback of the program failed")

typedef enum tc_status {
#define X(code, exit_code, text) code,
    TC_STATUS_LIST(X)
#undef X
} tc_status;

const char *tc_status_text(tc_status status);
int tc_status_exit_code(tc_status status);

/* How a long computation reports progress and learns that it must stop. */
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
