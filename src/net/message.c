#include "net/message.h"

#include "base/json.h"

#include <math.h>
#include <string.h>

/* ---- frames ---- */

const char *tc_frame_finding_text(tc_frame_finding cut) {
    static const char *const texts[] = {
#define X(code, text) text,
        TC_CUTS(X)
#undef X
    };
    return texts[cut];
}

void tc_put_u16(unsigned char *bytes, uint16_t value) {
    bytes[0] = (unsigned char)(value & 0xff);
    bytes[1] = (unsigned char)(value >> 8);
}

void tc_put_u32(unsigned char *bytes, uint32_t value) {
    tc_put_u16(bytes, (uint16_t)(value & 0xffff));
    tc_put_u16(bytes + 2, (uint16_t)(value >> 16));
}

void tc_put_u64(unsigned char *bytes, uint64_t value) {
    tc_put_u32(bytes, (uint32_t)(value & 0xffffffff));
    tc_put_u32(bytes + 4, (uint32_t)(value >> 32));
}

uint16_t tc_get_u16(const unsigned char *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }

uint32_t tc_get_u32(const unsigned char *bytes) { return tc_get_u16(bytes) | (uint32_t)tc_get_u16(bytes + 2) << 16; }

uint64_t tc_get_u64(const unsigned char *bytes) { return tc_get_u32(bytes) | (uint64_t)tc_get_u32(bytes + 4) << 32; }

_Static_assert(sizeof(double) == 8, "doubles travel as IEEE 754 binary64");

static void copy_words(unsigned char *to, const unsigned char *from, size_t count) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (count > 0)
        memcpy(to, from, 8 * count);
#else
    for (size_t i = 0; i < 8 * count; i++)
        to[i] = from[i ^ 7];
#endif
}

void tc_put_doubles(unsigned char *bytes, const double *values, size_t count) {
    copy_words(bytes, (const unsigned char *)values, count);
}

void tc_get_doubles(const unsigned char *bytes, double *values, size_t count) {
    copy_words((unsigned char *)values, bytes, count);
}

static void put_integers(unsigned char *bytes, const int64_t *values, size_t count) {
    copy_words(bytes, (const unsigned char *)values, count);
}

static void get_integers(const unsigned char *bytes, int64_t *values, size_t count) {
    copy_words((unsigned char *)values, bytes, count);
}

unsigned char *tc_frame_begin(unsigned char *bytes, unsigned type, uint32_t slot, uint64_t round, size_t size) {
    tc_put_u32(bytes, (uint32_t)(size - TC_FRAME_HEADER));
    tc_put_u16(bytes + 4, (uint16_t)type);
    tc_put_u16(bytes + 6, 0);
    tc_put_u32(bytes + 8, slot);
    tc_put_u32(bytes + 12, 0);
    tc_put_u64(bytes + 16, round);
    return bytes + TC_FRAME_HEADER;
}

tc_frame_finding tc_frame_cut(const unsigned char *bytes, size_t size, uint32_t most_body, tc_frame *frame,
                              size_t *taken, size_t *wanted) {
    *taken = 0;
    *wanted = TC_FRAME_HEADER;
    if (size < TC_FRAME_HEADER)
        return TC_CUT_MORE;
    uint32_t length = tc_get_u32(bytes);
    uint64_t round = tc_get_u64(bytes + 16);
    uint16_t type = tc_get_u16(bytes + 4), flags = tc_get_u16(bytes + 6);
    if ((flags != 0 && type != TC_MESSAGE_ANSWER) || tc_get_u32(bytes + 12) != 0)
        return TC_CUT_RESERVED;
    if (length > most_body || length > TC_FRAME_MOST_BODY)
        return TC_CUT_TOO_LONG;
    if (round > TC_FRAME_MOST_ROUND)
        return TC_CUT_ROUND;
    *wanted = TC_FRAME_HEADER + (size_t)length;
    if (size < *wanted)
        return TC_CUT_MORE;
    *frame = (tc_frame){.type = type,
                        .flags = flags,
                        .slot = tc_get_u32(bytes + 8),
                        .round = round,
                        .body = bytes + TC_FRAME_HEADER,
                        .length = length};
    *taken = *wanted;
    return TC_CUT_FRAME;
}

/* ---- messages ---- */

static const unsigned char MAGIC[8] = {'t', 'a', 'c', 'i', 't', '\r', '\n', 0};

const char *tc_message_name(unsigned type) {
    switch (type) {
#define X(code, number, name)                                                                                          \
    case number:                                                                                                       \
        return name;
        TC_MESSAGES(X)
#undef X
    default:
        return NULL;
    }
}

const char *tc_refusal_text(unsigned code) {
    switch (code) {
#define X(code, number, text, again)                                                                                   \
    case number:                                                                                                       \
        return text;
        TC_REFUSALS(X)
#undef X
    default:
        return NULL;
    }
}

bool tc_refusal_may_retry(unsigned code) {
    switch (code) {
#define X(code, number, text, again)                                                                                   \
    case number:                                                                                                       \
        return again;
        TC_REFUSALS(X)
#undef X
    default:
        return true;
    }
}

