/* must compile: counts, names and seconds may be logged */
#include "attempt.h"

void attempt(const hands *h) {
    TC_LOG(h->log, TC_EVENT_ENROLLED, tc_log_agent("a"), tc_log_round(h->frame->round), tc_log_seconds("s", 1));
    h->figures->multipliers = h->numbers;
}
