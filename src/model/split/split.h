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

/* The same, with the hash of the plan that the cloud's file asks for: it becomes the file directory/plan.hash, and a
 * comment at the end of every agent's file. NULL: there is none. */
tc_status tc_split_planned(tc_arena *arena, const tc_model *model, const char *directory, bool force, const char *plan,
                           const tc_monitor *monitor, tc_buffer *messages, size_t *files) TC_MUST_USE;

/* After a split: private parameters that stand in the files of several agents. */
typedef struct tc_shared_secret {
    const char *name;
    size_t agents;
} tc_shared_secret;
const tc_shared_secret *tc_split_shared(tc_arena *arena, const tc_model *model, size_t *count);

#endif
