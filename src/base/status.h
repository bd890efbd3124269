/* Errors: why a thing could not be done. An outcome ("Slater's condition fails") is never a status. */
#ifndef TC_BASE_STATUS_H
#define TC_BASE_STATUS_H

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
    X(TC_BAD_PROBLEM, 2, "the problem file has errors")                                                                \
    X(TC_BAD_USAGE, 2, "the command line is wrong")                                                                    \
    X(TC_CANNOT_READ, 3, "a file cannot be read")                                                                      \
    X(TC_CANNOT_WRITE, 3, "a file cannot be written")                                                                  \
    X(TC_INTERRUPTED, 3, "interrupted")                                                                                \
    X(TC_INTERNAL, 3, "internal error: please report it")                                                              \
    X(TC_NO_RANDOM, 3, "the random source failed, or refused a use that would not be safe")                            \
    X(TC_BAD_ARITHMETIC, 3, "arithmetic does not round to nearest, or takes the smallest numbers for zero")    \
    X(TC_BUSY, 3, "the problem is in use, by another thread or by the function that made this call")                   \
    X(TC_CALLBACK_FAILED, 3, "a callback of the program failed")

typedef enum tc_status {
#define X(code, exit_code, text) code,
    TC_STATUS_LIST(X)
#undef X
} tc_status;

const char *tc_status_text(tc_status status);
int tc_status_exit_code(tc_status status);

#endif
