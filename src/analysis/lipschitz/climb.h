/* Search for a point of the box with a large score: coordinate by coordinate, each at its lower end, upper end or
 * middle. A search, not a proof: any point gives a valid lower bound, a better one a better bound. */
#ifndef TC_ANALYSIS_CLIMB_H
#define TC_ANALYSIS_CLIMB_H

#include "calculus/interval/interval.h"

typedef double (*tc_score)(void *context, const double *x);

/* Improves x (whose score is `best`) within count ranges, until no single move helps, the score reaches `goal`, or
 * `budget` scores were taken. Returns the best score. */
double tc_climb(const tc_interval *ranges, size_t count, double *x, double best, double goal, size_t budget,
                tc_score score, void *context);

#endif
