/* What the private types are made of. For src/release alone: tests/release/test_private_types.py checks that
 * no other file includes this one. */
#ifndef TC_PRIVACY_RELEASE_PRIVATE_H
#define TC_PRIVACY_RELEASE_PRIVATE_H

#include "release/private.h"
#include "release/release_blocks.h"

struct tc_private_states {
    const tc_model *model;
    int exponent;
    double step;                 /* h */
    double per_unit;             /* 1 / h */
    tc_lattice_box **boxes;      /* [family][component] */
    tc_lattice_box *flat;        /* small ensembles: one box for all coordinates; NULL otherwise */
    const double *lower, *upper; /* its public bounds, by coordinate */
    int64_t *units; /* one per coordinate, in the model's order; |units| <= 2^53, so that h * units is exact */
};

struct tc_private_values {
    int64_t *units;
    size_t count;
};

#define TC_MOST_EXACT (INT64_C(1) << 53)

/* NULL where the box of some agent holds no lattice point, or one beyond 2^53 steps. */
tc_lattice_box **tc_lattice_boxes(tc_arena *arena, const tc_model *model, int exponent);

/* The nearest lattice points of the box to x[0 .. count - 1], members first .. of a component. False where a number is
 * not finite; units is then worth nothing. */
bool tc_lattice_take(const tc_lattice_box *box, double per_unit, size_t first, size_t count, const double *x,
                     int64_t *restrict units) TC_MUST_USE;

#endif
