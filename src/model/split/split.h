/* Cuts a whole problem into what each party may know: the cloud's file and one file per agent. */
#ifndef TC_MODEL_SPLIT_SPLIT_H
#define TC_MODEL_SPLIT_SPLIT_H

#include "model/model.h"

/* Writes directory/cloud.tacit (and cloud.NAME.csv for public data) and directory/agents/NAME.tacit for every agent,
 * readable by their owner alone. A member of a family is the file family.17.tacit; its block is `agent "family[17]"`.
 * The model must describe a whole problem with a public dual radius: `dual radius`, or a gap and a Slater point for
 * every agent. A directory that is not empty is refused unless force: then the files of an earlier split are replaced,
 * and others stay. Nothing is left behind where it fails. *files receives how many files were written.
 * TC_BAD_PROBLEM, TC_BAD_USAGE, TC_CANNOT_WRITE, TC_NO_MEMORY, TC_TOO_LARGE, TC_INTERRUPTED, with a message each. */
tc_status tc_split(tc_arena *arena, const tc_model *model, const char *directory, bool force, const tc_monitor *monitor,
                   tc_buffer *messages, size_t *files) TC_MUST_USE;

/* The files in memory, with their names in the directory: "cloud.tacit", "agents/family.17.tacit". */
typedef struct tc_split_part {
    const char *name, *text;
    size_t length;
} tc_split_part;
typedef struct tc_split_parts {
    tc_arena *arena; /* not the split's own */
    size_t most;     /* bytes, all together */
    tc_split_part *list;
    size_t count, room, bytes;
} tc_split_parts;

typedef struct tc_split_wishes {
    const char *directory; /* NULL: into parts */
    bool force;
    tc_split_parts *parts; /* where there is no directory */
    /* The hash of the plan that the cloud's file asks for: it becomes the file plan.hash, and a comment at the end of
     * every agent's file. NULL: there is none. */
    const char *plan;
} tc_split_wishes;
tc_status tc_split_with(tc_arena *arena, const tc_model *model, const tc_split_wishes *wishes,
                        const tc_monitor *monitor, tc_buffer *messages, size_t *files) TC_MUST_USE;

/* After a split: private parameters that stand in the files of several agents. */
typedef struct tc_shared_secret {
    const char *name;
    size_t agents;
} tc_shared_secret;
const tc_shared_secret *tc_split_shared(tc_arena *arena, const tc_model *model, size_t *count);

#endif
