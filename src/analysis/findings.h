/* Reasons, collected under an assumption. */
#ifndef TC_ANALYSIS_FINDINGS_H
#define TC_ANALYSIS_FINDINGS_H

#include "analysis/analysis.h"

/* Adds a finding; the assumption's verdict becomes the worse of the two (fails, then unproved, then holds). */
void tc_find(tc_arena *arena, tc_assumption *assumption, const tc_source *source, tc_verdict verdict, tc_span span,
             const char *format, ...) TC_PRINTF(6, 7);

/* "x[3]" of a family's component, "x" where the state is a scalar. */
void tc_component_name(tc_buffer *out, const tc_family *family, size_t component);

/* A number for people: six digits at most. */
const char *tc_short_number(char text[32], double value);

/* "home[17]" or, where the whole family is meant, "home". */
const char *tc_who(tc_arena *arena, const tc_family *family, size_t member, bool whole);

#endif
