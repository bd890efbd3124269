/* A file is a list of statements, each ended by a newline or a semicolon:
 *
 *   file      := { statement }
 *   statement := 'role' ('cloud' | 'agent')
 *             |  ['private'] 'param' NAME '=' (expression | 'csv' STRING | 'npy' STRING | 'given')
 *             |  'data' NAME '=' ('csv' STRING | 'npy' STRING | 'given') ['public' NAME { ',' NAME }]
 *             |  'agents' NAME ['[' NAME ']'] 'over' NAME '{' { block-statement } '}'
 *             |  'agents' NAME '[' NAME 'in' expression '..' expression ']' '{' { block-statement } '}'
 *             |  'agent' (NAME | STRING) '{' { block-statement } '}'
 *             |  'constraint' NAME ['[' binders ']'] ':' expression ('<=' | '>=') expression [('<=' | '>=') expression]
 *             |  'dual' 'radius' expression
 *             |  'declare' 'lipschitz' 'constraints' '{' settings '}'
 *             |  'declare' 'lipschitz' 'jacobian' agents '{' settings '}'
 *             |  'declare' 'lipschitz' 'objective' agents expression
 *             |  'privacy' '{' settings '}'  |  'budget' '{' settings '}'  |  'schedule' '{' settings '}'
 *             |  'start' 'multipliers' expression  |  'start' NAME ['[' expression ']'] '=' expression
 * Block statements are in parse_statements.c, expressions in parse_expression.c. */
#include "model/syntax/parse.h"

#include <string.h>

/* ---- tokens ----------------------------------------------------------------------------------------------------- */

void tc_parser_next(tc_parser *parser) {
    parser->last = parser->token.span;
    parser->token = tc_lexer_next(&parser->lexer);
    if (parser->token.kind == TC_TOKEN_BAD)
        parser->failed = true;
}

tc_token tc_parser_peek(const tc_parser *parser) {
    tc_lexer lexer = parser->lexer;
    /* A peek must not report errors, so it looks only at tokens that cannot have one. */
    while (lexer.at < lexer.length && strchr(" \t\r\n", lexer.text[lexer.at]) != NULL && lexer.text[lexer.at] != '\0')
        lexer.at++;
    char c = lexer.at < lexer.length ? lexer.text[lexer.at] : '\0';
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
    return plain ? tc_lexer_next(&lexer) : (tc_token){.kind = TC_TOKEN_BAD};
}

static bool span_is(const tc_parser *parser, tc_span span, const char *word) {
    return strlen(word) == span.length && memcmp(parser->lexer.text + span.offset, word, span.length) == 0;
}

bool tc_parser_at_word(const tc_parser *parser, const char *word) {
    return parser->token.kind == TC_TOKEN_NAME && span_is(parser, parser->token.span, word);
}

void tc_parser_expected(tc_parser *parser, const char *what) {
    tc_token token = parser->token;
    if (parser->failed)
        return;
    parser->failed = true;
    bool is_semicolon = token.kind == TC_TOKEN_NEWLINE && parser->diagnostics->source->text[token.span.offset] == ';';
    bool is_shown =
        is_semicolon || token.kind == TC_TOKEN_NAME || token.kind == TC_TOKEN_NUMBER || token.kind == TC_TOKEN_STRING;
    if (is_shown && !tc_is_private_number(parser->diagnostics->source, token.span)) {
        tc_buffer found = tc_buffer_new(parser->arena, 1 << 12);
        tc_span_text(&found, parser->diagnostics->source, token.span);
        tc_error(parser->diagnostics, token.span, "expected %s, found '%s'", what, tc_buffer_text(&found));
    } else {
        tc_error(parser->diagnostics, token.span, "expected %s, found %s", what, tc_token_kind_text(token.kind));
    }
}

bool tc_parser_refuse(tc_parser *parser, tc_span span, const char *message) {
    if (!parser->failed)
        tc_error(parser->diagnostics, span, "%s", message);
    parser->failed = true;
    return false;
}

bool tc_parser_refuse_whole_numbers(tc_parser *parser) {
    if (!tc_parser_at_word(parser, "integer") && !tc_parser_at_word(parser, "binary"))
        return false;
    if (!parser->told_whole_numbers)
        (void)tc_parser_refuse(parser, parser->token.span,
                               "every state is a real number, and none can be held to whole numbers: round the result");
    parser->told_whole_numbers = parser->failed = true;
    return true;
}

bool tc_parser_accept(tc_parser *parser, tc_token_kind kind) {
    if (parser->token.kind != kind)
        return false;
    tc_parser_next(parser);
    return true;
}

