/* Clouds with several loops under load: agents that come, go, change their connection and share one, clients that
 * nobody knows, pages and new certificates, all at once. Every answer must have the bits that one loop gives, and none
 * may come before its round is durable. The thread sanitizer watches. */
/* labels: threads */
#define _XOPEN_SOURCE 700 /* nftw */
#include "engine/cloud_halves.h"
#include "net/keys.h"

#include "serve/loops.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#define PROBLEM                                                                                                        \
    "agents h[i in 1..24] {\n state x in [0, 4]\n state y in [-1, 2]\n private minimize (x - 3)^2 + y^2\n}\n"          \
    "constraint f: sum(h: x + y) <= 30\n"                                                                              \
    "schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.52; rounds 1000 }\n"
enum { AGENTS = 24, STATES = 2, ROUNDS = 40, DRIVERS = 4, OF_DRIVER = AGENTS / DRIVERS };

typedef struct heard { /* the answers of a run */
    double p[ROUNDS + 1][AGENTS][STATES];
} heard;

typedef struct cloud {
    planned p;
    half_case of;
    keys k;
    bool is_tls;
    tc_arena *arena;
    struct event_base *base;
    tc_rounds *rounds;
    tc_loops *loops;
    tc_figures figures, shown;
    unsigned port, turns;
    tc_listener *listener;
    SSL_CTX *theirs; /* of the clients */
    heard *heard;
    atomic_uint wrong, early;
    atomic_bool is_over;
} cloud;

/* ---- what is durable, by the journal's own word ---- */

static atomic_uint_fast64_t durable;
static uint64_t committing;
static bool lies; /* a planted fault: the commit returns before it is durable */

tc_status __real_tc_journal_commit_start(tc_journal *journal, const tc_journal_round *round);
tc_status __wrap_tc_journal_commit_start(tc_journal *journal, const tc_journal_round *round);
tc_status __real_tc_journal_commit_wait(tc_journal *journal);
tc_status __wrap_tc_journal_commit_wait(tc_journal *journal);

tc_status __wrap_tc_journal_commit_start(tc_journal *journal, const tc_journal_round *round) {
    if (lies)
        atomic_store(&durable, committing); /* the round before has had its time */
    committing = round->round;
    return __real_tc_journal_commit_start(journal, round);
}

tc_status __wrap_tc_journal_commit_wait(tc_journal *journal) {
    tc_status status = __real_tc_journal_commit_wait(journal);
    if (!lies)
        atomic_store(&durable, committing);
    return status;
}

/* ---- a client: asserts are for the test's own thread, so it counts what is wrong ---- */

typedef struct client {
    cloud *of;
    int descriptor;
    SSL *ssl;
    unsigned char bytes[4096], body[1024];
    size_t size;
} client;

#define WRONG(c, what)                                                                                                 \
    do {                                                                                                               \
        if (atomic_fetch_add(&(c)->of->wrong, 1) < 10)                                                                 \
            print_message("%s\n", what);                                                                               \
    } while (0)

static void rest(long milliseconds) {
    struct timespec pause = {.tv_nsec = milliseconds * 1000000};
    (void)nanosleep(&pause, NULL);
}

static void hang_up(client *c) {
    SSL_free(c->ssl);
    (void)close(c->descriptor);
}

