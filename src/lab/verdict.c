/* What a sweep says about the claim that the penalty is proportional to epsilon^-2, in sentences. */
#include "lab/sweep.h"

#include <math.h>

static void say(tc_sweep *sweep, const char *sentence) { sweep->verdict[sweep->verdict_count++] = sentence; }

static double percent_bias(const tc_sweep_point *point) { return 100 * fmax(0, point->bias) / point->penalty; }

static const char *why_flatter(tc_arena *arena, const tc_sweep_point *low) {
    double percent = 100 * low->share_of_box;
    if (percent >= 1)
        return tc_arena_format(arena,
                               "At %.4g noise has moved x by %.2g %% of the squared diameter of the public box, which "
                               "is bounded: projections cut large noise off.",
                               low->epsilon, percent);
    return tc_arena_format(arena,
                           "At %.4g noise has moved x by no more than %.2g %% of the squared diameter of the public "
                           "box, so it is not the box's size that bounds it; the projection onto mu >= 0, or sets "
                           "smaller than the box, can.",
                           low->epsilon, percent);
}

static const char *why_steeper(tc_arena *arena, const tc_sweep_point *low, const tc_sweep_point *high) {
    const char *law = "A bias that grows with the variance of the noise does that, since its square goes like "
                      "epsilon^-4, and so does noise that multiplies multipliers which noise has made large.";
    if (isnan(low->bias) || isnan(high->bias))
        return law;
    return tc_arena_format(arena,
                           "The mean of the runs is off, by %.0f %% of the penalty at %.4g and %.0f %% at %.4g. %s",
                           percent_bias(low), low->epsilon, percent_bias(high), high->epsilon, law);
}

/* Only what the figures show is stated as fact; what can do such a thing is named as that. */
static const char *about_stretch(tc_arena *arena, const tc_sweep *sweep, size_t first, size_t last) {
    const tc_sweep_point *low = &sweep->points[first], *high = &sweep->points[last];
    const char *where = tc_arena_format(arena, "From epsilon %.4g to %.4g", low->epsilon, high->epsilon);
    switch (sweep->local[first].bend) {
    case TC_BEND_NONE:
        if (first != sweep->agreeing_first || last != sweep->agreeing_last)
            return tc_arena_format(arena, "%s the points agree with epsilon^-2.", where);
        return tc_arena_format(arena,
                               tc_slope_allows(&sweep->agreeing, -2)
                                   ? "%s the points agree with epsilon^-2: by themselves they go like epsilon^%.3f, "
                                     "interval %.3f to %.3f."
                                   : "%s no two neighbours contradict epsilon^-2, but together the points do: they go "
                                     "like epsilon^%.3f, interval %.3f to %.3f.",
                               where, sweep->agreeing.slope, sweep->agreeing.low, sweep->agreeing.high);
    case TC_BEND_FLATTER:
        return tc_arena_format(arena, "%s the penalty falls more slowly than epsilon^-2. %s", where,
                               why_flatter(arena, low));
    case TC_BEND_STEEPER:
        return tc_arena_format(arena, "%s the penalty falls faster than epsilon^-2. %s", where,
                               why_steeper(arena, low, high));
    case TC_BEND_UNKNOWN:
        return tc_arena_format(arena, "%s there are too few runs to say.", where);
    }
    return "";
}

static void about_claim(tc_arena *arena, tc_sweep *sweep) {
    const tc_slope *slope = &sweep->slope;
    if (isnan(slope->slope)) {
        say(sweep, "No slope can be fitted: fewer than two epsilons have runs that noise has moved.");
        return;
    }
    if (sweep->bent) {
        say(sweep, tc_arena_format(arena,
                                   "Over all points the penalty goes like epsilon^%.3f on average; no interval: the "
                                   "points are not on a line, and so not in agreement with the claim of epsilon^-2 "
                                   "everywhere.",
                                   slope->slope));
        return;
    }
    if (isnan(slope->low)) {
        say(sweep, tc_arena_format(arena,
                                   "Over all points the penalty goes like epsilon^%.3f. One run for each epsilon says "
                                   "nothing about how sure that is: ask for more seeds.",
                                   slope->slope));
        return;
    }
    bool agrees = tc_slope_allows(slope, -2), bends = false;
    for (size_t e = 0; e + 1 < sweep->point_count; e++)
        bends = bends || sweep->local[e].bend == TC_BEND_FLATTER || sweep->local[e].bend == TC_BEND_STEEPER;
    say(sweep,
        tc_arena_format(arena, "Over all points the penalty goes like epsilon^%.3f, 95 %% interval %.3f to %.3f: %s.",
                        slope->slope, slope->low, slope->high,
                        !agrees ? "not in agreement with the claim of epsilon^-2"
                        : bends ? "on average in agreement with the claim of epsilon^-2, but not everywhere"
                                : "in agreement with the claim of epsilon^-2"));
}

/* A bootstrap of a few values cannot look beyond them. */
static void about_seeds(tc_arena *arena, tc_sweep *sweep) {
    enum { FEW = 10 };
    if (sweep->seeds > 1 && sweep->seeds < FEW)
        say(sweep,
            tc_arena_format(arena, "Intervals from %zu seeds are rough: ask for %d or more.", sweep->seeds, FEW));
}

static void about_losses(tc_arena *arena, tc_sweep *sweep) {
    size_t diverged = 0, missing = 0;
    for (size_t e = 0; e < sweep->point_count; e++) {
        diverged += sweep->points[e].diverged;
        missing += sweep->seeds - sweep->points[e].runs - sweep->points[e].diverged;
    }
    if (diverged > 0)
        say(sweep,
            tc_arena_format(arena, "%zu of %zu runs diverged and are left out: the penalty is larger than shown.",
                            diverged, sweep->seeds * sweep->point_count));
    if (missing > 0)
        say(sweep, tc_arena_format(arena, "%zu of %zu runs were stopped and are left out.", missing,
                                   sweep->seeds * sweep->point_count));
}

void tc_sweep_say(tc_arena *arena, tc_sweep *sweep) {
    size_t pairs = sweep->point_count > 0 ? sweep->point_count - 1 : 0;
    sweep->verdict = TC_NEW(arena, const char *, pairs + 5);
    sweep->verdict_count = 0;
    if (sweep->without_noise->outcome == TC_ENGINE_DIVERGED) {
        say(sweep, tc_arena_format(arena, "Even without noise the run diverged (%s): smaller steps are needed.",
                                   sweep->without_noise->reason));
        return;
    }
    about_claim(arena, sweep);
    for (size_t first = 0, last; first < pairs; first = last) {
        for (last = first + 1; last < pairs && sweep->local[last].bend == sweep->local[first].bend; last++)
            continue;
        if (sweep->local[first].bend != TC_BEND_UNKNOWN || pairs > 1)
            say(sweep, about_stretch(arena, sweep, first, last));
    }
    about_seeds(arena, sweep);
    about_losses(arena, sweep);
}
