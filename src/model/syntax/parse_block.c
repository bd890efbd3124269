/* Statements inside an agent's block:
 *
 *   block-statement := 'state' NAME ['[' expression ']'] 'in' '[' expression ',' expression ']'
 *                   |  'private' 'minimize' expression
 *                   |  'private' 'set' expression ('<=' | '>=' | '==') expression
 *                   |  'private' 'set' expression 'in' ('[' expression ',' expression ']' | NAME '(' arguments ')')
 *                   |  ['private'] ('param' | 'column') NAME '=' expression
 *                   |  'gap' expression
 *                   |  'slater' NAME '=' expression  |  ['private'] 'start' NAME '=' expression */
#include "model/syntax/parse.h"

static bool parse_box(tc_parser *parser, tc_statement *statement) {
    tc_span opened = parser->token.span;
    if (!tc_parser_expect(parser, TC_TOKEN_OPEN_BRACKET, "'[' and two bounds, as in [0, 1]"))
        return false;
    statement->lower = tc_parse_expression(parser);
    if (statement->lower == NULL || !tc_parser_expect(parser, TC_TOKEN_COMMA, "',' and the upper bound"))
        return false;
    statement->upper = tc_parse_expression(parser);
    return statement->upper != NULL && tc_parser_close(parser, TC_TOKEN_CLOSE_BRACKET, opened);
}

static bool parse_state(tc_parser *parser, tc_statement *statement) {
    tc_word word;
    if (!tc_parser_word(parser, &word, "the name of the state"))
        return false;
    statement->name = word.name;
    statement->name_span = word.span;
    tc_span opened = parser->token.span;
    if (tc_parser_accept(parser, TC_TOKEN_OPEN_BRACKET)) {
        statement->length = tc_parse_expression(parser);
        if (statement->length == NULL || !tc_parser_close(parser, TC_TOKEN_CLOSE_BRACKET, opened))
            return false;
    }
    if (!tc_parser_at_word(parser, "in")) {
        tc_parser_expected(parser, "'in' and the public box of the state, as in 'in [0, 1]'");
        return false;
    }
    tc_parser_next(parser);
    return parse_box(parser, statement);
}

static bool parse_membership(tc_parser *parser, tc_statement *statement) {
    statement->relation = TC_RELATION_IN;
    if (parser->token.kind == TC_TOKEN_OPEN_BRACKET)
        return parse_box(parser, statement);
    if (!tc_parser_word(parser, &statement->shape,
                        "a set: [lower, upper], simplex(s), ball(c, r), ball1(c, r) or "
                        "ellipsoid(c, P)"))
        return false;
    tc_span opened = parser->token.span;
    if (!tc_parser_expect(parser, TC_TOKEN_OPEN, "'('"))
        return false;
    do {
        tc_tree *argument = tc_parse_expression(parser);
        if (argument == NULL)
            return false;
        TC_PUSH(parser->arena, statement->arguments, statement->argument_count, argument);
    } while (tc_parser_accept(parser, TC_TOKEN_COMMA));
    return tc_parser_close(parser, TC_TOKEN_CLOSE, opened);
}

static bool parse_set(tc_parser *parser, tc_statement *statement) {
    statement->value = tc_parse_expression(parser);
    if (statement->value == NULL)
        return false;
    if (tc_parser_at_word(parser, "in")) {
        tc_parser_next(parser);
        return parse_membership(parser, statement);
    }
    tc_token_kind kind = parser->token.kind;
    if (kind != TC_TOKEN_LESS && kind != TC_TOKEN_GREATER && kind != TC_TOKEN_EQUAL) {
        tc_parser_expected(parser, "<=, >=, == or 'in'");
        return false;
    }
    statement->relation = kind == TC_TOKEN_LESS      ? TC_RELATION_LESS
                          : kind == TC_TOKEN_GREATER ? TC_RELATION_GREATER
                                                     : TC_RELATION_EQUAL;
    tc_parser_next(parser);
    statement->other = tc_parse_expression(parser);
    return statement->other != NULL;
}

static bool parse_assignment(tc_parser *parser, tc_statement *statement, const char *what) {
    tc_word word;
    if (!tc_parser_word(parser, &word, what))
        return false;
    statement->name = word.name;
    statement->name_span = word.span;
    if (!tc_parser_expect(parser, TC_TOKEN_ASSIGN, "'='"))
        return false;
    statement->value = tc_parse_expression(parser);
    return statement->value != NULL;
}

static bool must_be_private(tc_parser *parser, tc_statement *statement, tc_span keyword, const char *what) {
    if (statement->is_private)
        return true;
    tc_error(parser->diagnostics, keyword, "%s is private to its agent; write 'private %.*s'", what,
             (int)keyword.length, parser->lexer.text + keyword.offset);
    parser->failed = true;
    return false;
}

static bool must_be_public(tc_parser *parser, tc_statement *statement, tc_span keyword, const char *what) {
    if (!statement->is_private)
        return true;
    tc_error(parser->diagnostics, keyword, "%s is public: the cloud relies on it; leave 'private' out", what);
    parser->failed = true;
    return false;
}

tc_statement *tc_parse_block_statement(tc_parser *parser, tc_statement *statement, bool *known) {
    tc_span keyword = parser->token.span;
    bool done = false;
    if (!*known)
        return NULL;
    if (tc_parser_at_word(parser, "state")) {
        statement->kind = TC_STATEMENT_STATE;
        tc_parser_next(parser);
        done = must_be_public(parser, statement, keyword, "a state with its box") && parse_state(parser, statement);
    } else if (tc_parser_at_word(parser, "minimize")) {
        statement->kind = TC_STATEMENT_MINIMIZE;
        tc_parser_next(parser);
        done = must_be_private(parser, statement, keyword, "an objective") &&
               (statement->value = tc_parse_expression(parser)) != NULL;
    } else if (tc_parser_at_word(parser, "set")) {
        statement->kind = TC_STATEMENT_SET;
        tc_parser_next(parser);
        done = must_be_private(parser, statement, keyword, "a set") && parse_set(parser, statement);
    } else if (tc_parser_at_word(parser, "param")) {
        statement->kind = TC_STATEMENT_PARAM;
        tc_parser_next(parser);
        done = parse_assignment(parser, statement, "the name of the parameter");
    } else if (tc_parser_at_word(parser, "column")) {
        statement->kind = TC_STATEMENT_COLUMN;
        tc_parser_next(parser);
        done = parse_assignment(parser, statement, "the name of the column");
    } else if (tc_parser_at_word(parser, "gap")) {
        statement->kind = TC_STATEMENT_GAP;
        tc_parser_next(parser);
        done = must_be_public(parser, statement, keyword, "a gap") &&
               (statement->value = tc_parse_expression(parser)) != NULL;
    } else if (tc_parser_at_word(parser, "slater")) {
        statement->kind = TC_STATEMENT_SLATER;
        tc_parser_next(parser);
        done = must_be_public(parser, statement, keyword, "a Slater point") &&
               parse_assignment(parser, statement, "the name of a state");
    } else if (tc_parser_at_word(parser, "start")) {
        statement->kind = TC_STATEMENT_START;
        tc_parser_next(parser);
        done = parse_assignment(parser, statement, "the name of a state");
    } else {
        *known = false;
    }
    return done ? statement : NULL;
}
