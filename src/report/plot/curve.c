#include "report/plot/curve.h"

#include <math.h>

enum { PLACES = 600 }; /* on each kind of axis */

double tc_quantity_in(const tc_row *row, tc_quantity quantity, size_t index) {
    switch (quantity) {
    case TC_QUANTITY_X_ERROR:
        return row->x_error;
    case TC_QUANTITY_MU_ERROR:
        return row->mu_error;
    case TC_QUANTITY_OBJECTIVE:
        return row->objective;
    case TC_QUANTITY_VIOLATION:
        return row->max_violation;
    case TC_QUANTITY_CONSTRAINT:
        return row->constraints[index];
    case TC_QUANTITY_MULTIPLIER:
        return row->multipliers[index];
    default:
        return NAN;
    }
}

uint64_t tc_trace_rounds(const tc_trace *trace) {
    uint64_t rounds = 0;
    for (size_t i = 0; i < trace->record_count; i++)
        rounds = trace->records[i].rounds > rounds ? trace->records[i].rounds : rounds;
    return rounds;
}

size_t tc_trace_finished(const tc_trace *trace) {
    uint64_t rounds = tc_trace_rounds(trace);
    size_t finished = 0;
    for (size_t i = 0; i < trace->record_count; i++)
        finished += trace->records[i].row_count > 0 && trace->records[i].rounds == rounds;
    return finished;
}

tc_quantiles tc_quantity_at(tc_arena *arena, const tc_trace *trace, tc_quantity quantity, size_t index, uint64_t k,
                            double **values, size_t *count) {
    *values = TC_NEW(arena, double, trace->record_count + 1);
    *count = 0;
    for (size_t i = 0; i < trace->record_count; i++) {
        const tc_row *row = tc_record_row(&trace->records[i], k);
        double value = row != NULL ? tc_quantity_in(row, quantity, index) : NAN;
        if (isfinite(value))
            (*values)[(*count)++] = value;
    }
    if (*count == 0)
        return (tc_quantiles){NAN, NAN, NAN, NAN, NAN};
    return tc_quantiles_of(*values, *count);
}

static const tc_record *longest(const tc_trace *trace) {
    const tc_record *best = &trace->records[0];
    for (size_t i = 1; i < trace->record_count; i++)
        best = trace->records[i].row_count > best->row_count ? &trace->records[i] : best;
    return best;
}

/* Where k would stand on either axis; a row is kept where either place is new. */
typedef struct places {
    double linear, log;
} places;

static places places_of(uint64_t k, uint64_t rounds) {
    double part = rounds > 0 ? (double)k / (double)rounds : 0;
    double logs = rounds > 1 && k > 0 ? log((double)k) / log((double)rounds) : -1;
    return (places){floor(part * PLACES), floor(logs * PLACES)};
}

static tc_curve curve_of_one(tc_arena *arena, const tc_record *record, tc_quantity quantity, size_t index) {
    tc_curve curve = {.count = record->row_count, .empty = true};
    curve.k = TC_NEW(arena, double, curve.count);
    curve.median = TC_NEW(arena, double, curve.count);
    for (size_t i = 0; i < curve.count; i++) {
        curve.k[i] = (double)record->rows[i].k;
        curve.median[i] = tc_quantity_in(&record->rows[i], quantity, index);
        curve.empty = curve.empty && !isfinite(curve.median[i]);
    }
    return curve;
}

tc_curve tc_curve_of(tc_arena *arena, const tc_trace *trace, tc_quantity quantity, size_t index) {
    if (trace->record_count == 0)
        return (tc_curve){.empty = true};
    const tc_record *guide = longest(trace);
    if (trace->record_count == 1)
        return curve_of_one(arena, guide, quantity, index);
    size_t most = guide->row_count < 2 * PLACES + 4 ? guide->row_count : 2 * PLACES + 4;
    tc_curve curve = {.empty = true};
    double **const columns[] = {&curve.k, &curve.median, &curve.least, &curve.low, &curve.high, &curve.most};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        *columns[i] = TC_NEW(arena, double, most);
    uint64_t rounds = tc_trace_rounds(trace);
    places last = {-1, -2};
    for (size_t i = 0; i < guide->row_count && curve.count < most; i++) {
        uint64_t k = guide->rows[i].k;
        places here = places_of(k, rounds);
        if (here.linear == last.linear && here.log == last.log && i + 1 < guide->row_count)
            continue;
        last = here;
        tc_mark mark = tc_arena_mark(arena);
        double *values;
        size_t count, at = curve.count++;
        tc_quantiles q = tc_quantity_at(arena, trace, quantity, index, k, &values, &count);
        tc_arena_rewind(arena, mark);
        curve.k[at] = (double)k;
        curve.least[at] = q.min;
        curve.low[at] = q.q10;
        curve.median[at] = q.median;
        curve.high[at] = q.q90;
        curve.most[at] = q.max;
        curve.empty = curve.empty && count == 0;
    }
    return curve;
}
