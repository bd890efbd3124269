/* Clouds that live and die in the test's own thread, with the real loop, cloud half and journal on a disk with faults
 * (fault_vfs.h), and agents on socket pairs that outlive them and remember the bytes of every answer. */
#ifndef TC_TESTS_SERVE_LIVES_H
#define TC_TESTS_SERVE_LIVES_H

#include "engine/cloud_halves.h"
#include "serve/fault_vfs.h"

#include "serve/rounds/rounds.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIFE_PROBLEM AGENTS_ALONE "schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.52; rounds 1000 }\n"
enum {
    LIFE_AGENTS = 3,
    LIFE_LINKS = 2, /* a gateway with a and b, and c by itself */
    LIFE_ROUNDS = 5,
    LIFE_STATES = 3,
    LIFE_BODY = 16 + 8 * LIFE_STATES,
    LIFE_LOG_PAGES = 6
};

typedef struct life_agent {                     /* what it keeps, whatever happens to the cloud */
    double x[LIFE_STATES], before[LIFE_STATES]; /* before the last answer */
    uint64_t answered;
    tc_epoch epoch;
    unsigned char run[TC_RUN_ID];                   /* from its first state on */
    unsigned char book[LIFE_ROUNDS + 1][LIFE_BODY]; /* by round */
    bool has[LIFE_ROUNDS + 1];
} life_agent;

typedef struct life_facts {
    const char *name;
    uint32_t states;
    size_t link;
    uint32_t slot;
} life_facts;
static const life_facts LIFE_FACTS[LIFE_AGENTS] = {{"a", 2, 0, 0}, {"b", 1, 0, 1}, {"c", 3, 1, 7}};

typedef struct world {
    planned p;
    half_case of;
    tc_durability durability;
    life_agent agents[LIFE_AGENTS];
    unsigned repeats; /* answers that came again */
    uint64_t deaf_to; /* c does not hear this round's answer, and the cloud is killed then; 0: it hears all */
} world;

typedef struct life {
    world *w;
    tc_arena *arena;
    struct event_base *base;
    tc_journal *journal;
    tc_epoch epoch;
    tc_figures figures;
    tc_reporter reporter;
    tc_rounds *rounds;
    tc_links *links;
    int descriptors[LIFE_LINKS]; /* -1: closed */
    unsigned char bytes[LIFE_LINKS][4096];
    size_t sizes[LIFE_LINKS];
    int exponents[LIFE_AGENTS];
    uint64_t said[LIFE_AGENTS]; /* the last round whose state was sent */
    bool was_over;              /* when it began */
    bool is_another;            /* run than that of an agent, which does not take part */
} life;

static inline void world_begin(world *w, const half_wish *wish, tc_durability durability) {
    (void)signal(SIGPIPE, SIG_IGN);
    *w = (world){.durability = durability, .p = planned_problem("lives.tacit", LIFE_PROBLEM)};
    assert_true(half_case_of(&w->p, wish, LIFE_ROUNDS, &w->of));
}

/* Agents as they were born. */
static inline void world_renew(world *w) {
    memset(w->agents, 0, sizeof w->agents);
    w->repeats = 0;
}

/* An agent that died before it had written its last step down. */
static inline void world_forget(world *w, size_t agent) {
    life_agent *a = &w->agents[agent];
    memcpy(a->x, a->before, sizeof a->x);
    a->answered--;
}

static inline bool world_is_done(const world *w) {
    for (size_t i = 0; i < LIFE_AGENTS; i++)
        if (w->agents[i].answered < LIFE_ROUNDS)
            return false;
    return true;
}

static inline uint64_t world_most_answered(const world *w) {
    uint64_t most = 0;
    for (size_t i = 0; i < LIFE_AGENTS; i++)
        most = w->agents[i].answered > most ? w->agents[i].answered : most;
    return most;
}

/* ---- what agents do ---- */

