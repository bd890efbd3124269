/* From a problem file to a model. */
#ifndef TC_MODEL_LOAD_H
#define TC_MODEL_LOAD_H

#include "base/monitor.h"
#include "model/given.h"
#include "model/model.h"

/* Reads, parses and elaborates the problem at path (data files are looked up beside it). All errors of the file are
 * written into messages, each with its place, line and caret. TC_BAD_PROBLEM, TC_BAD_USAGE (there is
 * no such file), TC_CANNOT_READ, TC_NO_MEMORY,
 * TC_TOO_LARGE, TC_INTERRUPTED. The model lives in arena. */
tc_status tc_model_load(tc_arena *arena, const char *path, const tc_monitor *monitor, tc_buffer *messages,
                        tc_model **model) TC_MUST_USE;

/* The same from a text in memory; path is used in messages and to find data files. */
tc_status tc_model_parse(tc_arena *arena, const char *path, const char *text, size_t length, const tc_monitor *monitor,
                         tc_buffer *messages, tc_model **model) TC_MUST_USE;

/* All there is to say about loading. A table or matrix that is given takes the place of the file or of the `given` in
 * the declaration of its name: the file is not opened. What is given must be declared. */
typedef struct tc_load_request {
    tc_arena *arena;
    const char *path;
    const char *text; /* NULL: read the file */
    size_t length;
    bool standard_input; /* read it instead of the file; path is for messages and data files */
    const tc_monitor *monitor;
    tc_buffer *messages;
    tc_given given;
    size_t nodes;  /* most nodes of the DAG; 0: the usual limit. For tests, as is: */
    bool no_files; /* small stand-ins instead of data files */
} tc_load_request;

tc_status tc_model_load_request(const tc_load_request *request, tc_model **model) TC_MUST_USE;

#endif
