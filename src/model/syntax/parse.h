/* Tokens to syntax. */
#ifndef TC_MODEL_SYNTAX_PARSE_H
#define TC_MODEL_SYNTAX_PARSE_H

#include "model/syntax/lexer.h"
#include "model/syntax/syntax.h"

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
    bool failed; /* in this statement; reported already */
} tc_parser;

void tc_parser_next(tc_parser *parser);
tc_token tc_parser_peek(const tc_parser *parser); /* the token after the next */
bool tc_parser_at_word(const tc_parser *parser, const char *word);
/* Reports "expected ..., found ...", once for a statement. */
void tc_parser_expected(tc_parser *parser, const char *what);
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

/* Appends to a growing array in the arena. */
#define TC_PUSH(arena, array, count, item)                                                                             \
    do {                                                                                                               \
        if (((count) & ((count)-1)) == 0)                                                                              \
            (array) = tc_arena_grow((arena), (array), (count), (count) == 0 ? 1 : (count)*2, sizeof *(array));         \
        (array)[(count)++] = (item);                                                                                   \
    } while (0)

#endif
