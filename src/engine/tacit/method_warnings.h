/* Where the method `tacit` is not expected to do well: from public facts alone. */
#ifndef TC_ENGINE_METHOD_WARNINGS_H
#define TC_ENGINE_METHOD_WARNINGS_H

#include "engine/tacit/method_facts.h"

/* Fills warnings and warning_count; all else is there. */
void tc_method_warn(tc_arena *arena, const tc_plan *plan, const tc_model *model, const tc_derivatives *derivatives,
                    tc_method_facts *facts);

#endif
