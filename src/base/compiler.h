/* What the code asks of the compiler beyond C17. */
#ifndef TC_BASE_COMPILER_H
#define TC_BASE_COMPILER_H

#define TC_MUST_USE __attribute__((warn_unused_result))
#define TC_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#define TC_NORETURN __attribute__((noreturn))

/* A function for processors with AVX2, and whether this one has it. Nothing is fused there: the bits are the same. (The
 * compiler's own choice between clones of a function ends programs under the thread sanitizer.) */
#if defined(__x86_64__) && defined(__GNUC__)
#define TC_HAS_WIDE 1
#define TC_WIDE __attribute__((target("avx2")))
#define TC_IS_WIDE() __builtin_cpu_supports("avx2")
#define TC_IS_WIDEST()                                                                                                 \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#endif

/* Around functions that are compiled for AVX2, or for AVX-512, as a whole, where TC_HAS_WIDE. */
#ifdef __clang__
#define TC_WIDE_BEGIN _Pragma("clang attribute push(__attribute__((target(\"avx2\"))), apply_to = function)")
#define TC_WIDE_END _Pragma("clang attribute pop")
#define TC_WIDEST_BEGIN                                                                                                \
    _Pragma("clang attribute push(__attribute__((target(\"avx512f,avx512dq,avx512vl\"))), apply_to = function)")
#else
#define TC_WIDE_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"avx2\")")
#define TC_WIDEST_BEGIN                                                                                                \
    _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,avx512dq,avx512vl,prefer-vector-width=512\")")
#define TC_WIDE_END _Pragma("GCC pop_options")
#endif

#endif