static inline void life_send(life *l, size_t link, const unsigned char *bytes, size_t size) {
    if (l->descriptors[link] >= 0 && send(l->descriptors[link], bytes, size, MSG_NOSIGNAL) < 0)
        assert_true(l->rounds->end != TC_RUN_GOES_ON); /* messages are small: there is room unless it is closed */
}

static inline void life_hang_up(life *l, size_t link) {
    if (l->descriptors[link] >= 0)
        assert_int_equal(close(l->descriptors[link]), 0);
    l->descriptors[link] = -1;
}

static inline void life_say_enrol(life *l, size_t agent) {
    const life_facts *facts = &LIFE_FACTS[agent];
    unsigned char bytes[256];
    tc_enrol enrol = {.slot = facts->slot,
                      .answered = l->w->agents[agent].answered,
                      .states = facts->states,
                      .slater = TC_SLATER_YES,
                      .epoch = l->w->agents[agent].epoch,
                      .name = facts->name,
                      .name_length = 1};
    tc_enrol_encode(&enrol, bytes);
    life_send(l, facts->link, bytes, tc_enrol_size(&enrol));
}

static inline void life_say_state(life *l, size_t agent) {
    const life_facts *facts = &LIFE_FACTS[agent];
    life_agent *a = &l->w->agents[agent];
    unsigned char bytes[256];
    int64_t units[LIFE_STATES];
    if (a->answered == LIFE_ROUNDS || l->said[agent] == a->answered + 1)
        return;
    assert_true(tc_to_lattice(a->x, facts->states, l->exponents[agent], units));
    a->epoch = l->epoch;
    memcpy(a->run, tc_journal_run_of(l->journal)->run_id, TC_RUN_ID);
    l->said[agent] = a->answered + 1;
    tc_state_encode(facts->slot, a->answered + 1, units, facts->states, bytes);
    life_send(l, facts->link, bytes, tc_state_size(facts->states));
}

/* Any step that depends on every bit of the answer. */
static inline void life_take(life *l, size_t agent, const tc_frame *frame) {
    life_agent *a = &l->w->agents[agent];
    double p[LIFE_STATES];
    tc_answer answer;
    assert_int_equal(tc_answer_decode(frame, LIFE_FACTS[agent].states, &answer, p), TC_NOT_REFUSED);
    assert_true(frame->round >= 1 && frame->round <= LIFE_ROUNDS);
    if (a->has[frame->round]) {
        assert_memory_equal(a->book[frame->round], frame->body, frame->length); /* never with other bytes */
        l->w->repeats++;
    }
    a->has[frame->round] = true;
    memcpy(a->book[frame->round], frame->body, frame->length);
    if (frame->round <= a->answered)
        return;
    memcpy(a->before, a->x, sizeof a->x);
    for (uint32_t i = 0; i < LIFE_FACTS[agent].states; i++)
        a->x[i] += answer.step * (1 + i - p[i] / (1 + fabs(p[i])) - (1 + answer.regularization) * a->x[i]);
    a->answered = frame->round;
    life_say_state(l, agent);
}

