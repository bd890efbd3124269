/* must not compile: incompatible type|incomplete|undefined type|invalid initializer */
#include "attempt.h"

void attempt(const hands *h) {
    tc_log_field field = *h->states;
    tc_log_write(h->log, TC_EVENT_ENROLLED, &field, 1);
}
