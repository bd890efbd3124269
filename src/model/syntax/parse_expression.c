/* Expressions, by precedence climbing (left and right binding power as in the table below).
 *
 *   expression := unary { operator expression }
 *   unary      := '-' unary-operand | postfix
 *   postfix    := primary { '[' index { ',' index } ']' | '.' NAME }
 *   index      := expression [ '..' expression ]
 *   primary    := NUMBER | NAME | NAME '(' arguments ')' | '(' expression ')' | '[' expression { ',' expression } ']'
 *              |  'sum' '(' binders ':' expression ')'  |  '[' binders ':' expression ']'
 *   binders    := NAME | NAME 'in' expression '..' expression { ',' NAME 'in' expression '..' expression }
 */
#include "model/syntax/parse.h"

#include <string.h>

static const struct {
    unsigned char left, right; /* left > right: right associative */
    tc_tree_kind kind;
} priority[] = {
    [TC_TOKEN_PLUS] = {1, 1, TC_TREE_ADD},      [TC_TOKEN_MINUS] = {1, 1, TC_TREE_SUBTRACT},
    [TC_TOKEN_STAR] = {2, 2, TC_TREE_MULTIPLY}, [TC_TOKEN_SLASH] = {2, 2, TC_TREE_DIVIDE},
    [TC_TOKEN_CARET] = {5, 4, TC_TREE_POWER},   [TC_TOKEN_GREATER] = {0, 0, TC_TREE_ADD},
};
enum { MOST_BINDERS = 8 };
enum { UNARY_PRIORITY = 3 }; /* -x^2 is -(x^2), -x*y is (-x)*y */

static tc_tree *parse_operators(tc_parser *parser, unsigned limit);

static tc_tree *new_tree(tc_parser *parser, tc_tree_kind kind, tc_span span, size_t count) {
    tc_tree *tree = TC_NEW(parser->arena, tc_tree, 1);
    *tree = (tc_tree){.kind = kind, .span = span, .count = count};
    tree->items = count > 0 ? TC_NEW(parser->arena, tc_tree *, count) : NULL;
    return tree;
}

static bool enter(tc_parser *parser) {
    if (parser->depth >= TC_DEEPEST) {
        if (!parser->failed)
            tc_error(parser->diagnostics, parser->token.span, "this expression is nested more than %d levels deep",
                     TC_DEEPEST);
        parser->failed = true;
        return false;
    }
    parser->depth++;
    return true;
}

tc_tree *tc_parse_expression(tc_parser *parser) {
    if (!enter(parser))
        return NULL;
    tc_tree *tree = parse_operators(parser, 0);
    parser->depth--;
    return tree;
}

/* What people write out of habit before a closing bracket. */
static bool check_close(tc_parser *parser, tc_token_kind close, bool is_index) {
    tc_span span = parser->token.span;
    if (is_index && parser->token.kind == TC_TOKEN_COLON)
        return tc_parser_refuse(parser, span, "a part of a vector is written with two dots, as in x[1..2]");
    if (close == TC_TOKEN_CLOSE_BRACKET && parser->token.kind == TC_TOKEN_NEWLINE) {
        (void)tc_parser_refuse(parser, span, "a matrix is a vector of rows, as in [[1, 2], [3, 4]]");
        while (parser->token.kind != close && parser->token.kind != TC_TOKEN_END && !tc_parser_at_statement(parser))
            tc_parser_next(parser);
        return false;
    }
    if (tc_parser_at_word(parser, "for"))
        return tc_parser_refuse(parser, span, "the index comes first: sum(i in 1..3: ...), [i in 1..3: ...]");
    if (!is_index && parser->token.kind == TC_TOKEN_RANGE)
        return tc_parser_refuse(parser, span, "a vector of numbers in a row is written [i in 1..3: i]");
    return true;
}

/* Items up to the closing bracket; ranges where an index allows them. */
static bool parse_items(tc_parser *parser, tc_tree *tree, tc_token_kind close, tc_span opened, bool ranges) {
    do {
        if (ranges && parser->token.kind == TC_TOKEN_COLON)
            return tc_parser_refuse(parser, parser->token.span,
                                    "a whole vector has no index: write x, or a part of it, x[1..2]");
        if (ranges && parser->token.kind == TC_TOKEN_RANGE)
            return tc_parser_refuse(parser, parser->token.span, "a part of a vector has both ends: x[1..2]");
        tc_tree *item = tc_parse_expression(parser);
        if (item == NULL)
            return false;
        if (ranges && tc_parser_accept(parser, TC_TOKEN_RANGE)) {
            if (parser->token.kind == close || parser->token.kind == TC_TOKEN_COMMA)
                return tc_parser_refuse(parser, parser->last,
                                        "a part of a vector has both ends: x[2..3], or x[2..length(x)] up to the last");
            tc_tree *last = tc_parse_expression(parser);
            if (last == NULL)
                return false;
            tc_tree *range = new_tree(parser, TC_TREE_RANGE, tc_span_join(item->span, last->span), 2);
            range->items[0] = item;
            range->items[1] = last;
            item = range;
        }
        TC_PUSH(parser->arena, tree->items, tree->count, item);
    } while (tc_parser_accept(parser, TC_TOKEN_COMMA));
    if (!check_close(parser, close, ranges) || !tc_parser_close(parser, close, opened))
        return false;
    tree->span = tc_span_join(tree->span, parser->last);
    return true;
}

