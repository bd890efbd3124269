/* Experiments: private runs, one or many, measured against the reference solution.
 *
 * Everything here looks at true states and true errors. None of it is released: it is for a person who holds the whole
 * problem. */
#ifndef TC_LAB_LAB_H
#define TC_LAB_LAB_H

#include "engine/engine.h"
#include "reference/reference.h"

/* One line of a trace: what is true after k rounds (0: at the start). x and mu are the result that the run would have
 * there: in method tacit an average over the rounds. */
typedef struct tc_row {
    uint64_t k;
    double x_error, mu_error; /* |x - x_0|_2, |mu - mu_0|_2; NAN where there is no reference */
    double objective;         /* f(x) */
    double max_violation;     /* max(0, max_j g_j(x)); of an equality |g_j(x)| */
    double *constraints;      /* g_j(x), m of them */
    double *multipliers;      /* mu_j, m of them */
    double *states;           /* x by agent and component, n of them; NULL where they are not kept */
} tc_row;

enum { TC_REASON_SIZE = 256 };

typedef struct tc_record { /* one run */
    bool seeded;
    uint64_t seed;
    tc_engine_outcome outcome;
    const char *reason; /* why it ended early; NULL where it did not */
    char *reason_room;  /* TC_REASON_SIZE bytes for it */
    uint64_t rounds;    /* done */
    double seconds;     /* of the rounds alone */
    tc_row *rows;       /* by k */
    size_t row_count;
    /* What released data show of the constraints at the result; probability 0 where the method says nothing. */
    tc_feasibility feasibility;
    double *bounds;           /* room for its bounds */
    double *x, *mu;           /* the result; x is NULL where states are not kept */
    double moved_x, moved_mu; /* squared distances of the result from the experiment's origin; NAN without one */
} tc_record;

/* Rounds at which rows are kept: 0, T/2, T, 1, 2, 5, 10, 20, 50, ..., and about per_decade in all for each power of
 * ten; all of 0 .. T where per_decade is 0. Increasing; *count of them. */
uint64_t *tc_grid(tc_arena *arena, uint64_t rounds, unsigned per_decade, size_t *count);

typedef struct tc_experiment {
    const tc_plan *plan;
    const tc_model *model;
    const tc_derivatives *derivatives;
    const tc_reference *reference; /* NULL: no errors */
    double dual_radius;
    const char *what;                   /* a single run's progress begins with it; NULL: with the pace */
    const tc_tacit_facts *method;       /* of method tacit; NULL for method published */
    const char *run_id;                 /* of a run with fresh noise: new for each, 1 to 256 bytes; NULL: made here */
    const double *origin_x, *origin_mu; /* another run's result, to measure how far a run ends from it; NULL */
    bool keep_states;                   /* of each of many runs; a single run always keeps its states */
    bool keep_row_states;               /* in every row */
    uint64_t rounds;
    const uint64_t *grid;
    size_t grid_count;
    size_t threads;                                                            /* 0: all */
    void (*on_row)(void *context, const tc_record *record, const tc_row *row); /* NULL; for a single run, as it goes */
    void *context;
} tc_experiment;

/* "run-20260131T120000Z-4711-123456789": never the same twice on one machine. */
const char *tc_lab_run_id(tc_arena *arena);
/* The row after k rounds; NULL where there is none. Half-way is k = rounds / 2. */
const tc_row *tc_record_row(const tc_record *record, uint64_t k);
const tc_row *tc_record_last(const tc_record *record);

/* One run, on all threads: with fresh noise if seed is NULL, else simulated from the seed. */
tc_status tc_lab_run(tc_arena *arena, const tc_experiment *experiment, const uint64_t *seed, const tc_monitor *monitor,
                     tc_record **record, const char **why) TC_MUST_USE;
/* count runs from seeds first, first + 1, ..., each on one thread, as many at a time as there are threads. The records
 * are those of the *begun runs: all, except after an interrupt. A run that is not begun takes no time and no memory. */
tc_status tc_lab_run_many(tc_arena *arena, const tc_experiment *experiment, uint64_t first, size_t count,
                          const tc_monitor *monitor, tc_record **records, size_t *begun, const char **why) TC_MUST_USE;

typedef struct tc_quantiles {
    double min, q10, median, q90, max;
} tc_quantiles;
void tc_sort_numbers(double *values, size_t count); /* increasing; no NANs */
/* Linear interpolation between order statistics, at probability (count - 1) from the least: the default of NumPy and of
 * R (type 7). */
double tc_quantile(const double *sorted, size_t count, double probability);
/* values is sorted in place. NANs are left out. */
tc_quantiles tc_quantiles_of(double *values, size_t count);

/* Quantiles of each number of row k, over the runs that have it. */
typedef struct tc_row_quantiles {
    uint64_t k;
    size_t runs;
    tc_quantiles x_error, mu_error, objective, max_violation;
} tc_row_quantiles;
tc_row_quantiles tc_rows_summarise(tc_arena *arena, const tc_record *records, size_t count, uint64_t k);

/* ---- inside the lab: the true numbers at a state, and many simulated runs at once ---- */

typedef struct tc_measure tc_measure; /* for one thread at a time */

/* reference may be NULL. */
tc_measure *tc_measure_new(tc_arena *arena, const tc_model *model, const tc_reference *reference);

/* Fills the row except k; its arrays are allocated. x by coordinate. */
void tc_measure_row(tc_measure *measure, const double *x, const double *mu, tc_row *row);

/* |a - b|_2^2 */
double tc_squared_distance(const double *a, const double *b, size_t count);

/* "12,345 rounds/s, 3 s left"; at most 63 characters. */
void tc_pace_text(char text[64], double rounds_per_second, double seconds_left);

typedef struct tc_job {
    const tc_experiment *experiment;
    uint64_t seed;
    bool keep_states;
    tc_record *record; /* zeroed; stays so if the run is not begun */
} tc_job;

/* Begins the jobs in order; a job takes memory when it begins. The first failure, with its sentence in *why, ends all.
 * threads: 0 for all. */
tc_status tc_jobs_run(tc_arena *arena, const tc_job *jobs, size_t count, size_t threads, const tc_monitor *monitor,
                      const char **why) TC_MUST_USE;

/* Moves the records of runs that were begun to the front; returns how many they are. */
size_t tc_records_begun(tc_record *records, size_t count);

#endif
