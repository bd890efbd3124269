/* Units and prices as short texts, the same wherever they are shown. */
#ifndef TC_PRIVACY_WORDS_H
#define TC_PRIVACY_WORDS_H

#include "base/arena.h"
#include "model/model.h"

/* "one:0.5", "agent": as --adjacency takes it. */
const char *tc_unit_text(tc_arena *arena, tc_adjacency unit, double bound);

/* A few digits that are never below the value. */
const char *tc_text_up(tc_arena *arena, double value);

/* "epsilon 0.5", "epsilon 1, delta 1e-06", "no guarantee"; rounded up. */
const char *tc_price_up(tc_arena *arena, double epsilon, double delta);

#endif
