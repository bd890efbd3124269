/* A gauge inside; for src/engine/gauge*.c.
 *
 * Inputs are sums over members of bodies, or forms; either way what a member adds to one is made of *rows*: numbers,
 * one for each member, that many inputs share up to factors. Totals over rows are taken once, then combined. */
#ifndef TC_ENGINE_GAUGE_PARTS_H
#define TC_ENGINE_GAUGE_PARTS_H

#include "calculus/tape/tape.h"
#include "engine/tacit/gauge.h"
#include "engine/tacit/gauge_rows.h"

typedef struct tc_gauge_row {
    enum { TC_ROW_ONE, TC_ROW_STATE, TC_ROW_COLUMN, TC_ROW_TAPE } from; /* ONE: 1 for every member */
    bool varies;                                                        /* with states */
    const double *values;                                               /* COLUMN: by member */
    size_t place[2];          /* STATE: the component. TAPE: among the results of the first and the second pass */
    size_t size_at;           /* where |row| and row^2 are totalled; SIZE_MAX: they are not, or not in every round */
    size_t trace_at;          /* the same of the row itself */
    size_t size_by, trace_by; /* the slope and the curvature with which that is done */
} tc_gauge_row;

typedef struct tc_gauge_use { /* the slope by a component, or the curvature by a pair of them */
    uint32_t at, row;
} tc_gauge_use;

typedef struct tc_gauge_term { /* input's part of a use or of a total: factor times the row's */
    uint32_t use, input;
    double factor;
} tc_gauge_term;

typedef struct tc_gauge_pair { /* components: other <= column */
    uint32_t column, other;
} tc_gauge_pair;

typedef struct tc_gauge_uses { /* those of ONE are numbers, the others rows */
    tc_gauge_use *uses;        /* by at, then row */
    tc_gauge_term *terms;      /* by use */
    size_t count, term_count;
    size_t *first;  /* by at, and one more */
    double *weight; /* of the open pass, by use: price (slopes) or curvature (curvatures) */
    double *base;   /* by at: what ONE adds */
} tc_gauge_uses;

typedef struct tc_gauge_family {
    const tc_family *family;
    bool has_rows;   /* otherwise nothing but single coordinates */
    double variance; /* STATES: of a coordinate's noise */
    double *y, *r;   /* STATES: by component, then member */
    tc_gauge_row *rows;
    size_t row_count;
    uint32_t *summed; /* rows whose totals the values are made of */
    size_t summed_count;
    tc_gauge_term *values; /* use: among summed */
    size_t value_count;
    tc_gauge_uses slopes, bends;
    tc_gauge_pair *pairs; /* bends.at */
    size_t pair_count;
    double *reach, *reach_base; /* weights and what ONE adds, of the open pass; as weight and base of slopes */
    double *bend_base;          /* by component: the row sum of the pairs that are numbers */
    bool *pair_is_row;          /* by pair: some use is a row */
    double bend_noise;          /* of a member, from those */
    bool *reach_by_member, *bend_by_member; /* by component: some use is a row */
    bool slopes_vary;                       /* with states */
    bool bends_now;                         /* some curvature weighs something in the open pass */
    tc_tape *tape[2];
    size_t first_block, block_count; /* among those of all families */
    size_t first_bite;
    double *partials;                                               /* by block: totals */
    size_t shift_at, rest_at, curve_at, rest_curve_at, total_count; /* values first; in this order */
    double *fixed_size, *fixed_square, *fixed_total;                /* by row that does not vary */
} tc_gauge_family;

typedef struct tc_gauge_single { /* one coordinate in one input */
    size_t coordinate, block, member;
    uint32_t family, component, input;
    bool bends;
    double slope, reach; /* price by slope; reach: what it adds to the size of the slope */
} tc_gauge_single;

typedef struct tc_gauge_facts { /* of a bite */
    double reach, curvature, noise;
} tc_gauge_facts;

typedef struct tc_gauge_worker {
    double **inside, **away, **beyond; /* [component][k]: r^, y - r^, r - r^ */
    bool *is_beyond;                   /* by component: some r - r^ is not zero */
    double *lower, *upper;             /* rows for bounds that differ between members */
    double *work, **output;            /* of tapes */
    const double **state, **data, **rows;
    double *totals;                   /* [total][TC_TOTAL_LANES] */
    double **reach, **bend;           /* [component][k] */
    bool *reach_is_row, *bend_is_row; /* by component, in the open bite */
    double *hessian;                  /* one pair's */
    double **answers;
} tc_gauge_worker;

struct tc_gauge {
    const tc_model *model; /* what is measured: its rows are the forms, where forms are */
    const tc_derivatives *derivatives;
    const tc_gauge_kernels *kernels;
    bool takes_forms;
    bool any_rows; /* in some family */
    tc_gains gains;
    tc_gauged gauged;
    tc_gauged fixed; /* what does not depend on the round */
    tc_tariff tariff;
    double *variance;   /* by input; 0 for a sum */
    double *last_reach; /* the tariff's, of the pass before */
    bool same_reach;
    tc_gauge_family *families;
    size_t block_count, bite_count;
    tc_gauge_facts *facts; /* by bite */
    /* observed one by one: single coordinates (inputs first_observed ..), or forms (all inputs) */
    size_t first_observed, observed_count;
    size_t *observed; /* coordinates; NULL: forms */
    double *lower, *upper, *y, *r;
    tc_gauge_single *singles; /* by block, member, component, input */
    size_t single_count;
    size_t *block_singles; /* by block, and one more */
    tc_gauge_single *lone; /* those of families without rows, in the same order */
    size_t lone_count;
    tc_columns lone_columns; /* of the open pass */
    tc_gauge_worker *workers;
    const double **whole_states; /* rows for tc_gauge_take_whole, tc_gauge_answer_whole */
    double **whole_answers;
};

/* The structure of families, and single coordinates: over states, over forms. */
void tc_gauge_build_states(tc_arena *arena, tc_gauge *gauge, const tc_plan *plan);
void tc_gauge_build_forms(tc_arena *arena, tc_gauge *gauge, const tc_plan *plan, const tc_released *constants);

/* Uses from a list, which is sorted. */
typedef struct tc_gauge_raw {
    uint32_t at, row, input;
    double factor;
} tc_gauge_raw;
tc_gauge_uses tc_gauge_gather(tc_arena *arena, tc_gauge_raw *raw, size_t count, size_t places);

/* r^ and y - r^ of at most TC_GAUGE_BITE members of a family. */
void tc_gauge_place(const tc_gauge *gauge, const tc_gauge_family *of, tc_gauge_worker *worker, size_t member,
                    size_t count);
/* The rows of members first + at .. , evaluated where they are on the tape of the pass. */
void tc_gauge_find_rows(const tc_gauge_family *of, tc_gauge_worker *worker, unsigned pass, size_t member, size_t at,
                        size_t lanes);

#endif
