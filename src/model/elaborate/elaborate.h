/* From syntax to model: names resolved, data loaded, vectors expanded, labels checked.
 *
 * Definitions stand in any order: a name is elaborated when it is first needed, and once. A family is elaborated in
 * steps: its head (members and columns), its states, then all else, since constraints and parameters may need the
 * first two of any family. */
#ifndef TC_MODEL_ELABORATE_ELABORATE_H
#define TC_MODEL_ELABORATE_ELABORATE_H

#include "model/csv.h"
#include "model/syntax/parse.h"

typedef struct tc_limits {
    size_t nodes;  /* of the DAG */
    bool no_files; /* data files are not read (for fuzzing) */
    bool whole;    /* every rank knows the data of all members */
    tc_read_files *files;
} tc_limits;

/* The file of this name, which is read from the path where the list lacks it. NULL: it cannot be read. */
const tc_read_file *tc_data_file(tc_arena *arena, tc_read_files *files, const char *name, const char *path);

/* Fills the model; errors are counted in diagnostics. */
void tc_elaborate(tc_model *model, tc_diagnostics *diagnostics, const tc_monitor *monitor, const tc_given *given,
                  const tc_limits *limits);

/* ---- values: value.c ----
 * A value is a scalar, vector or matrix: of numbers where all of it is constant, of DAG nodes otherwise. Its label says
 * whether private data flowed into it. Arithmetic on numbers happens in double: that is the definition of a constant
 * expression. */

/* A private datum, for messages. */
typedef struct tc_private_datum {
    const char *name;                       /* "need", "w" */
    const char *data;                       /* the table, where it is a column; else NULL */
    tc_span span;                           /* where it was declared private */
    bool is_outside;                        /* a parameter outside of the blocks */
    const struct tc_private_datum *made_of; /* a parameter: what it is computed from; NULL: from nothing private */
} tc_private_datum;

typedef struct tc_value {
    bool broken;    /* an error was reported already: report no more */
    bool is_number; /* number or numbers hold it; else node or nodes */
    unsigned char rank;
    size_t rows, columns; /* rank 1: rows elements, columns 1 */
    double number;        /* rank 0 */
    tc_expr node;
    const double *numbers; /* rank 1 and 2, row by row */
    const tc_expr *nodes;
    const tc_private_datum *secret; /* NULL: public */
} tc_value;

typedef struct tc_values { /* what operations on values need */
    tc_arena *arena;
    tc_dag *dag;
    tc_diagnostics *diagnostics;
} tc_values;

/* Expansions beyond this are refused. */
#define TC_MOST_ELEMENTS ((size_t)10000000)

tc_value tc_value_number(double number);
tc_value tc_value_node(tc_expr node);
tc_value tc_value_broken(void);
tc_value tc_value_numbers(const double *numbers, unsigned char rank, size_t rows, size_t columns);
tc_value tc_value_nodes(const tc_expr *nodes, unsigned char rank, size_t rows, size_t columns);

static inline size_t tc_value_count(const tc_value *value) {
    return value->rank == 0 ? 1 : value->rows * value->columns;
}
static inline double tc_value_number_at(const tc_value *value, size_t i) {
    return value->rank == 0 ? value->number : value->numbers[i];
}
tc_expr tc_value_node_at(const tc_values *values, const tc_value *value, size_t i);
bool tc_value_has_state(const tc_values *values, const tc_value *value);
bool tc_value_has_data(const tc_values *values, const tc_value *value);

/* "a number", "a vector of 3", "a 2 x 3 matrix" */
const char *tc_shape_text(tc_arena *arena, const tc_value *value);

typedef double tc_number_function(double a, double b);
typedef tc_expr tc_node_function(tc_dag *dag, tc_expr a, tc_expr b);
/* Element by element, a scalar with every element; what: the operator, for messages. */
tc_value tc_value_elementwise(const tc_values *values, const tc_value *a, const tc_value *b,
                              tc_number_function *on_numbers, tc_node_function *on_nodes, tc_span span,
                              const char *what);
