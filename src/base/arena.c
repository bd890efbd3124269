#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under the address sanitizer, memory that is not allocated is poisoned, and allocations keep a gap between them: a
 * step over the end, or a use of scratch memory after the rewind, is caught as with malloc. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TC_POISON 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TC_POISON 1
#endif
#ifdef TC_POISON
#include <sanitizer/asan_interface.h>
enum { GAP = 16 };
/* Not inline: gcc would take the sanitizer's const pointer for a read of memory not yet written. */
__attribute__((noinline)) static void poison(void *from, size_t size) { __asan_poison_memory_region(from, size); }
__attribute__((noinline)) static void unpoison(void *from, size_t size) { __asan_unpoison_memory_region(from, size); }
#else
enum { GAP = 0 };
static void poison(void *from, size_t size) { (void)from, (void)size; }
static void unpoison(void *from, size_t size) { (void)from, (void)size; }
#endif

enum { FIRST_CHUNK = 16 * 1024, LARGEST_CHUNK = 4 * 1024 * 1024, ALIGNMENT = 64 };
/* From this size on, zeroed memory has a chunk of its own that calloc zeroes: pages fresh from the system are zero, and
 * those that nobody touches take no memory. */
enum { LARGE = 1024 * 1024 };

typedef struct chunk {
    struct chunk *previous;
    size_t size; /* of the bytes that follow the header */
    size_t used;
    size_t padding;
} chunk;

typedef struct release {
    struct release *next;
    void (*function)(void *);
    void *what;
} release;

struct tc_arena {
    chunk *last;
    size_t bytes;
    size_t limit;
    release *releases;
    tc_escape *escape;
};

tc_arena *tc_arena_new(size_t limit) {
    tc_arena *arena = calloc(1, sizeof *arena);
    if (arena != NULL)
        arena->limit = limit;
    return arena;
}

void tc_arena_free(tc_arena *arena) {
    if (arena == NULL)
        return;
    for (release *r = arena->releases; r != NULL; r = r->next)
        r->function(r->what);
    for (chunk *c = arena->last; c != NULL;) {
        chunk *previous = c->previous;
        unpoison(c + 1, c->size);
        free(c);
        c = previous;
    }
    free(arena);
}

static chunk *new_chunk(tc_arena *arena, size_t wanted, bool zeroed) {
    size_t size = arena->last == NULL ? FIRST_CHUNK : arena->last->size * 2;
    if (size > LARGEST_CHUNK)
        size = LARGEST_CHUNK;
    if (size < wanted + ALIGNMENT)
        size = wanted + ALIGNMENT;
    if (size < wanted || size > SIZE_MAX - sizeof(chunk) ||
        (arena->limit != 0 && (size > arena->limit || arena->bytes > arena->limit - size)))
        tc_raise(arena, TC_TOO_LARGE);
    chunk *c = zeroed ? calloc(1, sizeof *c + size) : malloc(sizeof *c + size);
    if (c == NULL)
        tc_raise(arena, TC_NO_MEMORY);
    *c = (chunk){.previous = arena->last, .size = size};
    poison(c + 1, size);
    arena->last = c;
    arena->bytes += size;
    return c;
}

static size_t aligned(const chunk *c, size_t alignment) {
    uintptr_t start = (uintptr_t)(c + 1);
    uintptr_t next = (start + c->used + (c->used > 0 ? GAP : 0) + alignment - 1) & ~(uintptr_t)(alignment - 1);
    return (size_t)(next - start);
}

static size_t bytes_of(tc_arena *arena, size_t count, size_t size) {
    if (size != 0 && count > SIZE_MAX / 4 / size)
        tc_raise(arena, TC_TOO_LARGE);
    return count * size;
}

static size_t alignment_of(size_t wanted) { return wanted >= ALIGNMENT ? ALIGNMENT : sizeof(max_align_t) / 2; }

/* The next bytes of a chunk that has room for them. */
static void *take(chunk *c, size_t wanted) {
    size_t offset = aligned(c, alignment_of(wanted));
    char *memory = (char *)(c + 1) + offset;
    c->used = offset + wanted;
    unpoison(memory, wanted);
    return memory;
}

void *tc_arena_room(tc_arena *arena, size_t count, size_t size) {
    size_t wanted = bytes_of(arena, count, size), alignment = alignment_of(wanted);
    chunk *c = arena->last;
    if (c == NULL || aligned(c, alignment) > c->size || c->size - aligned(c, alignment) < wanted)
        c = new_chunk(arena, wanted, false);
    return take(c, wanted);
}

