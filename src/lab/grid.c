#include "lab/lab.h"

#include <math.h>

static uint64_t *every_round(tc_arena *arena, uint64_t rounds, size_t *count) {
    uint64_t *grid = TC_NEW(arena, uint64_t, rounds + 1);
    for (uint64_t k = 0; k <= rounds; k++)
        grid[k] = k;
    *count = rounds + 1;
    return grid;
}

static void add(uint64_t *grid, size_t *count, uint64_t k) {
    if (grid[*count - 1] < k)
        grid[(*count)++] = k;
}

/* 1, 2, 5, 10, ... for three to a decade; they are in every grid that has a multiple of three. */
uint64_t *tc_grid(tc_arena *arena, uint64_t rounds, unsigned per_decade, size_t *count) {
    if (per_decade == 0)
        return every_round(arena, rounds, count);
    double decades = rounds > 0 ? log10((double)rounds) : 0;
    uint64_t *grid = TC_NEW(arena, uint64_t, (size_t)(per_decade * (decades + 1)) + 8);
    const uint64_t half = rounds / 2;
    *count = 1; /* round 0 */
    for (unsigned i = 0;; i++) {
        double power = round(pow(10, (double)i / per_decade));
        if (!(power < (double)rounds))
            break;
        if (grid[*count - 1] < half && half < (uint64_t)power)
            add(grid, count, half);
        add(grid, count, (uint64_t)power);
    }
    add(grid, count, half);
    add(grid, count, rounds);
    return grid;
}
