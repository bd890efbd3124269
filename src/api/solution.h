/* The reference solution as JSON and as text. */
#ifndef TC_API_SOLUTION_H
#define TC_API_SOLUTION_H

#include "base/json.h"
#include "engine/reference.h"

/* "solved", "inaccurate", ... and a sentence about it. */
const char *tc_outcome_name(tc_reference_outcome outcome);
const char *tc_outcome_text(tc_reference_outcome outcome);

/* One JSON object. */
void tc_solution_json(const tc_model *model, const tc_reference *solution, tc_json *json);

/* For people, 80 columns wide; long lists are cut unless full. */
void tc_solution_text(const tc_model *model, const tc_reference *solution, bool full, tc_buffer *out);

#endif
