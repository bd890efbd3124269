/* Assumptions 1 and 3: objectives and constraints are convex and smooth. */
#ifndef TC_ANALYSIS_JUDGE_H
#define TC_ANALYSIS_JUDGE_H

#include "analysis/analysis.h"
#include "analysis/convexity/curvature.h"
#include "analysis/convexity/smooth.h"
#include "base/monitor.h"
#include "solver/project/set.h"

/* A function of one member of a family, judged for all members: over the hull of all first, then one by one. */
typedef struct tc_member_judge {
    tc_prover *prover;
    const tc_family *family;
    tc_batch *batch;
    tc_set *set; /* NULL: over the public box, not the bounding box of X_i */
    double *lower, *upper;
    const tc_monitor *monitor;
    tc_interval *hull; /* of all members: states, then data; NULL until it is needed */
    bool strict;       /* only the wanted curvature will do; else either, as long as it is the same for all */
} tc_member_judge;

typedef struct tc_member_verdict {
    bool convex, concave; /* for all members */
    bool interrupted;
    bool whole;    /* what failed was judged for the hull of all members (they are alike, or there is one) */
    size_t member; /* else: the first where neither holds, or where the wanted curvature fails */
    tc_flaw flaw;
    tc_curvature found; /* at that member */
} tc_member_verdict;

tc_member_judge *tc_member_judge_new(tc_prover *prover, const tc_family *family, bool private_sets,
                                     const tc_monitor *monitor);
/* Leaves the prover at the place of the failure, ready for blame and refutation. */
tc_member_verdict tc_judge_members(tc_member_judge *judge, const tc_cone *cone, tc_curvature want);

void tc_judge_objectives(tc_prover *prover, tc_assumption *assumption, const tc_monitor *monitor);
/* coords, sums: enclosures of the outer inputs over the box. */
void tc_judge_constraints(tc_prover *prover, const tc_derivatives *derivatives, tc_interval *coords, tc_interval *sums,
                          tc_assumption *assumption, const tc_monitor *monitor);

/* Findings. */
void tc_report_flaw(tc_prover *prover, tc_assumption *assumption, const char *whose, const tc_flaw *flaw,
                    tc_span fallback, bool exact);
/* whose: "the objective of home[3]". refutable: a counterexample of root is one of the whole function. */
void tc_report_curvature(tc_prover *prover, tc_assumption *assumption, const char *whose, tc_expr root,
                         tc_span fallback, bool refutable);

#endif
