/* Two searches: min f_i over X_i for all members of a family, and a Slater point. */
#ifndef TC_SOLVER_SEARCH_H
#define TC_SOLVER_SEARCH_H

#include "base/status.h"
#include "calculus/derivatives.h"

typedef struct tc_minimum {
    double sum;        /* of the minima */
    double error;      /* the sum is above the truth by at most about this (from first-order certificates) */
    size_t inaccurate; /* members whose certificate is worse than 1e-9 of their objective's range */
    bool interrupted;
} tc_minimum;

/* minima: one per member, and points: by component like the states, each may be NULL. Members are streamed; memory
 * does not depend on their number. Every X_i must be non-empty. threads: how many may work; no bit depends on it. */
tc_minimum tc_minimum_of_family(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                                const tc_family *family, size_t threads, const tc_monitor *monitor, double *minima,
                                double *points);

/* A Slater point: xbar in X with g_j(xbar) < 0 for all inequalities but constant rows, with as large a margin min_j
 * -g_j(xbar) as is found, and g_j(xbar) = 0, to rounding, for all equalities. */
#define TC_SLATER_OUTCOMES(X)                                                                                          \
    X(TC_SLATER_FOUND, "found", "the point satisfies all constraints strictly")                                        \
    X(TC_SLATER_NONE, "none", "no point satisfies all constraints strictly: the best margin is not positive")          \
    X(TC_SLATER_NOT_FOUND, "not_found", "the search ended without a strictly feasible point")                          \
    X(TC_SLATER_EMPTY_SET, "empty_set", "an agent's set is empty")                                                     \
    X(TC_SLATER_INTERRUPTED, "interrupted", "stopped on request; this is the best so far")

typedef enum tc_slater_outcome {
#define X(code, name, text) code,
    TC_SLATER_OUTCOMES(X)
#undef X
} tc_slater_outcome;

typedef struct tc_slater {
    tc_slater_outcome outcome;
    double *point;      /* state_count, by coordinate, in X; NULL for an empty set */
    double margin;      /* min_j -g_j(point); INFINITY without inequalities; -INFINITY if an equality is missed */
    size_t worst;       /* the constraint that decides it */
    double missed;      /* the largest |g_j(point)| of the equalities, 0 without; is_shown: of all in conflict */
    bool is_shown;      /* NONE: constraints that cannot be satisfied together in X are marked in conflict */
    bool *conflict;     /* constraint_count */
    bool *held;         /* is_shown, by agent: its set, not its box alone, takes part in that */
    double objective;   /* f(point); 0 where files have no objectives */
    bool is_declared;   /* it is the problem's own `slater` point */
    bool is_largest;    /* the margin is the largest there is, to rounding */
    size_t empty_agent; /* number of the agent whose set is empty */
} tc_slater;

/* Cheap candidates and gradient steps for any size; the exact largest margin where there are at most `exact_limit`
 * states (50,000 is a good value). Needs memory for a few points when large. */
tc_slater *tc_slater_search(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                            size_t exact_limit, const tc_monitor *monitor);

/* A point inside X that satisfies the equalities to rounding and the inequalities strictly, away from all bounds.
 * False where none was found. There must be constraints. */
bool tc_inner_point(tc_arena *arena, const tc_model *model, const tc_derivatives *derivatives,
                    const tc_monitor *monitor, double *x);

#endif
