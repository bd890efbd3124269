#include "calculus/tape/tape_code.h"

#include "calculus/tape/evaluate_double.inc.h"

#define INPUTS tc_inputs
#define EVALUATE tc_tape_eval_plain
#define DATA_ROWS_ARE_NUMBERS

#include "calculus/tape/evaluate.inc.h"

void tc_tape_eval(const tc_tape *tape, const tc_inputs *inputs, size_t lanes, double *work, double *const *out) {
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDEST()) {
        tc_tape_eval_widest(tape, inputs, lanes, work, out);
        return;
    }
    if (TC_IS_WIDE()) {
        tc_tape_eval_wide(tape, inputs, lanes, work, out);
        return;
    }
#endif
    tc_tape_eval_plain(tape, inputs, lanes, work, out);
}
