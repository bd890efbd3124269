/* One run: what a single run and each of many have in common. */
#ifndef TC_LAB_ONE_H
#define TC_LAB_ONE_H

#include "lab/lab.h"
#include "lab/pace.h"

/* Room for all that a run may write: an interrupt until it is done. */
void tc_record_init(tc_arena *arena, const tc_experiment *experiment, bool keep_states, tc_record *record);

typedef struct tc_one {
    const tc_experiment *experiment;
    tc_record *record;
    tc_random *random;
    tc_team *team; /* NULL: this thread alone */
    const tc_monitor *monitor;
    tc_pace *pace;
    bool reports;    /* this thread tells the monitor how far things are */
    bool tells_rows; /* and calls on_row: of a single run */
} tc_one;

/* arena: for what the run needs while it goes; the record's numbers are in place. */
tc_status tc_one_run(tc_arena *arena, tc_one *one, const char **why) TC_MUST_USE;

#endif