static inline void life_hear(life *l, size_t link, const tc_frame *frame) {
    tc_enrolled enrolled;
    size_t agent = 0;
    if (frame->type == TC_MESSAGE_WELCOME) {
        tc_welcome welcome;
        assert_int_equal(tc_welcome_decode(frame, &welcome), TC_NOT_REFUSED);
        for (size_t i = 0; i < LIFE_AGENTS; i++) {
            const life_agent *a = &l->w->agents[i];
            if (LIFE_FACTS[i].link != link)
                continue;
            if (a->epoch.number > 0 && memcmp(a->run, welcome.run_id, TC_RUN_ID) != 0)
                l->is_another = true;
            else
                life_say_enrol(l, i);
        }
        return;
    }
    if (frame->type == TC_MESSAGE_END) {
        unsigned char bytes[TC_LEAVE_SIZE];
        tc_leave_encode(TC_NO_SLOT, bytes);
        life_send(l, link, bytes, sizeof bytes);
        life_hang_up(l, link);
        return;
    }
    while (agent < LIFE_AGENTS && !(LIFE_FACTS[agent].link == link && LIFE_FACTS[agent].slot == frame->slot))
        agent++;
    assert_true(agent < LIFE_AGENTS);
    life_agent *a = &l->w->agents[agent];
    if (frame->type == TC_MESSAGE_ANSWER)
        life_take(l, agent, frame);
    else if (frame->type == TC_MESSAGE_ENROLLED) {
        assert_int_equal(tc_enrolled_decode(frame, &enrolled), TC_NOT_REFUSED);
        assert_true(enrolled.next > a->answered); /* no state is asked for twice */
        l->exponents[agent] = enrolled.exponent;
        if (enrolled.next == a->answered + 1)
            life_say_state(l, agent);
    } else if (frame->type == TC_MESSAGE_NOTE && tc_get_u16(frame->body) == TC_NOTE_LOST) {
        assert_false(a->has[frame->round]);
        a->answered = frame->round;
        life_say_state(l, agent);
    } else if (frame->type == TC_MESSAGE_REFUSAL) {
        assert_int_equal(l->rounds->end, TC_RUN_ROLLED_BACK);
        assert_int_equal(tc_get_u16(frame->body), TC_REFUSED_ROLLBACK);
    }
}

/* All that has come on a connection. */
static inline void life_listen(life *l, size_t link) {
    tc_frame frame;
    size_t taken = 0, wanted = 0, at = 0;
    if (l->descriptors[link] < 0 || (link == 1 && l->w->deaf_to > 0 && l->said[2] == l->w->deaf_to))
        return;
    ssize_t got =
        recv(l->descriptors[link], l->bytes[link] + l->sizes[link], sizeof l->bytes[link] - l->sizes[link], 0);
    l->sizes[link] += got > 0 ? (size_t)got : 0;
    while (l->descriptors[link] >= 0 && tc_frame_cut(l->bytes[link] + at, l->sizes[link] - at, TC_FRAME_MOST_BODY,
                                                     &frame, &taken, &wanted) == TC_CUT_FRAME) {
        life_hear(l, link, &frame);
        at += taken;
    }
    l->sizes[link] -= at;
    memmove(l->bytes[link], l->bytes[link] + at, l->sizes[link]);
}

static inline void life_connect(life *l, size_t link) {
    unsigned char bytes[64];
    int pair[2];
    tc_hello hello = {.lowest_version = 1, .highest_version = 1, .software = "test", .software_length = 4};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(fcntl(pair[i], F_SETFL, O_NONBLOCK), 0);
    l->descriptors[link] = pair[0];
    tc_links_take(l->links, pair[1]);
    tc_hello_encode(&hello, bytes);
    life_send(l, link, bytes, tc_hello_size(&hello));
}

/* ---- a cloud ---- */

/* As src/serve/start.c begins. False: the disk did not let it. */
static inline bool life_open(life *l, world *w, bool after_restore) {
    *l = (life){.w = w, .arena = tc_arena_new(0), .base = event_base_new()};
    for (size_t i = 0; i < LIFE_LINKS; i++)
        l->descriptors[i] = -1;
    assert_true(l->arena != NULL && l->base != NULL);
    tc_buffer messages = tc_buffer_new(l->arena, 1 << 16);
    tc_journal_settings settings = {
        .folder = "disk", .durability = w->durability, .vfs = FAULT_VFS, .log_pages = LIFE_LOG_PAGES};
    if (tc_journal_open(l->arena, &settings, w->of.plan->hash, NULL, &messages, &l->journal) != TC_OK ||
        tc_journal_begin_epoch(l->journal, after_restore ? 1000 : 0, &l->epoch) != TC_OK)
        return false;
    l->reporter = (tc_reporter){.figures = &l->figures};
    tc_rounds_settings rounds = {.model = w->p.model,
                                 .base = l->base,
                                 .journal = l->journal,
                                 .epoch = l->epoch,
                                 .reporter = &l->reporter,
                                 .exponent = w->of.plan->state_exponent,
                                 .method = w->of.plan->method == TC_METHOD_TACIT ? TC_WIRE_TACIT : TC_WIRE_PUBLISHED,
                                 .rounds = LIFE_ROUNDS,
                                 .late = {.deadline = 100},
                                 .is_plain = true,
                                 .after_restore = after_restore};
    assert_int_equal(tc_rounds_new(l->arena, &rounds, &l->rounds), TC_OK);
    tc_links_settings links = {.owner = tc_rounds_owner(l->rounds, 0)};
    l->links = tc_links_new(l->base, &links);
    assert_non_null(l->links);
    return true;
}

