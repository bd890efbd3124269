/* What the private types are made of. For src/privacy/release*.c alone: tests/privacy/test_private_types.py checks that
 * no other file includes this one. */
#ifndef TC_PRIVACY_RELEASE_PRIVATE_H
#define TC_PRIVACY_RELEASE_PRIVATE_H

#include "privacy/private.h"

struct tc_private_states {
    const tc_model *model;
    int exponent;
    double step;    /* h */
    int64_t *units; /* one per coordinate, in the model's order; |units| <= 2^53, so that h * units is exact */
};

struct tc_private_values {
    int64_t *units; /* by address of the noise */
    size_t count;
};

#define TC_MOST_EXACT (INT64_C(1) << 53)

#endif
