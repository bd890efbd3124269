/* Between functions.c and kinks.c: a call whose arguments are elaborated. */
#ifndef TC_MODEL_FUNCTIONS_H
#define TC_MODEL_FUNCTIONS_H

#include "model/elaborate/elaborate.h"

typedef struct tc_call {
    tc_elaborator *elaborator;
    const tc_scope *scope;
    const tc_tree *tree;
    tc_value *arguments;
    size_t count;
} tc_call;

/* All entries of all arguments, one after another, as one vector. */
tc_value tc_call_joined(const tc_call *c);

tc_value tc_call_min(const tc_call *c);
tc_value tc_call_max(const tc_call *c);
tc_value tc_call_abs(const tc_call *c);
tc_value tc_call_norm1(const tc_call *c);
tc_value tc_call_norminf(const tc_call *c);
tc_value tc_call_floor(const tc_call *c);
tc_value tc_call_ceil(const tc_call *c);

#endif
