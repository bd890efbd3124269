/* The style sheet of reports: light, dark and paper. */
#ifndef TC_REPORT_STYLE_H
#define TC_REPORT_STYLE_H

/* Pieces, NULL-terminated. */
extern const char *const tc_report_style[];

#endif
