/* Steps of many lanes at once, by name: tc_line_advance and tc_newton_advance choose. Wide ones are for AVX2; only
 * where TC_IS_WIDE(). Widest ones are for AVX-512; only where TC_IS_WIDEST(). The bits are the same. */
#ifndef TC_ENGINE_PROXIMAL_WIDE_H
#define TC_ENGINE_PROXIMAL_WIDE_H

#include "base/simd.h"
#include "engine/proximal/proximal_parts.h"

bool tc_line_advance_narrow(const tc_line_rows *r, size_t count, const tc_line_numbers *n);
void tc_newton_advance_narrow(const tc_newton_rows *r, size_t count, double most_along);
bool tc_line_advance_wide(const tc_line_rows *r, size_t count, const tc_line_numbers *n);
void tc_newton_advance_wide(const tc_newton_rows *r, size_t count, double most_along);
bool tc_line_advance_widest(const tc_line_rows *r, size_t count, const tc_line_numbers *n);
void tc_newton_advance_widest(const tc_newton_rows *r, size_t count, double most_along);

#endif
