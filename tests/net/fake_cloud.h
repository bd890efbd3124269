/* A cloud that says what a test tells it to, in the thread of the agent: whenever it would wait, the agent goes on. */
#ifndef TC_TESTS_NET_FAKE_CLOUD_H
#define TC_TESTS_NET_FAKE_CLOUD_H

#include "net/keys.h"

#include "net/agent/agent.h"
#include "net/agent/link.h"
#include "net/message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

enum { FAKE_STATES = 2, FAKE_ROOM = 4096, FAKE_ROUNDS = 5, FAKE_AGENTS = 3, FAKE_EXPONENT = -20 };

typedef struct fake {
    keys k;
    int listener;
    char address[32];
    SSL_CTX *tls;   /* NULL: in plain text */
    int connection; /* -1: none */
    SSL *ssl;
    unsigned char in[FAKE_ROOM];
    size_t in_size, in_taken;
    bool in_pieces; /* one byte at a time, both ways */
    tc_epoch epoch;
    unsigned char run;
    /* the agent */
    tc_arena *arena;
    tc_buffer messages;
    tc_agent *agent;
    tc_agent_settings settings;
    tc_agent_steps steps[FAKE_AGENTS];
    bool is_scaled, refuses_scales; /* what fake_scale was told last, and says */
    bool steps_fail;
    tc_wire_method method;
    uint16_t version;
    uint64_t moved;                                                /* the last round that was told */
    int (*before)(struct fake *fake), (*after)(struct fake *fake); /* around the agent's turns */
} fake;

/* ---- An agent that can be foretold: x(1) = (1, 2), x(k+1) = x(k) - step (p + regularization x(k)) ---- */

static inline bool fake_start(void *context, double *x) {
    (void)context;
    x[0] = 1;
    x[1] = 2;
    return true;
}

static inline tc_slater_answer fake_slater(void *context) {
    (void)context;
    return TC_SLATER_YES;
}

static inline tc_agent_stepped fake_step(void *context, const tc_agent_answer *answer, const double *x, double *next) {
    const fake *f = context;
    for (size_t i = 0; i < FAKE_STATES; i++)
        next[i] = x[i] - answer->step * (answer->p[i] + answer->regularization * x[i]);
    return f->steps_fail ? TC_STEP_FAILED : TC_STEPPED;
}

static inline bool fake_holds(void *context, const double *p) {
    (void)context;
    return p[0] == 4 && p[1] == -8;
}

static inline const char *fake_scale(void *context, const int8_t *scales) {
    fake *f = context;
    f->is_scaled = scales != NULL;
    return f->refuses_scales && f->is_scaled ? "they are not wanted" : NULL;
}

static inline void fake_moved(void *context, size_t agent, uint64_t round, const double *x) {
    fake *f = context;
    assert_true(agent < FAKE_AGENTS && x[0] == x[0]);
    f->moved = round;
}

/* ---- Time ---- */

static inline double fake_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void fake_turn(fake *f) {
    struct timespec pause = {.tv_nsec = 10000};
    if (f->before != NULL)
        (void)f->before(f);
    (void)tc_agent_advance(f->agent);
    if (f->after != NULL)
        (void)f->after(f);
    (void)nanosleep(&pause, NULL);
}

#define FAKE_UNTIL(f, condition)                                                                                       \
    for (double end_ = fake_now() + 300; !(condition);) {                                                              \
        assert_true(fake_now() < end_);                                                                                \
        fake_turn(f);                                                                                                  \
    }

/* ---- Beginning and ending ---- */

static inline void fake_listen(fake *f) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    f->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(f->listener >= 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(f->listener, 8), 0);
    assert_int_equal(getsockname(f->listener, (struct sockaddr *)&at, &size), 0);
    assert_int_equal(fcntl(f->listener, F_SETFL, O_NONBLOCK), 0);
    (void)snprintf(f->address, sizeof f->address, "127.0.0.1:%u", ntohs(at.sin_port));
}

