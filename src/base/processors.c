/* Which processors a process may use is not in POSIX. */
#define _GNU_SOURCE
#include "base/team.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

enum { FIRST_GUESS = 1024, MOST_PROCESSORS = 1 << 20 };

/* 0 where the system does not say. */
static size_t allowed_processors(void) {
    for (size_t room = FIRST_GUESS; room <= MOST_PROCESSORS; room *= 2) {
        cpu_set_t *set = CPU_ALLOC(room);
        if (set == NULL)
            return 0;
        size_t size = CPU_ALLOC_SIZE(room);
        bool known = sched_getaffinity(0, size, set) == 0;
        bool too_small = !known && errno == EINVAL;
        size_t count = known ? (size_t)CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (!too_small)
            return count;
    }
    return 0;
}

size_t tc_processors(void) {
    size_t allowed = allowed_processors();
    if (allowed > 0)
        return allowed;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}
