#include "base/arithmetic.h"

#include <fenv.h>
#include <stdbool.h>
#include <stddef.h>

/* By what the processor does, and not by what a register says: some machines have more than one. volatile keeps the
 * compiler from knowing the answers. */
static bool rounds_to_nearest(void) {
    static volatile double one = 1, half = 0x1p-54, more = 0x1.8p-53;
    bool above = one + half == 1 && one + more == 1 + 0x1p-52;
    bool below = -one - half == -1 && -one - more == -1 - 0x1p-52;
    return above && below && fegetround() == FE_TONEAREST;
}

static bool keeps_subnormal_results(void) {
    static volatile double least = 0x1p-1022, half = 0.5;
    volatile double result = least * half;
    return result * 0x1p1000 == 0x1p-23;
}

static bool keeps_subnormal_operands(void) {
    static volatile double tiny = 0x1p-1060, large = 0x1p1000;
    return tiny * large == 0x1p-60;
}

const char *tc_arithmetic_fault(void) {
    if (!rounds_to_nearest())
        return "arithmetic in this process does not round to nearest, and all guarantees are computed for arithmetic "
               "that does: something that was loaded with it has changed the rounding mode";
    if (!keeps_subnormal_operands() || !keeps_subnormal_results())
        return "arithmetic in this process takes the smallest numbers for zero, and all guarantees are computed for "
               "arithmetic that does not: something that was loaded with it has switched on flush-to-zero or "
               "denormals-are-zero, as libraries compiled with -ffast-math do";
    return NULL;
}
