/* must not compile: incompatible pointer type */
#include "attempt.h"

void attempt(const hands *h) { TC_LOG(h->log, TC_EVENT_ENROLLED, tc_log_text("x", h->units)); }
