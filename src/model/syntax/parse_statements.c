/* Statements: outside of blocks (grammar in parse.c), inside an agent's block, and lists of settings. */
#include "model/syntax/parse.h"

#include <string.h>

/* ---- lists of settings in braces ---------------------------------------------------------------------------------
 *
 *   settings := { NAME [NAME [':']] [expression] ['k' '^' '-' expression] } separated by newlines or semicolons
 *
 * Which keys exist, and what their values mean, is the elaborator's business. */

/* A word given as value: the mechanism's name, the kind of adjacency. Any other key has an expression. */
static bool takes_word(const tc_word *key) {
    return strcmp(key->name->text, "mechanism") == 0 || strcmp(key->name->text, "adjacency") == 0;
}

static bool parse_decay(tc_parser *parser, tc_setting *setting) {
    tc_parser_next(parser);
    if (!tc_parser_expect(parser, TC_TOKEN_CARET, "'^' and the power, as in k^-0.5") ||
        !tc_parser_expect(parser, TC_TOKEN_MINUS, "'-': steps shrink, as in k^-0.5"))
        return false;
    setting->decay = tc_parse_expression(parser);
    return setting->decay != NULL;
}

static bool parse_setting(tc_parser *parser, tc_setting *setting) {
    if (!tc_parser_word(parser, &setting->key, "the name of a setting"))
        return false;
    setting->span = setting->key.span;
    if (parser->token.kind == TC_TOKEN_ASSIGN || parser->token.kind == TC_TOKEN_COLON) {
        tc_error(parser->diagnostics, parser->token.span, "a setting has no sign between name and value; leave it out");
        parser->failed = true;
        return false;
    }
    bool has_colon = false;
    if (takes_word(&setting->key) && parser->token.kind == TC_TOKEN_NAME) {
        if (!tc_parser_word(parser, &setting->word, "a word"))
            return false;
        /* 'one:1' as in options, beside 'one 1'. */
        has_colon = tc_parser_accept(parser, TC_TOKEN_COLON);
    }
    bool ends = parser->token.kind == TC_TOKEN_NEWLINE || parser->token.kind == TC_TOKEN_CLOSE_BRACE;
    if (!ends || has_colon || setting->word.name == NULL) {
        setting->value = tc_parse_expression(parser);
        if (setting->value == NULL)
            return false;
    }
    if (tc_parser_at_word(parser, "k") && !parse_decay(parser, setting))
        return false;
    setting->span = tc_span_join(setting->span, parser->last);
    return true;
}

/* After an error: skips to the end of the braces, so that the rest of them is not parsed as statements. */
static bool skip_settings(tc_parser *parser) {
    while (parser->token.kind != TC_TOKEN_END && parser->token.kind != TC_TOKEN_CLOSE_BRACE &&
           !tc_parser_at_statement(parser)) {
        parser->lexer.open = 0;
        tc_parser_next(parser);
    }
    (void)tc_parser_accept(parser, TC_TOKEN_CLOSE_BRACE);
    parser->failed = true;
    return false;
}

static bool parse_settings(tc_parser *parser, tc_statement *statement, tc_span opened) {
    for (;;) {
        while (tc_parser_accept(parser, TC_TOKEN_NEWLINE))
            continue;
        if (parser->token.kind == TC_TOKEN_CLOSE_BRACE || parser->token.kind == TC_TOKEN_END)
            return tc_parser_close(parser, TC_TOKEN_CLOSE_BRACE, opened);
        tc_setting setting = {0};
        if (!parse_setting(parser, &setting))
            return skip_settings(parser);
        TC_PUSH(parser->arena, statement->settings, statement->setting_count, setting);
        if (parser->token.kind != TC_TOKEN_NEWLINE && parser->token.kind != TC_TOKEN_CLOSE_BRACE) {
            tc_parser_expected(parser, "a semicolon or the end of the line");
            return skip_settings(parser);
        }
    }
}

/* ---- statements outside of blocks -------------------------------------------------------------------------------- */

