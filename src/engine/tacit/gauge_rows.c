#include "engine/tacit/gauge_rows.h"

#include <math.h>

#define KERNELS tc_gauge_kernels_plain

#include "engine/tacit/gauge_rows.inc.h"

const tc_gauge_kernels *tc_gauge_kernels_here(void) {
    return TC_SIMD_CHOOSE(&tc_gauge_kernels_plain, &tc_gauge_kernels_wide, &tc_gauge_kernels_wide);
}
