/* Traces of runs and sweeps, their files, and the HTML page that shows them. */
#ifndef TC_REPORT_REPORT_H
#define TC_REPORT_REPORT_H

#include "base/outputs.h"
#include "lab/sweep.h"

#include <stdio.h>

/* ---- files that are whole or do not exist: written under another name and renamed ---- */

typedef struct tc_file {
    FILE *stream; /* to write to; errors are found when it is closed */
    const char *path, *temporary;
} tc_file;

/* An existing path must be a regular file, not a link. A file that is not closed is removed with the arena. */
tc_status tc_file_open(tc_arena *arena, const char *path, tc_buffer *messages, tc_file **file) TC_MUST_USE;
/* Gives it its name. */
tc_status tc_file_close(tc_file *file, tc_buffer *messages) TC_MUST_USE;

/* Reads a whole regular file of at most `limit` bytes; a zero follows them. */
tc_status tc_file_read(tc_arena *arena, const char *path, size_t limit, tc_buffer *messages, char **text,
                       size_t *length) TC_MUST_USE;

/* ---- traces: what a run or a sweep measured, as a struct, and as a CSV file that other programs read too ---- */

/*     # tacit trace 1
 *     # kind: run
 *     # problem: paper.tacit
 *     # label: laplace, published
 *     # command: tacit run examples/paper.tacit --seeds 40 --trace laplace.csv
 *     # fact: epsilon = 0.6931471805599453
 *     # card: GUARANTEE: ...
 *     seed,k,x_error,mu_error,objective,max_violation,g[g1],g[g2],mu[g1],mu[g2]
 *     1,0,13.19,2.169,...
 *
 * First come comments, `# key: value`; then a line that names the columns; then numbers, as short as they read back to
 * the same double, and nothing where there is no number. docs/trace.md says what each key and column means.
 *
 * A run's rows stand by seed and by k; seed is empty where noise was fresh. Where states are kept, x[NAME] of each
 * follows. A sweep has a row for each epsilon and
 * seed:
 *
 *     epsilon,seed,x_error,mu_error,objective,max_violation,penalty
 *
 * Marks are figures from elsewhere (a paper) that belong beside a run: k and any of the errors, written by hand. */

/* For tc_outputs_check. */
#define TC_TRACE_FILE                                                                                                  \
    { .mark = "# tacit trace 1", .name = "a trace" }

#define TC_TRACE_KINDS(X)                                                                                              \
    X(TC_TRACE_RUN, "run")                                                                                             \
    X(TC_TRACE_SWEEP, "sweep")                                                                                         \
    X(TC_TRACE_MARKS, "marks")

typedef enum tc_trace_kind {
#define X(code, name) code,
    TC_TRACE_KINDS(X)
#undef X
} tc_trace_kind;

typedef struct tc_trace_fact { /* shown in a table: "mechanism", "laplace" */
    const char *name, *value;
} tc_trace_fact;

typedef struct tc_trace_point { /* one run of a sweep */
    double epsilon;
    bool seeded;
    uint64_t seed;
    double x_error, mu_error, objective, max_violation;
    double penalty; /* NAN where there is none */
} tc_trace_point;

/* log10 penalty = intercept + slope log10 epsilon, fitted over from <= epsilon <= to; slope is NAN without a fit. */
typedef struct tc_trace_fit {
    double slope, slope_low, slope_high; /* and the slope's confidence interval */
    double intercept;
    double from, to;
} tc_trace_fit;

typedef struct tc_trace_result { /* what a result is compared with; numbers are NAN where not given */
    double x_error, objective, max_violation;
    const char *worst; /* the constraint that is violated most; NULL */
} tc_trace_result;

