/* Messages about a file: place, line, caret.
 *
 *     ev.tacit:7:21: error: there is no data called 'home'; did you mean 'homes'?
 *         agents house over home {
 *                           ^~~~
 */
#ifndef TC_MODEL_SYNTAX_DIAGNOSE_H
#define TC_MODEL_SYNTAX_DIAGNOSE_H

#include "model/model.h"

enum { TC_MOST_ERRORS = 20 };

typedef struct tc_diagnostics {
    tc_arena *arena;
    const tc_source *source;
    tc_buffer *messages;
    size_t errors;
} tc_diagnostics;

/* A line with a 'private param' is not shown, and its place alone is told: others may read messages.
 * After TC_MOST_ERRORS errors TC_BAD_PROBLEM is raised. */
void tc_error(tc_diagnostics *diagnostics, tc_span span, const char *format, ...) TC_PRINTF(3, 4);
/* Adds a note to the last error, with its own place. */
void tc_note(tc_diagnostics *diagnostics, tc_span span, const char *format, ...) TC_PRINTF(3, 4);
/* About a data file: line is 1-based, text one line of the file (or NULL), from..to the bytes that are wrong. The place
 * is told, and the text is not shown. */
typedef struct tc_text_place {
    const char *path;
    size_t line;
    const char *text;
    size_t length, from, to;
} tc_text_place;
void tc_error_at(tc_diagnostics *diagnostics, tc_text_place place, const char *format, ...) TC_PRINTF(3, 4);
/* About a file as a whole. */
void tc_error_file(tc_diagnostics *diagnostics, const char *path, const char *format, ...) TC_PRINTF(3, 4);

/* Whether what stands there is part of a 'private param'. */
bool tc_is_private_number(const tc_source *source, tc_span span);

/* "; did you mean 'x'?" for the nearest of the candidates, or "". */
const char *tc_did_you_mean(tc_arena *arena, const char *wanted, const char *const *candidates, size_t count);

#endif
