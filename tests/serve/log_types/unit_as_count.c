/* must not compile: sign-conversion */
#include "attempt.h"

void attempt(const hands *h) { TC_LOG(h->log, TC_EVENT_ENROLLED, tc_log_count("x", h->units[0])); }
