/* A split in progress: what its files share. */
#ifndef TC_MODEL_SPLIT_SPLIT_JOB_H
#define TC_MODEL_SPLIT_SPLIT_JOB_H

#include "model/elaborate/elaborate.h"

/* What a part of the file mentions. */
typedef struct tc_uses {
    tc_arena *arena;
    const tc_definition *family; /* whose block is looked at; NULL outside */
    tc_definition **params;      /* global parameters */
    size_t param_count;
    bool *columns; /* of the family's data, by column of the table; NULL: not asked for */
    bool index;    /* the member's index */
    uint32_t mark; /* in definitions already listed */
    /* The first of each that a party's file cannot do without, and must not or cannot have; of length 0 for none. */
    tc_span mixed;              /* selects by member among private numbers that stand in the family's block */
    tc_span foreign;            /* another agent's name inside a block */
    tc_span hidden;             /* a private name in what was walked (in public lines: to ask for its length) */
    const tc_name *hidden_name; /* and this is the name */
} tc_uses;

/* Adds what a statement mentions; statements inside a block are walked one by one. */
void tc_uses_add(tc_uses *uses, const tc_statement *statement);
/* Forgets what earlier walks left in definitions. */
void tc_uses_forget(const tc_syntax *syntax);

/* Notes that `picked` takes a part out of the value of `tree`: in definitions of private parameters,
 * and in uses->mixed. */
struct tc_bound_names;
void tc_note_pick(tc_uses *uses, const struct tc_bound_names *scope, const tc_tree *picked, bool is_private);
/* The same of a sum or product that public numbers pick parts by. */
void tc_note_weights(tc_uses *uses, const struct tc_bound_names *scope, const tc_tree *call);

/* What a name means there. */
typedef struct tc_bound_names { /* names of enclosing sums */
    const struct tc_bound_names *outer;
    const tc_tree *sum;
} tc_bound_names;
bool tc_is_bound(const tc_bound_names *scope, const tc_name *name);
tc_local *tc_local_named(const tc_definition *family, const tc_name *name);
size_t tc_column_named(const tc_definition *family, const tc_name *name); /* SIZE_MAX: none */

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
    const char *target;    /* where the files belong */
    const char *directory; /* where they are written; NULL: nowhere yet, or done */
    bool force;
    const char *plan; /* hash of the plan that the file asks for; NULL: none */
    bool present;     /* the target was there before */
    size_t files;
    uint32_t mark;
} tc_split_job;

/* TC_OK, or a status after a message. */
tc_status tc_cannot_write(const tc_split_job *job, const char *path, int code);
tc_status tc_split_open(tc_split_job *job, const char *directory);
tc_status tc_split_commit(tc_split_job *job);
void tc_split_abandon(tc_split_job *job);
tc_status tc_write_file(tc_split_job *job, const char *path, const tc_buffer *text);
/* Whether the agents' files can be written without showing one agent's data to another, and the cloud's without
 * anything private. */
tc_status tc_split_check_agents(tc_split_job *job);
tc_status tc_split_check_cloud(tc_split_job *job);
tc_status tc_split_cloud(tc_split_job *job);
tc_status tc_split_agents(tc_split_job *job);

#endif
