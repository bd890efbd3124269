/* lattice.c once more, for processors with AVX-512. Nothing is fused: the bits are the same. */
#define TC_SIMD_LANES 8
#include "base/simd.h"
#include "release/lattice.h"

#ifdef TC_HAS_WIDE

TC_SIMD_BEGIN

#define LATTICE_ROWS tc_lattice_rows_widest

#include "release/lattice_rows.inc.h"

TC_SIMD_END

#endif
