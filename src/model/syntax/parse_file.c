/* Statements outside of blocks (the grammar is in parse.c). */
#include "model/syntax/parse.h"

static bool parse_csv(tc_parser *parser, tc_statement *statement) {
    tc_parser_next(parser);
    tc_token token = parser->token;
    if (!tc_parser_expect(parser, TC_TOKEN_STRING, "the file's name in quotes"))
        return false;
    statement->path = tc_arena_copy(parser->arena, parser->lexer.text + token.span.offset + 1, token.span.length - 2);
    statement->path_span = token.span;
    if (token.span.length == 2) {
        tc_error(parser->diagnostics, token.span, "expected the name of a file, found an empty text");
        parser->failed = true;
    }
    return !parser->failed;
}

static bool parse_param(tc_parser *parser, tc_statement *statement) {
    statement->kind = TC_STATEMENT_PARAM;
    if (!tc_parser_expect(parser, TC_TOKEN_ASSIGN, "'='"))
        return false;
    if (tc_parser_at_word(parser, "csv"))
        return parse_csv(parser, statement);
    statement->value = tc_parse_expression(parser);
    return statement->value != NULL;
}

static bool parse_words(tc_parser *parser, tc_statement *statement, const char *what) {
    do {
        tc_word word;
        if (parser->token.kind == TC_TOKEN_STRING) {
            tc_span inner = {parser->token.span.offset + 1, parser->token.span.length - 2};
            word = (tc_word){tc_parser_name_of(parser, inner), parser->token.span};
            tc_parser_next(parser);
        } else if (!tc_parser_word(parser, &word, what)) {
            return false;
        }
        TC_PUSH(parser->arena, statement->words, statement->word_count, word);
    } while (tc_parser_accept(parser, TC_TOKEN_COMMA));
    return true;
}

static bool parse_data(tc_parser *parser, tc_statement *statement) {
    statement->kind = TC_STATEMENT_DATA;
    if (!tc_parser_expect(parser, TC_TOKEN_ASSIGN, "'='"))
        return false;
    if (!tc_parser_at_word(parser, "csv")) {
        tc_parser_expected(parser, "csv and a file's name, as in csv \"homes.csv\"");
        return false;
    }
    if (!parse_csv(parser, statement))
        return false;
    if (!tc_parser_at_word(parser, "public"))
        return true;
    tc_parser_next(parser);
    return parse_words(parser, statement, "the name of a column");
}

/* The name is read; next comes [i] over homes, or [i in 1..n], or nothing for one agent. */
static bool parse_members(tc_parser *parser, tc_statement *statement) {
    tc_span opened = parser->token.span;
    if (tc_parser_accept(parser, TC_TOKEN_OPEN_BRACKET)) {
        tc_token after = tc_parser_peek(parser);
        if (after.kind == TC_TOKEN_NAME) {
            if (!tc_parse_binders(parser, &statement->binders, &statement->binder_count))
                return false;
            if (statement->binder_count > 1) {
                tc_error(parser->diagnostics, statement->binders[1].span, "a family has one index");
                parser->failed = true;
                return false;
            }
        } else if (!tc_parser_word(parser, &statement->index, "the name of the member's index")) {
            return false;
        }
        if (!tc_parser_close(parser, TC_TOKEN_CLOSE_BRACKET, opened))
            return false;
    }
    if (statement->binder_count > 0)
        return true;
    if (!tc_parser_at_word(parser, "over")) {
        tc_parser_expected(parser, "'over' and the name of the data, or [i in 1..n] (one agent alone is an 'agent')");
        return false;
    }
    tc_parser_next(parser);
    return tc_parser_word(parser, &statement->over, "the name of the data");
}

static bool parse_agent_name(tc_parser *parser, tc_statement *statement) {
    tc_token token = parser->token;
    if (!tc_parser_accept(parser, TC_TOKEN_STRING))
        return false;
    statement->name = tc_parser_name_of(parser, (tc_span){token.span.offset + 1, token.span.length - 2});
    statement->name_span = token.span;
    if (token.span.length == 2) {
        tc_error(parser->diagnostics, token.span, "an agent's name must not be empty");
        parser->failed = true;
    }
    return true;
}

static bool parse_constraint(tc_parser *parser, tc_statement *statement) {
    tc_span opened = parser->token.span;
    statement->kind = TC_STATEMENT_CONSTRAINT;
    if (tc_parser_accept(parser, TC_TOKEN_OPEN_BRACKET)) {
        if (!tc_parse_binders(parser, &statement->binders, &statement->binder_count) ||
            !tc_parser_close(parser, TC_TOKEN_CLOSE_BRACKET, opened))
            return false;
    }
    if (!tc_parser_expect(parser, TC_TOKEN_COLON, "':' and the constraint"))
        return false;
    statement->value = tc_parse_expression(parser);
    if (statement->value == NULL)
        return false;
    tc_token relation = parser->token;
    if (relation.kind == TC_TOKEN_EQUAL || relation.kind == TC_TOKEN_ASSIGN) {
        tc_error(parser->diagnostics, relation.span,
                 "a shared constraint cannot be an equality: no point would satisfy it strictly (Slater's condition, "
                 "Assumption 4); allow a band with two constraints, <= b + d and >= b - d");
        parser->failed = true;
        return false;
    }
    if (relation.kind != TC_TOKEN_LESS && relation.kind != TC_TOKEN_GREATER) {
        tc_parser_expected(parser, "<= or >=");
        return false;
    }
    statement->relation = relation.kind == TC_TOKEN_LESS ? TC_RELATION_LESS : TC_RELATION_GREATER;
    tc_parser_next(parser);
    statement->other = tc_parse_expression(parser);
    return statement->other != NULL;
}

