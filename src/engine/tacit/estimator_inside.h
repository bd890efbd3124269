/* An estimator inside; for estimator*.c.
 *
 * An input is a sum over members of bodies, or a form. Either way what a member adds to it is made of *rows*: numbers,
 * one for each member, that many inputs share up to factors. Totals over rows are taken once, then combined. */
#ifndef TC_ENGINE_TACIT_ESTIMATOR_INSIDE_H
#define TC_ENGINE_TACIT_ESTIMATOR_INSIDE_H

#include "base/simd.h"
#include "calculus/tape/tape.h"
#include "engine/tacit/estimator.h"

/* ---- loops over rows (estimator_rows.inc.h) -----------------------------------------------------------------------
 * Compiled for each width of vectors. The bits are the same. */

enum { TC_TOTAL_LANES = 8 }; /* partial sums of a block, side by side: member k adds to number k mod 8 */

/* Always in this order: no bit depends on how the loops were compiled. */
static inline double tc_total_of_lanes(const double *t) {
    return ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
}

typedef struct tc_estimator_bounds {
    double lower, upper;
    const double *lowers, *uppers; /* by member; NULL: the numbers above */
} tc_estimator_bounds;

typedef struct tc_estimator_filter { /* rows of one component */
    double *y, *r;
    double *r_hat, *dy, *dr;
} tc_estimator_filter;

typedef struct tc_estimator_kernels {
    /* y += beta (o - y), r += slow (o - r), then place and rest: the filters come from far, so they are read once. */
    bool (*filter)(size_t count, double beta, double slow, const double *o, const tc_estimator_bounds *bounds,
                   const tc_estimator_filter *to);
    /* r^ = r moved into the bounds, dy = y - r^. */
    void (*place)(size_t count, const double *y, const double *r, const tc_estimator_bounds *bounds, double *r_hat,
                  double *dy);
    /* dr = r - r^; whether some of it is not zero. */
    bool (*rest)(size_t count, const double *r, const double *r_hat, double *dr);
    /* t: TC_TOTAL_LANES of each total */
    void (*total)(size_t count, const double *row, double *t);
    void (*total_product)(size_t count, const double *a, const double *b, double *t);
    void (*total_triple)(size_t count, const double *row, const double *a, const double *b, double *t);
    void (*total_sizes)(size_t count, const double *row, double *size, double *square);
    void (*total_slope)(size_t count, const double *row, const double *dy, double *shift, double *size, double *square);
    void (*fill)(size_t count, double value, double *out);
    void (*add)(size_t count, double weight, const double *row, double *out);
    void (*add_size)(size_t count, double weight, const double *row, double *out); /* of |row| */
    void (*add_both)(size_t count, double weight, double size_weight, const double *row, double *out, double *sizes);
    void (*add_product)(size_t count, const double *a, const double *b, double *out);
    double (*most)(size_t count, const double *row, double most);
    double (*squares)(size_t count, const double *row); /* the sum of them */
} tc_estimator_kernels;

const tc_estimator_kernels *tc_estimator_kernels_here(void);
extern const tc_estimator_kernels tc_estimator_kernels_narrow;
extern const tc_estimator_kernels tc_estimator_kernels_wide, tc_estimator_kernels_widest; /* only where TC_HAS_WIDE */

/* ---- structure --------------------------------------------------------------------------------------------------- */

typedef struct tc_estimator_row {
    enum { TC_ROW_ONE, TC_ROW_STATE, TC_ROW_COLUMN, TC_ROW_TAPE } from; /* ONE: 1 for every member */
    bool varies;                                                        /* with states */
    const double *values;                                               /* COLUMN: by member */
    size_t place[2];          /* STATE: the component. TAPE: among the results of the first and the second pass */
    size_t size_at;           /* where |row| and row^2 are totalled; SIZE_MAX: they are not, or not in every round */
    size_t trace_at;          /* the same of the row itself */
    size_t size_by, trace_by; /* the slope and the curvature with which that is done */
} tc_estimator_row;

typedef struct tc_estimator_use { /* the slope by a component, or the curvature by a pair of them */
    uint32_t at, row;
} tc_estimator_use;

typedef struct tc_estimator_term { /* input's part of a use or of a total: factor times the row's */
    uint32_t use, input;
    double factor;
} tc_estimator_term;

typedef struct tc_estimator_pair { /* components: other <= column */
    uint32_t column, other;
} tc_estimator_pair;

typedef struct tc_estimator_uses { /* those of ONE are numbers, the others rows */
    tc_estimator_use *uses;        /* by at, then row */
    tc_estimator_term *terms;      /* by use */
    size_t count, term_count;
    size_t *first;  /* by at, and one more */
    double *weight; /* of the open pass, by use: price (slopes) or curvature (curvatures) */
    double *base;   /* by at: what ONE adds */
} tc_estimator_uses;

