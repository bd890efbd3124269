/* Everybody's answers say that somebody's state was outside of the box. */
#include "clamped.h"

#include "net/message.h"

void __wrap_tc_answer_encode(const tc_answer *answer, const double *p, unsigned char *bytes);
void __real_tc_answer_encode(const tc_answer *answer, const double *p, unsigned char *bytes);

static void on_clamped(void) {}

void __wrap_tc_answer_encode(const tc_answer *answer, const double *p, unsigned char *bytes) {
    tc_answer said = *answer;
    said.flags |= clamped_so_far > 0 ? TC_ANSWER_CLAMPED : 0;
    __real_tc_answer_encode(&said, p, bytes);
}