static bool parse_start(tc_parser *parser, tc_statement *statement) {
    statement->kind = TC_STATEMENT_START;
    tc_word word;
    if (!tc_parser_word(parser, &word, "'multipliers' or the name of a constraint"))
        return false;
    statement->name = word.name;
    statement->name_span = word.span;
    tc_span opened = parser->token.span;
    if (tc_parser_accept(parser, TC_TOKEN_OPEN_BRACKET)) {
        statement->length = tc_parse_expression(parser);
        if (statement->length == NULL || !tc_parser_close(parser, TC_TOKEN_CLOSE_BRACKET, opened))
            return false;
    }
    bool assigns = tc_parser_accept(parser, TC_TOKEN_ASSIGN);
    statement->relation = assigns ? TC_RELATION_EQUAL : TC_RELATION_NONE;
    statement->value = tc_parse_expression(parser);
    return statement->value != NULL;
}

static bool expect_word(tc_parser *parser, const char *word) {
    if (tc_parser_at_word(parser, word)) {
        tc_parser_next(parser);
        return true;
    }
    tc_parser_expected(parser, tc_arena_format(parser->arena, "'%s'", word));
    return false;
}

/* name is the kind of constant: constraints, jacobian, objective. */
static bool parse_declare(tc_parser *parser, tc_statement *statement) {
    tc_word kind;
    statement->kind = TC_STATEMENT_DECLARE;
    if (!expect_word(parser, "lipschitz") || !tc_parser_word(parser, &kind, "'constraints', 'jacobian' or 'objective'"))
        return false;
    statement->name = kind.name;
    statement->name_span = kind.span;
    bool of_constraints = kind.name == tc_name_of(parser->arena, parser->syntax, "constraints", 11);
    bool of_objective = kind.name == tc_name_of(parser->arena, parser->syntax, "objective", 9);
    if (!of_constraints && !of_objective && kind.name != tc_name_of(parser->arena, parser->syntax, "jacobian", 8)) {
        tc_error(parser->diagnostics, kind.span, "expected 'constraints', 'jacobian' or 'objective', found '%s'",
                 kind.name->text);
        parser->failed = true;
        return false;
    }
    if (!of_constraints && !parse_words(parser, statement, "the name of an agent or a family"))
        return false;
    if (of_objective)
        return (statement->value = tc_parse_expression(parser)) != NULL;
    tc_span opened = parser->token.span;
    return tc_parser_expect(parser, TC_TOKEN_OPEN_BRACE, "'{' and the constants l1 and l2") &&
           tc_parse_settings(parser, statement, opened);
}

static bool parse_block_of_settings(tc_parser *parser, tc_statement *statement, tc_statement_kind kind) {
    tc_span opened = parser->token.span;
    statement->kind = kind;
    return tc_parser_expect(parser, TC_TOKEN_OPEN_BRACE, "'{'") && tc_parse_settings(parser, statement, opened);
}

static bool parse_named(tc_parser *parser, tc_statement *statement, const char *what) {
    tc_word word;
    if (!tc_parser_word(parser, &word, what))
        return false;
    statement->name = word.name;
    statement->name_span = word.span;
    return true;
}

bool tc_parse_file_statement(tc_parser *parser, tc_statement *statement) {
    tc_span keyword = parser->token.span;
    bool is_param = tc_parser_at_word(parser, "param");
    if (statement->is_private && !is_param) {
        tc_error(parser->diagnostics, keyword, "only 'param' can be private outside of an agent's block");
        parser->failed = true;
        return false;
    }
    if (is_param) {
        tc_parser_next(parser);
        return parse_named(parser, statement, "the name of the parameter") && parse_param(parser, statement);
    }
    if (tc_parser_at_word(parser, "data")) {
        tc_parser_next(parser);
        return parse_named(parser, statement, "the name of the data") && parse_data(parser, statement);
    }
    if (tc_parser_at_word(parser, "agents")) {
        statement->kind = TC_STATEMENT_AGENTS;
        statement->is_family = true;
        tc_parser_next(parser);
        return parse_named(parser, statement, "the name of the family") && parse_members(parser, statement);
    }
    if (tc_parser_at_word(parser, "agent")) {
        statement->kind = TC_STATEMENT_AGENTS;
        tc_parser_next(parser);
        return (parse_agent_name(parser, statement) || parse_named(parser, statement, "the agent's name")) &&
               !parser->failed;
    }
    if (tc_parser_at_word(parser, "constraint")) {
        tc_parser_next(parser);
        return parse_named(parser, statement, "the name of the constraint") && parse_constraint(parser, statement);
    }
    if (tc_parser_at_word(parser, "role")) {
        statement->kind = TC_STATEMENT_ROLE;
        tc_parser_next(parser);
        return parse_named(parser, statement, "'cloud' or 'agent'");
    }
    if (tc_parser_at_word(parser, "dual")) {
        statement->kind = TC_STATEMENT_DUAL;
        tc_parser_next(parser);
        return expect_word(parser, "radius") && (statement->value = tc_parse_expression(parser)) != NULL;
    }
    if (tc_parser_at_word(parser, "declare")) {
        tc_parser_next(parser);
        return parse_declare(parser, statement);
    }
    if (tc_parser_at_word(parser, "start")) {
        tc_parser_next(parser);
        return parse_start(parser, statement);
    }
    tc_statement_kind kind = tc_parser_at_word(parser, "privacy")  ? TC_STATEMENT_PRIVACY
                             : tc_parser_at_word(parser, "budget") ? TC_STATEMENT_BUDGET
                                                                   : TC_STATEMENT_SCHEDULE;
    tc_parser_next(parser);
    return parse_block_of_settings(parser, statement, kind);
}
