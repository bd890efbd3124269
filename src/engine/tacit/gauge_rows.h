/* Loops over rows of members, compiled twice: for any processor, and for those with AVX2. The bits are the same. */
#ifndef TC_ENGINE_GAUGE_ROWS_H
#define TC_ENGINE_GAUGE_ROWS_H

#include "base/simd.h"

#include <stdbool.h>
#include <stddef.h>

enum { TC_TOTAL_LANES = 8 }; /* partial sums of a block, side by side: member k adds to number k mod 8 */

/* Always in this order: no bit depends on how the loops were compiled. */
static inline double tc_total_of_lanes(const double *t) {
    return ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
}

typedef struct tc_gauge_bounds {
    double lower, upper;
    const double *lowers, *uppers; /* by member; NULL: the numbers above */
} tc_gauge_bounds;

typedef struct tc_gauge_kernels {
    /* y and r move towards what is observed: y += fast (observed - y). */
    void (*filter)(size_t count, double fast, double slow, const double *observed, double *y, double *r);
    /* r^ = r moved into the bounds and y - r^. */
    void (*place)(size_t count, const double *y, const double *r, const tc_gauge_bounds *bounds, double *inside,
                  double *away);
    /* r - r^; whether some of it is not zero. */
    bool (*rest)(size_t count, const double *r, const double *inside, double *beyond);
    /* t: TC_TOTAL_LANES of each total */
    void (*total)(size_t count, const double *row, double *t);
    void (*total_product)(size_t count, const double *a, const double *b, double *t);
    void (*total_triple)(size_t count, const double *row, const double *a, const double *b, double *t);
    void (*total_sizes)(size_t count, const double *row, double *size, double *square);
    void (*total_slope)(size_t count, const double *row, const double *away, double *shift, double *size,
                        double *square);
    void (*fill)(size_t count, double value, double *out);
    void (*add)(size_t count, double weight, const double *row, double *out);
    void (*add_size)(size_t count, double weight, const double *row, double *out); /* of |row| */
    void (*add_both)(size_t count, double weight, double size_weight, const double *row, double *out, double *sizes);
    void (*add_product)(size_t count, const double *a, const double *b, double *out);
    double (*most)(size_t count, const double *row, double most);
    double (*squares)(size_t count, const double *row); /* the sum of them */
} tc_gauge_kernels;

const tc_gauge_kernels *tc_gauge_kernels_here(void);
extern const tc_gauge_kernels tc_gauge_kernels_plain;
extern const tc_gauge_kernels tc_gauge_kernels_wide; /* only where TC_HAS_WIDE */

#endif