/* ==== Agent to cloud ==== */

/* ---- hello: magic, lowest and highest version, the software's name ---- */

enum { HELLO_FIXED = 8 + 2 + 2 + 2 };

static bool is_printable(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return true;
}

size_t tc_hello_size(const tc_hello *hello) { return TC_FRAME_HEADER + HELLO_FIXED + hello->software_length; }

void tc_hello_encode(const tc_hello *hello, unsigned char *bytes) {
    unsigned char *body = tc_frame_begin(bytes, TC_MESSAGE_HELLO, TC_NO_SLOT, 0, tc_hello_size(hello));
    memcpy(body, MAGIC, sizeof MAGIC);
    tc_put_u16(body + 8, hello->lowest_version);
    tc_put_u16(body + 10, hello->highest_version);
    tc_put_u16(body + 12, (uint16_t)hello->software_length);
    memcpy(body + HELLO_FIXED, hello->software, hello->software_length);
}

tc_refusal_code tc_hello_decode(const tc_frame *frame, tc_hello *hello) {
    const unsigned char *body = frame->body;
    if (frame->slot != TC_NO_SLOT || frame->round != 0 || frame->length < HELLO_FIXED ||
        memcmp(body, MAGIC, sizeof MAGIC) != 0)
        return TC_REFUSED_FRAME;
    *hello = (tc_hello){.lowest_version = tc_get_u16(body + 8),
                        .highest_version = tc_get_u16(body + 10),
                        .software = (const char *)body + HELLO_FIXED,
                        .software_length = tc_get_u16(body + 12)};
    if (hello->software_length > TC_MOST_SOFTWARE || frame->length != HELLO_FIXED + hello->software_length ||
        !is_printable(hello->software, hello->software_length))
        return TC_REFUSED_FRAME;
    return hello->lowest_version <= TC_PROTOCOL && hello->highest_version >= TC_FIRST_PROTOCOL ? TC_NOT_REFUSED
                                                                                               : TC_REFUSED_VERSION;
}

/* ---- enrol: states, answer about the Slater point, epoch, name ---- */

enum { ENROL_FIXED = 4 + 4 + 8 + TC_EPOCH_ID + 2 };

size_t tc_enrol_size(const tc_enrol *enrol) { return TC_FRAME_HEADER + ENROL_FIXED + enrol->name_length; }

void tc_enrol_encode(const tc_enrol *enrol, unsigned char *bytes) {
    unsigned char *body = tc_frame_begin(bytes, TC_MESSAGE_ENROL, enrol->slot, enrol->answered, tc_enrol_size(enrol));
    tc_put_u32(body, enrol->states);
    tc_put_u32(body + 4, (uint32_t)enrol->slater);
    tc_put_u64(body + 8, enrol->epoch.number);
    memcpy(body + 16, enrol->epoch.id, TC_EPOCH_ID);
    tc_put_u16(body + 16 + TC_EPOCH_ID, (uint16_t)enrol->name_length);
    memcpy(body + ENROL_FIXED, enrol->name, enrol->name_length);
}

