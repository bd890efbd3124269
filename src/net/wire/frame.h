/* Frames: how a stream of bytes is divided into messages. docs/protocol.md is the specification.
 *
 *     0  u32  length   bytes of the body that follows
 *     4  u16  type
 *     6  u16  flags    of an answer (message.h), else 0
 *     8  u32  slot     which agent of this connection; TC_NO_SLOT: the connection itself
 *     12 u32  zero     0
 *     16 u64  round    below 2^48; 0 where the message has none
 *
 * Numbers are little-endian. A header that breaks a rule ends the connection: nobody can tell where the next frame
 * begins. */
#ifndef TC_NET_WIRE_FRAME_H
#define TC_NET_WIRE_FRAME_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TC_FRAME_HEADER = 24,
    TC_FRAME_MOST_BODY = 16 << 20, /* a connection's own limit may be lower */
    TC_FRAME_FLAGGED = 19,         /* the one type that may have flags: TC_MESSAGE_ANSWER */
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
void tc_put_integers(unsigned char *bytes, const int64_t *values, size_t count);
void tc_get_integers(const unsigned char *bytes, int64_t *values, size_t count);

#endif
