/* The metrics count states that were outside of the box. */
#include "clamped.h"

#include "serve/pages/pages.h"

void __wrap_tc_metrics_text(tc_buffer *out, const tc_figures *figures);
void __real_tc_metrics_text(tc_buffer *out, const tc_figures *figures);

static void on_clamped(void) {}

void __wrap_tc_metrics_text(tc_buffer *out, const tc_figures *figures) {
    __real_tc_metrics_text(out, figures);
    tc_buffer_printf(out, "tacit_states_clamped_total %llu\n", (unsigned long long)clamped_so_far);
}
