/* The command on several ranks, once for each moment at which one rank may be told to stop: told RANK WORDS... lets
 * that rank hear of a signal when it looks for the n-th time, for n = 1, 2, ... until a run ends before; of the moments
 * beyond the 40th every fifth, unless TACIT_LONG is in the environment. A rank that leaves alone waits for a minute,
 * and ends the job. Started by test_told.py.
 *
 * Families of 3,000 members are spread, so that small problems do: four ranks and three blocks. */
#include "base/ranks/ranks.h"
#include "cli/tacit.h"
#include "model/spread.h"
#include "solver/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SMALL = 3000, MOST = 100000, ALL_UNTIL = 40, STRIDE = 5 };

static size_t mine, teller, when, looks;

static bool told(void) { return mine == teller && ++looks >= when; }

void __real_tc_ranks_watch(bool (*told_here)(void));
void __wrap_tc_ranks_watch(bool (*told_here)(void));
tc_known __real_tc_known_rows(size_t rows, bool whole);
tc_known __wrap_tc_known_rows(size_t rows, bool whole);
tc_slater *__real_tc_slater_search(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                   size_t exact_limit, const tc_monitor *monitor);
tc_slater *__wrap_tc_slater_search(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                   size_t exact_limit, const tc_monitor *monitor);

void __wrap_tc_ranks_watch(bool (*told_here)(void)) { __real_tc_ranks_watch(told_here == NULL ? NULL : told); }

tc_known __wrap_tc_known_rows(size_t rows, bool whole) {
    tc_known known = __real_tc_known_rows(rows, whole);
    if (whole || rows <= SMALL || !tc_ranks_several())
        return known;
    known.first = tc_ranks_mine() == 0 ? 0 : tc_known_end_of(rows, tc_ranks_mine() - 1);
    known.end = tc_known_end_of(rows, tc_ranks_mine());
    known.is_spread = true;
    return known;
}

/* As for large problems: the exact search needs all members. */
tc_slater *__wrap_tc_slater_search(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                   size_t exact_limit, const tc_monitor *monitor) {
    return __real_tc_slater_search(arena, model, derivatives, exact_limit < SMALL ? exact_limit : SMALL, monitor);
}

int main(int argc, char **argv) {
    size_t stopped = 0, wrong = 0, stride = getenv("TACIT_LONG") != NULL ? 1 : STRIDE;
    uint64_t is_over = 0;
    tc_ranks_begin(&argc, &argv);
    mine = tc_ranks_mine();
    FILE *report = fdopen(dup(STDOUT_FILENO), "w");
    if (argc < 3 || report == NULL || freopen("/dev/null", "w", stdout) == NULL)
        return 2;
    teller = strtoul(argv[1], NULL, 10);
    for (when = 1; is_over == 0 && when < MOST; when += when < ALL_UNTIL ? 1 : stride) {
        looks = 0;
        if (tc_ranks_prints()) {
            (void)fprintf(report, "%zu\n", when); /* the last line of a test that hangs */
            (void)fflush(report);
        }
        int code = tc_cli_main(argc - 1, argv + 1);
        stopped += code == 3;
        wrong += code != 3 && code > 1;
        is_over = mine == teller && looks < when;
        tc_ranks_sum(&is_over, 1);
    }
    if (tc_ranks_prints())
        (void)fprintf(report, "stopped %zu wrong %zu\n", stopped, wrong);
    (void)fclose(report);
    tc_ranks_end();
    return 0;
}
