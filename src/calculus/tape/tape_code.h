/* The inside of a tape, shared by the compiler (tape.c) and the three evaluators. */
#ifndef TC_CALCULUS_TAPE_TAPE_CODE_H
#define TC_CALCULUS_TAPE_TAPE_CODE_H

#include "base/simd.h"
#include "calculus/tape/tape.h"

/* Where an operand is found. Leaves are read where the caller keeps them; roots are written, and read again, in the
 * caller's output rows. */
typedef enum tc_tape_place_kind {
    TC_IN_SLOT,
    TC_IN_OUTPUT,
    TC_IN_STATE,
    TC_IN_DATA,
    TC_IN_COORDS,
    TC_IN_SUMS,
    TC_IN_CONSTANTS,
} tc_tape_place_kind;

typedef struct tc_tape_place {
    uint32_t kind; /* tc_tape_place_kind */
    uint32_t index;
} tc_tape_place;

typedef struct tc_instruction {
    uint32_t op;          /* tc_op; a leaf's op copies operand a */
    tc_tape_place target; /* TC_IN_SLOT or TC_IN_OUTPUT; never one of the operands' places */
    tc_tape_place a, b;   /* n-ary: a.index is the first in tape->arguments, b.index how many */
    bool shares;          /* a norm or a derivative of one, of the same vector as the last such instruction before it */
    union {
        double value;
        int64_t exponent;
        uint64_t index;
    } u;
} tc_instruction;

struct tc_tape {
    tc_instruction *code;
    size_t code_count;
    tc_tape_place *arguments; /* of n-ary instructions */
    size_t argument_count;
    double *constants;
    size_t constant_count;
    size_t root_count;
    size_t slot_count;
    size_t widest; /* arguments of the widest n-ary instruction: they are gathered behind the slots */
};

/* tc_tape_eval is one of these, as the processor allows; the bits are the same. */
#ifdef TC_HAS_WIDE
void tc_tape_eval_wide(const tc_tape *tape, const tc_inputs *inputs, size_t lanes, double *work, double *const *out);
void tc_tape_eval_widest(const tc_tape *tape, const tc_inputs *inputs, size_t lanes, double *work, double *const *out);
#endif
void tc_tape_eval_plain(const tc_tape *tape, const tc_inputs *inputs, size_t lanes, double *work, double *const *out);

#endif
