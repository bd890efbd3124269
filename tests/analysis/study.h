/* A problem text, analysed: what the tests of this folder look at. */
#ifndef TC_TESTS_STUDY_H
#define TC_TESTS_STUDY_H

#include "support/cmocka.h"
#include "support/random.h"

#include "analysis/analysis.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

typedef struct study {
    tc_arena *arena;
    tc_model *model;
    tc_derivatives *derivatives;
    tc_analysis *analysis;
} study;

static inline study study_text(const char *text, const tc_analysis_options *options) {
    study s = {.arena = tc_arena_new(0)};
    tc_escape escape;
    tc_status status = TC_TRY(s.arena, &escape);
    if (status != TC_OK)
        fail_msg("raised: %s", tc_status_text(status));
    tc_buffer messages = tc_buffer_new(s.arena, 1 << 20);
    status = tc_model_parse(s.arena, "study.tacit", text, strlen(text), NULL, &messages, &s.model);
    if (status != TC_OK)
        fail_msg("%s:\n%s\n%s", tc_status_text(status), text, tc_buffer_text(&messages));
    s.derivatives = tc_derive(s.arena, s.model);
    s.analysis = tc_analysis_run(s.arena, s.model, s.derivatives, options, NULL);
    tc_escape_end(s.arena, &escape);
    return s;
}

static inline void study_end(study *s) { tc_arena_free(s->arena); }

#endif