tc_value tc_value_product(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span);
tc_value tc_value_add(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span);
tc_value tc_value_subtract(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span);
/* left - right of a relation. */
tc_value tc_value_compare(const tc_values *values, const tc_value *left, const tc_value *right, tc_span span);
tc_value tc_value_negate(const tc_values *values, const tc_value *a);
tc_value tc_value_transpose(const tc_values *values, const tc_value *a);
tc_value tc_value_total(const tc_values *values, const tc_value *a, tc_span span);
tc_value tc_value_dot(const tc_values *values, const tc_value *a, const tc_value *b, tc_span span);

/* Reports a constant that is not finite. */
tc_value tc_value_checked(const tc_values *values, tc_value value, tc_span span);

/* ---- between the files of the elaborator ---- */

typedef enum tc_elaboration_phase { TC_UNSEEN, TC_UNDERWAY, TC_DONE } tc_elaboration_phase;
typedef enum tc_definition_kind {
    TC_DEFINES_PARAM,
    TC_DEFINES_DATA,
    TC_DEFINES_FAMILY,
    TC_DEFINES_CONSTRAINT
} tc_definition_kind;

typedef struct tc_definition {
    tc_definition_kind kind;
    tc_name *name;
    tc_statement *statement;
    const tc_given_table *given_table; /* data: instead of a file */
    tc_elaboration_phase progress;
    tc_value value;             /* params */
    tc_table *table;            /* data; NULL after an error */
    tc_name **columns;          /* data: the names of the table's columns */
    tc_private_datum **secrets; /* data: by column, NULL where public */
    struct tc_agents_block *block;
    size_t first, count; /* constraint: its place in the model */
    uint32_t mark;       /* used by tc_split, like the next two: */
    size_t users;        /* agents that use a parameter */
    tc_span picked;      /* where a part is picked out of it; of length 0 for nowhere */
    struct tc_definition *next;
} tc_definition;

/* What is elaborated now; each has names' nodes in a realm of its own. */
typedef enum tc_part { TC_PART_SHARED, TC_PART_BLOCK, TC_PART_PARAMS, TC_PARTS } tc_part;

typedef struct tc_local { /* a name defined in a block */
    tc_name *name;
    tc_statement *statement; /* param, state or column */
    tc_elaboration_phase progress[TC_PARTS];
    tc_value value[TC_PARTS]; /* for the member in general */
    tc_value column;          /* column, and param from a file or given: its numbers */
    bool is_loaded;           /* param: column has them */
    const tc_item *range; /* param: private, with this range; its numbers are columns of the family, like a column's */
    bool has_columns;     /* param: they were made */
    size_t variable;      /* state: its number; column: the number of the first of the family's */
    size_t member;        /* state: the member whose coordinates were asked for last, plus one */
    tc_value of_member;
    unsigned walks; /* used by tc_split: which of its walks have been here, and what they found */
} tc_local;

typedef struct tc_agents_block {
    tc_definition *definition;
    tc_statement *statement;
    uint32_t number;                   /* of the family in the model */
    bool broken;                       /* the head or a state has an error */
    tc_definition *data;               /* NULL: none */
    tc_name *index;                    /* NULL: none */
    tc_value *column_values[TC_PARTS]; /* of the data, by column, once used */
    bool *column_known[TC_PARTS];
    size_t index_column; /* SIZE_MAX until used */
    size_t column_capacity;
    tc_local *locals;
    size_t local_count;
    bool states_known;
    struct tc_derived_column *gathers; /* derived columns, so that equal ones are one */
    size_t gather_count;
} tc_agents_block;

typedef struct tc_scope {
    const struct tc_scope *outer;
    tc_name *name; /* an index with a value; NULL: the block of a member */
    double value;
    tc_agents_block *block;
    size_t member; /* SIZE_MAX: any member */
} tc_scope;