static inline void fake_begin(fake *f, bool tls, size_t agents) {
    static const char *const names[FAKE_AGENTS] = {"a1", "a2", "a3"};
    memset(f, 0, sizeof *f);
    f->k = keys_begin();
    f->connection = -1;
    f->epoch = (tc_epoch){.number = 1, .id = {9}};
    f->run = 0x11;
    f->method = TC_WIRE_TACIT;
    f->version = TC_PROTOCOL;
    fake_listen(f);
    for (size_t i = 0; i < FAKE_AGENTS; i++)
        f->steps[i] = (tc_agent_steps){.name = names[i],
                                       .states = FAKE_STATES,
                                       .context = f,
                                       .start = fake_start,
                                       .check_slater = fake_slater,
                                       .holds = fake_holds,
                                       .scale = fake_scale,
                                       .step = fake_step};
    f->settings = (tc_agent_settings){.cloud = f->address,
                                      .state = keys_path(&f->k, "state"),
                                      .agents = f->steps,
                                      .count = agents,
                                      .least_pause = 1,
                                      .most_pause = 4,
                                      .moved = fake_moved,
                                      .context = f};
    if (tls) {
        keys_init(&f->k, NULL);
        keys_issue(&f->k, "a1", NULL);
        assert_int_equal(tc_tls_cloud(f->k.arena, keys_path(&f->k, "cloud"), &f->k.messages, &f->tls), TC_OK);
        f->settings.keys = keys_path(&f->k, "agents/a1");
    }
}

static inline tc_status fake_open(fake *f) {
    f->arena = tc_arena_new(0);
    assert_non_null(f->arena);
    f->messages = tc_buffer_new(f->arena, 1 << 16);
    return tc_agent_new(f->arena, &f->settings, &f->messages, &f->agent);
}

/* The agent's process ends, without a word. */
static inline void fake_kill(fake *f) {
    tc_arena_free(f->arena);
    f->arena = NULL;
    f->agent = NULL;
}

static inline void fake_hang_up(fake *f) {
    SSL_free(f->ssl);
    f->ssl = NULL;
    if (f->connection >= 0)
        (void)close(f->connection);
    f->connection = -1;
    f->in_size = f->in_taken = 0;
}

static inline void fake_end(fake *f) {
    if (f->arena != NULL)
        fake_kill(f);
    fake_hang_up(f);
    (void)close(f->listener);
    SSL_CTX_free(f->tls);
    keys_end(&f->k);
}

/* ---- Bytes ---- */

static inline void fake_accept(fake *f) {
    FAKE_UNTIL(f, (f->connection = accept(f->listener, NULL, NULL)) >= 0)
    assert_int_equal(fcntl(f->connection, F_SETFL, O_NONBLOCK), 0);
    if (f->tls == NULL)
        return;
    f->ssl = tc_tls_accept(f->tls, f->connection);
    assert_non_null(f->ssl);
    FAKE_UNTIL(f, SSL_do_handshake(f->ssl) == 1)
    assert_null(tc_tls_refuse(f->ssl));
}

static inline ptrdiff_t fake_write(fake *f, const unsigned char *bytes, size_t size) {
    size_t sent = 0;
    if (f->ssl == NULL)
        return send(f->connection, bytes, size, MSG_NOSIGNAL);
    return SSL_write_ex(f->ssl, bytes, size, &sent) == 1 ? (ptrdiff_t)sent : -1;
}

static inline void fake_send(fake *f, const unsigned char *bytes, size_t size) {
    while (size > 0) {
        ptrdiff_t sent = fake_write(f, bytes, f->in_pieces ? 1 : size);
        if (sent > 0) {
            bytes += sent;
            size -= (size_t)sent;
        }
        if (f->in_pieces || sent <= 0)
            fake_turn(f);
    }
}

