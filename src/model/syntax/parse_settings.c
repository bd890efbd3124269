/* Lists of settings in braces:
 *
 *   settings := { NAME [NAME] [expression] ['k' '^' '-' expression] } separated by newlines or semicolons
 *
 * Which keys exist, and what their values mean, is the elaborator's business. */
#include "model/syntax/parse.h"

#include <string.h>

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
    if (takes_word(&setting->key) && parser->token.kind == TC_TOKEN_NAME) {
        if (!tc_parser_word(parser, &setting->word, "a word"))
            return false;
    }
    bool ends = parser->token.kind == TC_TOKEN_NEWLINE || parser->token.kind == TC_TOKEN_CLOSE_BRACE;
    if (!ends || setting->word.name == NULL) {
        setting->value = tc_parse_expression(parser);
        if (setting->value == NULL)
            return false;
    }
    if (tc_parser_at_word(parser, "k") && !parse_decay(parser, setting))
        return false;
    setting->span = tc_span_join(setting->span, parser->last);
    return true;
}

/* After an error: to the end of the braces, so that what is left of them is not taken for statements. */
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

bool tc_parse_settings(tc_parser *parser, tc_statement *statement, tc_span opened) {
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
