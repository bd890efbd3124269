/* What the results of run and sweep are compared with, and the verdict: is a result better than doing nothing, and
 * which part of its error is noise? Simulation: none of it is released. */
#ifndef TC_API_RUNS_COMPARE_H
#define TC_API_RUNS_COMPARE_H

#include "lab/baseline.h"
#include "setup/setup.h"

#include <tacit/tacit.h>

typedef struct tc_comparison {
    const tc_baseline *zero, *slater; /* NULL: not asked for, or there is none */
    const tc_record *noise_free;      /* the same run without noise; NULL for none */
    bool is_own;                      /* the run has no noise, and noise_free is the run itself */
    tc_arrival arrival;               /* of noise_free */
    const char *missing;              /* why there is no noise_free; NULL where it is there, or was not asked for */
    tc_tally by_zero, by_slater;
    bool judged; /* there was a solution and a baseline to compare with */
    bool lost;   /* no better than doing nothing */
    /* Sentences; NULL where there is nothing to say. */
    const char *verdict; /* is it better than doing nothing? */
    const char *parts;   /* which part of the error is noise? */
    const char *advice;  /* a run without noise has not converged: what to do */
    double seconds;      /* that all of it took */
    bool interrupted;
} tc_comparison;

/* What to compare. */
typedef struct tc_compared {
    tc_setup *setup;
    const tc_reference *reference; /* NULL for none */
    const tc_record *records;      /* those that were not interrupted */
    size_t count;
    bool has_noise;
    bool no_reference; /* nothing is compared that takes time */
    double tolerance;
    const tc_plan_options *options; /* of the plan, for the run without noise */
    tc_margin_wish margin;
    size_t threads;
} tc_compared;

/* After the runs. What is interrupted is left out. */
tc_status tc_compare(tc_work *work, const tc_compared *what, tc_comparison *made) TC_MUST_USE;

/* A problem's two baselines alone. */
void tc_compare_baselines(tc_work *work, const tc_setup *setup, const tc_reference *reference, double tolerance,
                          size_t threads, tc_comparison *made);

/* What this record, of a run without noise, says of the method: made->noise_free, arrival and advice. NULL: nothing. */
void tc_compare_noise_free(tc_work *work, const tc_compared *what, const tc_record *record, tc_comparison *made);

/* "g3"; NULL where every row holds. */
const char *tc_baseline_worst(const tc_baseline *baseline, const tc_model *model);

/* "baseline", "slater_baseline" and "noise_free"; each null where it is not there. */
void tc_comparison_json(const tc_comparison *made, const tc_model *model, tc_json *json);
/* A table: the result (the medians, where there are many), the run without noise, the solution, the baselines. */
void tc_comparison_text(const tc_comparison *made, const tc_model *model, const tc_reference *reference,
                        const tc_row *result, const char *name, tc_buffer *out);

#endif
