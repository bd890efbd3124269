/* Any bytes as a .npy file, of a table and of a matrix: finite numbers of the promised count, or an error. */
#include "model/csv.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_finite(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            abort();
    }
}

static void read_all(tc_arena *arena, tc_buffer *messages, const uint8_t *data, size_t size) {
    tc_source problem = {"fuzz.tacit", "npy", 3};
    tc_diagnostics diagnostics = {arena, &problem, messages, 0};
    tc_csv_source source = {.path = "fuzz.npy", .text = (const char *)data, .length = size};
    const tc_table *table = tc_npy_table(arena, &diagnostics, &source);
    if ((table == NULL) != (diagnostics.errors > 0))
        abort();
    for (size_t c = 0; table != NULL && c < table->value_count; c++)
        must_be_finite(table->values[c], table->rows);
    double *numbers;
    size_t rows, columns, before = diagnostics.errors;
    bool good = tc_npy_matrix(arena, &diagnostics, &source, &numbers, &rows, &columns);
    if (good != (diagnostics.errors == before))
        abort();
    if (good)
        must_be_finite(numbers, rows * columns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tc_arena *arena = tc_arena_new((size_t)64 << 20);
    if (arena == NULL)
        return 0;
    tc_buffer messages = tc_buffer_new(arena, 1 << 20);
    tc_escape escape;
    if (TC_TRY(arena, &escape) == TC_OK)
        read_all(arena, &messages, data, size);
    tc_escape_end(arena, &escape);
    tc_arena_free(arena);
    return 0;
}
