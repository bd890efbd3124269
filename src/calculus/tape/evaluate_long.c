#include "calculus/tape/tape_code.h"

#define NUMBER long double
#define MATH(function) function##l
#define CHOOSE(condition, yes, no) ((condition) ? (yes) : (no))
#define EXP(x) expl(x)
#define LOG(x) logl(x)
#define REAL_POWER(x, p) powl((x), (p))

#include "calculus/tape/evaluate_float.inc.h"

#define INPUTS tc_long_inputs
#define EVALUATE tc_tape_eval_long

#include "calculus/tape/evaluate.inc.h"