/* Whether there was anything. Everything that the agent sent before it closed is found. */
static inline bool fake_read(fake *f) {
    size_t got = 0, room = f->in_pieces ? 1 : FAKE_ROOM - f->in_size;
    assert_true(f->in_size < FAKE_ROOM);
    if (f->ssl == NULL) {
        ssize_t plain = recv(f->connection, f->in + f->in_size, room, 0);
        got = plain > 0 ? (size_t)plain : 0;
    } else if (SSL_read_ex(f->ssl, f->in + f->in_size, room, &got) != 1) {
        got = 0;
    }
    f->in_size += got;
    return got > 0;
}

static inline void fake_drop_taken(fake *f) {
    memmove(f->in, f->in + f->in_taken, f->in_size - f->in_taken);
    f->in_size -= f->in_taken;
    f->in_taken = 0;
}

/* The next frame that the agent sends; good until the next call. */
static inline tc_frame fake_receive(fake *f, tc_message type) {
    tc_frame frame;
    size_t wanted;
    fake_drop_taken(f);
    FAKE_UNTIL(f, tc_frame_cut(f->in, f->in_size, FAKE_ROOM, &frame, &f->in_taken, &wanted) == TC_CUT_FRAME ||
                      (fake_read(f) && false))
    assert_string_equal(tc_message_name(frame.type), tc_message_name(type));
    return frame;
}

/* No frame comes for a while. */
static inline void fake_expect_silence(fake *f) {
    fake_drop_taken(f);
    for (double end = fake_now() + 0.03; fake_now() < end;) {
        fake_turn(f);
        if (f->connection >= 0)
            assert_false(fake_read(f));
    }
}

/* ---- What a cloud says ---- */

static inline void fake_welcome(fake *f) {
    unsigned char bytes[TC_WELCOME_SIZE];
    tc_welcome welcome = {.version = f->version, .most_body = 1024, .epoch = f->epoch};
    memset(welcome.run_id, f->run, TC_RUN_ID);
    memset(welcome.plan_hash, f->run + 1, TC_HASH);
    tc_welcome_encode(&welcome, bytes);
    fake_send(f, bytes, sizeof bytes);
}

static inline void fake_enrolled(fake *f, uint32_t slot, uint64_t next) {
    unsigned char bytes[TC_FRAME_HEADER + 24];
    tc_enrolled enrolled = {.slot = slot,
                            .next = next,
                            .states = FAKE_STATES,
                            .exponent = FAKE_EXPONENT,
                            .method = f->method,
                            .rounds = FAKE_ROUNDS};
    tc_enrolled_encode(&enrolled, bytes);
    fake_send(f, bytes, sizeof bytes);
}

static inline void fake_answer_flagged(fake *f, uint32_t slot, uint64_t round, unsigned flags) {
    unsigned char bytes[TC_FRAME_HEADER + 16 + 8 * FAKE_STATES];
    tc_answer answer = {.slot = slot,
                        .round = round,
                        .flags = (uint16_t)flags,
                        .step = 0.25,
                        .regularization = 0.5,
                        .states = FAKE_STATES};
    const double p[FAKE_STATES] = {(double)round, -1};
    tc_answer_encode(&answer, p, bytes);
    fake_send(f, bytes, sizeof bytes);
}

static inline void fake_answer(fake *f, uint32_t slot, uint64_t round) { fake_answer_flagged(f, slot, round, 0); }

static inline void fake_note(fake *f, uint32_t slot, uint64_t round, tc_note_code code) {
    unsigned char bytes[TC_NOTE_SIZE];
    tc_note_encode(&(tc_note){.slot = slot, .round = round, .code = code}, bytes);
    fake_send(f, bytes, sizeof bytes);
}

static inline void fake_refuse(fake *f, uint32_t slot, unsigned code) {
    unsigned char bytes[TC_FRAME_HEADER + TC_MOST_CONTROL];
    tc_refusal refusal = {.slot = slot, .code = (uint16_t)code, .reason = "so", .reason_length = 2};
    tc_refusal_encode(&refusal, bytes);
    fake_send(f, bytes, tc_refusal_size(&refusal));
}

