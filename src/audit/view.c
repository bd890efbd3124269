#include "audit/view.h"

tc_audit_view *tc_audit_view_new(tc_arena *arena, const tc_plan *plan, tc_release *release) {
    tc_audit_view *view = TC_NEW(arena, tc_audit_view, 1);
    *view = (tc_audit_view){.plan = plan, .model = plan->model, .release = release};
    view->released = tc_released_new(arena, release);
    view->start = TC_NEW(arena, size_t, plan->channel_count + 1);
    view->entries = TC_NEW(arena, tc_view_entry, (size_t)plan->entry_count);
    for (size_t i = 0; i < plan->channel_count; i++) {
        size_t segment_count = 0;
        (void)tc_channel_entries(view->released->layout, &plan->channels[i], NULL, &segment_count);
        tc_segment *segments = TC_NEW(arena, tc_segment, segment_count);
        (void)tc_channel_entries(view->released->layout, &plan->channels[i], segments, &segment_count);
        view->start[i] = view->count;
        for (size_t s = 0; s < segment_count; s++)
            for (size_t k = 0; k < segments[s].count; k++)
                view->entries[view->count++] =
                    (tc_view_entry){segments[s].target, segments[s].position + k, (uint32_t)i};
    }
    view->start[plan->channel_count] = view->count;
    return view;
}

void tc_audit_read(const tc_audit_view *view, const tc_released *released, double *values) {
    for (size_t e = 0; e < view->count; e++) {
        const tc_view_entry *entry = &view->entries[e];
        values[e] = entry->target == TC_TARGET_CONSTRAINTS ? released->constraints[entry->position]
                    : entry->target == TC_TARGET_JACOBIAN  ? released->jacobian[entry->position]
                                                           : released->states[entry->position];
    }
}

void tc_audit_truth(tc_audit_view *view, const double *x, double *values) {
    if (!tc_noises_states(view->plan)) {
        tc_released_evaluate(view->release, x, view->released);
        tc_audit_read(view, view->released, values);
        return;
    }
    for (size_t e = 0; e < view->count; e++)
        values[e] = x[view->entries[e].position];
}
