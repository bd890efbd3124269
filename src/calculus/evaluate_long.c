#include "calculus/tape_code.h"

#define NUMBER long double
#define INPUTS tc_long_inputs
#define EVALUATE tc_tape_eval_long
#define MATH(function) function##l

#include "calculus/evaluate_float.inc.h"