static inline void fake_say_end(fake *f, uint64_t round, tc_end_reason reason) {
    unsigned char bytes[TC_END_SIZE];
    tc_end_encode(&(tc_end){.round = round, .reason = reason}, bytes);
    fake_send(f, bytes, sizeof bytes);
}

/* ---- What an agent is expected to say ---- */

/* x(k) of the foretold agent. */
static inline void fake_state_of(uint64_t round, double x[FAKE_STATES], double average[FAKE_STATES]) {
    (void)fake_start(NULL, x);
    (void)fake_start(NULL, average);
    for (uint64_t k = 1; k < round; k++)
        for (size_t i = 0; i < FAKE_STATES; i++) {
            double p = i == 0 ? (double)k : -1;
            average[i] += 3 / ((double)k + 2) * (x[i] - average[i]);
            x[i] = x[i] - 0.25 * (p + 0.5 * x[i]);
        }
}

static inline void fake_expect_state(fake *f, uint32_t slot, uint64_t round) {
    int64_t units[FAKE_STATES];
    double x[FAKE_STATES], average[FAKE_STATES];
    tc_frame frame = fake_receive(f, TC_MESSAGE_STATE);
    assert_int_equal(frame.slot, slot);
    assert_int_equal(frame.round, round);
    assert_int_equal(tc_state_decode(&frame, FAKE_STATES, units), TC_NOT_REFUSED);
    fake_state_of(round, x, average);
    for (size_t i = 0; i < FAKE_STATES; i++)
        assert_int_equal(units[i], (int64_t)__builtin_rint(x[i] * 0x1p20));
}

static inline tc_enrol fake_expect_enrol(fake *f, uint32_t slot, uint64_t answered) {
    tc_enrol enrol;
    tc_frame frame = fake_receive(f, TC_MESSAGE_ENROL);
    assert_int_equal(tc_enrol_decode(&frame, &enrol), TC_NOT_REFUSED);
    assert_int_equal(enrol.slot, slot);
    assert_int_equal(enrol.answered, answered);
    assert_int_equal(enrol.states, FAKE_STATES);
    return enrol;
}

/* Until the agents are about to enrol. */
static inline void fake_greet(fake *f) {
    tc_hello hello;
    fake_accept(f);
    tc_frame frame = fake_receive(f, TC_MESSAGE_HELLO);
    assert_int_equal(tc_hello_decode(&frame, &hello), TC_NOT_REFUSED);
    fake_welcome(f);
}

/* One agent, enrolled, whose first state has come. */
static inline void fake_begin_enrolled(fake *f, bool tls) {
    fake_begin(f, tls, 1);
    assert_int_equal(fake_open(f), TC_OK);
    fake_greet(f);
    (void)fake_expect_enrol(f, 0, 0);
    fake_enrolled(f, 0, 1);
    fake_expect_state(f, 0, 1);
}

static inline void fake_rounds(fake *f, uint64_t first, uint64_t last) {
    for (uint64_t round = first; round <= last; round++) {
        fake_answer(f, 0, round);
        if (round < FAKE_ROUNDS)
            fake_expect_state(f, 0, round + 1);
    }
}

/* ---- The end of a run ---- */

static inline void expect_done(fake *f) {
    double x[FAKE_STATES], average[FAKE_STATES];
    FAKE_UNTIL(f, tc_agent_is_over(tc_agent_how(f->agent)))
    tc_agent_view view = tc_agent_look(f->agent, 0);
    assert_string_equal(tc_agent_condition_name(view.how), "done");
    assert_int_equal(view.answered, FAKE_ROUNDS);
    fake_state_of(FAKE_ROUNDS + 1, x, average);
    assert_memory_equal(view.x, x, sizeof x);
    assert_memory_equal(view.result, average, sizeof average);
}

static inline void finish_run(fake *f, uint64_t from) {
    fake_rounds(f, from, FAKE_ROUNDS);
    fake_say_end(f, FAKE_ROUNDS, TC_END_DONE);
    expect_done(f);
}

#endif
