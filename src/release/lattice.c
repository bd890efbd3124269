#include "release/lattice.h"

#include "base/simd.h"

#define LATTICE_ROWS tc_lattice_rows_narrow

#include "release/lattice_rows.inc.h"

const tc_lattice_rows *tc_lattice_rows_here(void) {
    return TC_SIMD_CHOOSE(&tc_lattice_rows_narrow, &tc_lattice_rows_wide, &tc_lattice_rows_widest);
}
