/* A point of a problem, x by coordinate and numbers by constraint, as JSON and for people. */
#ifndef TC_MODEL_POINT_H
#define TC_MODEL_POINT_H

#include "base/json.h"
#include "model/model.h"

enum { TC_POINT_NAME_WIDTH = 20, TC_POINT_CELL_WIDTH = 11, TC_POINT_SHOWN = 10 };

/* "x": an object, agent's name -> array. "constraints": their names. */
void tc_point_json_states(const tc_model *model, const double *x, tc_json *json);
void tc_point_json_constraints(const tc_model *model, tc_json *json);

/* A number that is zero but for rounding, given its natural size, as zero. */
double tc_without_dust(double value, double size);

/* The pieces of tables: a name in its column, numbers in theirs (lines are broken at 80 columns; cut unless full), and
 * what was left out. */
void tc_point_name(tc_buffer *out, const char *name);
void tc_point_numbers(tc_buffer *out, const double *values, size_t count, bool full);
void tc_point_left_out(tc_buffer *out, size_t left_out);

/* A line for each agent, the first few unless full. */
void tc_point_states(const tc_model *model, const double *x, bool full, tc_buffer *out);

#endif
