/* What a long piece of work is given: memory, a place for warnings, and somebody to ask whether to go on. */
#ifndef TC_SETUP_WORK_H
#define TC_SETUP_WORK_H

#include "base/arena.h"
#include "base/status.h"

typedef struct tc_work {
    tc_arena *arena;     /* an escape is set */
    tc_buffer *messages; /* complete lines: warnings, and at last why it failed */
    const tc_monitor *monitor;
    const char *command; /* "run": for sentences */
    const char *prefix;  /* of lines about no file: "tacit serve: ", or "" */
    /* Hears each line when it is written; NULL: nobody. */
    void (*hear)(void *context, const char *line);
    void *context;
    size_t heard; /* bytes of messages */
} tc_work;

/* Adds a line, with the prefix. */
void tc_work_say(tc_work *work, const char *format, ...) TC_PRINTF(2, 3);
/* The same, and TC_BAD_USAGE. */
tc_status tc_work_refuse(tc_work *work, const char *text) TC_MUST_USE;
/* Passes to `hear` the lines that others have written into messages. */
void tc_work_tell(tc_work *work);

#endif
