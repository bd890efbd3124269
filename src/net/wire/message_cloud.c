#include "net/wire/message_cloud.h"

#include <math.h>
#include <string.h>

static bool has_size(const tc_frame *frame, size_t size) { return TC_FRAME_HEADER + (size_t)frame->length == size; }

/* ---- welcome ---- */

void tc_welcome_encode(const tc_welcome *welcome, unsigned char bytes[TC_WELCOME_SIZE]) {
    unsigned char *body = tc_frame_begin(bytes, TC_MESSAGE_WELCOME, TC_NO_SLOT, 0, TC_WELCOME_SIZE);
    tc_put_u16(body, welcome->version);
    tc_put_u16(body + 2, 0);
    tc_put_u32(body + 4, welcome->most_body);
    memcpy(body + 8, welcome->run_id, TC_RUN_ID);
    memcpy(body + 24, welcome->plan_hash, TC_HASH);
    tc_put_u64(body + 56, welcome->epoch.number);
    memcpy(body + 64, welcome->epoch.id, TC_EPOCH_ID);
}

tc_refusal_code tc_welcome_decode(const tc_frame *frame, tc_welcome *welcome) {
    const unsigned char *body = frame->body;
    if (!has_size(frame, TC_WELCOME_SIZE) || frame->slot != TC_NO_SLOT || frame->round != 0 ||
        tc_get_u16(body + 2) != 0)
        return TC_REFUSED_FRAME;
    *welcome = (tc_welcome){
        .version = tc_get_u16(body), .most_body = tc_get_u32(body + 4), .epoch.number = tc_get_u64(body + 56)};
    memcpy(welcome->run_id, body + 8, TC_RUN_ID);
    memcpy(welcome->plan_hash, body + 24, TC_HASH);
    memcpy(welcome->epoch.id, body + 64, TC_EPOCH_ID);
    if (welcome->epoch.number == 0)
        return TC_REFUSED_FRAME;
    return welcome->version == TC_PROTOCOL ? TC_NOT_REFUSED : TC_REFUSED_VERSION;
}

/* ---- enrolled ---- */

void tc_enrolled_encode(const tc_enrolled *enrolled, unsigned char bytes[TC_ENROLLED_SIZE]) {
    unsigned char *body = tc_frame_begin(bytes, TC_MESSAGE_ENROLLED, enrolled->slot, enrolled->next, TC_ENROLLED_SIZE);
    tc_put_u32(body, enrolled->states);
    tc_put_u32(body + 4, (uint32_t)enrolled->exponent);
    tc_put_u64(body + 8, (uint64_t)enrolled->method);
    tc_put_u64(body + 16, enrolled->rounds);
}

tc_refusal_code tc_enrolled_decode(const tc_frame *frame, tc_enrolled *enrolled) {
    const unsigned char *body = frame->body;
    if (!has_size(frame, TC_ENROLLED_SIZE))
        return TC_REFUSED_FRAME;
    uint64_t method = tc_get_u64(body + 8);
    *enrolled = (tc_enrolled){.slot = frame->slot,
                              .next = frame->round,
                              .states = tc_get_u32(body),
                              .exponent = (int32_t)tc_get_u32(body + 4),
                              .method = method == 1 ? TC_WIRE_PUBLISHED : TC_WIRE_TACIT,
                              .rounds = tc_get_u64(body + 16)};
    if (method < 1 || method > 2 || enrolled->next == 0 || enrolled->rounds > TC_FRAME_MOST_ROUND ||
        enrolled->exponent < -1074 || enrolled->exponent > 1023)
        return TC_REFUSED_FRAME;
    return enrolled->slot >= TC_MOST_SLOTS ? TC_REFUSED_SLOT : TC_NOT_REFUSED;
}

/* ---- answer: step, regularization, p ---- */

size_t tc_answer_size(uint32_t states) { return TC_FRAME_HEADER + 16 + 8 * (size_t)states; }

_Static_assert((int)TC_FRAME_FLAGGED == (int)TC_MESSAGE_ANSWER, "answers alone have flags");

void tc_answer_encode(const tc_answer *answer, const double *p, unsigned char *bytes) {
    unsigned char *body =
        tc_frame_begin(bytes, TC_MESSAGE_ANSWER, answer->slot, answer->round, tc_answer_size(answer->states));
    tc_put_u16(bytes + 6, answer->flags);
    tc_put_doubles(body, &answer->step, 1);
    tc_put_doubles(body + 8, &answer->regularization, 1);
    tc_put_doubles(body + 16, p, answer->states);
}

