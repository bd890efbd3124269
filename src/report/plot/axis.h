/* Axes: from numbers to places on paper, and which numbers are written beside them. */
#ifndef TC_REPORT_PLOT_AXIS_H
#define TC_REPORT_PLOT_AXIS_H

#include "base/arena.h"

#include <stdbool.h>

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

#endif
