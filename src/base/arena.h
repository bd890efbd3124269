/* Arenas: memory that lives and dies together, with one place to handle its failure; and text that grows in them.
 *
 * All memory of the library comes from arenas. tc_arena_alloc never returns NULL: when memory runs out, or the
 * arena's limit is reached, it jumps to the escape that the entry point has set. So the code between needs no
 * failure branches, and nothing leaks: the entry point frees the arena.
 *
 *     tc_escape escape;
 *     tc_status status = TC_TRY(arena, &escape);     // TC_OK the first time, the raised status after a jump
 *     if (status == TC_OK) { ... work that allocates ... }
 *     tc_escape_end(arena, &escape);
 *
 * Rules of setjmp hold: a local changed after TC_TRY and read after a jump must be volatile; keep entry points tiny.
 * What is not memory (a mapping, a descriptor) is registered with tc_arena_on_free. */
#ifndef TC_BASE_ARENA_H
#define TC_BASE_ARENA_H

#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

typedef struct tc_arena tc_arena;

typedef struct tc_escape {
    jmp_buf target;
    tc_status raised;
    struct tc_escape *outer;
} tc_escape;

/* limit: bytes this arena may hold, 0 for none. NULL when memory is out. */
tc_arena *tc_arena_new(size_t limit) TC_MUST_USE;
void tc_arena_free(tc_arena *arena);

/* count * size zeroed bytes, aligned for any type (64 bytes when large). Of a large array, pages that are never touched
 * take no memory. */
void *tc_arena_alloc(tc_arena *arena, size_t count, size_t size) __attribute__((returns_nonnull, malloc));
#define TC_NEW(arena, type, count) ((type *)tc_arena_alloc((arena), (count), sizeof(type)))

/* The same, not zeroed: for large arrays that are filled at once, since zeroing costs as much as filling. */
void *tc_arena_room(tc_arena *arena, size_t count, size_t size) __attribute__((returns_nonnull, malloc));

/* A copy with room for new_count elements; the old one stays in the arena (grow by doubling). */
void *tc_arena_grow(tc_arena *arena, const void *old, size_t old_count, size_t new_count, size_t size)
    __attribute__((returns_nonnull));

char *tc_arena_copy(tc_arena *arena, const char *text, size_t length) __attribute__((returns_nonnull));
char *tc_arena_format(tc_arena *arena, const char *format, ...) TC_PRINTF(2, 3) __attribute__((returns_nonnull));

/* Scratch memory: everything allocated after a mark is given back. */
typedef struct tc_mark {
    void *chunk;
    size_t used;
} tc_mark;
tc_mark tc_arena_mark(tc_arena *arena);
void tc_arena_rewind(tc_arena *arena, tc_mark mark);

size_t tc_arena_bytes(const tc_arena *arena);

/* Calls release(what) when the arena is freed. Escapes, having called release, when the registration itself fails. */
void tc_arena_on_free(tc_arena *arena, void (*release)(void *), void *what);

void tc_escape_begin(tc_arena *arena, tc_escape *escape);
void tc_escape_end(tc_arena *arena, tc_escape *escape);
void tc_raise(tc_arena *arena, tc_status status) TC_NORETURN;

#define TC_TRY(arena, escape)                                                                                          \
    (tc_escape_begin((arena), (escape)), setjmp((escape)->target) == 0 ? TC_OK : (escape)->raised)

/* Text that grows in an arena, up to a limit. */
typedef struct tc_buffer {
    tc_arena *arena;
    char *text; /* always NUL-terminated once something was added */
    size_t length;
    size_t capacity;
    size_t limit; /* TC_TOO_LARGE is raised beyond it */
} tc_buffer;

tc_buffer tc_buffer_new(tc_arena *arena, size_t limit);
void tc_buffer_add(tc_buffer *buffer, const char *text, size_t length);
void tc_buffer_puts(tc_buffer *buffer, const char *text);
void tc_buffer_printf(tc_buffer *buffer, const char *format, ...) TC_PRINTF(2, 3);
const char *tc_buffer_text(tc_buffer *buffer);

/* Appends to a growing array in the arena. */
#define TC_PUSH(arena, array, count, item)                                                                             \
    do {                                                                                                               \
        if (((count) & ((count)-1)) == 0)                                                                              \
            (array) = tc_arena_grow((arena), (array), (count), (count) == 0 ? 1 : (count)*2, sizeof *(array));         \
        (array)[(count)++] = (item);                                                                                   \
    } while (0)

#endif
