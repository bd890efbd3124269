/* `tacit` whose `run` goes round by round and writes x and mu of every round, with all digits, into the file that
 * $TACIT_TRAJECTORY names; for tests/serve/test_same_bits.py. Lines of words with tabs:
 *
 *     coordinates NAME...
 *     x K NUMBER...       x(K), by coordinate
 *     mu K NUMBER...      mu(K+1), after round K
 *
 * The linker puts the function below between the command and its engine (--wrap). */
#include "engine/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* NOLINTBEGIN: names that the linker asks for */
tc_status __real_tc_engine_advance(tc_engine *engine, uint64_t rounds, const tc_monitor *monitor,
                                   tc_engine_outcome *outcome);
tc_status __wrap_tc_engine_advance(tc_engine *engine, uint64_t rounds, const tc_monitor *monitor,
                                   tc_engine_outcome *outcome);

static FILE *out;

static void write_row(const char *word, uint64_t k, const double *numbers, size_t count) {
    (void)fprintf(out, "%s\t%" PRIu64, word, k);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(out, "\t%.17g", numbers[i]);
    (void)fputc('\n', out);
}

static void begin(const tc_engine *engine) {
    const char *path = getenv("TACIT_TRAJECTORY");
    out = path == NULL ? NULL : fopen(path, "we");
    if (out == NULL) {
        (void)fprintf(stderr, "TACIT_TRAJECTORY names no file that can be written\n");
        exit(3);
    }
    tc_arena *arena = tc_arena_new(0);
    tc_buffer names = tc_buffer_new(arena, 1 << 28);
    for (size_t i = 0; i < engine->model->state_count; i++) {
        tc_buffer_puts(&names, "\t");
        tc_coord_name(&names, engine->model, i);
    }
    (void)fprintf(out, "coordinates%s\n", tc_buffer_text(&names));
    tc_arena_free(arena);
    write_row("x", 1, tc_engine_states(engine), engine->model->state_count);
}

tc_status __wrap_tc_engine_advance(tc_engine *engine, uint64_t rounds, const tc_monitor *monitor,
                                   tc_engine_outcome *outcome) {
    tc_status status = TC_OK;
    if (out == NULL)
        begin(engine);
    *outcome = TC_ENGINE_DONE;
    for (uint64_t k = tc_engine_rounds(engine) + 1; k <= rounds && status == TC_OK && *outcome == TC_ENGINE_DONE; k++) {
        status = __real_tc_engine_advance(engine, k, monitor, outcome);
        write_row("x", k + 1, tc_engine_states(engine), engine->model->state_count);
        write_row("mu", k, tc_engine_multipliers(engine), engine->model->constraint_count);
    }
    (void)fflush(out);
    return status;
}
/* NOLINTEND */
