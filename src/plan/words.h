/* Units and prices as short texts, the same wherever they are shown. */
#ifndef TC_PRIVACY_WORDS_H
#define TC_PRIVACY_WORDS_H

#include "plan/account/price.h"

/* What observers see besides what they pay for: beside every list of prices. */
#define TC_UNPRICED                                                                                                    \
    "in no price: an answer tells its agent whether that agent's own state lay outside of the public box, or was "     \
    "used "                                                                                                            \
    "again since it was late; the status page tells how many were used again in all, and who is there and when is "    \
    "seen"

/* As in files and on the command line. */
const char *tc_mechanism_name(tc_mechanism mechanism);
const char *tc_adjacency_name(tc_adjacency adjacency);
const char *tc_method_name(tc_method method);
const char *tc_placement_name(tc_placement placement);
const char *tc_calibration_name(tc_calibration calibration);

/* "one:0.5", "agent": as --adjacency takes it. */
const char *tc_unit_text(tc_arena *arena, tc_adjacency unit, double bound);

/* A few digits that are never below the value. */
const char *tc_text_up(tc_arena *arena, double value);

/* "epsilon 0.5", "epsilon 1, delta 1e-06", "no guarantee"; rounded up. */
const char *tc_price_up(tc_arena *arena, double epsilon, double delta);

/* What the plan's epsilon is the price of: "everything", "each system"; NULL without noise. */
const char *tc_epsilon_is_for(const tc_plan *plan);
/* "private: messages only", "private: one agent entirely", "private in name only (messages only)", "NOT PRIVATE". */
const char *tc_word_text(tc_word_for word, tc_adjacency unit);
/* Why a plan that keeps its promise is private in name only: a sentence; NULL where it is not. */
const char *tc_name_only_reason(tc_arena *arena, const tc_plan *plan);
/* "epsilon 1, delta 1e-06", "epsilon 0.6932 for each system; 1.387 for whoever sees all" */
const char *tc_promise_text(tc_arena *arena, const tc_plan *plan);

#endif
