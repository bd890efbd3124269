/* A problem from its text, for tests. */
#ifndef TC_TESTS_SOLVER_PROBLEM_H
#define TC_TESTS_SOLVER_PROBLEM_H

#include "calculus/derivatives.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct problem {
    tc_arena *arena;
    tc_model *model;
    tc_derivatives *derivatives;
} problem;

static inline problem problem_of(const char *text) {
    problem p = {.arena = tc_arena_new(0)};
    tc_escape escape;
    if (p.arena == NULL || TC_TRY(p.arena, &escape) != TC_OK)
        abort();
    tc_buffer messages = tc_buffer_new(p.arena, 1 << 16);
    if (tc_model_parse(p.arena, "test.tacit", text, strlen(text), NULL, &messages, &p.model) != TC_OK) {
        (void)fprintf(stderr, "%s\n%s\n", text, tc_buffer_text(&messages));
        abort();
    }
    p.derivatives = tc_derive(p.arena, p.model);
    tc_escape_end(p.arena, &escape);
    return p;
}

static inline void problem_free(problem *p) { tc_arena_free(p->arena); }

#endif
