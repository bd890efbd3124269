/* The protocol between the cloud and its agents: frames, which divide a stream of bytes, and the messages in them.
 * docs/protocol.md is the specification.
 *
 * An encoder writes a whole frame, header and body, into tc_*_size bytes. A decoder takes a frame of the message's
 * type. It accepts all of it or returns the first rule that it breaks; encoding what was accepted gives the same bytes
 * again. Texts are not NUL-terminated: they point into the frame. */
#ifndef TC_NET_MESSAGE_H
#define TC_NET_MESSAGE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Frames ----
 *
 *     0  u32  length   bytes of the body that follows
 *     4  u16  type
 *     6  u16  flags    of an answer, else 0
 *     8  u32  slot     which agent of this connection; TC_NO_SLOT: the connection itself
 *     12 u32  zero     0
 *     16 u64  round    below 2^48; 0 where the message has none
 *
 * Numbers are little-endian. A header that breaks a rule ends the connection: nobody can tell where the next frame
 * begins. */

enum {
    TC_FRAME_HEADER = 24,
    TC_FRAME_MOST_BODY = 16 << 20, /* a connection's own limit may be lower */
};
#define TC_NO_SLOT UINT32_MAX
#define TC_FRAME_MOST_ROUND ((UINT64_C(1) << 48) - 1)

typedef struct tc_frame {
    uint16_t type;
    uint16_t flags;
    uint32_t slot;
    uint64_t round;
    const unsigned char *body; /* points into the caller's bytes */
    uint32_t length;
} tc_frame;

/* Writes the header of a frame of size bytes in all, without flags, and returns where its body begins. */
unsigned char *tc_frame_begin(unsigned char *bytes, unsigned type, uint32_t slot, uint64_t round, size_t size);

#define TC_CUTS(X)                                                                                                     \
    X(TC_CUT_FRAME, "a frame")                                                                                         \
    X(TC_CUT_MORE, "the frame is not whole yet")                                                                       \
    X(TC_CUT_TOO_LONG, "the body is longer than the limit")                                                            \
    X(TC_CUT_RESERVED, "a reserved field is not zero")                                                                 \
    X(TC_CUT_ROUND, "the round is out of range")

typedef enum tc_frame_finding {
#define X(code, text) code,
    TC_CUTS(X)
#undef X
} tc_frame_finding;
const char *tc_frame_finding_text(tc_frame_finding cut);

/* Reads the first frame of these bytes. TC_CUT_FRAME: *frame is filled and takes *taken bytes. TC_CUT_MORE: the next
 * call needs *wanted bytes in all; the header's rules are checked as soon as the header is there. Anything else: the
 * stream is broken. most_body: at most TC_FRAME_MOST_BODY. */
tc_frame_finding tc_frame_cut(const unsigned char *bytes, size_t size, uint32_t most_body, tc_frame *frame,
                              size_t *taken, size_t *wanted) TC_MUST_USE;

/* ---- Numbers in little-endian order, at any address ---- */

void tc_put_u16(unsigned char *bytes, uint16_t value);
void tc_put_u32(unsigned char *bytes, uint32_t value);
void tc_put_u64(unsigned char *bytes, uint64_t value);
uint16_t tc_get_u16(const unsigned char *bytes);
uint32_t tc_get_u32(const unsigned char *bytes);
uint64_t tc_get_u64(const unsigned char *bytes);

/* Arrays: a plain copy on most machines. */
void tc_put_doubles(unsigned char *bytes, const double *values, size_t count);
void tc_get_doubles(const unsigned char *bytes, double *values, size_t count);

/* ---- Messages ---- */

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
/* "state"; NULL for an unknown number. */
const char *tc_message_name(unsigned type);

enum {
    TC_FIRST_PROTOCOL = 1,  /* the versions spoken here: 1, */
    TC_PROTOCOL = 2,        /* and 2, which knows runs that end with a move, and scales */
    TC_PROTOCOL_SCALES = 2, /* the first in which ENROLLED may have scales */
    TC_MOST_SOFTWARE = 64,
    TC_MOST_NAME = 256,
    TC_MOST_REASON = 256,
    TC_MOST_SLOTS = 1 << 16,
    TC_MOST_CONTROL = 512, /* bytes of a body; only states and answers may be longer */
    TC_RUN_ID = 16,
    TC_EPOCH_ID = 16,
    TC_HASH = 32,
};

/* Why a frame or an agent is refused. The last column says whether the agent may try again by itself. */
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
const char *tc_refusal_text(unsigned code); /* NULL for an unknown number */
bool tc_refusal_may_retry(unsigned code);   /* true for an unknown number */

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
    X(TC_SLATER_UNASKED, 0) /* the agent's file has no public point */                                                 \
    X(TC_SLATER_YES, 1)                                                                                                \
    X(TC_SLATER_NO, 2)
typedef enum tc_slater_answer {
#define X(code, number) code = number,
    TC_SLATER_ANSWERS(X)
#undef X
} tc_slater_answer;

typedef struct tc_epoch { /* one start of the cloud */
    uint64_t number;      /* 0: none seen yet; id is then zero */
    unsigned char id[TC_EPOCH_ID];
} tc_epoch;