void *tc_arena_alloc(tc_arena *arena, size_t count, size_t size) {
    size_t wanted = bytes_of(arena, count, size);
    if (wanted >= LARGE)
        return take(new_chunk(arena, wanted, true), wanted);
    return memset(tc_arena_room(arena, count, size), 0, wanted);
}

void *tc_arena_grow(tc_arena *arena, const void *old, size_t old_count, size_t new_count, size_t size) {
    void *memory = tc_arena_alloc(arena, new_count, size);
    if (old_count != 0)
        memcpy(memory, old, old_count * size);
    return memory;
}

char *tc_arena_copy(tc_arena *arena, const char *text, size_t length) {
    char *copy = TC_NEW(arena, char, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *tc_arena_format(tc_arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        tc_raise(arena, TC_INTERNAL);
    char *text = TC_NEW(arena, char, (size_t)length + 1);
    va_start(arguments, format);
    (void)vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

tc_mark tc_arena_mark(tc_arena *arena) {
    if (arena->last == NULL)
        (void)new_chunk(arena, 0, false);
    return (tc_mark){.chunk = arena->last, .used = arena->last->used};
}

void tc_arena_rewind(tc_arena *arena, tc_mark mark) {
    while (arena->last != mark.chunk) {
        chunk *previous = arena->last->previous;
        arena->bytes -= arena->last->size;
        unpoison(arena->last + 1, arena->last->size);
        free(arena->last);
        arena->last = previous;
    }
    poison((char *)(arena->last + 1) + mark.used, arena->last->size - mark.used);
    arena->last->used = mark.used;
}

size_t tc_arena_bytes(const tc_arena *arena) { return arena->bytes; }

void tc_arena_on_free(tc_arena *arena, void (*function)(void *), void *what) {
    tc_escape escape;
    tc_status status = TC_TRY(arena, &escape);
    if (status != TC_OK) {
        tc_escape_end(arena, &escape);
        function(what);
        tc_raise(arena, status);
    }
    release *r = TC_NEW(arena, release, 1);
    tc_escape_end(arena, &escape);
    *r = (release){.next = arena->releases, .function = function, .what = what};
    arena->releases = r;
}

void tc_escape_begin(tc_arena *arena, tc_escape *escape) {
    escape->outer = arena->escape;
    escape->raised = TC_OK;
    arena->escape = escape;
}

void tc_escape_end(tc_arena *arena, tc_escape *escape) { arena->escape = escape->outer; }

void tc_raise(tc_arena *arena, tc_status status) {
    if (arena->escape == NULL) {
        (void)fprintf(stderr, "tacit: %s (no escape set)\n", tc_status_text(status));
        abort();
    }
    arena->escape->raised = status;
    longjmp(arena->escape->target, 1);
}

/* ---- text that grows -----------------------------------------------------------------------------------------------
 */

tc_buffer tc_buffer_new(tc_arena *arena, size_t limit) { return (tc_buffer){.arena = arena, .limit = limit}; }

static char *room(tc_buffer *buffer, size_t more) {
    if (more >= buffer->limit || buffer->length > buffer->limit - more)
        tc_raise(buffer->arena, TC_TOO_LARGE);
    size_t wanted = buffer->length + more + 1;
    if (wanted > buffer->capacity) {
        size_t capacity = buffer->capacity < 128 ? 256 : buffer->capacity * 2;
        if (capacity < wanted)
            capacity = wanted;
        buffer->text = tc_arena_grow(buffer->arena, buffer->text, buffer->length, capacity, 1);
        buffer->capacity = capacity;
    }
    return buffer->text + buffer->length;
}

void tc_buffer_add(tc_buffer *buffer, const char *text, size_t length) {
    char *end = room(buffer, length);
    memcpy(end, text, length);
    end[length] = '\0';
    buffer->length += length;
}

void tc_buffer_puts(tc_buffer *buffer, const char *text) { tc_buffer_add(buffer, text, strlen(text)); }

void tc_buffer_printf(tc_buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        tc_raise(buffer->arena, TC_INTERNAL);
    char *end = room(buffer, (size_t)length);
    va_start(arguments, format);
    (void)vsnprintf(end, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->length += (size_t)length;
}

const char *tc_buffer_text(tc_buffer *buffer) {
    (void)room(buffer, 0);
    buffer->text[buffer->length] = '\0';
    return buffer->text;
}
