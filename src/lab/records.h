/* Records of runs, for src/lab alone. */
#ifndef TC_LAB_RECORDS_H
#define TC_LAB_RECORDS_H

#include "lab/lab.h"

/* Makes room for all that a run may write. Until it is done it counts as interrupted. */
void tc_record_init(tc_arena *arena, const tc_experiment *experiment, bool keep_states, tc_record *record);

/* Every rank gets the record of the job and its status, which rank `from` has. */
void tc_record_share(tc_arena *arena, const tc_job *job, size_t from, tc_status *status);

#endif
