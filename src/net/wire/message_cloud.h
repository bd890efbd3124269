/* The messages from the cloud to an agent, in the way of message.h. All of them are released or operational figures. */
#ifndef TC_NET_MESSAGE_CLOUD_H
#define TC_NET_MESSAGE_CLOUD_H

#include "net/wire/message.h"

typedef struct tc_welcome { /* answers a hello */
    uint16_t version;
    uint32_t most_body; /* of what the cloud takes */
    unsigned char run_id[TC_RUN_ID];
    unsigned char plan_hash[TC_HASH];
    tc_epoch epoch;
} tc_welcome;
enum { TC_WELCOME_SIZE = TC_FRAME_HEADER + 8 + TC_RUN_ID + TC_HASH + 8 + TC_EPOCH_ID };
void tc_welcome_encode(const tc_welcome *welcome, unsigned char bytes[TC_WELCOME_SIZE]);
tc_refusal_code tc_welcome_decode(const tc_frame *frame, tc_welcome *welcome) TC_MUST_USE;

#define TC_WIRE_METHODS(X)                                                                                             \
    X(TC_WIRE_PUBLISHED, 1)                                                                                            \
    X(TC_WIRE_TACIT, 2)
typedef enum tc_wire_method {
#define X(code, number) code = number,
    TC_WIRE_METHODS(X)
#undef X
} tc_wire_method;

typedef struct tc_enrolled {
    uint32_t slot;
    uint64_t next; /* the round whose state is wanted next */
    uint32_t states;
    int32_t exponent; /* states are multiples of 2^exponent */
    tc_wire_method method;
    uint64_t rounds; /* in all */
} tc_enrolled;
enum { TC_ENROLLED_SIZE = TC_FRAME_HEADER + 24 };
void tc_enrolled_encode(const tc_enrolled *enrolled, unsigned char bytes[TC_ENROLLED_SIZE]);
tc_refusal_code tc_enrolled_decode(const tc_frame *frame, tc_enrolled *enrolled) TC_MUST_USE;

/* For this agent alone, and in the header of its answer: a message of its own would tell whoever counts bytes. They
 * belong to the first sending; one that is repeated has none. Bits of a later version mean nothing here. */
enum {
    TC_ANSWER_CLAMPED = 1, /* the state of this round lay outside the public box and was moved into it */
    TC_ANSWER_HELD = 2     /* the deadline of this round passed: the last state was used again */
};

typedef struct tc_answer {
    uint32_t slot;
    uint64_t round;
    uint16_t flags;
    double step, regularization;
    uint32_t states;
} tc_answer;
/* p: what the cloud answers this agent, finite numbers. */
size_t tc_answer_size(uint32_t states);
void tc_answer_encode(const tc_answer *answer, const double *p, unsigned char *bytes);
tc_refusal_code tc_answer_decode(const tc_frame *frame, uint32_t states, tc_answer *answer, double *p) TC_MUST_USE;

#define TC_NOTES(X) X(TC_NOTE_LOST, 1, "no answer comes for rounds up to this one: the next state is what is wanted")
typedef enum tc_note_code {
#define X(code, number, text) code = number,
    TC_NOTES(X)
#undef X
} tc_note_code;

typedef struct tc_note {
    uint32_t slot;
    uint64_t round;
    tc_note_code code;
} tc_note;
enum { TC_NOTE_SIZE = TC_FRAME_HEADER + 2 };
const char *tc_note_text(tc_note_code code);
void tc_note_encode(const tc_note *note, unsigned char bytes[TC_NOTE_SIZE]);
tc_refusal_code tc_note_decode(const tc_frame *frame, tc_note *note) TC_MUST_USE;

typedef struct tc_refusal {
    uint32_t slot; /* TC_NO_SLOT: the connection, which is closed then */
    uint64_t round;
    uint16_t code;      /* one of tc_refusal_code, or of a later version */
    const char *reason; /* printable ASCII */
    size_t reason_length;
} tc_refusal;
size_t tc_refusal_size(const tc_refusal *refusal);
void tc_refusal_encode(const tc_refusal *refusal, unsigned char *bytes);
tc_refusal_code tc_refusal_decode(const tc_frame *frame, tc_refusal *refusal) TC_MUST_USE;

#define TC_ENDS(X)                                                                                                     \
    X(TC_END_DONE, 1, "done")                                                                                          \
    X(TC_END_STOPPED, 2, "stopped")                                                                                    \
    X(TC_END_DIVERGED, 3, "diverged")
typedef enum tc_end_reason {
#define X(code, number, text) code = number,
    TC_ENDS(X)
#undef X
} tc_end_reason;
typedef struct tc_end {
    uint64_t round; /* the last one that was answered */
    tc_end_reason reason;
} tc_end;
enum { TC_END_SIZE = TC_FRAME_HEADER + 1 };
void tc_end_encode(const tc_end *end, unsigned char bytes[TC_END_SIZE]);
tc_refusal_code tc_end_decode(const tc_frame *frame, tc_end *end) TC_MUST_USE;

#endif
