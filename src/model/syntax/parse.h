/* Tokens to syntax: what was written, nothing resolved. The syntax lives as long as the model, since tc_split writes
 * parts of it again. */
#ifndef TC_MODEL_SYNTAX_PARSE_H
#define TC_MODEL_SYNTAX_PARSE_H

#include "model/syntax/lexer.h"

/* A name, stored once: two names are equal when their pointers are. */
typedef struct tc_name {
    const char *text;
    size_t length;
    struct tc_definition *global; /* what the name means outside blocks; set by the elaborator */
    uint32_t agent_of;            /* the family, counted from 1, that has a member of this name; 0 for none */
} tc_name;

typedef enum tc_tree_kind {
    TC_TREE_NUMBER,
    TC_TREE_NAME,
    TC_TREE_VECTOR, /* [items] */
    TC_TREE_NEGATE,
    TC_TREE_ADD,
    TC_TREE_SUBTRACT,
    TC_TREE_MULTIPLY,
    TC_TREE_DIVIDE,
    TC_TREE_POWER,
    TC_TREE_CALL,   /* name(items) */
    TC_TREE_INDEX,  /* items[0] [items[1], ...] */
    TC_TREE_MEMBER, /* items[0] . name */
    TC_TREE_RANGE,  /* items[0] .. items[1], only inside an index */
    TC_TREE_SUM,    /* sum(binders: items[0]) */
    TC_TREE_LIST,   /* [binders: items[0]] */
} tc_tree_kind;

typedef struct tc_binder { /* `name in first..last`; a family's name alone where first is NULL */
    tc_name *name;
    tc_span span;
    struct tc_tree *first, *last;
} tc_binder;

typedef struct tc_tree {
    tc_tree_kind kind;
    tc_span span;
    tc_span name_span; /* of name */
    double number;
    tc_name *name;
    struct tc_tree **items;
    size_t count;
    tc_binder *binders;
    size_t binder_count;
    struct tc_tree **spine; /* of a chain a + b - c * ...: its operators, innermost first; may be very long, so no code
                               recurses along it */
    size_t spine_count;
} tc_tree;

typedef enum tc_relation {
    TC_RELATION_NONE,
    TC_RELATION_LESS,    /* <= */
    TC_RELATION_GREATER, /* >= */
    TC_RELATION_EQUAL,   /* == */
    TC_RELATION_IN,      /* in a named set or a box */
} tc_relation;

typedef struct tc_word {
    tc_name *name;
    tc_span span;
} tc_word;

typedef struct tc_setting { /* one line of a privacy, budget, schedule or declare block */
    tc_word key;
    tc_word word;   /* a word given as value; name NULL for none */
    tc_tree *value; /* NULL for none */
    tc_tree *decay; /* c in `0.1 k^-c` */
    tc_span span;
} tc_setting;

typedef struct tc_item { /* one of the data in `range need in [0, 40], pref in [0, 7.4]` or `protect need by 5` */
    tc_word datum;
    tc_tree *length;        /* range pref[24]: how many components; NULL: not said */
    tc_tree *lower, *upper; /* range */
    tc_tree *by;            /* protect */
    tc_span span;
} tc_item;

typedef enum tc_statement_kind {
    TC_STATEMENT_ROLE,
    TC_STATEMENT_PARAM,
    TC_STATEMENT_DATA,
    TC_STATEMENT_AGENTS,
    TC_STATEMENT_CONSTRAINT,
    TC_STATEMENT_DUAL,
    TC_STATEMENT_DECLARE,
    TC_STATEMENT_PRIVACY,
    TC_STATEMENT_BUDGET,
    TC_STATEMENT_SCHEDULE,
    TC_STATEMENT_START,
    TC_STATEMENT_STATE,
    TC_STATEMENT_COLUMN,
    TC_STATEMENT_MINIMIZE,
    TC_STATEMENT_SET,
    TC_STATEMENT_GAP,
    TC_STATEMENT_SLATER,
    TC_STATEMENT_RANGE,
    TC_STATEMENT_PROTECT,
    TC_STATEMENT_DISTANCE,
} tc_statement_kind;

