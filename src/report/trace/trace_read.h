/* Between trace_read.c (lines, comments, columns) and trace_rows.c (rows). */
#ifndef TC_REPORT_TRACE_READ_H
#define TC_REPORT_TRACE_READ_H

#include "report/trace/trace.h"

enum { TC_TRACE_MARK_COLUMNS = 4 };

typedef struct tc_trace_reader {
    tc_arena *arena;
    const tc_monitor *monitor;
    tc_buffer *messages;
    const char *path;
    const char *text, *end; /* what is left */
    const char *line;       /* the line read last, without its end */
    size_t length;
    size_t number;  /* of that line, from 1 */
    const char *at; /* the next field of the line */
    bool fields_left;
    bool failed;
    tc_trace *trace;
    size_t mark_columns[TC_TRACE_MARK_COLUMNS]; /* MARKS: which number each column after k is */
    size_t mark_column_count;
    size_t record_capacity, row_capacity, point_capacity, mark_capacity;
} tc_trace_reader;

/* Reports the first error, at the line read last; returns false. */
bool tc_trace_wrong(tc_trace_reader *reader, const char *format, ...) TC_PRINTF(2, 3);
/* The next field, without its quotes. false at the end of the line, and after an error. */
bool tc_trace_field(tc_trace_reader *reader, const char **field, size_t *length);

/* The line read last, as a row of the trace's kind. */
bool tc_trace_read_row(tc_trace_reader *reader);
/* After the last. */
bool tc_trace_rows_end(tc_trace_reader *reader);

/* A whole number in decimal, below 2^64. */
bool tc_trace_whole(const char *text, size_t length, uint64_t *value);

extern const char *const tc_trace_mark_names[TC_TRACE_MARK_COLUMNS];

#endif
