/* What it takes ranks to add up numbers, by MPI: bench_ranks prints a line for each count, "numbers seconds", of one
 * call of tc_ranks_sum, the least of some turns. Started by mpirun (bench/scale_ranks.py). */
#include "base/machine.h"
#include "base/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>

enum { TURNS = 20, CALLS = 20 };

static double turn(uint64_t *numbers, size_t count) {
    tc_ranks_barrier();
    double began = tc_seconds();
    for (int i = 0; i < CALLS; i++)
        tc_ranks_sum(numbers, count);
    return (tc_seconds() - began) / CALLS;
}

int main(int argc, char **argv) {
    static const size_t counts[] = {1, 100, 10000, 100000};
    uint64_t *numbers = calloc(counts[3], sizeof *numbers);
    if (numbers == NULL)
        return 3;
    tc_ranks_begin(&argc, &argv);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        double least = turn(numbers, counts[c]);
        for (int i = 0; i < TURNS; i++) {
            double took = turn(numbers, counts[c]);
            least = took < least ? took : least;
        }
        if (tc_ranks_prints())
            (void)printf("%zu %.9f\n", counts[c], least);
    }
    tc_ranks_end();
    free(numbers);
    return 0;
}
