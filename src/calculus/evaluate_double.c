#include "calculus/tape_code.h"

#include "calculus/evaluate_double.inc.h"

#define INPUTS tc_inputs
#define EVALUATE tc_tape_eval
#define DATA_ROWS_ARE_NUMBERS

#include "calculus/evaluate.inc.h"