/* Rounds are about to begin, or are over. False: the disk did not let it. */
static inline bool life_begin(life *l, uint64_t seed) {
    const tc_journal_round *last = tc_journal_last(l->journal);
    uint64_t first = tc_rounds_first(l->rounds);
    if (tc_journal_finished(l->journal) == 0 && first <= LIFE_ROUNDS) {
        tc_cloud_half *half = half_new(l->arena, &l->w->of, seed, NULL, first);
        assert_true(last->round == 0 || tc_cloud_half_load(half, last->snapshot, last->snapshot_size));
        assert_int_equal(tc_rounds_begin(l->rounds, half), TC_OK);
        return true;
    }
    if (tc_journal_finished(l->journal) == 0 && tc_journal_finish(l->journal, TC_END_DONE) != TC_OK)
        return false;
    assert_int_equal(last->round, LIFE_ROUNDS);
    l->was_over = true;
    tc_rounds_begin_over(l->rounds, TC_END_DONE);
    return true;
}

/* Until the cloud ends, or no agent wants more from it, or `until` holds. */
static inline void life_go_on(life *l, bool (*until)(const tc_rounds *rounds)) {
    for (unsigned turn = 0; l->rounds->end == TC_RUN_GOES_ON && !(until != NULL && until(l->rounds)); turn++) {
        assert_true(turn < 100000);
        assert_true(event_base_loop(l->base, EVLOOP_NONBLOCK) >= 0);
        for (size_t i = 0; i < LIFE_LINKS; i++)
            life_listen(l, i);
        if (l->w->deaf_to > 0 && l->w->agents[0].answered == l->w->deaf_to && l->w->agents[1].answered == l->w->deaf_to)
            return;
        if (l->is_another)
            return;
        if (l->was_over && world_is_done(l->w))
            return; /* the last answers have been had, and nobody waits to be told the end */
    }
}

/* Messages on their way arrive, whatever ended the cloud. */
static inline void life_end(life *l) {
    if (l->links != NULL)
        tc_links_free(l->links);
    for (size_t i = 0; i < LIFE_LINKS; i++) {
        life_listen(l, i);
        life_hang_up(l, i);
    }
    if (l->rounds != NULL)
        tc_rounds_free(l->rounds);
    event_base_free(l->base);
    tc_arena_free(l->arena);
}

/* One start, to its end: GOES_ON where agents have all they want, FAILED where the disk did not let it begin. */
static inline tc_run_end life_run(world *w, uint64_t seed, bool after_restore) {
    life l;
    tc_run_end end = TC_RUN_FAILED;
    bool good = life_open(&l, w, after_restore);
    for (size_t i = 0; good && i < LIFE_LINKS; i++)
        life_connect(&l, i);
    if (good && after_restore && tc_journal_finished(l.journal) == 0)
        life_go_on(&l, tc_rounds_is_surveyed);
    bool is_lost = good && after_restore && tc_journal_finished(l.journal) == 0 &&
                   (tc_rounds_first(l.rounds) > LIFE_ROUNDS ||
                    (tc_rounds_first(l.rounds) > 1 && tc_journal_last(l.journal)->round == 0));
    if (good && !is_lost && life_begin(&l, seed)) {
        life_go_on(&l, NULL);
        end = l.is_another ? TC_RUN_ROLLED_BACK : l.rounds->end;
    } else if (is_lost) {
        end = TC_RUN_STOPPED; /* nothing to go on from: tacit serve says so */
    }
    life_end(&l);
    return end;
}

#endif
