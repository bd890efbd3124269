#include "report/trace/trace.h"

#include <string.h>

enum { NOTED_RUNS = 20 };

const char *tc_trace_kind_name(tc_trace_kind kind) {
    switch (kind) {
#define X(code, name)                                                                                                  \
    case code:                                                                                                         \
        return name;
        TC_TRACE_KINDS(X)
#undef X
    default:
        return "unknown";
    }
}

/* Grows when the count reaches a power of two. */
static void *room_for_one(tc_arena *arena, void *items, size_t count, size_t size) {
    return (count & (count - 1)) == 0 ? tc_arena_grow(arena, items, count, count == 0 ? 1 : 2 * count, size) : items;
}

void tc_trace_fact_add(tc_arena *arena, tc_trace *trace, const char *name, const char *value) {
    trace->facts = room_for_one(arena, trace->facts, trace->fact_count, sizeof *trace->facts);
    trace->facts[trace->fact_count++] = (tc_trace_fact){name, value};
}

const char *tc_trace_fact_of(const tc_trace *trace, const char *name) {
    for (size_t i = 0; i < trace->fact_count; i++) {
        if (strcmp(trace->facts[i].name, name) == 0)
            return trace->facts[i].value;
    }
    return NULL;
}

void tc_trace_note_add(tc_arena *arena, tc_trace *trace, const char *note) {
    trace->notes = room_for_one(arena, trace->notes, trace->note_count, sizeof *trace->notes);
    trace->notes[trace->note_count++] = note;
}

void tc_trace_card_add(tc_arena *arena, tc_trace *trace, const char *line) {
    trace->card = room_for_one(arena, trace->card, trace->card_count, sizeof *trace->card);
    trace->card[trace->card_count++] = line;
}

static void note_outcome(tc_arena *arena, tc_trace *trace, const tc_record *record) {
    const char *who =
        record->seeded ? tc_arena_format(arena, "seed %llu", (unsigned long long)record->seed) : "the run";
    const char *how = record->outcome == TC_ENGINE_DIVERGED ? "diverged" : "was interrupted";
    const char *reason = record->reason != NULL ? tc_arena_format(arena, ": %s", record->reason) : "";
    tc_trace_note_add(
        arena, trace,
        tc_arena_format(arena, "%s %s after %llu rounds%s", who, how, (unsigned long long)record->rounds, reason));
}

static bool was_begun(const tc_record *record) {
    return record->outcome != TC_ENGINE_INTERRUPTED || record->rounds > 0 || record->row_count > 0;
}

/* One line for all that Ctrl-C kept from their end. */
static void note_interrupt(tc_arena *arena, tc_trace *trace, const tc_record *records, size_t count) {
    size_t done = 0, stopped = 0, waiting = 0;
    for (size_t i = 0; i < count; i++) {
        bool interrupted = records[i].outcome == TC_ENGINE_INTERRUPTED, begun = was_begun(&records[i]);
        done += records[i].outcome == TC_ENGINE_DONE;
        stopped += interrupted && begun;
        waiting += interrupted && !begun;
    }
    if (stopped + waiting == 0)
        return;
    const char *rest = waiting > 0 ? tc_arena_format(arena, " and %zu were not begun", waiting) : "";
    tc_trace_note_add(arena, trace,
                      tc_arena_format(arena,
                                      "interrupted: of %zu runs %s%zu came to their end, %zu were stopped on the "
                                      "way%s",
                                      count, waiting > 0 ? "" : "that were begun ", done, stopped, rest));
}

void tc_trace_set_records(tc_arena *arena, tc_trace *trace, const tc_record *records, size_t count) {
    size_t noted = 0;
    trace->records = TC_NEW(arena, tc_record, count);
    trace->record_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (count == 1 || was_begun(&records[i]))
            trace->records[trace->record_count++] = records[i];
        if (records[i].outcome == TC_ENGINE_DONE || (count > 1 && records[i].outcome == TC_ENGINE_INTERRUPTED))
            continue;
        if (noted++ < NOTED_RUNS)
            note_outcome(arena, trace, &records[i]);
    }
    if (noted > NOTED_RUNS)
        tc_trace_note_add(arena, trace, tc_arena_format(arena, "and %zu more runs like these", noted - NOTED_RUNS));
    if (count > 1)
        note_interrupt(arena, trace, records, count);
}