typedef struct tc_enrol {
    uint32_t slot;     /* chosen by the agent */
    uint64_t answered; /* the last round whose answer the agent has used; 0 for none */
    uint32_t states;
    tc_slater_answer slater;
    tc_epoch epoch; /* the highest to which the agent has sent a state */
    const char *name;
    size_t name_length;
} tc_enrol;
size_t tc_enrol_size(const tc_enrol *enrol);
void tc_enrol_encode(const tc_enrol *enrol, unsigned char *bytes);
tc_refusal_code tc_enrol_decode(const tc_frame *frame, tc_enrol *enrol) TC_MUST_USE;

/* A state is private. units: multiples of the lattice's step h. */
size_t tc_state_size(uint32_t states);
void tc_state_encode(uint32_t slot, uint64_t round, const int64_t *units, uint32_t states, unsigned char *bytes);
tc_refusal_code tc_state_decode(const tc_frame *frame, uint32_t states, int64_t *units) TC_MUST_USE;

/* ---- Messages without a body ---- */

enum { TC_LEAVE_SIZE = TC_FRAME_HEADER };
void tc_leave_encode(uint32_t slot, unsigned char bytes[TC_LEAVE_SIZE]);
tc_refusal_code tc_leave_decode(const tc_frame *frame) TC_MUST_USE;

/* ---- Cloud to agent: released or operational figures only ---- */

typedef struct tc_welcome { /* answers a hello */
    uint16_t version;
    uint32_t most_body; /* the largest that the cloud accepts */
    unsigned char run_id[TC_RUN_ID];
    unsigned char plan_hash[TC_HASH];
    tc_epoch epoch;
} tc_welcome;
enum { TC_WELCOME_SIZE = TC_FRAME_HEADER + 8 + TC_RUN_ID + TC_HASH + 8 + TC_EPOCH_ID };
void tc_welcome_encode(const tc_welcome *welcome, unsigned char bytes[TC_WELCOME_SIZE]);
tc_refusal_code tc_welcome_decode(const tc_frame *frame, tc_welcome *welcome) TC_MUST_USE;

#define TC_WIRE_METHODS(X)                                                                                             \
    X(TC_WIRE_PUBLISHED, 1)                                                                                            \
    X(TC_WIRE_TACIT, 2)                                                                                                \
    X(TC_WIRE_MOVED, 3)   /* tacit, and the last answer is a move; version 2 */                                        \
    X(TC_WIRE_CERTAIN, 4) /* tacit, the last state is the average, and the last answer a move; version 2 */
typedef enum tc_wire_method {
#define X(code, number) code = number,
    TC_WIRE_METHODS(X)
#undef X
} tc_wire_method;
/* The first version that knows it. */
static inline uint16_t tc_wire_version(tc_wire_method method) {
    return method == TC_WIRE_MOVED || method == TC_WIRE_CERTAIN ? 2 : 1;
}
/* Whether the result is an average; 0: not known yet. */
static inline bool tc_wire_averages(unsigned method) {
    return method == TC_WIRE_TACIT || method == TC_WIRE_MOVED || method == TC_WIRE_CERTAIN;
}

typedef struct tc_enrolled {
    uint32_t slot;
    uint64_t next; /* the round whose state is wanted next */
    uint32_t states;
    int32_t exponent; /* states are multiples of 2^exponent */
    tc_wire_method method;
    uint64_t rounds; /* of the whole run */
    /* By state: its step is 4^scale times the answer's; NULL: all are 0. Version 2. Points into the frame. */
    const int8_t *scales;
} tc_enrolled;
enum { TC_LEAST_SCALE = -40 };
size_t tc_enrolled_size(const tc_enrolled *enrolled);
void tc_enrolled_encode(const tc_enrolled *enrolled, unsigned char *bytes);
tc_refusal_code tc_enrolled_decode(const tc_frame *frame, tc_enrolled *enrolled) TC_MUST_USE;

/* Flags for this agent alone. They stand in the header of its answer, since a message of their own would show to an
 * observer who counts bytes. An answer that is sent again has the first one as long as the cloud lives, and not the
 * second. Unknown bits are ignored. */
enum {
    TC_ANSWER_CLAMPED = 1, /* this round's state lay outside the public box or set, and was moved inside */
    TC_ANSWER_HELD = 2     /* this round's deadline passed and the last state was used again */
};

typedef struct tc_answer {
    uint32_t slot;
    uint64_t round;
    uint16_t flags;
    double step, regularization; /* of a move: t, and 0 */
    uint32_t states;
} tc_answer;
/* p: p_i, `states` finite numbers. */
size_t tc_answer_size(uint32_t states);
void tc_answer_encode(const tc_answer *answer, const double *p, unsigned char *bytes);
tc_refusal_code tc_answer_decode(const tc_frame *frame, uint32_t states, tc_answer *answer, double *p) TC_MUST_USE;

#define TC_NOTES(X) X(TC_NOTE_LOST, 1, "no answer comes for rounds up to this one; the next state is wanted")
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
    uint32_t slot; /* TC_NO_SLOT: the connection, which is then closed */
    uint64_t round;
    uint16_t code;      /* a tc_refusal_code, or one of a later version */
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
    uint64_t round; /* the last that was answered */
    tc_end_reason reason;
} tc_end;
enum { TC_END_SIZE = TC_FRAME_HEADER + 1 };
void tc_end_encode(const tc_end *end, unsigned char bytes[TC_END_SIZE]);
tc_refusal_code tc_end_decode(const tc_frame *frame, tc_end *end) TC_MUST_USE;

#endif
