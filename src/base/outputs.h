/* Files that a program writes: checked before anything is run or spent. */
#ifndef TC_BASE_OUTPUTS_H
#define TC_BASE_OUTPUTS_H

#include "base/arena.h"

#include <stdbool.h>

typedef struct tc_file_kind {
    const char *mark;       /* how such a file begins */
    const char *other_mark; /* or so; NULL: no other way */
    const char *name;       /* "a trace" */
    bool is_html;           /* the mark in any case, and anything behind it */
} tc_file_kind;

typedef struct tc_output_file {
    const char *option; /* "--trace": for sentences */
    const char *path;   /* NULL: none is wanted */
    tc_file_kind kind;
} tc_output_file;

typedef struct tc_input_file {
    const char *what; /* "the problem" */
    const char *path; /* "-": standard input; NULL: there is none */
} tc_input_file;

/* Whether each file can be written without harm. TC_BAD_USAGE, with a message, for a file that is also an input or
 * another output, under any name; that is not a plain file; or that has contents of another kind. TC_CANNOT_WRITE for a
 * folder or file that this user may not write. */
tc_status tc_outputs_check(tc_arena *arena, const tc_output_file *outputs, size_t output_count,
                           const tc_input_file *inputs, size_t input_count, tc_buffer *messages) TC_MUST_USE;

#endif
