/* A cloud in the test's own thread, with a real cloud half and a real journal, and clients on socket pairs: whenever a
 * client would wait, the cloud's loop goes round. */
#ifndef TC_TESTS_SERVE_DESK_H
#define TC_TESTS_SERVE_DESK_H

#include "engine/cloud_halves.h"
#include "net/keys.h"

#include "serve/rounds/rounds.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#define DESK_PROBLEM                                                                                                   \
    AGENTS_ALONE                                                                                                       \
    "agents h[i in 1..2] {\n state x in [0, 4]\n state y in [-1, 2]\n private minimize (x - 3)^2 + y^2\n}\n"           \
    "constraint f: sum(h: x + y) <= 3\n"                                                                               \
    "schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.52; rounds 1000 }\n"
enum { DESK_AGENTS = 5, DESK_ROUNDS = 12 };
static const char *const DESK_NAMES[DESK_AGENTS] = {"a", "b", "c", "h[1]", "h[2]"};
static const uint32_t DESK_STATES[DESK_AGENTS] = {2, 1, 3, 2, 2};

typedef struct desk {
    planned p;
    half_case of;
    char folder[64];
    tc_arena *arena; /* of one start */
    struct event_base *base;
    tc_journal *journal;
    tc_epoch epoch;
    tc_cloud_half *half;
    tc_figures figures;
    tc_reporter reporter;
    tc_rounds *rounds;
    tc_links *links;
} desk;

typedef struct desk_wish {
    bool after_restore, needs_slater;
    tc_late_policy late;
    double tick;
    unsigned idle_seconds, slow_seconds;
    const char *disbelieved; /* an agent; NULL for none */
} desk_wish;

static inline double desk_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void desk_turn(desk *d) { assert_true(event_base_loop(d->base, EVLOOP_NONBLOCK) >= 0); }

static inline void desk_run(desk *d, double seconds) {
    struct timespec pause = {.tv_nsec = 1000000};
    for (double end = desk_now() + seconds; desk_now() < end;) {
        desk_turn(d);
        (void)nanosleep(&pause, NULL);
    }
}

/* Until a condition holds, which nothing but the loop brings about. */
#define DESK_UNTIL(d, condition)                                                                                       \
    for (double end_ = desk_now() + 300; !(condition);) {                                                              \
        assert_true(desk_now() < end_);                                                                                \
        desk_turn(d);                                                                                                  \
    }

/* As if so many seconds had gone by: what is late is found out now, however long this program has taken. Deadlines in
 * tests are of many minutes, so that none passes by itself. */
static inline void desk_age(desk *d, double seconds) {
    d->rounds->opened_at -= seconds;
    d->rounds->warn_at -= seconds;
    for (size_t i = 0; i < d->rounds->enrolment->seat_count; i++)
        d->rounds->enrolment->seats[i].enrolled_at -= seconds;
    tc_late_on_time(-1, EV_TIMEOUT, d->rounds);
}

/* The run is over; the time that agents have to hear of it ends only when the test says so. */
static inline void desk_wait_for_agents(desk *d) { d->rounds->news_at = desk_now() + 1e6; }
static inline void desk_wait_no_longer(desk *d) { d->rounds->news_at = desk_now() - 1e6; }

static inline void desk_begin(desk *d) {
    (void)signal(SIGPIPE, SIG_IGN);
    memset(d, 0, sizeof *d);
    d->p = planned_problem("desk.tacit", DESK_PROBLEM);
    assert_true(half_case_of(&d->p, &HALF_WISHES[0], DESK_ROUNDS, &d->of));
    (void)snprintf(d->folder, sizeof d->folder, "/tmp/tacit-desk-XXXXXX");
    assert_non_null(mkdtemp(d->folder));
}

