/* What the code asks of the compiler beyond C17. */
#ifndef TC_BASE_COMPILER_H
#define TC_BASE_COMPILER_H

#include <stdint.h>

#define TC_MUST_USE __attribute__((warn_unused_result))
#define TC_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#define TC_NORETURN __attribute__((noreturn))

/* Pages that hold nothing any more go back to the system. The C library keeps them by itself wherever something that
 * lives longer stands behind them. */
#ifdef __GLIBC__
#include <malloc.h>
#define TC_GIVE_BACK_MEMORY() ((void)malloc_trim(0))
#else
#define TC_GIVE_BACK_MEMORY() ((void)0)
#endif

#endif
