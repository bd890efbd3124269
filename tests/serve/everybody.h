/* One desk with all its agents, for tests that begin with everybody there. */
#ifndef TESTS_SERVE_EVERYBODY_H
#define TESTS_SERVE_EVERYBODY_H

#include "serve/desk.h"

static desk d;
static client agents[DESK_AGENTS];

static int begin(void **state) {
    (void)state;
    desk_begin(&d);
    return 0;
}

static int end(void **state) {
    (void)state;
    desk_end(&d);
    return 0;
}

static void join_all(uint64_t answered) {
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_join(&d, &agents[i], i, answered);
}

static void leave_all(void) {
    for (size_t i = 0; i < DESK_AGENTS; i++)
        client_close(&agents[i]);
    desk_stop(&d);
}

#endif
