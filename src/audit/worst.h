/* Two adjacent states that a release should find hardest to make alike. A search: any pair gives a valid test, a worse
 * one a sharper test. */
#ifndef TC_AUDIT_WORST_H
#define TC_AUDIT_WORST_H

#include "audit/view.h"

double tc_audit_clock(void); /* seconds */

typedef struct tc_worst_case {
    double *x[2];     /* on the lattice of the states, within the box */
    double *truth[2]; /* F at either, all entries of the view */
    double loss;      /* the price of telling them apart by the chosen entries, if scales are as the plan says:
                       * sum |difference| / b for Laplace, the trade-off parameter mu for Gaussian noise */
    size_t moved;     /* coordinates that differ */
    size_t coord;     /* the one that differs most */
} tc_worst_case;

/* The worst pair found for entries first .. end - 1 of the view, adjacent in the plan's unit (for the unit `agent`, in
 * one round). How far it looks depends on the size of the problem, not on the machine; but no longer than until that
 * time (tc_audit_clock; HUGE_VAL for never). *is_whole: it has looked at all that it wanted to. NULL where the lattice
 * allows no pair or an interrupt came. */
tc_worst_case *tc_worst_pair(tc_arena *arena, tc_audit_view *view, const tc_analysis *analysis, size_t first,
                             size_t end, double until, const tc_monitor *monitor, bool *is_whole);

#endif
