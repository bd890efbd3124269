#include "engine/tacit/gauge_rows.h"

#include <math.h>

#define PACK_BYTES 16
#define KERNELS tc_gauge_kernels_plain

#include "engine/tacit/gauge_rows.inc.h"

const tc_gauge_kernels *tc_gauge_kernels_here(void) {
#ifdef TC_HAS_WIDE
    if (TC_IS_WIDE())
        return &tc_gauge_kernels_wide;
#endif
    return &tc_gauge_kernels_plain;
}
