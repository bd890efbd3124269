/* Loading with limits of one's own: for tests and fuzzing. */
#ifndef TC_MODEL_LOAD_LIMITS_H
#define TC_MODEL_LOAD_LIMITS_H

#include "base/monitor.h"
#include "model/model.h"

typedef struct tc_load_request {
    tc_arena *arena;
    const char *path;
    const char *text; /* NULL: read the file */
    size_t length;
    const tc_monitor *monitor;
    tc_buffer *messages;
    size_t nodes;  /* most nodes of the DAG; 0: the usual limit */
    bool no_files; /* small stand-ins instead of data files */
} tc_load_request;

tc_status tc_model_load_request(const tc_load_request *request, tc_model **model) TC_MUST_USE;

#endif