typedef struct tc_elaborator {
    tc_arena *arena;
    tc_model *model;
    tc_dag *dag;
    tc_diagnostics *diagnostics;
    const tc_monitor *monitor;
    const tc_limits *limits;
    tc_values values;
    tc_syntax *syntax;
    tc_definition *definitions;
    tc_agents_block *blocks;           /* as families in the model */
    bool in_block;                     /* an objective or set, not a constraint */
    bool in_private_param;             /* a parameter outside of blocks that some agents will be given */
    const char *no_states;             /* what is elaborated here is this, a constant; NULL: states may be used */
    size_t *sum_table, sum_table_size; /* by body: number of the inner sum plus one */
    size_t constraint_capacity;
    size_t kinks;     /* functions of states that have kinks, so far */
    uint32_t *stamps; /* by node, for walks over the DAG: visited in the walk of this number */
    uint32_t *places; /* by node: its place in the list of a walk */
    size_t stamp_count;
    uint32_t stamp;
    size_t expansions; /* iterations of sums and indices so far */
    unsigned depth;    /* of definitions that need each other */
    bool dropped;      /* a line could not be elaborated; an error must have been reported */
    tc_definition **busy;
    size_t busy_count;
} tc_elaborator;

/* elaborate.c: definitions */
void tc_need_definition(tc_elaborator *elaborator, tc_definition *definition, tc_span used);
/* A data file's path: as written when absolute, else beside the problem file. */
const char *tc_data_path(tc_elaborator *elaborator, const tc_statement *statement);
tc_value tc_elaborate_param(tc_elaborator *elaborator, const tc_scope *scope, const tc_statement *statement);

/* Whether a parameter's numbers come from a file or are given; names must be known. */
static inline bool tc_is_loaded_param(const tc_statement *s) {
    return s->kind == TC_STATEMENT_PARAM && s->value == NULL;
}

/* kinks.c: rows <= 0 that say the same as e <= 0, without |u| and max; NULL after an error. */
tc_expr *tc_rows_without_kinks(tc_elaborator *elaborator, tc_expr e, tc_span span, size_t *count);
/* The same for a norm that must not be larger than a constant; e itself where it is none, TC_NO_EXPR after an error. */
tc_expr tc_row_without_norm(tc_elaborator *elaborator, tc_expr e, tc_span span);

/* names.c */
tc_value tc_elaborate_name(tc_elaborator *elaborator, const tc_scope *scope, tc_name *name, tc_span span);
/* What a block keeps private is for its own lines: true (and an error) where value, reached from outside through
 * block, would carry it into a private parameter or another agent's lines. Public lines are checked by their label. */
bool tc_refuse_foreign(tc_elaborator *elaborator, const tc_scope *scope, const tc_agents_block *block,
                       const tc_value *value, tc_span span);
tc_value tc_elaborate_member_name(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree);
/* The names that a block has, for suggestions. */
void tc_add_block_names(tc_elaborator *elaborator, const tc_agents_block *block, const char ***names, size_t *count);
tc_value tc_block_name(tc_elaborator *elaborator, const tc_scope *scope, tc_name *name, tc_span span, bool *found);
tc_agents_block *tc_block_named(tc_elaborator *elaborator, tc_name *name, tc_span span);

/* expressions.c */
tc_value tc_elaborate_tree(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree);
/* A public constant number; what: for messages, "the length of a state". NAN after an error. */
double tc_elaborate_number(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree, const char *what);
/* The same, whole, between least and most. */
bool tc_elaborate_whole(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree, const char *what,
                        double least, double most, double *value);
/* The ends of a binder's range. */
bool tc_elaborate_range(tc_elaborator *elaborator, const tc_scope *scope, const tc_binder *binder, double *first,
                        double *last);
void tc_count_expansion(tc_elaborator *elaborator, size_t more, tc_span span);
/* Refuses a private value: what must be public. */
bool tc_must_be_public(tc_elaborator *elaborator, const tc_value *value, tc_span span, const char *what);
/* The block whose member the scope speaks of in general, or NULL. */
const tc_scope *tc_general_scope(const tc_scope *scope);

/* functions.c */
tc_value tc_elaborate_call(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree);
tc_value tc_elaborate_power(tc_elaborator *elaborator, const tc_scope *scope, const tc_tree *tree);
tc_value tc_elaborate_divide(tc_elaborator *elaborator, const tc_value *a, const tc_value *b, tc_span span);

