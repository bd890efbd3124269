/* Many runs on several ranks: each rank makes every so-many-th, then all get all records. */
#include "lab/records.h"

#include "base/ranks/ranks.h"

#include <math.h>
#include <string.h>

void tc_record_init(tc_arena *arena, const tc_experiment *experiment, bool keep_states, tc_record *record) {
    size_t m = experiment->model->constraint_count, rows = experiment->grid_count + 1; /* one for where it stopped */
    double *numbers = TC_NEW(arena, double, 2 * m * rows + 1);
    *record = (tc_record){.outcome = TC_ENGINE_INTERRUPTED,
                          .rows = TC_NEW(arena, tc_row, rows),
                          .x = keep_states ? TC_NEW(arena, double, experiment->model->state_count) : NULL,
                          .mu = TC_NEW(arena, double, m + 1),
                          .bounds = TC_NEW(arena, double, m + 1),
                          .moved_x = NAN,
                          .moved_mu = NAN};
    record->reason_room = TC_NEW(arena, char, TC_REASON_SIZE);
    size_t n = experiment->keep_row_states ? experiment->model->state_count : 0;
    double *states = n == 0 ? NULL : tc_arena_alloc(arena, rows, n * sizeof *states);
    for (size_t i = 0; i < rows; i++) {
        record->rows[i].constraints = numbers + 2 * m * i;
        record->rows[i].multipliers = numbers + 2 * m * i + m;
        record->rows[i].states = n == 0 ? NULL : states + n * i;
    }
}

typedef struct record_head { /* of a record: what is not an array */
    tc_status status;
    bool is_begun, has_reason;
    tc_engine_outcome outcome;
    uint64_t rounds;
    double seconds, moved_x, moved_mu;
    size_t row_count;
    tc_feasibility feasibility;
    char reason[TC_REASON_SIZE];
} record_head;

static record_head head_of(const tc_record *record, tc_status status) {
    record_head head = {.status = status, .is_begun = record->rows != NULL};
    if (!head.is_begun)
        return head;
    head.has_reason = record->reason != NULL;
    head.outcome = record->outcome;
    head.rounds = record->rounds;
    head.seconds = record->seconds;
    head.moved_x = record->moved_x;
    head.moved_mu = record->moved_mu;
    head.row_count = record->row_count;
    head.feasibility = record->feasibility;
    if (head.has_reason)
        memcpy(head.reason, record->reason, strlen(record->reason) + 1);
    return head;
}

static void take_head(tc_record *record, const record_head *head, uint64_t seed) {
    record->seeded = true;
    record->seed = seed;
    record->outcome = head->outcome;
    record->rounds = head->rounds;
    record->seconds = head->seconds;
    record->moved_x = head->moved_x;
    record->moved_mu = head->moved_mu;
    record->row_count = head->row_count;
    record->feasibility = head->feasibility;
    record->feasibility.bounds = head->feasibility.bounds == NULL ? NULL : record->bounds;
    record->reason = head->has_reason ? record->reason_room : NULL;
    memcpy(record->reason_room, head->reason, sizeof head->reason);
}

static void share_numbers(double *numbers, size_t count, size_t from) {
    if (numbers != NULL)
        tc_ranks_broadcast(numbers, count * sizeof *numbers, from);
}

static void share_row(tc_row *row, const tc_model *model, size_t from) {
    tc_row own = *row; /* the pointers are this rank's */
    tc_ranks_broadcast(row, sizeof *row, from);
    row->constraints = own.constraints;
    row->multipliers = own.multipliers;
    row->states = own.states;
    share_numbers(row->constraints, model->constraint_count, from);
    share_numbers(row->multipliers, model->constraint_count, from);
    share_numbers(row->states, model->state_count, from);
}

void tc_record_share(tc_arena *arena, const tc_job *job, size_t from, tc_status *status) {
    const tc_model *model = job->experiment->model;
    tc_record *record = job->record;
    record_head head = head_of(record, *status);
    tc_ranks_broadcast(&head, sizeof head, from);
    *status = head.status;
    if (!head.is_begun)
        return;
    if (record->rows == NULL)
        tc_record_init(arena, job->experiment, job->keep_states, record);
    if (tc_ranks_mine() != from)
        take_head(record, &head, job->seed);
    for (size_t i = 0; i < record->row_count; i++)
        share_row(&record->rows[i], model, from);
    share_numbers(record->mu, model->constraint_count, from);
    share_numbers(record->bounds, model->constraint_count, from);
    share_numbers(record->x, model->state_count, from);
}