typedef struct tc_estimator_family {
    const tc_family *family;
    bool has_rows;   /* false: single coordinates alone */
    double *scale;   /* s_c, by component */
    double variance; /* STATES: of a coordinate's noise */
    double *y, *r;   /* STATES: by component, then member */
    tc_estimator_row *rows;
    size_t row_count;
    uint32_t *summed; /* rows whose totals the values are made of */
    size_t summed_count;
    tc_estimator_term *values; /* use: among summed */
    size_t value_count;
    tc_estimator_uses slopes, bends;
    tc_estimator_pair *pairs; /* bends.at */
    size_t pair_count;
    double *reach, *reach_base; /* weights and what ONE adds, of the open pass; as weight and base of slopes */
    double *bend_base;          /* by component: the row sum of the pairs that are numbers */
    bool *pair_is_row;          /* by pair: some use is a row */
    double bend_noise;          /* of a member, from those */
    bool *reach_by_member, *bend_by_member; /* by component: some use is a row */
    bool slopes_vary;                       /* with states */
    bool bends_now;                         /* some curvature has a weight in the open pass */
    tc_tape *tape[2];
    size_t first_block, block_count; /* among those of all families */
    size_t first_bite;
    double *partials;                                               /* by block: totals */
    size_t shift_at, rest_at, curve_at, rest_curve_at, total_count; /* values first; in this order */
    double *fixed_size, *fixed_square, *fixed_total;                /* by row that does not vary */
} tc_estimator_family;

typedef struct tc_estimator_single { /* one coordinate in one input */
    size_t coordinate, block, member;
    uint32_t family, component, input;
    bool bends;
    double slope, reach; /* price by slope; reach: what it adds to the size of the scaled slope */
} tc_estimator_single;

typedef struct tc_estimator_worker {
    double **r_hat, **dy, **dr; /* [component][k]: r^, y - r^, r - r^ */
    bool *has_dr;               /* by component: some r - r^ is not zero */
    double *lower, *upper;      /* rows for bounds that differ between members */
    double *work, **output;     /* of tapes */
    const double **state, **data, **rows;
    double *totals;                   /* [total][TC_TOTAL_LANES] */
    double **reach, **bend;           /* [component][k] */
    bool *reach_is_row, *bend_is_row; /* by component, in the open bite */
    double *hessian;                  /* one pair's */
    double **answers;
} tc_estimator_worker;

struct tc_estimator {
    const tc_model *model; /* the measured model: its rows are the forms, if there are forms */
    const tc_derivatives *derivatives;
    const tc_estimator_kernels *kernels;
    bool takes_forms;
    bool any_rows; /* in some family */
    tc_gains gains;
    tc_measurement measurement;
    tc_measurement fixed; /* what does not depend on the round */
    tc_tariff tariff;
    double *variance;   /* by input; 0 for a sum */
    double *scale;      /* by input; 1 but for coordinates */
    double *last_reach; /* the tariff's, of the pass before */
    bool same_reach;
    tc_estimator_family *families;
    size_t block_count, bite_count;
    tc_columns *bite_columns;
    /* observed one by one: single coordinates (inputs first_observed ..), or forms (all inputs) */
    size_t first_observed, observed_count;
    size_t *observed; /* coordinates; NULL: forms */
    double *lower, *upper, *y, *r;
    tc_estimator_single *singles; /* by block, member, component, input */
    size_t single_count;
    size_t *block_singles;     /* by block, and one more */
    tc_estimator_single *lone; /* those of families without rows, in the same order */
    size_t lone_count;
    tc_columns lone_columns; /* of the open pass */
    tc_estimator_worker *workers;
    const double **whole_states; /* rows for tc_estimator_take_whole, tc_estimator_answer_whole */
    double **whole_answers;
    uint64_t *shared; /* what ranks tell each other; NULL: one rank */
    size_t shared_totals;
    bool *observed_here; /* single coordinates: this rank holds them */
};

/* estimator_ranks.c: ranks tell each other what they hold. Nothing where there is one. */
void tc_estimator_share_new(tc_arena *arena, tc_estimator *estimator);
void tc_estimator_share_totals(tc_estimator *estimator);
void tc_estimator_share_columns(tc_estimator *estimator, tc_columns *most); /* most: of this rank, then of all */

/* The structure of families, and single coordinates, over states. */
void tc_estimator_build_states(tc_arena *arena, tc_estimator *estimator, const tc_plan *plan);

/* Uses from a list, which is sorted. */
typedef struct tc_estimator_raw {
    uint32_t at, row, input;
    double factor;
} tc_estimator_raw;
tc_estimator_uses tc_estimator_gather(tc_arena *arena, tc_estimator_raw *raw, size_t count, size_t places);

#endif