typedef struct tc_trace {
    tc_trace_kind kind;
    const char *problem; /* the problem file's name; NULL where not given (as below) */
    const char *label;   /* short, to tell traces on a page apart: "laplace, published" */
    const char *command; /* to repeat it */
    tc_trace_fact *facts;
    size_t fact_count;
    const char **card; /* lines of the guarantee card */
    size_t card_count;
    const char **notes; /* "seed 7 diverged: the state of a3 in round 17" */
    size_t note_count;
    const char **constraints; /* names, m of them */
    size_t constraint_count;
    const char **equalities; /* names of those that are equalities */
    size_t equality_count;
    const char **states; /* RUN: names, where rows have states; a file's are not read */
    size_t state_count;
    tc_record *records; /* RUN: seeded, seed, rounds and rows of each; a file has no more */
    size_t record_count;
    tc_trace_point *points; /* SWEEP */
    size_t point_count;
    const char *penalty; /* SWEEP: how the penalty is defined, a sentence; NULL */
    tc_trace_fit fit;
    double free_x_error, free_mu_error; /* of the run without noise; NAN where not given, as below */
    double free_objective, free_max_violation;
    double reference_objective;      /* f(x_0), that of the solution */
    tc_trace_result nothing, slater; /* zero prices, and the Slater point */
    /* Sentences; NULL where not given. */
    const char *verdict;          /* is the result better than doing nothing? */
    bool is_lost;                 /* it is not */
    const char *error_parts;      /* which part of the error is noise? */
    const char *feasibility;      /* RUN: what was released shows of the constraints */
    const char *true_feasibility; /* RUN: and what is true */
    tc_row *marks;                /* MARKS: NAN where there is none; constraints and multipliers are NULL */
    size_t mark_count;
} tc_trace;

/* Nothing is given. */
tc_trace tc_trace_empty(tc_trace_kind kind);
/* A trace of a plan, without rows: facts, card, constraint names and a label ("laplace, tight", or "laplace, tacit" in
 * method tacit). A sweep has many plans: it takes any of them, and a card that only says that seeds are not private. */
tc_trace *tc_trace_new(tc_arena *arena, tc_trace_kind kind, const tc_plan *plan, bool seeded, const char *command);
void tc_trace_fact_add(tc_arena *arena, tc_trace *trace, const char *name, const char *value);
/* Its value; NULL where there is none of that name. */
const char *tc_trace_fact_of(const tc_trace *trace, const char *name);
void tc_trace_note_add(tc_arena *arena, tc_trace *trace, const char *note);
void tc_trace_card_add(tc_arena *arena, tc_trace *trace, const char *line);
void tc_trace_equality_add(tc_arena *arena, tc_trace *trace, const char *name);
bool tc_trace_is_equality(const tc_trace *trace, size_t constraint);
/* Takes the records of runs that were begun. Notes those that diverged or were interrupted. */
void tc_trace_set_records(tc_arena *arena, tc_trace *trace, const tc_record *records, size_t count);
/* The rows have states, and these are their names. */
void tc_trace_set_states(tc_arena *arena, tc_trace *trace, const tc_model *model);
/* Takes a point for each run that came to its end, the penalty, the fitted slope, and the verdict as notes. */
void tc_trace_set_sweep(tc_arena *arena, tc_trace *trace, const tc_sweep *sweep);

/* Writes a whole file or none. */
tc_status tc_trace_write(tc_arena *arena, const char *path, const tc_trace *trace, tc_buffer *messages) TC_MUST_USE;

/* TC_BAD_PROBLEM, and a message with the line's number, if the file is no trace. */
tc_status tc_trace_read(tc_arena *arena, const char *path, const tc_monitor *monitor, tc_buffer *messages,
                        tc_trace **trace) TC_MUST_USE;
/* The same from memory; path is for messages. */
tc_status tc_trace_parse(tc_arena *arena, const char *path, const char *text, size_t length, const tc_monitor *monitor,
                         tc_buffer *messages, tc_trace **trace) TC_MUST_USE;

const char *tc_trace_kind_name(tc_trace_kind kind);

/* ---- the page: plots and tables of traces; it needs no network and no script ---- */

/* For tc_outputs_check. */
#define TC_PAGE_FILE                                                                                                   \
    { .mark = "<!doctype html", .name = "an HTML page", .is_html = true }

/* Sections in the order of the traces, and comparisons of those that can be compared. Marks belong to the run before
 * them; marks that have none before them are refused (TC_BAD_USAGE). title: NULL for the problem's name. */
tc_status tc_report_write(tc_arena *arena, const char *path, const char *title, const tc_trace *const *traces,
                          size_t trace_count, tc_buffer *messages) TC_MUST_USE;

/* The page itself. */
tc_status tc_report_html(tc_arena *arena, const char *title, const tc_trace *const *traces, size_t trace_count,
                         tc_buffer *messages, tc_buffer *html) TC_MUST_USE;

#endif
