/* A response inside; for src/engine/response*.c. */
#ifndef TC_ENGINE_RESPONSE_PARTS_H
#define TC_ENGINE_RESPONSE_PARTS_H

#include "calculus/tape/program.h"
#include "calculus/tape/tape.h"
#include "engine/published/response.h"

enum { TC_SUM_LANES = 8 }; /* partial sums of a block, side by side: member k adds to number k mod 8 */

typedef struct tc_atom { /* a row of numbers, one for each member */
    enum { TC_ATOM_STATE, TC_ATOM_DATA, TC_ATOM_TAPE } from;
    size_t index[2]; /* a component; a column; its place among the results of the first and the second pass */
} tc_atom;

typedef struct tc_sum_term { /* sums[sum] += factor * the total of a summed atom */
    uint32_t sum, summed;
    double factor;
} tc_sum_term;

typedef struct tc_weight { /* p_component += weight * atom */
    uint32_t component, atom;
} tc_weight;

typedef struct tc_weight_term { /* weights[weight] += factor * prices[sum] */
    uint32_t weight, sum;
    double factor;
} tc_weight_term;

typedef struct tc_response_family {
    const tc_family *family;
    bool has_sums;
    tc_atom *atoms;
    size_t atom_count;
    uint32_t *summed; /* atoms */
    size_t summed_count;
    tc_sum_term *sum_terms;
    size_t sum_term_count;
    tc_weight *weights; /* by component, then atom */
    size_t weight_count;
    size_t *first_weight; /* by component, and one more */
    tc_weight_term *weight_terms;
    size_t weight_term_count;
    tc_weight_term *base_terms; /* weight: a component. What p has without any atom */
    size_t base_term_count;
    double *weight_values, *base_values; /* of the open round */
    tc_tape *first, *second;             /* of the two passes; NULL where there is nothing to evaluate */
    size_t first_block;
    size_t first_partial; /* of block 0; summed_count for each block */
} tc_response_family;

typedef struct tc_response_single {   /* a coordinate that constraints name */
    size_t coordinate, block, member; /* the block among those of all families */
    uint32_t family, component, input;
    double lower, upper; /* its public box */
} tc_response_single;

typedef struct tc_price_term { /* prices[input] += mu[row] * outer[slot] */
    uint32_t row, input;
    size_t slot;
} tc_price_term;

typedef struct tc_response_worker {
    tc_response_family *of; /* whose block it has in hand */
    size_t number, first;   /* the block's number among all, its first member */
    const double *const *x;
    bool second;
    size_t single;   /* the next one of its singles */
    double *work;    /* of tapes */
    double **output; /* [root][lane] */
    const double **state, **data, **rows;
    double **inside; /* [component][k]: x-hat moved into the box */
    double *totals;  /* [summed][TC_SUM_LANES] */
} tc_response_worker;

struct tc_response {
    const tc_model *model;
    const tc_derivatives *derivatives;
    bool single_pass, clips;
    tc_response_family *families;
    tc_response_single *singles; /* by block, then member */
    size_t single_count;
    size_t *block_singles; /* by block of all families, and one more: its first single */
    size_t block_count;
    double *partials;  /* totals of blocks */
    double *constants; /* of sums: what does not depend on states */
    double *sums;
    double *bias;        /* what noise adds to g on the average: subtracted */
    double *coords;      /* by coordinate: those that constraints name; NULL for none */
    tc_program *program; /* Phi, then its slopes that vary */
    double *outer;       /* results: Phi, slopes that vary, slopes that do not */
    double *program_work;
    tc_price_term *price_terms; /* by row */
    size_t price_term_count;
    double *prices; /* by input */
    tc_response_worker *workers;
    const double **whole_states; /* rows for tc_response_whole */
    double **whole_answers;
};

#endif