bool tc_parse_binders(tc_parser *parser, tc_binder **binders, size_t *count) {
    do {
        tc_binder binder = {0};
        tc_word word;
        if (!tc_parser_word(parser, &word, "an index name, as in 'i in 1..10'"))
            return false;
        binder.name = word.name;
        binder.span = word.span;
        if (!tc_parser_at_word(parser, "in")) {
            tc_parser_expected(parser, "'in' and a range, as in 'i in 1..10'");
            return false;
        }
        tc_parser_next(parser);
        binder.first = tc_parse_expression(parser);
        if (binder.first == NULL || !tc_parser_expect(parser, TC_TOKEN_RANGE, "'..' and the last value of the range"))
            return false;
        binder.last = tc_parse_expression(parser);
        if (binder.last == NULL)
            return false;
        if (*count == MOST_BINDERS) {
            tc_error(parser->diagnostics, binder.span, "more than %d indices", MOST_BINDERS);
            parser->failed = true;
            return false;
        }
        TC_PUSH(parser->arena, *binders, *count, binder);
    } while (tc_parser_accept(parser, TC_TOKEN_COMMA));
    return true;
}

/* After `sum(`, where a NAME and then `:` or `in` follows. */
static tc_tree *parse_sum(tc_parser *parser, tc_span start, tc_span opened) {
    tc_tree *tree = new_tree(parser, TC_TREE_SUM, start, 1);
    if (tc_parser_peek(parser).kind == TC_TOKEN_COLON) {
        tc_binder binder = {.span = parser->token.span, .name = tc_parser_name_of(parser, parser->token.span)};
        tc_parser_next(parser);
        TC_PUSH(parser->arena, tree->binders, tree->binder_count, binder);
    } else if (!tc_parse_binders(parser, &tree->binders, &tree->binder_count)) {
        return NULL;
    }
    if (!tc_parser_expect(parser, TC_TOKEN_COLON, "':' and what to add up"))
        return NULL;
    tree->items[0] = tc_parse_expression(parser);
    if (tree->items[0] == NULL || !tc_parser_close(parser, TC_TOKEN_CLOSE, opened))
        return NULL;
    tree->span = tc_span_join(start, parser->last);
    return tree;
}

/* `i in` stands here, or, where a family may, `home:`. */
static bool binder_follows(const tc_parser *parser, bool families) {
    if (parser->token.kind != TC_TOKEN_NAME)
        return false;
    tc_token after = tc_parser_peek(parser);
    return (families && after.kind == TC_TOKEN_COLON) || (after.kind == TC_TOKEN_NAME && after.span.length == 2 &&
                                                          memcmp(parser->lexer.text + after.span.offset, "in", 2) == 0);
}

/* After `[`, where `i in` follows. */
static tc_tree *parse_list(tc_parser *parser, tc_span opened) {
    tc_tree *tree = new_tree(parser, TC_TREE_LIST, opened, 1);
    if (!tc_parse_binders(parser, &tree->binders, &tree->binder_count) ||
        !tc_parser_expect(parser, TC_TOKEN_COLON, "':' and the elements"))
        return NULL;
    if (tree->binder_count > 2) {
        tc_error(parser->diagnostics, tree->binders[2].span, "a vector has one index and a matrix two");
        parser->failed = true;
        return NULL;
    }
    tree->items[0] = tc_parse_expression(parser);
    if (tree->items[0] == NULL || !tc_parser_close(parser, TC_TOKEN_CLOSE_BRACKET, opened))
        return NULL;
    tree->span = tc_span_join(opened, parser->last);
    return tree;
}

static tc_tree *parse_call(tc_parser *parser, tc_span name) {
    tc_span opened = parser->token.span;
    bool is_sum = name.length == 3 && memcmp(parser->lexer.text + name.offset, "sum", 3) == 0;
    tc_parser_next(parser);
    if (is_sum && binder_follows(parser, true))
        return parse_sum(parser, name, opened);
    tc_tree *tree = new_tree(parser, TC_TREE_CALL, name, 0);
    tree->name = tc_parser_name_of(parser, name);
    tree->name_span = name;
    if (tc_parser_accept(parser, TC_TOKEN_CLOSE)) {
        tree->span = tc_span_join(name, parser->last);
        return tree;
    }
    return parse_items(parser, tree, TC_TOKEN_CLOSE, opened, false) ? tree : NULL;
}

