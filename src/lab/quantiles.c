#include "lab/lab.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void tc_sort_numbers(double *values, size_t count) { qsort(values, count, sizeof *values, by_value); }

double tc_quantile(const double *sorted, size_t count, double probability) {
    double place = probability * (double)(count - 1);
    size_t below = (size_t)place;
    double beyond = place - (double)below;
    if (below + 1 >= count || beyond == 0)
        return sorted[below];
    return sorted[below] + beyond * (sorted[below + 1] - sorted[below]);
}

tc_quantiles tc_quantiles_of(double *values, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isnan(values[i]))
            values[kept++] = values[i];
    }
    if (kept == 0)
        return (tc_quantiles){NAN, NAN, NAN, NAN, NAN};
    tc_sort_numbers(values, kept);
    return (tc_quantiles){.min = values[0],
                          .q10 = tc_quantile(values, kept, 0.1),
                          .median = tc_quantile(values, kept, 0.5),
                          .q90 = tc_quantile(values, kept, 0.9),
                          .max = values[kept - 1]};
}

const tc_row *tc_record_row(const tc_record *record, uint64_t k) {
    size_t low = 0, high = record->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (record->rows[middle].k < k)
            low = middle + 1;
        else
            high = middle;
    }
    return low < record->row_count && record->rows[low].k == k ? &record->rows[low] : NULL;
}

const tc_row *tc_record_last(const tc_record *record) {
    return record->row_count == 0 ? NULL : &record->rows[record->row_count - 1];
}

tc_row_quantiles tc_rows_summarise(tc_arena *arena, const tc_record *records, size_t count, uint64_t k) {
    tc_mark mark = tc_arena_mark(arena);
    double *x = TC_NEW(arena, double, count + 1), *mu = TC_NEW(arena, double, count + 1);
    double *objective = TC_NEW(arena, double, count + 1), *violation = TC_NEW(arena, double, count + 1);
    size_t runs = 0;
    for (size_t i = 0; i < count; i++) {
        const tc_row *row = tc_record_row(&records[i], k);
        if (row == NULL)
            continue;
        x[runs] = row->x_error;
        mu[runs] = row->mu_error;
        objective[runs] = row->objective;
        violation[runs++] = row->max_violation;
    }
    tc_row_quantiles summary = {.k = k,
                                .runs = runs,
                                .x_error = tc_quantiles_of(x, runs),
                                .mu_error = tc_quantiles_of(mu, runs),
                                .objective = tc_quantiles_of(objective, runs),
                                .max_violation = tc_quantiles_of(violation, runs)};
    tc_arena_rewind(arena, mark);
    return summary;
}