bool tc_parser_expect(tc_parser *parser, tc_token_kind kind, const char *what) {
    if (tc_parser_accept(parser, kind))
        return true;
    tc_parser_expected(parser, what);
    return false;
}

bool tc_parser_close(tc_parser *parser, tc_token_kind kind, tc_span opened) {
    if (tc_parser_accept(parser, kind))
        return true;
    if (parser->failed)
        return false;
    tc_parser_expected(parser, tc_token_kind_text(kind));
    tc_note(parser->diagnostics, opened, "%s was opened here",
            kind == TC_TOKEN_CLOSE           ? "'('"
            : kind == TC_TOKEN_CLOSE_BRACKET ? "'['"
                                             : "'{'");
    return false;
}

tc_name *tc_parser_name_of(tc_parser *parser, tc_span span) {
    return tc_name_of(parser->arena, parser->syntax, parser->lexer.text + span.offset, span.length);
}

bool tc_parser_word(tc_parser *parser, tc_word *word, const char *what) {
    if (parser->token.kind != TC_TOKEN_NAME || tc_parser_at_word(parser, "in")) {
        tc_parser_expected(parser, what);
        return false;
    }
    *word = (tc_word){tc_parser_name_of(parser, parser->token.span), parser->token.span};
    tc_parser_next(parser);
    return true;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

static size_t name_slot(tc_name *const *names, size_t capacity, const char *text, size_t length) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    size_t slot = (size_t)(hash ^ (hash >> 32)) & (capacity - 1);
    while (names[slot] != NULL && (names[slot]->length != length || memcmp(names[slot]->text, text, length) != 0))
        slot = (slot + 1) & (capacity - 1);
    return slot;
}

tc_name *tc_name_of(tc_arena *arena, tc_syntax *syntax, const char *text, size_t length) {
    if (syntax->name_count * 2 >= syntax->name_capacity) {
        size_t capacity = syntax->name_capacity == 0 ? 64 : syntax->name_capacity * 2;
        tc_name **names = TC_NEW(arena, tc_name *, capacity);
        for (size_t i = 0; i < syntax->name_capacity; i++) {
            tc_name *name = syntax->names[i];
            if (name != NULL)
                names[name_slot(names, capacity, name->text, name->length)] = name;
        }
        syntax->names = names;
        syntax->name_capacity = capacity;
    }
    size_t slot = name_slot(syntax->names, syntax->name_capacity, text, length);
    if (syntax->names[slot] == NULL) {
        tc_name *name = TC_NEW(arena, tc_name, 1);
        *name = (tc_name){.text = tc_arena_copy(arena, text, length), .length = length};
        syntax->names[slot] = name;
        syntax->name_count++;
    }
    return syntax->names[slot];
}

/* ---- statements ------------------------------------------------------------------------------------------------- */

static const char *const file_words[] = {"role", "param",   "private", "data",   "agents",   "agent", "constraint",
                                         "dual", "declare", "privacy", "budget", "schedule", "start"};
static const char *const block_words[] = {"state", "minimize", "maximize", "private", "public", "set",     "param",
                                          "gap",   "slater",   "start",    "column",  "range",  "protect", "distance"};

static bool at_one_of(const tc_parser *parser, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (tc_parser_at_word(parser, words[i]))
            return true;
    }
    return false;
}

static bool at_file_word(const tc_parser *parser) {
    return at_one_of(parser, file_words, sizeof file_words / sizeof file_words[0]);
}

static bool at_block_word(const tc_parser *parser) {
    return at_one_of(parser, block_words, sizeof block_words / sizeof block_words[0]);
}

bool tc_parser_at_statement(const tc_parser *parser) {
    return parser->token.starts_line && (at_file_word(parser) || at_block_word(parser));
}

/* To the end of the statement, or to what looks like the next one. */
static void recover(tc_parser *parser) {
    size_t braces = 0;
    parser->lexer.open = 0;
    while (parser->token.kind != TC_TOKEN_END) {
        if (braces == 0 && (parser->token.kind == TC_TOKEN_NEWLINE || parser->token.kind == TC_TOKEN_CLOSE_BRACE ||
                            tc_parser_at_statement(parser)))
            break;
        if (parser->token.kind == TC_TOKEN_OPEN_BRACE)
            braces++;
        if (parser->token.kind == TC_TOKEN_CLOSE_BRACE)
            braces--;
        tc_parser_next(parser);
        parser->lexer.open = 0;
    }
    parser->failed = false;
    parser->depth = 0;
}

