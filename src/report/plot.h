/* Line plots as SVG. Colours, dashes and fonts are classes of the page's style sheet (html.c), so that a plot follows
 * light, dark and paper. Series differ in dash and marker too, so that nobody needs colour to tell them apart. */
#ifndef TC_REPORT_PLOT_H
#define TC_REPORT_PLOT_H

#include "base/arena.h"

#include <stdbool.h>

/* ---- axes: from numbers to places on paper, and which numbers are written beside them ---- */

typedef struct tc_axis {
    bool is_log;
    double low, high; /* low < high; both positive where is_log */
    double from, to;  /* their places */
} tc_axis;

/* The place of a value. For a log axis value is positive. */
double tc_axis_at(const tc_axis *axis, double value);

/* An axis that shows low .. high with a little room; never empty, whatever the two are. */
tc_axis tc_axis_around(bool is_log, double low, double high, double from, double to);

enum { TC_MOST_TICKS = 12 };
typedef struct tc_ticks {
    double values[TC_MOST_TICKS]; /* increasing, all on the axis */
    size_t count;
    bool powers;  /* write them as powers of ten */
    int decimals; /* otherwise: how many */
} tc_ticks;

/* Round numbers, about `wanted` (3 to 8) of them and at least two: 1, 2 or 5 times a power of ten apart; on a log axis
 * powers of ten, or 1, 2 and 5 times them where there are too few, or as on a linear axis. */
tc_ticks tc_ticks_of(const tc_axis *axis, size_t wanted);

/* A tick as content of an SVG text element: "100,000", "0.25", 10 to the power of -7. Its width in characters is
 * returned. */
size_t tc_tick_label(tc_buffer *out, const tc_ticks *ticks, double value);

/* ---- lines through many points, as paths of bounded length ---- */

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