static inline void desk_end(desk *d) {
    assert_int_equal(nftw(d->folder, keys_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    planned_end(&d->p);
}

/* Up to where agents may come; the cloud half is there unless they are asked first. */
static inline void desk_open(desk *d, desk_wish wish) {
    d->arena = tc_arena_new(0);
    assert_non_null(d->arena);
    tc_buffer messages = tc_buffer_new(d->arena, 1 << 16);
    tc_journal_settings settings = {.folder = d->folder, .durability = TC_DURABLE_PROCESS, .log_pages = 64};
    d->base = event_base_new();
    assert_non_null(d->base);
    assert_int_equal(tc_journal_open(d->arena, &settings, d->of.plan->hash, NULL, &messages, &d->journal), TC_OK);
    assert_int_equal(tc_journal_begin_epoch(d->journal, wish.after_restore ? 1000 : 0, &d->epoch), TC_OK);
    d->figures = (tc_figures){.phase = TC_PHASE_ENROLLING};
    d->reporter = (tc_reporter){.figures = &d->figures};
    if (wish.late.deadline <= 0)
        wish.late.deadline = 100;
    tc_rounds_settings rounds = {.model = d->p.model,
                                 .base = d->base,
                                 .journal = d->journal,
                                 .epoch = d->epoch,
                                 .reporter = &d->reporter,
                                 .exponent = d->of.plan->state_exponent,
                                 .method = TC_WIRE_PUBLISHED,
                                 .rounds = DESK_ROUNDS,
                                 .late = wish.late,
                                 .tick = wish.tick,
                                 .is_plain = true,
                                 .needs_slater = wish.needs_slater,
                                 .after_restore = wish.after_restore,
                                 .idle_seconds = wish.idle_seconds};
    assert_int_equal(tc_rounds_new(d->arena, &rounds, &d->rounds), TC_OK);
    if (wish.disbelieved != NULL)
        assert_true(tc_rounds_disbelieve(d->rounds, wish.disbelieved));
    tc_links_settings links = {.owner = tc_rounds_owner(d->rounds, 0), .slow_seconds = wish.slow_seconds};
    d->links = tc_links_new(d->base, &links);
    assert_non_null(d->links);
}

static inline void desk_make_half(desk *d) {
    uint64_t first = tc_rounds_first(d->rounds);
    const tc_journal_round *last = tc_journal_last(d->journal);
    d->half = half_new(d->arena, &d->of, 11, NULL, first);
    if (last->round > 0)
        assert_true(tc_cloud_half_load(d->half, last->snapshot, last->snapshot_size));
}

static inline void desk_start(desk *d, desk_wish wish) {
    desk_open(d, wish);
    if (wish.after_restore)
        return;
    desk_make_half(d);
    assert_int_equal(tc_rounds_begin(d->rounds, d->half), TC_OK);
}

/* As if it were killed: nothing is said. */
static inline void desk_stop(desk *d) {
    tc_links_free(d->links);
    tc_rounds_free(d->rounds);
    event_base_free(d->base);
    tc_arena_free(d->arena);
}

/* ---- clients ---- */

typedef struct client {
    int descriptor;
    unsigned char bytes[1 << 16], body[1 << 14];
    size_t size;
} client;

static inline void client_open(desk *d, client *c) {
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(fcntl(pair[i], F_SETFL, O_NONBLOCK), 0);
    c->descriptor = pair[0];
    c->size = 0;
    tc_links_take(d->links, pair[1]);
}

static inline void client_close(client *c) { assert_int_equal(close(c->descriptor), 0); }

static inline void client_say(desk *d, client *c, const unsigned char *bytes, size_t size) {
    for (double end = desk_now() + 300; size > 0;) {
        assert_true(desk_now() < end);
        ssize_t sent = send(c->descriptor, bytes, size, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            size -= (size_t)sent;
        }
        desk_turn(d);
    }
}

/* The next frame; type 0 where the cloud has closed, or nothing comes within the seconds. */
static inline tc_frame client_hear_within(desk *d, client *c, double seconds) {
    tc_frame frame = {.type = 0};
    size_t taken = 0, wanted = 0;
    for (double end = desk_now() + seconds; desk_now() < end;) {
        if (tc_frame_cut(c->bytes, c->size, TC_FRAME_MOST_BODY, &frame, &taken, &wanted) == TC_CUT_FRAME) {
            assert_true(frame.length <= sizeof c->body);
            memcpy(c->body, frame.body, frame.length);
            frame.body = c->body;
            memmove(c->bytes, c->bytes + taken, c->size - taken);
            c->size -= taken;
            return frame;
        }
        ssize_t got = recv(c->descriptor, c->bytes + c->size, sizeof c->bytes - c->size, 0);
        if (got == 0)
            break;
        c->size += got > 0 ? (size_t)got : 0;
        desk_turn(d);
    }
    return (tc_frame){.type = 0};
}

static inline tc_frame client_hear(desk *d, client *c) { return client_hear_within(d, c, 60); }

static inline void client_expect_silence(desk *d, client *c) {
    tc_frame frame = client_hear_within(d, c, 0.05);
    if (frame.type != 0)
        fail_msg("a %s came", tc_message_name(frame.type));
}

static inline void client_expect_refusal(desk *d, client *c, uint32_t slot, tc_refusal_code code) {
    tc_refusal refusal;
    tc_frame frame = client_hear(d, c);
    assert_int_equal(frame.type, TC_MESSAGE_REFUSAL);
    assert_int_equal(tc_refusal_decode(&frame, &refusal), TC_NOT_REFUSED);
    assert_int_equal(refusal.code, code);
    assert_int_equal(refusal.slot, slot);
    assert_true(refusal.reason_length > 0);
}

static inline void client_expect_end(desk *d, client *c, tc_end_reason reason) {
    tc_end end;
    tc_frame frame = client_hear(d, c);
    assert_int_equal(frame.type, TC_MESSAGE_END);
    assert_int_equal(tc_end_decode(&frame, &end), TC_NOT_REFUSED);
    assert_int_equal(end.reason, reason);
}

/* An answer, and what its header says of the state. */
static inline void client_expect_flags(desk *d, client *c, uint32_t slot, uint64_t round, unsigned flags) {
    tc_frame frame = client_hear(d, c);
    assert_int_equal(frame.type, TC_MESSAGE_ANSWER);
    assert_int_equal(frame.slot, slot);
    assert_int_equal(frame.round, round);
    assert_int_equal(frame.flags, flags);
}

static inline void client_expect_note(desk *d, client *c, uint32_t slot, uint64_t round, tc_note_code code) {
    tc_note note;
    tc_frame frame = client_hear(d, c);
    assert_int_equal(frame.type, TC_MESSAGE_NOTE);
    assert_int_equal(tc_note_decode(&frame, &note), TC_NOT_REFUSED);
    assert_int_equal(note.code, code);
    assert_int_equal(note.slot, slot);
    assert_int_equal(note.round, round);
}

static inline tc_welcome client_greet(desk *d, client *c) {
    unsigned char bytes[128];
    tc_hello hello = {.lowest_version = 1, .highest_version = 1, .software = "test", .software_length = 4};
    tc_welcome welcome;
    tc_hello_encode(&hello, bytes);
    client_say(d, c, bytes, tc_hello_size(&hello));
    tc_frame frame = client_hear(d, c);
    assert_int_equal(frame.type, TC_MESSAGE_WELCOME);
    assert_int_equal(tc_welcome_decode(&frame, &welcome), TC_NOT_REFUSED);
    return welcome;
}

static inline tc_enrol enrol_of(size_t agent, uint32_t slot, uint64_t answered) {
    return (tc_enrol){.slot = slot,
                      .answered = answered,
                      .states = DESK_STATES[agent],
                      .slater = TC_SLATER_YES,
                      .name = DESK_NAMES[agent],
                      .name_length = strlen(DESK_NAMES[agent])};
}

static inline void client_say_enrol(desk *d, client *c, const tc_enrol *enrol) {
    unsigned char bytes[512];
    tc_enrol_encode(enrol, bytes);
    client_say(d, c, bytes, tc_enrol_size(enrol));
}

static inline tc_enrolled client_expect_enrolled(desk *d, client *c) {
    tc_enrolled enrolled;
    tc_frame frame = client_hear(d, c);
    if (frame.type != TC_MESSAGE_ENROLLED)
        fail_msg("not enrolled: %s", frame.type == 0 ? "nothing" : tc_message_name(frame.type));
    assert_int_equal(tc_enrolled_decode(&frame, &enrolled), TC_NOT_REFUSED);
    return enrolled;
}

static inline tc_enrolled client_enrol(desk *d, client *c, size_t agent, uint32_t slot, uint64_t answered) {
    tc_enrol enrol = enrol_of(agent, slot, answered);
    client_say_enrol(d, c, &enrol);
    return client_expect_enrolled(d, c);
}

/* A connection with one agent in slot 0. */
static inline void client_join(desk *d, client *c, size_t agent, uint64_t answered) {
    client_open(d, c);
    (void)client_greet(d, c);
    (void)client_enrol(d, c, agent, 0, answered);
}

/* Units are those of x by coordinate: any number within the box. */
/* What an agent says when it has all that it came for. */
static inline void client_say_leave(desk *d, client *c) {
    unsigned char bytes[TC_LEAVE_SIZE];
    tc_leave_encode(TC_NO_SLOT, bytes);
    client_say(d, c, bytes, sizeof bytes);
}

static inline void client_say_state(desk *d, client *c, size_t agent, uint32_t slot, uint64_t round, int64_t unit) {
    unsigned char bytes[256];
    int64_t units[8];
    for (uint32_t i = 0; i < DESK_STATES[agent]; i++)
        units[i] = unit + i;
    tc_state_encode(slot, round, units, DESK_STATES[agent], bytes);
    client_say(d, c, bytes, tc_state_size(DESK_STATES[agent]));
}

/* Returns the bytes of the answer, header and all, for comparisons. */
static inline size_t client_expect_answer(desk *d, client *c, size_t agent, uint32_t slot, uint64_t round,
                                          unsigned char *whole) {
    double p[8];
    tc_answer answer;
    tc_frame frame = client_hear(d, c);
    if (frame.type != TC_MESSAGE_ANSWER)
        fail_msg("no answer: %s", frame.type == 0 ? "nothing" : tc_message_name(frame.type));
    assert_int_equal(frame.slot, slot);
    assert_int_equal(frame.round, round);
    assert_int_equal(tc_answer_decode(&frame, DESK_STATES[agent], &answer, p), TC_NOT_REFUSED);
    if (whole != NULL)
        memcpy(whole, frame.body, frame.length);
    return frame.length;
}

#endif
