/* In place of postgres.c, in a program that was built without libpq: refuses by name. */
#include "serve/journal/backend.h"

#ifndef TACIT_POSTGRES

static tc_status refuse(tc_buffer *messages) {
    tc_buffer_puts(messages, TC_JOURNAL_NO_POSTGRES "\n");
    return TC_BAD_USAGE;
}

static tc_status open_nothing(tc_journal *journal, const tc_journal_settings *settings, const tc_journal_run *wanted,
                              const unsigned char *made, tc_buffer *messages) {
    (void)journal;
    (void)settings;
    (void)wanted;
    (void)made;
    return refuse(messages);
}

static void close_nothing(tc_journal *journal) { (void)journal; }

static tc_status look_nowhere(tc_arena *arena, const tc_journal_settings *settings, tc_buffer *messages,
                              tc_journal_seen *seen) {
    (void)arena;
    (void)settings;
    (void)seen;
    return refuse(messages);
}

const tc_journal_backend tc_journal_postgres = {.open = open_nothing, .close = close_nothing, .look = look_nowhere};

#endif
