/* bench_load [PROBLEM]: a million agents whose data are arrays of this program, of 2 and of 24 columns, in the four
 * layouts that arrays have. Making the problem is compared with copying the same numbers into fresh memory, in turn,
 * and the median of the turns' ratios counts. Fails where one is beyond its limit. PROBLEM has its data in a file;
 * loading it is timed for information. */
#include "setup.h"

#include <tacit/tacit.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AGENTS = 1000000, TURNS = 15, FILE_TURNS = 3, LAYOUTS = 4, MOST_WIDTH = 24, MORE = 3 };

static const double most_of_copy = 2;

static const char *const layout_names[LAYOUTS] = {
    "an array for each column",
    "one array, row by row",
    "one array, column by column",
    "records with other numbers between",
};

static void *room(size_t numbers) {
    double *memory = malloc(numbers * sizeof *memory);
    if (memory == NULL)
        bench_fail("no memory");
    return memory;
}

/* ---- A problem from arrays ---- */

typedef struct layout {
    double *arrays[MOST_WIDTH];
    size_t array_count;
    char names[MOST_WIDTH][16];
    tacit_column columns[MOST_WIDTH];
    tacit_table table;
} layout;

static double datum(size_t row, size_t component) { return (double)((row * 31 + component * 17) % 1009) / 1009; }

static void fill(layout *of, size_t kind, size_t width) {
    size_t per_row = kind == 0 ? 1 : kind == 3 ? width + MORE : width;
    bool by_columns = kind == 0 || kind == 2;
    size_t row_stride = by_columns ? 1 : per_row, component_stride = by_columns ? AGENTS : 1;
    *of = (layout){.array_count = kind == 0 ? width : 1};
    for (size_t a = 0; a < of->array_count; a++)
        of->arrays[a] = room(per_row * AGENTS);
    for (size_t row = 0; row < AGENTS; row++)
        for (size_t c = 0; c < width; c++) {
            double *array = of->arrays[kind == 0 ? c : 0];
            array[row * row_stride + (kind == 0 ? 0 : c * component_stride)] = datum(row, c);
        }
    of->table = (tacit_table){.name = "units", .rows = AGENTS, .columns = of->columns};
    of->table.column_count = of->array_count;
    for (size_t a = 0; a < of->array_count; a++) {
        (void)snprintf(of->names[a], sizeof of->names[a], "want_%zu", a + 1);
        of->columns[a] = (tacit_column){.name = kind == 0 ? of->names[a] : "want",
                                        .values = of->arrays[a],
                                        .components = kind == 0 ? 1 : width,
                                        .row_stride = row_stride,
                                        .component_stride = component_stride};
    }
}

static double time_making(const tacit_source *source) {
    tacit_problem *problem;
    char *message = NULL;
    double began = bench_own_seconds();
    tacit_status status = tacit_problem_make(source, &problem, &message);
    double seconds = bench_own_seconds() - began;
    if (status != TACIT_OK || tacit_problem_agents(problem) != AGENTS)
        bench_fail(message == NULL ? "the problem was not made" : message);
    tacit_problem_free(problem);
    return seconds;
}

static double time_copying(const double *numbers, size_t count) {
    double began = bench_own_seconds();
    double *copy = room(count);
    memcpy(copy, numbers, count * sizeof *copy);
    __asm__ volatile("" ::"r"(copy) : "memory");
    double seconds = bench_own_seconds() - began;
    free(copy);
    return seconds;
}

/* ---- Turns ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

static bool bench_width(size_t width, double *copied) {
    static layout layouts[LAYOUTS];
    static double ratios[LAYOUTS][TURNS], copies[TURNS];
    char text[1024];
    int length = snprintf(text, sizeof text,
                          "data units = given\n"
                          "agents unit over units { state x[%zu] in [0, 1]; private minimize sumsq(x - want) }\n"
                          "constraint limit[j in 1..10]: sum(unit: x[1]^2 + j * x[2]) <= (0.1 + 0.3 * j) * %d\n"
                          "dual radius 100\n",
                          width, AGENTS);
    for (size_t kind = 0; kind < LAYOUTS; kind++)
        fill(&layouts[kind], kind, width);
    for (size_t turn = 0; turn <= TURNS; turn++) {
        double copy = time_copying(layouts[1].arrays[0], width * AGENTS);
        for (size_t kind = 0; kind < LAYOUTS; kind++) {
            double seconds = time_making(&(tacit_source){.size = sizeof(tacit_source),
                                                         .text = text,
                                                         .length = (size_t)length,
                                                         .tables = &layouts[kind].table,
                                                         .table_count = 1});
            if (turn > 0) /* the first warms up */
                ratios[kind][turn - 1] = seconds / copy;
        }
        if (turn > 0)
            copies[turn - 1] = copy;
    }
    bool good = true;
    *copied = median(copies, TURNS);
    printf("%d agents, %zu columns: copying the numbers takes %.1f ms\n", AGENTS, width, *copied * 1e3);
    for (size_t kind = 0; kind < LAYOUTS; kind++) {
        double ratio = median(ratios[kind], TURNS);
        printf("  making the problem from %s: %.2f times that (limit %.1f)\n", layout_names[kind], ratio, most_of_copy);
        good = good && ratio <= most_of_copy;
        for (size_t a = 0; a < layouts[kind].array_count; a++)
            free(layouts[kind].arrays[a]);
    }
    return good;
}

static void bench_file(const char *path, double copied) {
    double seconds[FILE_TURNS];
    for (size_t turn = 0; turn < FILE_TURNS; turn++)
        seconds[turn] = time_making(&(tacit_source){.size = sizeof(tacit_source), .path = path});
    double middle = median(seconds, FILE_TURNS);
    printf("  the same from a CSV file, for information: %.0f ms, %.0f times that\n", middle * 1e3, middle / copied);
}

int main(int argc, char **argv) {
    double copied;
    if (argc > 2 || mallopt(M_MMAP_THRESHOLD, 1 << 20) == 0) /* large pieces are new memory, given back when freed */
        return 2;
    bool good = bench_width(2, &copied);
    if (argc == 2)
        bench_file(argv[1], copied);
    return bench_width(MOST_WIDTH, &copied) && good ? 0 : 1;
}
