/* Any bytes as a stream of frames: what a decoder accepts is encoded again to the same bytes, and what it gives lies
 * within its limits. */
#include "net/message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STATES = 3 };

static void expect_same(const unsigned char *whole, size_t size, const unsigned char *again, size_t again_size) {
    if (size != again_size || memcmp(whole, again, size) != 0)
        abort();
}

static size_t from_agent(const tc_frame *frame, unsigned char *again) {
    tc_hello hello;
    tc_enrol enrol;
    int64_t units[STATES];
    switch (frame->type) {
    case TC_MESSAGE_HELLO:
        if (tc_hello_decode(frame, &hello) != TC_NOT_REFUSED)
            return 0;
        tc_hello_encode(&hello, again);
        return tc_hello_size(&hello);
    case TC_MESSAGE_ENROL:
        if (tc_enrol_decode(frame, &enrol) != TC_NOT_REFUSED)
            return 0;
        tc_enrol_encode(&enrol, again);
        return tc_enrol_size(&enrol);
    case TC_MESSAGE_STATE:
        if (tc_state_decode(frame, STATES, units) != TC_NOT_REFUSED)
            return 0;
        tc_state_encode(frame->slot, frame->round, units, STATES, again);
        return tc_state_size(STATES);
    case TC_MESSAGE_LEAVE:
        if (tc_leave_decode(frame) != TC_NOT_REFUSED)
            return 0;
        tc_leave_encode(frame->slot, again);
        return TC_LEAVE_SIZE;
    default:
        return 0;
    }
}

static size_t control_from_cloud(const tc_frame *frame, unsigned char *again) {
    tc_welcome welcome;
    tc_enrolled enrolled;
    tc_note note;
    switch (frame->type) {
    case TC_MESSAGE_WELCOME:
        if (tc_welcome_decode(frame, &welcome) != TC_NOT_REFUSED)
            return 0;
        tc_welcome_encode(&welcome, again);
        return TC_WELCOME_SIZE;
    case TC_MESSAGE_ENROLLED:
        if (tc_enrolled_decode(frame, &enrolled) != TC_NOT_REFUSED)
            return 0;
        tc_enrolled_encode(&enrolled, again);
        return tc_enrolled_size(&enrolled);
    case TC_MESSAGE_NOTE:
        if (tc_note_decode(frame, &note) != TC_NOT_REFUSED)
            return 0;
        tc_note_encode(&note, again);
        return TC_NOTE_SIZE;
    default:
        return 0;
    }
}

static size_t from_cloud(const tc_frame *frame, unsigned char *again) {
    tc_answer answer;
    tc_refusal refusal;
    tc_end end;
    double p[STATES];
    switch (frame->type) {
    case TC_MESSAGE_ANSWER:
        if (tc_answer_decode(frame, STATES, &answer, p) != TC_NOT_REFUSED)
            return 0;
        tc_answer_encode(&answer, p, again);
        return tc_answer_size(STATES);
    case TC_MESSAGE_REFUSAL:
        if (tc_refusal_decode(frame, &refusal) != TC_NOT_REFUSED)
            return 0;
        tc_refusal_encode(&refusal, again);
        return tc_refusal_size(&refusal);
    case TC_MESSAGE_END:
        if (tc_end_decode(frame, &end) != TC_NOT_REFUSED)
            return 0;
        tc_end_encode(&end, again);
        return TC_END_SIZE;
    default:
        return control_from_cloud(frame, again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned char again[TC_FRAME_HEADER + TC_MOST_CONTROL];
    while (size > 0) {
        tc_frame frame;
        size_t taken, wanted;
        if (tc_frame_cut(data, size, TC_MOST_CONTROL, &frame, &taken, &wanted) != TC_CUT_FRAME)
            return 0;
        size_t encoded = from_agent(&frame, again);
        if (encoded == 0)
            encoded = from_cloud(&frame, again);
        if (encoded != 0)
            expect_same(data, taken, again, encoded);
        data += taken;
        size -= taken;
    }
    return 0;
}