static bool parse_path(tc_parser *parser, tc_statement *statement) {
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

static const char two_signs[] = "an equality is written with two signs: ==";

/* The `=` of a definition. */
static bool parse_equals(tc_parser *parser) {
    if (parser->token.kind == TC_TOKEN_EQUAL)
        return tc_parser_refuse(parser, parser->token.span, "a definition is written with one sign: =");
    return tc_parser_expect(parser, TC_TOKEN_ASSIGN, "'='");
}

static bool parse_param(tc_parser *parser, tc_statement *statement) {
    statement->kind = TC_STATEMENT_PARAM;
    if (!parse_equals(parser))
        return false;
    if (tc_parser_at_word(parser, "csv")) {
        tc_parser_next(parser);
        return parse_path(parser, statement);
    }
    tc_span start = parser->token.span;
    bool is_given = tc_parser_at_word(parser, "given"), is_npy = tc_parser_at_word(parser, "npy");
    statement->value = tc_parse_expression(parser);
    if (statement->value == NULL)
        return false;
    if (is_npy && statement->value->kind == TC_TREE_NAME && parser->token.kind == TC_TOKEN_STRING) {
        statement->value = NULL;
        statement->is_npy = true;
        return parse_path(parser, statement);
    }
    statement->is_given = is_given && statement->value->kind == TC_TREE_NAME;
    statement->path_span = start;
    return true;
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
    if (!parse_equals(parser))
        return false;
    if (tc_parser_at_word(parser, "given")) {
        statement->is_given = true;
        statement->path_span = parser->token.span;
        tc_parser_next(parser);
    } else if (tc_parser_at_word(parser, "csv") || tc_parser_at_word(parser, "npy")) {
        statement->is_npy = tc_parser_at_word(parser, "npy");
        tc_parser_next(parser);
        if (!parse_path(parser, statement))
            return false;
    } else {
        tc_parser_expected(parser, "csv or npy and a file's name, as in csv \"homes.csv\", or given");
        return false;
    }
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
                tc_error(parser->diagnostics, statement->binders[1].span, "a family has only one index");
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

/* The second sign of a chain a <= b <= c, if there is one. */
static bool parse_chain(tc_parser *parser, tc_statement *statement) {
    tc_token sign = parser->token;
    if (sign.kind != TC_TOKEN_LESS && sign.kind != TC_TOKEN_GREATER && sign.kind != TC_TOKEN_EQUAL)
        return true;
    tc_token_kind wanted = statement->relation == TC_RELATION_LESS ? TC_TOKEN_LESS : TC_TOKEN_GREATER;
    if (statement->third != NULL || statement->relation == TC_RELATION_EQUAL || sign.kind != wanted) {
        tc_error(parser->diagnostics, sign.span,
                 "a chain has two signs that point the same way, a <= b <= c or a >= b >= c; write two lines");
        parser->failed = true;
        return false;
    }
    tc_parser_next(parser);
    statement->third = tc_parse_expression(parser);
    return statement->third != NULL && parse_chain(parser, statement);
}

static bool parse_constraint(tc_parser *parser, tc_statement *statement) {
    tc_span opened = parser->token.span;
    statement->kind = TC_STATEMENT_CONSTRAINT;
    if (tc_parser_accept(parser, TC_TOKEN_OPEN_BRACKET)) {
        if (!tc_parse_binders(parser, &statement->binders, &statement->binder_count) ||
            !tc_parser_close(parser, TC_TOKEN_CLOSE_BRACKET, opened))
            return false;
    }
    if (!tc_parser_expect(parser, TC_TOKEN_COLON, "':' and the constraint, as in 'constraint NAME: a.x <= 1'"))
        return false;
    statement->value = tc_parse_expression(parser);
    if (statement->value == NULL)
        return false;
    tc_token relation = parser->token;
    if (relation.kind == TC_TOKEN_ASSIGN)
        return tc_parser_refuse(parser, relation.span, two_signs);
    if (relation.kind != TC_TOKEN_LESS && relation.kind != TC_TOKEN_GREATER && relation.kind != TC_TOKEN_EQUAL) {
        tc_parser_expected(parser, "<=, >= or ==");
        return false;
    }
    statement->relation = relation.kind == TC_TOKEN_LESS      ? TC_RELATION_LESS
                          : relation.kind == TC_TOKEN_GREATER ? TC_RELATION_GREATER
                                                              : TC_RELATION_EQUAL;
    tc_parser_next(parser);
    statement->other = tc_parse_expression(parser);
    return statement->other != NULL && parse_chain(parser, statement);
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
           parse_settings(parser, statement, opened);
}

static bool parse_block_of_settings(tc_parser *parser, tc_statement *statement, tc_statement_kind kind) {
    tc_span opened = parser->token.span;
    statement->kind = kind;
    return tc_parser_expect(parser, TC_TOKEN_OPEN_BRACE, "'{'") && parse_settings(parser, statement, opened);
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
        return parse_named(parser, statement, "a name, as in 'constraint NAME: a.x <= 1'") &&
               parse_constraint(parser, statement);
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

/* ---- statements inside an agent's block --------------------------------------------------------------------------
 *
 *   block-statement := 'state' NAME ['[' expression ']'] 'in' '[' expression ',' expression ']'
 *                   |  'private' ('minimize' | 'maximize') expression
 *                   |  ('private' | 'public') 'set' [NAME ['[' binders ']'] ':'] set
 *                   |  ['private'] 'param' NAME '=' (expression | 'csv' STRING | 'npy' STRING | 'given')
 *                   |  ['private'] 'column' NAME '=' expression
 *                   |  'gap' expression
 *                   |  'range' NAME ['[' expression ']'] 'in' '[' expression ',' expression ']' {',' ...}
 *                   |  'protect' NAME 'by' expression {',' ...}  |  'distance' NAME '{' settings '}'
 *                   |  'slater' NAME '=' expression ['within' expression]  |  ['private'] 'start' NAME '=' expression
 *   set             := expression ('<=' | '>=' | '==') expression [('<=' | '>=') expression]
 *                   |  expression 'in' ('[' expression ',' expression ']' | NAME '(' arguments ')') */

static bool parse_bounds(tc_parser *parser, tc_tree **lower, tc_tree **upper) {
    tc_span opened = parser->token.span;
    if (!tc_parser_expect(parser, TC_TOKEN_OPEN_BRACKET, "'[' and two bounds, as in [0, 1]"))
        return false;
    *lower = tc_parse_expression(parser);
    if (*lower == NULL || !tc_parser_expect(parser, TC_TOKEN_COMMA, "',' and the upper bound"))
        return false;
    *upper = tc_parse_expression(parser);
    return *upper != NULL && tc_parser_close(parser, TC_TOKEN_CLOSE_BRACKET, opened);
}

static bool parse_box(tc_parser *parser, tc_statement *statement) {
    return parse_bounds(parser, &statement->lower, &statement->upper);
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
    if (tc_parser_refuse_whole_numbers(parser))
        return false;
    if (!tc_parser_at_word(parser, "in")) {
        tc_parser_expected(parser, "'in' and the public box of the state, as in 'in [0, 1]'");
        return false;
    }
    tc_parser_next(parser);
    return parse_box(parser, statement) && !tc_parser_refuse_whole_numbers(parser);
}

static bool parse_membership(tc_parser *parser, tc_statement *statement) {
    statement->relation = TC_RELATION_IN;
    if (tc_parser_refuse_whole_numbers(parser))
        return false;
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

/* Whether the set has a name: `NAME :` or `NAME [ NAME in` stands here. */
static bool at_set_name(const tc_parser *parser) {
    tc_buffer unsaid = tc_buffer_new(parser->arena, 1 << 20);
    tc_diagnostics silent = {parser->arena, parser->diagnostics->source, &unsaid, 0};
    tc_lexer lexer = parser->lexer;
    lexer.diagnostics = &silent;
    tc_token_kind kind = tc_lexer_next(&lexer).kind;
    if (parser->token.kind != TC_TOKEN_NAME || kind != TC_TOKEN_OPEN_BRACKET)
        return parser->token.kind == TC_TOKEN_NAME && kind == TC_TOKEN_COLON;
    kind = tc_lexer_next(&lexer).kind;
    tc_token after = tc_lexer_next(&lexer);
    return kind == TC_TOKEN_NAME && after.kind == TC_TOKEN_NAME && after.span.length == 2 &&
           memcmp(lexer.text + after.span.offset, "in", 2) == 0;
}

static bool parse_set_name(tc_parser *parser, tc_statement *statement) {
    if (!parse_named(parser, statement, "the name of the set"))
        return false;
    tc_span opened = parser->token.span;
    if (tc_parser_accept(parser, TC_TOKEN_OPEN_BRACKET) &&
        (!tc_parse_binders(parser, &statement->binders, &statement->binder_count) ||
         !tc_parser_close(parser, TC_TOKEN_CLOSE_BRACKET, opened)))
        return false;
    return tc_parser_expect(parser, TC_TOKEN_COLON, "':' and the set");
}

static bool parse_set(tc_parser *parser, tc_statement *statement) {
    if (at_set_name(parser) && !parse_set_name(parser, statement))
        return false;
    statement->value = tc_parse_expression(parser);
    if (statement->value == NULL)
        return false;
    if (tc_parser_at_word(parser, "in")) {
        tc_parser_next(parser);
        return parse_membership(parser, statement);
    }
    tc_token_kind kind = parser->token.kind;
    if (kind == TC_TOKEN_ASSIGN)
        return tc_parser_refuse(parser, parser->token.span, two_signs);
    if (kind != TC_TOKEN_LESS && kind != TC_TOKEN_GREATER && kind != TC_TOKEN_EQUAL) {
        const tc_tree *left = statement->value;
        if (left->kind == TC_TREE_NAME && strcmp(left->name->text, "for") == 0)
            return tc_parser_refuse(parser, left->span,
                                    "the index stands with a name: private set NAME[t in 1..3]: ...");
        if (tc_parser_refuse_whole_numbers(parser))
            return false;
        tc_parser_expected(parser, "<=, >=, == or 'in'");
        return false;
    }
    statement->relation = kind == TC_TOKEN_LESS      ? TC_RELATION_LESS
                          : kind == TC_TOKEN_GREATER ? TC_RELATION_GREATER
                                                     : TC_RELATION_EQUAL;
    tc_parser_next(parser);
    statement->other = tc_parse_expression(parser);
    return statement->other != NULL && parse_chain(parser, statement);
}

static bool parse_assignment(tc_parser *parser, tc_statement *statement, const char *what) {
    tc_word word;
    if (!tc_parser_word(parser, &word, what))
        return false;
    statement->name = word.name;
    statement->name_span = word.span;
    if (!parse_equals(parser))
        return false;
    statement->value = tc_parse_expression(parser);
    return statement->value != NULL;
}

/* `need in [0, 40]` or `pref[24] in [0, 7.4]` */
static bool parse_range_item(tc_parser *parser, tc_item *item) {
    tc_span opened = parser->token.span;
    if (tc_parser_accept(parser, TC_TOKEN_OPEN_BRACKET)) {
        item->length = tc_parse_expression(parser);
        if (item->length == NULL || !tc_parser_close(parser, TC_TOKEN_CLOSE_BRACKET, opened))
            return false;
    }
    if (!tc_parser_at_word(parser, "in")) {
        tc_parser_expected(parser, "'in' and the public range of the data, as in 'range need in [0, 40]'");
        return false;
    }
    tc_parser_next(parser);
    return parse_bounds(parser, &item->lower, &item->upper);
}

/* `need by 5` */
static bool parse_protect_item(tc_parser *parser, tc_item *item) {
    if (!tc_parser_at_word(parser, "by")) {
        tc_parser_expected(parser, "'by' and how far the data are hidden, as in 'protect need by 5'");
        return false;
    }
    tc_parser_next(parser);
    return (item->by = tc_parse_expression(parser)) != NULL;
}

static bool parse_items(tc_parser *parser, tc_statement *statement) {
    bool is_range = statement->kind == TC_STATEMENT_RANGE;
    do {
        tc_item item = {.span = parser->token.span};
        if (!tc_parser_word(parser, &item.datum, "the name of private data") ||
            !(is_range ? parse_range_item(parser, &item) : parse_protect_item(parser, &item)))
            return false;
        item.span = tc_span_join(item.span, parser->last);
        TC_PUSH(parser->arena, statement->items, statement->item_count, item);
    } while (tc_parser_accept(parser, TC_TOKEN_COMMA));
    return true;
}

static bool parse_distance(tc_parser *parser, tc_statement *statement) {
    if (!parse_named(parser, statement, "the name of protected data"))
        return false;
    tc_span opened = parser->token.span;
    return tc_parser_expect(parser, TC_TOKEN_OPEN_BRACE, "'{' and the distances l1 and l2") &&
           parse_settings(parser, statement, opened);
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
    } else if (tc_parser_at_word(parser, "minimize") || tc_parser_at_word(parser, "maximize")) {
        statement->kind = TC_STATEMENT_MINIMIZE;
        statement->maximizes = tc_parser_at_word(parser, "maximize");
        tc_parser_next(parser);
        done = must_be_private(parser, statement, keyword, "an objective") &&
               (statement->value = tc_parse_expression(parser)) != NULL;
    } else if (tc_parser_at_word(parser, "set")) {
        statement->kind = TC_STATEMENT_SET;
        tc_parser_next(parser);
        done = (statement->is_public || must_be_private(parser, statement, keyword, "a set")) &&
               parse_set(parser, statement);
    } else if (tc_parser_at_word(parser, "param")) {
        tc_parser_next(parser);
        done = parse_named(parser, statement, "the name of the parameter") && parse_param(parser, statement);
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
        if (done && tc_parser_at_word(parser, "within")) {
            tc_parser_next(parser);
            done = (statement->other = tc_parse_expression(parser)) != NULL;
        }
    } else if (tc_parser_at_word(parser, "range") || tc_parser_at_word(parser, "protect")) {
        bool is_range = tc_parser_at_word(parser, "range");
        statement->kind = is_range ? TC_STATEMENT_RANGE : TC_STATEMENT_PROTECT;
        tc_parser_next(parser);
        done = must_be_public(parser, statement, keyword, is_range ? "a range" : "what is protected") &&
               parse_items(parser, statement);
    } else if (tc_parser_at_word(parser, "distance")) {
        statement->kind = TC_STATEMENT_DISTANCE;
        tc_parser_next(parser);
        done = must_be_public(parser, statement, keyword, "a distance") && parse_distance(parser, statement);
    } else if (tc_parser_at_word(parser, "start")) {
        statement->kind = TC_STATEMENT_START;
        tc_parser_next(parser);
        done = parse_assignment(parser, statement, "the name of a state");
    } else {
        *known = false;
    }
    return done ? statement : NULL;
}