static bool are_finite(const double *values, size_t count) {
    bool finite = true;
    for (size_t i = 0; i < count; i++)
        finite &= isfinite(values[i]) != 0;
    return finite;
}

tc_refusal_code tc_answer_decode(const tc_frame *frame, uint32_t states, tc_answer *answer, double *p) {
    if (frame->slot >= TC_MOST_SLOTS)
        return TC_REFUSED_SLOT;
    if (frame->round == 0)
        return TC_REFUSED_ROUND;
    if (!has_size(frame, tc_answer_size(states)))
        return TC_REFUSED_STATES;
    *answer = (tc_answer){.slot = frame->slot, .round = frame->round, .flags = frame->flags, .states = states};
    tc_get_doubles(frame->body, &answer->step, 1);
    tc_get_doubles(frame->body + 8, &answer->regularization, 1);
    tc_get_doubles(frame->body + 16, p, states);
    return isfinite(answer->step) && isfinite(answer->regularization) && are_finite(p, states) ? TC_NOT_REFUSED
                                                                                               : TC_REFUSED_FRAME;
}

/* ---- note ---- */

const char *tc_note_text(tc_note_code code) {
    switch (code) {
#define X(code, number, text)                                                                                          \
    case code:                                                                                                         \
        return text;
        TC_NOTES(X)
#undef X
    }
    return NULL;
}

void tc_note_encode(const tc_note *note, unsigned char bytes[TC_NOTE_SIZE]) {
    tc_put_u16(tc_frame_begin(bytes, TC_MESSAGE_NOTE, note->slot, note->round, TC_NOTE_SIZE), (uint16_t)note->code);
}

tc_refusal_code tc_note_decode(const tc_frame *frame, tc_note *note) {
    if (!has_size(frame, TC_NOTE_SIZE))
        return TC_REFUSED_FRAME;
    if (tc_get_u16(frame->body) != TC_NOTE_LOST)
        return TC_REFUSED_FRAME;
    *note = (tc_note){.slot = frame->slot, .round = frame->round, .code = TC_NOTE_LOST};
    return note->slot >= TC_MOST_SLOTS ? TC_REFUSED_SLOT : TC_NOT_REFUSED;
}

/* ---- refusal ---- */

size_t tc_refusal_size(const tc_refusal *refusal) { return TC_FRAME_HEADER + 4 + refusal->reason_length; }

void tc_refusal_encode(const tc_refusal *refusal, unsigned char *bytes) {
    unsigned char *body =
        tc_frame_begin(bytes, TC_MESSAGE_REFUSAL, refusal->slot, refusal->round, tc_refusal_size(refusal));
    tc_put_u16(body, refusal->code);
    tc_put_u16(body + 2, (uint16_t)refusal->reason_length);
    memcpy(body + 4, refusal->reason, refusal->reason_length);
}

tc_refusal_code tc_refusal_decode(const tc_frame *frame, tc_refusal *refusal) {
    const unsigned char *body = frame->body;
    if (frame->length < 4)
        return TC_REFUSED_FRAME;
    *refusal = (tc_refusal){.slot = frame->slot,
                            .round = frame->round,
                            .code = tc_get_u16(body),
                            .reason = (const char *)body + 4,
                            .reason_length = tc_get_u16(body + 2)};
    if (refusal->code == 0 || refusal->reason_length > TC_MOST_REASON || frame->length != 4 + refusal->reason_length)
        return TC_REFUSED_FRAME;
    for (size_t i = 0; i < refusal->reason_length; i++)
        if (refusal->reason[i] < ' ' || refusal->reason[i] > '~')
            return TC_REFUSED_FRAME;
    return TC_NOT_REFUSED;
}

/* ---- end ---- */

void tc_end_encode(const tc_end *end, unsigned char bytes[TC_END_SIZE]) {
    *tc_frame_begin(bytes, TC_MESSAGE_END, TC_NO_SLOT, end->round, TC_END_SIZE) = (unsigned char)end->reason;
}

tc_refusal_code tc_end_decode(const tc_frame *frame, tc_end *end) {
    static const tc_end_reason reasons[] = {TC_END_DONE, TC_END_STOPPED, TC_END_DIVERGED};
    if (!has_size(frame, TC_END_SIZE) || frame->slot != TC_NO_SLOT || frame->body[0] < 1 || frame->body[0] > 3)
        return TC_REFUSED_FRAME;
    *end = (tc_end){.round = frame->round, .reason = reasons[frame->body[0] - 1]};
    return TC_NOT_REFUSED;
}
