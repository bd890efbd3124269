/* What the code asks of the compiler beyond C17. */
#ifndef TC_BASE_COMPILER_H
#define TC_BASE_COMPILER_H

#define TC_MUST_USE __attribute__((warn_unused_result))
#define TC_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#define TC_NORETURN __attribute__((noreturn))

#endif
