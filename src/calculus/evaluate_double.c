#include "calculus/tape_code.h"

#define NUMBER double
#define INPUTS tc_inputs
#define EVALUATE tc_tape_eval
#define DATA_ROWS_ARE_NUMBERS
#define MATH(function) function

#include "calculus/evaluate_float.inc.h"
