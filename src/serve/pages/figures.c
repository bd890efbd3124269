#include "serve/pages/figures.h"

const double tc_commit_bounds[TC_COMMIT_BUCKETS - 1] = {0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002,
                                                        0.005,   0.01,   0.05,   0.25,   1};

const char *tc_phase_name(tc_phase phase) {
    static const char *const names[] = {
#define X(code, name) [code] = name,
        TC_PHASES(X)
#undef X
    };
    return names[phase];
}

void tc_figures_commit(tc_figures *figures, double seconds) {
    size_t bucket = 0;
    while (bucket < TC_COMMIT_BUCKETS - 1 && seconds > tc_commit_bounds[bucket])
        bucket++;
    figures->commits[bucket]++;
    figures->commit_seconds += seconds;
}
