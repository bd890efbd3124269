/* Sums of squares, recognised: what lies under the root when somebody writes a norm, or a smoothed one. */
#ifndef TC_MODEL_SQUARES_H
#define TC_MODEL_SQUARES_H

#include "model/expr.h"

/* The node TC_NORM whose square is e, where e depends on states and is made, by addition, of even powers, constants
 * >= 0 and positive multiples of such; else TC_NO_EXPR. Exactly the same function: sqrt(x^2 + c) is the norm of x and
 * the root of c, which stays a node where it is not a double. */
tc_expr tc_root_of_squares(tc_dag *dag, tc_expr e);

/* The sum of the squares of a TC_NORM's arguments. */
tc_expr tc_squares_of(tc_dag *dag, tc_expr norm);

#endif
