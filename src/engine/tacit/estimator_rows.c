#include "engine/tacit/estimator_inside.h"

#include <math.h>

#define KERNELS tc_estimator_kernels_narrow

#include "engine/tacit/estimator_rows.inc.h"

const tc_estimator_kernels *tc_estimator_kernels_here(void) {
    return TC_SIMD_CHOOSE(&tc_estimator_kernels_narrow, &tc_estimator_kernels_wide, &tc_estimator_kernels_widest);
}
