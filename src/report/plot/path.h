/* Lines through many points as SVG paths of bounded length. */
#ifndef TC_REPORT_PATH_H
#define TC_REPORT_PATH_H

#include "report/plot/axis.h"

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

#endif
