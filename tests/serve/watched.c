/* `tacit` that counts who draws: calls of the functions that a draw or a key goes through, by the thread of the loop
 * and by others, written into the file that $TACIT_WATCHED names; for tests/serve/test_draws.py. */
#include "noise/drawing.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void begin_watch(void) { begin_drawing(); }

__attribute__((destructor)) static void end_watch(void) {
    const char *path = getenv("TACIT_WATCHED");
    FILE *file = path == NULL ? NULL : fopen(path, "we");
    if (file == NULL)
        return;
    (void)fprintf(file, "%lu %lu\n", atomic_load(&drawn.by_loop), atomic_load(&drawn.others));
    (void)fclose(file);
}
