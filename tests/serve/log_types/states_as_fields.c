/* must not compile: incompatible pointer type */
#include "attempt.h"

void attempt(const hands *h) { tc_log_write(h->log, TC_EVENT_ENROLLED, h->states, 1); }