/* What people write out of habit where a statement should begin, and what to write; NULL for nothing known. */
static const char *statement_habit(const tc_parser *parser, bool in_block) {
    static const char *const limits[] = {"subject", "s", "st", "such", "where", "with", "and"};
    static const char *const states[] = {"var", "variable", "let", "decision"};
    static const char *const objectives[] = {"minimize", "maximize", "minimise", "maximise", "min", "max", "objective"};
    if (at_one_of(parser, objectives, sizeof objectives / sizeof objectives[0]))
        return in_block ? "write 'private minimize ...' or 'private maximize ...'"
                        : "each agent has an objective of its own: write 'private minimize ...' or 'private maximize "
                          "...' in its block; the sum over all agents is minimised";
    if (at_one_of(parser, states, sizeof states / sizeof states[0]))
        return in_block ? "write 'state x in [0, 1]'"
                        : "states belong to agents: write 'agent a { state x in [0, 1] }'";
    size_t after = parser->token.span.offset + parser->token.span.length;
    while (after < parser->lexer.length && parser->lexer.text[after] == ' ')
        after++;
    if (after + 1 < parser->lexer.length && parser->lexer.text[after] == '=' && parser->lexer.text[after + 1] != '=')
        return "a constant is defined by 'param NAME = 1'";
    bool is_relation = after < parser->lexer.length && strchr("<>=+-*/^[", parser->lexer.text[after]) != NULL &&
                       parser->lexer.text[after] != '\0';
    if (!is_relation && !at_one_of(parser, limits, sizeof limits / sizeof limits[0]))
        return NULL;
    return in_block ? "a limit of the agent alone is written 'private set x <= 1'"
                    : "a limit that binds agents together is written 'constraint NAME: a.x + b.x <= 1'";
}

static void unknown_statement(tc_parser *parser, const char *const *words, size_t count, const char *where) {
    if (parser->failed || tc_parser_refuse_whole_numbers(parser))
        return;
    tc_token_kind kind = parser->token.kind;
    if (kind == TC_TOKEN_PLUS || kind == TC_TOKEN_MINUS || kind == TC_TOKEN_STAR || kind == TC_TOKEN_SLASH) {
        (void)tc_parser_refuse(
            parser, parser->token.span,
            "a statement ends with its line; to go on, put the operator at the end of the line before, "
            "or all of it in ( )");
        return;
    }
    if (kind != TC_TOKEN_NAME) {
        tc_parser_expected(parser, "a statement");
        return;
    }
    tc_name *name = tc_parser_name_of(parser, parser->token.span);
    const char *near = tc_did_you_mean(parser->arena, name->text, words, count);
    const char *habit = near[0] == '\0' ? statement_habit(parser, where[0] != '\0') : NULL;
    tc_error(parser->diagnostics, parser->token.span, "no statement%s begins with '%s'%s%s", where, name->text,
             habit != NULL ? "; " : near, habit != NULL ? habit : "");
    parser->failed = true;
}

/* A statement goes on where it should end. */
static void unexpected_end(tc_parser *parser) {
    static const struct {
        const char *word, *instead;
    } habits[] = {
        {"subject",
         "'subject to' is not written: limits stand on lines of their own, 'private set' in an agent's block, "
         "'constraint' outside"},
        {"and", "a line holds one relation, or a chain a <= b <= c: write a line for each"},
        {"or", "one relation or another is not a convex set: all lines must hold"},
        {"for", "the index comes first: constraint c[i in 1..3]: ..., sum(i in 1..3: ...), [i in 1..3: ...]"},
        {"forall", "the index comes first: constraint c[i in 1..3]: ..., sum(i in 1..3: ...), [i in 1..3: ...]"},
        {"if", "a function must be convex: there is no 'if'"},
    };
    for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++) {
        if (tc_parser_at_word(parser, habits[i].word)) {
            (void)tc_parser_refuse(parser, parser->token.span, habits[i].instead);
            return;
        }
    }
    tc_parser_expected(parser, "an operator or the end of the statement");
}

static void end_statement(tc_parser *parser) {
    if (!parser->failed && parser->token.kind != TC_TOKEN_NEWLINE && parser->token.kind != TC_TOKEN_END &&
        parser->token.kind != TC_TOKEN_CLOSE_BRACE)
        unexpected_end(parser);
    if (parser->failed)
        recover(parser);
}

/* Skips a token where a statement consumed none, so that parsing ends. */
static void make_progress(tc_parser *parser, tc_span start) {
    if (parser->token.span.offset == start.offset && parser->token.kind != TC_TOKEN_END)
        tc_parser_next(parser);
    parser->failed = false;
}

