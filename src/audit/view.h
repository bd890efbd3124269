/* The released numbers that have noise, as one vector F-hat, and F itself at a point that the auditor chooses. */
#ifndef TC_AUDIT_VIEW_H
#define TC_AUDIT_VIEW_H

#include "release/release.h"

typedef struct tc_view_entry {
    tc_target target;
    size_t position;
    uint32_t channel;
} tc_view_entry;

typedef struct tc_audit_view {
    const tc_plan *plan;
    const tc_model *model;
    tc_release *release;
    tc_released *released;  /* scratch */
    tc_view_entry *entries; /* in the order of the addresses of their noise */
    size_t count;
    size_t *start; /* by channel: its entries are start[i] .. start[i + 1] - 1 */
} tc_audit_view;

tc_audit_view *tc_audit_view_new(tc_arena *arena, const tc_plan *plan, tc_release *release);

/* What was released, entry by entry. */
void tc_audit_read(const tc_audit_view *view, const tc_released *released, double *values);

/* F at a point of the auditor's own (no agent's: nothing private), without noise and hardly rounded. */
void tc_audit_truth(tc_audit_view *view, const double *x, double *values);

#endif
