#include "analysis/lipschitz/climb.h"

double tc_climb(const tc_interval *ranges, size_t count, double *x, double best, double goal, size_t budget,
                tc_score score, void *context) {
    bool moved = true;
    while (moved && best < goal) {
        moved = false;
        for (size_t i = 0; i < count && best < goal; i++) {
            double kept = x[i], choices[] = {ranges[i].lo, ranges[i].hi, ranges[i].lo / 2 + ranges[i].hi / 2};
            for (size_t c = 0; c < 3; c++) {
                if (choices[c] == kept)
                    continue;
                if (budget-- == 0)
                    return best;
                x[i] = choices[c];
                double found = score(context, x);
                if (found > best) {
                    moved = true;
                    best = found;
                    kept = choices[c];
                }
            }
            x[i] = kept;
        }
    }
    return best;
}
