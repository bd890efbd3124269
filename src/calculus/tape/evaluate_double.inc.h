/* The operations of the evaluators in double (tapes and programs): the same bits everywhere. */
#include "calculus/interval/elementary.h"

#define NUMBER double
#define MATH(function) function
#define CHOOSE(condition, yes, no) tc_choose((condition), (yes), (no))
#define EXP(x) tc_exp_proved(x)
#define LOG(x) tc_log_proved(x)
#define REAL_POWER(x, p) tc_pow_proved((x), (p))

#include "calculus/tape/evaluate_float.inc.h"
