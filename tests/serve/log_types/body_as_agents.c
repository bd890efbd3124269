/* must not compile: pointer-sign */
#include "attempt.h"

void attempt(const hands *h) { TC_LOG(h->log, TC_EVENT_ENROLLED, tc_log_agents(h->frame->body)); }
