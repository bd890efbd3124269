/* What a run's rows say of one quantity: over rounds, and at one round over the seeds. */
#ifndef TC_REPORT_CURVE_H
#define TC_REPORT_CURVE_H

#include "report/trace/trace.h"

typedef enum tc_quantity {
    TC_QUANTITY_X_ERROR,
    TC_QUANTITY_MU_ERROR,
    TC_QUANTITY_OBJECTIVE,
    TC_QUANTITY_VIOLATION,
    TC_QUANTITY_CONSTRAINT, /* g_j */
    TC_QUANTITY_MULTIPLIER, /* mu_j */
} tc_quantity;

typedef struct tc_curve {
    size_t count;
    double *k, *median;                /* of a single run: its values */
    double *least, *low, *high, *most; /* min, 10 %, 90 %, max over seeds; NULL for a single run */
    bool empty;                        /* no number at all */
} tc_curve;

/* Of many runs: at rounds of the one with the most rows, so many that a plot on linear or log axes is full; at each
 * over the runs that came so far. index: which constraint. */
tc_curve tc_curve_of(tc_arena *arena, const tc_trace *trace, tc_quantity quantity, size_t index);

double tc_quantity_in(const tc_row *row, tc_quantity quantity, size_t index);

/* At one round, over seeds. *values: of the runs that came there, sorted; *count of them. */
tc_quantiles tc_quantity_at(tc_arena *arena, const tc_trace *trace, tc_quantity quantity, size_t index, uint64_t k,
                            double **values, size_t *count);

/* The last round that any run came to. */
uint64_t tc_trace_rounds(const tc_trace *trace);
/* How many came there. */
size_t tc_trace_finished(const tc_trace *trace);

#endif
