/* Line plots as SVG. Colours, dashes and fonts are classes of the page's style sheet (style.c), so that a plot follows
 * light, dark and paper. Series differ in dash and marker too, so that nobody needs colour to tell them apart. */
#ifndef TC_REPORT_PLOT_PLOT_H
#define TC_REPORT_PLOT_PLOT_H

#include "report/plot/axis.h"

/* ---- lines through many points, as paths of bounded length ---- */

/* Whether an axis can show the value. */
bool tc_axis_shows(const tc_axis *axis, double value);

/* "M.. L.. ..": within each half pixel the first, the least, the greatest and the last point are kept, so that what is
 * drawn is what all points would draw. Gaps where y is not finite or cannot be shown. Returns how many points there
 * are. */
size_t tc_path_line(tc_buffer *out, const tc_axis *x_axis, const tc_axis *y_axis, const double *x, const double *y,
                    size_t count);

/* A closed area between low and high; what a log axis cannot show is taken to its lower end. */
size_t tc_path_band(tc_buffer *out, const tc_axis *x_axis, const tc_axis *y_axis, const double *x, const double *low,
                    const double *high, size_t count);

/* ---- plots ---- */

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
