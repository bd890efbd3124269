/* A split in progress: what its files share. */
#ifndef TC_MODEL_SPLIT_SPLIT_JOB_H
#define TC_MODEL_SPLIT_SPLIT_JOB_H

#include "model/elaborate/elaborate.h"
#include "model/split/split.h"

/* The names that a part of the file mentions. */
typedef struct tc_uses {
    tc_arena *arena;
    const tc_definition *family; /* whose block is looked at; NULL outside */
    tc_definition **params;      /* global parameters */
    size_t param_count;
    bool *columns; /* of the family's data, by column of the table; NULL: not asked for */
    bool index;    /* the member's index */
    uint32_t mark; /* in definitions already listed */
    /* The first place of each thing that a party's file needs but must not, or cannot, have; of length 0 for none. */
    tc_span mixed;              /* selects by member among private numbers that stand in the family's block */
    tc_span foreign;            /* another agent's name inside a block */
    tc_span hidden;             /* a private name in what was walked (in public lines: to ask for its length) */
    const tc_name *hidden_name; /* and this is the name */
} tc_uses;

/* Adds what a statement mentions; statements inside a block are walked one by one. */
void tc_uses_add(tc_uses *uses, const tc_statement *statement);
/* Forgets what earlier walks left in definitions. */
void tc_uses_forget(const tc_syntax *syntax);

/* A statement as it was written, on one line, without comments. */
void tc_write_statement(tc_buffer *out, const tc_source *source, tc_span span);
/* The same without the end of the line. */
void tc_write_text(tc_buffer *out, const tc_source *source, tc_span span);
void tc_write_number(tc_buffer *out, double number);
void tc_write_param(tc_buffer *out, const tc_statement *statement, const tc_value *value);
bool tc_is_identifier(const char *text);

typedef struct tc_split_job {
    tc_arena *arena;
    const tc_model *model;
    const tc_monitor *monitor;
    tc_buffer *messages;
    tc_split_parts *parts; /* NULL: into files */
    const char *target;    /* where the files belong */
    const char *directory; /* where they are written; NULL: nowhere yet, or done */
    bool force;
    const char *plan; /* hash of the plan that the file asks for; NULL: none */
    bool present;     /* the target was there before */
    size_t files;
    uint32_t mark;
} tc_split_job;

/* name: in the directory. TC_OK, or a status after a message. */
tc_status tc_write_file(tc_split_job *job, const char *name, const tc_buffer *text);
/* Whether the agents' files can be written without showing one agent's data to another, and the cloud's without
 * anything private. */
tc_status tc_split_check_agents(tc_split_job *job);
tc_status tc_split_check_cloud(tc_split_job *job);
tc_status tc_split_cloud(tc_split_job *job);
tc_status tc_split_agents(tc_split_job *job);

#endif
