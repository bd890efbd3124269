/* What ranks tell each other of an estimator, so that all of them go on with the same numbers: totals by block, what is
 * observed one by one, and columns by bite. All of it is made of released numbers. A double goes as its bits from the
 * rank that holds its members; the others add zero. */
#include "engine/tacit/estimator_inside.h"

#include "base/ranks/ranks.h"

#include <string.h>

void tc_estimator_share_new(tc_arena *arena, tc_estimator *estimator) {
    size_t totals = estimator->takes_forms ? 0 : 2 * estimator->observed_count;
    size_t columns = estimator->bite_count + 2 * tc_ranks_count();
    if (!tc_ranks_several())
        return;
    for (size_t f = 0; f < estimator->model->family_count; f++)
        totals += estimator->families[f].block_count * estimator->families[f].total_count;
    estimator->shared_totals = totals;
    estimator->shared = TC_NEW(arena, uint64_t, totals > columns ? totals : columns);
    if (estimator->takes_forms)
        return;
    estimator->observed_here = TC_NEW(arena, bool, estimator->observed_count);
    for (size_t i = 0; i < estimator->observed_count; i++) {
        const tc_family *family = tc_family_of_coord(estimator->model, estimator->observed[i]);
        estimator->observed_here[i] = tc_holds(family, (estimator->observed[i] - family->first_coord) % family->count);
    }
}

/* From the arrays to `shared`, this rank's part alone; or back, all of it. */
static void move_totals(tc_estimator *estimator, bool takes) {
    uint64_t *next = estimator->shared;
    for (size_t f = 0; f < estimator->model->family_count; f++) {
        const tc_estimator_family *of = &estimator->families[f];
        size_t first = takes ? 0 : of->family->held_first / TC_RELEASE_BLOCK;
        size_t end = takes ? of->block_count : (of->family->held_end + TC_RELEASE_BLOCK - 1) / TC_RELEASE_BLOCK;
        double *partials = of->partials + first * of->total_count;
        uint64_t *place = next + first * of->total_count;
        size_t bytes = end > first ? (end - first) * of->total_count * sizeof *place : 0;
        if (bytes > 0 && takes)
            memcpy(partials, place, bytes);
        else if (bytes > 0)
            memcpy(place, partials, bytes);
        next += of->block_count * of->total_count;
    }
    for (size_t i = 0; i < estimator->observed_count; i++, next += 2)
        if (takes) {
            memcpy(&estimator->y[i], next, sizeof *next);
            memcpy(&estimator->r[i], next + 1, sizeof *next);
        } else if (estimator->observed_here[i]) {
            memcpy(next, &estimator->y[i], sizeof *next);
            memcpy(next + 1, &estimator->r[i], sizeof *next);
        }
}

void tc_estimator_share_totals(tc_estimator *estimator) {
    if (estimator->shared == NULL || estimator->takes_forms)
        return;
    memset(estimator->shared, 0, estimator->shared_totals * sizeof *estimator->shared);
    move_totals(estimator, false);
    tc_ranks_sum(estimator->shared, estimator->shared_totals);
    move_totals(estimator, true);
}

static double larger(double a, double b) { return a > b ? a : b; }

/* The largest are shared as one number of each rank; what is added up in order as one of each bite. */
void tc_estimator_share_columns(tc_estimator *estimator, tc_columns *most) {
    size_t bites = estimator->bite_count, ranks = tc_ranks_count();
    uint64_t *noise = estimator->shared;
    if (noise == NULL)
        return;
    uint64_t *own = noise + bites + 2 * tc_ranks_mine();
    memset(estimator->shared, 0, (bites + 2 * ranks) * sizeof *estimator->shared);
    for (size_t f = 0; f < estimator->model->family_count; f++) {
        const tc_estimator_family *of = &estimator->families[f];
        for (size_t k = of->family->held_first; k < of->family->held_end; k += TC_ESTIMATOR_BITE) {
            size_t bite = of->first_bite + k / TC_ESTIMATOR_BITE;
            memcpy(&noise[bite], &estimator->bite_columns[bite].noise, sizeof *noise);
        }
    }
    memcpy(own, &most->reach, sizeof *own);
    memcpy(own + 1, &most->curvature, sizeof *own);
    tc_ranks_sum(estimator->shared, bites + 2 * ranks);
    for (size_t r = 0; r < ranks; r++) {
        double of_rank[2];
        memcpy(of_rank, noise + bites + 2 * r, sizeof of_rank);
        most->reach = larger(of_rank[0], most->reach);
        most->curvature = larger(of_rank[1], most->curvature);
    }
    for (size_t i = 0; i < bites; i++)
        memcpy(&estimator->bite_columns[i].noise, &noise[i], sizeof *noise);
}
