/* The cloud's transport and journal alone, for measurements: states of all agents in, one commit, answers out. No
 * release and no method: net_cloud KEYS AGENTS SLOTS STATES (power|process|none) FOLDER SLOTS agents share a
 * connection. Prints its port; ends when all connections have, and prints what it took. */
#include "serve/journal.h"
#include "serve/link.h"
#include "serve/listener.h"
#include "net/message_cloud.h"
#include "net/tls.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct round_trip {
    tc_links *links;
    struct event_base *base;
    tc_journal *journal; /* NULL: nothing is written */
    uint32_t agents, slots, states;
    uint32_t connected, arrived, left;
    uint64_t round;
    tc_link **by_connection;
    int64_t *units;
    double *answers;
    unsigned char *batch;
    size_t resident_before, resident_after;
    double commit_seconds;
} round_trip;

static size_t resident(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long all = 0, here = 0;
    if (file == NULL)
        return 0;
    int got = fscanf(file, "%ld %ld", &all, &here);
    (void)fclose(file);
    return got == 2 ? (size_t)here * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void opened(void *context, tc_link *link) {
    round_trip *r = context;
    if (r->connected * r->slots >= r->agents) {
        tc_link_close(link);
        return;
    }
    tc_link_allow(link, (uint32_t)(8 * r->states));
    r->by_connection[r->connected] = link;
    tc_link_set_user(link, &r->by_connection[r->connected]);
    r->connected++;
}

static void fail(const char *why) {
    (void)fprintf(stderr, "net_cloud: %s\n", why);
    exit(3);
}

static void answer_all(round_trip *r) {
    size_t one = tc_answer_size(r->states);
    for (uint32_t c = 0; c < r->connected; c++) {
        for (uint32_t s = 0; s < r->slots; s++) {
            tc_answer answer = {.slot = s, .round = r->round, .step = 0.1, .regularization = 0.01, .states = r->states};
            tc_answer_encode(&answer, r->answers + (size_t)(c * r->slots + s) * r->states, r->batch + s * one);
        }
        if (r->by_connection[c] != NULL)
            tc_link_send(r->by_connection[c], r->batch, r->slots * one);
    }
}

static void finish_round(round_trip *r) {
    size_t count = (size_t)r->agents * r->states;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)r->units[i];
    for (size_t i = 0; i < count; i++)
        r->answers[i] = sum / (double)(i + 1);
    tc_journal_round round = {.round = r->round, .answers = r->answers, .answer_count = count};
    double began = now();
    if (r->journal != NULL && tc_journal_commit(r->journal, &round) != TC_OK)
        fail(tc_journal_trouble(r->journal));
    r->commit_seconds += now() - began;
    answer_all(r);
    if (r->round == 1)
        r->resident_after = resident();
    r->round++;
    r->arrived = 0;
}

static void taken(void *context, tc_link *link, const tc_frame *frame) {
    round_trip *r = context;
    size_t connection = (size_t)((tc_link **)tc_link_user(link) - r->by_connection);
    if (frame->type != TC_MESSAGE_STATE || frame->slot >= r->slots || frame->round != r->round) {
        tc_link_refuse(link, TC_REFUSED_TURN, NULL);
        return;
    }
    size_t at = (connection * r->slots + frame->slot) * r->states;
    if (tc_state_decode(frame, r->states, r->units + at) != TC_NOT_REFUSED) {
        tc_link_refuse(link, TC_REFUSED_STATES, NULL);
        return;
    }
    if (++r->arrived == r->agents)
        finish_round(r);
}

static void drained(void *context, tc_link *link) {
    (void)context;
    (void)link;
}

static void closed(void *context, tc_link *link, tc_link_end end, const char *why) {
    round_trip *r = context;
    tc_link **place = tc_link_user(link);
    if (place == NULL) {
        (void)fprintf(stderr, "net_cloud: %s: %s\n", tc_link_end_name(end), why);
        return;
    }
    *place = NULL;
    if (++r->left * r->slots == r->agents)
        (void)event_base_loopbreak(r->base);
}

static uint32_t number(const char *text) { return (uint32_t)strtoul(text, NULL, 10); }

int main(int argc, char **argv) {
    if (argc != 7)
        fail("KEYS AGENTS SLOTS STATES power|process|none FOLDER");
    (void)signal(SIGPIPE, SIG_IGN);
    (void)tc_listener_raise_limit();
    tc_arena *arena = tc_arena_new(0);
    round_trip r = {.agents = number(argv[2]), .slots = number(argv[3]), .states = number(argv[4]), .round = 1};
    tc_buffer messages = tc_buffer_new(arena, 1 << 16);
    SSL_CTX *tls = NULL;
    if (tc_tls_cloud(arena, argv[1], &messages, &tls) != TC_OK)
        fail(tc_buffer_text(&messages));
    if (strcmp(argv[5], "none") != 0) {
        static const unsigned char plan[TC_HASH];
        tc_journal_settings settings = {
            .folder = argv[6], .durability = strcmp(argv[5], "power") == 0 ? TC_DURABLE_POWER : TC_DURABLE_PROCESS};
        if (tc_journal_open(arena, &settings, plan, NULL, &messages, &r.journal) != TC_OK)
            fail(tc_buffer_text(&messages));
        r.round = tc_journal_last(r.journal)->round + 1;
    }
    r.by_connection = TC_NEW(arena, tc_link *, r.agents);
    r.units = TC_NEW(arena, int64_t, (size_t)r.agents * r.states);
    r.answers = TC_NEW(arena, double, (size_t)r.agents *r.states);
    r.batch = TC_NEW(arena, unsigned char, r.slots *tc_answer_size(r.states));
    r.base = event_base_new();
    tc_links_settings settings = {.tls = tls, .owner = {opened, taken, drained, closed, &r}};
    tc_listener *listener;
    if (r.base == NULL || (r.links = tc_links_new(r.base, &settings)) == NULL ||
        tc_listener_new(r.links, r.base, "127.0.0.1:0", true, &messages, &listener) != TC_OK)
        fail(tc_buffer_text(&messages));
    r.resident_before = resident();
    (void)printf("%u\n", tc_listener_port(listener));
    (void)fflush(stdout);
    uint64_t first = r.round;
    (void)event_base_dispatch(r.base);
    (void)printf("%llu rounds, commit %.1f us, %.1f KiB an agent\n", (unsigned long long)(r.round - first),
                 r.round > first ? 1e6 * r.commit_seconds / (double)(r.round - first) : 0.0,
                 ((double)r.resident_after - (double)r.resident_before) / 1024 / r.agents);
    tc_listener_free(listener);
    tc_links_free(r.links);
    event_base_free(r.base);
    SSL_CTX_free(tls);
    tc_arena_free(arena);
    return 0;
}
