#include "calculus/proved.h"
#include "calculus/tape_code.h"

#define NUMBER double
#define INPUTS tc_inputs
#define EVALUATE tc_tape_eval
#define DATA_ROWS_ARE_NUMBERS
#define MATH(function) function
#define EXP(x) tc_exp_proved(x)
#define LOG(x) tc_log_proved(x)
#define REAL_POWER(x, p) tc_pow_proved((x), (p))

#include "calculus/evaluate_float.inc.h"
