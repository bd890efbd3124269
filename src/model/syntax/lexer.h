/* Text to tokens, one at a time. A newline ends a statement, except inside ( ) and [ ], and after a comma or a binary
 * operator. Errors are reported where they stand and become TC_TOKEN_BAD. */
#ifndef TC_MODEL_SYNTAX_LEXER_H
#define TC_MODEL_SYNTAX_LEXER_H

#include "model/syntax/diagnose.h"

#define TC_TOKEN_LIST(X)                                                                                               \
    X(TC_TOKEN_END, "the end of the file")                                                                             \
    X(TC_TOKEN_NEWLINE, "the end of the line")                                                                         \
    X(TC_TOKEN_BAD, "an error")                                                                                        \
    X(TC_TOKEN_NAME, "a name")                                                                                         \
    X(TC_TOKEN_NUMBER, "a number")                                                                                     \
    X(TC_TOKEN_STRING, "a text in quotes")                                                                             \
    X(TC_TOKEN_OPEN, "'('")                                                                                            \
    X(TC_TOKEN_CLOSE, "')'")                                                                                           \
    X(TC_TOKEN_OPEN_BRACKET, "'['")                                                                                    \
    X(TC_TOKEN_CLOSE_BRACKET, "']'")                                                                                   \
    X(TC_TOKEN_OPEN_BRACE, "'{'")                                                                                      \
    X(TC_TOKEN_CLOSE_BRACE, "'}'")                                                                                     \
    X(TC_TOKEN_COMMA, "','")                                                                                           \
    X(TC_TOKEN_COLON, "':'")                                                                                           \
    X(TC_TOKEN_DOT, "'.'")                                                                                             \
    X(TC_TOKEN_RANGE, "'..'")                                                                                          \
    X(TC_TOKEN_PLUS, "'+'")                                                                                            \
    X(TC_TOKEN_MINUS, "'-'")                                                                                           \
    X(TC_TOKEN_STAR, "'*'")                                                                                            \
    X(TC_TOKEN_SLASH, "'/'")                                                                                           \
    X(TC_TOKEN_CARET, "'^'")                                                                                           \
    X(TC_TOKEN_ASSIGN, "'='")                                                                                          \
    X(TC_TOKEN_EQUAL, "'=='")                                                                                          \
    X(TC_TOKEN_LESS, "'<='")                                                                                           \
    X(TC_TOKEN_GREATER, "'>='")

typedef enum tc_token_kind {
#define X(kind, text) kind,
    TC_TOKEN_LIST(X)
#undef X
} tc_token_kind;

typedef struct tc_token {
    tc_token_kind kind;
    tc_span span;
    double number;
    bool starts_line; /* the first token of its line */
} tc_token;

typedef struct tc_lexer {
    tc_diagnostics *diagnostics;
    const char *text;
    size_t length, at;
    size_t open; /* ( and [ not yet closed */
    tc_token_kind previous;
    bool line_started;
} tc_lexer;

tc_lexer tc_lexer_new(tc_diagnostics *diagnostics);
tc_token tc_lexer_next(tc_lexer *lexer);
const char *tc_token_kind_text(tc_token_kind kind);

#endif