static bool say(client *c, const unsigned char *bytes, size_t size) {
    size_t sent = 0;
    if (c->ssl != NULL)
        return SSL_write_ex(c->ssl, bytes, size, &sent) == 1 && sent == size;
    return send(c->descriptor, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static size_t pull(client *c) {
    size_t got = 0;
    if (c->ssl != NULL)
        return SSL_read_ex(c->ssl, c->bytes + c->size, sizeof c->bytes - c->size, &got) == 1 ? got : 0;
    ssize_t came = recv(c->descriptor, c->bytes + c->size, sizeof c->bytes - c->size, 0);
    return came > 0 ? (size_t)came : 0;
}

/* The next frame; type 0: there is none. */
static tc_frame hear(client *c) {
    tc_frame frame = {.type = 0};
    size_t taken = 0, wanted = 0;
    while (tc_frame_cut(c->bytes, c->size, sizeof c->body, &frame, &taken, &wanted) != TC_CUT_FRAME) {
        size_t got = pull(c);
        if (got == 0)
            return (tc_frame){.type = 0};
        c->size += got;
    }
    memcpy(c->body, frame.body, frame.length);
    frame.body = c->body;
    memmove(c->bytes, c->bytes + taken, c->size - taken);
    c->size -= taken;
    return frame;
}

/* What is not of this type is not meant: answers that are sent again, and notices. */
static tc_frame await(client *c, unsigned type) {
    tc_frame frame;
    do
        frame = hear(c);
    while (frame.type != 0 && frame.type != type);
    if (frame.type == 0)
        WRONG(c, "a connection ended too early");
    return frame;
}

static bool dial(cloud *of, client *c) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)of->port)};
    struct timeval patience = {.tv_sec = 300};
    *c = (client){.of = of, .descriptor = socket(AF_INET, SOCK_STREAM, 0)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(c->descriptor, (struct sockaddr *)&to, sizeof to) != 0 ||
        setsockopt(c->descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
        return false;
    if (!of->is_tls)
        return true;
    c->ssl = tc_tls_connect(of->theirs, c->descriptor);
    return c->ssl != NULL && SSL_set_fd(c->ssl, c->descriptor) == 1 && SSL_connect(c->ssl) == 1;
}

static bool greet(client *c) {
    unsigned char bytes[128];
    tc_hello hello = {.lowest_version = 1, .highest_version = 1, .software = "test", .software_length = 4};
    tc_hello_encode(&hello, bytes);
    return say(c, bytes, tc_hello_size(&hello)) && hear(c).type == TC_MESSAGE_WELCOME;
}

static bool say_enrol(client *c, uint32_t slot, const char *name, uint64_t answered) {
    unsigned char bytes[512];
    tc_enrol enrol = {.slot = slot,
                      .answered = answered,
                      .states = STATES,
                      .slater = TC_SLATER_YES,
                      .name = name,
                      .name_length = strlen(name)};
    tc_enrol_encode(&enrol, bytes);
    return say(c, bytes, tc_enrol_size(&enrol));
}

/* A seat changes its connection at most once a second: whoever is refused for that tries again. */
static void enrol(client *c, uint32_t slot, size_t agent, uint64_t answered) {
    char name[32];
    (void)snprintf(name, sizeof name, "h[%zu]", agent + 1);
    for (;;) {
        tc_frame frame = {.type = 0};
        bool good = say_enrol(c, slot, name, answered);
        do
            frame = good ? hear(c) : frame;
        while (frame.type == TC_MESSAGE_ANSWER); /* of this connection's other agent */
        if (frame.type == TC_MESSAGE_ENROLLED)
            return;
        if (frame.type != TC_MESSAGE_REFUSAL) {
            WRONG(c, "an agent was not enrolled");
            return;
        }
        rest(50);
    }
}

static void begin(cloud *of, client *c) {
    if (!dial(of, c) || !greet(c))
        WRONG(c, "a client is not welcome");
}

/* ---- agents ---- */

typedef struct driver { /* its first two agents share a connection */
    cloud *of;
    size_t number;
    client clients[OF_DRIVER];
    pthread_t thread;
} driver;

static size_t client_of(size_t i) { return i == 1 ? 0 : i; }
static uint32_t slot_of(size_t i) { return i == 1 ? 7 : 0; }

static void say_state(driver *d, size_t i, uint64_t k) {
    size_t agent = d->number * OF_DRIVER + i;
    unsigned char bytes[128];
    int64_t units[STATES] = {(int64_t)(agent + 31 * k), (int64_t)(agent * k)};
    tc_state_encode(slot_of(i), k, units, STATES, bytes);
    if (!say(&d->clients[client_of(i)], bytes, tc_state_size(STATES)))
        WRONG(&d->clients[client_of(i)], "a state did not leave");
}

static void hear_answer(driver *d, size_t i, uint64_t k) {
    client *c = &d->clients[client_of(i)];
    tc_answer answer;
    tc_frame frame;
    do
        frame = await(c, TC_MESSAGE_ANSWER);
    while (frame.type != 0 && (frame.round < k || frame.slot != slot_of(i)));
    if (frame.type == 0 || frame.round != k ||
        tc_answer_decode(&frame, STATES, &answer, d->of->heard->p[k][d->number * OF_DRIVER + i]) != TC_NOT_REFUSED)
        WRONG(c, "an answer is wrong");
    else if (atomic_load(&durable) < k)
        atomic_fetch_add(&d->of->early, 1);
}

/* Another connection takes over, and the old one is told. The state may be lost with it, and is said again. */
static void take_over(driver *d, size_t i, uint64_t k) {
    client fresh;
    tc_refusal refusal;
    size_t agent = d->number * OF_DRIVER + i;
    begin(d->of, &fresh);
    enrol(&fresh, 0, agent, k - 1);
    tc_frame frame = await(&d->clients[i], TC_MESSAGE_REFUSAL);
    if (tc_refusal_decode(&frame, &refusal) != TC_NOT_REFUSED || refusal.code != TC_REFUSED_REPLACED)
        WRONG(&fresh, "an agent was replaced and not told");
    hang_up(&d->clients[i]);
    d->clients[i] = fresh;
    say_state(d, i, k);
}

static void come_again(driver *d, size_t i, uint64_t k) {
    hang_up(&d->clients[i]);
    begin(d->of, &d->clients[i]);
    enrol(&d->clients[i], 0, d->number * OF_DRIVER + i, k - 1);
    say_state(d, i, k);
}

static void *drive(void *context) {
    driver *d = context;
    for (size_t i = 0; i < OF_DRIVER; i++) {
        if (client_of(i) == i)
            begin(d->of, &d->clients[i]);
        enrol(&d->clients[client_of(i)], slot_of(i), d->number * OF_DRIVER + i, 0);
    }
    for (uint64_t k = 1; k <= ROUNDS && atomic_load(&d->of->wrong) == 0; k++) {
        for (size_t i = 0; i < OF_DRIVER; i++)
            say_state(d, i, k);
        if (k % 9 == d->number) /* the answer comes on another connection */
            take_over(d, 2 + k / 9 % 4, k);
        else if (k % 7 == d->number)
            come_again(d, 2 + k / 7 % 4, k);
        for (size_t i = 0; i < OF_DRIVER; i++)
            hear_answer(d, i, k);
    }
    for (size_t i = 0; i < OF_DRIVER; i++) {
        unsigned char bytes[TC_LEAVE_SIZE];
        if (client_of(i) != i)
            continue;
        (void)await(&d->clients[i], TC_MESSAGE_END);
        tc_leave_encode(TC_NO_SLOT, bytes);
        (void)say(&d->clients[i], bytes, sizeof bytes);
        hang_up(&d->clients[i]);
    }
    return NULL;
}

/* A client that nobody knows; now and then one that says nothing. */
static void *disturb(void *context) {
    cloud *of = context;
    for (unsigned turn = 0; !atomic_load(&of->is_over); turn++) {
        client c;
        unsigned char bytes[128];
        const int64_t units[STATES] = {0};
        if (turn % 3 == 0) {
            c = (client){.of = of, .descriptor = socket(AF_INET, SOCK_STREAM, 0)};
        } else if (dial(of, &c) && greet(&c)) {
            tc_state_encode(3, 1, units, STATES, bytes);
            (void)(say_enrol(&c, 1, "nobody", 0) && hear(&c).type == TC_MESSAGE_REFUSAL &&
                   say(&c, bytes, tc_state_size(STATES)) && hear(&c).type == TC_MESSAGE_REFUSAL);
        }
        hang_up(&c);
        rest(1);
    }
    return NULL;
}

/* ---- the cloud ---- */

/* As pages, the second's tick and a reload do. */
static void look(evutil_socket_t descriptor, short what, void *context) {
    (void)descriptor;
    (void)what;
    cloud *c = context;
    tc_rounds_lock(c->rounds);
    c->shown = c->figures;
    tc_rounds_unlock(c->rounds);
    tc_links_figures figures = tc_loops_count(c->loops);
    if (figures.open > 1000 || tc_rounds_answers(c->rounds) > (uint64_t)2 * AGENTS * ROUNDS)
        atomic_fetch_add(&c->wrong, 1);
    if (c->turns++ % 16 == 0)
        tc_rounds_tick(c->rounds);
    SSL_CTX *fresh = NULL;
    if (!c->is_tls || c->turns % 32 != 0 || c->turns > 100)
        return;
    if (tc_tls_cloud(c->k.arena, keys_path(&c->k, "cloud"), &c->k.messages, &fresh) != TC_OK)
        atomic_fetch_add(&c->wrong, 1);
    else
        tc_loops_set_tls(c->loops, fresh);
    SSL_CTX_free(fresh);
}

static void make_keys(cloud *c, SSL_CTX **ours) {
    const tc_authority_settings settings = {0};
    char names[AGENTS][32];
    const char *all[AGENTS];
    for (size_t i = 0; i < AGENTS; i++) {
        (void)snprintf(names[i], sizeof names[i], "h[%zu]", i + 1);
        all[i] = names[i];
    }
    keys_init(&c->k, &settings);
    assert_int_equal(tc_authority_issue(c->k.arena, c->k.folder, "all", all, AGENTS, &settings, &c->k.messages), TC_OK);
    assert_int_equal(tc_tls_cloud(c->k.arena, keys_path(&c->k, "cloud"), &c->k.messages, ours), TC_OK);
    assert_int_equal(tc_tls_agent(c->k.arena, keys_path(&c->k, "agents/all"), &c->k.messages, &c->theirs), TC_OK);
}

static void serve(cloud *c) {
    driver drivers[DRIVERS];
    pthread_t disturber;
    for (size_t i = 0; i < DRIVERS; i++) {
        drivers[i] = (driver){.of = c, .number = i};
        assert_int_equal(pthread_create(&drivers[i].thread, NULL, drive, &drivers[i]), 0);
    }
    assert_int_equal(pthread_create(&disturber, NULL, disturb, c), 0);
    while (tc_rounds_end(c->rounds) == TC_RUN_GOES_ON)
        assert_true(event_base_dispatch(c->base) >= 0);
    atomic_store(&c->is_over, true);
    tc_loops_part(c->loops);
    while (!tc_loops_have_parted(c->loops))
        assert_true(event_base_loop(c->base, EVLOOP_ONCE) >= 0);
    for (size_t i = 0; i < DRIVERS; i++)
        assert_int_equal(pthread_join(drivers[i].thread, NULL), 0);
    tc_listener_free(c->listener);
    tc_loops_free(c->loops); /* the disturber may wait for any of them */
    assert_int_equal(pthread_join(disturber, NULL), 0);
}

/* A whole run. Returns how many answers came before their round was durable. */
static unsigned run(size_t lanes, bool is_tls, heard *answers) {
    static cloud c;
    memset(&c, 0, sizeof c);
    c.heard = answers;
    c.is_tls = is_tls;
    c.k = keys_begin();
    c.arena = tc_arena_new(0);
    c.p = planned_problem("loops.tacit", PROBLEM);
    assert_true(half_case_of(&c.p, &HALF_WISHES[0], ROUNDS, &c.of));
    atomic_store(&durable, 0);
    committing = 0;
    tc_journal *journal = NULL;
    tc_epoch epoch;
    SSL_CTX *ours = NULL;
    const struct timeval often = {.tv_usec = 2000};
    tc_reporter reporter = {.figures = &c.figures};
    tc_journal_settings keep = {.folder = keys_path(&c.k, "journal"), .durability = TC_DURABLE_PROCESS};
    if (is_tls)
        make_keys(&c, &ours);
    c.base = event_base_new();
    assert_int_equal(tc_journal_open(c.arena, &keep, c.of.plan->hash, NULL, &c.k.messages, &journal), TC_OK);
    assert_int_equal(tc_journal_begin_epoch(journal, 0, &epoch), TC_OK);
    tc_rounds_settings settings = {.model = c.p.model,
                                   .base = c.base,
                                   .lanes = lanes,
                                   .journal = journal,
                                   .epoch = epoch,
                                   .reporter = &reporter,
                                   .exponent = c.of.plan->state_exponent,
                                   .method = TC_WIRE_PUBLISHED,
                                   .rounds = ROUNDS,
                                   .late = {.deadline = 1000},
                                   .is_plain = !is_tls};
    assert_int_equal(tc_rounds_new(c.arena, &settings, &c.rounds), TC_OK);
    tc_links_settings links = {.tls = ours, .most_kept = tc_rounds_most_kept(c.rounds)};
    c.loops = tc_loops_new(c.base, &links, c.rounds);
    assert_non_null(c.loops);
    assert_int_equal(tc_listener_new(NULL, c.base, "127.0.0.1:0", true, &c.k.messages, &c.listener), TC_OK);
    tc_listener_share(c.listener, tc_loops_main(c.loops), tc_loops_take, c.loops);
    c.port = tc_listener_port(c.listener);
    assert_true(tc_loops_start(c.loops));
    tc_cloud_half *half = half_new(c.arena, &c.of, 11, tc_team_new(c.arena, 2), 1);
    assert_int_equal(tc_rounds_begin(c.rounds, half), TC_OK);
    struct event *timer = event_new(c.base, -1, EV_PERSIST, look, &c);
    assert_int_equal(event_add(timer, &often), 0);
    serve(&c);
    event_free(timer);
    assert_int_equal(tc_rounds_end(c.rounds), TC_RUN_DONE);
    assert_int_equal(tc_rounds_last(c.rounds), ROUNDS);
    tc_rounds_free(c.rounds);
    event_base_free(c.base);
    tc_arena_free(c.arena);
    SSL_CTX_free(ours);
    SSL_CTX_free(c.theirs);
    keys_end(&c.k);
    planned_end(&c.p);
    assert_int_equal(atomic_load(&c.wrong), 0);
    return atomic_load(&c.early);
}

static heard alone, beside;

static void several_loops_give_the_bits_of_one(void **state) {
    (void)state;
    assert_int_equal(run(1, false, &alone), 0);
    assert_int_equal(run(3, false, &beside), 0);
    assert_memory_equal(&alone, &beside, sizeof alone);
}

static void with_tls_too(void **state) {
    (void)state;
    memset(&beside, 0, sizeof beside);
    assert_int_equal(run(3, true, &beside), 0);
    assert_memory_equal(&alone, &beside, sizeof alone);
}

/* Otherwise the zeros above would mean nothing. */
static void a_commit_that_returns_too_early_is_noticed(void **state) {
    (void)state;
    lies = true;
    unsigned early = run(3, false, &beside);
    lies = false;
    assert_true(early > 0);
}

int main(void) {
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_loops_give_the_bits_of_one),
        cmocka_unit_test(with_tls_too),
        cmocka_unit_test(a_commit_that_returns_too_early_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
