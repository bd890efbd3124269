/* Between the parts of a report: one page of sections, figures and tables. */
#ifndef TC_REPORT_PAGE_PAGE_H
#define TC_REPORT_PAGE_PAGE_H

#include "report/plot.h"
#include "report/report.h"

/* ---- a quantity of a run over rounds ---- */

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

/* Of many runs: at the rounds of the run with the most rows, thinned to what a plot on linear or log axes can show.
 * Each number is over the runs that reached the round. index: which constraint. */
tc_curve tc_curve_of(tc_arena *arena, const tc_trace *trace, tc_quantity quantity, size_t index);

double tc_quantity_in(const tc_row *row, tc_quantity quantity, size_t index);

/* At one round, over seeds. *values: of the runs that reached it, sorted; *count of them. */
tc_quantiles tc_quantity_at(tc_arena *arena, const tc_trace *trace, tc_quantity quantity, size_t index, uint64_t k,
                            double **values, size_t *count);

/* The last round that any run reached. */
uint64_t tc_trace_rounds(const tc_trace *trace);
/* How many runs reached it. */
size_t tc_trace_finished(const tc_trace *trace);

/* ---- the page ---- */

typedef struct tc_section { /* of a run or a sweep */
    const tc_trace *trace;
    const char *id;    /* "run-1" */
    const char *label; /* different for each section of the page */
    size_t style;      /* of its lines, the same everywhere; different among those of a group that are plotted */
    bool plotted;      /* beside the others of its group: at most TC_PLOT_STYLES of them are */
    const tc_trace **marks;
    size_t mark_count;
} tc_section;

typedef struct tc_section_group { /* sections of one kind and one problem, which can be compared */
    const char *id;               /* "runs" */
    const char *title;            /* "Runs side by side" */
    const tc_section **sections;  /* those of method published first */
    size_t count;
    size_t published; /* how many of these there are */
} tc_section_group;

typedef struct tc_report {
    tc_arena *arena;
    tc_buffer *out;
    size_t figures; /* so far */
} tc_report;

/* "Error of x", "|x(k) - x_0|" with its signs, whether it is never below zero. */
typedef struct tc_quantity_words {
    const char *name, *sign;
    bool from_zero;
} tc_quantity_words;
tc_quantity_words tc_quantity_words_of(tc_quantity quantity);

/* A figure: a title, a sentence, and the plot, whose id and description are filled in here. */
void tc_put_figure(tc_report *report, const char *title, const char *text, tc_plot plot);

/* The series of a section's quantity over rounds (medians and bands), and of its marks; how many, at most
 * TC_SECTION_SERIES. With extremes: thin lines of the smallest and largest. label: NULL for none in the legend. */
enum { TC_SECTION_SERIES = 5 };
size_t tc_section_series(tc_report *report, const tc_section *section, tc_quantity quantity, const char *label,
                         bool extremes, tc_series *series);

/* A warning that the page is not released data. */
extern const char tc_page_not_released[];

/* Title, promise, facts and notes of a section; and its foot: the card and the command. */
void tc_put_section_head(tc_report *report, const tc_section *section, const char *what);
void tc_put_card(tc_report *report, const tc_section *section);
void tc_put_command(tc_report *report, const tc_section *section);

/* "<td>0.2706</td>" */
void tc_put_cell(tc_buffer *out, double value);
/* "0.21 to 0.35" in a second line of a cell. */
void tc_put_span(tc_buffer *out, double low, double high);

/* The card's headline: "private: messages only, ..."; NULL where there is none. */
const char *tc_promise_of(tc_arena *arena, const tc_trace *trace);
/* What was asked of a run, what is hidden, and whether it is worth it. */
void tc_put_summary(tc_report *report, const tc_section *section, bool is_titled);

void tc_put_run(tc_report *report, const tc_section *section);
void tc_put_sweep(tc_report *report, const tc_section *section);
void tc_put_run_comparison(tc_report *report, const tc_section_group *group);
void tc_put_sweep_comparison(tc_report *report, const tc_section_group *group);
void tc_put_group_head(tc_report *report, const tc_section_group *group);

/* Labels that say what differs between sections of the same kind: "laplace, tight, epsilon 0.1". */
void tc_label_sections(tc_arena *arena, tc_section *sections, size_t count);
/* Groups of the sections of a kind, in the order of their first sections; sets the sections' styles: warm colours for
 * method published, cool ones for method tacit. */
tc_section_group *tc_group_sections(tc_arena *arena, tc_section *sections, size_t count, tc_trace_kind kind,
                                    size_t *groups);

#endif
