/* What frames mean: every message with its encoder and its decoder side by side. docs/protocol.md is the specification.
 *
 * An encoder writes a whole frame, header and body, into bytes that have room for tc_*_size of it. A decoder takes a
 * frame whose type is that of the message, and either accepts all of it or names the first rule that it breaks: what is
 * accepted is encoded again to the same bytes. Texts are not NUL-terminated: they point into the frame. */
#ifndef TC_NET_MESSAGE_H
#define TC_NET_MESSAGE_H

#include "net/wire/frame.h"

#define TC_MESSAGES(X)                                                                                                 \
    X(TC_MESSAGE_HELLO, 1, "hello")                                                                                    \
    X(TC_MESSAGE_ENROL, 2, "enrol")                                                                                    \
    X(TC_MESSAGE_STATE, 3, "state")                                                                                    \
    X(TC_MESSAGE_LEAVE, 4, "leave")                                                                                    \
    X(TC_MESSAGE_WELCOME, 17, "welcome")                                                                               \
    X(TC_MESSAGE_ENROLLED, 18, "enrolled")                                                                             \
    X(TC_MESSAGE_ANSWER, 19, "answer")                                                                                 \
    X(TC_MESSAGE_NOTE, 20, "note")                                                                                     \
    X(TC_MESSAGE_REFUSAL, 21, "refusal")                                                                               \
    X(TC_MESSAGE_END, 22, "end")

typedef enum tc_message {
#define X(code, number, name) code = number,
    TC_MESSAGES(X)
#undef X
} tc_message;
/* "state"; NULL for a number that is no message's. */
const char *tc_message_name(unsigned type);

enum {
    TC_PROTOCOL = 1, /* the version spoken here */
    TC_MOST_SOFTWARE = 64,
    TC_MOST_NAME = 256,
    TC_MOST_REASON = 256,
    TC_MOST_SLOTS = 1 << 16,
    TC_MOST_CONTROL = 512, /* no body but those of states and answers is longer */
    TC_RUN_ID = 16,
    TC_EPOCH_ID = 16,
    TC_HASH = 32,
};

/* Why a frame or a party is refused. A client comes back by itself only where the last column says so. */
#define TC_REFUSALS(X)                                                                                                 \
    X(TC_REFUSED_FRAME, 1, "a frame or message is malformed", true)                                                    \
    X(TC_REFUSED_VERSION, 2, "no common version of the protocol", false)                                               \
    X(TC_REFUSED_UNKNOWN, 3, "no such agent", false)                                                                   \
    X(TC_REFUSED_IDENTITY, 4, "the certificate does not name this agent", false)                                       \
    X(TC_REFUSED_REPLACED, 5, "a newer connection speaks for this agent", false)                                       \
    X(TC_REFUSED_STATES, 6, "wrong number of states", false)                                                           \
    X(TC_REFUSED_ROUND, 7, "wrong round", true)                                                                        \
    X(TC_REFUSED_SLOT, 8, "no such slot, or one that is taken", true)                                                  \
    X(TC_REFUSED_SLATER, 9, "the public Slater point does not lie in the agent's own set", false)                      \
    X(TC_REFUSED_ROLLBACK, 10, "this agent has seen later rounds or a later epoch", false)                             \
    X(TC_REFUSED_RUN, 11, "another run", false)                                                                        \
    X(TC_REFUSED_CROWD, 12, "too many agents or connections", true)                                                    \
    X(TC_REFUSED_SLOW, 13, "what was sent is not being read", true)                                                    \
    X(TC_REFUSED_TURN, 14, "a message out of turn", true)                                                              \
    X(TC_REFUSED_OVER, 15, "the run is over", false)

typedef enum tc_refusal_code {
    TC_NOT_REFUSED = 0,
#define X(code, number, text, again) code = number,
    TC_REFUSALS(X)
#undef X
} tc_refusal_code;
const char *tc_refusal_text(unsigned code); /* NULL for a number that is no code */
bool tc_refusal_may_retry(unsigned code);   /* true for an unknown one */

/* ---- Agent to cloud ---- */

typedef struct tc_hello { /* the first message on a connection */
    uint16_t lowest_version, highest_version;
    const char *software; /* printable ASCII */
    size_t software_length;
} tc_hello;
size_t tc_hello_size(const tc_hello *hello);
void tc_hello_encode(const tc_hello *hello, unsigned char *bytes);
tc_refusal_code tc_hello_decode(const tc_frame *frame, tc_hello *hello) TC_MUST_USE;

#define TC_SLATER_ANSWERS(X)                                                                                           \
    X(TC_SLATER_UNASKED, 0) /* the agent's file names no public point */                                               \
    X(TC_SLATER_YES, 1)                                                                                                \
    X(TC_SLATER_NO, 2)
typedef enum tc_slater_answer {
#define X(code, number) code = number,
    TC_SLATER_ANSWERS(X)
#undef X
} tc_slater_answer;

typedef struct tc_epoch { /* one start of the cloud */
    uint64_t number;      /* 0: none seen yet, and then id is zero */
    unsigned char id[TC_EPOCH_ID];
} tc_epoch;

typedef struct tc_enrol {
    uint32_t slot;     /* chosen by the agent */
    uint64_t answered; /* the last round whose answer it has taken; 0 for none */
    uint32_t states;
    tc_slater_answer slater;
    tc_epoch epoch; /* the highest that it has sent a state to */
    const char *name;
    size_t name_length;
} tc_enrol;
size_t tc_enrol_size(const tc_enrol *enrol);
void tc_enrol_encode(const tc_enrol *enrol, unsigned char *bytes);
tc_refusal_code tc_enrol_decode(const tc_frame *frame, tc_enrol *enrol) TC_MUST_USE;

/* Private. The decoder gives the units in the order of the body, through tc_get_integers. */
size_t tc_state_size(uint32_t states);
void tc_state_encode(uint32_t slot, uint64_t round, const int64_t *units, uint32_t states, unsigned char *bytes);
tc_refusal_code tc_state_decode(const tc_frame *frame, uint32_t states, int64_t *units) TC_MUST_USE;

/* ---- Messages without a body ---- */

enum { TC_LEAVE_SIZE = TC_FRAME_HEADER };
void tc_leave_encode(uint32_t slot, unsigned char bytes[TC_LEAVE_SIZE]);
tc_refusal_code tc_leave_decode(const tc_frame *frame) TC_MUST_USE;

#endif
