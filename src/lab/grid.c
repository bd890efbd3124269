#include "lab/lab.h"

#include <math.h>
#include <stdlib.h>

static uint64_t *every_round(tc_arena *arena, uint64_t rounds, size_t *count) {
    uint64_t *grid = TC_NEW(arena, uint64_t, rounds + 1);
    for (uint64_t k = 0; k <= rounds; k++)
        grid[k] = k;
    *count = rounds + 1;
    return grid;
}

static int by_round(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* 1, 2, 5, 10, 20, 50, ... are in every grid: what is printed is part of what is traced. */
uint64_t *tc_grid(tc_arena *arena, uint64_t rounds, unsigned per_decade, size_t *count) {
    static const uint64_t round_numbers[] = {1, 2, 5};
    if (per_decade == 0)
        return every_round(arena, rounds, count);
    unsigned extra = per_decade > 3 ? per_decade : 0;
    double decades = rounds > 0 ? log10((double)rounds) : 0;
    uint64_t *grid = TC_NEW(arena, uint64_t, (size_t)((extra + 3) * (decades + 1)) + 8);
    size_t used = 1; /* round 0 */
    grid[used++] = rounds / 2;
    grid[used++] = rounds;
    for (uint64_t power = 1; power < rounds && power < UINT64_C(1) << 58; power *= 10)
        for (size_t i = 0; i < 3 && power * round_numbers[i] < rounds; i++)
            grid[used++] = power * round_numbers[i];
    for (unsigned i = 0; extra > 0; i++) {
        double power = round(pow(10, (double)i / extra));
        if (!(power < (double)rounds))
            break;
        grid[used++] = (uint64_t)power;
    }
    qsort(grid, used, sizeof *grid, by_round);
    *count = 1;
    for (size_t i = 1; i < used; i++) {
        if (grid[i] != grid[*count - 1])
            grid[(*count)++] = grid[i];
    }
    return grid;
}
