/* Line plots as SVG. Colours, dashes and fonts are classes of the page's style sheet (style.c), so that a plot follows
 * light, dark and paper; series differ in dash and marker too, so that colour is never needed to tell them apart. */
#ifndef TC_REPORT_PLOT_H
#define TC_REPORT_PLOT_H

#include "base/buffer.h"

#include <stdbool.h>

enum { TC_PLOT_STYLES = 6 }; /* series that can be told apart */

typedef enum tc_series_kind {
    TC_SERIES_LINE,      /* a line with a few markers */
    TC_SERIES_POINTS,    /* a line with a marker at every point */
    TC_SERIES_MARKS,     /* stars alone: figures from elsewhere */
    TC_SERIES_REFERENCE, /* a plain thin line, to compare with */
} tc_series_kind;

typedef struct tc_series {
    tc_series_kind kind;
    const char *label; /* NULL: not in the legend */
    size_t style;      /* 0 .. TC_PLOT_STYLES - 1; of a reference: 0 dashed, 1 dotted */
    size_t count;
    const double *x;            /* increasing */
    const double *y;            /* NAN where there is none: a gap */
    const double *low, *high;   /* a band around y; NULL for none */
    const double *least, *most; /* thin lines around that; NULL for none */
} tc_series;

typedef struct tc_plot {
    const char *id;          /* unique in the page; letters, digits, dashes */
    const char *title;       /* read aloud */
    const char *description; /* read aloud: what is to be seen */
    const char *x_title, *y_title;
    bool x_log, y_log;
    bool from_zero; /* a linear y axis begins at zero */
    double level;   /* a horizontal line, such as a limit; NAN for none */
    const char *level_label;
    const tc_series *series;
    size_t series_count;
} tc_plot;

/* One svg element. Numbers that a log axis cannot show are left out. */
void tc_plot_svg(const tc_plot *plot, tc_buffer *out);

#endif