static bool parse_private(tc_parser *parser, tc_statement *statement) {
    statement->keyword = parser->token.span;
    if (!tc_parser_at_word(parser, "private"))
        return true;
    statement->is_private = true;
    tc_parser_next(parser);
    return parser->token.kind == TC_TOKEN_NAME;
}

/* `public set`: no other line has the word. */
static bool parse_public(tc_parser *parser, tc_statement *statement) {
    tc_span word = parser->token.span;
    if (statement->is_private || !tc_parser_at_word(parser, "public"))
        return true;
    statement->is_public = true;
    tc_parser_next(parser);
    if (tc_parser_at_word(parser, "set"))
        return true;
    tc_error(parser->diagnostics, word, "'public' goes with 'set': other lines are public unless they are private");
    parser->failed = true;
    return false;
}

static void parse_block(tc_parser *parser, tc_statement *agents, tc_span opened) {
    tc_statement **next = &agents->block;
    for (;;) {
        while (tc_parser_accept(parser, TC_TOKEN_NEWLINE))
            continue;
        if (tc_parser_accept(parser, TC_TOKEN_CLOSE_BRACE))
            return;
        bool outside = at_file_word(parser) && !at_block_word(parser);
        if (parser->token.kind == TC_TOKEN_END || outside) {
            tc_error(parser->diagnostics, parser->token.span, "expected '}' before %s",
                     outside ? "a statement that stands outside of blocks" : "the end of the file");
            tc_note(parser->diagnostics, opened, "'{' was opened here%s",
                    tc_parser_at_word(parser, "constraint") ? "; a limit of the agent alone is written 'private set'"
                                                            : "");
            parser->failed = true;
            return;
        }
        tc_statement *statement = TC_NEW(parser->arena, tc_statement, 1);
        tc_span start = parser->token.span;
        bool known = parse_private(parser, statement) && parse_public(parser, statement);
        statement = tc_parse_block_statement(parser, statement, &known);
        if (!known)
            unknown_statement(parser, block_words, sizeof block_words / sizeof block_words[0], " in an agent's block");
        if (statement != NULL && known && !parser->failed) {
            statement->span = tc_span_join(start, parser->last);
            *next = statement;
            next = &statement->next;
        }
        end_statement(parser);
        make_progress(parser, start);
    }
}

static bool parse_statement(tc_parser *parser, tc_statement *statement) {
    bool known = parse_private(parser, statement);
    if (!known || !at_file_word(parser)) {
        if (known && at_block_word(parser)) {
            const char *habit = statement_habit(parser, false);
            tc_error(parser->diagnostics, parser->token.span, "this statement stands inside an agent's block%s%s",
                     habit != NULL ? "; " : "", habit != NULL ? habit : "");
            tc_parser_next(parser);
            parser->failed = true;
            return false;
        }
        unknown_statement(parser, file_words, sizeof file_words / sizeof file_words[0], "");
        return false;
    }
    if (!tc_parse_file_statement(parser, statement))
        return false;
    if (statement->kind == TC_STATEMENT_AGENTS) {
        tc_span opened = parser->token.span;
        if (!tc_parser_expect(parser, TC_TOKEN_OPEN_BRACE, "'{'"))
            return false;
        parse_block(parser, statement, opened);
    }
    return !parser->failed;
}

tc_syntax *tc_parse(tc_arena *arena, tc_diagnostics *diagnostics) {
    tc_parser parser = {.arena = arena, .diagnostics = diagnostics, .lexer = tc_lexer_new(diagnostics)};
    parser.syntax = TC_NEW(arena, tc_syntax, 1);
    tc_parser_next(&parser);
    tc_statement **next = &parser.syntax->first;
    for (;;) {
        while (tc_parser_accept(&parser, TC_TOKEN_NEWLINE))
            continue;
        if (parser.token.kind == TC_TOKEN_END)
            break;
        if (parser.token.kind == TC_TOKEN_CLOSE_BRACE) {
            tc_error(diagnostics, parser.token.span, "this '}' closes nothing");
            tc_parser_next(&parser);
            continue;
        }
        tc_statement *statement = TC_NEW(arena, tc_statement, 1);
        tc_span start = parser.token.span;
        if (parse_statement(&parser, statement)) {
            statement->span = tc_span_join(start, parser.last);
            *next = statement;
            next = &statement->next;
        }
        end_statement(&parser);
        make_progress(&parser, start);
    }
    return parser.syntax;
}