static tc_tree *parse_primary(tc_parser *parser) {
    tc_token token = parser->token;
    if (token.kind == TC_TOKEN_NUMBER) {
        tc_parser_next(parser);
        tc_tree *tree = new_tree(parser, TC_TREE_NUMBER, token.span, 0);
        tree->number = token.number;
        return tree;
    }
    if (token.kind == TC_TOKEN_NAME) {
        tc_parser_next(parser);
        if (parser->token.kind == TC_TOKEN_OPEN)
            return parse_call(parser, token.span);
        tc_tree *tree = new_tree(parser, TC_TREE_NAME, token.span, 0);
        tree->name = tc_parser_name_of(parser, token.span);
        tree->name_span = token.span;
        return tree;
    }
    if (tc_parser_accept(parser, TC_TOKEN_OPEN)) {
        tc_tree *tree = tc_parse_expression(parser);
        if (tree == NULL || !tc_parser_close(parser, TC_TOKEN_CLOSE, token.span))
            return NULL;
        tree->span = tc_span_join(token.span, parser->last);
        return tree;
    }
    if (tc_parser_accept(parser, TC_TOKEN_OPEN_BRACKET)) {
        if (binder_follows(parser, false))
            return parse_list(parser, token.span);
        tc_tree *tree = new_tree(parser, TC_TREE_VECTOR, token.span, 0);
        return parse_items(parser, tree, TC_TOKEN_CLOSE_BRACKET, token.span, false) ? tree : NULL;
    }
    tc_parser_expected(parser, "an expression");
    return NULL;
}

static tc_tree *parse_postfix(tc_parser *parser) {
    tc_tree *tree = parse_primary(parser);
    unsigned before = parser->depth;
    while (tree != NULL) {
        tc_span opened = parser->token.span;
        tc_tree *outer = NULL;
        if (tc_parser_accept(parser, TC_TOKEN_OPEN_BRACKET)) {
            outer = new_tree(parser, TC_TREE_INDEX, tree->span, 0);
            TC_PUSH(parser->arena, outer->items, outer->count, tree);
            if (!enter(parser) || !parse_items(parser, outer, TC_TOKEN_CLOSE_BRACKET, opened, true))
                outer = NULL;
        } else if (tc_parser_accept(parser, TC_TOKEN_DOT)) {
            tc_word word;
            if (enter(parser) && tc_parser_word(parser, &word, "the name of a state or column")) {
                outer = new_tree(parser, TC_TREE_MEMBER, tc_span_join(tree->span, word.span), 1);
                outer->items[0] = tree;
                outer->name = word.name;
                outer->name_span = word.span;
            }
        } else {
            break;
        }
        tree = outer;
    }
    parser->depth = before;
    return tree;
}

static tc_tree *parse_unary(tc_parser *parser) {
    tc_span start = parser->token.span;
    if (tc_parser_accept(parser, TC_TOKEN_PLUS)) {
        tc_error(parser->diagnostics, start, "a plus sign stands between two terms, not before one");
        parser->failed = true;
        return NULL;
    }
    if (!tc_parser_accept(parser, TC_TOKEN_MINUS))
        return parse_postfix(parser);
    if (!enter(parser))
        return NULL;
    tc_tree *operand = parse_operators(parser, UNARY_PRIORITY);
    parser->depth--;
    if (operand == NULL)
        return NULL;
    tc_tree *tree = new_tree(parser, TC_TREE_NEGATE, tc_span_join(start, operand->span), 1);
    tree->items[0] = operand;
    return tree;
}

/* Writes down the operators along the left edge. */
static void record_spine(tc_parser *parser, tc_tree *tree) {
    size_t count = 0;
    for (tc_tree *t = tree; tc_is_chain(t->kind); t = t->items[0])
        count++;
    tree->spine = TC_NEW(parser->arena, tc_tree *, count);
    tree->spine_count = count;
    for (tc_tree *t = tree; tc_is_chain(t->kind); t = t->items[0])
        tree->spine[--count] = t;
}

static tc_tree *parse_operators(tc_parser *parser, unsigned limit) {
    tc_tree *tree = parse_unary(parser);
    while (tree != NULL && parser->token.kind <= TC_TOKEN_GREATER && priority[parser->token.kind].left > limit) {
        tc_token operation = parser->token;
        tc_parser_next(parser);
        if (!enter(parser))
            return NULL;
        tc_tree *right = parse_operators(parser, priority[operation.kind].right);
        parser->depth--;
        if (right == NULL)
            return NULL;
        tc_tree *outer = new_tree(parser, priority[operation.kind].kind, tc_span_join(tree->span, right->span), 2);
        outer->items[0] = tree;
        outer->items[1] = right;
        tree = outer;
    }
    if (tree != NULL && tc_is_chain(tree->kind))
        record_spine(parser, tree);
    return tree;
}
