/* The report: plots and tables of traces, one HTML page that needs nothing else: no network, no script. */
#ifndef TC_REPORT_REPORT_H
#define TC_REPORT_REPORT_H

#include "report/trace/trace.h"

/* For tc_outputs_check. */
#define TC_PAGE_FILE                                                                                                   \
    { .mark = "<!doctype html", .name = "an HTML page", .is_html = true }

/* Sections in the order of the traces, and comparisons of those that can be compared. Marks belong to the run before
 * them; marks that have none before them are refused (TC_BAD_USAGE). title: NULL for the problem's name. */
tc_status tc_report_write(tc_arena *arena, const char *path, const char *title, const tc_trace *const *traces,
                          size_t trace_count, tc_buffer *messages) TC_MUST_USE;

/* The page itself. */
tc_status tc_report_html(tc_arena *arena, const char *title, const tc_trace *const *traces, size_t trace_count,
                         tc_buffer *messages, tc_buffer *html) TC_MUST_USE;

#endif
