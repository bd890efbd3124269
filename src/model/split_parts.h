/* Between the files of tc_split. */
#ifndef TC_MODEL_SPLIT_PARTS_H
#define TC_MODEL_SPLIT_PARTS_H

#include "model/elaborate.h"

/* What a part of the file mentions. */
typedef struct tc_uses {
    tc_arena *arena;
    const tc_definition *family; /* whose block is looked at; NULL outside */
    tc_definition **params;      /* global parameters */
    size_t param_count;
    bool *columns; /* of the family's data, by column of the table */
    bool index;    /* the member's index */
    uint32_t mark; /* in definitions already listed */
    const tc_statement *leak; /* a statement that picks a member's part out of a private parameter */
    const tc_name *leaked;
} tc_uses;

/* Adds what a statement mentions; statements inside a block are walked one by one. */
void tc_uses_add(tc_uses *uses, const tc_statement *statement);

/* A statement as it was written, on one line, without comments. */
void tc_write_statement(tc_buffer *out, const tc_source *source, tc_span span);
void tc_write_number(tc_buffer *out, double number);
/* [1, 2] or [[1, 2], [3, 4]] */
void tc_write_value(tc_buffer *out, const tc_value *value);
void tc_write_param(tc_buffer *out, const tc_definition *definition);
bool tc_is_identifier(const char *text);

typedef struct tc_split_job {
    tc_arena *arena;
    const tc_model *model;
    const tc_monitor *monitor;
    tc_buffer *messages;
    const char *directory;
    bool force;
    size_t files;
    uint32_t mark;
} tc_split_job;

/* TC_OK, or a status after a message. */
tc_status tc_write_file(tc_split_job *job, const char *path, const tc_buffer *text);
/* Whether the agents' files can be written without showing one agent's data to another. */
tc_status tc_split_check(tc_split_job *job);
tc_status tc_split_cloud(tc_split_job *job);
tc_status tc_split_agents(tc_split_job *job);

#endif
