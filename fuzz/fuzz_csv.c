/* Any bytes as a table and as a matrix: finite numbers of the promised count, or an error. */
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
    tc_source problem = {"fuzz.tacit", "csv", 3};
    tc_diagnostics diagnostics = {arena, &problem, messages, 0};
    tc_csv_source source = {.path = "fuzz.csv", .text = (const char *)data, .length = size};
    const tc_table *table = tc_csv_table(arena, &diagnostics, &source);
    if ((table == NULL) != (diagnostics.errors > 0))
        abort();
    for (size_t c = 0; table != NULL && c < table->value_count; c++)
        must_be_finite(table->values[c], table->rows);
    for (size_t c = 0; table != NULL && c < table->column_count && diagnostics.errors == 0; c++) {
        if (tc_column_has_numbers(&diagnostics, &table->columns[c]) != (diagnostics.errors == 0))
            abort();
    }
    double *numbers;
    size_t rows, columns, before = diagnostics.errors;
    bool good = tc_csv_matrix(arena, &diagnostics, &source, &numbers, &rows, &columns);
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