/* names.c: columns */
/* An expression free of states, evaluated for every member (or once where it has no data). */
/* Notes what a number has to be, where it is made of private data. */
void tc_demand_of(tc_elaborator *elaborator, const tc_agents_block *block, tc_expr node, tc_demand_kind kind,
                  tc_span span);
tc_coef tc_coef_of(tc_elaborator *elaborator, const tc_agents_block *block, tc_expr expression);
/* Whether its states have no effect, since their coefficients are 0 for every member (an idle link's route). Then
 * tc_coef_of evaluates it too. */
bool tc_is_without_states(tc_elaborator *elaborator, const tc_agents_block *block, tc_expr expression);
tc_coef tc_coef_of_value(tc_elaborator *elaborator, const tc_agents_block *block, const tc_value *value, size_t i);
/* A new column of the family; its leaf. source: what it was computed from; NULL: not from data. */
tc_expr tc_new_column(tc_elaborator *elaborator, tc_agents_block *block, const double *values, const tc_value *source,
                      bool is_private);
/* Marks and collects the nodes under root, sorted. */
tc_expr *tc_nodes_under(tc_elaborator *elaborator, tc_expr root, size_t *count);

/* agents.c */
void tc_elaborate_head(tc_elaborator *elaborator, tc_agents_block *block, tc_span used);
void tc_elaborate_states(tc_elaborator *elaborator, tc_agents_block *block);
void tc_elaborate_block(tc_elaborator *elaborator, tc_agents_block *block);
/* count coefs from a value: one for each, or a scalar for all. NULL after a reported error. */
tc_coef *tc_elaborate_coefs(tc_elaborator *elaborator, tc_agents_block *block, const tc_value *value, size_t count,
                            tc_span span, const char *what);
/* The same of an expression in a block, which must be public. */
tc_coef *tc_public_coefs(tc_elaborator *elaborator, tc_agents_block *block, const tc_tree *tree, size_t count,
                         const char *what);
const char *tc_member_text(tc_elaborator *elaborator, const tc_agents_block *block, size_t member);
/* Whether a message may show private numbers: of an agent's file, which its owner alone reads. */
static inline bool tc_shows_private(const tc_elaborator *elaborator) {
    return elaborator->model->role == TC_ROLE_AGENT;
}
/* "this is 7", or of a private number that it is wrong. */
const char *tc_wrong_number(tc_elaborator *elaborator, bool is_private, double value);

/* sets.c */
void tc_elaborate_set(tc_elaborator *elaborator, tc_agents_block *block, const tc_statement *statement,
                      size_t *capacity);

/* ranges.c: ranges of private data, and what is protected. Before anything is computed from the data. */
void tc_mark_ranged(tc_agents_block *block);
void tc_elaborate_ranges(tc_elaborator *elaborator, tc_agents_block *block);

/* owners.c: after all blocks, refuses protected data that is read in two places. */
void tc_check_protected_data(tc_elaborator *elaborator);
/* After all blocks: which private data there are. */
void tc_name_private_data(tc_elaborator *elaborator);

/* public_set.c */
void tc_refuse_public_set(tc_elaborator *elaborator, const tc_statement *statement);
/* The pieces from `before` on are what the statement made: marks its one half-space, or reports. */
void tc_check_public_set(tc_elaborator *elaborator, tc_agents_block *block, const tc_statement *statement,
                         size_t before);
void tc_check_public_slater(tc_elaborator *elaborator, tc_agents_block *block, const tc_statement *slater);

/* statements.c */
void tc_elaborate_constraint(tc_elaborator *elaborator, tc_definition *definition);
void tc_elaborate_settings(tc_elaborator *elaborator);
/* Refuses a setting that was seen before, and one that changes with k where it does not decay. */
bool tc_check_setting(tc_elaborator *elaborator, const tc_setting *setting, bool decays, bool *seen);
/* The number of the key among the known ones, or SIZE_MAX after an error. */
size_t tc_setting_key(tc_elaborator *elaborator, const tc_word *key, const char *const *known, size_t count,
                      const char *where);

#endif