/* Well-formed UTF-8 without control characters. */
static bool is_name(const char *name, size_t length) {
    char text[TC_MOST_NAME + 4] = {0}; /* tc_utf8_length may look at four bytes */
    if (length == 0 || length > TC_MOST_NAME)
        return false;
    memcpy(text, name, length);
    for (size_t i = 0; i < length;) {
        size_t step = tc_utf8_length(text + i);
        if (step == 0 || step > length - i || (unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return false;
        i += step;
    }
    return true;
}

static bool is_epoch(const tc_epoch *epoch) {
    static const unsigned char none[TC_EPOCH_ID];
    return epoch->number != 0 || memcmp(epoch->id, none, sizeof none) == 0;
}

tc_refusal_code tc_enrol_decode(const tc_frame *frame, tc_enrol *enrol) {
    const unsigned char *body = frame->body;
    if (frame->length < ENROL_FIXED)
        return TC_REFUSED_FRAME;
    uint32_t slater = tc_get_u32(body + 4);
    *enrol = (tc_enrol){.slot = frame->slot,
                        .answered = frame->round,
                        .states = tc_get_u32(body),
                        .slater = slater == 1   ? TC_SLATER_YES
                                  : slater == 2 ? TC_SLATER_NO
                                                : TC_SLATER_UNASKED,
                        .epoch.number = tc_get_u64(body + 8),
                        .name = (const char *)body + ENROL_FIXED,
                        .name_length = tc_get_u16(body + 16 + TC_EPOCH_ID)};
    memcpy(enrol->epoch.id, body + 16, TC_EPOCH_ID);
    if (slater > 2 || frame->length != ENROL_FIXED + enrol->name_length || !is_name(enrol->name, enrol->name_length) ||
        !is_epoch(&enrol->epoch))
        return TC_REFUSED_FRAME;
    if (enrol->slot >= TC_MOST_SLOTS)
        return TC_REFUSED_SLOT;
    return enrol->states == 0 || enrol->states > TC_FRAME_MOST_BODY / 8 - 2 ? TC_REFUSED_STATES : TC_NOT_REFUSED;
}

/* ---- state: multiples of h ---- */

size_t tc_state_size(uint32_t states) { return TC_FRAME_HEADER + 8 * (size_t)states; }

void tc_state_encode(uint32_t slot, uint64_t round, const int64_t *units, uint32_t states, unsigned char *bytes) {
    put_integers(tc_frame_begin(bytes, TC_MESSAGE_STATE, slot, round, tc_state_size(states)), units, states);
}

tc_refusal_code tc_state_decode(const tc_frame *frame, uint32_t states, int64_t *units) {
    if (frame->slot >= TC_MOST_SLOTS)
        return TC_REFUSED_SLOT;
    if (frame->round == 0)
        return TC_REFUSED_ROUND;
    if (frame->length != 8 * (size_t)states)
        return TC_REFUSED_STATES;
    get_integers(frame->body, units, states);
    return TC_NOT_REFUSED;
}

/* ---- leave ---- */

void tc_leave_encode(uint32_t slot, unsigned char bytes[TC_LEAVE_SIZE]) {
    (void)tc_frame_begin(bytes, TC_MESSAGE_LEAVE, slot, 0, TC_LEAVE_SIZE);
}

tc_refusal_code tc_leave_decode(const tc_frame *frame) {
    return frame->round == 0 && frame->length == 0 ? TC_NOT_REFUSED : TC_REFUSED_FRAME;
}

/* ==== Cloud to agent ==== */

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
    return welcome->version >= TC_FIRST_PROTOCOL && welcome->version <= TC_PROTOCOL ? TC_NOT_REFUSED
                                                                                    : TC_REFUSED_VERSION;
}

/* ---- enrolled: states, lattice, method, rounds; scales where some are not 0 ---- */

enum { ENROLLED_FIXED = 24 };

size_t tc_enrolled_size(const tc_enrolled *enrolled) {
    return TC_FRAME_HEADER + ENROLLED_FIXED + (enrolled->scales != NULL ? enrolled->states : 0);
}

static bool are_scales(const int8_t *scales, size_t count) {
    bool some = false;
    for (size_t i = 0; i < count; i++) {
        if (scales[i] > 0 || scales[i] < TC_LEAST_SCALE)
            return false;
        some = some || scales[i] != 0;
    }
    return some;
}

void tc_enrolled_encode(const tc_enrolled *enrolled, unsigned char *bytes) {
    unsigned char *body =
        tc_frame_begin(bytes, TC_MESSAGE_ENROLLED, enrolled->slot, enrolled->next, tc_enrolled_size(enrolled));
    tc_put_u32(body, enrolled->states);
    tc_put_u32(body + 4, (uint32_t)enrolled->exponent);
    tc_put_u64(body + 8, (uint64_t)enrolled->method);
    tc_put_u64(body + 16, enrolled->rounds);
    if (enrolled->scales != NULL)
        memcpy(body + ENROLLED_FIXED, enrolled->scales, enrolled->states);
}

tc_refusal_code tc_enrolled_decode(const tc_frame *frame, tc_enrolled *enrolled) {
    const unsigned char *body = frame->body;
    if (frame->length < ENROLLED_FIXED)
        return TC_REFUSED_FRAME;
    uint64_t method = tc_get_u64(body + 8);
    bool has_scales = frame->length > ENROLLED_FIXED;
    *enrolled = (tc_enrolled){.slot = frame->slot,
                              .next = frame->round,
                              .states = tc_get_u32(body),
                              .exponent = (int32_t)tc_get_u32(body + 4),
                              .method = method == 1   ? TC_WIRE_PUBLISHED
                                        : method == 2 ? TC_WIRE_TACIT
                                        : method == 3 ? TC_WIRE_MOVED
                                                      : TC_WIRE_CERTAIN,
                              .rounds = tc_get_u64(body + 16),
                              .scales = has_scales ? (const int8_t *)body + ENROLLED_FIXED : NULL};
    if (has_scales && (frame->length - ENROLLED_FIXED != enrolled->states || method == TC_WIRE_PUBLISHED ||
                       !are_scales(enrolled->scales, enrolled->states)))
        return TC_REFUSED_FRAME;
    if (method < 1 || method > 4 || enrolled->next == 0 || enrolled->rounds > TC_FRAME_MOST_ROUND ||
        enrolled->exponent < -1074 || enrolled->exponent > 1023)
        return TC_REFUSED_FRAME;
    return enrolled->slot >= TC_MOST_SLOTS ? TC_REFUSED_SLOT : TC_NOT_REFUSED;
}

/* ---- answer: step, regularization, p ---- */

size_t tc_answer_size(uint32_t states) { return TC_FRAME_HEADER + 16 + 8 * (size_t)states; }

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
    return is_printable(refusal->reason, refusal->reason_length) ? TC_NOT_REFUSED : TC_REFUSED_FRAME;
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
