/* One block of tc_sensitivity_blocks; for sensitivity*.c. */
#ifndef TC_PRIVACY_SENSITIVITY_BLOCK_H
#define TC_PRIVACY_SENSITIVITY_BLOCK_H

#include "plan/sensitivity/sensitivity.h"

/* The block of the member in a lane of its family's current batch, into s->start and s->moved. */
void tc_make_block(tc_sensitivity *s, const tc_view *view, size_t family, size_t lane);

#endif
