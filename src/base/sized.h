/* Structs whose first member is their size, of programs that may be older or newer than the library. */
#ifndef TC_BASE_SIZED_H
#define TC_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { TC_SIZED_MOST = 1 << 16 }; /* no struct is larger */

/* Copies such a struct. False if it is smaller than least, its first version, or sets members that this version does
 * not know. */
static inline bool tc_copy_sized(void *to, size_t room, size_t least, const void *from) {
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size < least || size > TC_SIZED_MOST)
        return false;
    const unsigned char *bytes = from;
    for (size_t i = room; i < size; i++)
        if (bytes[i] != 0)
            return false;
    memset(to, 0, room);
    memcpy(to, from, size < room ? size : room);
    return true;
}

/* Fills the caller's struct with as much of facts as it has room for; its size stays. False if it is smaller than
 * least.
 */
static inline bool tc_fill_sized(void *to, size_t least, const void *facts, size_t known) {
    size_t size;
    memcpy(&size, to, sizeof size);
    if (size < least || size > TC_SIZED_MOST)
        return false;
    unsigned char *bytes = to;
    memset(bytes + sizeof size, 0, size - sizeof size);
    memcpy(bytes + sizeof size, (const unsigned char *)facts + sizeof size,
           (size < known ? size : known) - sizeof size);
    return true;
}

/* As tacit_..._default does. */
static inline void tc_default_sized(void *to, size_t size, const void *standard, size_t known) {
    if (to == NULL || size < sizeof size || size > TC_SIZED_MOST)
        return;
    memset(to, 0, size);
    memcpy(to, standard, size < known ? size : known);
    memcpy(to, &size, sizeof size);
}

#endif