typedef struct tc_statement {
    tc_statement_kind kind;
    tc_span span;    /* all of it */
    tc_span keyword; /* its first word */
    bool is_private;
    bool is_public; /* says so: a set; other lines are public unless private */
    bool is_family; /* agents, not agent */
    bool maximizes; /* an objective: maximize, not minimize */
    tc_name *name;  /* what it defines or speaks of; NULL for none */
    tc_span name_span;
    tc_tree *value; /* right of `=`, an objective, a gap, the left side of a relation */
    tc_tree *other; /* the right side of a relation; slater: the room around the point */
    tc_tree *third; /* of a chain value <= other <= third, or >= and >=; else NULL */
    tc_relation relation;
    tc_tree *length;        /* state: p[length]; start: constraint[length] */
    tc_tree *lower, *upper; /* state and `in [lower, upper]` */
    tc_word shape;          /* `in shape(arguments)` */
    tc_tree **arguments;
    size_t argument_count;
    const char *path;              /* csv or npy */
    bool is_npy;                   /* the file is NumPy's, not CSV */
    bool is_given;                 /* `given`; of a param: unless something is called so */
    tc_span path_span;             /* of either */
    const tc_given_matrix *matrix; /* param: what a program gives in place of the file; set by the elaborator */
    const char *agent;             /* param: in whose block; NULL outside; set by the elaborator */
    tc_binder *binders;            /* indices of a constraint or set, the members of a family without data */
    size_t binder_count;
    tc_word over;   /* agents: the data */
    tc_word index;  /* agents home[index] */
    tc_word *words; /* data: public columns; declare: agents */
    size_t word_count;
    tc_setting *settings;
    size_t setting_count;
    tc_item *items; /* range, protect */
    size_t item_count;
    struct tc_statement *block; /* agents: first statement inside */
    struct tc_statement *next;
} tc_statement;

typedef struct tc_syntax {
    tc_statement *first;
    tc_name **names; /* open addressing */
    size_t name_count, name_capacity;
} tc_syntax;

/* The one tc_name of these bytes. */
tc_name *tc_name_of(tc_arena *arena, tc_syntax *syntax, const char *text, size_t length);

/* Whether the tree's binders are names in its items. */
static inline bool tc_binds_names(tc_tree_kind kind) { return kind == TC_TREE_SUM || kind == TC_TREE_LIST; }
/* Whether it makes a vector or matrix of its items. */
static inline bool tc_is_vector(tc_tree_kind kind) { return kind == TC_TREE_VECTOR || kind == TC_TREE_LIST; }

static inline bool tc_is_chain(tc_tree_kind kind) { return kind >= TC_TREE_ADD && kind <= TC_TREE_DIVIDE; }

static inline tc_span tc_span_join(tc_span a, tc_span b) {
    uint32_t end = b.offset + b.length;
    return (tc_span){a.offset, end > a.offset ? end - a.offset : a.length};
}

/* Reports all syntax errors: after one, parsing goes on at the next statement. */
tc_syntax *tc_parse(tc_arena *arena, tc_diagnostics *diagnostics);

/* ---- between the files of the parser ---- */

enum { TC_DEEPEST = 200 };

typedef struct tc_parser {
    tc_arena *arena;
    tc_diagnostics *diagnostics;
    tc_lexer lexer;
    tc_token token; /* the one to be read next */
    tc_span last;   /* the one read before it */
    tc_syntax *syntax;
    unsigned depth;
    bool failed;             /* in this statement; reported already */
    bool told_whole_numbers; /* that there are no whole-numbered states; the word stands with each of them */
} tc_parser;

void tc_parser_next(tc_parser *parser);
tc_token tc_parser_peek(const tc_parser *parser); /* the token after the next */
bool tc_parser_at_word(const tc_parser *parser, const char *word);
/* Reports "expected ..., found ...", once for a statement. */
void tc_parser_expected(tc_parser *parser, const char *what);
/* Whether `integer` or `binary` is next, which is refused: reported once for a file. */
bool tc_parser_refuse_whole_numbers(tc_parser *parser);
/* Reports what to write instead, once for a statement; false. */
bool tc_parser_refuse(tc_parser *parser, tc_span span, const char *message);
bool tc_parser_accept(tc_parser *parser, tc_token_kind kind);
bool tc_parser_expect(tc_parser *parser, tc_token_kind kind, const char *what);
/* The bracket that closes the one at opened. */
bool tc_parser_close(tc_parser *parser, tc_token_kind kind, tc_span opened);
bool tc_parser_word(tc_parser *parser, tc_word *word, const char *what);
tc_name *tc_parser_name_of(tc_parser *parser, tc_span span);

/* Whether the next token begins a line and a statement. */
bool tc_parser_at_statement(const tc_parser *parser);

/* NULL after an error. */
tc_tree *tc_parse_expression(tc_parser *parser);
bool tc_parse_binders(tc_parser *parser, tc_binder **binders, size_t *count);
/* A statement of an agent's block, and one outside; NULL or false after an error. */
tc_statement *tc_parse_block_statement(tc_parser *parser, tc_statement *statement, bool *known);
bool tc_parse_file_statement(tc_parser *parser, tc_statement *statement);

#endif
