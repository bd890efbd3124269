/* A block's states go into constraints as they are, not on their lattice. */
#include "release/inside.h"
#include "release/lattice.h"
#include "within.h"

static const double *given;

static bool take(const tc_lattice_box *box, double per_unit, size_t first, size_t count, const double *x,
                 int64_t *units) {
    given = x;
    return tc_lattice_rows_here()->take(box, per_unit, first, count, x, units);
}

static void points(double step, size_t count, const int64_t *units, double *row) {
    (void)step;
    (void)units;
    memcpy(row, given, count * sizeof *row);
}

static const tc_lattice_rows *unrounded(void) {
    static tc_lattice_rows made;
    made = *tc_lattice_rows_here();
    made.take = take;
    made.points = points;
    return &made;
}

#define tc_lattice_rows_here() (WITHIN(take_points) || WITHIN(tc_release_take) ? unrounded() : tc_lattice_rows_here())
#include "release/states.c"
