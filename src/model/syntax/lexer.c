#include "model/syntax/lexer.h"

#include "base/text.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Quotes in messages must stay short enough to be read. */
enum { LONGEST_NAME = 200, LONGEST_STRING = 4000 };

tc_lexer tc_lexer_new(tc_diagnostics *diagnostics) {
    const tc_source *source = diagnostics->source;
    tc_lexer lexer = {.diagnostics = diagnostics, .text = source->text, .length = source->length};
    lexer.previous = TC_TOKEN_NEWLINE;
    return lexer;
}

const char *tc_token_kind_text(tc_token_kind kind) {
    switch (kind) {
#define X(code, text)                                                                                                  \
    case code:                                                                                                         \
        return text;
        TC_TOKEN_LIST(X)
#undef X
    }
    return "";
}

static bool is_letter(unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

static unsigned char byte_at(const tc_lexer *lexer, size_t at) {
    return at < lexer->length ? (unsigned char)lexer->text[at] : 0;
}

/* A line that ends in one of these goes on. */
static bool continues(tc_token_kind kind) {
    return (kind >= TC_TOKEN_PLUS && kind <= TC_TOKEN_GREATER) || kind == TC_TOKEN_COMMA || kind == TC_TOKEN_RANGE ||
           kind == TC_TOKEN_COLON;
}

static tc_token make(tc_lexer *lexer, tc_token_kind kind, size_t length) {
    tc_token token = {.kind = kind, .span = {(uint32_t)lexer->at, (uint32_t)length}};
    token.starts_line = !lexer->line_started;
    lexer->line_started = true;
    lexer->at += length;
    lexer->previous = kind;
    return token;
}

static tc_token bad(tc_lexer *lexer, size_t length, const char *message) {
    tc_error(lexer->diagnostics, (tc_span){(uint32_t)lexer->at, (uint32_t)length}, "%s", message);
    return make(lexer, TC_TOKEN_BAD, length);
}

/* Spaces, comments and the newlines that do not count; stops before a newline that does. */
static void skip_space(tc_lexer *lexer) {
    for (; lexer->at < lexer->length; lexer->at++) {
        char c = lexer->text[lexer->at];
        if (c == '#') {
            const char *newline = memchr(lexer->text + lexer->at, '\n', lexer->length - lexer->at);
            lexer->at = newline != NULL ? (size_t)(newline - lexer->text) : lexer->length;
            if (newline == NULL)
                return;
            c = '\n';
        }
        if (c == '\n') {
            lexer->line_started = false;
            if (lexer->open == 0 && !continues(lexer->previous))
                return;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

static tc_token number(tc_lexer *lexer) {
    double value;
    size_t length = tc_number_read(lexer->text + lexer->at, lexer->length - lexer->at, false, &value);
    unsigned char next = byte_at(lexer, lexer->at + length);
    if (is_letter(next)) {
        size_t end = length;
        while (is_letter(byte_at(lexer, lexer->at + end)) || is_digit(byte_at(lexer, lexer->at + end)))
            end++;
        return bad(lexer, end,
                   next == '_' ? "a number has no underscores"
                               : "a number and a name run together; a product has its sign, as in 3 * x");
    }
    if (next == '.' && byte_at(lexer, lexer->at + length + 1) != '.') {
        return bad(lexer, length + 1, "a number with a point needs digits after it, as in 5.0");
    }
    if (!isfinite(value))
        return bad(lexer, length, "this number is too large for a double (the largest is about 1.8e308)");
    tc_token token = make(lexer, TC_TOKEN_NUMBER, length);
    token.number = value;
    return token;
}

static tc_token string(tc_lexer *lexer) {
    for (size_t i = lexer->at + 1; i < lexer->length && lexer->text[i] != '\n'; i++) {
        if (lexer->text[i] == '\0')
            return bad(lexer, i - lexer->at, "a text in quotes contains a NUL byte");
        if (lexer->text[i] == '"' && i - lexer->at > LONGEST_STRING)
            return bad(lexer, i + 1 - lexer->at, "a text in quotes has at most 4000 characters");
        if (lexer->text[i] == '"')
            return make(lexer, TC_TOKEN_STRING, i + 1 - lexer->at);
    }
    size_t end = lexer->at;
    while (end < lexer->length && lexer->text[end] != '\n' && lexer->text[end] != '\r')
        end++;
    return bad(lexer, end - lexer->at, "a text opened here with '\"' is not closed on its line");
}

static tc_token name(tc_lexer *lexer) {
    size_t end = lexer->at;
    while (is_letter(byte_at(lexer, end)) || is_digit(byte_at(lexer, end)))
        end++;
    if (end - lexer->at > LONGEST_NAME)
        return bad(lexer, end - lexer->at, "a name has at most 200 characters");
    return make(lexer, TC_TOKEN_NAME, end - lexer->at);
}

/* Characters people paste from documents, and what the language writes instead. */
static tc_token foreign(tc_lexer *lexer) {
    static const struct {
        const char *bytes, *instead;
    } known[] = {
        {"\xe2\x89\xa4", "<="}, {"\xe2\x89\xa5", ">="}, {"\xe2\x88\x92", "-"},  {"\xe2\x80\x93", "-"},
        {"\xc3\x97", "*"},      {"\xc2\xb7", "*"},      {"\xc2\xb2", "^2"},     {"\xe2\x80\x9c", "\""},
        {"\xe2\x80\x9d", "\""}, {"\xe2\x88\x88", "in"}, {"\xe2\x80\xa6", ".."},
    };
    const char *text = lexer->text + lexer->at;
    size_t left = lexer->length - lexer->at;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t length = strlen(known[i].bytes);
        if (left >= length && memcmp(text, known[i].bytes, length) == 0)
            return bad(
                lexer, length,
                tc_arena_format(lexer->diagnostics->arena, "write %s for '%s'", known[i].instead, known[i].bytes));
    }
    size_t length = 1;
    while ((unsigned char)text[0] >= 0xc0 && length < left && length < 4 &&
           ((unsigned char)text[length] & 0xc0) == 0x80)
        length++;
    unsigned char byte = (unsigned char)text[0];
    if (byte > ' ' && byte < 0x7f)
        return bad(lexer, 1,
                   tc_arena_format(lexer->diagnostics->arena, "the character '%c' has no meaning here", byte));
    return bad(lexer, length,
               tc_arena_format(lexer->diagnostics->arena,
                               "unexpected byte 0x%02x; names, numbers and "
                               "operators are written in ASCII",
                               byte));
}

/* Signs of other languages, and what this one writes instead. Longer ones stand before those they begin with. */
static const struct {
    const char *sign, *instead;
} habits[] = {
    {"**", "write ^ for a power"},
    {".^", "^ works element by element; leave the dot out"},
    {".*", "* works element by element on vectors; leave the dot out"},
    {"./", "/ works element by element; leave the dot out"},
    {"'", "write dot(u, v) for u'v, and transpose(M) for M'"},
    {"=<", "write <= for '=<'"},
    {"=>", "write >= for '=>'"},
    {":=", "write = for ':='"},
    {"!=", "what differs from a point is not a convex set; write <=, >= or =="},
    {"&&", "a line holds one relation, or a chain a <= b <= c: write a line for each"},
    {"&", "a line holds one relation, or a chain a <= b <= c: write a line for each"},
    {"||", "one relation or another is not a convex set: all lines must hold"},
    {"|", "write abs(u) for |u|; all lines must hold, there is no 'or'"},
    {"//", "a comment begins with #"},
    {"%", "a comment begins with #"},
};

/* The habit that stands here, or the number of them. */
static size_t habit_at(const tc_lexer *lexer) {
    const char *text = lexer->text + lexer->at;
    size_t i = 0, left = lexer->length - lexer->at;
    for (; i < sizeof habits / sizeof habits[0]; i++) {
        size_t length = strlen(habits[i].sign);
        if (left >= length && memcmp(text, habits[i].sign, length) == 0)
            break;
    }
    return i;
}

static tc_token relation(tc_lexer *lexer, char c) {
    bool equals = byte_at(lexer, lexer->at + 1) == '=';
    if (equals)
        return make(lexer, c == '<' ? TC_TOKEN_LESS : c == '>' ? TC_TOKEN_GREATER : TC_TOKEN_EQUAL, 2);
    if (c == '=')
        return make(lexer, TC_TOKEN_ASSIGN, 1);
    return bad(lexer, 1,
               c == '<' ? "a strict inequality describes an open set; write <="
                        : "a strict inequality describes an open set; write >=");
}

static tc_token punctuation(tc_lexer *lexer) {
    char c = lexer->text[lexer->at];
    size_t habit = habit_at(lexer);
    if (habit < sizeof habits / sizeof habits[0])
        return bad(lexer, strlen(habits[habit].sign), habits[habit].instead);
    switch (c) {
    case '(':
        lexer->open++;
        return make(lexer, TC_TOKEN_OPEN, 1);
    case '[':
        lexer->open++;
        return make(lexer, TC_TOKEN_OPEN_BRACKET, 1);
    case ')':
        lexer->open -= lexer->open > 0;
        return make(lexer, TC_TOKEN_CLOSE, 1);
    case ']':
        lexer->open -= lexer->open > 0;
        return make(lexer, TC_TOKEN_CLOSE_BRACKET, 1);
    case '{':
        return make(lexer, TC_TOKEN_OPEN_BRACE, 1);
    case '}':
        return make(lexer, TC_TOKEN_CLOSE_BRACE, 1);
    case ',':
        return make(lexer, TC_TOKEN_COMMA, 1);
    case ':':
        return make(lexer, TC_TOKEN_COLON, 1);
    case '+':
        return make(lexer, TC_TOKEN_PLUS, 1);
    case '-':
        return make(lexer, TC_TOKEN_MINUS, 1);
    case '*':
        return make(lexer, TC_TOKEN_STAR, 1);
    case '/':
        return make(lexer, TC_TOKEN_SLASH, 1);
    case '^':
        return make(lexer, TC_TOKEN_CARET, 1);
    case ';':
        return make(lexer, TC_TOKEN_NEWLINE, 1);
    case '<':
    case '>':
    case '=':
        return relation(lexer, c);
    case '.':
        if (byte_at(lexer, lexer->at + 1) == '.')
            return make(lexer, TC_TOKEN_RANGE, 2);
        if (is_digit(byte_at(lexer, lexer->at + 1)) && lexer->previous != TC_TOKEN_NAME)
            return bad(lexer, 1, "a number with a point needs a digit before it, as in 0.5");
        return make(lexer, TC_TOKEN_DOT, 1);
    default:
        return foreign(lexer);
    }
}

tc_token tc_lexer_next(tc_lexer *lexer) {
    skip_space(lexer);
    if (lexer->at >= lexer->length)
        return make(lexer, TC_TOKEN_END, 0);
    unsigned char c = byte_at(lexer, lexer->at);
    if (c == '\n') {
        tc_token token = make(lexer, TC_TOKEN_NEWLINE, 1);
        lexer->line_started = false;
        return token;
    }
    if (is_digit(c))
        return number(lexer);
    if (is_letter(c))
        return name(lexer);
    if (c == '"')
        return string(lexer);
    return punctuation(lexer);
}
