/* What a sweep found, for people and as JSON. */
#ifndef TC_CLI_SWEEP_ANSWER_H
#define TC_CLI_SWEEP_ANSWER_H

#include "cli/study.h"
#include "lab/sweep.h"

typedef struct tc_sweep_answer {
    const tc_study *study;
    tc_method method;
    const char *margin;    /* NULL for none */
    const char **warnings; /* of the method, each once */
    size_t warning_count;
    const tc_sweep *sweep; /* NULL where it was refused */
    const char *reason;    /* why, or why it is not whole; NULL where it is */
    double run_seconds;
    size_t threads;
} tc_sweep_answer;

/* Every run came to its end. */
bool tc_sweep_answer_is_whole(const tc_sweep *sweep);

void tc_sweep_answer_json(const tc_sweep_answer *answer, tc_json *json);
void tc_sweep_answer_text(const tc_sweep_answer *answer, tc_buffer *out);

#endif
