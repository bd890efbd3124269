/* Files that a command is asked to write: looked at before anything is run or spent. */
#ifndef TC_CLI_OUTPUTS_H
#define TC_CLI_OUTPUTS_H

#include "cli/cli.h"

typedef enum tc_output_kind {
    TC_OUTPUT_TRACE,
    TC_OUTPUT_PAGE,
    TC_OUTPUT_ROUNDS,
    TC_OUTPUT_ANSWER,
    TC_OUTPUT_CERTIFICATE
} tc_output_kind;

typedef struct tc_output {
    const char *option; /* "--trace" */
    const char *path;   /* NULL: none is wanted */
    tc_output_kind kind;
} tc_output;

typedef struct tc_input {
    const char *what; /* "the problem" */
    const char *path; /* NULL: there is none */
} tc_input;

/* Whether each file can be written without harm. Refused with a message (TC_BAD_USAGE): what is also an input or
 * another output, by whatever name; what is there and no plain file; and what is there, has something in it, and is not
 * of the kind that would take its place. TC_CANNOT_WRITE: a folder or file that this user may not write. */
tc_status tc_outputs_check(tc_cli *cli, const tc_output *outputs, size_t output_count, const tc_input *inputs,
                           size_t input_count) TC_MUST_USE;

#endif
